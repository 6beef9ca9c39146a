// Rows of machines (CLAIMS) that earlier versions have written.
#include "services/claims/machines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/stream/table.h"

namespace cobblestone::claims {
namespace {

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;
constexpr std::int64_t kMicro = 1'000'000;

// As in version 2: what is left, at the rate that was believed.
struct Supply2 {
  double rate = 0;
  double left = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.rate, s.left);
  }
};

struct Pool2 {
  bool begun = true;
  double until = 0;
  Supply2 credit;
  Supply2 cpu_time;
  Supply2 gpu_time;
  Supply2 jobs;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.begun, s.until, s.credit, s.cpu_time, s.gpu_time, s.jobs);
  }
};

struct Project2 {
  std::uint32_t project = 1;
  std::vector<MachineWord> words;
  wire::Word report;
  std::vector<credit::EstimateMark> marks;
  Pool2 pool;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.project, s.words, s.report, s.marks, s.pool);
  }
};

struct State2 {
  bool heard = true;
  double since = kStart;
  Pool2 pool;
  double saved_time = 60 * kDay;
  std::vector<Project2> projects;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.heard, s.since, s.pool, s.saved_time, s.projects);
  }
};

// One CPU of 1 GFLOPS, 200 Cobblestones a day, after so many days.
MachineState Read(double days, double left) {
  const Pool2 pool{.begun = true,
                   .until = kStart + days * kDay,
                   .credit = {1e9, left * 1e6},
                   .cpu_time = {1, 5e6},
                   .gpu_time = {},
                   .jobs = {1, 3}};
  State2 old{.pool = pool, .projects = {}};
  old.projects.push_back({.words = {}, .report = {}, .marks = {}, .pool = pool});
  std::string row;
  stream::EncodeRow({.id = 23, .version = 2}, old, row);
  MachineState state;
  EXPECT_TRUE(stream::DecodeRow(kMachinesTable, row, state).ok());
  return state;
}

credit::EstimateCounters Asked(MachineState& state, double days, double credit) {
  credit::EstimateDecision decision =
      credit::Decide({.time = kStart + days * kDay,
                      .size = {.cpus = 1, .cpu_flops = 1e9, .gpus = 0, .gpu_flops = 0},
                      .uses = {{credit::Resource::kCpu,
                                {.credit = *credit::CountOf(credit),
                                 .run_time = 1'000'000 * kMicro,
                                 .jobs = 1'000'000,
                                 .failed_jobs = 0,
                                 .failed_run_time = 0}}}},
                     {}, state.projects.front().standing, state.allowance);
  return decision.uses.empty() ? credit::EstimateCounters{} : decision.uses.front().counters;
}

TEST(MachineRows, WhatWasLeftInARowOfVersionTwoIsStillLeft) {
  MachineState state = Read(10, 50);
  const credit::EstimateCounters now = Asked(state, 10, 1e6);
  EXPECT_EQ(now.credit, 50 * kMicro);
  EXPECT_EQ(now.run_time, 5 * kMicro);
  EXPECT_EQ(now.jobs, 3u);
  EXPECT_EQ(Asked(state, 11, 2e6).credit, 200 * kMicro);
}

TEST(MachineRows, ARowOfVersionTwoKeepsTimeForNoLongerThanItDid) {
  MachineState state = Read(1000, 60 * 200);
  EXPECT_EQ(Asked(state, 1001, 1e6).credit, 60 * 200 * kMicro);
  MachineState spent = Read(1000, 0);
  EXPECT_EQ(Asked(spent, 1001, 1e6).credit, 200 * kMicro);
}

TEST(MachineRows, ARowComesBackAsItWasWritten) {
  MachineState state = Read(10, 50);
  Asked(state, 10, 1e6);
  std::string row;
  stream::EncodeRow(kMachinesTable, state, row);
  MachineState again;
  ASSERT_TRUE(stream::DecodeRow(kMachinesTable, row, again).ok());
  EXPECT_EQ(again.projects.front().standing.cut->uses.front().counters.credit, 999'950 * kMicro);
  std::string same;
  stream::EncodeRow(kMachinesTable, again, same);
  EXPECT_EQ(same, row);
}

}  // namespace
}  // namespace cobblestone::claims
