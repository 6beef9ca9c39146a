// Reads the checkpoint partition of a slot: restores the state from one checkpoint, or follows the owner's checkpoints.
//
// A restore reads the topic up to the end of the wanted checkpoint, then reads its first row again. Brokers may compact
// rows of this checkpoint and of a later, unfinished one together (it stayed unfinished for min.compaction.lag.ms). The
// first row is then gone, and rows may be missing.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "common/base/status.h"
#include "common/store/store.h"
#include "common/stream/kafka/state.h"
#include "common/stream/kafka/task/task_options.h"

namespace cobblestone::stream::kafka {

class CheckpointReading {
 public:
  enum class Progress : std::uint8_t {
    kNone,
    kRead,
    kComplete,  // every row was read: call FinishRestore()
    kLost,      // rows may be missing
  };

  explicit CheckpointReading(const TaskContext& context) : context_(context) {}

  // Reads from an offset, or kBeginning.
  Status Start(std::uint64_t offset);
  // Drops the rows that were read and not used; a restore that was begun keeps its rows in the store.
  void Stop();
  // Fetches a row if one has arrived. *any: rows wait.
  Status Peek(bool* any);

  // Restores the checkpoint as of `sequence`, which ends before offset `end`, into an empty store.
  Status BeginRestore(store::Store& store, std::uint64_t sequence, std::uint64_t end);
  // Reads some rows.
  Status Restore(Progress* progress);
  // Completes the state. *sequence: it is as of this commit.
  Status FinishRestore(std::uint64_t* sequence);
  void DropRestore() { restore_.reset(); }
  [[nodiscard]] bool restoring() const { return restore_.has_value(); }

  // Applies checkpoints to the store, which is as of the checkpoint that ends before `offset` (kBeginning: empty).
  Status BeginFollowing(store::Store& store, std::uint64_t offset);
  // Reads some rows. *read: there were some. *applied: the store is now as of another checkpoint. kNotFound:
  // rows may be missing, for the reason in the message, and the store is unusable.
  Status Follow(Time now, bool* read, bool* applied);
  void DropFollowing() { tail_.reset(); }

  [[nodiscard]] std::uint64_t rows() const { return rows_applied_; }  // of the last restore or following

 private:
  Status Confirm(Progress* progress);
  [[nodiscard]] bool RestoredWhole() const;

  const TaskContext& context_;
  bool reading_ = false;
  std::deque<Message> rows_;
  std::uint64_t rows_applied_ = 0;

  std::optional<CheckpointRestore> restore_;
  std::uint64_t sequence_ = 0;  // of the wanted checkpoint
  std::uint64_t end_ = 0;       // likewise
  bool confirming_ = false;     // the checkpoint was read; checking that its first row still exists

  std::optional<CheckpointTail> tail_;
  Time followed_at_{};
};

}  // namespace cobblestone::stream::kafka
