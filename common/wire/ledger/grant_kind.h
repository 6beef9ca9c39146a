// What a record of the ledger is (schemas/internal.proto, GrantKind).
#pragma once

#include <cstdint>

namespace cobblestone::wire {

// Frozen numbers.
enum class GrantKind : std::uint8_t {
  kUnknown = 0,
  kFinal = 1,
  kPartial = 2,
  kReversal = 3,
  kOpening = 4,
  kHostLeaves =
      5,  // a host has a new owner, in another partition: the old one's is told, it sends the account
  kHostComes = 6,    // and the new one's, that awaits it
  kHostAccount = 7,  // the account
  kHostShare = 8,    // after it, the host's share of a grant that was claimed under an earlier owner
  kMark = 9,         // tells how far GRANTS has come (mark_codec.h)
  kRepricing = 10,   // makes what a result was granted something else
  kHostMerged = 11,  // a host is another one from now on
  kEstimate = 12,    // what an account manager has reported of a running host
  kTrickle = 13,     // a message of a running job that brought nothing, and why
  kHostNamed = 14,   // of a host that another one is to become: it is this user's
  kHostOthers = 15,  // and where it is somebody else's, or nobody has named it yet
  kInvalid = 16,     // a result that the validator judged invalid, with what it would have claimed
};

// Changes what a user has, for a result: waits for its user as long as no event has named it.
constexpr bool IsAward(GrantKind kind) {
  return (kind >= GrantKind::kFinal && kind <= GrantKind::kReversal) || kind == GrantKind::kRepricing;
}

// Tells something of a result and awards nothing: no account reads it.
constexpr bool IsNote(GrantKind kind) { return kind == GrantKind::kTrickle || kind == GrantKind::kInvalid; }

// Says whose a host is, or moves its account, and awards nothing.
constexpr bool IsHostMove(GrantKind kind) {
  return (kind >= GrantKind::kHostLeaves && kind <= GrantKind::kHostShare) || kind == GrantKind::kHostNamed ||
         kind == GrantKind::kHostOthers;
}

}  // namespace cobblestone::wire
