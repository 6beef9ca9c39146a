#include "common/stream/kafka/task/task_inputs.h"

#include <algorithm>

namespace cobblestone::stream::kafka {

void TaskInputs::Rebuild() {
  feeds_.clear();
  inputs_.clear();
  const Slot& slot = state_.slot();
  stage_inputs_.assign(slot.stage_count(), {});
  for (const SlotInput& input : slot.inputs()) {
    std::size_t f = 0;
    while (f < feeds_.size() && feeds_[f].where != input.where) ++f;
    if (f == feeds_.size()) feeds_.emplace_back().where = input.where;
    feeds_[f].inputs.push_back(inputs_.size());
    stage_inputs_[input.stage].push_back(inputs_.size());
    inputs_.push_back({.feed = f});
  }
}

Status TaskInputs::Start() {
  if (reading_) return Status::Ok();
  const std::vector<std::uint64_t>& next = state_.meta().next;
  for (const Feed& feed : feeds_) {
    std::uint64_t first = next[feed.inputs.front()];
    for (const std::size_t i : feed.inputs) first = std::min(first, next[i]);
    if (Status s = context_.reader.Start(feed.where, first); !s.ok()) return s;
  }
  reading_ = true;
  return Status::Ok();
}

void TaskInputs::Stop() {
  if (reading_)
    for (const Feed& feed : feeds_) context_.reader.Stop(feed.where);
  reading_ = false;
  for (Feed& feed : feeds_) {
    feed.messages.clear();
    feed.popped = 0;
  }
  for (Input& input : inputs_) input.at = 0;
}

Status TaskInputs::Head(std::size_t input, const Message** head) {
  Input& in = inputs_[input];
  Feed& feed = feeds_[in.feed];
  const std::uint64_t next = state_.slot().next(input);
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
    if (Status s = context_.reader.Poll(feed.where, kFetch, &feed.messages); !s.ok()) return s;
    if (feed.messages.size() == before) {
      *head = nullptr;
      return Status::Ok();
    }
  }
}

void TaskInputs::Pass(std::size_t input) {
  Feed& feed = feeds_[inputs_[input].feed];
  ++inputs_[input].at;
  std::uint64_t passed = inputs_[input].at;
  for (const std::size_t i : feed.inputs) passed = std::min(passed, inputs_[i].at);
  for (; feed.popped < passed; ++feed.popped) feed.messages.pop_front();
}

double TaskInputs::HeadTime(std::size_t input, const Message& head) const {
  const TopicIndex topic = where(input).topic;
  std::string_view record = head.value();
  if (context_.options.packed[topic]) {
    RecordCursor cursor(record);
    if (!cursor.Next(&record)) return 0;
  }
  return context_.options.peek_time(topic, record);
}

void TaskInputs::AddLag(TaskStatus* look) const {
  if (!reading_) return;
  const Slot& slot = state_.slot();
  for (const Feed& feed : feeds_) {
    if (feed.messages.empty() && context_.reader.AtEnd(feed.where))
      continue;  // only transaction markers may follow
    const std::uint64_t end = context_.reader.KnownEnd(feed.where);
    const std::uint64_t next = slot.next(feed.inputs.front());
    look->lag += end > next ? end - next : 0;
    for (const std::size_t input : feed.inputs)
      look->stages[slot.inputs()[input].stage].lag += end - std::min(end, slot.next(input));
  }
}

}  // namespace cobblestone::stream::kafka
