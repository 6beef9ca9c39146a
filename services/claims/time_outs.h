// A result that has timed out on its host.
//
// A time-out does not end the result: the host may still return it, and then it is claimed like any other result. It is late
// only if the validator says so or the workunit is decided (docs/rules.md, section 28). The time-out stays in the host's
// statistics. It is remembered (state.h, Seen) so that a repeat is known, one for each time that the result was sent to the
// host.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "common/base/ids.h"
#include "common/stream/hash128.h"
#include "services/claims/state.h"

namespace cobblestone::claims {

// A SeenFlag: Seen::result is the key of a time-out, not a decided result.
inline constexpr std::uint8_t kSeenTimeOut = 8;

// True: a row of Seen for a result that was decided or has failed. False: an error without a result, or a
// time-out.
[[nodiscard]] inline bool EndsResult(const Seen& seen) { return (seen.flags & kSeenCompletion) != 0; }

// The key of the result's sending at that time (UNIX s; 0 if the project sends no times).
[[nodiscard]] inline std::uint64_t TimeOutKey(ResultId result, double sent_time) {
  struct {
    std::uint64_t result;
    std::uint64_t sent_time;
  } const key{result.value, std::bit_cast<std::uint64_t>(sent_time)};
  return stream::HashBytes({reinterpret_cast<const char*>(&key), sizeof key}).low;
}

}  // namespace cobblestone::claims
