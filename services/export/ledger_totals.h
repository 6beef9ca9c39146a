// Control totals of an export whose source has a ledger: what all accounts have, what the ledger gave them, and what of it the
// files show. Sums of whole micro-credits, exact.
#pragma once

#include <cstdint>
#include <vector>

namespace cobblestone::statistics {

__extension__ using MicroSum = __int128;  // 10^-6 Cobblestones

// Accounts that have a record, in whatever file, and what they have.
struct ExportedTotal {
  std::uint64_t accounts = 0;
  MicroSum total = 0;
};

// Of all hosts, users or teams:
//   opening + granted = total + waiting + expired + after_deletion + moving,
// account by account: from the ledger what is left of the sign, from the state what is right of it.
struct KindTotals {
  std::uint64_t accounts = 0;
  MicroSum total = 0;
  MicroSum opening = 0;
  MicroSum granted = 0;  // to teams: posted
  MicroSum waiting =
      0;  // for an event that names the user, for the end of the period, for the host's account
  MicroSum expired = 0;         // users: waited in vain
  MicroSum after_deletion = 0;  // users: of grants to those who were deleted already
  MicroSum moving = 0;          // hosts: on their way to another owner's partition, or there twice (below 0)
  ExportedTotal
      exported;  // the rest is withheld: no consent, no credit, deleted, or no file of such accounts
};

// Where one partition stands.
struct LedgerPosition {
  std::uint64_t commit = 0;
  std::uint64_t grants = 0;    // the next record of the ledger
  std::uint64_t postings = 0;  // the next one of the ledger as it reached teams
};

struct LedgerTotals {
  std::uint32_t project = 0;
  double event_time = 0;  // UNIX s: of the last tick
  std::uint64_t epoch = 0;
  std::vector<LedgerPosition> positions;  // by partition
  KindTotals users;
  KindTotals teams;
  KindTotals hosts;
};

}  // namespace cobblestone::statistics
