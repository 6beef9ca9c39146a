// When the sender asks the hub again. Pure.
#pragma once

#include <cstdint>

namespace cobblestone::hub {

// What the hub has asked for with an answer of status 429 or 503 (Retry-After).
struct AskedPause {
  int status = 0;  // 0: nothing
  double seconds = 0;
};

// s from the end of a round to the next one. After a success the interval. After failures 5 s, doubled by each, at most
// the interval, but no sooner than a busy hub (503) has asked for. A hub that enforces a quota (429) knows when there is
// room again, so the wait is what it says. At most an hour is granted.
double PushWait(std::uint64_t failures_in_a_row, const AskedPause& asked, double interval);

}  // namespace cobblestone::hub
