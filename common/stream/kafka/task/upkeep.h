// The deferred work of a task between commits: state writes and checkpoints.
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

  // Sets the last commit to be executed: a state may be as of this commit, wherever its journal message ends.
  void EndAt(std::uint64_t sequence) { last_ = sequence; }

  // Does a part of the due work. The lifecycle handles failures.
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
