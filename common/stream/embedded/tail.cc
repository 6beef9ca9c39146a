#include "common/stream/embedded/tail.h"

#include <algorithm>
#include <utility>

namespace cobblestone::stream::embedded {

Tail::Tail(const std::vector<std::uint64_t>& ends, std::uint64_t limit_bytes)
    : partitions_(ends.size()), limit_bytes_(limit_bytes) {
  for (std::size_t slot = 0; slot < ends.size(); ++slot) partitions_[slot].durable_end = ends[slot];
}

void Tail::Add(std::size_t slot, BatchRef batch) {
  bytes_ += batch->payload.size();
  partitions_[slot].entries.push_back({.batch = std::move(batch), .order = next_order_++});
}

BatchRef Tail::Find(std::size_t slot, std::uint64_t offset) const {
  const std::deque<Entry>& entries = partitions_[slot].entries;
  const auto behind = std::upper_bound(entries.begin(), entries.end(), offset,
                                       [](std::uint64_t o, const Entry& e) { return o < e.batch->first; });
  if (behind == entries.begin()) return nullptr;
  const BatchRef& batch = std::prev(behind)->batch;
  return offset < batch->end() ? batch : nullptr;
}

void Tail::DropFront(Partition& partition, std::vector<BatchRef>& evicted) {
  BatchRef& batch = partition.entries.front().batch;
  bytes_ -= batch->payload.size();
  evicted.push_back(std::move(batch));
  partition.entries.pop_front();
}

void Tail::DropConsumed(Partition& partition, std::vector<BatchRef>& evicted) {
  const std::uint64_t until = std::min(partition.consumed, partition.durable_end);
  while (!partition.entries.empty() && partition.entries.front().batch->end() <= until)
    DropFront(partition, evicted);
}

void Tail::Durable(std::size_t slot, std::uint64_t end) { partitions_[slot].durable_end = end; }

void Tail::Consumed(std::size_t slot, std::uint64_t offset, std::vector<BatchRef>& evicted) {
  Partition& partition = partitions_[slot];
  partition.consumed = std::max(partition.consumed, offset);
  DropConsumed(partition, evicted);
}

void Tail::Evict(std::vector<BatchRef>& evicted) {
  for (Partition& partition : partitions_) DropConsumed(partition, evicted);
  while (bytes_ > limit_bytes_) {
    // Examines every partition for each evicted batch: about a hundred partitions, some thousand batches per
    // second.
    Partition* oldest = nullptr;
    for (Partition& partition : partitions_) {
      if (partition.entries.empty()) continue;
      const Entry& front = partition.entries.front();
      if (front.batch->end() > partition.durable_end) continue;
      if (oldest == nullptr || front.order < oldest->entries.front().order) oldest = &partition;
    }
    if (oldest == nullptr) return;  // all remaining batches are not durable yet
    DropFront(*oldest, evicted);
  }
}

}  // namespace cobblestone::stream::embedded
