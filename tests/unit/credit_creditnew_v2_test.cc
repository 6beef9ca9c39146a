// S001's policy, rule by rule. Worked numbers: credit_world.h.
#include "common/credit/policies/creditnew_v2.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/credit_world.h"

namespace cobblestone::credit {
namespace {

class CreditNewV2Test : public testing::Test {
 protected:
  World world{CreditNewV2Policy(), PolicyKind::kCreditNewV2};
  HostRecord host;

  void SetAppMean(double mean) {
    world.AppScales().npfc_weight = 100 * kE;
    world.AppScales().npfc_mean = mean;
  }
  void SetHostMean(HostRecord& of, double mean) { of.apps = {{world.app, 10 * kE, mean, 0.02}}; }
};

TEST_F(CreditNewV2Test, TheFirstJobIsWorthItsPeakFlopCount) {
  const Claim claim = world.ClaimOf({}, host);
  EXPECT_EQ(claim.claimed, kFull);
  EXPECT_EQ(claim.mode, Mode::kApproximate);
}

TEST_F(CreditNewV2Test, ClaimIsNpfcTimesAppMeanOverHostMean) {
  // "NPFC(J) * (NPFC*(A)/NPFC*(H, A))"
  world.SetVersion(kCpuVersion, 500, 2, 0.5);
  SetAppMean(0.75);
  SetHostMean(host, 0.5);
  const Claim claim = world.ClaimOf({}, host);
  EXPECT_EQ(claim.claimed, 20 * 0.5 * 1.5);
  EXPECT_EQ(claim.mode, Mode::kNormal);
  EXPECT_EQ(claim.min_avg_pfc, 0.75);
  EXPECT_EQ(claim.host_pfc_mean, 0.5);
  EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
}

TEST_F(CreditNewV2Test, TheHostsAverageIsWeightedByTheSizeOfJobs) {
  // "we'll weight the average by workunit.rsc_flops_est". 1 at size E, then 2 at size 3E, the first faded by
  // 1 %: (0.99 x 1 + 3 x 2) / (0.99 + 3).
  (void)world.ClaimOf({}, host);
  ASSERT_EQ(host.apps.size(), 1u);
  EXPECT_EQ(host.apps[0].weight, kE);
  EXPECT_EQ(host.apps[0].npfc_mean, 1);
  Job big{.elapsed = 6 * kSeconds, .fpops_est = 3 * kE, .received = 7 * kSeconds, .validated = 8 * kSeconds};
  (void)world.ClaimOf(big, host);
  EXPECT_DOUBLE_EQ(host.apps[0].weight, 3.99 * kE);
  EXPECT_DOUBLE_EQ(host.apps[0].npfc_mean, (0.99 + 6) / 3.99);
}

TEST_F(CreditNewV2Test, OneTimeCheatsAreCappedAtTenTimesTheAppsMean) {
  SetAppMean(1);
  Job job{.peak_flops = 1e13, .fpops_bound = 1e300};  // 10,000 times
  const Claim capped = world.ClaimOf(job, host);
  EXPECT_EQ(capped.claimed, 200);
  EXPECT_TRUE(Has(capped, kClaimOneTimeCheat));
  EXPECT_EQ(host.apps[0].npfc_mean, 10);  // the average contains the claimed value
  EXPECT_TRUE(SamePriceAgain(world.policy, capped, world.Rules()));
}

TEST_F(CreditNewV2Test, ATinyHostAverageDoesNotRaiseTheClaimAboveTheCap) {
  SetAppMean(1);
  SetHostMean(host, 0.001);
  EXPECT_EQ(world.ClaimOf({}, host).claimed, 200);  // not 20,000
}

TEST_F(CreditNewV2Test, ErrorTimeOutOrInvalidResetsTheHostsAveragesOfAllApps) {
  enum class End { kError, kTimeout, kAborted, kInvalid, kCancelled };
  struct Case {
    const char* what;
    End end;
    bool reset;
  };
  const Case cases[] = {{"errors out", End::kError, true},
                        {"times out", End::kTimeout, true},
                        {"is discarded", End::kAborted, true},
                        {"fails to validate", End::kInvalid, true},
                        {"is cancelled by the project", End::kCancelled, false}};
  const AppId other(2);
  AppRow row = world.App();
  row.id = other;
  row.policy.constants.error_rate_initial = 0.3;
  world.catalogue.apps[other.value] = row;
  world.scales.apps[other.value].npfc_weight = kE;
  world.scales.apps[other.value].npfc_mean = 0.25;
  SetAppMean(1);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    HostRecord one;
    one.apps = {{world.app, 10 * kE, 0.1, 0.02}, {other, 4 * kE, 0.01, 0.03}, {AppId(3), kE, 0.5, 0.04}};
    world.Row(one).error_rate = 0.02;
    switch (c.end) {
      case End::kError: world.Fail({}, Outcome::kClientError, one); break;
      case End::kTimeout: world.Fail({}, Outcome::kTimeout, one); break;
      case End::kAborted: world.Fail({}, Outcome::kAbortedByUser, one); break;
      case End::kInvalid: (void)world.Validate({}, one, ValidateState::kInvalid); break;
      case End::kCancelled: world.Fail({}, Outcome::kAbortedByProject, one); break;
    }
    EXPECT_EQ(one.apps[0].npfc_mean, c.reset ? 1 : 0.1);
    EXPECT_EQ(one.apps[0].error_rate, c.reset ? 0.1 : 0.02);
    EXPECT_EQ(one.apps[1].npfc_mean, c.reset ? 0.25 : 0.01);
    EXPECT_EQ(one.apps[1].error_rate, c.reset ? 0.3 : 0.03);
    EXPECT_EQ(one.apps[2].weight, c.reset ? 0 : kE);  // an app without an average removes the host's average
    EXPECT_EQ(world.Row(one).error_rate, c.reset ? 0.1 : 0.02);
    EXPECT_EQ(one.apps[0].weight, 10 * kE);
  }
}

TEST_F(CreditNewV2Test, ErrorsResetACherryPickerToTheAppsMean) {
  // "soon it will be getting several thousand times more credit per actual work": jobs of 1 s among jobs of
  // an hour.
  SetAppMean(1);
  double last = 0;
  for (int i = 0; i < 300; ++i) {
    world.Fail({.received = 10}, Outcome::kClientError, host);
    last = world.ClaimOf({.elapsed = kSeconds / 3600}, host).claimed;
  }
  EXPECT_EQ(last, 20.0 / 3600);  // its own average never counted
}

TEST_F(CreditNewV2Test, GrantIsTheMinOfTheValidResults) {
  std::vector<Claim> claims(3);
  const double amounts[] = {30, 10, 20};
  for (int i = 0; i < 3; ++i) {
    claims[i].flags = kClaimValid;
    claims[i].claimed = amounts[i];
  }
  EXPECT_EQ(world.Settle(claims).credit, 10);
  EXPECT_EQ(world.Settle({claims[0]}).credit,
            30);  // "for single replications; granted credit = claimed credit"
  world.Rules().replication = Replication::kAverage;
  EXPECT_EQ(world.Settle(claims).credit, 10);  // min is the policy, not an option
}

TEST_F(CreditNewV2Test, InsaneOrAnonymousJobsArePaidTheAppsMeanAndFeedNothing) {
  SetAppMean(0.5);
  Job insane{.peak_flops = std::numeric_limits<double>::infinity()};
  const ClaimDecision decision = world.Validate(insane, host);
  EXPECT_EQ(decision.claim.claimed, 10);
  EXPECT_EQ(decision.claim.mode, Mode::kDefaultPfc);
  EXPECT_FALSE(decision.has_sample);

  const ClaimDecision anonymous = world.Validate({.version = -3}, host);
  EXPECT_EQ(anonymous.claim.claimed, 10);
  EXPECT_EQ(anonymous.claim.mode, Mode::kWorkunitEstimate);
  EXPECT_FALSE(Has(anonymous.sample, kSampleApp));
  EXPECT_EQ(host.apps[0].weight, 0);
}

TEST_F(CreditNewV2Test, AValidResultLowersTheErrorRateAndIsASampleOfTheApp) {
  const ClaimDecision decision = world.Validate({}, host);
  EXPECT_EQ(host.apps[0].error_rate, 0.1 * 0.95);
  EXPECT_EQ(decision.sample.flags, kSamplePfc | kSampleCredit | kSampleUse | kSampleClaim | kSampleApp);
  EXPECT_EQ(decision.sample.pfc, 1);
  EXPECT_EQ(decision.sample.weight, kE);
}

TEST(WeightedAverageTest, FadesEarlierValues) {
  WeightedAverage average;
  EXPECT_TRUE(UpdateWeighted(average, {4, 2}, 0.5));
  EXPECT_EQ(average.mean, 4);
  EXPECT_TRUE(UpdateWeighted(average, {1, 1}, 0.5));  // (0.5 x 2 x 4 + 1 x 1) / (1 + 1)
  EXPECT_EQ(average.weight, 2);
  EXPECT_EQ(average.mean, 2.5);
}

TEST(WeightedAverageTest, RefusesInvalidValuesAndSizes) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const WeightedValue refused[] = {{-1, 1}, {nan, 1}, {infinity, 1}, {1, 0},
                                   {1, -1}, {1, nan}, {1, infinity}};
  for (const WeightedValue& sample : refused) {
    WeightedAverage average{2, 4};
    EXPECT_FALSE(UpdateWeighted(average, sample, 0.5)) << sample.value << " " << sample.size;
    EXPECT_EQ(average.weight, 2);
    EXPECT_EQ(average.mean, 4);
  }
}

}  // namespace
}  // namespace cobblestone::credit
