// The parts of a task, wired together, and the operations on all of them: opening the slot, and the end of reading.
//
// Threads: one at a time.
#pragma once

#include "common/base/status.h"
#include "common/stream/kafka/task/checkpoint_reading.h"
#include "common/stream/kafka/task/checkpoint_writer.h"
#include "common/stream/kafka/task/death_care.h"
#include "common/stream/kafka/task/death_trace.h"
#include "common/stream/kafka/task/input_order.h"
#include "common/stream/kafka/task/local_state.h"
#include "common/stream/kafka/task/reexecution.h"
#include "common/stream/kafka/task/slot_transaction.h"
#include "common/stream/kafka/task/stage_feeder.h"
#include "common/stream/kafka/task/state_keeper.h"
#include "common/stream/kafka/task/task_inputs.h"
#include "common/stream/kafka/task/task_options.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::kafka {

struct TaskParts {
  TaskParts(const TaskContext& task_context, const SlotFactory& factory);
  TaskParts(const TaskParts&) = delete;
  TaskParts& operator=(const TaskParts&) = delete;
  ~TaskParts();  // waits for the state thread

  // Opens the state, then the slot.
  Status OpenState();
  // Opens the slot again: all parts return to the last commit that the store has. The state thread must be drained.
  Status OpenSlot();
  // Closes and removes the state.
  Status RemoveState();
  // Drops all messages that were read and not consumed.
  void StopReading();

  const TaskContext& context;
  LocalState state;
  TaskInputs inputs;
  InputOrder order;
  DeathTrace trace;
  StageFeeder feeder;
  DeathCare care;
  Reexecution reexecution;
  CheckpointReading checkpoint_reading;
  StateKeeper keeper;
  SlotTransaction transaction;
  CheckpointWriter checkpoint_writer;
};

}  // namespace cobblestone::stream::kafka
