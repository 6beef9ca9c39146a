// BOINC's trickle handler: credit for each message of a running job, from run time and the host's benchmark
// (golden README, item 29; scenario s13). Projects pay by the rules of trickle_policy.h instead, with a
// high-water mark and bounds for each result. Pure.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "common/credit/model/constants.h"

namespace cobblestone::credit {

struct HostSpeed {
  double speed = 0;           // benchmark, FLOP/s
  double recent_average = 0;  // Cobblestones per day, as stored (not decayed)
};

// Speeds that replace a host's benchmark below 0 or limit a host's benchmark. FLOP/s.
struct TypicalSpeeds {
  double median = 0;
  double percentile_95 = 0;

  friend bool operator==(const TypicalSpeeds&, const TypicalSpeeds&) = default;
};

inline constexpr double kTypicalHostRecentAverage = 10;     // only hosts above this count
inline constexpr double kTrickleWorkSpan = kSecondsPerDay;  // from start of work to message, s

// Percentile p is element floor(n x p / 100), from 0, of the ascending speeds. Absent: no host counts.
[[nodiscard]] std::optional<TypicalSpeeds> TypicalSpeedsOf(std::span<const HostSpeed> hosts);

// Parses a message's run time: a number after optional blanks; text after the number is ignored. Absent: no
// number, or a number not above 0 (BOINC answers -112). "nan" passes, as in BOINC: TrickleCredit is then NaN,
// which no account accepts.
[[nodiscard]] std::optional<double> ParseRunTime(std::string_view text);

// The speed for a host's run time, FLOP/s: the median if `host_speed` is below 0; at most the 95th percentile.
[[nodiscard]] double LimitedSpeed(double host_speed, const TypicalSpeeds& typical);

struct TrickleFacts {
  double run_time = 0;      // s since the last message
  double max_run_time = 0;  // s; a longer run time is cut to this
  double host_speed = 0;    // FLOP/s
  TypicalSpeeds typical;
};

// Cobblestones.
[[nodiscard]] double TrickleCredit(const TrickleFacts& trickle, const Constants& constants);

}  // namespace cobblestone::credit
