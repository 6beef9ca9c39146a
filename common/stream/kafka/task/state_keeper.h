// The state writes of a slot: their due times, their steps between commits, and the throttling of the slot.
//
// The slot's thread gathers the rows in small steps; the state thread (Background) writes them. A write is due after
// flush_interval, or earlier when the debt (work since the last write began) has reached its limit.
// Threads: one at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/status.h"
#include "common/stream/kafka/task/local_state.h"
#include "common/stream/kafka/task/task_options.h"
#include "common/stream/kafka/task/task_status.h"

namespace cobblestone::stream::kafka {

// Objects gathered between two rounds: about a millisecond.
inline constexpr std::size_t kGatherSlice = 1000;

class StateKeeper {
 public:
  // The limits of a step, which the task determines.
  struct Step {
    Time now{};
    std::size_t objects = kGatherSlice;     // gathered at most
    bool may_begin = true;                  // a state may be as of the slot's last commit
    bool running = false;                   // as the owner
    std::uint64_t checkpoint_sequence = 0;  // of the newest complete checkpoint
  };

  StateKeeper(const TaskContext& context, LocalState& state) : context_(context), state_(state) {}

  // The slot was opened: the state on disk is as of its last commit, and no write is active. The state thread must be
  // drained before.
  void Reset();
  // The state was removed.
  void DropWrite() { write_.reset(); }

  // A commit has added SlotCommit::debt and debt_bytes.
  void Add(std::uint64_t debt, std::uint64_t debt_bytes) {
    debt_ += debt;
    debt_bytes_ += debt_bytes;
  }
  // The state on disk is too far behind: the slot waits for its state write.
  [[nodiscard]] bool throttled() const {
    return (debt_ >= kThrottledAt * context_.options.flush_debt_records ||
            debt_bytes_ >= kThrottledAt * context_.options.flush_debt_bytes) &&
           state_.slot().flush_active();
  }
  // Not ok: the write failed.
  Status Advance(const Step& step);
  // The state thread has a write, or has done it and Advance() has not seen it.
  [[nodiscard]] bool writing() const { return write_ != nullptr; }
  // Makes a state write due, whatever the time.
  void MakeDue();

  [[nodiscard]] std::uint64_t flushed_sequence() const { return flushed_sequence_; }
  void AddTo(TaskStatus* look) const;

 private:
  // A disk that is slower than the stages must not make a restart long.
  static constexpr std::uint64_t kThrottledAt = 4;

  // Shared with the state thread.
  struct PendingWrite {
    std::unique_ptr<StateWrite> write;
    std::atomic<bool> done{false};
    Status status;  // set before done
  };

  Status Complete();
  [[nodiscard]] bool Due(Time now) const;
  void Submit(std::uint64_t checkpoint_sequence);

  const TaskContext& context_;
  LocalState& state_;
  std::shared_ptr<PendingWrite> write_;
  std::uint64_t debt_ = 0;        // records since the last state write began
  std::uint64_t debt_bytes_ = 0;  // their bytes
  Time last_{};                   // start of the last write
  bool began_running_ = false;    // the slot ran as the owner at the start of the current write
  std::uint64_t flushed_sequence_ = 0;
  std::uint64_t writes_ = 0;
  double written_at_ = 0;  // UNIX s
};

}  // namespace cobblestone::stream::kafka
