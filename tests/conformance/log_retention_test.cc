// Trimming: which batches are removed, which stay, and that the disk space is freed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "common/stream/embedded/log.h"
#include "tests/conformance/log_stories.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using ::testing::HasSubstr;
using testing::TempDir;

LogOptions SmallBuffers(const std::string& path) {
  LogOptions options = StoryOptions(path);
  options.write_buffer_bytes = 2u << 20;
  options.tail_bytes = 1u << 20;
  return options;
}

void AppendRecords(Log& log, TopicPartition where, int records, std::size_t bytes) {
  std::uint64_t ticket = 0;
  for (int i = 0; i < records; ++i) {
    ticket = log.Append({.outputs = {Output(where, {Noise(log.End(where), bytes)})}});
  }
  log.WaitDurable(ticket);
}

TEST(LogRetention, TrimsWholeBatchesBeforeTheOffset) {
  const TempDir dir;
  auto log = Log::Open(StoryOptions(dir / "log"));
  ASSERT_TRUE(log.ok());
  (*log)->WaitDurable((*log)->Append({.outputs = {Output({kClaims, 0}, {"0", "1", "2"})}}));
  (*log)->WaitDurable((*log)->Append({.outputs = {Output({kClaims, 0}, {"3", "4", "5"})}}));
  (*log)->Trim({kClaims, 0}, 2);
  EXPECT_EQ((*log)->Begin({kClaims, 0}), 0u) << "offset 2 is within the first batch";
  (*log)->Trim({kClaims, 0}, 4);
  EXPECT_EQ((*log)->Begin({kClaims, 0}), 3u);
  EXPECT_TRUE((*log)->Read({kClaims, 0}, 3).ok());
  const Status gone = (*log)->Read({kClaims, 0}, 2).status();
  EXPECT_EQ(gone.code(), StatusCode::kCorrupted);
  EXPECT_THAT(gone.message(), HasSubstr("partition 0 of topic 'claims'"));
  EXPECT_THAT(gone.message(), HasSubstr("starts at 3"));
  (*log)->Trim({kClaims, 0}, 1);
  EXPECT_EQ((*log)->Begin({kClaims, 0}), 3u) << "the begin never goes back";
  EXPECT_TRUE((*log)->Verify({}).ok());
}

TEST(LogRetention, KeepsRecordsAfterTheOffsetInBatchesStoredTogether) {
  const TempDir dir;
  const LogOptions options = StoryOptions(dir / "log");
  std::uint64_t begin = 0;
  {
    auto log = Log::Open(options);
    ASSERT_TRUE(log.ok());
    std::uint64_t ticket = 0;
    for (int unit = 0; unit < 200; ++unit) {
      const std::string name = std::to_string(unit);
      ticket = (*log)->Append({.outputs = {Output({kClaims, 0}, {name + "a", name + "b", name + "c"})}});
    }
    (*log)->WaitDurable(ticket);
    (*log)->Trim({kClaims, 0}, 301);  // in memory a batch begins at 300, on disk possibly earlier
    begin = (*log)->Begin({kClaims, 0});
    EXPECT_LE(begin, 300u);
  }
  auto log = Log::Open(options);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ((*log)->Begin({kClaims, 0}), begin);
  std::uint64_t at = begin;
  while (at < 600) {
    const auto batch = (*log)->Read({kClaims, 0}, at);
    ASSERT_TRUE(batch.ok()) << batch.status().message();
    for (const std::string& record : RecordsOf(**batch)) {
      EXPECT_EQ(record, std::to_string(at / 3) + "abc"[at % 3]);
      ++at;
    }
  }
  EXPECT_EQ(at, 600u);
}

TEST(LogRetentionDeathTest, TheLedgerIsNeverTrimmed) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const TempDir dir;
        auto log = Log::Open(StoryOptions(dir / "log"));
        (*log)->WaitDurable((*log)->Append(StoryUnit(1, 10)));
        (*log)->Trim({kGrants, 1}, 2);
      },
      "partition 1 of topic 'grants' has unlimited retention");
}

// 40 MB are appended, and all but the last 4 MB trimmed; a ledger in the same log stays complete.
TEST(LogRetention, TrimmedSpaceIsReclaimed) {
  const TempDir dir;
  auto log = Log::Open(SmallBuffers(dir / "log"));
  ASSERT_TRUE(log.ok());
  AppendRecords(**log, {kGrants, 0}, 40, 100000);
  AppendRecords(**log, {kClaims, 0}, 400, 100000);
  ASSERT_TRUE((*log)->Reclaim().ok());
  EXPECT_GT((*log)->disk_bytes(), 44u * 1000 * 1000) << "nothing trimmed, nothing freed";
  (*log)->Trim({kClaims, 0}, 360);
  const Status reclaimed = (*log)->Reclaim();
  ASSERT_TRUE(reclaimed.ok()) << reclaimed.message();
  // 4 MB of claims, 4 MB of grants, and the write-ahead log (a write buffer of 2 MB, and the one being flushed).
  EXPECT_LT((*log)->disk_bytes(), 15u * 1000 * 1000);
  EXPECT_EQ(AllRecords(**log, {kGrants, 0}).size(), 40u);
  EXPECT_EQ(AllRecords(**log, {kGrants, 0}).back(), Noise(39, 100000));
  const std::vector<std::string> claims = AllRecords(**log, {kClaims, 0});
  ASSERT_GE(claims.size(), 40u);
  EXPECT_LE(claims.size(), 41u) << "no more than the batch that holds the first";
  EXPECT_TRUE(claims[claims.size() - 40] == Noise(360, 100000));
  EXPECT_TRUE((*log)->Verify({}).ok());
}

// Less than a write buffer, and no further writes: a part in files, a part in the write-ahead log.
TEST(LogRetention, TrimmedSpaceOfAnIdleLogIsReclaimed) {
  const TempDir dir;
  LogOptions options = SmallBuffers(dir / "log");
  options.write_buffer_bytes = 16u << 20;
  options.reclaim_idle = std::chrono::milliseconds(1);
  auto log = Log::Open(options);
  ASSERT_TRUE(log.ok());
  AppendRecords(**log, {kGrants, 0}, 10, 100000);
  AppendRecords(**log, {kClaims, 0}, 60, 100000);
  ASSERT_TRUE((*log)->Reclaim().ok());
  AppendRecords(**log, {kClaims, 0}, 60, 100000);
  EXPECT_GT((*log)->disk_bytes(), 12u * 1000 * 1000);
  (*log)->Trim({kClaims, 0}, 119);
  ASSERT_TRUE((*log)->WaitReclaimed(std::chrono::minutes(1)));
  EXPECT_LT((*log)->disk_bytes(), 1500u * 1000) << "a megabyte of grants, and a batch of claims";
  EXPECT_EQ(AllRecords(**log, {kGrants, 0}).size(), 10u);
  const std::vector<std::string> claims = AllRecords(**log, {kClaims, 0});
  ASSERT_FALSE(claims.empty());
  EXPECT_LE(claims.size(), 2u) << "no more than the batch that holds the last";
  EXPECT_TRUE(claims.back() == Noise(119, 100000));
  EXPECT_TRUE((*log)->Verify({}).ok());
}

TEST(LogRetention, ALittleTrimmedSpaceWaitsWhileTheLogIsWritten) {
  const TempDir dir;
  LogOptions options = SmallBuffers(dir / "log");
  options.write_buffer_bytes = 16u << 20;
  auto log = Log::Open(options);
  ASSERT_TRUE(log.ok());
  AppendRecords(**log, {kClaims, 0}, 20, 100000);
  (*log)->Trim({kClaims, 0}, 19);
  EXPECT_FALSE((*log)->WaitReclaimed(std::chrono::milliseconds(20)))
      << "the log has not been idle for minutes";
  EXPECT_GT((*log)->disk_bytes(), 1500u * 1000);
}

// An idle partition (a small topic, a quiet project) has a batch in every file of its busy neighbour.
TEST(LogRetention, ASlowPartitionDoesNotHoldTheSpaceOfABusyOne) {
  const TempDir dir;
  auto log = Log::Open(SmallBuffers(dir / "log"));
  ASSERT_TRUE(log.ok());
  for (int round = 0; round < 40; ++round) {
    AppendRecords(**log, {kNotes, 0}, 1, 1000);
    AppendRecords(**log, {kClaims, 0}, 10, 100000);
  }
  (*log)->Trim({kClaims, 0}, 400);
  ASSERT_TRUE((*log)->Reclaim().ok());
  EXPECT_LT((*log)->disk_bytes(), 10u * 1000 * 1000);
  const std::vector<std::string> notes = AllRecords(**log, {kNotes, 0});
  ASSERT_EQ(notes.size(), 40u);
  EXPECT_EQ(notes[7], Noise(7, 1000));
}

// 200 MB pass through, of which 2 MB are kept.
TEST(LogRetention, AContinuouslyTrimmedLogStaysSmall) {
  const TempDir dir;
  auto log = Log::Open(SmallBuffers(dir / "log"));
  ASSERT_TRUE(log.ok());
  std::uint64_t largest = 0;
  for (int round = 0; round < 100; ++round) {
    AppendRecords(**log, {kClaims, round % 2 == 0 ? 0u : 1u}, 20, 100000);
    const TopicPartition trimmed{kClaims, round % 2 == 0 ? 0u : 1u};
    const std::uint64_t end = (*log)->End(trimmed);
    if (end > 20) (*log)->Trim(trimmed, end - 20);
    if (round > 50) largest = std::max(largest, (*log)->disk_bytes());
  }
  EXPECT_LT(largest, 60u * 1000 * 1000) << "of 200 MB";
}

TEST(LogRetention, ReadersOnDiskContinueWhileTheLogIsTrimmed) {
  const TempDir dir;
  LogOptions options = SmallBuffers(dir / "log");
  options.tail_bytes = 0;
  auto log = Log::Open(options);
  ASSERT_TRUE(log.ok());
  AppendRecords(**log, {kClaims, 0}, 500, 10000);
  for (std::uint64_t at = 0; at < 500; ++at) {
    const auto batch = (*log)->Read({kClaims, 0}, at);
    ASSERT_TRUE(batch.ok()) << batch.status().message();
    ASSERT_EQ(RecordsOf(**batch).at(at - (*batch)->first), Noise(at, 10000));
    if (at % 50 == 49) (*log)->Trim({kClaims, 0}, at);
    if (at == 250) {
      ASSERT_TRUE((*log)->Reclaim().ok());
    }
  }
}

}  // namespace
}  // namespace cobblestone::stream::embedded
