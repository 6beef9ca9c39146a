// credit::Claim <-> bytes of schemas/internal.proto, Claim. Hand-written, because a claim is written once and
// read several times for each result. The bytes equal those of generated code.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/credit/model/model.h"

namespace cobblestone::wire {

// Upper limit of the size of a claim without paid trickles.
inline constexpr std::size_t kMaxClaimSize = 512;

// Appends to `out`.
void EncodeClaim(const credit::Claim& claim, std::string* out);

// False if the bytes are not a Claim; *claim is then meaningless. Does not allocate for a claim without paid
// trickles.
[[nodiscard]] bool DecodeClaim(std::string_view bytes, credit::Claim* claim);

// A late trickle: a partial grant (Grant, kind PARTIAL) for a trickle that arrived after the end of its job.
// It is sent in order with the claims but is not a claim. Appends to `out`.
void EncodeLateTrickle(std::string_view grant, std::string* out);
// Fields ascend, and a claim starts with its project.
[[nodiscard]] inline bool IsLateTrickle(std::string_view bytes) { return bytes.starts_with("\xd2\x02"); }
// The grant's bytes within those of a late trickle; empty if the bytes are not a late trickle.
[[nodiscard]] std::string_view LateTrickleOf(std::string_view bytes);

}  // namespace cobblestone::wire
