// Metrics of slots that both backends report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/histogram.h"
#include "services/metrics/families.h"

namespace cobblestone::metrics {

struct TaskLook {
  std::uint32_t slot = 0;
  std::string role;                      // "pipeline", "coordinator", or the only stage of the slot
  std::uint64_t records = 0;             // since the process started
  std::uint64_t lag = 0;                 // records not yet processed
  std::uint64_t commits = 0;             // since the slot was created
  std::uint64_t state_commits = 0;       // commits in the state on disk
  std::uint64_t checkpoint_commits = 0;  // commits in the newest checkpoint
  std::uint64_t reexecuted = 0;
  std::uint64_t restores = 0;
  std::uint64_t state_writes = 0;
  double state_written_at = 0;  // UNIX s; 0: never
  double checkpoint_at = 0;     // UNIX s; 0: never
  bool stopped = false;         // needs an operator
  bool diverged = false;        // stopped because of a wrong fingerprint
  LatencyCounts commit_latency{};
  // Approximate memory that counts against memory.objects.
  std::uint64_t cached_bytes = 0;
  struct Waiting {
    std::string kind;
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;  // as stored
  };
  // Rows of state that wait for an event.
  std::vector<Waiting> waiting{};
};

void AddTasks(const std::vector<TaskLook>& tasks, Families* all);

}  // namespace cobblestone::metrics
