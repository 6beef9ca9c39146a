// Watermark progress. `Passed` is the progress that a partition of a stage reports to the next stage
// (schemas/internal.proto, Passed), in order with its records: a Claim, Grant or Posting that contains
// nothing else. The codec is hand-written, and the first bytes identify a `Passed`, because every record is
// checked for it. `WatermarkPassed` is the progress that TEAMS publishes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/stream/watermark.h"

namespace cobblestone::wire {

using stream::Passed;

// The message that contains it: the field's number.
enum class PassedIn : std::uint32_t { kClaim = 39, kGrant = 20, kPosting = 12 };

// Appends to `out`; in a grant, the grant has kind kWatermark.
void EncodePassed(PassedIn place, const Passed& passed, std::string* out);
// False if the bytes are not such a message or contain no Passed.
[[nodiscard]] bool DecodePassed(PassedIn place, std::string_view bytes, Passed* passed);

// Fields ascend, and every claim and posting starts with its project.
[[nodiscard]] inline bool IsPassedClaim(std::string_view bytes) { return bytes.starts_with("\xba\x02"); }
[[nodiscard]] inline bool IsPassedPosting(std::string_view bytes) { return bytes.starts_with('\x62'); }

struct WatermarkPassed {
  std::uint64_t number = 0;
  std::uint64_t barrier = 0;  // id of the barrier's event; 0: a tick
  std::uint32_t partition = 0;
  std::uint64_t moved = 0;  // lockstep: not 0: accounts, results or shares of hosts may still be in flight

  friend bool operator==(const WatermarkPassed&, const WatermarkPassed&) = default;
};

void EncodeWatermarkPassed(const WatermarkPassed& passed, std::string* out);
[[nodiscard]] bool DecodeWatermarkPassed(std::string_view bytes, WatermarkPassed* passed);

}  // namespace cobblestone::wire
