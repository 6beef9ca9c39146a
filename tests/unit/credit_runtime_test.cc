// Policy `runtime`: credit from run time, and the low average (golden README, item 28).

#include "common/credit/policies/runtime_policy.h"

#include <vector>

#include <gtest/gtest.h>

#include "common/credit/model/low_average.h"
#include "common/credit/policies/host_rows.h"

namespace cobblestone::credit {
namespace {

constexpr double kE = 8.64e12;  // FLOPs: 20 Cobblestones
constexpr double kSpeed = 2e9;  // FLOP/s: E in 4320 s
constexpr double kSeconds = 4320;
constexpr AppId kApp{1};
constexpr AppVersionId kVersion{11};

TEST(LowAverage, LeansToTheSmallValues) {
  EXPECT_DOUBLE_EQ(LowAverage(std::vector<double>{1, 2}), 4.0 / 3);  // each weighted by the other
  EXPECT_DOUBLE_EQ(LowAverage(std::vector<double>{10, 10, 10}), 10);
  // (2 x 10 x 1010 + 1000 x 20) / (2 x 1020)
  EXPECT_DOUBLE_EQ(LowAverage(std::vector<double>{10, 10, 1000}), 40200.0 / 2040);
  EXPECT_EQ(LowAverage(std::vector<double>{-3}), -3);
}

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest() {
    AppRow app;
    app.id = kApp;
    app.policy = {
        .kind = PolicyKind::kRuntime, .version = 1, .constants = DefaultConstants(PolicyKind::kRuntime)};
    catalogue.apps[kApp.value] = app;
    AppVersionRow version;
    version.id = 11;
    version.app = kApp;
    catalogue.versions[version.id] = version;
    job.app = kApp;
    job.version = kVersion;
    job.outcome = Outcome::kSuccess;
    job.elapsed_time = kSeconds;
    job.peak_flops = kSpeed;
    job.sent_time = 1000;
    job.received_time = 6000;
    validation.app = kApp;
    validation.fpops_est = kE;
    validation.fpops_bound = 10 * kE;
    validation.state = ValidateState::kValid;
    validation.workunit = WorkunitId(1);
  }
  ClaimDecision Validate() {
    validation.pass += 1;
    return RuntimePolicy().OnValidation(job, validation, {ProjectId(1), catalogue, scales}, host);
  }

  Catalogue catalogue;
  ScaleTable scales;
  HostRecord host;
  CompletionFacts job;
  ValidationFacts validation;
};

TEST_F(RuntimeTest, ClaimsElapsedTimeTimesSpeedWithoutStatistics) {
  const ClaimDecision decision = Validate();
  ASSERT_TRUE(decision.has_claim);
  EXPECT_EQ(decision.claim.mode, Mode::kRuntime);
  EXPECT_EQ(decision.claim.claimed, 20);
  EXPECT_FALSE(decision.has_sample);
  const HostVersion& row = *FindHostVersion(host, kApp, kVersion);
  EXPECT_EQ(row.pfc.n, 0);
  EXPECT_EQ(row.consecutive_valid, 1);
  EXPECT_EQ(row.max_jobs_per_day, 1);
  EXPECT_EQ(host.avg_turnaround, 5000);
}

TEST_F(RuntimeTest, UsesReportedTimeAndSpeedExceptThePlaceholderSpeed) {
  job.cpu_time = kSeconds;
  job.elapsed_time = 0;
  EXPECT_EQ(Validate().claim.claimed, 0);
  job.elapsed_time = kSeconds;
  job.peak_flops = 1e9;
  EXPECT_EQ(Validate().claim.claimed, 43);
  job.peak_flops = -1;
  EXPECT_LT(Validate().claim.claimed, 0);
}

TEST_F(RuntimeTest, AValueAboveTwiceTheBoundBecomesTheBound) {
  validation.fpops_bound = kE / 2;
  EXPECT_EQ(Validate().claim.claimed, 20);  // twice exactly
  validation.fpops_bound = kE / 4;
  EXPECT_EQ(Validate().claim.claimed, 5);
}

TEST_F(RuntimeTest, AnInvalidResultClaimsCreditAndEndsTheRun) {
  Validate();
  validation.state = ValidateState::kInvalid;
  const ClaimDecision decision = Validate();
  EXPECT_TRUE(RuntimePolicy().CountsInvalid());
  ASSERT_TRUE(decision.has_claim);
  EXPECT_EQ(decision.claim.flags & (kClaimValid | kClaimInvalid), kClaimInvalid);
  EXPECT_EQ(decision.claim.claimed, 20);
  EXPECT_EQ(FindHostVersion(host, kApp, kVersion)->consecutive_valid, 0);
  EXPECT_EQ(host.avg_turnaround, 5000);
}

TEST_F(RuntimeTest, ALateResultFeedsTheStatisticsLikeBoinc) {
  validation.late = true;
  const ClaimDecision decision = Validate();
  EXPECT_EQ(decision.claim.mode, Mode::kApproximate);
  EXPECT_TRUE(decision.has_sample);
  EXPECT_EQ(FindHostVersion(host, kApp, kVersion)->pfc, (Average{.n = 1, .mean = 1}));
  Claim again = decision.claim;
  again.pfc = -1;
  RuntimePolicy().Price(again, catalogue.apps[kApp.value].policy.constants);
  EXPECT_EQ(again.pfc, decision.claim.pfc);
}

Claim Of(double claimed) {
  Claim claim;
  claim.claimed = claimed;
  return claim;
}

TEST(RuntimeAward, IsTheLowAverageOfPositiveClaimsBelowTheCap) {
  const Constants constants = DefaultConstants(PolicyKind::kRuntime);
  const auto award = [&](const std::vector<Claim>& claims) {
    return RuntimePolicy().Settle(claims, 500, constants);
  };
  EXPECT_DOUBLE_EQ(award({Of(10), Of(20)}).credit, 40.0 / 3);
  EXPECT_EQ(award({Of(-5), Of(0), Of(501), Of(30)}).credit, 30);
  EXPECT_EQ(award({Of(-5), Of(0), Of(501), Of(30)}).modes,
            (std::vector<Mode>{Mode::kCapped, Mode::kCapped, Mode::kCapped, Mode::kRuntime}));
  EXPECT_EQ(award({Of(0), Of(501)}).credit, 0);
  EXPECT_EQ(RuntimePolicy().Settle(std::vector<Claim>{Of(501)}, 0, constants).credit, 501);  // no cap
}

}  // namespace
}  // namespace cobblestone::credit
