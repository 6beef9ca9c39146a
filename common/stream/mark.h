// What a mark is (marks.h), and what one partition of a stage tells those behind it of how far it has come.
#pragma once

#include <cstdint>

#include "common/base/ids.h"

namespace cobblestone::stream {

// A place in the data of all partitions at once.
struct Mark {
  std::uint64_t number = 0;   // of the record of control that announces it: ascends, with gaps
  ProjectId project;          // whose time it moves; 0: every project's
  double time = 0;            // UNIX s; 0: none, it is a barrier alone
  std::uint64_t barrier = 0;  // what the barrier is called
  bool ends_period = false;   // the barrier's: what has come since the last such is applied, sorted

  friend bool operator==(const Mark&, const Mark&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.number, s.project, s.time, s.barrier, s.ends_period);
  }
};

struct Passed {
  std::uint32_t source = 0;  // the partition that says so
  std::uint64_t mark = 0;    // all that came before it has been processed; 0: it tells of no mark
  // What comes from here on may rest on this record of control; 0: tells nothing of that.
  std::uint64_t control = 0;
  // What partitions of its stage, and of those before it, have sent to others of their own since the barrier before, which may still
  // be on its way.
  std::uint64_t moved = 0;

  friend bool operator==(const Passed&, const Passed&) = default;
};

}  // namespace cobblestone::stream
