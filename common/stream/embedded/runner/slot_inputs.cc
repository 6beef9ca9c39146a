#include "common/stream/embedded/runner/slot_inputs.h"

#include <algorithm>

namespace cobblestone::stream::embedded {

SlotInputs::SlotInputs(const RunnerOptions& options, Log& log, Slot& slot)
    : options_(options),
      log_(log),
      slot_(slot),
      inputs_(slot.inputs().size()),
      stage_inputs_(slot.stage_count()) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) stage_inputs_[slot.inputs()[i].stage].push_back(i);
}

Status SlotInputs::Fetch(std::size_t i, bool* available) {
  Input& input = inputs_[i];
  *available = true;
  if (input.have_head) return Status::Ok();
  if (input.batch && input.cursor.Next(&input.head)) {
    input.have_head = true;
    return Status::Ok();
  }
  const SlotInput& from = slot_.inputs()[i];
  const std::uint64_t next = slot_.next(i);
  auto batch = log_.Read(from.where, next);
  if (!batch.ok()) return batch.status();
  if (*batch == nullptr) {
    input.batch.reset();
    *available = false;
    return Status::Ok();
  }
  input.batch = *batch;
  input.cursor = RecordCursor(input.batch->payload);
  for (std::uint64_t skip = input.batch->first; skip <= next; ++skip)
    COBBLESTONE_CHECK(input.cursor.Next(&input.head), "a batch of the log has fewer records than its header");
  input.have_head = true;
  return Status::Ok();
}

Status SlotInputs::Consume(std::size_t i) {
  Input& input = inputs_[i];
  input.have_head = false;
  return slot_.Process(i, {.where = slot_.inputs()[i].where,
                           .offset = slot_.next(i),
                           .append_time = input.batch->append_time,
                           .line = 0,
                           .value = input.head});
}

void SlotInputs::PeekTime(std::size_t i) {
  inputs_[i].head_time = options_.peek_time(slot_.inputs()[i].where.topic, inputs_[i].head);
}

// The only input of its stage.
Status SlotInputs::ConsumeOnly(std::size_t i) {
  while (!full() && slot_.Ready(i)) {
    bool available = false;
    if (Status s = Fetch(i, &available); !s.ok()) return s;
    if (!available) return Status::Ok();
    if (Status s = Consume(i); !s.ok()) return s;
  }
  return Status::Ok();
}

// Adds the inputs that have a record to `live`. Inputs without a record are checked again until no new one is found:
// a unit appears in all of its partitions at once and must not be consumed in parts.
Status SlotInputs::FindLive(const std::vector<std::size_t>& ids, std::vector<std::size_t>* live) {
  for (std::size_t before = ids.size(); live->size() != before && live->size() != ids.size();) {
    before = live->size();
    for (const std::size_t i : ids) {
      if (std::find(live->begin(), live->end(), i) != live->end()) continue;
      bool available = false;
      if (Status s = Fetch(i, &available); !s.ok()) return s;
      if (!available) continue;
      live->push_back(i);
      PeekTime(i);
    }
  }
  std::sort(live->begin(), live->end());
  return Status::Ok();
}

Status SlotInputs::ConsumeStage(std::size_t stage) {
  const auto& ids = stage_inputs_[stage];
  if (ids.size() == 1) return ConsumeOnly(ids[0]);
  // The inputs that have a record. Records that arrive on other inputs meanwhile are consumed by the next commit.
  std::vector<std::size_t> live;
  if (Status s = FindLive(ids, &live); !s.ok()) return s;
  while (!full()) {
    const auto earliest = [&](auto takes) {
      std::size_t best = live.size();
      for (std::size_t l = 0; l < live.size(); ++l)
        if ((best == live.size() || inputs_[live[l]].head_time < inputs_[live[best]].head_time) &&
            takes(live[l]))
          best = l;
      return best;
    };
    std::size_t best = earliest([](std::size_t) { return true; });
    // A record that is not ready waits for the other inputs. If they have no record, it waits for a later wave.
    if (best < live.size() && !slot_.Ready(live[best])) [[unlikely]]
      best = earliest([&](std::size_t i) { return slot_.Ready(i); });
    if (best == live.size()) return Status::Ok();
    const std::size_t i = live[best];
    if (Status s = Consume(i); !s.ok()) return s;
    bool available = false;
    if (Status s = Fetch(i, &available); !s.ok()) return s;
    if (!available) {
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(best));
      continue;
    }
    PeekTime(i);
    // The fetched record may be of a unit that was appended since the other inputs were checked.
    if (options_.lockstep)
      if (Status s = FindLive(ids, &live); !s.ok()) return s;
  }
  return Status::Ok();
}

std::uint64_t SlotInputs::Lag() const {
  std::uint64_t lag = 0;
  const auto& inputs = slot_.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) lag += log_.End(inputs[i].where) - slot_.next(i);
  return lag;
}

}  // namespace cobblestone::stream::embedded
