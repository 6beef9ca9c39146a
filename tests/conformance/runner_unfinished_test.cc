// A stage whose work on one record exceeds one commit: the slot makes commits without records until the work is done,
// consumes nothing meanwhile, and after a crash continues at the end of the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/stream/runtime/journal.h"
#include "tests/conformance/runner_world.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using ::testing::ElementsAre;
using testing::TempDir;

constexpr TopicIndex kOrders = 0;
constexpr TopicIndex kDone = 1;
constexpr TopicIndex kWorkJournal = 2;

std::vector<TopicSpec> WorkTopics() {
  return {{.name = "orders"},
          {.name = "done", .retention = Retention::kForever},
          {.name = "journal", .retention = Retention::kForever}};
}

struct WorkRow {
  std::uint64_t left = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.left);
  }
};

// An order "3" asks for three parts; each commit makes one part.
class WorkStage final : public Stage {
 public:
  // `broken_at`: the commit of this part fails.
  WorkStage(TableHost& host, std::uint64_t broken_at) : rows_(host, {.id = 1}, true), broken_at_(broken_at) {}

  void Process(std::size_t, const RecordView& record, Emitter& out) override {
    rows_.Mutable({}).left += std::stoull(std::string(record.value));
    out.Emit(kDone, 0, "order " + std::string(record.value));
  }
  void Finish(Emitter& out) override {
    if (!Unfinished()) return;
    std::uint64_t& left = rows_.Mutable({}).left;
    if (left == broken_at_) return out.Fail(Status::Fatal("broken"));
    out.Emit(kDone, 0, "part " + std::to_string(left--));
  }
  [[nodiscard]] bool Unfinished() const override {
    std::uint64_t left = 0;
    rows_.ForEach([&](const Key&, const WorkRow& row) { left = row.left; });
    return left > 0;
  }
  std::vector<TableBase*> tables() override { return {&rows_}; }

 private:
  Table<WorkRow> rows_;
  const std::uint64_t broken_at_;
};

struct WorkWorld {
  std::unique_ptr<Log> log;
  std::unique_ptr<Runner> runner;

  explicit WorkWorld(const std::string& directory, std::uint64_t broken_at = 0) {
    LogOptions log_options = StoryOptions(directory + "/log");
    log_options.topics = WorkTopics();
    auto opened = Log::Open(log_options);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    log = *std::move(opened);
    RunnerOptions options = EchoOptions(directory);
    options.topics = WorkTopics();
    options.journal = kWorkJournal;
    options.commit_records = 100;
    auto running = Runner::Open(
        options, *log, 1,
        [&](std::uint32_t k) {
          SlotParts parts{.tables = std::make_unique<TableHost>(), .slot = nullptr};
          parts.slot = std::make_unique<Slot>(SlotOptions{.id = k, .topics = WorkTopics()}, *parts.tables);
          parts.slot->AddStage(std::make_unique<WorkStage>(*parts.tables, broken_at), {{kOrders, 0}});
          return parts;
        },
        [](const std::string&) {});
    EXPECT_TRUE(running.ok()) << running.status().message();
    runner = *std::move(running);
    runner->Start();
  }

  void Order(const std::vector<std::string>& orders) {
    log->Append({.outputs = {Output({kOrders, 0}, orders)}});
  }
  std::vector<std::string> Done() { return AllRecords(*log, {kDone, 0}); }
  // The number of records in each commit.
  std::vector<std::size_t> Records() {
    std::vector<std::size_t> all;
    for (const std::string& bytes : AllRecords(*log, {kWorkJournal, 0})) {
      const auto entry = DecodeJournalEntry(bytes);
      EXPECT_TRUE(entry.ok()) << entry.status().message();
      all.push_back(0);
      for (const JournalChunk& chunk : entry->chunks) all.back() += chunk.count;
    }
    return all;
  }
};

TEST(RunnerUnfinished, NothingIsConsumedAndThePipelineIsBusyUntilTheWorkIsDone) {
  TempDir temp;
  WorkWorld world(temp.path());
  world.Order({"3", "0", "1"});
  world.runner->WaitIdle();
  EXPECT_THAT(world.Done(),
              ElementsAre("order 3", "part 3", "part 2", "part 1", "order 0", "order 1", "part 1"));
  EXPECT_THAT(world.Records(), ElementsAre(1, 0, 0, 2));
}

TEST(RunnerUnfinished, ContinuesAtTheEndOfTheLogAfterACrash) {
  TempDir temp;
  {
    WorkWorld world(temp.path(), 2);
    world.Order({"4", "1"});
    world.runner->WaitIdle();
    EXPECT_EQ(world.runner->failure().message(), "broken");
    EXPECT_THAT(world.Done(), ElementsAre("order 4", "part 4", "part 3"));
  }
  WorkWorld world(temp.path());
  EXPECT_EQ(world.runner->status()[0].reexecuted, 2u);
  world.runner->WaitIdle();
  EXPECT_THAT(world.Done(),
              ElementsAre("order 4", "part 4", "part 3", "part 2", "part 1", "order 1", "part 1"));
  EXPECT_THAT(world.Records(), ElementsAre(1, 0, 0, 0, 1));
}

}  // namespace
}  // namespace cobblestone::stream::embedded
