// Clients that decide by common/workfetch.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "common/workfetch/accounting.h"
#include "common/workfetch/choice.h"
#include "common/workfetch/round_robin.h"
#include "services/fleet/work_fetch.h"

namespace cobblestone::fleet {
namespace {

// Debts decide whether an overworked project may be asked, and change slowly.
constexpr double kLookAgain = 3600;  // s

workfetch::Client ClientOf(workfetch::Variant variant, const HostNow& host, const ClientState& state) {
  workfetch::Client client;
  client.variant = variant;
  client.preferences.connect_interval = host.buffer_min;
  client.preferences.additional_work = host.buffer_extra;
  // Decisions are as far apart as events of the host, and the host does not sleep between them without notice.
  client.preferences.period = workfetch::kNever;
  client.on_fraction = state.on_fraction;
  client.resources.resize(host.instances[1] > 0 ? 2 : 1);
  for (std::size_t r = 0; r < client.resources.size(); ++r) {
    client.resources[r].instances = host.instances[r];
    client.resources[r].speed = host.speed[r] / host.speed[0];
  }
  client.projects.resize(host.projects.size());
  for (std::size_t p = 0; p < host.projects.size(); ++p) {
    workfetch::Project& project = client.projects[p];
    const ClientState::AtProject& kept = state.projects[p];
    project.share = host.projects[p].share;
    project.recent_flops = kept.recent_flops;
    for (std::size_t r = 0; r < 2; ++r) {
      project.debt[r] = kept.debt[r];
      project.used[r] = kept.used[r];
      project.backoff[r] = workfetch::Backoff(kept.backoff[r], kept.backoff_until[r]);
    }
  }
  client.jobs.reserve(host.jobs.size());
  for (const QueuedJob& queued : host.jobs) {
    const std::size_t r = queued.gpu ? 1 : 0;
    client.projects[queued.project].used[r] += queued.used;
    if (queued.remaining <= 0) continue;
    workfetch::Job job;
    job.project = queued.project;
    job.resource = r;
    job.usage[r] = queued.threads;
    job.estimate = queued.estimate;
    job.duration = queued.duration;
    job.remaining = queued.remaining;
    client.jobs.push_back(job);
  }
  return client;
}

void Keep(const workfetch::Client& client, double now, ClientState* state) {
  for (std::size_t p = 0; p < client.projects.size(); ++p) {
    const workfetch::Project& project = client.projects[p];
    ClientState::AtProject& kept = state->projects[p];
    kept.recent_flops = static_cast<float>(project.recent_flops);
    for (std::size_t r = 0; r < 2; ++r) {
      kept.debt[r] = static_cast<float>(project.debt[r]);
      kept.used[r] = 0;
      kept.backoff[r] = static_cast<float>(project.backoff[r].interval());
      kept.backoff_until[r] = static_cast<std::uint32_t>(project.backoff[r].until());
    }
  }
  state->decided = static_cast<std::uint32_t>(now);
}

// When the decision may be another one if nothing was asked: a job ends, a queue falls below the buffer, a backoff ends.
double NextDecision(const workfetch::Client& client, const workfetch::RoundRobin& queue,
                    const HostNow& host) {
  double next = workfetch::kNever;
  for (const QueuedJob& job : host.jobs)
    if (job.end > host.now) next = std::min(next, job.end);
  const bool rec = client.variant == workfetch::Variant::kRec;
  const double wanted = rec ? host.buffer_min : host.buffer_min + host.buffer_extra;
  const bool starves =
      !rec && std::any_of(client.projects.begin(), client.projects.end(), [&](const auto& p) {
        const auto index = static_cast<std::size_t>(&p - client.projects.data());
        return std::none_of(client.jobs.begin(), client.jobs.end(),
                            [&](const workfetch::Job& job) { return job.project == index; });
      });
  for (std::size_t r = 0; r < client.resources.size(); ++r) {
    const double fills = queue.saturated[r] - wanted;
    if (fills > 0) next = std::min(next, host.now + fills);
    if (fills > 0 && !starves) continue;
    for (const workfetch::Project& project : client.projects) {
      const double until = project.backoff[r].until();
      next = std::min(next, until > host.now ? until : host.now + kLookAgain);
    }
  }
  return next;
}

}  // namespace

double LibraryFetch::Decide(const HostNow& host, const Ask& ask, ClientState* state) const {
  workfetch::Client client = ClientOf(variant_, host, *state);
  workfetch::Account(client, host.now, host.now - state->decided);
  workfetch::RoundRobin queue = workfetch::SimulateRoundRobin(client, workfetch::Until::kBufferEnds);
  for (std::size_t r = 0; r < client.resources.size(); ++r) {
    if (!host.at_limit[r]) continue;
    queue.saturated[r] = workfetch::kNever;
    queue.shortfall[r] = queue.idle_now[r] = 0;
  }
  const std::optional<workfetch::WorkRequest> chosen = workfetch::ChooseRequest(client, queue, host.now);
  double next = host.now;
  if (chosen) {
    WorkRequest request;
    request.project = static_cast<std::uint32_t>(chosen->project);
    for (std::size_t r = 0; r < client.resources.size(); ++r) {
      // The scheduler counts s of execution; the client wants them within the time that it is off, too.
      request.seconds[r] = chosen->seconds[r] * client.on_fraction;
      request.instances[r] = chosen->instances[r];
    }
    const std::array<std::uint32_t, 2> sent = ask(request);
    std::vector<workfetch::Job> jobs;
    for (std::size_t r = 0; r < 2; ++r) {
      if (sent[r] == 0) continue;
      jobs.emplace_back();
      jobs.back().resource = r;
    }
    workfetch::ApplyReply(client, *chosen, jobs, host.now);
  } else {
    next = NextDecision(client, queue, host);
  }
  Keep(client, host.now, state);
  return next;
}

}  // namespace cobblestone::fleet
