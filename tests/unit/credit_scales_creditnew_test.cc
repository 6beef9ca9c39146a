// Cross-version normalisation at a tick (S000; S001 for creditnew-v2), with worked means.
#include "common/credit/scales/scales_creditnew.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "common/credit/policies/creditnew.h"
#include "common/credit/policies/creditnew_v2.h"
#include "common/credit/policies/robust.h"
#include "common/credit/policies/simple_policies.h"
#include "tests/unit/credit_world.h"

namespace cobblestone::credit {
namespace {

Sample PfcSample(std::int64_t version, double pfc, std::uint64_t number, std::uint64_t host = 1) {
  Sample sample;
  sample.time = kStart + static_cast<double>(number);
  sample.validation_id = number;
  sample.result = ResultId(number);
  sample.app = AppId(1);
  sample.version = AppVersionId(version);
  sample.flags = kSamplePfc;
  sample.pfc = pfc;
  sample.host = HostId(host);
  return sample;
}

class ScalesTest : public testing::Test {
 protected:
  World world{CreditNewPolicy(), PolicyKind::kCreditNew};
};

// ---- creditnew ----

struct VersionCase {
  std::int64_t id;
  double n;
  double mean;
  double scale;  // expected
};

struct ScaleCase {
  const char* what;
  std::vector<VersionCase> versions;
  bool defined;
  double min_avg_pfc;
};

TEST_F(ScalesTest, XIsTheAverageOfOneKindOrTheLesserMeanOfBoth) {
  const ScaleCase cases[] = {
      {"one CPU version: no X", {{kCpuVersion, 500, 2, 0}}, false, 0},
      {"two CPU versions: X is their average over samples, (300 x 1 + 100.5 x 4)/400.5",
       {{kCpuVersion, 300, 1, 702 / 400.5}, {kSecondCpuVersion, 100.5, 4, 702 / 400.5 / 4}},
       true,
       702 / 400.5},
      {"the second one at the threshold, not above it: no X",
       {{kCpuVersion, 300, 1, 0}, {kSecondCpuVersion, 100, 4, 0}},
       false,
       0},
      {"CPU and GPU, the GPU ten times less efficient: X is the CPU's",
       {{kCpuVersion, 200, 2, 1}, {kGpuVersion, 200, 20, 0.1}},
       true,
       2},
      {"CPU and GPU, the CPU less efficient: X is the GPU's",
       {{kCpuVersion, 200, 4, 0.5}, {kGpuVersion, 200, 2, 1}},
       true,
       2},
      {"two and two: the lesser mean",
       {{kCpuVersion, 200, 1, 2},
        {kSecondCpuVersion, 200, 3, 2.0 / 3},
        {kGpuVersion, 200, 8, 0.25},
        {kSecondGpuVersion, 200, 16, 0.125}},
       true,
       2},
      {"a version below the threshold gets no scale",
       {{kCpuVersion, 200, 2, 1}, {kSecondCpuVersion, 50, 9, 0}, {kGpuVersion, 200, 20, 0.1}},
       true,
       2},
      {"no samples at all", {{kCpuVersion, 0, 0, 0}}, false, 0},
  };
  for (const ScaleCase& c : cases) {
    SCOPED_TRACE(c.what);
    World fresh(CreditNewPolicy(), PolicyKind::kCreditNew);
    for (const VersionCase& version : c.versions) fresh.SetVersion(version.id, version.n, version.mean, 0);
    fresh.Tick({});
    EXPECT_EQ(fresh.AppScales().defined, c.defined);
    EXPECT_EQ(fresh.AppScales().min_avg_pfc, c.min_avg_pfc);
    for (const VersionCase& version : c.versions) EXPECT_EQ(fresh.Version(version.id).scale, version.scale);
  }
}

TEST_F(ScalesTest, GpuOnlyAppsAreScaledByTheFactorOfTheirPlanClass) {
  struct Case {
    const char* what;
    std::map<std::string, double> factors;
    double cuda_n;
    double ati_n;
    double cuda_scale;
    double ati_scale;
    bool defined;
    double min_avg_pfc;
  };
  const Case cases[] = {
      {"no factor known: the default, from the first job on", {}, 0, 0, 0.1, 0.1, false, 0},
      {"the hub's factor", {{"cuda", 0.25}}, 0, 0, 0.25, 0.1, false, 0},
      {"one version counts: factor x mean", {{"cuda", 0.25}}, 200, 0, 0.25, 0.1, true, 2},
      {"both: mean of factor x mean", {{"cuda", 0.25}, {"ati", 0.5}}, 200, 200, 0.25, 0.5, true, 5},
      {"a NaN factor gives no scale",
       {{"cuda", std::numeric_limits<double>::quiet_NaN()}},
       0,
       0,
       0,
       0.1,
       false,
       0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    World fresh(CreditNewPolicy(), PolicyKind::kCreditNew);
    fresh.RemoveVersion(kCpuVersion);
    fresh.RemoveVersion(kSecondCpuVersion);
    fresh.catalogue.plan_class_factors = c.factors;
    fresh.SetVersion(kGpuVersion, c.cuda_n, 8, 0);
    fresh.SetVersion(kSecondGpuVersion, c.ati_n, 16, 0);
    fresh.Tick({});
    EXPECT_EQ(fresh.Version(kGpuVersion).scale, c.cuda_scale);
    EXPECT_EQ(fresh.Version(kSecondGpuVersion).scale, c.ati_scale);
    EXPECT_EQ(fresh.AppScales().defined, c.defined);
    EXPECT_EQ(fresh.AppScales().min_avg_pfc, c.min_avg_pfc);
  }
}

TEST_F(ScalesTest, OnlyKindsAboveTheThresholdCount) {
  // A CPU version exists, but only the GPU version has enough samples: the app counts as GPU-only until the CPU
  // version has enough samples too.
  world.SetVersion(kCpuVersion, 50, 2, 0);
  world.SetVersion(kGpuVersion, 200, 20, 0);
  world.Tick({});
  EXPECT_EQ(world.Version(kGpuVersion).scale, 0.1);
  EXPECT_EQ(world.Version(kCpuVersion).scale, 0);
  EXPECT_EQ(world.AppScales().min_avg_pfc, 2);
  world.SetVersion(kCpuVersion, 101, 4, 0);
  world.Tick({});
  EXPECT_EQ(world.Version(kGpuVersion).scale, 0.2);
  EXPECT_EQ(world.Version(kCpuVersion).scale, 1);
  EXPECT_EQ(world.AppScales().min_avg_pfc, 4);
}

TEST_F(ScalesTest, DeprecatedVersionsAreScaledButDoNotCount) {
  world.SetVersion(kCpuVersion, 200, 2, 0);
  world.SetVersion(kSecondCpuVersion, 200, 8, 0);
  world.SetVersion(kGpuVersion, 200, 20, 0);
  world.catalogue.versions[kSecondCpuVersion].deprecated = true;
  world.Tick({});
  EXPECT_EQ(world.AppScales().min_avg_pfc, 2);
  EXPECT_EQ(world.Version(kSecondCpuVersion).scale, 0.25);
}

TEST_F(ScalesTest, MinAvgPfcOutlivesItsVersionsAndScalesDoNot) {
  world.SetVersion(kCpuVersion, 200, 1, 0);
  world.SetVersion(kSecondCpuVersion, 200, 3, 0);
  world.Tick({});
  ASSERT_EQ(world.AppScales().min_avg_pfc, 2);
  world.RemoveVersion(kSecondCpuVersion);
  world.Tick({});
  EXPECT_EQ(world.Version(kCpuVersion).scale, 0);  // "only applied if at least two versions are above"
  EXPECT_EQ(world.AppScales().min_avg_pfc, 2);
  EXPECT_TRUE(world.AppScales().defined);
}

TEST_F(ScalesTest, TheStartValueOfMinAvgPfcHoldsUntilXIsDefined) {
  world.App().min_avg_pfc = 0.75;
  world.Tick({});
  EXPECT_TRUE(world.AppScales().defined);
  EXPECT_EQ(world.AppScales().min_avg_pfc, 0.75);
}

TEST_F(ScalesTest, TheFirstHundredSamplesGiveAStraightMean) {
  std::vector<Sample> samples;
  for (std::uint64_t i = 1; i <= 100; ++i) samples.push_back(PfcSample(kCpuVersion, i % 2 == 0 ? 3 : 1, i));
  world.Tick(samples);
  EXPECT_EQ(world.Version(kCpuVersion).pfc.n, 100);
  EXPECT_NEAR(world.Version(kCpuVersion).pfc.mean, 2, 1e-12);
  world.Version(kCpuVersion).pfc.mean = 2;
  world.Tick({PfcSample(kCpuVersion, 12, 101)});  // from then on with weight .001
  EXPECT_EQ(world.Version(kCpuVersion).pfc.mean, 2 + 0.001 * 10);
  world.Version(kCpuVersion).pfc.mean = 2;
  world.Tick({PfcSample(kCpuVersion, 1e9, 102)});  // "capped at 10 times the current average"
  EXPECT_EQ(world.Version(kCpuVersion).pfc.mean, 2 + 0.001 * 18);
}

TEST_F(ScalesTest, InvalidSamplesAndUnknownVersionsAreIgnored) {
  world.Tick({PfcSample(kCpuVersion, std::numeric_limits<double>::infinity(), 1),
              PfcSample(kCpuVersion, std::numeric_limits<double>::quiet_NaN(), 2),
              PfcSample(kCpuVersion, -1, 3), PfcSample(99, 1, 4), PfcSample(-2, 1, 5),
              PfcSample(kCpuVersion, 4, 6)});
  EXPECT_EQ(world.Version(kCpuVersion).pfc, (Average{1, 4}));
  EXPECT_EQ(world.scales.versions.count(99), 0u);
}

TEST_F(ScalesTest, ClaimStatisticsAndRecentCreditAreKept) {
  std::vector<Sample> samples;
  const double credits[] = {2, 4, 4, 4, 5, 5, 7, 9};  // mean 5, variance 4
  for (std::uint64_t i = 0; i < 8; ++i) {
    Sample sample = PfcSample(i == 0 ? -2 : kCpuVersion, 1, i + 1);
    sample.flags = kSampleClaim | (i == 1 ? kSampleCredit : 0u);
    sample.credit = credits[i];
    sample.credit_start = sample.time - 86400;
    samples.push_back(sample);
  }
  world.Tick(samples);
  EXPECT_EQ(world.AppScales().claim_n, 8);
  EXPECT_DOUBLE_EQ(world.AppScales().claim_mean, 5);
  EXPECT_DOUBLE_EQ(world.AppScales().claim_var, 4);
  EXPECT_EQ(world.Version(kCpuVersion).expavg_credit, 4);  // 4 Cobblestones over one day
  EXPECT_EQ(world.Version(kCpuVersion).expavg_time, kStart + 2);
}

TEST_F(ScalesTest, ACreditSampleWithoutATimeSpanCountsOverOneSecond) {
  Sample sample = PfcSample(kCpuVersion, 1, 1);
  sample.flags = kSampleCredit;
  sample.credit = 1;
  for (const double start : {sample.time, sample.time + 5, std::numeric_limits<double>::quiet_NaN()}) {
    World fresh(CreditNewPolicy(), PolicyKind::kCreditNew);
    sample.credit_start = start;
    fresh.Tick({sample});
    EXPECT_EQ(fresh.Version(kCpuVersion).expavg_credit, 86400);  // over one second
  }
}

TEST_F(ScalesTest, AFewCheatsDoNotMoveTheMedianOverHosts) {
  // Nine honest hosts at 1, two that claim a hundred times as much, many jobs each.
  world.Rules().version_median = true;
  std::vector<Sample> samples;
  std::uint64_t number = 0;
  for (int job = 0; job < 20; ++job) {
    for (std::uint64_t host = 1; host <= 11; ++host) {
      samples.push_back(PfcSample(kCpuVersion, host <= 9 ? 1 : 100, ++number, host));
      samples.push_back(PfcSample(kSecondCpuVersion, 2, ++number, host));
    }
  }
  world.Tick(samples);
  const VersionScale& version = world.Version(kCpuVersion);
  EXPECT_GT(version.pfc.mean, 2);  // the cheats move the mean
  ASSERT_TRUE(version.cached);
  EXPECT_EQ(version.cached_pfc, (Average{220, 1}));
  EXPECT_EQ(world.AppScales().min_avg_pfc, 1.5);  // (220 x 1 + 220 x 2)/440
  EXPECT_EQ(version.scale, 1.5);
  EXPECT_EQ(version.cached_scale, 1.5);
  EXPECT_EQ(world.Version(kSecondCpuVersion).scale, 0.75);

  world.Rules().version_median = false;  // turning the option off discards the medians
  world.Tick({});
  EXPECT_FALSE(world.Version(kCpuVersion).cached);
  EXPECT_TRUE(world.coordinator.host_means.empty());
}

TEST_F(ScalesTest, TheMedianOfAnEvenNumberOfHostsLiesBetweenTheMiddleTwo) {
  world.Rules().version_median = true;
  world.Tick({PfcSample(kCpuVersion, 8, 1, 1), PfcSample(kCpuVersion, 1, 2, 2),
              PfcSample(kCpuVersion, 4, 3, 3), PfcSample(kCpuVersion, 2, 4, 4),
              PfcSample(kCpuVersion, 64, 5, 0)});  // a sample of an unknown host does not count
  EXPECT_EQ(world.Version(kCpuVersion).cached_pfc.mean, 3);
  world.RemoveVersion(kCpuVersion);
  world.Tick({});
  EXPECT_TRUE(world.coordinator.host_means.empty());
}

// ---- robust: docs/rules.md, section 54 ----

class RobustScalesTest : public testing::Test {
 protected:
  // `jobs` jobs of each of `hosts` hosts, all of which measure `pfc`.
  void Add(std::int64_t version, std::uint64_t hosts, int jobs, double pfc) {
    for (std::uint64_t host = 0; host < hosts; ++host) {
      for (int job = 0; job < jobs; ++job)
        samples.push_back(
            PfcSample(version, pfc, ++number, 1000 * static_cast<std::uint64_t>(version) + host));
    }
  }
  World world{RobustPolicy(), PolicyKind::kRobust};
  std::vector<Sample> samples;
  std::uint64_t number = 0;
};

TEST_F(RobustScalesTest, OneCpuVersionIsEnoughAndOnlyHostsWithTenResultsHaveAVote) {
  Add(kCpuVersion, 30, 11, 2);
  Add(kSecondCpuVersion, 200, 5, 50);
  world.Tick(samples);
  EXPECT_EQ(world.AppScales().min_avg_pfc, 2);
}

// The median that is kept while results arrive, against its definition: hosts with ten samples in order of their means, up to the
// first at which the samples are half of all.
TEST(WorkMedianTest, IsTheWeightedMedianAfterEachChange) {
  std::mt19937_64 random(1);
  std::map<std::uint64_t, Average> hosts;
  const auto expected = [&] {
    std::vector<std::pair<double, double>> votes;
    double all = 0;
    for (const auto& [host, average] : hosts) {
      if (average.n < 10) continue;
      votes.emplace_back(average.mean, average.n);
      all += average.n;
    }
    std::sort(votes.begin(), votes.end());
    double below = 0;
    for (const auto& [mean, n] : votes) {
      below += n;
      if (2 * below >= all) return std::pair(mean, votes.size());
    }
    return std::pair(0.0, votes.size());
  };
  WorkMedian kept(hosts, 10);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t host = random() % (1 + random() % 60);
    Average& average = hosts[host];
    const Average before = average;
    average.n += 1;
    average.mean = static_cast<double>(random() % 16);  // many are equal
    kept.Change(host, before, average);
    ASSERT_EQ(std::pair(kept.value(), static_cast<std::size_t>(kept.votes())), expected()) << i;
    ASSERT_EQ(WorkMedian(hosts, 10).value(), kept.value()) << i;
    ASSERT_EQ(kept.samples(), i + 1);
  }
}

// The state has no kept median after it was read.
TEST_F(RobustScalesTest, ATickAfterTheStateWasReadGivesTheSameScales) {
  World read(RobustPolicy(), PolicyKind::kRobust);
  for (int tick = 0; tick < 8; ++tick) {
    samples.clear();
    Add(kCpuVersion, 40, 3, 2 + tick % 3);
    Add(kSecondCpuVersion, 30, 4, 5 - tick % 2);
    world.Tick(samples);
    read.coordinator.work_medians.clear();
    read.Tick(samples);
    EXPECT_EQ(world.AppScales().min_avg_pfc, read.AppScales().min_avg_pfc) << tick;
    EXPECT_EQ(world.Version(kCpuVersion).cached_pfc, read.Version(kCpuVersion).cached_pfc) << tick;
  }
  EXPECT_TRUE(world.Version(kCpuVersion).cached);
}

TEST_F(RobustScalesTest, AHostCountsByItsResultsSoThatManyHostsOfOneMachineDoNotSetTheLevel) {
  Add(kCpuVersion, 30, 100, 2);
  for (std::uint64_t host = 1; host <= 200; ++host) {  // one machine with ten results under each of its names
    for (int job = 0; job < 10; ++job)
      samples.push_back(PfcSample(kCpuVersion, 20, ++number, 1'000'000 + host));
  }
  world.Tick(samples);
  EXPECT_EQ(world.AppScales().min_avg_pfc, 2);
}

TEST_F(RobustScalesTest, AVersionOfFewHostsDoesNotSetTheCreditOfTheApp) {
  Add(kCpuVersion, 30, 11, 2);
  Add(kGpuVersion, 19, 300, 0.001);  // X would be the lesser mean
  world.Tick(samples);
  EXPECT_EQ(world.AppScales().min_avg_pfc, 2);
  Add(kGpuVersion, 20, 300, 1);
  World enough{RobustPolicy(), PolicyKind::kRobust};
  samples.clear();
  Add(kCpuVersion, 30, 11, 2);
  Add(kGpuVersion, 20, 300, 1);
  enough.Tick(samples);
  EXPECT_EQ(enough.AppScales().min_avg_pfc, 1);
}

// Otherwise a fifth of the hosts, which use versions that nobody else uses, could raise the credit of all.
TEST_F(RobustScalesTest, AVersionCountsWithinTwiceAndHalfOfTheMedianVersion) {
  Add(kCpuVersion, 30, 100, 2);
  Add(kSecondCpuVersion, 20, 40, 20);
  world.Tick(samples);
  EXPECT_EQ(world.AppScales().min_avg_pfc, (3000 * 2.0 + 800 * 4) / 3800);
  samples.clear();
  World low{RobustPolicy(), PolicyKind::kRobust};
  Add(kCpuVersion, 30, 100, 2);
  Add(kSecondCpuVersion, 20, 40, 0.02);
  low.Tick(samples);
  EXPECT_EQ(low.AppScales().min_avg_pfc, (3000 * 2.0 + 800 * 1) / 3800);
  samples.clear();
  World half{RobustPolicy(), PolicyKind::kRobust};  // versions that differ as versions do count as they are
  Add(kCpuVersion, 20, 40, 2);
  Add(kSecondCpuVersion, 20, 40, 3.9);
  half.Tick(samples);
  EXPECT_DOUBLE_EQ(half.AppScales().min_avg_pfc, 2.95);
}

TEST_F(RobustScalesTest, GpuVersionsAreComparedAfterTheirFactors) {
  world.RemoveVersion(kCpuVersion);
  world.RemoveVersion(kSecondCpuVersion);
  world.catalogue.plan_class_factors = {{"cuda", 0.02}, {"ati", 0.2}};
  Add(kGpuVersion, 30, 100, 100);
  Add(kSecondGpuVersion, 20, 40, 10);
  world.Tick(samples);
  EXPECT_DOUBLE_EQ(world.AppScales().min_avg_pfc, 2);
  samples.clear();
  World fresh{RobustPolicy(), PolicyKind::kRobust};
  fresh.RemoveVersion(kCpuVersion);
  fresh.RemoveVersion(kSecondCpuVersion);
  fresh.catalogue.plan_class_factors = {{"cuda", 0.02}, {"ati", 0.2}};
  Add(kGpuVersion, 30, 100, 100);
  Add(kSecondGpuVersion, 20, 40, 100);  // 20 after its factor, ten times the other's 2: counts as 4
  fresh.Tick(samples);
  EXPECT_DOUBLE_EQ(fresh.AppScales().min_avg_pfc, (3000 * 2.0 + 800 * 4) / 3800);
}

TEST_F(RobustScalesTest, ASmallAppCountsTheHostsThatItHas) {
  Add(kCpuVersion, 10, 11, 2);
  world.Tick(samples);
  EXPECT_EQ(world.AppScales().min_avg_pfc, 2);
}

TEST_F(RobustScalesTest, TheMeanMovesByTwoPercentATick) {
  Add(kCpuVersion, 30, 11, 2);
  world.SetMinAvgPfc(1);
  world.Tick(samples);
  EXPECT_EQ(world.AppScales().min_avg_pfc, 1.02);
  world.Tick({});
  EXPECT_DOUBLE_EQ(world.AppScales().min_avg_pfc, 1.02 * 1.02);
  world.SetMinAvgPfc(4);
  world.Tick({});
  EXPECT_EQ(world.AppScales().min_avg_pfc, 4 / 1.02);
}

TEST_F(RobustScalesTest, AnAppWithAHistoryKeepsItsLevelWhenMediansReplaceMeans) {
  world.SetVersion(kCpuVersion, 5000, 2.2, 1);
  world.SetVersion(kGpuVersion, 5000, 20, 0.11);
  world.SetMinAvgPfc(2.2);
  Add(kCpuVersion, 30, 30, 2);
  Add(kGpuVersion, 30, 9, 18);
  world.Tick(samples);
  EXPECT_EQ(world.AppScales().min_avg_pfc, 2.2);  // GPU versions have no median yet
  EXPECT_EQ(world.coordinator.levels.at(1), 0);
  samples.clear();
  Add(kGpuVersion, 30, 20, 18);
  world.Tick(samples);
  EXPECT_EQ(world.AppScales().min_avg_pfc,
            2.2);  // less than 30 results per host: the first votes are of small jobs
  EXPECT_EQ(world.coordinator.levels.at(1), 0);
  samples.clear();
  Add(kGpuVersion, 30, 1, 18);
  world.Tick(samples);
  EXPECT_DOUBLE_EQ(world.coordinator.levels.at(1), 1.1);
  EXPECT_DOUBLE_EQ(world.AppScales().min_avg_pfc, 2.2);
}

TEST_F(RobustScalesTest, TheLevelThatAnAppKeepsIsBounded) {
  world.SetVersion(kCpuVersion, 5000, 9, 1);
  world.SetMinAvgPfc(9);
  Add(kCpuVersion, 30, 30, 2);
  world.Tick(samples);
  EXPECT_EQ(world.coordinator.levels.at(1), 1.25);
  EXPECT_EQ(world.AppScales().min_avg_pfc, 9 / 1.02);
}

TEST_F(ScalesTest, AppsOfTheSimplePoliciesGetScalesToo) {
  // A later change of policy needs the scales, and the hub needs the factors.
  World simple(BenchmarkPolicy(), PolicyKind::kBenchmark);
  simple.SetVersion(kCpuVersion, 200, 2, 0);
  simple.SetVersion(kGpuVersion, 200, 20, 0);
  simple.Tick({});
  EXPECT_EQ(simple.Version(kGpuVersion).scale, 0.1);
}

TEST_F(ScalesTest, ATickGivesAllVersionsTheSameAverageCredit) {
  // "If jobs are distributed uniformly to versions, all versions should get the same average credit."
  std::vector<Sample> samples;
  HostRecord cpu_host;
  HostRecord gpu_host;
  Job on_cpu{.elapsed = 2 * kSeconds, .received = 3 * kSeconds, .validated = 4 * kSeconds};
  Job on_gpu{.version = kGpuVersion, .peak_flops = 50 * kGflops};
  for (int i = 0; i < 101; ++i) {
    samples.push_back(world.Validate(on_cpu, cpu_host).sample);
    samples.push_back(world.Validate(on_gpu, gpu_host).sample);
  }
  world.Tick(samples);
  EXPECT_NEAR(world.ClaimOf(on_cpu, cpu_host).claimed, 40, 1e-9);
  EXPECT_NEAR(world.ClaimOf(on_gpu, gpu_host).claimed, 40, 1e-9);
}

// ---- creditnew-v2 ----

class ScalesV2Test : public testing::Test {
 protected:
  World world{CreditNewV2Policy(), PolicyKind::kCreditNewV2};

  static Sample AppSample(double pfc, double size, std::uint64_t number) {
    Sample sample = PfcSample(kCpuVersion, pfc, number);
    sample.flags |= kSampleApp;
    sample.weight = size;
    return sample;
  }
};

TEST_F(ScalesV2Test, AdjustmentIsAlwaysDownwards) {
  // "find the minimum X, then scale each app version's jobs by (X/PFC*(V))"
  world.SetVersion(kCpuVersion, 200, 2, 0);
  world.SetVersion(kSecondCpuVersion, 200, 4, 0);
  world.SetVersion(kGpuVersion, 200, 20, 0);
  world.SetVersion(kSecondGpuVersion, 100, 1, 0);  // not above the threshold: neither counts nor is scaled
  world.Tick({});
  EXPECT_EQ(world.Version(kCpuVersion).scale, 1);
  EXPECT_EQ(world.Version(kSecondCpuVersion).scale, 0.5);
  EXPECT_EQ(world.Version(kGpuVersion).scale, 0.1);
  EXPECT_EQ(world.Version(kSecondGpuVersion).scale, 0);
  world.catalogue.versions[kCpuVersion].deprecated = true;
  world.Tick({});
  EXPECT_EQ(world.Version(kCpuVersion).scale, 1);  // not 2
  EXPECT_EQ(world.Version(kSecondCpuVersion).scale, 1);
}

TEST_F(ScalesV2Test, GpuOnlyAppsAreScaledByTheHubsFactorWhichIsOneByDefault) {
  world.RemoveVersion(kCpuVersion);
  world.RemoveVersion(kSecondCpuVersion);
  world.SetVersion(kGpuVersion, 200, 8, 0);
  world.SetVersion(kSecondGpuVersion, 50, 4, 0);
  world.Tick({});
  EXPECT_EQ(world.Version(kGpuVersion).scale, 1);
  EXPECT_EQ(world.Version(kSecondGpuVersion).scale, 1);
  world.catalogue.plan_class_factors = {{"cuda", 0.125}, {"ati", 0.25}};
  world.SetVersion(kSecondGpuVersion, 200, 4, 0);
  world.Tick({});
  EXPECT_EQ(world.Version(kGpuVersion).scale, 0.0625);  // 4/8 x 0.125
  EXPECT_EQ(world.Version(kSecondGpuVersion).scale, 0.25);
}

TEST_F(ScalesV2Test, TheAppsMeanIsOverNormalisedPfcWeightedBySizeAndCapped) {
  world.Version(kCpuVersion).scale = 0.5;    // in force when the jobs were claimed
  world.Rules().version_average_weight = 0;  // no fading: plain numbers
  world.Tick({AppSample(2, kE, 1), AppSample(6, kE, 2), AppSample(4, 2 * kE, 3)});
  EXPECT_EQ(world.AppScales().npfc_mean, 2);  // (1 + 3 + 2 x 2)/4
  EXPECT_EQ(world.AppScales().npfc_weight, 4 * kE);
  world.Version(kCpuVersion).scale = 0;
  world.Tick({AppSample(1e300, 4 * kE, 4)});
  EXPECT_EQ(world.AppScales().npfc_mean, 11);  // (4 x 2 + 4 x 20)/8
}

TEST_F(ScalesV2Test, AMeanOfZeroDoesNotHoldTheAppAtZero) {
  world.Tick({AppSample(0, kE, 1)});
  EXPECT_EQ(world.AppScales().npfc_mean, 0);
  HostRecord host;
  EXPECT_EQ(world.ClaimOf({}, host).claimed, kFull);
  world.Tick({AppSample(1, kE, 2)});
  EXPECT_GT(world.AppScales().npfc_mean, 0.4);
}

}  // namespace
}  // namespace cobblestone::credit
