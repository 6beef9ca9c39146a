// Grants to a user that no event has named wait for it, whole: host, user and team get nothing yet.
//
// They wait in order of arrival (`order: lockstep`: of application), each in a row of its own, for their app's window after
// the time of the grant, and no shorter than those before them. Then they expire: the user's share is refused (UNKNOWN_USER), with the grant's bytes, and
// the host, which is known, gets its own, as with a deleted user. The ledger keeps the grant. A user that comes later gets
// what still waits and what is granted from then on; what had expired stays refused.
// Invariant: what had expired is what the ledger's partition holds for the user before `expired_end`, but for `spared`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/credit/accounts/account.h"

namespace cobblestone::accounts {

// Users looked at with each tick, and with each commit until no day that is over is left.
inline constexpr std::size_t kExpireAtTick = 500;
inline constexpr std::size_t kExpireAtCommit = 20;

// By user and number.
struct WaitingGrant {
  std::uint64_t offset = 0;  // in the ledger's partition
  std::string bytes;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.offset, s.bytes);
  }
};

// A user whose waiting grants are being expired or applied, a part in each commit.
struct Releasing {
  bool applies = false;  // the first grant that has not expired was reached: those behind it wait no shorter

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.applies);
  }
};

// What became of the grants to a user before an event named it.
struct UnnamedUser {
  std::uint32_t first = 0;  // number of the grant that waits longest
  std::uint32_t end = 0;    // of the next one to come
  std::uint64_t expired = 0;
  credit::MicroTotal expired_micro = 0;
  credit::MicroTotal expired_provisional = 0;  // of it, partial grants of results that are not decided
  std::uint64_t expired_end = 0;               // the largest offset of those that have expired, and one
  // Smaller ones of grants that have not. `order: lockstep` alone: else they wait in order of offsets.
  std::vector<std::uint64_t> spared;

  [[nodiscard]] std::uint32_t waiting() const { return end - first; }
  [[nodiscard]] bool Expired(std::uint64_t offset) const {
    return offset < expired_end && std::find(spared.begin(), spared.end(), offset) == spared.end();
  }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.first, s.end, s.expired, s.expired_micro, s.expired_end, s.spared, AddedIn<2>(s.expired_provisional));
  }
};

}  // namespace cobblestone::accounts
