#include "common/stream/embedded/runner/slot_host.h"

#include <algorithm>
#include <utility>

#include "common/base/failpoint.h"
#include "common/stream/embedded/runner/state_files.h"

namespace cobblestone::stream::embedded {

namespace {

// Objects gathered for each record processed: a state write makes progress under full load too, faster than new changes
// arrive.
constexpr std::size_t kGatheredPerRecord = 4;

}  // namespace

SlotHost::SlotHost(const RunnerOptions& options, Log& log, StateWriter& writer,
                   const ConsumedPartitions& consumed, std::uint32_t slots, OpenedSlot opened,
                   CommitWatch* watch)
    : options_(options),
      log_(log),
      consumed_(consumed),
      watch_(watch),
      slot_(*opened.parts.slot),
      reexecuted_(opened.reexecuted),
      reexecuted_records_(opened.reexecuted_records),
      stored_(std::move(opened.stored)),
      work_{.parts = std::move(opened.parts),
            .inputs = std::move(opened.inputs),
            // Spreads the writes of the slots over the interval.
            .flush = SlotFlush(options, slots, slot_, *stored_, writer, opened.debt,
                               opened.at - options.flush_interval * slot_.id() / slots)} {
  seen_.unfinished = slot_.unfinished();
  Publish();
}

SlotHost::~SlotHost() {
  if (watch_ != nullptr) log_.WaitDurable(work_.last_ticket);
}

// ---- Workers -------------------------------------------------------------------------------------------------------

Status SlotHost::Visit(std::size_t stage, bool* again) {
  if (stage >= slot_.stage_count()) return Status::Ok();
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock && readers_ > 0) {
    *again = true;  // a long read delays this slot only
    return Status::Ok();
  }
  if (!lock) lock.lock();
  if (work_.flush.throttled()) {
    ++work_.throttled;
    return Status::Ok();
  }
  Status s = RunStage(stage, again);
  seen_.unfinished = slot_.unfinished();
  if (stage == 0) MeasureLag();
  Publish();
  if (s.ok() || !slot_.state_damaged()) return s;
  Distrust(StatePath(options_, slot_.id()), s);
  return Status::Corrupted(s.message() +
                           ". Start again: the state is then rebuilt from a checkpoint and the log");
}

Status SlotHost::RunStage(std::size_t stage, bool* again) {
  bool full = false;
  do {
    Failpoint("E0");
    const auto begun = watch_ != nullptr ? Clock::now() : Clock::time_point{};
    if (Status s = work_.inputs->ConsumeStage(stage); !s.ok()) return s;
    if (slot_.records() == 0 && !slot_.unfinished()) break;
    full = work_.inputs->full();
    Failpoint("E1");
    std::uint64_t debt = 0;
    if (Status s = Commit(begun, &debt); !s.ok()) return s;
    StepFlush(kGatheredPerRecord * debt, again);
  } while (stage > 0 && full && !work_.flush.throttled());
  if (slot_.unfinished()) *again = true;
  return Status::Ok();
}

// Appends the outputs and the journal entry of the processed records as one unit. *debt: SlotCommit::debt.
Status SlotHost::Commit(Clock::time_point begun, std::uint64_t* debt) {
  auto commit = slot_.Finish();
  if (!commit.ok()) return commit.status();
  *debt = commit->debt;
  slot_.JournalWritten(slot_.meta().journal_next + 1);
  Append(&*commit, begun);
  work_.flush.Add(*commit);
  work_.records += commit->records;
  const auto& inputs = slot_.inputs();
  for (const SlotInput& input : inputs)
    log_.Consumed(input.where, LeastNext(inputs, input.where, [&](std::size_t j) { return slot_.next(j); }));
  return Status::Ok();
}

// Moves the outputs out of the commit.
void SlotHost::Append(SlotCommit* commit, Clock::time_point begun) {
  LogUnit unit;
  unit.outputs.reserve(commit->outputs.size() + 1);
  if (watch_ != nullptr) {
    for (const SlotOutput& out : commit->outputs) watch_->Wrote(out.where, out.payload);
    watch_->Settled(true);  // an appended unit becomes durable, or the process ends
    unit.on_durable = [latency = &commit_latency_, begun] {
      latency->Observe(std::chrono::duration<double>(Clock::now() - begun).count());
    };
  }
  for (SlotOutput& out : commit->outputs)
    unit.outputs.push_back({.where = out.where, .payload = std::move(out.payload), .count = out.count});
  LogOutput journal{.where = {options_.journal, slot_.id()}, .payload = {}, .count = 1};
  AppendRecord(journal.payload, EncodeJournalEntry(commit->journal));
  unit.outputs.push_back(std::move(journal));
  std::vector<TopicPartition> unread;  // partitions that no slot needs in memory
  for (const LogOutput& out : unit.outputs)
    if (!consumed_[out.where.topic][out.where.partition]) unread.push_back(out.where);
  work_.last_ticket = log_.Append(std::move(unit));
  for (const TopicPartition& where : unread) log_.Consumed(where, log_.End(where));
}

void SlotHost::StepFlush(std::size_t objects, bool* again) {
  if (!work_.flush.Step(objects, work_.last_ticket)) return;
  *again = true;  // the slot may have been throttled
  Publish();
}

bool SlotHost::StepStateWrite(bool* again) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || slot_.failed()) return false;
  StepFlush(kGatherSlice, again);
  return work_.flush.gathering();
}

// ---- Any thread ----------------------------------------------------------------------------------------------------

void SlotHost::Query(const std::function<void(Slot&)>& read) {
  std::uint64_t ticket = 0;
  {
    ++readers_;
    const std::lock_guard lock(mutex_);
    read(slot_);
    ticket = work_.last_ticket;
    --readers_;
  }
  log_.WaitDurable(ticket);
}

SlotStatus SlotHost::ReadStatus() const {
  const std::lock_guard lock(mutex_);
  return StatusOf();
}

SlotStatus SlotHost::Look() const {
  SlotStatus look;
  {
    const std::lock_guard lock(look_mutex_);
    look = last_look_;
  }
  AddCurrent(&look);
  return look;
}

SlotStatus SlotHost::StatusOf() const {
  SlotStatus status{.slot = slot_.id(),
                    .sequence = slot_.meta().sequence,
                    .hash = slot_.meta().hash,
                    .reexecuted = reexecuted_,
                    .reexecuted_records = reexecuted_records_,
                    .records = work_.records,
                    .throttled = work_.throttled,
                    .cached_objects = slot_.cached_objects(),
                    .cached_bytes = slot_.cached_bytes(),
                    .waiting = slot_.waiting(),
                    .store_reads = slot_.store_reads(),
                    .counted = options_.count ? options_.count(slot_.id()) : 0};
  const auto& inputs = slot_.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    status.inputs.push_back(
        {.stage = inputs[i].stage, .topic = inputs[i].where.topic, .next = slot_.next(i)});
  AddCurrent(&status);
  return status;
}

void SlotHost::AddCurrent(SlotStatus* status) const {
  const auto& inputs = slot_.inputs();
  status->lag = 0;
  for (std::size_t i = 0; i < status->inputs.size(); ++i) {
    InputLag& input = status->inputs[i];
    const std::uint64_t end = log_.End(inputs[i].where);
    input.records = end - std::min(end, input.next);
    status->lag += input.records;
  }
  stored_->AddTo(status);
  status->commit_latency = commit_latency_.Look();
}

// Called after each visit: the next Look() shows it.
void SlotHost::Publish() {
  SlotStatus now = StatusOf();
  const std::lock_guard lock(look_mutex_);
  last_look_ = std::move(now);
}

}  // namespace cobblestone::stream::embedded
