// A client for months of simulated time: the seed's examples with numbers, what failed in BOINC's clients, and the page of the
// documentation.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/workfetch/examples.h"
#include "common/workfetch/simulation.h"
#include "services/workfetch/example_text.h"
#include "services/workfetch/timeline_svg.h"

namespace cobblestone::workfetch {
namespace {

constexpr std::size_t kGpu = 1;
constexpr std::size_t kA = 0;
constexpr std::size_t kB = 1;
constexpr std::size_t kC = 2;
constexpr double kHour = 3600;

// ---- The examples ------------------------------------------------------------------------------------------

struct Expected {
  const char* example;
  Variant variant;
  std::size_t project;
  std::size_t resource;
  double from_day;
  double to_day;
  double share;
};

void PrintTo(const Expected& e, std::ostream* out) {
  *out << e.example << " " << NameOf(e.variant) << " from day " << e.from_day;
}

class WorkFetchExample : public testing::TestWithParam<Expected> {};

TEST_P(WorkFetchExample, SharesTheResource) {
  const Expected& e = GetParam();
  const Example* example = FindExample(e.example);
  ASSERT_NE(example, nullptr);
  Scenario scenario = example->scenario;
  scenario.duration = e.to_day * kDay;
  const Outcome outcome = Simulate(scenario, e.variant);
  EXPECT_NEAR(outcome.Share(e.project, e.resource, e.from_day * kDay, e.to_day * kDay), e.share, 0.02);
}

constexpr Variant kSeed = Variant::kSeed;
constexpr Variant kRec = Variant::kRec;
constexpr Variant kHybrid = Variant::kHybrid;

INSTANTIATE_TEST_SUITE_P(
    S004, WorkFetchExample,
    testing::Values(
        // The seed fails its first example: A stops earning CPU debt at the longest CPU backoff.
        Expected{"1", kSeed, kA, kGpu, 0, 200, 0.50}, Expected{"1", kRec, kA, kGpu, 0, 200, 0.75},
        Expected{"1", kHybrid, kA, kGpu, 0, 200, 0.75}, Expected{"1", kHybrid, kB, kCpu, 0, 200, 1},
        Expected{"1a", kSeed, kA, kGpu, 0, 200, 0.50}, Expected{"1a", kRec, kA, kGpu, 0, 200, 0.73},
        Expected{"1a", kHybrid, kA, kGpu, 0, 200, 0.75},
        // REC forgets in ten days that A had the CPU for a year.
        Expected{"2", kSeed, kB, kCpu, 365, 730, 1}, Expected{"2", kSeed, kB, kCpu, 730, 930, 0.5},
        Expected{"2", kRec, kB, kCpu, 365, 374, 1}, Expected{"2", kRec, kB, kCpu, 385, 730, 0.5},
        Expected{"2", kHybrid, kB, kCpu, 365, 730, 1}, Expected{"2", kHybrid, kB, kCpu, 730, 930, 0.5},
        Expected{"2a", kSeed, kC, kCpu, 365, 366, 0.5}, Expected{"2a", kSeed, kC, kCpu, 365, 565, 0.5},
        Expected{"2a", kRec, kC, kCpu, 365, 366, 0.5}, Expected{"2a", kRec, kC, kCpu, 400, 565, 1.0 / 3},
        Expected{"2a", kHybrid, kC, kCpu, 365, 366, 0.5}, Expected{"2a", kHybrid, kC, kCpu, 365, 565, 0.5},
        // With REC, B catches up for ten days.
        Expected{"3", kSeed, kB, kGpu, 367, 565, 0.5}, Expected{"3", kRec, kB, kGpu, 367, 374, 1},
        Expected{"3", kRec, kB, kGpu, 400, 565, 0.5}, Expected{"3", kHybrid, kB, kGpu, 367, 565, 0.5},
        // The seed never asks B for GPU jobs again.
        Expected{"3a", kSeed, kB, kGpu, 365, 565, 0}, Expected{"3a", kRec, kB, kGpu, 400, 565, 0.25},
        Expected{"3a", kHybrid, kB, kGpu, 367, 377, 0.25},
        Expected{"3a", kHybrid, kB, kGpu, 365, 565, 0.25}));

// ---- What failed in BOINC's clients -------------------------------------------------------------------------

class WorkFetch : public testing::TestWithParam<Variant> {};

INSTANTIATE_TEST_SUITE_P(Variants, WorkFetch, testing::ValuesIn(kVariants),
                         [](const auto& variant) { return std::string(NameOf(variant.param)); });

App AppOf(std::size_t resource, double seconds, double instances = 1) {
  AppVersion version{.resource = resource, .estimate = seconds, .duration = seconds};
  version.usage[resource] = instances;
  return {.versions = {version}};
}

Participant ParticipantOf(std::string name, std::vector<App> apps) {
  return {.name = std::move(name), .server = {.apps = std::move(apps)}};
}

// A and B with CPU jobs of an hour on one CPU, for 40 days, with a buffer of half a day.
Scenario TwoProjects() {
  return {.resources = {{.name = "CPU"}},
          .preferences = {.connect_interval = 0.1 * kDay, .additional_work = 0.4 * kDay},
          .projects = {ParticipantOf("A", {AppOf(kCpu, kHour)}), ParticipantOf("B", {AppOf(kCpu, kHour)})},
          .duration = 40 * kDay};
}

std::size_t Requests(const Outcome& outcome, std::size_t project, double from, double to) {
  return static_cast<std::size_t>(
      std::count_if(outcome.requests.begin(), outcome.requests.end(), [&](const RequestRecord& record) {
        return record.request.project == project && record.at >= from && record.at < to;
      }));
}

TEST_P(WorkFetch, NeverAsksForNothing) {
  for (const Example& example : Examples()) {
    Scenario scenario = example.scenario;
    scenario.duration = std::min(scenario.duration, 20 * kDay);
    const Outcome outcome = Simulate(scenario, GetParam());
    EXPECT_FALSE(outcome.requests.empty());
    for (const RequestRecord& record : outcome.requests) {
      double seconds = 0;
      for (const double s : record.request.seconds) seconds += s;
      ASSERT_GE(seconds, 1) << example.id;
      ASSERT_GE(record.request.work_req_seconds, 1) << example.id;
    }
  }
}

// Bound: the buffer, one job per instance, and one job per project for starved projects.
TEST_P(WorkFetch, FetchIsFiniteIfJobsDoNotFillAGpu) {
  Scenario scenario = TwoProjects();
  scenario.resources.push_back({.name = "GPU", .speed = 2});
  scenario.projects[kB].server.apps.push_back(AppOf(kGpu, kHour, 0.6));
  const Outcome outcome = Simulate(scenario, GetParam());
  EXPECT_LE(outcome.longest_queue[kGpu], 0.5 * kDay + 3 * kHour);
  EXPECT_LE(outcome.longest_queue[kCpu], 0.5 * kDay + 3 * kHour);
  EXPECT_GT(outcome.Used(kB, kGpu, 0, 40 * kDay), 0.6 * 39 * kDay);
}

// A scheduler that answers a request for CPU jobs with GPU jobs caused fetch without end in 2009.
TEST_P(WorkFetch, FetchIsFiniteIfASchedulerSendsAnotherTypeThanAskedFor) {
  Client client{.variant = GetParam(), .resources = {{.name = "CPU"}, {.name = "GPU", .speed = 2}}};
  client.projects.emplace_back();
  int requests = 0;
  for (double now = 0; now < 10 * kDay; now += 60) {
    while (const auto request = ChooseRequest(client, SimulateRoundRobin(client), now)) {
      ASSERT_LT(++requests, 1000);
      Job job{.resource = kGpu, .usage = {0, 1}, .estimate = kDay, .duration = kDay, .remaining = kDay};
      ApplyReply(client, *request, {job}, now);
    }
  }
  // The CPU backoff doubles: about one request a day.
  EXPECT_LE(requests, 12 + 10);
}

TEST_P(WorkFetch, AQueueIsNoLongerThanTheBufferAndAJobPerInstanceAndProject) {
  for (const Example& example : Examples()) {
    if (example.id == "2" || example.id == "2a") continue;  // one job of a year
    Scenario scenario = example.scenario;
    scenario.duration = std::min(scenario.duration, 60 * kDay);
    const Outcome outcome = Simulate(scenario, GetParam());
    for (std::size_t r = 0; r < scenario.resources.size(); ++r) {
      double longest = 0;
      for (const Participant& project : scenario.projects)
        for (const App& app : project.server.apps)
          for (const AppVersion& version : app.versions)
            if (version.resource == r)
              longest = std::max(longest, version.estimate * version.usage[r] * scenario.cycle / scenario.on);
      const double instances = scenario.resources[r].instances;
      const double jobs = instances + static_cast<double>(scenario.projects.size());
      EXPECT_LE(outcome.longest_queue[r], scenario.preferences.buffer() + longest * jobs / instances)
          << example.id << " " << scenario.resources[r].name;
    }
  }
}

TEST_P(WorkFetch, AStarvedProjectIsAskedWithinTheLongestBackoffAndTheBuffer) {
  Scenario scenario = TwoProjects();
  scenario.projects[kB].server.apps[0].from = 20 * kDay;
  const Outcome outcome = Simulate(scenario, GetParam());
  const auto first = std::find_if(
      outcome.requests.begin(), outcome.requests.end(),
      [](const RequestRecord& record) { return record.request.project == kB && record.jobs[kCpu] > 0; });
  ASSERT_NE(first, outcome.requests.end());
  EXPECT_LE(first->at, 20 * kDay + kLongestBackoff + scenario.preferences.buffer());
  EXPECT_LE(Requests(outcome, kB, 2 * kDay, 20 * kDay), 19u) << "one request a day without jobs";
}

// Example 3a: B has CPU jobs, so it is not starved in the seed's sense, and never gets GPU jobs there.
TEST(WorkFetchProbe, TheProbeRuleFindsGpuJobsOfAProjectThatHasCpuJobs) {
  Scenario scenario = FindExample("3a")->scenario;
  scenario.projects[kB].server.apps[0].from = 20 * kDay;
  scenario.duration = 40 * kDay;
  const auto asked = [&](Variant variant) {
    const Outcome outcome = Simulate(scenario, variant);
    return std::any_of(outcome.requests.begin(), outcome.requests.end(), [](const RequestRecord& record) {
      return record.jobs[kGpu] > 0 && record.request.project == kB &&
             record.at <= 20 * kDay + kLongestBackoff + kHour;
    });
  };
  EXPECT_TRUE(asked(Variant::kHybrid));
  EXPECT_FALSE(asked(Variant::kSeed));
}

// Debts froze while the network was off (BOINC issue 136): one project took all CPUs.
TEST_P(WorkFetch, SharesHoldOverATimeWithoutNetwork) {
  Scenario scenario = TwoProjects();
  scenario.preferences.additional_work = 2 * kDay;
  scenario.events = {{.at = 10 * kDay, .kind = Event::Kind::kNetworkOff},
                     {.at = 11.5 * kDay, .kind = Event::Kind::kNetworkOn},
                     {.at = 15 * kDay, .kind = Event::Kind::kNetworkOff},
                     {.at = 25 * kDay, .kind = Event::Kind::kNetworkOn}};
  const Outcome outcome = Simulate(scenario, GetParam());
  EXPECT_EQ(Requests(outcome, kA, 10 * kDay, 11.5 * kDay) + Requests(outcome, kB, 10 * kDay, 11.5 * kDay),
            0u);
  EXPECT_EQ(Requests(outcome, kA, 15 * kDay, 25 * kDay) + Requests(outcome, kB, 15 * kDay, 25 * kDay), 0u);
  EXPECT_GT(Requests(outcome, kA, 25 * kDay, 25.1 * kDay) + Requests(outcome, kB, 25 * kDay, 25.1 * kDay),
            0u);
  EXPECT_NEAR(outcome.Share(kB, kCpu, 0, 40 * kDay), 0.5, 0.02);
  EXPECT_NEAR(outcome.Share(kB, kCpu, 26 * kDay, 40 * kDay), 0.5, 0.05);
}

TEST_P(WorkFetch, ASuspendedProjectNeitherRunsNorSavesUp) {
  Scenario scenario = TwoProjects();
  scenario.events = {{.at = 10 * kDay, .kind = Event::Kind::kSuspend, .project = kB},
                     {.at = 20 * kDay, .kind = Event::Kind::kResume, .project = kB}};
  const Outcome outcome = Simulate(scenario, GetParam());
  EXPECT_EQ(outcome.Used(kB, kCpu, 10 * kDay, 20 * kDay), 0);
  EXPECT_NEAR(outcome.Used(kA, kCpu, 10 * kDay, 20 * kDay), 10 * kDay, kHour);
  EXPECT_EQ(Requests(outcome, kB, 10 * kDay, 20 * kDay), 0u);
  // REC knows no suspension: B's average decays, and B catches up.
  EXPECT_NEAR(outcome.Share(kB, kCpu, 21 * kDay, 40 * kDay), GetParam() == Variant::kRec ? 0.64 : 0.5, 0.03);
}

TEST_P(WorkFetch, NoMoreWorkLetsQueuedJobsEnd) {
  Scenario scenario = TwoProjects();
  scenario.events = {{.at = 10 * kDay, .kind = Event::Kind::kNoMoreWork, .project = kB},
                     {.at = 20 * kDay, .kind = Event::Kind::kAllowWork, .project = kB}};
  const Outcome outcome = Simulate(scenario, GetParam());
  EXPECT_EQ(Requests(outcome, kB, 10 * kDay, 20 * kDay), 0u);
  EXPECT_EQ(outcome.Used(kB, kCpu, 12 * kDay, 20 * kDay), 0);
  EXPECT_GT(Requests(outcome, kB, 20 * kDay, 21 * kDay), 0u);
}

TEST_P(WorkFetch, AResetDropsJobsAndBackoffsAndWinsNothing) {
  Scenario scenario = TwoProjects();
  scenario.projects[kB].server.apps[0].from = 10 * kDay;
  // Ten minutes after a request without jobs, at the start of a backoff of a day.
  double reset = 0;
  for (const RequestRecord& record : Simulate(scenario, GetParam()).requests)
    if (record.request.project == kB && record.at < 9 * kDay) reset = record.at + 600;
  for (double at = reset; at < 40 * kDay; at += kDay)
    scenario.events.push_back({.at = at, .kind = Event::Kind::kReset, .project = kB});
  const Outcome outcome = Simulate(scenario, GetParam());
  EXPECT_GT(Requests(outcome, kB, reset, reset + scenario.preferences.buffer()), 0u);
  EXPECT_LE(outcome.Share(kB, kCpu, 20 * kDay, 40 * kDay), 0.52);
  EXPECT_GE(outcome.Share(kB, kCpu, 20 * kDay, 40 * kDay), 0.45);
}

// Schedulers that ignored the CPUs of such jobs filled four CPUs with four times too many (BOINC issue 4151).
TEST_P(WorkFetch, JobsOfSeveralThreadsGetTheirShareAndFillTheBufferOnce) {
  Scenario scenario = TwoProjects();
  scenario.resources[kCpu].instances = 4;
  scenario.projects[kB].server.apps = {AppOf(kCpu, kHour, 4)};
  const Outcome outcome = Simulate(scenario, GetParam());
  EXPECT_NEAR(outcome.Share(kB, kCpu, 0, 40 * kDay), 0.5, 0.03);
  EXPECT_LE(outcome.longest_queue[kCpu], 0.5 * kDay + 3 * kHour);
  EXPECT_LE(outcome.metrics.idle, 0.02);
}

TEST_P(WorkFetch, AHostThatIsOnForTwoPercentOfTheTimeKeepsSharesAndDeadlines) {
  Scenario scenario = TwoProjects();
  scenario.on = 0.02 * kDay;
  scenario.duration = 400 * kDay;
  for (Participant& project : scenario.projects) project.server.apps[0].latency_bound = 14 * kDay;
  const Outcome outcome = Simulate(scenario, GetParam());
  EXPECT_NEAR(outcome.Share(kB, kCpu, 0, 400 * kDay), 0.5, 0.03);
  EXPECT_EQ(outcome.metrics.wasted, 0);
  EXPECT_LE(outcome.metrics.idle, 0.01);
  // A job lasts 50 hours of wall time: more than the buffer.
  EXPECT_LE(outcome.longest_queue[kCpu], 0.5 * kDay + 3 * 50 * kHour);
}

TEST_P(WorkFetch, FiftyProjectsShareAHost) {
  Scenario scenario = TwoProjects();
  scenario.resources[kCpu].instances = 4;
  scenario.projects.clear();
  for (int p = 0; p < 50; ++p)
    scenario.projects.push_back(ParticipantOf("P" + std::to_string(p), {AppOf(kCpu, kHour)}));
  const Outcome outcome = Simulate(scenario, GetParam());
  // An average of ten days says little at the start.
  const double tolerance = GetParam() == Variant::kRec ? 0.01 : 0.005;
  for (std::size_t p = 0; p < 50; ++p)
    EXPECT_NEAR(outcome.Share(p, kCpu, 0, 40 * kDay), 0.02, tolerance) << p;
  // Half a day of one-hour jobs on four CPUs, one per instance, and one per project.
  EXPECT_LE(outcome.most_steps, 48u + 4 + 50 + 1);
}

TEST_P(WorkFetch, TheSameScenarioGivesTheSameOutcome) {
  Scenario scenario = FindExample("4")->scenario;
  scenario.duration = 10 * kDay;
  const Outcome first = Simulate(scenario, GetParam());
  const Outcome second = Simulate(scenario, GetParam());
  EXPECT_EQ(first.used, second.used);
  EXPECT_EQ(first.requests.size(), second.requests.size());
}

// ---- The page and the pictures ------------------------------------------------------------------------------

std::string FileText(const std::string& path) {
  std::ifstream file(std::string(COBBLESTONE_SOURCE_DIR) + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class WorkFetchPage : public testing::TestWithParam<const char*> {};

// Repair: run `cobblestone fleet example N --svg docs/images/work-fetch-N.svg` and copy its output.
TEST_P(WorkFetchPage, ShowsTheOutputAndThePictureOfTheCommand) {
  const Example& example = *FindExample(GetParam());
  const auto outcomes = RunExample(example, {kVariants.begin(), kVariants.end()});
  EXPECT_NE(FileText("docs/work-fetch.md").find(ExampleText(example, outcomes)), std::string::npos)
      << ExampleText(example, outcomes);
  const std::string picture = "docs/images/work-fetch-" + example.id + ".svg";
  EXPECT_TRUE(FileText(picture) == TimelineSvg(example, outcomes)) << picture;
  const auto json = ExampleJson(example, outcomes);
  for (const VariantOutcome& o : outcomes) {
    const auto& variant = json["variants"][std::string(NameOf(o.variant))];
    EXPECT_EQ(variant["metrics"]["idle"], o.outcome.metrics.idle);
    EXPECT_EQ(variant["goals"].size(), example.goals.size());
    if (o.variant != Variant::kHybrid) continue;
    for (const auto& goal : variant["goals"]) EXPECT_EQ(goal["met"], true) << goal;
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, WorkFetchPage, testing::Values("1", "1a", "2", "2a", "3", "3a", "4"));

}  // namespace
}  // namespace cobblestone::workfetch
