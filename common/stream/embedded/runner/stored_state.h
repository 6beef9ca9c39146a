// The state of one slot on disk: its store, its checkpoints, and when both were written.
//
// Two owners, one after the other: the thread that opens the slot (slot_opener.h), then the state thread
// (state_writer.h), which alone writes. Any thread may read the store and the progress.
// Invariant: the store is as of a commit that is durable in the log.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/base/status.h"
#include "common/store/rocksdb/rocksdb_store.h"
#include "common/stream/embedded/runner/runner_options.h"
#include "common/stream/embedded/runner/slot_checkpoints.h"
#include "common/stream/embedded/runner/slot_status.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::embedded {

class StoredState {
 public:
  using Clock = std::chrono::steady_clock;

  // `slots`: of the runner; their checkpoints share the time of the state thread.
  StoredState(const RunnerOptions& options, std::shared_ptr<store::StoreMemory> memory, std::uint32_t slot,
              std::uint32_t slots);

  // ---- The opening thread --------------------------------------------------------------------------------
  void Use(std::unique_ptr<store::Store> store) { store_ = std::move(store); }
  void Close() { store_.reset(); }
  [[nodiscard]] SlotCheckpoints& checkpoints() { return checkpoints_; }
  void CountRestore() { ++progress_.restores; }
  // The state was opened as of this commit.
  void Opened(std::uint64_t sequence) { progress_.flushed_sequence = sequence; }
  // The time from which the checkpoint interval counts.
  void CountCheckpointsFrom(Clock::time_point at) { last_checkpoint_ = at; }

  // ---- The opening thread, then the state thread ---------------------------------------------------------
  // Writes a state as of a durable commit. A full disk is kFull, not kRetry: the log is on the same disk and would
  // fail next.
  Status Apply(const StateWrite& write);
  // Makes a checkpoint of the store, which is as of `meta`, if one is due. *due: it was.
  Status CheckpointIfDue(const SlotMeta& meta, bool* due);
  [[nodiscard]] const SlotCheckpoints& checkpoints() const { return checkpoints_; }

  // ---- Any thread ----------------------------------------------------------------------------------------
  [[nodiscard]] store::Store& store() const { return *store_; }
  [[nodiscard]] std::uint64_t flushed_sequence() const { return progress_.flushed_sequence; }
  void AddTo(SlotStatus* status) const;

  // Whether the last state write was applied since it was taken: set by the state thread, cleared by the slot's.
  void SetApplied() { applied_ = true; }
  bool TakeApplied() { return applied_.exchange(false); }
  [[nodiscard]] bool applied() const { return applied_; }

 private:
  // Written by the owner, read by any thread.
  struct Progress {
    std::atomic<std::uint64_t> flushed_sequence{0};
    std::atomic<std::uint64_t> checkpoint_sequence{0};
    std::atomic<std::uint64_t> restores{0};
    std::atomic<std::uint64_t> writes{0};
    std::atomic<std::uint64_t> checkpoints{0};
    std::atomic<double> written_at{0};     // UNIX s
    std::atomic<double> checkpoint_at{0};  // likewise
  };

  const RunnerOptions& options_;
  const std::uint32_t slots_;
  std::unique_ptr<store::Store> store_;  // replaced by the opening thread only
  SlotCheckpoints checkpoints_;          // of the owner
  Clock::time_point last_checkpoint_{};  // of the owner
  Clock::duration checkpoint_rest_{};    // of the owner: least pause between two checkpoints
  Progress progress_;
  std::atomic<bool> applied_{false};
};

}  // namespace cobblestone::stream::embedded
