// What a stage sees: a record, its state, an emitter, and the time that is in the data. No clock, thread or broker.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/stream/record.h"
#include "common/stream/table.h"

namespace cobblestone::stream {

struct RecordView {
  TopicPartition where;
  std::uint64_t offset = 0;
  double append_time = 0;  // UNIX s, stored with the record: the same when executed again
  std::uint64_t line = 0;  // lockstep: input line that it came from; else 0
  std::string_view value;  // valid during the call
};

// Where a stage puts what it makes. Outputs, state and consumed offsets commit together.
class Emitter {
 public:
  virtual ~Emitter() = default;
  virtual void Emit(TopicIndex topic, std::uint32_t partition, std::string_view record) = 0;
  // What is emitted to the topic from here on must not be read in one go with what was before: its readers are to be asked
  // again whether they are ready (Stage::Ready).
  virtual void Cut(TopicIndex topic) { (void)topic; }
  // Stops the slot after this record as `status` says; for what must not happen (own records that do not decode).
  virtual void Fail(Status status) = 0;
};

// A deterministic state machine over its inputs: the same records in the same order, cut into the same commits, give
// the same outputs and state, bit for bit.
class Stage {
 public:
  virtual ~Stage() = default;

  // Whether it takes the next record of the input now. Asked before each record; a backend lets the others go first and asks
  // again. Of tables alone, so that it is the same after a restart; and it must become true by what the stage's other
  // inputs hold already.
  [[nodiscard]] virtual bool Ready(std::size_t input) const {
    (void)input;
    return true;
  }
  // `input`: which of the inputs that it was registered with.
  virtual void Process(std::size_t input, const RecordView& record, Emitter& out) = 0;
  // The commit ends: emit what was gathered over several records (a batch of samples).
  virtual void Finish(Emitter& out) { (void)out; }
  // State was loaded (open, or after a rewind): build what is derived from it.
  virtual Status Opened() { return Status::Ok(); }

  [[nodiscard]] virtual std::vector<TableBase*> tables() = 0;
};

}  // namespace cobblestone::stream
