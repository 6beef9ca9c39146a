#include "common/workfetch/round_robin.h"

#include <algorithm>
#include <cmath>

namespace cobblestone::workfetch {
namespace {

constexpr double kLeastShare = 1e-9;  // a project without a share gets what others leave
constexpr double kEpsilon = 1e-6;

struct Left {
  std::size_t job;
  double seconds;
  double rate;
};

// Instances of the CPU per project: by share, no project more than its jobs use.
std::vector<double> DivideCpus(const Client& client, double cpus, const std::vector<double>& demand) {
  std::vector<double> got(demand.size(), 0);
  std::vector<char> open(demand.size(), 0);
  for (std::size_t p = 0; p < demand.size(); ++p) open[p] = demand[p] > 0;
  while (cpus > kEpsilon) {
    double shares = 0;
    for (std::size_t p = 0; p < demand.size(); ++p)
      if (open[p]) shares += std::max(client.projects[p].share, kLeastShare);
    if (shares == 0) break;
    bool closed = false;
    const double each = cpus / shares;
    for (std::size_t p = 0; p < demand.size(); ++p) {
      if (!open[p] || demand[p] > each * std::max(client.projects[p].share, kLeastShare)) continue;
      got[p] = demand[p];
      cpus -= demand[p];
      open[p] = 0;
      closed = true;
    }
    if (closed) continue;
    for (std::size_t p = 0; p < demand.size(); ++p)
      if (open[p]) got[p] = each * std::max(client.projects[p].share, kLeastShare);
    break;
  }
  return got;
}

// Sets the rates; returns the idle instances.
PerResource SetRates(const Client& client, std::vector<Left>& left) {
  PerResource free{};
  for (std::size_t r = 0; r < client.resources.size(); ++r) free[r] = client.resources[r].instances;
  std::array<bool, kMostResources> waits{};
  std::vector<double> demand(client.projects.size(), 0);
  double total_demand = 0;
  double cpus_of_coprocessors = 0;
  for (Left& l : left) {
    const Job& job = client.jobs[l.job];
    if (job.resource == kCpu) {
      demand[job.project] += job.usage[kCpu];
      total_demand += job.usage[kCpu];
      continue;
    }
    const bool fits = job.usage[job.resource] <= free[job.resource] + kEpsilon;
    l.rate = fits ? 1 : 0;
    if (fits) {
      free[job.resource] -= job.usage[job.resource];
      cpus_of_coprocessors += job.usage[kCpu];
    } else {
      waits[job.resource] = true;
    }
  }
  for (std::size_t r = 1; r < client.resources.size(); ++r)
    if (waits[r]) free[r] = 0;
  // A fraction of a CPU beside a GPU displaces no CPU job.
  const double cpus = std::max(0.0, free[kCpu] - std::floor(cpus_of_coprocessors + kEpsilon));
  free[kCpu] = std::max(0.0, cpus - total_demand);
  const bool all_run = total_demand <= cpus;
  std::vector<double> got;
  if (!all_run) got = DivideCpus(client, cpus, demand);
  for (Left& l : left) {
    const Job& job = client.jobs[l.job];
    if (job.resource != kCpu) continue;
    if (all_run) {
      l.rate = 1;
      continue;
    }
    double& rest = got[job.project];
    const double taken = std::min(rest, job.usage[kCpu]);
    rest -= taken;
    l.rate = taken / job.usage[kCpu];
  }
  return free;
}

}  // namespace

RoundRobin SimulateRoundRobin(const Client& client) {
  RoundRobin result;
  result.end.assign(client.jobs.size(), kNever);
  result.saturated.fill(kNever);
  std::vector<Left> left;
  left.reserve(client.jobs.size());
  for (std::size_t i = 0; i < client.jobs.size(); ++i) {
    const Job& job = client.jobs[i];
    if (client.projects[job.project].may_run())
      left.push_back({i, job.estimated_remaining() / client.on_fraction, 0});
  }
  const double buffer = client.preferences.buffer();
  for (double at = 0;;) {
    ++result.steps;
    const PerResource idle = SetRates(client, left);
    double step = kNever;
    for (const Left& l : left)
      if (l.rate > 0) step = std::min(step, l.seconds / l.rate);
    for (std::size_t r = 0; r < client.resources.size(); ++r) {
      if (at == 0) result.idle_now[r] = std::max(result.idle_now[r], idle[r]);
      if (idle[r] < kEpsilon) continue;
      result.saturated[r] = std::min(result.saturated[r], at);
      if (at < buffer) result.shortfall[r] += idle[r] * (std::min(at + step, buffer) - at);
    }
    if (step == kNever) return result;
    at += step;
    for (Left& l : left) {
      l.seconds -= step * l.rate;
      if (l.rate > 0 && l.seconds <= kEpsilon) result.end[l.job] = at;
    }
    std::erase_if(left, [&](const Left& l) { return result.end[l.job] != kNever; });
  }
}

}  // namespace cobblestone::workfetch
