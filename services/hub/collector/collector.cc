#include "services/hub/collector/collector.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "common/base/thread.h"

namespace cobblestone::hub {

namespace {

constexpr double kLongestWait = 1;  // s between two looks at what is due

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

// Threads that each have a fetcher, and the projects that wait for one. A project is with one thread at a time.
class Rounds {
 public:
  Rounds(const CollectorOptions& options, HubIntake& hub, const ReportProject& report,
         const std::function<double()>& clock, const std::stop_token& stop)
      : options_(options), hub_(hub), report_(report), clock_(clock), stopped_(stop, [this] {
          stop_.request_stop();
        }) {}
  ~Rounds() { (void)Finish(); }
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  Status Open() {
    for (const CollectedProject& project : options_.projects) {
      auto feed = ProjectFeed::Open(DirectoryOf(options_.directory, project.id), project);
      if (!feed.ok()) return feed.status();
      works_.push_back({.feed = std::move(*feed)});
    }
    const std::size_t threads = std::min<std::size_t>(std::max(1u, options_.threads), works_.size());
    for (std::size_t i = 0; i < threads; ++i) {
      auto fetcher = Fetcher::Create(options_.fetcher);
      if (!fetcher.ok()) return fetcher.status();
      fetchers_.push_back(std::move(*fetcher));
    }
    for (const auto& fetcher : fetchers_) threads_.emplace_back([this, &fetcher] { Serve(*fetcher); });
    return Status::Ok();
  }

  // Hands out the projects that are due, the one that is due longest first. The time at which another one will be due.
  double Begin(double now) {
    const std::lock_guard lock(mutex_);
    double soonest = now + kLongestWait;
    std::vector<std::pair<double, Work*>> due;
    for (Work& work : works_) {
      if (work.busy) continue;
      const double next = work.feed->next(options_.schedule);
      if (options_.once || next <= now) {
        due.emplace_back(next, &work);
      } else {
        soonest = std::min(soonest, next);
      }
    }
    std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [next, work] : due) {
      work->busy = true;
      waiting_.push_back(work);
    }
    ready_.notify_all();
    return soonest;
  }

  // Whether a project failed in a way that ends the collector, or it is to stop.
  [[nodiscard]] bool ended() const { return stop_.stop_requested(); }

  // Waits for the projects that were handed out. The first failure.
  Status Finish() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
    threads_.clear();
    return failed_;
  }

 private:
  struct Work {
    std::unique_ptr<ProjectFeed> feed;
    bool busy = false;  // handed out
  };

  void Serve(Fetcher& fetcher) {
    LowerThreadPriority();  // a hub on the same machine reads what is sent, and answers, before more is fetched
    std::unique_lock lock(mutex_);
    for (;;) {
      ready_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty() || stop_.stop_requested()) return;
      Work& work = *waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      ProjectFeed& feed = *work.feed;
      const Status round = feed.Round(
          fetcher, options_.limits, clock_(), hub_,
          [&](const std::string& message) {
            const std::lock_guard report_lock(report_mutex_);
            report_(feed.project(), message);
          },
          stop_.get_token());
      lock.lock();
      work.busy = false;
      if (round.ok()) continue;
      if (failed_.ok()) failed_ = round;
      stop_.request_stop();
    }
  }

  const CollectorOptions& options_;
  LockedIntake hub_;
  const ReportProject& report_;
  const std::function<double()>& clock_;
  std::stop_source stop_;
  const std::stop_callback<std::function<void()>> stopped_;
  std::vector<std::unique_ptr<Fetcher>> fetchers_;
  std::mutex report_mutex_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable ready_;
  std::vector<Work> works_;
  std::deque<Work*> waiting_;
  bool closed_ = false;
  Status failed_;
  std::vector<std::jthread> threads_;
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
  while (!rounds.ended()) {
    const double soonest = rounds.Begin(clock());
    if (options.once) break;
    wait(std::max(0.0, soonest - clock()));
  }
  return rounds.Finish();
}

}  // namespace cobblestone::hub
