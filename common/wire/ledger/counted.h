// By how many results a ledger record changes an account's count.
#pragma once

#include <cstdint>

#include "common/credit/model/model.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"

namespace cobblestone::wire {

// `kind`: the grant's kind, also if the record is a host's share of a grant. Modulo 2^64: minus one when a
// grant is reversed, plus one when it is reinstated.
[[nodiscard]] inline std::uint64_t CountedBy(GrantKind kind, std::uint32_t flags) {
  const bool counts = kind == GrantKind::kFinal || (flags & credit::kGrantRecounts) != 0;
  return std::uint64_t{counts ? 1u : 0u} - std::uint64_t{(flags & credit::kGrantUncounts) != 0 ? 1u : 0u};
}
[[nodiscard]] inline std::uint64_t CountedBy(const GrantHead& head) {
  return CountedBy(head.kind, head.flags);
}

[[nodiscard]] inline std::uint64_t CountedBy(const Posting& posting) {
  return CountedBy(posting.uncounted ? GrantKind::kPartial : GrantKind::kFinal, posting.flags);
}

}  // namespace cobblestone::wire
