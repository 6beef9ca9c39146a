#include "common/federation/identity/update.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/federation/identity/deletion_hash.h"

namespace cobblestone::federation {
namespace {

constexpr std::uint64_t kSecondsOfDay = 86400;

bool IsEmpty(const AccountRow& row) { return row.edges.empty() && row.decisions.empty(); }
bool IsEmpty(const UserRow& user) {
  return user.accounts.empty() && user.ownerships.empty() && user.departure.day == 0;
}

// Valid until a row of a user is written.
const UserRow& UserOf(const IdentityTables& tables, std::uint32_t project, std::uint64_t user) {
  static const UserRow kNone;
  const UserRow* const row = tables.users.Peek({project, user, 0});
  return row == nullptr ? kNone : *row;
}

// The account of `other_user` that proofs of both users join with the account `key`; null: none. Each proof is about the
// accounts of its own day, and both must be about the same two.
const AccountRow* JoinedByProofs(const AccountKey& key, const UserRow& user, const OwnershipRow& said,
                                 const UserRow& other_user) {
  const auto answer =
      std::find_if(other_user.ownerships.begin(), other_user.ownerships.end(),
                   [&](const OwnershipRow& o) { return o.project == key.project && o.user == key.user; });
  if (answer == other_user.ownerships.end()) return nullptr;
  const AccountRow* mine = AccountAt(user, said.day);
  const AccountRow* theirs = AccountAt(other_user, said.day);
  if (mine == nullptr || theirs == nullptr || mine->create_time != key.create_time ||
      mine != AccountAt(user, answer->day) || theirs != AccountAt(other_user, answer->day))
    return nullptr;
  return theirs;
}

auto HolderAt(CpidRow* row, const AccountKey& account) {
  return std::lower_bound(row->holders.begin(), row->holders.end(), account,
                          [](const Holder& h, const AccountKey& key) { return h.account < key; });
}

template <class T>
void InsertSorted(std::vector<T>* values, const T& value) {
  const auto at = std::lower_bound(values->begin(), values->end(), value);
  if (at == values->end() || *at != value) values->insert(at, value);
}

Day FirstDayOf(const AccountRow& row) {
  Day first = kNever;
  for (const Edge& edge : row.edges) first = std::min(first, edge.first);
  return first;
}

RowKey BucketOf(const AccountKey& account) { return {account.project, account.user % kSwingerBuckets, 0}; }

}  // namespace

std::vector<AccountKey> MembersOf(const IdentityTables& tables, const AccountKey& identity) {
  if (const IdentityRow* const row = tables.identities.Peek(KeyOf(identity))) return row->accounts;
  const AccountRow* const account = PeekAccount(tables, identity);
  if (account != nullptr && !account->edges.empty() && account->identity == identity) return {identity};
  return {};
}

bool Counts(const IdentityTables& tables, std::uint32_t project, Standing standing) {
  if (standing != Standing::kSwing) return standing == Standing::kJoined;
  ProjectRow row;
  tables.projects.Find(ProjectKeyOf(project), &row);
  return SwingsBelieved(row);
}

bool HasLeft(const UserRow& user, const AccountRow& row) {
  if (user.departure.day != 0 && !user.departure.returns &&
      user.departure.day >= row.create_time / kSecondsOfDay)
    return true;
  return std::any_of(row.decisions.begin(), row.decisions.end(), [](const DecisionRow& decision) {
    return decision.kind == DecisionKind::kLeave && !decision.withdrawn;
  });
}

const AccountRow* AccountAt(const UserRow& user, Day day) {
  const AccountRow* found = nullptr;
  for (const AccountRow& account : user.accounts)
    if (!account.edges.empty() && account.create_time / kSecondsOfDay <= day) found = &account;
  return found;
}

std::vector<AccountKey> JoinedByStatement(const IdentityTables& tables, const AccountKey& key,
                                          const AccountRow& row) {
  std::vector<AccountKey> joined;
  const UserRow& user = UserOf(tables, key.project, key.user);
  if (HasLeft(user, row)) return joined;
  for (const DecisionRow& decision : row.decisions) {
    if (decision.kind != DecisionKind::kJoin || decision.withdrawn) continue;
    const AccountRow* const other = PeekAccount(tables, decision.other);
    if (other != nullptr && !other->edges.empty() &&
        !HasLeft(UserOf(tables, decision.other.project, decision.other.user), *other))
      joined.push_back(decision.other);
  }
  for (const OwnershipRow& said : user.ownerships) {
    const UserRow& other_user = UserOf(tables, said.project, said.user);
    const AccountRow* other = JoinedByProofs(key, user, said, other_user);
    if (other != nullptr && !HasLeft(other_user, *other))
      joined.push_back({.project = said.project, .user = said.user, .create_time = other->create_time});
  }
  return joined;
}

void Identities::Update::Touch(const Cpid& cpid) {
  const CpidRow* const row = tables_.cpids.Peek(KeyOf(cpid));
  if (row == nullptr) return;
  for (const Holder& holder : row->holders) Touch(holder.account);
}

// ---- Rows of accounts and ids ------------------------------------------------------------------------------

void Identities::Update::PutAccount(const AccountKey& key, const AccountRow& row) {
  UserRow user;
  tables_.users.Find(UserKeyOf(key), &user);
  const auto at =
      std::lower_bound(user.accounts.begin(), user.accounts.end(), key.create_time,
                       [](const AccountRow& a, std::uint64_t time) { return a.create_time < time; });
  if (at != user.accounts.end() && at->create_time == key.create_time) {
    *at = row;
  } else {
    user.accounts.insert(at, row);
  }
  tables_.users.Put(UserKeyOf(key), std::move(user));
}

void Identities::Update::EraseAccount(const AccountKey& key) {
  UserRow user;
  if (!tables_.users.Find(UserKeyOf(key), &user)) return;
  std::erase_if(user.accounts, [&](const AccountRow& a) { return a.create_time == key.create_time; });
  if (IsEmpty(user)) {
    tables_.users.Erase(UserKeyOf(key));
  } else {
    tables_.users.Put(UserKeyOf(key), std::move(user));
  }
}

// Too many accounts of a project on an id, deleted ones included: none is listed any more.
void Identities::Update::BoundHolders(std::uint32_t project, CpidRow* row) {
  const auto of_project = [&](const Holder& holder) { return holder.account.project == project; };
  const auto deleted = std::count_if(row->deleted.begin(), row->deleted.end(),
                                     [&](const DeletedHolder& holder) { return holder.project == project; });
  // Nearly always too few, also if none is counted twice. A hash takes longer than the rest of this function.
  if (static_cast<std::size_t>(
          deleted + std::count_if(row->holders.begin(), row->holders.end(), of_project)) <= kMostHolders)
    return;
  const auto count = static_cast<std::size_t>(
      deleted + std::count_if(row->holders.begin(), row->holders.end(), [&](const Holder& holder) {
        // An account that was deleted and has appeared again is one account.
        return of_project(holder) &&
               !std::binary_search(row->deleted.begin(), row->deleted.end(),
                                   DeletedHolder{.project = project, .hash = HashOf(holder.account)});
      }));
  if (count <= kMostHolders) return;
  InsertSorted(&row->crowded, project);
  std::erase_if(row->holders, of_project);
  std::erase_if(row->deleted, [&](const DeletedHolder& h) { return h.project == project; });
}

void Identities::Update::HoldId(const AccountKey& key, const Edge& edge) {
  CpidRow row;
  tables_.cpids.Find(KeyOf(edge.cpid), &row);
  if (std::binary_search(row.crowded.begin(), row.crowded.end(), key.project)) return;
  const auto at = HolderAt(&row, key);
  if (at != row.holders.end() && at->account == key) {
    at->first = edge.first;
    at->cut = edge.cut;
  } else {
    row.holders.insert(at, {.account = key, .first = edge.first, .cut = edge.cut});
    BoundHolders(key.project, &row);
  }
  tables_.cpids.Put(KeyOf(edge.cpid), std::move(row));
}

void Identities::Update::DropId(const AccountKey& key, const Cpid& cpid) {
  CpidRow row;
  if (!tables_.cpids.Find(KeyOf(cpid), &row)) return;
  std::erase_if(row.holders, [&](const Holder& h) { return h.account == key; });
  if (row.holders.empty() && row.deleted.empty() && row.crowded.empty()) {
    tables_.cpids.Erase(KeyOf(cpid));
  } else {
    tables_.cpids.Put(KeyOf(cpid), std::move(row));
  }
}

void Identities::Update::CountDeleted(const AccountKey& key, const Cpid& cpid) {
  CpidRow row;
  tables_.cpids.Find(KeyOf(cpid), &row);
  if (std::binary_search(row.crowded.begin(), row.crowded.end(), key.project)) return;
  for (const Holder& holder : row.holders) Touch(holder.account);
  InsertSorted(&row.deleted, {.project = key.project, .hash = HashOf(key)});
  BoundHolders(key.project, &row);
  tables_.cpids.Put(KeyOf(cpid), std::move(row));
}

void Identities::Update::CountAccount(std::uint32_t project, bool shown) {
  ProjectRow row;
  tables_.projects.Find(ProjectKeyOf(project), &row);
  believed_before_.try_emplace(project, SwingsBelieved(row));
  row.accounts += shown ? 1 : std::uint64_t(-1);
  tables_.projects.Put(ProjectKeyOf(project), row);
}

void Identities::Update::RememberIdentity(const AccountKey& key, const AccountRow& row) {
  before_.try_emplace(key, row.edges.empty() ? std::nullopt : std::optional(row.identity));
}

void Identities::Update::Replace(const AccountKey& key, const AccountRow& before, AccountRow after) {
  RememberIdentity(key, before);
  Touch(key);
  const bool left = HasLeft(UserOf(tables_, key.project, key.user), after);
  for (Edge& edge : after.edges) {
    edge.cut =
        left || std::any_of(after.decisions.begin(), after.decisions.end(), [&](const DecisionRow& decision) {
          return decision.kind == DecisionKind::kCut && decision.cpid == edge.cpid && !decision.withdrawn;
        });
  }
  for (const Edge& edge : before.edges) {
    Touch(edge.cpid);
    if (std::none_of(after.edges.begin(), after.edges.end(),
                     [&](const Edge& e) { return e.cpid == edge.cpid; }))
      DropId(key, edge.cpid);
  }
  if (before.edges.empty() != after.edges.empty()) {
    CountAccount(key.project, !after.edges.empty());
    TouchProofs(key.project, key.user);
  }
  if (after.edges.empty()) {
    after.identity = {};
    after.noise = false;
    if (after.swings) CountSwinger(key, false);
    after.swings = false;
  }
  IsEmpty(after) ? EraseAccount(key) : PutAccount(key, after);
  for (const Edge& edge : after.edges) {
    Touch(edge.cpid);  // before, as well: the row may become crowded and then lists nobody
    HoldId(key, edge);
    Touch(edge.cpid);
  }
}

void Identities::Update::TouchProofs(std::uint32_t project, std::uint64_t user) {
  const UserRow& row = UserOf(tables_, project, user);
  const auto touch = [&](std::uint32_t of, std::uint64_t number, const UserRow& accounts) {
    for (const AccountRow& account : accounts.accounts)
      Touch(AccountKey{.project = of, .user = number, .create_time = account.create_time});
  };
  if (!row.ownerships.empty()) touch(project, user, row);
  for (const OwnershipRow& said : row.ownerships)
    touch(said.project, said.user, UserOf(tables_, said.project, said.user));
}

// ---- What follows from the rows ------------------------------------------------------------------------------

IdentityChanges Identities::Update::Settle() {
  SettleNoise();
  SettleSwings();
  Regroup();
  return Changes();
}

void Identities::Update::SettleNoise() {
  std::vector<AccountKey> open(touched_.begin(), touched_.end());
  for (const AccountKey& key : open) {
    const AccountRow* const account = PeekAccount(tables_, key);
    if (account == nullptr) continue;
    const bool noise = IsNoise(tables_, key, *account);
    if (noise == account->noise) continue;
    AccountRow row = *account;
    row.noise = noise;
    PutAccount(key, row);
    // Links of others may rest on this account. Their own noise does not depend on it.
    for (const Edge& edge : row.edges) Touch(edge.cpid);
  }
}

void Identities::Update::CountSwinger(const AccountKey& key, bool swings) {
  ProjectRow project;
  tables_.projects.Find(ProjectKeyOf(key.project), &project);
  believed_before_.try_emplace(key.project, SwingsBelieved(project));
  project.swingers += swings ? 1 : std::uint64_t(-1);
  tables_.projects.Put(ProjectKeyOf(key.project), project);

  SwingerRow bucket;
  tables_.swingers.Find(BucketOf(key), &bucket);
  if (swings) {
    InsertSorted(&bucket.accounts, key);
  } else {
    std::erase(bucket.accounts, key);
  }
  if (bucket.accounts.empty()) {
    tables_.swingers.Erase(BucketOf(key));
  } else {
    tables_.swingers.Put(BucketOf(key), std::move(bucket));
  }
}

void Identities::Update::TouchSwingers(std::uint32_t project) {
  for (std::uint64_t i = 0; i < kSwingerBuckets; ++i) {
    const SwingerRow* const bucket = tables_.swingers.Peek({project, i, 0});
    if (bucket == nullptr) continue;
    for (const AccountKey& account : bucket->accounts) Touch(account);
  }
}

void Identities::Update::SettleSwings() {
  for (const AccountKey& key : touched_) {
    const AccountRow* const account = PeekAccount(tables_, key);
    if (account == nullptr || account->edges.empty()) continue;
    const bool swings = LinksOfAccount(key).swings;
    if (swings == account->swings) continue;
    AccountRow row = *account;
    row.swings = swings;
    PutAccount(key, row);
    CountSwinger(key, swings);
  }
  for (const auto& [project, believed] : believed_before_) {
    if (Believed(project) != believed) TouchSwingers(project);
  }
}

bool Identities::Update::Believed(std::uint32_t project) {
  return Counts(tables_, project, Standing::kSwing);
}

const Links& Identities::Update::LinksOfAccount(const AccountKey& key) {
  const auto [at, is_new] = links_.try_emplace(key);
  if (!is_new) return at->second;
  const AccountRow* const account = PeekAccount(tables_, key);
  if (account != nullptr) at->second = LinksOf(tables_, key, *account);
  return at->second;
}

std::vector<AccountKey> Identities::Update::NeighboursOf(const AccountKey& key) {
  const AccountRow* const account = PeekAccount(tables_, key);
  if (account == nullptr) return {};
  std::vector<AccountKey> neighbours = JoinedByStatement(tables_, key, *account);
  for (const Link& link : LinksOfAccount(key).links) {
    if (!Counts(tables_, key.project, link.standing)) continue;
    const CpidRow* const cpid = tables_.cpids.Peek(KeyOf(link.cpid));
    if (cpid == nullptr) continue;
    for (const Holder& holder : cpid->holders) {
      const std::vector<Link>& theirs = LinksOfAccount(holder.account).links;
      const bool counts = std::any_of(theirs.begin(), theirs.end(), [&](const Link& l) {
        return l.cpid == link.cpid && Counts(tables_, holder.account.project, l.standing);
      });
      if (counts) neighbours.push_back(holder.account);
    }
  }
  return neighbours;
}

std::set<AccountKey> Identities::Update::ComponentOf(const AccountKey& start) {
  std::set<AccountKey> component = {start};
  std::vector<AccountKey> open = {start};
  while (!open.empty()) {
    const AccountKey key = open.back();
    open.pop_back();
    for (const AccountKey& neighbour : NeighboursOf(key)) {
      if (component.insert(neighbour).second) open.push_back(neighbour);
    }
  }
  return component;
}

// The touched accounts, all members of their identities, and so on for every account that a new component reaches.
void Identities::Update::Regroup() {
  std::set<AccountKey> open = touched_;
  const auto open_members = [&](const AccountKey& identity) {
    for (const AccountKey& member : MembersOf(tables_, identity)) open.insert(member);
  };
  std::set<AccountKey> gone;  // names of identities as of the beginning
  for (const auto& [key, identity] : before_) {
    if (identity && gone.insert(*identity).second) open_members(*identity);
  }
  std::set<AccountKey> done;
  while (!open.empty()) {
    const AccountKey key = *open.begin();
    open.erase(open.begin());
    if (done.contains(key)) continue;
    const AccountRow* const first = PeekAccount(tables_, key);
    if (first == nullptr || first->edges.empty()) continue;
    const std::set<AccountKey> component = ComponentOf(key);
    for (const AccountKey& member : component) {
      done.insert(member);
      static const AccountRow kNone;
      const AccountRow* const account = PeekAccount(tables_, member);
      RememberIdentity(member, account == nullptr ? kNone : *account);
      const std::optional<AccountKey>& identity = before_.at(member);
      if (identity && gone.insert(*identity).second) open_members(*identity);
    }
    Assign(component);
  }
  for (const AccountKey& identity : gone) {
    if (!members_.contains(identity)) tables_.identities.Erase(KeyOf(identity));
  }
  for (const auto& [identity, accounts] : members_) {
    if (accounts.size() > 1) {
      tables_.identities.Put(KeyOf(identity), {.accounts = accounts});
    } else {
      tables_.identities.Erase(KeyOf(identity));
    }
  }
}

void Identities::Update::Assign(const std::set<AccountKey>& accounts) {
  AccountKey eldest;
  Day first = kNever;
  for (const AccountKey& key : accounts) {
    const AccountRow* const account = PeekAccount(tables_, key);
    const Day day = account == nullptr ? kNever : FirstDayOf(*account);
    if (day < first) std::tie(first, eldest) = std::tie(day, key);
  }
  for (const AccountKey& key : accounts) {
    const AccountRow* const account = PeekAccount(tables_, key);
    AccountRow row;
    if ((account == nullptr ? row : *account).identity == eldest) continue;
    if (account != nullptr) row = *account;
    row.identity = eldest;
    PutAccount(key, row);
  }
  members_[eldest].assign(accounts.begin(), accounts.end());
}

IdentityChanges Identities::Update::Changes() const {
  IdentityChanges changes;
  for (const auto& [key, from] : before_) {
    const AccountRow* const account = PeekAccount(tables_, key);
    std::optional<AccountKey> to;
    if (account != nullptr && !account->edges.empty()) to = account->identity;
    if (from != to) changes.push_back({.account = key, .from = from, .to = to});
  }
  return changes;
}

}  // namespace cobblestone::federation
