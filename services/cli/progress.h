// Progress of a long command, on standard error: a moving bar on a terminal, a line every few seconds elsewhere (a
// log, a pipe). No output if the work is finished within a moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cobblestone::cli {

// State of the work at one moment.
struct ProgressPoint {
  std::uint64_t done = 0;     // of `all`, in any unit (bytes, records)
  std::uint64_t all = 0;      // 0: unknown
  std::uint64_t counted = 0;  // count for the rate
};

// Text for a point after `elapsed` seconds, with a bar of `width` characters (0: none).
//   "1,234,567 events  [#####.....]  50 %  210,000/s  1:05 left"
std::string ProgressText(const ProgressPoint& point, double elapsed, const std::string& unit, int width);

// "1,234,567"
std::string WithCommas(std::uint64_t number);

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // `quiet`: no output. `unit`: of `counted`, in the plural.
  Progress(std::string unit, bool quiet, std::FILE* out = stderr);
  ~Progress() { Finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  [[nodiscard]] const std::string& unit() const { return unit_; }
  // Cheap: usually only reads the clock.
  void Show(const ProgressPoint& point);
  // Removes the bar, so that later output begins on a new line.
  void Finish();

 private:
  std::string unit_;
  bool quiet_;
  std::FILE* out_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
  std::size_t shown_ = 0;  // length of the visible bar
};

}  // namespace cobblestone::cli
