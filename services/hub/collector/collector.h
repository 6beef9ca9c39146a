// The loop of a federation hub's collector: one round after the other for each project, when it is due. No project waits for
// the round of another one while a thread is free.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/hub/collector/project_feed.h"
#include "services/hub/feeds/fetch_schedule.h"
#include "services/hub/feeds/fetcher.h"

namespace cobblestone::hub {

struct CollectorOptions {
  std::string directory;  // of all projects; each has a directory of its own
  std::vector<CollectedProject> projects;
  FetcherOptions fetcher{};
  FetchLimits limits{};
  ScheduleLimits schedule{};
  unsigned threads = 1;  // projects at a time; events are sent for one project at a time
  bool once = false;     // one round of every project, whether it is due or not; then the collector returns
};

// For people, about one project. Called by one thread at a time.
using ReportProject = std::function<void(const CollectedProject& project, const std::string& message)>;

// Until `stop`. `clock`: UNIX s. `wait` returns after at most that many seconds, or when `stop` was requested. A project
// that fails is reported and tried again later. `clock` is
// called by several threads, `hub` by one at a time. Errors: of the disk, and of `hub`; nothing is lost, and a new start
// continues.
Status Collect(const CollectorOptions& options, HubIntake& hub, const ReportProject& report,
               const std::function<double()>& clock, const std::function<void(double seconds)>& wait,
               const std::stop_token& stop);

// The directory of a project below that of the collector.
std::string DirectoryOf(const std::string& directory, ProjectId project);

}  // namespace cobblestone::hub
