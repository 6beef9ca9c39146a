// Rate limit per address: one token bucket each, refilled at `per_second`, with capacity `burst`. For IPv6 the first
// 64 bits are the address, because one client usually controls the whole /64 network.
//
// Threads: any. Memory: bounded. The least recently used address is evicted first and starts again with a full
// bucket.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cobblestone::gateway {

struct RateLimitOptions {
  double per_second = 20;
  double burst = 200;
  std::size_t addresses = 100000;
};

class RateLimit {
 public:
  explicit RateLimit(const RateLimitOptions& options) : options_(options) {}

  // 0: allowed, and one token is taken. Else the seconds until a token is available. `now`: s of a monotonic clock.
  double Take(std::string_view address, double now);
  // Additional cost of a request beyond the one token. An address in debt waits until the debt is refilled, at most
  // as long as an empty bucket takes to fill.
  void Charge(std::string_view address, double cost);
  [[nodiscard]] std::size_t addresses() const;

 private:
  struct Bucket {
    std::string address;
    double left = 0;
    double at = 0;  // s
  };

  const RateLimitOptions options_;
  mutable std::mutex mutex_;
  std::list<Bucket> buckets_;  // most recently used first
  std::unordered_map<std::string_view, std::list<Bucket>::iterator> by_address_;
};

}  // namespace cobblestone::gateway
