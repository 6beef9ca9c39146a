// Passes messages to the stages of a slot: their records, in the order of InputOrder.
//
// Hot path: every record of an owner and of a re-execution passes through Feed().
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/stream/kafka/task/death_trace.h"
#include "common/stream/kafka/task/input_order.h"
#include "common/stream/kafka/task/local_state.h"
#include "common/stream/kafka/task/task_inputs.h"
#include "common/stream/kafka/task/task_options.h"

namespace cobblestone::stream::kafka {

class StageFeeder {
 public:
  enum class Role : std::uint8_t { kOwner, kReexecution };

  StageFeeder(const TaskContext& context, LocalState& state, TaskInputs& inputs, InputOrder& order,
              DeathTrace& trace)
      : context_(context), state_(state), inputs_(inputs), order_(order), trace_(trace) {}

  // The slot was opened.
  void Reset() { head_times_.assign(inputs_.count(), 0); }

  // Consumes the head of an input. `skip`: the message is consumed without being passed to a stage.
  Status Feed(std::size_t input, const Message& message, Role role, bool skip = false);
  // As the owner, consumes the records that wait for all stages, until the commit has `most` records or
  // round_bytes of outputs.
  Status FeedAll(std::uint64_t most);

  // Processed as the owner, by stage; may be shorter than the number of stages.
  [[nodiscard]] const std::vector<std::uint64_t>& stage_records() const { return stage_records_; }

 private:
  Status FeedStage(std::size_t stage);
  Status FeedInLockstep(std::size_t stage);
  Status Process(std::size_t input, const Message& message, bool skip);
  void TraceWork(Role role, bool working);
  [[nodiscard]] bool Full() const;

  const TaskContext& context_;
  LocalState& state_;
  TaskInputs& inputs_;
  InputOrder& order_;
  DeathTrace& trace_;
  std::uint64_t most_ = 0;          // of the current FeedAll()
  std::vector<std::size_t> live_;   // reused: inputs of a stage that have a message
  std::vector<double> head_times_;  // by input
  std::vector<std::uint64_t> stage_records_;
};

}  // namespace cobblestone::stream::kafka
