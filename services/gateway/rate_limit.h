// How often one address may ask: a token bucket for each, filled at `per_second`, holding `burst`. Of IPv6 the first 64 bits
// are the address: who has one has all behind it.
//
// Threads: any. Memory: bounded; the addresses that were silent longest are forgotten first, which gives them a full bucket.
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

  // 0: go on, and one is taken. Else s until there is one. `now`: s since anything, of a clock that never goes back.
  double Take(std::string_view address, double now);
  // What a request has cost beyond the one that was taken. An address that owes waits until it has paid, which is at most as long
  // as an empty bucket takes to fill.
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
  std::list<Bucket> buckets_;  // the last used first
  std::unordered_map<std::string_view, std::list<Bucket>::iterator> by_address_;
};

}  // namespace cobblestone::gateway
