// Facts for IDENTITY of a federation hub (schemas/internal.proto, IdentityFact), hand-written codec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/wire/events/feeds.h"

namespace cobblestone::wire {

// Frozen numbers.
enum class IdentityFactKind : std::uint8_t {
  kUnknown = 0,
  kProject = 1,
  kSighting = 2,
  kDecision = 3,
  kOwnership = 4,
  kDeparture = 5,
  kDeletion = 6,
};

struct IdentityFact {
  IdentityFactKind kind = IdentityFactKind::kUnknown;
  ProjectId project;
  std::uint64_t user = 0;
  std::uint64_t create_time = 0;  // UNIX s
  std::uint64_t cpid_high = 0;
  std::uint64_t cpid_low = 0;
  std::uint32_t day = 0;  // UNIX day
  IdentityDecisionKind decision = IdentityDecisionKind::kUnknown;
  ProjectId other_project;
  std::uint64_t other_user = 0;
  std::uint64_t other_create_time = 0;
  std::uint64_t number = 0;
  bool withdrawn = false;

  friend bool operator==(const IdentityFact&, const IdentityFact&) = default;
};

// Appends the message's bytes to `out`.
void EncodeIdentityFact(const IdentityFact& fact, std::string* out);
// False if the bytes are not such a message.
[[nodiscard]] bool DecodeIdentityFact(std::string_view bytes, IdentityFact* fact);

}  // namespace cobblestone::wire
