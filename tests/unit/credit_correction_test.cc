// What is taken back or priced anew, and what goes from recent averages with it.
#include "common/credit/correction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/credit/constants.h"
#include "common/credit/partial_settlement.h"
#include "common/credit/policy.h"
#include "common/credit/reprice.h"

namespace cobblestone::credit {
namespace {

constexpr double kNow = 1.7e9;
constexpr double kWeek = 7 * 86400;

// ---- Recent averages -----------------------------------------------------------------------------------------------

TEST(CorrectionShare, AHalfIsLeftAfterAHalfLifeAndItGoesInProportion) {
  RecentAverage share;
  AddToShare(70'000'000, kNow, share);
  const double at_once = std::log(2.0) * 70 / 7;
  EXPECT_NEAR(share.value, at_once, 1e-12);
  EXPECT_NEAR(ShareOff(share, 70'000'000, 0, kNow + kWeek), at_once / 2, 1e-12);
  EXPECT_NEAR(ShareOff(share, 70'000'000, 35'000'000, kNow + kWeek), at_once / 4, 1e-12);
  EXPECT_NEAR(ShareOff(share, 70'000'000, 140'000'000, kNow + kWeek), -at_once / 2, 1e-12);
  EXPECT_EQ(ShareOff(share, 0, 140'000'000, kNow), 0);
}

TEST(CorrectionShare, WhatARecordBeforeHasTakenIsNotTakenTwice) {
  RecentAverage share;
  AddToShare(70'000'000, kNow, share);
  TakeFromShare(share.value, kNow, share);
  EXPECT_EQ(ShareOff(share, 70'000'000, 0, kNow), 0);
}

TEST(CorrectionShare, WhatIsNoNumberTakesNothing) {
  const RecentAverage share{.value = std::numeric_limits<double>::infinity(), .time = kNow};
  EXPECT_EQ(ShareOff(share, 1, 0, kNow), 0);
}

TEST(CorrectionPosting, ItsCreditIsNoWorkAndTheCountFalls) {
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
  // More credit is no work either: the average wins what it is told.
  Post({.micro = 5'000'000,
        .app = AppId(3),
        .now = kNow + kWeek,
        .counted = false,
        .recent_off = -0.5,
        .corrects = true},
       account);
  EXPECT_EQ(account.recent.value, before - 0.25 + 0.5);
  EXPECT_EQ(account.grants, 1u);
  // A grant of nothing, taken back: the count alone.
  Post({.micro = 0,
        .app = AppId(3),
        .now = kNow + kWeek,
        .counted = false,
        .corrects = true,
        .uncounts = true},
       account);
  EXPECT_EQ(account.grants, 0u);
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

TEST(PriceAnew, ByTheSameVersionItIsWhatItWasAndByAnotherWhatThatMakesOfIt) {
  const PolicyVersion first = Version(PolicyKind::kBenchmark, 1, 1);
  std::vector<RecordedClaim> claims = {{.claim = BenchmarkClaim(1, 40000, first)},
                                       {.claim = BenchmarkClaim(2, 50000, first)}};
  const std::vector<Claim> plain = {claims[0].claim, claims[1].claim};
  const Settlement settled = PolicyFor(first.kind).Settle(plain, 0, first.constants);
  const PricedAnew same = PriceAnew(claims, 0, first);
  EXPECT_EQ(same.problem, "");
  EXPECT_EQ(same.micro, RoundToMicro(settled.credit));
  const PricedAnew twice = PriceAnew(claims, 0, Version(PolicyKind::kBenchmark, 2, 2));
  EXPECT_EQ(twice.credit, 2 * settled.credit);
  // The cap is that of then.
  EXPECT_EQ(PriceAnew(claims, 1.5 * settled.credit, Version(PolicyKind::kBenchmark, 2, 2)).credit,
            1.5 * settled.credit);
  EXPECT_EQ(PriceAnew(claims, 0, Version(PolicyKind::kNone, 3, 1)).micro, 0);
  // Of a replica without a grant there is its claim, and not what it was made of.
  claims[1].whole = false;
  EXPECT_EQ(PriceAnew(claims, 0, first).micro, same.micro);
  EXPECT_EQ(PriceAnew(claims, 0, Version(PolicyKind::kBenchmark, 2, 2)).problem,
            "replica 2 was granted nothing, so the ledger has not what its claim was made of");
}

TEST(PriceAnew, WhatTheLedgerDoesNotTellIsNotGuessed) {
  const PolicyVersion first = Version(PolicyKind::kBenchmark, 1, 1);
  const std::vector<RecordedClaim> claims = {{.claim = BenchmarkClaim(1, 40000, first)}};
  EXPECT_EQ(PriceAnew(claims, 0, Version(PolicyKind::kBoinc, 2, 1)).problem,
            "the ledger has what policy benchmark looked at, and not what boinc would");
  PolicyVersion mean = Version(PolicyKind::kBenchmark, 2, 1);
  mean.constants.benchmark = Benchmark::kMean;
  EXPECT_EQ(PriceAnew(claims, 0, mean).problem,
            "the version asks for another benchmark of the host than the ledger has");
  EXPECT_EQ(PriceAnew(claims, 0, Version(PolicyKind::kBenchmark, 2, 1e280)).problem,
            "it comes to no amount of credit");
  // Those that let a project or an app say the credit have the benchmark as well.
  std::vector<RecordedClaim> assigned = claims;
  assigned[0].claim.policy = PolicyKind::kAssigned;
  EXPECT_EQ(PriceAnew(assigned, 0, first).micro, PriceAnew(claims, 0, first).micro);
}

TEST(BroughtTo, FollowsTheSettlementOfTheApp) {
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
    EXPECT_EQ(BroughtTo(UserId(1), claim, row.worth), row.first) << row.worth;
    EXPECT_EQ(BroughtTo(UserId(2), claim, row.worth), row.second) << row.worth;
  }
}

}  // namespace
}  // namespace cobblestone::credit
