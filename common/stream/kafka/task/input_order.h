// Selects the next input of a slot. Consumes nothing.
//
// By arrival: the stages in their order; of a stage's inputs that are ready, the input whose record has the smallest
// event time, then the input that was registered first.
//
// Lockstep: the inputs that external producers append to (TaskOptions::lockstep_topics) are merged strictly by event
// time. A stage waits until each such input that it is ready for has a record, because a missing record may have a
// smaller time. Records that slots have written for each other come first, because they result from earlier events.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <optional>

#include "common/base/status.h"
#include "common/stream/kafka/task/local_state.h"
#include "common/stream/kafka/task/task_inputs.h"
#include "common/stream/kafka/task/task_options.h"

namespace cobblestone::stream::kafka {

class InputOrder {
 public:
  InputOrder(const TaskContext& context, const LocalState& state, TaskInputs& inputs);

  // Some inputs are in lockstep.
  [[nodiscard]] bool lockstep() const { return lockstep_; }

  // Lockstep: the input of a stage with the next record; none: the stage must wait.
  Status NextInLockstep(std::size_t stage, std::optional<std::size_t>* next);
  // The record that the slot would consume first, over all stages. *first null: it must wait.
  Status First(std::size_t* input, const Message** first);
  // Whether the slot can consume a record.
  Status Any(bool* any);

 private:
  Status FirstInLockstep(std::optional<std::size_t>* next);
  Status FirstByArrival(std::size_t* input, const Message** first);

  const TaskContext& context_;
  const LocalState& state_;
  TaskInputs& inputs_;
  const bool lockstep_;
};

}  // namespace cobblestone::stream::kafka
