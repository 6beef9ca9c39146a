// What a partition of accounts remembers of a host that has come to it or left it; the others have no such row.
//
// A host's account is one token that travels: CLAIMS tells the partition that it leaves (HOST_LEAVES) and the one that it
// goes to (HOST_COMES) in the commit that changes the owner; the first sends the account (HOST_ACCOUNT) when it has it.
// All that one partition sends another arrives in order, and what CLAIMS has told a partition lies there before any grant
// that was claimed afterwards. So a partition without the account knows whether it will come (due > 0: shares of grants
// wait for it) or has gone (shares follow it, and cannot overtake it).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"

namespace cobblestone::accounts {

struct HostMoves {
  std::uint32_t due = 0;             // accounts that are announced and have not come
  std::vector<UserId> leaving;       // owners to be sent to, one after the other, once the account is here
  UserId went_to;                    // the owner to whom it was sent last
  std::vector<std::string> waiting;  // shares that wait for the account: grants without claims, in order
  // All that was ever sent from here, accounts and shares, so that the ledger can be checked against what came.
  std::uint64_t sent = 0;  // records
  credit::MicroTotal sent_micro = 0;
  std::uint64_t sent_grants = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.due, s.leaving, s.went_to, s.waiting, s.sent, s.sent_micro, s.sent_grants);
  }
};

// Sent to other partitions of accounts since the last barrier. What is sent may be sent on: none is on its way any more when a
// barrier has passed everywhere and nothing was sent since the one before.
struct MovedRecords {
  std::uint64_t records = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.records);
  }
};

}  // namespace cobblestone::accounts
