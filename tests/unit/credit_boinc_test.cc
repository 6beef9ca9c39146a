// Policy `boinc`, item by item of the golden README, with numbers for mental arithmetic: E = 8.64e12 FLOPs on
// devices of 2 GFLOP/s. 4320 s are then E: ratio 1 and 20 Cobblestones. tests/golden compares the policy with
// BOINC itself.

#include "common/credit/policies/boinc.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "common/credit/policies/host_rows.h"

namespace cobblestone::credit {
namespace {

constexpr double kE = 8.64e12;
constexpr double kSpeed = 2e9;
constexpr double kSeconds = 4320;
constexpr double kFull = 20;
constexpr double kStart = 1'700'000'000;
constexpr AppId kApp{1};
constexpr AppVersionId kOld{11};
constexpr AppVersionId kNew{12};  // same platform and plan class, higher number
constexpr AppVersionId kGpu{21};
constexpr AppVersionId kAnonymous{-2};

class BoincTest : public testing::Test {
 protected:
  BoincTest() {
    AppRow app;
    app.id = kApp;
    app.policy = {
        .kind = PolicyKind::kBoinc, .version = 1, .constants = DefaultConstants(PolicyKind::kBoinc)};
    app.target_nresults = 2;
    app.delay_bound = 1000;
    catalogue.apps[kApp.value] = app;
    AddVersion(kOld, 100, "");
    AddVersion(kNew, 101, "");
    AddVersion(kGpu, 100, "cuda");
    catalogue.settings.daily_result_quota = 8;
    job.host = HostId(5);
    job.app = kApp;
    job.version = kOld;
    job.outcome = Outcome::kSuccess;
    job.elapsed_time = kSeconds;
    job.cpu_time = kSeconds / 2;
    job.peak_flops = kSpeed;
    job.sent_time = kStart;
    job.received_time = kStart + 5000;
    validation.host = job.host;
    validation.app = kApp;
    validation.now = kStart + 6000;
    validation.fpops_est = kE;
    validation.fpops_bound = 10 * kE;
    validation.state = ValidateState::kValid;
  }

  void AddVersion(AppVersionId id, std::uint32_t number, const std::string& plan_class) {
    AppVersionRow row;
    row.id = static_cast<std::uint64_t>(id.value);
    row.app = kApp;
    row.platform = 1;
    row.version_num = number;
    row.plan_class = plan_class;
    catalogue.versions[row.id] = row;
  }
  AppRow& App() { return catalogue.apps[kApp.value]; }
  VersionScale& Scales(AppVersionId id) { return scales.versions[static_cast<std::uint64_t>(id.value)]; }
  [[nodiscard]] InForce Force() const { return {ProjectId(1), catalogue, scales}; }
  HostVersion& Row(AppVersionId id = kOld) { return *FindHostVersion(host, kApp, id); }
  HostVersion& MakeRow(AppVersionId id, double n, double mean) {
    HostVersion row;
    row.app = kApp;
    row.version = id;
    row.pfc = {n, mean};
    host.versions.push_back(row);
    return host.versions.back();
  }

  // Validates the next result, which belongs to a new workunit.
  ClaimDecision Validate() {
    validation.workunit = WorkunitId(validation.workunit.value + 1);
    return ValidateSame();
  }
  ClaimDecision ValidateSame() {
    job.result = ResultId(job.result.value + 1);
    job.workunit = validation.workunit;
    validation.result = job.result;
    validation.id += 1;
    return BoincPolicy().OnValidation(job, validation, Force(), host);
  }

  Catalogue catalogue;
  ScaleTable scales;
  HostRecord host;
  CompletionFacts job;
  ValidationFacts validation;
};

TEST_F(BoincTest, AFirstResultCreatesTheRowAndClaimsItsFlopCount) {
  const ClaimDecision decision = Validate();
  ASSERT_TRUE(decision.has_claim);
  EXPECT_EQ(decision.claim.mode, Mode::kApproximate);
  EXPECT_EQ(decision.claim.pfc, kE);
  EXPECT_EQ(decision.claim.claimed, kFull);
  EXPECT_EQ(Row().pfc, (Average{.n = 1, .mean = 1}));
  EXPECT_EQ(Row().et, (AverageVar{.n = 1, .mean = 5e-10}));
  EXPECT_EQ(Row().turnaround, (AverageVar{.n = 1, .mean = 5000}));
  EXPECT_EQ(Row().consecutive_valid, 1);
  EXPECT_EQ(Row().max_jobs_per_day, 1);
  EXPECT_EQ(host.avg_turnaround, 5000);
  ASSERT_TRUE(decision.has_sample);
  EXPECT_EQ(decision.sample.flags, kSampleUse | kSamplePfc | kSampleCredit);
  EXPECT_EQ(decision.sample.pfc, 1);
  EXPECT_EQ(decision.sample.credit, kFull);
  EXPECT_EQ(decision.sample.credit_start, kStart);
}

TEST_F(BoincTest, Item1CpuTimeReplacesMissingElapsedTime) {
  for (const double elapsed : {0.0, 9e-7, -5.0}) {
    job.elapsed_time = elapsed;
    EXPECT_EQ(Validate().claim.claimed, kFull / 2) << elapsed;
  }
  job.elapsed_time = 1e-6;
  EXPECT_LT(Validate().claim.claimed, 1e-6);
}

TEST_F(BoincTest, Item1APlaceholderSpeedIs4300MegaflopsWithoutStatistics) {
  for (const double speed : {1e9, 0.0, -1.0}) {
    job.peak_flops = speed;
    const ClaimDecision decision = Validate();
    EXPECT_EQ(decision.claim.claimed, 43);  // 4320 s x 4.3e9 x 200 / 86400e9
    EXPECT_NE(decision.claim.flags & kClaimOutlier, 0U);
    EXPECT_EQ(decision.sample.flags, kSampleUse | kSampleCredit);  // item 9: outliers too
  }
  EXPECT_EQ(Row().pfc.n, 0);
  EXPECT_EQ(Row().et.n, 0);
  EXPECT_EQ(Row().turnaround.n, 0);
  EXPECT_EQ(Row().consecutive_valid, 3);
}

TEST_F(BoincTest, Item3BothScalesMakeAClaimNormal) {
  struct Case {
    double host_n, version_n, version_scale;
    Mode mode;
    double claimed;
  };
  // Host average 4, version average 2: host scale 1/2.
  constexpr Case kCases[] = {
      {9, 100, 0.25, Mode::kApproximate, 5},  // version scale alone
      {10, 99, 0.25, Mode::kApproximate, 5},
      {10, 100, 0, Mode::kApproximate, 10},  // host scale alone
      {10, 100, 0.25, Mode::kNormal, 2.5},
  };
  for (const Case& c : kCases) {
    host = {};
    MakeRow(kOld, c.host_n, 4);
    Scales(kOld).pfc = {c.version_n, 2};
    Scales(kOld).scale = c.version_scale;
    const Claim claim = Validate().claim;
    EXPECT_EQ(claim.mode, c.mode);
    EXPECT_EQ(claim.claimed, c.claimed);
  }
}

TEST_F(BoincTest, Item3AHostScaleIsAtMostTen) {
  MakeRow(kOld, 10, 0.125);
  Scales(kOld).pfc = {100, 2};  // 16 times
  job.elapsed_time = kSeconds / 20;
  EXPECT_EQ(Validate().claim.claimed, 10);
}

TEST_F(BoincTest, Item3TheValidatorsCopyCountsNotTheStoredRow) {
  MakeRow(kOld, 10, 4);
  VersionScale& version = Scales(kOld);
  version.pfc = {100, 8};
  version.scale = 3;
  version.cached = true;
  version.cached_pfc = {100, 2};
  version.cached_scale = 0.25;
  EXPECT_EQ(Validate().claim.claimed, 2.5);
}

TEST_F(BoincTest, Item14ALateResultCountsItselfForTheHostScaleCheck) {
  App().host_scale_check = true;
  Scales(kOld).pfc = {100, 2};
  MakeRow(kOld, 10, 4).consecutive_valid = 9;
  EXPECT_EQ(Validate().claim.claimed, kFull);  // nine in a row: not enough

  Row().pfc = {10, 4};
  Row().consecutive_valid = 9;
  validation.late = true;
  const ClaimDecision late = Validate();
  EXPECT_EQ(late.claim.claimed, kFull / 2);
  EXPECT_EQ(late.claim.consecutive_valid, 10);
  EXPECT_NE(late.claim.flags & kClaimLate, 0U);
}

TEST_F(BoincTest, Item4AnAnonymousVersionClaimsByTheHostsAverageOrTheEstimate) {
  job.version = kAnonymous;
  scales.apps[kApp.value] = {.defined = true, .min_avg_pfc = 3};
  MakeRow(kAnonymous, 9, 4);
  ClaimDecision decision = Validate();
  EXPECT_EQ(decision.claim.mode, Mode::kApproximate);
  EXPECT_EQ(decision.claim.claimed, 3 * kFull);
  EXPECT_FALSE(decision.has_sample);

  Row(kAnonymous).pfc = {10, 4};
  EXPECT_EQ(Validate().claim.claimed, 15);  // 20 x 3/4

  scales.apps[kApp.value].min_avg_pfc = 0;
  Row(kAnonymous).pfc = {10, 4};
  EXPECT_EQ(Validate().claim.claimed, 0);
  Row(kAnonymous).pfc = {9, 4};
  EXPECT_EQ(Validate().claim.claimed, kFull);
}

TEST_F(BoincTest, Item7OnlyPlausibleRatiosFeedTheAverages) {
  struct Case {
    double elapsed;
    bool counts;
  };
  // Ratio = elapsed / 4320.
  constexpr Case kCases[] = {{0.432, true}, {0.43, false}, {4.32e7, true}, {4.33e7, false}};
  for (const Case& c : kCases) {
    host = {};
    job.elapsed_time = c.elapsed;
    const ClaimDecision decision = Validate();
    EXPECT_EQ(Row().pfc.n, c.counts ? 1 : 0) << c.elapsed;
    EXPECT_EQ((decision.sample.flags & kSamplePfc) != 0, c.counts) << c.elapsed;
    EXPECT_EQ(Row().et.n, 1) << c.elapsed;
    EXPECT_EQ(Row().turnaround.n, 1) << c.elapsed;
  }
}

TEST_F(BoincTest, Item9TheBoundDoesNotLimitTheVersionsCredit) {
  validation.fpops_bound = kE / 2;
  const ClaimDecision decision = Validate();
  EXPECT_EQ(decision.claim.claimed, kFull / 2);
  EXPECT_EQ(decision.claim.pfc, kE);
  EXPECT_EQ(decision.sample.credit, kFull);
}

TEST_F(BoincTest, Item10NoVersionMeansNoClaimAndNoRowMeansTheEstimate) {
  MakeRow(kOld, 3, 1);
  catalogue.versions.erase(11);
  ClaimDecision decision = Validate();
  EXPECT_TRUE(decision.has_claim);
  EXPECT_FALSE(decision.has_sample);
  EXPECT_EQ(decision.claim.mode, Mode::kNone);
  EXPECT_EQ(Row().pfc.n, 3);              // no statistics
  EXPECT_EQ(Row().consecutive_valid, 1);  // the result still counts as valid

  job.version = AppVersionId(777);
  decision = Validate();
  EXPECT_EQ(decision.claim.mode, Mode::kWorkunitEstimate);
  EXPECT_EQ(decision.claim.claimed, kFull);
  EXPECT_FALSE(decision.has_sample);
  EXPECT_EQ(host.versions.size(), 1U);
}

TEST_F(BoincTest, Item15UnreplicatedWorkDoesNotCountAndInvalidWorkResets) {
  validation.unreplicated = true;
  Validate();
  EXPECT_EQ(Row().consecutive_valid, 0);
  EXPECT_EQ(Row().max_jobs_per_day, 1);

  Row().consecutive_valid = 7;
  Row().max_jobs_per_day = 9;
  validation.state = ValidateState::kInvalid;
  const ClaimDecision decision = Validate();
  EXPECT_FALSE(decision.has_claim);
  EXPECT_FALSE(decision.has_sample);
  EXPECT_EQ(Row().consecutive_valid, 0);
  EXPECT_EQ(Row().max_jobs_per_day, 8);
  Validate();
  EXPECT_EQ(Row().max_jobs_per_day, 8);  // only while above the quota of 8
  EXPECT_EQ(host.avg_turnaround, 5000);  // that of the valid result
}

TEST_F(BoincTest, Item16TwoResultsInOnePassStartFromTheSameRow) {
  MakeRow(kOld, 1, 1);
  Validate();
  job.elapsed_time = 3 * kSeconds;
  ValidateSame();
  EXPECT_EQ(Row().pfc,
            (Average{.n = 2, .mean = 2}));  // (1 + 3) / 2: the update of the first result is overwritten
  EXPECT_EQ(Row().consecutive_valid, 1);

  validation.pass = 1;  // another pass starts from the stored row
  ValidateSame();
  EXPECT_EQ(Row().consecutive_valid, 2);
}

TEST_F(BoincTest, Item19ANewVersionInheritsTheRowAndLosesItsFirstResult) {
  MakeRow(kOld, 5, 2).consecutive_valid = 5;
  job.version = kNew;
  const ClaimDecision decision = Validate();
  EXPECT_EQ(decision.claim.host_pfc_n, 5);
  EXPECT_TRUE(decision.has_sample);
  ASSERT_EQ(host.versions.size(), 1U);
  EXPECT_EQ(Row(kNew).pfc, (Average{.n = 5, .mean = 2}));
  EXPECT_EQ(Row(kNew).consecutive_valid, 5);
  Validate();
  EXPECT_EQ(Row(kNew).pfc.n, 6);
  EXPECT_EQ(Row(kNew).consecutive_valid, 6);

  job.version = kGpu;  // another plan class: nothing to inherit
  Validate();
  EXPECT_EQ(host.versions.size(), 2U);
  EXPECT_EQ(Row(kGpu).pfc.n, 1);
}

// Found with golden scenario s10: the inconclusive pass has already transferred the row to the new version.
TEST_F(BoincTest, Item19AnInconclusivePassTransfersTheRowWithoutLoss) {
  MakeRow(kOld, 5, 2);
  job.version = kNew;
  validation.workunit = WorkunitId(1);
  validation.state = ValidateState::kInconclusive;
  BoincPolicy().OnInconclusive(job, validation, Force(), host);
  ASSERT_EQ(host.versions.size(), 1U);
  EXPECT_EQ(Row(kNew).pfc, (Average{.n = 5, .mean = 2}));
  validation.state = ValidateState::kValid;
  validation.pass = 1;
  ValidateSame();
  EXPECT_EQ(Row(kNew).pfc.n, 6);
}

TEST_F(BoincTest, Item20TurnaroundKeepsSevenTenthsOfItsValue) {
  Validate();
  job.received_time = kStart + 1000;
  Validate();
  EXPECT_DOUBLE_EQ(host.avg_turnaround, 0.7 * 5000 + 0.3 * 1000);
  host.avg_turnaround = 0;
  Validate();
  EXPECT_EQ(host.avg_turnaround, 1000);
}

TEST_F(BoincTest, Item21NothingIsRecordedForADeletedHost) {
  host.deleted = true;
  const ClaimDecision decision = Validate();
  EXPECT_NE(decision.claim.flags & kClaimHostDeleted, 0U);
  EXPECT_TRUE(decision.has_sample);
  EXPECT_EQ(Row().pfc.n, 0);
  EXPECT_EQ(Row().max_jobs_per_day, 0);
  EXPECT_EQ(host.avg_turnaround, 0);
}

TEST_F(BoincTest, Item27ANonFiniteUpdateLeavesTheRowUnchanged) {
  MakeRow(kOld, 3, 1).consecutive_valid = 3;
  validation.fpops_est = 0;
  const ClaimDecision decision = Validate();  // et would be infinite
  EXPECT_EQ(decision.claim.claimed, kFull);
  EXPECT_EQ(Row().pfc, (Average{.n = 3, .mean = 1}));
  EXPECT_EQ(Row().consecutive_valid, 3);
  EXPECT_EQ(host.avg_turnaround, 5000);  // written by another statement

  job.elapsed_time = 0;
  job.cpu_time = 0;  // 0/0: NaN is not out of bounds, so it enters the version's average
  EXPECT_EQ(Validate().sample.flags, kSampleUse | kSamplePfc | kSampleCredit);
}

TEST_F(BoincTest, Item30ErrorsAndTimeoutsCutTheQuota) {
  job.outcome = Outcome::kClientError;
  BoincPolicy().OnFailure(job, Force(), host);
  EXPECT_TRUE(host.versions.empty());  // an error creates no row

  job.outcome = Outcome::kTimeout;
  BoincPolicy().OnFailure(job, Force(), host);
  EXPECT_EQ(Row().max_jobs_per_day, 7);  // 0 counts as the quota of 8
  EXPECT_EQ(Row().turnaround, (AverageVar{.n = 1, .mean = 1000}));

  Row().consecutive_valid = 4;
  job.outcome = Outcome::kAbortedByUser;
  BoincPolicy().OnFailure(job, Force(), host);
  EXPECT_EQ(Row().max_jobs_per_day, 6);
  EXPECT_EQ(Row().consecutive_valid, 0);
  Row().max_jobs_per_day = 50;
  job.outcome = Outcome::kClientError;
  BoincPolicy().OnFailure(job, Force(), host);
  EXPECT_EQ(Row().max_jobs_per_day, 7);
  Row().max_jobs_per_day = 1;
  BoincPolicy().OnFailure(job, Force(), host);
  EXPECT_EQ(Row().max_jobs_per_day, 1);  // never below one
}

TEST_F(BoincTest, TheRecordedInputsGiveTheSamePriceAgain) {
  MakeRow(kOld, 10, 4);
  Scales(kOld).pfc = {100, 2};
  Scales(kOld).scale = 0.25;
  const Claim claim = Validate().claim;
  Claim again = claim;
  again.mode = Mode::kNone;
  again.pfc = again.claimed = -1;
  again.flags &= ~static_cast<std::uint32_t>(kClaimHasHostScale | kClaimHasVersionScale);
  BoincPolicy().Price(again, App().policy.constants);
  EXPECT_EQ(again.mode, claim.mode);
  EXPECT_EQ(again.pfc, claim.pfc);
  EXPECT_EQ(again.claimed, claim.claimed);
  EXPECT_EQ(again.flags, claim.flags);
}

// ---- Awards: claims in multiples of E, the estimate is E, so weights are 1 / (0.1 + |1 - value|).

Claim Of(double parts, Mode mode) {
  Claim claim;
  claim.mode = mode;
  claim.pfc = parts * kE;
  claim.fpops_est = kE;
  claim.fpops_bound = 10 * kE;
  claim.min_avg_pfc = 1;
  if (mode == Mode::kNone) claim.flags |= kClaimNoClaim;
  return claim;
}

struct Award {
  const char* what;
  std::vector<Claim> claims;
  double cap;
  double parts;  // of E; credit is 20 times that
};

TEST(BoincAward, FollowsTheModesOfTheClaims) {
  constexpr Mode kN = Mode::kNormal;
  constexpr Mode kA = Mode::kApproximate;
  constexpr Mode kW = Mode::kWorkunitEstimate;
  const Award kAwards[] = {
      {"a single approximate value is taken unchanged", {Of(3, kA)}, 0, 3},
      {"a single normal value is taken unchanged", {Of(3, kN)}, 0, 3},
      {"weights 1/0.1 and 1/1.1: 11 to 1", {Of(1, kA), Of(2, kA)}, 0, 13.0 / 12},
      {"two normal values leave the others out", {Of(1, kN), Of(9, kA), Of(2, kN)}, 0, 13.0 / 12},
      {"a lone normal value counts twice", {Of(1, kA), Of(2, kN)}, 0, (11 + 2 * 2) / 13.0},
      {"an estimate counts as approximate", {Of(1, kW), Of(2, kA)}, 0, 13.0 / 12},
      {"the bound comes first", {Of(50, kA)}, 0, 10},
      {"a claim above the cap is left out", {Of(1, kN), Of(9, kN), Of(2, kN)}, 100, 13.0 / 12},
      {"no claim left: the estimate", {Of(9, kA), Of(8, kN)}, 100, 1},
      {"the estimate is capped too", {Of(9, kA)}, 10, 0.5},
      {"results without a claim get the credit of the other claims", {Of(0, Mode::kNone), Of(2, kA)}, 0, 2},
      {"no result has a claim: the estimate", {Of(0, Mode::kNone)}, 0, 1},
  };
  for (const Award& award : kAwards) {
    const Settlement settlement =
        BoincPolicy().Settle(award.claims, award.cap, DefaultConstants(PolicyKind::kBoinc));
    EXPECT_NEAR(settlement.credit, 20 * award.parts, 1e-12) << award.what;
    EXPECT_EQ(settlement.modes.size(), award.claims.size()) << award.what;
  }
}

TEST(BoincAward, MarksTheClaimsThatTheCapExcluded) {
  const std::vector<Claim> claims = {Of(1, Mode::kNormal), Of(9, Mode::kNormal)};
  const Constants constants = DefaultConstants(PolicyKind::kBoinc);
  EXPECT_EQ(BoincPolicy().Settle(claims, 100, constants).modes,
            (std::vector<Mode>{Mode::kNormal, Mode::kCapped}));
  EXPECT_EQ(SettleSet(std::vector<Claim>{Of(9, Mode::kNormal)}, 10, constants).credit,
            20);  // before the last cap
}

// Estimate 0 and a value of 0: weight 1/0. The credit is NaN and the grant is refused.
TEST(BoincAward, IsNanWhereBoincsIsNan) {
  EXPECT_TRUE(std::isnan(PeggedAverage(std::vector<double>{0, 0}, 0)));
  EXPECT_EQ(PeggedAverage(std::vector<double>{0}, 0), 0);
}

TEST(BoincAward, TheEstimateIsTheJobsSizeWithoutAnAverage) {
  EXPECT_EQ(WorkunitEstimate(kE, 0), kE);
  EXPECT_EQ(WorkunitEstimate(kE, 3), 3 * kE);
}

}  // namespace
}  // namespace cobblestone::credit
