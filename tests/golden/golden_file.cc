#include "tests/golden/golden_file.h"

#include <zlib.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/base/check.h"
#include "common/credit/policies/policy.h"

namespace cobblestone::golden {
namespace {

using nlohmann::json;

constexpr std::uint64_t kAnonymousRows = 1'000'000;  // per app

std::string ReadAll(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");  // also reads plain files
  COBBLESTONE_CHECK(file != nullptr, "cannot open golden file " + path);
  std::string text;
  std::vector<char> buffer(1 << 20);
  int got = 0;
  while ((got = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  COBBLESTONE_CHECK(got == 0, "golden file " + path + " is damaged");
  gzclose(file);
  return text;
}

std::uint64_t Whole(const json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? 0 : it->get<std::uint64_t>();
}

credit::AppVersionRow ReadVersion(const json& version) {
  credit::AppVersionRow row;
  row.id = Whole(version, "id");
  row.app = AppId(Whole(version, "appid"));
  row.version_num = static_cast<std::uint32_t>(Whole(version, "version_num"));
  row.platform = Whole(version, "platformid");
  row.plan_class = version.at("plan_class").get<std::string>();
  return row;
}

credit::AppRow ReadApp(const json& app, credit::PolicyKind kind) {
  credit::AppRow row;
  row.id = AppId(Whole(app, "id"));
  row.name = app.at("name").get<std::string>();
  row.policy.kind = kind;
  row.policy.constants = credit::DefaultConstants(kind);
  row.target_nresults = static_cast<std::uint32_t>(Whole(app, "target_nresults"));
  row.min_avg_pfc = Number(app, "min_avg_pfc");
  row.host_scale_check = Whole(app, "host_scale_check") != 0;
  return row;
}

HostRow ReadRow(const json& hav, const credit::Catalogue& catalogue) {
  HostRow out;
  out.host = HostId(Whole(hav, "host_id"));
  out.row.version = VersionOfRow(Whole(hav, "app_version_id"), out.row.app, catalogue);
  out.row.consecutive_valid = Number(hav, "consecutive_valid");
  out.row.max_jobs_per_day = Number(hav, "max_jobs_per_day");
  for (const auto& [key, value] : hav.items()) {
    const bool known = key == "host_id" || key == "app_version_id" || key == "consecutive_valid" ||
                       key == "max_jobs_per_day";
    COBBLESTONE_CHECK(known, "unknown start value: " + key);
  }
  return out;
}

credit::ValidateState StateOf(std::uint64_t validate_state) {
  switch (validate_state) {
    case 1: return credit::ValidateState::kValid;
    case 2: return credit::ValidateState::kInvalid;
    default: return credit::ValidateState::kInconclusive;
  }
}

struct Workunit {
  WorkunitId id;
  AppId app;
  double fpops_est = 0;
  double fpops_bound = 0;
  bool unreplicated = false;
};

PresentedResult ReadResult(const json& result, const Workunit& workunit, const Event& event) {
  PresentedResult out;
  credit::CompletionFacts& completion = out.completion;
  completion.result = ResultId(Whole(result, "id"));
  completion.host = HostId(Whole(result, "hostid"));
  completion.workunit = workunit.id;
  completion.app = workunit.app;
  completion.version = AppVersionId(result.at("app_version_id").get<std::int64_t>());
  completion.outcome = credit::Outcome::kSuccess;
  completion.event_time = event.now;
  completion.elapsed_time = Number(result, "elapsed_time");
  completion.cpu_time = Number(result, "cpu_time");
  completion.peak_flops = Number(result, "flops_estimate");
  completion.sent_time = Number(result, "sent_time");
  completion.received_time = Number(result, "received_time");

  credit::ValidationFacts& validation = out.validation;
  validation.id = event.line;
  validation.line = event.line;
  validation.now = event.now;
  validation.result = completion.result;
  validation.host = completion.host;
  validation.workunit = workunit.id;
  validation.app = workunit.app;
  validation.fpops_est = workunit.fpops_est;
  validation.fpops_bound = workunit.fpops_bound;
  validation.state = StateOf(Whole(result, "validate_state"));
  validation.late = event.kind == "late";
  validation.runtime_outlier = Whole(result, "runtime_outlier") != 0;
  validation.unreplicated = workunit.unreplicated;
  validation.check_failed = Whole(result, "init_error") != 0;
  if (validation.check_failed) validation.state = credit::ValidateState::kInvalid;
  out.success = Whole(result, "outcome") == 1;
  return out;
}

void ReadResults(const json& line, const credit::Catalogue& catalogue, Event& event) {
  const json& wu = line.at("wu");
  Workunit workunit{.id = WorkunitId(Whole(wu, "id")), .app = AppId(Whole(wu, "appid"))};
  workunit.fpops_est = Number(wu, "rsc_fpops_est");
  workunit.fpops_bound = Number(wu, "rsc_fpops_bound");
  const credit::AppRow* app = catalogue.FindApp(workunit.app);
  COBBLESTONE_CHECK(app != nullptr, "a workunit of an unknown app");
  workunit.unreplicated = Whole(wu, "target_nresults") == 1 && app->target_nresults > 1;
  event.workunit = workunit.id;
  if (event.kind == "late") {
    event.results.push_back(ReadResult(line.at("result"), workunit, event));
    return;
  }
  for (const json& result : line.at("results")) event.results.push_back(ReadResult(result, workunit, event));
}

credit::CompletionFacts ReadFailure(const json& line, const Event& event) {
  credit::CompletionFacts completion;
  completion.host = HostId(Whole(line, "hostid"));
  completion.app = AppId(Whole(line, "appid"));
  completion.version = AppVersionId(line.at("app_version_id").get<std::int64_t>());
  completion.event_time = event.now;
  completion.delay_bound = Number(line, "delay_bound");
  completion.outcome = event.kind == "error" ? credit::Outcome::kClientError : credit::Outcome::kTimeout;
  return completion;
}

}  // namespace

std::vector<json> ReadLines(const std::string& path) {
  const std::string text = ReadAll(path);
  std::vector<json> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    if (end > begin) {
      lines.push_back(json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                  text.begin() + static_cast<std::ptrdiff_t>(end)));
    }
    begin = end + 1;
  }
  return lines;
}

double Number(const json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string text = value.get<std::string>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  COBBLESTONE_CHECK(text == "nan" || text == "-nan", "neither a number nor inf, -inf or nan: " + text);
  return std::numeric_limits<double>::quiet_NaN();
}

double Number(const json& object, const char* key, double absent) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? absent : Number(*it);
}

bool Same(double a, double b) { return a == b || (a != a && b != b); }

Start ReadStart(const json& line) {
  Start start;
  const json& config = line.at("config");
  const bool from_runtime = Whole(config, "credit_from_runtime") != 0;
  const credit::PolicyKind kind = from_runtime ? credit::PolicyKind::kRuntime : credit::PolicyKind::kBoinc;
  start.catalogue.settings.daily_result_quota = Number(config, "daily_result_quota");
  start.catalogue.settings.max_granted_credit = Number(config, "max_granted_credit");
  for (const json& app : line.at("apps")) start.catalogue.apps[Whole(app, "id")] = ReadApp(app, kind);
  for (const json& version : line.at("app_versions")) {
    start.catalogue.versions[Whole(version, "id")] = ReadVersion(version);
  }
  for (const json& team : line.at("teams")) start.teams.emplace_back(Whole(team, "id"));
  for (const json& user : line.at("users")) {
    start.users.push_back({.id = UserId(Whole(user, "id")), .team = TeamId(Whole(user, "teamid"))});
  }
  for (const json& host : line.at("hosts")) {
    MemberHost member{.id = HostId(Whole(host, "id")), .user = UserId(Whole(host, "userid"))};
    member.speed = Number(host, "p_fpops");
    member.total = Number(host, "total_credit");
    member.recent = {.value = Number(host, "expavg_credit"), .time = Number(host, "expavg_time")};
    start.hosts.push_back(member);
  }
  for (const json& hav : line.at("havs")) start.rows.push_back(ReadRow(hav, start.catalogue));
  return start;
}

Event ReadEvent(const json& line, const credit::Catalogue& catalogue) {
  Event event;
  event.kind = line.at("ev").get<std::string>();
  event.line = Whole(line, "i");
  event.now = Number(line, "now");
  if (event.kind == "wu" || event.kind == "late") ReadResults(line, catalogue, event);
  if (event.kind == "error" || event.kind == "timeout") event.failure = ReadFailure(line, event);
  if (event.kind == "add_app_version") event.added = ReadVersion(line.at("app_version"));
  if (event.kind == "del_app_version") event.deleted_version = Whole(line, "id");
  if (event.kind == "config") event.max_granted_credit = Number(line, "max_granted_credit");
  if (event.kind == "late") {
    event.canonical_result = ResultId(Whole(line, "canonical_resultid"));
    event.results.front().validation.canonical_result = event.canonical_result;
  }
  event.max_run_time = Number(line, "max_runtime");
  event.host = HostId(Whole(line, "hostid"));
  if (line.contains("runtime_text")) event.run_time_text = line.at("runtime_text").get<std::string>();
  return event;
}

AppVersionId VersionOfRow(std::uint64_t app_version_id, AppId& app, const credit::Catalogue& catalogue) {
  if (app_version_id >= kAnonymousRows) {
    app = AppId(app_version_id / kAnonymousRows);
    return AppVersionId(-static_cast<std::int64_t>(app_version_id % kAnonymousRows));
  }
  const AppVersionId version(static_cast<std::int64_t>(app_version_id));
  if (const credit::AppVersionRow* row = catalogue.FindVersion(version)) app = row->app;
  return version;
}

std::uint64_t RowId(const credit::HostVersion& row) {
  if (!row.version.anonymous()) return static_cast<std::uint64_t>(row.version.value);
  return row.app.value * kAnonymousRows + static_cast<std::uint64_t>(-row.version.value);
}

}  // namespace cobblestone::golden
