// State of slots on local disks, and its way to the checkpoint topic and back (docs/runtime.md).
//
// Besides its rows a store holds markers: each state write adds the keys that it changed. A marker is removed
// once a complete checkpoint contains its key. The contents of the next checkpoint are therefore known after
// a crash too, including deletions.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/store/store.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::kafka {

// The work of a process at its crash. Memory-mapped from a file, so that a write costs nothing; a crash
// of the machine may lose it.
struct Trace {
  std::uint64_t processing = 0;  // 1: processing records as the owner
  std::uint64_t executing = 0;   // sequence of the journal commit being re-executed; 0: none
  std::uint64_t deadly = 0;      // sequence of the last commit at whose re-execution a process died
  std::uint64_t deaths = 0;      // number of consecutive deaths at that commit
};

// Provides the stores. Threads: any, one at a time for each slot.
class StateSpace {
 public:
  virtual ~StateSpace() = default;

  // Created when missing. kCorrupted: damaged; call Remove() and open again. kFenced: another process holds
  // the store.
  virtual Result<std::unique_ptr<store::Store>> Open(std::uint32_t slot) = 0;
  virtual Status Remove(std::uint32_t slot) = 0;
  // A snapshot of the store, to be read while the store is being written. One per slot; call RemoveCopy()
  // after reading.
  virtual Result<std::unique_ptr<store::Store>> OpenCopy(std::uint32_t slot, store::Store& of) = 0;
  virtual void RemoveCopy(std::uint32_t slot) = 0;
  // Null: there is no trace. The trace lives as long as the space, even if the state is removed.
  virtual Trace* TraceOf(std::uint32_t slot) = 0;
  // The slots with a state, ascending.
  virtual std::vector<std::uint32_t> Slots() = 0;
};

// State in directories `DIRECTORY/slot-K`.
std::unique_ptr<StateSpace> MakeDirectoryStateSpace(const std::string& directory,
                                                    std::uint64_t block_cache_bytes);

// Applies a state write with its markers and removes the markers up to `checkpointed`.
Status WriteState(const StateWrite& write, std::uint64_t checkpointed, store::Store& store);

// For state that leaves Kafka or moves to another log position: removes the markers and replaces the meta
// with `meta`.
Status DropMarkers(const SlotMeta& meta, store::Store& store);

// A row of a checkpoint.
struct CheckpointRow {
  std::string key;
  std::string value;
  bool deleted = false;
};
using CheckpointSlice = std::vector<CheckpointRow>;

// Key of the last row of a checkpoint, whose value is the log position of the rows before it. Differs from
// every table key.
inline constexpr std::string_view kCheckpointMetaKey("\0", 1);

// Key of the first row of a checkpoint; its value is the sequence. If compaction replaces rows of this
// checkpoint by rows of a later one, it also replaces this row by the later one's first row. While this row
// exists, the topic therefore has all rows of the checkpoint that were written. If this row is gone although
// no later checkpoint is complete, rows may be missing.
inline constexpr std::string_view kCheckpointBeginKey("\0b", 2);

// Reads the contents of the next checkpoint from a store: every key changed since the last checkpoint. The
// state thread fills the source, the stream thread takes from it.
class CheckpointSource {
 public:
  // `after`: sequence of the last complete checkpoint.
  CheckpointSource(std::unique_ptr<store::Store> copy, std::uint64_t after)
      : copy_(std::move(copy)), after_(after) {}

  // State thread: reads ahead up to a few slices. False: everything was read, or the read failed.
  bool Fill();

  // Stream thread. Null: not ready yet.
  std::unique_ptr<CheckpointSlice> Take();
  [[nodiscard]] bool ready() const;     // a slice may be taken, or all were
  [[nodiscard]] bool finished() const;  // all slices were taken
  [[nodiscard]] Status failure() const;
  [[nodiscard]] const SlotMeta& meta() const { return meta_; }  // valid once a slice was taken
  [[nodiscard]] bool wants_more() const;

 private:
  Status Begin();
  Status ReadSlice(CheckpointSlice* slice);

  std::unique_ptr<store::Store> copy_;
  const std::uint64_t after_;
  bool begun_ = false;
  std::vector<std::string> keys_;
  std::size_t next_ = 0;
  SlotMeta meta_;
  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<CheckpointSlice>> ready_;  // mutex_ guards this and the members below
  bool all_read_ = false;
  Status failure_;
};

// Restores a checkpoint into an empty store, row by row as read from the topic.
class CheckpointRestore {
 public:
  explicit CheckpointRestore(store::Store& store) : store_(store) {}

  Status Add(std::uint64_t offset, std::string_view key, std::string_view value, bool deleted);
  // Call after the row with kCheckpointMetaKey.
  Status Finish();
  // Offset of the checkpoint's first row; none: the row is gone.
  [[nodiscard]] std::optional<std::uint64_t> begin() const;
  [[nodiscard]] const SlotMeta& meta() const { return meta_; }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

 private:
  Status Apply(std::string_view meta);

  store::Store& store_;
  std::map<std::string, CheckpointRow> pending_;
  std::size_t bytes_ = 0;
  std::uint64_t rows_ = 0;
  std::string meta_bytes_;
  SlotMeta meta_;
  std::string begun_;  // the sequence in the last first row (kCheckpointBeginKey)
  std::uint64_t begun_at_ = 0;
};

// Applies checkpoints as they become complete to the state of the checkpoint before them.
class CheckpointTail {
 public:
  explicit CheckpointTail(store::Store& store) : store_(store) {}

  // Adds a row as read from the topic; rows reach the store only when their checkpoint is complete. *applied:
  // the state is now as of a checkpoint; stays false for the checkpoint that the state already has.
  // kNotFound: rows of a complete checkpoint may be missing (kCheckpointBeginKey), and nothing was applied.
  Status Add(std::string_view key, std::string_view value, bool deleted, bool* applied);
  [[nodiscard]] std::uint64_t rows() const { return rows_; }  // applied

 private:
  store::Store& store_;
  std::map<std::string, CheckpointRow> pending_;
  std::string begun_;  // as in CheckpointRestore
  std::uint64_t rows_ = 0;
};

// Whether the store's meta row says that a restore of a checkpoint was not finished.
bool IsUnfinishedRestore(std::string_view meta);

}  // namespace cobblestone::stream::kafka
