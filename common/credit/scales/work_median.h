// robust: the median over the hosts of a version in which each host counts by its samples. So influence costs work: a machine that
// appears as many hosts has as much of it as one that appears as one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "common/credit/model/average.h"

namespace cobblestone::credit {

// Follows from the averages of the hosts, and is kept beside them, because a median that looks at all hosts at each tick costs more
// than all the rest of the pipeline once there are many hosts. Hosts with fewer than `least` samples have no vote.
class WorkMedian {
 public:
  WorkMedian(const std::map<std::uint64_t, Average>& hosts, double least);

  // The host's average was `before` (n = 0: it had none), and is `after` now.
  void Change(std::uint64_t host, const Average& before, const Average& after);

  [[nodiscard]] double value() const { return lower_.empty() ? 0 : std::get<0>(*lower_.rbegin()); }
  [[nodiscard]] double votes() const { return static_cast<double>(lower_.size() + upper_.size()); }
  [[nodiscard]] double samples() const { return samples_; }  // of all hosts
  [[nodiscard]] double least() const { return least_; }

 private:
  using Vote = std::tuple<double, double, std::uint64_t>;  // mean, samples, host

  void Balance();

  double least_;
  double samples_ = 0;
  // Invariant: lower_ ends with the median, the first vote at which the samples from the least on are half of the samples of
  // all votes. Counts of samples are whole numbers, so their sums are exact in any order.
  std::set<Vote> lower_, upper_;
  double in_lower_ = 0, in_both_ = 0;  // samples
};

}  // namespace cobblestone::credit
