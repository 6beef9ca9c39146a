// Quotas of projects for events that enter through a running program, over HTTP or its Unix socket. A process that
// opens a data directory itself, and producers that write to Kafka, have none.
//
// Each project has a token bucket for events and one for bytes of envelopes, which hold `burst` seconds of its quota.
// A batch is accepted whole while no bucket of its projects is empty, and may leave a bucket in debt; the project then
// waits until the debt is refilled. A batch of any size can therefore be sent, and over a longer time no project
// exceeds its quota by more than the burst and one batch.
//
// Threads: any. Memory: bounded. Projects beyond the first 10,000 that are not configured share the bucket of project 0.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/settings/run_settings.h"

namespace cobblestone::intake {

// Events and bytes of a batch by project. Owner: one thread.
class Charges {
 public:
  struct Use {
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;
  };

  Charges() = default;
  Charges(const Charges&) = delete;
  Charges& operator=(const Charges&) = delete;

  void Add(ProjectId project, std::size_t bytes) {
    if (last_ == nullptr || project != last_project_) {
      last_ = &by_project_[project];
      last_project_ = project;
    }
    ++last_->events;
    last_->bytes += bytes;
  }
  [[nodiscard]] const std::map<ProjectId, Use>& by_project() const { return by_project_; }

 private:
  std::map<ProjectId, Use> by_project_;
  ProjectId last_project_;
  Use* last_ = nullptr;  // of last_project_; consecutive lines are mostly of one project
};

// A project that must wait.
struct Excess {
  ProjectId project;
  std::string_view quota;   // "events_per_second" or "bytes_per_second"
  std::uint64_t limit = 0;  // the value of the quota
  double wait = 0;          // s until the project may send again; more than 0
};
// "project 1 is beyond its quota of 1000 events per second"
std::string ExcessText(const Excess& excess);

class Quotas {
 public:
  // `steady`: s of a monotonic clock; the system's if empty.
  explicit Quotas(const settings::RunSettings& settings, std::function<double()> steady = {});

  // None: accepted and charged. Else the excess with the longest wait; nothing is charged.
  std::optional<Excess> Take(const Charges& charges);
  // For a sender that can send events of these projects only: none if one of them may send now, else the shortest wait.
  // A refusal counts as Take() counts it.
  std::optional<Excess> TakeNone(const std::vector<ProjectId>& projects);

  struct ProjectUse {
    ProjectId project;
    // Since the process started.
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;
    std::uint64_t throttled = 0;  // refused requests
    // 0: no quota.
    std::uint64_t events_per_second = 0;
    std::uint64_t bytes_per_second = 0;
  };
  // Projects that have sent something, or were refused, ascending.
  [[nodiscard]] std::vector<ProjectUse> Look() const;

 private:
  struct Bucket {
    std::uint64_t per_second = 0;  // 0: no limit
    double left = 0;               // negative: in debt
  };
  struct Project {
    Bucket events;
    Bucket bytes;
    double at = 0;  // s, of `left`
    ProjectUse use;
  };

  // The following functions need mutex_.
  Project& Of(ProjectId project, double now);
  std::optional<Excess> ExcessOf(ProjectId id, const Project& project) const;

  const settings::QuotaSettings usual_;
  const std::map<ProjectId, settings::ProjectEntry> configured_;
  const double burst_;  // s
  const std::function<double()> steady_;
  mutable std::mutex mutex_;
  std::map<ProjectId, Project> projects_;  // guarded by mutex_
};

}  // namespace cobblestone::intake
