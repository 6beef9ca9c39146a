// The credit that a result judged invalid would have received as a valid result.
#include "common/credit/policies/worth_if_valid.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/credit_world.h"

namespace cobblestone::credit {
namespace {

// A host with enough valid results that its own average counts.
HostRecord ReliableHost(World& world) {
  HostRecord host = world.Trusted(50, 1.5);
  host.known = true;
  host.whetstone = 2e9;
  host.dhrystone = 3e9;
  host.cpus = 4;
  world.Row(host).consecutive_valid = 20;
  world.SetVersion(kCpuVersion, 200, 1.2, 0.8);
  world.SetMinAvgPfc(0.9);
  return host;
}

std::optional<WorthIfValid> Judge(World& world, const Job& job, const HostRecord& host, double cap = 0) {
  const CompletionFacts completion = world.Completion(job);
  return PriceIfValid(completion, world.Validation(job, completion, ValidateState::kInvalid), world.Force(),
                      host, cap);
}

constexpr PolicyKind kAllKinds[] = {
    PolicyKind::kNone,        PolicyKind::kBoinc,         PolicyKind::kCreditNew,
    PolicyKind::kCreditNewV2, PolicyKind::kBenchmark,     PolicyKind::kAssigned,
    PolicyKind::kRuntime,     PolicyKind::kReportedFlops, PolicyKind::kRobust,
};

TEST(WorthIfValid, EqualsTheCreditOfAValidResultUnderEveryPolicy) {
  for (const PolicyKind kind : kAllKinds) {
    SCOPED_TRACE(PolicyName(kind));
    World world(PolicyFor(kind), kind);
    const HostRecord host = ReliableHost(world);
    const Job job{.elapsed = 7000, .cpu_time = 6500, .peak_flops = 3e9, .assigned = 12.5};
    HostRecord twin = host;
    const Claim valid = world.ClaimOf(job, twin);
    world.last_result -= 1;  // the same result
    const auto worth = Judge(world, job, host);
    ASSERT_TRUE(worth);
    EXPECT_TRUE(StatesWorth(worth->claim));
    EXPECT_EQ(worth->claim.claimed, valid.claimed);
    EXPECT_EQ(worth->claim.pfc, valid.pfc);
    EXPECT_EQ(worth->claim.mode, valid.mode);
    EXPECT_EQ(worth->claim.flags, valid.flags);
    EXPECT_EQ(worth->claim.policy_version, 3u);
    EXPECT_EQ(worth->claim.host_pfc_n, valid.host_pfc_n);
    EXPECT_EQ(worth->credit, world.Settle({valid}).credit);
    EXPECT_EQ(worth->credit > 0, kind != PolicyKind::kNone);
    EXPECT_TRUE(SamePriceAgain(world.policy, worth->claim, world.Rules()));
  }
}

TEST(WorthIfValid, ComputingItDoesNotChangeTheHostsRecord) {
  for (const PolicyKind kind : kAllKinds) {
    SCOPED_TRACE(PolicyName(kind));
    World world(PolicyFor(kind), kind);
    HostRecord priced = ReliableHost(world);
    HostRecord not_priced = priced;
    const Job job{.assigned = 1};
    EXPECT_TRUE(Judge(world, job, priced));
    world.Validate(job, priced, ValidateState::kInvalid);
    world.Validate(job, not_priced, ValidateState::kInvalid);
    EXPECT_EQ(world.Row(priced).pfc, world.Row(not_priced).pfc);
    EXPECT_EQ(world.Row(priced).et, world.Row(not_priced).et);
    EXPECT_EQ(world.Row(priced).consecutive_valid, world.Row(not_priced).consecutive_valid);
    EXPECT_EQ(world.Row(priced).error_rate, world.Row(not_priced).error_rate);
    EXPECT_EQ(world.Row(priced).max_jobs_per_day, world.Row(not_priced).max_jobs_per_day);
    EXPECT_EQ(priced.avg_turnaround, not_priced.avg_turnaround);
  }
}

TEST(WorthIfValid, IsNoMoreThanTheCap) {
  World world(PolicyFor(PolicyKind::kAssigned), PolicyKind::kAssigned);
  const auto worth = Judge(world, {.assigned = 500}, ReliableHost(world), 80);
  ASSERT_TRUE(worth);
  EXPECT_EQ(worth->credit, 80);
  EXPECT_EQ(WorthAlone(worth->claim, 80, world.Rules()), 80);
  EXPECT_EQ(WorthAlone(worth->claim, 0, world.Rules()), 500);
}

TEST(WorthIfValid, IsUnknownWithoutAnAssignedAmount) {
  World world(PolicyFor(PolicyKind::kAssigned), PolicyKind::kAssigned);
  const auto unassigned = Judge(world, {}, ReliableHost(world));
  ASSERT_TRUE(unassigned) << "the operator may set the amount";
  EXPECT_FALSE(StatesWorth(unassigned->claim));
  const auto reported = Judge(world, {.reported_credit = 7}, ReliableHost(world));
  ASSERT_TRUE(reported);
  EXPECT_TRUE(StatesWorth(reported->claim));
  EXPECT_EQ(reported->credit, 7);
}

TEST(WorthIfValid, ADeletedHostWouldHaveReceivedNothing) {
  World world(PolicyFor(PolicyKind::kBenchmark), PolicyKind::kBenchmark);
  HostRecord host = ReliableHost(world);
  host.deleted = true;
  EXPECT_FALSE(Judge(world, {}, host));
}

}  // namespace
}  // namespace cobblestone::credit
