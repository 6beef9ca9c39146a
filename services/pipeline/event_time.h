// The time of an event, and the ticks that are made of it. An event moves the time of its own project and of no other, and only
// when it is well-formed: what a stage would refuse by itself moves no time.
//
// The clock-free half of `ticks: input`: what was sent from the future is for the caller to leave out, who knows when it came.
// Threads: functions any; a TickMaker one at a time.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/ids.h"

namespace cobblestone {

// What CheckEvent lets through. Decodes the whole event: ask only when its time would move something.
bool IsWellFormed(std::string_view envelope);

// The tick's event. Project 0: a tick of every project.
std::string EncodeTick(ProjectId project, double time);

// Ticks of a file that has none, at multiples of the period, for each project before its first event that lies behind it. The
// first event of a project makes none. A gap of more than a day is one step, so that one event far ahead of all others makes
// one tick. A function of the sequence of events alone.
class TickMaker {
 public:
  explicit TickMaker(double period) : period_(period) {}

  // Calls `tick` with the bytes of each tick that goes before this event.
  template <class F>
  void Observe(std::string_view envelope, F&& tick) {
    const Due due = DueBefore(envelope);
    if (!due.next) return;
    double& next = *due.next;
    while (due.time >= next) {
      next = StepTo(due.time, next);
      tick(EncodeTick(due.project, next));
      next += period_;
    }
  }

 private:
  struct Due {
    ProjectId project;
    double time = 0;
    double* next = nullptr;  // null: no tick is due
  };
  Due DueBefore(std::string_view envelope);
  [[nodiscard]] double StepTo(double time, double next) const;

  double period_;                                    // s of event time
  std::unordered_map<std::uint32_t, double> nexts_;  // by project: the next tick, UNIX s
};

}  // namespace cobblestone
