#include "services/view/hub/hub_lists.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/credit/model/constants.h"
#include "common/federation/identity/identities.h"
#include "common/wire/control/topics.h"
#include "services/feeds/feed_rows.h"
#include "services/members/member_rows.h"
#include "services/view/folded.h"
#include "services/view/hub/project_days.h"
#include "services/view/json.h"

namespace cobblestone::view {

using nlohmann::json;
using wire::AccountKind;

namespace {

const stream::TableSpec<members::MemberRow>& RowsOf(AccountKind kind) {
  return kind == AccountKind::kHost   ? members::kHostsTable
         : kind == AccountKind::kTeam ? members::kTeamsTable
                                      : members::kUsersTable;
}

std::string IdentityOf(const HubIndex& index, const IndexedUser& user) {
  return federation::IdentityText(
      {.project = index.projects[user.project].id.value, .user = user.id, .create_time = user.created});
}

json ListJson(const HubIndex& index, std::uint64_t count, json rows) {
  return {{"as_of", Number(index.as_of)}, {"count", count}, {"data", std::move(rows)}};
}

// The elements of a page: [begin, end) of `size` elements.
PlaceRange Elements(const HubLists::Page& page, std::size_t size) {
  const std::size_t begin = std::min(page.offset, size);
  return {.begin = static_cast<Place>(begin),
          .end = static_cast<Place>(begin + std::min(page.limit, size - begin))};
}

}  // namespace

// Reads what the index leaves out from the rows.
class HubLists::Names {
 public:
  explicit Names(const HubIndex& index) : index_(index) {}

  // The account as readers see it.
  Result<wire::FeedAccount> Account(ProjectId project, AccountKind kind, std::uint64_t id) {
    const IndexedProject* known = index_.FindProject(project);
    if (known == nullptr) return wire::FeedAccount{};
    const auto row = Find(index_.RowsOfAccount(project, id), RowsOf(kind),
                          stream::Key{.project = project.value, .id = id, .sub = 0});
    if (!row.ok()) return row.status();
    const wire::FeedAccount* seen = *row ? members::SeenOf(**row, known->complete, known->whole) : nullptr;
    return seen == nullptr ? wire::FeedAccount{} : *seen;
  }

  Result<std::string> Project(ProjectId project) {
    const auto known = projects_.find(project.value);
    if (known != projects_.end()) return known->second;
    const auto row = Find(*index_.leading, feeds::kProjectsTable, feeds::ProjectKey(project));
    if (!row.ok()) return row.status();
    return projects_.emplace(project.value, *row ? (*row)->project.name : std::string()).first->second;
  }

 private:
  const HubIndex& index_;
  std::map<std::uint32_t, std::string> projects_;
};

std::shared_ptr<const HubIndex> HubLists::index() const {
  const std::lock_guard lock(mutex_);
  return index_;
}

void HubLists::Publish(std::shared_ptr<const HubIndex> index, double took) {
  const std::lock_guard lock(mutex_);
  index_.swap(index);  // the one before is freed by the caller's argument, after the lock
  took_ = took;
}

HubLists::Look HubLists::look() const {
  const std::lock_guard lock(mutex_);
  if (index_ == nullptr) return {};
  return {.as_of = index_->as_of,
          .took = took_,
          .people = index_->people.size(),
          .users = index_->users.all.size(),
          .hosts = index_->hosts.all.size()};
}

Result<std::shared_ptr<const HubIndex>> HubLists::Ready() const {
  auto now = index();
  if (now == nullptr)
    return Status::Retry(
        "the index of accounts is being built after the start of the hub; try again in a moment");
  return now;
}

double HubLists::Decay(const HubIndex& index) const {
  return credit::DecayedAverage({.value = 1, .time = index.as_of}, clock_(), credit::kRecentAverageHalfLife);
}

// ---- Lists of a project -----------------------------------------------------------------------------------------

Result<json> HubLists::Top(ProjectId project, AccountKind kind, HubRank by, const Page& page) const {
  const auto ready = Ready();
  if (!ready.ok()) return ready.status();
  const HubIndex& index = **ready;
  const IndexedProject* of = index.FindProject(project);
  if (of == nullptr)
    return Status::NotFound("project " + std::to_string(project.value) + " is not registered with this hub");
  const double decay = Decay(index);
  Names names(index);
  json rows = json::array();
  const auto list = [&](const auto& entries, PlaceRange range, auto&& rank, auto&& more) -> Result<json> {
    const std::vector<Place>& order = entries.by[static_cast<std::size_t>(by)];
    const PlaceRange shown = Elements(page, range.size());
    for (Place n = shown.begin; n < shown.end; ++n) {
      const Place place = order[range.begin + n];
      const auto& entry = entries.all[place];
      const auto account = names.Account(project, kind, entry.id);
      if (!account.ok()) return account.status();
      json row{{"rank", rank(place)},
               {"id", entry.id},
               {"name", account->name},
               {"country", account->country},
               {"total", MicroText(entry.total)},
               {"rac", Number(entry.recent * decay)}};
      if (Status s = more(entry, *account, &row); !s.ok()) return s;
      rows.push_back(std::move(row));
    }
    return ListJson(index, range.size(), std::move(rows));
  };
  if (kind == AccountKind::kHost)
    return list(
        index.hosts, of->hosts, [&](Place place) { return index.HostRank(place, by); },
        [](const IndexedHost&, const wire::FeedAccount& account, json* row) {
          row->erase("country");
          if (!account.cross_project_id.empty()) (*row)["cpid"] = account.cross_project_id;
          if (account.owner != 0) (*row)["owner"] = account.owner;
          if (!account.description.empty()) (*row)["description"] = account.description;
          return Status::Ok();
        });
  if (kind == AccountKind::kTeam)
    return list(
        index.teams, of->teams, [&](Place place) { return index.TeamRank(place, by); },
        [&](const IndexedTeam& team, const wire::FeedAccount&, json* row) {
          (*row)["members"] = team.members;
          if (team.group != kNowhere) (*row)["key"] = TeamNameKeyText(index.groups[team.group].key);
          return Status::Ok();
        });
  return list(
      index.users, of->users, [&](Place place) { return index.UserRank(place, by); },
      [&](const IndexedUser& user, const wire::FeedAccount&, json* row) {
        if (user.person != kNowhere)
          (*row)["identity"] = IdentityOf(index, index.users.all[index.people[user.person].shown]);
        if (user.team == kNowhere) return Status::Ok();
        const auto team = names.Account(project, AccountKind::kTeam, index.teams.all[user.team].id);
        if (!team.ok()) return team.status();
        (*row)["team"] = index.teams.all[user.team].id;
        (*row)["team_name"] = team->name;
        return Status::Ok();
      });
}

// ---- Lists over projects ----------------------------------------------------------------------------------------

Result<json> HubLists::PersonJson(const HubIndex& index, Place place, HubRank by, Names& names) const {
  const IndexedPerson& person = index.people[place];
  const IndexedUser& user = index.users.all[person.shown];
  const auto account = names.Account(index.projects[user.project].id, AccountKind::kUser, user.id);
  if (!account.ok()) return account.status();
  return json{{"rank", index.PersonRank(place, by)},
              {"identity", IdentityOf(index, user)},
              {"name", account->name},
              {"country", index.countries[person.country].name},
              {"total", MicroText(person.total)},
              {"rac", Number(person.recent * Decay(index))},
              {"projects", person.projects}};
}

namespace {

// Places of people in order of rank, cut to a page.
class PeoplePage {
 public:
  PeoplePage(const HubIndex& index, HubRank by, const HubLists::Page& page)
      : index_(index), by_(by), page_(page) {}

  void All() {
    const PlaceRange shown = Elements(page_, index_.people.size());
    for (Place n = shown.begin; n < shown.end; ++n) places_.push_back(Nth(n));
    count_ = index_.people.size();
  }
  void InCountry(std::uint16_t country) {
    count_ = index_.countries[country].people;
    std::size_t found = 0;
    const std::size_t end = page_.offset + page_.limit;
    for (Place n = 0; n < index_.people.size() && found < std::min<std::size_t>(end, count_); ++n) {
      if (index_.people[Nth(n)].country != country) continue;
      if (found++ >= page_.offset) places_.push_back(Nth(n));
    }
  }
  // In any order; each at most once.
  void Of(std::vector<Place> people) {
    count_ = people.size();
    const PlaceRange shown = Elements(page_, people.size());
    const auto before = [&](Place a, Place b) {
      const double recent_a = index_.people[a].recent;
      const double recent_b = index_.people[b].recent;
      return by_ == HubRank::kRecent && recent_a != recent_b ? recent_a > recent_b : a < b;
    };
    std::partial_sort(people.begin(), people.begin() + shown.end, people.end(), before);
    places_.assign(people.begin() + shown.begin, people.begin() + shown.end);
  }
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  [[nodiscard]] Place Nth(Place n) const { return by_ == HubRank::kTotal ? n : index_.people_by_recent[n]; }

  const HubIndex& index_;
  const HubRank by_;
  const HubLists::Page& page_;
  std::vector<Place> places_;
  std::size_t count_ = 0;
};

std::vector<Place> PeopleOfTeam(const HubIndex& index, const std::string& name) {
  std::vector<Place> people;
  const Place group = index.FindGroup(TeamNameKeyOf(name));
  if (group == kNowhere) return people;
  for (const Place team : index.TeamsOf(group))
    for (const Place user : index.MembersOf(team))
      if (index.users.all[user].person != kNowhere) people.push_back(index.users.all[user].person);
  std::sort(people.begin(), people.end());
  people.erase(std::unique(people.begin(), people.end()), people.end());
  return people;
}

}  // namespace

Result<json> HubLists::People(const PeopleWanted& wanted, HubRank by, const Page& page) const {
  const auto ready = Ready();
  if (!ready.ok()) return ready.status();
  const HubIndex& index = **ready;
  PeoplePage people(index, by, page);
  if (!wanted.country.empty()) {
    const auto known = std::find_if(index.countries.begin(), index.countries.end(),
                                    [&](const IndexedCountry& one) { return one.name == wanted.country; });
    if (known != index.countries.end())
      people.InCountry(static_cast<std::uint16_t>(known - index.countries.begin()));
  } else if (!wanted.team.empty()) {
    people.Of(PeopleOfTeam(index, wanted.team));
  } else if (!wanted.name.empty()) {
    const auto named = index.PeopleNamed(Folded(wanted.name));
    people.Of({named.begin(), named.end()});
  } else {
    people.All();
  }
  Names names(index);
  json rows = json::array();
  for (const Place place : people.places()) {
    auto row = PersonJson(index, place, by, names);
    if (!row.ok()) return row.status();
    rows.push_back(std::move(*row));
  }
  return ListJson(index, people.count(), std::move(rows));
}

Result<json> HubLists::GroupJson(const HubIndex& index, Place place, Names& names) const {
  const IndexedGroup& group = index.groups[place];
  const IndexedTeam& team = index.teams.all[group.shown];
  const auto account = names.Account(index.projects[team.project].id, AccountKind::kTeam, team.id);
  if (!account.ok()) return account.status();
  std::size_t projects = 0;
  std::uint16_t last = 0;
  std::vector<std::uint16_t> of;
  for (const Place one : index.TeamsOf(place)) of.push_back(index.teams.all[one].project);
  std::sort(of.begin(), of.end());
  for (const std::uint16_t project : of) {
    if (projects == 0 || project != last) ++projects;
    last = project;
  }
  return json{{"name", account->name},
              {"key", TeamNameKeyText(group.key)},
              {"total", MicroText(group.total)},
              {"rac", Number(group.recent * Decay(index))},
              {"projects", projects},
              {"members", group.members}};
}

Result<json> HubLists::Teams(HubRank by, const Page& page) const {
  const auto ready = Ready();
  if (!ready.ok()) return ready.status();
  const HubIndex& index = **ready;
  Names names(index);
  const PlaceRange shown = Elements(page, index.groups.size());
  json rows = json::array();
  for (Place n = shown.begin; n < shown.end; ++n) {
    const Place place = by == HubRank::kTotal ? n : index.groups_by_recent[n];
    auto row = GroupJson(index, place, names);
    if (!row.ok()) return row.status();
    (*row)["rank"] = index.GroupRank(place, by);
    rows.push_back(std::move(*row));
  }
  return ListJson(index, index.groups.size(), std::move(rows));
}

Result<json> HubLists::Team(const TeamNameKey& key, const Page& page) const {
  const auto ready = Ready();
  if (!ready.ok()) return ready.status();
  const HubIndex& index = **ready;
  const Place place = index.FindGroup(key);
  if (place == kNowhere) return Status::NotFound("no team has a name with this key");
  Names names(index);
  auto shown = GroupJson(index, place, names);
  if (!shown.ok()) return shown.status();
  (*shown)["rank_total"] = index.GroupRank(place, HubRank::kTotal);
  (*shown)["rank_rac"] = index.GroupRank(place, HubRank::kRecent);
  (*shown)["of"] = index.groups.size();
  (*shown)["teams"] = json::array();
  const auto teams = index.TeamsOf(place);
  const PlaceRange range = Elements(page, teams.size());
  for (const Place one : teams.subspan(range.begin, range.size())) {
    const IndexedTeam& team = index.teams.all[one];
    const IndexedProject& project = index.projects[team.project];
    const auto account = names.Account(project.id, AccountKind::kTeam, team.id);
    if (!account.ok()) return account.status();
    const auto name = names.Project(project.id);
    if (!name.ok()) return name.status();
    json row{{"project", project.id.value},
             {"project_name", *name},
             {"id", team.id},
             {"name", account->name},
             {"country", account->country},
             {"total", MicroText(team.total)},
             {"cobblestones", MicroText(index.Cobblestones(team))},
             {"rac", Number(team.recent * Decay(index))},
             {"members", team.members},
             {"rank_total", index.TeamRank(one, HubRank::kTotal)},
             {"rank_rac", index.TeamRank(one, HubRank::kRecent)},
             {"of", project.teams.size()}};
    if (!account->url.empty()) row["url"] = account->url;
    (*shown)["teams"].push_back(std::move(row));
  }
  return ListJson(index, teams.size(), std::move(*shown));
}

Result<json> HubLists::Countries(HubRank by, const Page& page) const {
  const auto ready = Ready();
  if (!ready.ok()) return ready.status();
  const HubIndex& index = **ready;
  const std::vector<Place>& order = index.countries_by[static_cast<std::size_t>(by)];
  const double decay = Decay(index);
  const PlaceRange shown = Elements(page, order.size());
  json rows = json::array();
  for (Place n = shown.begin; n < shown.end; ++n) {
    const IndexedCountry& country = index.countries[order[n]];
    const auto first_equal = std::partition_point(order.begin(), order.begin() + n, [&](Place one) {
      return by == HubRank::kTotal ? index.countries[one].total > country.total
                                   : index.countries[one].recent > country.recent;
    });
    rows.push_back({{"rank", first_equal - order.begin() + 1},
                    {"country", country.name},
                    {"people", country.people},
                    {"total", MicroText(country.total)},
                    {"rac", Number(country.recent * decay)}});
  }
  return ListJson(index, order.size(), std::move(rows));
}

// Ids that only begin alike are left out of the page, but not of the count: they are too rare to read every row for.
Result<json> HubLists::Hosts(const federation::Cpid& cpid, const Page& page) const {
  const auto ready = Ready();
  if (!ready.ok()) return ready.status();
  const HubIndex& index = **ready;
  const auto found = index.HostsOf(cpid);
  const double decay = Decay(index);
  Names names(index);
  const PlaceRange range = Elements(page, found.size());
  json rows = json::array();
  for (const Place place : found.subspan(range.begin, range.size())) {
    const IndexedHost& host = index.hosts.all[place];
    const IndexedProject& project = index.projects[host.project];
    const auto account = names.Account(project.id, AccountKind::kHost, host.id);
    if (!account.ok()) return account.status();
    if (federation::ParseCpid(account->cross_project_id) != cpid) continue;
    const auto name = names.Project(project.id);
    if (!name.ok()) return name.status();
    json row{{"project", project.id.value},
             {"project_name", *name},
             {"id", host.id},
             {"create_time", account->create_time},
             {"total", MicroText(host.total)},
             {"cobblestones", MicroText(index.Cobblestones(host))},
             {"rac", Number(host.recent * decay)},
             {"rac_cobblestones", Number(project.points.OfRecent(host.recent * decay, index.as_of))},
             {"rank_total", index.HostRank(place, HubRank::kTotal)},
             {"rank_rac", index.HostRank(place, HubRank::kRecent)},
             {"of", project.hosts.size()}};
    row["in_sum"] = !project.account_manager;
    if (account->owner != 0) row["owner"] = account->owner;
    if (!account->description.empty()) row["description"] = account->description;
    rows.push_back(std::move(row));
  }
  return ListJson(index, found.size(), std::move(rows));
}

Result<json> HubLists::Days(ProjectId project) const {
  const auto rows = state_.Of(Stage::kCoordinator, 0);
  if (!rows.ok()) return rows.status();
  return ProjectDays(**rows, project);
}

// ---- Parts of other answers -------------------------------------------------------------------------------------

void HubLists::AddProject(ProjectId project, json* shown) const {
  const auto now = index();
  const IndexedProject* of = now == nullptr ? nullptr : now->FindProject(project);
  if (of == nullptr) return;
  (*shown)["users"] = of->users.size();
  (*shown)["hosts"] = of->hosts.size();
  (*shown)["teams"] = of->teams.size();
  (*shown)["countries"] = of->countries;
  (*shown)["total"] = MicroText(of->of_users.total);
  (*shown)["cobblestones"] = MicroText(of->points.OfTotal(of->of_users.total, of->of_users.later));
  (*shown)["rac"] = Number(of->of_users.recent * Decay(*now));
}

Status HubLists::AddSharedHosts(ProjectId project, json* shown) const {
  const auto now = index();
  const IndexedProject* of = now == nullptr ? nullptr : now->FindProject(project);
  if (of == nullptr) return Status::Ok();
  Names names(*now);
  json rows = json::array();
  for (const SharedHosts& compared : of->shared_hosts) {
    const ProjectId other = now->projects[compared.other].id;
    const auto name = names.Project(other);
    if (!name.ok()) return name.status();
    rows.push_back({{"project", other.value},
                    {"project_name", *name},
                    {"hosts", compared.hosts},
                    {"ratio", Number(compared.ratio)},
                    {"least", Number(compared.least)},
                    {"greatest", Number(compared.greatest)}});
  }
  (*shown)["shared_hosts"] = std::move(rows);
  return Status::Ok();
}

void HubLists::AddRanks(ProjectId project, AccountKind kind, std::uint64_t id, json* shown) const {
  const auto now = index();
  if (now == nullptr) return;
  const auto add = [&](Place place, std::uint64_t (HubIndex::*rank)(Place, HubRank) const,
                       PlaceRange IndexedProject::*range) {
    if (place == kNowhere) return;
    (*shown)["rank_total"] = (*now.*rank)(place, HubRank::kTotal);
    (*shown)["rank_rac"] = (*now.*rank)(place, HubRank::kRecent);
    (*shown)["of"] = (now->FindProject(project)->*range).size();
  };
  if (kind == AccountKind::kHost)
    return add(now->FindHost(project, id), &HubIndex::HostRank, &IndexedProject::hosts);
  if (kind == AccountKind::kTeam)
    return add(now->FindTeam(project, id), &HubIndex::TeamRank, &IndexedProject::teams);
  const Place user = now->FindUser(project, id);
  add(user, &HubIndex::UserRank, &IndexedProject::users);
  if (user == kNowhere) return;
  (*shown)["hosts"] = now->users.all[user].hosts;
  (*shown)["used_hosts"] = now->users.all[user].used_hosts;
}

void HubLists::AddTeamRanks(ProjectId project, std::uint64_t team, json* shown) const {
  const auto now = index();
  const Place place = now == nullptr ? kNowhere : now->FindTeam(project, team);
  if (place == kNowhere) return;
  (*shown)["team_rank_total"] = now->TeamRank(place, HubRank::kTotal);
  (*shown)["team_rank_rac"] = now->TeamRank(place, HubRank::kRecent);
  (*shown)["team_members"] = now->teams.all[place].members;
}

void HubLists::AddPersonRanks(ProjectId project, std::uint64_t user, json* shown) const {
  const auto now = index();
  const Place place = now == nullptr ? kNowhere : now->FindUser(project, user);
  const Place person = place == kNowhere ? kNowhere : now->users.all[place].person;
  if (person == kNowhere) return;
  (*shown)["rank_total"] = now->PersonRank(person, HubRank::kTotal);
  (*shown)["rank_rac"] = now->PersonRank(person, HubRank::kRecent);
  (*shown)["of"] = now->people.size();
}

}  // namespace cobblestone::view
