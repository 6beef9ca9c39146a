// Account managers' reports through the whole pipeline, compared with an independent computation: to the micro-credit
// and the microsecond, for any number of partitions, in any order, with any cheating.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/ledger/grant_codec.h"
#include "tests/support/estimate_events.h"
#include "tests/support/free_world.h"
#include "tests/support/job_events.h"
#include "tests/support/like_the_oracle.h"
#include "tests/support/seeds.h"

namespace cobblestone::testing {

using pipeline::PipelineSlot;
using traffic::GenerateOptions;

namespace {

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;
constexpr std::int64_t kMicro = 1'000'000;

GenerateOptions Ordinary(std::uint64_t seed, std::uint64_t users = 0) {
  GenerateOptions options = Eventful(seed);
  options.users = users;
  options.results = 700;
  options.hosts = 40;
  options.owner_changes = 1;
  return options;
}

// Traffic of `users` users; `add_events` adds events in the middle.
Events Traffic(std::uint64_t seed, std::uint64_t users = 0,
               const std::function<void(Events&)>& add_events = {}) {
  const GenerateOptions options = Ordinary(seed, users);
  const double span = options.span > 0 ? options.span : kDay;
  const Events results = Generate(options);
  std::map<std::uint64_t, std::uint64_t> owners;
  for (const std::string& envelope : results)
    if (const auto event = wire::ParseEvent(envelope); event.ok())
      if (const auto* host = std::get_if<wire::HostMember>(&event->body))
        owners.emplace(host->host.value, host->user.value);
  Events events;
  MixIn(
      results,
      EstimateEvents({.seed = seed,
                      .start = options.start_time,
                      .span = span,
                      .projects = {1, 2},
                      .machines = 30,
                      .hosts = 40,
                      .users = 15,
                      .owners = owners}),
      [](const std::string& envelope) -> std::string_view { return envelope; },
      [&](const std::string& envelope) {
        events.push_back(envelope);
        if (add_events) add_events(events);
      });
  // The other project has an app, so that its time advances.
  events.insert(events.begin(),
                wire::EncodeEvent({.head = {.id = 7, .project = ProjectId(2), .time = options.start_time},
                                   .body = wire::AppChange{.app = AppId(1), .policy = "assigned"}}));
  // In every other run project 2 keeps time for a shorter period than project 1.
  if (seed % 2 == 0) {
    wire::SettingsChange settings;
    settings.estimates.saved_time = span / 8;
    events.insert(events.begin(),
                  wire::EncodeEvent({.head = {.id = 8, .project = ProjectId(2), .time = options.start_time},
                                     .body = settings}));
  }
  for (const std::uint32_t project : {1u, 2u})
    events.push_back(wire::EncodeEvent(
        {.head = {.id = 1u << 30, .project = ProjectId(project), .time = options.start_time + 200 * kDay},
         .body = wire::Tick{.time = options.start_time + 200 * kDay}}));
  return events;
}

struct Bounds {
  std::uint64_t records = 0;
  std::uint64_t cut = 0;
  std::uint64_t restarted = 0;
};

Bounds BoundsOf(const Events& ledger) {
  Bounds bounds;
  for (const std::string& record : ledger) {
    wire::Grant grant;
    EXPECT_TRUE(wire::DecodeGrant(record, &grant));
    if (grant.head.kind != wire::GrantKind::kEstimate) continue;
    ++bounds.records;
    EXPECT_EQ(grant.head.credit_micro, 0);
    EXPECT_LE(grant.estimate->allowed_micro, grant.estimate->asked_micro);
    bounds.cut += grant.estimate->allowed_micro < grant.estimate->asked_micro ? 1 : 0;
    bounds.restarted += (grant.estimate->bounds & credit::kEstimateRestarted) != 0 ? 1 : 0;
  }
  return bounds;
}

class EstimateSeeds : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, EstimateSeeds, ::testing::ValuesIn(Seeds({1, 2, 3, 4, 5, 6, 7, 8})));

TEST_P(EstimateSeeds, AcceptedReportsEqualTheOracle) {
  const Played run = ExpectLikeTheOracle(Traffic(GetParam()));
  const Bounds bounds = BoundsOf(run.ledger);
  EXPECT_GT(bounds.records, 200u);
  EXPECT_GT(bounds.cut, UsesOwnSeeds() ? 40u : 15u);
  EXPECT_GT(bounds.restarted, 5u);
  std::size_t granted = 0;
  for (const auto& [key, one] : run.outcome.estimates) granted += one.granted > 0 ? 1 : 0;
  EXPECT_GT(granted, 5u);
  for (const char* reason : {"WRONG_HOST", "UNKNOWN_HOST", "DUPLICATE_WITH_OTHER_CONTENTS", "MISSING_FIELD",
                             "OUT_OF_RANGE", "NEGATIVE", "NOT_FINITE"})
    EXPECT_GT(run.outcome.refusals.count(reason), 0u) << reason;
}

TEST_P(EstimateSeeds, MergedHostsKeepTheirEstimates) {
  std::mt19937_64 random(GetParam());
  std::uint64_t id = 1u << 29;
  const Events events = Traffic(GetParam(), 4, [&](Events& all) {
    if (random() % 20 != 0) return;
    all.push_back(wire::EncodeEvent(
        {.head = {.id = ++id, .project = ProjectId(1), .time = kStart},
         .body = wire::HostMerge{.host = HostId(1 + random() % 42), .into = HostId(1 + random() % 40)}}));
  });
  const Played run = ExpectLikeTheOracle(events);
  std::set<EstimateKey> went;
  for (const std::string& record : run.ledger) {
    wire::GrantHead head;
    ASSERT_TRUE(wire::DecodeGrantHead(record, &head));
    const EstimateKey key{head.project.value, head.user.value, head.host.value};
    if (head.kind == wire::GrantKind::kEstimate && !run.outcome.estimates.contains(key)) went.insert(key);
  }
  EXPECT_GT(went.size(), UsesOwnSeeds() ? 2u : 1u)
      << "no host with estimates was merged, so the test proves nothing";
}

TEST_P(EstimateSeeds, ReportsDoNotChangeTheLedger) {
  const Played without = RunPipeline(Generate(Ordinary(GetParam())), 3);
  const Played with = RunPipeline(Traffic(GetParam()), 3);
  // The last tick lets more events expire; grants up to then are equal.
  for (const auto& [key, grant] : without.outcome.grants) {
    const auto same = with.outcome.grants.find(key);
    ASSERT_NE(same, with.outcome.grants.end());
    EXPECT_EQ(same->second.micro, grant.micro);
  }
}

TEST_P(EstimateSeeds, TheSumsDoNotDependOnTheOrderOfReading) {
  const Events events = Traffic(GetParam());
  for (const std::uint32_t partitions : {1u, 3u, 8u}) {
    FreeWorld world(partitions, GetParam() * 7 + partitions);
    // The time of grants depends on the order of reading; the reports do not.
    Events reports;
    for (const std::string& event : events) {
      const auto routing = wire::PeekRouting(event);
      if (!routing || routing->key != wire::KeyKind::kMachine) continue;
      reports.push_back(event);
    }
    Events app;
    for (const std::uint32_t project : {1u, 2u})
      app.push_back(wire::EncodeEvent({.head = {.id = 9, .project = ProjectId(project), .time = kStart},
                                       .body = wire::AppChange{.app = AppId(1), .policy = "assigned"}}));
    world.Add(app);
    world.RunUntilIdle();
    world.Add(reports);
    world.RunUntilIdle();
    Events all = app;
    all.insert(all.end(), reports.begin(), reports.end());
    const Outcome expected = RunOracle(all);
    EXPECT_EQ(GrantDifferences(expected, world.outcome()), "") << partitions << " partitions";
    EXPECT_GT(expected.estimates.size(), 20u);
  }
}

// ---- Stories ---------------------------------------------------------------------------------------------

// Two projects with one machine (number 1), which is host 1 of user 1 in both.
TEST(GeneratedMachines, EqualTheOracle) {
  Events events;
  for (const std::uint32_t project : {1u, 2u}) {
    GenerateOptions options = Ordinary(4);
    options.project = project;
    options.machines = 0.6;
    options.reports = 12;
    options.bad_reports = 0.4;
    const Events one = Generate(options);
    events.insert(events.end(), one.begin(), one.end());
  }
  const Played run = ExpectLikeTheOracle(events);
  const Bounds bounds = BoundsOf(run.ledger);
  EXPECT_GT(bounds.records, 200u);
  EXPECT_GT(bounds.cut, 20u);
  EXPECT_GT(bounds.restarted, 5u);
  for (const char* reason : {"WRONG_HOST", "NEGATIVE"})
    EXPECT_GT(run.outcome.refusals.count(reason), 0u) << reason;
}

class EstimateStory : public ::testing::Test {
 protected:
  EstimateStory() {
    for (const std::uint32_t project : {1u, 2u}) {
      Send(0, project, wire::AppChange{.app = AppId(1), .policy = "assigned"});
      for (const std::uint64_t user : {1u, 2u}) Send(0, project, wire::UserMember{.user = UserId(user)});
      Send(0, project, wire::HostMember{.host = HostId(1), .user = UserId(1), .whetstone = 1e9, .cpus = 1});
    }
  }
  void Send(double day, std::uint32_t project, wire::EventBody body) {
    events_.push_back(
        wire::EncodeEvent({.head = {.id = ++id_, .project = ProjectId(project), .time = kStart + day * kDay},
                           .body = std::move(body)}));
  }
  void Joins(double day, std::uint32_t project, std::uint64_t user = 1, std::uint64_t host = 1,
             bool gone = false) {
    Send(day, project,
         wire::MachineHost{.machine = 1, .host = HostId(host), .user = UserId(user), .gone = gone});
  }
  // For one CPU of 1 GFLOPS: 200 Cobblestones a day.
  void Reports(double day, std::uint32_t project, double credit, double run_time = 0, std::uint64_t host = 1,
               double failed_time = 0, double cpus = 1) {
    wire::EstimatedCredit report{.host = HostId(host),
                                 .counters = {},
                                 .machine = 1,
                                 .cpus = cpus,
                                 .cpu_flops = 1e9,
                                 .gpus = 0,
                                 .gpu_flops = 0};
    report.counters.push_back({.resource = credit::Resource::kCpu,
                               .credit = credit,
                               .run_time = run_time,
                               .jobs = failed_time > 0 ? 1u : 0u,
                               .failed_jobs = failed_time > 0 ? 1u : 0u,
                               .failed_run_time = failed_time});
    Send(day, project, report);
  }
  void Granted(double day, std::uint64_t result, double credit) {
    wire::Completion completion = CompletionOf(result, 1, result, kStart + day * kDay);
    completion.facts.elapsed_time = 100;
    completion.facts.peak_flops = 1e9;
    Send(day, 1, completion);
    Send(day, 1, ValidationOf(result, 1, result, credit));
    Send(day, 1, wire::Barrier{.ends_period = true});
  }
  Played Play() { return ExpectLikeTheOracle(events_); }
  static EstimateOutcome Of(const Played& run, std::uint64_t user, std::uint32_t project = 1) {
    const auto found = run.outcome.estimates.find({project, user, 1});
    return found == run.outcome.estimates.end() ? EstimateOutcome{} : found->second;
  }
  // "estimated open shown" of user 1 at project 1, after all events so far.
  std::string Shown() {
    LockstepWorld world(3);
    world.Add(events_);
    world.Finish();
    std::string text;
    for (PipelineSlot& slot : world.slots()) {
      if (slot.stages.accounts == nullptr) continue;
      slot.stages.accounts->user_estimates().ForEach(
          [&](const stream::Key& key, const credit::UserEstimates& user) {
            if (key.project != 1 || key.id != 1) return;
            const auto whole = [](credit::MicroTotal micro) {
              return std::to_string(static_cast<long long>(micro / kMicro));
            };
            text = whole(user.sums.micro) + " " + whole(user.open) + " " + whole(user.shown);
          });
    }
    return text;
  }

  Events events_;

 private:
  std::uint64_t id_ = 100;
};

TEST_F(EstimateStory, GrantsWithoutAnOwnerSettleEstimatesAfterMoves) {
  Send(0, 1, wire::HostMember{.host = HostId(2), .user = UserId(), .whetstone = 1e9, .cpus = 1});
  Joins(0, 1, 0, 2);
  Reports(1, 1, 100, 0, 2);
  wire::Completion completion = CompletionOf(7, 2, 7, kStart + 2 * kDay);
  completion.facts.elapsed_time = 100;
  completion.facts.peak_flops = 1e9;
  Send(2, 1, completion);
  Send(2, 1, ValidationOf(7, 2, 7, 60));
  Send(2, 1, wire::HostMember{.host = HostId(2), .user = UserId(1), .whetstone = 1e9, .cpus = 1});
  Send(2, 1, wire::Barrier{.ends_period = true});
  const Played run = Play();
  EXPECT_TRUE(run.outcome.estimates.at({1, 0, 2}).granted == 60 * kMicro);
}

TEST_F(EstimateStory, ReportsOfSeveralProjectsAtOnceShareTheMachinesLimit) {
  Joins(0, 1);
  Joins(0, 2);
  Reports(1, 1, 150);
  Reports(1, 2, 150);
  const Played run = Play();
  EXPECT_TRUE(Of(run, 1, 1).micro == 150 * kMicro);
  EXPECT_TRUE(Of(run, 1, 2).micro == 50 * kMicro);
}

// Project 2's report says that the machine has ten CPUs; project 1 says so only in its second report.
TEST_F(EstimateStory, AnExcessIsAcceptedOnceALargerSizeIsReported) {
  Joins(0, 1);
  Joins(0, 2);
  Reports(1, 1, 150);
  Reports(1, 2, 150);
  Reports(1, 2, 150, 0, 1, 0, 10);
  Reports(1.5, 1, 1000);
  Reports(1.5, 1, 1000, 0, 1, 0, 10);
  const Played run = Play();
  EXPECT_TRUE(Of(run, 1, 1).micro == 1000 * kMicro);
  EXPECT_TRUE(Of(run, 1, 2).micro == 150 * kMicro);
  // A record for each report with new work, and one for each report that was accepted late.
  EXPECT_EQ(BoundsOf(run.ledger).records, 5u);
}

// Its host belongs to another user by then; the event of the move arrived late.
TEST_F(EstimateStory, LateAcceptedWorkGoesToTheOwnerOfItsTime) {
  Joins(0, 1);
  Joins(0, 2);
  Reports(1, 1, 150);
  Reports(1, 2, 150);
  Joins(0.5, 2, 2);
  Reports(1, 1, 150, 0, 1, 0, 10);
  const Played run = Play();
  EXPECT_TRUE(Of(run, 1, 2).micro == 50 * kMicro);
  EXPECT_TRUE(Of(run, 2, 2).micro == 100 * kMicro);
}

TEST_F(EstimateStory, AReportBeforeItsMachineIsKnownWaits) {
  Reports(1, 1, 150);
  Joins(0, 1);
  EXPECT_TRUE(Of(Play(), 1).micro == 150 * kMicro);
}

TEST_F(EstimateStory, AReportOfAnUnknownMachineExpires) {
  Reports(1, 1, 150);
  Send(31.5, 1, wire::Tick{.time = kStart + 31.5 * kDay});
  const Played run = Play();
  EXPECT_TRUE(run.outcome.estimates.empty());
  EXPECT_EQ(run.outcome.refusals.at("UNKNOWN_HOST"), 1u);
}

TEST_F(EstimateStory, AReportOfAnotherOrRemovedHostIsRefused) {
  Joins(0, 1);
  Reports(1, 1, 150, 0, 2);
  Joins(2, 1, 1, 1, true);
  Reports(3, 1, 160);
  Reports(1.5, 1, 100);  // sent while the host was still there
  const Played run = Play();
  EXPECT_EQ(run.outcome.refusals.at("WRONG_HOST"), 1u);
  EXPECT_EQ(run.outcome.refusals.at("UNKNOWN_HOST"), 1u);
  EXPECT_TRUE(Of(run, 1).micro == 100 * kMicro);
}

TEST_F(EstimateStory, AfterAChangeOfOwnerTheNewOwnerGetsLaterWork) {
  Joins(0, 1);
  Reports(1, 1, 100);
  Joins(1.5, 1, 2);
  Reports(2, 1, 250);
  Reports(1.2, 1, 120);  // too late to be attributed: the counters have advanced
  const Played run = Play();
  EXPECT_TRUE(Of(run, 1).micro == 100 * kMicro);
  EXPECT_TRUE(Of(run, 2).micro == 150 * kMicro);
}

TEST_F(EstimateStory, ANewNumberOfTheHostContinuesItsCounters) {
  Joins(0, 1);
  Reports(1, 1, 100);
  Joins(1.5, 1, 1, 2);
  Reports(2, 1, 150, 0, 2);
  const Played run = Play();
  EXPECT_TRUE(Of(run, 1).micro == 100 * kMicro);
  EXPECT_TRUE((run.outcome.estimates.at({1, 1, 2}).micro == 50 * kMicro));
}

// Host 2 is merged into host 1: daily reports over several months, from two owners, with reports and grants under
// both numbers.
TEST_F(EstimateStory, EstimatesOfAMergedHostBelongToItsHeir) {
  Send(0, 1, wire::HostMember{.host = HostId(2), .user = UserId(1), .whetstone = 1e9, .cpus = 1});
  double credit = 0;
  double day = 1;
  const auto report_until = [&](double end, std::uint64_t host) {
    for (; day < end; ++day) Reports(day, 1, credit += 10, 0, host);
  };
  Joins(0, 1, 2, 2);
  report_until(60, 2);
  Joins(day, 1, 1, 2);
  report_until(140, 2);
  Joins(day, 1, 1, 1);
  report_until(210, 1);
  Granted(day, 50, 5);
  Joins(day, 1, 1, 2);
  report_until(220, 2);
  Send(day, 1, wire::HostMerge{.host = HostId(2), .into = HostId(1)});
  Send(day, 1, wire::Barrier{.ends_period = true});
  report_until(230, 2);
  EXPECT_EQ(Shown(), "1700 1695 1700");
  Granted(day, 51, 1000);
  Joins(day, 1, 1, 1);
  report_until(270, 1);
  EXPECT_EQ(Shown(), "2100 1095 2100");
  const Played run = Play();
  EXPECT_TRUE(Of(run, 1).micro == 2100 * kMicro);
  EXPECT_EQ(Of(run, 1).days.size(), 210u);
  EXPECT_TRUE(Of(run, 1).granted == 1005 * kMicro);
  EXPECT_FALSE(run.outcome.estimates.contains({1, 1, 2}));
  EXPECT_TRUE((run.outcome.estimates.at({1, 2, 2}).micro == 590 * kMicro))
      << "that work was for another owner";
}

TEST_F(EstimateStory, FailedJobsCountTheirRunTime) {
  Joins(0, 1);
  Reports(1, 1, 100, 43200, 1, 40000);
  const EstimateOutcome host = Of(Play(), 1);
  EXPECT_TRUE(host.run_time == 43200 * kMicro);
  EXPECT_TRUE(host.failed_run_time == 40000 * kMicro);
  EXPECT_EQ(host.failed_jobs, 1u);
  ASSERT_EQ(host.days.size(), 1u);
  EXPECT_EQ(host.days.begin()->second.failed_jobs, 1u);
  EXPECT_TRUE(host.days.begin()->second.failed_run_time == 40000 * kMicro);
}

TEST_F(EstimateStory, WorkAfterAMonthOfSilenceIsAccepted) {
  Joins(0, 1);
  Reports(1, 1, 200);
  Reports(31, 1, 31 * 200);
  EXPECT_TRUE(Of(Play(), 1).micro == 31 * 200 * kMicro);
}

TEST_F(EstimateStory, GrantsSettleEstimatesAndTheShownTotalNeverFalls) {
  Joins(0, 1);
  Reports(1, 1, 100);
  EXPECT_EQ(Shown(), "100 100 100");
  Granted(1.5, 50, 30);
  EXPECT_EQ(Shown(), "100 70 100");
  Granted(1.6, 51, 90);  // more than the estimate
  EXPECT_EQ(Shown(), "100 0 120");
  Reports(2, 1, 110);
  EXPECT_EQ(Shown(), "110 0 120") << "grants exceed the estimates by 20";
  Reports(3, 1, 150);
  EXPECT_EQ(Shown(), "150 30 150");
  const Played run = Play();
  EXPECT_TRUE(Of(run, 1).granted == 120 * kMicro);
  EXPECT_TRUE((run.outcome.accounts.at({1, OracleAccountKind::kUser, 1}).micro == 120 * kMicro))
      << "an estimate is not credit";
}

TEST_F(EstimateStory, GrantsBeforeTheFirstEstimateSettleNothing) {
  Granted(0.5, 50, 30);
  Joins(0.6, 1);
  Reports(1, 1, 50);
  EXPECT_EQ(Shown(), "50 50 80");
  static_cast<void>(Play());
}

TEST_F(EstimateStory, EachProjectHasItsOwnLimits) {
  Send(0, 1, wire::SettingsChange{.estimates = {.cpus = 0.5, .cpu_flops = {}, .gpus = {}, .gpu_flops = {}}});
  Joins(0, 1);
  Reports(1, 1, 150);
  EXPECT_TRUE(Of(Play(), 1).micro == 100 * kMicro);
}

// Project 1 keeps time for three days, project 2 for two months; the machine belongs to both from the start.
TEST_F(EstimateStory, EachProjectSetsItsKeptTime) {
  Send(0, 1, wire::SettingsChange{.estimates = {.saved_time = 3 * kDay}});
  Joins(0, 1);
  Joins(0, 2);
  Reports(40, 1, 10'000);
  Reports(40, 2, 10'000);
  const Played run = Play();
  EXPECT_TRUE(Of(run, 1, 1).micro == 3 * 200 * kMicro);
  EXPECT_TRUE(Of(run, 1, 2).micro == 37 * 200 * kMicro);
}

TEST_F(EstimateStory, AnInvalidTimeLimitIsRefused) {
  Send(0, 1, wire::SettingsChange{.estimates = {.saved_time = -1}});
  Joins(0, 1);
  Reports(1, 1, 150);
  const Played run = Play();
  EXPECT_EQ(run.outcome.refusals.at("NEGATIVE"), 1u);
  EXPECT_TRUE(Of(run, 1).micro == 150 * kMicro);
}

// Canary: the comparison with the oracle must find the difference.
TEST_F(EstimateStory, ADifferenceOfOneMicrosecondOrMicroCreditIsFound) {
  Joins(0, 1);
  Reports(1, 1, 100, 43200);
  const Outcome expected = RunOracle(events_);
  for (const auto& change : std::vector<std::function<void(EstimateOutcome&)>>{
           [](EstimateOutcome& o) { o.micro += 1; }, [](EstimateOutcome& o) { o.run_time += 1; },
           [](EstimateOutcome& o) { o.granted += 1; }, [](EstimateOutcome& o) { o.days.clear(); },
           [](EstimateOutcome& o) { o.days.begin()->second.failed_jobs += 1; },
           [](EstimateOutcome& o) { o.days.begin()->second.failed_run_time += 1; }}) {
    Outcome other = expected;
    change(other.estimates.begin()->second);
    EXPECT_NE(Differences(expected, other), "");
  }
}

}  // namespace
}  // namespace cobblestone::testing
