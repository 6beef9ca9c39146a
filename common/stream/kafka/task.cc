#include "common/stream/kafka/task.h"

#include <algorithm>
#include <utility>

#include "common/base/failpoint.h"

namespace cobblestone::stream::kafka {

namespace {

constexpr std::size_t kFetch = 1000;        // messages taken from the reader at a time
constexpr std::size_t kGatherSlice = 1000;  // objects encoded between two rounds: about a millisecond
constexpr std::uint64_t kBehindCheckpoint =
    2000;  // commits: state that is so far behind the checkpoint is not worth keeping
constexpr int kMostWipes = 3;
// Of a slot whose owners died.
constexpr std::uint64_t kFew = 64;               // records of a round
constexpr std::uint64_t kOnesInARow = 4 * kFew;  // until nothing is found with them
constexpr std::uint32_t kTries = 3;              // of one record
constexpr std::uint32_t kSkipsInARow = 3;        // with more it is not the records
constexpr std::uint64_t kDebtsHeldAt =
    4;  // a disk that is slower than the stages must not make a restart long

// What a process ends with. kRetry is the store's: its disk is full, and an operator must make room.
Status Failure(const Status& status) {
  return status.code() == StatusCode::kRetry ? Status::Full(status.message()) : status;
}

std::string Name(std::uint32_t k) { return "slot " + std::to_string(k); }

}  // namespace

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
    : k_(slot),
      options_(options),
      factory_(factory),
      space_(space),
      background_(background),
      reader_(reader),
      report_(std::move(report)) {
  trace_ = space_.TraceOf(k_);
  if (trace_ != nullptr) {
    if (trace_->executing != 0) {
      trace_->deaths = trace_->executing == trace_->deadly ? trace_->deaths + 1 : 1;
      trace_->deadly = trace_->executing;
    }
    trace_->executing = 0;
  }
  if (Status s = OpenState(); !s.ok()) FailState(s);
}

Task::~Task() {
  StopReading();
  background_.Drain();
}

TaskStatus Task::Look() const {
  TaskStatus look{.slot = k_, .phase = phase_, .owned = owned_};
  if (parts_.slot != nullptr) {
    const Slot& slot = *parts_.slot;
    look.sequence = slot.meta().sequence;
    look.hash = slot.meta().hash;
    if (reading_inputs_) {
      for (const Feed& feed : feeds_) {
        if (feed.messages.empty() && reader_.AtEnd(feed.where))
          continue;  // behind it may be ends of transactions
        const std::uint64_t end = reader_.KnownEnd(feed.where);
        const std::uint64_t next = slot.next(feed.inputs.front());
        look.lag += end > next ? end - next : 0;
      }
    }
  }
  look.target_sequence = std::max(position_.sequence, look.sequence);
  look.flushed_sequence = flushed_sequence_;
  look.checkpoint_sequence = position_.checkpoint_sequence;
  look.restored_rows = restored_rows_;
  look.reexecuted = reexecuted_;
  look.records = records_;
  look.produced = produced_;
  look.problem = problem_;
  return look;
}

// ---- State on this machine -------------------------------------------------------------------------------------------

Status Task::OpenState() {
  store_.reset();
  parts_ = {};
  auto opened = space_.Open(k_);
  std::string damage;
  if (opened.ok()) {
    const auto bytes = (*opened)->Meta();
    if (bytes.ok() && IsUnfinishedRestore(*bytes)) damage = "a checkpoint was put into it and not finished";
    // What is committed says whether this program may have the slot; the state here may be that of a newer one that stood by.
    const auto meta = bytes.ok() ? DecodeSlotMeta(*bytes) : Result<SlotMeta>(bytes.status());
    if (meta.ok() && meta->rules_version > options_.rules_version)
      damage = "it is of rules version " + std::to_string(meta->rules_version) + ", this program has " +
               std::to_string(options_.rules_version);
  } else if (opened.status().code() == StatusCode::kCorrupted) {
    damage = opened.status().message();
  } else {
    return opened.status();
  }
  if (!damage.empty()) {
    report_("state of " + Name(k_) + " is thrown away: " + damage);
    if (opened.ok()) opened->reset();
    if (Status s = space_.Remove(k_); !s.ok()) return s;
    opened = space_.Open(k_);
    if (!opened.ok()) return opened.status();
  }
  store_ = std::move(*opened);
  return OpenSlot();
}

Status Task::OpenSlot() {
  parts_ = {};
  parts_ = factory_(k_);
  Slot& slot = *parts_.slot;
  if (Status s = slot.Open(store_.get()); !s.ok()) {
    parts_ = {};
    return s;
  }
  parts_.tables->every_deletion = true;
  MakeFeeds();
  stage_inputs_.assign(slot.stage_count(), {});
  for (std::size_t i = 0; i < slot.inputs().size(); ++i) stage_inputs_[slot.inputs()[i].stage].push_back(i);
  head_times_.assign(inputs_.size(), 0);
  steps_ = false;
  for (const bool one : options_.in_step) steps_ = steps_ || one;
  flushed_sequence_ = slot.meta().sequence;
  entry_.reset();
  in_message_ = false;
  journal_.clear();
  journal_payload_.clear();
  touched_ = false;
  consumed_ = false;
  skipped_ = false;
  journal_written_ = false;
  checkpoint_ends_ = false;
  checkpoint_.reset();
  checkpoint_busy_.reset();
  write_.reset();
  debt_ = 0;
  return Status::Ok();
}

void Task::MakeFeeds() {
  feeds_.clear();
  inputs_.clear();
  for (const SlotInput& input : parts_.slot->inputs()) {
    std::size_t f = 0;
    while (f < feeds_.size() && feeds_[f].where != input.where) ++f;
    if (f == feeds_.size()) feeds_.emplace_back().where = input.where;
    feeds_[f].inputs.push_back(inputs_.size());
    inputs_.push_back({.feed = f});
  }
}

void Task::WipeState() {
  StopReading();
  background_.Drain();
  checkpoint_.reset();
  tail_.reset();
  write_.reset();
  parts_ = {};
  store_.reset();
  if (Status s = space_.Remove(k_); !s.ok()) {
    failure_ = s;
    return;
  }
  if (Status s = OpenState(); !s.ok()) FailState(s);
}

void Task::Fail(const Status& status) {
  tainted_ = tainted_ || touched_;
  if (parts_.slot == nullptr || parts_.slot->state_damaged()) return FailState(status);
  if (status.code() == StatusCode::kFull || status.code() == StatusCode::kRetry ||
      status.code() == StatusCode::kFenced) {
    failure_ = Failure(status);
    return;
  }
  Stop(status.message());
}

void Task::FailState(const Status& status) {
  tainted_ = tainted_ || touched_;
  if (status.code() != StatusCode::kCorrupted || ++wiped_ > kMostWipes) {
    if (status.code() == StatusCode::kFatal || status.code() == StatusCode::kCorrupted)
      return Stop(status.message());
    failure_ = Failure(status);
    return;
  }
  // The log and the checkpoint have everything.
  report_("state of " + Name(k_) + " is thrown away: " + status.message());
  WipeState();
  if (phase_ != Phase::kStopped) phase_ = Phase::kPosition;
}

Status Task::CheckRules(std::uint32_t version) {
  if (version <= options_.rules_version) return Status::Ok();
  needs_rules_ = version;
  return Status::Fatal("needs rules version " + std::to_string(version) + ", this program has " +
                       std::to_string(options_.rules_version) +
                       "; run the version of this program that has committed for it");
}

void Task::Stop(std::string problem) {
  if (phase_ == Phase::kStopped) return;
  tainted_ = tainted_ || touched_;
  StopReading();
  phase_ = Phase::kStopped;
  problem_ = std::move(problem);
  report_(Name(k_) + " stops: " + problem_);
}

// ---- Reading -----------------------------------------------------------------------------------------------------

void Task::StartInputs() {
  if (reading_inputs_) return;
  const std::vector<std::uint64_t>& next = parts_.slot->meta().next;
  for (const Feed& feed : feeds_) {
    std::uint64_t first = next[feed.inputs.front()];
    for (const std::size_t i : feed.inputs) first = std::min(first, next[i]);
    if (Status s = reader_.Start(feed.where, first); !s.ok()) return Fail(s);
  }
  reading_inputs_ = true;
}

void Task::StartJournal() {
  if (reading_journal_) return;
  if (Status s = reader_.Start({options_.journal, k_}, parts_.slot->meta().journal_next); !s.ok())
    return Fail(s);
  reading_journal_ = true;
}

void Task::StartCheckpoint(std::uint64_t offset) {
  if (Status s = reader_.Start({options_.checkpoint, k_}, offset); !s.ok()) return Fail(s);
  reading_checkpoint_ = true;
}

void Task::StopReading() {
  if (reading_inputs_)
    for (const Feed& feed : feeds_) reader_.Stop(feed.where);
  if (reading_journal_) reader_.Stop({options_.journal, k_});
  if (reading_checkpoint_) reader_.Stop({options_.checkpoint, k_});
  reading_inputs_ = reading_journal_ = reading_checkpoint_ = false;
  for (Feed& feed : feeds_) {
    feed.messages.clear();
    feed.popped = 0;
  }
  for (Input& input : inputs_) input.at = 0;
  journal_.clear();
  checkpoint_rows_.clear();
  entry_.reset();
  in_message_ = false;
}

// ---- Getting there -----------------------------------------------------------------------------------------------

void Task::SetOwned(bool owned) {
  if (owned_ == owned) return;
  owned_ = owned;
  taken_ = announces_ = false;
  care_ = {};
  if (phase_ == Phase::kStopped) return;
  COBBLESTONE_CHECK(!touched_, "a slot changed hands in the middle of a transaction");
  follows_checkpoints_ = false;
  if (!owned && phase_ == Phase::kRunning) {
    // What it has is what is committed: from here on it follows.
    checkpoint_.reset();
    parts_.tables->every_deletion = true;
    phase_ = Phase::kStandby;
    StartJournal();
    return;
  }
  if (phase_ == Phase::kTailing) StopReading();
  phase_ = Phase::kPosition;  // where the log stands must be asked anew
}

void Task::FollowCheckpoints() {
  if (owned_ || follows_checkpoints_ || phase_ == Phase::kStopped || !failure_.ok()) return;
  follows_checkpoints_ = true;
  StopReading();
  background_.Drain();
  if (!restore_) {  // what is in memory goes
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
      return Stop(
          "its state on this machine has executed " + std::to_string(meta.sequence) +
          " commits, and nothing is committed for it on the cluster. Was the group away for longer than the broker keeps "
          "offsets, or deleted? With all workers stopped, `cobblestone rebuild " +
          std::to_string(k_) +
          " --journal` takes the journal's end as the truth. Were its topics made anew? `cobblestone rebuild " +
          std::to_string(k_) + "` throws it away");
    phase_ = Phase::kFresh;
    StopReading();
    StartJournal();
    StartCheckpoint(kBeginning);
    return;
  }
  if (meta.journal_next > position_.journal_next || meta.sequence > position_.sequence)
    return Stop("its state on this machine has executed " + std::to_string(meta.sequence) +
                " commits, the cluster knows " + std::to_string(position_.sequence) +
                ": committed data is missing there. `cobblestone rebuild " + std::to_string(k_) +
                "` makes the state again from what the cluster has");
  // A checkpoint says what has changed since the one before, and nothing of what came and went meanwhile: it can be taken
  // over by that one's state alone.
  const bool lost = lost_checkpoint_ != 0 && lost_checkpoint_ == position_.checkpoint_sequence;
  if (lost && tails()) return;  // until the owner has made another one
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
        report_("state of " + Name(k_) + " is " + (tails() ? "not that of" : "far behind") +
                " the checkpoint, and is thrown away");
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

// Nothing is left to be executed again: the owner runs, others follow.
void Task::Reached() {
  if (phase_ != Phase::kReexecute) return;
  const SlotMeta& meta = parts_.slot->meta();
  if (meta.sequence == last_ && !entry_) {
    phase_ = Phase::kStandby;
    return;
  }
  if (entry_ || in_message_ || meta.journal_next < position_.journal_next) return;
  if (meta.sequence != position_.sequence)
    return Stop("its journal ends with commit " + std::to_string(meta.sequence) + " where " +
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
  if (care_.tries > kTries) care_.tries = 0;  // it was left at that: who starts it again means it
  const bool processing =
      trace_ == nullptr ? std::exchange(untraced_, false) : std::exchange(trace_->processing, 0) != 0;
  if (position_.owner.empty() || position_.released) return;
  // Whoever had it is dead. If that was we ourselves, and at something else, no record is to blame.
  if (position_.owner == options_.owner && !processing) return;
  if (care_.tries > 0) ++care_.tries;
  care_.level = std::min<std::uint32_t>(care_.level + 1, Care::kOneByOne);
  if (!careful()) return;
  if (care_.tries == 0)
    report_(Name(k_) + ": its owners die before they commit; it goes on with " +
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

// Nothing was ever committed for it: then there can be nothing in its journal.
bool Task::CheckFresh() {
  Status s = reader_.Poll({options_.journal, k_}, 1, &journal_);
  if (s.ok()) s = reader_.Poll({options_.checkpoint, k_}, 1, &checkpoint_rows_);
  if (!s.ok()) {
    Fail(s);
    return true;
  }
  if (!journal_.empty() && !owned_) {  // somebody has begun
    reader_.Stop({options_.checkpoint, k_});
    reading_checkpoint_ = false;
    checkpoint_rows_.clear();
    phase_ = Phase::kStandby;
    StartInputs();
    return true;
  }
  if (!journal_.empty() || !checkpoint_rows_.empty()) {
    Stop(
        "nothing is committed for it on the cluster, and its journal or checkpoint is not empty: the group was away for longer "
        "than the broker keeps offsets, or was deleted. With all workers stopped, `cobblestone rebuild " +
        std::to_string(k_) + " --journal` takes the journal's end as the truth");
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
  // None: the last row is gone, because a newer checkpoint is whole by now and its own took the place.
  const std::uint64_t sequence = restore_->meta().sequence;
  if (sequence != 0 && sequence != position_.checkpoint_sequence) return EndRestore();
  confirming_ = true;
  if (restore_->begin()) StartCheckpoint(*restore_->begin());
  return true;
}

// What was compacted before it was read, or meanwhile, is not the whole checkpoint where rows of one that was never finished
// have taken the place of its own. That takes one that lay unfinished for as long as min.compaction.lag.ms.
bool Task::ConfirmRestore() {
  const TopicPartition where{options_.checkpoint, k_};
  bool lost = !restore_->begin();
  if (!lost) {
    if (Status s = reader_.Poll(where, 1, &checkpoint_rows_); !s.ok()) {
      Fail(s);
      return true;
    }
    if (checkpoint_rows_.empty()) return false;
    lost = checkpoint_rows_.front().offset() != *restore_->begin();
  }
  if (!lost) return EndRestore();
  report_(
      "the checkpoint of " + Name(k_) + " as of commit " + std::to_string(position_.checkpoint_sequence) +
      " was compacted together with a later one, and may have lost rows. Where that one is not whole the state is made from "
      "the first commit on instead; where inputs are no longer kept, start the worker that had the slot, on its disk");
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
  if (s.ok() && sequence < position_.checkpoint_sequence)
    s = Status::Fatal("its checkpoint is of commit " + std::to_string(sequence) + " where " +
                      std::to_string(position_.checkpoint_sequence) +
                      " is committed: the checkpoint's topic has lost records");
  if (!s.ok()) {
    Fail(s);
    return true;
  }
  report_("state of " + Name(k_) + " restored from its checkpoint: " + std::to_string(restored_rows_) +
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

// Its owner's checkpoints, from the one on that the state has.
void Task::Tail() {
  StopReading();
  phase_ = Phase::kTailing;
  tail_.emplace(*store_);
  tailed_at_ = {};
  StartCheckpoint(position_.checkpoint_sequence > 0 ? position_.checkpoint_end : kBeginning);
}

bool Task::TailSome(Time now) {
  const auto begin_anew = [this](const std::string& why) {
    report_("state of " + Name(k_) + " is thrown away: " + why);
    WipeState();
    if (phase_ != Phase::kStopped) phase_ = Phase::kPosition;
    return true;
  };
  if (tailed_at_ != Time{} && now - tailed_at_ > options_.tombstones_live / 2)
    return begin_anew("it did not follow for so long that deletions may be forgotten");
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
      if (entries_.malformed()) return Status::Fatal("a message of its journal is not what was written");
      in_message_ = false;
      journal_.pop_front();
    }
    if (journal_.empty())
      if (Status s = reader_.Poll({options_.journal, k_}, kFetch, &journal_); !s.ok()) return s;
    if (journal_.empty()) return Status::Ok();
    if (phase_ == Phase::kReexecute && journal_.front().offset() >= position_.journal_next)
      return Status::
          Ok();  // the owner before us has committed more than we were told: impossible for an owner
    entries_ = RecordCursor(journal_.front().value());
    in_message_ = true;
  }
  auto entry = DecodeJournalEntry(bytes);
  if (!entry.ok()) return Status::Fatal("its journal: " + entry.status().message());
  const SlotMeta& meta = parts_.slot->meta();
  if (entry->sequence != meta.sequence + 1)
    return Status::Fatal("its journal has commit " + std::to_string(entry->sequence) + " where " +
                         std::to_string(meta.sequence + 1) + " must be: records of it are missing");
  if (Status s = CheckRules(entry->rules_version); !s.ok()) return s;
  if (trace_ != nullptr && entry->sequence == trace_->deadly && trace_->deaths >= kTries) {
    trace_->deaths = 0;  // who starts it again means it
    return Status::Fatal(
        "executing its commit " + std::to_string(entry->sequence) + " again crashed the program " +
        std::to_string(kTries) +
        " times on this machine. What was executed once is never passed over: run the version "
        "of this program that wrote it (build " +
        (entry->build.empty() ? "not said" : entry->build) + "), or try another machine");
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
      return Status::Fatal("its journal names an input that this program has not");
    for (;;) {
      const Message* head = nullptr;
      if (Status s = Head(chunk.input, &head); !s.ok()) return s;
      if (head == nullptr) {
        if (chunk_records_ == chunk.count && slot.next(chunk.input) == chunk.end) break;
        return Status::Ok();
      }
      if (head->offset() >= chunk.end) break;
      if (head->offset() < chunk.first)
        return Status::Fatal("its journal, commit " + std::to_string(entry_->sequence) +
                             ", does not follow the one before");
      const std::uint64_t before = slot.records();
      const bool skip =
          std::find(entry_->skipped.begin(), entry_->skipped.end(),
                    JournalSkip{.input = chunk.input, .offset = head->offset()}) != entry_->skipped.end();
      if (Status s = Consume(chunk.input, *head, skip); !s.ok()) return s;
      chunk_records_ += slot.records() - before;
    }
    if (chunk_records_ != chunk.count)
      return Status::Fatal(
          "its commit " + std::to_string(entry_->sequence) + " consumed " + std::to_string(chunk.count) +
          " records of " + options_.topics[slot.inputs()[chunk.input].where.topic].name + " from offset " +
          std::to_string(chunk.first) + " to " + std::to_string(chunk.end) + ", now there are " +
          std::to_string(chunk_records_) + ": the log has lost or changed records");
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
  if (commit->journal.hash != entry_->hash)
    return Status::Fatal(
        "diverged: executing commit " + std::to_string(entry_->sequence) +
        " again gave another fingerprint than the journal holds. Nothing was changed. Either this build" +
        (entry_->build == options_.build ? "" : " (" + options_.build + ", not " + entry_->build + ")") +
        " computes differently from the one that wrote it (run that one), or memory or disk is damaged (try "
        "another machine), or a stage is not deterministic (report it)");
  if (trace_ != nullptr && entry_->sequence == trace_->deadly) trace_->deaths = 0;
  ++reexecuted_;
  debt_ += commit->records;
  if (executed_) executed_(*commit);
  if (entry_->checkpoint_sequence > position_.checkpoint_sequence) {
    position_.checkpoint_sequence = entry_->checkpoint_sequence;
    position_.checkpoint_end = entry_->checkpoint_end;
  }
  entry_.reset();
  // The message's last entry: only there a state may stand.
  RecordCursor rest = entries_;
  std::string_view more;
  if (!rest.Next(&more)) {
    slot.JournalWritten(journal_.front().offset() + 1);
    in_message_ = false;
    journal_.pop_front();
  }
  return Status::Ok();
}

// ---- Running -----------------------------------------------------------------------------------------------------

Status Task::Head(std::size_t input, const Message** head) {
  Input& in = inputs_[input];
  Feed& feed = feeds_[in.feed];
  const std::uint64_t next = parts_.slot->next(input);
  for (;;) {
    while (in.at < feed.popped + feed.messages.size()) {
      const Message& message = feed.messages[in.at - feed.popped];
      if (message.offset() >= next) {
        *head = &message;
        return Status::Ok();
      }
      Pass(input);  // another input of the partition was further behind
    }
    const std::size_t before = feed.messages.size();
    if (Status s = reader_.Poll(feed.where, kFetch, &feed.messages); !s.ok()) return s;
    if (feed.messages.size() == before) {
      *head = nullptr;
      return Status::Ok();
    }
  }
}

void Task::Pass(std::size_t input) {
  Feed& feed = feeds_[inputs_[input].feed];
  ++inputs_[input].at;
  std::uint64_t passed = inputs_[input].at;
  for (const std::size_t i : feed.inputs) passed = std::min(passed, inputs_[i].at);
  for (; feed.popped < passed; ++feed.popped) feed.messages.pop_front();
}

double Task::HeadTime(std::size_t input, const Message& head) const {
  const TopicIndex topic = feeds_[inputs_[input].feed].where.topic;
  std::string_view record = head.value();
  if (options_.packed[topic]) {
    RecordCursor cursor(record);
    if (!cursor.Next(&record)) return 0;
  }
  return options_.peek_time(topic, record);
}

// For whoever comes after a death: where it was.
void Task::UnderWay(bool is) {
  if (trace_ == nullptr) return;
  if (entry_)
    trace_->executing = is ? entry_->sequence : 0;
  else
    trace_->processing = is ? 1 : 0;
}

Status Task::Consume(std::size_t input, const Message& message, bool skip) {
  Slot& slot = *parts_.slot;
  UnderWay(true);
  if (failpoints_armed && !skip) [[unlikely]] {
    const TopicPartition where = slot.inputs()[input].where;
    FailpointHit(options_.topics[where.topic].name + "/" + std::to_string(where.partition) + "@" +
                 std::to_string(message.offset()));
  }
  RecordView record{.where = slot.inputs()[input].where,
                    .offset = message.offset(),
                    .append_time = message.timestamp(),
                    .line = 0,
                    .value = message.value()};
  Status s;
  if (options_.packed[record.where.topic]) {
    RecordCursor cursor(message.value());
    while (s.ok() && cursor.Next(&record.value)) s = slot.Process(input, record);
    if (s.ok() && cursor.malformed())
      s = Status::Fatal("message " + std::to_string(message.offset()) + " of " +
                        options_.topics[record.where.topic].name + ", partition " +
                        std::to_string(record.where.partition) + ", is not what a slot wrote");
  } else {
    if (options_.watch != nullptr && phase_ == Phase::kRunning) options_.watch->Taken(record.value);
    s = skip ? slot.Skip(input, record) : slot.Process(input, record);
  }
  UnderWay(false);
  if (!s.ok()) return s;
  Pass(input);
  return Status::Ok();
}

bool Task::Full() const {
  return parts_.slot->records() >= (careful() ? kFew : options_.round_records) ||
         parts_.slot->output_bytes() >= options_.round_bytes;
}

bool Task::InStep(std::size_t input) const {
  return options_.in_step[feeds_[inputs_[input].feed].where.topic];
}

// What slots have written for each other goes first: it is from before.
Status Task::NextInStep(std::size_t stage, std::optional<std::size_t>* next) {
  next->reset();
  std::optional<std::size_t> least;
  double least_line = 0;
  bool all_show = true;
  for (const std::size_t i : stage_inputs_[stage]) {
    if (!parts_.slot->Ready(i)) continue;
    const Message* head = nullptr;
    if (Status s = Head(i, &head); !s.ok()) return s;
    if (!InStep(i)) {
      if (head == nullptr) continue;
      *next = i;
      return Status::Ok();
    }
    if (head == nullptr) {
      all_show = false;
      continue;
    }
    const double line = HeadTime(i, *head);
    if (least && line >= least_line) continue;
    least = i;
    least_line = line;
  }
  if (all_show) *next = least;
  return Status::Ok();
}

Status Task::FirstInStep(std::optional<std::size_t>* next) {
  next->reset();
  for (std::size_t stage = 0; stage < stage_inputs_.size() && !*next; ++stage)
    if (Status s = NextInStep(stage, next); !s.ok()) return s;
  return Status::Ok();
}

Status Task::ConsumeInStep(std::size_t stage) {
  while (!Full()) {
    std::optional<std::size_t> next;
    if (Status s = NextInStep(stage, &next); !s.ok()) return s;
    if (!next) return Status::Ok();
    const Message* head = nullptr;
    if (Status s = Head(*next, &head); !s.ok()) return s;
    if (Status s = Consume(*next, *head); !s.ok()) return s;
  }
  return Status::Ok();
}

// Takes what waits for one stage. Of several inputs the one with the earliest record goes first, for some hundred records.
Status Task::ConsumeStage(std::size_t stage) {
  if (steps_) return ConsumeInStep(stage);
  const auto& ids = stage_inputs_[stage];
  live_.clear();
  for (const std::size_t i : ids) {
    const Message* head = nullptr;
    if (Status s = Head(i, &head); !s.ok()) return s;
    if (head == nullptr) continue;
    live_.push_back(i);
    if (ids.size() > 1) head_times_[i] = HeadTime(i, *head);
  }
  const Slot& slot = *parts_.slot;
  while (!Full()) {
    std::size_t best = live_.size();
    for (std::size_t l = 0; l < live_.size(); ++l)
      if ((best == live_.size() || head_times_[live_[l]] < head_times_[live_[best]]) && slot.Ready(live_[l]))
        best = l;
    if (best == live_.size()) return Status::Ok();
    const std::size_t i = live_[best];
    const std::uint64_t turn = live_.size() > 1 ? options_.run_records : options_.round_records;
    const std::uint64_t until = slot.records() + turn;
    const Message* head = nullptr;
    if (Status s = Head(i, &head); !s.ok()) return s;
    while (head != nullptr && slot.records() < until && !Full() && slot.Ready(i)) {
      if (Status s = Consume(i, *head); !s.ok()) return s;
      if (Status s = Head(i, &head); !s.ok()) return s;
    }
    if (head == nullptr)
      live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(best));
    else if (live_.size() > 1)
      head_times_[i] = HeadTime(i, *head);
  }
  return Status::Ok();
}

// Its state on disk is too far behind: it waits for the state write that is under way.
bool Task::held() const {
  return debt_ >= kDebtsHeldAt * options_.flush_debt_records && parts_.slot->flush_active();
}

bool Task::has_input() {
  if (held() || announces_) return false;
  if (steps_) {
    std::optional<std::size_t> next;
    if (Status s = FirstInStep(&next); !s.ok()) {
      Fail(s);
      return false;
    }
    return next.has_value();
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Message* head = nullptr;
    if (Status s = Head(i, &head); !s.ok()) {
      Fail(s);
      return false;
    }
    if (head != nullptr && parts_.slot->Ready(i)) return true;
  }
  return false;
}

Outcome Task::Round(Producer& producer, std::uint64_t* records) {
  *records = 0;
  Slot& slot = *parts_.slot;
  if (held() || announces_) return {};
  const Status consumed = care_.level == Care::kOneByOne ? ConsumeOne() : ConsumeSome();
  if (!consumed.ok()) {
    touched_ = true;
    Fail(consumed);
    return {};
  }
  *records = slot.records();
  if (*records == 0) return {};
  touched_ = consumed_ = true;
  careful_records_ += *records;
  Failpoint("K1");
  UnderWay(true);
  auto commit = slot.Finish();
  UnderWay(false);
  if (!commit.ok()) {
    Fail(commit.status());
    return {};
  }
  records_ += commit->records;
  debt_ += commit->records;
  wiped_ = 0;
  commit->journal.build = options_.build;
  commit->journal.checkpoint_sequence = position_.checkpoint_sequence;
  commit->journal.checkpoint_end = position_.checkpoint_end;
  AppendRecord(journal_payload_, EncodeJournalEntry(commit->journal));
  for (SlotOutput& output : commit->outputs)
    if (Outcome o = Send(producer, output); !o.ok()) return o;
  return {};
}

Status Task::ConsumeSome() {
  for (std::size_t stage = 0; stage < parts_.slot->stage_count(); ++stage)
    if (Status s = ConsumeStage(stage); !s.ok()) return s;
  return Status::Ok();
}

// The record that ConsumeSome would take first.
Status Task::First(std::size_t* input, const Message** first) {
  *first = nullptr;
  if (steps_) {
    std::optional<std::size_t> next;
    if (Status s = FirstInStep(&next); !s.ok() || !next) return s;
    *input = *next;
    return Head(*next, first);
  }
  double first_time = 0;
  for (std::size_t stage = 0; stage < stage_inputs_.size() && *first == nullptr; ++stage) {
    for (const std::size_t i : stage_inputs_[stage]) {
      const Message* head = nullptr;
      if (Status s = Head(i, &head); !s.ok()) return s;
      if (head == nullptr || !parts_.slot->Ready(i)) continue;
      const double time = HeadTime(i, *head);
      if (*first != nullptr && !(time < first_time)) continue;
      *first = head;
      *input = i;
      first_time = time;
    }
  }
  return Status::Ok();
}

Status Task::ConsumeOne() {
  const Slot& slot = *parts_.slot;
  const Message* head = nullptr;
  std::size_t input = care_.input;
  // Of the transaction in which it was consumed nobody could tell at first that it came about.
  if (care_.tries > 0 && slot.next(input) > care_.offset) care_.tries = 0;
  if (care_.tries > 0) {
    if (Status s = Head(input, &head); !s.ok()) return s;
    if (head == nullptr) return Status::Ok();  // it will come: it was here
    if (head->offset() != care_.offset || !slot.Ready(input)) care_.tries = 0;
  }
  if (care_.tries == 0) {
    if (Status s = First(&input, &head); !s.ok() || head == nullptr) return s;
    care_.input = static_cast<std::uint32_t>(input);
    care_.offset = head->offset();
    care_.tries = 1;
    announces_ = true;
    return Status::Ok();
  }
  const TopicPartition where = slot.inputs()[input].where;
  const std::string what = "the record " + std::to_string(head->offset()) + " of " +
                           options_.topics[where.topic].name + ", partition " +
                           std::to_string(where.partition) + ", crashed the program " +
                           std::to_string(kTries) + " times";
  skipped_ = care_.tries > kTries;
  if (!skipped_) return Consume(input, *head);
  if (options_.packed[where.topic] || steps_)
    return Status::Fatal(
        what +
        (steps_ ? ". In lockstep nothing is passed over"
                : ". It is what another slot made, and is not passed over") +
        ": nothing is lost while this slot waits for a version of this program that can process it; "
        "started again, the worker tries it again");
  if (care_.skipped >= kSkipsInARow)
    return Status::Fatal(
        what + ", as did the " + std::to_string(kSkipsInARow) +
        " before it. It is not the records: find out what this machine or this version of the "
        "program has. Nothing is lost while the slot waits");
  report_(Name(k_) + ": " + what + " and is passed over; it is in `refused`");
  return Consume(input, *head, true);
}

Care Task::CareAfter() const {
  Care care = care_;
  if (!consumed_) return care;
  care.tries = 0;
  care.input = 0;
  care.offset = 0;
  care.skipped = skipped_ ? care.skipped + 1 : 0;
  switch (care.level) {
    case Care::kTaken:  // what was committed first may have been of other inputs than what crashes
    case Care::kFewAtOnce:
      if (careful_records_ >= 2 * options_.round_records) care.level = Care::kNone;
      break;
    case Care::kOneByOne:
      if (skipped_) care.level = Care::kFewAtOnce;  // that was it
      if (careful_records_ >= kOnesInARow) care.level = Care::kNone;
      break;
    default: break;
  }
  return care;
}

Outcome Task::Send(Producer& producer, SlotOutput& output) {
  const auto produce = [&](std::string value) {
    ++produced_;
    return producer.Produce(output.where, {}, std::move(value), &ignored_offset_);
  };
  const bool packed = options_.packed[output.where.topic];
  if (packed && output.payload.size() <= options_.message_bytes && output.cuts.empty())
    return produce(std::move(output.payload));
  RecordCursor cursor(output.payload);
  std::string_view record;
  std::string message;
  std::size_t cut = 0;  // the next one
  while (cursor.Next(&record)) {
    if (!packed) {
      if (options_.watch != nullptr) options_.watch->Made(output.where.topic, record);
      if (Outcome o = produce(std::string(record)); !o.ok()) return o;
      continue;
    }
    const auto begin = static_cast<std::size_t>(record.data() - output.payload.data());
    const bool cuts = cut < output.cuts.size() && output.cuts[cut] <= begin;
    while (cut < output.cuts.size() && output.cuts[cut] <= begin) ++cut;
    if (!message.empty() && (cuts || message.size() + record.size() > options_.message_bytes)) {
      if (Outcome o = produce(std::move(message)); !o.ok()) return o;
      message.clear();
    }
    AppendRecord(message, record);
  }
  return message.empty() ? Outcome{} : produce(std::move(message));
}

bool Task::wants_commit() const {
  return phase_ == Phase::kRunning && checkpoint_ != nullptr && checkpoint_->ready();
}

Outcome Task::Write(Producer& producer) {
  journal_written_ = false;
  checkpoint_ends_ = false;
  if (checkpoint_ != nullptr) {
    std::uint64_t bytes = 0;
    while (bytes < options_.checkpoint_bytes) {
      const auto slice = checkpoint_->Take();
      if (slice == nullptr) break;
      touched_ = true;
      for (CheckpointRow& row : *slice) {
        bytes += row.key.size() + row.value.size();
        ++produced_;
        Outcome o = row.deleted
                        ? producer.ProduceTombstone({options_.checkpoint, k_}, row.key, &ignored_offset_)
                        : producer.Produce({options_.checkpoint, k_}, row.key, std::move(row.value),
                                           &ignored_offset_);
        if (!o.ok()) return o;
      }
    }
    if (checkpoint_->finished() && checkpoint_->failure().ok()) {
      touched_ = true;
      checkpoint_ends_ = true;
      if (Outcome o = producer.Produce({options_.checkpoint, k_}, kCheckpointMetaKey,
                                       EncodeSlotMeta(checkpoint_->meta()), &checkpoint_offset_);
          !o.ok())
        return o;
    }
  }
  if (journal_payload_.empty()) return {};
  journal_written_ = true;
  ++produced_;
  return producer.Produce({options_.journal, k_}, {}, std::move(journal_payload_), &journal_offset_);
}

void Task::AddOffsets(const std::string& owner, bool release, bool inputs,
                      std::vector<OffsetToSend>* offsets) {
  const Slot& slot = *parts_.slot;
  next_position_ = position_;
  next_position_.sequence = slot.meta().sequence;
  if (journal_written_) next_position_.journal_next = journal_offset_ + 1;
  if (checkpoint_ends_) {
    next_position_.checkpoint_sequence = checkpoint_->meta().sequence;
    next_position_.checkpoint_end = checkpoint_offset_ + 1;
  }
  next_position_.released = release;
  next_position_.owner = owner;
  next_position_.build = options_.build;
  next_position_.rules_version = options_.rules_version;
  next_position_.care = CareAfter();
  offsets->push_back({.where = {options_.journal, k_},
                      .offset = next_position_.journal_next,
                      .metadata = EncodePosition(next_position_)});
  if (!inputs) return;
  for (std::size_t i = 0; i < slot.inputs().size(); ++i)
    offsets->push_back({.where = slot.inputs()[i].where, .offset = slot.meta().next[i]});
}

void Task::Committed(Time now) {
  position_ = next_position_;
  if (care_.level != Care::kNone && position_.care.level == Care::kNone && careful())
    report_(Name(k_) + ": no more records crash; it goes on as always");
  care_ = position_.care;
  announces_ = consumed_ = skipped_ = false;
  if (journal_written_) parts_.slot->JournalWritten(position_.journal_next);
  if (checkpoint_ends_) {
    checkpoint_.reset();
    space_.RemoveCopy(k_);
  }
  journal_payload_.clear();
  journal_written_ = false;
  checkpoint_ends_ = false;
  touched_ = false;
  StepState(now, kGatherSlice);
  StepCheckpoint(now);
}

void Task::Rewind() {
  const bool reopened = !touched_;  // it is back already
  tainted_ = false;
  if (phase_ == Phase::kStopped || reopened) return;
  StopReading();
  background_.Drain();
  checkpoint_.reset();
  phase_ = Phase::kPosition;
  if (Status s = OpenSlot(); !s.ok()) FailState(s);
}

// ---- State writes, checkpoints -------------------------------------------------------------------------------------

void Task::StepState(Time now, std::size_t objects) {
  Slot& slot = *parts_.slot;
  if (write_ != nullptr) {
    if (!write_->done) return;
    const auto written = std::move(write_);
    slot.StateWriteApplied();
    if (!written->status.ok()) return FailState(written->status);
    flushed_sequence_ = written->write->meta.sequence;
    slot.Evict(options_.objects_per_table);
  }
  if (!slot.gathering()) {
    // A state is as of a commit that is committed, and the last of its message; but where nothing comes after it.
    if (debt_ == 0 || touched_ || entry_ || (in_message_ && slot.meta().sequence != last_)) return;
    if (now - last_flush_ < options_.flush_interval && debt_ < options_.flush_debt_records) return;
    last_flush_ = now;
    debt_ = 0;
    slot.BeginStateWrite();
    write_began_running_ = phase_ == Phase::kRunning;
  }
  if (!slot.GatherStateWrite(objects)) return;
  write_ = std::make_shared<PendingWrite>();
  write_->write = slot.TakeStateWrite();
  // From here on no other owner's checkpoint is of a time between two writes of ours.
  if (write_began_running_ && phase_ == Phase::kRunning) parts_.tables->every_deletion = false;
  background_.Run([write = write_, store = store_, checkpointed = position_.checkpoint_sequence] {
    write->status = WriteState(*write->write, checkpointed, *store);
    Failpoint("K6s");
    write->done = true;
  });
}

Status Task::FlushState() {
  for (int pass = 0; pass < 2; ++pass) {
    // The one that is under way, then one of what came since.
    Slot& slot = *parts_.slot;
    if (write_ == nullptr && !slot.gathering()) {
      if (flushed_sequence_ == slot.meta().sequence) break;
      debt_ = std::max<std::uint64_t>(debt_, options_.flush_debt_records);
    }
    while (write_ == nullptr && failure_.ok() && phase_ != Phase::kStopped) StepState(Time{}, kGatherSlice);
    background_.Drain();
    StepState(Time{}, 0);
  }
  if (phase_ == Phase::kStopped) return Status::Corrupted(problem_);
  return failure_;
}

void Task::StepCheckpoint(Time now) {
  if (checkpoint_ != nullptr) {
    if (Status s = checkpoint_->failure(); !s.ok()) {
      checkpoint_.reset();
      return FailState(s);
    }
    if (checkpoint_->wants_more() && !*checkpoint_busy_) {
      *checkpoint_busy_ = true;
      background_.Run([source = checkpoint_, busy = checkpoint_busy_] {
        source->Fill();
        *busy = false;
      });
    }
    return;
  }
  if (last_checkpoint_ == Time{}) last_checkpoint_ = now;
  if (write_ != nullptr || now - last_checkpoint_ < options_.checkpoint_interval) return;
  // An owner before us may have left rows of a checkpoint that it did not finish, of a time after our state's: ours is to say
  // anew what they say, and so must be of a later one.
  if (flushed_sequence_ <= position_.checkpoint_sequence || flushed_sequence_ < runs_from_) return;
  last_checkpoint_ = now;
  auto copy = space_.OpenCopy(k_, *store_);
  if (!copy.ok()) return FailState(copy.status());
  checkpoint_ = std::make_shared<CheckpointSource>(std::move(*copy), position_.checkpoint_sequence);
  checkpoint_busy_ = std::make_shared<std::atomic<bool>>(false);
}

}  // namespace cobblestone::stream::kafka
