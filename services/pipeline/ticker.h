// When time moves: which ticks are due, by the events that come in (`ticks: input`) or by this machine's clock (`ticks:
// wall`). Only decides; who asks appends the ticks. All times UNIX s.
//
// Each project has a time of its own. With `ticks: input` an event moves the time of its project and of no other; with
// `ticks: wall`, and by a tick of project 0, the time of all projects moves.
//
// Invariant: ticks of one project ascend and lie at multiples of the scale period. A gap is one tick: what lay between had
// nothing to say. What is no well-formed event, or is dated later than now by more than the limit, moves nothing.
// Threads: one at a time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/ids.h"

namespace cobblestone {

struct TickerOptions {
  double last = 0;          // the last tick of all projects; 0: there was none
  double future_limit = 0;  // s: an event may be so much later than the time at which it came in
  bool accept_jump =
      false;  // the operator says that the clock is right: its first look may be any time ahead
  // The last tick of a project that an earlier Ticker has kept; 0: there was none. Empty: nothing was kept.
  std::function<double(ProjectId)> last_of{};
};

class Ticker {
 public:
  explicit Ticker(TickerOptions options);

  // `ticks: input`: the time of the tick of `project` that goes before this event, which comes in at `now`, if one is due.
  // The first event of a project only sets its mark.
  std::optional<double> OnEvent(ProjectId project, std::string_view envelope, double now);

  // A tick that a source sent by itself at `now`: ticks of ours go on behind it.
  void OnTick(std::string_view envelope, double now);

  struct Look {
    std::optional<double> tick;  // is due
    std::string warning;  // for the operator, told once: time stands still, or goes on again; else empty
  };
  // `ticks: wall`: the clock says `now`. A clock that is more than a day away from the last tick is not believed: a
  // wrong one would expire everything that waits.
  Look OnClock(double now);

  // What has moved since the last Keep() or Drop(): each project, 0 for all of them, with its last tick. Call it when the
  // ticks are appended.
  std::map<ProjectId, double> Keep();
  // Takes back what has moved since the last Keep() or Drop(): the ticks were not appended.
  void Drop();

 private:
  double LastOf(ProjectId project) const;
  void Move(ProjectId project, double time);

  TickerOptions options_;
  std::unordered_map<std::uint32_t, double> last_;    // by project; 0: of all
  std::vector<std::pair<ProjectId, double>> before_;  // what moved, and its last tick before
  bool looked_ = false;
  bool held_ = false;
};

}  // namespace cobblestone
