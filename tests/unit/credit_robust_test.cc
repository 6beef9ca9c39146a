// Policy `robust`, rule by rule (docs/rules.md, section 54). Worked numbers: credit_world.h.
#include "common/credit/policies/robust.h"

#include <gtest/gtest.h>
#include <array>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "tests/unit/credit_world.h"

namespace cobblestone::credit {
namespace {

class RobustTest : public testing::Test {
 protected:
  // A host with 40 results and no failures: its claims are its measurements, relative to `mean`.
  HostRecord Calibrated(double mean, std::int64_t version = kCpuVersion) {
    HostRecord made = world.Trusted(40, mean, version);
    const double before = 1000 * kE;  // priced and paid as expected
    made.apps = {{.app = world.app,
                  .error_rate = world.Rules().failure_allowance,
                  .expected = before,
                  .claimed = before}};
    return made;
  }
  [[nodiscard]] static Job Sized(double times) {
    return {
        .elapsed = times * kSeconds, .received = times * kSeconds + 100, .validated = times * kSeconds + 200};
  }
  double FailureRate(const HostRecord& of) { return of.apps.at(0).error_rate; }

  World world{RobustPolicy(), PolicyKind::kRobust};
  HostRecord host;
};

TEST_F(RobustTest, ANewHostEarnsTheEstimateWhateverItReports) {
  world.SetMinAvgPfc(0.5);
  for (int job = 0; job < 10; ++job) {
    const Claim claim = world.ClaimOf(Sized(job % 2 == 0 ? 50 : 0.01), host);
    EXPECT_EQ(claim.mode, Mode::kApproximate);
    EXPECT_TRUE(Has(claim, kClaimUncalibrated));
    EXPECT_DOUBLE_EQ(claim.claimed, 10 * Reliability(claim.failure_rate, world.Rules()));
    EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
    EXPECT_EQ(claim.reliability, Reliability(0.1 * std::pow(0.98, job), world.Rules()));
  }
  EXPECT_EQ(world.ClaimOf({}, host).mode, Mode::kNormal);
}

// Where other hosts do the same job, a new host's report shows the job's size: the lower of such claims counts.
TEST_F(RobustTest, ANewHostsReplicatedResultIsMeasuredByTheVersionsAverage) {
  world.SetMinAvgPfc(0.5);
  world.SetVersion(kCpuVersion, 101, 4, 0);
  Job small = Sized(0.2);
  small.awaited = 2;
  const Claim claim = world.ClaimOf(small, host);
  EXPECT_EQ(claim.mode, Mode::kApproximate);
  EXPECT_TRUE(Has(claim, kClaimHasVersionScale));
  EXPECT_DOUBLE_EQ(claim.claimed, 0.5 * kFull * 0.2 / 4);
  EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
  Job huge = Sized(90);
  huge.awaited = 2;
  EXPECT_DOUBLE_EQ(world.ClaimOf(huge, host).claimed, 0.5 * kFull * 10);  // cut at ten times the average
  EXPECT_DOUBLE_EQ(world.ClaimOf(Sized(0.2), host).claimed,
                   0.5 * kFull * Reliability(0.1 * 0.98 * 0.98, world.Rules()));  // single

  // A version that has no average yet in an app that has a level: the estimate.
  world.SetVersion(kCpuVersion, 100, 4, 0);
  EXPECT_DOUBLE_EQ(world.ClaimOf(small, host).claimed, 0.5 * kFull);
}

// Ten results of the version's average count beside the host's, so a host with few results claims more precisely, and
// one that sandbagged cannot claim a multiple for its next jobs.
TEST_F(RobustTest, AReplicatedResultIsComparedWithAnAverageOfHostAndVersion) {
  world.SetMinAvgPfc(0.5);
  world.SetVersion(kCpuVersion, 101, 1.5, 0);
  Job job = Sized(2);
  job.awaited = 2;
  host = Calibrated(1);
  const Claim claim = world.ClaimOf(job, host);  // (40 x 1 + 10 x 1.5) / 50 = 1.1
  EXPECT_EQ(claim.mode, Mode::kNormal);
  EXPECT_DOUBLE_EQ(claim.claimed, 0.5 * kFull * 2 / 1.1);
  EXPECT_TRUE(Has(claim, kClaimHasHostScale));
  EXPECT_TRUE(Has(claim, kClaimHasVersionScale));
  EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));

  host = Calibrated(1);
  const Claim single = world.ClaimOf(Sized(2), host);
  EXPECT_DOUBLE_EQ(single.claimed, 0.5 * kFull * 2);
  EXPECT_FALSE(Has(single, kClaimHasVersionScale));

  host = Calibrated(1);
  world.Row(host).pfc.n = 5;
  world.SetVersion(kCpuVersion, 101, 4, 0);
  const Claim young = world.ClaimOf(job, host);  // (5 x 1 + 10 x 4) / 15 = 3
  EXPECT_EQ(young.mode, Mode::kApproximate);
  EXPECT_DOUBLE_EQ(young.claimed, 0.5 * kFull * 2 / 3);
  EXPECT_FALSE(Has(young, kClaimHasHostScale));

  world.SetVersion(kCpuVersion, 100, 4, 0);  // not known well enough
  host = Calibrated(1);
  EXPECT_DOUBLE_EQ(world.ClaimOf(job, host).claimed, 0.5 * kFull * 2);
}

// A release would otherwise pay each host ten times the estimate of a job, whatever the job was. Its budget bounds what a
// host can gain by false reports, as with its older version.
TEST_F(RobustTest, AHostThatIsNewToAVersionOnlyIsMeasuredByTheVersionsAverage) {
  world.SetMinAvgPfc(0.5);
  world.SetVersion(kSecondCpuVersion, 101, 4, 0);
  host = Calibrated(1);
  const auto claim_of = [&](double times) {
    Job job = Sized(times);
    job.version = kSecondCpuVersion;
    return world.ClaimOf(job, host);
  };
  const Claim first = claim_of(2);
  EXPECT_EQ(first.mode, Mode::kApproximate);
  EXPECT_EQ(first.host_pfc_n, 0);
  EXPECT_DOUBLE_EQ(first.claimed, 0.5 * kFull * 2 / 4);
  EXPECT_FALSE(Has(first, kClaimUncalibrated));
  EXPECT_TRUE(Has(first, kClaimHasVersionScale));
  EXPECT_FALSE(Has(first, kClaimHasHostScale));
  EXPECT_TRUE(SamePriceAgain(world.policy, first, world.Rules()));
  const Claim second = claim_of(14);  // (1 x 2 + 10 x 4) / 11
  EXPECT_DOUBLE_EQ(second.claimed, 0.5 * kFull * 14 / (42 / 11.0) * second.reliability);
  // There is no average of its own above which reports could rise.
  host.apps[0].rising = 49;
  EXPECT_FALSE(Has(claim_of(20), kClaimRising));
  EXPECT_EQ(host.apps[0].rising, 49);
  // Ten samples are one.
  world.Row(host, kSecondCpuVersion).pfc = {.n = 9, .mean = 2};
  EXPECT_EQ(claim_of(2).mode, Mode::kApproximate);
  const Claim own = claim_of(2);
  EXPECT_EQ(own.mode, Mode::kNormal);
  EXPECT_DOUBLE_EQ(own.claimed, 0.5 * kFull * own.reliability);
  EXPECT_FALSE(Has(own, kClaimHasVersionScale));

  // The version has no average yet, or the host is calibrated in another app: the estimate.
  world.SetVersion(kSecondCpuVersion, 100, 4, 0);
  host = Calibrated(1);
  EXPECT_DOUBLE_EQ(claim_of(2).claimed, 0.5 * kFull);
  world.SetVersion(kSecondCpuVersion, 101, 4, 0);
  world.Row(host, kSecondCpuVersion).pfc = {};
  world.Row(host).app = AppId{world.app.value + 1};
  const Claim stranger = claim_of(2);
  EXPECT_DOUBLE_EQ(stranger.claimed, 0.5 * kFull * stranger.reliability);
  EXPECT_TRUE(Has(stranger, kClaimUncalibrated));
}

TEST_F(RobustTest, AHostThatIsNewToAVersionOnlyStaysWithinItsBudget) {
  world.SetMinAvgPfc(0.5);
  world.SetVersion(kSecondCpuVersion, 101, 1, 0);
  host = Calibrated(1);
  host.apps[0].expected = host.apps[0].claimed = 0.5 * 100 * kE;
  Job job = Sized(50);
  job.version = kSecondCpuVersion;
  const Claim claim = world.ClaimOf(job, host);
  EXPECT_TRUE(Has(claim, kClaimOverBudget));
  EXPECT_DOUBLE_EQ(claim.claimed, 0.5 * kFull * 5.04);  // 1.04 x 101 - 100
}

// Otherwise a host that reports a hundredth of the truth would claim a fraction, and lower what its partners get.
TEST_F(RobustTest, TheVersionsAverageCountsWithinTwiceAndHalfOfAHostsWithThirtyResults) {
  world.SetMinAvgPfc(0.5);
  world.SetVersion(kCpuVersion, 101, 4, 0);
  Job job = Sized(0.02);
  job.awaited = 2;
  host = Calibrated(0.02);  // (40 x 0.02 + 10 x 0.04) / 50 = 0.024
  EXPECT_DOUBLE_EQ(world.ClaimOf(job, host).claimed, 0.5 * kFull * 0.02 / 0.024);
  job = Sized(40);
  job.awaited = 2;
  host = Calibrated(40);  // (40 x 40 + 10 x 20) / 50 = 36
  EXPECT_DOUBLE_EQ(world.ClaimOf(job, host).claimed, 0.5 * kFull * 40 / 36);
}

// The first jobs of an honest host may all be small. Compared with their average alone, the next small one would be
// worth a usual job, to the gain of a host that keeps its small jobs and shares this one.
TEST_F(RobustTest, BesideAHostWithLessThanThirtyResultsTheVersionsAverageCountsInFull) {
  world.SetMinAvgPfc(0.5);
  world.SetVersion(kCpuVersion, 101, 2, 0);
  Job job = Sized(0.1);
  job.awaited = 2;
  host = Calibrated(0.1);
  world.Row(host).pfc.n = 10;
  const Claim claim = world.ClaimOf(job, host);  // (10 x 0.1 + 10 x 2) / 20 = 1.05
  EXPECT_DOUBLE_EQ(claim.claimed, 0.5 * kFull * 0.1 / 1.05);
  EXPECT_TRUE(Has(claim, kClaimHasHostScale));
  EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
}

TEST_F(RobustTest, TheFirstReplicatedResultsOfAnAppCountAtMostTheirEstimate) {
  Job job = Sized(0.2);
  job.awaited = 2;
  const Claim small = world.ClaimOf(job, host);
  EXPECT_DOUBLE_EQ(small.claimed, 0.2 * kFull);
  EXPECT_TRUE(SamePriceAgain(world.policy, small, world.Rules()));
  job = Sized(7);
  job.awaited = 2;
  EXPECT_EQ(world.ClaimOf(job, host).claimed, kFull);
}

TEST_F(RobustTest, ACalibratedHostIsPaidByWhatTheJobMeasuresAgainstItsOwnAverage) {
  world.SetMinAvgPfc(0.5);
  host = Calibrated(4);  // a slow build of the app, or a wrong benchmark: four times the peak FLOPs per FLOP
  const Claim twice = world.ClaimOf(Sized(8), host);
  EXPECT_EQ(twice.mode, Mode::kNormal);
  EXPECT_DOUBLE_EQ(twice.claimed, 20 * 0.5 * 2);  // a job of twice the usual size for its estimate
  EXPECT_TRUE(Has(twice, kClaimHasHostScale));
  EXPECT_TRUE(SamePriceAgain(world.policy, twice, world.Rules()));
  host = Calibrated(4);
  EXPECT_DOUBLE_EQ(world.ClaimOf(Sized(2), host).claimed, 20 * 0.5 * 0.5);
}

TEST_F(RobustTest, WhatIsPaidIsWhatIsAveragedSoThatASpikeCountsTenTimesAtMost) {
  host = Calibrated(1);
  const Claim spike = world.ClaimOf(Sized(20), host);
  EXPECT_TRUE(Has(spike, kClaimOneTimeCheat));
  EXPECT_EQ(spike.claimed, 10 * kFull);
  EXPECT_DOUBLE_EQ(world.Row(host).pfc.mean,
                   1 + 0.01 * 9);  // the sample had this weight, and was cut as well
}

TEST_F(RobustTest, NoSeriesOfReportsRaisesTheSumOfClaimsAboveTheBudget) {
  struct Series {
    const char* what;
    double (*of)(int);
  };
  const Series all[] = {
      {"constant", [](int) { return 20.0; }},
      {"ramp", [](int n) { return std::min(20.0, std::pow(1.01, n)); }},
      {"steep ramp", [](int n) { return std::min(20.0, std::pow(1.3, n % 40)); }},
      {"spikes", [](int n) { return n % 30 == 29 ? 20.0 : 1.0; }},
      {"sandbag", [](int n) { return n < 12 ? 0.01 : 1.0; }},
      {"small, then large", [](int n) { return n < 500 ? 0.001 : 20.0; }},
      {"up and down", [](int n) { return n % 2 == 0 ? 10.0 : 0.1; }},
  };
  for (const Series& series : all) {
    HostRecord cheat;
    HostRecord honest;
    double claimed = 0;
    double deserved = 0;
    for (int n = 0; n < 1000; ++n) {
      claimed += world.ClaimOf(Sized(series.of(n)), cheat).claimed;
      deserved += world.ClaimOf({}, honest).claimed;
      EXPECT_LE(claimed, 1.04 * deserved * (1 + 1e-12)) << series.what << ", job " << n;
    }
    EXPECT_GT(claimed, 0) << series.what;
  }
}

TEST_F(RobustTest, TheBudgetIsOfHostAndAppSoAnotherVersionStartsNoNewOne) {
  host = Calibrated(1);
  host.apps[0].expected = host.apps[0].claimed = kE;
  world.Row(host, kSecondCpuVersion).pfc = {40, 1};
  Job other = Sized(3);
  other.version = kSecondCpuVersion;
  const Claim first = world.ClaimOf(Sized(3), host);
  EXPECT_DOUBLE_EQ(first.claimed, (1.04 * 2 - 1) * kFull);
  EXPECT_TRUE(Has(first, kClaimOverBudget));
  EXPECT_TRUE(SamePriceAgain(world.policy, first, world.Rules()));
  const Claim second = world.ClaimOf(other, host);
  EXPECT_DOUBLE_EQ(second.claimed, 1.04 * kFull * second.reliability);
  EXPECT_TRUE(Has(second, kClaimOverBudget));
}

// The other claims for the job bound it. The budget must not: jobs that are larger than estimated may come first. Nor may
// a small job leave budget for a single result.
TEST_F(RobustTest, AReplicatedResultCountsInTheBudgetAsPaidWithItsDefault) {
  for (const double size : {3.0, 0.1}) {
    host = Calibrated(1);
    host.apps[0].expected = host.apps[0].claimed = kE;
    Job job = Sized(size);
    job.awaited = 2;
    const Claim claim = world.ClaimOf(job, host);
    EXPECT_DOUBLE_EQ(claim.claimed, size * kFull);
    EXPECT_FALSE(Has(claim, kClaimOverBudget));
    EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
    EXPECT_DOUBLE_EQ(host.apps[0].expected, 2 * kE);
    EXPECT_DOUBLE_EQ(host.apps[0].claimed, 2 * kE);
    const Claim single = world.ClaimOf(Sized(3), host);
    EXPECT_TRUE(Has(single, kClaimOverBudget));
    EXPECT_NEAR(single.claimed, (1.04 * (2 + single.reliability) - 2) * kFull, 1e-9);
  }
}

TEST_F(RobustTest, FailuresLowerClaimsAsIfTheLargestJobsHadFailed) {
  const Constants rules = DefaultConstants(PolicyKind::kRobust);
  EXPECT_DOUBLE_EQ(Reliability(rules.failure_allowance, rules), 1);
  EXPECT_DOUBLE_EQ(Reliability(0, rules), 0.97 / 0.9325);
  EXPECT_DOUBLE_EQ(Reliability(0.2, rules), (1 - 0.45) / 0.8 * (0.97 / 0.9325));
  EXPECT_EQ(Reliability(1 / 2.25, rules), 0);
  EXPECT_EQ(Reliability(1, rules), 0);
  Constants free = rules;
  free.failure_weight = 0;  // counts as 1: a failure then costs its own job and no more
  EXPECT_EQ(Reliability(0.5, free), 1);
  free = rules;
  free.failure_allowance = 1;  // no claim could reach it: no rule
  EXPECT_EQ(Reliability(0.5, free), 1);

  // Half of the jobs are aborted: nothing is left after a while.
  host = Calibrated(1);
  for (int n = 0; n < 200; ++n) {
    world.Fail({}, Outcome::kAbortedByUser, host);
    (void)world.ClaimOf({}, host);
  }
  EXPECT_NEAR(FailureRate(host), 0.5, 0.02);
  EXPECT_EQ(world.ClaimOf({}, host).claimed, 0);
}

TEST_F(RobustTest, EveryKindOfFailureCountsAndAnAbortByTheProjectOnlyIfTheProjectSaysSo) {
  for (const Outcome outcome :
       {Outcome::kClientError, Outcome::kAbortedByUser, Outcome::kTimeout, Outcome::kAbortedByProject}) {
    HostRecord failing = Calibrated(1);
    world.Fail({}, outcome, failing);
    EXPECT_DOUBLE_EQ(FailureRate(failing), 0.03 * 0.98 + 0.02) << static_cast<int>(outcome);
  }
  HostRecord invalid = Calibrated(1);
  (void)world.Validate({}, invalid, ValidateState::kInvalid);
  EXPECT_DOUBLE_EQ(FailureRate(invalid), 0.03 * 0.98 + 0.02);

  HostRecord cancelled = Calibrated(1);
  CompletionFacts attempt = world.Completion({}, Outcome::kAbortedByProject);
  attempt.cancelled = true;
  world.policy.OnFailure(attempt, world.Force(), cancelled);
  EXPECT_EQ(FailureRate(cancelled), 0.03);
}

TEST_F(RobustTest, ALateResultChangesNoAverageAndNoBudget) {
  host = Calibrated(1);
  Job late = Sized(3);
  late.late = true;
  const ClaimDecision decision = world.Validate(late, host);
  EXPECT_FALSE(Has(decision.sample, kSamplePfc));
  EXPECT_EQ(world.Row(host).pfc, (Average{40, 1}));
  EXPECT_EQ(host.apps[0].expected, 1000 * kE);
  EXPECT_EQ(host.apps[0].claimed, 1000 * kE);
}

TEST_F(RobustTest, AnAnonymousVersionIsMeasuredLikeAnyOther) {
  host = Calibrated(4, -2);
  Job job = Sized(8);
  job.version = -2;
  const Claim claim = world.ClaimOf(job, host);
  EXPECT_EQ(claim.claimed, 2 * kFull);
  EXPECT_GT(world.Row(host, -2).pfc.mean, 4);
}

TEST_F(RobustTest, AClaimThatNoJobCanMakeIsWorthTheEstimate) {
  host = Calibrated(1);
  Job job;
  job.peak_flops = std::numeric_limits<double>::infinity();
  const Claim claim = world.ClaimOf(job, host);
  EXPECT_TRUE(Has(claim, kClaimSanityFailed));
  EXPECT_EQ(claim.mode, Mode::kDefaultPfc);
  EXPECT_EQ(claim.claimed, kFull);
  EXPECT_EQ(world.Row(host).pfc, (Average{40, 1}));
}

// A GPU version may need many times its estimate in peak FLOPs, so its larger jobs exceed a bound that was made for CPUs.
TEST_F(RobustTest, WorkAboveTheBoundCountsAsTheBoundInClaimAndAverage) {
  host = Calibrated(2);
  Job job = Sized(5);
  job.fpops_bound = 3 * kE;
  const Claim claim = world.ClaimOf(job, host);
  EXPECT_TRUE(Has(claim, kClaimPfcClamped));
  EXPECT_FALSE(Has(claim, kClaimSanityFailed));
  EXPECT_EQ(claim.mode, Mode::kNormal);
  EXPECT_EQ(claim.claimed, 1.5 * kFull);
  EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
  EXPECT_DOUBLE_EQ(world.Row(host).pfc.mean, 2 + 0.01 * (3 - 2));
}

TEST_F(RobustTest, AnInfiniteReportIsInsaneAlsoAboveTheBound) {
  host = Calibrated(1);
  Job job;
  job.elapsed = 1e305;  // x peak FLOP/s is infinite; the time since the dispatch is not
  job.fpops_bound = kE / 2;
  const Claim claim = world.ClaimOf(job, host);
  EXPECT_TRUE(Has(claim, kClaimSanityFailed));
  EXPECT_EQ(claim.claimed, kFull);
}

// Other results of the workunit show whether the host keeps its small jobs only, so its failures need not.
TEST_F(RobustTest, FailuresLowerNoClaimOfAReplicatedResult) {
  host = Calibrated(1);
  host.apps[0].error_rate = 0.3;
  Job replicated = Sized(2);
  replicated.awaited = 2;
  const Claim claim = world.ClaimOf(replicated, host);
  EXPECT_EQ(claim.reliability, Reliability(0.3, world.Rules()));
  EXPECT_EQ(claim.claimed, 2 * kFull);
  EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
}

TEST_F(RobustTest, TheGrantIsTheLowAverageOfMeasuredClaimsUpToThirteenTenthsOfTheLowest) {
  const auto claim = [](double claimed, std::uint32_t flags) {
    Claim c;
    c.flags = kClaimValid | flags;
    c.claimed = claimed;
    c.awaited = 2;
    c.reliability = 1;
    c.fpops_est = 10 * kE;
    return c;
  };
  constexpr std::uint32_t kOwn = kClaimHasHostScale;
  const Claim estimate = claim(100, kClaimUncalibrated);
  EXPECT_EQ(world.Settle({claim(20, kOwn), estimate}).credit, 20);
  EXPECT_EQ(world.Settle({claim(20, kOwn), claim(10, kClaimUncalibrated)}).credit,
            20);  // a low estimate, too
  EXPECT_EQ(world.Settle({estimate, estimate}).credit, 100);
  EXPECT_EQ(world.Settle({claim(10, kOwn), claim(30, kOwn)}).credit, 10);
  EXPECT_EQ(world.Settle({claim(10, kOwn), claim(12, kOwn)}).credit, 120.0 / 11);  // 2 x 10 x 12 / 22
  EXPECT_EQ(world.Settle({claim(12, kOwn), estimate, claim(10, kOwn), claim(13.1, kOwn)}).credit, 120.0 / 11);
  EXPECT_EQ(world.Settle({estimate, claim(120, kClaimUncalibrated)}).credit, 1200.0 / 11);
  // A new host's measurement counts as much: a host that has averaged its small jobs only shall not decide alone.
  const Claim newcomer = claim(10, kClaimUncalibrated | kClaimHasVersionScale);
  EXPECT_EQ(world.Settle({claim(200, kOwn), newcomer, estimate}).credit, 10);
  EXPECT_EQ(world.Settle({claim(0, kOwn), claim(0, kOwn)}).credit, 0);
  EXPECT_EQ(world.Settle({}).credit, 0);
  const Settlement capped = world.Settle({claim(100, kOwn), estimate}, 50);
  EXPECT_EQ(capped.credit, 50);
  EXPECT_EQ(capped.modes[0], Mode::kCapped);
}

// Two accounts without history that share a job could otherwise confirm to each other that it was ten times as large.
TEST_F(RobustTest, AJobThatNewHostsAloneHaveMeasuredPaysAtMostItsDefault) {
  const auto claim = [](double claimed, std::uint32_t flags = 0) {
    Claim c;
    c.flags = kClaimValid | kClaimHasVersionScale | kClaimMinAvgDefined | flags;
    c.claimed = claimed;
    c.awaited = 2;
    c.reliability = 1;
    c.min_avg_pfc = 0.5;
    c.fpops_est = 5 * kE;
    return c;
  };
  constexpr std::uint32_t kNew = kClaimUncalibrated | kClaimRough;
  EXPECT_EQ(world.Settle({claim(500, kNew), claim(500, kNew)}).credit, 50);
  EXPECT_EQ(world.Settle({claim(60, kNew), claim(500, kNew)}).credit, 48);  // left alone: four fifths
  EXPECT_EQ(world.Settle({claim(80, kNew), claim(500, kNew)}).credit, 50);
  EXPECT_EQ(world.Settle({claim(40, kNew), claim(40, kNew)}).credit, 40);  // a small job is not worth more
  EXPECT_EQ(world.Settle({claim(90, kNew), claim(90)}).credit, 90);  // one host with an average is enough
  EXPECT_EQ(world.Settle({claim(70, kNew), claim(120)}).credit,
            56);  // it vouches even if its claim is too high
  // It does not if it claims the estimate, which measures nothing.
  Claim insane = claim(50, kClaimSanityFailed);
  insane.flags &= ~kClaimHasVersionScale;
  EXPECT_EQ(world.Settle({claim(90, kNew), claim(90, kNew), insane}).credit, 50);
  // Between two claims the app's level has moved.
  Claim later = claim(500, kNew);
  later.min_avg_pfc = 0.51;
  EXPECT_EQ(world.Settle({claim(500, kNew), later}).credit, 51);
  Claim other = claim(500, kNew);
  other.flags &= ~kClaimValid;
  other.fpops_est *= 2;
  EXPECT_EQ(world.Settle({claim(500, kNew), claim(500, kNew), other}).credit, 50);
}

// Of two honest claims from few results that differ by chance the lower one decides; a claim left alone has no such
// second one.
TEST_F(RobustTest, AClaimFromFewResultsThatIsLeftAloneCountsFourFifths) {
  const auto claim = [](double claimed, std::uint32_t flags = 0) {
    Claim c;
    c.flags = kClaimValid | kClaimHasVersionScale | flags;
    c.claimed = claimed;
    return c;
  };
  EXPECT_EQ(world.Settle({claim(10, kClaimRough), claim(13.1)}).credit, 8);
  EXPECT_EQ(world.Settle({claim(20, kClaimRough), claim(10, kClaimRough), claim(14)}).credit, 8);
  EXPECT_EQ(world.Settle({claim(10), claim(13.1, kClaimRough)}).credit, 10);        // the lowest is precise
  EXPECT_EQ(world.Settle({claim(10, kClaimRough)}).credit, 10);                     // nobody else did the job
  EXPECT_EQ(world.Settle({claim(10, kClaimRough), claim(12)}).credit, 120.0 / 11);  // not alone
  EXPECT_EQ(world.Settle({claim(10, kClaimRough), claim(12), claim(20)}).credit, 120.0 / 11);
  // Beside a claim from the estimate, too: nobody has measured the job again.
  Claim estimate = claim(20, kClaimUncalibrated | kClaimRough);
  estimate.flags &= ~kClaimHasVersionScale;
  EXPECT_EQ(world.Settle({claim(10, kClaimRough), estimate}).credit, 8);
  EXPECT_EQ(world.Settle({claim(10), estimate}).credit, 10);
  EXPECT_EQ(world.Settle({claim(10, kClaimRough), claim(60)}, 50).credit, 10);  // the other is above the cap
}

// It may keep the jobs that are small for their estimates.
TEST_F(RobustTest, AClaimOfAHostThatFailsOftenDoesNotCountBesideALowerOneOfAnother) {
  const auto claim = [](double claimed, std::uint32_t flags = 0) {
    Claim c;
    c.flags = kClaimValid | kClaimHasHostScale | flags;
    c.claimed = claimed;
    return c;
  };
  EXPECT_EQ(world.Settle({claim(12, kClaimUnreliable), claim(10)}).credit, 10);
  EXPECT_EQ(world.Settle({claim(10), claim(12, kClaimUnreliable)}).credit, 10);
  EXPECT_EQ(world.Settle({claim(10, kClaimUnreliable), claim(12)}).credit, 120.0 / 11);  // the lowest
  EXPECT_EQ(world.Settle({claim(12, kClaimUnreliable)}).credit, 12);                     // the only one
  EXPECT_EQ(world.Settle({claim(10, kClaimUnreliable), claim(10, kClaimUnreliable)}).credit, 10);
  EXPECT_EQ(world.Settle({claim(10, kClaimUnreliable), claim(12, kClaimUnreliable)}).credit,
            120.0 / 11);  // all
  EXPECT_EQ(world.Settle({claim(11, kClaimUnreliable), claim(12), claim(10, kClaimUnreliable)}).credit,
            world.Settle({claim(11), claim(12), claim(10)}).credit);
  EXPECT_EQ(world.Settle({claim(11, kClaimUnreliable), claim(10), claim(12)}).credit, 120.0 / 11);
  // A claim from few results is not left alone by it, only by one that is too high.
  EXPECT_EQ(world.Settle({claim(10, kClaimRough), claim(12, kClaimUnreliable)}).credit, 10);
  EXPECT_EQ(world.Settle({claim(10, kClaimRough), claim(13.1, kClaimUnreliable)}).credit, 8);
}

// Hosts that end most of their jobs at once are sent most jobs, so they meet in workunits.
TEST_F(RobustTest, HostsThatAllFailOftenDoNotVouchForEachOther) {
  const auto claim = [](double claimed, double reliability, std::uint32_t flags = 0) {
    Claim c;
    c.flags = kClaimValid | kClaimHasHostScale | flags;
    c.claimed = claimed;
    c.reliability = reliability;
    c.awaited = 2;
    return c;
  };
  constexpr std::uint32_t kFew = kClaimUnreliable | kClaimRough;
  EXPECT_EQ(world.Settle({claim(10, 0.5, kFew), claim(10, 0.25, kFew)}).credit, 0.15625);
  EXPECT_EQ(world.Settle({claim(10, 0.25, kFew), claim(12, 0.5, kFew)}).credit, 0.015625 * 120 / 11);
  EXPECT_EQ(world.Settle({claim(10, 0.5, kFew), claim(10, 0.5, kFew), claim(10, 0.25, kFew)}).credit,
            0.0390625);
  EXPECT_EQ(world.Settle({claim(10, 0, kFew), claim(10, 0.25, kFew)}).credit, 0);
  // A claim left alone, from few results, counts four fifths before.
  EXPECT_EQ(world.Settle({claim(10, 0.5, kFew), claim(20, 0.25, kFew)}).credit, 0.125);

  // One host that returns its jobs is enough, also one with two results, and if its own claim is too high.
  EXPECT_EQ(world.Settle({claim(10, 0.25, kFew), claim(10, 0.9, kClaimRough)}).credit, 10);
  EXPECT_DOUBLE_EQ(world.Settle({claim(10, 0.25, kFew), claim(10, 0.89, kClaimRough)}).credit,
                   10 * std::pow(0.25 * 0.89, 2));
  EXPECT_EQ(world.Settle({claim(10, 0.25, kClaimUnreliable), claim(14, 0.9)}).credit, 10);
  // A host with many results that returns most of its work vouches, too; with few results it does not.
  EXPECT_EQ(world.Settle({claim(10, 0.25, kFew), claim(10, 0.3, kClaimUnreliable)}).credit, 10);
  EXPECT_DOUBLE_EQ(world.Settle({claim(10, 0.25, kFew), claim(10, 0.3, kFew)}).credit, 0.05625);
  EXPECT_DOUBLE_EQ(
      world.Settle({claim(10, 0.25, kClaimUnreliable), claim(10, 0.28, kClaimUnreliable)}).credit, 0.049);
  // A host whose claim does not count does not vouch.
  Claim invalid = claim(10, 0.9);
  invalid.flags &= ~kClaimValid;
  EXPECT_EQ(world.Settle({claim(10, 0.5, kFew), claim(10, 0.25, kFew), invalid}).credit, 0.15625);
  Claim estimate = claim(10, 0.9, kClaimUncalibrated);
  estimate.flags &= ~kClaimHasHostScale;
  EXPECT_EQ(world.Settle({claim(10, 0.5, kFew), claim(10, 0.25, kFew), estimate}).credit, 0.15625);

  // A single result has its factor in the claim.
  Claim single = claim(10, 0.25, kFew);
  single.awaited = 1;
  EXPECT_EQ(world.Settle({single}).credit, 10);
}

// At most the default is granted, and of that the part that they return.
TEST_F(RobustTest, NewHostsThatAllFailOftenEarnLessThanTheDefault) {
  world.SetMinAvgPfc(0.5);
  world.SetVersion(kCpuVersion, 101, 1, 0);
  HostRecord other;
  Job job = Sized(9);
  job.awaited = 2;
  std::vector<Claim> claims;
  for (HostRecord* one : {&host, &other}) {
    one->apps = {{.app = world.app, .error_rate = 0.3}};
    claims.push_back(world.ClaimOf(job, *one));
    claims.back().result = ResultId(claims.size());
  }
  EXPECT_DOUBLE_EQ(world.Settle(claims).credit, 0.5 * kFull * std::pow(Reliability(0.3, world.Rules()), 4));
}

TEST_F(RobustTest, AHostFailsOftenFromAnEighthOfFailuresOn) {
  for (const double rate : {0.0, 0.12, 0.13, 0.5}) {
    HostRecord host = Calibrated(1);
    host.apps.front().error_rate = rate;
    EXPECT_EQ(Has(world.ClaimOf({}, host), kClaimUnreliable), rate > 0.125) << rate;
  }
}

TEST(RobustAdvice, AHostHasTheHighestStandingFromTenResultsThatVouchForIt) {
  EXPECT_EQ(StandingOf(0, 0), 0u);
  EXPECT_EQ(StandingOf(0, 2), 2u);
  EXPECT_EQ(StandingOf(9.9, 100), 3u);
  EXPECT_EQ(StandingOf(10, 0), 4u);
}

TEST(RobustAdvice, TheStandingNeededIsThatOfHalfOfTheKnownHostsAndOfTwenty) {
  using Hosts = std::array<std::uint32_t, kHighestStanding + 1>;
  EXPECT_EQ(StandingNeeded(Hosts{}), 0u);
  EXPECT_EQ(StandingNeeded(Hosts{1000, 19, 0, 0, 0}), 0u);
  EXPECT_EQ(StandingNeeded(Hosts{1000, 20, 0, 0, 0}), 1u);
  EXPECT_EQ(StandingNeeded(Hosts{0, 10, 5, 1, 19}), 3u);
  EXPECT_EQ(StandingNeeded(Hosts{0, 10, 5, 5, 20}), 4u);
  EXPECT_EQ(StandingNeeded(Hosts{0, 50, 0, 0, 49}), 1u);
  EXPECT_EQ(StandingNeeded(Hosts{0, 0, 0, 0, 19}), 0u);
}

TEST_F(RobustTest, AdviceToReplicateBoundsInventedResultsByATenthOfHonestOnes) {
  for (const double n : {0.0, 1.0, 10.0, 100.0, 1e5}) {
    // Invented results before the first check: geometric with this probability.
    EXPECT_NEAR(1 / ReplicationProbability(n) - 1, 0.1 * n, 1e-9 * (n + 1));
  }
  host = Calibrated(1);
  Job replicated;
  replicated.awaited = 2;
  for (int n = 0; n < 5; ++n) (void)world.ClaimOf(replicated, host);
  (void)world.ClaimOf({}, host);  // nobody has checked this one
  world.Fail({}, Outcome::kClientError, host);
  EXPECT_EQ(host.apps[0].replicated_valid, 5);
  (void)world.Validate({}, host, ValidateState::kInvalid);
  EXPECT_EQ(host.apps[0].replicated_valid, 0);
}

Claim Claimed(double credit, std::uint32_t flags = 0) {
  Claim claim;
  claim.flags = kClaimValid | flags;
  claim.claimed = credit;
  return claim;
}

TEST_F(RobustTest, ExcessIsThePartOfAClaimAboveTheLowestPreciseClaimForTheSameJob) {
  const std::vector<Claim> others = {Claimed(30), Claimed(20), Claimed(5, kClaimUncalibrated),
                                     Claimed(5, kClaimRough), Claimed(5, kClaimLate)};
  EXPECT_EQ(ExcessOf(Claimed(50), others), 0.6);
  EXPECT_EQ(ExcessOf(Claimed(20), others), 0);
  EXPECT_EQ(ExcessOf(Claimed(16), others), -0.25);
  EXPECT_EQ(ExcessOf(Claimed(0.1), others), -1);
  EXPECT_EQ(ExcessOf(Claimed(0), others), std::nullopt);
  EXPECT_EQ(ExcessOf(Claimed(50), {}), std::nullopt);
  EXPECT_EQ(ExcessOf(Claimed(50), std::vector{Claimed(0)}), std::nullopt);
  for (const std::uint32_t flag : {kClaimUncalibrated, kClaimRough, kClaimLate, kClaimNoClaim})
    EXPECT_EQ(ExcessOf(Claimed(50, flag), others), std::nullopt) << flag;
}

TEST_F(RobustTest, ClaimsAreComparedOnceTheirHostsHaveThirtyResultsOfTheVersion) {
  for (const double samples : {10, 29, 30}) {
    HostRecord young = Calibrated(1);
    world.Row(young).pfc.n = samples;
    EXPECT_EQ(Has(world.ClaimOf({}, young), kClaimRough), samples < 30) << samples;
  }
}

TEST_F(RobustTest, AHostWhoseClaimsAreTooHighForTheSameJobsStartsAgain) {
  const HostApp record{.error_rate = 0.03, .replicated_valid = 1000};
  Agreement agreement;
  const auto vouching = [&] { return ResultsThatVouch(&record, &agreement, world.Rules()); };
  for (int n = 0; n < 200; ++n) NoteExcess(n % 2 == 0 ? 0.15 : -0.15, agreement);  // noise
  EXPECT_EQ(vouching(), 200);
  NoteExcess(0.6, agreement);  // a job that others claim 0.4 for: 2.5 times too much
  EXPECT_EQ(vouching(), 0);
  EXPECT_DOUBLE_EQ(agreement.results, -1.5);
  agreement = {};
  int compared = 0;
  for (; compared < 100 && (compared == 0 || vouching() > 0); ++compared) NoteExcess(0.11, agreement);
  EXPECT_EQ(compared, 9);  // 9 x (0.11 - 0.05) > 0.5
}

// Otherwise a host that keeps its small jobs could collect their difference by one huge claim now and then.
TEST_F(RobustTest, AClaimThatWasManyTimesTooHighTakesAsManyResultsToMakeUpFor) {
  const HostApp record{.error_rate = 0.03, .replicated_valid = 1000};
  Agreement agreement{.results = 500};
  NoteExcess(0.9, agreement);  // ten times too much
  for (int n = 0; n < 9; ++n) {
    EXPECT_EQ(ResultsThatVouch(&record, &agreement, world.Rules()), 0) << n;
    NoteExcess(0, agreement);
  }
  NoteExcess(0, agreement);
  EXPECT_NEAR(ResultsThatVouch(&record, &agreement, world.Rules()), 1, 1e-12);
  NoteExcess(1, agreement);  // however much: not for ever
  EXPECT_DOUBLE_EQ(agreement.results, -19);
}

TEST_F(RobustTest, ResultsVouchIfTheyWereValidAndComparedAndTheHostSeldomFails) {
  const Agreement agreement{.results = 30};
  HostApp record{.error_rate = 0.03, .replicated_valid = 40};
  EXPECT_EQ(ResultsThatVouch(&record, &agreement, world.Rules()), 30);
  record.replicated_valid = 20;
  EXPECT_EQ(ResultsThatVouch(&record, &agreement, world.Rules()), 20);
  EXPECT_EQ(ResultsThatVouch(&record, nullptr, world.Rules()), 0);
  EXPECT_EQ(ResultsThatVouch(nullptr, &agreement, world.Rules()), 0);
  record.error_rate = 0.2;  // R = 0.715
  EXPECT_EQ(ResultsThatVouch(&record, &agreement, world.Rules()), 0);
}

TEST_F(RobustTest, AHostThatAnotherPolicyKnowsKeepsItsFailureRateAndItsResultsCount) {
  host = world.Trusted(500, 2);
  world.Row(host).et.n = 500;
  world.Row(host).error_rate = 0.03;
  const Claim claim = world.ClaimOf(Sized(6), host);
  EXPECT_EQ(claim.failure_rate, 0.03);
  EXPECT_EQ(claim.claimed, 3 * kFull);  // the budget of the first claims is that of a host with 500 results
  EXPECT_NEAR(claim.budget, (1.04 * 501 - 500) * kE, 1);

  HostRecord of_boinc = world.Trusted(500, 2);
  world.Row(of_boinc).et.n = 500;
  world.Row(of_boinc).error_rate = 0;  // boinc counts no failures
  EXPECT_EQ(world.ClaimOf(Sized(2), of_boinc).reliability, 1);
}

TEST_F(RobustTest, AHostWhoseReportsKeepRisingIsToBeWatched) {
  host = Calibrated(1);
  std::vector<int> alarms;
  for (int n = 0; n < 120; ++n) {
    const Claim claim = world.ClaimOf(Sized(std::pow(1.01, n + 1)), host);
    if (Has(claim, kClaimRising)) alarms.push_back(n);
    EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
  }
  EXPECT_EQ(alarms, (std::vector<int>{49, 99}));
}

// Honest hosts with each model of job sizes (docs/lab.md): less than one alarm in 10^4 months of 300 results.
TEST_F(RobustTest, HonestHostsAreHardlyEverToBeWatched) {
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal;
  const auto size = [&](int model) {
    const double run_time = std::exp(0.08 * normal(engine));
    if (model == 0) return run_time * std::exp(0.1 * normal(engine));
    if (model == 1) return run_time * std::exp(0.6 * normal(engine));
    return run_time * (engine() % 2 == 0 ? 0.05 : 1.95);
  };
  for (int model = 0; model < 3; ++model) {
    HostRecord honest = Calibrated(1);
    int alarms = 0;
    for (int n = 0; n < 1'000'000; ++n)
      alarms += Has(world.ClaimOf(Sized(size(model)), honest), kClaimRising);
    EXPECT_EQ(alarms, 0) << model;  // one in 3,000,000 results is allowed
  }
}

TEST_F(RobustTest, UntilTheAppHasALevelTheVersionsAverageTakesItsPlace) {
  world.SetVersion(kCpuVersion, 100, 2, 0);
  EXPECT_DOUBLE_EQ(world.ClaimOf({}, host).claimed, kFull * Reliability(0.1, world.Rules()));
  world.SetVersion(kCpuVersion, 101, 2, 0);
  HostRecord other;
  EXPECT_DOUBLE_EQ(world.ClaimOf({}, other).claimed, 2 * kFull * Reliability(0.1, world.Rules()));
  world.SetMinAvgPfc(0.5);
  HostRecord third;
  EXPECT_DOUBLE_EQ(world.ClaimOf({}, third).claimed, 0.5 * kFull * Reliability(0.1, world.Rules()));
}

}  // namespace
}  // namespace cobblestone::credit
