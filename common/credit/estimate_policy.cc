#include "common/credit/estimate_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

// Lets the time pass up to a report. What a machine became in between it may have been all the time: the greater counts.
void Accrue(double time, const MachineSize& now, EstimateAllowance& a) {
  a.reported = true;
  if (time <= a.until) return;
  const double passed = time - a.until;
  // `worth`: of so many units, CPU seconds or FLOPs, as counted.
  const auto add = [passed](double before, double now_rate, double& saved, auto&& worth) {
    const double rate = std::max(before, now_rate);
    saved = std::min(saved + worth(rate * passed), worth(rate * kEstimateSavedTime));
  };
  const auto credit = [](double flops) { return CreditOfFlops(flops, Constants{}) * kMicro; };
  const auto micro = [](double seconds) { return seconds * kMicro; };
  const auto jobs = [](double seconds) { return seconds / kEstimateShortestJob; };
  add(a.size.flops(), now.flops(), a.credit, credit);
  add(a.size.cpus, now.cpus, a.cpu_time, micro);
  add(a.size.gpus, now.gpus, a.gpu_time, micro);
  add(a.size.cpus + a.size.gpus, now.cpus + now.gpus, a.jobs, jobs);
  a.until = time;
  a.size = now;
}

// The most of `asked` that is left, in whole units; it is spent.
template <class Count>
Count Spend(Count asked, double& left, std::uint32_t bound, std::uint32_t& bounds) {
  Count allowed = asked;
  if (static_cast<double>(asked) > left) {
    allowed = static_cast<Count>(std::floor(left));
    bounds |= bound;
  }
  left = std::max(left - static_cast<double>(allowed), 0.0);
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

void EstimateAllowance::Hear(double time) {
  if (heard && (reported || time >= since)) return;
  heard = true;
  since = until = time;
}

EstimateDecision Decide(const EstimateReport& report, const EstimateLimits& limits,
                        std::vector<EstimateMark>& marks, EstimateAllowance& allowance) {
  EstimateDecision decision;
  std::vector<ResourceUse>& uses = decision.uses;
  for (const ResourceUse& use : report.uses) {
    const EstimateCounters grown =
        Grow(report.time, use.counters, MarkOf(use.resource, marks), decision.bounds);
    if (grown.empty()) continue;
    const auto at = std::lower_bound(uses.begin(), uses.end(), use.resource,
                                     [](const ResourceUse& u, Resource r) { return u.resource < r; });
    if (at != uses.end() && at->resource == use.resource) {
      AddTo(at->counters, grown);
    } else {
      uses.insert(at, {.resource = use.resource, .counters = grown});
    }
  }
  allowance.Hear(report.time);
  decision.grown = !uses.empty();
  // A report that brings nothing lets no time pass either: each that does has its record in the ledger.
  if (!decision.grown) return decision;
  const MachineSize size = Believed(report.size, limits, decision.bounds);
  Accrue(report.time, size, allowance);
  for (ResourceUse& use : uses) {
    EstimateCounters& c = use.counters;
    decision.asked = Sum(decision.asked, c.credit);
    c.credit = Spend(c.credit, allowance.credit, kEstimateCredit, decision.bounds);
    decision.allowed = Sum(decision.allowed, c.credit);
    double& time = use.resource == Resource::kCpu ? allowance.cpu_time : allowance.gpu_time;
    c.run_time = Spend(c.run_time, time, kEstimateRunTime, decision.bounds);
    c.jobs = Spend(c.jobs, allowance.jobs, kEstimateJobs, decision.bounds);
    if (c.failed_jobs > c.jobs || c.failed_run_time > c.run_time) decision.bounds |= kEstimateFailed;
    c.failed_jobs = std::min(c.failed_jobs, c.jobs);
    c.failed_run_time = std::min(c.failed_run_time, c.run_time);
  }
  decision.since = allowance.since;
  decision.flops = size.flops();
  return decision;
}

}  // namespace cobblestone::credit
