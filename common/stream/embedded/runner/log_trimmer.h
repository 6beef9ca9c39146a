// Trims the log: inputs and journals are deleted once they precede the oldest kept checkpoint of their slot, and are
// old (RunnerOptions::inputs_age) or the log is large (inputs_bytes). Topics that are kept forever are never trimmed.
//
// Threads: Trim() on the state thread, which owns the checkpoints (stored_state.h). Pause(): any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "common/stream/embedded/log.h"
#include "common/stream/embedded/runner/runner_options.h"
#include "common/stream/embedded/runner/slot_checkpoints.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::embedded {

class LogTrimmer {
 public:
  LogTrimmer(const RunnerOptions& options, Log& log) : options_(options), log_(log) {}

  // Before the first Trim(). Slot and checkpoints must outlive the last Trim().
  void Add(const Slot& slot, const SlotCheckpoints& checkpoints) { slots_.push_back({&slot, &checkpoints}); }

  // Does nothing while the log is paused; the next call then trims.
  void Trim();
  // Nothing is trimmed while the lock is held.
  [[nodiscard]] std::unique_lock<std::mutex> Pause() { return std::unique_lock(mutex_); }

 private:
  struct Trimmed {
    const Slot* slot = nullptr;  // its id and inputs only, which do not change
    const SlotCheckpoints* checkpoints = nullptr;
  };

  void TrimBehind(TopicPartition where, std::uint64_t behind, double keep_after);

  const RunnerOptions& options_;
  Log& log_;
  std::vector<Trimmed> slots_;
  std::mutex mutex_;  // held while the log is trimmed or must not be
};

}  // namespace cobblestone::stream::embedded
