// credit::Claim <-> bytes of schemas/internal.proto, Claim: by hand, because one is written and several times
// read for each result. The bytes are those that generated code writes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/credit/model/model.h"

namespace cobblestone::wire {

// More bytes than any claim takes that no trickle was paid for.
inline constexpr std::size_t kMaxClaimSize = 512;

// Appends to `out`.
void EncodeClaim(const credit::Claim& claim, std::string* out);

// False where the bytes are no Claim; *claim then holds nothing of use. No allocation where no trickle was paid for.
[[nodiscard]] bool DecodeClaim(std::string_view bytes, credit::Claim* claim);

// In line with the claims, and none: a partial grant (Grant, of kind PARTIAL) for a trickle that came behind its job's end.
// Appends to `out`.
void EncodeLateTrickle(std::string_view grant, std::string* out);
// Fields ascend, and a claim has its project first.
[[nodiscard]] inline bool IsLateTrickle(std::string_view bytes) { return bytes.starts_with("\xd2\x02"); }
// The grant's bytes, within those of a late trickle; empty where they are none.
[[nodiscard]] std::string_view LateTrickleOf(std::string_view bytes);

}  // namespace cobblestone::wire
