#include "tests/support/free_world.h"

#include <stdexcept>

#include "common/wire/topics.h"

namespace cobblestone::testing {

namespace {

void Must(const Status& status) {
  if (!status.ok()) throw std::runtime_error("the pipeline stopped: " + status.message());
}

}  // namespace

FreeWorld::FreeWorld(std::uint32_t partitions, std::uint64_t seed)
    : partitions_(partitions), random_(seed), totals_(partitions) {
  const PipelineOptions options{.partitions = partitions, .sorted = false, .fingerprint = false};
  for (std::uint32_t k = 0; k < SlotCount(options); ++k) {
    slots_.push_back(MakeSlot(k, options));
    Must(slots_.back().slot->Open(nullptr));
  }
}

void FreeWorld::Append(stream::TopicPartition where, std::string_view record) {
  log_[where].emplace_back(record);
  if (where.topic == wire::kGrants) ledger_.emplace_back(record);
  if (where.topic == wire::kTotals) totals_[where.partition].emplace_back(record);
}

void FreeWorld::Add(std::string_view envelope) { Append(wire::RouteEvent(envelope, partitions_), envelope); }

void FreeWorld::Add(std::span<const std::string> envelopes) {
  for (const std::string& envelope : envelopes) Add(envelope);
}

std::vector<std::string> FreeWorld::Records(stream::TopicIndex topic) const {
  std::vector<std::string> all;
  for (const auto& [where, records] : log_)
    if (where.topic == topic) all.insert(all.end(), records.begin(), records.end());
  return all;
}

bool FreeWorld::Step() {
  // From a slot of chance on, the first that has something to read.
  const std::size_t from = random_() % slots_.size();
  for (std::size_t step = 0; step < slots_.size(); ++step) {
    stream::Slot& slot = *slots_[(from + step) % slots_.size()].slot;
    const auto& inputs = slot.inputs();
    const std::uint64_t portions = 1 + random_() % 4;
    for (std::uint64_t portion = 0; portion < portions; ++portion) {
      std::vector<std::size_t> readable;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (slot.next(i) < log_[inputs[i].where].size()) readable.push_back(i);
      if (readable.empty()) break;
      const std::size_t input = readable[random_() % readable.size()];
      const auto& records = log_[inputs[input].where];
      for (std::uint64_t n = 1 + random_() % 20; n > 0 && slot.next(input) < records.size(); --n)
        Must(slot.Process(input, {.where = inputs[input].where,
                                  .offset = slot.next(input),
                                  .append_time = append_time_,
                                  .line = 0,
                                  .value = records[slot.next(input)]}));
    }
    if (slot.records() == 0) continue;
    auto commit = slot.Finish();
    Must(commit.status());
    for (const stream::SlotOutput& output : commit->outputs) {
      stream::RecordCursor cursor(output.payload);
      for (std::string_view record; cursor.Next(&record);) Append(output.where, record);
    }
    return true;
  }
  return false;
}

void FreeWorld::RunUntilIdle() {
  while (Step()) {
  }
}

}  // namespace cobblestone::testing
