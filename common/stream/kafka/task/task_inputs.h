// The inputs of a slot: the messages that have arrived on its partitions, and a cursor for each input.
//
// Two inputs may read one partition (every stage reads `control`). Its messages are then fetched once and kept until all
// inputs have passed them.
// Invariant: Head() is the first message at or after slot.next(input).
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/base/status.h"
#include "common/stream/kafka/task/local_state.h"
#include "common/stream/kafka/task/task_options.h"
#include "common/stream/kafka/task/task_status.h"

namespace cobblestone::stream::kafka {

class TaskInputs {
 public:
  TaskInputs(const TaskContext& context, const LocalState& state) : context_(context), state_(state) {}

  // The slot was opened: takes over its list of inputs. Not while reading.
  void Rebuild();
  // Reads from the slot's last commit; does nothing while reading.
  Status Start();
  // Drops the messages that were read.
  void Stop();

  [[nodiscard]] std::size_t count() const { return inputs_.size(); }
  [[nodiscard]] std::size_t stages() const { return stage_inputs_.size(); }
  [[nodiscard]] const std::vector<std::size_t>& OfStage(std::size_t stage) const {
    return stage_inputs_[stage];
  }
  [[nodiscard]] TopicPartition where(std::size_t input) const { return feeds_[inputs_[input].feed].where; }

  // The input's next message; null: none has arrived. Valid until Pass() or Stop().
  Status Head(std::size_t input, const Message** head);
  // The slot has consumed the input's head.
  void Pass(std::size_t input);
  // Event time of the first record of the input's head (TaskOptions::peek_time).
  [[nodiscard]] double HeadTime(std::size_t input, const Message& head) const;

  // Adds the messages that wait, as far as known, to `lag` and to the lags of the stages.
  void AddLag(TaskStatus* look) const;

 private:
  // A partition that one or more inputs read.
  struct Feed {
    TopicPartition where;
    std::deque<Message> messages;
    std::uint64_t popped = 0;  // messages removed from the front
    std::vector<std::size_t> inputs;
  };
  struct Input {
    std::size_t feed = 0;
    std::uint64_t at = 0;  // index of the next message, counted like Feed::popped
  };

  const TaskContext& context_;
  const LocalState& state_;
  std::deque<Feed> feeds_;
  std::vector<Input> inputs_;
  std::vector<std::vector<std::size_t>> stage_inputs_;  // by stage
  bool reading_ = false;
};

}  // namespace cobblestone::stream::kafka
