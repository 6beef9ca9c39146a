// A full disk: the process ends with a message and its own exit code, no acknowledged unit is lost, and with room
// again the log continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "common/stream/embedded/log.h"
#include "tests/conformance/log_process.h"
#include "tests/conformance/log_stories.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::TempDir;

void ExpectAllAcknowledged(const std::string& path, std::size_t bytes, std::uint64_t acknowledged) {
  auto log = Log::Open(StoryOptions(path));
  ASSERT_TRUE(log.ok()) << log.status().message();
  const StoryLength length = MeasureStory(**log, bytes);
  EXPECT_EQ(length.wrong, "");
  EXPECT_GE(length.units, acknowledged);
  (*log)->WaitDurable((*log)->Append(StoryUnit(length.units + 1, bytes)));
  EXPECT_EQ(MeasureStory(**log, bytes).units, length.units + 1);
  const Status verified = (*log)->Verify({});
  EXPECT_TRUE(verified.ok()) << verified.message();
}

// No file may grow beyond 300,000 bytes; the write-ahead log reaches that limit first (EFBIG).
TEST(LogDiskFull, AWriteBeyondTheFileSizeLimitEndsTheProcessWithAMessage) {
  const TempDir dir;
  LogProcess process({dir / "log", "0", "20000", "300000"});
  const LogProcess::End end = process.Wait();
  EXPECT_EQ(end.exit_code, kFailedWriteExitCode) << end.output << end.errors;
  EXPECT_THAT(end.errors, AllOf(HasSubstr(dir / "log"), HasSubstr("File too large"),
                                HasSubstr("start the process again")));
  EXPECT_GT(end.acknowledged, 0u);
  ExpectAllAcknowledged(dir / "log", 20000, end.acknowledged);
}

// The flush of a write buffer (256 KB of rows per unit, more than one file may hold) fails in the background.
TEST(LogDiskFull, AFailingFlushEndsTheProcessToo) {
  const TempDir dir;
  std::uint64_t acknowledged = 0;
  LogProcess process({dir / "log", "0", "1000", "700000"});
  const LogProcess::End end = process.Wait();
  EXPECT_EQ(end.exit_code, kFailedWriteExitCode) << end.output << end.errors;
  acknowledged = end.acknowledged;
  ExpectAllAcknowledged(dir / "log", 1000, acknowledged);
}

TEST(LogDiskFull, AFullDiskEndsTheProcessAndTheLogContinuesWithRoom) {
  const testing::SmallDisk disk("6m");
  if (!disk.mounted()) {
    GTEST_SKIP() << "this user may not mount a small disk (" << disk.why()
                 << "); the tests with a file size limit above have covered failing writes";
  }
  const std::string path = disk.dir() / "log";
  std::uint64_t acknowledged = 0;
  {
    LogProcess process({path, "0", "20000"});
    const LogProcess::End end = process.Wait();
    EXPECT_EQ(end.exit_code, kFailedWriteExitCode) << end.output << end.errors;
    EXPECT_THAT(end.errors,
                AllOf(HasSubstr(path), HasSubstr("No space left on device"), HasSubstr("free disk space")));
    acknowledged = end.acknowledged;
    EXPECT_GT(acknowledged, 0u);
  }
  {
    // Started again on the full disk, the process fails at once or at its first write.
    LogProcess process({path, "0", "20000"});
    const LogProcess::End end = process.Wait();
    EXPECT_THAT(end.exit_code, AnyOf(3, kFailedWriteExitCode)) << end.output;
    EXPECT_THAT(end.output + end.errors, HasSubstr("free disk space"));
    acknowledged = std::max(acknowledged, end.acknowledged);
  }
  ASSERT_TRUE(disk.Grow("100m")) << std::strerror(errno);
  ExpectAllAcknowledged(path, 20000, acknowledged);
}

}  // namespace
}  // namespace cobblestone::stream::embedded
