// Reversed and repriced credit, and the part of it that leaves recent averages.
#include "common/credit/accounts/correction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "common/credit/accounts/corrected_day.h"
#include "common/credit/accounts/reprice.h"
#include "common/credit/model/constants.h"
#include "common/credit/policies/creditnew.h"
#include "common/credit/policies/policy.h"
#include "common/credit/trickles/partial_settlement.h"
#include "tests/unit/credit_world.h"

namespace cobblestone::credit {
namespace {

constexpr double kNow = 1.7e9;
constexpr double kWeek = 7 * 86400;

// ---- Days -------------------------------------------------------------------------------------------------------------

TEST(CorrectedDays, AreSumsInOrderWithoutThoseThatCancel) {
  std::vector<CorrectedDay> days;
  AddCorrection({.micro = -5, .came = 20, .about = 12}, days);
  AddCorrection({.micro = -3, .came = 19, .about = 30}, days);
  AddCorrection({.micro = -1, .came = 20, .about = 3}, days);
  AddCorrection({.micro = -2, .came = 20, .about = 12}, days);
  AddCorrection({.micro = 1, .came = 20, .about = 3}, days);
  AddCorrection({.micro = 0, .came = 21, .about = 3}, days);
  EXPECT_EQ(days, (std::vector<CorrectedDay>{{.micro = -3, .came = 19, .about = 30},
                                             {.micro = -7, .came = 20, .about = 12}}));
}

TEST(CorrectedDays, AreTheNewestHundred) {
  std::vector<CorrectedDay> days;
  for (std::int64_t day = 1; day <= 150; ++day) AddCorrection({.micro = 1, .came = 1000, .about = day}, days);
  ASSERT_EQ(days.size(), kCorrectedDays);
  EXPECT_EQ(days.front().about, 51);
  EXPECT_EQ(days.back().about, 150);
}

// ---- Recent averages -----------------------------------------------------------------------------------------------

TEST(CorrectionShare, HalvesInAHalfLifeAndIsProportionalToTheReversal) {
  RecentAverage share;
  AddToShare(70'000'000, kNow, share);
  const double at_once = std::log(2.0) * 70 / 7;
  EXPECT_NEAR(share.value, at_once, 1e-12);
  EXPECT_NEAR(ShareOff(share, 70'000'000, 0, kNow + kWeek), at_once / 2, 1e-12);
  EXPECT_NEAR(ShareOff(share, 70'000'000, 35'000'000, kNow + kWeek), at_once / 4, 1e-12);
  EXPECT_NEAR(ShareOff(share, 70'000'000, 140'000'000, kNow + kWeek), -at_once / 2, 1e-12);
  EXPECT_EQ(ShareOff(share, 0, 140'000'000, kNow), 0);
}

TEST(CorrectionShare, AnEarlierReversalIsNotSubtractedTwice) {
  RecentAverage share;
  AddToShare(70'000'000, kNow, share);
  TakeFromShare(share.value, kNow, share);
  EXPECT_EQ(ShareOff(share, 70'000'000, 0, kNow), 0);
}

TEST(CorrectionShare, ANonFiniteShareSubtractsNothing) {
  const RecentAverage share{.value = std::numeric_limits<double>::infinity(), .time = kNow};
  EXPECT_EQ(ShareOff(share, 1, 0, kNow), 0);
}

TEST(CorrectionPosting, IsNoWorkAndDecreasesTheCount) {
  Account account;
  for (int i = 0; i < 2; ++i)
    Post({.micro = 10'000'000, .app = AppId(3), .now = kNow + i * kWeek, .work_start = kNow - kWeek},
         account);
  const double before = account.recent.value;
  Post({.micro = -10'000'000,
        .app = AppId(3),
        .now = kNow + kWeek,
        .counted = false,
        .recent_off = 0.25,
        .corrects = true,
        .uncounts = true},
       account);
  EXPECT_EQ(account.recent.value, before - 0.25);
  EXPECT_EQ(account.grants, 1u);
  EXPECT_EQ(account.apps[0].grants, 1u);
  EXPECT_TRUE(account.total_micro == 10'000'000);
  // Added credit is no work either: the average increases by the amount in the posting.
  Post({.micro = 5'000'000,
        .app = AppId(3),
        .now = kNow + kWeek,
        .counted = false,
        .recent_off = -0.5,
        .corrects = true},
       account);
  EXPECT_EQ(account.recent.value, before - 0.25 + 0.5);
  EXPECT_EQ(account.grants, 1u);
  // Reversing a grant of 0 credit changes only the count.
  Post({.micro = 0,
        .app = AppId(3),
        .now = kNow + kWeek,
        .counted = false,
        .corrects = true,
        .uncounts = true},
       account);
  EXPECT_EQ(account.grants, 0u);
}

TEST(CorrectionPosting, AResultsFirstCreditStartsAnAverageThatIsUnset) {
  const PostingFacts reinstated{.micro = 10'000'000,
                                .app = AppId(3),
                                .now = kNow,
                                .counted = true,
                                .recent_off = -0.5,
                                .corrects = true,
                                .begins_average = true};
  Account account;
  Post(reinstated, account);
  EXPECT_EQ(account.recent.value, 0.5);
  EXPECT_EQ(account.recent.time, kNow);
  EXPECT_EQ(account.grants, 1u);
  EXPECT_TRUE(account.total_micro == 10'000'000);
  // Credit that is restored was never in the average of an account without an average.
  Account other;
  PostingFacts restored = reinstated;
  restored.begins_average = false;
  Post(restored, other);
  EXPECT_EQ(other.recent.value, 0);
}

// ---- Prices --------------------------------------------------------------------------------------------------------------

PolicyVersion Version(PolicyKind kind, std::uint32_t number, double multiplier) {
  PolicyVersion version{.kind = kind, .version = number, .constants = DefaultConstants(kind)};
  version.constants.multiplier = multiplier;
  return version;
}

Claim BenchmarkClaim(std::uint64_t result, double seconds, const PolicyVersion& version) {
  Claim claim;
  claim.result = ResultId(result);
  claim.flags = kClaimValid;
  claim.benchmark = 2e9;
  claim.host_pfc_n = 4;
  claim.cpu_time = seconds;
  claim.fpops_est = 1e13;
  claim.fpops_bound = 1e15;
  claim.policy = version.kind;
  claim.policy_version = version.version;
  PolicyFor(version.kind).Price(claim, version.constants);
  return claim;
}

TEST(Reprice, TheSameVersionChangesNothingAndAnotherSetsItsOwnPrice) {
  const PolicyVersion first = Version(PolicyKind::kBenchmark, 1, 1);
  std::vector<RecordedClaim> claims = {{.claim = BenchmarkClaim(1, 40000, first)},
                                       {.claim = BenchmarkClaim(2, 50000, first)}};
  const std::vector<Claim> plain = {claims[0].claim, claims[1].claim};
  const Settlement settled = PolicyFor(first.kind).Settle(plain, 0, first.constants);
  const Repriced same = Reprice(claims, 0, first);
  EXPECT_EQ(same.problem, "");
  EXPECT_EQ(same.micro, RoundToMicro(settled.credit));
  const Repriced twice = Reprice(claims, 0, Version(PolicyKind::kBenchmark, 2, 2));
  EXPECT_EQ(twice.credit, 2 * settled.credit);
  // The cap is the cap at the time of the grant.
  EXPECT_EQ(Reprice(claims, 1.5 * settled.credit, Version(PolicyKind::kBenchmark, 2, 2)).credit,
            1.5 * settled.credit);
  EXPECT_EQ(Reprice(claims, 0, Version(PolicyKind::kNone, 3, 1)).micro, 0);
  // For a replica without a grant the ledger has the claim, but not the inputs of the claim.
  claims[1].whole = false;
  EXPECT_EQ(Reprice(claims, 0, first).micro, same.micro);
  EXPECT_EQ(Reprice(claims, 0, Version(PolicyKind::kBenchmark, 2, 2)).problem,
            "replica 2 was granted nothing, so the ledger does not record the inputs of its claim");
}

TEST(Reprice, DataMissingInTheLedgerIsNotGuessed) {
  const PolicyVersion first = Version(PolicyKind::kBenchmark, 1, 1);
  const std::vector<RecordedClaim> claims = {{.claim = BenchmarkClaim(1, 40000, first)}};
  EXPECT_EQ(Reprice(claims, 0, Version(PolicyKind::kBoinc, 2, 1)).problem,
            "the ledger records the inputs of policy benchmark, but not those of policy boinc");
  PolicyVersion mean = Version(PolicyKind::kBenchmark, 2, 1);
  mean.constants.benchmark = Benchmark::kMean;
  EXPECT_EQ(Reprice(claims, 0, mean).problem,
            "that version uses another benchmark of the host than the ledger records");
  EXPECT_EQ(Reprice(claims, 0, Version(PolicyKind::kBenchmark, 2, 1e280)).problem,
            "the price is not a valid amount of credit");
  // Policies in which a project or an app sets the credit record the benchmark as well.
  std::vector<RecordedClaim> assigned = claims;
  assigned[0].claim.policy = PolicyKind::kAssigned;
  EXPECT_EQ(Reprice(assigned, 0, first).micro, Reprice(claims, 0, first).micro);
}

TEST(CreditTo, FollowsTheSettlementOfTheApp) {
  Claim claim;
  claim.user = UserId(2);
  claim.paid = {{.user = UserId(1), .micro = 30}, {.user = UserId(2), .micro = 40}};
  struct Row {
    TrickleSettlement settlement;
    MicroCredit worth;
    MicroCredit first;
    MicroCredit second;
  };
  for (const Row& row :
       {Row{TrickleSettlement::kKeep, 100, 30, 70}, Row{TrickleSettlement::kKeep, 50, 30, 40},
        Row{TrickleSettlement::kSettle, 50, 30, 20}, Row{TrickleSettlement::kCap, 10, 10, 0}}) {
    claim.settlement = row.settlement;
    EXPECT_EQ(CreditTo(UserId(1), claim, row.worth), row.first) << row.worth;
    EXPECT_EQ(CreditTo(UserId(2), claim, row.worth), row.second) << row.worth;
  }
}

// While the job ran, 20 of the first owner's 30 and all of the second owner's 40 micro-credits were reversed.
TEST(SettlePartials, ReversedPaymentsCountAsPaidAndAreNotSettledAgain) {
  const std::vector<PaidPartial> paid = {{.user = UserId(1), .micro = 30, .reversed = 20},
                                         {.user = UserId(2), .micro = 40, .reversed = 40}};
  struct Row {
    TrickleSettlement settlement;
    MicroCredit worth;
    MicroCredit final;
    MicroCredit first_loses;
  };
  for (const Row& row :
       {Row{TrickleSettlement::kKeep, 100, 30, 0}, Row{TrickleSettlement::kKeep, 0, 0, 0},
        Row{TrickleSettlement::kSettle, 70, 0, 0}, Row{TrickleSettlement::kSettle, 30, 0, 0},
        Row{TrickleSettlement::kSettle, 25, 0, 5}, Row{TrickleSettlement::kSettle, 10, 0, 10},
        Row{TrickleSettlement::kCap, 0, 0, 10}}) {
    const PartialSettlement settled = SettlePartials(paid, row.worth, row.settlement, 0);
    EXPECT_EQ(settled.final_micro, row.final) << row.worth;
    ASSERT_EQ(settled.parts.size(), 2u);
    EXPECT_EQ(settled.parts[0].settles, 10) << row.worth;
    EXPECT_EQ(settled.parts[0].taken, row.first_loses) << row.worth;
    EXPECT_EQ(settled.parts[1].settles, 0) << row.worth;
    EXPECT_EQ(settled.parts[1].taken, 0) << row.worth;
  }
}

TEST(TakeBackPaid, TheAverageLosesTheGivenAmountUpToItsValue) {
  const PaidPartial before{.user = UserId(1), .micro = 30, .recent = 8, .recent_time = 1000};
  const double week_later = 1000 + 7 * kSecondsPerDay;
  struct Row {
    double requested;
    double taken;
    double left;  // at the average's own time
  };
  for (const Row& row : {Row{1, 1, 6}, Row{4, 4, 0}, Row{99, 4, 0}, Row{-1, 0, 8}}) {
    PaidPartial paid = before;
    EXPECT_NEAR(TakeBackPaid(20, row.requested, week_later, paid), row.taken, 1e-12) << row.requested;
    EXPECT_NEAR(paid.recent, row.left, 1e-12) << row.requested;
    EXPECT_EQ(paid.recent_time, 1000);
    EXPECT_EQ(paid.kept(), 10);
  }
}

// ---- Trickles --------------------------------------------------------------------------------------------------------

constexpr double kDay = kSecondsPerDay;

TrickleRule Elapsed() {
  return {.variety = "a", .kind = TrickleKind::kElapsed, .measure = TrickleMeasure::kElapsedTime};
}
TrickleRule Fraction() {
  return {.variety = "a", .kind = TrickleKind::kFraction, .measure = TrickleMeasure::kFractionDone};
}
TrickleRule Days() { return {.variety = "a", .kind = TrickleKind::kDay, .credit_per_day = 5}; }
TrickleRule Steps() {
  return {
      .variety = "a",
      .kind = TrickleKind::kSteps,
      .measure = TrickleMeasure::kSteps,
      .phases = {{.last_step = 1000, .credit_per_step = 0.5}, {.last_step = 3000, .credit_per_step = 0.25}}};
}
TrickleRule RunTime() {
  return {.variety = "a",
          .kind = TrickleKind::kRunTime,
          .measure = TrickleMeasure::kRuntimeIncrement,
          .incremental = true,
          .typical = {.median = 2e9, .percentile_95 = 4e9}};
}

// One job of 1 GFLOP/s on a host with benchmark `whetstone`, priced at its dispatch by a policy version.
struct Sent {
  double whetstone = 3e9;
  double fpops_bound = 1e25;
  double max_granted_credit = 0;  // of the project

  [[nodiscard]] TricklePrice By(const TrickleRule& rule, const PolicyVersion& version) const {
    EXPECT_EQ(ProblemOf(rule), std::nullopt);
    World world(CreditNewPolicy(), PolicyKind::kCreditNew);
    world.catalogue.settings.max_granted_credit = max_granted_credit;
    world.catalogue.apps.at(world.app.value).policy = version;
    HostRecord host;
    host.whetstone = whetstone;
    Job job;
    job.fpops_est = 365 * kDay * kGflops;
    const CompletionFacts dispatch = world.Completion(job);
    return PriceOf(
        rule, {.dispatch = dispatch, .fpops_est = job.fpops_est, .fpops_bound = fpops_bound, .host = host},
        world.Force());
  }
};

PolicyVersion Paying(std::uint32_t number, std::vector<TrickleRule> rules, double constant = 200) {
  PolicyVersion version{.kind = PolicyKind::kCreditNew,
                        .version = number,
                        .constants = DefaultConstants(PolicyKind::kCreditNew),
                        .trickles = std::move(rules)};
  version.constants.cobblestones_per_gflops_day = constant;
  return version;
}

// A change of a rule, and a high-water mark at which the change has an effect.
struct Change {
  const char* name;
  TrickleRule was;
  double mark;
  std::function<void(TrickleRule&)> change;
  double constant = 200;
  bool changes = true;
};

// The expected credit is the payment for the same job sent under the other version, which freezes its own price.
TEST(RepriceTrickles, GivesTheCreditOfAJobSentUnderTheOtherVersion) {
  const Change changes[] = {
      {"factor", Steps(), 1500, [](TrickleRule& rule) { rule.model_factor = 3; }},
      {"multiplier", Steps(), 1500, [](TrickleRule& rule) { rule.multiplier = 0.5; }},
      {"phases", Steps(), 1500,
       [](TrickleRule& rule) {
         rule.phases = {{2000, 2}, {3000, 0}};
       }},
      {"a shorter model", Steps(), 1500,
       [](TrickleRule& rule) {
         rule.phases = {{1200, 2}};
       }},
      {"per day", Days(), 40, [](TrickleRule& rule) { rule.credit_per_day = 7; }},
      {"constant", Elapsed(), 40 * kDay, [](TrickleRule&) {}, 100},
      {"constant", Fraction(), 0.3, [](TrickleRule&) {}, 300},
      {"constant", RunTime(), 40 * kDay, [](TrickleRule&) {}, 0},
      {"a lower speed", RunTime(), 40 * kDay, [](TrickleRule& rule) { rule.typical.percentile_95 = 2.5e9; }},
      {"a higher limit of the speed that did not apply", RunTime(), 40 * kDay,
       [](TrickleRule& rule) { rule.typical.percentile_95 = 9e9; }, 200, false},
      {"another median", RunTime(), 40 * kDay, [](TrickleRule& rule) { rule.typical.median = 1e9; }, 200,
       false},
      {"a limit", Days(), 40, [](TrickleRule& rule) { rule.max_credit = 12; }},
  };
  for (const double bound : {1e25, 3e15}) {
    const Sent sent{.fpops_bound = bound};
    for (const Change& one : changes) {
      TrickleRule is = one.was;
      one.change(is);
      const PolicyVersion then = Paying(1, {one.was});
      const PolicyVersion version = Paying(2, {is}, one.constant);
      const RecordedHighWaterMark mark{
          .variety = "a", .price = sent.By(one.was, then), .high_water_mark = one.mark};
      const Repriced same = RepriceTrickles({&mark, 1}, then, then);
      EXPECT_EQ(same.problem, "") << one.name;
      EXPECT_EQ(same.credit, CreditOfHighWaterMark(mark.price, one.mark)) << one.name;
      const Repriced repriced = RepriceTrickles({&mark, 1}, then, version);
      EXPECT_EQ(repriced.problem, "") << one.name;
      const double expected = CreditOfHighWaterMark(sent.By(is, version), one.mark);
      EXPECT_EQ(repriced.micro, RoundToMicro(expected)) << one.name;
      EXPECT_TRUE(bound < 1e20 || (repriced.micro != same.micro) == one.changes) << one.name;
      // The frozen price also fits later high-water marks, while the job runs.
      if (CannotContinue(then, version)) continue;
      const RefrozenPrice frozen = Refreeze("a", mark.price, 0, then, version);
      EXPECT_EQ(frozen.problem, "") << one.name;
      EXPECT_EQ(frozen.price.rule_version, 2u) << one.name;
      for (const double more : {0.5, 1.0, 1.7, 100.0})
        EXPECT_EQ(RoundToMicro(CreditOfHighWaterMark(frozen.price, more * one.mark)),
                  RoundToMicro(CreditOfHighWaterMark(sent.By(is, version), more * one.mark)))
            << one.name << " " << more;
    }
  }
}

// The frozen price contains the project's limit at the time of dispatch, unless the rule's limit was lower.
TEST(Refreeze, KeepsTheProjectsLimitOfTheDispatchIfThePriceHasIt) {
  TrickleRule limited = Days();
  limited.max_credit = 50;
  TrickleRule higher = limited;
  higher.max_credit = 500;
  const PolicyVersion version = Paying(2, {higher});
  const auto limit = [&](double project_then, double project_now, const TrickleRule& was) {
    const PolicyVersion then = Paying(1, {was});
    const Sent sent{.max_granted_credit = project_then};
    return Refreeze("a", sent.By(was, then), project_now, then, version).price.max_credit;
  };
  EXPECT_EQ(limit(30, 400, limited), 30);
  EXPECT_EQ(limit(30, 0, Days()), 30);
  EXPECT_EQ(limit(90, 400, limited), 400);
  EXPECT_EQ(limit(0, 0, limited), 500);
  const PolicyVersion then = Paying(1, {limited});
  EXPECT_EQ(Refreeze("a", Sent().By(limited, then), 7, then, then).price.max_credit, 50);
}

TEST(CannotContinue, IfAnyVarietyIsMeasuredDifferentlyOrHasNoPrice) {
  TrickleRule other = Days();
  other.variety = "b";
  TrickleRule longer = Steps();
  longer.phases.back().last_step = 4000;
  TrickleRule slower = Steps();
  slower.min_step_seconds = 3;
  TrickleRule dearer = Steps();
  dearer.multiplier = 7;
  const PolicyVersion then = Paying(1, {Steps()});
  EXPECT_EQ(CannotContinue(then, then), std::nullopt);
  EXPECT_EQ(CannotContinue(then, Paying(2, {dearer}, 100)), std::nullopt);
  EXPECT_NE(CannotContinue(then, Paying(2, {})), std::nullopt);
  EXPECT_NE(CannotContinue(then, Paying(2, {Steps(), other})), std::nullopt);
  EXPECT_NE(CannotContinue(then, Paying(2, {longer})), std::nullopt);
  EXPECT_NE(CannotContinue(then, Paying(2, {slower})), std::nullopt);
}

TEST(RepriceTrickles, TheVarietyThatPaysMostCounts) {
  TrickleRule days = Days();
  days.variety = "b";
  TrickleRule dearer = Steps();
  dearer.multiplier = 4;
  const PolicyVersion then = Paying(1, {Steps(), days});
  TrickleRule dearer_days = days;
  dearer_days.credit_per_day *= 4;
  const RecordedHighWaterMark marks[] = {
      {.variety = "a", .price = Sent().By(Steps(), then), .high_water_mark = 100},
      {.variety = "b", .price = Sent().By(days, then), .high_water_mark = 30}};
  EXPECT_EQ(RepriceTrickles(marks, then, then).credit, 150);
  EXPECT_EQ(RepriceTrickles(marks, then, Paying(2, {dearer, dearer_days})).credit, 600);
  // Steps worth up to 150 paid less than the days, so the ledger has no record of them.
  EXPECT_EQ(
      RepriceTrickles(marks, then, Paying(2, {dearer, days})).problem,
      "the app pays for several varieties of trickles, and the ledger records only the varieties that paid "
      "most");
  // With a version that pays only for days the price is known, because steps are no longer paid.
  EXPECT_EQ(RepriceTrickles({marks + 1, 1}, then, Paying(2, {dearer_days})).credit, 600);
  EXPECT_EQ(RepriceTrickles(marks, then, Paying(2, {dearer_days})).problem,
            "that version does not pay trickles of variety 'a'");
}

TEST(RepriceTrickles, DataMissingInTheLedgerIsNotGuessed) {
  struct Row {
    const char* why;  // a part of the message
    TrickleRule was;
    double mark;
    std::function<void(TrickleRule&)> change;
    Sent sent;
  };
  TrickleRule at_most = Days();
  at_most.max_credit = 100;
  TrickleRule pause = Steps();
  pause.phases[1].credit_per_step = 0;
  TrickleRule slow = pause;
  slow.phases.push_back({.last_step = 4000, .credit_per_step = 3});
  TrickleRule by_cpu_time = Elapsed();
  by_cpu_time.measure = TrickleMeasure::kCpuTime;
  const Row rows[] = {
      {"differently", Elapsed(), kDay, [&](TrickleRule& rule) { rule = by_cpu_time; }, {}},
      {"differently", Steps(), 10, [](TrickleRule& rule) { rule = Days(); }, {}},
      {"differently", RunTime(), kDay, [](TrickleRule& rule) { rule.max_increment = 10; }, {}},
      {"differently", Steps(), 10, [](TrickleRule& rule) { rule.min_step_seconds = 10; }, {}},
      {"limits the speed of hosts",
       RunTime(),
       kDay,
       [](TrickleRule& rule) { rule.typical.percentile_95 = 9e9; },
       {.whetstone = 8e9}},
      {"limits the speed of hosts",
       RunTime(),
       kDay,
       [](TrickleRule& rule) { rule.typical.median = 1e9; },
       {.whetstone = -1}},
      {"beyond the limit", at_most, 40, [](TrickleRule& rule) { rule.max_credit = 300; }, {}},
      {"beyond the limit", pause, 1200, [](TrickleRule& rule) { rule.phases[1].credit_per_step = 1; }, {}},
      {"beyond the limit", slow, 1200, [](TrickleRule& rule) { rule.phases[1].credit_per_step = 1; }, {}},
      {"beyond the limit", Steps(), 3000, [](TrickleRule& rule) { rule.phases[1].last_step = 9000; }, {}},
      {"whether the project allowed more",
       at_most,
       15,
       [](TrickleRule& rule) { rule.credit_per_day = 10, rule.max_credit = 300; },
       {}},
      {"not a valid amount of credit", Days(), 15, [](TrickleRule& rule) { rule.credit_per_day = 1e15; }, {}},
  };
  for (const Row& row : rows) {
    TrickleRule is = row.was;
    row.change(is);
    const PolicyVersion then = Paying(1, {row.was});
    const RecordedHighWaterMark mark{
        .variety = "a", .price = row.sent.By(row.was, then), .high_water_mark = row.mark};
    EXPECT_EQ(RepriceTrickles({&mark, 1}, then, then).problem, "") << row.why;
    const std::string problem = RepriceTrickles({&mark, 1}, then, Paying(2, {is})).problem;
    EXPECT_NE(problem.find(row.why), std::string::npos) << row.why << ": " << problem;
  }
  // The ledger does not record the full speed of devices that a limit has reduced.
  const PolicyVersion then = Paying(1, {Elapsed()});
  PolicyVersion limited = Paying(2, {Elapsed()});
  limited.constants.max_peak_flops_cpu = 5e8;
  const RecordedHighWaterMark mark{
      .variety = "a", .price = Sent().By(Elapsed(), then), .high_water_mark = kDay};
  EXPECT_EQ(
      RepriceTrickles({&mark, 1}, then, limited).problem,
      "that version limits speeds or scales differently, and the ledger records only the limited values");
}

TEST(RepriceTrickles, CreditAtALimitIsReducedByALowerLimit) {
  TrickleRule at_most = Days();
  at_most.max_credit = 100;
  TrickleRule lower = at_most;
  lower.max_credit = 60;
  const PolicyVersion then = Paying(1, {at_most});
  const RecordedHighWaterMark mark{.variety = "a", .price = Sent().By(at_most, then), .high_water_mark = 40};
  EXPECT_EQ(RepriceTrickles({&mark, 1}, then, Paying(2, {lower})).credit, 60);
  // The project's limit at the time of dispatch holds with any limit of the rule.
  TrickleRule none = at_most;
  none.max_credit = 0;
  const RecordedHighWaterMark held{
      .variety = "a", .price = Sent{.max_granted_credit = 50}.By(at_most, then), .high_water_mark = 40};
  const Repriced repriced = RepriceTrickles({&held, 1}, then, Paying(2, {none}));
  EXPECT_EQ(repriced.problem, "");
  EXPECT_EQ(repriced.credit, 50);
}

}  // namespace
}  // namespace cobblestone::credit
