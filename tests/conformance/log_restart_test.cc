// The contents of a log after a stop, clean or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include "common/stream/embedded/log.h"
#include "tests/conformance/log_process.h"
#include "tests/conformance/log_stories.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using ::testing::ElementsAre;
using testing::TempDir;

TEST(LogRestart, ACleanStopWaitsForAllAppendedUnits) {
  const TempDir dir;
  std::uint64_t acknowledged = 0;
  {
    auto log = Log::Open(StoryOptions(dir / "log"));
    ASSERT_TRUE(log.ok()) << log.status().message();
    EXPECT_EQ((*log)->owner_epoch(), 1u);
    for (std::uint64_t unit = 1; unit <= 50; ++unit) {
      LogUnit next = StoryUnit(unit, 2000);
      next.on_durable = [&] { ++acknowledged; };
      (*log)->Append(std::move(next));
    }
  }
  EXPECT_EQ(acknowledged, 50u);
  auto log = Log::Open(StoryOptions(dir / "log"));
  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_EQ((*log)->owner_epoch(), 2u);
  const StoryLength length = MeasureStory(**log, 2000);
  EXPECT_EQ(length.wrong, "");
  EXPECT_EQ(length.units, 50u);
  EXPECT_EQ((*log)->DurableEnd({kGrants, 1}), 100u);
  EXPECT_EQ((*(*log)->Read({kGrants, 1}, 3))->append_time, 1.7e9);
}

// Twenty lives of one log, each killed at another point of its work, with flushes and new write-ahead files in
// between.
TEST(LogRestart, AKillKeepsEveryAcknowledgedUnitAndOnlyWholeOnes) {
  const TempDir dir;
  std::uint64_t acknowledged = 0;
  for (int life = 0; life < 20; ++life) {
    LogProcess process({dir / "log", "0", "20000"});
    ASSERT_TRUE(process.WaitAcknowledged(acknowledged + 5 + static_cast<std::uint64_t>(life * 7 % 40)));
    process.Kill();
    const LogProcess::End end = process.Wait();
    EXPECT_EQ(end.signal, SIGKILL);
    acknowledged = end.acknowledged;
    auto log = Log::Open(StoryOptions(dir / "log"));
    ASSERT_TRUE(log.ok()) << log.status().message();
    const StoryLength length = MeasureStory(**log, 20000);
    ASSERT_EQ(length.wrong, "") << "life " << life;
    ASSERT_GE(length.units, acknowledged) << "life " << life;
    acknowledged = length.units;
  }
  auto log = Log::Open(StoryOptions(dir / "log"));
  ASSERT_TRUE(log.ok()) << log.status().message();
  const Status verified = (*log)->Verify({});
  EXPECT_TRUE(verified.ok()) << verified.message();
}

struct FailpointCase {
  const char* name;
  bool written;  // the gathered units are on disk when the failpoint hits
};

class LogFailpoint : public ::testing::TestWithParam<FailpointCase> {};

TEST_P(LogFailpoint, LosesNothingAcknowledgedAndInventsNothing) {
  const TempDir dir;
  LogProcess process({dir / "log", "0", "1000"},
                     {{"COBBLESTONE_FAILPOINT", std::string(GetParam().name) + ":5"}});
  const LogProcess::End end = process.Wait();
  ASSERT_EQ(end.signal, SIGKILL) << end.output << end.errors;
  EXPECT_GE(end.acknowledged, 4u) << "four commits were acknowledged";
  auto log = Log::Open(StoryOptions(dir / "log"));
  ASSERT_TRUE(log.ok()) << log.status().message();
  const StoryLength length = MeasureStory(**log, 1000);
  EXPECT_EQ(length.wrong, "");
  if (GetParam().written) {
    EXPECT_GT(length.units, end.acknowledged) << "durable, but not acknowledged";
  } else {
    EXPECT_EQ(length.units, end.acknowledged);
  }
}

INSTANTIATE_TEST_SUITE_P(AtEach, LogFailpoint,
                         ::testing::Values(FailpointCase{"E2", false}, FailpointCase{"E3", false},
                                           FailpointCase{"E4", false}, FailpointCase{"E4b", true}),
                         [](const auto& point) { return std::string(point.param.name); });

TEST(LogRestart, AnEmptiedPartitionKeepsItsEnd) {
  const TempDir dir;
  {
    auto log = Log::Open(StoryOptions(dir / "log"));
    ASSERT_TRUE(log.ok());
    for (std::uint64_t unit = 1; unit <= 10; ++unit) (*log)->Append(StoryUnit(unit, 100));
    (*log)->WaitDurable((*log)->Append({}));
    (*log)->Trim({kClaims, 0}, 10);
    EXPECT_EQ((*log)->Begin({kClaims, 0}), 10u);
  }
  auto log = Log::Open(StoryOptions(dir / "log"));
  ASSERT_TRUE(log.ok());
  EXPECT_EQ((*log)->Begin({kClaims, 0}), 10u);
  EXPECT_EQ((*log)->End({kClaims, 0}), 10u);
  (*log)->Append({.outputs = {Output({kClaims, 0}, {"eleventh"})}});
  EXPECT_THAT(AllRecords(**log, {kClaims, 0}), ElementsAre("eleventh"));
  EXPECT_EQ((*log)->End({kClaims, 0}), 11u);
}

}  // namespace
}  // namespace cobblestone::stream::embedded
