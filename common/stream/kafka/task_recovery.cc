#include "common/stream/kafka/task.h"

#include <algorithm>
#include <utility>

namespace cobblestone::stream::kafka {

namespace {

constexpr std::uint64_t kBehindCheckpoint =
    2000;  // commits: a state that is further behind the checkpoint is discarded

}  // namespace

void Task::SetOwned(bool owned) {
  if (owned_ == owned) return;
  owned_ = owned;
  taken_ = announces_ = false;
  care_ = {};
  if (phase_ == Phase::kStopped) return;
  COBBLESTONE_CHECK(!touched_, "a slot changed hands in the middle of a transaction");
  follows_checkpoints_ = false;
  if (!owned && phase_ == Phase::kRunning) {
    // The state equals the committed state: the task continues as a standby.
    checkpoint_.reset();
    parts_.tables->every_deletion = true;
    phase_ = Phase::kStandby;
    StartJournal();
    return;
  }
  if (phase_ == Phase::kTailing) StopReading();
  phase_ = Phase::kPosition;  // the position in the log must be read again
}

void Task::FollowCheckpoints() {
  if (owned_ || follows_checkpoints_ || phase_ == Phase::kStopped || !failure_.ok()) return;
  follows_checkpoints_ = true;
  StopReading();
  background_.Drain();
  if (!restore_) {  // changes in memory are discarded
    if (Status s = OpenSlot(); !s.ok()) return FailState(s);
  }
  phase_ = Phase::kPosition;
}

void Task::SetPosition(const std::optional<Position>& position) {
  if (phase_ != Phase::kPosition || !failure_.ok()) return;
  position_ = position.value_or(Position{});
  if (Status s = CheckRules(position_.rules_version); !s.ok()) return Stop(s.message());
  Decide();
}

void Task::Decide() {
  const SlotMeta& meta = parts_.slot->meta();
  if (position_.sequence == 0) {
    if (meta.sequence == 0 && tails()) return Tail();
    if (meta.sequence > 0)
      return Stop("the state on this machine has executed " + std::to_string(meta.sequence) +
                  " commits, but the cluster has no commits of this slot. If the group was inactive for "
                  "longer than the offset retention of the brokers, or was deleted: with all workers "
                  "stopped, `cobblestone rebuild " +
                  std::to_string(k_) +
                  " --journal` commits the end of the journal. If the topics were created again: "
                  "`cobblestone rebuild " +
                  std::to_string(k_) + "` discards the state");
    phase_ = Phase::kFresh;
    StopReading();
    StartJournal();
    StartCheckpoint(kBeginning);
    return;
  }
  if (meta.journal_next > position_.journal_next || meta.sequence > position_.sequence)
    return Stop("the state on this machine has executed " + std::to_string(meta.sequence) +
                " commits, but the cluster has only " + std::to_string(position_.sequence) +
                ": committed data is missing on the cluster. `cobblestone rebuild " + std::to_string(k_) +
                "` rebuilds the state from the data on the cluster");
  // A checkpoint contains the changes since the previous checkpoint, but no rows that were created and
  // deleted in between. Only a state as of the previous checkpoint can apply it.
  const bool lost = lost_checkpoint_ != 0 && lost_checkpoint_ == position_.checkpoint_sequence;
  if (lost && tails()) return;  // wait until the owner has written another checkpoint
  const bool useless = !lost && (tails() ? meta.sequence != position_.checkpoint_sequence
                                         : meta.sequence == 0 || meta.sequence + kBehindCheckpoint <
                                                                     position_.checkpoint_sequence);
  if (useless && position_.checkpoint_sequence == 0 && tails()) {
    WipeState();
    if (phase_ != Phase::kPosition || !failure_.ok()) return;
    return Tail();
  }
  if (useless && position_.checkpoint_sequence > 0) {
    if (meta.sequence > 0 || restore_) {
      if (meta.sequence > 0)
        report_("the state of " + Name() + " is " + (tails() ? "not as of" : "far behind") +
                " the checkpoint, and is discarded");
      restore_.reset();
      WipeState();
      if (phase_ != Phase::kPosition || !failure_.ok()) return;
    }
    StopReading();
    phase_ = Phase::kCheckpoint;
    restore_.emplace(*store_);
    confirming_ = false;
    restored_rows_ = 0;
    StartCheckpoint(kBeginning);
    return;
  }
  if (tails()) return Tail();
  phase_ = Phase::kReexecute;
  StartInputs();
  if (meta.journal_next < position_.journal_next || !owned_) StartJournal();
  Reached();
}

// Called when there may be nothing left to re-execute: then an owner runs, and others become standbys.
void Task::Reached() {
  if (phase_ != Phase::kReexecute) return;
  const SlotMeta& meta = parts_.slot->meta();
  if (meta.sequence == last_ && !entry_) {
    phase_ = Phase::kStandby;
    return;
  }
  if (entry_ || in_message_ || meta.journal_next < position_.journal_next) return;
  if (meta.sequence != position_.sequence)
    return Stop("the journal ends with commit " + std::to_string(meta.sequence) + ", but commit " +
                std::to_string(position_.sequence) + " is committed: the journal has lost records");
  if (!owned_) {
    phase_ = Phase::kStandby;
    return;
  }
  if (reading_journal_) reader_.Stop({options_.journal, k_});
  reading_journal_ = false;
  journal_.clear();
  Run();
}

void Task::Run() {
  phase_ = Phase::kRunning;
  runs_from_ = parts_.slot->meta().sequence;
  if (taken_) return;
  taken_ = announces_ = true;
  careful_records_ = 0;
  care_ = position_.build == options_.build ? position_.care : Care{};
  if (care_.tries > kTries) care_.tries = 0;  // it stopped here before: a restart allows new attempts
  const bool processing =
      trace_ == nullptr ? std::exchange(untraced_, false) : std::exchange(trace_->processing, 0) != 0;
  if (position_.owner.empty() || position_.released) return;
  // The previous owner has crashed. If the previous owner was this worker and was not processing records, no
  // record is to blame.
  if (position_.owner == options_.owner && !processing) return;
  if (care_.tries > 0) ++care_.tries;
  care_.level = std::min<std::uint32_t>(care_.level + 1, Care::kOneByOne);
  if (!careful()) return;
  if (care_.tries == 0)
    report_(Name() + ": the owners of the slot die before a commit; continuing with " +
            (care_.level == Care::kFewAtOnce ? "some records" : "one record") + " at a time");
}

bool Task::Advance(Cluster& clock, Time deadline) {
  if (!failure_.ok()) return false;
  bool moved = false;
  switch (phase_) {
    case Phase::kFresh: moved = CheckFresh(); break;
    case Phase::kCheckpoint:
      while (phase_ == Phase::kCheckpoint && failure_.ok() && RestoreSome()) {
        moved = true;
        if (clock.Now() >= deadline) break;
      }
      break;
    case Phase::kReexecute:
    case Phase::kStandby: moved = ExecuteSome(clock, deadline); break;
    case Phase::kTailing: moved = TailSome(clock.Now()); break;
    default: break;
  }
  return moved;
}

void Task::Tend(Time now) {
  if (phase_ == Phase::kStopped || parts_.slot == nullptr || restore_) return;
  StepState(now, kGatherSlice);
  if (phase_ == Phase::kRunning && !touched_) StepCheckpoint(now);
}

// Nothing was ever committed for the slot: its journal must be empty.
bool Task::CheckFresh() {
  Status s = reader_.Poll({options_.journal, k_}, 1, &journal_);
  if (s.ok()) s = reader_.Poll({options_.checkpoint, k_}, 1, &checkpoint_rows_);
  if (!s.ok()) {
    Fail(s);
    return true;
  }
  if (!journal_.empty() && !owned_) {  // another worker has begun to run the slot
    reader_.Stop({options_.checkpoint, k_});
    reading_checkpoint_ = false;
    checkpoint_rows_.clear();
    phase_ = Phase::kStandby;
    StartInputs();
    return true;
  }
  if (!journal_.empty() || !checkpoint_rows_.empty()) {
    Stop(
        "the cluster has no commits of this slot, but its journal or checkpoint is not empty: "
        "the group was inactive for longer than the offset retention of the brokers, or was "
        "deleted. With all workers stopped, `cobblestone rebuild " +
        std::to_string(k_) + " --journal` commits the end of the journal");
    return true;
  }
  if (!owned_ || !reader_.AtEnd({options_.journal, k_}) || !reader_.AtEnd({options_.checkpoint, k_}))
    return false;
  StopReading();
  StartInputs();
  if (phase_ == Phase::kFresh) Run();
  return true;
}

bool Task::RestoreSome() {
  if (confirming_) return ConfirmRestore();
  const TopicPartition where{options_.checkpoint, k_};
  if (Status s = reader_.Poll(where, kFetch, &checkpoint_rows_); !s.ok()) {
    Fail(s);
    return true;
  }
  bool complete = false;
  bool moved = false;
  while (!checkpoint_rows_.empty() && !complete) {
    const Message& row = checkpoint_rows_.front();
    if (row.offset() < position_.checkpoint_end) {
      if (Status s = restore_->Add(row.offset(), row.key(), row.value(), row.tombstone()); !s.ok()) {
        Fail(s);
        return true;
      }
      moved = true;
    }
    complete = row.offset() + 1 >= position_.checkpoint_end;
    checkpoint_rows_.pop_front();
  }
  restored_rows_ = restore_->rows();
  const auto end = reader_.AtEnd(where);
  if (!complete && !(checkpoint_rows_.empty() && end && *end >= position_.checkpoint_end)) return moved;
  reader_.Stop(where);
  reading_checkpoint_ = false;
  checkpoint_rows_.clear();
  confirming_ = true;
  if (RestoredWhole()) StartCheckpoint(*restore_->begin());
  return true;
}

// Whether the first and the last row of the checkpoint were read. If the last row is missing, a newer
// checkpoint is complete, and its last row has replaced it; the rows that were read then belong to an older
// checkpoint or to none.
bool Task::RestoredWhole() const {
  return restore_->meta().sequence == position_.checkpoint_sequence && restore_->begin();
}

// If compaction ran before or during the read, rows of a later, unfinished checkpoint may have replaced rows
// of this one. This requires a checkpoint that stayed unfinished for min.compaction.lag.ms.
bool Task::ConfirmRestore() {
  const TopicPartition where{options_.checkpoint, k_};
  bool lost = !RestoredWhole();
  if (!lost) {
    if (Status s = reader_.Poll(where, 1, &checkpoint_rows_); !s.ok()) {
      Fail(s);
      return true;
    }
    if (checkpoint_rows_.empty()) return false;
    lost = checkpoint_rows_.front().offset() != *restore_->begin();
  }
  if (!lost) return EndRestore();
  report_("the checkpoint of " + Name() + " as of commit " + std::to_string(position_.checkpoint_sequence) +
          " was compacted together with a later checkpoint, and may have lost rows. If the later "
          "checkpoint is incomplete, the state is rebuilt from the first commit; if inputs have "
          "been deleted, start the previous worker of the slot on its disk");
  lost_checkpoint_ = position_.checkpoint_sequence;
  restore_.reset();
  WipeState();
  if (phase_ != Phase::kStopped) phase_ = Phase::kPosition;
  return true;
}

bool Task::EndRestore() {
  Status s = restore_->Finish();
  const std::uint64_t sequence = restore_->meta().sequence;
  restore_.reset();
  StopReading();
  if (s.ok()) s = OpenSlot();
  if (!s.ok()) {
    Fail(s);
    return true;
  }
  ++restores_;
  report_("the state of " + Name() + " was restored from its checkpoint: " + std::to_string(restored_rows_) +
          " rows, as of commit " + std::to_string(sequence));
  if (tails()) {
    Tail();
    return true;
  }
  phase_ = Phase::kReexecute;
  StartInputs();
  StartJournal();
  Reached();
  return true;
}

// Follows the owner's checkpoints, from the one that the state contains.
void Task::Tail() {
  StopReading();
  phase_ = Phase::kTailing;
  tail_.emplace(*store_);
  tailed_at_ = {};
  StartCheckpoint(position_.checkpoint_sequence > 0 ? position_.checkpoint_end : kBeginning);
}

bool Task::TailSome(Time now) {
  const auto begin_anew = [this](const std::string& why) {
    report_("the state of " + Name() + " is discarded: " + why);
    WipeState();
    if (phase_ != Phase::kStopped) phase_ = Phase::kPosition;
    return true;
  };
  if (tailed_at_ != Time{} && now - tailed_at_ > options_.tombstones_live / 2)
    return begin_anew("the state has not followed for so long that deletions may be missing");
  tailed_at_ = now;
  Status s = reader_.Poll({options_.checkpoint, k_}, kFetch, &checkpoint_rows_);
  bool any = false;
  bool moved = false;
  for (; s.ok() && !checkpoint_rows_.empty(); checkpoint_rows_.pop_front()) {
    const Message& row = checkpoint_rows_.front();
    bool applied = false;
    s = tail_->Add(row.key(), row.value(), row.tombstone(), &applied);
    any = any || applied;
    moved = true;
  }
  restored_rows_ = tail_->rows();
  if (s.code() == StatusCode::kNotFound) return begin_anew(s.message());
  if (!s.ok()) {
    FailState(s);
    return true;
  }
  if (!any) return moved;
  if (s = OpenSlot(); !s.ok()) FailState(s);
  return true;
}

bool Task::ExecuteSome(Cluster& clock, Time deadline) {
  bool moved = false;
  while (phase_ == Phase::kReexecute || phase_ == Phase::kStandby) {
    const std::uint64_t before = reexecuted_;
    Status s = NextEntry();
    bool finished = false;
    if (s.ok() && entry_) s = ExecuteChunks(&finished);
    if (s.ok() && finished) s = EndEntry();
    if (!s.ok()) {
      Fail(s);
      return true;
    }
    if (!finished) return moved;
    moved = true;
    wiped_ = 0;
    Reached();
    StepState(clock.Now(), kGatherSlice);
    if (reexecuted_ != before && clock.Now() >= deadline) return true;
  }
  return moved;
}

Status Task::NextEntry() {
  if (entry_ || parts_.slot->meta().sequence >= last_) return Status::Ok();
  std::string_view bytes;
  while (!in_message_ || !entries_.Next(&bytes)) {
    if (in_message_) {
      if (entries_.malformed()) return Status::Fatal("a message of the journal is corrupted");
      in_message_ = false;
      journal_.pop_front();
    }
    if (journal_.empty())
      if (Status s = reader_.Poll({options_.journal, k_}, kFetch, &journal_); !s.ok()) return s;
    if (journal_.empty()) return Status::Ok();
    // The slot's owner has committed more since the position was read. Impossible if this task is the owner.
    if (phase_ == Phase::kReexecute && journal_.front().offset() >= position_.journal_next)
      return Status::Ok();
    entries_ = RecordCursor(journal_.front().value());
    in_message_ = true;
  }
  auto entry = DecodeJournalEntry(bytes);
  if (!entry.ok()) return Status::Fatal("the journal: " + entry.status().message());
  const SlotMeta& meta = parts_.slot->meta();
  if (entry->sequence != meta.sequence + 1)
    return Status::Fatal("the journal has commit " + std::to_string(entry->sequence) + " where " +
                         std::to_string(meta.sequence + 1) +
                         " is expected: records of the journal are missing");
  if (Status s = CheckRules(entry->rules_version); !s.ok()) return s;
  if (trace_ != nullptr && entry->sequence == trace_->deadly && trace_->deaths >= kTries) {
    trace_->deaths = 0;  // a restart by an operator allows new attempts
    return Status::Fatal(
        "re-executing commit " + std::to_string(entry->sequence) + " crashed the program " +
        std::to_string(kTries) +
        " times on this machine. A committed record is never skipped: run the version of the "
        "program that wrote the commit (build " +
        (entry->build.empty() ? "unknown" : entry->build) + "), or try another machine");
  }
  entry_ = std::move(*entry);
  chunk_ = 0;
  chunk_records_ = 0;
  return Status::Ok();
}

Status Task::ExecuteChunks(bool* finished) {
  Slot& slot = *parts_.slot;
  for (; chunk_ < entry_->chunks.size(); ++chunk_) {
    const JournalChunk& chunk = entry_->chunks[chunk_];
    if (chunk.input >= inputs_.size())
      return Status::Fatal("the journal has an input that is unknown to this program");
    for (;;) {
      const Message* head = nullptr;
      if (Status s = Head(chunk.input, &head); !s.ok()) return s;
      if (head == nullptr) {
        if (chunk_records_ == chunk.count && slot.next(chunk.input) == chunk.end) break;
        return Status::Ok();
      }
      if (head->offset() >= chunk.end) break;
      if (head->offset() < chunk.first)
        return Status::Fatal("the journal, commit " + std::to_string(entry_->sequence) +
                             ", does not follow the previous commit");
      const std::uint64_t before = slot.records();
      const bool skip =
          std::find(entry_->skipped.begin(), entry_->skipped.end(),
                    JournalSkip{.input = chunk.input, .offset = head->offset()}) != entry_->skipped.end();
      if (Status s = Consume(chunk.input, *head, skip); !s.ok()) return s;
      chunk_records_ += slot.records() - before;
    }
    if (chunk_records_ != chunk.count)
      return Status::Fatal(
          "commit " + std::to_string(entry_->sequence) + " consumed " + std::to_string(chunk.count) +
          " records of " + options_.topics[slot.inputs()[chunk.input].where.topic].name + " from offset " +
          std::to_string(chunk.first) + " to " + std::to_string(chunk.end) + ", but the log now has " +
          std::to_string(chunk_records_) + ": records of the log were lost or changed");
    chunk_records_ = 0;
  }
  *finished = true;
  return Status::Ok();
}

Status Task::EndEntry() {
  Slot& slot = *parts_.slot;
  UnderWay(true);
  auto commit = slot.Finish();
  UnderWay(false);
  if (!commit.ok()) return commit.status();
  const bool older = entry_->rules_version < slot.meta().rules_version;
  if (older) slot.TakeFingerprint(entry_->hash);
  diverged_ = !older && commit->journal.hash != entry_->hash;
  if (diverged_)
    return Status::Fatal(
        "diverged: re-executing commit " + std::to_string(entry_->sequence) +
        " gave a fingerprint that differs from the journal. Nothing was changed. Possible "
        "causes: this build" +
        (entry_->build == options_.build ? "" : " (" + options_.build + ", not " + entry_->build + ")") +
        " computes differently from the build that wrote the commit (run that build); memory "
        "or disk is damaged (try another machine); a stage is not deterministic (report a bug)");
  if (trace_ != nullptr && entry_->sequence == trace_->deadly) trace_->deaths = 0;
  ++reexecuted_;
  debt_ += commit->debt;
  debt_bytes_ += commit->debt_bytes;
  if (executed_) executed_(*commit);
  if (entry_->checkpoint_sequence > position_.checkpoint_sequence) {
    position_.checkpoint_sequence = entry_->checkpoint_sequence;
    position_.checkpoint_end = entry_->checkpoint_end;
  }
  entry_.reset();
  // A state may only be as of the last entry of a message.
  RecordCursor rest = entries_;
  std::string_view more;
  if (!rest.Next(&more)) {
    slot.JournalWritten(journal_.front().offset() + 1);
    in_message_ = false;
    journal_.pop_front();
  }
  return Status::Ok();
}

}  // namespace cobblestone::stream::kafka
