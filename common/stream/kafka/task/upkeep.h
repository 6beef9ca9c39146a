// The work of a task between commits that nobody waits for: state writes and checkpoints.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/status.h"
#include "common/stream/kafka/task/lifecycle.h"
#include "common/stream/kafka/task/task_options.h"
#include "common/stream/kafka/task/task_parts.h"

namespace cobblestone::stream::kafka {

class Upkeep {
 public:
  Upkeep(const TaskContext& context, TaskParts& parts, Lifecycle& life)
      : context_(context), parts_(parts), life_(life) {}

  // The last commit that will be executed: a state may be as of it, wherever its journal message ends.
  void EndAt(std::uint64_t sequence) { last_ = sequence; }

  // A part of what is due. Failures are handled by the lifecycle.
  void Tend(Time now);
  void StepState(Time now, std::size_t objects = kGatherSlice);
  void StepCheckpoint(Time now);
  // Writes all unwritten state and waits for the write.
  Status FlushState();

 private:
  const TaskContext& context_;
  TaskParts& parts_;
  Lifecycle& life_;
  std::uint64_t last_ = ~0ull;
};

}  // namespace cobblestone::stream::kafka
