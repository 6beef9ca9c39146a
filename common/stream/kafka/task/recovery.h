// Brings a task from the state on this machine to the end of the log: the phases from Position to Running, Standby or
// Tailing (task.h draws them).
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "common/stream/kafka/position.h"
#include "common/stream/kafka/task/lifecycle.h"
#include "common/stream/kafka/task/task_options.h"
#include "common/stream/kafka/task/task_parts.h"
#include "common/stream/kafka/task/upkeep.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

class Recovery {
 public:
  Recovery(const TaskContext& context, TaskParts& parts, Lifecycle& life, Upkeep& upkeep)
      : context_(context), parts_(parts), life_(life), upkeep_(upkeep) {}

  // As those of Task.
  void SetOwned(bool owned);
  void FollowCheckpoints();
  void SetPosition(const std::optional<Position>& position);
  bool Advance(Cluster& clock, Time deadline);
  void StopAfter(std::uint64_t sequence);
  // A transaction with the slot was aborted: back to Position.
  void Rewind();

  [[nodiscard]] std::uint64_t restores() const { return restores_; }  // from a checkpoint

 private:
  [[nodiscard]] bool follows() const { return !life_.owned() && follows_checkpoints_; }
  [[nodiscard]] const SlotMeta& meta() const { return parts_.state.meta(); }

  // Phase kPosition, position known: enters the next phase.
  void Begin();
  void BeginFresh();
  void BeginRestore();
  void BeginFollowing();
  void BeginReexecution();
  void StartInputs();
  void StartJournal();

  // The steps of a phase. True: progress was made.
  bool CheckFresh();
  bool RestoreSome();
  bool EndRestore();
  bool FollowSome(Time now);
  bool ExecuteSome(Cluster& clock, Time deadline);
  // Ends the re-execution if nothing is left to re-execute.
  void Reached();
  void Run();

  const TaskContext& context_;
  TaskParts& parts_;
  Lifecycle& life_;
  Upkeep& upkeep_;
  bool follows_checkpoints_ = false;
  std::uint64_t last_ = ~0ull;         // last commit to execute
  std::uint64_t lost_checkpoint_ = 0;  // sequence of a checkpoint that may have lost rows
  std::uint64_t restores_ = 0;
};

}  // namespace cobblestone::stream::kafka
