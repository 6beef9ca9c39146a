#include "services/view/hub_questions.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/credit/model/constants.h"
#include "common/federation/factors.h"
#include "common/federation/plan_class.h"
#include "common/wire/control/topics.h"
#include "services/feeds/feed_rows.h"
#include "services/members/member_rows.h"
#include "services/view/json.h"

namespace cobblestone::view {

using nlohmann::json;

namespace {

const char* ModeName(wire::FeedMode mode) { return mode == wire::FeedMode::kDirect ? "direct" : "files"; }

const char* ConditionName(wire::FeedCondition condition) {
  switch (condition) {
    case wire::FeedCondition::kFine: return "fine";
    case wire::FeedCondition::kNoWork: return "no_work";
    case wire::FeedCondition::kStuck: return "stuck";
    case wire::FeedCondition::kStopped: return "stopped";
    case wire::FeedCondition::kMoved: return "moved";
    case wire::FeedCondition::kUnreachable: return "unreachable";
    case wire::FeedCondition::kUnknown: break;
  }
  return "unknown";
}

json EditionJson(std::uint64_t number, const feeds::EditionRow& row) {
  const wire::FeedEdition& edition = row.edition;
  const char* state = edition.state == wire::EditionState::kBegun      ? "arriving"
                      : edition.state == wire::EditionState::kComplete ? "complete"
                                                                       : "held";
  json shown{{"edition", number},
             {"state", state},
             {"published_time", edition.published_time},
             {"begun_time", row.begun.time},
             {"ended_time", row.ended.time},
             {"digest", edition.digest},
             {"sums", json::array()}};
  if (!edition.reason.empty()) shown["reason"] = edition.reason;
  if (edition.released) shown["released"] = true;
  shown["whole"] = edition.whole;
  for (const wire::FeedSum& sum : edition.sums)
    shown["sums"].push_back({{"kind", KindName(sum.kind)},
                             {"accounts", sum.accounts},
                             {"total", MicroText(sum.total_micro)},
                             {"changed", sum.changed}});
  return shown;
}

json ProjectJson(std::uint32_t number, const feeds::ProjectRow& row) {
  json shown{{"project", number},
             {"name", row.project.name},
             {"url", row.project.url},
             {"mode", ModeName(row.project.mode)},
             {"retired", row.project.retired},
             {"shared_account", row.project.shared_account},
             {"points_per_cobblestone",
              row.project.points_per_cobblestone > 0 ? row.project.points_per_cobblestone : 1.0},
             {"condition", ConditionName(row.health.condition)},
             {"condition_time", row.health_stamp.time},
             {"app_versions", row.versions.versions.size()},
             {"app_versions_as_of", row.versions.as_of},
             {"complete_edition", row.complete},
             {"arriving_edition", row.begun},
             {"held_edition", row.held > row.complete ? row.held : 0}};
  if (!row.health.reason.empty()) shown["condition_reason"] = row.health.reason;
  return shown;
}

json FactorJson(const federation::Factor& factor) {
  json shown{{"plan_class", factor.plan_class}, {"resource", federation::ResourceName(factor.resource)},
             {"factor", Number(factor.factor)}, {"target", Number(factor.target)},
             {"is_default", factor.is_default}, {"contributions", json::array()},
             {"left_out", json::array()}};
  for (const federation::Contribution& part : factor.contributions)
    shown["contributions"].push_back({{"project", part.project},
                                      {"name", part.project_name},
                                      {"credit", Number(part.credit)},
                                      {"weight", Number(part.weight)},
                                      {"value", Number(part.value)},
                                      {"app_versions", part.versions}});
  return shown;
}

json LeftOutJson(const std::vector<federation::LeftOut>& left_out) {
  json shown = json::array();
  for (const federation::LeftOut& one : left_out)
    shown.push_back({{"project", one.project},
                     {"name", one.project_name},
                     {"app_version", one.app_version},
                     {"plan_class", one.plan_class},
                     {"reason", federation::LeftOutName(one.reason)},
                     {"words", federation::LeftOutWords(one.reason)}});
  return shown;
}

struct Tables {
  const stream::TableSpec<members::MemberRow>& rows;
  const stream::TableSpec<credit::DayBlock<credit::DaySum>>& days;
};

Tables TablesOf(wire::AccountKind kind) {
  switch (kind) {
    case wire::AccountKind::kHost: return {members::kHostsTable, members::kHostDaysTable};
    case wire::AccountKind::kTeam: return {members::kTeamsTable, members::kTeamDaysTable};
    default: return {members::kUsersTable, members::kUserDaysTable};
  }
}

json AccountJson(wire::AccountKind kind, const wire::FeedAccount& account, double now) {
  json shown{{"kind", KindName(kind)},
             {"name", account.name},
             {"country", account.country},
             {"url", account.url},
             {"create_time", account.create_time},
             {"total", MicroText(account.total_micro)},
             {"edition", account.edition}};
  AddRecentNow("rac", {.value = account.recent, .time = account.recent_time}, now, &shown);
  if (!account.cross_project_id.empty()) shown["cpid"] = account.cross_project_id;
  if (account.team != 0) shown["team"] = account.team;
  if (account.owner != 0) shown["owner"] = account.owner;
  if (!account.description.empty()) shown["description"] = account.description;
  return shown;
}

Status NotRegistered(ProjectId project) {
  return Status::NotFound("project " + std::to_string(project.value) + " is not registered with this hub");
}

}  // namespace

// FEEDS leads the hub, so its slot is where a pipeline of projects has the coordinator.
Result<std::shared_ptr<const Rows>> HubQuestions::Feeds() { return state_.Of(Stage::kCoordinator, 0); }

Result<json> HubQuestions::Projects() {
  const auto rows = Feeds();
  if (!rows.ok()) return rows.status();
  std::vector<std::pair<std::uint32_t, json>> found;
  Status read =
      ForEach(**rows, feeds::kProjectsTable, [&](const stream::Key& key, const feeds::ProjectRow& row) {
        found.emplace_back(key.project, ProjectJson(key.project, row));
        return Status::Ok();
      });
  if (!read.ok()) return read;
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  json shown = json::array();
  for (auto& [number, project] : found) shown.push_back(std::move(project));
  return shown;
}

Result<json> HubQuestions::Project(ProjectId project, std::size_t limit) {
  const auto rows = Feeds();
  if (!rows.ok()) return rows.status();
  const auto row = Find(**rows, feeds::kProjectsTable, feeds::ProjectKey(project));
  if (!row.ok()) return row.status();
  if (!*row) return NotRegistered(project);
  json shown = ProjectJson(project.value, **row);
  shown["editions"] = json::array();
  std::vector<std::pair<std::uint64_t, json>> editions;
  Status read =
      ForEach(**rows, feeds::kEditionsTable, [&](const stream::Key& key, const feeds::EditionRow& edition) {
        if (key.project == project.value) editions.emplace_back(key.id, EditionJson(key.id, edition));
        return Status::Ok();
      });
  if (!read.ok()) return read;
  std::sort(editions.begin(), editions.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (editions.size() > limit) editions.resize(limit);
  for (auto& [number, edition] : editions) shown["editions"].push_back(std::move(edition));
  return shown;
}

Result<json> HubQuestions::Factors(std::optional<std::uint64_t> sequence) {
  const auto rows = Feeds();
  if (!rows.ok()) return rows.status();
  const auto state = Find(**rows, feeds::kFactorsStateTable, stream::Key{});
  if (!state.ok()) return state.status();
  const std::uint64_t newest = *state ? (*state)->sequence : 0;
  const std::uint64_t wanted = sequence.value_or(newest);
  if (wanted == 0)
    return Status::Retry(
        "no factors have been computed yet: a hub computes them at its first tick (ticks: wall)");
  const auto row = Find(**rows, feeds::kFactorsTable, feeds::FactorsKey(wanted));
  if (!row.ok()) return row.status();
  if (!*row) return Status::NotFound("there are no factors with sequence " + std::to_string(wanted));
  json shown{{"sequence", wanted},
             {"newest", newest},
             {"as_of", (*row)->time},
             {"factors", json::array()},
             {"left_out", LeftOutJson((*row)->factors.left_out)}};
  for (const federation::Factor& factor : (*row)->factors.factors) {
    json one = FactorJson(factor);
    one["left_out"] = LeftOutJson(factor.left_out);
    shown["factors"].push_back(std::move(one));
  }
  return shown;
}

Result<json> HubQuestions::Account(ProjectId project, wire::AccountKind kind, std::uint64_t id) {
  const auto rows = Feeds();
  if (!rows.ok()) return rows.status();
  const auto known = Find(**rows, feeds::kProjectsTable, feeds::ProjectKey(project));
  if (!known.ok()) return known.status();
  if (!*known) return NotRegistered(project);
  const std::uint64_t complete = (*known)->complete;
  // MEMBERS is the stage of every slot but the last, as ACCOUNTS is in a pipeline of projects.
  const auto members = state_.Of(Stage::kAccounts, wire::PartitionOf(project, id, state_.partitions()));
  if (!members.ok()) return members.status();
  const Tables tables = TablesOf(kind);
  const stream::Key key{.project = project.value, .id = id, .sub = 0};
  auto row = Find(**members, tables.rows, key);
  if (!row.ok()) return row.status();
  const wire::FeedAccount* seen = *row ? members::SeenOf(**row, complete, (*known)->whole) : nullptr;
  if (seen == nullptr)
    return Status::NotFound(std::string(KindName(kind)) + " " + std::to_string(id) + " of project " +
                            std::to_string(project.value) + " is not known");
  json shown = AccountJson(kind, *seen, clock_());
  shown["project"] = project.value;
  shown["project_name"] = (*known)->project.name;
  shown["id"] = id;
  std::vector<credit::DaySum> days = (*row)->days;
  if (Status s = AddOlderDays(**members, tables.days, key, days); !s.ok()) return s;
  members::HideArriving(**row, complete, days);
  shown["days"] = json::array();
  for (const credit::DaySum& day : days)
    if (day.micro != 0) shown["days"].push_back({{"day", day.day}, {"credit", MicroText(day.micro)}});
  return shown;
}

}  // namespace cobblestone::view
