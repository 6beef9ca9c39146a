// Policies that price a job by itself: benchmark, reported-flops, assigned, none.
#include "common/credit/policies/simple_policies.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/credit_world.h"

namespace cobblestone::credit {
namespace {

constexpr double kDay = 86400;     // s
constexpr double kMips1000 = 1e9;  // operations/s
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

HostRecord Benchmarked(double whetstone, double dhrystone, std::uint32_t cpus = 1) {
  HostRecord host;
  host.whetstone = whetstone;
  host.dhrystone = dhrystone;
  host.cpus = cpus;
  return host;
}

Claim AssignedClaim(double claimed, std::uint64_t result, std::uint64_t canonical, std::uint32_t flags = 0) {
  Claim claim;
  claim.result = ResultId(result);
  claim.canonical_result = ResultId(canonical);
  claim.flags = kClaimValid | flags;
  claim.claimed = claimed;
  claim.mode = Mode::kAssigned;
  return claim;
}

// ---- benchmark ----

class BenchmarkTest : public testing::Test {
 protected:
  World world{BenchmarkPolicy(), PolicyKind::kBenchmark};
};

TEST_F(BenchmarkTest, ADayOfTheReferenceComputerIsAHundredCobblestones) {
  // S002: "1/100 day of CPU time on a reference computer" of 1,000 MIPS by each benchmark.
  world.Rules().cobblestones_per_gflops_day = 100;
  world.Rules().benchmark = Benchmark::kMean;
  HostRecord host = Benchmarked(kMips1000, kMips1000);
  Job job{.cpu_time = kDay, .received = 2 * kDay, .validated = 3 * kDay};
  const Claim claim = world.ClaimOf(job, host);
  EXPECT_EQ(claim.claimed, 100);
  EXPECT_EQ(claim.mode, Mode::kBenchmark);
  world.Rules().cobblestones_per_gflops_day = 200;  // today's, S003
  EXPECT_EQ(world.ClaimOf(job, host).claimed, 200);
}

TEST_F(BenchmarkTest, ClaimIsCpuTimeTimesBenchmark) {
  struct Case {
    const char* what;
    Benchmark kind;
    double whetstone;
    double dhrystone;
    std::uint32_t cpus;
    double cpu_time;
    double max_speed;
    double multiplier;
    double claimed;
    bool clamped;
  };
  const Case cases[] = {
      {"Whetstone alone: C1 = H.whetstone * J.cpu_time", Benchmark::kWhetstone, 1e9, 9e9, 1, 8640, 0, 1, 20,
       false},
      {"mean of both", Benchmark::kMean, 1e9, 3e9, 1, 8640, 0, 1, 40, false},
      {"the project's multiplier", Benchmark::kWhetstone, 1e9, 0, 1, 8640, 0, 2.5, 50, false},
      {"a benchmark beyond the maximum", Benchmark::kWhetstone, 9e9, 0, 1, 8640, 2e9, 1, 40, true},
      {"more CPU time than one CPU can have", Benchmark::kWhetstone, 1e9, 0, 1, 20000, 0, 1, 40, true},
      {"two CPUs can", Benchmark::kWhetstone, 1e9, 0, 2, 20000, 0, 1, 20000 / 432.0, false},
      {"CPUs unknown: as reported", Benchmark::kWhetstone, 1e9, 0, 0, 20000, 0, 1, 20000 / 432.0, false},
      {"no CPU time", Benchmark::kWhetstone, 1e9, 0, 1, 0, 0, 1, 0, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    world.Rules().benchmark = c.kind;
    world.Rules().max_peak_flops_cpu = c.max_speed;
    world.Rules().multiplier = c.multiplier;
    HostRecord host = Benchmarked(c.whetstone, c.dhrystone, c.cpus);
    const Claim claim = world.ClaimOf({.cpu_time = c.cpu_time, .received = 17280}, host);
    EXPECT_DOUBLE_EQ(claim.claimed, c.claimed);
    EXPECT_EQ(Has(claim, kClaimPfcClamped), c.clamped);
    EXPECT_EQ(claim.cpu_time, c.cpu_time);  // as reported
    EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
  }
}

TEST_F(BenchmarkTest, AnInvalidBenchmarkOrCpuTimeMakesNoClaim) {
  struct Case {
    double whetstone;
    double cpu_time;
  };
  for (const Case& c : {Case{0, 8640}, Case{-1e9, 8640}, Case{kNan, 8640}, Case{1e9, kNan}, Case{1e9, -5},
                        Case{1e200, 1e200}}) {
    HostRecord host = Benchmarked(c.whetstone, 0, 0);
    const ClaimDecision decision = world.Validate({.cpu_time = c.cpu_time}, host);
    EXPECT_TRUE(Has(decision.claim, kClaimNoClaim));
    EXPECT_EQ(decision.claim.mode, Mode::kNone);
    EXPECT_EQ(decision.claim.claimed, 0);
    EXPECT_FALSE(Has(decision.sample, kSampleClaim));
    EXPECT_EQ(world.Settle({decision.claim, AssignedClaim(30, 2, 0)}).credit,
              30);  // only the wingman's claim counts
  }
}

TEST_F(BenchmarkTest, ReplicasGetTheAverageTheMinOrTheMedian) {
  struct Case {
    Replication replication;
    std::vector<double> claims;
    double credit;
  };
  const Case cases[] = {
      {Replication::kAverage, {10, 20, 60}, 30}, {Replication::kMin, {10, 20, 60}, 10},
      {Replication::kMedian, {60, 10, 20}, 20},  {Replication::kMedian, {10, 20}, 15},
      {Replication::kAverage, {20}, 20},         {Replication::kMin, {}, 0},
  };
  for (const Case& c : cases) {
    world.Rules().replication = c.replication;
    std::vector<Claim> claims;
    for (const double amount : c.claims) claims.push_back(AssignedClaim(amount, claims.size() + 1, 0));
    EXPECT_EQ(world.Settle(claims).credit, c.credit);
  }
  world.Rules().replication = Replication::kAverage;
  EXPECT_EQ(world.Settle({AssignedClaim(10, 1, 0), AssignedClaim(100, 2, 0)}, 50).credit,
            10);  // the claim above the cap is excluded
  EXPECT_EQ(world.Settle({AssignedClaim(100, 1, 0), AssignedClaim(200, 2, 0)}, 50).credit,
            50);  // all claims are above the cap
}

TEST_F(BenchmarkTest, TheFirstSystemPaysTheFastHostsBenchmarkNotItsWork) {
  // S000's example: the same CPU time on a 1 and on a 10 GFLOPS host claims ten times as much.
  HostRecord slow = Benchmarked(1e9, 0);
  HostRecord fast = Benchmarked(10e9, 0);
  const Claim a = world.ClaimOf({.awaited = 2}, slow);
  const Claim b = world.ClaimOf({.awaited = 2}, fast);
  EXPECT_EQ(b.claimed, 10 * a.claimed);
  EXPECT_EQ(world.Settle({a, b}).credit, 110);
}

TEST_F(BenchmarkTest, StatisticsAreKeptForAChangeOfPolicy) {
  HostRecord host = Benchmarked(1e9, 0);
  const ClaimDecision decision = world.Validate({.elapsed = kSeconds / 2}, host);
  EXPECT_EQ(world.Row(host).pfc, (Average{1, 0.5}));
  EXPECT_EQ(decision.sample.pfc, 0.5);
  EXPECT_EQ(decision.sample.credit, 20);
}

// ---- reported-flops ----

class ReportedFlopsTest : public testing::Test {
 protected:
  World world{ReportedFlopsPolicy(), PolicyKind::kReportedFlops};
  HostRecord host = Benchmarked(1e9, 0);
};

TEST_F(ReportedFlopsTest, CreditIsProportionalToTheFlopsThatTheAppCounted) {
  world.Rules().multiplier = 3;
  const Claim claim = world.ClaimOf({.reported_flops = kE / 2}, host);
  EXPECT_EQ(claim.claimed, 30);
  EXPECT_EQ(claim.mode, Mode::kReportedFlops);
  EXPECT_EQ(claim.reported, kE / 2);
  EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
}

TEST_F(ReportedFlopsTest, AnAppThatCannotCountIsPaidByBenchmarkTimesTheMultiplier) {
  world.Rules().multiplier = 3;
  for (const std::optional<double> none :
       {std::optional<double>(), std::optional<double>(kNan), std::optional<double>(-1.0)}) {
    const Claim claim = world.ClaimOf({.reported_flops = none}, host);
    EXPECT_EQ(claim.claimed, 60);
    EXPECT_EQ(claim.mode, Mode::kBenchmark);
    EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
  }
}

TEST_F(ReportedFlopsTest, ACountAboveTheBoundIsTheBound) {
  const Claim claim = world.ClaimOf({.fpops_bound = 2 * kE, .reported_flops = 50 * kE}, host);
  EXPECT_EQ(claim.claimed, 40);
  EXPECT_TRUE(Has(claim, kClaimPfcClamped));
}

TEST_F(ReportedFlopsTest, TheFittedMultiplierGivesTheFirstSystemsMeanPerJob) {
  // S000: a factor "so that average credit per job was the same as the first credit system".
  const std::vector<JobClaims> jobs = {{20, 4}, {10, 4}, {30, 7}};  // 60 / 15
  const double fitted = FittedMultiplier(jobs);
  EXPECT_EQ(fitted, 4);
  world.Rules().multiplier = fitted;
  double paid = 0;
  for (const JobClaims& job : jobs)
    paid += world.ClaimOf({.reported_flops = job.second / kFull * kE}, host).claimed;
  EXPECT_DOUBLE_EQ(paid, 60);
  EXPECT_EQ(FittedMultiplier({}), 1);
  EXPECT_EQ(FittedMultiplier(std::vector<JobClaims>{{20, 0}}), 1);
}

TEST_F(ReportedFlopsTest, ReplicasGetTheAverage) {
  EXPECT_EQ(world.Settle({AssignedClaim(10, 1, 0), AssignedClaim(20, 2, 0)}).credit, 15);
}

// ---- assigned ----

class AssignedTest : public testing::Test {
 protected:
  World world{AssignedPolicy(), PolicyKind::kAssigned};
  HostRecord host = Benchmarked(1e9, 0);
};

TEST_F(AssignedTest, CreditIsTheAssignedAmountWithinTheLimits) {
  struct Case {
    const char* what;
    std::optional<double> assigned;
    std::optional<double> reported;
    double per_job;
    double times_benchmark;  // the benchmark claim is 20
    double claimed;
    Mode mode;
    bool clamped;
  };
  const std::optional<double> none;
  const Case cases[] = {
      {"by the project", 50, none, 0, 0, 50, Mode::kAssigned, false},
      {"nothing, on purpose", 0, none, 0, 0, 0, Mode::kAssigned, false},
      {"by the app", none, 70, 0, 0, 70, Mode::kAssigned, false},
      {"the project takes precedence", 50, 70, 0, 0, 50, Mode::kAssigned, false},
      {"by neither", none, none, 0, 0, 0, Mode::kNone, false},
      {"not a number", kNan, none, 0, 0, 0, Mode::kNone, false},
      {"a negative amount counts as none, so the app's amount", -1, 70, 0, 0, 70, Mode::kAssigned, false},
      {"cap per job, the project's", 50, none, 40, 0, 40, Mode::kAssigned, true},
      {"cap per job, the app's", none, 70, 40, 0, 40, Mode::kAssigned, true},
      {"an app's report above 3 x benchmark", none, 70, 0, 3, 60, Mode::kAssigned, true},
      {"an app's report below 4 x benchmark", none, 70, 0, 4, 70, Mode::kAssigned, false},
      {"an amount by the project needs no benchmark", 500, none, 0, 3, 500, Mode::kAssigned, false},
      {"the lesser of both caps", none, 70, 50, 2, 40, Mode::kAssigned, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    world.Rules().max_credit_per_job = c.per_job;
    world.Rules().reported_credit_limit = c.times_benchmark;
    const Claim claim = world.ClaimOf({.reported_credit = c.reported, .assigned = c.assigned}, host);
    EXPECT_EQ(claim.claimed, c.claimed);
    EXPECT_EQ(claim.mode, c.mode);
    EXPECT_EQ(Has(claim, kClaimPfcClamped), c.clamped);
    EXPECT_EQ(Has(claim, kClaimNoClaim), c.mode == Mode::kNone);
    EXPECT_TRUE(SamePriceAgain(world.policy, claim, world.Rules()));
  }
}

TEST_F(AssignedTest, AReportOfAHostWithoutABenchmarkIsLimitedToZero) {
  world.Rules().reported_credit_limit = 3;
  HostRecord blank;
  EXPECT_EQ(world.ClaimOf({.reported_credit = 70}, blank).claimed, 0);
}

TEST_F(AssignedTest, TheAmountOfTheCanonicalResultDecides) {
  EXPECT_EQ(world.Settle({AssignedClaim(50, 1, 2), AssignedClaim(60, 2, 2)}).credit, 60);
  EXPECT_EQ(world.Settle({AssignedClaim(50, 1, 9), AssignedClaim(50, 2, 9)}).credit,
            50);  // equal amounts, without the canonical result
  EXPECT_EQ(world.Settle({AssignedClaim(50, 1, 9), AssignedClaim(60, 2, 9)}).credit,
            55);  // different amounts, without the canonical result: as `benchmark`
  EXPECT_EQ(world.Settle({AssignedClaim(50, 1, 1), AssignedClaim(900, 2, 1, kClaimReported)}).credit, 50);
  EXPECT_EQ(world.Settle({AssignedClaim(50, 1, 1)}, 30).credit, 30);
}

TEST_F(AssignedTest, SeveralReportsAreCombinedAsBenchmarkClaims) {
  const std::vector<Claim> claims = {AssignedClaim(10, 1, 1, kClaimReported),
                                     AssignedClaim(20, 2, 1, kClaimReported),
                                     AssignedClaim(60, 3, 1, kClaimReported)};
  EXPECT_EQ(world.Settle(claims).credit, 30);
  world.Rules().replication = Replication::kMedian;
  EXPECT_EQ(world.Settle(claims).credit, 20);
}

// ---- none ----

TEST(NoneTest, GrantsNothingAndKeepsStatistics) {
  World world{NonePolicy(), PolicyKind::kNone};
  HostRecord host = Benchmarked(1e9, 0);
  const ClaimDecision decision = world.Validate({.reported_credit = 70, .assigned = 50}, host);
  ASSERT_TRUE(decision.has_claim);
  EXPECT_EQ(decision.claim.claimed, 0);
  EXPECT_EQ(decision.claim.mode, Mode::kNone);
  EXPECT_EQ(world.Settle({decision.claim}).credit, 0);
  EXPECT_EQ(decision.sample.flags, kSamplePfc | kSampleUse);
  EXPECT_EQ(world.Row(host).pfc.n, 1);
  EXPECT_EQ(world.Row(host).et.n, 1);
  EXPECT_EQ(world.Row(host).error_rate, 0.1 * 0.95);
}

}  // namespace
}  // namespace cobblestone::credit
