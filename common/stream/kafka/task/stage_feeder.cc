#include "common/stream/kafka/task/stage_feeder.h"

#include <optional>
#include <string>

#include "common/base/failpoint.h"

namespace cobblestone::stream::kafka {

// The next process then knows the work at which this process died (DeathTrace).
void StageFeeder::TraceWork(Role role, bool working) {
  if (role == Role::kOwner)
    trace_.Processing(working);
  else
    trace_.Executing(working ? state_.meta().sequence + 1 : 0);
}

Status StageFeeder::Feed(std::size_t input, const Message& message, Role role, bool skip) {
  Slot& slot = state_.slot();
  TraceWork(role, true);
  if (failpoints_armed && !skip) [[unlikely]] {
    const TopicPartition where = slot.inputs()[input].where;
    FailpointHit(context_.options.topics[where.topic].name + "/" + std::to_string(where.partition) + "@" +
                 std::to_string(message.offset()));
  }
  const std::uint64_t before = slot.records();
  if (role == Role::kOwner && context_.options.watch != nullptr &&
      !context_.options.packed[slot.inputs()[input].where.topic])
    context_.options.watch->Taken(message.value());
  const Status s = Process(input, message, skip);
  if (role == Role::kOwner) {
    stage_records_.resize(slot.stage_count());
    stage_records_[slot.inputs()[input].stage] += slot.records() - before;
  }
  TraceWork(role, false);
  if (!s.ok()) return s;
  inputs_.Pass(input);
  return Status::Ok();
}

Status StageFeeder::Process(std::size_t input, const Message& message, bool skip) {
  Slot& slot = state_.slot();
  RecordView record{.where = slot.inputs()[input].where,
                    .offset = message.offset(),
                    .append_time = message.timestamp(),
                    .line = 0,
                    .value = message.value()};
  if (!context_.options.packed[record.where.topic])
    return skip ? slot.Skip(input, record) : slot.Process(input, record);
  RecordCursor cursor(message.value());
  Status s;
  while (s.ok() && cursor.Next(&record.value)) s = slot.Process(input, record);
  if (s.ok() && cursor.malformed())
    s = Status::Fatal("message " + std::to_string(message.offset()) + " of " +
                      context_.options.topics[record.where.topic].name + ", partition " +
                      std::to_string(record.where.partition) + ", was not written by a slot");
  return s;
}

bool StageFeeder::Full() const {
  return state_.slot().records() >= most_ || state_.slot().output_bytes() >= context_.options.round_bytes;
}

Status StageFeeder::FeedAll(std::uint64_t most) {
  most_ = most;
  for (std::size_t stage = 0; stage < inputs_.stages(); ++stage)
    if (Status s = order_.lockstep() ? FeedInLockstep(stage) : FeedStage(stage); !s.ok()) return s;
  return Status::Ok();
}

Status StageFeeder::FeedInLockstep(std::size_t stage) {
  while (!Full()) {
    std::optional<std::size_t> next;
    if (Status s = order_.NextInLockstep(stage, &next); !s.ok()) return s;
    if (!next) return Status::Ok();
    const Message* head = nullptr;
    if (Status s = inputs_.Head(*next, &head); !s.ok()) return s;
    if (Status s = Feed(*next, *head, Role::kOwner); !s.ok()) return s;
  }
  return Status::Ok();
}

// By arrival. Of several inputs, the input with the earliest record is consumed first, for some hundred records
// (run_records).
Status StageFeeder::FeedStage(std::size_t stage) {
  const auto& ids = inputs_.OfStage(stage);
  live_.clear();
  for (const std::size_t i : ids) {
    const Message* head = nullptr;
    if (Status s = inputs_.Head(i, &head); !s.ok()) return s;
    if (head == nullptr) continue;
    live_.push_back(i);
    if (ids.size() > 1) head_times_[i] = inputs_.HeadTime(i, *head);
  }
  const Slot& slot = state_.slot();
  while (!Full()) {
    std::size_t best = live_.size();
    for (std::size_t l = 0; l < live_.size(); ++l)
      if ((best == live_.size() || head_times_[live_[l]] < head_times_[live_[best]]) && slot.Ready(live_[l]))
        best = l;
    if (best == live_.size()) return Status::Ok();
    const std::size_t i = live_[best];
    const std::uint64_t turn =
        live_.size() > 1 ? context_.options.run_records : context_.options.round_records;
    const std::uint64_t until = slot.records() + turn;
    const Message* head = nullptr;
    if (Status s = inputs_.Head(i, &head); !s.ok()) return s;
    while (head != nullptr && slot.records() < until && !Full() && slot.Ready(i)) {
      if (Status s = Feed(i, *head, Role::kOwner); !s.ok()) return s;
      if (Status s = inputs_.Head(i, &head); !s.ok()) return s;
    }
    if (head == nullptr)
      live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(best));
    else if (live_.size() > 1)
      head_times_[i] = inputs_.HeadTime(i, *head);
  }
  return Status::Ok();
}

}  // namespace cobblestone::stream::kafka
