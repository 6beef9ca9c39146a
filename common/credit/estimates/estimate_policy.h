// Continuous accounting (docs/rules.md, section 42; S003): how much of what an account manager reports of a machine is
// believed. Counters are cumulative, so a report is worth what they have grown by since the highest mark; growth is held
// to what the machine can have done in the time passed, over all its projects.
//
// Counts are integers (micro-credits, microseconds), so that sums do not depend on the order of reports. What a bound cuts
// off is gone: the mark moves on all the same, else a lie would be paid off bit by bit ever after.
//
// Pure. Invariants, whatever is reported in whatever order:
// - What is allowed is at most what is asked.
// - The sum of what is allowed over all reports of a machine is at most the highest FLOP/s believed x the time since the
//   machine was first heard of; over those of one project, the highest that this project believed x that time. So a project
//   that believes more lifts nobody else's limit, and one that believes less takes nothing from others.
// - In reports that come at once it is at most that FLOP/s x saved_time: of one project its own, of the machine the longest of
//   its projects.
// - Reports that nothing holds back come to the highest mark of each counter, in any order, with any repeats.
// - Reports of one time come to the same sum in any order, whichever of them tells how large the machine is: what was cut off
//   by a size that turns out larger at the same time is believed then (Revive). Of two projects that ask for the same time the
//   first has it, so what each of them gets does depend on their order where the machine's own limit binds; and so does what
//   counters bring that fall within one time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/base/added_in.h"
#include "common/credit/accounts/account.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// The most that a machine is believed to be, each set by the project (Settings.estimates). S003 names no numbers: the
// defaults are those of a large server of today.
struct EstimateLimits {
  double cpus = 512;
  double cpu_flops = 1e11;  // of one CPU, FLOP/s
  double gpus = 16;
  double gpu_flops = 2e14;  // of one GPU, FLOP/s
  // s. What it could have done and has not is kept for so long: a machine that was silent for a month and then reports a
  // month's work is in order.
  double saved_time = 60 * 86400.0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.cpus, s.cpu_flops, s.gpus, s.gpu_flops, AddedIn<2>(s.saved_time));
  }
};

// No job is shorter on a device than this, so that jobs are bounded by time too.
inline constexpr double kEstimateShortestJob = 1;  // s

// Frozen numbers: bits of Estimate.bounds.
enum EstimateBound : std::uint32_t {
  kEstimateMachine = 1u << 0,    // it says that it is more than a machine may be
  kEstimateCredit = 1u << 1,     // more credit than its speed allows in the time
  kEstimateRunTime = 1u << 2,    // more seconds than its devices have had
  kEstimateJobs = 1u << 3,       // more jobs than its devices can have ended
  kEstimateFailed = 1u << 4,     // more failed jobs, or seconds of them, than there are of all
  kEstimateRestarted = 1u << 5,  // no bound: its counters have begun again
};
// The name of one bit, for people; empty for others.
std::string_view EstimateBoundName(std::uint32_t bit);

// What a machine says that it is, or is believed to be.
struct MachineSize {
  double cpus = 0;
  double cpu_flops = 0;
  double gpus = 0;
  double gpu_flops = 0;

  [[nodiscard]] double flops() const { return cpus * cpu_flops + gpus * gpu_flops; }
};

struct EstimateCounters {
  MicroCredit credit = 0;
  std::int64_t run_time = 0;  // microseconds; of failed jobs too
  std::uint64_t jobs = 0;     // that have ended; failed ones too
  std::uint64_t failed_jobs = 0;
  std::int64_t failed_run_time = 0;  // microseconds

  [[nodiscard]] bool empty() const { return *this == EstimateCounters{}; }
  friend bool operator==(const EstimateCounters&, const EstimateCounters&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.credit, s.run_time, s.jobs, s.failed_jobs, s.failed_run_time);
  }
};

// How far the counters of one resource at one project have come. They are the client's, so a new host id does not begin
// new ones.
struct EstimateMark {
  Resource resource = Resource::kUnknown;
  double time = 0;  // UNIX s: of the newest report that told of it
  EstimateCounters counters;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.resource, s.time, s.counters);
  }
};

// The four things that a second brings, each at most so fast.
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

// One of the things that time brings: `rate` of it a second at most, as believed so far.
struct EstimateSupply {
  double rate = 0;
  double spent = 0;    // of the seconds kept, before `until`; in rows before version 3 what was left instead
  MicroTotal now = 0;  // spent at `until`

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.rate, s.spent, AddedIn<3>(s.now));
  }
};

// What can still be believed to have been done in the time that has passed. Seconds are kept, not what they are worth: what a
// machine is believed to be it may have been all the time, so that it does not matter which of several reports of one time
// tells of it first. For the same reason what is not kept any more is let go only when time passes.
struct EstimatePool {
  bool begun = false;
  double until = 0;         // UNIX s: up to when time was counted
  EstimateSupply credit;    // FLOP/s; micro-credits
  EstimateSupply cpu_time;  // CPUs; microseconds
  EstimateSupply gpu_time;  // GPUs; microseconds
  EstimateSupply jobs;      // devices; jobs
  double kept = -1;         // s up to `until`; below 0: not begun, or of a row before version 3
  double saved = 0;         // s: of them so many count
  // What reports that brought nothing tell, from when on time passes next.
  std::optional<EstimateRates> told;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.begun, s.until, s.credit, s.cpu_time, s.gpu_time, s.jobs, AddedIn<3>(s.kept), AddedIn<3>(s.saved),
      AddedIn<3>(s.told));
  }
};

// Of a machine, over all its projects.
// Invariant: reports of one time share one pool, so their order changes no sum.
struct EstimateAllowance {
  bool heard = false;
  double since = 0;  // UNIX s: from when on its time counts
  EstimatePool pool;
  double saved_time = 0;  // s: the longest of all projects that it was heard of at

  // The machine has been heard of at `time`, at a project with these limits. Until its first report the earliest counts.
  void Hear(double time, const EstimateLimits& limits);

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.heard, s.since, s.pool, AddedIn<2>(s.saved_time));
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

// What was cut off of the newest reports of one time.
struct EstimateCut {
  double until = 0;               // UNIX s: the machine's pool was counted up to then. Gone when that goes on
  double time = 0;                // UNIX s: of the reports
  std::uint64_t event = 0;        // id of the newest of them
  std::vector<ResourceUse> uses;  // ascending by resource

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.until, s.time, s.event, s.uses);
  }
};

// Of a machine at one project: how far its counters have come, and what this project's own limits leave of its time.
struct EstimateStanding {
  std::vector<EstimateMark> marks;
  EstimatePool pool;
  std::optional<EstimateCut> cut;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.marks, s.pool, AddedIn<3>(s.cut));
  }
};

struct EstimateReport {
  double time = 0;  // UNIX s
  MachineSize size;
  std::vector<ResourceUse> uses;  // cumulative
  std::uint64_t event = 0;        // id
};

struct EstimateDecision {
  bool grown = false;  // false: a repeat, or older than what counted, and nothing is to be told
  double time = 0;     // UNIX s: of the report
  std::uint64_t event = 0;
  MicroCredit asked = 0;  // what was cut off before at the same time is asked for again
  MicroCredit allowed = 0;
  std::uint32_t bounds = 0;
  double since = 0;
  double flops = 0;               // the most that is believed of the machine by now
  std::vector<ResourceUse> uses;  // what is allowed, ascending by resource
};

// Seconds or Cobblestones as counted; absent where they are beyond 64 bits.
std::optional<std::int64_t> CountOf(double value);

// Takes a report in: moves the marks of its project and spends of both pools. `limits`: of its project.
// - A counter counts what it has grown by over its mark; one that has not grown, nothing.
// - Of a resource a report that is older than the newest tells nothing.
// - Where a later report shows every counter that was above 0 lower, the client began anew: all of it has grown from 0. An
//   older report that arrives late shows the same, but for its time.
EstimateDecision Decide(const EstimateReport& report, const EstimateLimits& limits,
                        EstimateStanding& standing, EstimateAllowance& allowance);

// What was cut off at the time up to which the machine's is counted, of any of its projects, and is believed now. To be asked
// for each of them after each Decide(), ascending by project.
EstimateDecision Revive(EstimateStanding& standing, EstimateAllowance& allowance);

}  // namespace cobblestone::credit
