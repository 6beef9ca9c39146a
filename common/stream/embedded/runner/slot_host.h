// One slot that runs: its stages and state, its inputs, and its commits to the log.
//
// Threads: any. Three owners share the members: the slot's lock (a worker in Visit() or StepStateWrite(), a
// reader in Query()), the state thread (stored_state.h), and look_mutex_. The comments of calls that wait for
// the slot's lock say so.
// Invariant: a commit is appended before the slot's lock is released, so a reader sees whole commits.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "common/base/histogram.h"
#include "common/base/status.h"
#include "common/stream/commit_watch.h"
#include "common/stream/embedded/log.h"
#include "common/stream/embedded/runner/runner_options.h"
#include "common/stream/embedded/runner/slot_flush.h"
#include "common/stream/embedded/runner/slot_inputs.h"
#include "common/stream/embedded/runner/slot_opener.h"
#include "common/stream/embedded/runner/slot_status.h"
#include "common/stream/embedded/runner/state_writer.h"
#include "common/stream/embedded/runner/stored_state.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::embedded {

// By topic and partition: true if some slot consumes it.
using ConsumedPartitions = std::vector<std::vector<bool>>;

class SlotHost {
 public:
  // The references must outlive the host. `slots`: of the runner. `watch` null: no observer.
  SlotHost(const RunnerOptions& options, Log& log, StateWriter& writer, const ConsumedPartitions& consumed,
           std::uint32_t slots, OpenedSlot opened, CommitWatch* watch);
  ~SlotHost();  // waits until the log has called on_durable for every commit

  // ---- Workers -------------------------------------------------------------------------------------------
  // The work of one stage in a wave: consumes the records that wait on its inputs as one commit; after the first
  // stage, as many commits as are needed. Waits for the slot's lock, but not for a reader in Query(). *again: set if
  // another wave is needed, whether records arrive or not. Not ok: the slot has failed.
  Status Visit(std::size_t stage, bool* again);
  // Between waves: a part of the state write that is due. Does nothing while the slot is in use. *again as above.
  // True: there is more to gather.
  bool StepStateWrite(bool* again);
  // When no worker is left: writes the state of the last commit, unless a write fails.
  void WriteAll() { work_.flush.WriteAll(work_.last_ticket); }
  // While no worker visits the slot: the number of records that wait on its inputs.
  std::uint64_t MeasureLag() { return seen_.lag = work_.inputs->Lag(); }

  // ---- Any thread ----------------------------------------------------------------------------------------
  // Runs `read` between two commits, and returns when everything that `read` could see is durable. Waits for the lock.
  void Query(const std::function<void(Slot&)>& read);
  // As of the last commit. Waits for the lock.
  [[nodiscard]] SlotStatus ReadStatus() const;
  // As of the last visit, with the current lag. Waits for no reader and no worker.
  [[nodiscard]] SlotStatus Look() const;
  // Records that waited on the inputs at the last visit or MeasureLag().
  [[nodiscard]] std::uint64_t lag() const { return seen_.lag; }
  // A stage had work left at the last visit (Slot::unfinished).
  [[nodiscard]] bool unfinished() const { return seen_.unfinished; }
  [[nodiscard]] StoredState& stored() const { return *stored_; }

  // Keeps the slot between two commits. Waits for the lock.
  [[nodiscard]] std::unique_lock<std::mutex> Lock() const { return std::unique_lock(mutex_); }
  // With Lock(): no record waits, and no stage is unfinished.
  [[nodiscard]] bool AtRest() const { return work_.inputs->Lag() == 0 && !slot_.unfinished(); }
  // With Lock(): of the last commit.
  [[nodiscard]] std::uint64_t last_ticket() const { return work_.last_ticket; }

  // For the properties that never change while the slot runs: id, inputs, number of stages.
  [[nodiscard]] const Slot& slot() const { return slot_; }

 private:
  using Clock = std::chrono::steady_clock;

  // Guarded by mutex_, with slot_.
  struct Work {
    SlotParts parts;  // has slot_
    std::unique_ptr<SlotInputs> inputs;
    SlotFlush flush;
    std::uint64_t last_ticket = 0;
    std::uint64_t records = 0;    // processed since open
    std::uint64_t throttled = 0;  // visits without progress
  };
  // Written with the slot's lock or by MeasureLag(), read by any thread.
  struct Seen {
    std::atomic<std::uint64_t> lag{0};
    std::atomic<bool> unfinished{false};
  };

  // With the slot's lock:
  Status RunStage(std::size_t stage, bool* again);
  Status Commit(Clock::time_point begun, std::uint64_t* debt);
  void Append(SlotCommit* commit, Clock::time_point begun);
  void StepFlush(std::size_t objects, bool* again);
  [[nodiscard]] SlotStatus StatusOf() const;
  void Publish();

  void AddCurrent(SlotStatus* status) const;  // values that can be read without the slot's lock

  const RunnerOptions& options_;
  Log& log_;
  const ConsumedPartitions& consumed_;
  CommitWatch* const watch_;
  Slot& slot_;
  const std::uint64_t reexecuted_;
  const std::uint64_t reexecuted_records_;
  const std::unique_ptr<StoredState> stored_;  // of the state thread, which has it until the runner stops

  mutable std::mutex mutex_;     // the slot's lock: one thread at a time in the slot
  std::atomic<int> readers_{0};  // callers of Query()
  Work work_;
  Seen seen_;
  LatencyHistogram commit_latency_;  // observed by the log's committer
  mutable std::mutex look_mutex_;
  SlotStatus last_look_;  // guarded by look_mutex_
};

}  // namespace cobblestone::stream::embedded
