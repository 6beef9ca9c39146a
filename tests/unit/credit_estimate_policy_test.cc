// Continuous accounting: what of a machine's reports is believed, and how grants settle it.
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

// A machine that was first heard of at kStart, and its marks at each project.
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

TEST(EstimatePolicy, AReportIsWorthWhatItsCountersHaveGrownBy) {
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

// What was never counted says nothing of whether a client has begun anew: here its first job failed.
TEST(EstimatePolicy, AClientThatBeginsAnewWithAFailedJobIsSeen) {
  Machine machine;
  machine.Report(1, Counted(1000, 43200, 50));
  EstimateCounters counters = Counted(20, 3600, 3);
  counters.failed_jobs = 1;
  counters.failed_run_time = 1;
  const EstimateDecision anew = machine.Report(2, counters);
  EXPECT_EQ(anew.bounds, kEstimateRestarted);
  EXPECT_EQ(anew.allowed, 20 * kMicro);
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
  EXPECT_FALSE(machine.Report(1, Counted(100, 43200, 2)).grown) << "no restart: it is older";
  EXPECT_FALSE(machine.Report(2, Counted(900, 90000, 7)).grown) << "nor does it count where it says more";
  EXPECT_EQ(machine.Report(4, Counted(310, 140000, 7)).allowed, 10 * kMicro);
}

TEST(EstimatePolicy, CountersThatBeginAgainCountFromZero) {
  Machine machine;
  machine.Report(1, Counted(100, 43200, 2));
  const EstimateDecision fresh = machine.Report(2, Counted(30, 9000, 1));
  EXPECT_EQ(fresh.allowed, 30 * kMicro);
  EXPECT_EQ(fresh.bounds, kEstimateRestarted);
  EXPECT_EQ(machine.Report(3, Counted(40, 12000, 1)).allowed, 10 * kMicro);
  EXPECT_FALSE(machine.Report(1.5, Counted(200, 50000, 3)).grown) << "of the client that is no more";
}

TEST(EstimatePolicy, OneCounterThatFallsIsNoRestart) {
  Machine machine;
  machine.Report(1, Counted(100, 43200, 2));
  EXPECT_FALSE(machine.Report(2, Counted(90, 43200, 2)).grown);
  EXPECT_EQ(machine.Report(3, Counted(110, 43200, 2)).allowed, 10 * kMicro);
}

TEST(EstimatePolicy, ARestartOverAndOverEarnsNoMoreThanTheTimeAllows) {
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
  // What was cut off is gone: only what comes on top counts later.
  EXPECT_EQ(machine.Report(2, Counted(160, 61000), 2).allowed, 10 * kMicro);
}

TEST(EstimatePolicy, AProjectThatBelievesMoreLiftsNobodyElsesLimit) {
  Machine machine;
  const MachineSize said{.cpus = 100, .cpu_flops = 1e9, .gpus = 0, .gpu_flops = 0};
  machine.limits.cpus = 100;
  EXPECT_EQ(machine.Report(1, Counted(5000, 1), 1, said).bounds, 0u);
  machine.limits.cpus = 1;
  EXPECT_EQ(machine.Report(1, Counted(5000, 1), 2, said).allowed, 200 * kMicro);
  EXPECT_EQ(machine.Report(11, Counted(50000, 1), 2, said).allowed, 2000 * kMicro);
}

TEST(EstimatePolicy, AProjectThatBelievesLessTakesNothingFromOthers) {
  Machine machine;
  const MachineSize said{.cpus = 100, .cpu_flops = 1e9, .gpus = 0, .gpu_flops = 0};
  machine.limits.cpus = 1;
  for (const double day : {10.0, 20.0, 50.0}) machine.Report(day, Counted(100 + day, day), 2, said);
  machine.limits.cpus = 100;
  EXPECT_EQ(machine.Report(50, Counted(900'000, 1), 1, said).bounds, 0u);
}

TEST(EstimatePolicy, AReportThatDoesNotTellOfTheMachineTakesNothingFromIt) {
  Machine machine;
  machine.Report(1, Counted(100, 1));
  for (const double day : {10.0, 20.0}) machine.Report(day, Counted(100 + day, day), 1, {});
  EXPECT_EQ(machine.Report(21, Counted(4000, 100)).bounds, 0u);
}

// As the project's word before the machine's size was known, or two clients that tell of it at one time.
TEST(EstimatePolicy, WhichOfTwoReportsOfOneTimeTellsOfTheGpuMakesNoDifference) {
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

// The first one is cut by its own smaller size, which gives one Cobblestone in ten of what it says.
TEST(EstimatePolicy, WhatASmallerSizeCutsOffIsBelievedOnceALargerOneIsToldOfTheSameTime) {
  for (const bool large_first : {true, false}) {
    Machine machine;
    machine.Report(1, Counted(1500, 1), 1, large_first ? kLarge : kSmall);
    machine.Report(1, Counted(1800, 1), 1, large_first ? kSmall : kLarge);
    EXPECT_EQ(machine.counted[1].credit, 1800 * kMicro) << large_first;
  }
}

TEST(EstimatePolicy, AReportThatBringsNothingTellsOfTheMachineToo) {
  for (const bool large_first : {true, false}) {
    Machine machine;
    machine.Report(1, Counted(1500, 1), 1, large_first ? kLarge : kSmall);
    machine.Report(1, Counted(1500, 1), 1, large_first ? kSmall : kLarge);
    EXPECT_EQ(machine.counted[1].credit, 1500 * kMicro) << large_first;
  }
  // Before the one that brings something, too.
  Machine machine;
  machine.Report(1, {}, 1, kLarge);
  EXPECT_EQ(machine.Report(1, Counted(1500, 1)).allowed, 1500 * kMicro);
}

TEST(EstimatePolicy, WhatIsCutOffIsBelievedOfAnotherProjectToo) {
  Machine machine;
  machine.Report(1, Counted(150, 1), 1);
  EXPECT_EQ(machine.Report(1, Counted(150, 1), 2).allowed, 50 * kMicro);
  machine.Report(1, Counted(100, 1), 3, kLarge);
  EXPECT_EQ(machine.counted[2].credit, 150 * kMicro);
  EXPECT_EQ(machine.credit(), 400 * kMicro);
}

TEST(EstimatePolicy, WhatIsCutOffIsGoneOnceTimeHasPassed) {
  Machine machine;
  machine.Report(1, Counted(1500, 1));
  machine.Report(2, Counted(1510, 2), 1, kLarge);
  EXPECT_EQ(machine.credit(), 210 * kMicro);
  machine.Report(1, Counted(10, 2), 2, kLarge);
  EXPECT_EQ(machine.credit(), 220 * kMicro);
}

// Its time was kept in full, at the old rate, when the larger size is told.
TEST(EstimatePolicy, WhatIsKeptIsWorthWhatTheMachineIsBelievedToBeAtLast) {
  for (const bool large_first : {true, false}) {
    Machine machine;
    machine.Report(60, Counted(12'000, 1), 1);
    machine.Report(90, Counted(0.000001, 1), 2, large_first ? kLarge : kSmall);
    machine.Report(90, Counted(0.000002, 1), 3, large_first ? kSmall : kLarge);
    machine.Report(90, Counted(1e9, 1), 1, kLarge);
    // 90 days at 2,000 less what was spent are more than 60 days at 2,000.
    EXPECT_EQ(machine.counted[1].credit, (12'000 + 60 * 2000) * kMicro - 3) << large_first;
  }
}

// Whether it brings something or not.
TEST(EstimatePolicy, AProjectThatIsHeardOfAtTheSameTimeKeepsItForLonger) {
  for (const double brings : {12'000.0, 0.0})
    for (const bool patient_first : {true, false}) {
      Machine machine;
      EstimateLimits patient;
      patient.saved_time = 90 * kDay;
      machine.Report(1, Counted(200, 1), 1);
      for (const bool first : {true, false}) {
        const bool of_patient = first == patient_first;
        machine.limits = of_patient ? patient : EstimateLimits{};
        if (of_patient) {
          machine.Report(101, Counted(brings, 0), 2);
        } else {
          for (const int project : {3, 4}) machine.Report(101, Counted(9000, 1), project);
        }
      }
      EXPECT_EQ(machine.credit(), (200 + 90 * 200) * kMicro) << patient_first << ' ' << brings;
    }
}

TEST(EstimatePolicy, AMonthOfSilenceAndThenItsWorkIsInOrder) {
  Machine machine;
  machine.Report(1, Counted(200, kDay));
  EXPECT_EQ(machine.Report(32, Counted(200 * 32, 32 * kDay)).allowed, 31 * 200 * kMicro);
}

TEST(EstimatePolicy, WhatWasNotDoneInTwoMonthsIsNotKeptForLonger) {
  Machine machine;
  machine.Report(1, Counted(200, kDay));
  const EstimateDecision late = machine.Report(1001, Counted(200 * 1001.0, 1001 * kDay));
  EXPECT_EQ(late.allowed, 60 * 200 * kMicro);
  EXPECT_EQ(late.bounds, kEstimateCredit | kEstimateRunTime);
}

TEST(EstimatePolicy, WhatWasNotKeptIsNotThereForTheNextReportEither) {
  Machine machine;
  machine.Report(1, Counted(200, 1));
  EXPECT_EQ(machine.Report(1001, Counted(1e6, 2)).allowed, 60 * 200 * kMicro);
  EXPECT_EQ(machine.Report(1002, Counted(2e6, 3)).allowed, 200 * kMicro);
}

TEST(EstimatePolicy, ForHowLongItIsKeptIsTheProjects) {
  for (const auto& [saved_days, kept] : std::map<double, double>{{7, 7}, {90, 90}, {0, 0}}) {
    Machine machine;
    machine.limits.saved_time = saved_days * kDay;
    machine.Report(1, Counted(200, kDay));
    const EstimateDecision late = machine.Report(1001, Counted(200 * 1001.0, 1001 * kDay));
    EXPECT_EQ(late.allowed, static_cast<MicroCredit>(kept) * 200 * kMicro) << saved_days;
  }
}

TEST(EstimatePolicy, AProjectThatKeepsTimeForLongerLiftsNobodyElsesLimit) {
  Machine machine;
  machine.limits.saved_time = 90 * kDay;
  machine.Report(100, Counted(0.000001, 0), 1);
  machine.limits.saved_time = 7 * kDay;
  EXPECT_EQ(machine.Report(100, Counted(1e6, 1), 2).allowed, 7 * 200 * kMicro);
}

// Both were heard of before; the impatient one reports first, so the machine's time is counted for it first.
TEST(EstimatePolicy, AProjectThatKeepsTimeForLessTakesNothingFromOthers) {
  Machine machine;
  EstimateLimits patient;
  patient.saved_time = 90 * kDay;
  machine.allowance.StartAt(kStart, patient);
  machine.limits.saved_time = 1 * kDay;
  for (const double day : {20.0, 50.0, 80.0}) machine.Report(day, Counted(day, day), 2);
  machine.limits = patient;
  EXPECT_EQ(machine.Report(80, Counted(15'000, 1), 1).bounds, 0u);
}

TEST(EstimatePolicy, AllProjectsTogetherGetWhatTheMostPatientOneKeeps) {
  Machine machine;
  EXPECT_EQ(machine.Report(1000, Counted(1e6, 1), 1).allowed, 60 * 200 * kMicro);
  EXPECT_EQ(machine.Report(1000, Counted(1e6, 1), 2).allowed, 0);
}

TEST(EstimatePolicy, WhatItDidBeforeItWasHeardOfCountsNothing) {
  Machine machine;
  const EstimateDecision first = machine.Report(0, Counted(1e6, 1e6));
  EXPECT_EQ(first.allowed, 0);
  EXPECT_EQ(first.asked, 1'000'000 * kMicro);
  EXPECT_EQ(machine.Report(1, Counted(1e6 + 100, 1e6 + 100)).allowed, 100 * kMicro);
}

TEST(EstimatePolicy, AMachineWithAMillionGpusIsBelievedToBeALargeOne) {
  Machine machine;
  const MachineSize said{.cpus = 1e6, .cpu_flops = 1e15, .gpus = 1e6, .gpu_flops = 1e18};
  const EstimateDecision cheat = machine.Report(1, Counted(1e12, 1e12, 1u << 30), 1, said, Resource::kNvidia);
  EXPECT_EQ(cheat.flops, 512 * 1e11 + 16 * 2e14);
  EXPECT_EQ(cheat.allowed, static_cast<MicroCredit>(cheat.flops / 1e9 * 200 * kMicro));
  EXPECT_EQ(machine.counted[1].run_time, static_cast<std::int64_t>(16 * kDay) * kMicro);
  EXPECT_EQ(machine.counted[1].jobs, (512 + 16) * 86400u);
  EXPECT_EQ(cheat.bounds, kEstimateMachine | kEstimateCredit | kEstimateRunTime | kEstimateJobs);
}

TEST(EstimatePolicy, LimitsThatNoMachineReachesMakeNoInfinity) {
  Machine machine;
  machine.limits = {
      .cpus = 1e300, .cpu_flops = 1e300, .gpus = 1e300, .gpu_flops = 1e300, .saved_time = 1e300};
  const MachineSize said{.cpus = 1e300, .cpu_flops = 1e300, .gpus = 1e300, .gpu_flops = 1e300};
  EXPECT_EQ(machine.Report(1, Counted(9e12, 9e12), 1, said).allowed, *CountOf(9e12));
}

TEST(EstimatePolicy, FailedJobsCountTheirRunTime) {
  Machine machine;
  const EstimateDecision failed = machine.Report(1, Counted(100, 43200, 5, 5, 43200));
  EXPECT_EQ(failed.bounds, 0u);
  EXPECT_EQ(machine.counted[1], Counted(100, 43200, 5, 5, 43200));
  // No more of them than there are jobs, or seconds.
  EXPECT_EQ(machine.Report(2, Counted(110, 44200, 6, 9, 90000)).bounds, kEstimateFailed);
  EXPECT_EQ(machine.counted[1], Counted(110, 44200, 6, 6, 44200));
}

TEST(EstimatePolicy, AGpusTimeIsItsOwn) {
  Machine machine;
  const MachineSize size{.cpus = 4, .cpu_flops = 1e10, .gpus = 1, .gpu_flops = 1e13};
  machine.Report(1, Counted(10, 3 * kDay), 1, size);
  const EstimateDecision gpu = machine.Report(1, Counted(10, 1.5 * kDay), 1, size, Resource::kNvidia);
  EXPECT_EQ(gpu.uses.front().counters.run_time, static_cast<std::int64_t>(kDay) * kMicro);
  EXPECT_EQ(gpu.bounds, kEstimateRunTime);
}

TEST(EstimatePolicy, AMachineIsAsOldAsTheFirstThatIsHeardOfIt) {
  Machine machine;
  machine.allowance.StartAt(kStart - kDay, {});  // comes late, and before any report
  EXPECT_EQ(machine.Report(1, Counted(400, 2 * kDay)).allowed, 400 * kMicro);
  machine.allowance.StartAt(kStart - 100 * kDay, {});
  EXPECT_EQ(machine.allowance.since, kStart - kDay);
}

// ---- Properties ------------------------------------------------------------------------------------------

struct Said {
  int project = 1;
  double day = 0;
  EstimateCounters counters;
};

// Growing counters of some projects, day by day; each day's reports are of one time. `honest`: within what the machine can do.
std::vector<Said> Reports(bool honest) {
  std::vector<Said> reports;
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

std::vector<Said> Shuffled(std::vector<Said> reports) {
  for (std::size_t i = reports.size(); i > 1; --i)
    std::swap(reports[i - 1], reports[*rc::gen::inRange<std::size_t>(0, i)]);
  return reports;
}

RC_GTEST_PROP(EstimateProperties, WithoutBoundsTheSumIsTheHighestMarkInAnyOrderWithAnyRepeats, ()) {
  const std::vector<Said> reports = Reports(true);
  std::map<int, MicroCredit> highest;
  for (const Said& said : reports)
    highest[said.project] = std::max(highest[said.project], said.counters.credit);
  std::vector<Said> heard = Shuffled(reports);
  heard.insert(heard.end(), reports.begin(), reports.end());
  // Time enough has passed: what a report could not have done by its own time would be cut off.
  Machine machine;
  machine.Report(60, Counted(0.000001, 0), 99);
  for (const Said& said : heard) machine.Report(said.day, said.counters, said.project);
  for (const auto& [project, micro] : highest) RC_ASSERT(machine.counted[project].credit == micro);
}

RC_GTEST_PROP(EstimateProperties, WhereReportsOfOneTimeAreCutTheirSumIsTheSameInAnyOrder, ()) {
  const std::vector<Said> reports = Reports(false);
  Machine in_order;
  Machine mixed;
  std::size_t begin = 0;
  while (begin < reports.size()) {
    std::size_t end = begin;
    while (end < reports.size() && reports[end].day == reports[begin].day) ++end;
    const std::vector<Said> batch(reports.begin() + static_cast<std::ptrdiff_t>(begin),
                                  reports.begin() + static_cast<std::ptrdiff_t>(end));
    for (const Said& said : batch) in_order.Report(said.day, said.counters, said.project);
    for (const Said& said : Shuffled(batch)) mixed.Report(said.day, said.counters, said.project);
    RC_ASSERT(in_order.credit() == mixed.credit());
    begin = end;
  }
}

// Of several projects, with limits of their own, some of which tell that the machine is larger, or has a GPU, and some of which
// bring nothing.
RC_GTEST_PROP(EstimateProperties, WhichReportOfOneTimeTellsOfALargerMachineMakesNoDifference, ()) {
  struct Told {
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
  const auto report = [&] {
    const int project = *rc::gen::inRange(1, projects + 1);
    const Resource resource = *rc::gen::element(Resource::kCpu, Resource::kCpu, Resource::kNvidia);
    EstimateCounters now = counters[{project, resource}];
    const auto days = *rc::gen::inRange<std::int64_t>(0, 80);
    now.credit += days * *rc::gen::inRange<std::int64_t>(0, 2000 * kMicro);
    now.run_time += days * *rc::gen::inRange<std::int64_t>(0, 4 * 86400 * kMicro);
    now.jobs += static_cast<std::uint64_t>(days) * *rc::gen::inRange<std::uint64_t>(0, 400'000);
    const auto gpus = *rc::gen::inRange(0, 2);
    return Told{project, resource,
                MachineSize{.cpus = *rc::gen::inRange(0, 9) * 1.0,
                            .cpu_flops = *rc::gen::inRange(1, 4) * 1e9,
                            .gpus = gpus * 1.0,
                            .gpu_flops = 1e10},
                now};
  };
  Machine in_order;
  Machine mixed;
  const auto hear = [&](Machine& machine, double day, const Told& told) {
    machine.limits = limits[told.project];
    machine.Report(day, told.counters, told.project, told.size, told.resource);
  };
  double day = 0;
  for (int left = *rc::gen::inRange(0, 6); left > 0; --left) {
    day += *rc::gen::inRange(1, 50);
    const Told told = report();
    EstimateCounters& highest = counters[{told.project, told.resource}];
    highest = told.counters;
    hear(in_order, day, told);
    hear(mixed, day, told);
  }
  day += *rc::gen::inRange(1, 120);
  std::vector<Told> batch;
  for (int left = *rc::gen::inRange(2, 8); left > 0; --left) batch.push_back(report());
  for (const Told& told : batch) hear(in_order, day, told);
  for (std::size_t i = batch.size(); i > 1; --i)
    std::swap(batch[i - 1], batch[*rc::gen::inRange<std::size_t>(0, i)]);
  for (const Told& told : batch) hear(mixed, day, told);
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
  const std::vector<Said> reports = Shuffled(Reports(false));
  Machine machine;
  double newest = 0;
  MicroCredit asked = 0;
  for (const Said& said : reports) {
    const EstimateDecision decision = machine.Report(said.day, said.counters, said.project);
    asked += decision.asked;
    newest = std::max(newest, said.day);
    RC_ASSERT(decision.allowed <= decision.asked);
    RC_ASSERT(machine.credit() <= static_cast<MicroCredit>(newest * 200) * kMicro);
  }
  RC_ASSERT(machine.credit() <= asked);
}

// ---- Settling ------------------------------------------------------------------------------------------

TEST(EstimateAccount, GrantsSettleWhatWasEstimated) {
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

TEST(EstimateAccount, ADayTellsOfItsFailedJobs) {
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

TEST(EstimateAccount, TheShownTotalNeverFallsButForWhatIsTakenBackForGood) {
  UserEstimates user;
  user.open = 100;
  user.Show(0, 0);
  EXPECT_TRUE(user.shown == 100);
  user.open = 0;  // granted 60, and the rest was nothing
  user.Show(0, 60);
  EXPECT_TRUE(user.shown == 100);
  user.Show(60, 120);
  EXPECT_TRUE(user.shown == 120);
  user.Show(120, 80);
  EXPECT_TRUE(user.shown == 80);
}

TEST(EstimateAccount, TheHistoryHoldsItsDaysInOrderAndNoMore) {
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
