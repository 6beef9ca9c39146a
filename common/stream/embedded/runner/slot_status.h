// The progress of one slot, for metrics and status displays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/histogram.h"
#include "common/stream/hash128.h"
#include "common/stream/record.h"
#include "common/stream/table.h"

namespace cobblestone::stream::embedded {

// Records waiting on one input of a slot's stage.
struct InputLag {
  std::size_t stage = 0;
  TopicIndex topic = 0;
  std::uint64_t records = 0;
  std::uint64_t next = 0;  // offset of the first waiting record
};

struct SlotStatus {
  std::uint32_t slot = 0;
  std::uint64_t sequence = 0;
  Hash128 hash;
  std::uint64_t lag = 0;               // records waiting on the slot's inputs
  std::uint64_t flushed_sequence = 0;  // of the state on disk
  std::uint64_t checkpoint_sequence = 0;
  std::uint64_t reexecuted = 0;          // commits re-executed at open, each with an equal fingerprint
  std::uint64_t reexecuted_records = 0;  // in them
  std::uint64_t records = 0;             // processed since open
  std::uint64_t throttled = 0;  // visits without progress, because the state on disk was too far behind
  std::size_t cached_objects = 0;
  std::uint64_t cached_bytes = 0;      // approximate memory that counts against object_bytes
  std::vector<WaitingRows> waiting{};  // one element per kind
  std::uint64_t store_reads = 0;
  std::uint64_t counted = 0;       // RunnerOptions::count; may be of a commit that is not durable yet
  std::vector<InputLag> inputs{};  // their sum is `lag`
  std::uint64_t restores = 0;      // times the state was damaged or missing at open and was rebuilt
  std::uint64_t state_writes = 0;  // since open
  std::uint64_t checkpoints = 0;   // since open
  double state_written_at = 0;     // UNIX s; 0: not since open
  double checkpoint_at = 0;        // likewise
  LatencyCounts commit_latency{};  // from the search for the first record until the commit is durable
};

}  // namespace cobblestone::stream::embedded
