// The newest batches of all partitions, in memory: readers that keep up with the writers do not read the disk.
//
// Invariant: for each partition the tail holds a run without gaps that ends at the partition's end and
// includes everything that is not durable. A batch that all consumers have consumed is evicted as soon as it
// is durable. Beyond the limit the oldest durable batch is evicted first, even if a consumer still needs it.
//
// Threads: guarded by the log's mutex. Evicted batches are returned to the caller, which frees them after it
// has released the mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/stream/record.h"

namespace cobblestone::stream::embedded {

class Tail {
 public:
  // `slots`: index over the partitions of all topics. Each partition starts empty at `ends[slot]`.
  Tail(const std::vector<std::uint64_t>& ends, std::uint64_t limit_bytes);

  void Add(std::size_t slot, BatchRef batch);
  // Null when the batch is not in memory.
  [[nodiscard]] BatchRef Find(std::size_t slot, std::uint64_t offset) const;

  void Durable(std::size_t slot, std::uint64_t end);
  void Consumed(std::size_t slot, std::uint64_t offset, std::vector<BatchRef>& evicted);
  // Evicts batches beyond the limit.
  void Evict(std::vector<BatchRef>& evicted);

  [[nodiscard]] std::uint64_t durable_end(std::size_t slot) const { return partitions_[slot].durable_end; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    BatchRef batch;
    std::uint64_t order = 0;  // sequence number of Add()
  };
  struct Partition {
    std::deque<Entry> entries;
    std::uint64_t durable_end = 0;
    std::uint64_t consumed = 0;
  };

  void DropFront(Partition& partition, std::vector<BatchRef>& evicted);
  void DropConsumed(Partition& partition, std::vector<BatchRef>& evicted);

  std::vector<Partition> partitions_;
  std::uint64_t limit_bytes_;
  std::uint64_t bytes_ = 0;
  std::uint64_t next_order_ = 0;
};

}  // namespace cobblestone::stream::embedded
