#include "common/stream/kafka/task.h"

#include <algorithm>
#include <utility>

#include "common/base/clock.h"
#include "common/base/failpoint.h"

namespace cobblestone::stream::kafka {

namespace {

// Of a slot whose owners died.
constexpr std::uint64_t kFew = 64;               // records of a round
constexpr std::uint64_t kOnesInARow = 4 * kFew;  // until nothing is found with them
constexpr std::uint32_t kSkipsInARow = 3;        // with more it is not the records
constexpr std::uint64_t kDebtsHeldAt =
    4;  // a disk that is slower than the stages must not make a restart long

}  // namespace

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
  const std::uint64_t before = slot.records();
  Status s;
  if (options_.packed[record.where.topic]) {
    RecordCursor cursor(message.value());
    while (s.ok() && cursor.Next(&record.value)) s = slot.Process(input, record);
    if (s.ok() && cursor.malformed())
      s = Status::Fatal("message " + std::to_string(message.offset()) + " of " +
                        options_.topics[record.where.topic].name + ", partition " +
                        std::to_string(record.where.partition) + ", was not written by a slot");
  } else {
    if (options_.watch != nullptr && phase_ == Phase::kRunning) options_.watch->Taken(record.value);
    s = skip ? slot.Skip(input, record) : slot.Process(input, record);
  }
  if (phase_ == Phase::kRunning) {
    stage_records_.resize(slot.stage_count());
    stage_records_[slot.inputs()[input].stage] += slot.records() - before;
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
  return (debt_ >= kDebtsHeldAt * options_.flush_debt_records ||
          debt_bytes_ >= kDebtsHeldAt * options_.flush_debt_bytes) &&
         parts_.slot->flush_active();
}

bool Task::has_input() {
  if (held() || announces_) return false;
  if (parts_.slot->unfinished()) return true;
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

Outcome Task::Round(Producer& producer, std::uint64_t* records, std::uint64_t* work) {
  *records = *work = 0;
  Slot& slot = *parts_.slot;
  if (held() || announces_) return {};
  if (!slot.unfinished()) {  // else no input is ready
    const Status consumed = care_.level == Care::kOneByOne ? ConsumeOne() : ConsumeSome();
    if (!consumed.ok()) {
      touched_ = true;
      Fail(consumed);
      return {};
    }
    *records = slot.records();
    if (*records == 0) return {};
    consumed_ = true;
    careful_records_ += *records;
  }
  touched_ = true;
  Failpoint("K1");
  UnderWay(true);
  auto commit = slot.Finish();
  UnderWay(false);
  if (!commit.ok()) {
    Fail(commit.status());
    return {};
  }
  records_ += commit->records;
  *work = commit->debt;
  debt_ += commit->debt;
  debt_bytes_ += commit->debt_bytes;
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
        (steps_ ? ". In lockstep records are never skipped" : ". A record of another slot is never skipped") +
        ": no data is lost while this slot waits for a version of the program that can process "
        "the record; a restarted worker tries again");
  if (care_.skipped >= kSkipsInARow)
    return Status::Fatal(
        what + ", as did the " + std::to_string(kSkipsInARow) +
        " before it. The records are not the cause: check this machine and this version of the "
        "program. No data is lost while the slot waits");
  report_(Name() + ": " + what + " and is skipped; the record is in `refused`");
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
  if (options_.commits != nullptr) options_.commits->Wrote(output.where, output.payload);
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

void Task::Committed(Time now, Time begun) {
  position_ = next_position_;
  commit_latency_.Observe(std::chrono::duration<double>(now - begun).count());
  if (care_.level != Care::kNone && position_.care.level == Care::kNone && careful())
    report_(Name() + ": no more records crash; normal processing continues");
  care_ = position_.care;
  announces_ = consumed_ = skipped_ = false;
  if (journal_written_) parts_.slot->JournalWritten(position_.journal_next);
  if (checkpoint_ends_) {
    checkpoint_.reset();
    space_.RemoveCopy(k_);
    checkpoint_at_ = UnixNow();
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

}  // namespace cobblestone::stream::kafka
