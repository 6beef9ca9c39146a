#include "services/cobblestone/ticker.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <utility>

#include "common/credit/constants.h"

namespace cobblestone {
namespace {

double MarkBefore(double time) {
  return std::floor(time / credit::kDefaultScalePeriod) * credit::kDefaultScalePeriod;
}

// "2026-11-21 19:00:00 UTC"
std::string Date(double time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm parts{};
  char text[40];
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
    return std::to_string(time) + " s after 1970";
  return text;
}

std::string Days(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f days", seconds / credit::kSecondsPerDay);
  return text;
}

}  // namespace

std::optional<double> Ticker::OnEvent(double time, double now) {
  if (!(time > 0) || time > now + options_.future_limit) return std::nullopt;
  const double mark = MarkBefore(time);
  if (mark <= last_) return std::nullopt;
  const bool first = last_ == 0;
  last_ = mark;
  if (first) return std::nullopt;
  return mark;
}

void Ticker::OnTick(double time, double now) {
  if (time <= now + options_.future_limit) last_ = std::max(last_, time);
}

Ticker::Look Ticker::OnClock(double now) {
  const bool accept = options_.accept_jump && !std::exchange(looked_, true);
  const double mark = MarkBefore(now);
  const double jump = mark - last_;
  if (last_ != 0 && std::abs(jump) > credit::kSecondsPerDay && !(accept && jump > 0)) {
    if (std::exchange(held_, true)) return {};
    std::string warning =
        "time stands still: the last tick was at " + Date(last_) + ", this machine's clock says " +
        Date(now) + ", " + Days(std::abs(jump)) + (jump > 0 ? " later. " : " earlier. ") +
        "Until it goes on nothing expires and version scales stay as they are; events are taken in, "
        "and credit is granted. If the clock is wrong, set it right. ";
    warning +=
        jump > 0
            ? "If it is right (the program was stopped for so long), stop it and start it again with "
              "`cobblestone run --accept-time-jump`"
            : "If it is right, the ticks before came from a wrong one: time goes on when the clock comes by";
    return {.tick = std::nullopt, .warning = std::move(warning)};
  }
  Look look;
  if (std::exchange(held_, false)) look.warning = "time goes on: this machine's clock says " + Date(now);
  if (mark <= last_) return look;  // a repeat, or a clock that was set back a little
  last_ = mark;
  look.tick = mark;
  return look;
}

}  // namespace cobblestone
