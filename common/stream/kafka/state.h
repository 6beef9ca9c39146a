// State of slots on local disks, and how it comes to the checkpoint's topic and back (docs/runtime.md).
//
// Beside its rows a store holds markers: with each state write, the keys that it changed. They are gone once a checkpoint
// is whole that has them. So what a checkpoint must say is known after a crash, too, deletions included.
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

// What outlives a process that dies: what it was at. In memory that is a file's: writing costs nothing, and a machine that
// dies may forget.
struct Trace {
  std::uint64_t processing = 0;  // 1: records, as the owner
  std::uint64_t executing = 0;   // records of a commit of the journal again: its sequence; 0: none
  std::uint64_t deadly = 0;      // the last such commit that a process died at
  std::uint64_t deaths = 0;      // and how many, one after the other
};

// Where stores are. Threads: any, one at a time for each slot.
class StateSpace {
 public:
  virtual ~StateSpace() = default;

  // Made when missing. kCorrupted: damaged, Remove() makes way. kFenced: another process has it.
  virtual Result<std::unique_ptr<store::Store>> Open(std::uint32_t slot) = 0;
  virtual Status Remove(std::uint32_t slot) = 0;
  // The store as it is now, to be read at leisure while it goes on. One for each slot; Remove it when read.
  virtual Result<std::unique_ptr<store::Store>> OpenCopy(std::uint32_t slot, store::Store& of) = 0;
  virtual void RemoveCopy(std::uint32_t slot) = 0;
  // Null: there is none here. It lives as long as the space, whatever becomes of the state.
  virtual Trace* TraceOf(std::uint32_t slot) = 0;
  // Those of which there is a state, ascending.
  virtual std::vector<std::uint32_t> Slots() = 0;
};

// In directories `DIRECTORY/slot-K`.
std::unique_ptr<StateSpace> MakeDirectoryStateSpace(const std::string& directory,
                                                    std::uint64_t block_cache_bytes);

// Applies a state write with its markers; those up to `checkpointed` go.
Status WriteState(const StateWrite& write, std::uint64_t checkpointed, store::Store& store);

// For state that leaves Kafka, or has another place in the log there: no markers, and `meta` instead of its own.
Status DropMarkers(const SlotMeta& meta, store::Store& store);

// A row of a checkpoint.
struct CheckpointRow {
  std::string key;
  std::string value;
  bool deleted = false;
};
using CheckpointSlice = std::vector<CheckpointRow>;

// The last row of a checkpoint: it says of which place in the log the rows before it are. No table's key is like it.
inline constexpr std::string_view kCheckpointMetaKey("\0", 1);

// The first row of a checkpoint; its value is the sequence. Compaction that has a later checkpoint's rows take the place of
// this one's has that one's first row take the place of this one. So while it is there, all of the checkpoint is; and where
// it is gone, though no later checkpoint is whole, rows may be gone with it.
inline constexpr std::string_view kCheckpointBeginKey("\0b", 2);

// Reads what must go into the checkpoint of a store: every key changed since the last one. The state thread fills it, the
// stream thread takes from it.
class CheckpointSource {
 public:
  // `after`: sequence of the last whole checkpoint.
  CheckpointSource(std::unique_ptr<store::Store> copy, std::uint64_t after)
      : copy_(std::move(copy)), after_(after) {}

  // State thread: reads ahead until some slices wait. False: there is no more to read, or it has failed.
  bool Fill();

  // Stream thread. Null: not ready yet.
  std::unique_ptr<CheckpointSlice> Take();
  [[nodiscard]] bool ready() const;     // something may be taken, or all was
  [[nodiscard]] bool finished() const;  // all was taken
  [[nodiscard]] Status failure() const;
  [[nodiscard]] const SlotMeta& meta() const { return meta_; }  // once something was taken
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
  std::deque<std::unique_ptr<CheckpointSlice>> ready_;  // guarded by mutex_, as is what follows
  bool all_read_ = false;
  Status failure_;
};

// Puts a checkpoint into an empty store, row by row as they come from the topic.
class CheckpointRestore {
 public:
  explicit CheckpointRestore(store::Store& store) : store_(store) {}

  Status Add(std::uint64_t offset, std::string_view key, std::string_view value, bool deleted);
  // After the row with kCheckpointMetaKey.
  Status Finish();
  // Where the first row of the checkpoint is; none: it is gone.
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
  std::string begun_;  // the sequence that the last first row says
  std::uint64_t begun_at_ = 0;
};

// Takes over checkpoints as they become whole, on top of the state that the one before the first of them gives.
class CheckpointTail {
 public:
  explicit CheckpointTail(store::Store& store) : store_(store) {}

  // Rows as they come from the topic; nothing of a checkpoint reaches the store before all of it does. *applied: the
  // state is as of a checkpoint now. The one that the state has already says nothing. kNotFound: rows of one that is whole may
  // be gone (kCheckpointBeginKey), and nothing was applied.
  Status Add(std::string_view key, std::string_view value, bool deleted, bool* applied);
  [[nodiscard]] std::uint64_t rows() const { return rows_; }  // applied

 private:
  store::Store& store_;
  std::map<std::string, CheckpointRow> pending_;
  std::string begun_;  // as CheckpointRestore's
  std::uint64_t rows_ = 0;
};

// What the store's meta row says while a checkpoint is being put into it.
bool IsUnfinishedRestore(std::string_view meta);

}  // namespace cobblestone::stream::kafka
