#include "common/workfetch/round_robin.h"

#include <algorithm>
#include <cmath>

namespace cobblestone::workfetch {
namespace {

constexpr double kLeastShare = 1e-9;  // a project without a share gets what others leave
constexpr double kEpsilon = 1e-6;

// The CPU jobs of one project, or the jobs of one coprocessor, in order of arrival. Only the first ones run, so that a step need
// not look at all: [begin, front) have run, [rest, end) have not.
struct Queue {
  std::size_t begin = 0, front = 0, rest = 0, end = 0;
  double demand = 0;  // instances that all would use

  [[nodiscard]] bool empty() const { return begin == front && rest == end; }
};

class Simulation {
 public:
  explicit Simulation(const Client& client);

  // Sets the rates; returns the idle instances.
  PerResource SetRates();
  // The time until the next job ends.
  [[nodiscard]] double Step() const;
  // Runs all jobs for `step`, until `at`. `ends` may be null.
  void Advance(double step, double at, std::vector<double>* ends);

 private:
  [[nodiscard]] std::size_t QueueOf(const Job& job) const {
    return job.resource == kCpu ? job.project : client_.projects.size() + job.resource - 1;
  }
  // The next job of the rest; returns its place.
  std::size_t Take(Queue& queue) {
    Move(queue.rest++, queue.front);
    return queue.front++;
  }
  void Move(std::size_t from, std::size_t to) {
    if (from == to) return;
    job_[to] = job_[from];
    seconds_[to] = seconds_[from];
    usage_[to] = usage_[from];
    rate_[to] = rate_[from];
  }
  void RunOnCpus(Queue& queue, double instances);
  // False if a job waits.
  bool RunOnCoprocessor(Queue& queue, double& free, double& cpus);
  void DivideCpus(double cpus);

  const Client& client_;
  std::vector<Queue> queues_;  // of the CPU jobs by project, then of the coprocessors
  // Of each job that is left, in order of queues.
  std::vector<std::size_t> job_;
  std::vector<double> seconds_;  // of execution
  std::vector<double> usage_;    // instances of its resource
  std::vector<double> rate_;
  std::vector<double> got_;  // instances of the CPU, by project
  std::vector<char> open_;
};

Simulation::Simulation(const Client& client)
    : client_(client),
      queues_(client.projects.size() + client.resources.size() - 1),
      got_(client.projects.size()),
      open_(client.projects.size()) {
  for (const Job& job : client.jobs)
    if (client.projects[job.project].may_run()) ++queues_[QueueOf(job)].end;
  std::size_t begin = 0;
  for (Queue& queue : queues_) {
    queue.begin = queue.front = queue.rest = begin;
    begin += queue.end;
    queue.end = queue.begin;
  }
  job_.resize(begin);
  seconds_.resize(begin);
  usage_.resize(begin);
  rate_.resize(begin);
  for (std::size_t i = 0; i < client.jobs.size(); ++i) {
    const Job& job = client.jobs[i];
    if (!client.projects[job.project].may_run()) continue;
    Queue& queue = queues_[QueueOf(job)];
    const std::size_t at = queue.end++;
    job_[at] = i;
    seconds_[at] = job.estimated_remaining() / client.on_fraction;
    usage_[at] = job.usage[job.resource];
    queue.demand += usage_[at];
  }
}

// Sets got_: by share, no project more than its jobs use.
void Simulation::DivideCpus(double cpus) {
  for (std::size_t p = 0; p < got_.size(); ++p) {
    got_[p] = 0;
    open_[p] = queues_[p].demand > 0;
  }
  while (cpus > kEpsilon) {
    double shares = 0;
    for (std::size_t p = 0; p < got_.size(); ++p)
      if (open_[p]) shares += std::max(client_.projects[p].share, kLeastShare);
    if (shares == 0) break;
    bool closed = false;
    const double each = cpus / shares;
    for (std::size_t p = 0; p < got_.size(); ++p) {
      const double demand = queues_[p].demand;
      if (!open_[p] || demand > each * std::max(client_.projects[p].share, kLeastShare)) continue;
      got_[p] = demand;
      cpus -= demand;
      open_[p] = 0;
      closed = true;
    }
    if (closed) continue;
    for (std::size_t p = 0; p < got_.size(); ++p)
      if (open_[p]) got_[p] = each * std::max(client_.projects[p].share, kLeastShare);
    break;
  }
}

void Simulation::RunOnCpus(Queue& queue, double instances) {
  const auto run = [&](std::size_t i) {
    const double taken = std::min(instances, usage_[i]);
    instances -= taken;
    rate_[i] = taken == usage_[i] ? 1 : taken / usage_[i];
  };
  for (std::size_t i = queue.begin; i < queue.front; ++i) run(i);
  while (instances > 0 && queue.rest < queue.end) run(Take(queue));
}

bool Simulation::RunOnCoprocessor(Queue& queue, double& free, double& cpus) {
  bool waits = false;
  const auto run = [&](std::size_t i) {
    const bool fits = usage_[i] <= free + kEpsilon;
    rate_[i] = fits ? 1 : 0;
    waits = waits || !fits;
    if (!fits) return;
    free -= usage_[i];
    cpus += client_.jobs[job_[i]].usage[kCpu];
  };
  for (std::size_t i = queue.begin; i < queue.front; ++i) run(i);
  while (free > kEpsilon && queue.rest < queue.end) run(Take(queue));
  return !waits && queue.rest == queue.end;
}

PerResource Simulation::SetRates() {
  PerResource free{};
  for (std::size_t r = 0; r < client_.resources.size(); ++r) free[r] = client_.resources[r].instances;
  const std::size_t projects = client_.projects.size();
  double cpus_of_coprocessors = 0;
  for (std::size_t r = 1; r < client_.resources.size(); ++r)
    if (!RunOnCoprocessor(queues_[projects + r - 1], free[r], cpus_of_coprocessors)) free[r] = 0;
  // A fraction of a CPU beside a GPU displaces no CPU job.
  const double cpus = std::max(0.0, free[kCpu] - std::floor(cpus_of_coprocessors + kEpsilon));
  double demand = 0;
  for (std::size_t p = 0; p < projects; ++p) demand += queues_[p].demand;
  free[kCpu] = std::max(0.0, cpus - demand);
  if (demand > cpus) {
    DivideCpus(cpus);
    for (std::size_t p = 0; p < projects; ++p) RunOnCpus(queues_[p], got_[p]);
    return free;
  }
  for (std::size_t p = 0; p < projects; ++p) {
    Queue& queue = queues_[p];
    while (queue.rest < queue.end) Take(queue);
    for (std::size_t i = queue.begin; i < queue.front; ++i) rate_[i] = 1;
  }
  return free;
}

double Simulation::Step() const {
  double step = kNever;
  for (const Queue& queue : queues_) {
    for (std::size_t i = queue.begin; i < queue.front; ++i) {
      if (rate_[i] > 0) step = std::min(step, rate_[i] == 1 ? seconds_[i] : seconds_[i] / rate_[i]);
    }
  }
  return step;
}

void Simulation::Advance(double step, double at, std::vector<double>* ends) {
  for (Queue& queue : queues_) {
    for (std::size_t i = queue.begin; i < queue.front; ++i) seconds_[i] -= step * rate_[i];
    std::size_t kept = queue.begin;
    for (std::size_t i = queue.begin; i < queue.front; ++i) {
      if (rate_[i] > 0 && seconds_[i] <= kEpsilon) {
        if (ends != nullptr) (*ends)[job_[i]] = at;
        queue.demand -= usage_[i];
      } else {
        Move(i, kept++);
      }
    }
    queue.front = kept;
    // Sums of fractions do not come back to zero by themselves.
    if (queue.empty()) queue.demand = 0;
  }
}

}  // namespace

RoundRobin SimulateRoundRobin(const Client& client, Until until) {
  RoundRobin result;
  result.saturated.fill(kNever);
  if (until == Until::kAllEnd) result.end.assign(client.jobs.size(), kNever);
  Simulation simulation(client);
  const double buffer = client.preferences.buffer();
  const auto known = [&] {
    return std::all_of(result.saturated.begin(),
                       result.saturated.begin() + static_cast<std::ptrdiff_t>(client.resources.size()),
                       [](double at) { return at < kNever; });
  };
  for (double at = 0;;) {
    if (until == Until::kBufferEnds && at >= buffer && known()) return result;
    ++result.steps;
    const PerResource idle = simulation.SetRates();
    const double step = simulation.Step();
    for (std::size_t r = 0; r < client.resources.size(); ++r) {
      if (at == 0) result.idle_now[r] = std::max(result.idle_now[r], idle[r]);
      if (idle[r] < kEpsilon) continue;
      result.saturated[r] = std::min(result.saturated[r], at);
      if (at < buffer) result.shortfall[r] += idle[r] * (std::min(at + step, buffer) - at);
    }
    if (step == kNever) return result;
    at += step;
    simulation.Advance(step, at, until == Until::kAllEnd ? &result.end : nullptr);
  }
}

}  // namespace cobblestone::workfetch
