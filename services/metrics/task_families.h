// What both backends tell of their slots.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/histogram.h"
#include "services/metrics/families.h"

namespace cobblestone::metrics {

struct TaskLook {
  std::uint32_t slot = 0;
  std::string role;                      // "pipeline", "coordinator", or the stage that it has alone
  std::uint64_t records = 0;             // since the process began
  std::uint64_t lag = 0;                 // records that wait
  std::uint64_t commits = 0;             // since the slot was made
  std::uint64_t state_commits = 0;       // as of which its state is on disk
  std::uint64_t checkpoint_commits = 0;  // as of which its newest checkpoint is
  std::uint64_t reexecuted = 0;
  std::uint64_t restores = 0;
  std::uint64_t state_writes = 0;
  double state_written_at = 0;  // UNIX s; 0: not yet
  double checkpoint_at = 0;     // likewise
  bool stopped = false;         // it needs an operator
  bool diverged = false;        // that is why
  LatencyCounts commit_latency{};
  std::uint64_t cached_bytes = 0;  // of memory, about: of what counts against memory.objects
  struct Waiting {
    std::string kind;
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;  // as they are stored
  };
  std::vector<Waiting> waiting{};  // rows of state that wait for an event that has not come
};

void AddTasks(const std::vector<TaskLook>& tasks, Families* all);

}  // namespace cobblestone::metrics
