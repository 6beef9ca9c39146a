// A stage whose second input is ready only after enough records of the first one. Its records wait in the log, also
// over restarts, and a wait for an idle pipeline always returns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/runner_world.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using ::testing::ElementsAre;
using testing::TempDir;

constexpr TopicIndex kKeys = 0;
constexpr TopicIndex kDoors = 1;
constexpr TopicIndex kProcessed = 2;
constexpr TopicIndex kGateJournal = 3;

std::vector<TopicSpec> GateTopics() {
  return {{.name = "keys"},
          {.name = "doors"},
          {.name = "processed", .retention = Retention::kForever},
          {.name = "journal"}};
}

struct GateRow {
  std::uint64_t keys = 0;
  std::uint64_t needed = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.keys, s.needed);
  }
};

// Counts keys. A door "3" means that later doors need three keys. Each record is emitted when it is processed.
class GateStage final : public Stage {
 public:
  explicit GateStage(TableHost& host) : rows_(host, {.id = 1}, true) {}

  [[nodiscard]] bool Ready(std::size_t input) const override {
    bool ready = true;
    rows_.ForEach([&](const Key&, const GateRow& row) { ready = row.needed <= row.keys; });
    return input == 0 || ready;
  }
  void Process(std::size_t input, const RecordView& record, Emitter& out) override {
    GateRow& row = rows_.Mutable({});
    if (input == 0) {
      ++row.keys;
    } else if (record.value != "in") {
      row.needed = std::stoull(std::string(record.value));
    }
    out.Emit(kProcessed, 0, std::string(input == 0 ? "key " : "door ") + std::string(record.value));
  }
  std::vector<TableBase*> tables() override { return {&rows_}; }

 private:
  Table<GateRow> rows_;
};

struct GateWorld {
  std::unique_ptr<Log> log;
  std::unique_ptr<Runner> runner;

  explicit GateWorld(const std::string& directory) {
    LogOptions log_options = StoryOptions(directory + "/log");
    log_options.topics = GateTopics();
    auto opened = Log::Open(log_options);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    log = *std::move(opened);
    RunnerOptions options = EchoOptions(directory);
    options.topics = GateTopics();
    options.journal = kGateJournal;
    options.commit_records = 100;
    // By event time doors come first.
    options.peek_time = [](TopicIndex topic, std::string_view) { return topic == kKeys ? 1.0 : 0.0; };
    auto running = Runner::Open(
        options, *log, 1,
        [](std::uint32_t k) {
          SlotParts parts{.tables = std::make_unique<TableHost>(), .slot = nullptr};
          parts.slot = std::make_unique<Slot>(SlotOptions{.id = k, .topics = GateTopics()}, *parts.tables);
          parts.slot->AddStage(std::make_unique<GateStage>(*parts.tables), {{kKeys, 0}, {kDoors, 0}});
          return parts;
        },
        [](const std::string&) {});
    EXPECT_TRUE(running.ok()) << running.status().message();
    runner = *std::move(running);
    runner->Start();
  }

  void Send(const std::vector<std::string>& keys, const std::vector<std::string>& doors) {
    LogUnit unit;
    if (!keys.empty()) unit.outputs.push_back(Output({kKeys, 0}, keys));
    if (!doors.empty()) unit.outputs.push_back(Output({kDoors, 0}, doors));
    log->Append(std::move(unit));
  }
  std::vector<std::string> Processed() { return AllRecords(*log, {kProcessed, 0}); }
  // Waits until so many records were processed and are durable.
  void WaitFor(std::size_t records) {
    while (log->DurableEnd({kProcessed, 0}) < records)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

TEST(RunnerReady, ReadyInputsAreProcessedFirst) {
  TempDir temp;
  GateWorld world(temp.path());
  world.Send({"a", "b"}, {"1", "in", "2", "in"});
  world.runner->WaitIdle();
  EXPECT_THAT(world.Processed(), ElementsAre("door 1", "key a", "door in", "door 2", "key b", "door in"));
}

TEST(RunnerReady, WaitingRecordsAreProcessedOnceReadyAndKeepThePipelineBusy) {
  TempDir temp;
  GateWorld world(temp.path());
  world.Send({}, {"1", "in"});
  world.WaitFor(1);
  EXPECT_THAT(world.Processed(), ElementsAre("door 1"));
  EXPECT_FALSE(world.runner->idle());
  world.Send({"a"}, {});
  world.runner->WaitIdle();
  EXPECT_THAT(world.Processed(), ElementsAre("door 1", "key a", "door in"));
}

TEST(RunnerReady, WaitingContinuesAfterARestart) {
  TempDir temp;
  {
    GateWorld world(temp.path());
    world.Send({}, {"2", "in"});
    world.WaitFor(1);
  }  // as after a kill
  for (const char* key : {"a", "b"}) {
    GateWorld world(temp.path());
    world.WaitFor(1);
    EXPECT_EQ(world.Processed().back(), key[0] == 'a' ? "door 2" : "key a");
    world.Send({key}, {});
    if (key[0] == 'a') {
      world.WaitFor(2);
      ASSERT_TRUE(world.runner->Stop().ok());
    } else {
      world.runner->WaitIdle();
      EXPECT_THAT(world.Processed(), ElementsAre("door 2", "key a", "key b", "door in"));
    }
  }
}

}  // namespace
}  // namespace cobblestone::stream::embedded
