// Event time, and the ticks that are generated from it. An event advances the time of its own project only, and only
// if the event is well-formed: an event that a stage would refuse by itself advances no time.
//
// This part of `ticks: input` reads no clock: the caller knows the arrival times and omits events from the future.
// Threads: functions any; a TickMaker one at a time.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/ids.h"

namespace cobblestone::pipeline {

// True if CheckEvent accepts the event. Decodes the whole event: call it only if the event's time would advance
// something.
bool IsWellFormed(std::string_view envelope);

// An encoded tick event. Project 0: a tick of every project.
std::string EncodeTick(ProjectId project, double time);

// Generates the ticks of a file without ticks: at multiples of the period, per project, each before the
// project's first event at or after the tick's time. The first event of a project gives no tick. A gap of more
// than a day is one step, so that one event far ahead of all others gives one tick. Depends on the sequence of
// events only.
class TickMaker {
 public:
  explicit TickMaker(double period) : period_(period) {}

  // Calls `tick` with the bytes of each tick that precedes this event.
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

}  // namespace cobblestone::pipeline
