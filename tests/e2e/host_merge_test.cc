// Merges of an owner's hosts at any time: all credit moves along, open work counts for the host merged into, and
// nothing is lost, counted twice or given to another account.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/embedded/engine.h"
#include "tests/support/control_totals_of.h"
#include "tests/support/free_world.h"
#include "tests/support/heirs.h"
#include "tests/support/job_events.h"
#include "tests/support/like_the_oracle.h"
#include "tests/support/seeds.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

using embedded::Engine;
using intake::AppendBlock;
using pipeline::PipelineSlot;
using traffic::GenerateOptions;

namespace {

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;
constexpr std::int64_t kMicro = 1'000'000;
constexpr std::uint64_t kOwner = 7;

// App 1 pays its results' assigned credit, and 1 Cobblestone for each step that a trickle reports.
class Project {
 public:
  Project() {
    Send(kStart, wire::AppChange{.app = AppId(1),
                                 .policy = "assigned",
                                 .delay_bound = 60 * kDay,
                                 .trickles = {{.variety = "model",
                                               .kind = "steps",
                                               .measure = "steps",
                                               .phases = {{.last_step = 1000, .credit_per_step = 1}}}}});
    Send(kStart, wire::AppVersionChange{.row = {.id = 1, .app = AppId(1), .version_num = 1, .platform = 1}});
    for (const std::uint64_t user : {kOwner, kOwner + 1})
      Send(kStart, wire::UserMember{.user = UserId(user), .name = "somebody"});
    for (std::uint64_t host = 1; host <= 6; ++host) SetOwner(kStart, host, kOwner);
  }

  void Send(double time, wire::EventBody body) {
    events.push_back(wire::EncodeEvent(
        {.head = {.id = ++id_, .project = ProjectId(1), .time = time}, .body = std::move(body)}));
  }
  void SetOwner(double time, std::uint64_t host, std::uint64_t user) {
    Send(time,
         wire::HostMember{
             .host = HostId(host), .user = UserId(user), .whetstone = 1e9, .dhrystone = 1e9, .cpus = 1});
  }
  void Merge(double time, std::uint64_t host, std::uint64_t into) {
    Send(time, wire::HostMerge{.host = HostId(host), .into = HostId(into)});
  }
  void Sent(double time, std::uint64_t result, std::uint64_t host) {
    wire::Dispatch dispatch;
    dispatch.facts = JobOf(result, host, time);
    dispatch.facts.outcome = credit::Outcome::kUnknown;
    dispatch.facts.received_time = 0;
    dispatch.fpops_est = 1e15;
    dispatch.fpops_bound = 1e20;
    Send(time, dispatch);
  }
  void SendTrickle(double time, std::uint64_t result, std::uint64_t host, double steps) {
    Send(time,
         wire::Trickle{.result = ResultId(result), .host = HostId(host), .variety = "model", .steps = steps});
  }
  void Done(double time, std::uint64_t result, std::uint64_t host, double credit) {
    Send(time, wire::Completion{.facts = JobOf(result, host, time)});
    Send(time, ValidationOf(result, host, result, credit));
  }
  // One of two results of the same workunit.
  void DoneWith(double time, std::uint64_t result, std::uint64_t host, double credit,
                std::uint64_t workunit) {
    wire::Completion completion{.facts = JobOf(result, host, time)};
    completion.facts.workunit = WorkunitId(workunit);
    Send(time, completion);
    credit::ValidationFacts validation = ValidationOf(result, host, workunit, credit);
    validation.claims = 2;
    Send(time, validation);
  }
  // Everything before it has been applied.
  void Rest(double time) { Send(time, wire::Tick{.time = time}); }

  Events events;

 private:
  static credit::CompletionFacts JobOf(std::uint64_t result, std::uint64_t host, double time) {
    credit::CompletionFacts facts = CompletionOf(result, host, result, time).facts;
    facts.version = AppVersionId(1);
    facts.peak_flops = 1e9;
    facts.sent_time = std::max(kStart, time - 30 * kDay);
    return facts;
  }

  std::uint64_t id_ = 0;
};

std::int64_t TotalOf(const Outcome& outcome, std::uint64_t host) {
  const auto account = outcome.accounts.find({1, OracleAccountKind::kHost, host});
  return account == outcome.accounts.end() ? 0 : static_cast<std::int64_t>(account->second.micro);
}

TEST(HostMerge, TheTargetGetsAllCreditAndAllOpenResults) {
  Project project;
  project.Done(kStart + kDay, 10, 1, 30);
  project.Done(kStart + 2 * kDay, 20, 2, 5);
  project.Sent(kStart + 2 * kDay, 11, 1);
  project.Rest(kStart + 2 * kDay);
  project.Merge(kStart + 3 * kDay, 1, 2);
  project.Done(kStart + 4 * kDay, 11, 1, 7);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 2), 42 * kMicro);
  EXPECT_EQ(TotalOf(run.outcome, 1), 0);
  EXPECT_EQ(run.outcome.accounts.at({1, OracleAccountKind::kHost, 2}).grants, 3u);
  EXPECT_EQ(run.outcome.accounts.at({1, OracleAccountKind::kUser, kOwner}).micro, 42 * kMicro);
  EXPECT_TRUE(run.outcome.refusals.empty());
}

// Daily results, over more days than a history has, some of them sent late: of the host, its owners, and their team.
TEST(HostMerge, HistoriesOfYearsAreUnitedAndMoveBetweenOwners) {
  Project project;
  project.Send(kStart, wire::TeamMember{.team = TeamId(3), .name = "a team"});
  project.Send(kStart, wire::UserMember{.user = UserId(kOwner), .team = TeamId(3), .name = "somebody"});
  std::mt19937_64 random(1);
  std::uint64_t result = 100;
  double day = 0;
  const auto work_until = [&](double end) {
    for (; day < end; day += static_cast<double>(1 + random() % 3)) {
      const double late = random() % 8 == 0 ? static_cast<double>(random() % 60) : 0;
      project.Done(kStart + std::max(day - late, 0.0) * kDay, ++result, 1 + random() % 4,
                   static_cast<double>(1 + random() % 50));
      if (random() % 5 == 0) project.Rest(kStart + day * kDay);
    }
  };
  work_until(300);
  project.Merge(kStart + day * kDay, 1, 2);
  work_until(500);
  project.SetOwner(kStart + day * kDay, 2, kOwner + 1);
  work_until(650);
  project.SetOwner(kStart + day * kDay, 2, kOwner);
  work_until(720);
  project.Merge(kStart + day * kDay, 3, 2);
  work_until(780);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_GT(result, 450u);
  EXPECT_GT(run.outcome.accounts.at({1, OracleAccountKind::kHost, 2}).days.size(), 120u);
  EXPECT_GT(run.outcome.accounts.at({1, OracleAccountKind::kTeam, 3}).days.size(), 150u);
  EXPECT_TRUE(run.outcome.refusals.empty());
}

TEST(HostMerge, PartialGrantsAroundAMergeSettleOnOneHost) {
  Project project;
  project.Done(kStart + kDay, 20, 2, 5);
  project.Sent(kStart, 10, 1);
  project.SendTrickle(kStart + 10 * kDay, 10, 1, 20);
  project.Merge(kStart + 11 * kDay, 1, 2);
  project.Rest(kStart + 11 * kDay);
  project.SendTrickle(kStart + 12 * kDay, 10, 1, 50);
  Events running = project.events;
  const Played before = ExpectLikeTheOracle(running);
  EXPECT_EQ(TotalOf(before.outcome, 2), 55 * kMicro);
  EXPECT_TRUE((before.outcome.accounts.at({1, OracleAccountKind::kHost, 2}).provisional == 50 * kMicro));
  project.Done(kStart + 13 * kDay, 10, 1, 60);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 2), 65 * kMicro);
  EXPECT_TRUE((run.outcome.accounts.at({1, OracleAccountKind::kHost, 2}).provisional == 0));
}

// A BOINC server replaces the host's number in its results by that of the host merged into.
TEST(HostMerge, AJobContinuesUnderTheTargetsNumber) {
  Project project;
  project.Done(kStart + kDay, 20, 2, 5);
  project.Sent(kStart, 10, 1);
  project.SendTrickle(kStart + 10 * kDay, 10, 1, 20);
  project.Merge(kStart + 11 * kDay, 1, 2);
  project.Rest(kStart + 11 * kDay);
  project.SendTrickle(kStart + 12 * kDay, 10, 2, 50);
  project.SendTrickle(kStart + 12 * kDay, 10, 1, 40);  // was on its way
  const Played before = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(before.outcome, 2), 55 * kMicro);
  project.Done(kStart + 13 * kDay, 10, 2, 60);
  project.SendTrickle(kStart + 12 * kDay, 10, 2, 80);  // under `keep` the higher mark counts
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 2), 85 * kMicro);
  EXPECT_TRUE((run.outcome.accounts.at({1, OracleAccountKind::kHost, 2}).provisional == 0));
  EXPECT_TRUE(run.outcome.refusals.empty());
}

// The completion names one host, the validation the other; trickles are not paid.
TEST(HostMerge, CompletionAndValidationUnderTwoNumbersAreOneResult) {
  Project project;
  project.Send(kStart, wire::AppChange{.app = AppId(2), .policy = "assigned", .delay_bound = 60 * kDay});
  project.Send(kStart,
               wire::AppVersionChange{.row = {.id = 2, .app = AppId(2), .version_num = 1, .platform = 1}});
  wire::Completion completion = CompletionOf(10, 1, 10, kStart + kDay);
  completion.facts.app = AppId(2);
  completion.facts.version = AppVersionId(2);
  project.Send(kStart + kDay, completion);
  project.Merge(kStart + 2 * kDay, 1, 2);
  project.Merge(kStart + 2 * kDay, 2, 3);
  project.Rest(kStart + 3 * kDay);
  credit::ValidationFacts validation = ValidationOf(10, 3, 10, 9);
  validation.app = AppId(2);
  project.Send(kStart + 4 * kDay, validation);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 3), 9 * kMicro);
}

// Decided under the other number before the merge was known: the whole credit was granted, and the earlier payments
// are reversed.
TEST(HostMerge, TricklePaymentsCountOnceWhenTheMergeArrivesLate) {
  for (const auto& [steps, total] : {std::pair{20.0, 65}, std::pair{80.0, 85}}) {
    Project project;
    project.Done(kStart + kDay, 20, 2, 5);
    project.Sent(kStart, 10, 1);
    project.SendTrickle(kStart + 10 * kDay, 10, 1, steps);
    project.Done(kStart + 13 * kDay, 10, 2, 60);
    project.Merge(kStart + 11 * kDay, 1, 2);
    project.Rest(kStart + 14 * kDay);
    project.SendTrickle(kStart + 12 * kDay, 10, 1, 15);
    const Played run = ExpectLikeTheOracle(project.events);
    EXPECT_EQ(TotalOf(run.outcome, 2), total * kMicro);
    EXPECT_TRUE((run.outcome.accounts.at({1, OracleAccountKind::kHost, 2}).provisional == 0));
  }
}

// Topics have no order relative to each other: dispatch, trickles, merge and decision arrive in any order, under
// either number.
void ExpectPaidInAnyOrder(bool with_another) {
  Project members;
  members.SetOwner(kStart, 9, kOwner + 1);
  Project job = members;
  job.Sent(kStart, 10, 1);
  job.SendTrickle(kStart + 10 * kDay, 10, 1, 20);
  job.Merge(kStart + 11 * kDay, 1, 2);
  job.SendTrickle(kStart + 12 * kDay, 10, 2, 50);
  job.SendTrickle(kStart + 12 * kDay, 10, 1, 70);
  if (with_another) {
    job.DoneWith(kStart + 13 * kDay, 10, 2, 60, 10);
    job.DoneWith(kStart + 13 * kDay, 11, 9, 60, 10);  // another owner's
  } else {
    job.Done(kStart + 13 * kDay, 10, 2, 60);
  }
  Events rest(job.events.begin() + static_cast<std::ptrdiff_t>(members.events.size()), job.events.end());
  std::mt19937_64 random(5);
  for (int round = 0; round < 400; ++round) {
    std::shuffle(rest.begin(), rest.end(), random);
    FreeWorld world(round % 2 == 0 ? 1 : 4, random());
    world.Add(members.events);
    world.RunUntilIdle();
    for (const std::string& event : rest) {
      world.Add(event);
      if (round % 3 != 0 && random() % 2 == 0) world.RunUntilIdle();
    }
    world.RunUntilIdle();
    const Outcome outcome = world.outcome();
    const auto account = outcome.accounts.find({1, OracleAccountKind::kUser, kOwner});
    ASSERT_NE(account, outcome.accounts.end());
    EXPECT_TRUE(account->second.micro == 70 * kMicro && account->second.provisional == 0)
        << round << ": " << static_cast<std::int64_t>(account->second.micro) << ", provisional "
        << static_cast<std::int64_t>(account->second.provisional);
  }
}

TEST(HostMerge, TheOrderOfAMergeAndJobEventsDoesNotChangePayments) { ExpectPaidInAnyOrder(false); }

// The grant waits for another result, and later events of the job wait for the grant.
TEST(HostMerge, TheOrderDoesNotMatterForAWaitingWorkunitEither) { ExpectPaidInAnyOrder(true); }

TEST(HostMerge, HostsOfTwoOwnersMergeOnceTheyHaveOneOwner) {
  Project project;
  project.SetOwner(kStart + 1, 2, kOwner + 1);
  project.Done(kStart + kDay, 10, 1, 30);
  project.Done(kStart + kDay, 20, 2, 5);
  project.Merge(kStart + 2 * kDay, 1, 2);
  project.Rest(kStart + 2 * kDay);
  const Played apart = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(apart.outcome, 1), 30 * kMicro);
  EXPECT_EQ(TotalOf(apart.outcome, 2), 5 * kMicro);
  project.SetOwner(kStart + 3 * kDay, 2, kOwner);
  project.Rest(kStart + 3 * kDay);
  EXPECT_EQ(TotalOf(ExpectLikeTheOracle(project.events).outcome, 2), 35 * kMicro);
}

TEST(HostMerge, ANewOwnerOfTheTargetGetsLaterCreditOfBothHosts) {
  Project project;
  project.Done(kStart + kDay, 10, 1, 30);
  project.Done(kStart + kDay, 20, 2, 5);
  project.Merge(kStart + 2 * kDay, 1, 2);
  project.Rest(kStart + 2 * kDay);
  project.SetOwner(kStart + 3 * kDay, 2, kOwner + 1);
  project.SetOwner(kStart + 3 * kDay, 1, kOwner + 1);  // which is no longer a host
  project.Done(kStart + 4 * kDay, 11, 1, 2);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 2), 37 * kMicro);
  EXPECT_EQ(run.outcome.accounts.at({1, OracleAccountKind::kUser, kOwner}).micro, 37 * kMicro)
      << "the result was sent out under the ended host's owner";
}

TEST(HostMerge, ChainsEndAtTheLastHostAndCyclesAreRefused) {
  Project project;
  for (std::uint64_t host = 1; host <= 4; ++host)
    project.Done(kStart + kDay, 10 * host, host, static_cast<double>(host));
  project.Rest(kStart + kDay);
  project.Merge(kStart + 2 * kDay, 2, 3);
  project.Merge(kStart + 2 * kDay, 1, 2);
  project.Merge(kStart + 2 * kDay, 3, 4);
  project.Merge(kStart + 2 * kDay, 4, 1);
  project.Rest(kStart + 2 * kDay);
  project.Done(kStart + 3 * kDay, 11, 1, 100);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 4), 110 * kMicro);
  EXPECT_EQ(run.outcome.refusals, (std::map<std::string, std::uint64_t>{{"OUT_OF_RANGE", 1}}));
}

TEST(HostMerge, IsAcceptedOnceForAKnownHostWithAnOwner) {
  Project project;
  project.SetOwner(kStart, 5, 0);
  project.Send(kStart + 1, wire::HostMember{.host = HostId(6), .user = UserId(kOwner), .deleted = true});
  project.Merge(kStart + kDay, 1, 2);
  project.events.push_back(std::string(project.events.back()));  // repeated
  project.Merge(kStart + kDay, 1, 3);
  project.Merge(kStart + kDay, 99, 1);
  project.Merge(kStart + kDay, 5, 1);
  project.Merge(kStart + kDay, 6, 1);
  project.Merge(kStart + kDay, 4, 4);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(run.outcome.refusals,
            (std::map<std::string, std::uint64_t>{
                {"ALREADY_DECIDED", 1}, {"OUT_OF_RANGE", 1}, {"UNKNOWN_HOST", 2}, {"UNKNOWN_USER", 1}}));
}

TEST(HostMerge, LateBalancesGoToTheTargetAndReduceNothing) {
  Project project;
  project.Done(kStart + kDay, 20, 2, 5);
  project.Merge(kStart + 2 * kDay, 1, 2);
  project.Rest(kStart + 2 * kDay);
  project.Send(
      kStart + 3 * kDay,
      wire::OpeningTotal{
          .kind = wire::AccountKind::kHost, .account = 1, .total = 1000.0, .rac = 10, .rac_time = kStart});
  project.Send(
      kStart + 3 * kDay,
      wire::OpeningTotal{
          .kind = wire::AccountKind::kHost, .account = 2, .total = 100.0, .rac = 1, .rac_time = kStart});
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 2), 1105 * kMicro);
}

// ---- One outcome for any number of partitions
// ----------------------------------------------------------------------

// Expects the oracle's outcome, in lockstep and in `order: arrival` with each event fully processed before the next.
Played ExpectOneOutcome(const Events& events) {
  const Played run = ExpectLikeTheOracle(events);
  for (const std::uint32_t partitions : {1u, 4u, 8u}) {
    FreeWorld world(partitions, partitions);
    for (const std::string& event : events) {
      world.Add(event);
      world.RunUntilIdle();
    }
    EXPECT_EQ(GrantDifferences(run.outcome, world.outcome()), "")
        << partitions << " partitions in order of arrival";
  }
  return run;
}

// Host 2 belonged to the other owner when it was merged into host 3, which then moved to this owner.
Project HostMergedThenMoved() {
  Project project;
  project.SetOwner(kStart, 2, kOwner + 1);
  project.SetOwner(kStart, 3, kOwner + 1);
  for (std::uint64_t host = 1; host <= 3; ++host)
    project.Done(kStart + kDay, 10 * host, host, static_cast<double>(host));
  project.Rest(kStart + kDay);
  project.Merge(kStart + 2 * kDay, 2, 3);
  project.Rest(kStart + 2 * kDay);
  project.SetOwner(kStart + 3 * kDay, 3, kOwner);
  project.Rest(kStart + 3 * kDay);
  return project;
}

TEST(HostMerge, AMergeThroughAnotherOwnersHostReachesTheTarget) {
  Project project = HostMergedThenMoved();
  project.Merge(kStart + 4 * kDay, 1, 2);
  project.Rest(kStart + 4 * kDay);
  project.Done(kStart + 5 * kDay, 11, 1, 100);
  project.Rest(kStart + 5 * kDay);
  const Played run = ExpectOneOutcome(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 3), 106 * kMicro);
}

TEST(HostMerge, AMergeFollowsItsTargetThroughAnotherPartitionsMerge) {
  Project project;
  project.SetOwner(kStart, 2, kOwner + 1);
  project.SetOwner(kStart, 3, kOwner + 1);
  for (std::uint64_t host = 1; host <= 3; ++host)
    project.Done(kStart + kDay, 10 * host, host, static_cast<double>(host));
  project.Merge(kStart + 2 * kDay, 1, 2);
  project.Rest(kStart + 2 * kDay);
  project.Merge(kStart + 3 * kDay, 2, 3);
  project.Rest(kStart + 3 * kDay);
  EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 1), kMicro) << "the hosts have two owners";
  project.SetOwner(kStart + 4 * kDay, 3, kOwner);
  project.Rest(kStart + 4 * kDay);
  EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 3), 6 * kMicro);
}

TEST(HostMerge, MergedHostsAreKnownWhereverTheTargetMoves) {
  Project project = HostMergedThenMoved();
  const std::uint64_t third = kOwner + 2;
  project.Send(kStart, wire::UserMember{.user = UserId(third), .name = "a third"});
  project.SetOwner(kStart + 4 * kDay, 5, third);
  project.SetOwner(kStart + 4 * kDay, 6, third);
  project.Done(kStart + 5 * kDay, 40, 4, 10);
  project.Done(kStart + 5 * kDay, 50, 5, 100);
  project.Done(kStart + 5 * kDay, 60, 6, 1000);
  project.Merge(kStart + 6 * kDay, 3, 4);  // with host 2, for which no question was asked here
  project.Rest(kStart + 6 * kDay);
  project.SetOwner(kStart + 7 * kDay, 4, third);
  project.Rest(kStart + 7 * kDay);
  project.Merge(kStart + 8 * kDay, 5, 2);
  project.Rest(kStart + 8 * kDay);
  project.Merge(kStart + 9 * kDay, 6, 3);
  project.Rest(kStart + 9 * kDay);
  project.Done(kStart + 10 * kDay, 51, 5, 10'000);
  project.Rest(kStart + 10 * kDay);
  EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 4), 11'115 * kMicro);
  project.SetOwner(kStart + 11 * kDay, 4, kOwner);
  project.Done(kStart + 12 * kDay, 61, 6, 100'000);
  project.Merge(kStart + 12 * kDay, 1, 5);
  project.Rest(kStart + 12 * kDay);
  EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 4), 111'116 * kMicro);
}

// Neither host has had credit. The first merge counts.
TEST(HostMerge, InACycleSentAtOnceTheFirstMergeCounts) {
  Project project;
  project.Merge(kStart + kDay, 5, 6);
  project.Merge(kStart + kDay, 6, 5);
  project.Rest(kStart + 2 * kDay);
  project.Done(kStart + 3 * kDay, 50, 5, 3);
  project.Done(kStart + 3 * kDay, 60, 6, 4);
  project.Rest(kStart + 3 * kDay);
  const Played run = ExpectOneOutcome(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 6), 7 * kMicro);
  EXPECT_EQ(run.outcome.refusals, (std::map<std::string, std::uint64_t>{{"OUT_OF_RANGE", 1}}));
}

TEST(HostMerge, ACycleThroughAnotherOwnerIsRefused) {
  Project project = HostMergedThenMoved();
  project.Merge(kStart + 4 * kDay, 3, 2);
  project.Rest(kStart + 4 * kDay);
  const Played run = ExpectOneOutcome(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 3), 5 * kMicro);
  EXPECT_EQ(run.outcome.refusals, (std::map<std::string, std::uint64_t>{{"OUT_OF_RANGE", 1}}));
}

// Host 1 belonged to another owner when it was sent the result whose credit arrives after the host's end.
TEST(HostMerge, CreditForAnEarlierOwnerDoesNotChangeTheOwner) {
  Project project;
  project.SetOwner(kStart, 1, kOwner + 1);
  project.SetOwner(kStart, 4, kOwner + 1);
  project.Done(kStart + kDay, 20, 2, 5);
  project.Sent(kStart + kDay, 10, 1);
  project.SendTrickle(kStart + 2 * kDay, 10, 1, 20);
  project.SetOwner(kStart + 3 * kDay, 1, kOwner);
  project.Merge(kStart + 4 * kDay, 1, 2);
  project.Rest(kStart + 4 * kDay);
  project.Done(kStart + 5 * kDay, 40, 4, 1);
  project.Merge(kStart + 5 * kDay, 4, 2);  // would have one owner with it, if the credit made it that owner's
  project.Sent(kStart + 5 * kDay, 11, 1);
  project.Done(kStart + 6 * kDay, 10, 1, 10);  // less than its payments: the rest is reversed
  project.Rest(kStart + 6 * kDay);
  project.Done(kStart + 7 * kDay, 30, 3, 100);
  project.Merge(kStart + 7 * kDay, 3, 2);
  project.Rest(kStart + 7 * kDay);
  const Played run = ExpectOneOutcome(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 4), kMicro);
  EXPECT_EQ(TotalOf(run.outcome, 3), 0);
}

TEST(HostMerge, LateBalancesReduceNothingOfAMovedTarget) {
  Project project = HostMergedThenMoved();
  for (const std::uint64_t host : {2, 3})
    project.Send(kStart + 3 * kDay, wire::OpeningTotal{.kind = wire::AccountKind::kHost,
                                                       .account = host,
                                                       .total = 1000.0,
                                                       .rac = 10,
                                                       .rac_time = kStart});
  project.Rest(kStart + 4 * kDay);
  EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 3), 2005 * kMicro);
  LockstepWorld world(4);
  world.Add(project.events);
  world.Finish();
  for (const PipelineSlot& slot : world.slots()) {
    if (slot.stages.accounts == nullptr) continue;
    slot.stages.accounts->hosts().ForEach([](const stream::Key& key, const accounts::HostAccount& host) {
      if (key.id != 3 || host.elsewhere) return;
      EXPECT_GT(host.account.recent.time, kStart) << "it includes the average of host 2";
    });
  }
}

// ---- A target host without credit
// ------------------------------------------------------------------------------------

TEST(HostMerge, TheTargetNeedsNoCredit) {
  Project project;
  project.Done(kStart + kDay, 10, 1, 30);
  project.Merge(kStart + 2 * kDay, 1, 2);
  project.Rest(kStart + 2 * kDay);
  EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 2), 30 * kMicro);
  project.Done(kStart + 3 * kDay, 11, 1, 4);
  project.Rest(kStart + 3 * kDay);
  project.Done(kStart + 4 * kDay, 20, 2, 1);
  project.Rest(kStart + 4 * kDay);
  const Played run = ExpectOneOutcome(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 2), 35 * kMicro);
  EXPECT_EQ(TotalOf(run.outcome, 1), 0);
  EXPECT_TRUE(run.outcome.refusals.empty());
}

TEST(HostMerge, TheTargetMayBecomeKnownLater) {
  Project project;
  project.Done(kStart + kDay, 10, 1, 30);
  project.Merge(kStart + 2 * kDay, 1, 9);
  project.Merge(kStart + 2 * kDay, 3, 9);
  project.Rest(kStart + 20 * kDay);
  EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 1), 30 * kMicro);
  project.SetOwner(kStart + 31 * kDay, 9, kOwner);
  project.Rest(kStart + 31 * kDay);
  const Played run = ExpectOneOutcome(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 9), 30 * kMicro);
  EXPECT_TRUE(run.outcome.refusals.empty());
}

// Sent as another owner's, who gives it away: it never had credit, and has no owner in between.
TEST(HostMerge, TheTargetMayReachTheOwnerThroughOthers) {
  Project project;
  project.Done(kStart + kDay, 10, 1, 30);
  project.Merge(kStart + 2 * kDay, 1, 9);
  project.Rest(kStart + 2 * kDay);
  project.SetOwner(kStart + 3 * kDay, 9, kOwner + 1);
  project.Rest(kStart + 3 * kDay);
  project.SetOwner(kStart + 4 * kDay, 9, 0);
  project.Rest(kStart + 4 * kDay);
  EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 1), 30 * kMicro);
  project.SetOwner(kStart + 5 * kDay, 9, kOwner);
  project.Rest(kStart + 5 * kDay);
  EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 9), 30 * kMicro);
}

// Host 9 belongs to another owner before the question, and again after a day with this owner.
TEST(HostMerge, EarlierOwnersOfTheTargetDoNotMatter) {
  Project project;
  project.Done(kStart + kDay, 10, 1, 30);
  project.SetOwner(kStart + kDay, 9, kOwner);
  project.SetOwner(kStart + 2 * kDay, 9, kOwner + 1);
  project.Rest(kStart + 2 * kDay);
  project.Merge(kStart + 3 * kDay, 1, 9);
  project.Rest(kStart + 3 * kDay);
  EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 1), 30 * kMicro)
      << "the host belongs to another owner";
  project.SetOwner(kStart + 4 * kDay, 9, kOwner);
  project.Rest(kStart + 4 * kDay);
  project.SetOwner(kStart + 5 * kDay, 9, kOwner + 1);
  project.Done(kStart + 6 * kDay, 11, 1, 4);
  project.Rest(kStart + 6 * kDay);
  EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 9), 34 * kMicro);
}

// Sent from the last merge to the first, and in the other order; hosts 9 and 10 have no credit, and host 10 is sent
// last.
TEST(HostMerge, ChainsOfHostsWithoutCreditEndAtTheLastHost) {
  for (const bool from_the_end : {false, true}) {
    Project project;
    project.SetOwner(kStart, 9, kOwner);
    project.Done(kStart + kDay, 10, 1, 30);
    if (from_the_end) project.Merge(kStart + 2 * kDay, 9, 10);
    project.Merge(kStart + 2 * kDay, 1, 2);
    project.Rest(kStart + 2 * kDay);
    project.Merge(kStart + 3 * kDay, 2, 9);
    project.Rest(kStart + 3 * kDay);
    EXPECT_EQ(TotalOf(ExpectOneOutcome(project.events).outcome, 9), 30 * kMicro);
    if (!from_the_end) project.Merge(kStart + 4 * kDay, 9, 10);
    project.Rest(kStart + 4 * kDay);
    project.SetOwner(kStart + 5 * kDay, 10, kOwner);
    project.Rest(kStart + 5 * kDay);
    project.Merge(kStart + 6 * kDay, 3, 1);
    project.Done(kStart + 6 * kDay, 30, 3, 4);
    project.Rest(kStart + 6 * kDay);
    const Played run = ExpectOneOutcome(project.events);
    EXPECT_EQ(TotalOf(run.outcome, 10), 34 * kMicro);
    EXPECT_TRUE(run.outcome.refusals.empty());
  }
}

// ---- A target host that never arrives
// --------------------------------------------------------------------------------

TEST(HostMerge, IsRefusedIfTheOwnerDoesNotGetTheTargetWithinAMonth) {
  Project project;
  project.SetOwner(kStart, 2, kOwner + 1);
  project.Done(kStart + kDay, 10, 1, 30);
  project.Done(kStart + kDay, 20, 2, 5);
  project.Merge(kStart + 2 * kDay, 1, 2);   // belongs to another owner
  project.Merge(kStart + 2 * kDay, 3, 9);   // unknown host
  project.Merge(kStart + 12 * kDay, 4, 2);  // sent later
  project.Rest(kStart + 32 * kDay);         // not expired yet
  EXPECT_TRUE(ExpectOneOutcome(project.events).outcome.refusals.empty());
  project.Rest(kStart + 33 * kDay);
  EXPECT_EQ(ExpectOneOutcome(project.events).outcome.refusals,
            (std::map<std::string, std::uint64_t>{{"UNKNOWN_HOST", 2}}));
  // Now both belong to the owner: too late for hosts 1 and 3, in time for host 4.
  project.SetOwner(kStart + 34 * kDay, 2, kOwner);
  project.SetOwner(kStart + 34 * kDay, 9, kOwner);
  project.Done(kStart + 34 * kDay, 40, 4, 1000);
  project.Done(kStart + 34 * kDay, 11, 1, 100);
  project.Rest(kStart + 34 * kDay);
  project.Rest(kStart + 100 * kDay);
  const Played run = ExpectOneOutcome(project.events);
  EXPECT_EQ(run.outcome.refusals, (std::map<std::string, std::uint64_t>{{"UNKNOWN_HOST", 2}}));
  EXPECT_EQ(TotalOf(run.outcome, 1), 130 * kMicro) << "unchanged";
  EXPECT_EQ(TotalOf(run.outcome, 2), 1005 * kMicro);
}

// The partition of host 1 is behind: while its merge is unread there, the partition of host 2 continues, and then
// more than a month passes.
TEST(HostMerge, PassingTimeDoesNotOvertakeTheQuestion) {
  constexpr std::uint32_t kPartitions = 4;
  const std::uint32_t asking = wire::PartitionOf(ProjectId(1), 1, kPartitions);
  std::uint64_t other = 2;
  while (wire::PartitionOf(ProjectId(1), other, kPartitions) == asking) ++other;
  const std::uint32_t asked = wire::PartitionOf(ProjectId(1), other, kPartitions);
  Project project;
  project.Done(kStart + kDay, 10, 1, 30);
  FreeWorld world(kPartitions, 1);
  for (const std::string& event : project.events) {
    world.Add(event);
    world.RunUntilIdle();
  }
  Project later = project;
  later.events.clear();
  later.Merge(kStart + 2 * kDay, 1, other);
  later.Rest(kStart + 40 * kDay);
  later.Rest(kStart + 80 * kDay);
  world.Hold(asking, 0);
  world.Add(later.events);
  world.RunUntilIdle();
  world.Release();
  world.Hold(asked, 0, wire::kHosts);
  world.RunUntilIdle();
  EXPECT_EQ(TotalOf(world.outcome(), 1), 30 * kMicro) << "the question is not answered yet";
  world.Release();
  world.RunUntilIdle();
  EXPECT_EQ(TotalOf(world.outcome(), other), 30 * kMicro);
  EXPECT_EQ(world.outcome().refusals, (std::map<std::string, std::uint64_t>()));
}

// The former owner's partition is behind, and with it host 2's account, for more than a month.
TEST(HostMerge, AMergeWaitsForAnAccountOnItsWay) {
  constexpr std::uint32_t kPartitions = 4;
  const std::uint32_t sends = wire::PartitionOf(ProjectId(1), kOwner + 1, kPartitions);
  ASSERT_NE(sends, wire::PartitionOf(ProjectId(1), kOwner, kPartitions));
  Project project;
  project.SetOwner(kStart + 1, 2, kOwner + 1);
  project.Done(kStart + kDay, 10, 1, 30);
  project.Done(kStart + kDay, 20, 2, 5);
  project.Merge(kStart + 2 * kDay, 1, 2);
  FreeWorld world(kPartitions, 1);
  for (const std::string& event : project.events) {
    world.Add(event);
    world.RunUntilIdle();
  }
  Project later = project;
  later.events.clear();
  later.SetOwner(kStart + 3 * kDay, 2, kOwner);
  later.Rest(kStart + 40 * kDay);
  later.Rest(kStart + 80 * kDay);
  world.Hold(sends, 2);
  world.Add(later.events);
  world.RunUntilIdle();
  EXPECT_EQ(TotalOf(world.outcome(), 1), 30 * kMicro);
  world.Release();
  world.RunUntilIdle();
  EXPECT_EQ(TotalOf(world.outcome(), 2), 35 * kMicro);
  EXPECT_EQ(world.outcome().refusals, (std::map<std::string, std::uint64_t>()));
}

// A client that may write to the topic can ask anything, about hosts that are known, of another owner or without one.
TEST(HostMerge, QuestionsFromOtherClientsChangeNothing) {
  Project project;
  const auto ask = [&](double day, std::uint64_t host, std::uint64_t user) {
    project.Send(kStart + day * kDay, wire::HostAsked{.host = HostId(host), .user = UserId(user)});
  };
  project.SetOwner(kStart, 2, kOwner + 1);
  project.Done(kStart + kDay, 10, 1, 30);
  project.Merge(kStart + 2 * kDay, 1, 9);
  for (int times = 0; times < 2; ++times)
    for (const std::uint64_t host : {1, 2, 3, 9, 12})
      for (const std::uint64_t user : {kOwner, kOwner + 1, kOwner + 9}) ask(2, host, user);
  ask(2, 0, kOwner);
  ask(2, 3, 0);
  project.Rest(kStart + 2 * kDay);
  ask(3, 1, kOwner);
  project.SetOwner(kStart + 3 * kDay, 9, kOwner);
  project.SetOwner(kStart + 3 * kDay, 12, kOwner + 1);
  ask(3, 9, kOwner);
  ask(1e6, 9, kOwner);
  project.Rest(kStart + 3 * kDay);
  project.SetOwner(kStart + 4 * kDay, 12, kOwner);
  project.SetOwner(kStart + 4 * kDay, 3, kOwner + 1);
  project.Done(kStart + 5 * kDay, 11, 1, 4);
  project.Done(kStart + 5 * kDay, 30, 3, 5);
  project.Rest(kStart + 5 * kDay);
  const Played run = ExpectOneOutcome(project.events);
  EXPECT_EQ(TotalOf(run.outcome, 9), 34 * kMicro);
  EXPECT_EQ(run.outcome.refusals, (std::map<std::string, std::uint64_t>{{"MISSING_FIELD", 2}}));
}

constexpr std::uint64_t kHosts = 16;
constexpr std::uint64_t kUsers = 3;
// Hosts that never have credit: two are sent in the middle, one never.
constexpr std::uint64_t kNewHosts = 4;

// Few owners and few hosts: hosts change owners, get credit and are merged in any order.
Events Stirred(std::uint64_t seed, bool rests) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  Project project;
  project.Send(kStart, wire::UserMember{.user = UserId(kOwner + 2), .name = "a third"});
  for (std::uint64_t host = 1; host <= kHosts; ++host)
    project.SetOwner(kStart + 1, host, kOwner + below(kUsers));
  double time = kStart + kDay;
  std::uint64_t result = 100;
  project.SetOwner(kStart + 1, kHosts + 1, kOwner + below(kUsers));
  for (int i = 0; i < 250; ++i) {
    time += kDay / 8;
    if (i == 60 || i == 120) project.SetOwner(time, kHosts + 1 + i / 60, kOwner + below(kUsers));
    if (i == 180) time += 32 * kDay;
    const std::uint64_t host = 1 + below(kHosts);
    switch (below(10)) {
      case 0: project.Merge(time, host, 1 + below(kHosts + kNewHosts)); break;
      case 1:
      case 2:
      case 3: project.SetOwner(time, host, kOwner + below(kUsers)); break;
      case 4:
        project.Send(time, wire::OpeningTotal{.kind = wire::AccountKind::kHost,
                                              .account = host,
                                              .total = static_cast<double>(below(1000)),
                                              .rac = 1,
                                              .rac_time = kStart});
        break;
      case 5: project.Rest(time); break;
      default: project.Done(time, ++result, host, static_cast<double>(1 + below(50)));
    }
    if (rests) project.Rest(time);
  }
  return project.events;
}

class StirredSeeds : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, StirredSeeds,
                         ::testing::ValuesIn(Seeds({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})));

TEST_P(StirredSeeds, OwnersAndMergesInAnyOrderHaveOneOutcomeInLockstep) {
  const Played run = ExpectLikeTheOracle(Stirred(GetParam(), false));
  std::size_t of_others = 0;
  for (const auto& [key, grant] : run.outcome.grants) of_others += grant.to_host != grant.host ? 1 : 0;
  EXPECT_GT(of_others, 10u) << "too few hosts were merged, so the test proves nothing";
}

TEST_P(StirredSeeds, OwnersAndMergesInAnyOrderHaveOneOutcomeInArrivalOrder) {
  ExpectOneOutcome(Stirred(GetParam(), true));
}

// ---- In the middle of other traffic
// ----------------------------------------------------------------------------------

// Merges between events of all kinds: of hosts of one owner and of several, of hosts that move, repeated, in chains
// and cycles, and into hosts that never have credit.
Events WithMerges(Events events, std::uint64_t hosts, std::uint64_t seed, double time) {
  constexpr std::uint64_t kNew = 8;
  std::mt19937_64 random(seed);
  Events with;
  std::uint64_t id = 1u << 29;
  std::uint64_t named = 0;
  const std::size_t every = events.size() / (kNew + 1);
  for (std::string& event : events) {
    with.push_back(std::move(event));
    if (named < kNew && with.size() > every * named) {
      ++named;
      with.push_back(wire::EncodeEvent(
          {.head = {.id = ++id, .project = ProjectId(1), .time = time},
           .body = wire::HostMember{.host = HostId(hosts + named), .user = UserId(1 + named % 4)}}));
    }
    if (random() % 40 != 0) continue;
    with.push_back(
        wire::EncodeEvent({.head = {.id = ++id, .project = ProjectId(1), .time = time},
                           .body = wire::HostMerge{.host = HostId(1 + random() % (hosts + 2)),
                                                   .into = HostId(1 + random() % (hosts + kNew))}}));
    if (random() % 4 == 0) with.push_back(std::string(with.back()));
  }
  return with;
}

GenerateOptions FewOwners(std::uint64_t seed) {
  GenerateOptions options = Eventful(seed);
  options.results = 700;
  options.hosts = 40;
  options.users = 4;
  options.dispatches = true;
  options.trickles = 3;
  options.bad_trickles = 0.2;
  options.owner_changes = 1;
  return options;
}

class HostMergeSeeds : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, HostMergeSeeds, ::testing::ValuesIn(Seeds({1, 2, 3})));

TEST_P(HostMergeSeeds, TotalsEqualTheOracleBitForBitOnAnyPartitions) {
  const GenerateOptions options = FewOwners(GetParam());
  const Events plain = Generate(options);
  const Events events = WithMerges(plain, options.hosts, GetParam(), options.start_time);
  const Played run = ExpectLikeTheOracle(events);
  const Played without = RunPipeline(plain, 1);
  std::size_t fewer = 0;
  for (const auto& [key, account] : without.outcome.accounts)
    if (key.kind == OracleAccountKind::kHost && run.outcome.accounts.count(key) == 0) ++fewer;
  EXPECT_GT(fewer, 3u) << "no host was merged, so the test proves nothing";
}

// A BOINC server's events name the host that the host of a running job was merged into.
TEST_P(HostMergeSeeds, JobsUnderAnyOfTheirHostsNumbersEqualTheOracle) {
  const GenerateOptions options = FewOwners(GetParam());
  HeirNames rename(GetParam(), HeirNames::Of::kAll);
  const Events events = rename(WithMerges(Generate(options), options.hosts, GetParam(), options.start_time));
  EXPECT_GT(rename.renamed(), 200u);
  ExpectLikeTheOracle(events);
}

TEST_P(HostMergeSeeds, JobsUnderAnyOfTheirHostsNumbersGiveTheSameTotals) {
  GenerateOptions options = FewOwners(GetParam());
  options.conflicts = 0;
  options.bad_lines = 0;
  options.bad_trickles = 0;
  const Events events = WithMerges(Generate(options), options.hosts, GetParam(), options.start_time);
  HeirNames rename(GetParam());
  const Events renamed = rename(events);
  EXPECT_GT(rename.renamed(), UsesOwnSeeds() ? 40u : 10u);
  // A message that is handed over arrives after the decision of the same period; then the grant has paid its amount.
  const auto have = [](const Outcome& outcome) {
    std::map<AccountKey, std::pair<std::int64_t, std::int64_t>> all;
    for (const auto& [key, account] : outcome.accounts)
      all[key] = {static_cast<std::int64_t>(account.micro), static_cast<std::int64_t>(account.provisional)};
    return all;
  };
  const auto expected = have(RunOracle(events));
  for (const auto& [key, sums] : have(RunPipeline(renamed, 3).outcome))
    EXPECT_TRUE(expected.contains(key) && expected.at(key) == sums)
        << key.account << ": " << sums.first << ", provisional " << sums.second << ", under one number "
        << (expected.contains(key) ? expected.at(key).first : -1);
}

// In `order: arrival` a host's owner depends on the order of events, but no credit is lost.
TEST_P(HostMergeSeeds, AllCreditIsInOnePlaceInAnyOrder) {
  const GenerateOptions options = FewOwners(GetParam());
  const Events events = WithMerges(Generate(options), options.hosts, GetParam(), options.start_time);
  for (const std::uint32_t partitions : {1u, 5u}) {
    FreeWorld world(partitions, GetParam());
    std::mt19937_64 random(GetParam());
    for (const std::string& event : events) {
      world.Add(event);
      if (random() % 8 == 0) world.Step();
    }
    world.RunUntilIdle();
    BigMicro granted = 0;
    for (const std::string& record : world.ledger()) {
      wire::GrantHead head;
      ASSERT_TRUE(wire::DecodeGrantHead(record, &head));
      if (wire::IsAward(head.kind)) granted += head.credit_micro;
    }
    BigMicro has = 0;
    BigMicro waits = 0;
    std::size_t merged = 0;
    for (PipelineSlot& slot : world.slots()) {
      if (slot.stages.accounts == nullptr) continue;
      slot.stages.accounts->hosts().ForEach([&](const stream::Key&, const accounts::HostAccount& host) {
        has += host.account.total_micro;
        if (!host.merge.done) return;
        ++merged;
        EXPECT_EQ(host.account.grants, 0u);
      });
      slot.stages.accounts->waiting().ForEach([&](const stream::Key&, const accounts::WaitingGrant& one) {
        wire::GrantHead head;
        ASSERT_TRUE(wire::DecodeGrantHead(one.bytes, &head));
        waits += head.credit_micro;
      });
    }
    EXPECT_TRUE(granted == has + waits) << partitions << " partitions";
    EXPECT_GT(merged, 3u);
  }
}

// ---- The program's engine ------------------------------------------------------------------------------------------

void ExpectAuditAndExportFollow(const Events& events, std::uint64_t hosts) {
  for (const std::uint32_t partitions : {1u, 5u}) {
    TempDir temp;
    settings::RunSettings settings;
    settings.data_directory = temp / "data";
    settings.partitions = partitions;
    settings.threads = 2;
    settings.commit.max_records = 50;
    settings.state.flush_interval = std::chrono::milliseconds(30);
    auto engine = Engine::Open(settings, [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    (*engine)->Start();
    for (std::size_t at = 0; at < events.size();) {
      const auto broadcast = [&](std::size_t i) {
        const auto routing = wire::PeekRouting(events[i]);
        return routing && routing->key == wire::KeyKind::kBroadcast;
      };
      AppendBlock block{.source = "story", .first_line = at, .barrier = broadcast(at)};
      while (at < events.size() && block.lines.size() < 200 && broadcast(at) == block.barrier)
        block.lines.push_back({.envelope = events[at++]});
      ASSERT_TRUE((*engine)->Append(block).ok());
    }
    (*engine)->WaitIdle();
    ASSERT_TRUE((*engine)->failure().ok()) << (*engine)->failure().message();
    const auto audit = (*engine)->Audit({});
    ASSERT_TRUE(audit.ok()) << audit.status().message();
    EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
    EXPECT_GT((*audit)["host_merges"], 5);
    const auto totals = ControlTotalsOf(**engine, ProjectId(1), false);
    EXPECT_TRUE(totals.ok()) << totals.status().message();
    std::size_t merged = 0;
    for (std::uint64_t host = 1; host <= hosts; ++host) {
      const auto account = (*engine)->questions().Account(ProjectId(1), wire::AccountKind::kHost, host);
      if (!account.ok() || !account->value("merged", false)) continue;
      ++merged;
      EXPECT_EQ((*account)["total"], "0.000000") << host;
      EXPECT_NE((*account)["into"], host);
    }
    EXPECT_GT(merged, 3u);
  }
}

TEST(HostMerge, TheAuditFollowsAMergeAndTheExportReconciles) {
  GenerateOptions options = FewOwners(4);
  options.tick_period = 0;
  ExpectAuditAndExportFollow(WithMerges(Generate(options), options.hosts, 4, options.start_time),
                             options.hosts);
}

TEST(HostMerge, TheAuditFollowsJobsUnderBothNumbers) {
  GenerateOptions options = FewOwners(4);
  options.tick_period = 0;
  HeirNames rename(4, HeirNames::Of::kAll);
  ExpectAuditAndExportFollow(rename(WithMerges(Generate(options), options.hosts, 4, options.start_time)),
                             options.hosts);
}

TEST(HostMerge, TheAuditFollowsMergesThroughOtherOwners) {
  ExpectAuditAndExportFollow(Stirred(1, false), kHosts);
  ExpectAuditAndExportFollow(Stirred(2, false), kHosts);
}

}  // namespace
}  // namespace cobblestone::testing
