// Accounts: rounding to micro-credits, the recent average, postings.

#include "common/credit/accounts/account.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "common/credit/model/constants.h"

namespace cobblestone::credit {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kWeek = 7 * kSecondsPerDay;
constexpr double kStart = 1'700'000'000;  // UNIX s, day 19675
constexpr std::int64_t kStartDay = 19675;
constexpr AppId kApp{1};

TEST(RoundToMicro, RoundsToTheNearestMicroCredit) {
  EXPECT_EQ(RoundToMicro(0), 0);
  EXPECT_EQ(RoundToMicro(-0.0), 0);
  EXPECT_EQ(RoundToMicro(10.416666666), 10'416'667);
  EXPECT_EQ(RoundToMicro(-10.416666666), -10'416'667);
  EXPECT_EQ(RoundToMicro(9e12), 9'000'000'000'000'000'000);
  EXPECT_EQ(RoundToMicro(0x1p-1074), 0);
  EXPECT_EQ(RoundToMicro(4.9e-7), 0);
  EXPECT_EQ(RoundToMicro(5.1e-7), 1);
}

// 2^-7 = 0.0078125 is 7812.5 micro-credits, a tie that a double holds exactly; so are 3, 5 and 7 times 2^-7.
TEST(RoundToMicro, RoundsTiesToEven) {
  EXPECT_EQ(RoundToMicro(1 * 0x1p-7), 7812);
  EXPECT_EQ(RoundToMicro(3 * 0x1p-7), 23438);    // 23437.5
  EXPECT_EQ(RoundToMicro(5 * 0x1p-7), 39062);    // 39062.5
  EXPECT_EQ(RoundToMicro(-7 * 0x1p-7), -54688);  // -54687.5
}

// The double nearest to 1.2345705 is a little above it: 1234570.5000000000... micro-credits. Rounded to a double,
// the product is the tie itself and would be rounded down to the even number.
TEST(RoundToMicro, RoundsTheExactProductOnce) {
  EXPECT_EQ(std::nearbyint(1.2345705 * 1e6), 1234570);
  EXPECT_EQ(RoundToMicro(1.2345705), 1234571);
  EXPECT_EQ(RoundToMicro(std::nextafter(3 * 0x1p-7, 0.0)), 23437);
  EXPECT_EQ(RoundToMicro(std::nextafter(1 * 0x1p-7, 1.0)), 7813);
}

TEST(RoundToMicro, RejectsValuesThatCannotBeCredit) {
  for (const double credit : {kInf, -kInf, kNan, 1e13, -1e13, 1e300, 9223372036854.777}) {
    bool ok = true;
    EXPECT_EQ(RoundToMicro(credit, &ok), 0) << credit;
    EXPECT_FALSE(ok) << credit;
  }
  bool ok = false;
  EXPECT_EQ(RoundToMicro(9223372036854.773, &ok), 9223372036854773438);  // 9223372036854.7734375
  EXPECT_TRUE(ok);
}

TEST(RecentAverage, StartsAtWorkPerDaySinceTheWorkBegan) {
  RecentAverage average;
  UpdateAverage(kStart, kStart - 2 * kSecondsPerDay, 100, kWeek, average);
  EXPECT_EQ(average.value, 50);
  EXPECT_EQ(average.time, kStart);
}

TEST(RecentAverage, HalvesInAWeekWithoutWork) {
  RecentAverage average{.value = 80, .time = kStart};
  UpdateAverage(kStart + kWeek, kStart, 0, kWeek, average);
  EXPECT_DOUBLE_EQ(average.value, 40);
}

TEST(RecentAverage, StaysConstantForWorkAtItsOwnRate) {
  RecentAverage average{.value = 80, .time = kStart};
  UpdateAverage(kStart + kWeek, kStart, 80 * 7, kWeek, average);  // 40 + (1 - 1/2) x 560/7
  EXPECT_DOUBLE_EQ(average.value, 80);
}

// dt -> 0: both branches lead to avg + ln 2 x work x 86400 / half-life = avg + work x 0.0990...
TEST(RecentAverage, IsContinuousWhereNoTimePasses) {
  const double expected = 80 + kLn2 * 100 / 7;
  for (const double dt : {0.0, 0.5, 0.9, 2.0}) {
    RecentAverage average{.value = 80, .time = kStart};
    UpdateAverage(kStart + dt, kStart, 100, kWeek, average);
    EXPECT_NEAR(average.value, expected, 1e-3) << dt;
  }
}

TEST(RecentAverage, OlderWorkCountsUndecayedAndSetsTheTimeBack) {
  RecentAverage average{.value = 80, .time = kStart};
  UpdateAverage(kStart - 1000, kStart - 5000, 7, kWeek, average);
  EXPECT_DOUBLE_EQ(average.value, 80 + kLn2);
  EXPECT_EQ(average.time, kStart - 1000);
}

TEST(RecentAverage, DecaysOnlyForwardInTime) {
  const RecentAverage average{.value = 80, .time = kStart};
  EXPECT_DOUBLE_EQ(DecayedAverage(average, kStart + 2 * kWeek, kWeek), 20);
  EXPECT_EQ(DecayedAverage(average, kStart, kWeek), 80);
  EXPECT_EQ(DecayedAverage(average, kStart - kWeek, kWeek), 80);
}

PostingFacts Posting(MicroCredit micro, double now) {
  return {.micro = micro, .app = kApp, .now = now, .work_start = now - kSecondsPerDay};
}

TEST(Post, AddsToTotalAppDayAndCount) {
  Account account;
  account.opening_micro = 5;
  account.total_micro = 5;
  Post(Posting(3'000'000, kStart), account);
  PostingFacts other = Posting(2'000'000, kStart + kSecondsPerDay);
  other.app = AppId(7);
  Post(other, account);
  Post(Posting(0, kStart + kSecondsPerDay), account);

  EXPECT_EQ(static_cast<std::int64_t>(account.total_micro), 5'000'005);
  EXPECT_EQ(account.grants, 3U);
  ASSERT_EQ(account.apps.size(), 2U);
  EXPECT_EQ(account.apps[0].app, kApp);
  EXPECT_EQ(static_cast<std::int64_t>(account.apps[0].micro), 3'000'000);
  EXPECT_EQ(account.apps[0].grants, 2U);
  EXPECT_EQ(account.apps[1].app, AppId(7));
  ASSERT_EQ(account.days.size(), 2U);
  EXPECT_EQ(account.days[0].day, kStartDay);
  EXPECT_EQ(account.days[1].grants, 2U);
  EXPECT_EQ(static_cast<std::int64_t>(account.days[1].micro), 2'000'000);
}

TEST(Post, PutsALatePostingOnItsDayAndForgetsOldDays) {
  Account account;
  Post(Posting(1, kStart), account);
  Post(Posting(2, kStart - 3 * kSecondsPerDay), account);
  Post(Posting(4, kStart - 3 * kSecondsPerDay), account);
  ASSERT_EQ(account.days.size(), 2U);
  EXPECT_EQ(account.days[0].day, kStartDay - 3);
  EXPECT_EQ(static_cast<std::int64_t>(account.days[0].micro), 6);

  Post(Posting(8, kStart + (kHistoryDays - 1) * kSecondsPerDay), account);
  ASSERT_EQ(account.days.size(), 2U);
  EXPECT_EQ(account.days[0].day, kStartDay);
  Post(Posting(16, kStart - kSecondsPerDay), account);  // before the history begins
  EXPECT_EQ(account.days.size(), 2U);
  EXPECT_EQ(static_cast<std::int64_t>(account.total_micro), 31);
  Post(Posting(32, kStart + kHistoryDays * kSecondsPerDay), account);  // the first day leaves the history
  ASSERT_EQ(account.days.size(), 2U);
  EXPECT_EQ(account.days[0].day, kStartDay + kHistoryDays - 1);
}

// A total of 3.6e13 Cobblestones exceeds 64 bits of micro-credits, and a double would lose its last micro-credit.
TEST(Post, SumsBeyond64Bits) {
  Account account;
  for (int k = 0; k < 4; ++k) Post(Posting(9'000'000'000'000'000'000, kStart), account);
  Post(Posting(1, kStart), account);
  EXPECT_TRUE(account.total_micro == MicroTotal{9'000'000'000'000'000'000} * 4 + 1);
}

TEST(Post, TimeGoesBackOnlyForBoinc) {
  Account account;
  account.recent = {.value = 80, .time = kStart};
  Account boinc = account;
  PostingFacts posting = Posting(7'000'000, kStart - 1000);
  Post(posting, account);
  EXPECT_EQ(account.recent.time, kStart);
  posting.boinc_average = true;
  Post(posting, boinc);
  EXPECT_EQ(boinc.recent.time, kStart - 1000);
  EXPECT_EQ(boinc.recent.value, account.recent.value);  // no time passes in either case
}

TEST(Post, UsesWorkBeforeRoundingIfItIsSet) {
  Account account;
  PostingFacts posting = Posting(1, kStart);
  posting.work = 1.25e-6;  // rounded to one micro-credit
  Post(posting, account);
  EXPECT_EQ(account.recent.value, 1.25e-6);
}

// A first posting whose work began when it was granted: work per day would be infinite.
TEST(Post, KeepsTheRecentAverageFinite) {
  for (const bool boinc : {false, true}) {
    Account account;
    PostingFacts posting = Posting(5'000'000, kStart);
    posting.work_start = kStart;
    posting.boinc_average = boinc;
    Post(posting, account);
    EXPECT_EQ(account.recent.value, 0);
    EXPECT_EQ(account.recent.time, 0);
    EXPECT_EQ(static_cast<std::int64_t>(account.total_micro), 5'000'000);
    Post(Posting(5'000'000, kStart + 10), account);  // so the next posting is treated as the first
    EXPECT_EQ(account.recent.value, 5);
  }
}

// Golden README, item 23: BOINC's first average is negative if the work began after the grant.
TEST(Post, LetsBoincsFirstAverageBeNegative) {
  Account account;
  PostingFacts posting = Posting(5'000'000, kStart);
  posting.work_start = kStart + kSecondsPerDay;
  Post(posting, account);
  EXPECT_EQ(account.recent.value, 0);
  posting.boinc_average = true;
  Post(posting, account);
  EXPECT_EQ(account.recent.value, -5);
}

}  // namespace
}  // namespace cobblestone::credit
