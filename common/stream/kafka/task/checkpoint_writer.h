// Writes the checkpoints of a slot that runs: copies of the rows that changed since the previous checkpoint, in parts of
// the worker's transactions.
//
// The state thread (Background) reads the rows from a copy of the store, the slot's thread produces them.
// Threads: one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "common/base/status.h"
#include "common/store/store.h"
#include "common/stream/kafka/position.h"
#include "common/stream/kafka/state.h"
#include "common/stream/kafka/task/slot_transaction.h"
#include "common/stream/kafka/task/task_options.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

class CheckpointWriter {
 public:
  explicit CheckpointWriter(const TaskContext& context) : context_(context) {}

  // Drops the checkpoint that is being written. The next checkpoint replaces its rows.
  void Drop() {
    source_.reset();
    ends_ = false;
  }
  // The slot begins to run as the owner. Earlier owners have committed up to this commit.
  void RunsFrom(std::uint64_t sequence) { runs_from_ = sequence; }

  // The state on disk.
  struct Stored {
    store::Store* store = nullptr;          // null: not open
    std::uint64_t sequence = 0;             // of the last state write
    bool writing = false;                   // a state write is active
    std::uint64_t checkpoint_sequence = 0;  // of the newest complete checkpoint
  };

  // Outside of a transaction: begins a checkpoint when one is due, or lets the state thread read more rows. Not ok: the
  // state cannot be read.
  Status Advance(Time now, const Stored& stored);
  // Rows wait for a transaction.
  [[nodiscard]] bool ready() const { return source_ != nullptr && source_->ready(); }
  // Produces rows, up to checkpoint_bytes, as a part of the open transaction.
  Outcome Write(Producer& producer, SlotTransaction& transaction);
  // After Write() and Producer::Flush(): the position of the checkpoint, if the open transaction completes it.
  void AddTo(Position* position) const;
  void Committed();

  [[nodiscard]] double checkpoint_at() const { return checkpoint_at_; }  // UNIX s; 0: none yet

 private:
  void ReadMore();
  [[nodiscard]] bool Due(Time now, const Stored& stored);

  const TaskContext& context_;
  std::shared_ptr<CheckpointSource> source_;  // null: no checkpoint is being written
  std::shared_ptr<std::atomic<bool>> busy_;   // true while the state thread fills source_
  Time last_{};                               // start of the last checkpoint
  std::uint64_t runs_from_ = 0;
  std::uint64_t end_offset_ = 0;      // of the last row, in the open transaction
  std::uint64_t ignored_offset_ = 0;  // of other rows
  bool ends_ = false;                 // the checkpoint ends with the open transaction
  double checkpoint_at_ = 0;
};

}  // namespace cobblestone::stream::kafka
