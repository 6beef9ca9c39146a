#include "common/stream/kafka/task/recovery.h"

#include <string>

#include "common/stream/kafka/task/recovery_way.h"

namespace cobblestone::stream::kafka {

// ---- Ownership ----------------------------------------------------------------------------------------------

void Recovery::SetOwned(bool owned) {
  if (life_.owned() == owned) return;
  life_.SetOwned(owned);
  parts_.care.Reset();
  if (life_.stopped()) return;
  COBBLESTONE_CHECK(!parts_.transaction.touched(), "a slot changed hands in the middle of a transaction");
  follows_checkpoints_ = false;
  if (!owned && life_.running()) {
    // The state equals the committed state: the task continues as a standby.
    parts_.checkpoint_writer.Drop();
    parts_.state.DeleteEveryRow(true);
    life_.Enter(Phase::kStandby);
    StartJournal();
    return;
  }
  if (life_.phase() == Phase::kTailing) parts_.StopReading();
  life_.Enter(Phase::kPosition);  // the position in the log must be read again
}

void Recovery::FollowCheckpoints() {
  if (life_.owned() || follows_checkpoints_ || life_.stopped() || !life_.failure().ok()) return;
  follows_checkpoints_ = true;
  parts_.StopReading();
  context_.background.Drain();
  if (!parts_.checkpoint_reading.restoring()) {  // changes in memory are discarded
    if (Status s = parts_.OpenSlot(); !s.ok()) return life_.FailState(s);
  }
  life_.Enter(Phase::kPosition);
}

void Recovery::SetPosition(const std::optional<Position>& position) {
  if (life_.phase() != Phase::kPosition || !life_.failure().ok()) return;
  life_.SetPosition(position.value_or(Position{}));
  if (Status s = CheckRules(life_.position().rules_version, context_.options); !s.ok()) {
    life_.NeedRules(life_.position().rules_version);
    return life_.Stop(s.message());
  }
  Begin();
}

void Recovery::StopAfter(std::uint64_t sequence) {
  last_ = sequence;
  upkeep_.EndAt(sequence);
}

void Recovery::Rewind() {
  parts_.StopReading();
  context_.background.Drain();
  parts_.checkpoint_writer.Drop();
  life_.Enter(Phase::kPosition);
  if (Status s = parts_.OpenSlot(); !s.ok()) life_.FailState(s);
}

// ---- The way to the position --------------------------------------------------------------------------------

void Recovery::Begin() {
  const std::string rebuild = "`cobblestone rebuild " + std::to_string(context_.slot);
  const RecoveryWay way =
      WayTo(life_.position(), meta(), {.follows = follows(), .lost_checkpoint = lost_checkpoint_});
  switch (way) {
    case RecoveryWay::kNoPosition:
      return life_.Stop(
          "the state on this machine has executed " + std::to_string(meta().sequence) +
          " commits, but the cluster has no commits of this slot. If the group was inactive for "
          "longer than the offset retention of the brokers, or was deleted: with all workers "
          "stopped, " +
          rebuild + " --journal` commits the end of the journal. If the topics were created again: " +
          rebuild + "` discards the state");
    case RecoveryWay::kAhead:
      return life_.Stop("the state on this machine has executed " + std::to_string(meta().sequence) +
                        " commits, but the cluster has only " + std::to_string(life_.position().sequence) +
                        ": committed data is missing on the cluster. " + rebuild +
                        "` rebuilds the state from the data on the cluster");
    case RecoveryWay::kFresh: return BeginFresh();
    case RecoveryWay::kRestore: return BeginRestore();
    case RecoveryWay::kReexecute: return BeginReexecution();
    case RecoveryWay::kDiscardFollow:
      life_.WipeState();
      if (life_.phase() != Phase::kPosition || !life_.failure().ok()) return;
      return BeginFollowing();
    case RecoveryWay::kFollow: return BeginFollowing();
    case RecoveryWay::kWait: return;
  }
}

void Recovery::BeginFresh() {
  life_.Enter(Phase::kFresh);
  parts_.StopReading();
  StartJournal();
  if (Status s = parts_.checkpoint_reading.Start(kBeginning); !s.ok()) life_.Fail(s);
}

void Recovery::BeginRestore() {
  const bool has_state = meta().sequence > 0;
  if (has_state || parts_.checkpoint_reading.restoring()) {
    if (has_state)
      context_.report("the state of " + context_.Name() + " is " + (follows() ? "not as of" : "far behind") +
                      " the checkpoint, and is discarded");
    parts_.checkpoint_reading.DropRestore();
    life_.WipeState();
    if (life_.phase() != Phase::kPosition || !life_.failure().ok()) return;
  }
  parts_.StopReading();
  life_.Enter(Phase::kCheckpoint);
  if (Status s = parts_.checkpoint_reading.BeginRestore(
          *parts_.state.store(), life_.position().checkpoint_sequence, life_.position().checkpoint_end);
      !s.ok())
    life_.Fail(s);
}

void Recovery::BeginReexecution() {
  life_.Enter(Phase::kReexecute);
  StartInputs();
  if (meta().journal_next < life_.position().journal_next || !life_.owned()) StartJournal();
  Reached();
}

// Follows the owner's checkpoints, starting after the checkpoint that the state contains.
void Recovery::BeginFollowing() {
  parts_.StopReading();
  life_.Enter(Phase::kTailing);
  const std::uint64_t from =
      life_.position().checkpoint_sequence > 0 ? life_.position().checkpoint_end : kBeginning;
  if (Status s = parts_.checkpoint_reading.BeginFollowing(*parts_.state.store(), from); !s.ok())
    life_.Fail(s);
}

void Recovery::StartInputs() {
  if (Status s = parts_.inputs.Start(); !s.ok()) life_.Fail(s);
}

void Recovery::StartJournal() {
  if (Status s = parts_.reexecution.Start(); !s.ok()) life_.Fail(s);
}

// Called when there may be nothing left to re-execute. An owner then runs; any other task becomes a standby.
void Recovery::Reached() {
  if (life_.phase() != Phase::kReexecute) return;
  if (meta().sequence == last_ && !parts_.reexecution.within_entry()) {
    life_.Enter(Phase::kStandby);
    return;
  }
  if (parts_.reexecution.within_entry() || parts_.reexecution.within_message() ||
      meta().journal_next < life_.position().journal_next)
    return;
  if (meta().sequence != life_.position().sequence)
    return life_.Stop("the journal ends with commit " + std::to_string(meta().sequence) + ", but commit " +
                      std::to_string(life_.position().sequence) +
                      " is committed: the journal has lost records");
  if (!life_.owned()) {
    life_.Enter(Phase::kStandby);
    return;
  }
  parts_.reexecution.Stop();
  Run();
}

// The owner has reached the end of the log.
void Recovery::Run() {
  life_.Enter(Phase::kRunning);
  parts_.checkpoint_writer.RunsFrom(meta().sequence);
  parts_.care.TakeOver(life_.position());
}

// ---- Steps --------------------------------------------------------------------------------------------------

bool Recovery::Advance(Cluster& clock, Time deadline) {
  if (!life_.failure().ok()) return false;
  bool moved = false;
  switch (life_.phase()) {
    case Phase::kFresh: moved = CheckFresh(); break;
    case Phase::kCheckpoint:
      while (life_.phase() == Phase::kCheckpoint && life_.failure().ok() && RestoreSome()) {
        moved = true;
        if (clock.Now() >= deadline) break;
      }
      break;
    case Phase::kReexecute:
    case Phase::kStandby: moved = ExecuteSome(clock, deadline); break;
    case Phase::kTailing: moved = FollowSome(clock.Now()); break;
    default: break;
  }
  return moved;
}

// Nothing was ever committed for the slot: its journal must be empty.
bool Recovery::CheckFresh() {
  bool entries = false;
  bool rows = false;
  Status s = parts_.reexecution.Peek(&entries);
  if (s.ok()) s = parts_.checkpoint_reading.Peek(&rows);
  if (!s.ok()) {
    life_.Fail(s);
    return true;
  }
  if (entries && !life_.owned()) {  // another worker has begun to run the slot
    parts_.checkpoint_reading.Stop();
    life_.Enter(Phase::kStandby);
    StartInputs();
    return true;
  }
  if (entries || rows) {
    life_.Stop(
        "the cluster has no commits of this slot, but its journal or checkpoint is not empty: "
        "the group was inactive for longer than the offset retention of the brokers, or was "
        "deleted. With all workers stopped, `cobblestone rebuild " +
        std::to_string(context_.slot) + " --journal` commits the end of the journal");
    return true;
  }
  if (!life_.owned() || !context_.reader.AtEnd(context_.Journal()) ||
      !context_.reader.AtEnd(context_.Checkpoint()))
    return false;
  parts_.StopReading();
  StartInputs();
  if (life_.phase() == Phase::kFresh) Run();
  return true;
}

bool Recovery::RestoreSome() {
  CheckpointReading::Progress progress{};
  if (Status s = parts_.checkpoint_reading.Restore(&progress); !s.ok()) {
    life_.Fail(s);
    return true;
  }
  if (progress == CheckpointReading::Progress::kComplete) return EndRestore();
  if (progress != CheckpointReading::Progress::kLost) return progress == CheckpointReading::Progress::kRead;
  context_.report("the checkpoint of " + context_.Name() + " as of commit " +
                  std::to_string(life_.position().checkpoint_sequence) +
                  " was compacted together with a later checkpoint, and may have lost rows. If the later "
                  "checkpoint is incomplete, the state is rebuilt from the first commit; if inputs have "
                  "been deleted, start the previous worker of the slot on its disk");
  lost_checkpoint_ = life_.position().checkpoint_sequence;
  parts_.checkpoint_reading.DropRestore();
  life_.WipeState();
  if (!life_.stopped()) life_.Enter(Phase::kPosition);
  return true;
}

bool Recovery::EndRestore() {
  std::uint64_t sequence = 0;
  Status s = parts_.checkpoint_reading.FinishRestore(&sequence);
  parts_.StopReading();
  if (s.ok()) s = parts_.OpenSlot();
  if (!s.ok()) {
    life_.Fail(s);
    return true;
  }
  ++restores_;
  context_.report("the state of " + context_.Name() +
                  " was restored from its checkpoint: " + std::to_string(parts_.checkpoint_reading.rows()) +
                  " rows, as of commit " + std::to_string(sequence));
  if (follows()) {
    BeginFollowing();
    return true;
  }
  life_.Enter(Phase::kReexecute);
  StartInputs();
  StartJournal();
  Reached();
  return true;
}

bool Recovery::FollowSome(Time now) {
  bool read = false;
  bool applied = false;
  Status s = parts_.checkpoint_reading.Follow(now, &read, &applied);
  if (s.code() == StatusCode::kNotFound) {
    life_.DiscardState(s.message());
    return true;
  }
  if (!s.ok()) {
    life_.FailState(s);
    return true;
  }
  if (!applied) return read;
  if (s = parts_.OpenSlot(); !s.ok()) life_.FailState(s);
  return true;
}

bool Recovery::ExecuteSome(Cluster& clock, Time deadline) {
  bool moved = false;
  while (life_.phase() == Phase::kReexecute || life_.phase() == Phase::kStandby) {
    // An owner's journal has no commits after the position. A standby executes all commits of the owner.
    const std::uint64_t end = life_.phase() == Phase::kReexecute ? life_.position().journal_next : ~0ull;
    std::optional<Reexecution::Executed> executed;
    if (Status s = parts_.reexecution.Step({.sequence = last_, .journal_next = end}, &executed); !s.ok()) {
      if (const std::uint32_t rules = parts_.reexecution.needs_rules(); rules != 0) life_.NeedRules(rules);
      life_.Fail(s);
      return true;
    }
    if (!executed) return moved;
    parts_.keeper.Add(executed->debt, executed->debt_bytes);
    if (executed->checkpoint_sequence > life_.position().checkpoint_sequence)
      life_.SetCheckpoint(executed->checkpoint_sequence, executed->checkpoint_end);
    moved = true;
    life_.CountCommit();
    Reached();
    upkeep_.StepState(clock.Now());
    if (clock.Now() >= deadline) return true;
  }
  return moved;
}

}  // namespace cobblestone::stream::kafka
