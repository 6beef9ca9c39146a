#include "services/hub/collector/collector.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace cobblestone::hub {

namespace {

constexpr double kLongestWait = 60;  // s

}  // namespace

std::string DirectoryOf(const std::string& directory, ProjectId project) {
  return directory + "/project-" + std::to_string(project.value);
}

Status Collect(const CollectorOptions& options, const SendEvents& send, const ReportProject& report,
               const std::function<double()>& clock, const std::function<void(double seconds)>& wait,
               const std::stop_token& stop) {
  auto fetcher = Fetcher::Create(options.fetcher);
  if (!fetcher.ok()) return fetcher.status();
  std::vector<std::unique_ptr<ProjectFeed>> feeds;
  for (const CollectedProject& project : options.projects) {
    auto feed = ProjectFeed::Open(DirectoryOf(options.directory, project.id), project);
    if (!feed.ok()) return feed.status();
    feeds.push_back(std::move(*feed));
  }
  while (!stop.stop_requested()) {
    double soonest = clock() + kLongestWait;
    for (const auto& feed : feeds) {
      if (stop.stop_requested()) break;
      const double now = clock();
      if (!options.once && feed->next(options.schedule) > now) {
        soonest = std::min(soonest, feed->next(options.schedule));
        continue;
      }
      const auto told = [&](const std::string& message) { report(feed->project(), message); };
      if (Status s = feed->Round(**fetcher, options.limits, now, send, told, stop); !s.ok()) return s;
    }
    if (options.once) break;
    wait(std::max(0.0, soonest - clock()));
  }
  return Status::Ok();
}

}  // namespace cobblestone::hub
