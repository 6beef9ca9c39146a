#include "services/view/gathered.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/credit/model/constants.h"
#include "services/accounts/accounts_stage.h"
#include "services/coordinator/coordinator_stage.h"
#include "services/teams/teams_stage.h"
#include "services/view/folded.h"

namespace cobblestone::view {

using nlohmann::json;

namespace {

constexpr int kShareOfTime = 20;

void AddName(std::string_view name, std::string& names) {
  for (const char c : Folded(name)) names.push_back(c == '\0' ? ' ' : c);
  names.push_back('\0');
}

// Orders averages of different times: all averages halve in the same time, so their order at one time is their
// order at all times. Logarithmic, because the values differ by many orders of magnitude.
double RecentRank(const credit::RecentAverage& recent) {
  if (!(recent.value > 0)) return recent.value < 0 ? -1e300 : -1e299;
  return std::log2(recent.value) + recent.time / credit::kRecentAverageHalfLife;
}

GatheredAccount Gather(std::uint64_t id, std::uint64_t of, const credit::Account& account,
                       std::uint64_t name) {
  return {.id = id,
          .of = of,
          .total = account.total_micro,
          .recent = account.recent,
          .grants = account.grants,
          .name = name};
}

void Rank(std::vector<GatheredAccount>& accounts, std::vector<std::uint32_t> (&by)[2]) {
  std::sort(accounts.begin(), accounts.end(),
            [](const GatheredAccount& a, const GatheredAccount& b) { return a.id < b.id; });
  // A moving host may appear twice, because the partitions are read at different times.
  accounts.erase(std::unique(accounts.begin(), accounts.end(),
                             [](const GatheredAccount& a, const GatheredAccount& b) { return a.id == b.id; }),
                 accounts.end());
  for (std::vector<std::uint32_t>& order : by) {
    order.resize(accounts.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  }
  std::stable_sort(by[0].begin(), by[0].end(),
                   [&](std::uint32_t a, std::uint32_t b) { return accounts[a].total > accounts[b].total; });
  std::vector<double> recent;
  recent.reserve(accounts.size());
  for (const GatheredAccount& account : accounts) recent.push_back(RecentRank(account.recent));
  std::stable_sort(by[1].begin(), by[1].end(),
                   [&](std::uint32_t a, std::uint32_t b) { return recent[a] > recent[b]; });
}

// Indexes of the accounts that have an owner, by owner, then as in `order`.
std::vector<std::uint32_t> ByOwner(const std::vector<GatheredAccount>& accounts,
                                   const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> parts;
  for (const std::uint32_t at : order)
    if (accounts[at].of != 0) parts.push_back(at);
  std::stable_sort(parts.begin(), parts.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return accounts[a].of < accounts[b].of; });
  return parts;
}

GatheredPart PartOf(const std::vector<GatheredAccount>& accounts, const std::vector<std::uint32_t>& by_owner,
                    std::uint64_t owner, std::size_t limit) {
  const auto first = std::partition_point(by_owner.begin(), by_owner.end(),
                                          [&](std::uint32_t at) { return accounts[at].of < owner; });
  const auto last =
      std::partition_point(first, by_owner.end(), [&](std::uint32_t at) { return accounts[at].of == owner; });
  GatheredPart part;
  part.count = static_cast<std::size_t>(last - first);
  for (auto it = first; it != last && part.accounts.size() < limit; ++it)
    part.accounts.push_back(accounts[*it]);
  return part;
}

}  // namespace

const std::vector<GatheredAccount>& AccountLists::Of(wire::AccountKind kind) const {
  if (kind == wire::AccountKind::kUser) return users;
  return kind == wire::AccountKind::kTeam ? teams : hosts;
}

const std::vector<std::uint32_t>& AccountLists::Ranked(wire::AccountKind kind, RankBy by) const {
  const std::size_t which = by == RankBy::kTotal ? 0 : 1;
  if (kind == wire::AccountKind::kUser) return users_by[which];
  return kind == wire::AccountKind::kTeam ? teams_by[which] : hosts_by[which];
}

void AccountLists::ForEachNamed(wire::AccountKind kind, std::string_view text, bool by_credit,
                                const std::function<bool(std::uint64_t id)>& take) const {
  if (kind == wire::AccountKind::kHost || text.empty()) return;  // hosts have no names
  const std::string wanted = Folded(text);
  const std::vector<GatheredAccount>& accounts = Of(kind);
  const std::string& names = kind == wire::AccountKind::kUser ? user_names : team_names;
  const std::vector<std::uint32_t>& ranked = Ranked(kind, RankBy::kTotal);
  for (std::uint32_t i = 0; i < accounts.size(); ++i) {
    const GatheredAccount& account = accounts[by_credit ? ranked[i] : i];
    const std::string_view name(names.c_str() + account.name);
    if (name.find(wanted) != std::string_view::npos && !take(account.id)) return;
  }
}

GatheredPart AccountLists::HostsOf(UserId user, std::size_t limit) const {
  return PartOf(hosts, hosts_of, user.value, limit);
}

GatheredPart AccountLists::MembersOf(TeamId team, std::size_t limit) const {
  return PartOf(users, members_of, team.value, limit);
}

Result<Questions::Gathered::Lists> Questions::Gathered::Of(ProjectId project, Number number) {
  std::shared_ptr<const All> wanted;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& one : {all_, before_})
      if (one != nullptr && one->number == number) wanted = one;
  }
  if (wanted == nullptr) {
    auto newest = Look();
    if (!newest.ok()) return newest.status();
    wanted = std::move(*newest);
  }
  if (const auto found = wanted->projects.find(project.value); found != wanted->projects.end())
    return found->second;
  auto as_of = questions_.AsOf(project);
  if (!as_of.ok()) return as_of.status();
  return Lists{
      .number = wanted->number, .as_of = std::move(*as_of), .of = std::make_shared<const AccountLists>()};
}

Result<std::shared_ptr<const Questions::Gathered::All>> Questions::Gathered::Look() {
  const auto fresh = [&]() -> std::shared_ptr<const All> {
    const std::lock_guard lock(mutex_);
    const auto age = std::max<Clock::duration>(
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(age_)),
        took_ * kShareOfTime);
    return all_ != nullptr && Clock::now() - gathered_at_ <= age ? all_ : nullptr;
  };
  if (auto all = fresh()) return all;
  std::unique_lock scan(gathering_, std::try_to_lock);
  if (!scan.owns_lock()) {
    {
      const std::lock_guard lock(mutex_);
      if (all_ != nullptr) return all_;
    }
    scan.lock();  // the first scan: there are no older lists
  }
  if (auto all = fresh()) return all;
  return Gather();
}

Result<std::shared_ptr<const Questions::Gathered::All>> Questions::Gathered::Gather() {
  const Clock::time_point begin = Clock::now();
  std::map<std::uint32_t, std::shared_ptr<AccountLists>> lists;
  const auto of = [&](std::uint32_t project) -> AccountLists& {
    auto& one = lists[project];
    if (one == nullptr) one = std::make_shared<AccountLists>();
    return *one;
  };
  // Read before the scan: every row is of these positions or of later positions.
  const auto positions = questions_.Positions();
  if (!positions.ok()) return positions.status();
  std::map<std::uint32_t, json> as_of;
  const auto add_as_of = [&](std::uint32_t project) {
    auto basis = questions_.AsOf(ProjectId(project), *positions);
    if (basis.ok()) as_of[project] = std::move(*basis);
    return basis.status();
  };
  const auto coordinator = state_.Of(Stage::kCoordinator, 0);
  if (!coordinator.ok()) return coordinator.status();
  std::vector<std::uint32_t> projects;
  if (Status s = (*coordinator)
                     ->Scan(coordinator::kProjectsTable.id,
                            [&](const stream::Key& key, std::string_view) {
                              projects.push_back(key.project);
                              return Status::Ok();
                            });
      !s.ok())
    return s;
  for (const std::uint32_t project : projects)
    if (Status s = add_as_of(project); !s.ok()) return s;
  for (std::uint32_t k = 0; k < state_.partitions(); ++k) {
    const auto accounts = state_.Of(Stage::kAccounts, k);
    if (!accounts.ok()) return accounts.status();
    Status read = ForEach(
        **accounts, accounts::kUsersTable, [&](const stream::Key& key, const accounts::UserState& user) {
          AccountLists& list = of(key.project);
          list.users_total += user.account.total_micro;
          if (user.deleted || !user.known()) return Status::Ok();
          list.users.push_back(
              cobblestone::view::Gather(key.id, user.TeamNow().value, user.account, list.user_names.size()));
          AddName(user.name, list.user_names);
          return Status::Ok();
        });
    if (!read.ok()) return read;
    read = ForEach(
        **accounts, accounts::kHostsTable, [&](const stream::Key& key, const accounts::HostAccount& host) {
          if (host.elsewhere || host.merge.done) return Status::Ok();
          of(key.project)
              .hosts.push_back(cobblestone::view::Gather(key.id, host.user.value, host.account, 0));
          return Status::Ok();
        });
    if (!read.ok()) return read;
    const auto teams = state_.Of(Stage::kTeams, k);
    if (!teams.ok()) return teams.status();
    read = ForEach(**teams, teams::kTeamsTable, [&](const stream::Key& key, const teams::TeamState& team) {
      if (team.deleted) return Status::Ok();
      AccountLists& list = of(key.project);
      list.teams.push_back(cobblestone::view::Gather(key.id, 0, team.account, list.team_names.size()));
      AddName(team.name, list.team_names);
      return Status::Ok();
    });
    if (!read.ok()) return read;
  }
  auto all = std::make_shared<All>();
  for (auto& [project, list] : lists) {
    Rank(list->users, list->users_by);
    Rank(list->hosts, list->hosts_by);
    Rank(list->teams, list->teams_by);
    list->hosts_of = ByOwner(list->hosts, list->hosts_by[0]);
    list->members_of = ByOwner(list->users, list->users_by[0]);
    if (!as_of.contains(project))  // the project has no catalogue
      if (Status s = add_as_of(project); !s.ok()) return s;
    all->projects[project] = {.as_of = std::move(as_of[project]), .of = std::move(list)};
  }
  const std::lock_guard lock(mutex_);
  // Numbers follow the clock, so that lists of different processes, or of different runs,
  // have different numbers.
  all->number = static_cast<Number>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
  if (all_ != nullptr) all->number = std::max(all->number, all_->number + 1);
  for (auto& [project, list] : all->projects) list.number = all->number;
  before_ = std::exchange(all_, all);
  gathered_at_ = Clock::now();
  took_ = gathered_at_ - begin;
  return std::shared_ptr<const All>(all);
}

}  // namespace cobblestone::view
