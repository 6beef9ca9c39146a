#include "services/hub/feeds/fetch_schedule.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

#include "common/stream/hash128.h"

namespace cobblestone::hub {
namespace {

// In [0, 1), the same for the same arguments.
double Spread(std::uint64_t project, std::uint64_t attempt, std::uint32_t failures) {
  const std::array<std::uint64_t, 3> numbers = {project, attempt, failures};
  const stream::Hash128 hash =
      stream::HashBytes({reinterpret_cast<const char*>(numbers.data()), sizeof numbers});
  return static_cast<double>(hash.low >> 11) * 0x1p-53;
}

}  // namespace

double NextFetch(const FetchHistory& history, std::uint64_t project, const ScheduleLimits& limits) {
  if (history.last_attempt == 0) return 0;
  const double spread = Spread(project, static_cast<std::uint64_t>(history.last_attempt), history.failures);
  double next = 0;
  if (history.failures == 0) {
    next = history.last_success + limits.interval * (1 + limits.jitter * (2 * spread - 1));
  } else {
    const double doubled = limits.first_backoff * std::exp2(std::min(history.failures - 1, 30u));
    const double wait = std::min(doubled, limits.longest_backoff) * (1 + limits.jitter * spread);
    next = history.last_attempt + std::max(wait, std::min(history.retry_after, 2 * limits.longest_backoff));
  }
  return history.confirm_at > 0 && history.failures == 0 ? std::min(next, history.confirm_at) : next;
}

double HostPacer::Reserve(const std::string& host, double now) {
  std::erase_if(next_, [now](const auto& entry) { return entry.second <= now; });
  double& next = next_[host];
  const double begin = std::max(next, now);
  next = begin + gap_;
  return begin;
}

std::optional<double> RetryAfter(const std::string& value, double now) {
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error == std::errc() && end == value.data() + value.size()) return seconds;
  const std::time_t date = ::curl_getdate(value.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::max(static_cast<double>(date) - now, 0.0);
}

}  // namespace cobblestone::hub
