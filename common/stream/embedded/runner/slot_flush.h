// The part of a slot's state writes that runs on the slot's thread: it begins a write when one is due, gathers the
// rows in small steps between commits, and submits them to the state writer.
//
// A write is due after flush_interval, or earlier when the debt has reached its limit. State writes of the
// slots run one after another, so that they always take a small part of the time and never all of it; at twice
// the debt a slot no longer waits for the writes of others. At kThrottledAt times the debt, a slot whose write
// is active is throttled: a disk that is slower than the stages must not make a restart long.
//
// Threads: one at a time, that of the slot.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "common/stream/embedded/runner/runner_options.h"
#include "common/stream/embedded/runner/state_debt.h"
#include "common/stream/embedded/runner/state_writer.h"
#include "common/stream/embedded/runner/stored_state.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::embedded {

// Objects that are gathered between two waves: about a millisecond.
inline constexpr std::size_t kGatherSlice = 1000;

class SlotFlush {
 public:
  using Clock = std::chrono::steady_clock;

  // `debt`: of the commits that the open re-executed. `last`: the time from which the first flush_interval counts.
  SlotFlush(const RunnerOptions& options, std::uint32_t slots, Slot& slot, StoredState& stored,
            StateWriter& writer, const StateDebt& debt, Clock::time_point last);

  // A commit was appended.
  void Add(const SlotCommit& commit) { debt_.Add(commit.debt, commit.debt_bytes); }
  // The slot waits for its state write.
  [[nodiscard]] bool throttled() const { return debt_.Due(kThrottledAt) && slot_.flush_active(); }
  [[nodiscard]] bool gathering() const { return slot_.gathering(); }

  // Between commits: completes a write that was applied, begins one that is due, gathers up to `objects`. `ticket`: of
  // the slot's last commit. True: a write was completed, so a throttled slot may continue.
  bool Step(std::size_t objects, std::uint64_t ticket);
  // After the last commit: submits writes until the state on disk will be that of the last commit. Returns early if a
  // write failed.
  void WriteAll(std::uint64_t ticket);

 private:
  // Measured at full load on two cores: throttled at the debt itself the pipeline is a tenth slower, at twice the debt
  // no difference is seen.
  static constexpr std::uint64_t kThrottledAt = 2;

  bool CompleteApplied();
  [[nodiscard]] bool Due(Clock::time_point now) const;
  void Submit(std::uint64_t ticket);

  const RunnerOptions& options_;
  const std::uint64_t object_bytes_;
  Slot& slot_;
  StoredState& stored_;
  StateWriter& writer_;
  StateDebt debt_;
  Clock::time_point last_;  // start of the last write
  bool submitted_ = false;  // and not yet completed
};

}  // namespace cobblestone::stream::embedded
