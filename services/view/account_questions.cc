#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "common/credit/model/constants.h"
#include "common/wire/control/topics.h"
#include "services/accounts/accounts_stage.h"
#include "services/claims/state.h"
#include "services/teams/teams_stage.h"
#include "services/view/gathered.h"
#include "services/view/json.h"
#include "services/view/project_now.h"

namespace cobblestone::view {

using nlohmann::json;

namespace {

// Attempts to read a host's account that is moving: between its departure and its arrival it is only in the log.
constexpr int kTries = 200;
constexpr auto kTryEvery = std::chrono::milliseconds(5);

// Adds the names of apps.
void NameApps(const credit::Catalogue& catalogue, json& rows) {
  for (json& row : rows)
    if (const credit::AppRow* app = catalogue.FindApp(AppId(row["app"].get<std::uint64_t>()));
        app != nullptr && !app->name.empty())
      row["app_name"] = app->name;
}

}  // namespace

Result<accounts::HostAccount> Questions::HostAccount(ProjectId project, HostId host, UserId owner) {
  const std::uint32_t n = state_.partitions();
  const std::uint32_t home = wire::OwnerPartition(project, owner, host, n);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    bool on_its_way = false;
    for (std::uint32_t step = 0; step < n; ++step) {
      const auto rows = state_.Of(Stage::kAccounts, (home + step) % n);
      if (!rows.ok()) return rows.status();
      auto row = Find(**rows, accounts::kHostsTable, KeyOf(project, host.value));
      if (!row.ok()) return row.status();
      if (!*row) continue;
      if ((*row)->elsewhere) {
        on_its_way = true;
        continue;
      }
      Status older =
          AddOlderDays(**rows, accounts::kHostDaysTable, KeyOf(project, host.value), (*row)->account.days);
      if (!older.ok()) return older;
      return std::move(**row);
    }
    if (!on_its_way) return accounts::HostAccount{};  // no grants yet
    std::this_thread::sleep_for(kTryEvery);
  }
  return Status::Retry(
      "the account of host " + std::to_string(host.value) +
      " is moving to its new owner; ask again in a few seconds. If no pipeline is running, start "
      "`cobblestone run`, which completes the move");
}

Result<json> Questions::UserAccount(ProjectId project, UserId id) {
  const auto rows = Of(Stage::kAccounts, project, id.value);
  if (!rows.ok()) return rows.status();
  const stream::Key key = KeyOf(project, id.value);
  auto user = Find(**rows, accounts::kUsersTable, key);
  if (!user.ok()) return user.status();
  if (!*user) return json();
  Status older = AddOlderDays(**rows, accounts::kUserDaysTable, key, (*user)->account.days);
  if (!older.ok()) return older;
  json j = AccountJson((*user)->account, clock());
  if ((*user)->estimated) {
    auto estimates = Find(**rows, accounts::kUserEstimatesTable, key);
    if (!estimates.ok()) return estimates.status();
    if (*estimates) {
      older = AddOlderDays(**rows, accounts::kUserEstimateDaysTable, key, (*estimates)->sums.days);
      if (!older.ok()) return older;
      j["estimates"] = EstimatesJson((*estimates)->sums, (*estimates)->open);
      j["estimates"]["shown"] =
          MicroText(std::max((*estimates)->shown, (*user)->account.shown_micro() + (*estimates)->open));
    }
  }
  j["name"] = (*user)->name;
  j["team"] = (*user)->TeamNow().value;
  j["deleted"] = (*user)->deleted;
  j["known"] = (*user)->known();
  j["waiting_grants"] = (*user)->unnamed.waiting();
  if ((*user)->unnamed.expired > 0) {
    j["expired_grants"] = (*user)->unnamed.expired;
    j["expired_credit"] = MicroText((*user)->unnamed.expired_micro);
  }
  const auto profile = ProfileOf(project, id);
  if (!profile.ok()) return profile.status();
  j["hosts_shown"] = profile->shows_hosts;
  j["named"] = profile->named;
  if (profile->create_time > 0) j["create_time"] = profile->create_time;
  if ((*user)->TeamNow())
    if (std::string name = TeamName(project, (*user)->TeamNow()); !name.empty()) j["team_name"] = name;
  return j;
}

Result<json> Questions::TeamAccount(ProjectId project, TeamId id) {
  const auto rows = Of(Stage::kTeams, project, id.value);
  if (!rows.ok()) return rows.status();
  const stream::Key key = KeyOf(project, id.value);
  auto team = Find(**rows, teams::kTeamsTable, key);
  if (!team.ok()) return team.status();
  if (!*team) return json();
  Status older = AddOlderDays(**rows, teams::kDaysTable, key, (*team)->account.days);
  if (!older.ok()) return older;
  json j = AccountJson((*team)->account, clock());
  j["name"] = (*team)->name;
  j["deleted"] = (*team)->deleted;
  return j;
}

Result<json> Questions::HostOf(ProjectId project, HostId id) {
  const auto rows = Of(Stage::kClaims, project, id.value);
  if (!rows.ok()) return rows.status();
  const auto host = Find(**rows, claims::kHostsTable, KeyOf(project, id.value));
  if (!host.ok()) return host.status();
  if (!*host) return json();
  const credit::HostRecord& record = (*host)->record;
  const auto account = HostAccount(project, id, record.user);
  if (!account.ok()) return account.status();
  json j = AccountJson(account->account, clock());
  // Estimates stay with each owner that the host has had, in the owner's partition.
  credit::EstimateSums estimates;
  credit::MicroTotal open = 0;
  for (std::uint32_t k = 0; k < state_.partitions(); ++k) {
    const auto of_owners = state_.Of(Stage::kAccounts, k);
    if (!of_owners.ok()) return of_owners.status();
    auto row = Find(**of_owners, accounts::kHostEstimatesTable, KeyOf(project, id.value));
    if (!row.ok()) return row.status();
    if (!*row) continue;
    for (credit::OwnerEstimates& owner : (*row)->owners) {
      Status older = AddOlderDays(**of_owners, accounts::kHostEstimateDaysTable, KeyOf(project, id.value),
                                  owner.sums.days, (*row)->NumberOf(owner));
      if (!older.ok()) return older;
      credit::Add(owner.sums, estimates);
      open += owner.open();
    }
  }
  if (estimates != credit::EstimateSums{}) j["estimates"] = EstimatesJson(estimates, open);
  j["user"] = record.user.value;
  if (account->merge.into) {
    j["into"] = account->merge.into.value;
    j["merged"] = account->merge.done;
  }
  if (account->merge.joined > 0) j["hosts_joined"] = account->merge.joined;
  if (std::string name = UserName(project, record.user); !name.empty()) j["user_name"] = name;
  j["known"] = record.known;
  j["deleted"] = record.deleted;
  j["cpus"] = record.cpus;
  j["gpus"] = record.gpus;
  j["whetstone"] = Number(record.whetstone);
  j["avg_turnaround"] = Number(record.avg_turnaround);
  json versions = json::array();
  for (const credit::HostVersion& row : record.versions)
    versions.push_back(
        {{"app", row.app.value}, {"app_version", row.version.value}, {"jobs", Number(row.pfc.n)}});
  j["versions"] = versions;
  return j;
}

Result<json> Questions::Account(ProjectId project, wire::AccountKind kind, std::uint64_t id) {
  auto found = kind == wire::AccountKind::kUser   ? UserAccount(project, UserId(id))
               : kind == wire::AccountKind::kTeam ? TeamAccount(project, TeamId(id))
                                                  : HostOf(project, HostId(id));
  if (!found.ok()) return found;
  if (found->is_null())
    return Status::NotFound("project " + std::to_string(project.value) + " has no " +
                            std::string(KindName(kind)) + " " + std::to_string(id));
  json& j = *found;
  j["project"] = project.value;
  j["id"] = id;
  j["kind"] = KindName(kind);
  if (const auto now = Now(project); now.ok()) {
    NameApps((*now)->state.catalogue, j["apps"]);
    if (j.contains("versions")) NameApps((*now)->state.catalogue, j["versions"]);
  }
  return found;
}

Result<json> Questions::EstimatesOf(ProjectId project) {
  if (const auto now = Now(project); !now.ok()) return now.status();
  credit::EstimateSums sums;
  credit::MicroTotal open = 0;
  const stream::Key key = KeyOf(project, 0);
  for (std::uint32_t k = 0; k < state_.partitions(); ++k) {
    const auto rows = state_.Of(Stage::kAccounts, k);
    if (!rows.ok()) return rows.status();
    auto row = Find(**rows, accounts::kProjectEstimatesTable, key);
    if (!row.ok()) return row.status();
    if (!*row) continue;
    Status older = AddOlderDays(**rows, accounts::kProjectEstimateDaysTable, key, (*row)->sums.days);
    if (!older.ok()) return older;
    credit::Add((*row)->sums, sums);
    open += (*row)->open;
  }
  return json{{"kind", "project"},
              {"id", project.value},
              {"project", project.value},
              {"estimates", EstimatesJson(sums, open)}};
}

std::string Questions::UserName(ProjectId project, UserId id) {
  if (!id) return {};
  const auto rows = Of(Stage::kAccounts, project, id.value);
  if (!rows.ok()) return {};
  const auto user = Find(**rows, accounts::kUsersTable, KeyOf(project, id.value));
  return user.ok() && *user ? (*user)->name : std::string();
}

std::string Questions::TeamName(ProjectId project, TeamId id) {
  const auto rows = Of(Stage::kTeams, project, id.value);
  if (!rows.ok()) return {};
  const auto team = Find(**rows, teams::kTeamsTable, KeyOf(project, id.value));
  return team.ok() && *team ? (*team)->name : std::string();
}

Result<json> Questions::Summary(ProjectId project, wire::AccountKind kind, std::uint64_t id) {
  const auto account = Account(project, kind, id);
  if (!account.ok()) return account;
  json row{{"kind", KindName(kind)}, {"id", id}};
  for (const char* name : {"name", "total", "rac_now", "rac_now_time", "grants", "team", "team_name", "user",
                           "user_name", "cpus", "gpus", "deleted"})
    if (account->contains(name)) row[name] = (*account)[name];
  return row;
}

Result<json> Questions::Listed(ProjectId project, wire::AccountKind kind, const GatheredAccount& account) {
  auto row = Summary(project, kind, account.id);
  if (!row.ok()) return row;
  (*row)["total"] = MicroText(account.total);
  (*row)["grants"] = account.grants;
  AddRecentNow("rac_now", account.recent, clock(), &*row);
  return row;
}

Result<json> Questions::Top(ProjectId project, wire::AccountKind kind, RankBy by, const Page& page) {
  const auto lists = gathered_->Of(project, page.ranking);
  if (!lists.ok()) return lists.status();
  const auto& accounts = lists->of->Of(kind);
  const auto& order = lists->of->Ranked(kind, by);
  json rows = json::array();
  for (std::size_t i = page.offset; i < order.size() && rows.size() < page.limit; ++i) {
    auto row = Listed(project, kind, accounts[order[i]]);
    if (row.status().code() == StatusCode::kNotFound) continue;
    if (!row.ok()) return row;
    (*row)["rank"] = i + 1;
    rows.push_back(std::move(*row));
  }
  return json{{"as_of", lists->as_of},
              {"ranking", lists->number},
              {"count", order.size()},
              {"rows", std::move(rows)}};
}

Result<json> Questions::ListedPart(ProjectId project, wire::AccountKind kind, const GatheredPart& part) {
  json rows = json::array();
  for (const GatheredAccount& account : part.accounts) {
    auto row = Listed(project, kind, account);
    if (row.status().code() == StatusCode::kNotFound) continue;
    if (!row.ok()) return row;
    rows.push_back(std::move(*row));
  }
  return json{{"count", part.count}, {"rows", std::move(rows)}};
}

Result<json> Questions::HostsOf(ProjectId project, UserId user, std::size_t limit) {
  const auto lists = gathered_->Of(project);
  if (!lists.ok()) return lists.status();
  return ListedPart(project, wire::AccountKind::kHost, lists->of->HostsOf(user, limit));
}

Result<json> Questions::MembersOf(ProjectId project, TeamId team, std::size_t limit) {
  const auto lists = gathered_->Of(project);
  if (!lists.ok()) return lists.status();
  return ListedPart(project, wire::AccountKind::kUser, lists->of->MembersOf(team, limit));
}

Result<json> Questions::Search(ProjectId project, std::string_view text, const Wanted& wanted) {
  using wire::AccountKind;
  const auto lists = gathered_->Of(project);
  if (!lists.ok()) return lists.status();
  json found = json::array();
  const auto add = [&](AccountKind of, std::uint64_t id) -> Status {
    if (of == AccountKind::kUser && wanted.finds && !wanted.finds(UserId(id))) return Status::Ok();
    for (const json& other : found)
      if (other["id"] == id && other["kind"] == KindName(of)) return Status::Ok();
    auto row = Summary(project, of, id);
    if (row.status().code() == StatusCode::kNotFound) return Status::Ok();
    if (!row.ok()) return row.status();
    found.push_back(std::move(*row));
    return Status::Ok();
  };
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool is_id = !text.empty() && error == std::errc() && end == text.data() + text.size();
  for (const AccountKind of : {AccountKind::kUser, AccountKind::kTeam, AccountKind::kHost}) {
    if (!is_id || (wanted.kind && *wanted.kind != of)) continue;
    if (Status s = add(of, id); !s.ok()) return s;
  }
  for (const AccountKind of : {AccountKind::kUser, AccountKind::kTeam}) {
    if (wanted.kind && *wanted.kind != of) continue;
    Status s;
    lists->of->ForEachNamed(of, text, wanted.by_credit, [&](std::uint64_t one) {
      if (found.size() >= wanted.limit) return false;
      s = add(of, one);
      return s.ok();
    });
    if (!s.ok()) return s;
  }
  return found;
}

}  // namespace cobblestone::view
