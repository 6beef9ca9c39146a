// One fact on its way into the rows: collects the accounts whose links may have changed, then settles what follows from
// the rows: noise, swings, belief in projects, identities. Part of Identities.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/federation/identity/identities.h"

namespace cobblestone::federation {

class Identities::Update {
 public:
  explicit Update(const IdentityTables& tables) : tables_(tables) {}

  // The links of the account may have changed.
  void Touch(const AccountKey& account) { touched_.insert(account); }
  // The links of all accounts that showed the id may have changed.
  void Touch(const Cpid& cpid);

  // Writes the account: an edge that is new, has changed or is gone also changes the row of its id. `after` without edges
  // and facts removes the account.
  void Replace(const AccountKey& key, const AccountRow& before, AccountRow after);
  // Counts a sighting of a deleted account, so that the order of sighting and deletion makes no difference.
  void CountDeleted(const AccountKey& key, const Cpid& cpid);
  // The proofs of the user may be about other accounts than before.
  void TouchProofs(std::uint32_t project, std::uint64_t user);

  IdentityChanges Settle();

 private:
  void PutAccount(const AccountKey& key, const AccountRow& row);
  void EraseAccount(const AccountKey& key);
  void HoldId(const AccountKey& key, const Edge& edge);
  void DropId(const AccountKey& key, const Cpid& cpid);
  void BoundHolders(std::uint32_t project, CpidRow* row);
  void CountAccount(std::uint32_t project, bool shown);
  void RememberIdentity(const AccountKey& key, const AccountRow& row);

  void SettleNoise();
  void SettleSwings();
  void CountSwinger(const AccountKey& key, bool swings);
  void TouchSwingers(std::uint32_t project);
  void Regroup();
  std::set<AccountKey> ComponentOf(const AccountKey& start);
  std::vector<AccountKey> NeighboursOf(const AccountKey& key);
  const Links& LinksOfAccount(const AccountKey& key);
  bool Believed(std::uint32_t project);
  void Assign(const std::set<AccountKey>& accounts);
  IdentityChanges Changes() const;

  const IdentityTables& tables_;
  std::set<AccountKey> touched_;
  std::map<AccountKey, std::optional<AccountKey>> before_;  // identities as of the beginning
  std::map<std::uint32_t, bool> believed_before_;
  std::map<AccountKey, Links> links_;                      // once noise is settled
  std::map<AccountKey, std::vector<AccountKey>> members_;  // new identities
};

// The accounts of an identity as stored.
std::vector<AccountKey> MembersOf(const IdentityTables& tables, const AccountKey& identity);
// Whether a link counts now.
bool Counts(const IdentityTables& tables, std::uint32_t project, Standing standing);
// A decision to leave is in force, of an operator or of the owner.
bool HasLeft(const UserRow& user, const AccountRow& row);
// Of the accounts that have been shown, the last one that was created by the end of the day; null: none.
const AccountRow* AccountAt(const UserRow& user, Day day);
// The accounts that decisions and mutual proofs join with this one.
std::vector<AccountKey> JoinedByStatement(const IdentityTables& tables, const AccountKey& key,
                                          const AccountRow& row);

}  // namespace cobblestone::federation
