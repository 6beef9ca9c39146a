// State of ACCOUNTS about a host whose account has arrived or left; other hosts have no such row.
//
// A host's account exists once and moves between partitions. In the commit that changes the owner, CLAIMS
// notifies the partition that the account leaves (HOST_LEAVES) and the partition that it moves to (HOST_COMES).
// The former sends the account (HOST_ACCOUNT) once it has it. Records between two partitions arrive in order,
// and a record from CLAIMS is in its partition before any grant that was claimed later. So a partition without
// the account knows whether the account will arrive (due > 0: shares of grants wait for it) or has left (shares
// follow it and cannot overtake it).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"

namespace cobblestone::accounts {

struct HostMoves {
  std::uint32_t due = 0;             // accounts that are announced and have not arrived
  std::vector<UserId> leaving;       // owners to send the account to, in order, once it is here
  UserId went_to;                    // the owner to whom it was sent last
  std::vector<std::string> waiting;  // shares that wait for the account: grants without claims, in order
  // All accounts and shares that were ever sent from here, so that the ledger can be checked against the
  // arrivals.
  std::uint64_t sent = 0;  // records
  credit::MicroTotal sent_micro = 0;
  std::uint64_t sent_grants = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.due, s.leaving, s.went_to, s.waiting, s.sent, s.sent_micro, s.sent_grants);
  }
};

// Records sent to other partitions of ACCOUNTS since the last barrier. A record may be sent on. No record is in
// flight if a barrier has passed everywhere and nothing was sent since the previous barrier.
struct MovedRecords {
  std::uint64_t records = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.records);
  }
};

}  // namespace cobblestone::accounts
