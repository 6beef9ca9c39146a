// Which ids of one account count: the rules of bounded trust (docs/design/identity.md, "What counts"). Pure: decided from
// the rows of the account, of its ids, and of the other accounts that showed these ids.
//
// Terms. The *support* of an id, seen from an account, is the first day on which an account of another project showed
// the id. The *anchor* of an account is its id with the earliest support. Every other id that another project showed by
// the day of the link needs a confirmation: without one, the account stays with its anchor.
#pragma once

#include <cstdint>
#include <vector>

#include "common/federation/identity/facts.h"
#include "common/federation/identity/rows.h"

namespace cobblestone::federation {

// Why an id of an account counts, or does not. Numbers are shown to users by name only.
enum class Standing : std::uint8_t {
  kJoined,         // the anchor, an id of the account alone, or a confirmed link
  kSwing,          // returned to an earlier id: counts while the project is believed (SwingsBelieved)
  kUnconfirmed,    // only this project says that the id and the anchor belong together
  kContradicted,   // a swing, but another project has separate accounts for the two ids
  kNoise,          // the account has shown too many established ids
  kCrowded,        // too many accounts of this project showed the id
  kHeldByAnother,  // an earlier account of this project holds the id
  kCut,            // a decision
};

struct Link {
  Cpid cpid;
  Standing standing = Standing::kUnconfirmed;
};

struct Links {
  std::vector<Link> links;  // one for each edge of the account, by cpid
  bool noise = false;
  bool swings = false;  // a link is kSwing
};

// An account that has shown more established ids than this links nothing.
inline constexpr std::size_t kMostEstablished = 4;
// More accounts of one project than this on one id: none of them counts.
inline constexpr std::size_t kMostHolders = 4;

// True if the swings of a project with these numbers of accounts count: at most one account in 100 joins established
// ids by a swing alone, and at most 1,000 accounts. Three are always allowed.
inline bool SwingsBelieved(const ProjectRow& project) {
  constexpr std::uint64_t kAlways = 3;
  constexpr std::uint64_t kMost = 1000;
  constexpr std::uint64_t kOneIn = 100;
  const std::uint64_t share = project.accounts / kOneIn;
  const std::uint64_t limit = share < kAlways ? kAlways : (share > kMost ? kMost : share);
  return project.swingers <= limit;
}

// True if the account returned to an id that it had shown before the other id.
inline bool Swings(const Edge& a, const Edge& b) { return a.last > b.first && b.last > a.first; }

// Null if there is no such account. Valid until a row of a user is written.
const AccountRow* PeekAccount(const IdentityTables& tables, const AccountKey& key);
// Nothing (false) if there is no such account.
bool FindAccount(const IdentityTables& tables, const AccountKey& key, AccountRow* row);

// Whether the account has shown more than kMostEstablished established ids. Depends on the rows of its ids alone.
bool IsNoise(const IdentityTables& tables, const AccountKey& key, const AccountRow& row);

// The links of an account. AccountRow::noise of all holders of its ids must be current.
Links LinksOf(const IdentityTables& tables, const AccountKey& key, const AccountRow& row);

}  // namespace cobblestone::federation
