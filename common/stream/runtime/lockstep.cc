#include "common/stream/runtime/lockstep.h"

#include <algorithm>

namespace cobblestone::stream {

Lockstep::Lockstep(std::vector<TopicSpec> topics, std::vector<Slot*> slots)
    : topics_(std::move(topics)), slots_(std::move(slots)), taps_(topics_.size()) {
  for (const TopicSpec& topic : topics_) queues_.emplace_back(topic.partitions);
  for (Slot* slot : slots_) {
    for (const SlotInput& input : slot->inputs()) ++QueueOf(input.where).readers;
    heads_.emplace_back(slot->inputs().size(), 0);
  }
}

void Lockstep::SetTap(TopicIndex topic, Tap tap) { taps_[topic] = std::move(tap); }

void Lockstep::Push(Queue& queue, std::uint64_t line, std::string_view record) {
  queue.items.push_back({.line = line, .at = queue.bytes.size(), .size = record.size()});
  queue.bytes.append(record);
  waiting_ += queue.readers;
}

void Lockstep::Append(TopicPartition where, std::uint64_t line, std::string_view record) {
  Queue& queue = QueueOf(where);
  if (queue.readers > 0) Push(queue, line, record);
}

// All slots make a round, then all their outputs are delivered. If outputs were delivered slot by slot, the
// claims that a stage has seen before an epoch would depend on whether they came from a lower or a higher
// slot.
Status Lockstep::Drain() {
  std::vector<SlotCommit> commits;
  const auto unfinished = [this] {
    return std::any_of(slots_.begin(), slots_.end(), [](const Slot* slot) { return slot->unfinished(); });
  };
  while (waiting_ > 0 || unfinished()) {
    for (std::size_t k = 0; k < slots_.size(); ++k)
      if (Status s = Round(k, &commits); !s.ok()) return s;
    COBBLESTONE_CHECK(!commits.empty(), "records are waiting in lockstep, but no slot reads them");
    for (const SlotCommit& commit : commits) Deliver(commit);
    commits.clear();
  }
  return Status::Ok();
}

// One commit of one slot: all records that wait on its inputs, stage by stage, the inputs of a stage merged
// by line.
Status Lockstep::Round(std::size_t k, std::vector<SlotCommit>* commits) {
  Slot& slot = *slots_[k];
  const auto& inputs = slot.inputs();
  std::vector<std::size_t>& heads = heads_[k];
  bool any = false;
  for (std::size_t stage = 0; stage < slot.stage_count(); ++stage) {
    for (;;) {
      std::size_t best = inputs.size();
      std::uint64_t best_line = 0;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].stage != stage) continue;
        const Queue& queue = QueueOf(inputs[i].where);
        if (heads[i] == queue.items.size() || !slot.Ready(i)) continue;
        const std::uint64_t line = queue.items[heads[i]].line;
        if (best == inputs.size() || line < best_line) {
          best = i;
          best_line = line;
        }
      }
      if (best == inputs.size()) break;
      Queue& queue = QueueOf(inputs[best].where);
      const Item& item = queue.items[heads[best]];
      const RecordView record{.where = inputs[best].where,
                              .offset = slot.next(best),
                              .append_time = 0,
                              .line = item.line,
                              .value = std::string_view(queue.bytes).substr(item.at, item.size)};
      if (Status s = slot.Process(best, record); !s.ok()) return s;
      ++heads[best];
      --waiting_;
      ++records_;
      any = true;
    }
  }
  // A partition is cleared when all stages that read it have read all of it; records that were not ready stay
  // for the next round.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Queue& queue = QueueOf(inputs[i].where);
    bool unread = false;
    for (std::size_t j = 0; j < inputs.size(); ++j)
      unread = unread || (inputs[j].where == inputs[i].where && heads[j] < queue.items.size());
    if (unread) continue;
    for (std::size_t j = 0; j < inputs.size(); ++j)
      if (inputs[j].where == inputs[i].where) heads[j] = 0;
    queue.items.clear();
    queue.bytes.clear();
  }
  if (!any && !slot.unfinished()) return Status::Ok();
  auto commit = slot.Finish();
  if (!commit.ok()) return commit.status();
  commits->push_back(std::move(*commit));
  return Status::Ok();
}

void Lockstep::Deliver(const SlotCommit& commit) {
  for (const SlotOutput& output : commit.outputs) {
    Queue& queue = QueueOf(output.where);
    const Tap& tap = taps_[output.where.topic];
    if (queue.readers == 0 && !tap) continue;
    RecordCursor cursor(output.payload);
    std::string_view record;
    while (cursor.Next(&record)) {
      if (tap) tap(output.where, record);
      if (queue.readers > 0) Push(queue, 0, record);
    }
  }
}

}  // namespace cobblestone::stream
