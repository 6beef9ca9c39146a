#include "tests/support/free_world.h"

#include <stdexcept>

#include "common/wire/control/topics.h"
#include "tests/support/outcome_of.h"

namespace cobblestone::testing {

using pipeline::MakeSlot;
using pipeline::PipelineOptions;
using pipeline::SlotCount;

namespace {

void Must(const Status& status) {
  if (!status.ok()) throw std::runtime_error("the pipeline stopped: " + status.message());
}

}  // namespace

FreeWorld::FreeWorld(std::uint32_t partitions, std::uint64_t seed)
    : partitions_(partitions), random_(seed), totals_(partitions) {
  // For half of the seeds so few rows that what expires together expires in several commits.
  const PipelineOptions options{.partitions = partitions,
                                .lockstep = false,
                                .fingerprint = false,
                                .rows_per_commit = seed % 2 == 0 ? stage::CommitBudget::kRows : 1 + seed % 5};
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

void FreeWorld::Hold(std::uint32_t slot, std::size_t stage, std::optional<stream::TopicIndex> topic) {
  const auto& inputs = slots_[slot].slot->inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].stage == stage && inputs[i].where.topic == topic.value_or(inputs[i].where.topic))
      held_.emplace(slot, i);
}

void FreeWorld::Release() { held_.clear(); }

Outcome FreeWorld::outcome() { return OutcomeOf(slots_, ledger_, Records(wire::kRefused)); }

bool FreeWorld::Readable(std::size_t slot, std::size_t input) {
  const stream::Slot& one = *slots_[slot].slot;
  return one.next(input) < log_[one.inputs()[input].where].size() && !held_.contains({slot, input}) &&
         one.Ready(input);
}

bool FreeWorld::Step() {
  // Starts at a random slot and takes the first one with something to read.
  const std::size_t from = random_() % slots_.size();
  for (std::size_t step = 0; step < slots_.size(); ++step) {
    const std::size_t k = (from + step) % slots_.size();
    stream::Slot& slot = *slots_[k].slot;
    const auto& inputs = slot.inputs();
    const std::uint64_t portions = 1 + random_() % 4;
    for (std::uint64_t portion = 0; portion < portions; ++portion) {
      std::vector<std::size_t> readable;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (Readable(k, i)) readable.push_back(i);
      if (readable.empty()) break;
      const std::size_t input = readable[random_() % readable.size()];
      const auto& records = log_[inputs[input].where];
      for (std::uint64_t n = 1 + random_() % 20; n > 0 && Readable(k, input); --n)
        Must(slot.Process(input, {.where = inputs[input].where,
                                  .offset = slot.next(input),
                                  .append_time = append_time_,
                                  .line = 0,
                                  .value = records[slot.next(input)]}));
    }
    if (slot.records() == 0 && !slot.unfinished()) continue;
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
