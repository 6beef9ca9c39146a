// Continuous accounting (docs/rules.md, section 42; S003): the part of an account manager's report about a
// machine that is allowed. Counters are cumulative, so a report is worth their growth since the highest values
// so far (the mark). Growth is limited to the work that the machine can have done in the elapsed time, over all
// its projects.
//
// Counts are integers (micro-credits, microseconds), so that sums do not depend on the order of reports. Growth
// that a bound cuts off is lost once time advances: the mark advances by the full growth, otherwise later
// reports would gradually pay out an exaggerated counter.
//
// Pure. Invariants, for any reports in any order:
// - A report is allowed at most the growth that it asks for.
// - The allowed sum over all reports of a machine is at most the highest believed FLOP/s x the time since the
//   first event about the machine. For the reports of one project, the factor is the highest FLOP/s that this
//   project believed. A project with higher limits therefore does not raise the limit of another project, and a
//   project with lower limits does not reduce it.
// - The allowed sum of reports at one time is at most that FLOP/s x saved_time. For one project, its own
//   saved_time counts; for the machine, the longest saved_time of all its projects.
// - Reports that no bound limits add up to the highest mark of each counter, in any order, with any repeats.
// - Reports of one time add up to the same sum in any order, whichever of them states the machine's size:
//   growth that was cut off is allowed once another report of the same time states a larger size (Revive). The
//   order matters in two cases. Where the machine's own limit binds, the first of two projects that report at
//   the same time gets the credit. Where counters fall within one time, their growth depends on the order.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// The largest machine that is believed. The project sets each limit (Settings.estimates). S003 names no
// numbers; the defaults describe a large present-day server.
struct EstimateLimits {
  double cpus = 512;
  double cpu_flops = 1e11;  // of one CPU, FLOP/s
  double gpus = 16;
  double gpu_flops = 2e14;  // of one GPU, FLOP/s
  // s. Unused time is saved for this long: a machine may report a month's work after a month of silence.
  double saved_time = 60 * 86400.0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.cpus, s.cpu_flops, s.gpus, s.gpu_flops, s.saved_time);
  }
};

// Shortest job that is believed on one device; bounds the number of jobs by time.
inline constexpr double kEstimateShortestJob = 1;  // s

// Frozen numbers: bits of Estimate.bounds.
enum EstimateBound : std::uint32_t {
  kEstimateMachine = 1u << 0,    // the stated size exceeds EstimateLimits
  kEstimateCredit = 1u << 1,     // more credit than the machine's speed allows in the time
  kEstimateRunTime = 1u << 2,    // more seconds than the devices have had
  kEstimateJobs = 1u << 3,       // more jobs than the devices can have ended
  kEstimateFailed = 1u << 4,     // more failed jobs, or seconds of failed jobs, than of all jobs
  kEstimateRestarted = 1u << 5,  // not a bound: the counters restarted
};
// Display name of one bit; empty for an unknown bit.
std::string_view EstimateBoundName(std::uint32_t bit);

// Size of a machine, as stated or as believed.
struct MachineSize {
  double cpus = 0;
  double cpu_flops = 0;
  double gpus = 0;
  double gpu_flops = 0;

  [[nodiscard]] double flops() const { return cpus * cpu_flops + gpus * gpu_flops; }
};

struct EstimateCounters {
  MicroCredit credit = 0;
  std::int64_t run_time = 0;  // microseconds; includes failed jobs
  std::uint64_t jobs = 0;     // ended; includes failed jobs
  std::uint64_t failed_jobs = 0;
  std::int64_t failed_run_time = 0;  // microseconds

  [[nodiscard]] bool empty() const { return *this == EstimateCounters{}; }
  friend bool operator==(const EstimateCounters&, const EstimateCounters&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.credit, s.run_time, s.jobs, s.failed_jobs, s.failed_run_time);
  }
};

// Highest counters so far of one resource at one project. The counters belong to the client, so a new host id
// does not restart them.
struct CounterHighWaterMark {
  Resource resource = Resource::kUnknown;
  double time = 0;  // UNIX s: of the newest report about the resource
  EstimateCounters counters;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.resource, s.time, s.counters);
  }
};

// Upper bounds per second of the four kinds of supply (EstimatePool).
struct EstimateRates {
  double flops = 0;
  double cpus = 0;
  double gpus = 0;
  double devices = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.flops, s.cpus, s.gpus, s.devices);
  }
};

// One kind of supply. `rate`: the highest rate believed so far, per second.
struct EstimateSupply {
  double rate = 0;
  double spent = 0;    // of the kept seconds, before `until`
  MicroTotal now = 0;  // spent at `until`

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.rate, s.spent, s.now);
  }
};

// The work that the machine can still have done in the elapsed time. The pool keeps seconds, not their worth: a
// newly believed size applies to all kept seconds, so the order of reports of one time does not matter. For the
// same reason, seconds beyond `saved` are dropped only when time advances.
struct EstimatePool {
  bool begun = false;
  double until = 0;         // UNIX s: elapsed time is counted up to here
  EstimateSupply credit;    // FLOP/s; micro-credits
  EstimateSupply cpu_time;  // CPUs; microseconds
  EstimateSupply gpu_time;  // GPUs; microseconds
  EstimateSupply jobs;      // devices; jobs
  double kept = 0;          // s up to `until`
  double saved = 0;         // s: at most this many of the kept seconds count
  // Higher rates from later reports without growth; in force from the next advance of time.
  std::optional<EstimateRates> pending_rates;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.begun, s.until, s.credit, s.cpu_time, s.gpu_time, s.jobs, s.kept, s.saved, s.pending_rates);
  }
};

// Allowance of a machine, over all its projects.
// Invariant: reports of one time share one pool, so their order changes no sum.
struct EstimateAllowance {
  bool started = false;
  double since = 0;  // UNIX s: start of the counted time
  EstimatePool pool;
  double saved_time = 0;  // s: the longest of all projects with an event about the machine

  // Records an event about the machine at `time`, at a project with these limits. Until the first report
  // with growth, `since` is the earliest such time; afterwards `since` does not change.
  void StartAt(double time, const EstimateLimits& limits);

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.started, s.since, s.pool, s.saved_time);
  }
};

struct ResourceUse {
  Resource resource = Resource::kUnknown;
  EstimateCounters counters;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.resource, s.counters);
  }
};

// Growth that was cut off from a project's newest reports, which all have the same time.
struct EstimateCut {
  double until = 0;               // UNIX s: the machine's EstimatePool::until; a later value voids the cut
  double time = 0;                // UNIX s: of the reports
  std::uint64_t event = 0;        // id of the newest report
  std::vector<ResourceUse> uses;  // ascending by resource

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.until, s.time, s.event, s.uses);
  }
};

// A machine at one project: its highest counters, and the pool under this project's own limits.
struct EstimateStanding {
  std::vector<CounterHighWaterMark> high_water_marks;
  EstimatePool pool;
  std::optional<EstimateCut> cut;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.high_water_marks, s.pool, s.cut);
  }
};

struct EstimateReport {
  double time = 0;  // UNIX s
  MachineSize size;
  std::vector<ResourceUse> uses;  // cumulative
  std::uint64_t event = 0;        // id
};

struct EstimateDecision {
  bool grown = false;  // false: a repeat or a superseded report; there is nothing to record
  double time = 0;     // UNIX s: of the report
  std::uint64_t event = 0;
  MicroCredit asked = 0;  // micro-credits; includes credit cut off before at the same time
  MicroCredit allowed = 0;
  std::uint32_t bounds = 0;
  double since = 0;
  double flops = 0;               // the highest speed of the machine believed so far
  std::vector<ResourceUse> uses;  // allowed growth, ascending by resource
};

// Seconds or Cobblestones in millionths, rounded; absent when not finite or beyond 64 bits.
std::optional<std::int64_t> CountOf(double value);

// Applies a report: advances the marks of its project and spends from both pools. `limits`: of its project.
// - A counter counts its growth above its mark; a counter that has not grown counts nothing.
// - A report older than the newest report about a resource is ignored for this resource.
// - The client has restarted if a later report has a lower value for every counter that was above 0: all
//   counters then grow from 0. Only the time distinguishes such a report from an older report that arrives late.
EstimateDecision Decide(const EstimateReport& report, const EstimateLimits& limits,
                        EstimateStanding& standing, EstimateAllowance& allowance);

// Returns the part of a project's cut-off growth that is allowed now, if the machine's time has not advanced
// since the cut. Call after each Decide() for each project of the machine, ascending by project.
EstimateDecision Revive(EstimateStanding& standing, EstimateAllowance& allowance);

}  // namespace cobblestone::credit
