// A copy of a log that is written meanwhile: it has whole units, everything that was durable when the copy began, and
// is an independent log.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "common/stream/embedded/log.h"
#include "tests/conformance/log_stories.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using testing::TempDir;

constexpr std::size_t kBytes = 900;

TEST(LogCopy, HoldsWholeUnitsAndAllDurableOnesDuringAppendsAndVerify) {
  const TempDir dir;
  LogOptions options = StoryOptions(dir / "log");
  options.write_buffer_bytes = 1u << 20;  // flushes and new write-ahead files during the test
  options.commit_gap = std::chrono::microseconds(0);
  auto opened = Log::Open(options);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Log& log = **opened;
  std::atomic<std::uint64_t> durable = 0;
  std::atomic<bool> copied = false;
  std::thread appender([&] {
    for (std::uint64_t n = 1; !copied; ++n) {
      log.WaitDurable(log.Append(StoryUnit(n, kBytes)));
      durable = n;
    }
  });
  std::thread verifier([&] {
    while (!copied) EXPECT_TRUE(log.Verify({}).ok());
  });
  std::vector<std::uint64_t> before;
  for (int n = 0; n < 12; ++n) {
    // Each copy must hold more than the previous one.
    while (durable < static_cast<std::uint64_t>(300 * n)) std::this_thread::yield();
    before.push_back(durable);
    const Status made = log.Checkpoint(dir / "copy" + std::to_string(n));
    EXPECT_TRUE(made.ok()) << made.message();
  }
  copied = true;
  appender.join();
  verifier.join();
  for (std::size_t n = 0; n < before.size(); ++n) {
    SCOPED_TRACE(n);
    LogOptions of_copy = StoryOptions(dir / "copy" + std::to_string(n));
    of_copy.read_only = true;
    std::uint64_t commit = 0;
    {
      auto read = Log::Open(of_copy);
      ASSERT_TRUE(read.ok()) << read.status().message();
      const StoryLength length = MeasureStory(**read, kBytes);
      EXPECT_EQ(length.wrong, "");
      EXPECT_GE(length.units, before[n]);
      EXPECT_LE(length.units, durable);
      commit = (*read)->last_commit();
      EXPECT_GE(commit, length.units);
    }
    of_copy.read_only = false;  // the copy continues as a log of its own
    auto continued = Log::Open(of_copy);
    ASSERT_TRUE(continued.ok()) << continued.status().message();
    const std::uint64_t units = MeasureStory(**continued, kBytes).units;
    (*continued)->WaitDurable((*continued)->Append(StoryUnit(units + 1, kBytes)));
    EXPECT_EQ(MeasureStory(**continued, kBytes).units, units + 1);
    EXPECT_EQ((*continued)->last_commit(), commit + 2);  // the open adds one commit
  }
  EXPECT_EQ(MeasureStory(log, kBytes).units, durable);
}

// Units that were acknowledged before the copy must be in it: a copy that has lost its end is refused like any other
// log.
TEST(LogCopy, ThatLostAcknowledgedUnitsIsRefused) {
  const TempDir dir;
  auto opened = Log::Open(StoryOptions(dir / "log"));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  for (std::uint64_t n = 1; n <= 20; ++n) (*opened)->WaitDurable((*opened)->Append(StoryUnit(n, kBytes)));
  ASSERT_TRUE((*opened)->Checkpoint(dir / "copy").ok());
  const Status again = (*opened)->Checkpoint(dir / "copy");
  EXPECT_EQ(again.code(), StatusCode::kInvalidArgument) << again.message();
  for (const auto& entry : std::filesystem::directory_iterator(dir / "copy/db"))
    if (entry.path().extension() == ".log" && entry.file_size() > 0)
      std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
  LogOptions of_copy = StoryOptions(dir / "copy");
  const auto cut = Log::Open(of_copy);
  EXPECT_EQ(cut.status().code(), StatusCode::kCorrupted) << cut.status().message();
}

}  // namespace
}  // namespace cobblestone::stream::embedded
