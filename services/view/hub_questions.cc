#include "services/view/hub_questions.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/federation/factors.h"
#include "common/federation/identity/identities.h"
#include "common/federation/plan_class.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/feed_reason.h"
#include "services/feeds/feed_rows.h"
#include "services/identity/identity_rows.h"
#include "services/members/member_rows.h"
#include "services/view/hub/account_days.h"
#include "services/view/hub/cobblestones.h"
#include "services/view/hub/person_days.h"
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

// As NAME_reason and NAME_next_step, or without a name; absent if empty.
void AddReason(std::string_view text, const std::string& name, json* shown) {
  const wire::FeedReason parts = wire::SplitReason(text);
  if (!parts.reason.empty()) (*shown)[name + "reason"] = parts.reason;
  if (!parts.step.empty()) (*shown)[name + "next_step"] = parts.step;
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
  AddReason(edition.reason, "", &shown);
  if (edition.released) shown["released"] = true;
  shown["whole"] = edition.whole;
  for (const wire::FeedSum& sum : edition.sums)
    shown["sums"].push_back(
        {{"kind", KindName(sum.kind)},
         {"accounts", sum.accounts},
         {"total", MicroText(sum.total_micro)},
         {"not_shown", {{"accounts", sum.not_shown}, {"total", MicroText(sum.not_shown_micro)}}},
         {"changed", sum.changed}});
  return shown;
}

json ProjectJson(std::uint32_t number, const feeds::ProjectRow& row) {
  const Points points = PointsOf(row.project);
  json shown{{"project", number},
             {"name", row.project.name},
             {"url", row.project.url},
             {"mode", ModeName(row.project.mode)},
             {"retired", row.project.retired},
             {"shared_accounts", row.project.shared_accounts},
             {"account_manager", row.project.account_manager},
             {"points_per_cobblestone", points.per_cobblestone},
             {"condition", ConditionName(row.health.condition)},
             {"condition_time", row.health_stamp.time},
             {"app_versions", row.versions.versions.size()},
             {"app_versions_as_of", row.versions.as_of},
             {"complete_edition", row.complete},
             {"arriving_edition", row.begun},
             {"held_edition", row.held > row.complete ? row.held : 0}};
  if (points.dated()) shown["points_since"] = points.since;
  AddReason(row.health.reason, "condition_", &shown);
  return shown;
}

// Adds what the ledger of editions says: the age of what is known, and why the last edition is held.
Status AddEditions(const Rows& leading, std::uint32_t number, const feeds::ProjectRow& row, double now,
                   json* shown) {
  const ProjectId project(number);
  const auto complete = Find(leading, feeds::kEditionsTable, feeds::EditionKey(project, row.complete));
  if (!complete.ok()) return complete.status();
  if (*complete) (*shown)["published_time"] = (*complete)->edition.published_time;
  double known = row.project_stamp.time;  // nothing is known of it
  if (*complete) known = (*complete)->ended.time;
  bool unknown = now - known > kKnownFor;
  if (row.project.mode == wire::FeedMode::kDirect) {
    unknown = row.health.condition == wire::FeedCondition::kUnreachable;
    known = row.health_stamp.time;
  }
  (*shown)["unknown_since"] = unknown ? known : 0;
  if (row.held <= row.complete) return Status::Ok();
  const auto held = Find(leading, feeds::kEditionsTable, feeds::EditionKey(project, row.held));
  if (!held.ok()) return held.status();
  if (*held) AddReason((*held)->edition.reason, "held_", shown);
  return Status::Ok();
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
  if (const auto reach = federation::ReachOfOneProject(factor, {}))
    shown["reach"] = {{"least", Number(reach->least)},
                      {"greatest", reach->greatest ? Number(*reach->greatest) : json(nullptr)},
                      {"silence_is_default", reach->silence_is_default}};
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

// YYYY-MM-DD, UTC.
std::string DateText(double time) {
  const std::chrono::year_month_day date(
      std::chrono::sys_days(std::chrono::days(static_cast<int>(credit::DayOf(time)))));
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

Status NotRegistered(ProjectId project) {
  return Status::NotFound("project " + std::to_string(project.value) + " is not registered with this hub");
}

// Rows of IDENTITY for reading, kept until the question is answered. The first failed read is kept, too: an answer without
// the row would be wrong.
template <class Row>
class ReadTable final : public federation::RowTable<Row> {
 public:
  ReadTable(const Rows& rows, const stream::TableSpec<Row>& spec, Status& failure)
      : rows_(rows), spec_(spec), failure_(failure) {}
  const Row* Peek(const federation::RowKey& key) const override {
    const auto [at, is_new] = read_.try_emplace(key);
    if (is_new) {
      auto found = view::Find(rows_, spec_, identity::KeyOf(key));
      if (!found.ok() && failure_.ok()) failure_ = found.status();
      if (found.ok()) at->second = std::move(*found);
    }
    return at->second ? &*at->second : nullptr;
  }
  // Readers change nothing.
  void Put(const federation::RowKey&, Row) override { COBBLESTONE_CHECK(false, "a reader's table"); }
  void Erase(const federation::RowKey&) override { COBBLESTONE_CHECK(false, "a reader's table"); }

 private:
  const Rows& rows_;
  const stream::TableSpec<Row>& spec_;
  Status& failure_;
  mutable std::map<federation::RowKey, std::optional<Row>> read_;
};

// Identities as of the rows of the leading slot. Check failure() after each question.
class ReadIdentities {
 public:
  explicit ReadIdentities(const Rows& rows)
      : users_(rows, identity::kUsersTable, failure_),
        cpids_(rows, identity::kCpidsTable, failure_),
        identities_(rows, identity::kIdentitiesTable, failure_),
        projects_(rows, identity::kProjectsTable, failure_),
        swingers_(rows, identity::kSwingersTable, failure_),
        deletions_(rows, identity::kDeletionsTable, failure_),
        tables_{users_, cpids_, identities_, projects_, swingers_, deletions_},
        all_(tables_) {}
  [[nodiscard]] const federation::Identities& all() const { return all_; }
  [[nodiscard]] const Status& failure() const { return failure_; }
  bool FindUser(ProjectId project, UserId user, federation::UserRow* row) const {
    return users_.Find({project.value, user.value, 0}, row);
  }

 private:
  Status failure_;
  ReadTable<federation::UserRow> users_;
  ReadTable<federation::CpidRow> cpids_;
  ReadTable<federation::IdentityRow> identities_;
  ReadTable<federation::ProjectRow> projects_;
  ReadTable<federation::SwingerRow> swingers_;
  ReadTable<federation::DeletionRow> deletions_;
  federation::IdentityTables tables_;
  federation::Identities all_;
};

const char* StandingName(federation::Standing standing) {
  switch (standing) {
    case federation::Standing::kJoined: return "joined";
    case federation::Standing::kSwing: return "swing";
    case federation::Standing::kUnconfirmed: return "unconfirmed";
    case federation::Standing::kContradicted: return "contradicted";
    case federation::Standing::kNoise: return "noise";
    case federation::Standing::kCrowded: return "crowded";
    case federation::Standing::kHeldByAnother: return "held_by_another";
    case federation::Standing::kCut: return "cut";
  }
  return "unknown";
}

json EdgesJson(const std::vector<federation::EdgeView>& edges) {
  json shown = json::array();
  for (const federation::EdgeView& one : edges)
    shown.push_back({{"cpid", federation::CpidText(one.edge.cpid)},
                     {"first_day", one.edge.first},
                     {"last_day", one.edge.last},
                     {"standing", StandingName(one.standing)},
                     {"counts", one.counts}});
  return shown;
}

}  // namespace

// FEEDS leads the hub, so its slot is where a pipeline of projects has the coordinator.
Result<std::shared_ptr<const Rows>> HubQuestions::Feeds() { return state_.Of(Stage::kCoordinator, 0); }

Result<json> HubQuestions::Projects() {
  const auto rows = Feeds();
  if (!rows.ok()) return rows.status();
  if (const auto index = lists_.Ready(); !index.ok()) return index.status();
  std::vector<std::pair<std::uint32_t, json>> found;
  Status read =
      ForEach(**rows, feeds::kProjectsTable, [&](const stream::Key& key, const feeds::ProjectRow& row) {
        json shown = ProjectJson(key.project, row);
        lists_.AddProject(ProjectId(key.project), &shown);
        Status added = AddEditions(**rows, key.project, row, clock_(), &shown);
        found.emplace_back(key.project, std::move(shown));
        return added;
      });
  if (!read.ok()) return read;
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  json shown = json::array();
  for (auto& [number, project] : found) shown.push_back(std::move(project));
  return shown;
}

Result<json> HubQuestions::Project(ProjectId project, std::size_t limit, bool figures) {
  const auto rows = Feeds();
  if (!rows.ok()) return rows.status();
  const auto row = Find(**rows, feeds::kProjectsTable, feeds::ProjectKey(project));
  if (!row.ok()) return row.status();
  if (!*row) return NotRegistered(project);
  json shown = ProjectJson(project.value, **row);
  if (figures) {
    if (const auto index = lists_.Ready(); !index.ok()) return index.status();
    lists_.AddProject(project, &shown);
    if (Status s = lists_.AddSharedHosts(project, &shown); !s.ok()) return s;
  }
  if (Status s = AddEditions(**rows, project.value, **row, clock_(), &shown); !s.ok()) return s;
  shown["editions"] = json::array();
  const auto list = Find(**rows, feeds::kEditionListsTable, feeds::ProjectKey(project));
  if (!list.ok()) return list.status();
  if (!*list) return shown;
  std::vector<std::uint64_t> numbers = std::move((*list)->numbers);
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  if (numbers.size() > limit) numbers.resize(limit);
  for (const std::uint64_t number : numbers) {
    const auto edition = Find(**rows, feeds::kEditionsTable, feeds::EditionKey(project, number));
    if (!edition.ok()) return edition.status();
    if (*edition) shown["editions"].push_back(EditionJson(number, **edition));
  }
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
  const auto index = lists_.Ready();
  if (!index.ok()) return index.status();
  Figures ignored;
  return AccountWith(**index, project, kind, id, &ignored);
}

Result<json> HubQuestions::AccountWith(const HubIndex& index, ProjectId project, wire::AccountKind kind,
                                       std::uint64_t id, Figures* figures) {
  const auto known = Find(*index.leading, feeds::kProjectsTable, feeds::ProjectKey(project));
  if (!known.ok()) return known.status();
  if (!*known) return NotRegistered(project);
  const std::uint64_t complete = (*known)->complete;
  const Rows& members = index.RowsOfAccount(project, id);
  const Tables tables = TablesOf(kind);
  const stream::Key key{.project = project.value, .id = id, .sub = 0};
  auto row = Find(members, tables.rows, key);
  if (!row.ok()) return row.status();
  const wire::FeedAccount* seen = *row ? members::SeenOf(**row, complete, (*known)->whole) : nullptr;
  if (seen == nullptr) {
    const std::string who = std::string(KindName(kind)) + " " + std::to_string(id) + " of project " +
                            std::to_string(project.value);
    if (!*row || (*row)->now.edition > complete) return Status::NotFound(who + " is not known");
    // It is gone, or a later edition that was sent whole does not have it.
    double since = (*row)->stamp.time;
    if (!(*row)->now.gone) {
      const auto whole =
          Find(*index.leading, feeds::kEditionsTable, feeds::EditionKey(project, (*known)->whole));
      if (!whole.ok()) return whole.status();
      if (*whole) since = (*whole)->ended.time;
    }
    return Status::NotFound(who + " is no longer exported since " + DateText(since));
  }
  figures->points = PointsOf((*known)->project);
  const std::vector<std::uint64_t>& of_managers = (*known)->project.shared_accounts;
  figures->shared =
      kind == wire::AccountKind::kUser && std::binary_search(of_managers.begin(), of_managers.end(), id);
  json shown = AccountJson(kind, *seen, clock_());
  if (kind == wire::AccountKind::kUser) shown["in_sum"] = !figures->shared;
  lists_.AddRanks(project, kind, id, &shown);
  if (seen->team != 0) {
    auto team = TeamName(index, project, seen->team);
    if (!team.ok()) return team.status();
    shown["team_name"] = std::move(*team);
    lists_.AddTeamRanks(project, seen->team, &shown);
  }
  shown["project"] = project.value;
  shown["project_name"] = (*known)->project.name;
  shown["id"] = id;
  std::vector<credit::DaySum>& days = figures->days;
  days = (*row)->days;
  if (Status s = AddOlderMemberDays(members, tables.days, key, days); !s.ok()) return s;
  members::HideArriving(**row, complete, days);
  figures->cobblestones = figures->points.OfTotal(seen->total_micro, figures->points.LaterOf(days));
  shown["days"] = json::array();
  for (const credit::DaySum& day : days) {
    if (day.micro == 0) continue;
    json one{{"day", day.day}, {"credit", MicroText(day.micro)}};
    if (day.micro < 0) one["correction"] = true;
    shown["days"].push_back(std::move(one));
  }
  figures->corrections = seen->corrections;
  if (kind == wire::AccountKind::kUser) shown["corrections"] = json::array();
  for (const credit::CorrectedDay& one : seen->corrections)
    shown["corrections"].push_back({{"day_came", one.came},
                                    {"day_about", one.about == 0 ? json() : json(one.about)},
                                    {"credit", MicroText(one.micro)}});
  return shown;
}

Result<std::string> HubQuestions::TeamName(const HubIndex& index, ProjectId project, std::uint64_t team) {
  const stream::Key key{.project = project.value, .id = team, .sub = 0};
  const auto row = Find(index.RowsOfAccount(project, team), members::kTeamsTable, key);
  if (!row.ok()) return row.status();
  return *row ? (*row)->now.name : std::string();
}

Result<json> HubQuestions::PersonOfCpid(std::string_view text) {
  const auto cpid = federation::ParseCpid(text);
  if (!cpid) return Status::InvalidArgument("cpid: 32 hexadecimal digits");
  const auto index = lists_.Ready();
  if (!index.ok()) return index.status();
  const ReadIdentities read(*(*index)->leading);
  const auto identity = read.all().IdentityOf(*cpid);
  if (!read.failure().ok()) return read.failure();
  if (!identity) return Status::NotFound("no account is known by this cross-project id");
  return Person(**index, *identity);
}

Result<json> HubQuestions::PersonOf(ProjectId project, UserId user) {
  const auto index = lists_.Ready();
  if (!index.ok()) return index.status();
  const ReadIdentities read(*(*index)->leading);
  federation::UserRow row;
  federation::AccountKey account{.project = project.value, .user = user.value, .create_time = 0};
  if (read.FindUser(project, user, &row) && !row.accounts.empty())
    account.create_time = row.accounts.back().create_time;
  if (!read.failure().ok()) return read.failure();
  return PersonOfAccount(**index, account);
}

Result<json> HubQuestions::PersonOfIdentity(std::string_view identity) {
  const auto account = federation::ParseIdentity(identity);
  if (!account) return Status::InvalidArgument("identity: PROJECT-USER-CREATETIME");
  const auto index = lists_.Ready();
  if (!index.ok()) return index.status();
  return PersonOfAccount(**index, *account);
}

Result<json> HubQuestions::PersonOfAccount(const HubIndex& index, const federation::AccountKey& account) {
  const ReadIdentities read(*index.leading);
  const auto identity = read.all().IdentityOf(account);
  if (!read.failure().ok()) return read.failure();
  if (identity) return Person(index, *identity);
  auto shown = Described(
      index, {.identity = account, .accounts = {{.account = account, .edges = {}}}, .possible = {}});
  if (shown.ok() && shown->at("accounts").empty())
    return Status::NotFound("user " + std::to_string(account.user) + " of project " +
                            std::to_string(account.project) + " is not known");
  return shown;
}

Result<json> HubQuestions::Person(const HubIndex& index, const federation::AccountKey& identity) {
  const ReadIdentities read(*index.leading);
  const auto view = read.all().Describe(identity);
  if (!read.failure().ok()) return read.failure();
  if (!view) return Status::NotFound("no person has this name");
  auto shown = Described(index, *view);
  // Nothing is known of the credit of somebody who has left, or whose first edition arrives; it is not 0.
  if (shown.ok() && shown->at("accounts").empty())
    return Status::NotFound("no project shows an account of this person now");
  return shown;
}

// Accounts of account managers stand for many people and are in no sum. A number whose creation time is another one belongs
// to another person: the project has started again.
Result<json> HubQuestions::Described(const HubIndex& index, const federation::IdentityView& view) {
  credit::MicroTotal total = 0;
  double recent = 0;
  PersonDays days;
  json shown{{"identity", federation::IdentityText(view.identity)},
             {"name", ""},
             {"country", ""},
             {"accounts", json::array()},
             {"possible", json::array()}};
  int named = 0;
  for (const federation::AccountView& one : view.accounts) {
    Figures figures;
    const ProjectId project(one.account.project);
    auto account = AccountWith(index, project, wire::AccountKind::kUser, one.account.user, &figures);
    if (account.status().code() == StatusCode::kNotFound) continue;  // it left its project's statistics
    if (!account.ok()) return account.status();
    const auto created = static_cast<std::uint64_t>(account->at("create_time").get<double>());
    if (one.account.create_time == 0) {  // asked for by its number, and without an identity
      shown["identity"] = federation::IdentityText(
          {.project = one.account.project, .user = one.account.user, .create_time = created});
    } else if (created != one.account.create_time) {
      continue;
    }
    (*account)["cobblestones"] = MicroText(figures.cobblestones);
    (*account)["ids"] = EdgesJson(one.edges);
    if (!figures.shared) {
      total += figures.cobblestones;
      if (account->at("rac").is_number())
        recent += figures.points.OfRecent(account->at("rac").get<double>(), index.as_of);
      days.Add(project, one.account.user, figures.points, figures.days, figures.corrections);
      lists_.AddPersonRanks(project, one.account.user, &shown);
    }
    // Not after an account of many people, if there is another one; else after the eldest.
    const int naming = figures.shared ? 1 : one.account == view.identity ? 3 : 2;
    if (naming > named) {
      named = naming;
      shown["name"] = account->at("name");
      shown["country"] = account->at("country");
    }
    account->erase("days");
    account->erase("corrections");
    shown["accounts"].push_back(std::move(*account));
  }
  for (const federation::Neighbour& one : view.possible)
    shown["possible"].push_back({{"identity", federation::IdentityText(one.identity)},
                                 {"project", one.account.project},
                                 {"user", one.account.user},
                                 {"cpid", federation::CpidText(one.cpid)},
                                 {"standing", StandingName(one.standing)}});
  shown["total"] = MicroText(total);
  shown["rac"] = Number(recent);
  shown["rac_time"] = clock_();
  shown["days"] = days.Days();
  shown["corrections"] = days.Corrections();
  return shown;
}

}  // namespace cobblestone::view
