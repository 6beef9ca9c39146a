// The rules of work fetch, one at a time: backoff, round-robin simulation, debts and REC, the choice of a request, the scheduler.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "common/workfetch/accounting.h"
#include "common/workfetch/backoff.h"
#include "common/workfetch/choice.h"
#include "common/workfetch/client.h"
#include "common/workfetch/job_scheduler.h"
#include "common/workfetch/metrics.h"
#include "common/workfetch/round_robin.h"
#include "common/workfetch/server.h"

namespace cobblestone::workfetch {
namespace {

constexpr std::size_t kGpu = 1;
constexpr double kHour = 3600;

// Projects A, B, ... with equal shares, one CPU, and one GPU that is twice as fast.
Client ClientOf(std::size_t projects, Variant variant = Variant::kSeed) {
  Client client{.variant = variant, .resources = {{.name = "CPU"}, {.name = "GPU", .speed = 2}}};
  for (std::size_t p = 0; p < projects; ++p) {
    client.projects.emplace_back();
    client.projects.back().name = std::string(1, static_cast<char>('A' + p));
  }
  return client;
}

Job JobOf(std::size_t project, std::size_t resource, double seconds, double instances = 1) {
  Job job{.project = project,
          .resource = resource,
          .estimate = seconds,
          .duration = seconds,
          .remaining = seconds};
  job.usage[resource] = instances;
  return job;
}

std::optional<WorkRequest> Choose(const Client& client, double now = 0) {
  return ChooseRequest(client, SimulateRoundRobin(client), now);
}

void BackOff(Backoff& backoff, int times, double now) {
  for (int i = 0; i < times; ++i) backoff.NoJobs(now);
}

TEST(WorkFetchBackoff, DoublesFromAMinuteToADayAndIsClearedByAJob) {
  Backoff backoff;
  std::vector<double> intervals;
  for (int i = 0; i < 13; ++i) {
    backoff.NoJobs(1000);
    intervals.push_back(backoff.interval());
  }
  EXPECT_EQ(intervals, (std::vector<double>{60, 120, 240, 480, 960, 1920, 3840, 7680, 15360, 30720, 61440,
                                            86400, 86400}));
  EXPECT_TRUE(backoff.AtLongest());
  EXPECT_TRUE(backoff.Active(1000 + 86399));
  EXPECT_FALSE(backoff.Active(1000 + 86400));
  backoff.Clear();
  EXPECT_FALSE(backoff.Active(1000));
  EXPECT_EQ(backoff.interval(), 0);
}

TEST(RoundRobin, CountsIdleInstanceSecondsWithinTheBuffer) {
  Client client = ClientOf(1);
  client.resources[kCpu].instances = 2;
  client.preferences = {.connect_interval = kHour, .additional_work = 3 * kHour};
  client.jobs = {JobOf(0, kCpu, kHour), JobOf(0, kCpu, 2 * kHour)};
  const RoundRobin queue = SimulateRoundRobin(client);
  // One CPU is idle from hour 1 to 4, the other from 2 to 4; the GPU all the time.
  EXPECT_DOUBLE_EQ(queue.shortfall[kCpu], 5 * kHour);
  EXPECT_DOUBLE_EQ(queue.shortfall[kGpu], 4 * kHour);
  EXPECT_EQ(queue.idle_now[kCpu], 0);
  EXPECT_EQ(queue.idle_now[kGpu], 1);
  EXPECT_DOUBLE_EQ(queue.saturated[kCpu], kHour);
  EXPECT_EQ(queue.saturated[kGpu], 0);
}

TEST(RoundRobin, SharesTheCpusByResourceShare) {
  Client client = ClientOf(2);
  client.projects[0].share = 300;
  client.jobs = {JobOf(0, kCpu, 3 * kHour), JobOf(1, kCpu, 3 * kHour)};
  const RoundRobin queue = SimulateRoundRobin(client);
  // A runs with 3/4 of the CPU for 4 hours. B has had one hour by then and needs two more.
  EXPECT_NEAR(queue.end[0], 4 * kHour, 1e-3);
  EXPECT_NEAR(queue.end[1], 6 * kHour, 1e-3);
}

TEST(RoundRobin, CoprocessorsRunJobsInOrderOfArrival) {
  Client client = ClientOf(2);
  client.jobs = {JobOf(1, kGpu, kHour), JobOf(0, kGpu, kHour)};
  const RoundRobin queue = SimulateRoundRobin(client);
  EXPECT_NEAR(queue.end[0], kHour, 1e-3);
  EXPECT_NEAR(queue.end[1], 2 * kHour, 1e-3);
}

TEST(RoundRobin, AnInstanceThatNoWaitingJobFitsIsNoShortfall) {
  Client client = ClientOf(1);
  client.preferences.additional_work = 2 * kHour;
  client.jobs = {JobOf(0, kGpu, kHour, 0.6), JobOf(0, kGpu, kHour, 0.6)};
  // 0.4 GPUs are idle in the second hour alone.
  EXPECT_NEAR(SimulateRoundRobin(client).shortfall[kGpu], 0.4 * kHour, 1e-3);
}

TEST(RoundRobin, AJobOfSeveralThreadsOccupiesSeveralCpus) {
  Client client = ClientOf(2);
  client.resources[kCpu].instances = 4;
  client.preferences.additional_work = kHour;
  client.jobs = {JobOf(0, kCpu, kHour, 4)};
  EXPECT_EQ(SimulateRoundRobin(client).shortfall[kCpu], 0);
  client.jobs = {JobOf(0, kCpu, kHour, 3)};
  EXPECT_DOUBLE_EQ(SimulateRoundRobin(client).shortfall[kCpu], kHour);
}

TEST(RoundRobin, JobsLastLongerOnAHostThatIsRarelyOn) {
  Client client = ClientOf(1);
  client.on_fraction = 0.02;
  client.preferences.additional_work = kDay;
  client.jobs = {JobOf(0, kCpu, kHour)};
  const RoundRobin queue = SimulateRoundRobin(client);
  EXPECT_NEAR(queue.end[0], 50 * kHour, 1e-3);
  EXPECT_EQ(queue.shortfall[kCpu], 0);
}

TEST(RoundRobin, TakesAtMostOneStepMoreThanThereAreJobs) {
  Client client = ClientOf(50);
  client.resources[kCpu].instances = 4;
  for (std::size_t i = 0; i < 500; ++i)
    client.jobs.push_back(JobOf(i % 50, i % 3 == 0 ? kGpu : kCpu, 600.0 + 7.0 * static_cast<double>(i)));
  EXPECT_LE(SimulateRoundRobin(client).steps, 501u);
}

TEST(Debts, ChangesSumToZeroAndTheGreatestDebtIsZero) {
  Client client = ClientOf(3);
  client.projects[0].share = 200;
  client.projects[0].used[kCpu] = 60;
  Account(client, 60, 60);
  // A is owed 30 s and used 60, B and C are owed 15 each: -30, +15, +15, then minus 15.
  EXPECT_DOUBLE_EQ(client.projects[0].debt[kCpu], -45);
  EXPECT_DOUBLE_EQ(client.projects[1].debt[kCpu], 0);
  EXPECT_DOUBLE_EQ(client.projects[2].debt[kCpu], 0);
  EXPECT_EQ(client.projects[0].used[kCpu], 0);
}

TEST(Debts, ChangesSumToZeroIfAProjectThatIsNotEligibleUsesTheResource) {
  Client client = ClientOf(3);
  client.projects[2].no_more_work = true;
  client.projects[0].used[kCpu] = 20;
  client.projects[2].used[kCpu] = 40;
  Account(client, 60, 60);
  // A and B are owed 30 each: +10 and +30, and the mean of 20 is an offset: -10 and +10; then minus 10.
  EXPECT_DOUBLE_EQ(client.projects[0].debt[kCpu], -20);
  EXPECT_DOUBLE_EQ(client.projects[1].debt[kCpu], 0);
  EXPECT_DOUBLE_EQ(client.projects[2].debt[kCpu], -10);
}

TEST(Debts, TheOnlyProjectOfAResourceHasNone) {
  Client client = ClientOf(2);
  BackOff(client.projects[1].backoff[kGpu], 12, 0);
  for (int i = 1; i <= 100; ++i) {
    client.projects[0].used[kGpu] = 60;
    Account(client, 60.0 * i, 60);
  }
  EXPECT_EQ(client.projects[0].debt[kGpu], 0);
  EXPECT_EQ(client.projects[1].debt[kGpu], 0);
}

TEST(Debts, OverallDebtWeighsResourcesBySpeed) {
  Client client = ClientOf(1);
  client.projects[0].debt = {-10, -100};
  EXPECT_EQ(OverallDebt(client, 0), -210);
}

TEST(Debts, OfASuspendedProjectAreFrozenRelativeToTheMeanOfOthers) {
  Client client = ClientOf(3);
  client.projects[2].suspended = true;
  for (int i = 1; i <= 10; ++i) {
    client.projects[0].used[kCpu] = 60;
    Account(client, 60.0 * i, 60);
  }
  const auto debt = [&](std::size_t p) { return client.projects[p].debt[kCpu]; };
  EXPECT_DOUBLE_EQ(debt(2), (debt(0) + debt(1)) / 2);
}

TEST(Debts, ANewProjectStartsWithTheGreatest) {
  Client client = ClientOf(3);
  client.projects[2].attached = false;
  for (int i = 1; i <= 10; ++i) {
    client.projects[0].used[kCpu] = 60;
    Account(client, 60.0 * i, 60);
  }
  client.projects[2].attached = true;
  EXPECT_EQ(OverallDebt(client, 2), 0);
  EXPECT_EQ(OverallDebt(client, 1), 0);
  EXPECT_DOUBLE_EQ(OverallDebt(client, 0), -600);
}

TEST(Debts, AnIntervalLongerThanTwoPeriodsCountsForNothing) {
  for (const Variant variant : kVariants) {
    Client client = ClientOf(2, variant);
    client.projects[0].used[kCpu] = 60;
    Account(client, 121, 121);
    EXPECT_EQ(client.projects[0].debt[kCpu], 0) << NameOf(variant);
    EXPECT_EQ(client.projects[0].recent_flops, 0) << NameOf(variant);
  }
}

TEST(Debts, OfTheSeedEndAtTheLongestBackoffThoseOfRuleHAtTheLead) {
  Client client = ClientOf(2);
  EXPECT_TRUE(DebtEligible(client, 0, kCpu, 0));
  BackOff(client.projects[0].backoff[kCpu], 12, 0);
  EXPECT_FALSE(DebtEligible(client, 0, kCpu, 0));
  EXPECT_FALSE(DebtEligible(client, 0, kCpu, 2 * kDay)) << "the interval is still at the maximum";
  EXPECT_TRUE(DebtEligible(client, 0, kGpu, 0));
  client.variant = Variant::kHybrid;
  client.projects[1].debt[kGpu] = -kDay / 2 + 1;  // twice as fast: A leads by less than a day
  EXPECT_TRUE(DebtEligible(client, 0, kCpu, 0));
  client.projects[1].debt[kGpu] = -kDay / 2;
  EXPECT_FALSE(DebtEligible(client, 0, kCpu, 0));
  client.projects[1].suspended = true;
  EXPECT_FALSE(DebtEligible(client, 1, kCpu, 0));
}

TEST(Rec, HalvesInTenDays) {
  Client client = ClientOf(1, Variant::kRec);
  client.projects[0].recent_flops = 1;
  for (int i = 1; i <= 10 * 1440; ++i) Account(client, 60.0 * i, 60);
  EXPECT_NEAR(client.projects[0].recent_flops, 0.5, 1e-9);
}

TEST(Rec, PriorityIsUseRelativeToShare) {
  Client client = ClientOf(2, Variant::kRec);
  client.projects[0].share = 300;
  client.projects[0].recent_flops = 1;
  client.projects[1].recent_flops = 1;
  EXPECT_NEAR(RecPriority(client, 0), -0.5 / 0.75, 1e-12);
  EXPECT_NEAR(RecPriority(client, 1), -0.5 / 0.25, 1e-12);
  client.projects[1].share = 0;
  EXPECT_LT(RecPriority(client, 1), -100);
}

TEST(Choice, AsksForIdleGpusFirstAndForThemAlone) {
  for (const Variant variant : {Variant::kSeed, Variant::kHybrid}) {
    Client client = ClientOf(2, variant);
    client.projects[0].debt[kCpu] = -1;
    const auto request = Choose(client);
    ASSERT_TRUE(request) << NameOf(variant);
    EXPECT_EQ(request->project, 1u);
    EXPECT_EQ(request->reason, Reason::kMajor);
    EXPECT_EQ(request->seconds, (PerResource{0, 1}));
    EXPECT_EQ(request->instances, (PerResource{0, 1}));
  }
}

TEST(Choice, AMajorShortfallAllowsAnOverworkedProjectAMinorOneDoesNot) {
  Client client = ClientOf(1);
  client.preferences = {.connect_interval = kHour, .additional_work = kHour};
  client.jobs = {JobOf(0, kCpu, kHour / 2), JobOf(0, kGpu, 3 * kHour)};
  client.projects[0].debt[kCpu] = -10 * kDay;
  EXPECT_EQ(Choose(client)->reason, Reason::kMajor);
  client.jobs[0] = JobOf(0, kCpu, 1.5 * kHour);
  EXPECT_FALSE(Choose(client));
  client.projects[0].debt[kCpu] = 0;
  EXPECT_EQ(Choose(client)->reason, Reason::kMinor);
  EXPECT_DOUBLE_EQ(Choose(client)->seconds[kCpu], 0.5 * kHour);
}

TEST(Choice, AMinorShortfallAsksForAllTypesWithAShortfall) {
  Client client = ClientOf(1);
  client.preferences = {.connect_interval = kHour, .additional_work = 2 * kHour};
  client.jobs = {JobOf(0, kCpu, 2 * kHour), JobOf(0, kGpu, 2.5 * kHour)};
  EXPECT_EQ(Choose(client)->seconds, (PerResource{kHour, 0.5 * kHour}));
  // The CPU is asked for even while it is backed off.
  BackOff(client.projects[0].backoff[kCpu], 1, 0);
  EXPECT_EQ(Choose(client)->seconds, (PerResource{kHour, 0.5 * kHour}));
}

TEST(Choice, AStarvedProjectIsAskedForOneJobIfNothingIsShort) {
  Client client = ClientOf(2);
  client.jobs = {JobOf(0, kCpu, kHour), JobOf(0, kGpu, kHour)};
  const auto request = Choose(client);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->project, 1u);
  EXPECT_EQ(request->reason, Reason::kStarved);
  EXPECT_EQ(request->seconds, (PerResource{0, 1})) << "a request of 0 s would bring nothing for ever";
  client.projects[1].debt[kGpu] = client.projects[1].debt[kCpu] = -2 * kDay;
  EXPECT_FALSE(Choose(client)) << "overworked";
}

TEST(Choice, WithoutAProjectToAskThereIsNoRequest) {
  for (const Variant variant : kVariants) {
    Client client = ClientOf(2, variant);
    client.projects[0].suspended = true;
    client.projects[1].no_more_work = true;
    EXPECT_FALSE(Choose(client)) << NameOf(variant);
    client.projects[1].no_more_work = false;
    client.projects[1].next_rpc = 100;
    EXPECT_FALSE(Choose(client)) << NameOf(variant);
    EXPECT_TRUE(Choose(client, 100)) << NameOf(variant);
    for (Backoff& backoff : client.projects[1].backoff) BackOff(backoff, 1, 100);
    EXPECT_FALSE(Choose(client, 100)) << NameOf(variant);
    EXPECT_TRUE(Choose(client, 160)) << NameOf(variant);
  }
}

TEST(Choice, AnExpiredLongestBackoffEntitlesToAProbe) {
  Client client = ClientOf(2, Variant::kHybrid);
  client.projects[1].debt[kGpu] = -1;
  BackOff(client.projects[1].backoff[kGpu], 12, 0);
  EXPECT_EQ(Choose(client, kDay - 1)->project, 0u);
  EXPECT_EQ(Choose(client, kDay)->project, 1u);
  ApplyReply(client, *Choose(client, kDay), {}, kDay);
  EXPECT_EQ(Choose(client, kDay)->project, 0u) << "one request";
  client.variant = Variant::kSeed;
  EXPECT_EQ(Choose(client, 3 * kDay)->project, 0u);
}

TEST(Choice, RecFillsTheBufferFromOneProjectOnceAResourceRunsLow) {
  Client client = ClientOf(2, Variant::kRec);
  client.preferences = {.connect_interval = kHour, .additional_work = 2 * kHour};
  client.projects[0].recent_flops = 1;
  client.jobs = {JobOf(0, kCpu, 2 * kHour), JobOf(0, kGpu, 1.5 * kHour)};
  EXPECT_FALSE(Choose(client)) << "both resources have more than the connect interval";
  client.jobs[1] = JobOf(0, kGpu, 0.5 * kHour);
  const auto request = Choose(client);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->project, 1u);
  EXPECT_EQ(request->seconds, (PerResource{kHour, 2.5 * kHour})) << "CPU jobs ride along";
}

TEST(Choice, ABackoffOfATypeThatOnlyRodeAlongIsExtendedByTheSeedAlone) {
  for (const Variant variant : kVariants) {
    Client client = ClientOf(1, variant);
    BackOff(client.projects[0].backoff[kCpu], 1, 0);
    WorkRequest request{.seconds = {1, 1}};
    ApplyReply(client, request, {JobOf(0, kGpu, kHour)}, 10);
    EXPECT_EQ(client.projects[0].backoff[kCpu].interval(), variant == Variant::kSeed ? 120 : 60);
    EXPECT_EQ(client.jobs.size(), 1u);
    request.seconds = {0, 1};
    ApplyReply(client, request, {}, 100);
    EXPECT_EQ(client.projects[0].backoff[kGpu].interval(), 60);
    ApplyReply(client, request, {JobOf(0, kGpu, kHour)}, 100);
    EXPECT_EQ(client.projects[0].backoff[kGpu].interval(), 0);
  }
}

TEST(JobScheduler, AJobOfSeveralThreadsComesFirstIfCpusWouldBeIdle) {
  Client client = ClientOf(2);
  client.resources[kCpu].instances = 4;
  client.projects[1].debt[kCpu] = -1;
  client.jobs = {JobOf(0, kCpu, kHour), JobOf(1, kCpu, kHour, 4)};
  ScheduleJobs(client, SimulateRoundRobin(client), 0, true);
  EXPECT_FALSE(client.jobs[0].running);
  EXPECT_TRUE(client.jobs[1].running);
  for (int i = 0; i < 3; ++i) client.jobs.push_back(JobOf(0, kCpu, kHour));
  ScheduleJobs(client, SimulateRoundRobin(client), 0, true);
  EXPECT_TRUE(client.jobs[0].running && client.jobs[4].running);
  EXPECT_FALSE(client.jobs[1].running);
}

TEST(JobScheduler, AJobThatWouldMissItsDeadlineRunsFirst) {
  Client client = ClientOf(2);
  client.projects[1].debt[kCpu] = -1;
  client.jobs = {JobOf(0, kCpu, kHour), JobOf(1, kCpu, kHour)};
  client.jobs[1].deadline = 1.5 * kHour;
  ScheduleJobs(client, SimulateRoundRobin(client), 0, true);
  EXPECT_TRUE(client.jobs[1].running);
  client.jobs[1].deadline = 2 * kHour;
  ScheduleJobs(client, SimulateRoundRobin(client), 0, true);
  EXPECT_TRUE(client.jobs[0].running);
}

const std::vector<Resource> kHost = {{.name = "CPU", .instances = 4}, {.name = "GPU", .speed = 10}};
const AppVersion kCpuVersion = {.usage = {1}, .estimate = 10 * kHour, .duration = 10 * kHour};
const AppVersion kGpuVersion = {.resource = kGpu, .usage = {0.1, 1}, .estimate = kHour, .duration = kHour};

std::size_t Count(const std::vector<Job>& jobs, std::size_t resource) {
  return static_cast<std::size_t>(
      std::count_if(jobs.begin(), jobs.end(), [&](const Job& job) { return job.resource == resource; }));
}

TEST(Scheduler, SendsJobsWhileSecondsOrInstancesOfTheirTypeAreWanted) {
  Server server{.apps = {{.versions = {kCpuVersion, kGpuVersion}}}};
  // 2.5 hours of the GPU are three jobs. Four CPUs are four jobs, although one second is wanted.
  const auto jobs = Serve(server, kHost, {.seconds = {1, 2.5 * kHour}, .instances = {4, 1}}, 0);
  EXPECT_EQ(Count(jobs, kGpu), 3u);
  EXPECT_EQ(Count(jobs, kCpu), 4u);
  EXPECT_EQ(Count(Serve(server, kHost, {.seconds = {0, 1}}, 0), kCpu), 0u)
      << "the request wants no jobs of this type";
  EXPECT_TRUE(Serve(server, kHost, {}, 0).empty());
}

TEST(Scheduler, CountsEachCpuOfAJobOfSeveralThreads) {
  Server server{.apps = {{.versions = {{.usage = {4}, .estimate = kHour, .duration = kHour}}}}};
  EXPECT_EQ(Serve(server, kHost, {.seconds = {24 * kHour}}, 0).size(), 6u);
  server.apps[0].versions[0].usage = {8};
  EXPECT_TRUE(Serve(server, kHost, {.seconds = {24 * kHour}}, 0).empty()) << "more CPUs than the host has";
}

TEST(Scheduler, FillsARequestWithoutNumbersPerTypeWithTheFastestVersion) {
  Server server{.apps = {{.versions = {kCpuVersion, kGpuVersion}}}};
  WorkRequest old{.per_resource = false, .work_req_seconds = 2.5 * kHour};
  EXPECT_EQ(Count(Serve(server, kHost, old, 0), kGpu), 3u);
  old.no_gpus = true;
  const auto jobs = Serve(server, kHost, old, 0);
  EXPECT_EQ(Count(jobs, kGpu), 0u);
  EXPECT_EQ(Count(jobs, kCpu), 1u);
}

TEST(Scheduler, SendsNoJobThatCannotEndByItsDeadline) {
  Server server{.apps = {{.versions = {kCpuVersion}, .latency_bound = kDay}}};
  EXPECT_EQ(Serve(server, kHost, {.seconds = {1}}, 0).size(), 1u);
  EXPECT_TRUE(Serve(server, kHost, {.seconds = {1}, .delay = {15 * kHour}}, 0).empty());
  EXPECT_TRUE(Serve(server, kHost, {.seconds = {1}, .on_fraction = 0.4}, 0).empty());
}

TEST(Scheduler, SendsJobsOnlyWhileTheAppHasSome) {
  Server server{.apps = {{.versions = {kCpuVersion}, .from = 10, .until = 20, .jobs = 2}}};
  const WorkRequest request{.instances = {4}};
  EXPECT_TRUE(Serve(server, kHost, request, 9).empty());
  EXPECT_TRUE(Serve(server, kHost, request, 20).empty());
  EXPECT_EQ(Serve(server, kHost, request, 10).size(), 2u);
  EXPECT_TRUE(Serve(server, kHost, request, 10).empty());
}

TEST(Metrics, AreThoseOfBoincsClientEmulator) {
  Client client = ClientOf(2);
  Meter meter(client);
  Job late = JobOf(0, kGpu, kHour);
  late.deadline = 10;
  late.running = true;
  client.jobs = {late};
  meter.Ran(client, kHour);
  meter.Finished(client, late, kHour);
  client.jobs = {JobOf(1, kCpu, kHour)};
  client.jobs[0].running = true;
  meter.Ran(client, kHour);
  meter.Asked(1);
  meter.Asked(1);
  meter.Asked(0);
  const Metrics metrics = meter.Result(client);
  // The GPU makes 2 of 3 FLOPs. Two hours: 6 possible, 3 used, of them 2 by A, late.
  EXPECT_DOUBLE_EQ(metrics.wasted, 2.0 / 6);
  EXPECT_DOUBLE_EQ(metrics.idle, 0.5);
  EXPECT_DOUBLE_EQ(metrics.share_violation, 1.0 / 3);  // |2 - 1.5| + |1 - 1.5|, of 3
  EXPECT_DOUBLE_EQ(metrics.rpcs_per_job, 1.5);
  // Each waits an hour of two: a mean square of 1/6 h^2, twice, by 2^2 projects of a slice of one hour.
  const double x = 2 * std::sqrt(1.0 / 6) / 4;
  EXPECT_NEAR(metrics.monotony, 1 - 1 / (x + 1), 1e-12);
}

}  // namespace
}  // namespace cobblestone::workfetch
