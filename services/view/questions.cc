#include "services/view/questions.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/credit/model/constants.h"
#include "common/credit/policies/policy.h"
#include "common/federation/plan_class.h"
#include "common/wire/control/topics.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/coordinator/profiles.h"
#include "services/view/gathered.h"
#include "services/view/hub_questions.h"
#include "services/view/json.h"
#include "services/view/project_now.h"

namespace cobblestone::view {

using nlohmann::json;

Questions::Questions(State& state, Ledger& ledger, QuestionsOptions options)
    : state_(state),
      ledger_(ledger),
      options_(std::move(options)),
      gathered_(std::make_unique<Gathered>(*this, state, options_.gathered_age)) {
  if (options_.hub) hub_ = std::make_unique<HubQuestions>(state, [this] { return clock(); });
}

Questions::~Questions() = default;

double Questions::clock() const {
  if (options_.clock) return options_.clock();
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Result<std::shared_ptr<const Rows>> Questions::Of(Stage stage, ProjectId project, std::uint64_t id) {
  return state_.Of(stage, wire::PartitionOf(project, id, state_.partitions()));
}

Result<std::shared_ptr<const Questions::ProjectNow>> Questions::Now(ProjectId project) {
  const auto rows = state_.Of(Stage::kCoordinator, 0);
  if (!rows.ok()) return rows.status();
  const auto meta = (*rows)->Meta();
  if (!meta.ok()) return meta.status();
  {
    const std::lock_guard lock(mutex_);
    const auto known = projects_.find(project.value);
    if (known != projects_.end() && known->second->sequence == meta->sequence) return known->second;
  }
  auto row = Find(**rows, coordinator::kProjectsTable, KeyOf(project, 0));
  if (!row.ok()) return row.status();
  if (!*row) return NoSuchProject(project);
  auto now = std::make_shared<ProjectNow>();
  now->sequence = meta->sequence;
  now->state = std::move(**row);
  const auto profile = Find(**rows, coordinator::kProfileTable, KeyOf(project, 0));
  if (!profile.ok()) return profile.status();
  now->consent_wanted =
      *profile && (*profile)->profile.has_consent_type && (*profile)->profile.consent_enabled;
  auto factors = Find(**rows, coordinator::kFactorOriginsTable, KeyOf(project, 0));
  if (!factors.ok()) return factors.status();
  if (*factors) now->factors = std::move(**factors);
  const std::lock_guard lock(mutex_);
  projects_[project.value] = now;
  return std::shared_ptr<const ProjectNow>(now);
}

Result<json> Questions::Positions() {
  json positions = json::array();
  for (std::uint32_t k = 0; k < state_.partitions(); ++k) {
    const auto rows = state_.Of(Stage::kAccounts, k);
    if (!rows.ok()) return rows.status();
    const auto meta = (*rows)->Meta();
    if (!meta.ok()) return meta.status();
    json position{{"slot", k}, {"sequence", meta->sequence}};
    const auto inputs = state_.InputsOf(Stage::kAccounts, k);
    for (std::size_t i = 0; i < inputs.size() && i < meta->next.size(); ++i)
      if (inputs[i].topic == wire::kGrants) position["grants"] = meta->next[i];
    positions.push_back(position);
  }
  return positions;
}

Result<json> Questions::AsOf(ProjectId project) {
  const auto positions = Positions();
  if (!positions.ok()) return positions;
  return AsOf(project, *positions);
}

Result<json> Questions::AsOf(ProjectId project, const json& positions) {
  json as_of{{"project", project.value}, {"event_time", 0}, {"epoch", 0}, {"positions", positions}};
  const auto now = Now(project);
  if (now.ok()) {
    as_of["event_time"] = Number((*now)->state.last_tick);
    as_of["epoch"] = (*now)->state.scales.table.epoch;
  } else if (now.status().code() != StatusCode::kNotFound) {
    return now.status();
  }
  as_of["asked_at"] = clock();
  return as_of;
}

// Names and addresses from events; else names from the settings.
Result<std::map<std::uint32_t, Questions::ProjectCall>> Questions::Calls(const Rows& coordinator) {
  std::map<std::uint32_t, ProjectCall> calls;
  for (const auto& [id, name] : options_.names) calls[id].name = name;
  const Status read = ForEach(coordinator, coordinator::kNameTable,
                              [&](const stream::Key& key, const coordinator::ProjectNameRow& row) {
                                if (!row.name.empty()) calls[key.project].name = row.name;
                                calls[key.project].url = row.url;
                                return Status::Ok();
                              });
  if (!read.ok()) return read;
  return calls;
}

std::string Questions::NameOf(ProjectId project) {
  const auto rows = state_.Of(Stage::kCoordinator, 0);
  if (!rows.ok()) return {};
  const auto calls = Calls(**rows);
  if (!calls.ok()) return {};
  const auto call = calls->find(project.value);
  return call != calls->end() ? call->second.name : std::string();
}

Status Questions::CheckProject(ProjectId project) {
  if (options_.names.empty() || options_.names.contains(project.value)) return Status::Ok();
  std::map<std::uint32_t, std::string> known;
  const auto rows = state_.Of(Stage::kCoordinator, 0);
  if (!rows.ok()) return rows.status();
  Status read = ForEach(**rows, coordinator::kProjectsTable,
                        [&](const stream::Key& key, const coordinator::ProjectState&) {
                          known[key.project];
                          return Status::Ok();
                        });
  if (!read.ok()) return read;
  if (known.contains(project.value)) return Status::Ok();
  const auto calls = Calls(**rows);
  if (!calls.ok()) return calls.status();
  for (const auto& [id, call] : *calls)
    if ((known.contains(id) || options_.names.contains(id)) && !call.name.empty())
      known[id] = " (" + call.name + ")";
  std::string list;
  for (const auto& [id, name] : known) list += (list.empty() ? "" : ", ") + std::to_string(id) + name;
  return Status::NotFound("there is no project " + std::to_string(project.value) +
                          "; known projects: " + list);
}

Result<json> Questions::Projects() {
  std::map<std::uint32_t, json> found;
  for (const auto& [id, name] : options_.names)
    found[id] = {{"project", id}, {"name", name}, {"apps", 0}, {"epoch", 0}, {"event_time", 0}};
  const auto rows = state_.Of(Stage::kCoordinator, 0);
  if (!rows.ok()) return rows.status();
  Status read = ForEach(**rows, coordinator::kProjectsTable,
                        [&](const stream::Key& key, const coordinator::ProjectState& state) {
                          json& j = found[key.project];
                          j["project"] = key.project;
                          if (!j.contains("name")) j["name"] = "Project " + std::to_string(key.project);
                          j["apps"] = state.catalogue.apps.size();
                          j["epoch"] = state.scales.table.epoch;
                          j["event_time"] = Number(state.last_tick);
                          return Status::Ok();
                        });
  if (!read.ok()) return read;
  const auto calls = Calls(**rows);
  if (!calls.ok()) return calls.status();
  for (const auto& [id, call] : *calls) {
    const auto j = found.find(id);
    if (j == found.end()) continue;
    if (!call.name.empty()) j->second["name"] = call.name;
    if (!call.url.empty()) j->second["url"] = call.url;
  }
  json list = json::array();
  for (auto& [id, j] : found) {
    const auto lists = gathered_->Of(ProjectId(id));
    if (!lists.ok()) return lists.status();
    j["users"] = lists->of->users.size();
    j["hosts"] = lists->of->hosts.size();
    j["teams"] = lists->of->teams.size();
    j["total"] = MicroText(lists->of->users_total);
    list.push_back(std::move(j));
  }
  return list;
}

Result<json> Questions::Catalogue(ProjectId project) {
  const auto now = Now(project);
  if (!now.ok()) return now.status();
  const credit::Catalogue& catalogue = (*now)->state.catalogue;
  json apps = json::array();
  for (const auto& [id, app] : catalogue.apps)
    apps.push_back({{"app", id},
                    {"name", app.name},
                    {"policy", credit::PolicyName(app.policy.kind)},
                    {"policy_version", app.policy.version},
                    {"deleted", app.deleted}});
  json versions = json::array();
  for (const auto& [id, version] : catalogue.versions)
    versions.push_back({{"app_version", id},
                        {"app", version.app.value},
                        {"version_num", version.version_num},
                        {"plan_class", version.plan_class},
                        {"gpu", version.IsGpu()},
                        {"deprecated", version.deprecated}});
  return json{{"apps", apps}, {"versions", versions}};
}

Result<json> Questions::Scales(ProjectId project) {
  const auto now = Now(project);
  if (!now.ok()) return now.status();
  const coordinator::ProjectState& state = (*now)->state;
  const credit::ScaleTable& table = state.scales.table;
  json apps = json::array();
  for (const auto& [id, app] : state.catalogue.apps) {
    json j{{"app", id},
           {"name", app.name},
           {"policy", credit::PolicyName(app.policy.kind)},
           {"policy_version", app.policy.version}};
    const auto scale = table.apps.find(id);
    if (scale != table.apps.end()) {
      j["min_avg_pfc"] = scale->second.defined ? Number(scale->second.min_avg_pfc) : json();
      j["cpu_mean"] = Number(scale->second.cpu_mean);
      j["gpu_mean"] = Number(scale->second.gpu_mean);
      j["claims"] = {{"n", Number(scale->second.claim_n)},
                     {"mean", Number(scale->second.claim_mean)},
                     {"variance", Number(scale->second.claim_var)}};
    }
    apps.push_back(j);
  }
  const double asked = clock();
  json versions = json::array();
  for (const auto& [id, version] : state.catalogue.versions) {
    json j{{"app_version", id},
           {"app", version.app.value},
           {"version_num", version.version_num},
           {"plan_class", version.plan_class},
           {"gpu", version.IsGpu()}};
    const auto scale = table.versions.find(id);
    if (scale != table.versions.end()) {
      j["pfc"] = AverageJson(scale->second.pfc);
      j["scale"] = Number(scale->second.scale);
      j["expavg_credit"] = Number(scale->second.expavg_credit);
      j["expavg_time"] = Number(scale->second.expavg_time);
      AddRecentNow("expavg_now", {.value = scale->second.expavg_credit, .time = scale->second.expavg_time},
                   asked, &j);
    }
    versions.push_back(j);
  }
  json factors = json::array();
  for (const auto& [plan_class, factor] : state.catalogue.plan_class_factors) {
    json j{{"plan_class", plan_class}, {"factor", Number(factor)}};
    const auto origin = (*now)->factors.origins.find(plan_class);
    if (origin != (*now)->factors.origins.end()) {
      j["time"] = Number(origin->second.time);
      j["provenance"] = origin->second.provenance;
    }
    factors.push_back(j);
  }
  return json{{"project", project.value},   {"epoch", table.epoch},
              {"time", Number(table.time)}, {"apps", apps},
              {"versions", versions},       {"factors", factors}};
}

namespace {

json PublishedVersion(std::uint64_t id, const credit::AppVersionRow& version,
                      const coordinator::ProjectState& state) {
  const credit::ScaleTable& table = state.scales.table;
  const auto app = state.catalogue.apps.find(version.app.value);
  const auto app_scale = table.apps.find(version.app.value);
  const auto found = table.versions.find(id);
  const credit::VersionScale none;
  const credit::VersionScale& scale = found != table.versions.end() ? found->second : none;
  const credit::RecentAverage recent{.value = scale.expavg_credit, .time = scale.expavg_time};
  const double credit = credit::DecayedAverage(recent, table.time, credit::kRecentAverageHalfLife);
  const auto resource = version.resource != credit::Resource::kUnknown
                            ? version.resource
                            : federation::ResourceOfPlanClass(version.plan_class);
  // A mean is 0 while no version of its kind is above the threshold.
  const bool both_kinds =
      app_scale != table.apps.end() && app_scale->second.cpu_mean > 0 && app_scale->second.gpu_mean > 0;
  return {{"app", version.app.value},
          {"app_name", app != state.catalogue.apps.end() ? app->second.name : std::string()},
          {"app_version", id},
          {"version_num", version.version_num},
          {"platform", std::to_string(version.platform)},
          {"plan_class", version.plan_class},
          {"resource", federation::ResourceName(resource)},
          {"samples", Number(scale.pfc.n)},
          {"scale", scale.scale > 0 ? Number(scale.scale) : json()},
          {"recent_credit", Number(credit)},
          {"last_credit", Number(recent.time)},
          {"both_kinds", both_kinds},
          {"deprecated", version.deprecated}};
}

}  // namespace

Result<json> Questions::AppVersions(ProjectId project) {
  const auto now = Now(project);
  if (!now.ok()) return now.status();
  const auto rows = state_.Of(Stage::kCoordinator, 0);
  if (!rows.ok()) return rows.status();
  auto calls = Calls(**rows);
  if (!calls.ok()) return calls.status();
  const coordinator::ProjectState& state = (*now)->state;
  json versions = json::array();
  for (const auto& [id, version] : state.catalogue.versions)
    if (!version.deleted) versions.push_back(PublishedVersion(id, version, state));
  return json{{"project", project.value},
              {"name", (*calls)[project.value].name},
              {"url", (*calls)[project.value].url},
              {"epoch", state.scales.table.epoch},
              {"as_of", Number(state.scales.table.time)},
              {"app_versions", versions}};
}

Result<json> Questions::ScalesHistory(ProjectId project, const EpochsWanted& wanted) {
  const auto epochs = ledger_.Epochs(project, wanted);
  if (!epochs.ok()) return epochs.status();
  json list = json::array();
  for (const credit::ScaleTable& table : *epochs) {
    json apps = json::array();
    for (const auto& [id, app] : table.apps)
      apps.push_back({{"app", id},
                      {"min_avg_pfc", app.defined ? Number(app.min_avg_pfc) : json()},
                      {"cpu_mean", Number(app.cpu_mean)},
                      {"gpu_mean", Number(app.gpu_mean)}});
    json versions = json::array();
    for (const auto& [id, version] : table.versions)
      versions.push_back(
          {{"app_version", id}, {"scale", Number(version.scale)}, {"pfc_mean", Number(version.pfc.mean)}});
    list.push_back(
        {{"epoch", table.epoch}, {"time", Number(table.time)}, {"apps", apps}, {"versions", versions}});
  }
  return list;
}

Result<json> Questions::RefusedList(std::uint64_t from, std::uint64_t limit) {
  json list = json::array();
  Status bad;
  Status read = ledger_.ReadRefused(from, [&](std::uint64_t number, std::string_view record) {
    if (list.size() >= limit) return false;
    wire::Refused refused;
    if (!wire::DecodeRefused(record, &refused)) {
      bad = Status::Corrupted("refused record " + std::to_string(number) + " cannot be decoded");
      return false;
    }
    list.push_back(RefusedJson(number, refused));
    return true;
  });
  if (!read.ok()) return read;
  if (!bad.ok()) return bad;
  return json{{"refused", list}, {"all", ledger_.refused()}};
}

Result<json> Questions::RefusedBefore(std::uint64_t before, std::uint64_t limit) {
  const std::uint64_t end = std::min(before, ledger_.refused());
  const std::uint64_t from = end > limit ? end - limit : 0;
  auto found = RefusedList(from, end - from);
  if (!found.ok()) return found;
  json& list = (*found)["refused"];
  json newest_first = json::array();
  for (auto it = list.rbegin(); it != list.rend(); ++it) newest_first.push_back(std::move(*it));
  list = std::move(newest_first);
  return found;
}

Result<json> Questions::RefusedShow(std::uint64_t number) {
  auto found = RefusedList(number, 1);
  if (!found.ok()) return found.status();
  const json& list = (*found)["refused"];
  if (list.empty() || list[0]["number"] != number)
    return Status::NotFound("unknown refused record " + std::to_string(number));
  return list[0];
}

}  // namespace cobblestone::view
