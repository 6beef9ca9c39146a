// A whole pipeline in memory that runs freely: every slot reads its inputs in an order and in portions that chance
// decides, and commits when chance says so. What a slot emits is appended in one piece, and a partition is read in its
// order, as the log promises, and no sooner than its stage is ready for it; nothing else is promised. The same seed gives
// the same run.
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

  // Appends; nothing is processed.
  void Add(std::string_view envelope);
  void Add(std::span<const std::string> envelopes);
  // To a partition of somebody's choice.
  void AddTo(stream::TopicPartition where, std::string_view record) { Append(where, record); }
  // Some rounds of some slots; false when there was nothing to read. Throws where the pipeline stops.
  bool Step();
  void RunUntilIdle();
  // Nothing of the stage's inputs is read from now on, as if who reads them were down. `topic`: of this one alone.
  void Hold(std::uint32_t slot, std::size_t stage, std::optional<stream::TopicIndex> topic = {});
  void Release();

  // Records of the topic `grants` in order of appending.
  [[nodiscard]] const std::vector<std::string>& ledger() const { return ledger_; }
  // What has come of it so far.
  [[nodiscard]] Outcome outcome();
  // Records of the topic `totals`, by partition.
  [[nodiscard]] const std::vector<std::vector<std::string>>& totals() const { return totals_; }
  [[nodiscard]] const std::vector<std::string>& Partition(stream::TopicPartition where) {
    return log_[where];
  }
  // Records of a topic, partition by partition.
  [[nodiscard]] std::vector<std::string> Records(stream::TopicIndex topic) const;
  [[nodiscard]] std::vector<pipeline::PipelineSlot>& slots() { return slots_; }
  // With which all records are read from now on; 0: unknown.
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
