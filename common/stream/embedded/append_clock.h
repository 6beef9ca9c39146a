// The clock for append times. The time is that of the wall clock, but it never goes back, in this life of the
// log or across restarts, and it advances at least as fast as the steady clock. Records keep their
// append time forever; the check against future event times and the retention of inputs depend on it. With a
// wall clock that is set back (an empty battery gives 1970), valid events would be refused, and their records
// would be trimmed as soon as the clock is correct again.
//
// If the wall clock was ahead and is then corrected, append times stay ahead until the wall clock catches up.
// During this time the check admits later event times and inputs are kept longer (their limit in bytes still
// holds); nothing is refused or trimmed wrongly. The time that a machine was off before a start with a wrong
// clock is unknown and therefore missing.
//
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

namespace cobblestone::stream::embedded {

class AppendClock {
 public:
  // `wall`: UNIX s. `steady`: s from any origin, never goes back. `last`: the newest append time in the log;
  // 0: none, or not to be trusted.
  AppendClock(std::function<double()> wall, std::function<double()> steady, double last)
      : wall_(std::move(wall)), steady_(std::move(steady)), last_(last), last_steady_(steady_()) {}

  // UNIX s; never less than before.
  double Now() {
    const double steady = steady_();  // first: a pause between the two reads counts twice, not zero times
    const double wall = wall_();
    last_ = std::max(wall, last_ + std::max(0.0, steady - last_steady_));
    last_steady_ = steady;
    return last_;
  }

 private:
  std::function<double()> wall_;
  std::function<double()> steady_;
  double last_;
  double last_steady_;
};

}  // namespace cobblestone::stream::embedded
