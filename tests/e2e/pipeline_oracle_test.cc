// The whole pipeline compared with an independent computation over the same events: every grant, every total, every
// refusal; for any number of partitions, any repetition, and (where the rules allow) any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/traffic/generate.h"
#include "tests/support/free_world.h"
#include "tests/support/job_events.h"
#include "tests/support/like_the_oracle.h"
#include "tests/support/lockstep_world.h"
#include "tests/support/oracle.h"
#include "tests/support/seeds.h"

namespace cobblestone::testing {

using pipeline::PipelineSlot;
using traffic::GenerateOptions;

namespace {

// Two streams interleaved, each in its own order.
Events Interleaved(const Events& a, const Events& b) {
  Events both;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size()) both.push_back(a[i]);
    if (i < b.size()) both.push_back(b[i]);
  }
  return both;
}

class PipelineSeeds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(PipelineSeeds, PoliciesWithoutHistoryEqualTheOracleToTheMicroCredit) {
  const Played run = ExpectLikeTheOracle(Generate(Eventful(GetParam())));
  // An empty traffic would prove nothing.
  EXPECT_GT(run.outcome.grants.size(), 1300u);
  EXPECT_GT(Sum(run.outcome.refusals), 60u);
  EXPECT_GE(run.outcome.refusals.size(), 7u);
}

TEST_P(PipelineSeeds, TwoProjectsWithEqualIdsNeverAffectEachOther) {
  GenerateOptions options = Eventful(GetParam());
  options.results = 700;
  const Events first = Generate(options);
  options.project = 2;
  options.policies = {"none", "benchmark", "assigned", "reported-flops",
                      "runtime"};  // other amounts, same ids
  const Events second = Generate(options);
  const Played both = ExpectLikeTheOracle(Interleaved(first, second));

  // Each project alone gives the same result.
  Outcome apart = RunPipeline(first, 3).outcome;
  const Outcome other = RunPipeline(second, 3).outcome;
  apart.grants.insert(other.grants.begin(), other.grants.end());
  apart.accounts.insert(other.accounts.begin(), other.accounts.end());
  EXPECT_EQ(GrantDifferences(apart, both.outcome), "");
}

TEST_P(PipelineSeeds, CreditNewGrantsFollowFromTheirRecords) {
  GenerateOptions options = Eventful(GetParam());
  options.policies = {"creditnew"};
  options.apps = 2;
  options.versions = 4;
  options.results = 6000;  // enough for versions above the threshold for a scale
  options.hosts = 40;
  const Played run = ExpectLikeTheOracle(Generate(options));
  std::size_t checked = 0;
  EXPECT_EQ(CheckCreditNewLedger(run.ledger, &checked), "");
  EXPECT_EQ(checked, run.outcome.grants.size());
  EXPECT_GT(checked, 5500u);
}

TEST_P(PipelineSeeds, PoliciesWithHistoryDoNotDependOnPartitions) {
  GenerateOptions options = Eventful(GetParam());
  options.policies = {"boinc", "creditnew-v2", "creditnew", "robust"};
  options.apps = 4;
  options.versions = 4;
  options.results = 3000;
  options.hosts = 40;
  ExpectLikeTheOracle(Generate(options));
}

TEST_P(PipelineSeeds, ResultsWithoutAPartnerExpireAndDelayNothing) {
  GenerateOptions options = Eventful(GetParam());
  options.lost = 0.05;
  options.dispatches = true;
  options.delay_bound = 2 * 86400.0;
  options.result_window = 10 * 86400.0;
  options.span = 40 * 86400.0;
  options.tick_period = 21600;
  const Played run = ExpectLikeTheOracle(Generate(options));
  const auto never_came = run.outcome.refusals.find("UNKNOWN_RESULT");
  ASSERT_NE(never_came, run.outcome.refusals.end());
  EXPECT_GT(never_came->second, 50u);
}

TEST_P(PipelineSeeds, RepeatingEverythingChangesNothing) {
  GenerateOptions options = Eventful(GetParam());
  options.conflicts = 0;
  options.bad_lines = 0;
  const Events events = Generate(options);
  // Each event twice: the repeat at once or after several hundred other events.
  Events repeated;
  std::mt19937_64 random(GetParam());
  std::vector<std::pair<std::size_t, std::size_t>> order;  // position, event
  for (std::size_t i = 0; i < events.size(); ++i) {
    order.emplace_back(i, i);
    order.emplace_back(i + random() % 500, i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [place, event] : order) repeated.push_back(events[event]);
  const Played once = RunPipeline(events, 3);
  const Played twice = ExpectLikeTheOracle(repeated);
  EXPECT_EQ(GrantDifferences(once.outcome, twice.outcome), "");
}

// A repeat leaves nothing in any state: all rows of all tables equal those of a run without repeats. Repeats of
// barriers are left out: an additional barrier separates the postings that are sorted, so the rules give other recent
// averages.
TEST_P(PipelineSeeds, ARepeatLeavesNoTraceInAnyState) {
  GenerateOptions options = Eventful(GetParam());
  options.results = 400;
  options.conflicts = 0;
  options.bad_lines = 0;
  const Events events = Generate(options);
  const auto play = [&events](bool repeat) {
    LockstepWorld world(1);
    for (std::size_t i = 0; i < events.size(); ++i) {
      world.AddAt(2 * i, events[i]);
      if (!repeat || i < 100) continue;
      const auto topic = wire::RouteEvent(events[i - 100], 1).topic;
      if (topic == wire::kCompletions || topic == wire::kValidations || topic == wire::kHosts) {
        world.AddAt(2 * i + 1, events[i - 100]);
      }
    }
    world.Finish();
    return world.StateRows();
  };
  EXPECT_EQ(StateDifference(play(false), play(true)), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, PipelineSeeds, ::testing::ValuesIn(Seeds({1, 2, 3})));

TEST(Pipeline, ArrivalInAnotherOrderWithinLimitsGivesTheSameGrants) {
  GenerateOptions options = Eventful(7);
  options.conflicts = 0;  // which of two contents is first depends on the order
  options.bad_lines = 0;
  options.team_changes = 0;  // a member event is in force from its arrival on
  options.owner_changes = 0;
  const Events events = Generate(options);
  const Outcome in_order = RunPipeline(events, 3).outcome;
  const auto is_result = [](const std::string& event) {
    const auto kind = wire::PeekKind(event);
    return kind == wire::EventKind::kCompletion || kind == wire::EventKind::kValidation;
  };
  const auto first_result = std::find_if(events.begin(), events.end(), is_result);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    Events shuffled(events.begin(), first_result);
    std::mt19937_64 random(seed);
    std::vector<std::pair<std::uint64_t, std::string>> later;
    const auto from = static_cast<std::size_t>(first_result - events.begin());
    for (std::size_t i = from; i < events.size(); ++i) later.emplace_back(i + random() % 400, events[i]);
    std::stable_sort(later.begin(), later.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [place, event] : later) shuffled.push_back(std::move(event));
    EXPECT_EQ(GrantDifferences(in_order, RunPipeline(shuffled, 3).outcome), "") << "seed " << seed;
    EXPECT_EQ(Differences(RunOracle(shuffled), RunPipeline(shuffled, 8).outcome), "") << "seed " << seed;
  }
}

// ---- A small project, event by event -------------------------------------------------------------------

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;

// Project 1 with app 1 of policy `assigned`: a grant equals the credit in its validation.
class Story {
 public:
  Story() {
    Send(wire::AppChange{
        .app = AppId(1), .policy = "assigned", .delay_bound = kDay, .result_window = 10 * kDay});
    for (std::uint64_t user = 1; user <= 3; ++user) {
      Send(wire::UserMember{.user = UserId(user), .team = TeamId(user + 10)});
    }
    for (std::uint64_t host = 1; host <= 3; ++host) {
      Send(wire::HostMember{.host = HostId(host), .user = UserId(host), .whetstone = 1e9, .cpus = 1});
    }
  }

  Story& At(double time) {
    now_ = time;
    return *this;
  }
  Story& Send(wire::EventBody body) {
    events_.push_back(wire::EncodeEvent(
        {.head = {.id = ++id_, .project = ProjectId(1), .time = now_}, .body = std::move(body)}));
    return *this;
  }
  Story& Completed(std::uint64_t result, std::uint64_t host, std::uint64_t workunit,
                   credit::Outcome outcome = credit::Outcome::kSuccess) {
    wire::Completion completion = CompletionOf(result, host, workunit, now_);
    completion.facts.outcome = outcome;
    completion.facts.elapsed_time = 100;
    completion.facts.peak_flops = 1e9;
    return Send(completion);
  }
  Story& Validated(std::uint64_t result, std::uint64_t host, std::uint64_t workunit, std::uint32_t claims,
                   double credit, credit::ValidateState state = credit::ValidateState::kValid,
                   std::uint32_t pass = 1) {
    credit::ValidationFacts facts = ValidationOf(result, host, workunit, credit);
    facts.state = state;
    facts.pass = pass;
    facts.claims = state == credit::ValidateState::kInconclusive ? 0 : claims;
    if (credit <= 0) facts.assigned_credit.reset();
    return Send(facts);
  }
  Story& Tick(double time) {
    now_ = time;
    return Send(wire::Tick{.time = time});
  }
  // Repeats the last event.
  Story& Again() {
    events_.push_back(events_.back());
    return *this;
  }
  Story& AgainFrom(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) events_.push_back(std::string(events_[i]));
    return *this;
  }

  [[nodiscard]] const Events& events() const { return events_; }
  [[nodiscard]] std::size_t size() const { return events_.size(); }

 private:
  Events events_;
  std::uint64_t id_ = 100;
  double now_ = kStart;
};

std::int64_t Micro(const Played& played, std::uint64_t result) {
  const auto it = played.outcome.grants.find({1, result});
  return it == played.outcome.grants.end() ? -1 : it->second.micro;
}

std::int64_t Total(const Played& played, OracleAccountKind kind, std::uint64_t account) {
  const auto it = played.outcome.accounts.find({1, kind, account});
  return it == played.outcome.accounts.end() ? 0 : static_cast<std::int64_t>(it->second.micro);
}

using Refusals = std::map<std::string, std::uint64_t>;

// The partition of a host's events depends on the number of partitions; the effect of another host's events must not.
TEST(PipelineStory, AWrongHostsCompletionDelaysNothing) {
  Story story;
  story.Completed(500, 2, 50).Completed(500, 1, 50).Validated(500, 1, 50, 1, 12.5);
  story.Tick(kStart + 11 * kDay);
  const Played played = ExpectLikeTheOracle(story.events());
  EXPECT_EQ(Micro(played, 500), 12'500'000);
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 1), 12'500'000);
  EXPECT_EQ(played.outcome.refusals, (Refusals{{"UNKNOWN_RESULT", 1}}));
}

// A project that merges two hosts and exports its results again names another host for a granted result.
TEST(PipelineStory, AResultRepeatedUnderAnotherHostIsGrantedOnce) {
  Story story;
  story.Completed(500, 1, 50).Validated(500, 1, 50, 1, 7);
  story.Completed(600, 1, 60).Validated(600, 1, 60, 2, 7);
  story.Tick(kStart + 600);
  story.Completed(500, 2, 50).Validated(500, 2, 50, 1, 7);
  story.Completed(600, 2, 60).Validated(600, 2, 60, 2, 7);  // a completion of 600 is not its own partner
  story.Tick(kStart + 1200);
  story.Completed(601, 3, 60).Validated(601, 3, 60, 2, 7);
  story.Tick(kStart + 1800);
  story.Completed(601, 2, 60).Validated(601, 2, 60, 2, 7);
  const Played played = ExpectLikeTheOracle(story.events());
  EXPECT_EQ(played.outcome.grants.size(), 3u);
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 1), 14'000'000);
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 2), 0);
  EXPECT_EQ(played.outcome.refusals, (Refusals{{"ALREADY_DECIDED", 3}}));
}

// A partial member event sets only its own fields, in whatever order events arrive: for each field the newest event
// counts. Policy `benchmark` uses the host's CPUs and benchmark.
TEST(PipelineStory, PartialMemberEventsKeepOtherFieldsInAnyOrder) {
  const auto app = wire::AppChange{
      .app = AppId(2), .policy = "benchmark", .delay_bound = kDay, .result_window = 10 * kDay};
  const auto host = [](wire::FieldMask present, UserId user, double whetstone) {
    return wire::HostMember{
        .host = HostId(8), .user = user, .whetstone = whetstone, .cpus = 2, .present = present};
  };
  const auto user = [](wire::FieldMask present, TeamId team) {
    return wire::UserMember{.user = UserId(9), .team = team, .name = "Ada", .present = present};
  };
  using Host = wire::HostMember;
  using User = wire::UserMember;
  const std::vector<std::pair<double, wire::EventBody>> parts = {
      {kStart + 1, host(Host::kWhetstone | Host::kCpus, UserId(3), 1e9)},
      {kStart + 2, host(Host::kUser, UserId(9), 5)},
      {kStart + 3, host(Host::kWhetstone, UserId(2), 2e9)},
      {kStart + 4, user(User::kTeam, TeamId(11))},
      {kStart + 5, user(User::kName, TeamId(12))},
  };
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  do {
    Story story;
    story.Send(app);
    for (const std::size_t i : order) story.At(parts[i].first).Send(parts[i].second);
    story.At(kStart + 1000);
    wire::Completion completion = CompletionOf(500, 8, 500, kStart + 1000);
    credit::ValidationFacts validation = ValidationOf(500, 8, 500, 0);
    completion.facts.app = validation.app = AppId(2);
    completion.facts.sent_time = kStart - 9000;
    completion.facts.cpu_time = completion.facts.elapsed_time = 8640;
    validation.assigned_credit.reset();
    story.Send(completion).Send(validation);
    // The user leaves the team: team 0 is sent explicitly.
    story.At(kStart + 2000).Send(user(User::kTeam, TeamId()));
    story.Send(host(Host::kCpus, UserId(), 0));
    story.At(kStart + 3000).Completed(501, 8, 501).Validated(501, 8, 501, 1, 7);
    story.Tick(kStart + 11 * kDay);
    const Played played = ExpectLikeTheOracle(story.events());
    EXPECT_EQ(Micro(played, 500), 40'000'000) << ::testing::PrintToString(order);
    EXPECT_EQ(Total(played, OracleAccountKind::kUser, 9), 47'000'000);
    EXPECT_EQ(Total(played, OracleAccountKind::kHost, 8), 47'000'000);
    EXPECT_EQ(Total(played, OracleAccountKind::kTeam, 11), 40'000'000);
    EXPECT_EQ(Total(played, OracleAccountKind::kTeam, 12), 0);
    EXPECT_TRUE(played.outcome.refusals.empty());
  } while (std::next_permutation(order.begin(), order.end()));
}

// MySQL prints a DOUBLE with 15 digits, and a FLOAT column keeps 24 bits. The dispatch comes from the scheduler's
// memory, the completion from the database.
TEST(PipelineStory, PeakSpeedsAgreeWithinAMillionthInEitherOrder) {
  const double sent = 2074913952.8992097;
  const std::pair<double, bool> returned[] = {
      {2074913952.89921, true},          // 15 digits
      {static_cast<float>(sent), true},  // 24 bits
      {sent * (1 + 0.9e-6), true},       // just within the limit
      {sent * (1 + 1.1e-6), false},      // just beyond the limit
      {-sent, false},
      {0, false},
  };
  for (const bool completion_first : {false, true}) {
    Story story;
    Refusals refusals;
    std::uint64_t result = 500;
    for (const auto& [speed, agrees] : returned) {
      wire::Dispatch dispatch = DispatchOf(++result, 1, kStart - 200);
      dispatch.facts.peak_flops = sent;
      wire::Completion completion = CompletionOf(result, 1, result, kStart);
      completion.facts.version = dispatch.facts.version;
      completion.facts.peak_flops = speed;
      if (completion_first)
        story.Send(completion).Send(dispatch);
      else
        story.Send(dispatch).Send(completion);
      story.Validated(result, 1, result, 1, 7);
      if (!agrees) ++refusals["DISPATCH_DIFFERS"];
      // If the completion is refused, its validation waits for another one.
      if (!agrees && !completion_first) ++refusals["UNKNOWN_RESULT"];
    }
    story.Tick(kStart + 11 * kDay);
    const Played played = ExpectLikeTheOracle(story.events());
    EXPECT_EQ(played.outcome.refusals, refusals);
    for (std::size_t i = 0; i < std::size(returned); ++i)
      EXPECT_EQ(Micro(played, 501 + i), returned[i].second || completion_first ? 7'000'000 : -1) << i;
  }
}

TEST(PipelineStory, AnErrorClosesItsWorkunitsSetInEitherOrder) {
  for (const bool error_first : {true, false}) {
    Story story;
    if (error_first) story.Completed(500, 1, 50, credit::Outcome::kClientError);
    story.Validated(500, 1, 50, 3, 9).Again();
    if (!error_first) story.Completed(500, 1, 50, credit::Outcome::kClientError).Again();
    // The set of three awaits two more claims, not one.
    story.Completed(501, 2, 50).Validated(501, 2, 50, 3, 9);
    story.Completed(502, 3, 50).Validated(502, 3, 50, 3, 9);
    const Played played = ExpectLikeTheOracle(story.events());
    EXPECT_EQ(Micro(played, 501), 9'000'000);
    EXPECT_EQ(Micro(played, 502), 9'000'000);
    EXPECT_EQ(played.outcome.refusals, (Refusals{{"UNKNOWN_RESULT", error_first ? 2u : 1u}}));
  }
}

// Amounts by the mean: a set that closed too early would give another amount.
TEST(PipelineStory, ANoticeOfNoClaimCountsOnceHoweverOftenSent) {
  Story story;
  story.Send(wire::AppChange{
      .app = AppId(1), .policy = "benchmark", .delay_bound = kDay, .result_window = 10 * kDay});
  // Completion and validation of 500 name different workunits: both are refused, each time.
  story.Completed(500, 1, 51).Validated(500, 1, 50, 3, 0).AgainFrom(story.size() - 2, story.size());
  const auto with_cpu_time = [&story](std::uint64_t result, std::uint64_t host, double seconds) {
    wire::Completion completion = CompletionOf(result, host, 50, kStart);
    completion.facts.cpu_time = seconds;
    completion.facts.sent_time = kStart - 90000;
    story.Send(completion).Validated(result, host, 50, 3, 0);
  };
  with_cpu_time(501, 2, 43200);
  with_cpu_time(502, 3, 86400);
  const Played played = ExpectLikeTheOracle(story.events());
  // Half a day and a day of 1 GFLOPS: 100 and 200 Cobblestones.
  EXPECT_EQ(Micro(played, 501), 150'000'000);
  EXPECT_EQ(Micro(played, 502), 150'000'000);
  EXPECT_EQ(played.outcome.refusals, (Refusals{{"WRONG_WORKUNIT", 4}}));
}

TEST(PipelineStory, AnOlderPassIsARepeat) {
  Story story;
  const auto undecided = credit::ValidateState::kInconclusive;
  story.Validated(500, 1, 50, 0, 0, undecided, 1);
  const std::size_t first_look = story.size() - 1;
  story.Validated(500, 1, 50, 1, 7, credit::ValidateState::kValid, 2);
  story.AgainFrom(first_look, first_look + 1);
  story.Completed(500, 1, 50).AgainFrom(first_look, first_look + 1);
  const Played played = ExpectLikeTheOracle(story.events());
  EXPECT_EQ(Micro(played, 500), 7'000'000);
  EXPECT_EQ(played.outcome.refusals, Refusals{});
}

TEST(PipelineStory, AnIncompleteWorkunitIsSettledAfterItsWindow) {
  Story story;
  story.Completed(500, 1, 50).Validated(500, 1, 50, 2, 7);  // no event of 501 ever arrives
  story.Tick(kStart + 9 * kDay);
  ASSERT_EQ(Micro(ExpectLikeTheOracle(story.events()), 500), -1);
  story.Tick(kStart + 11 * kDay);
  EXPECT_EQ(Micro(ExpectLikeTheOracle(story.events()), 500), 7'000'000);
}

// A tick without a project applies to every project, because a generator of ticks from event times knows no project.
TEST(PipelineStory, ATickWithoutAProjectAppliesToEveryProject) {
  Story story;
  story.Completed(500, 1, 50).Validated(500, 1, 50, 2, 7);
  Events events = story.events();
  const double later = kStart + 11 * kDay;
  events.push_back(wire::EncodeEvent(
      {.head = {.id = 1, .project = {}, .time = later}, .body = wire::Tick{.time = later}}));
  const Played played = ExpectLikeTheOracle(events);
  EXPECT_EQ(Micro(played, 500), 7'000'000);
  EXPECT_EQ(played.outcome.refusals, Refusals{});
}

TEST(PipelineStory, RepeatsOfOlderEventsRestoreNothing) {
  Story story;
  story.Send(wire::SettingsChange{.max_granted_credit = 5});
  story.Send(wire::AppVersionChange{.row = {.id = 9, .app = AppId(1), .plan_class = {}}});
  story.Send(wire::OpeningTotal{
      .kind = wire::AccountKind::kHost, .account = 1, .total = 100, .rac = 1, .rac_time = kStart});
  story.Send(wire::OpeningTotal{
      .kind = wire::AccountKind::kUser, .account = 1, .total = 200, .rac = 1, .rac_time = kStart});
  story.Send(wire::OpeningTotal{
      .kind = wire::AccountKind::kTeam, .account = 11, .total = 300, .rac = 1, .rac_time = kStart});
  const std::size_t sent_before = story.size();
  // Every setting is different now.
  story.At(kStart + 100).Send(wire::SettingsChange{.max_granted_credit = 0});
  story.Send(wire::AppVersionChange{.row = {.id = 9, .app = AppId(1), .plan_class = {}, .deleted = true}});
  story.Send(wire::AppChange{
      .app = AppId(1), .policy = "benchmark", .delay_bound = kDay, .result_window = 10 * kDay});
  story.Send(wire::AppChange{
      .app = AppId(1), .policy = "assigned", .delay_bound = kDay, .result_window = 11 * kDay});
  story.Send(wire::HostMember{.host = HostId(1), .user = UserId(2), .whetstone = 2e9, .cpus = 2});
  story.Send(wire::UserMember{.user = UserId(2), .team = TeamId(11)});
  story.Send(wire::UserMember{.user = UserId(3), .team = TeamId(13), .deleted = true});
  const std::size_t now_in_force = story.size();
  story.AgainFrom(0, sent_before);
  story.At(kStart + 200).Completed(500, 1, 50).Validated(500, 1, 50, 1, 7);
  story.Completed(501, 3, 51).Validated(501, 3, 51, 1, 8);
  const Played played = ExpectLikeTheOracle(story.events());
  EXPECT_EQ(Micro(played, 500), 7'000'000);  // no cap of 5
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 1), 107'000'000);
  EXPECT_EQ(Total(played, OracleAccountKind::kUser, 1), 200'000'000);
  EXPECT_EQ(Total(played, OracleAccountKind::kUser, 2), 7'000'000);
  EXPECT_EQ(Total(played, OracleAccountKind::kTeam, 11), 307'000'000);
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 3), 8'000'000);
  EXPECT_EQ(Total(played, OracleAccountKind::kUser, 3), 8'000'000);  // deleted, but kept
  EXPECT_EQ(played.outcome.refusals, Refusals{});

  // No state contains anything of the repeats.
  const auto rows = [&story](std::size_t from, std::size_t end) {
    LockstepWorld world(1);
    for (std::size_t i = 0; i < story.size(); ++i) {
      if (i < from || i >= end) world.AddAt(i, story.events()[i]);
    }
    world.Finish();
    return world.StateRows();
  };
  EXPECT_EQ(StateDifference(rows(now_in_force, now_in_force + sent_before), rows(0, 0)), "");
}

// Users 4 to 9 are sent late: grants wait for them as a whole, while the hosts move on. Openings arrive while hosts
// move and return to their first owner. Recent averages of policy runtime follow BOINC's rule and show every change
// of order.
class PipelineMoves : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Policies, PipelineMoves, ::testing::Values("assigned", "runtime"));

TEST_P(PipelineMoves, AHostsOneAccountFollowsItThroughManyOwners) {
  Story story;
  story.Send(wire::AppChange{
      .app = AppId(1), .policy = GetParam(), .delay_bound = kDay, .result_window = 10 * kDay});
  std::uint64_t result = 500;
  const auto work = [&] {
    for (std::uint64_t host = 1; host <= 3; ++host) {
      story.Completed(result, host, result)
          .Validated(result, host, result, 1, 0.37 * static_cast<double>(result % 17 + host));
      ++result;
    }
  };
  const auto move = [&](std::uint64_t host, std::uint64_t user) {
    story.Send(wire::HostMember{.host = HostId(host), .user = UserId(user), .whetstone = 1e9, .cpus = 1});
  };
  double now = kStart;
  for (std::uint64_t round = 0; round < 12; ++round) {
    story.At(now += 5000);
    work();
    for (std::uint64_t host = 1; host <= 3; ++host)
      move(host, round % 4 == 3 ? 0 : 1 + (host * 5 + round * 3) % 9);
    if (round % 2 == 0) work();
    if (round == 5) {
      for (std::uint64_t host = 1; host <= 3; ++host)
        story.Send(wire::OpeningTotal{
            .kind = wire::AccountKind::kHost, .account = host, .total = 100, .rac = 1, .rac_time = now});
    }
    for (std::uint64_t host = 1; host <= 3; ++host) move(host, host);
    if (round == 3 || round == 7) story.Tick(now);
  }
  const Played unnamed = ExpectLikeTheOracle(story.events());
  for (std::uint64_t user = 4; user <= 9; ++user) {
    story.At(now += 100).Send(wire::UserMember{.user = UserId(user), .team = TeamId(11)});
    // Decided before the postings that waited for the user, and applied before them, wherever the hosts are.
    story.At(kStart + 100);
    work();
  }
  // Granted at a tick; then the host moves on.
  story.At(now).Completed(result, 1, result).Validated(result, 1, result, 2, 7);
  story.Tick(now + 11 * kDay).At(now + 11 * kDay + 1);
  for (std::uint64_t user = 2; user <= 6; ++user) move(1, user);
  const Played played = ExpectLikeTheOracle(story.events());
  EXPECT_LT(unnamed.outcome.accounts.size(), played.outcome.accounts.size());
  BigMicro of_hosts = 0;
  BigMicro granted = 0;
  for (std::uint64_t host = 1; host <= 3; ++host) of_hosts += Total(played, OracleAccountKind::kHost, host);
  for (const auto& [key, grant] : played.outcome.grants) granted += grant.micro;
  EXPECT_TRUE(of_hosts == granted + 300'000'000);
}

// If a user stays unknown for too long, only the host has the credit, wherever it has moved. A user that arrives
// later starts with later grants. Recent averages of policy runtime show every change of order.
TEST_P(PipelineMoves, GrantsToAnUnknownUserExpireWithTheirAppsWindow) {
  for (const bool comes : {false, true}) {
    Story story;
    story.Send(wire::AppChange{
        .app = AppId(1), .policy = GetParam(), .delay_bound = kDay, .result_window = 10 * kDay});
    const auto host = [&](std::uint64_t id, std::uint64_t user) {
      story.Send(wire::HostMember{.host = HostId(id), .user = UserId(user), .whetstone = 1e9, .cpus = 1});
    };
    std::uint64_t result = 500;
    const auto work = [&](std::uint64_t of_host) {
      story.Completed(result, of_host, result).Validated(result, of_host, result, 1, 1.5);
      ++result;
    };
    for (std::uint64_t user = 50; user < 60; ++user) host(user, user);
    for (int day = 0; day < 3; ++day) {
      story.At(kStart + day * kDay);
      for (std::uint64_t of_host = 50; of_host < 60; ++of_host) work(of_host);
    }
    host(50, 1);
    host(51, 2);
    story.Tick(kStart + 10 * kDay);
    ASSERT_EQ(ExpectLikeTheOracle(story.events()).outcome.refusals, Refusals{});
    story.Tick(kStart + 11 * kDay + 1);  // the window of the first day's grants has passed
    if (comes) {
      for (std::uint64_t user = 50; user < 60; ++user)
        story.Send(wire::UserMember{.user = UserId(user), .team = TeamId(77)});
    }
    story.Tick(kStart + 14 * kDay);
    story.At(kStart + 14 * kDay);
    for (std::uint64_t of_host = 50; of_host < 60; ++of_host) work(of_host);
    const Played played = ExpectLikeTheOracle(story.events());
    EXPECT_EQ(played.outcome.refusals, (Refusals{{"UNKNOWN_USER", comes ? 10u : 30u}}));
    const auto grants = [&](OracleAccountKind kind, std::uint64_t id) {
      const auto at = played.outcome.accounts.find({1, kind, id});
      return at == played.outcome.accounts.end() ? 0 : at->second.grants;
    };
    EXPECT_EQ(grants(OracleAccountKind::kHost, 50), 4u);
    EXPECT_EQ(grants(OracleAccountKind::kHost, 59), comes ? 4u : 3u);
    EXPECT_EQ(grants(OracleAccountKind::kUser, 59), comes ? 3u : 0u);
    EXPECT_EQ(grants(OracleAccountKind::kTeam, 77), comes ? 28u : 0u);
  }
}

// Credit goes to the user's team at the time of the report or, by BOINC's rules, to the current one. The order in
// which the user's moves arrive changes neither.
TEST_P(PipelineMoves, CreditGoesToTheTeamOfItsTimeInAnyOrderOfMoves) {
  std::vector<std::uint64_t> order = {12, 13, 14, 13};
  std::vector<std::size_t> place = {0, 1, 2, 3};
  std::map<std::string, std::string> accounts;
  do {
    Story story;
    story.Send(wire::AppChange{
        .app = AppId(1), .policy = GetParam(), .delay_bound = kDay, .result_window = 10 * kDay});
    const std::size_t first = story.size();
    for (std::size_t i = 0; i < order.size(); ++i)
      story.At(kStart + static_cast<double>(i + 1) * kDay)
          .Send(wire::UserMember{.user = UserId(1), .team = TeamId(order[i])});
    const Events moves(story.events().begin() + static_cast<std::ptrdiff_t>(first), story.events().end());
    Events events(story.events().begin(), story.events().begin() + static_cast<std::ptrdiff_t>(first));
    for (const std::size_t i : place) events.push_back(moves[i]);
    events.push_back(moves[place[0]]);  // a repeat
    for (std::uint64_t result = 500; result < 505; ++result)
      story.At(kStart + (static_cast<double>(result - 500) + 0.5) * kDay)
          .Completed(result, 1, result)
          .Validated(result, 1, result, 1, static_cast<double>(result));
    events.insert(events.end(), story.events().begin() + static_cast<std::ptrdiff_t>(first + order.size()),
                  story.events().end());
    const Played played = ExpectLikeTheOracle(events);
    EXPECT_EQ(played.outcome.refusals, Refusals{});
    if (GetParam() == std::string("assigned")) {
      EXPECT_EQ(Total(played, OracleAccountKind::kTeam, 11), 500'000'000);
      EXPECT_EQ(Total(played, OracleAccountKind::kTeam, 12), 501'000'000);
      EXPECT_EQ(Total(played, OracleAccountKind::kTeam, 13), 1006'000'000);
      EXPECT_EQ(Total(played, OracleAccountKind::kTeam, 14), 503'000'000);
    }
    if (accounts.empty()) accounts = played.accounts;
    EXPECT_EQ(AccountDifference(accounts, played.accounts), "");
    // Other contents under the id of an event that is no longer the newest.
    wire::Event other = *wire::ParseEvent(moves[0]);
    std::get<wire::UserMember>(other.body).team = TeamId(15);
    events.push_back(wire::EncodeEvent(other));
    EXPECT_EQ(ExpectLikeTheOracle(events).outcome.refusals, (Refusals{{"DUPLICATE_WITH_OTHER_CONTENTS", 1}}));
  } while (std::next_permutation(place.begin(), place.end()));
}

wire::Completion GoodCompletion() {
  wire::Completion completion = CompletionOf(1'000'000, 3, 2'000'000, 1.7e9);
  completion.facts.version = AppVersionId(1);
  completion.facts.elapsed_time = 100;
  completion.facts.cpu_time = 90;
  completion.facts.peak_flops = 2e9;
  completion.facts.sent_time = 1.7e9 - 1000;
  return completion;
}

credit::ValidationFacts GoodValidation() {
  credit::ValidationFacts facts = ValidationOf(1'000'000, 3, 2'000'000, 0);
  facts.assigned_credit.reset();
  return facts;
}

// ---- Beyond the window -------------------------------------------------------------------------------------

// Events of a decided result are repeated long after: byte by byte, under new event ids, and with new times.
TEST(PipelineStory, AGrantedResultIsNeverGrantedAgainHoweverLateRepeated) {
  for (const bool sent_time_known : {true, false}) {
    Story story;
    wire::Completion completion = CompletionOf(500, 1, 50, kStart);
    if (!sent_time_known) completion.facts.sent_time = 0;
    const std::size_t first = story.size();
    story.Send(completion).Validated(500, 1, 50, 1, 7);
    story.Completed(501, 1, 51, credit::Outcome::kClientError);
    const std::size_t end = story.size();
    // Every day over the window of 10 days, the window of a waiting partner after it, and 40 more days.
    for (int day = 1; day <= 60; ++day) {
      story.Tick(kStart + day * kDay);
      story.AgainFrom(first, end);
      story.At(kStart).Send(completion).Validated(500, 1, 50, 1, 7);  // the same facts under new ids
      story.At(kStart + day * kDay);
      if (sent_time_known) story.Send(completion);  // reported as returned only now
      story.Validated(500, 1, 50, 1, 7);            // the validator makes another pass
    }
    story.Tick(kStart + 100 * kDay);
    const Played played = ExpectLikeTheOracle(story.events());
    EXPECT_EQ(played.outcome.grants.size(), 1u);
    EXPECT_EQ(Total(played, OracleAccountKind::kHost, 1), 7'000'000);
    EXPECT_GT(played.outcome.refusals.at("TOO_LATE"), 100u);
  }
}

// Ingested under another host on the last day of the window, and validated when that host's window is nearly over.
TEST(PipelineStory, AResultRepeatedUnderAnotherHostAtTheEndIsGrantedOnce) {
  Story story;
  story.Completed(500, 1, 50).Validated(500, 1, 50, 1, 7);
  story.Tick(kStart + 9.9 * kDay).At(kStart);
  story.Completed(500, 2, 50);
  Events events = story.events();
  wire::Event late = *wire::ParseEvent(events.back());
  late.head.time = kStart + 9.9 * kDay;  // waits from this time on
  events.back() = wire::EncodeEvent(late);
  Story rest;
  rest.At(kStart + 19.8 * kDay).Tick(kStart + 19.8 * kDay).Validated(500, 2, 50, 1, 7);
  for (std::size_t i = rest.size() - 2; i < rest.size(); ++i) {
    wire::Event event = *wire::ParseEvent(rest.events()[i]);
    event.head.id += 1000;
    events.push_back(wire::EncodeEvent(event));
  }
  const Played played = ExpectLikeTheOracle(events);
  EXPECT_EQ(played.outcome.grants.size(), 1u);
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 2), 0);
  EXPECT_EQ(played.outcome.refusals, (Refusals{{"ALREADY_DECIDED", 1}}));
}

// Sent under another host and dated ahead of event time: it waits longer than its workunit is kept.
TEST(PipelineStory, AResultThatOutlivesItsWorkunitIsNotGrantedAgain) {
  Story story;
  story.Completed(500, 1, 50).Validated(500, 1, 50, 1, 7);
  story.Tick(kStart + 9.9 * kDay).At(kStart);
  story.Completed(500, 2, 50);
  Events events = story.events();
  wire::Event ahead = *wire::ParseEvent(events.back());
  ahead.head.time = kStart + 15 * kDay;
  events.back() = wire::EncodeEvent(ahead);
  Story rest;
  rest.At(kStart + 24 * kDay).Tick(kStart + 24 * kDay).Validated(500, 2, 50, 1, 7);
  for (std::size_t i = rest.size() - 2; i < rest.size(); ++i) {
    wire::Event event = *wire::ParseEvent(rest.events()[i]);
    event.head.id += 1000;
    events.push_back(wire::EncodeEvent(event));
  }
  const Played played = ExpectLikeTheOracle(events);
  EXPECT_EQ(played.outcome.grants.size(), 1u);
  EXPECT_EQ(played.outcome.granted_twice.size(), 0u);
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 2), 0);
  EXPECT_EQ(played.outcome.refusals, (Refusals{{"TOO_LATE", 2}}));
}

// Events of results that expired under a shorter window look like new events: they stay too late under a
// longer one.
TEST(PipelineStory, ALongerWindowDoesNotReadmitExpiredResults) {
  Story story;
  const auto set_window = [&story](double days) {
    story.Send(wire::AppChange{
        .app = AppId(1), .policy = "assigned", .delay_bound = kDay, .result_window = days * kDay});
  };
  const std::size_t first = story.size();
  story.Completed(500, 1, 50).Validated(500, 1, 50, 1, 7);
  story.Completed(501, 1, 51, credit::Outcome::kClientError);
  const std::size_t end = story.size();
  story.Tick(kStart + 25 * kDay);  // CLAIMS and GRANTS have expired them
  const std::size_t second = story.size();
  story.At(kStart + 20 * kDay).Completed(600, 1, 60).Validated(600, 1, 60, 1, 7);
  const std::size_t second_end = story.size();
  set_window(200);
  const auto under_another_host = [&story](std::uint64_t result, std::uint64_t workunit, double sent) {
    story.At(sent).Completed(result, 2, workunit).Validated(result, 2, workunit, 1, 7);
  };
  std::size_t day = 26;
  for (; day <= 60; ++day) {  // the later ones would have expired under the old window
    story.Tick(kStart + static_cast<double>(day) * kDay);
    story.AgainFrom(first, end).AgainFrom(second, second_end);
    under_another_host(500, 50, kStart);
    under_another_host(600, 60, kStart + 20 * kDay);
  }
  set_window(2);
  story.Tick(kStart + static_cast<double>(day) * kDay);
  set_window(200);
  for (std::size_t n = 0; n < 30; ++n) {
    story.Tick(kStart + static_cast<double>(++day) * kDay);
    story.AgainFrom(first, end).AgainFrom(second, second_end);
    under_another_host(600, 60, kStart + 20 * kDay);
  }
  const Played played = ExpectLikeTheOracle(story.events());
  EXPECT_EQ(played.outcome.granted_twice.size(), 0u);
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 1), 14'000'000);
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 2), 0);
}

// Ingested under another host while the window was longer, validated under the shorter one.
TEST(PipelineStory, AShorterWindowKeepsWorkunitsWithWaitingResults) {
  Story story;
  story.Completed(500, 1, 50);
  wire::Completion once_more = std::get<wire::Completion>(wire::ParseEvent(story.events().back())->body);
  once_more.facts.host = HostId(2);
  story.Validated(500, 1, 50, 1, 7);
  story.Tick(kStart + 9 * kDay).Send(once_more);
  story.Send(
      wire::AppChange{.app = AppId(1), .policy = "assigned", .delay_bound = kDay, .result_window = 2 * kDay});
  story.Validated(500, 2, 50, 1, 7);
  const Played played = ExpectLikeTheOracle(story.events());
  EXPECT_EQ(played.outcome.granted_twice.size(), 0u);
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 2), 0);
  EXPECT_EQ(played.outcome.refusals, (Refusals{{"ALREADY_DECIDED", 1}}));
}

// Windows change continuously, and results are repeated at any time and under any host: each is granted once.
TEST(PipelineStory, EachResultIsGrantedOnceUnderChangingWindows) {
  std::size_t grants = 0;
  std::uint64_t too_late = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&random](std::uint64_t n) { return random() % n; };
    Story story;
    std::vector<std::size_t> completions;  // positions of completions, each followed by its validation
    std::uint64_t result = 500;
    double day = 0;
    for (int step = 0; step < 400; ++step) {
      const double now = kStart + day * kDay;
      switch (below(5)) {
        case 0:
          story.At(now - static_cast<double>(below(12)) * kDay);
          completions.push_back(story.size());
          ++result;
          story.Completed(result, 1 + below(3), result / 2).Validated(result, 1, result / 2, 1 + below(2), 5);
          if (below(4) != 0) {  // as it should be
            const wire::Event last = *wire::ParseEvent(story.events()[story.size() - 2]);
            story.Validated(result, std::get<wire::Completion>(last.body).facts.host.value, result / 2, 1, 5);
          }
          break;
        case 1:
        case 2:
          if (!completions.empty()) {
            const std::size_t at = completions[below(completions.size())];
            if (below(2) == 0) {
              story.AgainFrom(at, at + 2);
            } else {
              const wire::Event before = *wire::ParseEvent(story.events()[at]);
              const auto& facts = std::get<wire::Completion>(before.body).facts;
              const std::uint64_t host = 1 + below(3);
              story.At(before.head.time).Completed(facts.result.value, host, facts.workunit.value);
              story.Validated(facts.result.value, host, facts.workunit.value, 1, 5);
            }
          }
          break;
        case 3:
          day += 0.25 * static_cast<double>(1 + below(12));
          story.Tick(kStart + day * kDay);
          break;
        default: {
          constexpr std::array<double, 4> kDays = {1, 3, 10, 50};
          story.At(now).Send(wire::AppChange{.app = AppId(1),
                                             .policy = "assigned",
                                             .delay_bound = kDay,
                                             .result_window = kDays[below(kDays.size())] * kDay});
        }
      }
    }
    const Played played = RunPipeline(story.events(), 1);
    EXPECT_EQ(Differences(RunOracle(story.events()), played.outcome), "") << "seed " << seed;
    // Which of two hosts of one result is first depends on their partitions.
    EXPECT_EQ(RunPipeline(story.events(), 3).outcome.granted_twice.size(), 0u) << "seed " << seed;
    grants += played.outcome.grants.size();
    too_late += played.outcome.refusals.count("TOO_LATE") != 0 ? played.outcome.refusals.at("TOO_LATE") : 0;
  }
  EXPECT_GT(grants, 150u);
  EXPECT_GT(too_late, 150u);
}

// A late result gets the same credit as the others while that is known; later it is refused, and nothing waits for
// ever.
TEST(PipelineStory, ALateResultOfAnExpiredWorkunitIsRefused) {
  Story story;
  story.Completed(500, 1, 50).Validated(500, 1, 50, 1, 7);
  const auto late = [&](std::uint64_t result) {
    story.Completed(result, 2, 50);
    credit::ValidationFacts facts;
    facts.result = ResultId(result);
    facts.host = HostId(2);
    facts.workunit = WorkunitId(50);
    facts.app = AppId(1);
    facts.fpops_est = 1e12;
    facts.fpops_bound = 1e14;
    facts.state = credit::ValidateState::kValid;
    facts.pass = 2;
    facts.late = true;
    story.Send(facts);
  };
  story.Tick(kStart + 19 * kDay);
  late(501);
  story.Tick(kStart + 22 * kDay);
  late(502);
  story.Tick(kStart + 40 * kDay);
  const Played played = ExpectLikeTheOracle(story.events());
  EXPECT_EQ(Micro(played, 501), 7'000'000);
  EXPECT_EQ(Micro(played, 502), -1);
  EXPECT_EQ(played.outcome.refusals, (Refusals{{"UNKNOWN_RESULT", 1}}));
}

// Workunits 64 and 65 share a row, which stays for the younger one. The older one expires all the same, and may be
// decided again for results that were never granted.
TEST(PipelineStory, AWorkunitExpiresThoughItsRowStays) {
  Story story;
  const auto late = [&](std::uint64_t result, std::uint64_t workunit) {
    story.Completed(result, 2, workunit).Validated(result, 2, workunit, 1, 9);
    wire::Event event = *wire::ParseEvent(story.events().back());
    std::get<credit::ValidationFacts>(event.body).late = true;
    event.head.id += 5000;
    return wire::EncodeEvent(event);
  };
  story.At(kStart + 10 * kDay).Completed(500, 1, 64).Validated(500, 1, 64, 1, 7);
  story.At(kStart + 5 * kDay).Completed(510, 1, 65).Validated(510, 1, 65, 1, 8);
  story.Tick(kStart + 27 * kDay);
  story.Completed(511, 2, 65).Validated(511, 2, 65, 1, 9);  // as if the workunit were new
  Events events = story.events();
  events.push_back(late(512, 65));  // gets the same credit as 511
  events.insert(events.end() - 1, story.events()[story.size() - 2]);
  events.push_back(late(501, 64));
  events.insert(events.end() - 1, story.events()[story.size() - 2]);
  const Played played = ExpectLikeTheOracle(events);
  EXPECT_EQ(Micro(played, 510), 8'000'000);
  EXPECT_EQ(Micro(played, 511), 9'000'000);
  EXPECT_EQ(Micro(played, 512), 9'000'000);
  EXPECT_EQ(Micro(played, 501), 7'000'000);
  EXPECT_EQ(played.outcome.refusals, Refusals{});
}

TEST(PipelineStory, DispatchesAndErrorsBeyondTheWindowChangeNothing) {
  Story story;
  const std::size_t first = story.size();
  wire::Dispatch dispatch;
  dispatch.facts.result = ResultId(500);
  dispatch.facts.host = HostId(1);
  dispatch.facts.workunit = WorkunitId(50);
  dispatch.facts.app = AppId(1);
  dispatch.facts.sent_time = kStart;
  story.Send(dispatch);
  wire::Completion error;
  error.facts.host = HostId(1);
  error.facts.app = AppId(1);
  error.facts.version = AppVersionId(3);
  error.facts.outcome = credit::Outcome::kClientError;
  story.Send(error);
  const std::size_t end = story.size();
  story.Tick(kStart + 12 * kDay);
  const std::size_t ticked = story.size();
  story.AgainFrom(first, end);
  const Played played = ExpectLikeTheOracle(story.events());
  EXPECT_EQ(played.outcome.refusals, (Refusals{{"TOO_LATE", 2}}));
  const auto rows = [&story](std::size_t up_to) {
    LockstepWorld world(1);
    for (std::size_t i = 0; i < up_to; ++i) world.AddAt(i, story.events()[i]);
    world.Finish();
    return world.StateRows();
  };
  EXPECT_EQ(StateDifference(rows(ticked), rows(story.size())), "");
}

// For every kind of event: otherwise a member event would take precedence over all later ones, and a tick would end
// every window.
TEST(Pipeline, AnEventFromTheFutureChangesNothing) {
  constexpr double kNow = kStart + 1000;
  std::vector<wire::EventBody> bodies = {
      wire::HostMember{.host = HostId(1), .user = UserId(1)},
      wire::UserMember{.user = UserId(1), .team = TeamId(1)},
      wire::TeamMember{.team = TeamId(1), .name = "a"},
      wire::OpeningTotal{.kind = wire::AccountKind::kHost, .account = 1, .total = 1},
      wire::OpeningTotal{.kind = wire::AccountKind::kUser, .account = 1, .total = 1},
      wire::OpeningTotal{.kind = wire::AccountKind::kTeam, .account = 1, .total = 1},
      wire::AppChange{.app = AppId(2), .policy = "none"},
      wire::SettingsChange{.max_granted_credit = 5},
      wire::Tick{.time = kNow + 7200},
      wire::Dispatch{GoodCompletion().facts, {}},
      GoodCompletion(),
      GoodValidation(),
  };
  const auto play = [&](double time) {
    FreeWorld world(2, 1);
    world.set_append_time(kNow);
    world.Add(wire::EncodeEvent({.head = {.id = 1, .project = ProjectId(1), .time = kStart},
                                 .body = wire::AppChange{.app = AppId(1), .policy = "assigned"}}));
    world.RunUntilIdle();
    std::map<std::string, std::size_t> reasons;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (auto* tick = std::get_if<wire::Tick>(&bodies[i])) tick->time = time;
      world.Add(wire::EncodeEvent(
          {.head = {.id = 10 + i, .project = ProjectId(1), .time = time}, .body = bodies[i]}));
      world.RunUntilIdle();
    }
    Outcome outcome;
    for (const std::string& record : world.Records(wire::kRefused)) AddRefusedRecord(record, &outcome);
    const auto* view = world.slots()[0].stages.claims->projects().Find({.project = 1, .id = 0, .sub = 0});
    EXPECT_EQ(view->time, time < kNow + 3600 ? time : 0);
    return outcome.refusals;
  };
  EXPECT_EQ(play(kNow + 3000), Refusals{});
  EXPECT_EQ(play(kNow + 7200), (Refusals{{"FROM_THE_FUTURE", bodies.size()}}));
}

// An adopted project may send its balances before its hosts, or balances of hosts that it never sends.
TEST(PipelineStory, ABalanceWaitsForItsHostAndExpiresWithoutIt) {
  const auto balance = [](std::uint64_t host, double total) {
    return wire::OpeningTotal{.kind = wire::AccountKind::kHost,
                              .account = host,
                              .total = total,
                              .rac = 2,
                              .rac_time = kStart - 5 * kDay};
  };
  const auto named = [](std::uint64_t host, std::uint64_t user) {
    return wire::HostMember{.host = HostId(host), .user = UserId(user), .whetstone = 1e9, .cpus = 1};
  };
  Story story;
  story.Tick(kStart).At(kStart - 200 * kDay);  // dated long ago, but waits from now on
  for (std::uint64_t host = 60; host < 70; ++host) {
    story.Send(balance(host, 100)).Again();
    story.Send(balance(host, 7));  // another balance
  }
  story.Tick(kStart + 29 * kDay);
  for (std::uint64_t host = 60; host < 65; ++host) story.Send(named(host, host - 59));
  story.At(kStart + 29 * kDay).Completed(500, 60, 50).Validated(500, 60, 50, 1, 7);
  const Played before = ExpectLikeTheOracle(story.events());
  EXPECT_EQ(before.outcome.refusals, (Refusals{{"ALREADY_DECIDED", 10}}));
  EXPECT_EQ(Total(before, OracleAccountKind::kHost, 60), 107'000'000);
  EXPECT_EQ(Total(before, OracleAccountKind::kHost, 64), 100'000'000);
  story.Tick(kStart + 31 * kDay);
  for (std::uint64_t host = 60; host < 70; ++host) story.Send(named(host, host - 59));
  // A new balance is accepted after the expiry: there is none yet.
  story.Send(balance(69, 3));
  const Played played = ExpectLikeTheOracle(story.events());
  EXPECT_EQ(played.outcome.refusals, (Refusals{{"ALREADY_DECIDED", 10}, {"UNKNOWN_HOST", 5}}));
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 64), 100'000'000);
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 65), 0);
  EXPECT_EQ(Total(played, OracleAccountKind::kHost, 69), 3'000'000);
}

// A project may send a user every day: only moves and recent updates are kept.
TEST(PipelineStory, OnlyMovesAndRecentUpdatesOfAUserAreKept) {
  LockstepWorld world(1);
  Story story;
  for (int day = 1; day <= 1000; ++day)
    story.Tick(kStart + day * kDay)
        .Send(wire::UserMember{.user = UserId(1), .team = TeamId(day < 300 ? 11 : 12)});
  story.At(kStart + 500 * kDay)
      .Send(wire::UserMember{.user = UserId(1), .team = TeamId(13)});  // too old to matter
  world.Add(story.events());
  world.Finish();
  const auto* user = world.slots()[0].stages.accounts->users().Find({.project = 1, .id = 1, .sub = 0});
  EXPECT_LT(user->stamps.size(), 125u);
  EXPECT_GT(user->stamps.size(), 100u);
  EXPECT_EQ(user->TeamAt(kStart + 299.5 * kDay), TeamId(11));
  EXPECT_EQ(user->TeamAt(kStart + 600 * kDay), TeamId(12));
}

// Postings that wait for a user are in rows of their own, which expire in slices; in `order: arrival`.
TEST(PipelineStory, ExpiredWaitingGrantsLeaveTheStateInSlices) {
  constexpr std::uint64_t kUsers = 700;
  Story story;
  for (std::uint64_t i = 0; i < kUsers; ++i) {
    story.Send(wire::HostMember{.host = HostId(1000 + i), .user = UserId(1000 + i), .cpus = 1});
    story.Completed(500 + i, 1000 + i, 500 + i).Validated(500 + i, 1000 + i, 500 + i, 1, 1);
  }
  FreeWorld world(1, 2);  // an even seed: the usual budget of a commit
  accounts::AccountsStage& stage = *world.slots()[0].stages.accounts;
  world.Add(story.events().front());
  world.RunUntilIdle();  // the app is known
  world.Add(story.events());
  world.RunUntilIdle();
  const auto waiting = [&stage] {
    std::size_t n = 0;
    stage.waiting().ForEach([&](const stream::Key&, const accounts::WaitingGrant&) { ++n; });
    return n;
  };
  ASSERT_EQ(waiting(), kUsers);
  const auto tick = [&world](double day) {
    const double time = kStart + day * kDay;
    world.Add(wire::EncodeEvent(
        {.head = {.id = static_cast<std::uint64_t>(day), .project = ProjectId(1), .time = time},
         .body = wire::Tick{.time = time}}));
    world.RunUntilIdle();
  };
  tick(10);
  EXPECT_EQ(waiting(), kUsers);
  tick(12);
  EXPECT_LT(waiting(), 250u);
  EXPECT_GT(waiting(), 0u);
  // A row whose expiry is still pending counts as expired.
  std::uint64_t left = 0;
  stage.waiting().ForEach([&](const stream::Key& key, const accounts::WaitingGrant&) { left = key.id; });
  world.Add(wire::EncodeEvent({.head = {.id = 20, .project = ProjectId(1), .time = kStart},
                               .body = wire::UserMember{.user = UserId(left), .team = TeamId(11)}}));
  for (int i = 0; i < 60; ++i) {
    world.Add("no envelope");
    world.RunUntilIdle();
  }
  EXPECT_EQ(waiting(), 0u);
  Outcome outcome;
  for (const std::string& record : world.Records(wire::kRefused)) AddRefusedRecord(record, &outcome);
  EXPECT_EQ(outcome.refusals["UNKNOWN_USER"], kUsers);
  const auto* user = stage.users().Find({.project = 1, .id = left, .sub = 0});
  EXPECT_EQ(user->account.grants, 0u);
  EXPECT_EQ(user->unnamed.expired, 1u);
  EXPECT_TRUE(user->unnamed.expired_micro == 1'000'000);
}

// Not even in the host's reliability: its quota, its probation, its row.
TEST(PipelineStory, AnEventRefusedAfterAWaitLeavesNoTraceInAnyState) {
  Story before;
  before.Send(wire::AppChange{.app = AppId(1),
                              .policy = "creditnew",
                              .policy_version = 2,
                              .host_scale_check = true,
                              .delay_bound = kDay,
                              .result_window = 10 * kDay});
  const auto completion = [](std::uint64_t host, credit::Outcome outcome) {
    wire::Completion done;
    done.facts = GoodCompletion().facts;
    done.facts.result = ResultId(500);
    done.facts.workunit = WorkunitId(50);
    done.facts.host = HostId(host);
    done.facts.version = AppVersionId(-2);
    done.facts.outcome = outcome;
    done.facts.sent_time = kStart - 200;
    return done;
  };
  wire::Completion crash = completion(1, credit::Outcome::kClientError);
  crash.facts.result = ResultId(400);
  before.Send(crash);  // otherwise there is no quota to double
  const auto success = [&](std::uint64_t host) { return completion(host, credit::Outcome::kSuccess); };
  const auto rows = [&](const Story& story) {
    LockstepWorld world(1);
    for (std::size_t i = 0; i < story.size(); ++i) {
      const bool extra = i >= before.size();
      world.AddAt(extra ? before.size() : i, story.events()[i]);
    }
    const double end = kStart + 11 * kDay;
    world.AddAt(before.size() + 1,
                wire::EncodeEvent({.head = {.id = 9000, .project = ProjectId(1), .time = end},
                                   .body = wire::Tick{.time = end}}));
    world.Finish();
    return std::pair{world.StateRows(), world.outcome().refusals};
  };
  const auto clean = rows(before);
  EXPECT_EQ(clean.second, Refusals{});
  const auto expect_refused = [&](const Story& story, const Refusals& refusals) {
    const auto [state, refused] = rows(story);
    EXPECT_EQ(refused, refusals);
    EXPECT_EQ(StateDifference(clean.first, state), "");
  };
  constexpr auto kInconclusive = credit::ValidateState::kInconclusive;
  expect_refused(Story(before).Send(success(1)), {{"UNKNOWN_RESULT", 1}});
  expect_refused(Story(before).Validated(500, 1, 50, 1, 0), {{"UNKNOWN_RESULT", 1}});
  expect_refused(Story(before).Send(success(1)).Validated(500, 1, 50, 1, 0, kInconclusive),
                 {{"UNKNOWN_RESULT", 2}});
  expect_refused(Story(before).Send(success(1)).Validated(500, 1, 51, 1, 0), {{"WRONG_WORKUNIT", 2}});
  // A host that is never sent.
  expect_refused(Story(before).Send(success(9)), {{"UNKNOWN_RESULT", 1}});
  expect_refused(Story(before).Send(success(9)).Validated(500, 9, 50, 1, 0), {{"UNKNOWN_HOST", 2}});
  expect_refused(Story(before).Send(success(9)).Validated(500, 9, 50, 1, 0, kInconclusive),
                 {{"UNKNOWN_RESULT", 2}});
}

// Rows of decided workunits and results expire in slices after their days.
TEST(Pipeline, RowsBeyondEveryWindowAreNotStored) {
  GenerateOptions options = Eventful(4);
  options.results = 6000;
  options.hosts = 30;
  options.delay_bound = kDay;
  options.result_window = 3 * kDay;
  options.span = 40 * kDay;
  options.tick_period = 21600;
  Events events = Generate(options);
  LockstepWorld world(3);
  const auto rows = [&world] {
    std::array<std::size_t, 2> count{};
    for (PipelineSlot& slot : world.slots()) {
      if (slot.stages.grants == nullptr) continue;
      slot.stages.grants->decided().ForEach(
          [&](const stream::Key&, const grants::DecidedBlock&) { ++count[0]; });
      slot.stages.claims->runs().ForEach([&](const stream::Key&, const claims::SeenRun&) { ++count[1]; });
    }
    return count;
  };
  std::array<std::size_t, 2> most{};
  for (const std::string& event : events) {
    world.Add(event);
    const auto now = rows();
    for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], now[i]);
  }
  world.Finish();
  // Some 90 blocks of workunits and 200 runs of results in 40 days: a few days of them at any time.
  EXPECT_GT(most[0], 20u);
  EXPECT_LT(most[0], 60u);
  EXPECT_GT(most[1], 15u);
  EXPECT_LT(most[1], 110u);
  const double end = options.start_time + options.span + 8 * kDay;
  world.Add(wire::EncodeEvent(
      {.head = {.id = 1u << 30, .project = ProjectId(1), .time = end}, .body = wire::Tick{.time = end}}));
  world.Finish();
  EXPECT_EQ(rows(), (std::array<std::size_t, 2>{0, 0}));
}

// A day with very many rows delays nothing: a limited number expires with a tick, and with each commit after it.
TEST(PipelineStory, ExpiredRowsAreDeletedInSlices) {
  constexpr std::uint64_t kBlocks = 2500;
  constexpr std::uint64_t kHosts = 700;
  Story story;
  for (std::uint64_t i = 0; i < kBlocks; ++i)
    story.Completed(500 + i, 1, 1000 + 32 * i).Validated(500 + i, 1, 1000 + 32 * i, 1, 1);
  wire::Completion error;
  error.facts.app = AppId(1);
  error.facts.version = AppVersionId(3);
  error.facts.outcome = credit::Outcome::kTimeout;
  for (std::uint64_t host = 100; host < 100 + kHosts; ++host) {
    error.facts.host = HostId(host);
    for (int i = 0; i < 32; ++i) story.Send(error);  // one run of results
  }
  LockstepWorld world(1);
  world.Add(story.events());
  world.Finish();
  const auto blocks = [&world] {
    std::size_t n = 0;
    world.slots()[0].stages.grants->decided().ForEach(
        [&](const stream::Key&, const grants::DecidedBlock&) { ++n; });
    return n;
  };
  const auto runs = [&world] {
    std::size_t n = 0;
    world.slots()[0].stages.claims->runs().ForEach([&](const stream::Key&, const claims::SeenRun&) { ++n; });
    return n;
  };
  ASSERT_EQ(blocks(), kBlocks);
  ASSERT_GE(runs(), kHosts);
  const auto tick = [&world](double day, std::uint64_t id) {
    const double time = kStart + day * kDay;
    world.Add(wire::EncodeEvent(
        {.head = {.id = id, .project = ProjectId(1), .time = time}, .body = wire::Tick{.time = time}}));
  };
  tick(40, 1);
  EXPECT_LT(blocks(), kBlocks - 900);
  EXPECT_GT(blocks(), kBlocks - 1500);
  EXPECT_LT(runs(), kHosts - 450);
  EXPECT_GT(runs(), 0u);
  // Later records bring the rest to an end.
  for (int i = 0; i < 60; ++i) {
    world.Add("no envelope");
    world.Finish();
  }
  EXPECT_EQ(blocks(), 0u);
  EXPECT_EQ(runs(), 0u);
}

TEST(PipelineStory, OtherContentsUnderAKnownIdAreRefused) {
  Story story;
  const auto same_id = [&story](wire::EventBody body) {
    const wire::Event before = *wire::ParseEvent(story.events().back());
    Events events = story.events();
    events.push_back(wire::EncodeEvent({.head = before.head, .body = std::move(body)}));
    const Played played = ExpectLikeTheOracle(events);
    EXPECT_EQ(played.outcome.refusals, (Refusals{{"DUPLICATE_WITH_OTHER_CONTENTS", 1}}))
        << wire::EventKindName(before.kind());
  };
  story.Send(wire::HostMember{.host = HostId(1), .user = UserId(1)});
  same_id(wire::HostMember{.host = HostId(1), .user = UserId(2)});
  story.Send(wire::UserMember{.user = UserId(1), .team = TeamId(11)});
  same_id(wire::UserMember{.user = UserId(1), .team = TeamId(12)});
  story.Send(wire::TeamMember{.team = TeamId(11), .name = "a"});
  same_id(wire::TeamMember{.team = TeamId(11), .name = "b"});
  story.Send(wire::SettingsChange{.max_granted_credit = 5});
  same_id(wire::SettingsChange{.max_granted_credit = 6});
  story.Send(wire::AppVersionChange{.row = {.id = 9, .app = AppId(1), .plan_class = {}}});
  same_id(wire::AppVersionChange{.row = {.id = 9, .app = AppId(1), .plan_class = "mt"}});
  story.Send(wire::OpeningTotal{.kind = wire::AccountKind::kHost, .account = 1, .total = 100});
  same_id(wire::OpeningTotal{.kind = wire::AccountKind::kHost, .account = 1, .total = 101});
  story.Send(wire::OpeningTotal{.kind = wire::AccountKind::kUser, .account = 1, .total = 100});
  same_id(wire::OpeningTotal{.kind = wire::AccountKind::kUser, .account = 1, .total = 101});
  story.Send(wire::OpeningTotal{.kind = wire::AccountKind::kTeam, .account = 11, .total = 100});
  same_id(wire::OpeningTotal{.kind = wire::AccountKind::kTeam, .account = 11, .total = 101});
  story.Completed(500, 1, 50);
  wire::Completion other = std::get<wire::Completion>(wire::ParseEvent(story.events().back())->body);
  other.facts.elapsed_time = 101;
  same_id(other);
}

// ---- Refused events leave no trace ---------------------------------------------------------------------

wire::EventHead Head(std::uint64_t id) { return {.id = id, .project = ProjectId(1), .time = 1.7e9 + 100}; }

struct Bad {
  const char* name;
  std::string envelope;
};

std::vector<Bad> BadEvents() {
  std::vector<Bad> all;
  const auto add = [&all](const char* name, wire::EventBody body) {
    all.push_back({name, wire::EncodeEvent({.head = Head(77'000 + all.size()), .body = std::move(body)})});
  };
  const auto completion = [&add](const char* name, auto change) {
    wire::Completion bad = GoodCompletion();
    change(bad.facts);
    add(name, std::move(bad));
  };
  const auto validation = [&add](const char* name, auto change) {
    credit::ValidationFacts bad = GoodValidation();
    change(bad);
    add(name, bad);
  };
  all.push_back({"no Envelope", "\x0f\x0f"});
  all.push_back(
      {"an Envelope without an event", wire::EncodeEvent({.head = Head(1), .body = std::monostate{}})});
  completion("completion: elapsed time NaN", [](auto& f) { f.elapsed_time = 0.0 / 0.0; });
  completion("completion: peak speed infinite", [](auto& f) { f.peak_flops = HUGE_VAL; });
  completion("completion: negative bound", [](auto& f) { f.delay_bound = -1; });
  completion("completion: sent in the year 20000", [](auto& f) { f.sent_time = 1e12; });
  completion("completion: no outcome", [](auto& f) { f.outcome = credit::Outcome::kUnknown; });
  completion("completion: no host", [](auto& f) { f.host = HostId(); });
  completion("completion: no workunit", [](auto& f) { f.workunit = WorkunitId(); });
  completion("completion: unknown app", [](auto& f) { f.app = AppId(99); });
  completion("completion: version -1", [](auto& f) { f.version = AppVersionId(-1); });
  completion("completion: too late", [](auto& f) { f.sent_time = 1.5e9; });
  validation("validation: no state", [](auto& f) { f.state = credit::ValidateState::kUnknown; });
  validation("validation: valid, and nobody waits", [](auto& f) { f.claims = 0; });
  validation("validation: more claims than there can be", [](auto& f) { f.claims = 1'000'000; });
  validation("validation: negative size", [](auto& f) { f.fpops_est = -1; });
  validation("validation: unknown app", [](auto& f) { f.app = AppId(99); });
  add("dispatch: unknown app", wire::Dispatch{[] {
                                                credit::CompletionFacts facts = GoodCompletion().facts;
                                                facts.app = AppId(99);
                                                return facts;
                                              }(),
                                              {}});
  add("trickle: of no result", wire::Trickle{.host = HostId(3), .variety = "v"});
  add("trickle: steps below 0", wire::Trickle{.result = ResultId(5), .host = HostId(3), .steps = -1});
  add("host: none", wire::HostMember{});
  add("host: benchmark NaN", wire::HostMember{.host = HostId(3), .whetstone = 0.0 / 0.0});
  add("host merge", wire::HostMerge{.host = HostId(999), .into = HostId(4)});
  add("user: none", wire::UserMember{});
  add("team: none", wire::TeamMember{});
  add("app: unknown policy", wire::AppChange{.app = AppId(1), .policy = "generous"});
  add("app: policy version goes back",
      wire::AppChange{.app = AppId(2), .policy = "none", .policy_version = 1});
  add("version: of an unknown app",
      wire::AppVersionChange{.row = {.id = 500, .app = AppId(99), .plan_class = {}}});
  add("version: unknown, deleted",
      wire::AppVersionChange{.row = {.id = 500, .plan_class = {}, .deleted = true}});
  add("settings: negative cap", wire::SettingsChange{.max_granted_credit = -1});
  add("opening: negative", wire::OpeningTotal{.kind = wire::AccountKind::kUser, .account = 1, .total = -5});
  add("opening: unknown version", wire::OpeningAppVersion{.app_version = 500});
  add("reversal", wire::Reversal{.result = ResultId(1), .reason = "r"});
  add("re-pricing", wire::Repricing{.policy_version = 1, .result = ResultId(1), .reason = "r"});
  add("estimated credit", wire::EstimatedCredit{.host = HostId(3), .counters = {}});
  return all;
}

TEST(Pipeline, ARefusedEventLeavesNoTraceInAnyState) {
  GenerateOptions options = Eventful(5);
  options.results = 300;
  options.bad_lines = 0;
  options.conflicts = 0;
  Events events = Generate(options);
  // App 2 gets another policy version, so that there is a version to revert.
  events.insert(events.begin() + 60,
                wire::EncodeEvent(
                    {.head = Head(2),
                     .body = wire::AppChange{.app = AppId(2), .policy = "benchmark", .policy_version = 5}}));
  const auto play = [&events](const std::string* bad) {
    auto world = std::make_unique<LockstepWorld>(1);
    for (std::size_t i = 0; i < events.size(); ++i) {
      world->AddAt(2 * i, events[i]);
      if (bad != nullptr && i == events.size() / 2) world->AddAt(2 * i + 1, *bad);
    }
    world->Finish();
    return world;
  };
  auto clean = play(nullptr);
  const auto clean_rows = clean->StateRows();
  const auto clean_ledger = clean->SortedLedger();
  const Outcome clean_outcome = clean->outcome();
  ASSERT_GT(clean_rows.size(), 150u);
  for (const Bad& bad : BadEvents()) {
    auto world = play(&bad.envelope);
    EXPECT_EQ(Sum(world->outcome().refusals), Sum(clean_outcome.refusals) + 1) << bad.name;
    EXPECT_EQ(LedgerDifference(clean_ledger, world->SortedLedger()), "") << bad.name;
    EXPECT_EQ(StateDifference(clean_rows, world->StateRows()), "") << bad.name;
  }
}

// ---- Canaries ------------------------------------------------------------------------------------------

// A pipeline with one wrong micro-credit, grant, account or reason must be detected.
TEST(Oracle, FindsEveryKindOfDifference) {
  GenerateOptions options = Eventful(9);
  options.results = 200;
  const Events events = Generate(options);
  const Outcome expected = RunOracle(events);
  const Outcome good = RunPipeline(events, 3).outcome;
  ASSERT_EQ(Differences(expected, good), "");
  const auto differs = [&](auto change) {
    Outcome bad = good;
    change(bad);
    return !Differences(expected, bad).empty();
  };
  const auto any_grant = std::next(good.grants.begin(), 50)->first;
  const auto any_account = std::next(good.accounts.begin(), 20)->first;
  EXPECT_TRUE(differs([&](Outcome& o) { o.grants[any_grant].micro += 1; }));
  EXPECT_TRUE(differs([&](Outcome& o) { o.grants[any_grant].user += 1; }));
  EXPECT_TRUE(differs([&](Outcome& o) { o.grants.erase(any_grant); }));
  EXPECT_TRUE(differs([&](Outcome& o) { o.grants[{1, 1'000'000'000}] = {}; }));
  EXPECT_TRUE(differs([&](Outcome& o) { o.granted_twice.push_back(any_grant); }));
  EXPECT_TRUE(differs([&](Outcome& o) { o.accounts[any_account].micro -= 1; }));
  EXPECT_TRUE(differs([&](Outcome& o) { o.accounts[any_account].grants += 1; }));
  EXPECT_TRUE(differs([&](Outcome& o) { o.accounts[any_account].apps.begin()->second.first += 1; }));
  EXPECT_TRUE(differs([&](Outcome& o) { o.accounts.erase(any_account); }));
  EXPECT_TRUE(differs([&](Outcome& o) { o.refusals["UNDECODABLE"] += 1; }));
}

TEST(Oracle, FindsAnInconsistentCreditNewLedger) {
  GenerateOptions options = Eventful(9);
  options.policies = {"creditnew"};
  options.apps = 1;
  const Played run = RunPipeline(Generate(options), 1);
  std::size_t checked = 0;
  ASSERT_EQ(CheckCreditNewLedger(run.ledger, &checked), "");
  ASSERT_GT(checked, 1000u);
  Events less = run.ledger;
  const auto victim = std::find_if(less.begin() + 100, less.end(), [](const std::string& record) {
    wire::GrantHead head;
    return wire::DecodeGrantHead(record, &head) && head.kind == wire::GrantKind::kFinal;
  });
  ASSERT_NE(victim, less.end());
  less.erase(victim);  // a sample that another claim has used is missing
  EXPECT_NE(CheckCreditNewLedger(less, &checked), "");
}

}  // namespace
}  // namespace cobblestone::testing
