// Quotas by project: what is charged, who waits, and for how long. The clock is the test's.
#include "services/intake/quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace cobblestone {
namespace {

using intake::Charges;
using intake::Excess;
using intake::Quotas;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ProjectId kOne(1);
constexpr ProjectId kTwo(2);

// 10 events and 1,000 bytes per second, a burst of 2 s: buckets of 20 events and 2,000 bytes.
settings::RunSettings TenEvents() {
  settings::RunSettings settings;
  settings.quota = {.events_per_second = 10, .bytes_per_second = 1000, .burst = std::chrono::seconds(2)};
  return settings;
}

class QuotasTest : public ::testing::Test {
 protected:
  explicit QuotasTest(const settings::RunSettings& settings = TenEvents())
      : quotas_(settings, [this] { return now_; }) {}

  // `events` of `bytes` each.
  std::optional<Excess> Send(ProjectId project, int events, std::size_t bytes = 1) {
    Charges charges;
    for (int i = 0; i < events; ++i) charges.Add(project, bytes);
    return quotas_.Take(charges);
  }

  double now_ = 1000;
  Quotas quotas_;
};

TEST_F(QuotasTest, ABatchIsAcceptedWholeUntilTheBucketIsEmptyThenTheProjectWaitsForTheDebt) {
  EXPECT_FALSE(Send(kOne, 15));
  EXPECT_FALSE(Send(kOne, 15));  // 5 of 20 are left, so this batch is accepted and leaves a debt of 10
  const auto excess = Send(kOne, 1);
  ASSERT_TRUE(excess);
  EXPECT_EQ(excess->project, kOne);
  EXPECT_EQ(excess->quota, "events_per_second");
  EXPECT_EQ(excess->limit, 10u);
  EXPECT_DOUBLE_EQ(excess->wait, 1);  // 10 events at 10 per second
  EXPECT_EQ(ExcessText(*excess), "project 1 is beyond its quota of 10 events per second");
  now_ += 0.9;
  EXPECT_TRUE(Send(kOne, 1));
  now_ += 0.2;
  EXPECT_FALSE(Send(kOne, 1));
}

TEST_F(QuotasTest, AnotherProjectIsNotTouched) {
  EXPECT_FALSE(Send(kOne, 1000));
  EXPECT_TRUE(Send(kOne, 1));
  EXPECT_FALSE(Send(kTwo, 20));
}

TEST_F(QuotasTest, BytesHaveTheirOwnBucket) {
  EXPECT_FALSE(Send(kOne, 5, 1000));  // 5,000 of 2,000 bytes: a debt of 3,000
  const auto excess = Send(kOne, 1, 1);
  ASSERT_TRUE(excess);
  EXPECT_EQ(ExcessText(*excess), "project 1 is beyond its quota of 1000 bytes per second");
  EXPECT_DOUBLE_EQ(excess->wait, 3);
}

// 60 s at ten times the quota: 20 events of the burst, 10 for each second, and at most one batch more.
TEST_F(QuotasTest, OverAMinuteAFloodGetsItsQuotaTheBurstAndOneBatch) {
  int accepted = 0;
  for (int i = 0; i < 600; ++i, now_ += 0.1)
    if (!Send(kOne, 10)) accepted += 10;
  EXPECT_GE(accepted, 20 + 599);
  EXPECT_LE(accepted, 20 + 600 + 10);
}

TEST_F(QuotasTest, APauseIsWorthTheBurstAndNoMore) {
  EXPECT_FALSE(Send(kOne, 20));
  now_ += 3600;
  EXPECT_FALSE(Send(kOne, 19));
  EXPECT_FALSE(Send(kOne, 2));  // 1 of 20 was left
  EXPECT_TRUE(Send(kOne, 1));
}

TEST_F(QuotasTest, ABatchOfSeveralProjectsIsChargedByProjectOrNotAtAll) {
  EXPECT_FALSE(Send(kOne, 30));  // a debt of 10
  Charges both;
  for (int i = 0; i < 20; ++i) both.Add(i % 2 == 0 ? kOne : kTwo, 1);
  const auto excess = quotas_.Take(both);
  ASSERT_TRUE(excess);
  EXPECT_EQ(excess->project, kOne);
  EXPECT_FALSE(Send(kTwo, 20));  // its bucket was still full
  EXPECT_TRUE(Send(kTwo, 1));
  now_ += 1.5;
  EXPECT_FALSE(quotas_.Take(both));
}

TEST_F(QuotasTest, ASenderOfSeveralProjectsIsRefusedUnreadOnlyIfAllOfThemWait) {
  EXPECT_FALSE(Send(kOne, 40));  // waits 2 s
  EXPECT_FALSE(quotas_.TakeNone({kOne, kTwo}));
  EXPECT_FALSE(Send(kTwo, 25));  // waits 0.5 s
  const auto excess = quotas_.TakeNone({kOne, kTwo});
  ASSERT_TRUE(excess);
  EXPECT_EQ(excess->project, kTwo);
  EXPECT_DOUBLE_EQ(excess->wait, 0.5);
  EXPECT_FALSE(quotas_.TakeNone({}));  // a sender for every project
}

TEST_F(QuotasTest, LooksAtAcceptedEventsAndRefusedRequestsByProject) {
  EXPECT_THAT(quotas_.Look(), IsEmpty());
  EXPECT_FALSE(Send(kTwo, 3, 10));
  EXPECT_FALSE(Send(kOne, 25));
  EXPECT_TRUE(Send(kOne, 1));
  EXPECT_TRUE(quotas_.TakeNone({kOne}));
  const auto uses = quotas_.Look();
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].project, kOne);
  EXPECT_EQ(uses[0].events, 25u);
  EXPECT_EQ(uses[0].throttled, 2u);
  EXPECT_EQ(uses[0].events_per_second, 10u);
  EXPECT_EQ(uses[1].project, kTwo);
  EXPECT_EQ(uses[1].bytes, 30u);
  EXPECT_EQ(uses[1].throttled, 0u);
}

// Project 1 has its own quota of events, project 2 no limit of bytes.
class ExceptionsTest : public QuotasTest {
 protected:
  ExceptionsTest() : QuotasTest(Settings()) {}
  static settings::RunSettings Settings() {
    settings::RunSettings settings = TenEvents();
    settings.projects = {{.id = kOne, .name = "large", .events_per_second = 1000},
                         {.id = kTwo, .name = "free", .bytes_per_second = 0}};
    return settings;
  }
};

TEST_F(ExceptionsTest, TheEntryOfAProjectReplacesTheUsualQuota) {
  EXPECT_FALSE(Send(kOne, 1999));  // of 2,000
  EXPECT_FALSE(Send(kOne, 1));
  EXPECT_TRUE(Send(kOne, 1));
  EXPECT_FALSE(Send(kTwo, 1, 1000000));
  EXPECT_FALSE(Send(kTwo, 1, 1000000));
  EXPECT_FALSE(Send(ProjectId(3), 20));
  EXPECT_TRUE(Send(ProjectId(3), 1));  // as usual
}

TEST(Quotas, WithoutAQuotaNobodyWaits) {
  Quotas quotas(settings::RunSettings{});
  Charges many;
  for (int i = 0; i < 100000; ++i) many.Add(kOne, 1000);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(quotas.Take(many));
  EXPECT_EQ(quotas.Look().at(0).events, 1000000u);
}

// An attacker with a token for every project cannot grow the table without bound, nor escape its quota.
TEST_F(QuotasTest, CountlessProjectsShareOneBucket) {
  for (std::uint32_t id = 1; id <= 10000; ++id) EXPECT_FALSE(Send(ProjectId(id), 1));
  EXPECT_FALSE(Send(ProjectId(20001), 20));
  EXPECT_TRUE(Send(ProjectId(20002), 1));
  EXPECT_LE(quotas_.Look().size(), 10001u);
}

}  // namespace
}  // namespace cobblestone
