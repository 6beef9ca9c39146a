#include "common/credit/scales/work_median.h"

#include <iterator>

namespace cobblestone::credit {

WorkMedian::WorkMedian(const std::map<std::uint64_t, Average>& hosts, double least) : least_(least) {
  for (const auto& [host, average] : hosts) {
    samples_ += average.n;
    if (average.n < least_) continue;
    upper_.emplace(average.mean, average.n, host);
    in_both_ += average.n;
  }
  Balance();
}

void WorkMedian::Change(std::uint64_t host, const Average& before, const Average& after) {
  samples_ += after.n - before.n;
  std::set<Vote>::node_type node;
  if (before.n > 0 && before.n >= least_) {
    const Vote vote(before.mean, before.n, host);
    in_both_ -= before.n;
    if (!lower_.empty() && vote <= *lower_.rbegin()) {
      in_lower_ -= before.n;
      node = lower_.extract(vote);
    } else {
      node = upper_.extract(vote);
    }
  }
  if (after.n >= least_) {
    const Vote vote(after.mean, after.n, host);
    in_both_ += after.n;
    const bool low = !lower_.empty() && vote <= *lower_.rbegin();
    if (low) in_lower_ += after.n;
    std::set<Vote>& half = low ? lower_ : upper_;
    if (node.empty()) {
      half.insert(vote);
    } else {
      node.value() = vote;
      half.insert(std::move(node));
    }
  }
  Balance();
}

void WorkMedian::Balance() {
  while (!lower_.empty()) {
    const double last = std::get<1>(*lower_.rbegin());
    if (2 * (in_lower_ - last) < in_both_) break;
    in_lower_ -= last;
    upper_.insert(upper_.begin(), lower_.extract(std::prev(lower_.end())));
  }
  while (2 * in_lower_ < in_both_) {
    in_lower_ += std::get<1>(*upper_.begin());
    lower_.insert(lower_.end(), upper_.extract(upper_.begin()));
  }
}

}  // namespace cobblestone::credit
