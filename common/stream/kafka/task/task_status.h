// The progress of one task, for the worker, metrics and status displays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/histogram.h"
#include "common/stream/hash128.h"
#include "common/stream/table.h"

namespace cobblestone::stream::kafka {

enum class Phase : std::uint8_t {
  kPosition,
  kFresh,
  kCheckpoint,
  kReexecute,
  kRunning,
  kStandby,
  kTailing,
  kStopped
};
std::string_view PhaseName(Phase phase);

struct TaskStatus {
  struct Stage {
    std::uint64_t lag = 0;      // messages waiting on its inputs, as far as known
    std::uint64_t records = 0;  // processed as owner
  };
  std::uint32_t slot = 0;
  Phase phase = Phase::kPosition;
  bool owned = false;
  std::uint64_t sequence = 0;
  std::uint64_t target_sequence = 0;  // of the last commit, as far as known
  Hash128 hash;
  std::uint64_t lag = 0;      // messages waiting on its inputs, as far as known
  std::vector<Stage> stages;  // in stage order; a message that two stages read counts for both
  std::uint64_t flushed_sequence = 0;
  std::uint64_t checkpoint_sequence = 0;
  std::uint64_t restored_rows = 0;
  std::uint64_t reexecuted = 0;  // commits, each with an equal fingerprint
  std::uint64_t records = 0;     // processed as owner
  std::uint64_t produced = 0;    // messages, including journal and checkpoints
  std::string problem{};
  bool diverged = false;       // the problem is a divergence
  std::uint64_t restores = 0;  // from a checkpoint
  std::uint64_t state_writes = 0;
  std::uint64_t cached_bytes = 0;      // approximate memory that counts against object_bytes
  std::vector<WaitingRows> waiting{};  // one element per kind
  double state_written_at = 0;         // UNIX s; 0: not by this process
  double checkpoint_at = 0;            // likewise
  LatencyCounts commit_latency{};      // from the start of a transaction with this slot to its commit
};

}  // namespace cobblestone::stream::kafka
