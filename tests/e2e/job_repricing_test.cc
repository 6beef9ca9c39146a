// Another version of the policy is applied to running jobs: in the end all accounts equal those of a run with that
// version from the start.
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
using corrections::PlannedCorrection;
using corrections::TargetKind;
using traffic::GenerateOptions;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::set<std::uint64_t> HostsOf(const std::map<OfOwner, long long>& earned) {
  std::set<std::uint64_t> hosts;
  for (const auto& [owner, sum] : earned) hosts.insert(std::get<1>(owner));
  return hosts;
}

GenerateOptions Restless(std::uint64_t seed) {
  GenerateOptions options = Paying(seed);
  options.bad_trickles = 0.1;
  options.trickles = 12;
  options.team_changes = 1;
  return options;
}

class RepricingSeeds : public ::testing::TestWithParam<std::tuple<std::uint64_t, double>> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RepricingSeeds,
                         ::testing::Combine(::testing::ValuesIn(Seeds({1, 2, 3, 17})),
                                            ::testing::Values(2.0, 0.5)));

struct Counts {
  std::uint64_t running = 0;  // jobs that were repriced while they ran
  std::uint64_t shares = 0;   // those with several owners or teams
};

// Reprices all hosts' results by `version`; a second plan must be empty.
Counts RepriceAll(Recorder& run, std::uint32_t version, std::set<std::uint64_t>* left) {
  Counts counts;
  for (const std::uint64_t host : HostsOf(EarnedByOwner(run.world))) {
    const CorrectionPlan plan = PlanOf(run.world, Of(TargetKind::kHost, host, version));
    for (const auto& [result, why] : plan.problems) left->insert(result.value);
    const Events events = EventsOf(plan);
    run.Play(events);
    run.Play(events);
    std::map<std::uint64_t, std::uint64_t> shares;
    for (const PlannedCorrection& one : plan.corrections) shares[one.result.value] += one.running() ? 1 : 0;
    for (const auto& [result, number] : shares) {
      counts.running += number > 0 ? 1 : 0;
      counts.shares += number > 1 ? 1 : 0;
    }
    // Except for jobs that CLAIMS has decided and GRANTS has not, because their workunit still waits for other
    // results.
    for (const PlannedCorrection& one : PlanOf(run.world, Of(TargetKind::kHost, host, version)).corrections)
      EXPECT_TRUE(one.running()) << one.result.value;
  }
  return counts;
}

// The other run shares only the policies. Apps use all three settlements.
TEST_P(RepricingSeeds, AmidTrafficEqualsThatPriceFromTheStart) {
  const auto [seed, times] = GetParam();
  const Events events = Generate(Restless(seed));
  Events others = events;
  Events versions;
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

  Recorder run;
  std::set<std::uint64_t> left;
  Counts counts;
  for (std::size_t third = 0; third < 3; ++third) {
    run.Play(Events(events.begin() + static_cast<std::ptrdiff_t>(events.size() * third / 3),
                    events.begin() + static_cast<std::ptrdiff_t>(events.size() * (third + 1) / 3)));
    if (third == 0) run.Play(versions);
    // Jobs that were first paid or were decided since the last repricing are found by the next one.
    const Counts more = RepriceAll(run, 2, &left);
    counts.running += more.running;
    counts.shares += more.shares;
  }
  EXPECT_GT(counts.running, 30u);
  EXPECT_GT(counts.shares, UsesOwnSeeds() ? 1u : 0u);
  const auto expected = EarnedByOwner(other.world);
  std::uint64_t compared = 0;
  const auto earned = EarnedByOwner(run.world);
  for (const auto& [owner, sum] : earned) {
    if (left.contains(std::get<0>(owner))) continue;
    ++compared;
    const auto same = expected.find(owner);
    EXPECT_EQ(sum, same == expected.end() ? 0 : same->second)
        << "result " << std::get<0>(owner) << " host " << std::get<1>(owner) << " user "
        << std::get<2>(owner);
  }
  EXPECT_GT(compared, 400u);
  for (const std::uint64_t host : HostsOf(earned))
    EXPECT_EQ(ReaderOf(run.world, Of(TargetKind::kHost, host, 2)).WrongCorrections(),
              std::vector<std::string>());
  ExpectLikeTheOracle(run.events);
}

// Prices change back and forth, with reversals in between.
TEST_P(RepricingSeeds, WithReversalsInBetweenEqualTheOracle) {
  const auto [seed, times] = GetParam();
  const Events events = Generate(Restless(seed));
  Events versions;
  for (const std::string& bytes : events) {
    auto event = wire::ParseEvent(bytes);
    auto* app = event.ok() ? std::get_if<wire::AppChange>(&event->body) : nullptr;
    if (app == nullptr) continue;
    for (std::uint32_t version = 2; version <= 3; ++version) {
      wire::AppChange change = Times(*app, version == 2 ? times : 1 / times / times);
      change.policy_version = version;
      versions.push_back(wire::EncodeEvent({.head = {.id = event->head.id + version * 1'000'000'000'000ULL,
                                                     .project = event->head.project,
                                                     .time = event->head.time},
                                            .body = std::move(change)}));
    }
  }
  Recorder run;
  Events stale;
  std::uint64_t running = 0;
  for (std::size_t part = 0; part < 6; ++part) {
    run.Play(Events(events.begin() + static_cast<std::ptrdiff_t>(events.size() * part / 6),
                    events.begin() + static_cast<std::ptrdiff_t>(events.size() * (part + 1) / 6)));
    if (part == 0) run.Play(versions);
    std::size_t number = 0;
    for (const std::uint64_t host : HostsOf(EarnedByOwner(run.world))) {
      // 0: a reversal.
      const auto version = static_cast<std::uint32_t>((part + number++ + seed) % 5);
      if (version == 4) continue;
      const CorrectionPlan plan = PlanOf(run.world, Of(TargetKind::kHost, host, version));
      for (const PlannedCorrection& one : plan.corrections)
        running += std::holds_alternative<wire::JobRepricing>(one.event.body) ? 1 : 0;
      const Events now = EventsOf(plan);
      // Of the corrections planned from the same state, one half is sent before the other.
      if (number % 3 == 0)
        stale.insert(stale.end(), now.begin(), now.end());
      else
        run.Play(now);
    }
    if (part % 2 == 1) run.Play(std::exchange(stale, {}));
  }
  EXPECT_GT(running, 50u);
  const Played played = ExpectLikeTheOracle(run.events);
  EXPECT_GT(played.outcome.refusals.at("ALREADY_DECIDED"), 10u);
  for (const std::uint64_t host : HostsOf(EarnedByOwner(run.world)))
    EXPECT_EQ(ReaderOf(run.world, Of(TargetKind::kHost, host, 2)).WrongCorrections(),
              std::vector<std::string>());
}

// ---- Small projects --------------------------------------------------------------------------------------------

// 20 steps, then the price changes, then 10 more. In the end the job is worth all its steps, fewer, or nothing.
TEST(JobRepricing, PastAndLaterPaymentsUseTheVersion) {
  for (const std::string settlement : {"keep", "settle", "cap"})
    for (const double worth : {100.0, 25.0, -1.0})
      for (const double price : {2.0, 0.5, 1.0 / 3}) {
        const std::string name = settlement + " " + std::to_string(worth) + " " + std::to_string(price);
        Project project;
        Project other;
        other.PayForSteps(kStart + 1, 2, price, "assigned", settlement);
        project.PayForSteps(kStart + 1, 2, 1, "assigned", settlement);
        for (Project* one : {&project, &other}) {
          one->Sent(kStart + kDay, 1, 1);
          one->SendTrickle(kStart + 1.2 * kDay, 1, 1, 20);
        }
        project.PayForSteps(kStart + 1.3 * kDay, 3, price, "assigned", settlement);
        const CorrectionPlan plan = project.Do(Of(TargetKind::kHost, 1, 3));
        ASSERT_EQ(plan.corrections.size(), 1u) << name;
        EXPECT_TRUE(plan.corrections[0].running()) << name;
        EXPECT_EQ(plan.corrections[0].entry.credit_micro, 20'000'000) << name;
        EXPECT_EQ(plan.corrections[0].after, std::llround(20e6 * price)) << name;
        const auto expect_same = [&](const std::string& when) {
          for (const auto kind :
               {OracleAccountKind::kUser, OracleAccountKind::kHost, OracleAccountKind::kTeam}) {
            const std::uint64_t id = kind == OracleAccountKind::kTeam ? 11 : 1;
            EXPECT_EQ(project.Micro(kind, id), other.Micro(kind, id)) << name << when;
            EXPECT_EQ(project.Account(kind, id).provisional, other.Account(kind, id).provisional)
                << name << when;
          }
        };
        expect_same(" then");
        project.run.Play(EventsOf(plan));
        EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kHost, 1, 3)).corrections.empty()) << name;
        for (Project* one : {&project, &other}) {
          one->SendTrickle(kStart + 1.4 * kDay, 1, 1, 30);
          one->SendTrickle(kStart + 1.4 * kDay, 1, 1, 25);
        }
        expect_same(" later");
        for (Project* one : {&project, &other})
          if (worth < 0)
            one->Failed(kStart + 2 * kDay, 1, 1);
          else
            one->Worth(kStart + 2 * kDay, 1, 1, worth);
        expect_same(" in the end");
        EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).provisional, 0) << name;
        EXPECT_EQ(project.Wrong(1), std::vector<std::string>()) << name;
        // Repricing by the version at its dispatch gives the original amounts.
        Project first;
        first.PayForSteps(kStart + 1, 2, 1, "assigned", settlement);
        first.Sent(kStart + kDay, 1, 1);
        first.SendTrickle(kStart + 1.4 * kDay, 1, 1, 30);
        if (worth < 0)
          first.Failed(kStart + 2 * kDay, 1, 1);
        else
          first.Worth(kStart + 2 * kDay, 1, 1, worth);
        project.Do(Of(TargetKind::kHost, 1, 2));
        EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), first.Micro(OracleAccountKind::kUser, 1))
            << name;
        project.Do(Of(TargetKind::kHost, 1, 3));
        expect_same(" and back");
        EXPECT_EQ(project.Wrong(1), std::vector<std::string>()) << name;
        ExpectLikeTheOracle(project.run.events);
      }
}

// Reversed credit is neither restored nor reversed again: it gets the new price, too.
TEST(JobRepricing, ReversedPaymentsAreNotRestored) {
  struct Case {
    std::string settlement;
    double worth;  // below 0: the job failed
    std::int64_t has;
  };
  // 20 of 30 steps were reversed; then a step is worth 2; then 10 more steps follow.
  for (const Case& one : std::vector<Case>{{"keep", 100, 60'000'000},
                                           {"keep", 25, 40'000'000},
                                           {"keep", -1, 40'000'000},
                                           {"settle", 100, 60'000'000},
                                           {"settle", 70, 30'000'000},
                                           {"settle", 25, 0},
                                           {"settle", -1, 0},
                                           {"cap", 70, 30'000'000}}) {
    const std::string name = one.settlement + " " + std::to_string(one.worth);
    Project project;
    project.PayForSteps(kStart + 1, 2, 1, "assigned", one.settlement);
    project.Sent(kStart + kDay, 1, 1);
    project.SendTrickle(kStart + 1.1 * kDay, 1, 1, 20);
    project.Do(Of(TargetKind::kResult, 1));
    project.SendTrickle(kStart + 1.2 * kDay, 1, 1, 30);
    project.PayForSteps(kStart + 1.3 * kDay, 3, 2, "assigned", one.settlement);
    const CorrectionPlan plan = project.Do(Of(TargetKind::kResult, 1, 3));
    ASSERT_EQ(plan.corrections.size(), 1u) << name;
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 20'000'000) << name;
    project.SendTrickle(kStart + 1.4 * kDay, 1, 1, 40);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 40'000'000) << name;
    EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).provisional, 40'000'000) << name;
    if (one.worth < 0)
      project.Failed(kStart + 2 * kDay, 1, 1);
    else
      project.Worth(kStart + 2 * kDay, 1, 1, one.worth);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), one.has) << name;
    EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 11), one.has) << name;
    // A decided job can still be repriced: the 20 steps stay reversed.
    project.Do(Of(TargetKind::kResult, 1, 2));
    const double steps_left = 20;
    const double by_two = one.worth < 0              ? (one.settlement == "keep" ? steps_left : 0)
                          : one.worth >= 40          ? one.worth - 20
                          : one.settlement == "keep" ? steps_left
                                                     : std::max(one.worth - 20, 0.0);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), std::llround(by_two * 1e6)) << name;
    project.Do(Of(TargetKind::kResult, 1, 3));
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), one.has) << name;
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>()) << name;
    ExpectLikeTheOracle(project.run.events);
  }
}

TEST(JobRepricing, EachOwnerAndTeamGetsTheWorthOfItsSteps) {
  const auto play = [](Project& project, double price, bool reprice) {
    project.PayForSteps(kStart + 1, 2, reprice ? 1 : price, "assigned", "settle");
    project.Sent(kStart + kDay, 1, 1);
    project.SendTrickle(kStart + 1.1 * kDay, 1, 1, 10);
    project.Join(kStart + 1.2 * kDay, 1, 99);
    project.SendTrickle(kStart + 1.3 * kDay, 1, 1, 30);
    project.Send(kStart + 1.4 * kDay,
                 wire::HostMember{.host = HostId(1), .user = UserId(2), .whetstone = 2e9, .cpus = 4});
    project.SendTrickle(kStart + 1.5 * kDay, 1, 1, 60);
    if (reprice) {
      project.PayForSteps(kStart + 1.55 * kDay, 3, price, "assigned", "settle");
      EXPECT_EQ(project.Do(Of(TargetKind::kResult, 1, 3)).corrections.size(), 3u);
    }
    project.SendTrickle(kStart + 1.6 * kDay, 1, 1, 61);
    project.Worth(kStart + 2 * kDay, 1, 1, 15);
  };
  for (const double price : {2.0, 1.0 / 7}) {
    Project project;
    Project other;
    play(project, price, true);
    play(other, price, false);
    for (const std::uint64_t team : {11, 12, 99})
      EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, team), other.Micro(OracleAccountKind::kTeam, team));
    for (const std::uint64_t user : {1, 2})
      EXPECT_EQ(project.Micro(OracleAccountKind::kUser, user), other.Micro(OracleAccountKind::kUser, user));
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
    ExpectLikeTheOracle(project.run.events);
  }
}

// A third version starts from the price at the dispatch, and the second may be applied again.
TEST(JobRepricing, PricesMayChangeBackAndForth) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "assigned");
  project.PayForSteps(kStart + 2, 3, 1.0 / 3, "assigned");
  project.PayForSteps(kStart + 3, 4, 0, "assigned");
  project.PayForSteps(kStart + 4, 5, 1, "assigned");
  project.Sent(kStart + kDay, 1, 1);  // under version 5
  std::uint32_t steps = 0;
  double day = 1.1;
  for (const std::uint32_t version : {3, 4, 2, 3, 5, 4, 3}) {
    project.SendTrickle(kStart + (day += 0.01) * kDay, 1, 1, steps += 10);
    const CorrectionPlan plan = project.Do(Of(TargetKind::kResult, 1, version));
    ASSERT_EQ(plan.corrections.size(), 1u) << version;
    const double price = version == 3 ? 1.0 / 3 : version == 4 ? 0 : 1;
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), std::llround(steps * price * 1e6)) << version;
    EXPECT_EQ(project.Account(OracleAccountKind::kUser, 1).provisional, std::llround(steps * price * 1e6));
    EXPECT_TRUE(PlanOf(project.run.world, Of(TargetKind::kResult, 1, version)).corrections.empty());
  }
  EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
  ExpectLikeTheOracle(project.run.events);
}

TEST(JobRepricing, PaymentsAfterThePlanAreNeitherLostNorPaidTwice) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "assigned");
  project.PayForSteps(kStart + 2, 3, 2, "assigned");
  project.PayForSteps(kStart + 3, 4, 1, "assigned");
  const auto refused = [&](const char* reason, const Events& events) {
    const auto before = project.run.world.outcome().refusals[reason];
    const auto had = project.Micro(OracleAccountKind::kUser, 1);
    project.run.Play(events);
    EXPECT_EQ(project.run.world.outcome().refusals[reason], before + 1);
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), had);
  };
  const auto plan_events = [&](std::uint32_t version) {
    return EventsOf(PlanOf(project.run.world, Of(TargetKind::kResult, 1, version)));
  };
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 1.1 * kDay, 1, 1, 20);
  const Events early = plan_events(3);
  project.SendTrickle(kStart + 1.2 * kDay, 1, 1, 25);
  refused("ALREADY_DECIDED", early);
  const Events before_reversal = plan_events(3);
  project.Do(Of(TargetKind::kResult, 1));
  refused("ALREADY_DECIDED", before_reversal);
  const Events take = [&] {
    project.SendTrickle(kStart + 1.3 * kDay, 1, 1, 30);
    return plan_events(0);
  }();
  project.Do(Of(TargetKind::kResult, 1, 3));
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 10'000'000);
  // It contains a sum at the old price.
  refused("ALREADY_DECIDED", take);
  const Events late = plan_events(2);
  project.Worth(kStart + 2 * kDay, 1, 1, 70);
  refused("ALREADY_DECIDED", late);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 20'000'000);
  EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
  ExpectLikeTheOracle(project.run.events);
}

TEST(JobRepricing, ARepricingThatDisagreesWithTheJobIsRefused) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 2, "assigned");
  project.PayForSteps(kStart + 2, 3, 1, "assigned", "keep", "another");
  project.PayForSteps(kStart + 3, 4, 1, "assigned");
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 1.1 * kDay, 1, 1, 20);
  const CorrectionPlan plan = PlanOf(project.run.world, Of(TargetKind::kResult, 1, 2));
  ASSERT_EQ(plan.corrections.size(), 1u);
  double time = kStart + 1.2 * kDay;
  const auto refusal_of = [&](auto change) {
    auto refusals = project.run.world.outcome().refusals;
    wire::JobRepricing repricing = std::get<wire::JobRepricing>(plan.corrections[0].event.body);
    change(repricing);
    project.Send(time += 1, repricing);
    for (const auto& [reason, count] : project.run.world.outcome().refusals)
      if (count != refusals[reason]) return reason;
    return std::string("accepted");
  };
  using R = wire::JobRepricing;
  EXPECT_EQ(refusal_of([](R& r) { r.shares[0].repriced_paid_micro += 1; }), "OUT_OF_RANGE");
  EXPECT_EQ(refusal_of([](R& r) { r.shares[0].paid_micro += 1; }), "ALREADY_DECIDED");
  EXPECT_EQ(refusal_of([](R& r) { r.shares[0].taken_micro = 1; }), "ALREADY_DECIDED");
  EXPECT_EQ(refusal_of([](R& r) { r.shares[0].entry->user = UserId(2); }), "ALREADY_DECIDED");
  EXPECT_EQ(refusal_of([](R& r) { r.shares[0].entry->host = HostId(2); }), "OUT_OF_RANGE");
  EXPECT_EQ(refusal_of([](R& r) { r.shares[0].repriced_taken_micro = 99'000'000; }), "OUT_OF_RANGE");
  EXPECT_EQ(refusal_of([](R& r) { r.shares.push_back(r.shares[0]); }), "OUT_OF_RANGE");
  EXPECT_EQ(refusal_of([](R& r) {
              r.shares.push_back(r.shares[0]);
              r.shares[1].entry->user = UserId(2);
              r.shares[1].paid_micro = r.shares[1].repriced_paid_micro = 0;
            }),
            "OUT_OF_RANGE");
  EXPECT_EQ(refusal_of([](R& r) { r.policy_version = 7; }), "OUT_OF_RANGE");
  EXPECT_EQ(refusal_of([](R& r) { r.policy_version = 3; }), "NOT_SUPPORTED");
  EXPECT_EQ(refusal_of([](R& r) { r.result = ResultId(4711); }), "UNKNOWN_RESULT");
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 20'000'000);
  // No stage knows that the team never had the credit: only the audit finds that.
  EXPECT_EQ(refusal_of([](R& r) { r.shares[0].entry->team = TeamId(4711); }), "accepted");
  EXPECT_THAT(project.Wrong(1),
              ElementsAre(HasSubstr("prices a job without payments to this owner and team")));
  ExpectLikeTheOracle(project.run.events);
}

TEST(JobRepricing, AVersionWithOtherMeasuresLeavesTheJobAndIsReported) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "assigned");
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 1.1 * kDay, 1, 1, 20);
  std::uint32_t version = 2;
  const auto why = [&](std::vector<wire::TrickleRuleChange> rules) {
    project.Send(kStart + 1.2 * kDay, wire::AppChange{.app = AppId(1),
                                                      .policy = "assigned",
                                                      .policy_version = ++version,
                                                      .trickles = std::move(rules)});
    const CorrectionPlan plan = PlanOf(project.run.world, Of(TargetKind::kResult, 1, version));
    EXPECT_TRUE(plan.corrections.empty());
    return plan.problems.empty() ? std::string() : plan.problems[0].second;
  };
  const wire::TrickleRuleChange same{.variety = "model",
                                     .kind = "steps",
                                     .measure = "steps",
                                     .phases = {{.last_step = 1000, .credit_per_step = 2}}};
  wire::TrickleRuleChange other = same;
  other.variety = "other";
  wire::TrickleRuleChange longer = same;
  longer.phases[0].last_step = 2000;
  EXPECT_THAT(why({other}),
              HasSubstr("the job is still running: that version does not pay trickles of variety 'model'"));
  EXPECT_THAT(why({same, other}), HasSubstr("pays for trickles of variety 'other'"));
  EXPECT_THAT(why({longer}), HasSubstr("ends the model of variety 'model' at another step"));
}

// 20 steps of a user who is still unknown.
TEST(JobRepricing, OfAnUnknownUserWaitsWithItsPayments) {
  for (const double price : {2.0, 1.0, 0.5}) {
    Project project;
    project.PayForSteps(kStart + 1, 2, 1, "assigned");
    project.Send(kStart + 2,
                 wire::HostMember{.host = HostId(4), .user = UserId(4), .whetstone = 2e9, .cpus = 4});
    project.Sent(kStart + kDay, 1, 4);
    project.SendTrickle(kStart + 1.1 * kDay, 1, 4, 20);
    project.PayForSteps(kStart + 1.15 * kDay, 3, price, "assigned");
    EXPECT_EQ(project.Do(Of(TargetKind::kResult, 1, 3)).corrections.size(), 1u);
    project.Join(kStart + 1.2 * kDay, 4, 14);
    project.SendTrickle(kStart + 1.3 * kDay, 1, 4, 25);
    for (const auto kind : {OracleAccountKind::kUser, OracleAccountKind::kHost, OracleAccountKind::kTeam})
      EXPECT_EQ(project.Micro(kind, kind == OracleAccountKind::kTeam ? 14 : 4), std::llround(25e6 * price));
    EXPECT_EQ(project.Account(OracleAccountKind::kUser, 4).provisional, std::llround(25e6 * price));
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>()) << price;
    project.Do(Of(TargetKind::kResult, 1));
    EXPECT_EQ(project.Micro(OracleAccountKind::kTeam, 14), 0);
    EXPECT_EQ(project.Wrong(1), std::vector<std::string>()) << price;
    ExpectLikeTheOracle(project.run.events);
  }
}

// The user stays unknown: only its host keeps the payments, at the price of the version.
TEST(JobRepricing, OfAnUnknownUserExpiresWithItsPayments) {
  for (const double price : {2.0, 0.5}) {
    Project project;
    project.PayForSteps(kStart + 1, 2, 1, "assigned");
    project.Send(kStart + 2,
                 wire::HostMember{.host = HostId(4), .user = UserId(4), .whetstone = 2e9, .cpus = 4});
    project.Sent(kStart + kDay, 1, 4);
    project.SendTrickle(kStart + 1.1 * kDay, 1, 4, 20);
    project.PayForSteps(kStart + 1.15 * kDay, 3, price, "assigned");
    project.Do(Of(TargetKind::kResult, 1, 3));
    project.Send(kStart + 33 * kDay, wire::Tick{.time = kStart + 33 * kDay});
    project.Join(kStart + 33 * kDay, 4, 14);
    EXPECT_EQ(project.Micro(OracleAccountKind::kHost, 4), std::llround(20e6 * price));
    EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 4), 0);
    const CorrectionPlan plan = PlanOf(project.run.world, Of(TargetKind::kResult, 1, 2));
    ASSERT_EQ(plan.problems.size(), 1u);
    EXPECT_THAT(plan.problems[0].second, HasSubstr("the user of the result is unknown"));
    EXPECT_EQ(project.Account(OracleAccountKind::kUser, 4).provisional, 0);
    EXPECT_EQ(project.Account(OracleAccountKind::kHost, 4).provisional, 0);
    ExpectLikeTheOracle(project.run.events);
  }
}

// A late trickle of a job that was repriced while it ran, and a repricing after it.
TEST(JobRepricing, LateTricklesHaveTheNewPrice) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "assigned");
  project.PayForSteps(kStart + 2, 3, 2, "assigned");
  project.PayForSteps(kStart + 3, 4, 1, "assigned");
  project.Sent(kStart + kDay, 1, 1);  // under version 4
  project.SendTrickle(kStart + 1.1 * kDay, 1, 1, 20);
  project.Do(Of(TargetKind::kResult, 1, 3));
  project.Worth(kStart + 2 * kDay, 1, 1, 45);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 45'000'000);
  project.SendTrickle(kStart + 1.2 * kDay, 1, 1, 30);
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 60'000'000);
  project.Do(Of(TargetKind::kResult, 1, 2));
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 45'000'000);
  project.Do(Of(TargetKind::kResult, 1, 3));
  EXPECT_EQ(project.Micro(OracleAccountKind::kUser, 1), 60'000'000);
  EXPECT_EQ(project.Wrong(1), std::vector<std::string>());
  ExpectLikeTheOracle(project.run.events);
}

TEST(JobRepricing, TheAveragesGainTheNewPriceOfTheRemainingTrickles) {
  Project project;
  project.PayForSteps(kStart + 1, 2, 1, "assigned");
  project.PayForSteps(kStart + 2, 3, 3, "assigned");
  project.PayForSteps(kStart + 3, 4, 1, "assigned");
  project.Worth(kStart + 1.5 * kDay, 9, 1, 10);  // so that no average starts with the repriced credit
  project.Sent(kStart + kDay, 1, 1);
  project.SendTrickle(kStart + 2 * kDay, 1, 1, 20);
  project.SendTrickle(kStart + 9 * kDay, 1, 1, 60);
  const double paid = project.Recent(1);
  const double left = std::log(2.0) / 7 * (20 * std::exp2(-1) + 40);
  const CorrectionPlan plan = project.Do(Of(TargetKind::kResult, 1, 3));
  ASSERT_EQ(plan.corrections.size(), 1u);
  EXPECT_NEAR(plan.corrections[0].recent_off, -2 * left, 1e-12 * left);
  EXPECT_NEAR(project.Recent(1), paid + 2 * left, 1e-9);
  project.Do(Of(TargetKind::kResult, 1));
  EXPECT_NEAR(project.Recent(1), paid - left, 1e-9);
}

}  // namespace
}  // namespace cobblestone::testing
