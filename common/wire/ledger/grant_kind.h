// The kinds of ledger records (schemas/internal.proto, GrantKind).
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
  // To the old owner's partition: the host has a new owner, in this or another partition; send the account.
  kHostLeaves = 5,
  kHostComes = 6,    // to the new owner's partition: wait for the account
  kHostAccount = 7,  // the account
  kHostShare = 8,    // follows the account: the host's share of a grant claimed under an earlier owner
  kWatermark = 9,    // the watermark progress of GRANTS (watermark_codec.h)
  kRepricing = 10,   // changes the amount granted to a result
  kHostMerged = 11,  // the host has become another host
  kEstimate = 12,    // a report of an account manager on a running host
  kTrickle = 13,     // a trickle of a running job that earned nothing, and why
  kHostNamed = 14,   // the answer about a host to be merged into: it belongs to this user
  kHostOthers = 15,  // the other answer: it belongs to another user, or no event has named it yet
  kInvalid = 16,     // a result judged invalid by the validator, with the claim it would have made
};

// Changes a user's credit for a result; waits for its user until an event names the user.
constexpr bool IsAward(GrantKind kind) {
  return (kind >= GrantKind::kFinal && kind <= GrantKind::kReversal) || kind == GrantKind::kRepricing;
}

// Records a fact about a result and awards nothing: no account reads it.
constexpr bool IsNote(GrantKind kind) { return kind == GrantKind::kTrickle || kind == GrantKind::kInvalid; }

// Reports the owner of a host or moves its account; awards nothing.
constexpr bool IsHostMove(GrantKind kind) {
  return (kind >= GrantKind::kHostLeaves && kind <= GrantKind::kHostShare) || kind == GrantKind::kHostNamed ||
         kind == GrantKind::kHostOthers;
}

}  // namespace cobblestone::wire
