// Factors of plan classes over projects: docs/rules.md, section 53.
#include "common/federation/factors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace cobblestone::federation {
namespace {

using credit::Resource;
using testing::ElementsAre;

constexpr double kNow = 1.8e9;
constexpr double kDay = 86400;
constexpr FactorRules kRules;

// A version of a mixed app, with enough samples and work of today.
VersionReport Version(std::uint32_t project, double scale, double credit = 1000, std::uint64_t version = 1) {
  return {.project = project,
          .project_name = "P" + std::to_string(project),
          .app = 1,
          .app_version = version,
          .plan_class = "cuda",
          .resource = Resource::kNvidia,
          .samples = 500,
          .scale = scale,
          .recent_credit = credit,
          .recent_time = kNow,
          .both_kinds = true,
          .time = kNow};
}

Factor Only(const Factors& factors) {
  EXPECT_EQ(factors.factors.size(), 1u);
  return factors.factors.empty() ? Factor{} : factors.factors.front();
}

Factor Of(const std::vector<VersionReport>& reports, const std::vector<Factor>& before = {},
          const FactorRules& rules = kRules, double now = kNow) {
  return Only(ComputeFactors(reports, rules, before, now));
}

TEST(Factors, AreTheMedianOverProjects) {
  const Factor factor = Of({Version(1, 0.2), Version(2, 0.25), Version(3, 0.5)});
  EXPECT_EQ(factor.plan_class, "cuda");
  EXPECT_EQ(factor.resource, Resource::kNvidia);
  EXPECT_EQ(factor.factor, 0.25);
  EXPECT_EQ(factor.target, 0.25);
  EXPECT_FALSE(factor.is_default);
  EXPECT_TRUE(factor.is_computed);
}

TEST(Factors, ExactlyHalfOfTheWeightOnEitherSideGivesTheGeometricMean) {
  // Four equal weights: half lies at or below 0.2, half at or above 0.8. sqrt(0.2 x 0.8) = 0.4.
  EXPECT_DOUBLE_EQ(Of({Version(1, 0.1), Version(2, 0.2), Version(3, 0.8), Version(4, 1.6)}).factor, 0.4);
  // The same value twice is not rounded by a root.
  EXPECT_EQ(Of({Version(1, 0.1), Version(2, 0.3), Version(3, 0.3), Version(4, 1.6)}).factor, 0.3);
}

// The example of docs/rules.md: six projects with a weight of 600, 200, 100, 50, 30, 20. No project may have more than a
// fifth: with two capped projects t = 0.2 x (2 t + 200), so t = 200/3 = 66.7, but the third has 100. With three
// t = 0.2 x (3 t + 100) = 50, and the fourth has 50, so the level is 50: 50 + 50 + 50 + 50 + 30 + 20 = 250.
TEST(Factors, NoProjectWeighsMoreThanAFifth) {
  const Factor factor = Of({Version(1, 0.9, 600), Version(2, 0.3, 200), Version(3, 0.2, 100),
                            Version(4, 0.25, 50), Version(5, 0.4, 30), Version(6, 0.1, 20)});
  std::vector<double> shares;
  for (const Contribution& one : factor.contributions) shares.push_back(one.weight);
  EXPECT_THAT(shares, ElementsAre(testing::DoubleEq(0.2), testing::DoubleEq(0.2), testing::DoubleEq(0.2),
                                  testing::DoubleEq(0.2), testing::DoubleEq(0.12), testing::DoubleEq(0.08)));
  EXPECT_EQ(factor.contributions[0].credit, 600);
  // Ascending values with their shares: 0.1 (8 %), 0.2 (28 %), 0.25 (48 %), 0.3 (68 %): half lies in 0.3.
  EXPECT_EQ(factor.factor, 0.3);
}

TEST(Factors, FewerThanFiveProjectsWeighTheSame) {
  for (const std::size_t projects : {3u, 4u, 5u}) {
    std::vector<VersionReport> reports;
    for (std::uint32_t p = 1; p <= projects; ++p) reports.push_back(Version(p, 0.1 * p, std::pow(10.0, p)));
    for (const Contribution& one : Of(reports).contributions)
      EXPECT_DOUBLE_EQ(one.weight, 1.0 / static_cast<double>(projects));
  }
}

// The cap is the share also where all projects but the smallest have it: t = 0.3 x (3 t + 10) = 30.
TEST(Factors, AllProjectsButTheSmallestMayHaveTheLargestShare) {
  FactorRules rules;
  rules.largest_share = 0.3;
  std::vector<double> shares;
  for (const Contribution& one :
       Of({Version(1, 0.1, 5000), Version(2, 0.2, 10), Version(3, 0.3, 70), Version(4, 0.4, 6000)}, {}, rules)
           .contributions)
    shares.push_back(one.weight);
  const auto near = [](double share) { return testing::DoubleNear(share, 1e-12); };
  EXPECT_THAT(shares, ElementsAre(near(0.3), near(0.1), near(0.3), near(0.3)));
}

TEST(Factors, VersionsOfOneProjectBecomeOneValue) {
  // The median of 0.1 (10), 0.2 (50) and 0.4 (30) is 0.2; the project's weight is their sum.
  const Factor factor = Of({Version(1, 0.4, 30, 13), Version(1, 0.1, 10, 11), Version(1, 0.2, 50, 12),
                            Version(2, 0.3), Version(3, 0.5)});
  ASSERT_EQ(factor.contributions.size(), 3u);
  EXPECT_EQ(factor.contributions[0].value, 0.2);
  EXPECT_EQ(factor.contributions[0].credit, 90);
  EXPECT_THAT(factor.contributions[0].versions, ElementsAre(11, 12, 13));
  EXPECT_EQ(factor.factor, 0.3);
}

TEST(Factors, WeightsAreDecayedToOneInstant) {
  std::vector<VersionReport> reports{Version(1, 0.1, 800), Version(2, 0.2), Version(3, 0.3)};
  reports[0].recent_time = kNow - 14 * kDay;  // two half-lives
  EXPECT_DOUBLE_EQ(Of(reports).contributions[0].credit, 200);
  reports[0].recent_time = kNow + kDay;  // a clock that is ahead increases nothing
  EXPECT_EQ(Of(reports).contributions[0].credit, 800);
}

TEST(Factors, NameEveryVersionThatIsLeftOutAndWhy) {
  struct Case {
    LeftOutReason reason;
    void (*spoil)(VersionReport&);
  };
  const Case cases[] = {
      {LeftOutReason::kNotANumber, [](VersionReport& r) { r.scale = std::nan(""); }},
      {LeftOutReason::kNotANumber, [](VersionReport& r) { r.scale = -1; }},
      {LeftOutReason::kNotANumber, [](VersionReport& r) { r.samples = HUGE_VAL; }},
      {LeftOutReason::kNotANumber, [](VersionReport& r) { r.recent_credit = -HUGE_VAL; }},
      {LeftOutReason::kNotANumber, [](VersionReport& r) { r.recent_time = std::nan(""); }},
      {LeftOutReason::kDeprecated, [](VersionReport& r) { r.deprecated = true; }},
      {LeftOutReason::kNoScale, [](VersionReport& r) { r.scale.reset(); }},
      {LeftOutReason::kNoScale, [](VersionReport& r) { r.scale = 0; }},
      {LeftOutReason::kGpuOnly, [](VersionReport& r) { r.both_kinds = false; }},
      {LeftOutReason::kFewSamples, [](VersionReport& r) { r.samples = 99; }},
      {LeftOutReason::kStale, [](VersionReport& r) { r.time = kNow - 31 * kDay; }},
      {LeftOutReason::kStale, [](VersionReport& r) { r.recent_time = kNow - 31 * kDay; }},
      {LeftOutReason::kNoCredit, [](VersionReport& r) { r.recent_credit = 0; }},
  };
  for (const Case& one : cases) {
    std::vector<VersionReport> reports{Version(1, 0.2), Version(2, 0.25), Version(3, 0.5), Version(4, 99)};
    one.spoil(reports[3]);
    const Factor factor = Of(reports);
    EXPECT_EQ(factor.factor, 0.25);
    ASSERT_EQ(factor.left_out.size(), 1u) << LeftOutName(one.reason);
    EXPECT_EQ(factor.left_out[0].project, 4u);
    EXPECT_EQ(factor.left_out[0].reason, one.reason);
  }
}

TEST(Factors, ACpuVersionBelongsToNoFactor) {
  std::vector<VersionReport> reports{Version(1, 1), Version(2, 1), Version(3, 1)};
  reports[0].resource = Resource::kCpu;
  reports[1].resource = Resource::kUnknown;
  reports[2].plan_class.clear();
  const Factors factors = ComputeFactors(reports, kRules, {}, kNow);
  EXPECT_TRUE(factors.factors.empty());
  ASSERT_EQ(factors.left_out.size(), 3u);
  for (const LeftOut& one : factors.left_out) EXPECT_EQ(one.reason, LeftOutReason::kNotGpu);
}

TEST(Factors, OnlyTheNewestReportOfAVersionCounts) {
  std::vector<VersionReport> reports{Version(1, 0.2), Version(2, 0.25), Version(3, 0.5), Version(2, 0.3)};
  reports[1].time = kNow - kDay;
  const Factor factor = Of(reports);
  EXPECT_EQ(factor.factor, 0.3);
  ASSERT_EQ(factor.left_out.size(), 1u);
  EXPECT_EQ(factor.left_out[0].reason, LeftOutReason::kSuperseded);
}

TEST(Factors, AreTheDefaultWhileFewerThanThreeProjectsContribute) {
  const Factor factor = Of({Version(1, 0.5), Version(2, 0.5)});
  EXPECT_EQ(factor.factor, 0.1);
  EXPECT_TRUE(factor.is_default);
  EXPECT_FALSE(factor.is_computed);
  EXPECT_TRUE(factor.contributions.empty());
  ASSERT_EQ(factor.left_out.size(), 2u);
  EXPECT_EQ(factor.left_out[0].reason, LeftOutReason::kTooFewProjects);
  // The default is a guess: the first target from reports is in force at once.
  EXPECT_EQ(Of({Version(1, 0.5), Version(2, 0.5), Version(3, 0.5)}, {factor}).factor, 0.5);
}

TEST(Factors, MoveByAtMostATenthInAnEpoch) {
  std::vector<Factor> before{Of({Version(1, 0.2), Version(2, 0.2), Version(3, 0.2)})};
  const std::vector<VersionReport> later{Version(1, 0.4), Version(2, 0.4), Version(3, 0.4)};
  // 0.2 x 1.1^7 = 0.3897; the eighth step reaches 0.4.
  for (int epoch = 1; epoch <= 7; ++epoch) {
    before = {Of(later, before)};
    EXPECT_DOUBLE_EQ(before[0].factor, 0.2 * std::pow(1.1, epoch));
    EXPECT_EQ(before[0].target, 0.4);
  }
  EXPECT_EQ(Of(later, before).factor, 0.4);
}

// Two of three projects leave: the factor goes back to the default in steps, and the class then disappears.
TEST(Factors, GoBackToTheDefaultInStepsWhenProjectsLeave) {
  std::vector<Factor> before{Of({Version(1, 0.2), Version(2, 0.2), Version(3, 0.2)})};
  // 0.2 / 1.1^7 = 0.1026; the eighth step reaches 0.1.
  for (int epoch = 1; epoch <= 7; ++epoch) {
    before = {Of({Version(3, 0.2)}, before)};
    EXPECT_TRUE(before[0].is_default);
    EXPECT_TRUE(before[0].is_computed);
    EXPECT_NEAR(before[0].factor, 0.2 / std::pow(1.1, epoch), 1e-12);
  }
  // Reports of no project at all: the last step is made without them.
  before = ComputeFactors({}, kRules, before, kNow).factors;
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].factor, 0.1);
  EXPECT_FALSE(before[0].is_computed);
  EXPECT_TRUE(ComputeFactors({}, kRules, before, kNow).factors.empty());
}

// The attack A19 of the laboratory's list: one project reports ten times its scale, to raise what GPU-only projects pay,
// and any recent credit, to raise its weight. A mean weighted by recent credit would follow: with the share r it is
// 1 + 9 r times the honest scale.
TEST(Factors, TenTimesTheScaleOfOneProjectMovesNobodysCredit) {
  for (const double share : {0.1, 0.5, 0.9, 0.999999}) {
    std::vector<VersionReport> reports;
    for (std::uint32_t project = 1; project <= 4; ++project) reports.push_back(Version(project, 0.2));
    // Of all recent credit, that of the liar is `share`.
    reports.push_back(Version(5, 2, 4000 * share / (1 - share)));
    double weighted = 0;
    double all = 0;
    for (const VersionReport& report : reports) {
      weighted += report.recent_credit * *report.scale;
      all += report.recent_credit;
    }
    EXPECT_NEAR(weighted / all / 0.2, 1 + 9 * share, 1e-6);
    EXPECT_EQ(Of(reports).factor, 0.2) << share;
  }
}

// What several liars gain if honest values differ: as many places of the median as they have projects, in halves.
TEST(Factors, SeveralLiarsBelowHalfOfTheWeightStayAmongHonestValues) {
  // Honest scales that differ by 12 times, as those of different apps do.
  const std::vector<double> scales{0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6};
  const auto with = [&](const std::vector<double>& lies) {
    std::vector<VersionReport> reports;
    for (const double scale : scales)
      reports.push_back(Version(static_cast<std::uint32_t>(reports.size() + 1), scale));
    for (const double lie : lies)
      reports.push_back(Version(static_cast<std::uint32_t>(reports.size() + 1), lie));
    return Of(reports).factor;
  };
  EXPECT_EQ(with({}), 0.2);
  // In one direction: one liar moves half a place, two move one place, and so on, up to the largest honest value.
  EXPECT_DOUBLE_EQ(with({1e9}), std::sqrt(0.2 * 0.3));
  EXPECT_EQ(with({1e9, 1e9}), 0.3);
  EXPECT_EQ(with({1e9, 1e9, 1e9, 1e9}), 0.4);
  EXPECT_EQ(with({1e9, 1e9, 1e9, 1e9, 1e9, 1e9}), 0.6);
  EXPECT_EQ(with({1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9}), 0.05);
  // In different directions they undo each other.
  EXPECT_EQ(with({1e9, 1e-9, 1e9, 1e-9, 1e9, 1e-9}), 0.2);
  EXPECT_DOUBLE_EQ(with({1e9, 1e-9, 1e9}), std::sqrt(0.2 * 0.3));
  // With half of the weight or more they decide.
  EXPECT_GT(with({1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9}), 1e3);
}

// The cap limits each project, not all liars together: three small projects have a tenth of the credit, and three fifths
// of the weight after the cap.
TEST(Factors, LiarsBelowHalfOfTheCreditMayHaveMoreThanHalfOfTheWeight) {
  const Factor factor =
      Of({Version(1, 0.2, 45), Version(2, 0.2, 45), Version(3, 9, 4), Version(4, 9, 3), Version(5, 9, 3)});
  EXPECT_EQ(factor.factor, 9);
  double weight = 0;
  for (const Contribution& one : factor.contributions)
    if (one.value == 9) weight += one.weight;
  EXPECT_DOUBLE_EQ(weight, 0.6);
}

// A factor that a GPU-only app uses must not come back as a report (S000 gives no rule; the factor would feed itself).
TEST(Factors, TheScaleOfAGpuOnlyAppNeverEnters) {
  std::vector<VersionReport> reports{Version(1, 0.2), Version(2, 0.25), Version(3, 0.5)};
  const Factor without = Of(reports);
  for (std::uint32_t p = 4; p < 40; ++p) {
    reports.push_back(Version(p, without.factor, 1e9));
    reports.back().both_kinds = false;
  }
  const Factor with = Of(reports);
  EXPECT_EQ(with.factor, without.factor);
  EXPECT_EQ(with.contributions, without.contributions);
  EXPECT_EQ(with.left_out.size(), 36u);
}

// ---- Properties ------------------------------------------------------------------------------------------------

double Between(double least, double most) {
  return least * std::pow(most / least, *rc::gen::inRange(0, 1000001) / 1e6);
}

// Honest projects whose scales agree within 10 %, with any weights.
std::vector<VersionReport> HonestProjects(int least, int most) {
  std::vector<VersionReport> reports;
  const int n = *rc::gen::inRange(least, most + 1);
  const double base = Between(0.01, 1);
  for (int p = 1; p <= n; ++p)
    reports.push_back(Version(static_cast<std::uint32_t>(p), base * Between(1, 1.1), Between(1e-3, 1e9)));
  return reports;
}

// Between the last bits of 10 %.
constexpr double kTenPercent = 1.1 * (1 + 1e-12);

RC_GTEST_PROP(FactorsProperty, OneLiarWithLessThanHalfOfTheWeightMovesNoFactorByMoreThanTenPercent, ()) {
  std::vector<VersionReport> reports = HonestProjects(3, 30);
  const double honest = Of(reports).factor;
  double weight = 0;
  for (const VersionReport& one : reports) weight += one.recent_credit;
  const double lie = *rc::gen::element(1e-300, 1e-9, 1e-3, 10.0, 1e9, 1e300);
  // Below one half of all the weight, before the cap.
  reports.push_back(Version(99, lie, weight * Between(1e-6, 0.999999)));
  const Factor factor = Of(reports);
  RC_ASSERT(factor.factor <= honest * kTenPercent);
  RC_ASSERT(factor.factor >= honest / kTenPercent);
}

RC_GTEST_PROP(FactorsProperty, OneLiarHasLessThanHalfOfTheWeightAfterTheCapWhateverItClaims, ()) {
  std::vector<VersionReport> reports = HonestProjects(2, 30);
  const double lie = *rc::gen::element(1e-300, 1e-9, 1e-3, 10.0, 1e9, 1e300);
  reports.push_back(Version(99, lie, *rc::gen::element(1e-9, 1.0, 1e12, 1e300)));
  const Factor factor = Of(reports);
  const double limit = std::max(0.2, 1.0 / static_cast<double>(reports.size())) * (1 + 1e-9);
  double sum = 0;
  for (const Contribution& one : factor.contributions) {
    RC_ASSERT(one.weight <= limit);
    sum += one.weight;
  }
  RC_ASSERT(std::abs(sum - 1) < 1e-9);
  double least = HUGE_VAL;
  double most = 0;
  for (const VersionReport& one : reports) {
    if (one.project == 99) continue;
    least = std::min(least, *one.scale);
    most = std::max(most, *one.scale);
  }
  RC_ASSERT(factor.factor >= least * (1 - 1e-12));
  RC_ASSERT(factor.factor <= most * (1 + 1e-12));
}

// The value that `share` of the honest weight lies below, or the next one. `honest`: with weights after the cap.
double QuantileOf(std::vector<Contribution> honest, double share, bool upper) {
  std::sort(honest.begin(), honest.end(),
            [](const Contribution& a, const Contribution& b) { return a.value < b.value; });
  double all = 0;
  for (const Contribution& one : honest) all += one.weight;
  // Sums of shares are rounded, so a bound that lies between two values allows both.
  constexpr double kRounding = 1e-9;
  double sum = 0;
  for (const Contribution& one : honest) {
    sum += one.weight;
    if (sum / all > share + (upper ? kRounding : -kRounding)) return one.value;
  }
  return honest.back().value;
}

// The bound of docs/rules.md, section 53: liars with the share w < 1/2 of the weight after the cap, in any directions, keep
// a factor between the honest values at the shares 1/2 - w/(2 - 2w) and 1/2 + w/(2 - 2w) of the honest weight.
RC_GTEST_PROP(FactorsProperty, LiarsBelowHalfOfTheWeightKeepAFactorBetweenHonestQuantiles, ()) {
  const int honest = *rc::gen::inRange(2, 20);
  const int liars = *rc::gen::inRange(1, honest + 1);
  const double spread = *rc::gen::element(1.0, 1.1, 2.0, 10.0, 100.0);
  std::vector<VersionReport> reports;
  for (int p = 1; p <= honest; ++p)
    reports.push_back(Version(static_cast<std::uint32_t>(p), 0.1 * Between(1, spread), Between(1e-3, 1e9)));
  for (int p = 1; p <= liars; ++p)
    reports.push_back(Version(static_cast<std::uint32_t>(100 + p),
                              *rc::gen::element(1e-300, 1e-3, 0.1, 0.11, 0.3, 10.0, 1e300),
                              *rc::gen::element(1e-3, 1.0, 1e9, 1e300)));
  const Factor factor = Of(reports);
  if (factor.is_default) return;
  double w = 0;
  std::vector<Contribution> others;
  for (const Contribution& one : factor.contributions)
    if (one.project > 100)
      w += one.weight;
    else
      others.push_back(one);
  if (w >= 0.5 - 1e-9) return;
  const double away = w / (2 - 2 * w);
  RC_ASSERT(factor.factor >= QuantileOf(others, 0.5 - away, false) * (1 - 1e-12));
  RC_ASSERT(factor.factor <= QuantileOf(others, 0.5 + away, true) * (1 + 1e-12));
  if (spread <= 1.1) {
    const double without = QuantileOf(others, 0.5, false);
    RC_ASSERT(factor.factor <= without * kTenPercent);
    RC_ASSERT(factor.factor >= without / kTenPercent);
  }
}

// A lie that grows slowly moves a factor no further than one told at once: the target depends on the newest reports only.
RC_GTEST_PROP(FactorsProperty, LiarsThatDriftForHundredsOfEpochsMoveNoFactorOutOfTheHonestRange, ()) {
  const int honest = *rc::gen::inRange(3, 12);
  const int liars = *rc::gen::inRange(1, honest);
  std::vector<VersionReport> reports;
  for (int p = 1; p <= honest; ++p)
    reports.push_back(Version(static_cast<std::uint32_t>(p), 0.1 * Between(1, 1.1)));
  double least = HUGE_VAL;
  double most = 0;
  for (const VersionReport& one : reports) {
    least = std::min(least, *one.scale);
    most = std::max(most, *one.scale);
  }
  std::vector<double> drift;  // of each liar, in an epoch
  for (int p = 1; p <= liars; ++p) {
    drift.push_back(*rc::gen::element(0.91, 0.98, 0.999, 1.001, 1.02, 1.1));
    reports.push_back(Version(static_cast<std::uint32_t>(100 + p), 0.1));
  }
  std::vector<Factor> before =
      ComputeFactors(std::span(reports).first(static_cast<std::size_t>(honest)), kRules, {}, kNow).factors;
  const double without = Only({.factors = before, .left_out = {}}).factor;
  for (int epoch = 1; epoch <= 400; ++epoch) {
    for (std::size_t p = 0; p < drift.size(); ++p) {
      VersionReport& lie = reports[static_cast<std::size_t>(honest) + p];
      lie.scale = *lie.scale * drift[p];
    }
    for (VersionReport& one : reports) one.time = one.recent_time = kNow + epoch * kDay;
    before = ComputeFactors(reports, kRules, before, kNow + epoch * kDay).factors;
    const double factor = Only({.factors = before, .left_out = {}}).factor;
    RC_ASSERT(factor >= least * (1 - 1e-12));
    RC_ASSERT(factor <= most * (1 + 1e-12));
    RC_ASSERT(factor <= without * kTenPercent);
    RC_ASSERT(factor >= without / kTenPercent);
  }
}

// ---- The reach of one project -----------------------------------------------------------------------------------

Reach ReachOf(const Factor& factor, const FactorRules& rules = kRules) {
  const auto reach = ReachOfOneProject(factor, rules);
  EXPECT_TRUE(reach.has_value());
  return reach.value_or(Reach{});
}

TEST(FactorReach, OfOneProjectIsTheNeighbourOfTheMedian) {
  // Seven equal weights. Without one of the lower values and with a lie above all, the fourth of the rest is the median:
  // 0.3. The other way round it is 0.15.
  std::vector<VersionReport> reports;
  for (const double scale : {0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6})
    reports.push_back(Version(static_cast<std::uint32_t>(reports.size() + 1), scale));
  EXPECT_EQ(ReachOf(Of(reports)), (Reach{.least = 0.15, .greatest = 0.3}));
}

// The example of docs/rules.md: shares of 8, 20, 20, 20, 12 and 20 % in ascending order of the values. If 0.9 lies below
// all, 0.25 is the first at which half is reached (20 + 8 + 20 + 20); if 0.2 or 0.25 lies above all, it is 0.4.
TEST(FactorReach, IsThatOfTheExample) {
  const Factor factor = Of({Version(1, 0.9, 600), Version(2, 0.3, 200), Version(3, 0.2, 100),
                            Version(4, 0.25, 50), Version(5, 0.4, 30), Version(6, 0.1, 20)});
  EXPECT_EQ(factor.target, 0.3);
  EXPECT_EQ(ReachOf(factor), (Reach{.least = 0.25, .greatest = 0.4}));
}

// Two large projects with 0.1 and 0.2, and seven small ones with 0.3 to 0.9. t = 0.2 x (2 t + 70) = 23.3, so the shares are
// 20, 20 and seven times 8.6 %. A small one with its own weight would get down to 0.3 (48.6 + 8.6 %). One that claims more
// credit than all others has a fifth as well: t = 0.2 x (3 t + 60) = 30, and 60 % are at or below 0.2. Upwards it is a large
// one that gets furthest: 20 + 4 x 8.6 % lie below 0.6 then.
TEST(FactorReach, CountsALiarWithTheLargestWeightThatTheCapAllows) {
  std::vector<VersionReport> reports{Version(1, 0.1, 1000), Version(2, 0.2, 1000)};
  const double small[] = {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
  for (const double scale : small)
    reports.push_back(Version(static_cast<std::uint32_t>(reports.size() + 1), scale, 10));
  EXPECT_EQ(Of(reports).target, 0.4);
  EXPECT_EQ(ReachOf(Of(reports)), (Reach{.least = 0.2, .greatest = 0.6}));
}

TEST(FactorReach, IncludesTheDefaultIfTheSilenceOfOneProjectBringsItBack) {
  const Factor three = Of({Version(1, 0.2), Version(2, 0.3), Version(3, 0.5)});
  EXPECT_EQ(ReachOf(three), (Reach{.least = 0.1, .greatest = 0.5, .silence_is_default = true}));
  const Factor low = Of({Version(1, 0.02), Version(2, 0.03), Version(3, 0.05)});
  EXPECT_EQ(ReachOf(low), (Reach{.least = 0.02, .greatest = 0.1, .silence_is_default = true}));
}

TEST(FactorReach, HasNoBoundsWhereOneProjectDecides) {
  FactorRules rules;
  rules.min_projects = 1;
  EXPECT_EQ(ReachOf(Of({Version(1, 0.3)}, {}, rules), rules), (Reach{.silence_is_default = true}));
  // Two equal weights: the midpoint of the honest value and of the lie.
  EXPECT_EQ(ReachOf(Of({Version(1, 0.3), Version(2, 0.3)}, {}, rules), rules), Reach{});
}

TEST(FactorReach, IsAbsentWhileTheFactorIsTheDefault) {
  EXPECT_EQ(ReachOfOneProject(Of({Version(1, 0.5), Version(2, 0.5)}), kRules), std::nullopt);
}

// The median limits what one project can do in the long run, the slew limit what it can do in an epoch.
TEST(FactorReach, IsWhereALieThatLastsTakesTheFactorAndNoFurther) {
  std::vector<VersionReport> reports;
  for (const double scale : {0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6})
    reports.push_back(Version(static_cast<std::uint32_t>(reports.size() + 1), scale));
  const Reach reach = ReachOf(Of(reports));
  std::vector<Factor> before{Of(reports)};
  reports[0].scale = 1e9;
  for (int epoch = 0; epoch < 20; ++epoch) {
    before = {Of(reports, before)};
    EXPECT_LE(before[0].factor, reach.greatest);
  }
  EXPECT_EQ(before[0].factor, reach.greatest);
}

// Every lie that is tried stays within the reach, and one lie is at each end of it. The lies: each project in turn, and one
// more, with values among and beyond those of the others, and with weights from nothing to everything; and silence.
RC_GTEST_PROP(FactorReachProperty, IsThatOfTheStrongestOfAllLies, ()) {
  FactorRules rules;
  rules.min_projects = *rc::gen::inRange(1u, 6u);
  rules.largest_share = *rc::gen::element(0.05, 0.15, 0.2, 0.2, 0.3, 0.45, 1.0);
  std::vector<VersionReport> honest;
  const int n = *rc::gen::inRange(1, 14);
  const double spread = *rc::gen::element(1.0, 1.1, 3.0, 100.0);
  const bool equal = *rc::gen::inRange(0, 3) == 0;
  for (int p = 1; p <= n; ++p)
    honest.push_back(Version(static_cast<std::uint32_t>(p), 0.1 * Between(1, spread),
                             equal ? 1000 : *rc::gen::element(Between(1e-3, 1e9), Between(1, 20))));
  const Factor factor = Of(honest, {}, rules);
  const auto reach = ReachOfOneProject(factor, rules);
  RC_ASSERT(reach.has_value() == !factor.is_default);
  if (!reach) return;

  constexpr double kSmallest = 1e-300;
  constexpr double kLargest = 1e300;
  std::vector<double> values{kSmallest, kLargest, rules.default_factor};
  std::vector<double> credits{1e-9, 1e15};
  for (const VersionReport& one : honest) {
    values.insert(values.end(), {*one.scale, *one.scale * 1.01, *one.scale / 1.01});
    credits.insert(credits.end(), {one.recent_credit * 0.3, one.recent_credit, one.recent_credit * 3});
  }
  double least = factor.target;
  double greatest = factor.target;
  const auto told = [&](const std::vector<VersionReport>& reports) {
    const Factors made = ComputeFactors(reports, rules, {}, kNow);
    // Of a class that nobody reports, nothing is left: the default.
    const double target = made.factors.empty() ? rules.default_factor : made.factors[0].target;
    least = std::min(least, target);
    greatest = std::max(greatest, target);
  };
  honest.push_back(Version(99, 1, 0));  // without weight, until it lies
  for (VersionReport& liar : honest) {
    const VersionReport truth = liar;
    for (const double value : values)
      for (const double credit : credits) {
        liar.scale = value;
        liar.recent_credit = credit;
        told(honest);
      }
    liar = truth;
    liar.recent_credit = 0;
    told(honest);
    liar = truth;
  }
  // A liar without bounds reaches the root of its own value at least.
  if (reach->greatest)
    RC_ASSERT(greatest == *reach->greatest);
  else
    RC_ASSERT(greatest > 1e100);
  if (reach->least > 0)
    RC_ASSERT(least == reach->least);
  else
    RC_ASSERT(least < 1e-100);
}

VersionReport AnyReport() {
  VersionReport report =
      Version(*rc::gen::inRange(1u, 8u), *rc::gen::element(0.0, 0.1, 0.1, 0.2, 0.3, 5.0),
              *rc::gen::element(0.0, 1.0, 7.0, 7.0, 1e9, 1e300), *rc::gen::inRange(1u, 4u));
  report.plan_class = *rc::gen::element<std::string>("cuda", "opencl_amd", "");
  report.resource = *rc::gen::element(Resource::kNvidia, Resource::kAmd, Resource::kCpu);
  report.both_kinds = *rc::gen::inRange(0, 4) != 0;
  report.samples = *rc::gen::element(0.0, 99.0, 100.0, 1e6, std::numeric_limits<double>::quiet_NaN());
  report.time = kNow - *rc::gen::element(0.0, 1.0, 1.0, 40.0) * kDay;
  report.recent_time = kNow - *rc::gen::element(-1.0, 0.0, 3.3, 40.0) * kDay;
  return report;
}

RC_GTEST_PROP(FactorsProperty, TheOrderOfReportsChangesNoBit, ()) {
  std::vector<VersionReport> reports;
  const int n = *rc::gen::inRange(0, 60);
  for (int i = 0; i < n; ++i) reports.push_back(AnyReport());
  std::vector<Factor> before = ComputeFactors(reports, kRules, {}, kNow - kDay).factors;
  const Factors once = ComputeFactors(reports, kRules, before, kNow);
  for (std::size_t i = reports.size(); i > 1; --i)
    std::swap(reports[i - 1], reports[*rc::gen::inRange<std::size_t>(0, i)]);
  std::reverse(before.begin(), before.end());
  RC_ASSERT(ComputeFactors(reports, kRules, before, kNow) == once);
}

RC_GTEST_PROP(FactorsProperty, NoFactorMovesByMoreThanTheSlewLimit, ()) {
  std::vector<Factor> before;
  for (int epoch = 0; epoch < 20; ++epoch) {
    std::vector<VersionReport> reports;
    const int n = *rc::gen::inRange(0, 30);
    for (int i = 0; i < n; ++i) reports.push_back(AnyReport());
    std::vector<Factor> now = ComputeFactors(reports, kRules, before, kNow).factors;
    for (const Factor& old : before) {
      if (!old.is_computed) continue;
      const auto same = std::find_if(now.begin(), now.end(), [&](const Factor& f) {
        return f.plan_class == old.plan_class && f.resource == old.resource;
      });
      RC_ASSERT(same != now.end());
      RC_ASSERT(same->factor <= old.factor * kRules.slew);
      RC_ASSERT(same->factor >= old.factor / kRules.slew);
    }
    before = std::move(now);
  }
}

}  // namespace
}  // namespace cobblestone::federation
