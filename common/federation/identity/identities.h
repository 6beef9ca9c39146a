// Identities: which accounts of all projects belong to one person (docs/design/identity.md).
//
// An identity is a connected component of accounts and CPIDs, over the links that count (links.h), join decisions and
// mutual ownership proofs. It is named by its eldest account, the one that was shown first (day, project, user,
// creation time). The name stays while accounts join or ids swing, because those come later. After two identities
// merge, the older name is the name, and every other account still finds the identity (IdentityOf).
//
// Invariant: the rows after any sequence of calls depend on the set of facts alone, not on their order or repetition.
// AddProject is the exception: it comes before the project's first sighting.
// Cost: a fact reads and writes the rows of the identities that it concerns. A sighting that only moves the last day of
// an account with one id writes one row. If a project begins or ceases to be believed in its swings, the identities of
// all its swinging accounts are computed again.
//
// Pure: no clock, thread or file. Errors: kInvalidArgument for a malformed fact; nothing has changed then.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/federation/identity/facts.h"
#include "common/federation/identity/links.h"
#include "common/federation/identity/rows.h"

namespace cobblestone::federation {

// An account has moved from one identity to another. Without `from`: it is new. Without `to`: it is gone.
struct IdentityChange {
  AccountKey account;
  std::optional<AccountKey> from;
  std::optional<AccountKey> to;

  friend bool operator==(const IdentityChange&, const IdentityChange&) = default;
};

// By account, each account at most once.
using IdentityChanges = std::vector<IdentityChange>;

struct EdgeView {
  Edge edge;
  Standing standing = Standing::kUnconfirmed;
  bool counts = false;  // of kSwing: whether the project is believed
};

struct AccountView {
  AccountKey account;
  std::vector<EdgeView> edges;  // by cpid
};

// Possibly the same person, unconfirmed: an account shows an id of another identity, and the link does not count.
struct Neighbour {
  AccountKey identity;
  AccountKey account;  // that shows the id, on either side
  Cpid cpid;
  Standing standing = Standing::kUnconfirmed;

  friend auto operator<=>(const Neighbour&, const Neighbour&) = default;
};

struct IdentityView {
  AccountKey identity;
  std::vector<AccountView> accounts;  // by account
  std::vector<Neighbour> possible;    // sorted; apart from the identity in all sums
};

// "PROJECT-USER-CREATETIME", the name of an identity in URLs.
std::string IdentityText(const AccountKey& identity);
std::optional<AccountKey> ParseIdentity(std::string_view text);

class Identities {
 public:
  explicit Identities(const IdentityTables& tables) : tables_(tables) {}

  // `known_since`: the day of the project's first complete file. Before its first sighting; kInvalidArgument after it.
  Status AddProject(std::uint32_t project, Day known_since);

  Result<IdentityChanges> Add(const Sighting& sighting);
  Result<IdentityChanges> Add(const Ownership& ownership);
  Result<IdentityChanges> Add(const Departure& departure);
  Result<IdentityChanges> Add(const Decision& decision);
  Result<IdentityChanges> Add(const Deletion& deletion);

  // Nothing if the account has not been shown.
  [[nodiscard]] std::optional<AccountKey> IdentityOf(const AccountKey& account) const;
  // The identity that an id counts for; nothing if it counts for none.
  [[nodiscard]] std::optional<AccountKey> IdentityOf(const Cpid& cpid) const;
  // The accounts of an identity, sorted; empty if no identity has this name now.
  [[nodiscard]] std::vector<AccountKey> AccountsOf(const AccountKey& identity) const;
  // Everything about an identity; nothing if no identity has this name now.
  [[nodiscard]] std::optional<IdentityView> Describe(const AccountKey& identity) const;

 private:
  class Update;

  // What the user had signed by that day.
  void ForgetStatements(const Deletion& deletion, Update* update);

  IdentityTables tables_;
};

}  // namespace cobblestone::federation
