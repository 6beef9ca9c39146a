// Running averages: the straight part, the exponential part, samples that are cut and samples that are refused.

#include "common/credit/model/average.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace cobblestone::credit {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Threshold 4: three samples straight, the fourth with weight 1/4.
constexpr AverageRule kRule{.samples = 4, .weight = 0.25, .limit = 10};

TEST(Average, IsTheStraightMeanUpToTheThresholdThenExponential) {
  Average average;
  AddSample(kRule, 2, average);
  AddSample(kRule, 4, average);
  AddSample(kRule, 6, average);
  EXPECT_EQ(average, (Average{.n = 3, .mean = 4}));
  AddSample(kRule, 8, average);  // 4 + (8 - 4) / 4
  EXPECT_EQ(average, (Average{.n = 4, .mean = 5}));
}

TEST(Average, KeepsTheVarianceOfItsSamples) {
  AverageVar average;
  AddSample(kRule, 2, average);
  EXPECT_EQ(average, (AverageVar{.n = 1, .mean = 2, .var = 0, .q = 0}));
  AddSample(kRule, 4, average);
  AddSample(kRule, 6, average);
  EXPECT_EQ(average, (AverageVar{.n = 3, .mean = 4, .var = 8.0 / 3, .q = 8}));  // (4 + 0 + 4) / 3
  AddSample(kRule, 8, average);  // var + ((8 - 4)^2 - var) / 4; q belongs to the straight part and stays
  EXPECT_EQ(average, (AverageVar{.n = 4, .mean = 5, .var = 8.0 / 3 + 0.25 * (16 - 8.0 / 3), .q = 8}));
}

TEST(Average, CutsASampleAboveTenTimesTheMeanFromTheSecondOn) {
  Average average;
  EXPECT_EQ(AddSample(kRule, 1000, average), SampleTaken::kAsIs);  // a first sample is never cut
  average = {.n = 2, .mean = 1};
  EXPECT_EQ(AddSample(kRule, 10, average), SampleTaken::kAsIs);  // ten times exactly is allowed
  average = {.n = 2, .mean = 1};
  EXPECT_EQ(AddSample(kRule, 1e300, average), SampleTaken::kCut);
  EXPECT_EQ(average, (Average{.n = 3, .mean = 4}));  // 1 + (10 - 1) / 3
}

// Ten times 0 is 0: a mean of 0 must not cut every later sample to 0.
TEST(Average, AMeanOfZeroDoesNotCutLaterSamples) {
  Average average;
  AddSample(kRule, 0, average);
  EXPECT_EQ(AddSample(kRule, 3, average), SampleTaken::kAsIs);
  EXPECT_EQ(average, (Average{.n = 2, .mean = 1.5}));
}

TEST(Average, RefusesNegativeAndNonFiniteSamples) {
  for (const double sample : {-1e-300, -1.0, -kInf, kInf, kNan}) {
    Average average{.n = 2, .mean = 3};
    AverageVar with_variance{.n = 2, .mean = 3, .var = 1, .q = 2};
    EXPECT_EQ(AddSample(kRule, sample, average), SampleTaken::kRefused) << sample;
    EXPECT_EQ(AddSample(kRule, sample, with_variance), SampleTaken::kRefused) << sample;
    EXPECT_EQ(average, (Average{.n = 2, .mean = 3}));
    EXPECT_EQ(with_variance, (AverageVar{.n = 2, .mean = 3, .var = 1, .q = 2}));
  }
}

// Golden README, item 7: BOINC's averages accept NaN, and cut infinity like any sample that is too large.
TEST(Average, AcceptsNanLikeBoinc) {
  const AverageRule rule = HostAverageRule(Constants{}, PolicyKind::kBoinc);
  Average average{.n = 2, .mean = 3};
  EXPECT_EQ(AddSample(rule, -1, average), SampleTaken::kRefused);
  EXPECT_EQ(AddSample(rule, kInf, average), SampleTaken::kCut);
  EXPECT_EQ(average, (Average{.n = 3, .mean = 12}));  // 3 + (30 - 3) / 3
  AddSample(rule, kNan, average);
  EXPECT_EQ(average.n, 4);
  EXPECT_TRUE(std::isnan(average.mean));
  EXPECT_FALSE(IsFinite(average));
}

TEST(Average, RulesComeFromThePolicysConstants) {
  Constants constants;
  constants.host_average_samples = 20;
  EXPECT_EQ(HostAverageRule(constants, PolicyKind::kBoinc).samples, 20);
  EXPECT_EQ(HostAverageRule(constants, PolicyKind::kBoinc).weight, 0.01);
  EXPECT_EQ(VersionAverageRule(constants, PolicyKind::kBoinc).samples, 100);
  EXPECT_EQ(VersionAverageRule(constants, PolicyKind::kBoinc).weight, 0.001);
  EXPECT_FALSE(VersionAverageRule(constants, PolicyKind::kRuntime).refuse_non_finite);
  EXPECT_TRUE(VersionAverageRule(constants, PolicyKind::kCreditNew).refuse_non_finite);
}

}  // namespace
}  // namespace cobblestone::credit
