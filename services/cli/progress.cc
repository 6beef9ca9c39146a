#include "services/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace cobblestone::cli {
namespace {

constexpr auto kBarStep = std::chrono::milliseconds(200);
constexpr auto kLineStep = std::chrono::seconds(5);
constexpr int kBarWidth = 24;
// A longer remaining time is not shown.
constexpr double kLongestTimeLeft = 99 * 3600.0;

std::string TimeText(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  char text[32];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  }
  return text;
}

}  // namespace

std::string WithCommas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string ProgressText(const ProgressPoint& point, double elapsed, const std::string& unit, int width) {
  std::string text = WithCommas(point.counted) + " " + unit;
  if (point.all > 0) {
    const double part =
        std::clamp(static_cast<double>(point.done) / static_cast<double>(point.all), 0.0, 1.0);
    if (width > 0) {
      const int full = static_cast<int>(part * width);
      text += "  [" + std::string(static_cast<std::size_t>(full), '#') +
              std::string(static_cast<std::size_t>(width - full), '.') + "]";
    }
    char percent[16];
    std::snprintf(percent, sizeof percent, "  %3d %%", static_cast<int>(part * 100));
    text += percent;
  }
  if (elapsed > 0) {
    text +=
        "  " + WithCommas(static_cast<std::uint64_t>(static_cast<double>(point.counted) / elapsed)) + "/s";
    if (point.all > point.done && point.done > 0) {
      const double left = elapsed * (static_cast<double>(point.all) / static_cast<double>(point.done) - 1);
      if (left < kLongestTimeLeft) text += "  " + TimeText(left) + " left";
    }
  }
  return text;
}

Progress::Progress(std::string unit, bool quiet, std::FILE* out)
    : unit_(std::move(unit)), quiet_(quiet), out_(out), terminal_(::isatty(::fileno(out)) == 1) {
  next_ = start_ + (terminal_ ? Clock::duration(kBarStep) : Clock::duration(kLineStep));
}

void Progress::Show(const ProgressPoint& point) {
  if (quiet_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  if (terminal_) {
    next_ = now + kBarStep;
    std::string text = ProgressText(point, elapsed, unit_, kBarWidth);
    const std::size_t length = text.size();
    if (length < shown_) text.append(shown_ - length, ' ');
    std::fprintf(out_, "\r%s", text.c_str());
    shown_ = length;
  } else {
    next_ = now + kLineStep;
    std::fprintf(out_, "%s\n", ProgressText(point, elapsed, unit_, 0).c_str());
  }
  std::fflush(out_);
}

void Progress::Finish() {
  if (shown_ == 0) return;
  std::fprintf(out_, "\r%s\r", std::string(shown_, ' ').c_str());
  std::fflush(out_);
  shown_ = 0;
}

}  // namespace cobblestone::cli
