#include "common/workfetch/choice.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/workfetch/accounting.h"

namespace cobblestone::workfetch {
namespace {

constexpr double kLeastRequest = 1;  // s
constexpr double kIdle = 1e-6;       // of an instance

class Chooser {
 public:
  Chooser(const Client& client, const RoundRobin& queue, double now)
      : client_(client), queue_(queue), now_(now), priorities_(FetchPriorities(client)) {
    runnable_.assign(client.projects.size(), false);
    for (const Job& job : client.jobs)
      if (client.projects[job.project].may_run()) runnable_[job.project] = true;
    // Coprocessors first: they are faster, hence more important.
    for (std::size_t r = 1; r < client.resources.size(); ++r) order_.push_back(r);
    order_.push_back(kCpu);
  }

  std::optional<WorkRequest> ByDebt() const {
    for (const std::size_t r : order_) {
      if (!Before(r, client_.preferences.connect_interval)) continue;
      const auto p = Greatest(r, [](std::size_t) { return true; });
      if (!p) continue;
      WorkRequest request = Ask(*p, Reason::kMajor);
      const double mine = FetchableShare(*p, r);
      AskFor(
          request, r,
          std::min(queue_.shortfall[r], client_.preferences.buffer() * client_.resources[r].instances * mine),
          std::ceil(mine * queue_.idle_now[r]));
      return request;
    }
    for (const std::size_t r : order_) {
      if (!Before(r, client_.preferences.buffer())) continue;
      // The probe rule holds whatever the debt says.
      const auto p = Greatest(r, [&](std::size_t q) { return ProbeDue(q, r) || !Overworked(client_, q, r); });
      if (!p) continue;
      WorkRequest request = Ask(*p, Reason::kMinor);
      AskForShortfalls(request);
      return request;
    }
    for (const std::size_t r : order_) {
      const auto p = Greatest(r, [&](std::size_t q) { return !runnable_[q] && !Overworked(client_, q, r); });
      if (!p) continue;
      WorkRequest request = Ask(*p, Reason::kStarved);
      AskForShortfalls(request);
      // S004 asks for shortfalls only, which may all be zero. Then one job: a part of the buffer per project, as in the client of
      // March 2009, would make the queue longer than the buffer.
      if (!request.Wants(r)) AskFor(request, r, 0, 0);
      return request;
    }
    return std::nullopt;
  }

  std::optional<WorkRequest> ByRecentCredit() const {
    const auto all = [](std::size_t) { return true; };
    for (const std::size_t r : order_) {
      if (!Before(r, client_.preferences.connect_interval)) continue;
      const auto p = Greatest(r, all);
      if (!p) continue;
      WorkRequest request = Ask(*p, Reason::kLow);
      AskFor(request, r, queue_.shortfall[r], std::ceil(queue_.idle_now[r]));
      // Other types ride along if the project would be asked for them anyway.
      for (const std::size_t other : order_)
        if (other != r && queue_.shortfall[other] > 0 && Greatest(other, all) == p)
          AskFor(request, other, queue_.shortfall[other], std::ceil(queue_.idle_now[other]));
      return request;
    }
    return std::nullopt;
  }

 private:
  // True if an instance is idle now or within `seconds`.
  bool Before(std::size_t r, double seconds) const {
    return queue_.idle_now[r] > kIdle || queue_.saturated[r] < seconds;
  }

  bool MayAsk(std::size_t p, std::size_t r) const {
    return client_.projects[p].may_fetch(now_) && !client_.projects[p].backoff[r].Active(now_);
  }

  // Probe rule: once the longest backoff has expired, the project gets one request whatever its debt. Without it, a project that
  // never leads by debt is never asked again, and nobody finds out that it has jobs of this type now.
  bool ProbeDue(std::size_t p, std::size_t r) const {
    const Backoff& backoff = client_.projects[p].backoff[r];
    return client_.variant == Variant::kHybrid && backoff.AtLongest() && !backoff.Active(now_);
  }

  template <class Accepts>
  std::optional<std::size_t> Greatest(std::size_t r, const Accepts& accepts) const {
    std::optional<std::size_t> best;
    for (std::size_t p = 0; p < client_.projects.size(); ++p) {
      if (!MayAsk(p, r) || !accepts(p)) continue;
      if (best && ProbeDue(*best, r) > ProbeDue(p, r)) continue;
      if (!best || ProbeDue(*best, r) < ProbeDue(p, r) || priorities_[p] > priorities_[*best]) best = p;
    }
    return best;
  }

  double FetchableShare(std::size_t p, std::size_t r) const {
    double shares = 0;
    for (std::size_t q = 0; q < client_.projects.size(); ++q)
      if (MayAsk(q, r)) shares += client_.projects[q].share;
    return shares > 0 ? client_.projects[p].share / shares : 1;
  }

  WorkRequest Ask(std::size_t p, Reason reason) const {
    WorkRequest request{.project = p, .reason = reason, .on_fraction = client_.on_fraction};
    for (std::size_t r = 0; r < client_.resources.size(); ++r)
      request.delay[r] = queue_.idle_now[r] > kIdle ? 0 : queue_.saturated[r];
    return request;
  }

  void AskFor(WorkRequest& request, std::size_t r, double seconds, double instances) const {
    request.seconds[r] = std::max(seconds, kLeastRequest);
    request.instances[r] = instances;
    request.work_req_seconds = std::max(request.work_req_seconds, request.seconds[r]);
  }

  void AskForShortfalls(WorkRequest& request) const {
    for (const std::size_t r : order_)
      if (queue_.shortfall[r] > 0 || queue_.idle_now[r] > kIdle)
        AskFor(request, r, queue_.shortfall[r], std::ceil(queue_.idle_now[r]));
  }

  const Client& client_;
  const RoundRobin& queue_;
  double now_;
  std::vector<double> priorities_;
  std::vector<bool> runnable_;
  std::vector<std::size_t> order_;
};

}  // namespace

std::string_view NameOf(Reason reason) {
  switch (reason) {
    case Reason::kMajor: return "major";
    case Reason::kMinor: return "minor";
    case Reason::kStarved: return "starved";
    case Reason::kLow: break;
  }
  return "low";
}

std::optional<WorkRequest> ChooseRequest(const Client& client, const RoundRobin& queue, double now) {
  const Chooser chooser(client, queue, now);
  return client.variant == Variant::kRec ? chooser.ByRecentCredit() : chooser.ByDebt();
}

void ApplyReply(Client& client, const WorkRequest& request, const std::vector<Job>& jobs, double now) {
  Project& project = client.projects[request.project];
  std::array<bool, kMostResources> got{};
  for (const Job& job : jobs) {
    got[job.resource] = true;
    client.jobs.push_back(job);
  }
  for (std::size_t r = 0; r < client.resources.size(); ++r) {
    Backoff& backoff = project.backoff[r];
    if (got[r]) {
      backoff.Clear();
    } else if (request.Wants(r) && (client.variant == Variant::kSeed || !backoff.Active(now))) {
      // S004 extends the backoff with each request; BOINC's later clients not for a type that only rode along.
      backoff.NoJobs(now);
    }
  }
}

}  // namespace cobblestone::workfetch
