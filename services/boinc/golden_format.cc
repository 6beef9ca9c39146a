#include "services/boinc/golden_format.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/wire/events/event_codec.h"
#include "services/boinc/line_file.h"

namespace cobblestone::boinc {
namespace {

using Json = nlohmann::json;

// golden README, item 18: the row of an anonymous version is appid x 1000000 + n for version -n.
constexpr std::uint64_t kAnonymousRows = 1000000;
// BOINC's numbers for the outcome of a result and for the state after validation.
constexpr std::int64_t kOutcomeSuccess = 1;
constexpr std::int64_t kStateValid = 1;
constexpr std::int64_t kStateInvalid = 2;

std::optional<double> AsNumber(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  return std::nullopt;
}

// Text that is not JSON returns a discarded value; no exception is thrown.
Json Parse(std::string_view text) { return Json::parse(text.begin(), text.end(), nullptr, false); }

}  // namespace

bool IsGoldenFormat(std::string_view first_line) {
  const Json json = Parse(first_line);
  if (!json.is_object()) return false;
  const auto ev = json.find("ev");
  return ev != json.end() && ev->is_string();
}

// A JSON object with typed access to its fields. A field that is missing or of another type is noted, once for
// the whole line, and read as 0; the caller checks `problem` after all reads.
class GoldenReader::Object {
 public:
  Object(const Json& json, std::string name, std::string* problem)
      : json_(&json), name_(std::move(name)), problem_(problem) {
    if (!json_->is_object()) Note("is not an object");
  }

  [[nodiscard]] bool Has(const char* key) const { return json_->is_object() && json_->contains(key); }

  [[nodiscard]] double Number(const char* key) const {
    const Json* value = Find(key);
    if (value == nullptr) return 0;
    const auto number = AsNumber(*value);
    if (!number) Note(key, "is not a number");
    return number.value_or(0);
  }
  [[nodiscard]] double NumberOr(const char* key, double otherwise) const {
    return Has(key) ? Number(key) : otherwise;
  }

  [[nodiscard]] std::int64_t Integer(const char* key) const {
    const Json* value = Find(key);
    if (value == nullptr) return 0;
    if (value->is_number_unsigned() &&
        value->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      Note(key, "is too large");
      return 0;
    }
    if (!value->is_number_integer()) {
      Note(key, "is not a whole number");
      return 0;
    }
    return value->get<std::int64_t>();
  }
  [[nodiscard]] std::int64_t IntegerOr(const char* key, std::int64_t otherwise) const {
    return Has(key) ? Integer(key) : otherwise;
  }
  // An id; 0 is BOINC's "none".
  [[nodiscard]] std::uint64_t Id(const char* key) const {
    return Unsigned(key, std::numeric_limits<std::int64_t>::max());
  }
  [[nodiscard]] std::uint32_t Count(const char* key) const {
    return static_cast<std::uint32_t>(Unsigned(key, std::numeric_limits<std::uint32_t>::max()));
  }
  // A required id.
  [[nodiscard]] std::uint64_t Key(const char* key) const {
    const std::uint64_t id = Id(key);
    if (id == 0) Note(key, "is missing or 0");
    return id;
  }

  [[nodiscard]] std::string Text(const char* key) const {
    const Json* value = Find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) {
      Note(key, "is not a string");
      return {};
    }
    return value->get<std::string>();
  }

  [[nodiscard]] Object Child(const char* key) const {
    const Json* value = Find(key);
    return {value == nullptr ? Nothing() : *value, name_ + "." + key, problem_};
  }
  [[nodiscard]] std::vector<Object> Children(const char* key) const {
    std::vector<Object> children;
    const Json* value = Find(key);
    if (value == nullptr) return children;
    if (!value->is_array()) {
      Note(key, "is not a list");
      return children;
    }
    for (std::size_t i = 0; i < value->size(); ++i) {
      children.emplace_back((*value)[i], name_ + "." + key + "[" + std::to_string(i) + "]", problem_);
    }
    return children;
  }
  // The `count` numbers of a list; without the list, zeros.
  template <std::size_t kCount>
  [[nodiscard]] std::array<double, kCount> Numbers(const char* key) const {
    std::array<double, kCount> numbers{};
    if (!Has(key)) return numbers;
    const Json& list = (*json_)[key];
    if (!list.is_array() || list.size() != kCount) {
      Note(key, "is not a list of the required length");
      return numbers;
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto number = AsNumber(list[i]);
      if (!number) Note(key, "contains a value that is not a number");
      numbers[i] = number.value_or(0);
    }
    return numbers;
  }

  void Note(const std::string& what) const {
    if (problem_->empty()) *problem_ = name_ + " " + what;
  }
  void Note(const char* key, const char* what) const { Note(std::string("field ") + key + " " + what); }

 private:
  static const Json& Nothing() {
    static const Json nothing = Json::object();
    return nothing;
  }

  [[nodiscard]] const Json* Find(const char* key) const {
    if (!json_->is_object()) return nullptr;
    const auto found = json_->find(key);
    if (found == json_->end()) {
      Note(key, "is missing");
      return nullptr;
    }
    return &*found;
  }

  [[nodiscard]] std::uint64_t Unsigned(const char* key, std::uint64_t limit) const {
    const std::int64_t value = Integer(key);
    if (value < 0) {
      Note(key, "is negative");
      return 0;
    }
    if (static_cast<std::uint64_t>(value) > limit) {
      Note(key, "is too large");
      return 0;
    }
    return static_cast<std::uint64_t>(value);
  }

  const Json* json_;
  std::string name_;
  std::string* problem_;
};

Status GoldenReader::Error(const std::string& what) const {
  return Status::InvalidArgument(options_.source + ":" + std::to_string(line_ + 1) + ": " + what);
}

Status GoldenReader::ReadLine(std::string_view line, std::vector<GoldenItem>* items) {
  line_ = next_line_++;
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return Status::Ok();
  if (ended_) return Error("a line after `end`");
  const Json json = Parse(line);
  if (json.is_discarded()) return Error("not JSON");

  std::string problem;
  const Object object(json, "line", &problem);
  items_ = items;
  Status status = problem.empty() ? ReadObject(object) : Status::Ok();
  items_ = nullptr;
  if (!status.ok()) return status;
  if (!problem.empty()) return Error(problem);
  return Status::Ok();
}

Status GoldenReader::ReadObject(const Object& object) {
  const std::string ev = object.Text("ev");
  if (ev.empty()) return Status::Ok();  // the problem is already noted
  if (ev == "catalogue") {
    if (started_) return Error("a second catalogue");
    started_ = true;
    ReadCatalogue(object);
    return Status::Ok();
  }
  static constexpr std::string_view kTables[] = {"update_average", "average",      "fpops_to_credit",
                                                 "low_average",    "trickle_init", "trickle"};
  if (std::find(std::begin(kTables), std::end(kTables), ev) != std::end(kTables)) {
    return Error("`" + ev +
                 "` is a call of a single BOINC function, not part of a project's history, so it cannot "
                 "be replayed");
  }
  static constexpr std::string_view kHistory[] = {"wu",      "late",   "error",           "timeout",
                                                  "tick",    "config", "add_app_version", "del_app_version",
                                                  "restart", "end"};
  if (std::find(std::begin(kHistory), std::end(kHistory), ev) == std::end(kHistory)) {
    return Error("unknown `ev`: " + ev);
  }
  if (!started_) return Error("`" + ev + "` before the catalogue");
  ReadHistory(ev, object);
  return Status::Ok();
}

void GoldenReader::ReadCatalogue(const Object& object) {
  const Object config = object.Child("config");
  credit_from_runtime_ = config.IntegerOr("credit_from_runtime", 0) == 1;
  EmitCounted(0,
              wire::SettingsChange{.max_granted_credit = config.Number("max_granted_credit"),
                                   .daily_result_quota = config.Number("daily_result_quota"),
                                   .scale_period = std::nullopt},
              true);

  for (const Object& app : object.Children("apps")) {
    wire::AppChange change;
    change.app = AppId(app.Key("id"));
    change.name = app.Text("name");
    change.policy = credit_from_runtime_ ? "runtime" : "boinc";
    change.target_nresults = app.Count("target_nresults");
    change.min_avg_pfc = app.Number("min_avg_pfc");
    change.host_scale_check = app.Integer("host_scale_check") != 0;
    apps_[change.app.value] = {.target_nresults = change.target_nresults};
    EmitCounted(0, std::move(change), true);
  }
  for (const Object& version : object.Children("app_versions")) AddAppVersion(0, version);

  for (const Object& team : object.Children("teams")) {
    wire::TeamMember member;
    member.team = TeamId(team.Key("id"));
    member.present = 0;
    EmitCounted(0, std::move(member), false);
  }
  for (const Object& user : object.Children("users")) {
    wire::UserMember member;
    member.user = UserId(user.Key("id"));
    member.team = TeamId(user.Id("teamid"));
    member.present = wire::UserMember::kTeam;
    users_.insert(member.user.value);
    EmitCounted(0, std::move(member), false);
  }
  const std::vector<Object> hosts = object.Children("hosts");
  for (const Object& host : hosts) {
    wire::HostMember member;
    member.host = HostId(host.Key("id"));
    member.user = UserId(host.Id("userid"));
    member.whetstone = host.Number("p_fpops");
    member.present = wire::HostMember::kUser | wire::HostMember::kWhetstone;
    hosts_.insert(member.host.value);
    Announce(0, 0, member.user.value);
    EmitCounted(0, std::move(member), false);
  }
  for (const Object& row : object.Children("havs")) AddHostVersion(row);
  for (const Object& host : hosts) {
    wire::OpeningTotal opening;
    opening.kind = wire::AccountKind::kHost;
    opening.account = host.Id("id");
    opening.total = host.NumberOr("total_credit", 0);
    opening.rac = host.NumberOr("expavg_credit", 0);
    opening.rac_time = host.NumberOr("expavg_time", 0);
    if (opening.total == 0 && opening.rac == 0 && opening.rac_time == 0) continue;
    EmitCounted(0, opening, false);
  }
  // Rows and openings must be processed before the first result, because no event waits for them.
  items_->back().barrier = true;
}

void GoldenReader::ReadHistory(std::string_view ev, const Object& object) {
  const double now = object.Number("now");
  if (ev == "wu") {
    ReadLook(object, false);
  } else if (ev == "late") {
    ReadLook(object, true);
  } else if (ev == "error" || ev == "timeout") {
    ReadFailure(object, ev == "timeout");
  } else if (ev == "tick") {
    EmitCounted(now, wire::Tick{.time = now}, true);
  } else if (ev == "config") {
    EmitCounted(now,
                wire::SettingsChange{.max_granted_credit = object.Number("max_granted_credit"),
                                     .daily_result_quota = std::nullopt,
                                     .scale_period = std::nullopt},
                true);
  } else if (ev == "add_app_version") {
    AddAppVersion(now, object.Child("app_version"));
  } else if (ev == "del_app_version") {
    wire::AppVersionChange change;
    change.row.id = object.Key("id");
    change.row.deleted = true;
    if (const auto known = versions_.find(change.row.id); known != versions_.end())
      change.row.app = known->second;
    EmitCounted(now, std::move(change), true);
  } else if (ev == "restart") {
    EmitCounted(now, wire::ValidatorRestart{}, true);
  } else {
    ended_ = true;
    items_->push_back({.envelope = {}, .line = line_, .barrier = true});
  }
}

void GoldenReader::ReadLook(const Object& object, bool late) {
  const double now = object.Number("now");
  const Object workunit = object.Child("wu");
  std::vector<Object> results =
      late ? std::vector<Object>{object.Child("result")} : object.Children("results");
  // golden README, item 17; also drops client errors, which the validator skips.
  std::erase_if(results, [](const Object& r) { return r.Integer("outcome") != kOutcomeSuccess; });
  std::vector<std::pair<std::uint64_t, const Object*>> sorted;
  for (const Object& result : results) sorted.emplace_back(result.Key("id"), &result);
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].first == sorted[i - 1].first) sorted[i].second->Note("id", "occurs twice in this line");
  }

  std::uint32_t claims = 0;
  std::uint64_t canonical = 0;
  const auto state_of = [](const Object& result) {
    // init_error: the output could not be checked. BOINC counts the result as invalid,
    // whatever the validate_state.
    return result.IntegerOr("init_error", 0) == 1 ? kStateInvalid : result.Integer("validate_state");
  };
  if (late) {
    canonical = object.Id("canonical_resultid");
  } else {
    for (const auto& [id, result] : sorted) {
      if (state_of(*result) != kStateValid) continue;
      if (canonical == 0) canonical = id;  // BOINC chooses the first valid result
      ++claims;
    }
    // golden README, item 28: with credit_from_runtime, invalid results of a decided validation count too.
    if (credit_from_runtime_ && canonical != 0) {
      for (const auto& [id, result] : sorted) claims += state_of(*result) == kStateInvalid ? 1 : 0;
    }
  }

  wire::Event validation;
  validation.head = {.id = line_, .project = options_.project, .time = now};
  credit::ValidationFacts facts;
  facts.workunit = WorkunitId(workunit.Key("id"));
  facts.app = AppId(workunit.Key("appid"));
  facts.fpops_est = workunit.Number("rsc_fpops_est");
  facts.fpops_bound = workunit.Number("rsc_fpops_bound");
  facts.pass = ++passes_[facts.workunit.value];
  facts.claims = claims;
  facts.late = late;
  facts.canonical_result = ResultId(canonical);
  const auto app = apps_.find(facts.app.value);
  facts.unreplicated =
      workunit.Count("target_nresults") == 1 && app != apps_.end() && app->second.target_nresults > 1;

  for (const auto& [id, result] : sorted) {
    const std::int64_t state = state_of(*result);
    facts.state = state == kStateValid     ? credit::ValidateState::kValid
                  : state == kStateInvalid ? credit::ValidateState::kInvalid
                                           : credit::ValidateState::kInconclusive;
    facts.check_failed = result->IntegerOr("init_error", 0) == 1;
    validation.body = facts;
    ReadResult(*result, workunit, now, &validation);
  }
}

void GoldenReader::ReadResult(const Object& result, const Object& workunit, double now,
                              wire::Event* validation) {
  wire::Completion completion;
  credit::CompletionFacts& facts = completion.facts;
  facts.result = ResultId(result.Key("id"));
  facts.host = HostId(result.Key("hostid"));
  facts.workunit = WorkunitId(workunit.Id("id"));
  facts.app = AppId(workunit.Id("appid"));
  facts.version = AppVersionId(result.Integer("app_version_id"));
  facts.outcome = credit::Outcome::kSuccess;
  facts.elapsed_time = result.Number("elapsed_time");
  facts.cpu_time = result.Number("cpu_time");
  facts.peak_flops = result.Number("flops_estimate");
  facts.sent_time = result.Number("sent_time");
  facts.received_time = result.Number("received_time");
  Announce(now, facts.host.value, result.Id("userid"));
  if (completed_.insert(facts.result.value).second) Emit(line_, now, completion, false);

  auto& checked = std::get<credit::ValidationFacts>(validation->body);
  checked.result = facts.result;
  checked.host = facts.host;
  checked.runtime_outlier = result.Integer("runtime_outlier") != 0;
  Emit(line_, now, validation->body, false);
}

void GoldenReader::ReadFailure(const Object& object, bool timeout) {
  const double now = object.Number("now");
  wire::Completion completion;
  credit::CompletionFacts& facts = completion.facts;
  facts.host = HostId(object.Key("hostid"));
  facts.app = AppId(object.Key("appid"));
  facts.version = AppVersionId(object.Integer("app_version_id"));
  facts.outcome = timeout ? credit::Outcome::kTimeout : credit::Outcome::kClientError;
  facts.received_time = now;
  if (timeout) facts.delay_bound = object.Number("delay_bound");
  Announce(now, facts.host.value, 0);
  Emit(line_, now, completion, false);
}

void GoldenReader::AddAppVersion(double now, const Object& object) {
  wire::AppVersionChange change;
  change.row.id = object.Key("id");
  change.row.app = AppId(object.Key("appid"));
  change.row.version_num = object.Count("version_num");
  change.row.platform = object.Id("platformid");
  change.row.plan_class = object.Text("plan_class");
  change.row.deprecated = object.IntegerOr("deprecated", 0) != 0;
  versions_[change.row.id] = change.row.app;
  EmitCounted(now, std::move(change), true);
}

void GoldenReader::AddHostVersion(const Object& object) {
  wire::OpeningHostVersion opening;
  opening.host = HostId(object.Key("host_id"));
  const std::uint64_t row = object.Key("app_version_id");
  if (row >= kAnonymousRows) {
    opening.app = AppId(row / kAnonymousRows);
    opening.version = AppVersionId(-static_cast<std::int64_t>(row % kAnonymousRows));
  } else {
    opening.version = AppVersionId(static_cast<std::int64_t>(row));
    if (const auto known = versions_.find(row); known != versions_.end()) opening.app = known->second;
  }
  const auto pfc = object.Numbers<2>("pfc");
  const auto et = object.Numbers<4>("et");
  const auto turnaround = object.Numbers<4>("turnaround");
  opening.pfc = {.n = pfc[0], .mean = pfc[1]};
  opening.et = {.n = et[0], .mean = et[1], .var = et[2], .q = et[3]};
  opening.turnaround = {.n = turnaround[0], .mean = turnaround[1], .var = turnaround[2], .q = turnaround[3]};
  opening.consecutive_valid = object.NumberOr("consecutive_valid", 0);
  opening.max_jobs_per_day = object.NumberOr("max_jobs_per_day", 0);
  Announce(0, opening.host.value, 0);
  EmitCounted(0, opening, false);
}

void GoldenReader::Announce(double now, std::uint64_t host, std::uint64_t user) {
  if (user != 0 && users_.insert(user).second) {
    wire::UserMember member;
    member.user = UserId(user);
    member.deleted = true;
    EmitCounted(now, std::move(member), false);
  }
  if (host != 0 && hosts_.insert(host).second) {
    wire::HostMember member;
    member.host = HostId(host);
    member.deleted = true;
    EmitCounted(now, std::move(member), false);
  }
}

void GoldenReader::EmitCounted(double time, wire::EventBody body, bool barrier) {
  Emit(next_id_++, time, std::move(body), barrier);
}

void GoldenReader::Emit(std::uint64_t id, double time, wire::EventBody body, bool barrier) {
  const wire::Event event{{.id = id, .project = options_.project, .time = time}, std::move(body)};
  items_->push_back({.envelope = wire::EncodeEvent(event), .line = line_, .barrier = barrier});
}

Status ReadGoldenFile(const std::string& path, ProjectId project,
                      const std::function<Status(const GoldenItem&)>& take) {
  auto file = LineFile::Open(path);
  if (!file.ok()) return file.status();
  GoldenReader reader({.project = project, .source = path});
  std::vector<GoldenItem> items;
  std::string line;
  for (bool more = true;;) {
    if (Status s = file->Next(&line, &more); !s.ok()) return s;
    if (!more) break;
    items.clear();
    if (Status s = reader.ReadLine(line, &items); !s.ok()) return s;
    for (const GoldenItem& item : items) {
      if (Status s = take(item); !s.ok()) return s;
    }
  }
  if (!reader.ended()) {
    return Status::InvalidArgument(path + ":" + std::to_string(reader.lines()) +
                                   ": the file ends without `end`");
  }
  return Status::Ok();
}

}  // namespace cobblestone::boinc
