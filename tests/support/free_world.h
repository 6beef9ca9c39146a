// A whole pipeline in memory with `order: arrival`. Every slot reads its inputs in random order and in random
// portions, and commits at random times. As with a log, the output of a commit is appended as a unit, and a partition
// is read in order and only when its stage is ready for it; nothing else is guaranteed. The same seed gives the same
// run.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/pipeline/pipeline.h"
#include "tests/support/oracle.h"

namespace cobblestone::testing {

class FreeWorld {
 public:
  FreeWorld(std::uint32_t partitions, std::uint64_t seed);

  // Appends without processing.
  void Add(std::string_view envelope);
  void Add(std::span<const std::string> envelopes);
  // Appends to a given partition.
  void AddTo(stream::TopicPartition where, std::string_view record) { Append(where, record); }
  // Runs one round. False: nothing to read. Throws if the pipeline stops.
  bool Step();
  void RunUntilIdle();
  // Stops reading the stage's inputs, as if its process were down. `topic`: only inputs of this topic.
  void Hold(std::uint32_t slot, std::size_t stage, std::optional<stream::TopicIndex> topic = {});
  void Release();

  // Records of the topic `grants` in order of appending.
  [[nodiscard]] const std::vector<std::string>& ledger() const { return ledger_; }
  // The outcome so far.
  [[nodiscard]] Outcome outcome();
  // Records of the topic `totals`, by partition.
  [[nodiscard]] const std::vector<std::vector<std::string>>& totals() const { return totals_; }
  [[nodiscard]] const std::vector<std::string>& Partition(stream::TopicPartition where) {
    return log_[where];
  }
  // Records of a topic, partition by partition.
  [[nodiscard]] std::vector<std::string> Records(stream::TopicIndex topic) const;
  [[nodiscard]] std::vector<pipeline::PipelineSlot>& slots() { return slots_; }
  // Append time of all records that are read from now on; 0: unknown.
  void set_append_time(double time) { append_time_ = time; }

 private:
  void Append(stream::TopicPartition where, std::string_view record);
  [[nodiscard]] bool Readable(std::size_t slot, std::size_t input);

  std::uint32_t partitions_;
  std::mt19937_64 random_;
  double append_time_ = 0;
  std::vector<pipeline::PipelineSlot> slots_;
  std::set<std::pair<std::size_t, std::size_t>> held_;  // slot and input
  std::map<stream::TopicPartition, std::vector<std::string>> log_;
  std::vector<std::string> ledger_;
  std::vector<std::vector<std::string>> totals_;
};

}  // namespace cobblestone::testing
