#include "tests/support/oracle_estimates.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tests/support/oracle_rules.h"

namespace cobblestone::testing {
namespace {

constexpr double kDay = 86400;
constexpr double kMonth = 30 * kDay;
constexpr std::size_t kKeptUpdates = 8;

const char* NotBelowZero(std::initializer_list<double> numbers) {
  for (const double number : numbers) {
    if (!std::isfinite(number)) return "NOT_FINITE";
    if (number < 0) return "NEGATIVE";
  }
  return nullptr;
}

template <class Count>
Count Above(Count now, Count* highest) {
  const Count more = now > *highest ? now - *highest : 0;
  *highest = std::max(now, *highest);
  return more;
}

}  // namespace

const char* BadEstimate(const v1::EstimatedCredit& event) {
  if (event.machine() == 0 || event.host() == 0) return "MISSING_FIELD";
  if (const char* bad = NotBelowZero({event.cpus(), event.cpu_flops(), event.gpus(), event.gpu_flops()}))
    return bad;
  for (const v1::ResourceCounter& counter : event.counters()) {
    if (counter.resource() > v1::RESOURCE_APPLE_GPU) return "OUT_OF_RANGE";
    if (const char* bad = NotBelowZero({counter.credit(), counter.run_time(), counter.failed_run_time()}))
      return bad;
  }
  return nullptr;
}

const char* BadMachineHost(const v1::MachineHost& event) {
  return event.machine() == 0 || event.host() == 0 ? "MISSING_FIELD" : nullptr;
}

const char* BadEstimateLimits(const v1::EstimateLimits& event) {
  return NotBelowZero({event.cpus(), event.cpu_flops(), event.gpus(), event.gpu_flops(), event.saved_time()});
}

void OracleEstimates::SetLimits(std::uint32_t project, const v1::EstimateLimits& event) {
  Limits& limits = limits_[project];
  if (event.has_cpus()) limits.cpus = event.cpus();
  if (event.has_cpu_flops()) limits.cpu_flops = event.cpu_flops();
  if (event.has_gpus()) limits.gpus = event.gpus();
  if (event.has_gpu_flops()) limits.gpu_flops = event.gpu_flops();
  if (event.has_saved_time()) limits.saved_time = event.saved_time();
}

void OracleEstimates::Apply(const v1::Envelope& e, std::string_view bytes, const Refuse& refuse) {
  Machine& machine = machines_[e.machine_host().machine()];
  AtProject& at = machine.projects[e.project()];
  for (const auto& [when, update] : at.updates) {
    if (when.second != e.id()) continue;
    if (update.bytes != bytes) refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return;
  }
  if (!machine.known || (!machine.time.until && e.time() < machine.since)) machine.since = e.time();
  machine.known = true;
  machine.keeps = std::max(machine.keeps, limits_[e.project()].saved_time);
  at.updates[{e.time(), e.id()}] = {e.machine_host(), std::string(bytes)};
  if (at.updates.size() > kKeptUpdates) at.updates.erase(at.updates.begin());
  for (const auto& [waiting, line] : std::exchange(at.waiting, {})) {
    v1::Envelope report;
    report.ParseFromString(waiting);
    Count(report, waiting, line, refuse);
  }
}

void OracleEstimates::Report(const v1::Envelope& e, std::string_view bytes, std::uint64_t line,
                             const Refuse& refuse) {
  AtProject& at = machines_[e.estimated_credit().machine()].projects[e.project()];
  if (!at.updates.empty()) return Count(e, bytes, line, refuse);
  for (const auto& [other, other_line] : at.waiting)
    if (other == bytes) return;
  if (at.waiting.empty()) at.waits_since = std::max(e.time(), ticks_[e.project()]);
  at.waiting.emplace_back(bytes, line);
}

bool OracleEstimates::Grow(double time, const v1::ResourceCounter& counter, Mark* mark, Counters* grown) {
  if (time < mark->time) return false;
  const Counters now{.credit = ToMicro(counter.credit()).value(),
                     .run_time = ToMicro(counter.run_time()).value(),
                     .jobs = counter.jobs(),
                     .failed_jobs = counter.failed_jobs(),
                     .failed_run_time = ToMicro(counter.failed_run_time()).value()};
  Counters& highest = mark->highest;
  // A restarted client: no counter has stayed equal or grown.
  int fallen = 0;
  int stands = 0;
  const auto compare = [&](auto value, auto before) {
    if (value < before) ++fallen;
    if (before != 0 && value >= before) ++stands;
  };
  compare(now.credit, highest.credit);
  compare(now.run_time, highest.run_time);
  compare(now.jobs, highest.jobs);
  compare(now.failed_jobs, highest.failed_jobs);
  compare(now.failed_run_time, highest.failed_run_time);
  if (time > mark->time && fallen > 0 && stands == 0) highest = {};
  mark->time = time;
  *grown = {.credit = Above(now.credit, &highest.credit),
            .run_time = Above(now.run_time, &highest.run_time),
            .jobs = Above(now.jobs, &highest.jobs),
            .failed_jobs = Above(now.failed_jobs, &highest.failed_jobs),
            .failed_run_time = Above(now.failed_run_time, &highest.failed_run_time)};
  return grown->credit != 0 || grown->run_time != 0 || grown->jobs != 0 || grown->failed_jobs != 0 ||
         grown->failed_run_time != 0;
}

double OracleEstimates::Worth(int thing, double all) {
  if (thing == kCredit) return all * 200 / (kDay * 1e9) * 1e6;
  return thing == kJobs ? all : all * 1e6;
}

// Seconds beyond the kept time are dropped together with the credit that was given for them.
void OracleEstimates::Pass(double since, double now, Time* time) {
  if (!time->until) time->until = since;
  if (now <= *time->until) return;
  const double beyond = std::max(time->kept - time->keeps, 0.0);
  for (int thing = 0; thing < kThings; ++thing) {
    time->had[thing] = std::max(time->had[thing] - Worth(thing, time->rates[thing] * beyond), 0.0) +
                       static_cast<double>(std::exchange(time->had_now[thing], 0));
  }
  time->kept += now - *time->until - beyond;
  time->until = now;
}

template <class Number>
Number OracleEstimates::Give(int thing, Number asked, Time* here, Time* at_all) {
  for (const Time* time : {here, at_all}) {
    // The highest rate that was ever accepted counts, for the whole time.
    const double rate = time->rates[thing];
    const double all =
        std::min(Worth(thing, rate * time->kept) - time->had[thing], Worth(thing, rate * time->keeps));
    const double left = std::floor(std::max(all, 0.0)) - static_cast<double>(time->had_now[thing]);
    if (static_cast<double>(asked) > left) asked = static_cast<Number>(std::max(left, 0.0));
  }
  for (Time* time : {here, at_all}) time->had_now[thing] += asked;
  return asked;
}

EstimateOutcome OracleEstimates::GiveAll(double at, const std::map<int, Counters>& asked, AtProject* project,
                                         Machine* machine) {
  EstimateOutcome given;
  project->refused.clear();
  project->refused_at = machine->time.until;
  project->refused_time = at;
  for (const auto& [resource, use] : asked) {
    const auto give = [&](int thing, auto number) {
      return Give(thing, number, &project->time, &machine->time);
    };
    Counters got;
    got.credit = give(kCredit, use.credit);
    got.run_time = give(resource == v1::RESOURCE_CPU ? kCpu : kGpu, use.run_time);
    got.jobs = give(kJobs, use.jobs);
    got.failed_jobs = std::min(use.failed_jobs, got.jobs);
    got.failed_run_time = std::min(use.failed_run_time, got.run_time);
    project->refused[resource] = {.credit = use.credit - got.credit,
                                  .run_time = use.run_time - got.run_time,
                                  .jobs = use.jobs - got.jobs,
                                  .failed_jobs = use.failed_jobs - got.failed_jobs,
                                  .failed_run_time = use.failed_run_time - got.failed_run_time};
    given.micro += got.credit;
    given.run_time += got.run_time;
    given.jobs += got.jobs;
    given.failed_jobs += got.failed_jobs;
    given.failed_run_time += got.failed_run_time;
  }
  return given;
}

// Posts to the machine's host at that time.
void OracleEstimates::Post(std::uint32_t project, const AtProject& at, double time, std::uint64_t line,
                           EstimateOutcome more) {
  const v1::MachineHost* host = &at.updates.begin()->second.event;
  for (const auto& [when, update] : at.updates)
    if (when.first <= time) host = &update.event;
  more.days[static_cast<std::int64_t>(std::floor(time / kDay))] = {more.micro, more.run_time, more.jobs,
                                                                   more.failed_jobs, more.failed_run_time};
  posted_.push_back({.time = time,
                     .line = line,
                     .result = 0,
                     .key = {project, host->user(), host->host()},
                     .estimate = true,
                     .micro = 0,
                     .more = std::move(more)});
}

void OracleEstimates::Count(const v1::Envelope& e, std::string_view bytes, std::uint64_t line,
                            const Refuse& refuse) {
  const v1::EstimatedCredit& event = e.estimated_credit();
  Machine& machine = machines_[event.machine()];
  AtProject& at = machine.projects[e.project()];
  if (at.report.second == e.id()) {
    if (at.report_bytes != bytes) refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return;
  }
  const v1::MachineHost* host = &at.updates.begin()->second.event;
  for (const auto& [when, update] : at.updates)
    if (when.first <= e.time()) host = &update.event;
  if (host->gone()) return refuse("UNKNOWN_HOST");
  if (host->host() != event.host()) return refuse("WRONG_HOST");
  for (const v1::ResourceCounter& counter : event.counters()) {
    if (counter.resource() == v1::RESOURCE_UNKNOWN) return refuse("MISSING_FIELD");
    if (!ToMicro(counter.credit()) || !ToMicro(counter.run_time()) || !ToMicro(counter.failed_run_time()))
      return refuse("OUT_OF_RANGE");
  }
  std::map<int, Counters> uses;
  for (const v1::ResourceCounter& counter : event.counters()) {
    Counters grown;
    if (!Grow(e.time(), counter, &at.marks[counter.resource()], &grown)) continue;
    Counters& sum = uses[counter.resource()];
    sum.credit += grown.credit;
    sum.run_time += grown.run_time;
    sum.jobs += grown.jobs;
    sum.failed_jobs += grown.failed_jobs;
    sum.failed_run_time += grown.failed_run_time;
  }
  if (!machine.known || (!machine.time.until && e.time() < machine.since)) machine.since = e.time();
  machine.known = true;
  machine.keeps = std::max(machine.keeps, limits_[e.project()].saved_time);
  const Limits limits = limits_[e.project()];
  const double cpus = std::min(event.cpus(), limits.cpus);
  const double gpus = std::min(event.gpus(), limits.gpus);
  const Rates rates{cpus * std::min(event.cpu_flops(), limits.cpu_flops) +
                        gpus * std::min(event.gpu_flops(), limits.gpu_flops),
                    cpus, gpus, cpus + gpus};
  for (auto& [time, keeps] :
       {std::pair{&at.time, limits.saved_time}, std::pair{&machine.time, machine.keeps}}) {
    if (!uses.empty()) Pass(machine.since, e.time(), time);
    const bool now = time->until && e.time() <= *time->until;
    if (now) time->keeps = keeps;
    for (int thing = 0; thing < kThings; ++thing) {
      double& fastest = now ? time->rates[thing] : time->next[thing];
      fastest = std::max(fastest, rates[thing]);
      if (!uses.empty())
        time->rates[thing] = std::max(time->rates[thing], std::exchange(time->next[thing], 0));
    }
  }
  if (!uses.empty()) {
    if (std::pair(e.time(), e.id()) > at.report) {
      at.report = {e.time(), e.id()};
      at.report_bytes = bytes;
    }
    if (at.refused_at == machine.time.until && at.refused_time == e.time())
      for (const auto& [resource, more] : at.refused) {
        Counters& sum = uses[resource];
        sum.credit += more.credit;
        sum.run_time += more.run_time;
        sum.jobs += more.jobs;
        sum.failed_jobs += more.failed_jobs;
        sum.failed_run_time += more.failed_run_time;
      }
    Post(e.project(), at, e.time(), line, GiveAll(e.time(), uses, &at, &machine));
  }
  // Refused parts of other projects' reports of the same time may be acceptable now.
  for (auto& [project, other] : machine.projects) {
    if (!machine.time.until || other.refused_at != machine.time.until) continue;
    const v1::MachineHost* then = &other.updates.begin()->second.event;
    for (const auto& [when, update] : other.updates)
      if (when.first <= other.refused_time) then = &update.event;
    if (then->gone()) continue;
    const std::map<int, Counters> asked = other.refused;
    EstimateOutcome more = GiveAll(other.refused_time, asked, &other, &machine);
    if (more.micro != 0 || more.run_time != 0 || more.jobs != 0)
      Post(project, other, other.refused_time, line, std::move(more));
  }
}

void OracleEstimates::Tick(std::uint32_t project, double time, const Refuse& refuse) {
  ticks_[project] = time;
  for (auto& [id, machine] : machines_) {
    const auto at = machine.projects.find(project);
    if (at == machine.projects.end() || at->second.waiting.empty()) continue;
    if (!(at->second.waits_since + kMonth < time)) continue;
    for (std::size_t i = 0; i < at->second.waiting.size(); ++i) refuse("UNKNOWN_HOST");
    at->second.waiting.clear();
  }
}

void OracleEstimates::Granted(const EstimateKey& key, std::int64_t micro, double time, std::uint64_t line,
                              std::uint64_t result) {
  if (micro <= 0) return;
  posted_.push_back({.time = time,
                     .line = line,
                     .result = result,
                     .key = key,
                     .estimate = false,
                     .micro = micro,
                     .more = {}});
}

namespace {

EstimateKey HeirOf(const OracleMerges& merges, const EstimateKey& key) {
  return {key.project, key.user, merges.HeirOf({key.project, key.host}, key.user).second};
}

void AddTo(const EstimateOutcome& more, EstimateOutcome* sum) {
  sum->micro += more.micro;
  sum->run_time += more.run_time;
  sum->jobs += more.jobs;
  sum->failed_jobs += more.failed_jobs;
  sum->failed_run_time += more.failed_run_time;
  sum->granted += more.granted;
  for (const auto& [day, of_day] : more.days) {
    EstimateDayOutcome& to = sum->days[day];
    to.micro += of_day.micro;
    to.run_time += of_day.run_time;
    to.jobs += of_day.jobs;
    to.failed_jobs += of_day.failed_jobs;
    to.failed_run_time += of_day.failed_run_time;
  }
}

}  // namespace

void OracleEstimates::Unite(const OracleMerges& merges, std::map<EstimateKey, EstimateOutcome>* estimates) {
  for (auto one = estimates->begin(); one != estimates->end();) {
    const EstimateKey heir = HeirOf(merges, one->first);
    if (heir == one->first) {
      ++one;
      continue;
    }
    AddTo(one->second, &(*estimates)[heir]);
    one = estimates->erase(one);
  }
}

void OracleEstimates::Order(const OracleMerges& merges, std::map<EstimateKey, EstimateOutcome>* estimates) {
  std::stable_sort(posted_.begin(), posted_.end(), [](const Posted& a, const Posted& b) {
    return std::tie(a.time, a.line, a.result) < std::tie(b.time, b.line, b.result);
  });
  for (const Posted& one : posted_) {
    const EstimateKey key = HeirOf(merges, one.key);
    if (one.estimate) {
      AddTo(one.more, &(*estimates)[key]);
    } else if (const auto known = estimates->find(key); known != estimates->end()) {
      known->second.granted += one.micro;
    }
  }
  posted_.clear();
}

}  // namespace cobblestone::testing
