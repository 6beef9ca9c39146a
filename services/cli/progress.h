// How far a long command has come, on standard error: a bar that moves on a terminal, a line every few
// seconds elsewhere (a log, a pipe). Nothing at all when the work is done within a moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cobblestone {

// One moment of the work.
struct ProgressPoint {
  std::uint64_t done = 0;     // of `all`, in any unit (bytes, records)
  std::uint64_t all = 0;      // 0: not known
  std::uint64_t counted = 0;  // what the rate is of
};

// What is shown of a point after `elapsed` seconds, on a bar of `width` characters (0: none).
//   "1,234,567 events  [#####.....]  50 %  210,000/s  1:05 left"
std::string ProgressText(const ProgressPoint& point, double elapsed, const std::string& unit, int width);

// "1,234,567"
std::string WithCommas(std::uint64_t number);

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // `quiet`: shows nothing. `unit`: of what is counted, in the plural.
  Progress(std::string unit, bool quiet, std::FILE* out = stderr);
  ~Progress() { Finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap: looks at the clock and mostly returns.
  void Show(const ProgressPoint& point);
  // Takes the bar away; what is printed next stands on a line of its own.
  void Finish();

 private:
  std::string unit_;
  bool quiet_;
  std::FILE* out_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
  std::size_t shown_ = 0;  // characters of the bar that stands there
};

}  // namespace cobblestone
