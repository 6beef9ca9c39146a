// When something was appended: the wall clock's time, but never earlier than what was told before, in this life of the
// log or in an earlier one, and what the steady clock says has gone by since. Records keep the time for ever: "from the
// future" is measured by it, and how long inputs are kept. A wall clock that was set back (a flat battery says 1970)
// would have true events refused, and its records trimmed as soon as it is right again.
//
// A wall clock that was ahead for a while and is put right leaves append times ahead of it until it comes by: then more
// is let in and inputs are kept for longer (their limit in bytes still holds); nothing is refused or trimmed that must
// not be. How long the machine was off before a start with a wrong clock nobody can say: that much is missing then.
//
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

namespace cobblestone::stream::embedded {

class AppendClock {
 public:
  // `wall`: UNIX s. `steady`: s since anything, never goes back. `last`: the newest append time that the log holds; 0:
  // none, or not to be believed.
  AppendClock(std::function<double()> wall, std::function<double()> steady, double last)
      : wall_(std::move(wall)), steady_(std::move(steady)), last_(last), last_steady_(steady_()) {}

  // UNIX s; never less than before.
  double Now() {
    const double steady = steady_();  // first: a halt between the two counts twice rather than not at all
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
