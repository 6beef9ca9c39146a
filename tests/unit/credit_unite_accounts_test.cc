#include "common/credit/accounts/unite_accounts.h"

#include <gtest/gtest.h>

#include <random>

#include "common/credit/model/constants.h"

namespace cobblestone::credit {
namespace {

constexpr double kStart = 1.7e9;

Account Posted(std::uint64_t seed, int postings, double days) {
  std::mt19937_64 random(seed);
  Account account;
  for (int i = 0; i < postings; ++i) {
    const double now = kStart + days * kSecondsPerDay * i / postings;
    Post({.micro = static_cast<MicroCredit>(random() % 1'000'000'000),
          .app = AppId(1 + random() % 3),
          .now = now,
          .work_start = now - 7200},
         account);
  }
  return account;
}

TEST(UniteAccounts, AddsEverySumAndNothingElse) {
  const Account from = Posted(1, 200, 30);
  Account into = Posted(2, 100, 60);
  const Account before = into;
  Unite(from, into);
  EXPECT_TRUE(into.total_micro == from.total_micro + before.total_micro);
  EXPECT_EQ(into.grants, 300u);
  MicroTotal apps = 0;
  std::uint64_t grants = 0;
  for (std::size_t i = 0; i < into.apps.size(); ++i) {
    apps += into.apps[i].micro;
    grants += into.apps[i].grants;
    EXPECT_TRUE(i == 0 || into.apps[i - 1].app < into.apps[i].app);
  }
  EXPECT_TRUE(apps == into.total_micro);
  EXPECT_EQ(grants, 300u);
  MicroTotal days = 0;
  for (std::size_t i = 0; i < into.days.size(); ++i) {
    days += into.days[i].micro;
    EXPECT_TRUE(i == 0 || into.days[i - 1].day < into.days[i].day);
  }
  EXPECT_TRUE(days == into.total_micro);
}

TEST(UniteAccounts, TheAverageIsTheSumOfBothAtTheLaterTime) {
  Account early;
  early.recent = {.value = 80, .time = kStart};
  Account late;
  late.recent = {.value = 5, .time = kStart + 7 * kSecondsPerDay};  // one half-life
  Account into = late;
  Unite(early, into);
  EXPECT_DOUBLE_EQ(into.recent.value, 45);
  EXPECT_EQ(into.recent.time, late.recent.time);
  Account other = early;
  Unite(late, other);
  EXPECT_EQ(other.recent.value, into.recent.value) << "the direction of the merge does not matter";
  Account none;
  Unite(early, none);
  EXPECT_EQ(none.recent.value, 80);
  EXPECT_EQ(none.recent.time, kStart);
}

TEST(UniteAccounts, ABalanceBecomesOrdinaryCreditAndHistoryStaysBounded) {
  Account from;
  from.opening_micro = from.total_micro = 100;
  from.owed_micro = 7;
  from.provisional_micro = 30;
  from.days = {{.micro = 1, .day = 1, .grants = 1}, {.micro = 2, .day = 500, .grants = 1}};
  Account into;
  into.opening_micro = into.total_micro = 10;
  into.days = {{.micro = 3, .day = 600, .grants = 1}};
  Unite(from, into);
  EXPECT_TRUE(into.opening_micro == 10);
  EXPECT_TRUE(into.total_micro == 110);
  EXPECT_TRUE(into.owed_micro == 7);
  EXPECT_TRUE(into.provisional_micro == 30);
  ASSERT_EQ(into.days.size(), 2u);
  EXPECT_EQ(into.days.front().day, 500);
}

}  // namespace
}  // namespace cobblestone::credit
