// Runs slots on the embedded log: N slots on M threads, one committer (inside the log), one thread that
// writes state (docs/runtime.md).
//
// Work is done in waves. A wave takes the waiting records through the stages: the first stage of every slot,
// then the second stage of every slot, and so on. A record thus passes all stages in one wave, and a slot
// commits once per stage, however few records there are. Waves begin at least commit_interval apart. To
// commit, a slot consumes the records that wait on the stage's inputs, processes them, finishes, and appends
// outputs and journal entry as one unit. Later commits may read a unit before it is durable; their outputs
// follow the unit in the log.
//
// Crash: the log holds a prefix of the units. A slot's state is that of a commit in this prefix (state is
// applied only after its commit is durable). Open() re-executes the later journal entries with outputs
// suppressed and compares the fingerprint of each.
//
// The parts of a runner are in runner/ (README.md there): the slots (SlotHost), the order of their work (Waves), and
// the thread that writes states (StateWriter). The runner itself has the threads, the sleep of idle workers, and the
// failure that stops all slots.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "common/store/rocksdb/rocksdb_store.h"
#include "common/stream/embedded/log.h"
#include "common/stream/embedded/runner/runner_options.h"
#include "common/stream/embedded/runner/slot_status.h"
#include "common/stream/embedded/runner/waves.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::embedded {

class LogTrimmer;
class SlotHost;
class StateWriter;

class Runner {
 public:
  // Opens the state of all slots, restores damaged or missing state from a checkpoint, and re-executes the
  // later journal entries. kCorrupted: damage that no copy can repair, or state newer than the log. kFatal: the
  // re-execution diverged (the message says where).
  static Result<std::unique_ptr<Runner>> Open(const RunnerOptions& options, Log& log, std::uint32_t slots,
                                              const SlotFactory& factory,
                                              const std::function<void(const std::string&)>& report);
  ~Runner();

  void Start();
  // Stops workers at the end of their rounds, waits until everything is durable, and writes the state. The
  // next open then has the least work.
  Status Stop();
  // Ok while running; else the reason why a slot stopped. A stopped slot stops the whole runner.
  [[nodiscard]] Status failure() const;

  // Runs `read` between two commits of the slot and returns when everything that `read` could see is durable.
  // Waves skip the slot meanwhile.
  void Query(std::uint32_t slot, const std::function<void(Slot&)>& read);

  // The slot's state on disk, as of a commit a few seconds ago. Any thread, at any time.
  [[nodiscard]] const store::Store& stored(std::uint32_t slot) const;

  // Copies the stored state to `path`, which must not exist, with hard links where the file system supports
  // them. Another process can then read it.
  Status CopyStored(std::uint32_t slot, const std::string& path);

  // Copies states and log to `directory`, which must exist and be empty, as `state/slot-K` and `log`, with hard
  // links where the file system supports them: a data directory as of one commit of the log, whose states are as of
  // that commit or earlier. Only the trimming of the log waits for the copy. Statuses as Log::Checkpoint() and
  // Store::Checkpoint(). Any thread.
  Status CopyAll(const std::string& directory);

  [[nodiscard]] std::vector<SlotStatus> status() const;
  // As status(), without waiting for any slot, for health checks and metrics: a slot that is being read for
  // long (an audit) is shown as of its last visit. The lag is current.
  [[nodiscard]] std::vector<SlotStatus> Look() const;
  // True if no record waits on any input, no stage is unfinished, and everything is durable.
  [[nodiscard]] bool idle() const;
  // Waits until idle or failed. Waves and synced writes are not delayed meanwhile.
  void WaitIdle();
  // The same without durability: waits until no record waits on any input and no stage is unfinished, or failed. Returns
  // the ticket of the last unit that the slots have appended; what is appended later cannot become durable first (log.h).
  std::uint64_t WaitAtRest();
  // Waits until at most about `records` records wait on the inputs of all slots, or the runner stops or
  // fails. For callers that append.
  void WaitLag(std::uint64_t records);

 private:
  // Guarded by mutex_.
  struct Shared {
    Waves waves;
    std::uint64_t seen = 0;  // wake_count_ at the last search for input
    Status failure;
  };

  Runner(const RunnerOptions& options, Log& log);

  Status OpenSlots(std::uint32_t slots, const SlotFactory& factory,
                   const std::function<void(const std::string&)>& report);
  void Work(std::uint32_t thread);
  bool BeginWave(std::chrono::steady_clock::time_point now);
  // Works on a slot of the active wave, or waits for the next stage. `lock`: of mutex_, released meanwhile. False: the
  // slot has failed, and the lock is released.
  bool WorkOnWave(std::uint32_t thread, std::unique_lock<std::mutex>& lock);
  void Sleep(std::unique_lock<std::mutex>& lock);
  bool WriteStates(std::uint32_t thread);
  // The ticket of the last unit of the slots, if all are at rest.
  [[nodiscard]] std::optional<std::uint64_t> AtRest() const;
  void Failed(Status status);
  void EndWork();
  void Wake();

  RunnerOptions options_;
  Log& log_;
  std::shared_ptr<store::StoreMemory> memory_;
  std::unique_ptr<LogTrimmer> trimmer_;
  std::unique_ptr<StateWriter> writer_;
  std::vector<std::vector<bool>> consumed_;  // by topic and partition: true if a slot consumes it
  std::vector<std::unique_ptr<SlotHost>> slots_;
  std::vector<std::thread> threads_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};

  mutable std::mutex mutex_;
  std::condition_variable wake_;  // with mutex_
  Shared shared_;
  std::atomic<std::uint64_t> wake_count_{1};  // reasons to look for work; the log may hold some at the start
  std::atomic<int> sleepers_{0};              // workers waiting for input
  std::atomic<int> hurried_{0};               // callers of WaitIdle() and WaitAtRest()
};

}  // namespace cobblestone::stream::embedded
