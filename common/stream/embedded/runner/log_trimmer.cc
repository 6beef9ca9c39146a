#include "common/stream/embedded/runner/log_trimmer.h"

#include <limits>

#include "common/stream/embedded/runner/slot_inputs.h"

namespace cobblestone::stream::embedded {

void LogTrimmer::Trim() {
  const std::unique_lock running(mutex_, std::try_to_lock);
  if (!running) return;
  const bool large = log_.disk_bytes() > options_.inputs_bytes;
  const double keep_after =
      large ? std::numeric_limits<double>::infinity() : options_.clock() - options_.inputs_age;
  for (const auto& [slot, checkpoints] : slots_) {
    const std::vector<SlotMeta>& kept = checkpoints->kept();
    if (kept.size() < static_cast<std::size_t>(options_.checkpoints_kept)) continue;
    const SlotMeta& oldest = kept.front();
    const auto& inputs = slot->inputs();
    for (const SlotInput& input : inputs)
      if (options_.topics[input.where.topic].retention == Retention::kTrimmed)
        TrimBehind(input.where, LeastNext(inputs, input.where, [&](std::size_t j) { return oldest.next[j]; }),
                   keep_after);
    TrimBehind({options_.journal, slot->id()}, oldest.journal_next, keep_after);
  }
}

// Trims whole batches that end at or before `behind` and were appended at or before `keep_after`.
void LogTrimmer::TrimBehind(TopicPartition where, std::uint64_t behind, double keep_after) {
  std::uint64_t at = log_.Begin(where);
  while (at < behind) {
    auto batch = log_.Read(where, at);
    if (!batch.ok() || *batch == nullptr || (*batch)->end() > behind) break;
    if ((*batch)->append_time > keep_after) break;
    at = (*batch)->end();
  }
  if (at > log_.Begin(where)) log_.Trim(where, at);
}

}  // namespace cobblestone::stream::embedded
