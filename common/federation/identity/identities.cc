#include "common/federation/identity/identities.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "common/federation/identity/deletion_hash.h"
#include "common/federation/identity/update.h"

namespace cobblestone::federation {
namespace {

// Bounds that keep days and keys within their fields.
constexpr Day kLastDay = 10'000'000;
constexpr std::uint64_t kLastSecond = std::uint64_t{kLastDay} * 86400;

Status CheckAccount(const AccountKey& account) {
  if (account.project == 0 || account.user == 0)
    return Status::InvalidArgument("an account needs a project and a user other than 0");
  if (account.create_time == 0 || account.create_time > kLastSecond)
    return Status::InvalidArgument("user " + std::to_string(account.user) + " of project " +
                                   std::to_string(account.project) +
                                   " has no usable creation time, which tells accounts with the same number "
                                   "apart");
  return Status::Ok();
}

Status CheckDay(Day day) {
  if (day == 0 || day > kLastDay)
    return Status::InvalidArgument("day " + std::to_string(day) + " is out of range");
  return Status::Ok();
}

DeletionRow DeletionOf(const IdentityTables& tables, std::uint32_t project, std::uint64_t user) {
  DeletionRow row;
  ProjectRow of_project;
  tables.projects.Find(ProjectKeyOf(project), &of_project);
  // A project without deletions costs no hash.
  if (of_project.deleted != 0) tables.deletions.Find(DeletionKeyOf(project, user), &row);
  return row;
}

void PutDeletion(const IdentityTables& tables, std::uint32_t project, std::uint64_t user,
                 const DeletionRow& row, bool is_new) {
  tables.deletions.Put(DeletionKeyOf(project, user), row);
  if (!is_new) return;
  ProjectRow of_project;
  tables.projects.Find(ProjectKeyOf(project), &of_project);
  ++of_project.deleted;
  tables.projects.Put(ProjectKeyOf(project), of_project);
}

bool WasShown(const DeletionRow& deletion, std::uint64_t hash) {
  return std::binary_search(deletion.shown.begin(), deletion.shown.end(), hash);
}

// Returns false if the hash is there already.
bool AddShown(DeletionRow* deletion, std::uint64_t hash) {
  const auto at = std::lower_bound(deletion->shown.begin(), deletion->shown.end(), hash);
  if (at != deletion->shown.end() && *at == hash) return false;
  deletion->shown.insert(at, hash);
  return true;
}

AccountRow AccountOf(const IdentityTables& tables, const AccountKey& key) {
  AccountRow row;
  row.create_time = key.create_time;
  FindAccount(tables, key, &row);
  return row;
}

Edge* EdgeAt(AccountRow* row, const Cpid& cpid) {
  const auto at = std::lower_bound(row->edges.begin(), row->edges.end(), cpid,
                                   [](const Edge& e, const Cpid& c) { return e.cpid < c; });
  return at != row->edges.end() && at->cpid == cpid ? &*at : nullptr;
}

// What the deletion has left of an edge that was also shown before it: which days and sources the forgotten sightings
// had is unknown, whatever the order in which deletion and sightings arrived.
void Shorten(Edge* edge, Day until) {
  edge->first = until + 1;
  edge->sources = 0;
}

// The account with the sighting.
AccountRow WithSighting(AccountRow row, const Sighting& sighting, const DeletionRow& deletion) {
  Edge* edge = EdgeAt(&row, sighting.cpid);
  if (edge == nullptr) {
    const auto at = std::lower_bound(row.edges.begin(), row.edges.end(), sighting.cpid,
                                     [](const Edge& e, const Cpid& c) { return e.cpid < c; });
    edge = &*row.edges.insert(
        at,
        {.cpid = sighting.cpid, .first = sighting.day, .last = sighting.day, .sources = sighting.sources});
  }
  edge->first = std::min(edge->first, sighting.day);
  edge->last = std::max(edge->last, sighting.day);
  edge->sources |= sighting.sources;
  if (deletion.until != 0 && WasShown(deletion, HashOf(sighting.account, sighting.cpid)))
    Shorten(edge, deletion.until);
  return row;
}

// True if nothing but days of the account itself has changed, on which no link rests.
bool OnlyTimePasses(const IdentityTables& tables, const AccountKey& key, const AccountRow& before,
                    const AccountRow& after) {
  if (before.edges.size() != after.edges.size()) return false;
  for (std::size_t i = 0; i < after.edges.size(); ++i) {
    const Edge& edge = after.edges[i];
    if (before.edges[i].first != edge.first) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (Swings(before.edges[i], before.edges[j]) != Swings(edge, after.edges[j])) return false;
    }
    if (before.edges[i].last == edge.last) continue;
    CpidRow cpid;
    tables.cpids.Find(KeyOf(edge.cpid), &cpid);
    const auto of_project =
        std::count_if(cpid.holders.begin(), cpid.holders.end(),
                      [&](const Holder& holder) { return holder.account.project == key.project; });
    if (of_project > 1) return false;
  }
  return true;
}

bool SameSubject(const DecisionRow& a, const DecisionRow& b) {
  return a.kind == b.kind && a.cpid == b.cpid && a.other == b.other;
}

auto RankOf(const DecisionRow& row) { return std::tie(row.day, row.number, row.withdrawn); }

// False if a newer decision about the subject is in force.
bool PutDecision(AccountRow* row, const DecisionRow& decision) {
  const auto subject = [](const DecisionRow& d) { return std::tie(d.kind, d.cpid, d.other); };
  const auto at =
      std::lower_bound(row->decisions.begin(), row->decisions.end(), decision,
                       [&](const DecisionRow& a, const DecisionRow& b) { return subject(a) < subject(b); });
  if (at == row->decisions.end() || !SameSubject(*at, decision)) {
    row->decisions.insert(at, decision);
    return true;
  }
  if (RankOf(decision) <= RankOf(*at)) return false;
  *at = decision;
  return true;
}

}  // namespace

std::string IdentityText(const AccountKey& identity) {
  return std::to_string(identity.project) + "-" + std::to_string(identity.user) + "-" +
         std::to_string(identity.create_time);
}

std::optional<AccountKey> ParseIdentity(std::string_view text) {
  AccountKey key;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  const auto number = [&](auto* value) {
    const auto [stop, error] = std::from_chars(at, end, *value);
    const bool ok = error == std::errc() && stop != at;
    at = stop;
    return ok;
  };
  const auto hyphen = [&] { return at != end && *at++ == '-'; };
  if (!number(&key.project) || !hyphen() || !number(&key.user) || !hyphen() || !number(&key.create_time))
    return std::nullopt;
  if (at != end || IdentityText(key) != text) return std::nullopt;
  return key;
}

Status Identities::AddProject(std::uint32_t project, Day known_since) {
  ProjectRow row;
  tables_.projects.Find(ProjectKeyOf(project), &row);
  if (row.accounts != 0)
    return Status::InvalidArgument("project " + std::to_string(project) +
                                   " has accounts already; the day since when it is known cannot change");
  row.known_since = known_since;
  tables_.projects.Put(ProjectKeyOf(project), row);
  return Status::Ok();
}

Result<IdentityChanges> Identities::Add(const Sighting& sighting) {
  if (Status s = CheckAccount(sighting.account); !s.ok()) return s;
  if (Status s = CheckDay(sighting.day); !s.ok()) return s;
  if (!sighting.cpid.set()) return Status::InvalidArgument("a sighting needs a CPID");
  const AccountKey& key = sighting.account;
  DeletionRow deletion = DeletionOf(tables_, key.project, key.user);
  const AccountRow before = AccountOf(tables_, key);
  Update update(tables_);
  if (sighting.day <= deletion.until) {
    if (!AddShown(&deletion, HashOf(key, sighting.cpid))) return IdentityChanges{};
    PutDeletion(tables_, key.project, key.user, deletion, false);
    AccountRow after = before;
    if (Edge* edge = EdgeAt(&after, sighting.cpid)) {
      Shorten(edge, deletion.until);
      update.Replace(key, before, after);
    }
    update.CountDeleted(key, sighting.cpid);
    return update.Settle();
  }
  AccountRow after = WithSighting(before, sighting, deletion);
  if (OnlyTimePasses(tables_, key, before, after)) {
    UserRow user;
    tables_.users.Find(UserKeyOf(key), &user);
    for (AccountRow& account : user.accounts) {
      if (account.create_time == key.create_time) account = std::move(after);
    }
    tables_.users.Put(UserKeyOf(key), user);
    return IdentityChanges{};
  }
  update.Replace(key, before, std::move(after));
  return update.Settle();
}

Result<IdentityChanges> Identities::Add(const Ownership& ownership) {
  const auto& [project, user, other_project, other_user, day] = ownership;
  if (project == 0 || user == 0 || other_project == 0 || other_user == 0)
    return Status::InvalidArgument("a proof of ownership needs two users");
  if (Status s = CheckDay(day); !s.ok()) return s;
  if (project == other_project && user == other_user)
    return Status::InvalidArgument("a proof of ownership names its own account");
  if (day <= DeletionOf(tables_, project, user).until) return IdentityChanges{};
  UserRow row;
  tables_.users.Find({project, user, 0}, &row);
  const auto at =
      std::lower_bound(row.ownerships.begin(), row.ownerships.end(), std::pair(other_project, other_user),
                       [](const OwnershipRow& o, auto key) { return std::pair(o.project, o.user) < key; });
  if (at != row.ownerships.end() && at->project == other_project && at->user == other_user) {
    at->day = std::max(at->day, day);
  } else {
    row.ownerships.insert(at, {.project = other_project, .user = other_user, .day = day});
  }
  tables_.users.Put({project, user, 0}, row);
  Update update(tables_);
  update.TouchProofs(project, user);
  return update.Settle();
}

Result<IdentityChanges> Identities::Add(const Departure& departure) {
  if (departure.project == 0 || departure.user == 0)
    return Status::InvalidArgument("a departure needs a project and a user other than 0");
  if (Status s = CheckDay(departure.day); !s.ok()) return s;
  if (departure.day <= DeletionOf(tables_, departure.project, departure.user).until) return IdentityChanges{};
  UserRow row;
  tables_.users.Find({departure.project, departure.user, 0}, &row);
  if (std::tie(departure.day, departure.returns) <= std::tie(row.departure.day, row.departure.returns))
    return IdentityChanges{};
  row.departure = {.day = departure.day, .returns = departure.returns};
  tables_.users.Put({departure.project, departure.user, 0}, row);
  Update update(tables_);
  for (const AccountRow& account : row.accounts)
    update.Replace({departure.project, departure.user, account.create_time}, account, account);
  return update.Settle();
}

Result<IdentityChanges> Identities::Add(const Decision& decision) {
  if (Status s = CheckAccount(decision.account); !s.ok()) return s;
  if (Status s = CheckDay(decision.day); !s.ok()) return s;
  const bool joins = decision.kind == DecisionKind::kJoin;
  if (joins) {
    if (Status s = CheckAccount(decision.other); !s.ok()) return s;
    if (decision.account == decision.other)
      return Status::InvalidArgument("a decision joins an account to itself");
  }
  if (decision.cpid.set() != (decision.kind == DecisionKind::kCut) ||
      (decision.other != AccountKey{}) != joins)
    return Status::InvalidArgument("a cut needs a CPID, a join another account, and nothing else has either");
  DecisionRow row{.kind = decision.kind,
                  .cpid = decision.cpid,
                  .other = decision.other,
                  .day = decision.day,
                  .number = decision.number,
                  .withdrawn = decision.withdrawn};
  std::vector<AccountKey> sides = {decision.account};
  if (joins) sides.push_back(decision.other);
  for (const AccountKey& side : sides) {
    if (decision.day <= DeletionOf(tables_, side.project, side.user).until) return IdentityChanges{};
  }
  Update update(tables_);
  for (const AccountKey& side : sides) {
    if (joins) row.other = side == decision.account ? decision.other : decision.account;
    const AccountRow before = AccountOf(tables_, side);
    AccountRow after = before;
    if (PutDecision(&after, row)) update.Replace(side, before, std::move(after));
  }
  return update.Settle();
}

void Identities::ForgetStatements(const Deletion& deletion, Update* update) {
  UserRow user;
  if (!tables_.users.Find({deletion.project, deletion.user, 0}, &user)) return;
  update->TouchProofs(deletion.project, deletion.user);
  std::erase_if(user.ownerships, [&](const OwnershipRow& o) { return o.day <= deletion.day; });
  if (user.departure.day <= deletion.day) user.departure = {};
  if (user.accounts.empty() && user.ownerships.empty() && user.departure.day == 0) {
    tables_.users.Erase({deletion.project, deletion.user, 0});
  } else {
    tables_.users.Put({deletion.project, deletion.user, 0}, user);
  }
}

Result<IdentityChanges> Identities::Add(const Deletion& deletion) {
  if (deletion.project == 0 || deletion.user == 0)
    return Status::InvalidArgument("a deletion needs a project and a user other than 0");
  if (Status s = CheckDay(deletion.day); !s.ok()) return s;
  DeletionRow row = DeletionOf(tables_, deletion.project, deletion.user);
  if (deletion.day <= row.until) return IdentityChanges{};
  const bool is_new = row.until == 0;
  row.until = deletion.day;
  Update update(tables_);
  ForgetStatements(deletion, &update);
  UserRow user;
  tables_.users.Find({deletion.project, deletion.user, 0}, &user);
  for (const AccountRow& before : user.accounts) {
    const AccountKey key{deletion.project, deletion.user, before.create_time};
    AccountRow after = before;
    std::vector<Cpid> deleted;
    for (Edge& edge : after.edges) {
      if (edge.first > row.until && !WasShown(row, HashOf(key, edge.cpid))) continue;
      AddShown(&row, HashOf(key, edge.cpid));
      deleted.push_back(edge.cpid);
      Shorten(&edge, row.until);
    }
    std::erase_if(after.edges, [&](const Edge& edge) { return edge.last <= row.until; });
    std::erase_if(after.decisions, [&](const DecisionRow& d) { return d.day <= row.until; });
    for (const DecisionRow& decision : before.decisions) {
      if (decision.kind != DecisionKind::kJoin || decision.day > row.until) continue;
      const AccountRow other_before = AccountOf(tables_, decision.other);
      AccountRow other = other_before;
      std::erase_if(other.decisions, [&](const DecisionRow& d) {
        return d.kind == DecisionKind::kJoin && d.other == key && d.day <= row.until;
      });
      update.Replace(decision.other, other_before, std::move(other));
    }
    update.Replace(key, before, std::move(after));
    for (const Cpid& cpid : deleted) update.CountDeleted(key, cpid);
  }
  PutDeletion(tables_, deletion.project, deletion.user, row, is_new);
  return update.Settle();
}

std::optional<AccountKey> Identities::IdentityOf(const AccountKey& account) const {
  AccountRow row;
  if (!FindAccount(tables_, account, &row) || row.edges.empty()) return std::nullopt;
  return row.identity;
}

std::optional<AccountKey> Identities::IdentityOf(const Cpid& cpid) const {
  CpidRow row;
  tables_.cpids.Find(KeyOf(cpid), &row);
  for (const Holder& holder : row.holders) {
    AccountRow account;
    if (!FindAccount(tables_, holder.account, &account)) continue;
    for (const Link& link : LinksOf(tables_, holder.account, account).links) {
      if (link.cpid == cpid && Counts(tables_, holder.account.project, link.standing))
        return account.identity;
    }
  }
  return std::nullopt;
}

std::vector<AccountKey> Identities::AccountsOf(const AccountKey& identity) const {
  return MembersOf(tables_, identity);
}

std::optional<IdentityView> Identities::Describe(const AccountKey& identity) const {
  const std::vector<AccountKey> members = AccountsOf(identity);
  if (members.empty()) return std::nullopt;
  IdentityView view{.identity = identity};
  std::set<Neighbour> possible;
  for (const AccountKey& key : members) {
    const AccountRow row = AccountOf(tables_, key);
    const Links links = LinksOf(tables_, key, row);
    AccountView account{.account = key};
    for (std::size_t i = 0; i < row.edges.size(); ++i) {
      const Cpid& cpid = row.edges[i].cpid;
      const Standing standing = links.links[i].standing;
      const bool counts = Counts(tables_, key.project, standing);
      account.edges.push_back({.edge = row.edges[i], .standing = standing, .counts = counts});
      if (standing == Standing::kCut) continue;
      if (!counts) {
        const auto other = IdentityOf(cpid);
        if (other && *other != identity) possible.insert({*other, key, cpid, standing});
        continue;
      }
      CpidRow holders;
      tables_.cpids.Find(KeyOf(cpid), &holders);
      for (const Holder& holder : holders.holders) {
        const AccountRow other = AccountOf(tables_, holder.account);
        if (other.identity == identity || holder.cut) continue;
        for (const Link& link : LinksOf(tables_, holder.account, other).links) {
          if (link.cpid == cpid) possible.insert({other.identity, holder.account, cpid, link.standing});
        }
      }
    }
    view.accounts.push_back(std::move(account));
  }
  view.possible.assign(possible.begin(), possible.end());
  return view;
}

}  // namespace cobblestone::federation
