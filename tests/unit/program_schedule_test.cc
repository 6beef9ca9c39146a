#include "services/cli/schedule.h"

#include <gtest/gtest.h>

namespace cobblestone {

using cli::Schedule;

namespace {

constexpr std::int64_t kMidnight = 20000 * std::int64_t{86400};

TEST(Schedule, ADailyTimeIsTodayOrTomorrow) {
  const auto daily = Schedule::Parse("03:30");
  ASSERT_TRUE(daily.ok());
  constexpr std::int64_t kThen = kMidnight + 12600;
  EXPECT_EQ(daily->Next(kMidnight, -1), kThen);
  EXPECT_EQ(daily->Next(kThen, -1), kThen) << "now";
  EXPECT_EQ(daily->Next(kThen, kThen), kThen + 86400) << "the last run was in the same second";
  EXPECT_EQ(daily->Next(kThen + 1, kThen), kThen + 86400);
  EXPECT_EQ(daily->Next(kThen + 3 * 86400 - 1, kThen), kThen + 3 * 86400) << "missed days are not repeated";
}

TEST(Schedule, APeriodStartsAtOnceAndMissedRunsAreNotRepeated) {
  const auto hourly = Schedule::Parse("1h");
  ASSERT_TRUE(hourly.ok());
  EXPECT_EQ(hourly->Next(1000, -1), 1000);
  EXPECT_EQ(hourly->Next(1010, 1000), 4600);
  EXPECT_EQ(hourly->Next(99999, 1000), 99999);
}

TEST(Schedule, ATemporaryFailureIsRetriedAfterAMinute) {
  const auto daily = Schedule::Parse("03:30");
  ASSERT_TRUE(daily.ok());
  constexpr std::int64_t kThen = kMidnight + 12600;
  EXPECT_EQ(daily->NextTry(kThen + 20, kThen), kThen + 80);
  EXPECT_EQ(daily->NextTry(kThen + 86400 - 10, kThen + 3600), kThen + 86400);
  const auto often = Schedule::Parse("30s");
  EXPECT_EQ(often->NextTry(1010, 1000), 1030);
}

TEST(Schedule, AnInvalidScheduleIsRejected) {
  for (const char* text :
       {"", "h", "0h", "-1h", "1", "1w", "24:00", "3:30", "03:60", "03:3x", "99999999999d"})
    EXPECT_EQ(Schedule::Parse(text).status().code(), StatusCode::kInvalidArgument) << text;
}

}  // namespace
}  // namespace cobblestone
