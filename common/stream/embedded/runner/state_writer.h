// The state thread of a runner: writes the states of all slots to disk, one write at a time, makes the checkpoints
// and trims the log.
//
// A slot's thread gathers the rows of a state write (slot_flush.h) and submits them. The state thread waits until the
// commit of these rows is durable, because a state must never be newer than the log, and applies them to the store.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "common/stream/embedded/log.h"
#include "common/stream/embedded/runner/log_trimmer.h"
#include "common/stream/embedded/runner/runner_options.h"
#include "common/stream/embedded/runner/stored_state.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::embedded {

class StateWriter {
 public:
  struct Job {
    StoredState* state = nullptr;
    std::unique_ptr<StateWrite> write;
    std::uint64_t ticket = 0;  // of the slot's last commit, which is the commit of the rows or a later commit
  };

  // On the state thread: `failed` receives the status of a job that failed, then `done` is called after each job.
  StateWriter(const RunnerOptions& options, Log& log, LogTrimmer& trimmer, std::function<void(Status)> failed,
              std::function<void()> done);
  ~StateWriter();  // as Stop()

  void Start();
  // Runs the submitted jobs and ends the thread.
  void Stop();

  // Any thread. The state is applied() after its job, unless the job failed.
  void Submit(Job job);
  // Waits until the state is applied() or a job has failed; false: a job has failed.
  bool WaitApplied(const StoredState& state);
  // Waits until all submitted jobs are done or one has failed.
  void WaitDone();

  // Counts the slots between the start of a state write and the end of its job; their threads call it, so that state
  // writes of the slots run one after another. Any thread.
  void CountBegun() { ++begun_; }
  void CountEnded() { --begun_; }
  [[nodiscard]] int begun() const { return begun_; }

 private:
  void Work();
  Status Run(const Job& job);

  const RunnerOptions& options_;
  Log& log_;
  LogTrimmer& trimmer_;
  const std::function<void(Status)> failed_;
  const std::function<void()> done_;
  std::atomic<int> begun_{0};
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable submitted_;
  std::condition_variable job_done_;
  // Guarded by mutex_.
  struct Queue {
    std::vector<Job> jobs;
    bool running = false;
    bool failed = false;
    bool stopping = false;
  } queue_;
};

}  // namespace cobblestone::stream::embedded
