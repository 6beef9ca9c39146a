// The interface of a stage: a record, state, an emitter, and the event time in the data. A stage sees no
// clock, thread or broker.
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
  double append_time = 0;  // UNIX s, stored with the record: the same when re-executed
  std::uint64_t line = 0;  // lockstep: input line of origin; else 0
  std::string_view value;  // valid during the call
};

// Receives the outputs of a stage. Outputs, state and consumed offsets commit together.
class Emitter {
 public:
  virtual ~Emitter() = default;
  virtual void Emit(TopicIndex topic, std::uint32_t partition, std::string_view record) = 0;
  // Readers of the topic must check Stage::Ready again before they consume records emitted after this call.
  virtual void Cut(TopicIndex topic) { (void)topic; }
  // Stops the slot after this record with `status`, for conditions that must not happen (own records that do
  // not decode).
  virtual void Fail(Status status) = 0;
};

// A deterministic state machine over its inputs: the same records in the same order, cut into the same commits, give
// the same outputs and state, bit for bit.
class Stage {
 public:
  virtual ~Stage() = default;

  // Whether the stage accepts the next record of the input now. Called before each record; while the result
  // is false, the backend consumes the other inputs and calls again. The result must depend on tables only, so
  // that it is the same after a restart, and records that the other inputs already hold must make it true.
  [[nodiscard]] virtual bool Ready(std::size_t input) const {
    (void)input;
    return true;
  }
  // `input`: index among the inputs that the stage was registered with.
  virtual void Process(std::size_t input, const RecordView& record, Emitter& out) = 0;
  // The commit ends: emit output gathered over several records (such as a batch of samples).
  virtual void Finish(Emitter& out) { (void)out; }
  // True: the slot must not consume its next record yet, because the stage still has work to do. A stage does
  // work of unlimited size in parts, one per commit (example: ten million rows are due at one watermark). While
  // the result is true, the slot makes commits without records. Each calls Finish(), which does the next part.
  // The result must depend on tables only, as that of Ready().
  [[nodiscard]] virtual bool Unfinished() const { return false; }
  // State was loaded (open, or after a rewind): rebuild derived data.
  virtual Status Opened() { return Status::Ok(); }

  [[nodiscard]] virtual std::vector<TableBase*> tables() = 0;
};

}  // namespace cobblestone::stream
