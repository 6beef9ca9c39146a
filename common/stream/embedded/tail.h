// The newest batches of all partitions, in memory: what readers close behind the writers get without a look at the disk.
//
// Invariant: of each partition it holds a run without gaps that ends at the partition's end, and everything that is not
// durable. What all have consumed goes as soon as it is durable; beyond the limit the oldest durable batch goes first,
// whoever still needs it.
//
// Threads: none of its own; the log's mutex guards it. Batches that go are handed out, so that the caller frees them
// after it has let go of that mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/stream/record.h"

namespace cobblestone::stream::embedded {

class Tail {
 public:
  // `slots`: partitions of all topics, counted through. Each starts empty at `ends[slot]`.
  Tail(const std::vector<std::uint64_t>& ends, std::uint64_t limit_bytes);

  void Add(std::size_t slot, BatchRef batch);
  // Null when the batch is not here.
  [[nodiscard]] BatchRef Find(std::size_t slot, std::uint64_t offset) const;

  void Durable(std::size_t slot, std::uint64_t end);
  void Consumed(std::size_t slot, std::uint64_t offset, std::vector<BatchRef>& gone);
  // Keeps the limit.
  void Evict(std::vector<BatchRef>& gone);

  [[nodiscard]] std::uint64_t durable_end(std::size_t slot) const { return partitions_[slot].durable_end; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    BatchRef batch;
    std::uint64_t order = 0;  // of Add()
  };
  struct Partition {
    std::deque<Entry> entries;
    std::uint64_t durable_end = 0;
    std::uint64_t consumed = 0;
  };

  void DropFront(Partition& partition, std::vector<BatchRef>& gone);
  void DropConsumed(Partition& partition, std::vector<BatchRef>& gone);

  std::vector<Partition> partitions_;
  std::uint64_t limit_bytes_;
  std::uint64_t bytes_ = 0;
  std::uint64_t next_order_ = 0;
};

}  // namespace cobblestone::stream::embedded
