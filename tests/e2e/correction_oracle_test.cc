// Reversals and repricings, planned from the ledger in the middle of traffic: compared with an independent
// computation, for any number of partitions, with repeated and late corrections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/e2e/correction_world.h"
#include "tests/support/seeds.h"

namespace cobblestone::testing {

using corrections::CorrectionPlan;
using corrections::CorrectionReader;
using corrections::CorrectionRequest;
using corrections::PaidByTrickles;
using corrections::PlannedCorrection;
using corrections::TargetKind;
using traffic::GenerateOptions;

namespace {

using ::testing::HasSubstr;

class CorrectionSeeds : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, CorrectionSeeds, ::testing::ValuesIn(Seeds({1, 2, 3, 17, 21})));

TEST_P(CorrectionSeeds, ReversalsAmidTrafficEqualTheOracle) {
  const Events all = Generate(Paying(GetParam()));
  const auto part = [&](std::size_t from, std::size_t to) {
    return Events(all.begin() + static_cast<std::ptrdiff_t>(all.size() * from / 4),
                  all.begin() + static_cast<std::ptrdiff_t>(all.size() * to / 4));
  };
  Recorder run;
  Events stale;
  std::uint64_t reversed = 0;
  std::uint64_t running = 0;
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    run.Play(part(quarter, quarter + 1));
    std::size_t number = 0;
    for (const std::uint64_t host : WithCredit(run.world, true)) {
      if (number++ % 5 != GetParam() % 5) continue;
      const CorrectionPlan plan = PlanOf(run.world, Of(TargetKind::kHost, host));
      for (const PlannedCorrection& one : plan.corrections) running += one.running() ? 1 : 0;
      for (const auto& [result, why] : plan.problems)
        EXPECT_TRUE(why.starts_with("the user of the result is unknown")) << result.value << ": " << why;
      reversed += plan.corrections.size();
      Events events = EventsOf(plan);
      run.Play(events);
      run.Play(events);  // a repeat has no effect
      // Except for jobs that CLAIMS has decided and GRANTS has not, because their workunit still waits for other
      // results.
      for (const PlannedCorrection& left : PlanOf(run.world, Of(TargetKind::kHost, host)).corrections)
        EXPECT_TRUE(left.running()) << "host " << host << " result " << left.result.value;
      stale.insert(stale.end(), events.begin(), events.end());
    }
    // Other corrections that were planned from the same credit: for another reason, or without knowledge of the
    // first.
    Events wrong;
    for (std::size_t i = quarter; i < stale.size(); i += 7) {
      auto event = wire::ParseEvent(stale[i]);
      ASSERT_TRUE(event.ok());
      if (auto* of_job = std::get_if<wire::JobReversal>(&event->body))
        of_job->reason = "another";
      else
        std::get<wire::Reversal>(event->body).reason = "another";
      wrong.push_back(wire::EncodeEvent(*event));
      event->head.id += 1;
      wrong.push_back(wire::EncodeEvent(*event));
    }
    run.Play(wrong);
  }
  EXPECT_GT(reversed, 100u);
  EXPECT_GT(running, 20u);
  const Played played = ExpectLikeTheOracle(run.events);
  EXPECT_GT(played.outcome.refusals.at("ALREADY_DECIDED"), 10u);
  for (const std::uint64_t host : WithCredit(run.world, true))
    EXPECT_EQ(ReaderOf(run.world, Of(TargetKind::kHost, host)).WrongCorrections(),
              std::vector<std::string>());
}

// ---- Reinstated ------------------------------------------------------------------------------------------------

// All sums except those by day, which depend on the time of the correction.
auto WithoutDays(const std::map<AccountKey, AccountOutcome>& accounts) {
  std::map<AccountKey, std::tuple<BigMicro, std::uint64_t, decltype(AccountOutcome::apps)>> all;
  for (const auto& [key, account] : accounts) all[key] = {account.micro, account.grants, account.apps};
  return all;
}

TEST_P(CorrectionSeeds, ReinstatementUndoesAReversalCompletely) {
  Recorder run;
  run.Play(Generate(Paying(GetParam())));
  const auto before = WithoutDays(run.world.outcome().accounts);
  const auto earned = EarnedByOwner(run.world);
  std::uint64_t reinstated = 0;
  for (const std::uint64_t host : WithCredit(run.world, true)) {
    if (host % 3 != GetParam() % 3) continue;
    // Reversed payments of a running job stay with CLAIMS.
    CorrectionPlan reversal = PlanOf(run.world, Of(TargetKind::kHost, host));
    std::erase_if(reversal.corrections, [](const PlannedCorrection& one) { return one.running(); });
    if (reversal.corrections.empty()) continue;
    run.Play(EventsOf(reversal));
    ASSERT_NE(EarnedByOwner(run.world), earned);
    CorrectionRequest request = Of(TargetKind::kHost, host);
    request.reinstates = true;
    const CorrectionPlan plan = PlanOf(run.world, request);
    EXPECT_EQ(plan.corrections.size(), reversal.corrections.size());
    reinstated += plan.corrections.size();
    const Events events = EventsOf(plan);
    run.Play(events);
    run.Play(events);  // a repeat has no effect
    for (const PlannedCorrection& left : PlanOf(run.world, request).corrections)
      ADD_FAILURE() << "result " << left.result.value << " host " << left.entry.host.value << " user "
                    << left.entry.user.value << " team " << left.entry.team.value << ": "
                    << left.entry.credit_micro << " would become " << left.after;
    EXPECT_EQ(ReaderOf(run.world, request).WrongCorrections(), std::vector<std::string>());
  }
  EXPECT_GT(reinstated, 30u);
  EXPECT_EQ(EarnedByOwner(run.world), earned);
  EXPECT_EQ(WithoutDays(run.world.outcome().accounts), before);
  ExpectLikeTheOracle(run.events);
}

CorrectionRequest Reinstating(std::uint64_t result, double time = 0) {
  CorrectionRequest request = Of(TargetKind::kResult, result);
  request.reinstates = true;
  request.time = time;
  return request;
}

TEST(Reinstatement, RestoresTheRemainingRecentAverage) {
  Project project;
  Project never;
  for (Project* one : {&project, &never}) {
    one->Done(kStart + 2 * kDay, 1, 1, 1);
    one->Done(kStart + 3 * kDay, 2, 1, 2);
  }
  CorrectionRequest reversal = Of(TargetKind::kResult, 2);
  reversal.time = kStart + 5 * kDay;
  EXPECT_EQ(project.Do(reversal).corrections.size(), 1u);
  EXPECT_LT(project.Recent(1), never.Recent(1) * std::exp2(-2 / 7.0) * 0.99);
  EXPECT_EQ(project.Account(OracleAccountKind::kTeam, 11).grants, 1u);
  const CorrectionPlan plan = project.Do(Reinstating(2, kStart + 10 * kDay));
  ASSERT_EQ(plan.corrections.size(), 1u);
  EXPECT_LT(plan.corrections[0].recent_off, 0) << "the averages increase";
  EXPECT_NEAR(project.Recent(1), never.Recent(1) * std::exp2(-1.0), 1e-9)
      << "seven days after the last grant";
  for (const OracleAccountKind kind : {OracleAccountKind::kUser, OracleAccountKind::kHost}) {
    EXPECT_EQ(project.Account(kind, 1).micro, never.Account(kind, 1).micro);
    EXPECT_EQ(project.Account(kind, 1).grants, 2u);
  }
  EXPECT_EQ(project.Account(OracleAccountKind::kTeam, 11).micro,
            never.Account(OracleAccountKind::kTeam, 11).micro);
  EXPECT_TRUE(project.Wrong(2).empty());
  // The same once more.
  EXPECT_EQ(project.Do(Of(TargetKind::kResult, 2)).corrections.size(), 1u);
  EXPECT_EQ(project.Do(Reinstating(2)).corrections.size(), 1u);
  EXPECT_TRUE(project.Do(Reinstating(2)).corrections.empty());
  EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).micro,
            never.Account(OracleAccountKind::kUser, 1).micro);
  EXPECT_TRUE(project.Wrong(2).empty());
  ExpectLikeTheOracle(project.run.events);
}

TEST(Reinstatement, AReinstatedResultIsRepricedAsIfNeverReversed) {
  Project project;
  project.Done(kStart + 2 * kDay, 1, 1, 1);
  const auto priced = project.Micro(OracleAccountKind::kUser, 1);
  project.App(kStart + 3 * kDay, "benchmark", 2, 2);
  EXPECT_EQ(project.Do(Of(TargetKind::kResult, 1, 2)).corrections.size(), 1u);
  const auto repriced = project.Micro(OracleAccountKind::kUser, 1);
  EXPECT_NE(repriced, priced);
  project.Do(Of(TargetKind::kResult, 1));
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
  EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kResult, 1, 1)).corrections.empty());
  project.Do(Reinstating(1));
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), repriced) << "the amount before the reversal";
  EXPECT_EQ(project.Do(Of(TargetKind::kResult, 1, 1)).corrections.size(), 1u);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), priced);
  EXPECT_TRUE(project.Wrong(1).empty());
  ExpectLikeTheOracle(project.run.events);
}

TEST(Reinstatement, OnlyReversedCreditIsReinstatedAndWrongAmountsAreFound) {
  Project project;
  project.Done(kStart + 2 * kDay, 1, 1, 1);
  EXPECT_TRUE(PlanOf(project.run.world, Reinstating(1)).corrections.empty());
  std::uint64_t id = 9000;
  const auto by_hand = [&](std::uint64_t previous, std::int64_t after) {
    project.Send(kStart + 4 * kDay + static_cast<double>(++id),
                 wire::Repricing{.result = ResultId(1),
                                 .reason = "by hand",
                                 .entry = wire::LedgerEntry{.user = UserId(1),
                                                            .host = HostId(1),
                                                            .team = TeamId(11),
                                                            .app = AppId(1),
                                                            .previous = previous},
                                 .credit_micro = after});
  };
  by_hand(0, 5'000'000);
  EXPECT_EQ(project.run.world.outcome().refusals["ALREADY_DECIDED"], 1u);
  const CorrectionPlan reversal = project.Do(Of(TargetKind::kResult, 1));
  ASSERT_EQ(reversal.corrections.size(), 1u);
  const std::string had = std::to_string(reversal.corrections[0].entry.credit_micro);
  by_hand(reversal.corrections[0].event.head.id, 5'000'000);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 5'000'000);
  const auto wrong = project.Wrong(1);
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_THAT(wrong[0],
              ::testing::EndsWith("reinstates 5000000 micro-credits, but " + had + " had been reversed"));
  ExpectLikeTheOracle(project.run.events);
}

// CLAIMS has made the reversal, and the decision has settled it.
TEST(Reinstatement, AReversalOfARunningJobStaysAndIsReported) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "benchmark");
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 1.5 * kDay, 1, 1, 20);
  project.Do(Of(TargetKind::kResult, 1));
  project.Failed(kStart + 2 * kDay, 1, 1);
  const CorrectionPlan plan = PlanOf(project.run.world, Reinstating(1));
  EXPECT_TRUE(plan.corrections.empty());
  ASSERT_EQ(plan.problems.size(), 1u);
  EXPECT_EQ(
      plan.problems[0].second,
      "a part of the result was reversed while its job was running; such a reversal cannot be reinstated");
}

// ---- Judged invalid, and reinstated ----------------------------------------------------------------------------

// Like the audit: with the grants of the workunit's other results.
std::vector<std::string> WrongWithReplicas(LockstepWorld& world, const CorrectionRequest& request) {
  CorrectionReader reader = ReaderOf(world, request);
  for (const std::string& record : world.ledger()) EXPECT_TRUE(reader.TakeReplica(record));
  return reader.WrongCorrections();
}

TEST(InvalidReinstated, ItsOwnersGetTheCreditOfAValidResult) {
  for (const char* policy : {"benchmark", "boinc"}) {
    SCOPED_TRACE(policy);
    Project project(policy);
    Project twin(policy);
    project.Invalid(kStart + 2 * kDay, 1, 1, 1);
    twin.Done(kStart + 2 * kDay, 1, 1, 1);
    ASSERT_GT(twin.Micro(OracleAccountKind::kUser, 1), 0);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
    const CorrectionPlan plan = project.Do(Reinstating(1, kStart + 9 * kDay));
    ASSERT_EQ(plan.corrections.size(), 1u);
    EXPECT_EQ(plan.corrections[0].after, twin.Micro(OracleAccountKind::kUser, 1));
    EXPECT_EQ(WithoutDays(project.run.world.outcome().accounts),
              WithoutDays(twin.run.world.outcome().accounts));
    EXPECT_EQ(project.Account(OracleAccountKind::kTeam, 11).grants, 1u);
    EXPECT_NEAR(project.Recent(1),
                std::log(2.0) / 7 * static_cast<double>(plan.corrections[0].after) / 1e6 / 2, 1e-9)
        << "of a day's work, a half-life ago";
    EXPECT_TRUE(project.Wrong(1).empty());
    ExpectLikeTheOracle(project.run.events);
  }
}

TEST(InvalidReinstated, CountsOnceAndMayBeReversedAndReinstated) {
  Project project;
  project.Invalid(kStart + 2 * kDay, 1, 1, 1);
  const CorrectionPlan first = project.Do(Reinstating(1));
  ASSERT_EQ(first.corrections.size(), 1u);
  const auto got = project.Micro(OracleAccountKind::kUser, 1);
  project.run.Play(EventsOf(first));  // a repeat has no effect
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), got);
  const CorrectionPlan again = PlanOf(project.run.world, Reinstating(1));
  EXPECT_TRUE(again.corrections.empty());
  ASSERT_EQ(again.problems.size(), 1u);
  EXPECT_EQ(again.problems[0].second, "the result was judged invalid, and is already reinstated");
  // A correction planned without knowledge of the first: another id.
  auto stale = first.corrections[0].event;
  stale.head.id += 1;
  project.run.Play({wire::EncodeEvent(stale)});
  EXPECT_EQ(project.run.world.outcome().refusals["ALREADY_DECIDED"], 1u);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), got);

  EXPECT_EQ(project.Do(Of(TargetKind::kResult, 1)).corrections.size(), 1u);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
  EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).grants, 0u);
  project.run.Play(EventsOf(first));  // a repeat from before the reversal has no effect
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
  EXPECT_EQ(project.Do(Reinstating(1)).corrections.size(), 1u);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), got);
  EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).grants, 1u);
  EXPECT_EQ(project.Account(OracleAccountKind::kTeam, 11).grants, 1u);
  EXPECT_TRUE(project.Wrong(1).empty());
  // The result has no grant that another version could price.
  project.App(kStart + 5 * kDay, "benchmark", 2, 2);
  const CorrectionPlan repricing = PlanOf(project.run.world, Of(TargetKind::kResult, 1, 2));
  EXPECT_TRUE(repricing.corrections.empty());
  EXPECT_EQ(repricing.problems.size(), 1u);
  ExpectLikeTheOracle(project.run.events);
}

TEST(InvalidReinstated, GetsItsWorkunitsCreditByThePriceAndTeamOfItsTime) {
  Project project;
  project.Done(kStart + 2 * kDay, 1, 1, 1);
  project.Invalid(kStart + 2.1 * kDay, 2, 2, 1);
  project.Invalid(kStart + 2.2 * kDay, 3, 3, 2);
  project.App(kStart + 3 * kDay, "benchmark", 7, 2);
  project.Join(kStart + 3 * kDay, 2, 99);
  const CorrectionPlan plan = project.Do(Reinstating(2));
  ASSERT_EQ(plan.corrections.size(), 1u);
  EXPECT_EQ(plan.corrections[0].judged_invalid->like_result, ResultId(1));
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 2), project.Micro(OracleAccountKind::kUser, 1));
  EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 12), project.Micro(OracleAccountKind::kUser, 1));
  EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 99), 0);
  project.Do(Reinstating(3));
  Project twin;
  twin.Done(kStart + 2.2 * kDay, 3, 3, 2);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 3), twin.Micro(OracleAccountKind::kUser, 3));
  for (const std::uint64_t result : {2, 3})
    EXPECT_TRUE(WrongWithReplicas(project.run.world, Of(TargetKind::kResult, result)).empty()) << result;
  ExpectLikeTheOracle(project.run.events);
}

TEST(InvalidReinstated, AWrongAmountOrAResultNotJudgedInvalidIsFound) {
  Project project;
  project.Invalid(kStart + 2 * kDay, 1, 1, 1);
  project.Done(kStart + 2 * kDay, 2, 1, 2);
  auto more = PlanOf(project.run.world, Reinstating(1)).corrections[0].event;
  std::get<wire::Repricing>(more.body).credit_micro += 1;
  auto valid = more;
  valid.head.id += 1;
  std::get<wire::Repricing>(valid.body).result = ResultId(2);
  project.run.Play({wire::EncodeEvent(more), wire::EncodeEvent(valid)});
  ASSERT_EQ(project.Wrong(1).size(), 1u);
  EXPECT_THAT(project.Wrong(1)[0], HasSubstr("micro-credits, but the result is worth"));
  ASSERT_EQ(project.Wrong(2).size(), 1u);
  EXPECT_THAT(project.Wrong(2)[0], ::testing::EndsWith("reinstates a result that was not judged invalid"));
  ExpectLikeTheOracle(project.run.events);
}

TEST(InvalidReinstated, TheOperatorSetsAnUnknownAmount) {
  Project project("assigned");
  project.Invalid(kStart + 2 * kDay, 1, 1, 1);
  CorrectionRequest request = Reinstating(1);
  EXPECT_THAT(ReaderOf(project.run.world, request).Plan().status().message(), HasSubstr("--credit"));
  request.credit = 12.5;
  EXPECT_EQ(project.Do(request).corrections.size(), 1u);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 12'500'000);
  EXPECT_TRUE(project.Wrong(1).empty());
  // If the amount follows from the records, the operator must not set another one.
  Project known;
  known.Invalid(kStart + 2 * kDay, 1, 1, 1);
  EXPECT_THAT(ReaderOf(known.run.world, request).Plan().status().message(), HasSubstr("remove --credit"));
  ExpectLikeTheOracle(project.run.events);
}

TEST(InvalidReinstated, ItsTricklePaymentsArePartOfItsWorth) {
  struct Case {
    const char* settlement;
    double steps;
    std::int64_t gets;  // with the payments that it keeps
  };
  for (const Case& c : {Case{"keep", 20, 50'000'000}, {"keep", 70, 70'000'000}, {"settle", 20, 50'000'000}}) {
    SCOPED_TRACE(c.settlement + std::to_string(c.steps));
    Project project;
    project.PayForSteps(kStart + 1, 2, 1, "assigned", c.settlement);
    project.Sent(kStart + kDay, 1, 1);
    project.SendTrickle(kStart + 1.5 * kDay, 1, 1, c.steps);
    project.Invalid(kStart + 2 * kDay, 1, 1, 1);
    CorrectionRequest request = Reinstating(1);
    request.credit = 50;
    EXPECT_EQ(project.Do(request).corrections.size(), 1u);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), c.gets);
    EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).grants, 1u);
    EXPECT_TRUE(project.Wrong(1).empty());
    ExpectLikeTheOracle(project.run.events);
  }
}

// Amid traffic: hosts change owners and are merged, users change teams, and two hosts claim the same result.
TEST_P(CorrectionSeeds, EveryInvalidResultIsReinstatedOnce) {
  Recorder run;
  run.Play(Generate(Paying(GetParam())));
  std::set<std::uint64_t> hosts;
  for (const std::string& record : run.world.ledger()) {
    wire::GrantHead head;
    ASSERT_TRUE(wire::DecodeGrantHead(record, &head));
    if (head.kind == wire::GrantKind::kInvalid && head.project == ProjectId(1)) hosts.insert(head.host.value);
  }
  std::uint64_t reinstated = 0;
  credit::MicroTotal all = 0;
  for (const std::uint64_t host : hosts) {
    CorrectionRequest request = Of(TargetKind::kHost, host);
    request.reinstates = request.judged_invalid = true;
    request.credit = 3;
    auto plan = ReaderOf(run.world, request).Plan();
    if (!plan.ok()) {  // each result has a worth of its own
      request.credit.reset();
      plan = ReaderOf(run.world, request).Plan();
    }
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    reinstated += plan->corrections.size();
    for (const PlannedCorrection& one : plan->corrections) all += one.after;
    run.Play(EventsOf(*plan));
    run.Play(EventsOf(*plan));  // a repeat has no effect
    const auto left = ReaderOf(run.world, request).Plan();
    for (const auto& one : left.ok() ? left->corrections : std::vector<PlannedCorrection>())
      ADD_FAILURE() << "result " << one.result.value << " of host " << host;
  }
  EXPECT_GT(reinstated, 10u);
  EXPECT_GT(all, 0);
  for (const std::uint64_t host : hosts)
    EXPECT_EQ(WrongWithReplicas(run.world, Of(TargetKind::kHost, host)), std::vector<std::string>());
  ExpectLikeTheOracle(run.events);
}

// ---- By the same version ---------------------------------------------------------------------------------------

TEST_P(CorrectionSeeds, RepricingByTheSameVersionChangesNothing) {
  GenerateOptions options = Paying(GetParam());
  options.apps = 9;
  options.policies = {"benchmark", "assigned",  "runtime",      "none",  "reported-flops",
                      "boinc",     "creditnew", "creditnew-v2", "robust"};
  options.owner_changes = 0.3;
  Recorder run;
  run.Play(Generate(options));
  std::map<credit::PolicyKind, std::uint64_t> priced;
  std::map<std::string, std::uint64_t> problems;
  std::set<std::uint32_t> versions;
  for (const std::string& record : run.world.ledger()) {
    wire::Grant grant;
    ASSERT_TRUE(wire::DecodeGrant(record, &grant));
    if (!grant.claim) continue;
    versions.insert(grant.claim->policy_version);
    ++priced[grant.claim->policy];
  }
  ASSERT_EQ(priced.size(), 9u);
  std::uint64_t unchanged = 0;
  for (const std::uint64_t host : WithCredit(run.world, true)) {
    const CorrectionPlan plan = PlanOf(run.world, Of(TargetKind::kHost, host, 1));
    unchanged += plan.unchanged;
    for (const PlannedCorrection& one : plan.corrections)
      ADD_FAILURE() << "result " << one.result.value << ": " << one.entry.credit_micro << " became "
                    << one.after;
    for (const auto& [result, why] : plan.problems) ++problems[why];
  }
  EXPECT_EQ(versions, std::set<std::uint32_t>{1});
  EXPECT_GT(unchanged, 300u);
  for (const auto& [why, count] : problems)
    EXPECT_TRUE(why.starts_with("the job is still running") ||
                why.starts_with("the user of the result is unknown") ||
                why.starts_with("the result was late"))
        << why << " " << count;
}

// ---- By another version ----------------------------------------------------------------------------------------

// Results with trickle payments to several owners.
std::set<std::uint64_t> PaidToSeveral(LockstepWorld& world) {
  std::map<std::uint64_t, std::set<std::uint64_t>> owners;
  for (const std::string& record : world.ledger()) {
    wire::GrantHead head;
    EXPECT_TRUE(wire::DecodeGrantHead(record, &head));
    if (head.kind == wire::GrantKind::kPartial && head.project == ProjectId(1))
      owners[head.result.value].insert(head.user.value);
  }
  std::set<std::uint64_t> results;
  for (const auto& [result, users] : owners)
    if (users.size() > 1) results.insert(result);
  return results;
}

std::set<std::uint64_t> PaidByTrickles(LockstepWorld& world) {
  std::set<std::uint64_t> results;
  for (const std::string& record : world.ledger()) {
    wire::GrantHead head;
    EXPECT_TRUE(wire::DecodeGrantHead(record, &head));
    if (head.kind == wire::GrantKind::kPartial) results.insert(head.result.value);
  }
  return results;
}

// The credit that the same traffic would have given with the version in force from the start. The two computations of
// prices share only the policies.
TEST_P(CorrectionSeeds, RepricingEqualsThatPriceFromTheStart) {
  for (const double times : {2.0, 0.5}) {
    GenerateOptions options = Paying(GetParam());
    options.bad_trickles = 0.1;
    options.owner_changes = 1;
    const Events events = Generate(options);
    Recorder run;
    run.Play(events);
    Events others = events;
    Events versions;  // of the policies, after all traffic
    for (std::string& bytes : others) {
      auto event = wire::ParseEvent(bytes);
      auto* app = event.ok() ? std::get_if<wire::AppChange>(&event->body) : nullptr;
      if (app == nullptr) continue;
      *app = Times(*app, times);
      bytes = wire::EncodeEvent(*event);
      app->policy_version = 2;
      event->head.id += 1'000'000'000'000;
      versions.push_back(wire::EncodeEvent(*event));
    }
    ASSERT_EQ(versions.size(), 7u);
    Recorder other;
    other.Play(others);
    run.Play(versions);
    const auto had = EarnedByOwner(run.world);
    std::set<std::uint64_t> hosts;
    for (const auto& [owner, sum] : had) hosts.insert(std::get<1>(owner));
    std::set<std::uint64_t> left;
    Events corrections;
    for (const std::uint64_t host : hosts) {
      const CorrectionPlan plan = PlanOf(run.world, Of(TargetKind::kHost, host, 2));
      for (const auto& [result, why] : plan.problems) left.insert(result.value);
      for (std::string& event : EventsOf(plan)) corrections.push_back(std::move(event));
    }
    run.Play(corrections);
    std::uint64_t compared = 0;
    std::uint64_t by_trickles = 0;
    const std::set<std::uint64_t> paid_by_trickles = PaidByTrickles(run.world);
    const std::set<std::uint64_t> several = PaidToSeveral(run.world);
    std::uint64_t of_several = 0;
    const auto expected = EarnedByOwner(other.world);
    for (const auto& [owner, sum] : EarnedByOwner(run.world)) {
      if (left.contains(std::get<0>(owner))) continue;
      ++compared;
      by_trickles += sum != had.at(owner) && paid_by_trickles.contains(std::get<0>(owner)) ? 1 : 0;
      of_several += sum != had.at(owner) && several.contains(std::get<0>(owner)) ? 1 : 0;
      const auto same = expected.find(owner);
      EXPECT_EQ(sum, same == expected.end() ? 0 : same->second)
          << "result " << std::get<0>(owner) << " host " << std::get<1>(owner) << " user "
          << std::get<2>(owner) << ", had " << had.at(owner);
    }
    EXPECT_GT(compared, 400u);
    EXPECT_GT(by_trickles, 200u);
    EXPECT_GT(of_several, UsesOwnSeeds() ? 10u : 2u);
    for (const std::uint64_t host : hosts) {
      EXPECT_TRUE(PlanOf(run.world, Of(TargetKind::kHost, host, 2)).corrections.empty());
      EXPECT_EQ(ReaderOf(run.world, Of(TargetKind::kHost, host, 2)).WrongCorrections(),
                std::vector<std::string>());
      run.Play(EventsOf(PlanOf(run.world, Of(TargetKind::kHost, host, 1))));
    }
    const auto back = EarnedByOwner(run.world);
    EXPECT_EQ(back.size(), had.size());
    for (const auto& [owner, sum] : back)
      EXPECT_EQ(sum, had.at(owner)) << "back: result " << std::get<0>(owner) << " host " << std::get<1>(owner)
                                    << " user " << std::get<2>(owner);
  }
}

// ---- Small projects --------------------------------------------------------------------------------------------

TEST(Reversal, TheTeamThatHadTheCreditLosesItAndCountsDecrease) {
  Project project;
  project.Done(kStart + 2 * kDay, 1, 1, 1);
  project.Done(kStart + 3 * kDay, 2, 1, 2);
  project.Join(kStart + 4 * kDay, 1, 99);
  const auto before = project.Account(OracleAccountKind::kTeam, 11);
  EXPECT_EQ(before.grants, 2u);
  const CorrectionPlan plan = project.Do(Of(TargetKind::kResult, 1));
  ASSERT_EQ(plan.corrections.size(), 1u);
  EXPECT_EQ(plan.corrections[0].entry.team, TeamId(11));
  const auto team = project.Account(OracleAccountKind::kTeam, 11);
  EXPECT_EQ(team.grants, 1u);
  EXPECT_TRUE(team.micro == before.micro - plan.corrections[0].entry.credit_micro);
  EXPECT_EQ(project.run.world.outcome().accounts.count({1, OracleAccountKind::kTeam, 99}), 0u);
  EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).grants, 1u);
  EXPECT_EQ(project.Account(OracleAccountKind::kHost, 1).grants, 1u);
  ExpectLikeTheOracle(project.run.events);
}

TEST(Reversal, TheRecentAverageLosesTheRemainingPart) {
  // Both projects have an earlier result, so that no average starts with the reversed credit; the second project
  // never has it.
  Project with;
  Project without;
  for (Project* one : {&with, &without}) one->Done(kStart + kDay, 1, 1, 1);
  with.Done(kStart + 2 * kDay, 2, 1, 2);
  for (Project* one : {&with, &without}) one->Done(kStart + 9 * kDay, 3, 1, 3);
  const double paid = with.Recent(1);
  const CorrectionPlan plan = with.Do(Of(TargetKind::kResult, 2));
  ASSERT_EQ(plan.corrections.size(), 1u);
  const double credit = static_cast<double>(plan.corrections[0].entry.credit_micro) / 1e6;
  const double expected = std::log(2.0) * credit / 7 * std::exp2(-1);  // a half-life of 7 days ago
  EXPECT_NEAR(plan.corrections[0].recent_off, expected, 1e-12 * expected);
  EXPECT_NEAR(with.Recent(1), paid - expected, 1e-12);
}

TEST(Repricing, TheRequestedVersionPricesTheRecordedInputs) {
  Project project("benchmark", 1);
  project.Done(kStart + 2 * kDay, 1, 1, 1, 2);
  project.Done(kStart + 2 * kDay, 2, 2, 1, 2);
  project.App(kStart + 3 * kDay, "benchmark", 3, 2);
  const auto had = project.Account(OracleAccountKind::kUser, 2);
  EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kWorkunit, 1, 1)).corrections.empty());
  const CorrectionPlan plan = project.Do(Of(TargetKind::kWorkunit, 1, 2));
  ASSERT_EQ(plan.corrections.size(), 2u);
  const auto has = project.Account(OracleAccountKind::kUser, 2);
  EXPECT_NEAR(static_cast<double>(has.micro), 3 * static_cast<double>(had.micro), 1.5);
  EXPECT_EQ(has.grants, 1u);
  EXPECT_LT(plan.corrections[0].recent_off, 0);
  // Nothing is left to correct; repricing back to the first version restores the amounts.
  EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kWorkunit, 1, 2)).corrections.empty());
  project.Do(Of(TargetKind::kWorkunit, 1, 1));
  EXPECT_TRUE(project.Account(OracleAccountKind::kUser, 2).micro == had.micro);
  // A reversed result is no longer repriced.
  project.Do(Of(TargetKind::kResult, 2));
  const CorrectionPlan after = PlanOf(project.run.world, Of(TargetKind::kWorkunit, 1, 2));
  EXPECT_EQ(after.corrections.size(), 1u);
  ASSERT_EQ(after.problems.size(), 1u);
  EXPECT_EQ(after.problems[0].second, "the grant was reversed");
  ExpectLikeTheOracle(project.run.events);
}

TEST(Repricing, NoTeamLosesMoreThanItHadOfTheJob) {
  Project project;
  const auto version = [&](std::uint32_t number, double multiplier) {
    wire::ConstantChanges constants;
    constants.multiplier = multiplier;
    project.Send(kStart + number,
                 wire::AppChange{.app = AppId(1),
                                 .policy = "benchmark",
                                 .policy_version = number,
                                 .constants = constants,
                                 .trickles = {{.variety = "model",
                                               .kind = "steps",
                                               .measure = "steps",
                                               .phases = {{.last_step = 1000, .credit_per_step = 1}}}},
                                 .trickle_settlement = "settle"});
  };
  version(2, 100);
  version(3, 1);
  version(4, 100);
  wire::Dispatch dispatch;
  dispatch.facts = CompletionOf(1, 1, 1, kStart + 4 * kDay).facts;
  dispatch.facts.version = AppVersionId(1);
  dispatch.facts.outcome = credit::Outcome::kUnknown;
  dispatch.facts.sent_time = kStart + 3 * kDay;
  dispatch.facts.received_time = 0;
  dispatch.fpops_est = 1e15;
  dispatch.fpops_bound = 1e20;
  project.Send(kStart + 3 * kDay, dispatch);
  project.Send(kStart + 3.5 * kDay,
               wire::Trickle{.result = ResultId(1), .host = HostId(1), .variety = "model", .steps = 20});
  project.Join(kStart + 3.6 * kDay, 1, 99);
  project.Done(kStart + 4 * kDay, 1, 1, 1);
  ASSERT_EQ(project.Account(OracleAccountKind::kTeam, 11).micro, 20'000'000);
  ASSERT_GT(project.Account(OracleAccountKind::kTeam, 99).micro, 20'000'000);
  const auto had = project.Account(OracleAccountKind::kUser, 1).micro;
  EXPECT_EQ(project.Do(Of(TargetKind::kResult, 1, 3)).corrections.size(), 2u);
  const auto has = project.Account(OracleAccountKind::kUser, 1).micro;
  EXPECT_NEAR(static_cast<double>(has), static_cast<double>(had) / 100, 1.5);
  EXPECT_EQ(project.Account(OracleAccountKind::kTeam, 11).micro, has);
  EXPECT_EQ(project.Account(OracleAccountKind::kTeam, 99).micro, 0);
  EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kResult, 1, 3)).corrections.empty());
  project.Do(Of(TargetKind::kResult, 1, 4));
  EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).micro, had);
  ExpectLikeTheOracle(project.run.events);
}

TEST(Repricing, PaymentsOfLateTricklesAreKept) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "benchmark");
  project.Sent(kStart + kDay, 1, 1);
  project.Done(kStart + 2 * kDay, 1, 1, 1);
  const auto granted = project.Account(OracleAccountKind::kUser, 1).micro;
  ASSERT_LT(granted, 15'000'000);
  project.SendTrickle(kStart + 1.5 * kDay, 1, 1, 20);
  ASSERT_EQ(project.Account(OracleAccountKind::kUser, 1).micro, 20'000'000);
  const CorrectionPlan plan = PlanOf(project.run.world, Of(TargetKind::kResult, 1, 2));
  EXPECT_TRUE(plan.corrections.empty());
  EXPECT_TRUE(plan.problems.empty());
  EXPECT_EQ(project.Do(Of(TargetKind::kResult, 1)).corrections.size(), 1u);
  EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).micro, 0);
  ExpectLikeTheOracle(project.run.events);
}

// Result 1 was paid by trickles only, result 2 was worth less than its trickle payments, result 3 more.
TEST(Repricing, TricklePaymentsAreRepriced) {
  for (const std::string settlement : {"keep", "settle", "cap"}) {
    Project project;
    project.PayForSteps(kStart + 1, 2, 1, "benchmark", settlement);
    for (const std::uint64_t result : {1, 2, 3}) {
      project.Sent(kStart + kDay, result, result);
      for (const double steps : {2, 1, 10})
        if (result != 3) project.SendTrickle(kStart + 1.5 * kDay, result, result, 2 * steps);
    }
    project.SendTrickle(kStart + 1.5 * kDay, 3, 3, 1);
    project.Failed(kStart + 2 * kDay, 1, 1);
    for (const std::uint64_t result : {2, 3}) project.Done(kStart + 2 * kDay, result, result, result);
    std::map<std::uint64_t, credit::MicroTotal> had;
    for (std::uint64_t user = 1; user <= 3; ++user) had[user] = project.Micro(OracleAccountKind::kUser, user);
    const bool keeps = settlement == "keep";
    const credit::MicroTotal third = had[3];
    ASSERT_GT(third, 2'000'000);
    ASSERT_LT(third, 10'000'000);
    EXPECT_EQ(had[1], keeps ? 20'000'000 : 0);
    EXPECT_TRUE(!keeps || had[2] == 20'000'000);
    project.PayForSteps(kStart + 3 * kDay, 3, 0.75, "benchmark", settlement);
    for (std::uint64_t host = 1; host <= 3; ++host) {
      const CorrectionPlan plan = project.Do(Of(TargetKind::kHost, host, 3));
      EXPECT_TRUE(plan.problems.empty()) << settlement;
      EXPECT_EQ(plan.corrections.size(), keeps && host != 3 ? 1u : 0u) << settlement;
      EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kHost, host, 3)).corrections.empty());
      const credit::MicroTotal expected = keeps && host != 3 ? 15'000'000 : had[host];
      for (const OracleAccountKind kind : {OracleAccountKind::kUser, OracleAccountKind::kHost})
        EXPECT_EQ(project.Micro(kind, host), expected) << settlement;
      EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 10 + host), expected) << settlement;
      project.Do(Of(TargetKind::kHost, host, 2));
      EXPECT_EQ(project.Micro(OracleAccountKind::kUser, host), had[host]) << settlement;
      EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 10 + host), had[host]) << settlement;
      EXPECT_EQ(project.Wrong(host), std::vector<std::string>()) << settlement;
    }
    ExpectLikeTheOracle(project.run.events);
  }
}

// The worth of a job is spread over the teams that had it, and returns to those that lost it.
TEST(Repricing, RepricingByTheOldVersionRestoresEachTeamsCredit) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "benchmark");
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 1.5 * kDay, 1, 1, 10);
  project.Join(kStart + 1.6 * kDay, 1, 99);
  project.SendTrickle(kStart + 1.7 * kDay, 1, 1, 20);
  project.Failed(kStart + 2 * kDay, 1, 1);
  project.PayForSteps(kStart + 3 * kDay, 3, 0.25, "benchmark");
  project.PayForSteps(kStart + 3 * kDay, 4, 3, "benchmark");
  const auto teams = [&](std::uint32_t version) {
    project.Do(Of(TargetKind::kResult, 1, version));
    return std::pair{static_cast<long long>(project.Micro(OracleAccountKind::kTeam, 11)),
                     static_cast<long long>(project.Micro(OracleAccountKind::kTeam, 99))};
  };
  EXPECT_EQ(teams(2), (std::pair{10'000'000LL, 10'000'000LL}));
  EXPECT_EQ(teams(3), (std::pair{5'000'000LL, 0LL}));
  EXPECT_EQ(teams(4), (std::pair{10'000'000LL, 50'000'000LL}));
  EXPECT_EQ(teams(3), (std::pair{5'000'000LL, 0LL}));
  EXPECT_EQ(teams(2), (std::pair{10'000'000LL, 10'000'000LL}));
  EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
  ExpectLikeTheOracle(project.run.events);
}

TEST(Repricing, LateTricklesArePricedWithTheEarlierOnes) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "benchmark");
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 1.4 * kDay, 1, 1, 1);
  project.Done(kStart + 2 * kDay, 1, 1, 1);
  const auto granted = project.Micro(OracleAccountKind::kUser, 1);
  project.SendTrickle(kStart + 1.5 * kDay, 1, 1, 20);
  ASSERT_EQ(project.Micro(OracleAccountKind::kUser, 1), 20'000'000);
  project.PayForSteps(kStart + 3 * kDay, 3, 2, "benchmark");
  project.PayForSteps(kStart + 3 * kDay, 4, 0.01, "benchmark");
  const auto reprice = [&](std::uint32_t version) {
    project.Do(Of(TargetKind::kResult, 1, version));
    EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kResult, 1, version)).corrections.empty());
    return project.Micro(OracleAccountKind::kUser, 1);
  };
  EXPECT_EQ(reprice(3), 40'000'000);
  EXPECT_EQ(reprice(4), granted);
  // Another trickle between the plan and its execution, at the price frozen by its dispatch.
  const Events decided = EventsOf(PlanOf(project.run.world, Of(TargetKind::kResult, 1, 3)));
  project.SendTrickle(kStart + 1.8 * kDay, 1, 1, 30);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), granted + 10'000'000);
  project.run.Play(decided);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 50'000'000);
  EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
  EXPECT_EQ(reprice(3), 60'000'000);
  EXPECT_EQ(reprice(2), 30'000'000);
  EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
  ExpectLikeTheOracle(project.run.events);
}

// A trickle after the decision. If its host has changed its owner meanwhile, its credit cannot be assigned, and the
// plan names the result.
TEST(Repricing, ATrickleCoveredByTheGrantGetsTheDifferenceByVersion) {
  for (const bool moved : {false, true}) {
    Project project;
    project.PayForSteps(kStart + 1, 2, 1, "assigned");
    project.Sent(kStart + kDay, 1, 1);
    project.Worth(kStart + 2 * kDay, 1, 1, 50);
    if (moved)
      project.Send(kStart + 2.1 * kDay,
                   wire::HostMember{.host = HostId(1), .user = UserId(2), .whetstone = 2e9, .cpus = 4});
    project.SendTrickle(kStart + 1.5 * kDay, 1, 1, 40);
    EXPECT_TRUE(project.Micro(OracleAccountKind::kUser, 1) == 50'000'000);
    project.PayForSteps(kStart + 3 * kDay, 3, 2, "assigned");
    const CorrectionPlan plan = project.Do(Of(TargetKind::kResult, 1, 3));
    EXPECT_EQ(plan.problems.size(), moved ? 1u : 0u);
    EXPECT_TRUE(project.Micro(OracleAccountKind::kUser, 1) == (moved ? 50'000'000 : 80'000'000));
    EXPECT_TRUE(project.Micro(OracleAccountKind::kUser, 2) == 0);
    EXPECT_TRUE(project.Do(Of(TargetKind::kResult, 1, 3)).corrections.empty());
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
  }
}

TEST(Repricing, AResultWithUnknownTrickleInputsStaysAndIsReported) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "benchmark");
  for (const std::uint64_t result : {1, 2, 3}) {
    project.Sent(kStart + kDay, result, 1);
    project.SendTrickle(kStart + 1.5 * kDay, result, 1, 10);
  }
  project.Send(kStart + 1.6 * kDay,
               wire::HostMember{.host = HostId(1), .user = UserId(2), .whetstone = 2e9, .cpus = 4});
  project.SendTrickle(kStart + 1.7 * kDay, 1, 1, 20);
  for (const std::uint64_t result : {1, 2}) project.Failed(kStart + 2 * kDay, result, 1);
  project.PayForSteps(kStart + 3 * kDay, 3, 2, "benchmark");
  project.PayForSteps(kStart + 3 * kDay, 4, 1, "benchmark", "keep", "another");
  project.Send(kStart + 3 * kDay,
               wire::AppChange{.app = AppId(1),
                               .policy = "benchmark",
                               .policy_version = 5,
                               .trickles = {{.variety = "model", .kind = "day", .credit_per_day = 1}}});
  const auto why = [&](std::uint64_t result, std::uint32_t version) {
    const CorrectionPlan plan = PlanOf(project.run.world, Of(TargetKind::kResult, result, version));
    EXPECT_TRUE(plan.corrections.empty() || plan.problems.empty());
    return plan.problems.empty() ? std::to_string(plan.corrections.size()) : plan.problems[0].second;
  };
  EXPECT_EQ(why(1, 2), "0");
  EXPECT_EQ(why(1, 3), "2");
  EXPECT_EQ(why(2, 3), "1");
  EXPECT_EQ(why(2, 4), "that version does not pay trickles of variety 'model'");
  EXPECT_EQ(why(2, 5), "that version counts trickles of variety 'model' differently");
  EXPECT_EQ(why(3, 3), "1");
  EXPECT_EQ(why(3, 4), "the job is still running: that version does not pay trickles of variety 'model'");
  project.Do(Of(TargetKind::kResult, 2));
  EXPECT_EQ(why(2, 3), "the trickle payments were reversed");
}

// Three owners, of 10, 15 and 20 steps; the last one has the rest of the grant.
TEST(Repricing, PaymentsOfSeveralOwnersAreRepricedBySpans) {
  for (const std::string settlement : {"keep", "settle"}) {
    Project project;
    project.PayForSteps(kStart + 1, 2, 1, "assigned", settlement);
    project.Sent(kStart + kDay, 1, 1);
    double steps = 0;
    for (const std::uint64_t user : {1, 2, 3}) {
      const double time = kStart + (1 + 0.1 * static_cast<double>(user)) * kDay;
      project.Send(time,
                   wire::HostMember{.host = HostId(1), .user = UserId(user), .whetstone = 2e9, .cpus = 4});
      project.SendTrickle(time, 1, 1, steps += 5.0 + 5.0 * static_cast<double>(user));
    }
    project.Worth(kStart + 2 * kDay, 1, 1, 60);
    const auto has = [&] {
      std::vector<credit::MicroTotal> micro;
      for (std::uint64_t user = 1; user <= 3; ++user) {
        micro.push_back(project.Micro(OracleAccountKind::kUser, user));
        EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 10 + user), micro.back());
      }
      return micro;
    };
    using Micro = std::vector<credit::MicroTotal>;
    const Micro had = {10'000'000, 15'000'000, 35'000'000};
    ASSERT_EQ(has(), had);
    project.PayForSteps(kStart + 3 * kDay, 3, 2, "assigned", settlement);
    project.PayForSteps(kStart + 3 * kDay, 4, 1.0 / 3, "assigned", settlement);
    project.Do(Of(TargetKind::kResult, 1, 3));
    EXPECT_EQ(has(), (settlement == "keep" ? Micro{20'000'000, 30'000'000, 40'000'000}
                                           : Micro{20'000'000, 30'000'000, 10'000'000}));
    EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kResult, 1, 3)).corrections.empty());
    project.Do(Of(TargetKind::kResult, 1, 4));
    EXPECT_EQ(has(), (Micro{3'333'333, 5'000'000, 51'666'667}));
    project.Do(Of(TargetKind::kResult, 1, 2));
    EXPECT_EQ(has(), had);
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
    ExpectLikeTheOracle(project.run.events);
  }
}

// Steps 10 to 20 earned nothing: with two paid owners the ledger does not record the owner of each step.
TEST(Repricing, AnUnpaidStepBetweenTwoOwnersBelongsToNeither) {
  for (const bool changes : {false, true}) {
    Project project;
    const auto pay = [&](double time, std::uint32_t version, double between) {
      project.Send(time,
                   wire::AppChange{.app = AppId(1),
                                   .policy = "assigned",
                                   .policy_version = version,
                                   .trickles = {{.variety = "model",
                                                 .kind = "steps",
                                                 .measure = "steps",
                                                 .phases = {{.last_step = 10, .credit_per_step = 1},
                                                            {.last_step = 20, .credit_per_step = between},
                                                            {.last_step = 1000, .credit_per_step = 1}}}}});
    };
    pay(kStart + 1, 2, 0);
    project.Sent(kStart + kDay, 1, 1);
    project.SendTrickle(kStart + 1.1 * kDay, 1, 1, 10);
    project.SendTrickle(kStart + 1.2 * kDay, 1, 1, 15);
    if (changes)
      project.Send(kStart + 1.3 * kDay,
                   wire::HostMember{.host = HostId(1), .user = UserId(2), .whetstone = 2e9, .cpus = 4});
    project.SendTrickle(kStart + 1.4 * kDay, 1, 1, 30);
    project.Failed(kStart + 2 * kDay, 1, 1);
    pay(kStart + 3 * kDay, 3, 1);
    const CorrectionPlan plan = PlanOf(project.run.world, Of(TargetKind::kResult, 1, 3));
    ASSERT_EQ(plan.problems.size(), changes ? 1u : 0u);
    if (changes)
      EXPECT_EQ(plan.problems[0].second,
                "the trickles were paid to several owners, and an unpaid trickle between them may have "
                "a worth by this version");
    else
      EXPECT_EQ(plan.corrections.at(0).after, 30'000'000);
  }
}

TEST(Repricing, AWrongPriceForTheVersionIsFound) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "benchmark");
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 1.5 * kDay, 1, 1, 20);
  project.Failed(kStart + 2 * kDay, 1, 1);
  project.PayForSteps(kStart + 3 * kDay, 3, 2, "benchmark");
  project.PayForSteps(kStart + 3 * kDay, 4, 2, "benchmark", "keep", "another");
  std::uint64_t id = 9000;
  std::uint64_t previous = 0;
  std::int64_t before = 20'000'000;
  const auto by_hand = [&](std::uint32_t version, std::int64_t after) {
    wire::LedgerEntry entry{.user = UserId(1),
                            .host = HostId(1),
                            .team = TeamId(11),
                            .app = AppId(1),
                            .credit_micro = before,
                            .previous = previous};
    wire::Event event{.head = {.id = ++id, .project = ProjectId(1), .time = kStart + 4 * kDay},
                      .body = wire::Repricing{.policy_version = version,
                                              .result = ResultId(1),
                                              .reason = "by hand",
                                              .entry = entry,
                                              .credit_micro = after}};
    previous = event.head.id;
    before = after;
    project.run.Play({wire::EncodeEvent(event)});
    const auto wrong = project.Wrong(1);
    return wrong.empty() ? std::string() : wrong.back();
  };
  EXPECT_EQ(by_hand(3, 40'000'000), "");
  EXPECT_EQ(by_hand(2, 20'000'000), "");
  EXPECT_EQ(by_hand(3, 40'000'001),
            "correction 9003 gives 40000001 micro-credits by version 3, but that version gives 40000000");
  EXPECT_EQ(by_hand(4, 20'000'000),
            "correction 9004 gives 20000000 micro-credits by version 4, but that version gives no "
            "price: that version does not pay trickles of variety 'model'");
  EXPECT_EQ(by_hand(7, 20'000'000), "correction 9005 uses unknown version 7 of the policy of app 1");
  EXPECT_EQ(project.Wrong(1).size(), 3u);
}

TEST(Repricing, AVersionWithOtherInputsChangesNothingAndIsReported) {
  Project project("benchmark", 1);
  project.Done(kStart + 2 * kDay, 1, 1, 1);
  project.App(kStart + 3 * kDay, "creditnew", 1, 2);
  const CorrectionPlan plan = PlanOf(project.run.world, Of(TargetKind::kResult, 1, 2));
  EXPECT_TRUE(plan.corrections.empty());
  ASSERT_EQ(plan.problems.size(), 1u);
  EXPECT_EQ(plan.problems[0].second,
            "the ledger records the inputs of policy benchmark, but not those of policy creditnew");
  const auto never = ReaderOf(project.run.world, Of(TargetKind::kResult, 1, 7)).Plan();
  EXPECT_EQ(never.status().code(), StatusCode::kInvalidArgument);
  const auto nothing = ReaderOf(project.run.world, Of(TargetKind::kResult, 4711)).Plan();
  EXPECT_EQ(nothing.status().code(), StatusCode::kNotFound);
}

TEST(Correction, TwoPlannedFromTheSameCreditReverseItOnce) {
  Project project;
  project.Done(kStart + 2 * kDay, 1, 1, 1);
  const Events reversal = EventsOf(PlanOf(project.run.world, Of(TargetKind::kResult, 1)));
  project.App(kStart + 3 * kDay, "benchmark", 0.5, 2);
  const Events repricing = EventsOf(PlanOf(project.run.world, Of(TargetKind::kResult, 1, 2)));
  ASSERT_EQ(reversal.size(), 1u);
  ASSERT_EQ(repricing.size(), 1u);
  project.run.Play(reversal);
  project.run.Play(repricing);
  EXPECT_TRUE(project.Account(OracleAccountKind::kUser, 1).micro == 0);
  EXPECT_EQ(project.run.world.outcome().refusals["ALREADY_DECIDED"], 1u);
  ExpectLikeTheOracle(project.run.events);
}

TEST(Correction, OfAnUnknownUserIsRefusedAndCanBeRepeated) {
  Project project;
  project.Send(kStart, wire::HostMember{.host = HostId(4), .user = UserId(4), .whetstone = 2e9, .cpus = 4});
  project.Done(kStart + 2 * kDay, 1, 4, 1);
  project.Do(Of(TargetKind::kResult, 1));
  EXPECT_EQ(project.run.world.outcome().refusals["UNKNOWN_USER"], 1u);
  project.Join(kStart + 3 * kDay, 4, 14);
  EXPECT_EQ(project.Account(OracleAccountKind::kTeam, 14).grants, 1u);
  project.Do(Of(TargetKind::kResult, 1));
  EXPECT_TRUE(project.Account(OracleAccountKind::kTeam, 14).micro == 0);
  EXPECT_TRUE(project.Account(OracleAccountKind::kUser, 4).micro == 0);
  EXPECT_EQ(project.Account(OracleAccountKind::kTeam, 14).grants, 0u);
  ExpectLikeTheOracle(project.run.events);
}

// A deleted user's account loses the credit invisibly, as it receives credit granted meanwhile.
TEST(Correction, OfADeletedUserReducesUserHostAndTeam) {
  Project project;
  project.Done(kStart + 2 * kDay, 1, 1, 1);
  project.Send(kStart + 3 * kDay, wire::UserMember{.user = UserId(1), .team = TeamId(11), .deleted = true});
  project.Do(Of(TargetKind::kResult, 1));
  EXPECT_TRUE(project.Account(OracleAccountKind::kUser, 1).micro == 0);
  EXPECT_TRUE(project.Account(OracleAccountKind::kHost, 1).micro == 0);
  EXPECT_TRUE(project.Account(OracleAccountKind::kTeam, 11).micro == 0);
  ExpectLikeTheOracle(project.run.events);
}

// Without an owner only the host has the credit.
TEST(Correction, OfAHostWithoutOwnerReducesOnlyTheHost) {
  Project project;
  project.Send(kStart, wire::HostMember{.host = HostId(9), .whetstone = 2e9, .cpus = 4});
  project.Done(kStart + 2 * kDay, 1, 9, 1);
  EXPECT_FALSE(project.Account(OracleAccountKind::kHost, 9).micro == 0);
  project.Do(Of(TargetKind::kHost, 9));
  EXPECT_TRUE(project.Account(OracleAccountKind::kHost, 9).micro == 0);
  ExpectLikeTheOracle(project.run.events);
}

// ---- Jobs paid by trickles -------------------------------------------------------------------------------------

TEST(Reversal, OfAnAppVersionReversesTrickleOnlyPayments) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "benchmark");
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 1.5 * kDay, 1, 1, 20);
  project.Failed(kStart + 2 * kDay, 1, 1);
  project.Done(kStart + 2 * kDay, 2, 2, 2);
  ASSERT_EQ(project.Account(OracleAccountKind::kUser, 1).micro, 20'000'000);
  EXPECT_EQ(project.Do(Of(TargetKind::kAppVersion, 1)).corrections.size(), 2u);
  EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).micro, 0);
  EXPECT_EQ(project.Account(OracleAccountKind::kUser, 2).micro, 0);
  ExpectLikeTheOracle(project.run.events);
}

// ---- Running jobs ----------------------------------------------------------------------------------------------

// 20 of 30 steps were reversed. In the end the job is worth all its steps, fewer, or nothing.
TEST(JobReversal, AReversedPaymentIsNeitherRestoredNorReversedTwice) {
  struct Case {
    std::string settlement;
    double worth;  // below 0: the job failed
    std::int64_t has;
  };
  for (const Case& one : std::vector<Case>{{"keep", 100, 80'000'000},
                                           {"keep", 25, 10'000'000},
                                           {"keep", -1, 10'000'000},
                                           {"settle", 100, 80'000'000},
                                           {"settle", 25, 5'000'000},
                                           {"settle", 15, 0},
                                           {"settle", -1, 0},
                                           {"cap", 25, 5'000'000},
                                           {"cap", -1, 0}}) {
    const std::string name = one.settlement + " " + std::to_string(one.worth);
    Project project;
    project.PayForSteps(kStart + 1, 2, 1, "assigned", one.settlement);
    project.Sent(kStart + kDay, 1, 1);
    project.SendTrickle(kStart + 1.2 * kDay, 1, 1, 20);
    EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).provisional, 20'000'000) << name;
    const CorrectionPlan plan = project.Do(Of(TargetKind::kHost, 1));
    ASSERT_EQ(plan.corrections.size(), 1u) << name;
    EXPECT_TRUE(plan.corrections[0].running()) << name;
    project.run.Play(EventsOf(plan));
    for (const auto kind : {OracleAccountKind::kUser, OracleAccountKind::kHost, OracleAccountKind::kTeam}) {
      const AccountOutcome has = project.Account(kind, kind == OracleAccountKind::kTeam ? 11 : 1);
      EXPECT_EQ(has.micro, 0) << name;
      EXPECT_EQ(has.provisional, 0) << name;
      EXPECT_EQ(has.shown, 0) << name;
    }
    EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kHost, 1)).corrections.empty()) << name;
    project.SendTrickle(kStart + 1.3 * kDay, 1, 1, 20);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0) << name;
    project.SendTrickle(kStart + 1.5 * kDay, 1, 1, 30);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 10'000'000) << name;
    EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).provisional, 10'000'000) << name;
    if (one.worth < 0)
      project.Failed(kStart + 2 * kDay, 1, 1);
    else
      project.Worth(kStart + 2 * kDay, 1, 1, one.worth);
    const AccountOutcome has = project.Account(OracleAccountKind::kUser, 1);
    EXPECT_EQ(has.micro, one.has) << name;
    EXPECT_EQ(has.provisional, 0) << name;
    EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 11), one.has) << name;
    EXPECT_EQ(has.shown, one.settlement == "cap" ? 10'000'000 : one.has) << name;
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>()) << name;
    const CorrectionPlan repricing = PlanOf(project.run.world, Of(TargetKind::kResult, 1, 2));
    EXPECT_TRUE(repricing.problems.empty()) << name;
    EXPECT_TRUE(repricing.corrections.empty()) << name;
    // The job has ended: a reversal takes its remaining credit, too.
    project.Do(Of(TargetKind::kHost, 1));
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0) << name;
    EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).grants, 0u) << name;
    EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kHost, 1)).corrections.empty()) << name;
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>()) << name;
    ExpectLikeTheOracle(project.run.events);
  }
}

TEST(JobReversal, ReversesLaterPaymentsAgain) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "assigned");
  project.Sent(kStart + kDay, 1, 1);
  std::set<std::uint64_t> ids;
  for (int i = 1; i <= 4; ++i) {
    project.SendTrickle(kStart + (1 + 0.1 * i) * kDay, 1, 1, 20.0 * i);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 20'000'000);
    for (const PlannedCorrection& one : project.Do(Of(TargetKind::kWorkunit, 1)).corrections)
      ids.insert(one.event.head.id);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
    EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 11), 0);
  }
  EXPECT_EQ(ids.size(), 4u);
  project.Worth(kStart + 2 * kDay, 1, 1, 81);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 1'000'000);
  EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
  ExpectLikeTheOracle(project.run.events);
}

// Payments between the plan and the correction stay, and the next plan finds them. Of two corrections planned at
// different times the higher sum counts, whichever arrives first.
TEST(JobReversal, TheHighestSumCountsInAnyOrder) {
  for (const bool turned : {false, true}) {
    Project project;
    project.PayForSteps(kStart + 1, 2, 1, "assigned");
    project.Sent(kStart + kDay, 1, 1);
    project.SendTrickle(kStart + 1.1 * kDay, 1, 1, 20);
    const Events first = EventsOf(PlanOf(project.run.world, Of(TargetKind::kResult, 1)));
    project.SendTrickle(kStart + 1.2 * kDay, 1, 1, 30);
    const Events second = EventsOf(PlanOf(project.run.world, Of(TargetKind::kResult, 1)));
    project.SendTrickle(kStart + 1.3 * kDay, 1, 1, 35);
    for (const Events& one : turned ? std::vector{second, first} : std::vector{first, second})
      project.run.Play(one);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 5'000'000);
    EXPECT_EQ(project.run.world.outcome().refusals["ALREADY_DECIDED"], turned ? 1u : 0u);
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
    project.Do(Of(TargetKind::kResult, 1));
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
    ExpectLikeTheOracle(project.run.events);
  }
}

// The host and its owner's team change while the job runs: each loses its own payments.
TEST(JobReversal, EachOwnerAndTeamLosesItsPayments) {
  for (const std::string settlement : {"keep", "settle"}) {
    Project project;
    project.PayForSteps(kStart + 1, 2, 1, "assigned", settlement);
    project.Sent(kStart + kDay, 1, 1);
    project.SendTrickle(kStart + 1.1 * kDay, 1, 1, 10);
    project.Join(kStart + 1.2 * kDay, 1, 99);
    project.SendTrickle(kStart + 1.3 * kDay, 1, 1, 30);
    project.Send(kStart + 1.4 * kDay,
                 wire::HostMember{.host = HostId(1), .user = UserId(2), .whetstone = 2e9, .cpus = 4});
    project.SendTrickle(kStart + 1.5 * kDay, 1, 1, 60);
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> loses;
    const CorrectionPlan plan = PlanOf(project.run.world, Of(TargetKind::kResult, 1));
    for (const PlannedCorrection& one : plan.corrections)
      loses[{one.entry.user.value, one.entry.team.value}] = one.entry.credit_micro;
    EXPECT_EQ(loses, (std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t>{
                         {{1, 11}, 10'000'000}, {{1, 99}, 20'000'000}, {{2, 12}, 30'000'000}}));
    // Only the first owner's part for now.
    project.run.Play({EventsOf(plan)[0], EventsOf(plan)[1]});
    EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 11), 0);
    EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 99), 0);
    EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 12), 30'000'000);
    // Worth 40: under `settle` the last 20 are reversed, which were the second owner's.
    project.Worth(kStart + 2 * kDay, 1, 1, 40);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 2), settlement == "keep" ? 30'000'000 : 10'000'000);
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
    ExpectLikeTheOracle(project.run.events);
  }
}

// A user without a team has no team postings, and both amounts are equal.
TEST(JobReversal, PaymentsWithAndWithoutATeamAreSeparate) {
  for (const bool joins : {false, true}) {
    Project project;
    project.PayForSteps(kStart + 1, 2, 1, "assigned");
    project.Sent(kStart + kDay, 1, 1);
    if (joins) project.Join(kStart + 1.05 * kDay, 1, 0);
    project.SendTrickle(kStart + 1.1 * kDay, 1, 1, 20);
    project.Join(kStart + 1.2 * kDay, 1, joins ? 11 : 0);
    project.SendTrickle(kStart + 1.3 * kDay, 1, 1, 40);
    EXPECT_EQ(project.Do(Of(TargetKind::kResult, 1)).corrections.size(), 2u);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
    EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 11), 0);
    EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kResult, 1)).corrections.empty());
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
    project.SendTrickle(kStart + 1.4 * kDay, 1, 1, 45);
    EXPECT_EQ(project.Do(Of(TargetKind::kResult, 1)).corrections.size(), 1u);
    project.Worth(kStart + 2 * kDay, 1, 1, 50);
    project.Do(Of(TargetKind::kResult, 1));
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
    EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 11), 0);
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
    ExpectLikeTheOracle(project.run.events);
  }
}

// Under `keep` a trickle may arrive after the decision: the reversed part counts as paid.
TEST(JobReversal, ALateTrickleDoesNotRestoreThePayment) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "assigned");
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 1.1 * kDay, 1, 1, 20);
  project.Do(Of(TargetKind::kResult, 1));
  project.Worth(kStart + 2 * kDay, 1, 1, 5);
  project.SendTrickle(kStart + 1.2 * kDay, 1, 1, 20);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
  project.SendTrickle(kStart + 1.2 * kDay, 1, 1, 23);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 3'000'000);
  project.Do(Of(TargetKind::kResult, 1));
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
  EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
  ExpectLikeTheOracle(project.run.events);
}

TEST(JobReversal, OfAnUnknownUserWaitsWithItsPayments) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "assigned");
  project.Send(kStart + 2,
               wire::HostMember{.host = HostId(4), .user = UserId(4), .whetstone = 2e9, .cpus = 4});
  project.Sent(kStart + kDay, 1, 4);
  project.SendTrickle(kStart + 1.1 * kDay, 1, 4, 20);
  EXPECT_EQ(project.Do(Of(TargetKind::kResult, 1)).corrections.size(), 1u);
  project.Join(kStart + 1.2 * kDay, 4, 14);
  for (const auto kind : {OracleAccountKind::kUser, OracleAccountKind::kHost, OracleAccountKind::kTeam})
    EXPECT_EQ(project.Micro(kind, kind == OracleAccountKind::kTeam ? 14 : 4), 0);
  project.SendTrickle(kStart + 1.3 * kDay, 1, 4, 25);
  EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 14), 5'000'000);
  project.Do(Of(TargetKind::kResult, 1));
  EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 14), 0);
  EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
  ExpectLikeTheOracle(project.run.events);
}

TEST(JobReversal, OfADecidedJobOrAWrongBasisIsRefused) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "assigned");
  for (const std::uint64_t result : {1, 2}) {
    project.Sent(kStart + kDay, result, result);
    project.SendTrickle(kStart + 1.1 * kDay, result, result, 20);
  }
  const CorrectionPlan plan = PlanOf(project.run.world, Of(TargetKind::kResult, 1));
  ASSERT_EQ(plan.corrections.size(), 1u);
  const auto refusal_of = [&](auto change) {
    auto refusals = project.run.world.outcome().refusals;
    wire::JobReversal reversal = std::get<wire::JobReversal>(plan.corrections[0].event.body);
    change(reversal);
    project.Send(kStart + 1.2 * kDay, reversal);
    for (const auto& [reason, count] : project.run.world.outcome().refusals)
      if (count != refusals[reason]) return reason;
    return std::string("accepted");
  };
  EXPECT_EQ(refusal_of([](wire::JobReversal& r) { r.paid_micro += 1; }), "OUT_OF_RANGE");
  EXPECT_EQ(refusal_of([](wire::JobReversal& r) { r.entry->user = UserId(2); }), "OUT_OF_RANGE");
  EXPECT_EQ(refusal_of([](wire::JobReversal& r) { r.result = ResultId(4711); }), "UNKNOWN_RESULT");
  EXPECT_EQ(refusal_of([](wire::JobReversal& r) { r.entry->host = HostId(2); }), "OUT_OF_RANGE");
  EXPECT_EQ(refusal_of([](wire::JobReversal& r) { r.paid_micro = -1; }), "NEGATIVE");
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 20'000'000);
  project.Worth(kStart + 2 * kDay, 1, 1, 50);
  project.run.Play(EventsOf(plan));
  EXPECT_EQ(project.run.world.outcome().refusals["ALREADY_DECIDED"], 1u);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 50'000'000);
  // The refusal says: run again.
  project.Do(Of(TargetKind::kResult, 1));
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 0);
  // A team that never had the credit: only the audit finds that.
  wire::JobReversal wrong = std::get<wire::JobReversal>(
      PlanOf(project.run.world, Of(TargetKind::kResult, 2)).corrections[0].event.body);
  wrong.entry->team = TeamId(4711);
  project.Send(kStart + 3 * kDay, wrong);
  EXPECT_THAT(project.Wrong(2),
              ::testing::ElementsAre(::testing::HasSubstr(
                  "reverses up to 20000000 micro-credits of trickle payments, but the ledger had 0")));
  ExpectLikeTheOracle(project.run.events);
}

TEST(JobReversal, TheAveragesLoseTheRemainingPartOfEachTrickle) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "assigned");
  project.Worth(kStart + 1.5 * kDay, 9, 1, 10);  // so that no average starts with the reversed credit
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 2 * kDay, 1, 1, 20);
  project.SendTrickle(kStart + 9 * kDay, 1, 1, 60);
  const double paid = project.Recent(1);
  const CorrectionPlan plan = project.Do(Of(TargetKind::kResult, 1));
  ASSERT_EQ(plan.corrections.size(), 1u);
  const double expected = std::log(2.0) / 7 * (20 * std::exp2(-1) + 40);
  EXPECT_NEAR(plan.corrections[0].recent_off, expected, 1e-12 * expected);
  EXPECT_NEAR(project.Recent(1), paid - expected, 1e-9);
}

// ACCOUNTS does not know which results still run; the audit finds a hand-written correction of one.
TEST(Correction, OfARunningJobIsFound) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "benchmark");
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 1.5 * kDay, 1, 1, 20);
  project.Send(kStart + 1.6 * kDay, wire::Reversal{.result = ResultId(1),
                                                   .reason = "by hand",
                                                   .entry = wire::LedgerEntry{.user = UserId(1),
                                                                              .host = HostId(1),
                                                                              .team = TeamId(11),
                                                                              .workunit = WorkunitId(1),
                                                                              .app = AppId(1),
                                                                              .credit_micro = 20'000'000}});
  const CorrectionPlan plan = PlanOf(project.run.world, Of(TargetKind::kResult, 1));
  EXPECT_TRUE(plan.corrections.empty());
  ASSERT_EQ(plan.problems.size(), 1u);
  EXPECT_NE(plan.problems[0].second.find("an operator has corrected its payments"), std::string::npos);
  project.Done(kStart + 2 * kDay, 1, 1, 1);
  const auto wrong = ReaderOf(project.run.world, Of(TargetKind::kResult, 1)).WrongCorrections();
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_NE(wrong[0].find("was made while the job was running"), std::string::npos);
}

TEST(Reversal, OfAHostIncludesHostsMergedIntoIt) {
  Project project;
  for (const std::uint64_t host : {4, 5})
    project.Send(kStart,
                 wire::HostMember{.host = HostId(host), .user = UserId(1), .whetstone = 2e9, .cpus = 4});
  for (std::uint64_t host = 1; host <= 5; ++host) project.Done(kStart + 2 * kDay, host, host, host);
  const auto merge = [&](std::uint64_t host, std::uint64_t into) {
    project.Send(kStart + 3 * kDay, wire::HostMerge{.host = HostId(host), .into = HostId(into)});
  };
  merge(5, 4);
  merge(4, 1);
  merge(1, 5);  // a cycle: refused
  merge(2, 1);  // belongs to another user: waits
  EXPECT_EQ(PlanOf(project.run.world, Of(TargetKind::kHost, 5)).corrections.size(), 1u);
  const CorrectionPlan plan = project.Do(Of(TargetKind::kHost, 1));
  EXPECT_EQ(plan.joined, (std::vector<HostId>{HostId(4), HostId(5)}));
  std::set<std::uint64_t> under;
  for (const PlannedCorrection& one : plan.corrections) under.insert(one.entry.host.value);
  EXPECT_EQ(under, (std::set<std::uint64_t>{1, 4, 5}));
  EXPECT_EQ(project.Account(OracleAccountKind::kHost, 1).micro, 0);
  EXPECT_NE(project.Account(OracleAccountKind::kHost, 2).micro, 0);
  ExpectLikeTheOracle(project.run.events);
}

// Host 4 belonged to user 2 when it was merged into host 5, which then moved to user 1. Host 1, to be merged into
// host 4, is merged into host 5.
TEST(Reversal, OfAHostIncludesHostsMergedThroughAnotherOwner) {
  Project project;
  const auto set_owner = [&](double day, std::uint64_t host, std::uint64_t user) {
    project.Send(kStart + day * kDay,
                 wire::HostMember{.host = HostId(host), .user = UserId(user), .whetstone = 2e9, .cpus = 4});
  };
  set_owner(0, 4, 2);
  set_owner(0, 5, 2);
  for (const std::uint64_t host : {1, 4, 5}) project.Done(kStart + 2 * kDay, host, host, host);
  project.Send(kStart + 3 * kDay, wire::HostMerge{.host = HostId(4), .into = HostId(5)});
  project.Send(kStart + 3 * kDay, wire::Tick{.time = kStart + 3 * kDay});
  set_owner(4, 5, 1);
  project.Send(kStart + 5 * kDay, wire::HostMerge{.host = HostId(1), .into = HostId(4)});
  EXPECT_EQ(PlanOf(project.run.world, Of(TargetKind::kHost, 4)).joined, std::vector<HostId>{});
  const CorrectionPlan plan = project.Do(Of(TargetKind::kHost, 5));
  EXPECT_EQ(plan.joined, (std::vector<HostId>{HostId(1), HostId(4)}));
  EXPECT_EQ(plan.corrections.size(), 3u);
  EXPECT_EQ(project.Account(OracleAccountKind::kHost, 5).micro, 0);
  ExpectLikeTheOracle(project.run.events);
}

// Host 2 was to be merged into host 1, which moved to the same owner after the merge had expired.
TEST(Reversal, OfAHostExcludesHostsWhoseMergeExpired) {
  Project project;
  for (const std::uint64_t host : {1, 2}) project.Done(kStart + 2 * kDay, host, host, host);
  project.Send(kStart + 3 * kDay, wire::HostMerge{.host = HostId(2), .into = HostId(1)});
  project.Send(kStart + 34 * kDay, wire::Tick{.time = kStart + 34 * kDay});
  project.Send(kStart + 34 * kDay,
               wire::HostMember{.host = HostId(1), .user = UserId(2), .whetstone = 2e9, .cpus = 4});
  const CorrectionPlan plan = project.Do(Of(TargetKind::kHost, 1));
  EXPECT_EQ(plan.joined, std::vector<HostId>{});
  EXPECT_EQ(plan.corrections.size(), 1u);
  EXPECT_NE(project.Account(OracleAccountKind::kHost, 2).micro, 0);
  const Played run = ExpectLikeTheOracle(project.run.events);
  EXPECT_EQ(run.outcome.refusals, (std::map<std::string, std::uint64_t>{{"UNKNOWN_HOST", 1}}));
}

}  // namespace
}  // namespace cobblestone::testing
