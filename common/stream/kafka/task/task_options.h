// The options of a task (task.h), shared by all objects of the task.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/stream/commit_watch.h"
#include "common/stream/kafka/background.h"
#include "common/stream/kafka/state.h"
#include "common/stream/kafka/transport.h"
#include "common/stream/record.h"

namespace cobblestone::stream::kafka {

// Observes the records that an owner consumes and produces, on topics that are not packed.
class RecordWatch {
 public:
  virtual ~RecordWatch() = default;
  virtual void Taken(std::string_view record) = 0;
  virtual void Made(TopicIndex topic, std::string_view record) = 0;
};

struct TaskOptions {
  std::vector<TopicSpec> topics;  // the manifest
  // By topic: true if a message holds consecutive records (AppendRecord()); false if it is one record.
  std::vector<bool> packed;
  TopicIndex journal = 0;     // one partition per slot
  TopicIndex checkpoint = 0;  // one partition per slot, compacted
  std::function<double(TopicIndex topic, std::string_view record)> peek_time;
  // By topic: lockstep, and external producers append to the topic. Such inputs of a stage are merged
  // strictly by peek_time: a record is consumed only when each of these inputs that the stage is ready for
  // has one. Empty: none.
  std::vector<bool> lockstep_topics;
  // Records of one input consumed before another input's turn; keeps journals short.
  std::uint64_t run_records = 500;
  std::uint64_t round_records = 10000;
  std::uint64_t round_bytes = 1u << 20;      // of outputs
  std::uint64_t message_bytes = 256u << 10;  // of a packed message, about
  Millis flush_interval{5000};
  std::uint64_t flush_debt_records = 100000;  // of this slot
  // The same limit in bytes of records, because objects that a record changed cannot be evicted before they
  // are written.
  std::uint64_t flush_debt_bytes = 256u << 20;
  Millis checkpoint_interval{30000};
  std::uint64_t checkpoint_bytes = 512u << 10;  // of the checkpoint, per transaction
  // Approximate limit of clean objects in memory. At open, half as much is used for rows of waiting tables.
  std::uint64_t object_bytes = 256u << 20;
  Millis tombstones_live{86400000};  // on the checkpoint topic, at least
  std::uint32_t rules_version = 1;
  RecordWatch* watch = nullptr;    // null: no observer
  CommitWatch* commits = nullptr;  // null: no observer; shared by all slots of a worker
  std::string owner{};             // transactional.id of the worker
  std::string build{};  // of this program, one word; another build retries records that crashed this one
};

// Data shared by the objects of a task: the slot, and the objects that the worker provides.
struct TaskContext {
  const std::uint32_t slot;
  const TaskOptions& options;
  StateSpace& space;
  Background& background;
  Reader& reader;
  const std::function<void(const std::string&)> report;

  [[nodiscard]] std::string Name() const { return "slot " + std::to_string(slot); }
  [[nodiscard]] TopicPartition Journal() const { return {options.journal, slot}; }
  [[nodiscard]] TopicPartition Checkpoint() const { return {options.checkpoint, slot}; }
};

// Messages fetched from the reader at a time.
inline constexpr std::size_t kFetch = 1000;

}  // namespace cobblestone::stream::kafka
