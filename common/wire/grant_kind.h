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
};

// Moves a host's account and awards nothing.
constexpr bool IsHostMove(GrantKind kind) {
  return kind >= GrantKind::kHostLeaves && kind <= GrantKind::kHostShare;
}

}  // namespace cobblestone::wire
