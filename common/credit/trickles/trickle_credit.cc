#include "common/credit/trickles/trickle_credit.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "common/credit/model/flops.h"

namespace cobblestone::credit {
namespace {

double Percentile(std::span<const double> ascending, std::size_t percent) {
  return ascending[ascending.size() * percent / 100];
}

}  // namespace

std::optional<TypicalSpeeds> TypicalSpeedsOf(std::span<const HostSpeed> hosts) {
  std::vector<double> speeds;
  for (const HostSpeed& host : hosts) {
    // NaN cannot be sorted.
    if (host.recent_average > kTypicalHostRecentAverage && host.speed == host.speed)
      speeds.push_back(host.speed);
  }
  if (speeds.empty()) return std::nullopt;
  std::sort(speeds.begin(), speeds.end());
  return TypicalSpeeds{.median = Percentile(speeds, 50), .percentile_95 = Percentile(speeds, 95)};
}

std::optional<double> ParseRunTime(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\v\f");
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  if (value <= 0) return std::nullopt;
  return value;
}

double LimitedSpeed(double host_speed, const TypicalSpeeds& typical) {
  const double speed = host_speed < 0 ? typical.median : host_speed;
  return speed > typical.percentile_95 ? typical.percentile_95 : speed;
}

double TrickleCredit(const TrickleFacts& trickle, const Constants& constants) {
  double run_time = trickle.run_time;
  if (run_time > trickle.max_run_time) run_time = trickle.max_run_time;
  return CreditOfFlops(run_time * LimitedSpeed(trickle.host_speed, trickle.typical), constants);
}

}  // namespace cobblestone::credit
