// Progress of a long command, on standard error: a moving bar on a terminal, a line every few seconds elsewhere (a
// log, a pipe). No output if the work is finished within a moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace cobblestone::cli {

// State of the work at one moment.
struct ProgressPoint {
  std::uint64_t done = 0;     // of `all`, in any unit (bytes, records)
  std::uint64_t all = 0;      // 0: unknown
  std::uint64_t counted = 0;  // count for the rate
  bool bytes = false;         // `done` and `all` are bytes, which are shown
  std::uint64_t refused = 0;  // shown if it is not 0
};

// Text for a point after `elapsed` seconds, with a bar of `width` characters (0: none).
//   "1,234,567 events  [#####.....]  50 % of 512.0 MB  210,000/s  12 refused  1:05 left"
std::string ProgressText(const ProgressPoint& point, double elapsed, const std::string& unit, int width);
// The same for programs, as one line of JSON: {"events": 1234567, "bytes": 256000000, "bytes_all": 512000000,
// "refused": 12, "seconds": 5.9, "seconds_left": 65.0}. What is unknown is null.
std::string ProgressJson(const ProgressPoint& point, double elapsed, const std::string& unit);

// "1,234,567"
std::string WithCommas(std::uint64_t number);

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Form { kText, kJson, kNone };
  // `quiet`: no output. `unit`: of `counted`, in the plural.
  Progress(std::string unit, bool quiet, std::FILE* out = stderr)
      : Progress(std::move(unit), quiet ? Form::kNone : Form::kText, out) {}
  // kJson: a line of ProgressJson() every few seconds, on a terminal too.
  Progress(std::string unit, Form form, std::FILE* out = stderr);
  ~Progress() { Finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  [[nodiscard]] const std::string& unit() const { return unit_; }
  // Whether Show() would print now. Cheap: reads the clock.
  [[nodiscard]] bool due() const { return form_ != Form::kNone && Clock::now() >= next_; }
  // Cheap: usually only reads the clock.
  void Show(const ProgressPoint& point);
  // Removes the bar, so that later output begins on a new line.
  void Finish();

 private:
  std::string unit_;
  Form form_;
  std::FILE* out_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
  std::size_t shown_ = 0;  // length of the visible bar
};

}  // namespace cobblestone::cli
