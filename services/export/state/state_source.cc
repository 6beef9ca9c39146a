#include "services/export/state/state_source.h"

#include <algorithm>
#include <tuple>

#include "common/wire/control/topics.h"
#include "services/claims/profiles.h"
#include "services/claims/state.h"
#include "services/coordinator/coordinator_stage.h"
#include "services/coordinator/profiles.h"
#include "services/teams/profiles.h"
#include "services/teams/teams_stage.h"

namespace cobblestone::exports {

using ledger::StateSnapshot;

namespace {

using stream::Key;

// The database's ids are signed.
std::int64_t IdOf(std::uint64_t id) { return static_cast<std::int64_t>(id); }

double CobblestonesOf(credit::MicroTotal micro) { return static_cast<double>(micro) / 1e6; }

template <class Entries>
auto FirstOf(const Entries& entries, std::int64_t id) {
  return std::lower_bound(entries.begin(), entries.end(), id,
                          [](const auto& entry, std::int64_t x) { return entry.id < x; });
}

template <class Value>
Result<Value> FindOrNone(const view::Rows& rows, const stream::TableSpec<Value>& table, const Key& key) {
  auto found = view::Find(rows, table, key);
  if (!found.ok()) return found.status();
  return found->has_value() ? std::move(**found) : Value{};
}

// The state only knows whether an authenticator or a domain name hides the row. NULL hides the row, an empty
// text does not.
std::optional<std::string> ShownUnless(bool hidden) {
  return hidden ? std::nullopt : std::optional<std::string>(std::string());
}

}  // namespace

wire::OpeningFigures FiguresOf(const credit::Account& account,
                               const std::optional<wire::OpeningFigures>& opening) {
  wire::OpeningFigures figures{.total_credit = CobblestonesOf(account.total_micro),
                               .expavg_credit = account.recent.value,
                               .expavg_time = account.recent.time};
  if (!opening) return figures;
  if (account.grants == 0 && account.total_micro == account.opening_micro) return *opening;
  figures.total_credit = opening->total_credit + CobblestonesOf(account.total_micro - account.opening_micro);
  return figures;
}

Result<std::unique_ptr<StateSource>> StateSource::Open(view::State& state,
                                                       const StateSourceOptions& options) {
  auto snapshot = StateSnapshot::Take(state);
  if (!snapshot.ok()) return snapshot.status();
  return Open(std::move(*snapshot), options);
}

Result<std::unique_ptr<StateSource>> StateSource::Open(StateSnapshot snapshot,
                                                       const StateSourceOptions& options) {
  std::unique_ptr<StateSource> source(new StateSource(std::move(snapshot), options));
  if (Status s = source->ReadSnapshot(); !s.ok()) return s;
  return source;
}

Status StateSource::ReadSnapshot() {
  Status s = TakeCatalogue(*snapshot_.coordinator);
  description_ = "state of project " + std::to_string(options_.project.value) + ", at commits";
  for (std::size_t k = 0; k < snapshot_.accounts.size() && s.ok(); ++k) {
    description_ += " " + std::to_string(snapshot_.commits[k]);
    s = TakeUsers(*snapshot_.accounts[k]);
    if (s.ok()) s = TakeTeams(*snapshot_.teams[k]);
    if (s.ok()) s = TakeHosts(*snapshot_.claims[k]);
  }
  if (s.ok()) Order();
  return s;
}

Status StateSource::TakeCatalogue(const view::Rows& coordinator) {
  Status s = view::ForEach(coordinator, coordinator::kProjectsTable,
                           [&](const Key& key, const coordinator::ProjectState&) {
                             projects_.insert(key.project);
                             return Status::Ok();
                           });
  if (!s.ok()) return s;
  auto row = FindOrNone(coordinator, coordinator::kProfileTable, KeyOf(0));
  if (!row.ok()) return row.status();
  const auto project = FindOrNone(coordinator, coordinator::kProjectsTable, KeyOf(0));
  if (!project.ok()) return project.status();
  event_time_ = project->last_tick;
  wire::ProjectProfile& profile = row->profile;
  for (wire::AppProfile& app : profile.apps)
    catalogue_.apps.push_back({.id = app.app,
                               .user_friendly_name = std::move(app.user_friendly_name),
                               .name = std::move(app.name),
                               .deprecated = app.deprecated ? 1 : 0});
  for (wire::Badge& badge : profile.badges)
    catalogue_.badges.push_back({.id = badge.badge,
                                 .name = std::move(badge.name),
                                 .title = std::move(badge.title),
                                 .image_url = std::move(badge.image_url)});
  const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  std::stable_sort(catalogue_.apps.begin(), catalogue_.apps.end(), by_id);
  std::stable_sort(catalogue_.badges.begin(), catalogue_.badges.end(), by_id);
  for (wire::Subproject& one : profile.subprojects)
    catalogue_.subprojects.push_back({.name = std::move(one.name), .apps = std::move(one.apps)});
  catalogue_.has_consent_type = profile.has_consent_type;
  catalogue_.consent_enabled = profile.consent_enabled;
  catalogue_.consent_wanted =
      profile.has_consent_type && options_.statsexport_enabled.value_or(profile.consent_enabled);
  return Status::Ok();
}

Status StateSource::TakeUsers(const view::Rows& rows) {
  Status s = view::ForEach(rows, accounts::kUsersTable, [&](const Key& key, const accounts::UserState& user) {
    if (!IsOurs(key) || !user.known() || user.deleted) return Status::Ok();
    users_.push_back({.id = IdOf(key.id)});
    if (const TeamId team = user.TeamNow()) members_.emplace_back(IdOf(team.value), IdOf(key.id));
    return Status::Ok();
  });
  if (!s.ok()) return s;
  s = view::ForEach(rows, accounts::kProfileTable, [&](const Key& key, const accounts::UserProfileRow& row) {
    if (IsOurs(key) && row.profile && row.profile->show_hosts) show_hosts_.push_back(IdOf(key.id));
    return Status::Ok();
  });
  if (!s.ok()) return s;
  s = view::ForEach(rows, accounts::kCorrectedDaysTable,
                    [&](const Key& key, const accounts::CorrectedDays& corrected) {
                      if (!IsOurs(key)) return Status::Ok();
                      std::vector<Correction>& of_user = corrections_[IdOf(key.id)];
                      for (const credit::CorrectedDay& day : corrected.days)
                        of_user.push_back({.came = day.came, .about = day.about, .micro = day.micro});
                      return Status::Ok();
                    });
  if (!s.ok()) return s;
  return view::ForEach(rows, accounts::kFactsTable, [&](const Key& key, const stage::FactsRow& row) {
    if (!IsOurs(key)) return Status::Ok();
    if (row.consent) consent_.push_back({.user = IdOf(key.id), .copies = *row.consent});
    if (row.tombstone) users_deleted_.push_back(IdOf(key.id));
    if (!row.badges.empty()) user_badges_.push_back(IdOf(key.id));
    return Status::Ok();
  });
}

Status StateSource::TakeTeams(const view::Rows& rows) {
  Status s = view::ForEach(rows, teams::kTeamsTable, [&](const Key& key, const teams::TeamState& team) {
    if (IsOurs(key) && team.member.is_set() && !team.deleted) teams_.push_back(IdOf(key.id));
    return Status::Ok();
  });
  if (!s.ok()) return s;
  return view::ForEach(rows, teams::kFactsTable, [&](const Key& key, const stage::FactsRow& row) {
    if (IsOurs(key) && !row.badges.empty()) team_badges_.push_back(IdOf(key.id));
    return Status::Ok();
  });
}

Status StateSource::TakeHosts(const view::Rows& rows) {
  Status s = view::ForEach(rows, claims::kHostsTable, [&](const Key& key, const claims::HostState& host) {
    if (IsOurs(key) && host.record.known && !host.record.deleted)
      hosts_.push_back({.id = IdOf(key.id), .user = IdOf(host.record.user.value)});
    return Status::Ok();
  });
  if (!s.ok()) return s;
  return view::ForEach(rows, claims::kFactsTable, [&](const Key& key, const stage::FactsRow& row) {
    if (IsOurs(key) && row.tombstone) hosts_deleted_.push_back(IdOf(key.id));
    return Status::Ok();
  });
}

void StateSource::Order() {
  const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  std::sort(users_.begin(), users_.end(), by_id);
  std::sort(hosts_.begin(), hosts_.end(), by_id);
  std::sort(consent_.begin(), consent_.end(),
            [](const ConsentGiven& a, const ConsentGiven& b) { return a.user < b.user; });
  std::sort(members_.begin(), members_.end());
  for (auto* ids : {&teams_, &show_hosts_, &users_deleted_, &hosts_deleted_, &user_badges_, &team_badges_})
    std::sort(ids->begin(), ids->end());
  for (const std::int64_t id : show_hosts_) {
    const auto user = FirstOf(users_, id);
    if (user != users_.end() && user->id == id)
      users_[static_cast<std::size_t>(user - users_.begin())].shows_hosts = true;
  }
  show_hosts_ = {};
}

Key StateSource::KeyOf(std::int64_t id) const {
  return {.project = options_.project.value, .id = static_cast<std::uint64_t>(id), .sub = 0};
}

const view::Rows& StateSource::RowsFor(const RowsOf& rows, std::int64_t id) const {
  return *rows[wire::PartitionOf(options_.project, static_cast<std::uint64_t>(id),
                                 static_cast<std::uint32_t>(rows.size()))];
}

// ---- Rows -------------------------------------------------------------------------------------------------

Status StateSource::ReadUser(std::int64_t id, User* user) {
  const view::Rows& rows = RowsFor(snapshot_.accounts, id);
  auto state = FindOrNone(rows, accounts::kUsersTable, KeyOf(id));
  if (!state.ok()) return state.status();
  auto row = FindOrNone(rows, accounts::kProfileTable, KeyOf(id));
  if (!row.ok()) return row.status();
  wire::UserProfile profile = std::move(row->profile).value_or(wire::UserProfile{});
  const wire::OpeningFigures figures = FiguresOf(state->account, row->figures);
  *user = {.id = id,
           .name = std::move(state->name),
           .create_time = profile.create_time,
           .total_credit = figures.total_credit,
           .expavg_credit = figures.expavg_credit,
           .expavg_time = figures.expavg_time,
           .cross_project_id = {},
           .email_addr = {},
           .country = std::move(profile.country),
           .url = std::move(profile.url),
           .teamid = IdOf(state->TeamNow().value),
           .has_profile = profile.has_profile ? 1 : 0,
           .show_hosts = profile.show_hosts ? 1 : 0,
           .authenticator = ShownUnless(profile.hidden),
           .cpid = std::move(profile.cpid),
           .balance = state->account.total_micro};
  if (const auto found = corrections_.find(id); found != corrections_.end())
    user->corrections = found->second;
  return Status::Ok();
}

Status StateSource::ReadTeam(std::int64_t id, Team* team) {
  const view::Rows& rows = RowsFor(snapshot_.teams, id);
  auto state = FindOrNone(rows, teams::kTeamsTable, KeyOf(id));
  if (!state.ok()) return state.status();
  auto row = FindOrNone(rows, teams::kProfileTable, KeyOf(id));
  if (!row.ok()) return row.status();
  wire::TeamProfile profile = std::move(row->profile).value_or(wire::TeamProfile{});
  const wire::OpeningFigures figures = FiguresOf(state->account, row->figures);
  *team = {.id = id,
           .create_time = profile.create_time,
           .userid = profile.founder,
           .name = std::move(state->name),
           .type = profile.type,
           .total_credit = figures.total_credit,
           .expavg_credit = figures.expavg_credit,
           .expavg_time = figures.expavg_time,
           .url = std::move(profile.url),
           .name_html = std::move(profile.name_html),
           .description = std::move(profile.description),
           .country = std::move(profile.country),
           .balance = state->account.total_micro};
  return Status::Ok();
}

Result<bool> StateSource::ReadHost(const HostEntry& entry, Host* host) {
  auto row = FindOrNone(RowsFor(snapshot_.claims, entry.id), claims::kProfileTable, KeyOf(entry.id));
  if (!row.ok()) return row.status();
  const auto found = AccountOf(entry);
  if (!found.ok()) return found.status();
  if (found->merge.done) return false;
  const credit::Account* const account = &found->account;
  wire::HostProfile profile = std::move(row->profile).value_or(wire::HostProfile{});
  const wire::OpeningFigures figures = FiguresOf(*account, row->figures);
  *host = {.id = entry.id,
           .create_time = profile.create_time,
           .userid = entry.user,
           .rpc_time = profile.rpc_time,
           .total_credit = figures.total_credit,
           .expavg_credit = figures.expavg_credit,
           .expavg_time = figures.expavg_time,
           .timezone = profile.timezone,
           .domain_name = ShownUnless(profile.hidden),
           .p_ncpus = profile.p_ncpus,
           .p_vendor = std::move(profile.p_vendor),
           .p_model = std::move(profile.p_model),
           .p_fpops = profile.p_fpops,
           .p_iops = profile.p_iops,
           .p_membw = profile.p_membw,
           .os_name = std::move(profile.os_name),
           .os_version = std::move(profile.os_version),
           .m_nbytes = profile.m_nbytes,
           .m_cache = profile.m_cache,
           .m_swap = profile.m_swap,
           .d_total = profile.d_total,
           .d_free = profile.d_free,
           .n_bwup = profile.n_bwup,
           .n_bwdown = profile.n_bwdown,
           .avg_turnaround = profile.avg_turnaround,
           .credit_per_cpu_sec = profile.credit_per_cpu_sec,
           .host_cpid = std::move(profile.host_cpid),
           .misc = std::move(profile.misc),
           .balance = account->total_micro};
  return true;
}

Result<accounts::HostAccount> StateSource::AccountOf(const HostEntry& entry) const {
  const auto n = static_cast<std::uint32_t>(snapshot_.accounts.size());
  const std::uint32_t owner =
      wire::OwnerPartition(options_.project, UserId(static_cast<std::uint64_t>(entry.user)),
                           HostId(static_cast<std::uint64_t>(entry.id)), n);
  auto found = view::Find(*snapshot_.accounts[owner], accounts::kHostsTable, KeyOf(entry.id));
  if (!found.ok()) return found.status();
  if (found->has_value() && !(*found)->elsewhere) return std::move(**found);
  bool moves = found->has_value();
  for (std::uint32_t k = 0; k < n; ++k) {
    if (k == owner) continue;
    found = view::Find(*snapshot_.accounts[k], accounts::kHostsTable, KeyOf(entry.id));
    if (!found.ok()) return found.status();
    if (found->has_value() && !(*found)->elsewhere) return std::move(**found);
    moves = moves || found->has_value();
  }
  if (!moves) return accounts::HostAccount{};  // the host never had an account
  return Status::Retry("the account of host " + std::to_string(entry.id) +
                       " is moving to the partition of another owner; try again in a moment");
}

Result<bool> StateSource::FindUser(std::int64_t id, User* user) {
  const auto entry = FirstOf(users_, id);
  if (entry == users_.end() || entry->id != id) return false;
  if (Status s = ReadUser(id, user); !s.ok()) return s;
  return true;
}

Result<bool> StateSource::FindTeam(std::int64_t id, Team* team) {
  if (!std::binary_search(teams_.begin(), teams_.end(), id)) return false;
  if (Status s = ReadTeam(id, team); !s.ok()) return s;
  return true;
}

Result<bool> StateSource::FindHost(std::int64_t id, Host* host) {
  const auto entry = FirstOf(hosts_, id);
  if (entry == hosts_.end() || entry->id != id) return false;
  return ReadHost(*entry, host);
}

Status StateSource::Users(const Take<User>& take) {
  User user;
  for (const UserEntry& entry : users_) {
    if (Status s = ReadUser(entry.id, &user); !s.ok()) return s;
    if (Status s = take(user); !s.ok()) return s;
  }
  return Status::Ok();
}

Status StateSource::Teams(const Take<Team>& take) {
  Team team;
  for (const std::int64_t id : teams_) {
    if (Status s = ReadTeam(id, &team); !s.ok()) return s;
    if (Status s = take(team); !s.ok()) return s;
  }
  return Status::Ok();
}

Status StateSource::Hosts(const Take<Host>& take) {
  Host host;
  for (const HostEntry& entry : hosts_) {
    const auto is_one = ReadHost(entry, &host);
    if (!is_one.ok()) return is_one.status();
    if (!*is_one) continue;
    if (Status s = take(host); !s.ok()) return s;
  }
  return Status::Ok();
}

Owner StateSource::OwnerOf(std::int64_t user) {
  const auto entry = FirstOf(users_, user);
  if (entry == users_.end() || entry->id != user) return {};
  return {.exists = true, .shows_hosts = entry->shows_hosts};
}

Status StateSource::Members(std::int64_t team, const Take<User>& take) {
  User user;
  for (auto member = std::lower_bound(members_.begin(), members_.end(), std::pair(team, INT64_MIN));
       member != members_.end() && member->first == team; ++member) {
    if (Status s = ReadUser(member->second, &user); !s.ok()) return s;
    if (Status s = take(user); !s.ok()) return s;
  }
  return Status::Ok();
}

std::uint32_t StateSource::ConsentCopies(std::int64_t user) {
  const auto found =
      std::lower_bound(consent_.begin(), consent_.end(), user,
                       [](const ConsentGiven& given, std::int64_t x) { return given.user < x; });
  return found != consent_.end() && found->user == user ? found->copies : 0;
}

// ---- Facts ------------------------------------------------------------------------------------------------

Status StateSource::Tombstones(const RowsOf& rows, const stream::TableSpec<stage::FactsRow>& table,
                               const std::vector<std::int64_t>& ids, const Take<Deleted>& take) {
  for (const std::int64_t id : ids) {
    auto row = FindOrNone(RowsFor(rows, id), table, KeyOf(id));
    if (!row.ok()) return row.status();
    if (!row->tombstone || !stage::IsListedAsDeleted(*row->tombstone, event_time_)) continue;
    Status s = take({.id = id,
                     .public_cross_project_id = std::move(row->tombstone->public_cross_project_id),
                     .create_time = row->tombstone->time});
    if (!s.ok()) return s;
  }
  return Status::Ok();
}

Status StateSource::UsersDeleted(const Take<Deleted>& take) {
  return Tombstones(snapshot_.accounts, accounts::kFactsTable, users_deleted_, take);
}
Status StateSource::HostsDeleted(const Take<Deleted>& take) {
  return Tombstones(snapshot_.claims, claims::kFactsTable, hosts_deleted_, take);
}

Status StateSource::Badges(const RowsOf& rows, const stream::TableSpec<stage::FactsRow>& table,
                           const std::vector<std::int64_t>& holders, const Take<BadgeHeld>& take) {
  for (const std::int64_t id : holders) {
    auto row = FindOrNone(RowsFor(rows, id), table, KeyOf(id));
    if (!row.ok()) return row.status();
    std::stable_sort(row->badges.begin(), row->badges.end(),
                     [](const wire::BadgeHeld& a, const wire::BadgeHeld& b) { return a.badge < b.badge; });
    for (const wire::BadgeHeld& badge : row->badges) {
      Status s = take({.holder = id, .badge = badge.badge, .create_time = badge.create_time});
      if (!s.ok()) return s;
    }
  }
  return Status::Ok();
}

Status StateSource::UserBadges(const Take<BadgeHeld>& take) {
  return Badges(snapshot_.accounts, accounts::kFactsTable, user_badges_, take);
}
Status StateSource::TeamBadges(const Take<BadgeHeld>& take) {
  return Badges(snapshot_.teams, teams::kFactsTable, team_badges_, take);
}

// The values that the project sent, plus the grants since then, which have type 0.
Status StateSource::CreditOf(const view::Rows& rows, const stream::TableSpec<stage::FactsRow>& table,
                             std::int64_t id, const credit::Account& account,
                             std::vector<AppCredit>* credit) {
  credit->clear();
  const auto row = FindOrNone(rows, table, KeyOf(id));
  if (!row.ok()) return row.status();
  for (const wire::AppCredit& sent : row->credit)
    credit->push_back({.holder = id,
                       .app = sent.app,
                       .credit_type = sent.credit_type,
                       .njobs = sent.njobs,
                       .total = sent.total,
                       .expavg = sent.expavg,
                       .expavg_time = sent.expavg_time});
  for (const credit::AppSum& granted : account.apps) {
    auto of_app = std::find_if(credit->begin(), credit->end(), [&](const AppCredit& one) {
      return one.app == IdOf(granted.app.value) && one.credit_type == 0;
    });
    if (of_app == credit->end())
      of_app = credit->insert(of_app, {.holder = id, .app = IdOf(granted.app.value)});
    of_app->njobs += IdOf(granted.grants);
    of_app->total += CobblestonesOf(granted.micro);
  }
  std::stable_sort(credit->begin(), credit->end(), [](const AppCredit& a, const AppCredit& b) {
    return std::tie(a.app, a.credit_type) < std::tie(b.app, b.credit_type);
  });
  return Status::Ok();
}

Status StateSource::CreditOfUser(std::int64_t user, std::vector<AppCredit>* credit) {
  const view::Rows& rows = RowsFor(snapshot_.accounts, user);
  const auto state = FindOrNone(rows, accounts::kUsersTable, KeyOf(user));
  if (!state.ok()) return state.status();
  return CreditOf(rows, accounts::kFactsTable, user, state->account, credit);
}

Status StateSource::CreditOfTeam(std::int64_t team, std::vector<AppCredit>* credit) {
  const view::Rows& rows = RowsFor(snapshot_.teams, team);
  const auto state = FindOrNone(rows, teams::kTeamsTable, KeyOf(team));
  if (!state.ok()) return state.status();
  return CreditOf(rows, teams::kFactsTable, team, state->account, credit);
}

}  // namespace cobblestone::exports
