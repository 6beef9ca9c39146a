#include "services/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
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

namespace {

// None: it is unknown, or too long to be shown.
std::optional<double> SecondsLeft(const ProgressPoint& point, double elapsed) {
  if (elapsed <= 0 || point.done == 0 || point.all <= point.done) return std::nullopt;
  const double left = elapsed * (static_cast<double>(point.all) / static_cast<double>(point.done) - 1);
  return left < kLongestTimeLeft ? std::optional(left) : std::nullopt;
}

std::string Megabytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

}  // namespace

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
    if (point.bytes) text += " of " + Megabytes(point.all);
  } else if (point.bytes) {
    text += "  " + Megabytes(point.done);
  }
  if (elapsed > 0)
    text +=
        "  " + WithCommas(static_cast<std::uint64_t>(static_cast<double>(point.counted) / elapsed)) + "/s";
  if (point.refused > 0) text += "  " + WithCommas(point.refused) + " refused";
  if (const auto left = SecondsLeft(point, elapsed)) text += "  " + TimeText(*left) + " left";
  return text;
}

std::string ProgressJson(const ProgressPoint& point, double elapsed, const std::string& unit) {
  using nlohmann::ordered_json;
  ordered_json line = {{unit, point.counted}};
  const std::string done = point.bytes ? "bytes" : "done";
  line[done] = point.done;
  line[done + "_all"] = point.all > 0 ? ordered_json(point.all) : ordered_json();
  line["refused"] = point.refused;
  line["seconds"] = std::round(elapsed * 10) / 10;
  const auto left = SecondsLeft(point, elapsed);
  line["seconds_left"] = left ? ordered_json(std::round(*left * 10) / 10) : ordered_json();
  return line.dump();
}

Progress::Progress(std::string unit, Form form, std::FILE* out)
    : unit_(std::move(unit)),
      form_(form),
      out_(out),
      terminal_(form == Form::kText && ::isatty(::fileno(out)) == 1) {
  next_ = start_ + (terminal_ ? Clock::duration(kBarStep) : Clock::duration(kLineStep));
}

void Progress::Show(const ProgressPoint& point) {
  if (!due()) return;
  const auto now = Clock::now();
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
    const std::string text =
        form_ == Form::kJson ? ProgressJson(point, elapsed, unit_) : ProgressText(point, elapsed, unit_, 0);
    std::fprintf(out_, "%s\n", text.c_str());
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
