#include <gtest/gtest.h>

#include "services/gateway/rights/rate_limit.h"

namespace cobblestone::gateway {
namespace {

TEST(GatewayRateLimit, AllowsABurstAndThenAFixedRate) {
  RateLimit limit({.per_second = 2, .burst = 3});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.Take("192.0.2.1", 100), 0) << i;
  EXPECT_DOUBLE_EQ(limit.Take("192.0.2.1", 100), 0.5) << "the seconds until the next request is allowed";
  EXPECT_DOUBLE_EQ(limit.Take("192.0.2.1", 100.25), 0.25) << "a rejected request costs nothing";
  EXPECT_EQ(limit.Take("192.0.2.1", 100.5), 0);
  EXPECT_GT(limit.Take("192.0.2.1", 100.5), 0);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(limit.Take("192.0.2.1", 1000), 0) << "a pause refills the burst, and no more";
  EXPECT_GT(limit.Take("192.0.2.1", 1000), 0);
}

TEST(GatewayRateLimit, EachAddressHasItsOwnLimit) {
  RateLimit limit({.per_second = 1, .burst = 1});
  EXPECT_EQ(limit.Take("192.0.2.1", 1), 0);
  EXPECT_EQ(limit.Take("192.0.2.2", 1), 0);
  EXPECT_GT(limit.Take("192.0.2.1", 1), 0);
}

TEST(GatewayRateLimit, AnIpv6NetworkCountsAsOneAddress) {
  RateLimit limit({.per_second = 1, .burst = 1});
  EXPECT_EQ(limit.Take("2001:db8:1:2::1", 1), 0);
  EXPECT_GT(limit.Take("2001:db8:1:2:ffff::9", 1), 0);
  EXPECT_EQ(limit.Take("2001:db8:1:3::1", 1), 0);
  EXPECT_EQ(limit.Take("::ffff:192.0.2.1", 1), 0);
  EXPECT_EQ(limit.Take("::ffff:192.0.2.2", 1), 0) << "mapped IPv4 addresses count separately";
}

TEST(GatewayRateLimit, MemoryIsBoundedAndIdleAddressesAreEvictedFirst) {
  RateLimit limit({.per_second = 1, .burst = 1, .addresses = 10});
  EXPECT_EQ(limit.Take("busy", 0), 0);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(limit.Take("192.0.2." + std::to_string(i), 0), 0);
    EXPECT_GT(limit.Take("busy", 0), 0) << i;
  }
  EXPECT_EQ(limit.addresses(), 10u);
}

TEST(GatewayRateLimit, AStoppedClockAllowsNoRequest) {
  RateLimit limit({.per_second = 1, .burst = 1});
  EXPECT_EQ(limit.Take("a", 5), 0);
  EXPECT_GT(limit.Take("a", 4), 0) << "a clock that goes back allows none either";
}

}  // namespace
}  // namespace cobblestone::gateway
