// When a hub fetches from a project. Pure functions over times in UNIX s, for any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace cobblestone::hub {

struct ScheduleLimits {
  double interval = 86400;  // projects export once a day
  // Of the interval and of each backoff: a hub's fetches spread over the day, and hubs do not meet at one project.
  double jitter = 0.1;
  double first_backoff = 600;
  double longest_backoff = 86400;
  double host_gap = 1;  // between two requests to one host
};

struct FetchHistory {
  double last_attempt = 0;  // 0: never
  double last_success = 0;
  std::uint32_t failures = 0;  // in a row
  // What the server asked for with its last failure (Retry-After), s.
  double retry_after = 0;
  // A held file waits for a confirming fetch: not later than this. 0: none does.
  double confirm_at = 0;
};

// The time of the next fetch; may be in the past. At once if there was none. After failure number n, first_backoff x
// 2^(n-1), at most longest_backoff, but not before Retry-After, of which at most two longest_backoff are granted.
// `project` separates the jitter of projects; the same arguments give the same time.
double NextFetch(const FetchHistory& history, std::uint64_t project, const ScheduleLimits& limits);

// Spaces requests to one host. Owner: one thread at a time.
class HostPacer {
 public:
  explicit HostPacer(double gap) : gap_(gap) {}
  // The time at which a request to the host may begin, at `now` or later; the next request comes at least the gap
  // behind it.
  double Reserve(const std::string& host, double now);

 private:
  double gap_;
  std::map<std::string, double> next_;
};

// Seconds from now of a Retry-After header: a number, or an HTTP date. Absent: neither. Never negative.
std::optional<double> RetryAfter(const std::string& value, double now);

}  // namespace cobblestone::hub
