// Continuous accounting: which part of a machine's reports is accepted, and how grants settle estimates.
#include "common/credit/estimates/estimate_policy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "common/credit/estimates/estimate_account.h"

namespace cobblestone::credit {
namespace {

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;
constexpr std::int64_t kMicro = 1'000'000;
// One CPU of 1 GFLOPS: 200 Cobblestones and a day of run time each day.
constexpr MachineSize kSmall{.cpus = 1, .cpu_flops = 1e9, .gpus = 0, .gpu_flops = 0};

EstimateCounters Counted(double credit, double run_time, std::uint64_t jobs = 0, std::uint64_t failed = 0,
                         double failed_time = 0) {
  return {.credit = *CountOf(credit),
          .run_time = *CountOf(run_time),
          .jobs = jobs,
          .failed_jobs = failed,
          .failed_run_time = *CountOf(failed_time)};
}

// A machine that is known since kStart, with its standing at each project.
struct Machine {
  EstimateLimits limits;
  EstimateAllowance allowance;
  std::map<int, EstimateStanding> standings;
  std::map<int, EstimateCounters> counted;

  Machine() { allowance.StartAt(kStart, limits); }
  EstimateDecision Report(double days, const EstimateCounters& counters, int project = 1,
                          const MachineSize& size = kSmall, Resource resource = Resource::kCpu) {
    const EstimateDecision decision =
        Decide({.time = kStart + days * kDay, .size = size, .uses = {{resource, counters}}}, limits,
               standings[project], allowance);
    Count(decision, project);
    for (auto& [other, standing] : standings) Count(Revive(standing, allowance), other);
    return decision;
  }
  void Count(const EstimateDecision& decision, int project) {
    for (const ResourceUse& use : decision.uses) {
      EstimateCounters& sum = counted[project];
      sum.credit += use.counters.credit;
      sum.run_time += use.counters.run_time;
      sum.jobs += use.counters.jobs;
      sum.failed_jobs += use.counters.failed_jobs;
      sum.failed_run_time += use.counters.failed_run_time;
    }
  }
  [[nodiscard]] MicroCredit credit() const {
    MicroCredit sum = 0;
    for (const auto& [project, one] : counted) sum += one.credit;
    return sum;
  }
};

TEST(EstimatePolicy, AReportIsWorthTheGrowthOfItsCounters) {
  Machine machine;
  EXPECT_EQ(machine.Report(1, Counted(100, 43200, 2)).allowed, 100 * kMicro);
  const EstimateDecision next = machine.Report(2, Counted(150.5, 50000, 3));
  EXPECT_EQ(next.asked, 50'500'000);
  EXPECT_EQ(next.allowed, 50'500'000);
  EXPECT_EQ(next.bounds, 0u);
  EXPECT_EQ(next.since, kStart);
  EXPECT_EQ(next.flops, 1e9);
  EXPECT_EQ(machine.counted[1], Counted(150.5, 50000, 3));
}

// Falling counters show a reset. A counter that was 0 before the reset cannot fall, so the growth of the
// failed-job counters does not hide the reset.
TEST(EstimatePolicy, AClientResetAfterAFailedJobIsDetected) {
  Machine machine;
  machine.Report(1, Counted(1000, 43200, 50));
  EstimateCounters counters = Counted(20, 3600, 3);
  counters.failed_jobs = 1;
  counters.failed_run_time = 1;
  const EstimateDecision after_reset = machine.Report(2, counters);
  EXPECT_EQ(after_reset.bounds, kEstimateRestarted);
  EXPECT_EQ(after_reset.allowed, 20 * kMicro);
}

TEST(EstimatePolicy, ARepeatedReportChangesNothing) {
  Machine machine;
  machine.Report(1, Counted(100, 43200, 2));
  const MicroTotal before = machine.allowance.pool.credit.now;
  const EstimateDecision again = machine.Report(1, Counted(100, 43200, 2));
  EXPECT_FALSE(again.grown);
  EXPECT_EQ(again.asked, 0);
  EXPECT_TRUE(machine.allowance.pool.credit.now == before);
}

TEST(EstimatePolicy, AReorderedReportChangesNothing) {
  Machine machine;
  machine.Report(3, Counted(300, 3 * 43200.0, 6));
  EXPECT_FALSE(machine.Report(1, Counted(100, 43200, 2)).grown) << "an older report is no restart";
  EXPECT_FALSE(machine.Report(2, Counted(900, 90000, 7)).grown)
      << "an older report with higher counters does not count either";
  EXPECT_EQ(machine.Report(4, Counted(310, 140000, 7)).allowed, 10 * kMicro);
}

TEST(EstimatePolicy, RestartedCountersCountFromZero) {
  Machine machine;
  machine.Report(1, Counted(100, 43200, 2));
  const EstimateDecision fresh = machine.Report(2, Counted(30, 9000, 1));
  EXPECT_EQ(fresh.allowed, 30 * kMicro);
  EXPECT_EQ(fresh.bounds, kEstimateRestarted);
  EXPECT_EQ(machine.Report(3, Counted(40, 12000, 1)).allowed, 10 * kMicro);
  EXPECT_FALSE(machine.Report(1.5, Counted(200, 50000, 3)).grown) << "a late report from before the restart";
}

TEST(EstimatePolicy, ASingleFallingCounterIsNoRestart) {
  Machine machine;
  machine.Report(1, Counted(100, 43200, 2));
  EXPECT_FALSE(machine.Report(2, Counted(90, 43200, 2)).grown);
  EXPECT_EQ(machine.Report(3, Counted(110, 43200, 2)).allowed, 10 * kMicro);
}

TEST(EstimatePolicy, RepeatedRestartsEarnNoMoreThanTheTimeAllows) {
  Machine machine;
  for (int i = 1; i <= 1000; ++i) machine.Report(i * 0.01, i % 2 == 0 ? Counted(1, 1) : Counted(150, 60000));
  EXPECT_LE(machine.credit(), 2000 * kMicro);
  EXPECT_GT(machine.credit(), 1990 * kMicro);
}

TEST(EstimatePolicy, SeveralProjectsAtOnceShareTheMachinesLimit) {
  Machine machine;
  EXPECT_EQ(machine.Report(1, Counted(150, 60000), 1).allowed, 150 * kMicro);
  const EstimateDecision second = machine.Report(1, Counted(150, 60000), 2);
  EXPECT_EQ(second.asked, 150 * kMicro);
  EXPECT_EQ(second.allowed, 50 * kMicro);
  EXPECT_EQ(second.bounds, kEstimateCredit | kEstimateRunTime);
  EXPECT_EQ(machine.counted[2].run_time, 26400 * kMicro);
  EXPECT_EQ(machine.Report(1, Counted(150, 60000), 3).allowed, 0);
  // The cut part is lost: later reports count only their growth.
  EXPECT_EQ(machine.Report(2, Counted(160, 61000), 2).allowed, 10 * kMicro);
}

TEST(EstimatePolicy, AHigherLimitOfOneProjectDoesNotRaiseOtherLimits) {
  Machine machine;
  const MachineSize reported{.cpus = 100, .cpu_flops = 1e9, .gpus = 0, .gpu_flops = 0};
  machine.limits.cpus = 100;
  EXPECT_EQ(machine.Report(1, Counted(5000, 1), 1, reported).bounds, 0u);
  machine.limits.cpus = 1;
  EXPECT_EQ(machine.Report(1, Counted(5000, 1), 2, reported).allowed, 200 * kMicro);
  EXPECT_EQ(machine.Report(11, Counted(50000, 1), 2, reported).allowed, 2000 * kMicro);
}

TEST(EstimatePolicy, ALowerLimitOfOneProjectDoesNotReduceOtherLimits) {
  Machine machine;
  const MachineSize reported{.cpus = 100, .cpu_flops = 1e9, .gpus = 0, .gpu_flops = 0};
  machine.limits.cpus = 1;
  for (const double day : {10.0, 20.0, 50.0}) machine.Report(day, Counted(100 + day, day), 2, reported);
  machine.limits.cpus = 100;
  EXPECT_EQ(machine.Report(50, Counted(900'000, 1), 1, reported).bounds, 0u);
}

TEST(EstimatePolicy, AReportWithoutMachineSizeDoesNotReduceTheLimit) {
  Machine machine;
  machine.Report(1, Counted(100, 1));
  for (const double day : {10.0, 20.0}) machine.Report(day, Counted(100 + day, day), 1, {});
  EXPECT_EQ(machine.Report(21, Counted(4000, 100)).bounds, 0u);
}

// Examples are a project's report from before the machine's size was known, and two clients that report different
// sizes at the same time.
TEST(EstimatePolicy, OfTwoReportsOfOneTimeEitherMayReportTheGpu) {
  constexpr MachineSize kWithGpu{.cpus = 1, .cpu_flops = 1e9, .gpus = 1, .gpu_flops = 1e12};
  for (const bool gpu_first : {true, false}) {
    Machine machine;
    machine.Report(1, Counted(100, 1), 3);
    for (const bool first : {true, false})
      machine.Report(2, Counted(150'000, 1), first == gpu_first ? 1 : 2,
                     first == gpu_first ? kWithGpu : kSmall);
    EXPECT_EQ(machine.Report(2, Counted(300'000, 1), 1, kWithGpu).bounds, 0u) << gpu_first;
    EXPECT_EQ(machine.counted[2].credit, 400 * kMicro) << gpu_first;
  }
}

constexpr MachineSize kLarge{.cpus = 1, .cpu_flops = 1e10, .gpus = 0, .gpu_flops = 0};

// The report with the smaller size is cut by this size, which allows a tenth of the larger size's credit.
TEST(EstimatePolicy, ALargerSizeOfTheSameTimeRestoresCreditThatWasCut) {
  for (const bool large_first : {true, false}) {
    Machine machine;
    machine.Report(1, Counted(1500, 1), 1, large_first ? kLarge : kSmall);
    machine.Report(1, Counted(1800, 1), 1, large_first ? kSmall : kLarge);
    EXPECT_EQ(machine.counted[1].credit, 1800 * kMicro) << large_first;
  }
}

TEST(EstimatePolicy, AReportWithoutGrowthAlsoUpdatesTheMachineSize) {
  for (const bool large_first : {true, false}) {
    Machine machine;
    machine.Report(1, Counted(1500, 1), 1, large_first ? kLarge : kSmall);
    machine.Report(1, Counted(1500, 1), 1, large_first ? kSmall : kLarge);
    EXPECT_EQ(machine.counted[1].credit, 1500 * kMicro) << large_first;
  }
  // The same holds if the report without growth comes first.
  Machine machine;
  machine.Report(1, {}, 1, kLarge);
  EXPECT_EQ(machine.Report(1, Counted(1500, 1)).allowed, 1500 * kMicro);
}

TEST(EstimatePolicy, ALargerSizeAlsoRestoresCreditCutAtAnotherProject) {
  Machine machine;
  machine.Report(1, Counted(150, 1), 1);
  EXPECT_EQ(machine.Report(1, Counted(150, 1), 2).allowed, 50 * kMicro);
  machine.Report(1, Counted(100, 1), 3, kLarge);
  EXPECT_EQ(machine.counted[2].credit, 150 * kMicro);
  EXPECT_EQ(machine.credit(), 400 * kMicro);
}

TEST(EstimatePolicy, CutCreditIsLostOnceTimeHasPassed) {
  Machine machine;
  machine.Report(1, Counted(1500, 1));
  machine.Report(2, Counted(1510, 2), 1, kLarge);
  EXPECT_EQ(machine.credit(), 210 * kMicro);
  machine.Report(1, Counted(10, 2), 2, kLarge);
  EXPECT_EQ(machine.credit(), 220 * kMicro);
}

// The machine's saved time is full, at the old rate, when the larger size is reported.
TEST(EstimatePolicy, SavedTimeIsWorthTheLatestAcceptedSize) {
  for (const bool large_first : {true, false}) {
    Machine machine;
    machine.Report(60, Counted(12'000, 1), 1);
    machine.Report(90, Counted(0.000001, 1), 2, large_first ? kLarge : kSmall);
    machine.Report(90, Counted(0.000002, 1), 3, large_first ? kSmall : kLarge);
    machine.Report(90, Counted(1e9, 1), 1, kLarge);
    // The unspent part of 90 days at 2,000 exceeds 60 days at 2,000, so 60 days are the limit.
    EXPECT_EQ(machine.counted[1].credit, (12'000 + 60 * 2000) * kMicro - 3) << large_first;
  }
}

// This holds with and without growth in the report of the project with the longer saved time.
TEST(EstimatePolicy, AProjectThatReportsAtTheSameTimeExtendsTheSavedTime) {
  for (const double growth : {12'000.0, 0.0})
    for (const bool patient_first : {true, false}) {
      Machine machine;
      EstimateLimits patient;
      patient.saved_time = 90 * kDay;
      machine.Report(1, Counted(200, 1), 1);
      for (const bool first : {true, false}) {
        const bool of_patient = first == patient_first;
        machine.limits = of_patient ? patient : EstimateLimits{};
        if (of_patient) {
          machine.Report(101, Counted(growth, 0), 2);
        } else {
          for (const int project : {3, 4}) machine.Report(101, Counted(9000, 1), project);
        }
      }
      EXPECT_EQ(machine.credit(), (200 + 90 * 200) * kMicro) << patient_first << ' ' << growth;
    }
}

TEST(EstimatePolicy, WorkReportedAfterASilentMonthIsAccepted) {
  Machine machine;
  machine.Report(1, Counted(200, kDay));
  EXPECT_EQ(machine.Report(32, Counted(200 * 32, 32 * kDay)).allowed, 31 * 200 * kMicro);
}

TEST(EstimatePolicy, UnusedTimeIsSavedForSixtyDaysByDefault) {
  Machine machine;
  machine.Report(1, Counted(200, kDay));
  const EstimateDecision late = machine.Report(1001, Counted(200 * 1001.0, 1001 * kDay));
  EXPECT_EQ(late.allowed, 60 * 200 * kMicro);
  EXPECT_EQ(late.bounds, kEstimateCredit | kEstimateRunTime);
}

TEST(EstimatePolicy, ExpiredTimeIsNotAvailableToTheNextReportEither) {
  Machine machine;
  machine.Report(1, Counted(200, 1));
  EXPECT_EQ(machine.Report(1001, Counted(1e6, 2)).allowed, 60 * 200 * kMicro);
  EXPECT_EQ(machine.Report(1002, Counted(2e6, 3)).allowed, 200 * kMicro);
}

TEST(EstimatePolicy, EachProjectSetsHowLongTimeIsSaved) {
  for (const auto& [saved_days, kept] : std::map<double, double>{{7, 7}, {90, 90}, {0, 0}}) {
    Machine machine;
    machine.limits.saved_time = saved_days * kDay;
    machine.Report(1, Counted(200, kDay));
    const EstimateDecision late = machine.Report(1001, Counted(200 * 1001.0, 1001 * kDay));
    EXPECT_EQ(late.allowed, static_cast<MicroCredit>(kept) * 200 * kMicro) << saved_days;
  }
}

TEST(EstimatePolicy, ALongerSavedTimeOfOneProjectDoesNotRaiseOtherLimits) {
  Machine machine;
  machine.limits.saved_time = 90 * kDay;
  machine.Report(100, Counted(0.000001, 0), 1);
  machine.limits.saved_time = 7 * kDay;
  EXPECT_EQ(machine.Report(100, Counted(1e6, 1), 2).allowed, 7 * 200 * kMicro);
}

// Both projects are known before. The project with the shorter saved time reports first, so the machine's time is
// first counted for this project.
TEST(EstimatePolicy, AShorterSavedTimeOfOneProjectDoesNotReduceOtherLimits) {
  Machine machine;
  EstimateLimits patient;
  patient.saved_time = 90 * kDay;
  machine.allowance.StartAt(kStart, patient);
  machine.limits.saved_time = 1 * kDay;
  for (const double day : {20.0, 50.0, 80.0}) machine.Report(day, Counted(day, day), 2);
  machine.limits = patient;
  EXPECT_EQ(machine.Report(80, Counted(15'000, 1), 1).bounds, 0u);
}

TEST(EstimatePolicy, AllProjectsTogetherGetTheLongestSavedTime) {
  Machine machine;
  EXPECT_EQ(machine.Report(1000, Counted(1e6, 1), 1).allowed, 60 * 200 * kMicro);
  EXPECT_EQ(machine.Report(1000, Counted(1e6, 1), 2).allowed, 0);
}

TEST(EstimatePolicy, WorkFromBeforeTheFirstReportDoesNotCount) {
  Machine machine;
  const EstimateDecision first = machine.Report(0, Counted(1e6, 1e6));
  EXPECT_EQ(first.allowed, 0);
  EXPECT_EQ(first.asked, 1'000'000 * kMicro);
  EXPECT_EQ(machine.Report(1, Counted(1e6 + 100, 1e6 + 100)).allowed, 100 * kMicro);
}

TEST(EstimatePolicy, AMachineThatReportsAMillionGpusGetsTheLargestSize) {
  Machine machine;
  const MachineSize reported{.cpus = 1e6, .cpu_flops = 1e15, .gpus = 1e6, .gpu_flops = 1e18};
  const EstimateDecision cheat =
      machine.Report(1, Counted(1e12, 1e12, 1u << 30), 1, reported, Resource::kNvidia);
  EXPECT_EQ(cheat.flops, 512 * 1e11 + 16 * 2e14);
  EXPECT_EQ(cheat.allowed, static_cast<MicroCredit>(cheat.flops / 1e9 * 200 * kMicro));
  EXPECT_EQ(machine.counted[1].run_time, static_cast<std::int64_t>(16 * kDay) * kMicro);
  EXPECT_EQ(machine.counted[1].jobs, (512 + 16) * 86400u);
  EXPECT_EQ(cheat.bounds, kEstimateMachine | kEstimateCredit | kEstimateRunTime | kEstimateJobs);
}

TEST(EstimatePolicy, HugeLimitsDoNotOverflowToInfinity) {
  Machine machine;
  machine.limits = {
      .cpus = 1e300, .cpu_flops = 1e300, .gpus = 1e300, .gpu_flops = 1e300, .saved_time = 1e300};
  const MachineSize reported{.cpus = 1e300, .cpu_flops = 1e300, .gpus = 1e300, .gpu_flops = 1e300};
  EXPECT_EQ(machine.Report(1, Counted(9e12, 9e12), 1, reported).allowed, *CountOf(9e12));
}

TEST(EstimatePolicy, FailedJobsCountTheirRunTime) {
  Machine machine;
  const EstimateDecision failed = machine.Report(1, Counted(100, 43200, 5, 5, 43200));
  EXPECT_EQ(failed.bounds, 0u);
  EXPECT_EQ(machine.counted[1], Counted(100, 43200, 5, 5, 43200));
  // The number of failed jobs is limited to the number of jobs, and their run time to the run time of all jobs.
  EXPECT_EQ(machine.Report(2, Counted(110, 44200, 6, 9, 90000)).bounds, kEstimateFailed);
  EXPECT_EQ(machine.counted[1], Counted(110, 44200, 6, 6, 44200));
}

TEST(EstimatePolicy, CpuAndGpuTimeAreLimitedSeparately) {
  Machine machine;
  const MachineSize size{.cpus = 4, .cpu_flops = 1e10, .gpus = 1, .gpu_flops = 1e13};
  machine.Report(1, Counted(10, 3 * kDay), 1, size);
  const EstimateDecision gpu = machine.Report(1, Counted(10, 1.5 * kDay), 1, size, Resource::kNvidia);
  EXPECT_EQ(gpu.uses.front().counters.run_time, static_cast<std::int64_t>(kDay) * kMicro);
  EXPECT_EQ(gpu.bounds, kEstimateRunTime);
}

TEST(EstimatePolicy, AMachineIsAsOldAsTheEarliestEventAboutIt) {
  Machine machine;
  machine.allowance.StartAt(kStart - kDay, {});  // arrives late, but before any report
  EXPECT_EQ(machine.Report(1, Counted(400, 2 * kDay)).allowed, 400 * kMicro);
  machine.allowance.StartAt(kStart - 100 * kDay, {});
  EXPECT_EQ(machine.allowance.since, kStart - kDay);
}

// ---- Properties ------------------------------------------------------------------------------------------

struct DailyReport {
  int project = 1;
  double day = 0;
  EstimateCounters counters;
};

// Growing counters of some projects, day by day; all reports of a day have the same time. `honest`: within the
// limits of the machine.
std::vector<DailyReport> Reports(bool honest) {
  std::vector<DailyReport> reports;
  const int projects = *rc::gen::inRange(1, 5);
  const int days = *rc::gen::inRange(1, 12);
  std::map<int, double> credit;
  for (int day = 1; day <= days; ++day)
    for (int project = 1; project <= projects; ++project) {
      credit[project] += *rc::gen::inRange(0, honest ? 200'000 / projects : 400'000) / 1000.0;
      reports.push_back({project, day * 1.0, Counted(credit[project], 0)});
    }
  return reports;
}

std::vector<DailyReport> Shuffled(std::vector<DailyReport> reports) {
  for (std::size_t i = reports.size(); i > 1; --i)
    std::swap(reports[i - 1], reports[*rc::gen::inRange<std::size_t>(0, i)]);
  return reports;
}

RC_GTEST_PROP(EstimateProperties, WithoutBoundsTheSumIsTheHighestMarkInAnyOrderWithAnyRepeats, ()) {
  const std::vector<DailyReport> reports = Reports(true);
  std::map<int, MicroCredit> highest;
  for (const DailyReport& report : reports)
    highest[report.project] = std::max(highest[report.project], report.counters.credit);
  std::vector<DailyReport> delivered = Shuffled(reports);
  delivered.insert(delivered.end(), reports.begin(), reports.end());
  // Enough time has passed. Otherwise a report would be cut to the work that was possible by its own time.
  Machine machine;
  machine.Report(60, Counted(0.000001, 0), 99);
  for (const DailyReport& report : delivered) machine.Report(report.day, report.counters, report.project);
  for (const auto& [project, micro] : highest) RC_ASSERT(machine.counted[project].credit == micro);
}

RC_GTEST_PROP(EstimateProperties, CutReportsOfOneTimeHaveTheSameSumInAnyOrder, ()) {
  const std::vector<DailyReport> reports = Reports(false);
  Machine in_order;
  Machine mixed;
  std::size_t begin = 0;
  while (begin < reports.size()) {
    std::size_t end = begin;
    while (end < reports.size() && reports[end].day == reports[begin].day) ++end;
    const std::vector<DailyReport> batch(reports.begin() + static_cast<std::ptrdiff_t>(begin),
                                         reports.begin() + static_cast<std::ptrdiff_t>(end));
    for (const DailyReport& report : batch) in_order.Report(report.day, report.counters, report.project);
    for (const DailyReport& report : Shuffled(batch))
      mixed.Report(report.day, report.counters, report.project);
    RC_ASSERT(in_order.credit() == mixed.credit());
    begin = end;
  }
}

// Reports of several projects with different limits. Some reports show a larger machine or a GPU, and some show no
// growth.
RC_GTEST_PROP(EstimateProperties, TheOrderOfSizesInReportsOfOneTimeMakesNoDifference, ()) {
  struct MachineReport {
    int project = 1;
    Resource resource = Resource::kCpu;
    MachineSize size;
    EstimateCounters counters;
  };
  const int projects = *rc::gen::inRange(1, 5);
  std::map<int, EstimateLimits> limits;
  for (int project = 1; project <= projects; ++project) {
    limits[project].saved_time = *rc::gen::element(3, 60, 90) * kDay;
    limits[project].cpus = *rc::gen::inRange(1, 6);
  }
  std::map<std::pair<int, Resource>, EstimateCounters> counters;
  const auto make_report = [&] {
    const int project = *rc::gen::inRange(1, projects + 1);
    const Resource resource = *rc::gen::element(Resource::kCpu, Resource::kCpu, Resource::kNvidia);
    EstimateCounters now = counters[{project, resource}];
    const auto days = *rc::gen::inRange<std::int64_t>(0, 80);
    now.credit += days * *rc::gen::inRange<std::int64_t>(0, 2000 * kMicro);
    now.run_time += days * *rc::gen::inRange<std::int64_t>(0, 4 * 86400 * kMicro);
    now.jobs += static_cast<std::uint64_t>(days) * *rc::gen::inRange<std::uint64_t>(0, 400'000);
    const auto gpus = *rc::gen::inRange(0, 2);
    return MachineReport{project, resource,
                         MachineSize{.cpus = *rc::gen::inRange(0, 9) * 1.0,
                                     .cpu_flops = *rc::gen::inRange(1, 4) * 1e9,
                                     .gpus = gpus * 1.0,
                                     .gpu_flops = 1e10},
                         now};
  };
  Machine in_order;
  Machine mixed;
  const auto send = [&](Machine& machine, double day, const MachineReport& report) {
    machine.limits = limits[report.project];
    machine.Report(day, report.counters, report.project, report.size, report.resource);
  };
  double day = 0;
  for (int left = *rc::gen::inRange(0, 6); left > 0; --left) {
    day += *rc::gen::inRange(1, 50);
    const MachineReport report = make_report();
    EstimateCounters& highest = counters[{report.project, report.resource}];
    highest = report.counters;
    send(in_order, day, report);
    send(mixed, day, report);
  }
  day += *rc::gen::inRange(1, 120);
  std::vector<MachineReport> batch;
  for (int left = *rc::gen::inRange(2, 8); left > 0; --left) batch.push_back(make_report());
  for (const MachineReport& report : batch) send(in_order, day, report);
  for (std::size_t i = batch.size(); i > 1; --i)
    std::swap(batch[i - 1], batch[*rc::gen::inRange<std::size_t>(0, i)]);
  for (const MachineReport& report : batch) send(mixed, day, report);
  const auto sum = [](const Machine& machine) {
    EstimateCounters all;
    for (const auto& [project, one] : machine.counted) {
      all.credit += one.credit;
      all.run_time += one.run_time;
      all.jobs += one.jobs;
    }
    return all;
  };
  RC_ASSERT(sum(in_order) == sum(mixed));
}

RC_GTEST_PROP(EstimateProperties, NoReportsEarnMoreThanTheMachineCanHaveDone, ()) {
  const std::vector<DailyReport> reports = Shuffled(Reports(false));
  Machine machine;
  double newest = 0;
  MicroCredit asked = 0;
  for (const DailyReport& report : reports) {
    const EstimateDecision decision = machine.Report(report.day, report.counters, report.project);
    asked += decision.asked;
    newest = std::max(newest, report.day);
    RC_ASSERT(decision.allowed <= decision.asked);
    RC_ASSERT(machine.credit() <= static_cast<MicroCredit>(newest * 200) * kMicro);
  }
  RC_ASSERT(machine.credit() <= asked);
}

// ---- Settling ------------------------------------------------------------------------------------------

TEST(EstimateAccount, GrantsSettleEstimates) {
  OwnerEstimates host{.user = UserId(1), .sums = {}, .granted = 0};
  AddEstimate(Counted(100, 43200, 2), kStart, host.sums);
  EXPECT_TRUE(host.open() == 100 * kMicro);
  host.granted += 70 * kMicro;
  EXPECT_TRUE(host.open() == 30 * kMicro);
  host.granted += 70 * kMicro;
  EXPECT_TRUE(host.open() == 0);
  AddEstimate(Counted(50, 10, 1), kStart + kDay, host.sums);
  EXPECT_TRUE(host.open() == 10 * kMicro);
  ASSERT_EQ(host.sums.days.size(), 2u);
  EXPECT_TRUE(host.sums.days[0].micro == 100 * kMicro);
  EXPECT_EQ(host.sums.days[1].jobs, 1u);
}

TEST(EstimateAccount, ADayRecordsItsFailedJobs) {
  EstimateSums sums;
  AddEstimate(Counted(100, 43200, 5, 2, 3600.5), kStart, sums);
  AddEstimate(Counted(10, 7200, 3, 1, 60), kStart + 1, sums);
  AddEstimate(Counted(10, 7200, 1), kStart + kDay, sums);
  EstimateSums united;
  Add(sums, united);
  ASSERT_EQ(united.days.size(), 2u);
  EXPECT_EQ(united.days[0].failed_jobs, 3u);
  EXPECT_TRUE(united.days[0].failed_run_time == 3'660'500'000);
  EXPECT_EQ(united.days[1].failed_jobs, 0u);
}

TEST(EstimateAccount, TheShownTotalFallsOnlyForAReversal) {
  UserEstimates user;
  user.open = 100;
  user.Show(0, 0);
  EXPECT_TRUE(user.shown == 100);
  user.open = 0;  // 60 were granted; the rest of the estimate was worth nothing
  user.Show(0, 60);
  EXPECT_TRUE(user.shown == 100);
  user.Show(60, 120);
  EXPECT_TRUE(user.shown == 120);
  user.Show(120, 80);
  EXPECT_TRUE(user.shown == 80);
}

TEST(EstimateAccount, TheHistoryKeepsTheNewestDaysInOrder) {
  EstimateSums sums;
  for (const int day : {500, 3, 2, 900, 899})
    AddEstimate({.credit = 1, .run_time = 2, .jobs = 3, .failed_jobs = 0, .failed_run_time = 0}, day * kDay,
                sums);
  ASSERT_EQ(sums.days.size(), 2u);
  EXPECT_EQ(sums.days[0].day, 899);
  EXPECT_EQ(sums.days[1].day, 900);
  EXPECT_TRUE(sums.micro == 5);
}

}  // namespace
}  // namespace cobblestone::credit
