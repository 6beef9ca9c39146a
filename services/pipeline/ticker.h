// Decides which ticks are due: by incoming events (`ticks: input`) or by this machine's clock (`ticks: wall`). The
// caller appends the ticks. All times UNIX s.
//
// Each project has its own time. With `ticks: input` an event advances the time of its project only; `ticks: wall`,
// and a tick of project 0, advance the time of all projects.
//
// Invariant: ticks of one project ascend and are multiples of the scale period. A gap gives one tick, because no
// event lies in it. An event that is not well-formed, or whose time is later than `now` by more than the limit,
// advances nothing. Threads: one at a time.
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

namespace cobblestone::pipeline {

struct TickerOptions {
  double last = 0;          // last tick of all projects; 0: none
  double future_limit = 0;  // s by which an event's time may exceed its arrival time
  // The operator confirms the clock: its first reading may be any time ahead.
  bool accept_jump = false;
  // Last tick of a project, as kept by an earlier Ticker; 0: none. Empty: nothing was kept.
  std::function<double(ProjectId)> last_of{};
};

class Ticker {
 public:
  explicit Ticker(TickerOptions options);

  // `ticks: input`: the time of the tick of `project` that is due before this event, which arrives at `now`; none: no
  // tick is due. The first event of a project only sets the project's last tick.
  std::optional<double> OnEvent(ProjectId project, std::string_view envelope, double now);

  // A tick that a source sent, arriving at `now`: generated ticks continue after it.
  void OnTick(std::string_view envelope, double now);

  struct Look {
    std::optional<double> tick;  // due now
    // For the operator, once: event time has stopped, or advances again; else empty.
    std::string warning;
  };
  // `ticks: wall`: the clock reads `now`. A clock that differs from the last tick by more than a day is not trusted:
  // a wrong clock would expire everything that waits.
  Look OnClock(double now);

  // Changes since the last Keep() or Drop(): each project (0: all projects) with its last tick.
  [[nodiscard]] std::map<ProjectId, double> Changes() const;
  // The ticks are appended. Returns Changes().
  std::map<ProjectId, double> Keep();
  // Undoes the changes since the last Keep() or Drop(): the ticks were not appended.
  void Drop();

 private:
  double LastOf(ProjectId project) const;
  void Move(ProjectId project, double time);

  TickerOptions options_;
  std::unordered_map<std::uint32_t, double> last_;  // by project; 0: all projects
  // Changed projects, with their last tick before the change.
  std::vector<std::pair<ProjectId, double>> before_;
  bool looked_ = false;
  bool held_ = false;
};

}  // namespace cobblestone::pipeline
