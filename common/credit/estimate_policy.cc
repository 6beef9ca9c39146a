#include "common/credit/estimate_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/credit/constants.h"
#include "common/credit/flops.h"

namespace cobblestone::credit {
namespace {

constexpr double kMicro = 1e6;
// Beyond any machine: products of it and of times stay finite, whatever the limits are set to.
constexpr double kMostDevices = 1e9;
constexpr double kMostFlops = 1e21;

MachineSize Believed(const MachineSize& said, const EstimateLimits& limits, std::uint32_t& bounds) {
  const auto least = [&](double value, double limit, double most) {
    if (value > limit) bounds |= kEstimateMachine;
    return std::min({value, limit, most});
  };
  return {.cpus = least(said.cpus, limits.cpus, kMostDevices),
          .cpu_flops = least(said.cpu_flops, limits.cpu_flops, kMostFlops),
          .gpus = least(said.gpus, limits.gpus, kMostDevices),
          .gpu_flops = least(said.gpu_flops, limits.gpu_flops, kMostFlops)};
}

// Lets the time pass up to a report. `saved`: s.
void Accrue(double since, double time, const MachineSize& now, double saved, EstimatePool& pool) {
  if (!pool.begun) pool.until = since;
  pool.begun = true;
  const double lived = std::min(pool.until - since, saved);
  const double passed = std::max(time - pool.until, 0.0);
  pool.until += passed;
  // `worth`: of so many FLOPs or seconds, as counted.
  const auto add = [&](double rate, EstimateSupply& supply, auto&& worth) {
    const double before = std::exchange(supply.rate, std::max(supply.rate, rate));
    const double more = (supply.rate - before) * lived + supply.rate * passed;
    supply.left = std::min(supply.left + worth(more), worth(supply.rate * saved));
  };
  const auto credit = [](double flops) { return CreditOfFlops(flops, Constants{}) * kMicro; };
  const auto micro = [](double seconds) { return seconds * kMicro; };
  const auto jobs = [](double seconds) { return seconds / kEstimateShortestJob; };
  add(now.flops(), pool.credit, credit);
  add(now.cpus, pool.cpu_time, micro);
  add(now.gpus, pool.gpu_time, micro);
  add(now.cpus + now.gpus, pool.jobs, jobs);
}

// The most of `asked` that both have left, in whole units; it is spent.
template <class Count>
Count Spend(Count asked, EstimateSupply& own, EstimateSupply& all, std::uint32_t bound,
            std::uint32_t& bounds) {
  const double left = std::min(own.left, all.left);
  Count allowed = asked;
  if (static_cast<double>(asked) > left) {
    allowed = static_cast<Count>(std::floor(left));
    bounds |= bound;
  }
  for (EstimateSupply* one : {&own, &all})
    one->left = std::max(one->left - static_cast<double>(allowed), 0.0);
  return allowed;
}

bool Restarted(const EstimateCounters& now, const EstimateCounters& mark) {
  const auto began_again = [](auto value, auto before) { return before == 0 || value < before; };
  return !mark.empty() && began_again(now.credit, mark.credit) && began_again(now.run_time, mark.run_time) &&
         began_again(now.jobs, mark.jobs) && began_again(now.failed_jobs, mark.failed_jobs) &&
         began_again(now.failed_run_time, mark.failed_run_time);
}

template <class Count>
Count Raise(Count now, Count& mark) {
  if (now <= mark) return 0;
  const Count grown = now - mark;
  mark = now;
  return grown;
}

EstimateCounters Grow(double time, const EstimateCounters& now, EstimateMark& mark, std::uint32_t& bounds) {
  if (time < mark.time) return {};
  if (time > mark.time && Restarted(now, mark.counters)) {
    mark.counters = {};
    bounds |= kEstimateRestarted;
  }
  mark.time = time;
  EstimateCounters& to = mark.counters;
  return {.credit = Raise(now.credit, to.credit),
          .run_time = Raise(now.run_time, to.run_time),
          .jobs = Raise(now.jobs, to.jobs),
          .failed_jobs = Raise(now.failed_jobs, to.failed_jobs),
          .failed_run_time = Raise(now.failed_run_time, to.failed_run_time)};
}

EstimateMark& MarkOf(Resource resource, std::vector<EstimateMark>& marks) {
  const auto at = std::lower_bound(marks.begin(), marks.end(), resource,
                                   [](const EstimateMark& mark, Resource r) { return mark.resource < r; });
  if (at != marks.end() && at->resource == resource) return *at;
  return *marks.insert(at, {.resource = resource, .time = 0, .counters = {}});
}

// What both come to; at most what a count can hold.
template <class Count>
Count Sum(Count a, Count b) {
  return b > std::numeric_limits<Count>::max() - a ? std::numeric_limits<Count>::max() : a + b;
}

void AddTo(EstimateCounters& sum, const EstimateCounters& more) {
  sum.credit = Sum(sum.credit, more.credit);
  sum.run_time = Sum(sum.run_time, more.run_time);
  sum.jobs = Sum(sum.jobs, more.jobs);
  sum.failed_jobs = Sum(sum.failed_jobs, more.failed_jobs);
  sum.failed_run_time = Sum(sum.failed_run_time, more.failed_run_time);
}

}  // namespace

std::string_view EstimateBoundName(std::uint32_t bit) {
  switch (bit) {
    case kEstimateMachine: return "machine";
    case kEstimateCredit: return "credit";
    case kEstimateRunTime: return "run_time";
    case kEstimateJobs: return "jobs";
    case kEstimateFailed: return "failed";
    case kEstimateRestarted: return "restarted";
    default: return {};
  }
}

std::optional<std::int64_t> CountOf(double value) {
  bool ok = true;
  const std::int64_t count = RoundToMicro(value, &ok);
  return ok ? std::optional(count) : std::nullopt;
}

void EstimateAllowance::Hear(double time, const EstimateLimits& limits) {
  saved_time = std::max(saved_time, limits.saved_time);
  if (heard && (pool.begun || time >= since)) return;
  heard = true;
  since = time;
}

EstimateDecision Decide(const EstimateReport& report, const EstimateLimits& limits,
                        EstimateStanding& standing, EstimateAllowance& allowance) {
  EstimateDecision decision;
  std::vector<ResourceUse>& uses = decision.uses;
  for (const ResourceUse& use : report.uses) {
    const EstimateCounters grown =
        Grow(report.time, use.counters, MarkOf(use.resource, standing.marks), decision.bounds);
    if (grown.empty()) continue;
    const auto at = std::lower_bound(uses.begin(), uses.end(), use.resource,
                                     [](const ResourceUse& u, Resource r) { return u.resource < r; });
    if (at != uses.end() && at->resource == use.resource) {
      AddTo(at->counters, grown);
    } else {
      uses.insert(at, {.resource = use.resource, .counters = grown});
    }
  }
  allowance.Hear(report.time, limits);
  decision.grown = !uses.empty();
  // A report that brings nothing lets no time pass either: each that does has its record in the ledger.
  if (!decision.grown) return decision;
  const MachineSize size = Believed(report.size, limits, decision.bounds);
  EstimatePool& own = standing.pool;
  EstimatePool& all = allowance.pool;
  Accrue(allowance.since, report.time, size, limits.saved_time, own);
  Accrue(allowance.since, report.time, size, allowance.saved_time, all);
  for (ResourceUse& use : uses) {
    EstimateCounters& c = use.counters;
    decision.asked = Sum(decision.asked, c.credit);
    c.credit = Spend(c.credit, own.credit, all.credit, kEstimateCredit, decision.bounds);
    decision.allowed = Sum(decision.allowed, c.credit);
    EstimateSupply EstimatePool::*const time =
        use.resource == Resource::kCpu ? &EstimatePool::cpu_time : &EstimatePool::gpu_time;
    c.run_time = Spend(c.run_time, own.*time, all.*time, kEstimateRunTime, decision.bounds);
    c.jobs = Spend(c.jobs, own.jobs, all.jobs, kEstimateJobs, decision.bounds);
    if (c.failed_jobs > c.jobs || c.failed_run_time > c.run_time) decision.bounds |= kEstimateFailed;
    c.failed_jobs = std::min(c.failed_jobs, c.jobs);
    c.failed_run_time = std::min(c.failed_run_time, c.run_time);
  }
  decision.since = allowance.since;
  decision.flops = size.flops();
  return decision;
}

}  // namespace cobblestone::credit
