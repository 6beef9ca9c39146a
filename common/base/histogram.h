// Latency histogram with fixed buckets, for metrics. One thread at a time observes, any thread reads. Neither
// ever waits; an observation costs a few plain instructions (no atomic read-modify-write, no allocation).
//
// A read is not a consistent snapshot: an observation may be in the sum and not yet in its bucket.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace cobblestone {

// Upper bounds of the buckets in s, inclusive; the last bucket is unbounded. From the duration of a memory
// write to durations that no longer count as latency, in steps of 2 to 2.5, so that a quantile is accurate to
// about a half.
inline constexpr std::array<double, 14> kLatencyBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                          0.1,    0.25,  0.5,    1,     2.5,  5,     10};

struct LatencyCounts {
  std::array<std::uint64_t, kLatencyBounds.size() + 1> counts{};  // per bucket, not cumulative
  double sum = 0;                                                 // s

  [[nodiscard]] std::uint64_t observed() const {
    std::uint64_t all = 0;
    for (const std::uint64_t one : counts) all += one;
    return all;
  }
};

class LatencyHistogram {
 public:
  // Negative values are observed as 0.
  void Observe(double seconds) {
    const auto bucket = static_cast<std::size_t>(
        std::lower_bound(kLatencyBounds.begin(), kLatencyBounds.end(), seconds) - kLatencyBounds.begin());
    Add(counts_[bucket], std::uint64_t{1});
    Add(sum_, std::max(0.0, seconds));
  }

  [[nodiscard]] LatencyCounts Look() const {
    LatencyCounts look;
    for (std::size_t i = 0; i < counts_.size(); ++i)
      look.counts[i] = counts_[i].load(std::memory_order_relaxed);
    look.sum = sum_.load(std::memory_order_relaxed);
    return look;
  }

 private:
  // There is only one writer, so load and store need not be one atomic operation.
  template <class T>
  static void Add(std::atomic<T>& to, T more) {
    to.store(to.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, kLatencyBounds.size() + 1> counts_{};
  std::atomic<double> sum_{0};
};

}  // namespace cobblestone
