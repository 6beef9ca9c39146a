// Credit by trickle messages: typical speeds, run times as written in messages, and limits.

#include "common/credit/trickles/trickle_credit.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace cobblestone::credit {
namespace {

TEST(TypicalSpeeds, AreElementsOfTheAscendingSpeedsOfActiveHosts) {
  std::vector<HostSpeed> hosts;
  for (int k = 40; k >= 1; --k) hosts.push_back({.speed = k * 1e9, .recent_average = 11});
  hosts.push_back({.speed = 99e9, .recent_average = 10});  // not above 10
  const auto typical = TypicalSpeedsOf(hosts);
  ASSERT_TRUE(typical.has_value());
  EXPECT_EQ(typical->median, 21e9);         // element 40 x 50/100 = 20, counted from 0
  EXPECT_EQ(typical->percentile_95, 39e9);  // element 38
  EXPECT_FALSE(TypicalSpeedsOf(std::vector<HostSpeed>{{.speed = 1e9, .recent_average = 1}}).has_value());
}

TEST(RunTime, IsParsedAsMessagesFormatIt) {
  EXPECT_EQ(ParseRunTime("  7200  ").value(), 7200);
  EXPECT_EQ(ParseRunTime("1e5").value(), 1e5);
  EXPECT_EQ(ParseRunTime("12.5s").value(), 12.5);
  EXPECT_EQ(ParseRunTime("inf").value(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(ParseRunTime("nan").value()));
  for (const char* bad : {"", "   ", "abc", "0", "-1", "-inf"})
    EXPECT_FALSE(ParseRunTime(bad).has_value()) << bad;
}

TEST(TrickleCredit, IsRunTimeTimesSpeedWithinLimits) {
  struct Case {
    double run_time, speed, credit;
  };
  // 86400 s at 1 GFLOP/s are 200 Cobblestones. Median 2 GFLOP/s, 95th percentile 4 GFLOP/s, one day at the
  // most.
  constexpr Case kCases[] = {{86400, 1e9, 200}, {43200, 1e9, 100}, {1e300, 1e9, 200},
                             {86400, 5e9, 800}, {86400, -1, 400},  {86400, 0, 0}};
  for (const Case& c : kCases) {
    const TrickleFacts facts{.run_time = c.run_time,
                             .max_run_time = 86400,
                             .host_speed = c.speed,
                             .typical = {.median = 2e9, .percentile_95 = 4e9}};
    EXPECT_DOUBLE_EQ(TrickleCredit(facts, Constants{}), c.credit);
  }
}

}  // namespace
}  // namespace cobblestone::credit
