// Compares the total of each account in the state with the sum of its ledger records. Memory is bounded,
// whatever the number of accounts and records (SpillSort).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/credit/accounts/account.h"
#include "services/audit/audit_problems.h"
#include "services/audit/spill_sort.h"

namespace cobblestone::audit {

enum class AuditedAccount : std::uint8_t {
  kHost,
  kUser,
  kExpired,      // credit of a user that expired while it waited for the user
  kProvisional,  // provisional credit of a user
  kTeam,
};

// Amount and number of grants; the number counts modulo 2^64.
struct AuditedSum {
  credit::MicroTotal micro = 0;
  std::uint64_t grants = 0;
};

class AccountBalance {
 public:
  // The account of a project, in a partition.
  struct Account {
    std::uint32_t partition = 0;
    AuditedAccount kind = AuditedAccount::kHost;
    std::uint32_t project = 0;
    std::uint64_t id = 0;
  };

  explicit AccountBalance(const SpillOptions& options) : sums_(options) {}

  void AddState(const Account& account, const AuditedSum& sum) { Add(account, Side::kState, sum); }
  // A ledger record of the account.
  void AddRecord(const Account& account, const AuditedSum& sum) { Add(account, Side::kRecords, sum); }
  // The state has so much less than the records, for a known reason; negative: so much more.
  void AddHeld(const Account& account, const AuditedSum& sum) { Add(account, Side::kHeld, sum); }

  [[nodiscard]] const Status& status() const { return sums_.status(); }
  // Once, at the end. Returns the number of accounts in the state. `recorded`: receives the sum of the ledger
  // records of each account; may be empty.
  using Recorded = std::function<void(const Account& account, const AuditedSum& sum)>;
  Result<std::uint64_t> Compare(AuditProblems& problems, const Recorded& recorded = {});

 private:
  enum class Side : std::uint8_t { kState, kRecords, kHeld };
  struct Entry {
    std::uint64_t id;
    std::uint64_t grants;
    credit::MicroTotal micro;
    std::uint32_t project;
    std::uint32_t partition;
    AuditedAccount kind;
    Side side;

    [[nodiscard]] auto account() const { return std::tuple(kind, project, id, partition); }
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.account() == b.account() ? a.side < b.side : a.account() < b.account();
    }
    friend void Absorb(Entry& to, const Entry& from) {
      to.micro += from.micro;
      to.grants += from.grants;
    }
  };
  struct Group;

  void Add(const Account& account, Side side, const AuditedSum& sum) {
    sums_.Add({.id = account.id,
               .grants = sum.grants,
               .micro = sum.micro,
               .project = account.project,
               .partition = account.partition,
               .kind = account.kind,
               .side = side});
  }

  SpillSort<Entry> sums_;
};

}  // namespace cobblestone::audit
