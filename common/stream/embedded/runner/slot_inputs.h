// The inputs of one slot: a cursor on the log for each input, and the order in which waiting records are consumed.
//
// Order: among several inputs of a stage, the record with the smallest event time is consumed first; on a tie,
// that of the input registered first (RunnerOptions::peek_time). Records of an input that is not ready wait for
// the other inputs.
// Invariant: a cursor is at slot.next(input) or at the record before it.
// Threads: one at a time, that of the slot. Lag(): any thread while no record is being consumed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/stream/embedded/log.h"
#include "common/stream/embedded/runner/runner_options.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::embedded {

class SlotInputs {
 public:
  // All must outlive the object.
  SlotInputs(const RunnerOptions& options, Log& log, Slot& slot);

  [[nodiscard]] std::size_t count() const { return inputs_.size(); }

  // Consumes records that wait for one stage and are ready, until none is left or the commit is full.
  Status ConsumeStage(std::size_t stage);
  // The current commit takes no more records.
  [[nodiscard]] bool full() const {
    return slot_.records() >= options_.commit_records || slot_.output_bytes() >= options_.commit_bytes;
  }

  // For re-execution, which knows the order. Fetch() reads the next record of an input; *available: there is one.
  // Consume() passes the fetched record to the slot.
  Status Fetch(std::size_t input, bool* available);
  Status Consume(std::size_t input);

  // Records that wait on all inputs.
  [[nodiscard]] std::uint64_t Lag() const;

 private:
  struct Input {
    BatchRef batch;
    RecordCursor cursor;
    bool have_head = false;  // head was fetched and not consumed
    std::string_view head;
    double head_time = 0;
  };

  Status ConsumeOnly(std::size_t input);
  Status FindLive(const std::vector<std::size_t>& ids, std::vector<std::size_t>* live);
  void PeekTime(std::size_t input);

  const RunnerOptions& options_;
  Log& log_;
  Slot& slot_;
  std::vector<Input> inputs_;
  std::vector<std::vector<std::size_t>> stage_inputs_;  // by stage
};

// The smallest next(j) of the inputs that read one partition: all of them have passed the records before it.
template <class Next>
std::uint64_t LeastNext(const std::vector<SlotInput>& inputs, TopicPartition where, Next next) {
  std::uint64_t least = ~0ull;
  for (std::size_t j = 0; j < inputs.size(); ++j)
    if (inputs[j].where == where) least = std::min<std::uint64_t>(least, next(j));
  return least;
}

}  // namespace cobblestone::stream::embedded
