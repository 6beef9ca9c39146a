#include "services/cli/schedule.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <optional>
#include <string>

namespace cobblestone::cli {
namespace {

std::optional<std::int64_t> NumberOf(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

}  // namespace

Result<Schedule> Schedule::Parse(std::string_view text) {
  Schedule schedule;
  const std::size_t colon = text.find(':');
  if (colon == 2 && text.size() == 5) {
    const auto hours = NumberOf(text.substr(0, 2));
    const auto minutes = NumberOf(text.substr(3));
    if (hours && minutes && *hours >= 0 && *hours < 24 && *minutes >= 0 && *minutes < 60) {
      schedule.of_day_ = (*hours * 60 + *minutes) * 60;
      return schedule;
    }
  } else if (text.size() > 1) {
    const auto number = NumberOf(text.substr(0, text.size() - 1));
    constexpr std::string_view kUnits = "smhd";
    constexpr std::int64_t kSeconds[] = {1, 60, 3600, kDay};
    const std::size_t unit = kUnits.find(text.back());
    if (number && *number > 0 && *number <= 366 * kDay && unit != kUnits.npos) {
      schedule.period_ = *number * kSeconds[unit];
      return schedule;
    }
  }
  return Status::InvalidArgument(
      "'" + std::string(text) +
      "' is not a schedule; use a time of day (UTC) such as 03:30, or a period such as 24h, "
      "30m, 90s");
}

std::int64_t Schedule::NextTry(std::int64_t now, std::int64_t last) const {
  return std::min(Next(now, last), now + 60);
}

std::int64_t Schedule::Next(std::int64_t now, std::int64_t last) const {
  if (of_day_ < 0) return last < 0 ? now : std::max(now, last + period_);
  const std::int64_t today = now - now % kDay + of_day_;
  return today >= now && today != last ? today : today + kDay;
}

std::optional<std::int64_t> AwaitNext(const Schedule& schedule, std::int64_t last, bool retry,
                                      const StopSignals& signals) {
  const std::int64_t now = std::time(nullptr);
  const std::int64_t next = retry ? schedule.NextTry(now, last) : schedule.Next(now, last);
  while (std::time(nullptr) < next)
    if (signals.Wait() != 0) return std::nullopt;
  return next;
}

}  // namespace cobblestone::cli
