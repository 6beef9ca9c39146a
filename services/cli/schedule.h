// When something is done again and again: each day at a time, or once in a while.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone {

class Schedule {
 public:
  // "03:30": each day at that time, UTC. "24h", "30m", "90s", "2d": at once, and then so long after each beginning.
  static Result<Schedule> Parse(std::string_view text);

  // The first time at `now` or later, UNIX s; `last` is the beginning of the time before, none: there was none (-1).
  [[nodiscard]] std::int64_t Next(std::int64_t now, std::int64_t last) const;
  // The same after what did not work and may work soon: in a minute, where that is earlier.
  [[nodiscard]] std::int64_t NextTry(std::int64_t now, std::int64_t last) const;

 private:
  static constexpr std::int64_t kDay = 86400;

  std::int64_t of_day_ = -1;  // s; -1: not by the day
  std::int64_t period_ = kDay;
};

}  // namespace cobblestone
