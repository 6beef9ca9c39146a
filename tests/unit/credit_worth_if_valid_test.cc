// What a result that was judged invalid would have got, had it been valid.
#include "common/credit/policies/worth_if_valid.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/credit_world.h"

namespace cobblestone::credit {
namespace {

// The host has proven itself with so many results that its own average counts.
HostRecord Proven(World& world) {
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
    PolicyKind::kNone,      PolicyKind::kBoinc,    PolicyKind::kCreditNew, PolicyKind::kCreditNewV2,
    PolicyKind::kBenchmark, PolicyKind::kAssigned, PolicyKind::kRuntime,   PolicyKind::kReportedFlops,
};

TEST(WorthIfValid, IsWhatTheSameResultGotWhereItWasValidUnderEveryPolicy) {
  for (const PolicyKind kind : kAllKinds) {
    SCOPED_TRACE(PolicyName(kind));
    World world(PolicyFor(kind), kind);
    const HostRecord host = Proven(world);
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

TEST(WorthIfValid, AskingForItLeavesTheHostsRecordToTheInvalidResult) {
  for (const PolicyKind kind : kAllKinds) {
    SCOPED_TRACE(PolicyName(kind));
    World world(PolicyFor(kind), kind);
    HostRecord asked = Proven(world);
    HostRecord never = asked;
    const Job job{.assigned = 1};
    EXPECT_TRUE(Judge(world, job, asked));
    world.Validate(job, asked, ValidateState::kInvalid);
    world.Validate(job, never, ValidateState::kInvalid);
    EXPECT_EQ(world.Row(asked).pfc, world.Row(never).pfc);
    EXPECT_EQ(world.Row(asked).et, world.Row(never).et);
    EXPECT_EQ(world.Row(asked).consecutive_valid, world.Row(never).consecutive_valid);
    EXPECT_EQ(world.Row(asked).error_rate, world.Row(never).error_rate);
    EXPECT_EQ(world.Row(asked).max_jobs_per_day, world.Row(never).max_jobs_per_day);
    EXPECT_EQ(asked.avg_turnaround, never.avg_turnaround);
  }
}

TEST(WorthIfValid, IsNoMoreThanTheCap) {
  World world(PolicyFor(PolicyKind::kAssigned), PolicyKind::kAssigned);
  const auto worth = Judge(world, {.assigned = 500}, Proven(world), 80);
  ASSERT_TRUE(worth);
  EXPECT_EQ(worth->credit, 80);
  EXPECT_EQ(WorthAlone(worth->claim, 80, world.Rules()), 80);
  EXPECT_EQ(WorthAlone(worth->claim, 0, world.Rules()), 500);
}

TEST(WorthIfValid, NothingTellsItWhereNobodyAssignedAnAmount) {
  World world(PolicyFor(PolicyKind::kAssigned), PolicyKind::kAssigned);
  const auto nobody = Judge(world, {}, Proven(world));
  ASSERT_TRUE(nobody) << "the operator may name the amount";
  EXPECT_FALSE(StatesWorth(nobody->claim));
  const auto application = Judge(world, {.reported_credit = 7}, Proven(world));
  ASSERT_TRUE(application);
  EXPECT_TRUE(StatesWorth(application->claim));
  EXPECT_EQ(application->credit, 7);
}

TEST(WorthIfValid, AHostThatIsGoneWouldHaveGotNothing) {
  World world(PolicyFor(PolicyKind::kBenchmark), PolicyKind::kBenchmark);
  HostRecord host = Proven(world);
  host.deleted = true;
  EXPECT_FALSE(Judge(world, {}, host));
}

}  // namespace
}  // namespace cobblestone::credit
