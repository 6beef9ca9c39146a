#include "common/stream/kafka/task.h"

#include <algorithm>
#include <utility>

#include "common/base/clock.h"
#include "common/base/failpoint.h"

namespace cobblestone::stream::kafka {

namespace {

constexpr int kMostWipes = 3;

// The status with which a process ends. kRetry is from the store: its disk is full, and an operator must free
// space.
Status Failure(const Status& status) {
  return status.code() == StatusCode::kRetry ? Status::Full(status.message()) : status;
}

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
    look.cached_bytes = slot.cached_bytes();
    look.waiting = slot.waiting();
    look.stages.resize(slot.stage_count());
    for (std::size_t i = 0; i < stage_records_.size(); ++i) look.stages[i].records = stage_records_[i];
    if (reading_inputs_) {
      for (const Feed& feed : feeds_) {
        if (feed.messages.empty() && reader_.AtEnd(feed.where))
          continue;  // only transaction markers may follow
        const std::uint64_t end = reader_.KnownEnd(feed.where);
        const std::uint64_t next = slot.next(feed.inputs.front());
        look.lag += end > next ? end - next : 0;
        for (const std::size_t input : feed.inputs)
          look.stages[slot.inputs()[input].stage].lag += end - std::min(end, slot.next(input));
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
  look.diverged = diverged_;
  look.restores = restores_;
  look.state_writes = state_writes_;
  look.state_written_at = state_written_at_;
  look.checkpoint_at = checkpoint_at_;
  look.commit_latency = commit_latency_.Look();
  return look;
}

// ---- State on this machine ----------------------------------------------------------------------------------

Status Task::OpenState() {
  store_.reset();
  parts_ = {};
  auto opened = space_.Open(k_);
  std::string damage;
  if (opened.ok()) {
    const auto bytes = (*opened)->Meta();
    if (bytes.ok() && IsUnfinishedRestore(*bytes))
      damage = "an earlier restore from a checkpoint was not finished";
    // The committed position decides whether this program may run the slot. The local state may come from a
    // newer program that was a standby.
    const auto meta = bytes.ok() ? DecodeSlotMeta(*bytes) : Result<SlotMeta>(bytes.status());
    if (meta.ok() && meta->rules_version > options_.rules_version)
      damage = "the state has rules version " + std::to_string(meta->rules_version) +
               ", but this program has " + std::to_string(options_.rules_version);
  } else if (opened.status().code() == StatusCode::kCorrupted) {
    damage = opened.status().message();
  } else {
    return opened.status();
  }
  if (!damage.empty()) {
    report_("the state of " + Name() + " is discarded: " + damage);
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
  if (Status s = slot.Open(store_.get(), options_.object_bytes / 2); !s.ok()) {
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
  debt_ = debt_bytes_ = 0;
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
  // The log and the checkpoint contain everything.
  report_("the state of " + Name() + " is discarded: " + status.message());
  WipeState();
  if (phase_ != Phase::kStopped) phase_ = Phase::kPosition;
}

Status Task::CheckRules(std::uint32_t version) {
  if (version <= options_.rules_version) return Status::Ok();
  needs_rules_ = version;
  return Status::Fatal("needs rules version " + std::to_string(version) + ", but this program has " +
                       std::to_string(options_.rules_version) +
                       "; run the version of the program that committed for this slot");
}

void Task::Stop(std::string problem) {
  if (phase_ == Phase::kStopped) return;
  tainted_ = tainted_ || touched_;
  StopReading();
  phase_ = Phase::kStopped;
  problem_ = std::move(problem);
  report_(Name() + " stops: " + problem_);
}

// ---- Reading ------------------------------------------------------------------------------------------------

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

// ---- State writes, checkpoints ------------------------------------------------------------------------------

void Task::StepState(Time now, std::size_t objects) {
  Slot& slot = *parts_.slot;
  if (write_ != nullptr) {
    if (!write_->done) return;
    const auto written = std::move(write_);
    slot.StateWriteApplied();
    if (!written->status.ok()) return FailState(written->status);
    flushed_sequence_ = written->write->meta.sequence;
    ++state_writes_;
    state_written_at_ = UnixNow();
    slot.Evict(options_.object_bytes);
  }
  if (!slot.gathering()) {
    // A state write begins only outside of a transaction and after the last entry of a journal message, or at
    // the last entry to be executed (last_).
    if (debt_ == 0 || touched_ || entry_ || (in_message_ && slot.meta().sequence != last_)) return;
    if (now - last_flush_ < options_.flush_interval && debt_ < options_.flush_debt_records &&
        debt_bytes_ < options_.flush_debt_bytes)
      return;
    last_flush_ = now;
    debt_ = debt_bytes_ = 0;
    slot.BeginStateWrite();
    write_began_running_ = phase_ == Phase::kRunning;
  }
  if (!slot.GatherStateWrite(objects)) return;
  write_ = std::make_shared<PendingWrite>();
  write_->write = slot.TakeStateWrite();
  // From here on no checkpoint of another owner falls between two state writes of this task.
  if (write_began_running_ && phase_ == Phase::kRunning) parts_.tables->every_deletion = false;
  background_.Run([write = write_, store = store_, checkpointed = position_.checkpoint_sequence] {
    write->status = WriteState(*write->write, checkpointed, *store);
    Failpoint("K6s");
    write->done = true;
  });
}

Status Task::FlushState() {
  for (int pass = 0; pass < 2; ++pass) {
    // First the active state write, then one with the changes since.
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
  // A previous owner may have left rows of an unfinished checkpoint that is newer than the written state. The
  // new checkpoint must replace these rows, so the written state must include every commit up to runs_from_.
  if (flushed_sequence_ <= position_.checkpoint_sequence || flushed_sequence_ < runs_from_) return;
  if (store_ == nullptr) return;  // nothing to copy
  last_checkpoint_ = now;
  auto copy = space_.OpenCopy(k_, *store_);
  if (!copy.ok()) return FailState(copy.status());
  checkpoint_ = std::make_shared<CheckpointSource>(std::move(*copy), position_.checkpoint_sequence);
  checkpoint_busy_ = std::make_shared<std::atomic<bool>>(false);
}

}  // namespace cobblestone::stream::kafka
