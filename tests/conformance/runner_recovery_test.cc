// The work of an open after an unclean stop: bounded by the options, however large the log is.
// (tests/bench/recovery_bench.cc measures its duration.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/conformance/log_process.h"
#include "tests/conformance/runner_world.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using testing::TempDir;

// Bytes that this process has read from files of any kind.
std::uint64_t BytesRead() {
  std::ifstream in("/proc/self/io");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("rchar: ")) return std::strtoull(line.c_str() + std::strlen("rchar: "), nullptr, 10);
  return 0;
}

// Stages that are far faster than state writes: each state write is synced, a commit need not wait for its own sync.
TEST(RunnerRecovery, ReexecutionIsBoundedByTheDebt) {
  for (const int records : {300, 2400}) {
    const TempDir dir;
    RunnerOptions options = EchoOptions(dir.path());
    options.flush_debt_records = 40;
    options.commit_records = 5;
    {
      EchoWorld world(EchoLogOptions(dir.path()), options);
      ASSERT_TRUE(world.status.ok()) << world.status.message();
      std::vector<std::string> texts;
      for (int i = 0; i < records; ++i) texts.push_back(std::to_string(i));
      world.log->Append({.outputs = {Output({kEchoNotes, 0}, texts), Output({kEchoNotes, 1}, texts)}});
      world.runner->Start();
      world.runner->WaitIdle();
      ASSERT_TRUE(world.runner->failure().ok()) << world.runner->failure().message();
    }
    EchoWorld again(EchoLogOptions(dir.path()), options);
    ASSERT_TRUE(again.status.ok()) << again.status.message();
    for (const SlotStatus& slot : again.runner->status()) {
      EXPECT_EQ(slot.lag, 0u);
      // Half of the debt for each of two slots, four times; and the commit that exceeded the limit, twice.
      EXPECT_LE(slot.reexecuted_records, 4u * 20 + 2u * 5) << "of " << records;
    }
    EXPECT_EQ(AllRecords(*again.log, {kEchoes, 1}).size(), static_cast<std::size_t>(records));
  }
}

// Readers of the state on disk see the last commits before a kill within the flush interval, even if nothing follows.
TEST(RunnerRecovery, TheStateOfReexecutedCommitsIsWrittenWithoutNewOnes) {
  const TempDir dir;
  RunnerOptions options = EchoOptions(dir.path());
  options.flush_interval = std::chrono::hours(1);
  {
    EchoWorld world(EchoLogOptions(dir.path()), options);
    ASSERT_TRUE(world.status.ok()) << world.status.message();
    world.runner->Start();
    world.Send(0, {"a", "b", "c"});
    world.runner->WaitIdle();
  }
  options.flush_interval = std::chrono::milliseconds(10);
  EchoWorld again(EchoLogOptions(dir.path()), options);
  ASSERT_TRUE(again.status.ok()) << again.status.message();
  const SlotStatus opened = again.runner->status()[0];
  ASSERT_EQ(opened.reexecuted_records, 3u);
  ASSERT_EQ(opened.flushed_sequence, 0u);
  again.runner->Start();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (again.runner->status()[0].flushed_sequence == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(again.runner->status()[0].flushed_sequence, opened.sequence);
}

TEST(RunnerRecovery, LookWaitsForNoSlotAndIsExactAtRest) {
  const TempDir dir;
  EchoWorld world(dir.path());
  ASSERT_TRUE(world.status.ok()) << world.status.message();
  world.runner->Start();
  world.Send(0, {"a", "b", "c"});
  world.runner->WaitIdle();
  const std::vector<SlotStatus> exact = world.runner->status();
  std::vector<SlotStatus> look;
  world.runner->Query(0, [&](Slot&) {
    world.runner->Query(1, [&](Slot&) { look = world.runner->Look(); });  // both slots are held
  });
  ASSERT_EQ(look.size(), exact.size());
  for (std::size_t k = 0; k < look.size(); ++k) {
    EXPECT_EQ(look[k].slot, exact[k].slot);
    EXPECT_EQ(look[k].sequence, exact[k].sequence);
    EXPECT_EQ(look[k].records, exact[k].records);
    EXPECT_EQ(look[k].lag, 0u);
    ASSERT_EQ(look[k].inputs.size(), 1u);
    EXPECT_EQ(look[k].inputs[0].next, exact[k].inputs[0].next);
  }
  EXPECT_EQ(look[0].records, 3u);
}

// A row that is read alone costs several times as much as a row that is read among its neighbours.
TEST(RunnerRecovery, RowsOfManyRecordsAreReadTogether) {
  std::vector<std::string> texts;
  for (int i = 0; i < 50; ++i) texts.push_back(std::to_string(i));
  for (const std::uint64_t warm_records : {50, 51}) {
    const TempDir dir;
    for (const bool stopped : {true, false}) {
      EchoWorld world(dir.path());
      ASSERT_TRUE(world.status.ok()) << world.status.message();
      world.runner->Start();
      world.Send(0, texts);
      if (stopped) {
        ASSERT_TRUE(world.runner->Stop().ok());
      }
    }
    RunnerOptions options = EchoOptions(dir.path());
    options.warm_records = warm_records;
    EchoWorld again(EchoLogOptions(dir.path()), options);
    ASSERT_TRUE(again.status.ok()) << again.status.message();
    const SlotStatus slot = again.runner->status()[0];
    EXPECT_EQ(slot.reexecuted_records, 50u);
    EXPECT_EQ(slot.cached_objects, 50u);
    EXPECT_EQ(slot.store_reads, warm_records == 50 ? 0u : 50u);
  }
}

// A few records may hold many bytes, none of which can be evicted before they are written.
TEST(RunnerRecovery, AStateWriteIsDueByBytesEvenWithFewRecords) {
  for (const std::uint64_t bytes : {20000, 1000000}) {
    const TempDir dir;
    RunnerOptions options = EchoOptions(dir.path());
    options.flush_debt_bytes = bytes;
    EchoWorld world(EchoLogOptions(dir.path()), options);
    ASSERT_TRUE(world.status.ok()) << world.status.message();
    world.runner->Start();
    for (int i = 0; i < 40; ++i) world.Send(0, {std::string(5000, 'x') + std::to_string(i)});
    for (int wait = 0; wait < 500 && world.runner->status()[0].state_writes == 0 && bytes < 200000; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(world.runner->status()[0].state_writes > 0, bytes < 200000) << bytes;
  }
}

// However large the log is, its re-execution needs no more memory than its execution.
TEST(RunnerRecovery, ARebuildFromTheWholeLogWritesAndEvictsStateOnTheWay) {
  const TempDir dir;
  RunnerOptions options = EchoOptions(dir.path());
  options.commit_records = 50;
  std::vector<std::string> texts;
  for (int i = 0; i < 2000; ++i) texts.push_back(std::to_string(i));
  Hash128 hash;
  {
    EchoWorld world(EchoLogOptions(dir.path()), options);
    ASSERT_TRUE(world.status.ok()) << world.status.message();
    world.log->Append({.outputs = {Output({kEchoNotes, 0}, texts)}});
    world.runner->Start();
    world.runner->WaitIdle();
    hash = world.runner->status()[0].hash;
    ASSERT_TRUE(world.runner->Stop().ok());
  }
  options.flush_debt_records = 200 * kEchoSlots;
  options.object_bytes = 10000;
  for (const bool gone : {true, false}) {
    if (gone) std::filesystem::remove_all(dir / "state/slot-0");
    EchoWorld again(EchoLogOptions(dir.path()), options);
    ASSERT_TRUE(again.status.ok()) << again.status.message();
    const SlotStatus slot = again.runner->status()[0];
    EXPECT_EQ(slot.hash, hash);
    EXPECT_EQ(slot.reexecuted_records, gone ? 2000u : 0u) << "continues at the last state write";
    EXPECT_EQ(slot.state_writes, gone ? 10u : 0u);
    EXPECT_LE(slot.cached_bytes, 2 * options.object_bytes);
  }
}

// The stages with one partition may need more than their share (IDENTITY of a hub).
TEST(RunnerRecovery, TheLastSlotHasItsOwnLimitOfObjects) {
  const TempDir dir;
  RunnerOptions options = EchoOptions(dir.path());
  options.commit_records = 50;
  options.object_bytes = 10000;
  options.last_object_bytes = 10000000;
  std::vector<std::string> texts;
  for (int i = 0; i < 2000; ++i) texts.push_back(std::to_string(i));
  {
    EchoWorld world(EchoLogOptions(dir.path()), options);
    ASSERT_TRUE(world.status.ok()) << world.status.message();
    for (const std::uint32_t slot : {0u, 1u})
      world.log->Append({.outputs = {Output({kEchoNotes, slot}, texts)}});
    world.runner->Start();
    world.runner->WaitIdle();
    ASSERT_TRUE(world.runner->Stop().ok());
  }
  std::filesystem::remove_all(dir / "state");
  options.flush_debt_records = 200 * kEchoSlots;
  EchoWorld again(EchoLogOptions(dir.path()), options);
  ASSERT_TRUE(again.status.ok()) << again.status.message();
  EXPECT_LE(again.runner->status()[0].cached_bytes, 2 * options.object_bytes);
  EXPECT_EQ(again.runner->status()[1].cached_objects, 2000u);
}

// Damages the middle of slot 0's largest table file.
void DamageStateOf(const TempDir& dir) {
  std::filesystem::path largest;
  for (const auto& file : std::filesystem::directory_iterator(dir / "state/slot-0"))
    if (file.path().extension() == ".sst" && (largest.empty() || file.file_size() > file_size(largest)))
      largest = file.path();
  ASSERT_FALSE(largest.empty());
  {
    std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(file_size(largest) / 2));
    file.write("damaged!", 8);
  }
}

TEST(RunnerRecovery, DamageFoundWhileReadingRowsTogetherIsRepairedFromTheLog) {
  const TempDir dir;
  RunnerOptions options = EchoOptions(dir.path());
  options.commit_records = 500;
  options.warm_records = 10;
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) texts.push_back(std::to_string(i));
  for (const bool stopped : {true, false}) {
    EchoWorld world(EchoLogOptions(dir.path()), options);
    ASSERT_TRUE(world.status.ok()) << world.status.message();
    world.log->Append({.outputs = {Output({kEchoNotes, 0}, texts)}});
    world.runner->Start();
    world.runner->WaitIdle();
    if (stopped) {
      ASSERT_TRUE(world.runner->Stop().ok());
    }
  }
  DamageStateOf(dir);
  EchoWorld again(EchoLogOptions(dir.path()), options);
  ASSERT_TRUE(again.status.ok()) << again.status.message();
  EXPECT_THAT(again.reports, ::testing::Contains(::testing::HasSubstr("slot 0 is moved aside")));
  EXPECT_EQ(again.runner->status()[0].reexecuted_records, 10000u);
  again.runner->Start();
  again.Send(0, {"4999"});
  EXPECT_EQ(AllRecords(*again.log, {kEchoes, 0}).back(), "4999#3");
}

// A checkpoint with damaged files would allow trimming the log's inputs, which alone could rebuild the state.
TEST(RunnerRecovery, ACheckpointCountsOnlyAfterVerificationUnlessDisabled) {
  for (const bool verify : {true, false}) {
    const TempDir dir;
    RunnerOptions options = EchoOptions(dir.path());
    options.verify_checkpoints = verify;
    std::vector<std::string> texts;
    for (int i = 0; i < 5000; ++i) texts.push_back(std::to_string(i));
    {
      EchoWorld world(EchoLogOptions(dir.path()), options);
      ASSERT_TRUE(world.status.ok()) << world.status.message();
      world.runner->Start();
      world.Send(0, texts);
      ASSERT_TRUE(world.runner->Stop().ok());
    }
    DamageStateOf(dir);
    options.checkpoint_interval = std::chrono::milliseconds(0);
    EchoWorld again(EchoLogOptions(dir.path()), options);
    ASSERT_TRUE(again.status.ok()) << again.status.message();
    again.runner->Start();
    again.Send(0, {"new"});
    const Status stopped = again.runner->Stop();
    EXPECT_EQ(again.runner->status()[0].checkpoints, verify ? 0u : 1u);
    if (verify) {
      EXPECT_EQ(stopped.code(), StatusCode::kCorrupted);
      EXPECT_THAT(stopped.message(), ::testing::HasSubstr("failed verification"));
    } else {
      EXPECT_TRUE(stopped.ok()) << stopped.message();
    }
  }
}

// Damages the middle of a table file of slot 0 that the oldest checkpoint has, or of one that it lacks.
void DamageFileOf(const TempDir& dir, bool in_oldest) {
  std::filesystem::path oldest;
  for (const auto& copy : std::filesystem::directory_iterator(dir / "checkpoints/slot-0"))
    if (oldest.empty() || std::stoull(copy.path().filename()) < std::stoull(oldest.filename()))
      oldest = copy.path();
  for (const auto& file : std::filesystem::directory_iterator(dir / "state/slot-0")) {
    if (file.path().extension() != ".sst") continue;
    if (std::filesystem::exists(oldest / file.path().filename()) != in_oldest) continue;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(file.file_size() / 2));
    bytes.write("damaged!", 8);
    return;
  }
  FAIL() << "no such file";
}

// The files of a state that are also in the oldest checkpoint are in all checkpoints: reading them back again would take
// time with each checkpoint and save none. All others are read, as long as a checkpoint without them exists.
TEST(RunnerRecovery, ACheckpointIsRefusedWhileAnOlderOneIsWithoutTheDamage) {
  for (const bool in_oldest : {false, true}) {
    const TempDir dir;
    RunnerOptions options = EchoOptions(dir.path());
    options.commit_records = 500;
    options.checkpoint_interval = std::chrono::milliseconds(0);
    std::vector<std::string> texts;
    for (int i = 0; i < 5000; ++i) texts.push_back(std::to_string(i));
    const auto run = [&](const std::vector<std::string>& records) {
      EchoWorld world(EchoLogOptions(dir.path()), options);
      EXPECT_TRUE(world.status.ok()) << world.status.message();
      world.runner->Start();
      world.Send(0, records);
      const Status stopped = world.runner->Stop();
      EXPECT_EQ(world.runner->status()[0].checkpoints, stopped.ok() ? 1u : 0u);
      return std::pair(stopped, world.reports);
    };
    ASSERT_TRUE(run(texts).first.ok());
    ASSERT_TRUE(run(texts).first.ok());  // two checkpoints, the second with a second file
    DamageFileOf(dir, in_oldest);
    const Status third = run({"new"}).first;
    if (in_oldest) {
      EXPECT_TRUE(third.ok()) << third.message();
      continue;
    }
    EXPECT_EQ(third.code(), StatusCode::kCorrupted);
    EXPECT_THAT(third.message(), ::testing::HasSubstr("failed verification"));
    const auto [stopped, reports] = run({"4999"});
    EXPECT_TRUE(stopped.ok()) << stopped.message();
    EXPECT_THAT(reports, ::testing::Contains(::testing::HasSubstr("was restored from checkpoint")));
    EchoWorld last(EchoLogOptions(dir.path()), options);
    EXPECT_EQ(AllRecords(*last.log, {kEchoes, 0}).back(), "4999#3");
  }
}

// The write-ahead log is bounded by the write buffer, and no other part of the log is read.
// Waits until the flushes of a busy machine have caught up: an open reads again what was not flushed. False: not in
// time.
bool AwaitFlushes(const std::string& directory) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    std::uint64_t unflushed = 0;
    std::error_code error;  // a file may be removed meanwhile
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory))
      if (file.path().extension() == ".log")
        if (const auto size = file.file_size(error); !error) unflushed += size;
    if (unflushed < (8u << 20)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST(RunnerRecovery, AnOpenReadsNoMoreOfALogThatIsEightTimesAsLarge) {
  std::vector<std::uint64_t> read;
  std::vector<std::uint64_t> stored;
  for (const std::uint64_t units : {200u, 1600u}) {  // of 40,000 bytes
    const TempDir dir;
    LogProcess process({dir / "log", std::to_string(units), "20000", "0", "stay"});
    ASSERT_TRUE(process.WaitAcknowledged(units));
    ASSERT_TRUE(AwaitFlushes(dir / "log"));
    process.Kill();
    process.Wait();
    const std::uint64_t before = BytesRead();
    auto log = Log::Open(StoryOptions(dir / "log"));
    ASSERT_TRUE(log.ok()) << log.status().message();
    read.push_back(BytesRead() - before);
    stored.push_back((*log)->disk_bytes());
  }
  EXPECT_GT(stored[1], 4 * stored[0]);
  // The child's write buffer is 1 MB; several of them may be in flush.
  for (const std::uint64_t bytes : read) EXPECT_LT(bytes, 10u << 20);
  std::printf("read %llu and %llu bytes of %llu and %llu\n", static_cast<unsigned long long>(read[0]),
              static_cast<unsigned long long>(read[1]), static_cast<unsigned long long>(stored[0]),
              static_cast<unsigned long long>(stored[1]));
}

}  // namespace
}  // namespace cobblestone::stream::embedded
