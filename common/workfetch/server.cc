#include "common/workfetch/server.h"

#include <algorithm>

namespace cobblestone::workfetch {
namespace {

constexpr double kNothing = 1e-6;

bool Wanted(const WorkRequest& request, std::size_t resource) {
  if (request.no_gpus && resource != kCpu) return false;
  if (!request.per_resource) return request.work_req_seconds > kNothing;
  return request.seconds[resource] > kNothing || request.instances[resource] > kNothing;
}

bool Fits(const AppVersion& version, const std::vector<Resource>& resources) {
  for (std::size_t r = 0; r < kMostResources; ++r)
    if (version.usage[r] > (r < resources.size() ? resources[r].instances : 0)) return false;
  return version.usage[version.resource] > 0;
}

const AppVersion* VersionFor(const App& app, const std::vector<Resource>& resources,
                             const WorkRequest& request) {
  const AppVersion* best = nullptr;
  for (const AppVersion& version : app.versions) {
    if (!Wanted(request, version.resource) || !Fits(version, resources)) continue;
    // A deadline of an endless queue cannot be met.
    const double ends = request.delay[version.resource] + version.estimate / request.on_fraction;
    if (app.latency_bound != kNever && ends > app.latency_bound) continue;
    if (!best || version.estimate < best->estimate) best = &version;
  }
  return best;
}

}  // namespace

std::vector<Job> Serve(Server& server, const std::vector<Resource>& resources, WorkRequest request,
                       double now) {
  std::vector<Job> jobs;
  for (App& app : server.apps) {
    while (app.jobs > 0 && app.from <= now && now < app.until && jobs.size() < server.most_jobs) {
      const AppVersion* version = VersionFor(app, resources, request);
      if (!version) break;
      --app.jobs;
      jobs.push_back({.project = request.project,
                      .resource = version->resource,
                      .usage = version->usage,
                      .estimate = version->estimate,
                      .duration = version->duration,
                      .remaining = version->duration,
                      .deadline = now + app.latency_bound});
      const std::size_t r = version->resource;
      const double seconds = version->estimate / request.on_fraction * version->usage[r];
      request.seconds[r] -= seconds;
      request.instances[r] -= version->usage[r];
      request.work_req_seconds -= seconds;
      request.delay[r] += seconds / resources[r].instances;
    }
  }
  return jobs;
}

}  // namespace cobblestone::workfetch
