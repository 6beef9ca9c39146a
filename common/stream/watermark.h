// Watermark (see watermarks.h), and the progress that a partition of a stage reports to the stages
// downstream.
#pragma once

#include <cstdint>

#include "common/base/ids.h"

namespace cobblestone::stream {

// A point in the data of all partitions at once.
struct Watermark {
  std::uint64_t number = 0;   // of the control record that announces the watermark; ascending, with gaps
  ProjectId project;          // whose event time advances; 0: every project's
  double time = 0;            // UNIX s; 0: none, the watermark is only a barrier
  std::uint64_t barrier = 0;  // id of the barrier's event; 0: none, the watermark is a tick
  // The barrier ends a lockstep period: records since the last such barrier are sorted and applied.
  bool ends_period = false;

  friend bool operator==(const Watermark&, const Watermark&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.number, s.project, s.time, s.barrier, s.ends_period);
  }
};

struct Passed {
  std::uint32_t source = 0;     // the partition that reports
  std::uint64_t watermark = 0;  // all records before this watermark are processed; 0: no watermark
  // Records after this `Passed` may depend on this control record; 0: no such dependency.
  std::uint64_t control = 0;
  // Records that partitions of this stage and of the stages upstream have sent to other partitions of their
  // own stage since the last barrier, and that may still be in flight.
  std::uint64_t moved = 0;

  friend bool operator==(const Passed&, const Passed&) = default;
};

}  // namespace cobblestone::stream
