#include "common/credit/estimates/estimate_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/credit/model/constants.h"
#include "common/credit/model/flops.h"

namespace cobblestone::credit {
namespace {

constexpr double kMicro = 1e6;
// More than any machine has. Products with times stay finite under any limits of a project.
constexpr double kMaxDevices = 1e9;
constexpr double kMaxFlops = 1e21;

MachineSize SizeWithin(const MachineSize& size, const EstimateLimits& limits, std::uint32_t& bounds) {
  const auto least = [&](double value, double limit, double most) {
    if (value > limit) bounds |= kEstimateMachine;
    return std::min({value, limit, most});
  };
  return {.cpus = least(size.cpus, limits.cpus, kMaxDevices),
          .cpu_flops = least(size.cpu_flops, limits.cpu_flops, kMaxFlops),
          .gpus = least(size.gpus, limits.gpus, kMaxDevices),
          .gpu_flops = least(size.gpu_flops, limits.gpu_flops, kMaxFlops)};
}

EstimateRates RatesOf(const MachineSize& size) {
  return {.flops = size.flops(), .cpus = size.cpus, .gpus = size.gpus, .devices = size.cpus + size.gpus};
}

// FLOPs and seconds in the units of the counters.
double MicroOfFlops(double flops) { return CreditOfFlops(flops, Constants{}) * kMicro; }
double MicroOf(double seconds) { return seconds * kMicro; }
double JobsIn(double seconds) { return seconds / kEstimateShortestJob; }

struct Kind {
  EstimateSupply EstimatePool::*supply;
  double EstimateRates::*rate;
  double (*worth)(double);
  std::uint32_t bound;
};
constexpr Kind kCredit{&EstimatePool::credit, &EstimateRates::flops, MicroOfFlops, kEstimateCredit};
constexpr Kind kCpuTime{&EstimatePool::cpu_time, &EstimateRates::cpus, MicroOf, kEstimateRunTime};
constexpr Kind kGpuTime{&EstimatePool::gpu_time, &EstimateRates::gpus, MicroOf, kEstimateRunTime};
constexpr Kind kJobs{&EstimatePool::jobs, &EstimateRates::devices, JobsIn, kEstimateJobs};
constexpr Kind kKinds[] = {kCredit, kCpuTime, kGpuTime, kJobs};

// Advances the pool to the time of a report. Kept seconds beyond `saved` are dropped, together with the
// amounts spent from them, at the rates believed so far.
void Pass(double since, double time, EstimatePool& pool) {
  if (!pool.begun) {
    pool.begun = true;
    pool.until = since;
  }
  if (time <= pool.until) return;
  const double dropped = std::max(pool.kept - pool.saved, 0.0);
  for (const Kind& kind : kKinds) {
    EstimateSupply& supply = pool.*kind.supply;
    supply.spent =
        std::max(supply.spent - kind.worth(supply.rate * dropped), 0.0) + static_cast<double>(supply.now);
    supply.now = 0;
  }
  pool.kept += time - pool.until - dropped;
  pool.until = time;
}

void Raise(const EstimateRates& rates, EstimatePool& pool) {
  for (const Kind& kind : kKinds) {
    double& rate = (pool.*kind.supply).rate;
    rate = std::max(rate, rates.*kind.rate);
  }
}

// Applies a report without growth, which must not advance time: each advance has a record in the ledger.
void ApplyUnchanged(double time, const EstimateRates& rates, double saved, EstimatePool& pool) {
  if (pool.begun && time <= pool.until) {
    pool.saved = saved;
    return Raise(rates, pool);
  }
  for (const Kind& kind : kKinds) {
    const double before = pool.pending_rates ? *pool.pending_rates.*kind.rate : (pool.*kind.supply).rate;
    if (rates.*kind.rate <= before) continue;
    if (!pool.pending_rates) pool.pending_rates.emplace();
    *pool.pending_rates.*kind.rate = rates.*kind.rate;
  }
}

void Take(double since, double time, const EstimateRates& rates, double saved, EstimatePool& pool) {
  Pass(since, time, pool);
  pool.saved = saved;
  Raise(rates, pool);
  if (!pool.pending_rates) return;
  Raise(*pool.pending_rates, pool);
  pool.pending_rates.reset();
}

MicroTotal Left(const Kind& kind, const EstimatePool& pool) {
  constexpr double kMax = 1e37;  // below 2^127
  const EstimateSupply& supply = pool.*kind.supply;
  const double most =
      std::min(kind.worth(supply.rate * pool.kept) - supply.spent, kind.worth(supply.rate * pool.saved));
  return static_cast<MicroTotal>(std::floor(std::clamp(most, 0.0, kMax))) - supply.now;
}

// Spends and returns the part of `asked` that both pools have left.
template <class Count>
Count Spend(const Kind& kind, Count asked, EstimatePool& project, EstimatePool& all, std::uint32_t& bounds) {
  const MicroTotal left = std::max<MicroTotal>(std::min(Left(kind, project), Left(kind, all)), 0);
  Count allowed = asked;
  if (asked > left) {
    allowed = static_cast<Count>(left);
    bounds |= kind.bound;
  }
  for (EstimatePool* pool : {&project, &all}) (pool->*kind.supply).now += allowed;
  return allowed;
}

bool Restarted(const EstimateCounters& now, const EstimateCounters& high_water_mark) {
  const auto began_again = [](auto value, auto before) { return before == 0 || value < before; };
  return !high_water_mark.empty() && began_again(now.credit, high_water_mark.credit) &&
         began_again(now.run_time, high_water_mark.run_time) && began_again(now.jobs, high_water_mark.jobs) &&
         began_again(now.failed_jobs, high_water_mark.failed_jobs) &&
         began_again(now.failed_run_time, high_water_mark.failed_run_time);
}

template <class Count>
Count Raise(Count now, Count& high_water_mark) {
  if (now <= high_water_mark) return 0;
  const Count grown = now - high_water_mark;
  high_water_mark = now;
  return grown;
}

EstimateCounters Grow(double time, const EstimateCounters& now, CounterHighWaterMark& high_water_mark,
                      std::uint32_t& bounds) {
  if (time < high_water_mark.time) return {};
  if (time > high_water_mark.time && Restarted(now, high_water_mark.counters)) {
    high_water_mark.counters = {};
    bounds |= kEstimateRestarted;
  }
  high_water_mark.time = time;
  EstimateCounters& to = high_water_mark.counters;
  return {.credit = Raise(now.credit, to.credit),
          .run_time = Raise(now.run_time, to.run_time),
          .jobs = Raise(now.jobs, to.jobs),
          .failed_jobs = Raise(now.failed_jobs, to.failed_jobs),
          .failed_run_time = Raise(now.failed_run_time, to.failed_run_time)};
}

CounterHighWaterMark& HighWaterMarkOf(Resource resource,
                                      std::vector<CounterHighWaterMark>& high_water_marks) {
  const auto at = std::lower_bound(
      high_water_marks.begin(), high_water_marks.end(), resource,
      [](const CounterHighWaterMark& high_water_mark, Resource r) { return high_water_mark.resource < r; });
  if (at != high_water_marks.end() && at->resource == resource) return *at;
  return *high_water_marks.insert(at, {.resource = resource, .time = 0, .counters = {}});
}

// The sum, at most the greatest value of Count.
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

void AddUse(Resource resource, const EstimateCounters& counters, std::vector<ResourceUse>& uses) {
  const auto at = std::lower_bound(uses.begin(), uses.end(), resource,
                                   [](const ResourceUse& u, Resource r) { return u.resource < r; });
  if (at != uses.end() && at->resource == resource) return AddTo(at->counters, counters);
  uses.insert(at, {.resource = resource, .counters = counters});
}

// Cuts decision.uses to the amounts that both pools have left, spends them, and stores the rest as a cut.
void Give(EstimateDecision& decision, EstimateStanding& standing, EstimateAllowance& allowance) {
  EstimatePool& project = standing.pool;
  EstimatePool& all = allowance.pool;
  EstimateCut rest{.until = all.until, .time = decision.time, .event = decision.event, .uses = {}};
  for (ResourceUse& use : decision.uses) {
    EstimateCounters& c = use.counters;
    const EstimateCounters asked = c;
    decision.asked = Sum(decision.asked, c.credit);
    c.credit = Spend(kCredit, c.credit, project, all, decision.bounds);
    decision.allowed = Sum(decision.allowed, c.credit);
    c.run_time = Spend(use.resource == Resource::kCpu ? kCpuTime : kGpuTime, c.run_time, project, all,
                       decision.bounds);
    c.jobs = Spend(kJobs, c.jobs, project, all, decision.bounds);
    if (c.failed_jobs > c.jobs || c.failed_run_time > c.run_time) decision.bounds |= kEstimateFailed;
    c.failed_jobs = std::min(c.failed_jobs, c.jobs);
    c.failed_run_time = std::min(c.failed_run_time, c.run_time);
    if (c != asked)
      rest.uses.push_back({.resource = use.resource,
                           .counters = {.credit = asked.credit - c.credit,
                                        .run_time = asked.run_time - c.run_time,
                                        .jobs = asked.jobs - c.jobs,
                                        .failed_jobs = asked.failed_jobs - c.failed_jobs,
                                        .failed_run_time = asked.failed_run_time - c.failed_run_time}});
  }
  standing.cut = rest.uses.empty() ? std::nullopt : std::optional(std::move(rest));
  decision.since = allowance.since;
  decision.flops = all.credit.rate;
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

void EstimateAllowance::StartAt(double time, const EstimateLimits& limits) {
  saved_time = std::max(saved_time, limits.saved_time);
  if (started && (pool.begun || time >= since)) return;
  started = true;
  since = time;
}

EstimateDecision Decide(const EstimateReport& report, const EstimateLimits& limits,
                        EstimateStanding& standing, EstimateAllowance& allowance) {
  EstimateDecision decision{.time = report.time, .event = report.event, .uses = {}};
  for (const ResourceUse& use : report.uses) {
    const EstimateCounters grown = Grow(
        report.time, use.counters, HighWaterMarkOf(use.resource, standing.high_water_marks), decision.bounds);
    if (!grown.empty()) AddUse(use.resource, grown, decision.uses);
  }
  allowance.StartAt(report.time, limits);
  const EstimateRates rates = RatesOf(SizeWithin(report.size, limits, decision.bounds));
  decision.grown = !decision.uses.empty();
  if (!decision.grown) {
    ApplyUnchanged(report.time, rates, limits.saved_time, standing.pool);
    ApplyUnchanged(report.time, rates, allowance.saved_time, allowance.pool);
    return decision;
  }
  Take(allowance.since, report.time, rates, limits.saved_time, standing.pool);
  Take(allowance.since, report.time, rates, allowance.saved_time, allowance.pool);
  if (standing.cut && standing.cut->until == allowance.pool.until && standing.cut->time == report.time)
    for (const ResourceUse& use : standing.cut->uses) AddUse(use.resource, use.counters, decision.uses);
  Give(decision, standing, allowance);
  return decision;
}

EstimateDecision Revive(EstimateStanding& standing, EstimateAllowance& allowance) {
  if (!standing.cut || standing.cut->until != allowance.pool.until) return {};
  EstimateDecision decision{
      .time = standing.cut->time, .event = standing.cut->event, .uses = standing.cut->uses};
  Give(decision, standing, allowance);
  std::erase_if(decision.uses, [](const ResourceUse& use) { return use.counters.empty(); });
  decision.grown = !decision.uses.empty();
  return decision;
}

}  // namespace cobblestone::credit
