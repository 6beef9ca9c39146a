// A grant to a user whom no event has named waits as a whole: host, user and team get nothing yet.
//
// Such grants wait in order of arrival (`order: lockstep`: of application), each in its own row, for their app's
// window after the time of the grant, and at least as long as the grants before them. Then they expire: the
// user's share is refused (UNKNOWN_USER) with the grant's bytes, and the known host gets its share, as with a
// deleted user. The ledger keeps the grant. A user that is named later gets the grants that still wait and all
// later grants; expired ones stay refused.
// Invariant: the expired grants are those of the ledger's partition for the user before `expired_end`, except
// `spared`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/credit/accounts/account.h"

namespace cobblestone::accounts {

// Users examined with each tick, and with each commit while an ended day is left.
inline constexpr std::size_t kExpireAtTick = 500;
inline constexpr std::size_t kExpireAtCommit = 20;

// By user and number.
struct WaitingGrant {
  std::uint64_t offset = 0;  // in the ledger's partition
  double append_time = 0;    // UNIX s
  std::string bytes;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.offset, s.append_time, s.bytes);
  }
};

// A user whose waiting grants are being expired or applied, a part of them in each commit.
struct Releasing {
  bool applies = false;  // the first unexpired grant was reached; later grants wait at least as long

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.applies);
  }
};

// The outcome of grants to a user before an event named the user.
struct UnnamedUser {
  std::uint32_t first = 0;  // number of the grant that has waited longest
  std::uint32_t end = 0;    // number of the next grant to arrive
  std::uint64_t expired = 0;
  credit::MicroTotal expired_micro = 0;
  credit::MicroTotal expired_provisional = 0;  // of `expired_micro`: partial grants of undecided results
  std::uint64_t expired_end = 0;               // the largest offset of the expired grants, plus one
  // Smaller offsets of grants that have not expired. Only with `order: lockstep`; otherwise grants wait in
  // order of offsets.
  std::vector<std::uint64_t> spared;

  [[nodiscard]] std::uint32_t waiting() const { return end - first; }
  [[nodiscard]] bool Expired(std::uint64_t offset) const {
    return offset < expired_end && std::find(spared.begin(), spared.end(), offset) == spared.end();
  }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.first, s.end, s.expired, s.expired_micro, s.expired_end, s.spared, s.expired_provisional);
  }
};

}  // namespace cobblestone::accounts
