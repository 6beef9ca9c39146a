#include "services/adoption/adopted.h"

#include "services/accounts/accounts_stage.h"
#include "services/claims/profiles.h"
#include "services/teams/teams_stage.h"

namespace cobblestone::adoption {
namespace {

using view::Rows;
using view::Stage;

template <class Profile>
Status AddProfiles(const Rows& rows, const stream::TableSpec<stage::ProfileRow<Profile>>& table,
                   ProjectId project, KindTotals& totals) {
  return view::ForEach(rows, table, [&](const stream::Key& key, const stage::ProfileRow<Profile>& row) {
    if (key.project != project.value) return Status::Ok();
    if (row.profile && !row.plain) ++totals.profiles;
    if (row.figures) totals.Add(key.id, *row.figures);
    return Status::Ok();
  });
}

template <class State>
Status AddBalances(const Rows& rows, const stream::TableSpec<State>& table, ProjectId project,
                   credit::MicroTotal& sum) {
  return view::ForEach(rows, table, [&](const stream::Key& key, const State& state) {
    if (key.project == project.value) sum += state.account.opening_micro;
    return Status::Ok();
  });
}

}  // namespace

Result<Totals> AdoptedTotals(view::State& state, ProjectId project) {
  Totals totals;
  credit::MicroTotal users = 0;
  credit::MicroTotal teams = 0;
  credit::MicroTotal hosts = 0;
  for (std::uint32_t k = 0; k < state.partitions(); ++k) {
    const auto accounts = state.Of(Stage::kAccounts, k);
    if (!accounts.ok()) return accounts.status();
    const auto claims = state.Of(Stage::kClaims, k);
    if (!claims.ok()) return claims.status();
    const auto of_teams = state.Of(Stage::kTeams, k);
    if (!of_teams.ok()) return of_teams.status();
    Status s = AddProfiles(**accounts, accounts::kProfileTable, project, totals.users);
    if (s.ok()) s = AddProfiles(**of_teams, teams::kProfileTable, project, totals.teams);
    if (s.ok()) s = AddProfiles(**claims, claims::kProfileTable, project, totals.hosts);
    if (s.ok()) s = AddBalances(**accounts, accounts::kUsersTable, project, users);
    if (s.ok()) s = AddBalances(**of_teams, teams::kTeamsTable, project, teams);
    if (s.ok()) s = AddBalances(**accounts, accounts::kHostsTable, project, hosts);
    if (!s.ok()) return s;
  }
  totals.users.credit = users;
  totals.teams.credit = teams;
  totals.hosts.credit = hosts;
  return totals;
}

}  // namespace cobblestone::adoption
