// Credit that a host earns by its messages while the work runs, from run time and its own benchmark (golden
// README, item 29; scenario s13): BOINC's handler, message by message. What a project pays goes by rules that
// know a result's mark and its bounds (trickle_policy.h). Pure.
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

// Speeds that stand in for or limit what a host says of itself. FLOP/s.
struct TypicalSpeeds {
  double median = 0;
  double percentile_95 = 0;

  friend bool operator==(const TypicalSpeeds&, const TypicalSpeeds&) = default;
};

inline constexpr double kTypicalHostRecentAverage = 10;     // hosts above it count
inline constexpr double kTrickleWorkSpan = kSecondsPerDay;  // the work of a message began that long before it

// Percentile p is element floor(n x p / 100), from 0, of the ascending speeds. No host that counts: absent.
[[nodiscard]] std::optional<TypicalSpeeds> TypicalSpeedsOf(std::span<const HostSpeed> hosts);

// Run time as a message spells it: a number after optional blanks, whatever follows it. Absent: no number, or
// not above 0 (BOINC answers -112). "nan" passes, as in BOINC: TrickleCredit is then NaN, which no account
// takes.
[[nodiscard]] std::optional<double> ParseRunTime(std::string_view text);

// The speed at which a host's run time counts: below 0 the median; above the 95th percentile that. FLOP/s.
[[nodiscard]] double LimitedSpeed(double host_speed, const TypicalSpeeds& typical);

struct TrickleFacts {
  double run_time = 0;      // s since the last message
  double max_run_time = 0;  // s; a longer one is cut
  double host_speed = 0;    // FLOP/s
  TypicalSpeeds typical;
};

// Cobblestones.
[[nodiscard]] double TrickleCredit(const TrickleFacts& trickle, const Constants& constants);

}  // namespace cobblestone::credit
