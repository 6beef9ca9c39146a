// When time moves: which ticks are due, by the events that come in (`ticks: input`) or by this machine's clock (`ticks:
// wall`). Only decides; who asks appends the ticks. All times UNIX s.
//
// Invariant: ticks ascend and lie at multiples of the scale period. A gap is one tick: what lay between had nothing to
// say. Whatever says that it is later than now by more than the limit moves nothing.
// Threads: one at a time.
#pragma once

#include <optional>
#include <string>

namespace cobblestone {

struct TickerOptions {
  double last = 0;          // the last tick; 0: there was none
  double future_limit = 0;  // s: an event may be so much later than the time at which it came in
  bool accept_jump =
      false;  // the operator says that the clock is right: its first look may be any time ahead
};

class Ticker {
 public:
  explicit Ticker(const TickerOptions& options) : options_(options), last_(options.last) {}

  // `ticks: input`: the tick that goes before an event of this time that comes in at `now`, if one is due. The first
  // event only sets the mark.
  std::optional<double> OnEvent(double time, double now);

  // A tick that a source sent by itself at `now`: ticks of ours go on behind it.
  void OnTick(double time, double now);

  struct Look {
    std::optional<double> tick;  // is due
    std::string warning;  // for the operator, told once: time stands still, or goes on again; else empty
  };
  // `ticks: wall`: the clock says `now`. A clock that is more than a day away from the last tick is not believed: a
  // wrong one would expire everything that waits.
  Look OnClock(double now);

  [[nodiscard]] double last() const { return last_; }

 private:
  TickerOptions options_;
  double last_;
  bool looked_ = false;
  bool held_ = false;
};

}  // namespace cobblestone
