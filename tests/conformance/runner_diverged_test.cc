// The canary: a stage that is not deterministic must be detected when its commits are re-executed. The open must then
// stop, say where, and change nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "common/store/rocksdb/rocksdb_store.h"
#include "tests/conformance/runner_world.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TempDir;

const std::vector<std::string> kTexts = {"a", "b", "c", "canary", "d", "e"};  // commit 4 is the canary's

std::string TheTime(std::string_view text) {
  if (text != "canary") return {};
  return std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::string Dice(std::string_view text) {
  if (text != "canary") return {};
  std::random_device device;
  return std::to_string(device()) + std::to_string(device());
}

// The contents of a slot's state and of the log, and the names of all directories. Database files are not compared:
// RocksDB rewrites its file list at each open, and the log counts its owners.
struct Contents {
  std::map<std::string, std::string> rows;        // of the state, by slot and key; "meta" too
  std::vector<std::vector<std::string>> records;  // of every partition
  std::vector<std::string> directories;
  std::map<std::string, std::string> tables;  // bytes of the state's table files, by path

  friend bool operator==(const Contents&, const Contents&) = default;
};

Contents ContentsOf(const std::string& directory) {
  Contents contents;
  for (std::uint32_t k = 0; k < kEchoSlots; ++k) {
    const std::string slot = std::to_string(k) + "/";
    auto store = store::OpenRocksdbStore({.path = directory + "/state/slot-" + std::to_string(k),
                                          .memory = std::make_shared<store::StoreMemory>(1 << 20),
                                          .create = false,
                                          .read_only = true});
    EXPECT_TRUE(store.ok()) << store.status().message();
    if (!store.ok()) continue;
    auto meta = (*store)->Meta();
    contents.rows[slot + "meta"] = meta.ok() ? *meta : meta.status().message();
    EXPECT_TRUE((*store)
                    ->Scan({},
                           [&](std::string_view key, std::string_view value) {
                             contents.rows[slot + std::string(key)] = value;
                             return Status::Ok();
                           })
                    .ok());
  }
  LogOptions options = EchoLogOptions(directory);
  options.read_only = true;
  auto log = Log::Open(options);
  EXPECT_TRUE(log.ok()) << log.status().message();
  for (TopicIndex topic = 0; topic < EchoTopics().size(); ++topic)
    for (std::uint32_t p = 0; p < kEchoSlots; ++p) contents.records.push_back(AllRecords(**log, {topic, p}));
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_directory()) contents.directories.push_back(entry.path());
    if (entry.path().extension() == ".sst" && entry.path().string().find("/state/") != std::string::npos) {
      std::ifstream in(entry.path(), std::ios::binary);
      contents.tables[entry.path()] = {std::istreambuf_iterator<char>(in), {}};
    }
  }
  std::sort(contents.directories.begin(), contents.directories.end());
  return contents;
}

// A clean stop first, so that there is a state; then a run that ends without one.
void LeaveCommitsBehindTheState(const std::string& directory, const EchoSalts& salts) {
  {
    EchoWorld world(directory, salts);
    ASSERT_TRUE(world.status.ok()) << world.status.message();
    world.runner->Start();
    world.Send(0, {"before"});
    world.Send(1, {"before"});
    ASSERT_TRUE(world.runner->Stop().ok());
  }
  EchoWorld world(directory, salts);
  ASSERT_TRUE(world.status.ok()) << world.status.message();
  world.runner->Start();
  world.Send(1, kTexts);
}

struct Canary {
  const char* name;
  EchoSalts salts;
};

class RunnerDiverged : public ::testing::TestWithParam<Canary> {};

TEST_P(RunnerDiverged, ANonDeterministicStageStopsTheOpenAndChangesNothing) {
  const TempDir dir;
  LeaveCommitsBehindTheState(dir.path(), GetParam().salts);
  const Contents before = ContentsOf(dir.path());
  ASSERT_EQ(before.records[kEchoes * kEchoSlots + 1].size(), 1 + kTexts.size());
  for (int attempt = 0; attempt < 2;
       ++attempt) {  // a service manager that restarts the service must not succeed
    EchoWorld again(dir.path(), GetParam().salts);
    EXPECT_EQ(again.status.code(), StatusCode::kFatal) << again.status.message();
    EXPECT_THAT(again.status.message(), HasSubstr("slot 1 diverged"));
    EXPECT_THAT(again.status.message(), HasSubstr("re-executing commit 5"));  // "before" was commit 1
    EXPECT_THAT(again.status.message(), HasSubstr("Nothing was changed"));
    EXPECT_THAT(again.reports, IsEmpty()) << "no state is moved aside";
    again.log.reset();
    EXPECT_EQ(ContentsOf(dir.path()), before) << "attempt " << attempt;
  }
}

INSTANTIATE_TEST_SUITE_P(Canaries, RunnerDiverged,
                         ::testing::Values(Canary{"ClockInAnOutput", {.output = TheTime, .state = {}}},
                                           Canary{"ClockInTheState", {.output = {}, .state = TheTime}},
                                           Canary{"DiceInAnOutput", {.output = Dice, .state = {}}},
                                           Canary{"DiceInTheState", {.output = {}, .state = Dice}}),
                         [](const auto& canary) { return canary.param.name; });

// Control: the same story with a deterministic stage.
TEST(RunnerReexecution, ADeterministicStageContinues) {
  const TempDir dir;
  const EchoSalts salts{.output = [](std::string_view text) { return "-" + std::string(text); }, .state = {}};
  LeaveCommitsBehindTheState(dir.path(), salts);
  EchoWorld again(dir.path(), salts);
  ASSERT_TRUE(again.status.ok()) << again.status.message();
  EXPECT_EQ(again.runner->status()[1].reexecuted, kTexts.size());
  EXPECT_EQ(again.runner->status()[0].reexecuted, 0u);
  again.runner->Start();
  again.Send(1, {"canary"});
  EXPECT_EQ(AllRecords(*again.log, {kEchoes, 1}).back(), "canary#2-canary");
}

}  // namespace
}  // namespace cobblestone::stream::embedded
