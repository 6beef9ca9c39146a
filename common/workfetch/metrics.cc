#include "common/workfetch/metrics.h"

#include <algorithm>
#include <cmath>

namespace cobblestone::workfetch {
namespace {

double FlopsPerSecond(const Client& client, const Job& job) {
  double flops = 0;
  for (std::size_t r = 0; r < client.resources.size(); ++r) flops += job.usage[r] * client.resources[r].speed;
  return flops;
}

// The integral of t^2 over a wait.
double SquareOf(double wait) { return wait * wait * wait / 3; }

}  // namespace

Meter::Meter(const Client& client)
    : flops_(client.projects.size()),
      last_ran_(client.projects.size()),
      square_waits_(client.projects.size()) {}

void Meter::Ran(const Client& client, double seconds) {
  const double before = on_;
  on_ += seconds;
  std::vector<bool> ran(flops_.size(), false);
  for (const Job& job : client.jobs) {
    if (!job.running) continue;
    ran[job.project] = true;
    flops_[job.project] += FlopsPerSecond(client, job) * seconds;
  }
  for (std::size_t p = 0; p < ran.size(); ++p) {
    if (!ran[p] && client.projects[p].attached) continue;
    square_waits_[p] += SquareOf(before - last_ran_[p]);
    last_ran_[p] = on_;
  }
}

void Meter::Finished(const Client& client, const Job& job, double now) {
  if (now > job.deadline + 1) wasted_ += FlopsPerSecond(client, job) * job.duration;
}

Metrics Meter::Result(const Client& client) const {
  Metrics result;
  const double possible = client.total_speed() * on_;
  double total = 0;
  double shares = 0;
  double waits = 0;
  for (std::size_t p = 0; p < flops_.size(); ++p) {
    total += flops_[p];
    shares += client.projects[p].share;
    waits += std::sqrt((square_waits_[p] + SquareOf(on_ - last_ran_[p])) / on_);
  }
  result.wasted = wasted_ / possible;
  result.idle = std::max(0.0, 1 - total / possible);
  for (std::size_t p = 0; p < flops_.size(); ++p)
    result.share_violation += std::abs(flops_[p] - total * client.projects[p].share / shares) / total;
  const auto projects = static_cast<double>(flops_.size());
  // In the limit of many projects each waits for a time proportional to their number.
  const double x = waits / (projects * projects * client.preferences.time_slice);
  result.monotony = 1 - 1 / (x + 1);
  result.rpcs_per_job = jobs_ > 0 ? static_cast<double>(rpcs_) / static_cast<double>(jobs_) : 0;
  return result;
}

}  // namespace cobblestone::workfetch
