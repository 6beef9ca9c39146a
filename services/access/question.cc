#include "services/access/question.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "common/base/thread.h"
#include "common/wire/control/topics.h"
#include "services/access/append_codec.h"
#include "services/access/correction_question.h"
#include "services/access/parameters.h"
#include "services/access/refused_question.h"
#include "services/adoption/adopted.h"
#include "services/ledger/ledger_sums.h"

namespace cobblestone::access {

using embedded::Engine;
using ledger::LedgerPlaces;

namespace {

// A question waits this long for an idle pipeline, then the client repeats it: a stopping server is not
// delayed.
constexpr auto kIdlePatience = std::chrono::seconds(1);
constexpr auto kIdleStep = std::chrono::milliseconds(2);

struct CodeName {
  StatusCode code;
  std::string_view name;
  int http;
};

constexpr std::array<CodeName, 7> kCodeNames = {{{StatusCode::kRetry, "retry", 503},
                                                 {StatusCode::kFenced, "fenced", 409},
                                                 {StatusCode::kCorrupted, "corrupted", 500},
                                                 {StatusCode::kFull, "full", 507},
                                                 {StatusCode::kFatal, "fatal", 500},
                                                 {StatusCode::kInvalidArgument, "invalid_argument", 400},
                                                 {StatusCode::kNotFound, "not_found", 404}}};

std::optional<wire::AccountKind> AccountKindByName(std::string_view name) {
  if (name == "host") return wire::AccountKind::kHost;
  if (name == "user") return wire::AccountKind::kUser;
  if (name == "team") return wire::AccountKind::kTeam;
  return std::nullopt;
}

nlohmann::json WaitForIdle(const Engine& engine) {
  const auto until = std::chrono::steady_clock::now() + kIdlePatience;
  bool idle = engine.idle();
  while (!idle && engine.failure().ok() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kIdleStep);
    idle = engine.idle();
  }
  return {{"idle", idle}};
}

Result<nlohmann::json> AnswerAccount(Engine& engine, Parameters& parameters) {
  const auto project = ProjectId(parameters.Required<std::uint32_t>("project"));
  const std::string kind_name = parameters.Text("kind");
  if (kind_name == "project") {
    const auto of = ProjectId(parameters.Required<std::uint32_t>("id"));
    if (!parameters.status().ok()) return parameters.status();
    return engine.questions().EstimatesOf(of);
  }
  const auto id = parameters.Required<std::uint64_t>("id");
  const auto kind = AccountKindByName(kind_name);
  if (!kind) parameters.Fail("kind must be host, user, team or project, not '" + kind_name + "'");
  if (!parameters.status().ok()) return parameters.status();
  return engine.questions().Account(project, *kind, id);
}

RefusedSource RefusedOf(Engine& engine) {
  return {
      .partitions = engine.pipeline().partitions,
      .read = [&engine](std::uint64_t from, const std::function<bool(std::uint64_t, std::string_view)>& visit)
          -> Result<std::uint64_t> {
        const stream::TopicPartition where{wire::kRefused, 0};
        if (Status s = engine.ForEachRecord(where, visit, from); !s.ok()) return s;
        return engine.log().DurableEnd(where);
      },
      .ends =
          [&engine](const std::vector<stream::TopicPartition>& places) -> Result<std::vector<std::uint64_t>> {
        std::vector<std::uint64_t> ends;
        for (const stream::TopicPartition& where : places) ends.push_back(engine.log().DurableEnd(where));
        return ends;
      }};
}

Result<nlohmann::json> AnswerOf(Engine& engine, const Question& question, Parameters& parameters) {
  const std::string& path = question.path;
  if (path == "/producer") {
    const std::string source = parameters.Text("source");
    if (!parameters.status().ok()) return parameters.status();
    nlohmann::json answer = ProducerJson(engine.Producer(source));
    answer["order"] = engine.lockstep() ? "lockstep" : "arrival";
    return answer;
  }
  if (path == "/explain") {
    const auto project = ProjectId(parameters.Required<std::uint32_t>("project"));
    const auto result = ResultId(parameters.Required<std::uint64_t>("result"));
    if (!parameters.status().ok()) return parameters.status();
    return engine.questions().Explain(project, result);
  }
  if (path == "/account") return AnswerAccount(engine, parameters);
  if (path == "/host-version") {
    const auto project = ProjectId(parameters.Required<std::uint32_t>("project"));
    const auto host = HostId(parameters.Required<std::uint64_t>("host"));
    const auto version = AppVersionId(parameters.Required<std::int64_t>("version"));
    const auto app = AppId(parameters.Optional<std::uint64_t>("app", 0));
    if (version.anonymous() && !app)
      parameters.Fail("the anonymous platform has one record per app: set the app (--app)");
    if (!parameters.status().ok()) return parameters.status();
    return engine.questions().HostVersions(project, host, version, app);
  }
  if (path == "/scales") {
    const auto project = ProjectId(parameters.Required<std::uint32_t>("project"));
    if (!parameters.status().ok()) return parameters.status();
    return engine.questions().Scales(project);
  }
  if (path == "/adopted") {
    const auto project = ProjectId(parameters.Required<std::uint32_t>("project"));
    if (!parameters.status().ok()) return parameters.status();
    const auto totals = adoption::AdoptedTotals(engine.live_state(), project);
    if (!totals.ok()) return totals.status();
    return adoption::TotalsJson(*totals);
  }
  if (path == "/refused" || path == "/refused/count" || path == "/refused/point")
    return AnswerRefused(question, RefusedOf(engine));
  if (path == "/refused/show") {
    const auto offset = parameters.Required<std::uint64_t>("offset");
    if (!parameters.status().ok()) return parameters.status();
    return engine.questions().RefusedShow(offset);
  }
  if (path == "/refused/resubmit")
    return AnswerResubmit(question, RefusedOf(engine),
                          [&](const std::vector<std::string>& events) { return engine.Resubmit(events); });
  if (path == "/state/copy") return engine.CopyState();
  if (path == "/backup/copy") return engine.CopyForBackup();
  if (path == "/tasks") return engine.Tasks();
  if (path == "/idle") return WaitForIdle(engine);
  return Status::NotFound("unknown query " + path);
}

}  // namespace

const std::vector<QuestionKind>& QuestionKinds() {
  static const std::vector<QuestionKind> kKinds = {
      {"/producer"},      {"/explain"},       {"/account"},          {"/host-version"},
      {"/scales"},        {"/refused"},       {"/refused/show"},     {"/refused/resubmit", true},
      {"/refused/count"}, {"/refused/point"}, {"/state/copy", true}, {"/tasks"},
      {"/idle"},          {"/adopted"},       {"/backup/copy", true}};
  return kKinds;
}

const std::vector<std::string_view>& LongQuestions() {
  static const std::vector<std::string_view> kQuestions = {"/audit", "/ledger/sums", "/corrections",
                                                           "/history/fit"};
  return kQuestions;
}

Result<nlohmann::json> AnswerLong(Engine& engine, const Question& question,
                                  const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  if (question.path == "/audit") {
    Parameters parameters(question);
    const auto since_days = parameters.Optional<std::uint32_t>("since_days", 0);
    if (!parameters.status().ok()) return parameters.status();
    return engine.Audit(progress, since_days);
  }
  if (question.path == "/history/fit") {
    Parameters parameters(question);
    const auto project = ProjectId(parameters.Required<std::uint32_t>("project"));
    const auto app = parameters.Optional<std::uint64_t>("app", 0);
    if (!parameters.status().ok()) return parameters.status();
    return engine.FitWorld(project, AppId(app), progress);
  }
  if (question.path == "/corrections") {
    const auto request = CorrectionRequestOf(question);
    if (!request.ok()) return request.status();
    if (Status s = engine.questions().CheckProject(request->project); !s.ok()) return s;
    return engine.Corrections(*request, progress);
  }
  Parameters parameters(question);
  const LedgerPlaces to{.grants = parameters.Numbers("grants"), .postings = parameters.Numbers("postings")};
  const bool from_start = parameters.Optional<int>("from_start", 0) != 0;
  if (!parameters.status().ok()) return parameters.status();
  LowerThreadPriority(15);  // only an export waits for it
  return engine.SumLedger(to, from_start, progress);
}

Result<nlohmann::json> Answer(Engine& engine, const Question& question) {
  Parameters parameters(question);
  if (!question.parameters.contains("project")) return AnswerOf(engine, question, parameters);
  const auto project = ProjectId(parameters.Required<std::uint32_t>("project"));
  if (!parameters.status().ok()) return parameters.status();
  if (Status status = engine.questions().CheckProject(project); !status.ok()) return status;
  auto answer = AnswerOf(engine, question, parameters);
  if (const std::string name = engine.questions().NameOf(project); answer.ok() && !name.empty())
    (*answer)["project_name"] = name;
  return answer;
}

std::string UrlOf(const Question& question) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string url = question.path;
  char separator = '?';
  for (const auto& [name, value] : question.parameters) {
    url += separator + name + '=';
    separator = '&';
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                         (byte >= 'a' && byte <= 'z') || byte == '-' || byte == '.' || byte == '_' ||
                         byte == '~';
      if (plain) {
        url += c;
      } else {
        url += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
      }
    }
  }
  return url;
}

nlohmann::json ErrorJson(const Status& status) {
  std::string_view name = "fatal";
  for (const CodeName& known : kCodeNames)
    if (known.code == status.code()) name = known.name;
  return {{"error", {{"code", name}, {"message", status.message()}}}};
}

Status ParseErrorJson(const nlohmann::json& json) {
  const auto error = json.is_object() ? json.find("error") : json.end();
  if (error != json.end() && error->is_object()) {
    const std::string code = error->value("code", "");
    for (const CodeName& known : kCodeNames)
      if (known.name == code) return {known.code, error->value("message", "")};
  }
  return Status::Fatal("the running pipeline returned an error that cannot be parsed: " + json.dump());
}

int HttpStatusOf(const Status& status) {
  for (const CodeName& known : kCodeNames)
    if (known.code == status.code()) return known.http;
  return 500;
}

}  // namespace cobblestone::access
