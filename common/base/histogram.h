// How long things take, counted in fixed buckets: for metrics. One thread at a time observes, any thread looks; nobody
// waits, and observing costs a few plain instructions (no locked one, no allocation).
//
// A look is not a cut through time: it may have an observation in the sum and not yet in its bucket.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace cobblestone {

// Upper bounds of the buckets, s, each inclusive; behind the last one is a bucket without. From what a memory write takes
// to what is no latency any more: steps of two to two and a half, so that a quantile is right to about a half.
inline constexpr std::array<double, 14> kLatencyBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                          0.1,    0.25,  0.5,    1,     2.5,  5,     10};

struct LatencyCounts {
  std::array<std::uint64_t, kLatencyBounds.size() + 1> counts{};  // of each bucket alone
  double sum = 0;                                                 // s

  [[nodiscard]] std::uint64_t observed() const {
    std::uint64_t all = 0;
    for (const std::uint64_t one : counts) all += one;
    return all;
  }
};

class LatencyHistogram {
 public:
  // What is negative counts as 0.
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
  // One writer: what it reads is what it wrote.
  template <class T>
  static void Add(std::atomic<T>& to, T more) {
    to.store(to.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, kLatencyBounds.size() + 1> counts_{};
  std::atomic<double> sum_{0};
};

}  // namespace cobblestone
