// The scheduler of a project: which jobs it sends in reply to a request (S004, 'Scheduler changes').
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/workfetch/choice.h"
#include "common/workfetch/client.h"

namespace cobblestone::workfetch {

struct AppVersion {
  std::size_t resource = kCpu;
  PerResource usage{};     // instances; of the CPU for multi-threaded versions and beside a coprocessor
  double estimate = 3600;  // s of execution
  double duration = 3600;
};

struct App {
  std::string name;
  std::vector<AppVersion> versions;
  double latency_bound = kNever;  // s from sending to deadline
  double from = 0;                // has jobs in [from, until)
  double until = kNever;
  std::uint64_t jobs = UINT64_MAX;  // as many
};

struct Server {
  std::vector<App> apps;
  std::size_t most_jobs = 1000;  // per reply
};

// Sends jobs while the request wants seconds or instances of a type, and reduces both by what each job uses. A job gets the fastest
// version of its app whose type is still wanted and whose usage the host has. A job that could not end by its deadline is not sent.
// A request without numbers per type (per_resource false) is filled with any version until work_req_seconds are used up.
std::vector<Job> Serve(Server& server, const std::vector<Resource>& resources, WorkRequest request,
                       double now);

}  // namespace cobblestone::workfetch
