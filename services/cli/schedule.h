// A schedule of repeated work: daily at a time, or at an interval.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/status.h"
#include "services/cli/stop_signals.h"

namespace cobblestone::cli {

class Schedule {
 public:
  // "03:30": daily at that time, UTC. "24h", "30m", "90s", "2d": at once, then at that interval from start to start.
  static Result<Schedule> Parse(std::string_view text);

  // The first time at or after `now`, UNIX s. `last`: start of the previous run; -1: none.
  [[nodiscard]] std::int64_t Next(std::int64_t now, std::int64_t last) const;
  // The same after a failure that may be temporary: in a minute, if that is earlier.
  [[nodiscard]] std::int64_t NextTry(std::int64_t now, std::int64_t last) const;

 private:
  static constexpr std::int64_t kDay = 86400;

  std::int64_t of_day_ = -1;  // s; -1: not a daily schedule
  std::int64_t period_ = kDay;
};

// Waits for the next time of the schedule. `last`: start of the previous run; -1: none. `retry`: that run failed for a
// reason that may be temporary. Nothing: a stop signal arrived.
std::optional<std::int64_t> AwaitNext(const Schedule& schedule, std::int64_t last, bool retry,
                                      const StopSignals& signals);

}  // namespace cobblestone::cli
