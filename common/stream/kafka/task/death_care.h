// Protects a slot from records that crash the program (docs/design/kafka.md, "Records that crash the program").
//
// Owners that die are counted in the position (Care). Each level lets the next owner process less per commit;
// at the last level the owner names a single record in a commit before it processes the record. After kTries
// attempts the record is skipped. Many records without a death end the search.
//
// Invariant: before announces() is false again, a commit has named the owner or the record.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/stream/kafka/position.h"
#include "common/stream/kafka/task/death_trace.h"
#include "common/stream/kafka/task/input_order.h"
#include "common/stream/kafka/task/local_state.h"
#include "common/stream/kafka/task/stage_feeder.h"
#include "common/stream/kafka/task/task_inputs.h"
#include "common/stream/kafka/task/task_options.h"

namespace cobblestone::stream::kafka {

class DeathCare {
 public:
  DeathCare(const TaskContext& context, const LocalState& state, TaskInputs& inputs, InputOrder& order,
            StageFeeder& feeder, DeathTrace& trace)
      : context_(context), state_(state), inputs_(inputs), order_(order), feeder_(feeder), trace_(trace) {}

  // The slot has another owner.
  void Reset();
  // The slot begins to run for this owner, at the committed position. Only the first call after Reset() counts.
  void TakeOver(const Position& position);

  // No record may be consumed before a commit has named the owner or the record to be tried.
  [[nodiscard]] bool announces() const { return announces_; }
  // Earlier owners died: a transaction holds one round of this slot and nothing else.
  [[nodiscard]] bool careful() const { return care_.level >= Care::kFewAtOnce; }

  // Feeds the records of a round to the stages: all waiting records, some, or the record that is being tried.
  // Possibly no record is consumed. kFatal: a record that crashes the program must not be skipped.
  Status FeedRound();
  // Records were consumed in the open transaction.
  void CountConsumed(std::uint64_t records) { careful_records_ += records; }
  // The value to commit with the open transaction; `consumed`: the transaction has records.
  [[nodiscard]] Care After(bool consumed) const;
  // `care` was committed.
  void Committed(const Care& care);
  // The open transaction was dropped.
  void DropRound() { skipped_ = false; }

 private:
  Status FeedOne();
  Status Choose();
  Status Skip(std::size_t input, const Message& head);

  const TaskContext& context_;
  const LocalState& state_;
  TaskInputs& inputs_;
  InputOrder& order_;
  StageFeeder& feeder_;
  DeathTrace& trace_;
  Care care_;
  bool taken_ = false;  // the takeover was handled since the slot became ours
  bool announces_ = false;
  bool skipped_ = false;               // the record of the open transaction was skipped
  std::uint64_t careful_records_ = 0;  // since Care was raised
};

}  // namespace cobblestone::stream::kafka
