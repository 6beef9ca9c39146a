// S000's default policy, rule by rule. Worked numbers: credit_world.h.
#include "common/credit/policies/creditnew.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/credit_world.h"

namespace cobblestone::credit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class CreditNewTest : public testing::Test {
 protected:
  World world{CreditNewPolicy(), PolicyKind::kCreditNew};
  HostRecord host;
};

// ---- The claim: "F = PFC(J) * S(V) * S(H)" ----

TEST_F(CreditNewTest, WithoutScalesAJobIsWorthItsPeakFlopCount) {
  const ClaimDecision decision = world.Validate({}, host);
  ASSERT_TRUE(decision.has_claim);
  EXPECT_EQ(decision.claim.pfc, kE);
  EXPECT_EQ(decision.claim.claimed, kFull);
  EXPECT_EQ(decision.claim.mode, Mode::kApproximate);
  EXPECT_EQ(decision.claim.epoch, 7u);
  EXPECT_EQ(decision.claim.policy, PolicyKind::kCreditNew);
  EXPECT_EQ(decision.claim.policy_version, 3u);
  EXPECT_EQ(decision.claim.delay_bound, kDelayBound);
}

TEST_F(CreditNewTest, TheCobblestoneOfS000IsHalfOfTodays) {
  world.Rules().cobblestones_per_gflops_day = 100;  // "C = F*100/86400e9"
  EXPECT_EQ(world.ClaimOf({}, host).claimed, 10);
}

TEST_F(CreditNewTest, BothScalesAreMultiplied) {
  world.SetVersion(kCpuVersion, 500, 0.75, 0.5);
  host = world.Trusted(10, 0.5);
  const Claim claim = world.ClaimOf({}, host);
  EXPECT_EQ(claim.pfc, kE * 0.5 * 1.5);  // 0.75/0.5
  EXPECT_EQ(claim.claimed, 15);
  EXPECT_EQ(claim.mode, Mode::kNormal);
  EXPECT_TRUE(Has(claim, kClaimHasVersionScale));
  EXPECT_TRUE(Has(claim, kClaimHasHostScale));
  EXPECT_EQ(claim.host_pfc_n, 10);
  EXPECT_EQ(claim.host_pfc_mean, 0.5);
  EXPECT_EQ(claim.version_pfc_mean, 0.75);
}

TEST_F(CreditNewTest, HostScaleNeedsTenSamplesAndIsAtMostTen) {
  struct Case {
    const char* what;
    double n;
    double host_mean;
    double version_mean;
    double claimed;
    Mode mode;
  };
  const Case cases[] = {
      {"nine samples: none", 9, 0.5, 1, 20, Mode::kApproximate},
      {"ten samples: applied", 10, 0.5, 1, 40, Mode::kApproximate},
      {"less efficient host: down", 10, 4, 1, 5, Mode::kApproximate},
      {"exactly ten", 10, 0.125, 1.25, 200, Mode::kApproximate},
      {"more than ten: ten", 10, 0.0625, 1.25, 200, Mode::kApproximate},
      {"no mean of the host", 10, 0, 1, 20, Mode::kApproximate},
      {"no mean of the version", 10, 0.5, 0, 20, Mode::kApproximate},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    world.SetVersion(kCpuVersion, 500, c.version_mean, 0);
    HostRecord one = world.Trusted(c.n, c.host_mean);
    const Claim claim = world.ClaimOf({}, one);
    EXPECT_EQ(claim.claimed, c.claimed);
    EXPECT_EQ(claim.mode, c.mode);
  }
}

TEST_F(CreditNewTest, TheClaimDoesNotDependOnItsOwnSample) {
  world.SetVersion(kCpuVersion, 500, 1, 0);
  host = world.Trusted(9, 0.5);
  EXPECT_EQ(world.ClaimOf({}, host).claimed, 20);  // nine samples before it
  EXPECT_EQ(world.Row(host).pfc.n, 10);
  EXPECT_EQ(world.Row(host).pfc.mean, 0.5 + 0.5 / 10);
  EXPECT_EQ(world.ClaimOf({}, host).claimed, 20 * (1 / 0.55));
}

// ---- Sanity check ----

TEST_F(CreditNewTest, AnInsanePeakFlopCountGetsTheDefaultAndNoStatistics) {
  struct Case {
    const char* what;
    double elapsed;
    double peak_flops;
    double bound;
    bool min_avg_defined;
    double claimed;
  };
  const Case cases[] = {
      {"above the bound, min_avg_pfc undefined: E", kSeconds, kGflops, kE * 0.5, false, 20},
      {"above the bound: min_avg_pfc x E", kSeconds, kGflops, kE * 0.5, true, 10},
      {"infinite elapsed time", kInfinity, kGflops, 1000 * kE, true, 10},
      {"elapsed time is NaN", kNan, kGflops, 1000 * kE, true, 10},
      {"peak FLOP/s is NaN", kSeconds, kNan, 1000 * kE, true, 10},
      {"the product overflows", 1e200, 1e200, kInfinity, true, 10},
      {"negative", -kSeconds, kGflops, 1000 * kE, true, 10},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    world.AppScales() = {};
    if (c.min_avg_defined) world.SetMinAvgPfc(0.5);
    HostRecord one = world.Trusted(50, 2);
    world.SetVersion(kCpuVersion, 500, 1, 0.5);
    Job job;
    job.elapsed = c.elapsed;
    job.peak_flops = c.peak_flops;
    job.fpops_bound = c.bound;
    const ClaimDecision decision = world.Validate(job, one);
    EXPECT_EQ(decision.claim.claimed, c.claimed);
    EXPECT_EQ(decision.claim.mode, Mode::kDefaultPfc);
    EXPECT_TRUE(Has(decision.claim, kClaimSanityFailed));
    EXPECT_FALSE(decision.has_sample);
    const HostVersion& row = world.Row(one);
    EXPECT_EQ(row.pfc, (Average{50, 2}));
    EXPECT_EQ(row.et.n, 0);
    EXPECT_EQ(row.turnaround.n, 0);
    EXPECT_EQ(row.error_rate, 0.1);
    EXPECT_EQ(row.consecutive_valid, 0);
    EXPECT_TRUE(SamePriceAgain(world.policy, decision.claim, world.Rules()));
  }
}

TEST_F(CreditNewTest, ExactlyTheBoundIsSane) {
  Job job;
  job.fpops_bound = kE;
  EXPECT_EQ(world.ClaimOf(job, host).mode, Mode::kApproximate);
}

TEST_F(CreditNewTest, AnInvalidSizeMakesNoClaim) {
  Job job;
  job.fpops_bound = 0;  // so that the default applies
  job.fpops_est = -kE;
  const Claim claim = world.ClaimOf(job, host);
  EXPECT_EQ(claim.mode, Mode::kNone);
  EXPECT_TRUE(Has(claim, kClaimNoClaim));
  EXPECT_EQ(claim.claimed, 0);
  EXPECT_EQ(world.Settle({claim}).credit, 0);
}

// ---- Limits of each quantity (S003) ----

TEST_F(CreditNewTest, QuantitiesBeyondTheProjectsLimitsAreClampedAndMarked) {
  struct Case {
    const char* what;
    Job job;
    double max_cpu;
    double max_gpu;
    double max_devices;
    double claimed;
    bool clamped;
  };
  const Case cases[] = {
      {"no limits", {.peak_flops = 4e9}, 0, 0, 0, 80, false},
      {"one CPU too fast", {.peak_flops = 4e9}, 2e9, 0, 0, 40, true},
      {"two CPUs, each within", {.peak_flops = 4e9, .devices = 2, .cpus_used = 2}, 2e9, 0, 0, 80, false},
      {"four CPUs where two exist", {.peak_flops = 4e9, .devices = 4, .cpus_used = 4}, 0, 0, 2, 40, true},
      {"four CPUs where two exist, each too fast",
       {.peak_flops = 4e9, .devices = 4, .cpus_used = 4},
       0.5e9,
       0,
       2,
       20,
       true},
      {"a GPU and half a CPU, GPU too fast",
       {.version = kGpuVersion, .peak_flops = 10.5e9, .devices = 1.5, .cpus_used = 0.5, .gpus_used = 1},
       1e9,
       2e9,
       0,
       50,
       true},
      {"a GPU with no maximum for it",
       {.version = kGpuVersion, .peak_flops = 10e9, .devices = 1, .gpus_used = 1},
       1e9,
       0,
       0,
       200,
       false},
      // The limit of one kind of device applies independently of the job's other devices.
      {"half a CPU without limit beside a GPU that is too fast",
       {.version = kGpuVersion,
        .peak_flops = 10.5e9,
        .devices = 1.5,
        .cpus_used = 0.5,
        .gpus_used = 1,
        .cpu_speed = 1e9,
        .gpu_speed = 10e9},
       0,
       2e9,
       0,
       50,
       true},
      {"the same, with only the GPU's speed reported",
       {.version = kGpuVersion,
        .peak_flops = 10.5e9,
        .devices = 1.5,
        .cpus_used = 0.5,
        .gpus_used = 1,
        .gpu_speed = 10e9},
       0,
       2e9,
       0,
       50,
       true},
      {"the same, with only the CPU's speed reported",
       {.version = kGpuVersion,
        .peak_flops = 10.5e9,
        .devices = 1.5,
        .cpus_used = 0.5,
        .gpus_used = 1,
        .cpu_speed = 1e9},
       0,
       2e9,
       0,
       50,
       true},
      {"a CPU that is too fast beside a GPU without limit",
       {.version = kGpuVersion,
        .peak_flops = 6e9,
        .devices = 2,
        .cpus_used = 1,
        .gpus_used = 1,
        .cpu_speed = 4e9,
        .gpu_speed = 2e9},
       0.5e9,
       0,
       0,
       50,
       true},
      {"a GPU within its limit, the job's speed a last digit above the sum",
       {.version = kGpuVersion,
        .peak_flops = 4e9,
        .devices = 2,
        .cpus_used = 1,
        .gpus_used = 1,
        .cpu_speed = 1e9,
        .gpu_speed = 3e9 * (1 - 1e-9)},
       0,
       3e9,
       0,
       80,
       false},
      {"the limit of a kind that the job does not use",
       {.peak_flops = 4e9, .devices = 1, .cpus_used = 1, .cpu_speed = 3e9},
       0,
       1e9,
       0,
       80,
       false},
      {"a GPU job without usage", {.version = kGpuVersion, .peak_flops = 10e9}, 1e9, 3e9, 0, 60, true},
      {"longer than the time since dispatch",
       {.elapsed = 2 * kSeconds, .received = kSeconds},
       0,
       0,
       0,
       20,
       true},
      {"exactly as long", {.elapsed = kSeconds, .received = kSeconds}, 0, 0, 0, 20, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    world.Rules().max_peak_flops_cpu = c.max_cpu;
    world.Rules().max_peak_flops_gpu = c.max_gpu;
    world.Rules().max_devices = c.max_devices;
    HostRecord one;
    const Claim claim = world.ClaimOf(c.job, one);
    EXPECT_EQ(claim.claimed, c.claimed);
    EXPECT_EQ(Has(claim, kClaimPfcClamped), c.clamped);
    EXPECT_EQ(claim.elapsed_time, c.job.elapsed);  // as it was reported
    EXPECT_EQ(claim.peak_flops, c.job.peak_flops);
    EXPECT_EQ(world.Row(one, c.job.version).pfc.mean,
              c.claimed / kFull);  // the average contains the claimed value
    EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
  }
}

TEST_F(CreditNewTest, WithoutElapsedTimeTheCpuTimeCounts) {
  Job job;
  job.elapsed = 0;
  job.cpu_time = kSeconds / 2;
  EXPECT_EQ(world.ClaimOf(job, host).claimed, 10);
}

// ---- Anonymous platform ----

TEST_F(CreditNewTest, AnonymousPlatformIsPaidByTheSizeOfTheJob) {
  Job job;
  job.version = -2;
  job.elapsed = 50 * kSeconds;  // "we don't reliably know anything about the devices involved"
  job.received = 60 * kSeconds;
  const Claim undefined = world.ClaimOf(job, host);
  EXPECT_EQ(undefined.claimed, 20);  // E
  EXPECT_EQ(undefined.mode, Mode::kWorkunitEstimate);
  EXPECT_TRUE(Has(undefined, kClaimAnonymous));

  world.SetMinAvgPfc(0.25);
  const ClaimDecision defined = world.Validate(job, host);
  EXPECT_EQ(defined.claim.claimed, 5);
  // "it keeps track of elapsed time statistics there"
  EXPECT_EQ(world.Row(host, -2).et.n, 2);
  EXPECT_EQ(world.Row(host, -2).et.mean, 50 * kSeconds / kE);
  EXPECT_EQ(world.Row(host, -2).pfc.n, 0);
  EXPECT_FALSE(Has(defined.sample, kSamplePfc));
  EXPECT_FALSE(Has(defined.sample, kSampleCredit));
  EXPECT_TRUE(Has(defined.sample, kSampleClaim));
}

TEST_F(CreditNewTest, AVersionThatLeftTheCatalogueIsPaidLikeAnAnonymousOne) {
  world.SetMinAvgPfc(0.25);
  world.RemoveVersion(kGpuVersion);
  Job job;
  job.version = kGpuVersion;
  job.peak_flops = 100 * kGflops;
  const Claim claim = world.ClaimOf(job, host);
  EXPECT_EQ(claim.claimed, 5);
  EXPECT_EQ(claim.mode, Mode::kWorkunitEstimate);
}

// ---- Grants ----

TEST_F(CreditNewTest, AnonymousAndProbationClaimsAreLeftOutOfTheAverage) {
  struct Replica {
    double claimed;
    std::uint32_t flags;
  };
  struct Case {
    const char* what;
    std::vector<Replica> replicas;
    double cap;
    double credit;
  };
  const Case cases[] = {
      {"two", {{10, 0}, {20, 0}}, 0, 15},
      {"three", {{10, 0}, {20, 0}, {60, 0}}, 0, 30},
      {"one anonymous", {{10, 0}, {100, kClaimAnonymous}}, 0, 10},
      {"one on probation", {{10, kClaimOnProbation}, {100, 0}}, 0, 100},
      {"no claim left: min_avg_pfc x E", {{10, kClaimOnProbation}, {100, kClaimAnonymous}}, 0, 5},
      {"the claim of a deleted host counts", {{10, kClaimHostDeleted}, {20, 0}}, 0, 15},
      {"a default claim counts", {{10, kClaimSanityFailed}, {20, 0}}, 0, 15},
      {"a claim above the cap is excluded", {{10, 0}, {100, 0}}, 50, 10},
      {"all above the cap: min_avg_pfc x E", {{60, 0}, {100, 0}}, 50, 5},
      {"the fallback is capped too", {{60, 0}, {100, 0}}, 3, 3},
      {"no claim at all", {{0, kClaimNoClaim}, {20, 0}}, 0, 20},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    std::vector<Claim> claims;
    for (const Replica& replica : c.replicas) {
      Claim claim;
      claim.result = ResultId(claims.size() + 1);
      claim.flags = kClaimValid | kClaimMinAvgDefined | replica.flags;
      claim.awaited = static_cast<std::uint32_t>(c.replicas.size());
      claim.fpops_est = kE;
      claim.min_avg_pfc = 0.25;
      claim.claimed = replica.claimed;
      claims.push_back(claim);
    }
    EXPECT_EQ(world.Settle(claims, c.cap).credit, c.credit);
  }
}

TEST_F(CreditNewTest, TheFallbackUsesTheNewestEpochAmongTheClaims) {
  Claim old;
  old.flags = kClaimValid | kClaimOnProbation;  // min_avg_pfc was undefined
  old.awaited = 2;
  old.fpops_est = kE;
  old.epoch = 4;
  Claim later = old;
  later.flags |= kClaimMinAvgDefined;
  later.min_avg_pfc = 0.5;
  later.epoch = 5;
  EXPECT_EQ(world.Settle({old, later}).credit, 10);
  EXPECT_EQ(world.Settle({later, old}).credit, 10);
}

TEST_F(CreditNewTest, SingleReplicationGrantsTheClaim) {
  // "in this case, granted credit = claimed credit", even for a host on probation.
  world.App().host_scale_check = true;
  const Claim claim = world.ClaimOf({}, host);
  ASSERT_TRUE(Has(claim, kClaimOnProbation));
  EXPECT_EQ(world.Settle({claim}).credit, 20);
}

TEST_F(CreditNewTest, ALoneClaimOfAReplicatedWorkunitIsNoSingleReplication) {
  // The claim of the other replica never arrived, and the remaining claim is on probation.
  world.App().host_scale_check = true;
  world.SetMinAvgPfc(0.25);
  Job job;
  job.awaited = 2;
  const Claim claim = world.ClaimOf(job, host);
  EXPECT_EQ(world.Settle({claim}).credit, 5);
}

TEST_F(CreditNewTest, CappedClaimsAreMarked) {
  Claim low;
  low.flags = kClaimValid;
  low.awaited = 2;
  low.claimed = 10;
  low.mode = Mode::kNormal;
  Claim high = low;
  high.claimed = 100;
  const Settlement settlement = world.Settle({low, high}, 50);
  EXPECT_EQ(settlement.modes, (std::vector<Mode>{Mode::kNormal, Mode::kCapped}));
}

// ---- One-time cheats ----

TEST_F(CreditNewTest, AOneTimeCheatLosesItsScaleTrustAndVoteAtOnce) {
  world.SetVersion(kCpuVersion, 500, 0.5, 0);
  host = world.Trusted(50, 0.25);
  world.Row(host).error_rate = 0.01;
  Job job;
  job.elapsed = 11 * kSeconds;  // ratio 11 > 20 x 0.5
  job.received = 12 * kSeconds;
  job.validated = 13 * kSeconds;
  job.awaited = 2;
  const Claim claim = world.ClaimOf(job, host);
  EXPECT_TRUE(Has(claim, kClaimOneTimeCheat));
  EXPECT_TRUE(Has(claim, kClaimOnProbation));
  EXPECT_FALSE(Has(claim, kClaimHasHostScale));  // the host scale would have doubled the claim
  EXPECT_EQ(claim.mode, Mode::kProbation);
  EXPECT_EQ(world.Row(host).error_rate, 0.1);
  EXPECT_TRUE(world.Row(host).scale_probation);
  EXPECT_EQ(world.Row(host).host_scale_time, kStart + job.validated + kDelayBound);
  EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));

  HostRecord honest = world.Trusted(50, 0.5);
  Job fair;
  fair.awaited = 2;
  EXPECT_EQ(world.Settle({claim, world.ClaimOf(fair, honest)}).credit, 20);
}

TEST_F(CreditNewTest, ExactlyTwentyTimesIsNoCheat) {
  world.SetVersion(kCpuVersion, 500, 0.5, 0);
  Job job;
  job.elapsed = 10 * kSeconds;
  job.received = 12 * kSeconds;
  job.validated = 13 * kSeconds;
  EXPECT_FALSE(Has(world.ClaimOf(job, host), kClaimOneTimeCheat));
}

TEST_F(CreditNewTest, WithoutTheCheckAValidResultEndsProbationAfterTheDelayBound) {
  ASSERT_FALSE(world.App().host_scale_check);
  world.SetVersion(kCpuVersion, 500, 0.5, 0);
  host = world.Trusted(50, 0.25);
  Job cheat;
  cheat.elapsed = 11 * kSeconds;
  cheat.received = 12 * kSeconds;
  cheat.validated = 13 * kSeconds;
  (void)world.ClaimOf(cheat, host);
  world.Row(host).pfc = {50, 0.25};  // keep the numbers simple: host scale 2
  const double end = cheat.validated + kDelayBound;

  Job job;
  job.validated = end - 1;
  EXPECT_EQ(world.ClaimOf(job, host).claimed, 20);  // before host_scale_time: none
  world.Row(host).pfc = {50, 0.25};
  job.validated = end + 1;
  const Claim clearing = world.ClaimOf(job, host);  // still on probation: at most 1
  EXPECT_EQ(clearing.claimed, 20);
  EXPECT_TRUE(Has(clearing, kClaimOnProbation));
  EXPECT_FALSE(world.Row(host).scale_probation);  // cleared after the claim
  world.Row(host).pfc = {50, 0.25};
  job.validated = end + 2;
  EXPECT_EQ(world.ClaimOf(job, host).claimed, 40);
}

TEST_F(CreditNewTest, AnOutlierIsNeitherAveragedNorACheat) {
  world.SetVersion(kCpuVersion, 500, 0.5, 0);
  Job job;
  job.elapsed = 11 * kSeconds;
  job.received = 12 * kSeconds;
  job.outlier = true;
  const ClaimDecision decision = world.Validate(job, host);
  EXPECT_FALSE(Has(decision.claim, kClaimOneTimeCheat));
  EXPECT_TRUE(Has(decision.claim, kClaimOutlier));
  EXPECT_FALSE(Has(decision.sample, kSamplePfc));
  EXPECT_EQ(world.Row(host).pfc.n, 0);
  EXPECT_EQ(world.Row(host).turnaround.n, 0);
}

// ---- Cherry picking ----

TEST_F(CreditNewTest, WithTheCheckOnANewHostEarnsItsScaleOverOneDelayBound) {
  world.App().host_scale_check = true;
  world.SetVersion(kCpuVersion, 500, 1, 0);
  world.Row(host).pfc = {50, 0.5};  // host scale 2, once the host is trusted
  struct Step {
    const char* what;
    double validated;
    double claimed;
    Mode mode;
  };
  world.Dispatch({}, host);
  EXPECT_EQ(world.Row(host).host_scale_time, kStart + kDelayBound);
  const Step steps[] = {
      {"before host_scale_time: none", kDelayBound - 1, 20, Mode::kProbation},
      {"at host_scale_time: at most 1, and probation continues", kDelayBound, 20, Mode::kProbation},
      {"after host_scale_time: at most 1, and probation ends", kDelayBound + 1, 20, Mode::kProbation},
      {"trusted", kDelayBound + 2, 40, Mode::kApproximate},
  };
  for (const Step& step : steps) {
    SCOPED_TRACE(step.what);
    world.Row(host).pfc = {50, 0.5};
    Job job;
    job.validated = step.validated;
    const Claim claim = world.ClaimOf(job, host);
    EXPECT_EQ(claim.claimed, step.claimed);
    EXPECT_EQ(claim.mode, step.mode);
    EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
  }
}

TEST_F(CreditNewTest, OnProbationAnInefficientHostIsStillScaledDown) {
  world.App().host_scale_check = true;
  world.SetVersion(kCpuVersion, 500, 1, 0);
  world.Row(host).pfc = {50, 2};
  Job job;
  job.validated = kDelayBound + 1;
  EXPECT_EQ(world.ClaimOf(job, host).claimed,
            10);  // 1/2: "max the scale factor with 1" limits it from above only
}

TEST_F(CreditNewTest, WithoutADispatchTheCompletionGivesTheTimeOfDispatch) {
  world.App().host_scale_check = true;
  Job job;
  job.sent = 5000;
  job.received = 5000 + kSeconds;
  job.validated = 20000;
  (void)world.ClaimOf(job, host);
  EXPECT_EQ(world.Row(host).host_scale_time, kStart + 5000 + kDelayBound);
  EXPECT_TRUE(world.Row(host).scale_probation);
}

TEST_F(CreditNewTest, ErrorsPutAHostOnProbationOnlyWithTheCheckOn) {
  struct Case {
    const char* what;
    bool check;
    Outcome outcome;
    bool probation;
  };
  const Case cases[] = {
      {"error", true, Outcome::kClientError, true},
      {"time-out", true, Outcome::kTimeout, true},
      {"discarded by the user", true, Outcome::kAbortedByUser, true},
      {"cancelled by the project", true, Outcome::kAbortedByProject, false},
      {"error, default off", false, Outcome::kClientError, false},
      {"time-out, default off", false, Outcome::kTimeout, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    world.App().host_scale_check = c.check;
    HostRecord one = world.Trusted(50, 0.5);
    Job job;
    job.received = 30000;
    world.Fail(job, c.outcome, one);
    EXPECT_EQ(world.Row(one).scale_probation, c.probation);
    EXPECT_EQ(world.Row(one).host_scale_time, c.probation ? kStart + 30000 + kDelayBound : 0);
  }
}

TEST_F(CreditNewTest, AnInvalidResultPutsAHostOnProbationAndMakesNoClaim) {
  world.App().host_scale_check = true;
  host = world.Trusted(50, 0.5);
  Job job;
  const ClaimDecision decision = world.Validate(job, host, ValidateState::kInvalid);
  EXPECT_FALSE(decision.has_claim);
  EXPECT_FALSE(decision.has_sample);
  EXPECT_TRUE(world.Row(host).scale_probation);
  EXPECT_EQ(world.Row(host).host_scale_time, kStart + job.validated + kDelayBound);
  EXPECT_EQ(world.Row(host).pfc, (Average{50, 0.5}));  // only validated jobs feed statistics
}

TEST_F(CreditNewTest, ACherryPickerNeverGetsMoreThanItsPeakFlopCount) {
  // Jobs of 8640 s and of 864 s have the same E. The host aborts the long jobs; the short jobs reduce its average
  // until its scale would be 5.5. With the check each abort removes the scale again.
  world.App().host_scale_check = true;
  world.SetVersion(kCpuVersion, 500, 0.55, 0);
  for (int i = 0; i < 200; ++i) {
    const double t = i * 20000.0;
    Job short_job{.elapsed = 0.1 * kSeconds, .sent = t, .received = t + kSeconds, .validated = t + kSeconds};
    const Claim claim = world.ClaimOf(short_job, host);
    EXPECT_LE(claim.claimed, 2) << i;
    Job long_job{.sent = t, .received = t + 100};
    world.Fail(long_job, Outcome::kAbortedByUser, host);
  }
  // Without the check, each short job after the first ten is paid 5.5 times its peak FLOP count.
  world.App().host_scale_check = false;
  HostRecord unchecked;
  double claimed = 0;
  for (int i = 0; i < 200; ++i) {
    const double t = i * 20000.0;
    Job short_job{.elapsed = 0.1 * kSeconds, .sent = t, .received = t + kSeconds, .validated = t + kSeconds};
    claimed = world.ClaimOf(short_job, unchecked).claimed;
    world.Fail({.sent = t, .received = t + 100}, Outcome::kAbortedByUser, unchecked);
  }
  EXPECT_NEAR(claimed, 11, 1e-9);
}

TEST_F(CreditNewTest, AConstantExaggerationIsScaledDown) {
  // "An exaggerated claim will increase PFCmean(H,A), causing subsequent credit to be scaled down
  // proportionately."
  world.SetVersion(kCpuVersion, 500, 1, 0);
  Job job;
  job.peak_flops = 5 * kGflops;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(world.ClaimOf(job, host).claimed, 100);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(world.ClaimOf(job, host).claimed, 20);
}

// ---- Statistics and reliability ----

TEST_F(CreditNewTest, AValidJobFeedsTheHostsStatisticsAndMakesASample) {
  Job job;
  job.elapsed = kSeconds / 2;
  const ClaimDecision decision = world.Validate(job, host);
  const HostVersion& row = world.Row(host);
  EXPECT_EQ(row.pfc, (Average{1, 0.5}));
  EXPECT_EQ(row.et.mean, 5e-10);  // 4320 s / 8.64e12
  EXPECT_EQ(row.turnaround.mean, kSeconds + 100);
  EXPECT_EQ(row.error_rate, 0.1 * 0.95);
  EXPECT_EQ(row.consecutive_valid, 1);
  ASSERT_TRUE(decision.has_sample);
  const Sample& sample = decision.sample;
  EXPECT_EQ(sample.flags, kSamplePfc | kSampleCredit | kSampleUse | kSampleClaim);
  EXPECT_EQ(sample.pfc, 0.5);
  EXPECT_EQ(sample.credit, 10);
  EXPECT_EQ(sample.credit_start, kStart);
  EXPECT_EQ(sample.time, kStart + job.validated);
  EXPECT_EQ(sample.host, HostId(5));
  EXPECT_EQ(sample.version, AppVersionId(kCpuVersion));
}

TEST_F(CreditNewTest, ASampleWhoseVarianceWouldOverflowIsRefused) {
  // Found by the property tests: a size of 1e-200 FLOPs makes elapsed s per FLOP finite and its square
  // infinite.
  Job job;
  job.fpops_est = 1e-200;
  const ClaimDecision decision = world.Validate(job, host);
  EXPECT_TRUE(decision.has_sample);
  EXPECT_EQ(world.Row(host).et.n, 1);  // the first sample has no deviation
  job.elapsed = kSeconds / 2;
  (void)world.Validate(job, host);
  EXPECT_EQ(world.Row(host).et.n, 1);
  EXPECT_EQ(world.Row(host).et.mean, kSeconds / 1e-200);
  EXPECT_EQ(world.Row(host).turnaround.n, 2);
}

TEST_F(CreditNewTest, ALateResultFeedsStatisticsToo) {
  Job job;
  job.late = true;
  const ClaimDecision decision = world.Validate(job, host);
  EXPECT_TRUE(decision.has_claim);
  EXPECT_TRUE(Has(decision.claim, kClaimLate));
  EXPECT_TRUE(decision.has_sample);
  EXPECT_EQ(world.Row(host).pfc.n, 1);
}

TEST_F(CreditNewTest, AnUnreplicatedResultDoesNotExtendTheRunOfValidResults) {
  Job job;
  job.unreplicated = true;
  EXPECT_TRUE(Has(world.ClaimOf(job, host), kClaimUnreplicated));
  EXPECT_EQ(world.Row(host).consecutive_valid, 0);
}

TEST_F(CreditNewTest, ANewVersionInheritsTheHostsRecord) {
  world.AddVersion(13, 1, "", 2);    // as kCpuVersion, next number
  world.AddVersion(14, 1, "mt", 3);  // another plan class
  world.SetVersion(13, 500, 1, 0);
  host = world.Trusted(50, 0.5);
  world.Row(host).consecutive_valid = 8;
  const Claim claim = world.ClaimOf({.version = 13}, host);
  EXPECT_EQ(claim.host_pfc_n, 50);
  EXPECT_EQ(claim.claimed, 40);
  EXPECT_EQ(world.Row(host, 13).consecutive_valid, 9);
  EXPECT_EQ(world.Row(host, kCpuVersion).pfc.n, 50);  // jobs of the old version may still arrive
  EXPECT_EQ(world.ClaimOf({.version = 14}, host).host_pfc_n, 0);
  // The first job of an old version does not inherit the record of the new version.
  HostRecord only_new = world.Trusted(50, 0.5, 13);
  EXPECT_EQ(world.ClaimOf({}, only_new).host_pfc_n, 0);
}

TEST_F(CreditNewTest, RowsOfDeletedVersionsAreRemovedWhenARowIsAdded) {
  host = world.Trusted(50, 0.5);
  (void)world.ClaimOf({.version = -2}, host);
  world.RemoveVersion(kCpuVersion);
  (void)world.ClaimOf({.version = kGpuVersion}, host);
  ASSERT_EQ(host.versions.size(), 2u);
  EXPECT_EQ(host.versions[0].version, AppVersionId(-2));
  EXPECT_EQ(host.versions[1].version, AppVersionId(kGpuVersion));
}

TEST_F(CreditNewTest, APublishedMedianOfHostsReplacesTheMean) {
  VersionScale& version = world.Version(kCpuVersion);
  version.pfc = {500, 8};  // raised by a cheat
  version.scale = 0.125;
  version.cached = true;
  version.cached_pfc = {500, 1};
  version.cached_scale = 0.5;
  host = world.Trusted(50, 1);
  const Claim claim = world.ClaimOf({}, host);
  EXPECT_EQ(claim.version_pfc_mean, 1);
  EXPECT_EQ(claim.claimed, 10);
}

}  // namespace
}  // namespace cobblestone::credit
