// Whom the client asks for what: the main logic of S004, and BOINC's since 2011 for comparison.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "common/workfetch/client.h"
#include "common/workfetch/round_robin.h"

namespace cobblestone::workfetch {

// Why a project is asked.
enum class Reason {
  kMajor,    // an instance is idle now, or within the connect interval
  kMinor,    // an instance will be idle within the buffer
  kStarved,  // the project has no job that can run
  kLow,      // kRec: a resource runs out within the connect interval
};
std::string_view NameOf(Reason reason);

struct WorkRequest {
  std::size_t project = 0;
  Reason reason = Reason::kMajor;
  // A scheduler sends jobs of a type only if seconds or instances of this type are positive.
  PerResource seconds{};    // instance-seconds
  PerResource instances{};  // to occupy now
  PerResource delay{};      // s until a new job could start
  double on_fraction = 1;
  // For schedulers that read no request per type: one number, for all types.
  bool per_resource = true;
  double work_req_seconds = 0;
  bool no_gpus = false;

  bool Wants(std::size_t resource) const { return seconds[resource] > 0 || instances[resource] > 0; }
};

// The next request, or nothing if no resource needs work or nobody can be asked for it. Never a request of 0 s.
std::optional<WorkRequest> ChooseRequest(const Client& client, const RoundRobin& queue, double now);

// Records what a reply to `request` brought: `jobs` join the queue, and backoffs are cleared or extended.
void ApplyReply(Client& client, const WorkRequest& request, const std::vector<Job>& jobs, double now);

}  // namespace cobblestone::workfetch
