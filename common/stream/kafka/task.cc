#include "common/stream/kafka/task.h"

#include <algorithm>
#include <utility>

#include "common/base/failpoint.h"

namespace cobblestone::stream::kafka {

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kPosition: return "position";
    case Phase::kFresh: return "fresh";
    case Phase::kCheckpoint: return "checkpoint";
    case Phase::kReexecute: return "reexecute";
    case Phase::kRunning: return "running";
    case Phase::kStandby: return "standby";
    case Phase::kTailing: return "tailing";
    case Phase::kStopped: return "stopped";
  }
  return "";
}

Task::Task(std::uint32_t slot, const TaskOptions& options, const SlotFactory& factory, StateSpace& space,
           Background& background, Reader& reader, std::function<void(const std::string&)> report)
    : context_{.slot = slot,
               .options = options,
               .space = space,
               .background = background,
               .reader = reader,
               .report = std::move(report)},
      parts_(context_, factory),
      life_(context_, parts_),
      upkeep_(context_, parts_, life_),
      recovery_(context_, parts_, life_, upkeep_) {
  life_.OpenState();
}

TaskStatus Task::Look() const {
  TaskStatus look{.slot = slot(), .phase = phase(), .owned = owned()};
  if (parts_.state.has_slot()) {
    const Slot& slot = parts_.state.slot();
    look.sequence = slot.meta().sequence;
    look.hash = slot.meta().hash;
    look.cached_bytes = slot.cached_bytes();
    look.waiting = slot.waiting();
    look.stages.resize(slot.stage_count());
    const std::vector<std::uint64_t>& records = parts_.feeder.stage_records();
    for (std::size_t i = 0; i < records.size(); ++i) look.stages[i].records = records[i];
    parts_.inputs.AddLag(&look);
  }
  look.target_sequence = std::max(position().sequence, look.sequence);
  look.checkpoint_sequence = position().checkpoint_sequence;
  look.restored_rows = parts_.checkpoint_reading.rows();
  look.reexecuted = parts_.reexecution.executed();
  look.records = records_;
  look.produced = parts_.transaction.produced();
  look.problem = problem();
  look.diverged = parts_.reexecution.diverged();
  look.restores = recovery_.restores();
  look.checkpoint_at = parts_.checkpoint_writer.checkpoint_at();
  look.commit_latency = commit_latency_.Look();
  parts_.keeper.AddTo(&look);
  return look;
}

// ---- Rounds -------------------------------------------------------------------------------------------------

bool Task::has_input() {
  if (parts_.keeper.throttled() || announces()) return false;
  if (parts_.state.slot().unfinished()) return true;
  bool any = false;
  if (Status s = parts_.order.Any(&any); !s.ok()) {
    life_.Fail(s);
    return false;
  }
  return any;
}

Outcome Task::Round(Producer& producer, std::uint64_t* records, std::uint64_t* work) {
  *records = *work = 0;
  Slot& slot = parts_.state.slot();
  if (parts_.keeper.throttled() || announces()) return {};
  if (!slot.unfinished()) {  // else no input is ready
    if (Status s = parts_.care.FeedRound(); !s.ok()) {
      parts_.transaction.Touch();
      life_.Fail(s);
      return {};
    }
    *records = slot.records();
    if (*records == 0) return {};
    parts_.transaction.SetConsumed();
    parts_.care.CountConsumed(*records);
  }
  parts_.transaction.Touch();
  Failpoint("K1");
  parts_.trace.Processing(true);
  auto commit = slot.Finish();
  parts_.trace.Processing(false);
  if (!commit.ok()) {
    life_.Fail(commit.status());
    return {};
  }
  records_ += commit->records;
  *work = commit->debt;
  parts_.keeper.Add(commit->debt, commit->debt_bytes);
  life_.CountCommit();
  commit->journal.build = context_.options.build;
  commit->journal.checkpoint_sequence = position().checkpoint_sequence;
  commit->journal.checkpoint_end = position().checkpoint_end;
  return parts_.transaction.Send(producer, &*commit);
}

// ---- Transactions -------------------------------------------------------------------------------------------

bool Task::wants_commit() const { return life_.running() && parts_.checkpoint_writer.ready(); }

Outcome Task::Write(Producer& producer) {
  if (Outcome o = parts_.checkpoint_writer.Write(producer, parts_.transaction); !o.ok()) return o;
  return parts_.transaction.WriteJournal(producer);
}

void Task::AddOffsets(const std::string& owner, bool release, bool inputs,
                      std::vector<OffsetToSend>* offsets) {
  const Slot& slot = parts_.state.slot();
  next_position_ = position();
  next_position_.sequence = slot.meta().sequence;
  parts_.transaction.AddTo(&next_position_);
  parts_.checkpoint_writer.AddTo(&next_position_);
  next_position_.released = release;
  next_position_.owner = owner;
  next_position_.build = context_.options.build;
  next_position_.rules_version = context_.options.rules_version;
  next_position_.care = parts_.care.After(parts_.transaction.consumed());
  offsets->push_back({.where = context_.Journal(),
                      .offset = next_position_.journal_next,
                      .metadata = EncodePosition(next_position_)});
  if (!inputs) return;
  for (std::size_t i = 0; i < slot.inputs().size(); ++i)
    offsets->push_back({.where = slot.inputs()[i].where, .offset = slot.meta().next[i]});
}

void Task::Committed(Time now, Time begun) {
  life_.SetPosition(next_position_);
  commit_latency_.Observe(std::chrono::duration<double>(now - begun).count());
  parts_.care.Committed(position().care);
  if (parts_.transaction.journal_written()) parts_.state.slot().JournalWritten(position().journal_next);
  parts_.checkpoint_writer.Committed();
  parts_.transaction.Drop();
  upkeep_.StepState(now);
  upkeep_.StepCheckpoint(now);
}

void Task::Rewind() {
  const bool reopened = !touched();  // the slot is back already
  parts_.transaction.Rewound();
  if (!life_.stopped() && !reopened) recovery_.Rewind();
}

}  // namespace cobblestone::stream::kafka
