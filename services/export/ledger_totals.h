// Control totals of an export from a source with a ledger: the totals of all accounts, the grants of the
// ledger, and the part that the files show. Sums of whole micro-credits, exact.
#pragma once

#include <cstdint>
#include <vector>

namespace cobblestone::exports {

__extension__ using MicroSum = __int128;  // 10^-6 Cobblestones

// Accounts with a record in any file, and the sum of their totals.
struct ExportedTotal {
  std::uint64_t accounts = 0;
  MicroSum total = 0;
};

// Totals of all hosts, users or teams. Invariant, for each account:
//   opening + granted = total + waiting + expired + moving
// The left side is computed from the ledger, the right side from the state.
struct KindTotals {
  std::uint64_t accounts = 0;
  MicroSum total = 0;
  MicroSum opening = 0;
  MicroSum granted = 0;  // to teams: postings
  // Waits for an event about the user, for the end of the period, or for the host's account.
  MicroSum waiting = 0;
  MicroSum expired = 0;  // users: the wait has expired
  // Hosts: in transit to another owner's partition, or counted in both partitions (negative).
  MicroSum moving = 0;
  // The rest is withheld: no consent, no credit, deleted, or no file of such accounts.
  ExportedTotal exported;
};

// Position of one partition.
struct LedgerPosition {
  std::uint64_t commit = 0;
  std::uint64_t grants = 0;    // next record of the topic `grants`
  std::uint64_t postings = 0;  // next record of the topic `postings`
};

struct LedgerTotals {
  std::uint32_t project = 0;
  double event_time = 0;  // UNIX s of the last tick
  std::uint64_t epoch = 0;
  std::vector<LedgerPosition> positions;  // by partition
  KindTotals users;
  KindTotals teams;
  KindTotals hosts;
};

}  // namespace cobblestone::exports
