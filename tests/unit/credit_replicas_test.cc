// Several claims are combined into one credit.
#include "common/credit/policies/replicas.h"

#include <gtest/gtest.h>

#include <limits>

#include "common/credit/model/flops.h"

namespace cobblestone::credit {
namespace {

double Of(Replication replication, std::vector<double> claims) { return Combine(replication, claims); }

TEST(ReplicasTest, AverageMinAndMedian) {
  EXPECT_EQ(Of(Replication::kAverage, {3, 1, 8}), 4);
  EXPECT_EQ(Of(Replication::kMin, {3, 1, 8}), 1);
  EXPECT_EQ(Of(Replication::kMedian, {8, 1, 3}), 3);
  EXPECT_EQ(Of(Replication::kMedian, {8, 1, 3, 5}), 4);
  EXPECT_EQ(Of(Replication::kAverage, {7}), 7);
}

TEST(ReplicasTest, RoundingNeverLeavesTheRangeOfTheClaims) {
  EXPECT_EQ(Of(Replication::kAverage, {0.1, 0.1, 0.1}), 0.1);  // 0.1 + 0.1 + 0.1 is more than 0.3
  const double huge = std::numeric_limits<double>::max();
  EXPECT_EQ(Of(Replication::kAverage, {huge, huge}), huge);  // the sum is infinite
  EXPECT_EQ(Of(Replication::kMedian, {huge, huge}), huge);
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(Of(Replication::kMedian, {least, least}), least);
}

TEST(ReplicasTest, OnlyValidClaimsWithinTheCapCount) {
  std::vector<Claim> claims(5);
  const double amounts[] = {1, 2, 3, 40, 5};
  for (int i = 0; i < 5; ++i) {
    claims[i].claimed = amounts[i];
    claims[i].mode = Mode::kNormal;
    claims[i].flags = kClaimValid;
  }
  claims[0].flags = kClaimInvalid;
  claims[1].flags |= kClaimAnonymous;
  claims[4].flags |= kClaimNoClaim;
  const Counted counted = CountClaims(claims, kClaimAnonymous, 10);
  EXPECT_EQ(counted.claims, (std::vector<double>{3}));
  EXPECT_TRUE(counted.capped);
  EXPECT_EQ(counted.modes[3], Mode::kCapped);
  EXPECT_EQ(counted.modes[2], Mode::kNormal);
  EXPECT_EQ(CountClaims(claims, 0, 40).claims,
            (std::vector<double>{2, 3, 40}));              // a claim at the cap is not above it
  EXPECT_EQ(CountClaims(claims, 0, 0).claims.size(), 3u);  // 0: no cap
  claims[2].flags |= kClaimHasHostScale;
  EXPECT_EQ(CountClaims(claims, 0, 0, kClaimHasHostScale | kClaimHasVersionScale).claims,
            (std::vector<double>{3}));
}

TEST(ReplicasTest, CapOfZeroIsNone) {
  EXPECT_EQ(Capped(5, 0), 5);
  EXPECT_EQ(Capped(5, 4), 4);
  EXPECT_EQ(Capped(4, 4), 4);
}

TEST(FlopsTest, ADayOfOneGigaflopsIsTheConstant) {
  Constants constants;
  EXPECT_EQ(CreditOfFlops(86400e9, constants), 200);  // S003
  constants.cobblestones_per_gflops_day = 100;
  EXPECT_EQ(CreditOfFlops(86400e9, constants), 100);  // S000, S002
}

}  // namespace
}  // namespace cobblestone::credit
