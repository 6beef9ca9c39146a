// A slot on Kafka: its state on this machine, how the state is restored to a journal position, and how it
// continues.
//
//   Position ─► Fresh ──────────────────────────┐
//            ├► Checkpoint ─┐                   ▼
//            └──────────────┴► Reexecute ─► Running (owner) or Standby (re-executes the owner's commits)
//                           └► Tailing (applies the owner's checkpoints: FollowCheckpoints())
//
// After any failure of a transaction, its slots return to Position: state always follows the journal, and
// this is the only way to restore it. Stopped: the slot needs an operator; problem() has the reason.
//
// The task is the worker's interface to a slot and makes the commits of an owner. The other parts are in task/
// (README.md there), above all Lifecycle (phase, position, failures) and Recovery (the phases up to Running).
//
// Threads: one at a time; `Background` writes the state.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/histogram.h"
#include "common/base/status.h"
#include "common/stream/kafka/background.h"
#include "common/stream/kafka/position.h"
#include "common/stream/kafka/state.h"
#include "common/stream/kafka/task/lifecycle.h"
#include "common/stream/kafka/task/recovery.h"
#include "common/stream/kafka/task/task_options.h"
#include "common/stream/kafka/task/task_parts.h"
#include "common/stream/kafka/task/task_status.h"
#include "common/stream/kafka/task/upkeep.h"
#include "common/stream/kafka/transport.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::kafka {

class Task {
 public:
  Task(std::uint32_t slot, const TaskOptions& options, const SlotFactory& factory, StateSpace& space,
       Background& background, Reader& reader, std::function<void(const std::string&)> report);

  [[nodiscard]] std::uint32_t slot() const { return context_.slot; }
  [[nodiscard]] Phase phase() const { return life_.phase(); }
  [[nodiscard]] bool owned() const { return life_.owned(); }
  [[nodiscard]] const std::string& problem() const { return life_.problem(); }
  // A failure of this machine (its disk), not of the slot. The process must end.
  [[nodiscard]] const Status& failure() const { return life_.failure(); }
  // The slot is stopped because a program with this newer rules version has committed for it; 0: not the
  // reason.
  [[nodiscard]] std::uint32_t needs_rules() const { return life_.needs_rules(); }
  [[nodiscard]] const Position& position() const { return life_.position(); }
  [[nodiscard]] TaskStatus Look() const;

  // Sets whether the slot runs or stands by.
  void SetOwned(bool owned) { recovery_.SetOwned(owned); }
  // Until owned: apply the owner's checkpoints instead of re-executing the owner's commits.
  void FollowCheckpoints() { recovery_.FollowCheckpoints(); }
  // Phase kPosition: sets the committed position; none: nothing was ever committed.
  void SetPosition(const std::optional<Position>& position) { recovery_.SetPosition(position); }
  // Works towards kRunning, or keeps up, until there is no work or `deadline`. True: progress was made.
  bool Advance(Cluster& clock, Time deadline) { return recovery_.Advance(clock, deadline); }
  // Does part of the deferred work: state writes, checkpoints.
  void Tend(Time now) { upkeep_.Tend(now); }

  // Running: messages are waiting, or a stage is unfinished (Slot::unfinished).
  bool has_input();
  // One commit: processes waiting records through all stages, or continues an unfinished stage. The outputs go
  // to the producer, in its open transaction. *records: number consumed. *work: SlotCommit::debt, which counts
  // towards the size of the transaction; 0: nothing was done. An outcome other than ok is the producer's; a slot
  // that fails becomes kStopped.
  Outcome Round(Producer& producer, std::uint64_t* records, std::uint64_t* work);
  // Part of the open transaction, through records or a part of a checkpoint.
  [[nodiscard]] bool touched() const { return parts_.transaction.touched(); }
  // The slot failed within the open transaction, which must not be committed. Until Rewind().
  [[nodiscard]] bool tainted() const { return parts_.transaction.tainted(); }
  // Needs a transaction even without records: for a part of a checkpoint.
  [[nodiscard]] bool wants_commit() const;
  // Consumes no record before a commit has named the owner or the record to be tried.
  [[nodiscard]] bool announces() const { return parts_.care.announces(); }
  // Earlier owners died: a transaction holds one round of this slot and nothing else.
  [[nodiscard]] bool careful() const { return parts_.care.careful(); }
  // Writes the journal and a part of a checkpoint (before K2).
  Outcome Write(Producer& producer);
  // Adds the offsets to send, after Flush() (between K3 and K4).
  void AddOffsets(const std::string& owner, bool release, bool inputs, std::vector<OffsetToSend>* offsets);
  // The transaction that began at `begun` is committed (between K5 and K6).
  void Committed(Time now, Time begun);
  // The transaction was aborted, or its outcome is unknown: state and inputs return to the committed
  // position.
  void Rewind();
  // Call before SetPosition(): re-executes up to this commit, then stands by.
  void StopAfter(std::uint64_t sequence) { recovery_.StopAfter(sequence); }
  // Called with each re-executed commit; its outputs are discarded otherwise.
  void OnExecuted(std::function<void(const SlotCommit&)> executed) {
    parts_.reexecution.OnExecuted(std::move(executed));
  }
  // Standby: writes all unwritten state and waits for the write.
  Status FlushState() { return upkeep_.FlushState(); }
  [[nodiscard]] const SlotMeta& meta() const { return parts_.state.meta(); }
  // Stops the slot with a reason.
  void Stop(std::string problem) { life_.Stop(std::move(problem)); }

 private:
  const TaskContext context_;
  TaskParts parts_;
  Lifecycle life_;
  Upkeep upkeep_;
  Recovery recovery_;
  Position next_position_;     // of the open transaction
  std::uint64_t records_ = 0;  // processed as the owner
  LatencyHistogram commit_latency_;
};

}  // namespace cobblestone::stream::kafka
