#include "common/workfetch/job_scheduler.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/workfetch/accounting.h"

namespace cobblestone::workfetch {
namespace {

constexpr double kTolerance = 1;  // s, of a deadline
constexpr double kEpsilonInstances = 1e-6;

double RunPriority(const Client& client, std::size_t project) {
  switch (client.variant) {
    case Variant::kSeed: return client.projects[project].debt[kCpu];
    case Variant::kRec: return RecPriority(client, project);
    case Variant::kHybrid: break;
  }
  return OverallDebt(client, project);
}

class Scheduling {
 public:
  Scheduling(Client& client, const RoundRobin& queue, double now) : client_(client) {
    for (std::size_t r = 0; r < client.resources.size(); ++r) free_[r] = client.resources[r].instances;
    for (std::size_t i = 0; i < client.jobs.size(); ++i) {
      Job& job = client.jobs[i];
      if (!client.projects[job.project].may_run()) {
        job.running = false;
        continue;
      }
      const bool endangered = now + queue.end[i] > job.deadline + kTolerance;
      candidates_.push_back({i, endangered, job.running});
      job.running = false;
    }
    std::stable_sort(candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
      if (a.endangered != b.endangered) return a.endangered;
      return a.endangered && client.jobs[a.job].deadline < client.jobs[b.job].deadline;
    });
  }

  void Coprocessors() {
    for (const bool continued : {true, false})
      for (const Candidate& candidate : candidates_)
        if (client_.jobs[candidate.job].resource != kCpu &&
            (candidate.endangered || candidate.was_running) == continued)
          TryStart(candidate.job);
    // A fraction of a CPU beside a GPU displaces no CPU job.
    free_[kCpu] = client_.resources[kCpu].instances - std::floor(cpus_of_coprocessors_ + kEpsilonInstances);
  }

  void Cpus(bool exchange) {
    std::vector<double> credit(client_.projects.size());
    for (std::size_t p = 0; p < credit.size(); ++p) credit[p] = RunPriority(client_, p);
    std::vector<std::size_t> waiting;
    for (const Candidate& candidate : candidates_) {
      const Job& job = client_.jobs[candidate.job];
      if (job.resource != kCpu) continue;
      if (!candidate.endangered && (exchange || !candidate.was_running)) {
        waiting.push_back(candidate.job);
      } else if (TryStart(candidate.job)) {
        Charge(job, credit);
      }
    }
    Filling filling = Fill(waiting, credit);
    // A job of several threads that comes second does not fit, and CPUs stay idle although there is work: then it comes first.
    if (filling.free > kEpsilonInstances) {
      const auto wide = std::max_element(waiting.begin(), waiting.end(), [&](std::size_t x, std::size_t y) {
        return client_.jobs[x].usage[kCpu] < client_.jobs[y].usage[kCpu];
      });
      if (wide != waiting.end()) {
        std::rotate(waiting.begin(), wide, wide + 1);
        const Filling wide_first = Fill(waiting, credit, true);
        if (wide_first.free < filling.free) filling = wide_first;
      }
    }
    for (const std::size_t i : filling.jobs) TryStart(i);
  }

 private:
  struct Candidate {
    std::size_t job;
    bool endangered;
    bool was_running;
  };

  struct Filling {
    std::vector<std::size_t> jobs;
    double free;
  };

  void Charge(const Job& job, std::vector<double>& credit) const {
    const double use = job.usage[kCpu] * client_.preferences.time_slice;
    const double day = client_.resources[kCpu].instances * kDay;
    credit[job.project] -= client_.variant == Variant::kRec ? use / day : use;
  }

  // The jobs to start on the free CPUs, by credit of their project; the first of `waiting` before all others if `keep_first`.
  Filling Fill(std::vector<std::size_t> waiting, std::vector<double> credit, bool keep_first = false) const {
    Filling result{.free = free_[kCpu]};
    for (; !waiting.empty() && result.free > kEpsilonInstances; keep_first = false) {
      auto best = waiting.begin();
      for (auto at = waiting.begin(); !keep_first && at != waiting.end(); ++at)
        if (credit[client_.jobs[*at].project] > credit[client_.jobs[*best].project]) best = at;
      const Job& job = client_.jobs[*best];
      if (job.usage[kCpu] <= result.free + kEpsilonInstances) {
        result.jobs.push_back(*best);
        result.free -= job.usage[kCpu];
        Charge(job, credit);
      }
      waiting.erase(best);
    }
    return result;
  }

  bool TryStart(std::size_t i) {
    Job& job = client_.jobs[i];
    if (job.usage[job.resource] > free_[job.resource] + kEpsilonInstances) return false;
    free_[job.resource] -= job.usage[job.resource];
    if (job.resource != kCpu) cpus_of_coprocessors_ += job.usage[kCpu];
    return job.running = true;
  }

  Client& client_;
  std::vector<Candidate> candidates_;
  PerResource free_{};
  double cpus_of_coprocessors_ = 0;
};

}  // namespace

void ScheduleJobs(Client& client, const RoundRobin& queue, double now, bool exchange) {
  Scheduling scheduling(client, queue, now);
  scheduling.Coprocessors();
  scheduling.Cpus(exchange);
}

}  // namespace cobblestone::workfetch
