// Lockstep: all slots in memory, in one process and one thread. Input is read in the order of input lines and
// drained through every stage on Drain(). With a barrier where needed (stages sort the records since the last
// barrier), the result does not depend on the number of partitions. Used by replay (what-if) and by tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/stream/record.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream {

class Lockstep {
 public:
  // Called with every record that a stage emits to `topic`, in the order of processing.
  using Tap = std::function<void(TopicPartition where, std::string_view record)>;

  // Each slot's stages must be registered from upstream to downstream, in the same order in all slots that
  // share a topic.
  Lockstep(std::vector<TopicSpec> topics, std::vector<Slot*> slots);

  void SetTap(TopicIndex topic, Tap tap);

  // Appends input for the next Drain(). Line numbers never decrease.
  void Append(TopicPartition where, std::uint64_t line, std::string_view record);

  // Processes records until no slot has input left.
  Status Drain();

  [[nodiscard]] bool idle() const { return waiting_ == 0; }
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  struct Item {
    std::uint64_t line = 0;
    std::size_t at = 0;
    std::size_t size = 0;
  };
  struct Queue {
    std::size_t readers = 0;  // inputs that read it, all of one slot
    std::string bytes;
    std::vector<Item> items;
  };

  Status Round(std::size_t k, std::vector<SlotCommit>* commits);
  void Deliver(const SlotCommit& commit);
  Queue& QueueOf(TopicPartition where) { return queues_[where.topic][where.partition]; }
  void Push(Queue& queue, std::uint64_t line, std::string_view record);

  std::vector<TopicSpec> topics_;
  std::vector<Slot*> slots_;
  std::vector<std::vector<Queue>> queues_;
  std::vector<std::vector<std::size_t>> heads_;  // by slot and input: index of the next item
  std::vector<Tap> taps_;
  std::uint64_t waiting_ = 0;
  std::uint64_t records_ = 0;
  std::string buffer_;
};

}  // namespace cobblestone::stream
