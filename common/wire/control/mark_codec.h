// How far a partition of a stage has come, as the stage behind it is told (schemas/internal.proto, Passed), in line with
// its records: in a Claim, Grant or Posting that is nothing else. By hand, and told from a record by its first bytes,
// because each record is looked at for it. And what TEAMS tells of it to all the world (MarkPassed).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/stream/mark.h"

namespace cobblestone::wire {

using stream::Passed;

// Where it stands: the field's number.
enum class PassedIn : std::uint32_t { kClaim = 39, kGrant = 20, kPosting = 12 };

// Appends to `out`; that of a grant is of kind kMark.
void EncodePassed(PassedIn place, const Passed& passed, std::string* out);
// False where the bytes are no such message, or hold no Passed.
[[nodiscard]] bool DecodePassed(PassedIn place, std::string_view bytes, Passed* passed);

// Fields ascend, and a claim or posting has its project first.
[[nodiscard]] inline bool IsPassedClaim(std::string_view bytes) { return bytes.starts_with("\xba\x02"); }
[[nodiscard]] inline bool IsPassedPosting(std::string_view bytes) { return bytes.starts_with('\x62'); }

struct MarkPassed {
  std::uint64_t number = 0;
  std::uint64_t barrier = 0;  // id of the barrier's event; 0: a tick
  std::uint32_t partition = 0;
  std::uint64_t moved = 0;  // not 0: accounts of hosts, or shares of them, may still be on their way

  friend bool operator==(const MarkPassed&, const MarkPassed&) = default;
};

void EncodeMarkPassed(const MarkPassed& passed, std::string* out);
[[nodiscard]] bool DecodeMarkPassed(std::string_view bytes, MarkPassed* passed);

}  // namespace cobblestone::wire
