// A slot with one stage, and messages that arrive when a test sends them: for tests of the parts of a task. The
// stage has the inputs `control`, `left` and `right`. SeenRecords has the processed records and the inputs that
// the stage is not ready for.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/stream/kafka/task/local_state.h"
#include "common/stream/kafka/task/task_inputs.h"
#include "common/stream/kafka/task/task_options.h"

namespace cobblestone::stream::kafka {

inline constexpr TopicIndex kControl = 0;
inline constexpr TopicIndex kLeft = 1;
inline constexpr TopicIndex kRight = 2;
inline constexpr TopicIndex kTaskJournal = 3;
inline constexpr TopicIndex kTaskCheckpoint = 4;

inline Message MakeMessage(std::uint64_t offset, std::string value) {
  auto* owned = new std::string(std::move(value));
  return {offset, 0, {}, *owned, false, owned, [](void* bytes) { delete static_cast<std::string*>(bytes); }};
}

class FakeReader final : public Reader {
 public:
  void Arrive(TopicPartition where, const std::string& value) {
    Partition& partition = partitions_[where];
    partition.arrived.push_back(MakeMessage(partition.end++, value));
  }
  [[nodiscard]] int polled(TopicPartition where) { return partitions_[where].polled; }

  Status Start(TopicPartition, std::uint64_t) override { return Status::Ok(); }
  void Stop(TopicPartition) override {}
  Status Poll(TopicPartition where, std::size_t most, std::deque<Message>* out) override {
    auto& arrived = partitions_[where].arrived;
    for (; most > 0 && !arrived.empty(); --most) {
      out->push_back(std::move(arrived.front()));
      arrived.pop_front();
      ++partitions_[where].polled;
    }
    return Status::Ok();
  }
  [[nodiscard]] std::optional<std::uint64_t> AtEnd(TopicPartition) const override { return std::nullopt; }
  [[nodiscard]] std::uint64_t KnownEnd(TopicPartition) const override { return 0; }
  void Wait(Millis) override {}
  void Interrupt() override {}

 private:
  struct Partition {
    std::deque<Message> arrived;
    std::uint64_t end = 0;
    int polled = 0;
  };
  std::map<TopicPartition, Partition> partitions_;
};

// No tested part opens a store: the state is in memory.
class NoStateSpace final : public StateSpace {
 public:
  Result<std::unique_ptr<store::Store>> Open(std::uint32_t) override { return Status::Fatal("no disk"); }
  Status Remove(std::uint32_t) override { return Status::Ok(); }
  Result<std::unique_ptr<store::Store>> OpenCopy(std::uint32_t, store::Store&) override {
    return Status::Fatal("no disk");
  }
  void RemoveCopy(std::uint32_t) override {}
  Trace* TraceOf(std::uint32_t) override { return nullptr; }
  std::vector<std::uint32_t> Slots() override { return {}; }
};

class NoBackground final : public Background {
 public:
  void Run(std::function<void()> job) override { job(); }
  void Drain() override {}
};

struct SeenRecords {
  std::vector<std::string> records;
  std::set<std::size_t> closed;  // inputs that the stage is not ready for
};

class RecordingStage final : public Stage {
 public:
  explicit RecordingStage(SeenRecords& seen) : seen_(seen) {}
  [[nodiscard]] bool Ready(std::size_t input) const override { return !seen_.closed.contains(input); }
  void Process(std::size_t, const RecordView& record, Emitter&) override {
    seen_.records.emplace_back(record.value);
  }
  std::vector<TableBase*> tables() override { return {}; }

 private:
  SeenRecords& seen_;
};

// The value of a record is its event time. Slots write `control` (packed); external producers write `left` and
// `right`.
inline TaskOptions WorldOptions(bool lockstep) {
  TaskOptions options;
  options.topics = {
      {.name = "control"}, {.name = "left"}, {.name = "right"}, {.name = "journal"}, {.name = "checkpoint"}};
  options.packed = {true, false, false, true, false};
  options.journal = kTaskJournal;
  options.checkpoint = kTaskCheckpoint;
  options.peek_time = [](TopicIndex, std::string_view record) { return std::stod(std::string(record)); };
  options.lockstep_topics = {false, lockstep, lockstep, false, false};
  return options;
}

struct TaskWorld {
  TaskOptions options;
  FakeReader reader;
  NoStateSpace space;
  NoBackground background;
  SeenRecords seen;
  std::vector<std::string> reports;
  TaskContext context;
  SlotFactory factory;
  LocalState state;
  TaskInputs inputs;

  // Control is read by `control_readers` stages, the first of which also reads left and right.
  explicit TaskWorld(TaskOptions task_options, int control_readers = 1)
      : options(std::move(task_options)),
        context{.slot = 0,
                .options = options,
                .space = space,
                .background = background,
                .reader = reader,
                .report = [this](const std::string& what) { reports.push_back(what); }},
        factory([this, control_readers](std::uint32_t k) {
          SlotParts parts{.tables = std::make_unique<TableHost>(), .slot = nullptr};
          parts.slot = std::make_unique<Slot>(
              SlotOptions{.id = k, .topics = options.topics, .dense_offsets = false}, *parts.tables);
          parts.slot->AddStage(std::make_unique<RecordingStage>(seen),
                               {{kControl, 0}, {kLeft, 0}, {kRight, 0}});
          for (int more = 1; more < control_readers; ++more)
            parts.slot->AddStage(std::make_unique<RecordingStage>(seen), {{kControl, 0}});
          return parts;
        }),
        state(context, factory),
        inputs(context, state) {
    COBBLESTONE_CHECK(state.OpenSlot().ok(), "the slot does not open");
    inputs.Rebuild();
  }

  void Arrive(TopicIndex topic, const std::string& record) {
    std::string value = record;
    if (options.packed[topic]) {
      value.clear();
      AppendRecord(value, record);
    }
    reader.Arrive({topic, 0}, value);
  }
};

}  // namespace cobblestone::stream::kafka
