#include "services/hub/collector/collector.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace cobblestone::hub {

namespace {

constexpr double kLongestWait = 60;  // s

using Feeds = std::vector<std::unique_ptr<ProjectFeed>>;

// For several threads.
class LockedIntake final : public HubIntake {
 public:
  explicit LockedIntake(HubIntake& hub) : hub_(hub) {}
  Result<std::uint64_t> RefusedSoFar() override {
    const std::lock_guard lock(mutex_);
    return hub_.RefusedSoFar();
  }
  Result<SentEvents> Send(ProjectId project, const std::string& source, const std::string& file,
                          std::uint64_t refused_from) override {
    const std::lock_guard lock(mutex_);
    return hub_.Send(project, source, file, refused_from);
  }

 private:
  HubIntake& hub_;
  std::mutex mutex_;
};

// One round of some projects on several threads, each with a fetcher of its own.
class Rounds {
 public:
  Rounds(const CollectorOptions& options, HubIntake& hub, const ReportProject& report,
         const std::function<double()>& clock, const std::stop_token& stop)
      : options_(options), hub_(hub), report_(report), clock_(clock), stop_(stop) {}

  Status Open() {
    for (unsigned i = 0; i < std::max(1u, options_.threads); ++i) {
      auto fetcher = Fetcher::Create(options_.fetcher);
      if (!fetcher.ok()) return fetcher.status();
      fetchers_.push_back(std::move(*fetcher));
    }
    return Status::Ok();
  }

  Status Run(const std::vector<ProjectFeed*>& due) {
    next_ = 0;
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(fetchers_.size(), due.size()); ++i)
      others.emplace_back([this, &due, i] { RunSome(due, *fetchers_[i]); });
    RunSome(due, *fetchers_[0]);
    others.clear();
    return failed_;
  }

 private:
  void RunSome(const std::vector<ProjectFeed*>& due, Fetcher& fetcher) {
    for (std::size_t n = next_++; n < due.size() && !stop_.stop_requested(); n = next_++) {
      ProjectFeed& feed = *due[n];
      const Status round = feed.Round(
          fetcher, options_.limits, clock_(), hub_,
          [&](const std::string& message) {
            const std::lock_guard lock(report_mutex_);
            report_(feed.project(), message);
          },
          stop_);
      if (round.ok()) continue;
      const std::lock_guard lock(report_mutex_);
      if (failed_.ok()) failed_ = round;
      next_ = due.size();
    }
  }

  const CollectorOptions& options_;
  LockedIntake hub_;
  const ReportProject& report_;
  const std::function<double()>& clock_;
  const std::stop_token& stop_;
  std::vector<std::unique_ptr<Fetcher>> fetchers_;
  std::atomic<std::size_t> next_{0};
  std::mutex report_mutex_;
  Status failed_;  // guarded by report_mutex_
};

}  // namespace

std::string DirectoryOf(const std::string& directory, ProjectId project) {
  return directory + "/project-" + std::to_string(project.value);
}

Status Collect(const CollectorOptions& options, HubIntake& hub, const ReportProject& report,
               const std::function<double()>& clock, const std::function<void(double seconds)>& wait,
               const std::stop_token& stop) {
  Rounds rounds(options, hub, report, clock, stop);
  if (Status s = rounds.Open(); !s.ok()) return s;
  Feeds feeds;
  for (const CollectedProject& project : options.projects) {
    auto feed = ProjectFeed::Open(DirectoryOf(options.directory, project.id), project);
    if (!feed.ok()) return feed.status();
    feeds.push_back(std::move(*feed));
  }
  while (!stop.stop_requested()) {
    const double now = clock();
    double soonest = now + kLongestWait;
    std::vector<ProjectFeed*> due;
    for (const auto& feed : feeds) {
      const double next = feed->next(options.schedule);
      if (options.once || next <= now) {
        due.push_back(feed.get());
      } else {
        soonest = std::min(soonest, next);
      }
    }
    if (Status s = rounds.Run(due); !s.ok()) return s;
    if (options.once) break;
    wait(std::max(0.0, soonest - clock()));
  }
  return Status::Ok();
}

}  // namespace cobblestone::hub
