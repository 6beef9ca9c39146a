// The status of a task: its phase, its committed position, its ownership, and the reason why it stops.
//
// A failure has one of three outcomes, by its kind: the slot stops and needs an operator (kStopped), its state is
// discarded and the slot returns to Position, or the process must end (failure()).
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/stream/kafka/position.h"
#include "common/stream/kafka/task/task_options.h"
#include "common/stream/kafka/task/task_parts.h"
#include "common/stream/kafka/task/task_status.h"

namespace cobblestone::stream::kafka {

class Lifecycle {
 public:
  Lifecycle(const TaskContext& context, TaskParts& parts) : context_(context), parts_(parts) {}

  [[nodiscard]] Phase phase() const { return phase_; }
  void Enter(Phase phase) { phase_ = phase; }
  [[nodiscard]] bool stopped() const { return phase_ == Phase::kStopped; }
  [[nodiscard]] bool running() const { return phase_ == Phase::kRunning; }

  [[nodiscard]] bool owned() const { return owned_; }
  void SetOwned(bool owned) { owned_ = owned; }

  [[nodiscard]] const Position& position() const { return position_; }
  void SetPosition(const Position& position) { position_ = position; }
  // A newer checkpoint is complete.
  void SetCheckpoint(std::uint64_t sequence, std::uint64_t end);

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const Status& failure() const { return failure_; }
  [[nodiscard]] std::uint32_t needs_rules() const { return needs_rules_; }
  // The slot is about to stop because it needs a program with these rules.
  void NeedRules(std::uint32_t version) { needs_rules_ = version; }

  // Handles a status of the slot, its state or its inputs.
  void Fail(const Status& status);
  // As Fail(), for reads and writes of the state on this machine: damage does not stop the slot, unless it returns.
  void FailState(const Status& status);
  // Stops the slot with a reason.
  void Stop(std::string problem);
  // Opens the state; failures are handled.
  void OpenState();
  // Discards the state and opens an empty one; failures are handled. The phase stays as it is, unless it fails.
  void WipeState();
  // As WipeState(), reports why and returns to Position.
  void DiscardState(const std::string& why);
  // A commit was executed: the state on this machine is usable.
  void CountCommit() { wiped_ = 0; }

 private:
  const TaskContext& context_;
  TaskParts& parts_;
  Phase phase_ = Phase::kPosition;
  bool owned_ = false;
  Position position_;  // committed, as far as known
  std::string problem_;
  Status failure_;
  std::uint32_t needs_rules_ = 0;
  int wiped_ = 0;  // consecutive wipes of the state without an executed commit
};

}  // namespace cobblestone::stream::kafka
