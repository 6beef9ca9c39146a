#include "common/workfetch/simulation.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "common/workfetch/accounting.h"
#include "common/workfetch/job_scheduler.h"
#include "common/workfetch/round_robin.h"

namespace cobblestone::workfetch {
namespace {

constexpr double kInstant = 1e-6;  // s; ends and times closer than this are the same

class World {
 public:
  World(const Scenario& scenario, Variant variant)
      : scenario_(scenario), client_(Start(scenario, variant)), meter_(client_) {
    for (const Participant& participant : scenario.projects) servers_.push_back(participant.server);
    outcome_.bin = scenario.bin;
    const auto bins = static_cast<std::size_t>(std::ceil(scenario.duration / scenario.bin));
    outcome_.used.assign(bins, std::vector<PerResource>(scenario.projects.size()));
  }

  Outcome Run() {
    while (now_ < scenario_.duration - kInstant) {
      ApplyEvents();
      if (on()) Decide();
      Advance(NextTime());
    }
    outcome_.metrics = meter_.Result(client_);
    outcome_.client = client_;
    return std::move(outcome_);
  }

 private:
  static Client Start(const Scenario& scenario, Variant variant) {
    COBBLESTONE_CHECK(scenario.resources.size() <= kMostResources, "more resource types than kMostResources");
    Client client{.variant = variant,
                  .resources = scenario.resources,
                  .preferences = scenario.preferences,
                  .on_fraction = std::min(1.0, scenario.on / scenario.cycle)};
    for (const Participant& participant : scenario.projects)
      client.projects.push_back(
          {.name = participant.name, .share = participant.share, .attached = participant.attached});
    return client;
  }

  bool always_on() const { return scenario_.on >= scenario_.cycle; }
  double cycle_start() const { return static_cast<double>(cycle_) * scenario_.cycle; }
  bool on() const { return always_on() || now_ < cycle_start() + scenario_.on - kInstant; }

  void ApplyEvents() {
    for (; next_event_ < scenario_.events.size(); ++next_event_) {
      const Event& event = scenario_.events[next_event_];
      if (event.at > now_ + kInstant) return;
      Project& project = client_.projects[event.project];
      switch (event.kind) {
        case Event::Kind::kAttach: project.attached = true; break;
        case Event::Kind::kSuspend: project.suspended = true; break;
        case Event::Kind::kResume: project.suspended = false; break;
        case Event::Kind::kNoMoreWork: project.no_more_work = true; break;
        case Event::Kind::kAllowWork: project.no_more_work = false; break;
        case Event::Kind::kNetworkOff: network_ = false; break;
        case Event::Kind::kNetworkOn: network_ = true; break;
        case Event::Kind::kReset:
          std::erase_if(client_.jobs, [&](const Job& job) { return job.project == event.project; });
          project.backoff = {};
          break;
      }
      changed_ = true;
    }
  }

  void Decide() {
    Account(client_, now_, now_ - accounted_);
    accounted_ = now_;
    RoundRobin queue = Queue();
    while (network_) {
      const auto request = ChooseRequest(client_, queue, now_);
      if (!request) break;
      Ask(*request);
      queue = Queue();
    }
    const bool exchange = now_ >= exchange_at_ - kInstant;
    if (exchange) exchange_at_ = now_ + scenario_.preferences.time_slice;
    if (exchange || changed_) ScheduleJobs(client_, queue, now_, exchange);
    changed_ = false;
  }

  void Ask(const WorkRequest& request) {
    const std::vector<Job> jobs = Serve(servers_[request.project], client_.resources, request, now_);
    ApplyReply(client_, request, jobs, now_);
    meter_.Asked(jobs.size());
    RequestRecord record{.at = now_, .request = request};
    for (const Job& job : jobs) ++record.jobs[job.resource];
    outcome_.requests.push_back(record);
    changed_ = true;
  }

  RoundRobin Queue() {
    RoundRobin queue = SimulateRoundRobin(client_);
    outcome_.most_steps = std::max(outcome_.most_steps, queue.steps);
    PerResource work{};
    for (const Job& job : client_.jobs)
      work[job.resource] += job.usage[job.resource] * job.estimated_remaining() / client_.on_fraction;
    for (std::size_t r = 0; r < client_.resources.size(); ++r)
      outcome_.longest_queue[r] =
          std::max(outcome_.longest_queue[r], work[r] / client_.resources[r].instances);
    return queue;
  }

  double NextTime() const {
    double next = std::min(scenario_.duration, static_cast<double>(bin_ + 1) * scenario_.bin);
    if (next_event_ < scenario_.events.size()) next = std::min(next, scenario_.events[next_event_].at);
    if (!always_on()) next = std::min(next, cycle_start() + (on() ? scenario_.on : scenario_.cycle));
    if (!on()) return next;
    next = std::min({next, now_ + scenario_.preferences.period, exchange_at_});
    for (const Job& job : client_.jobs)
      if (job.running) next = std::min(next, now_ + job.remaining);
    return next;
  }

  void Advance(double to) {
    if (on() && to > now_) {
      for (Job& job : client_.jobs) {
        if (!job.running) continue;
        job.remaining -= to - now_;
        for (std::size_t r = 0; r < client_.resources.size(); ++r) {
          const double used = job.usage[r] * (to - now_);
          client_.projects[job.project].used[r] += used;
          outcome_.used[bin_][job.project][r] += used;
        }
      }
      meter_.Ran(client_, to - now_);
    }
    now_ = to;
    if (now_ >= static_cast<double>(bin_ + 1) * scenario_.bin - kInstant) ++bin_;
    if (!always_on() && now_ >= cycle_start() + scenario_.cycle - kInstant) ++cycle_;
    std::erase_if(client_.jobs, [&](const Job& job) {
      if (!job.running || job.remaining > kInstant) return false;
      meter_.Finished(client_, job, now_);
      return changed_ = true;
    });
  }

  const Scenario& scenario_;
  Client client_;
  std::vector<Server> servers_;
  Meter meter_;
  Outcome outcome_;
  double now_ = 0;
  double accounted_ = 0;
  double exchange_at_ = 0;
  std::size_t bin_ = 0;
  std::size_t cycle_ = 0;
  std::size_t next_event_ = 0;
  bool network_ = true;
  bool changed_ = true;
};

}  // namespace

double Outcome::Used(std::size_t project, std::size_t resource, double from, double to) const {
  double sum = 0;
  const auto first = static_cast<std::size_t>(std::llround(from / bin));
  const auto last = std::min(used.size(), static_cast<std::size_t>(std::llround(to / bin)));
  for (std::size_t i = first; i < last; ++i) sum += used[i][project][resource];
  return sum;
}

double Outcome::Share(std::size_t project, std::size_t resource, double from, double to) const {
  double all = 0;
  for (std::size_t p = 0; p < client.projects.size(); ++p) all += Used(p, resource, from, to);
  return all > 0 ? Used(project, resource, from, to) / all : 0;
}

Outcome Simulate(const Scenario& scenario, Variant variant) { return World(scenario, variant).Run(); }

}  // namespace cobblestone::workfetch
