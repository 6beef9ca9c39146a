// Thousands of schedules a minute: the workers that ship, on a simulated cluster, with the real stages. COBBLESTONE_SIM_SEEDS
// says how many (./dev chaos --sim: 10,000), COBBLESTONE_SIM_SEED with which to begin.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/sim/sim_world.h"

namespace cobblestone::testing {
namespace {

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

const std::vector<SimTraffic>& Traffics() {
  static const std::vector<SimTraffic> traffics = [] {
    std::vector<SimTraffic> made;
    for (std::uint64_t t = 1; t <= 3; ++t) made.push_back(MakeSimTraffic(t, 60 * t));
    return made;
  }();
  return traffics;
}

std::string Tail(const std::vector<std::string>& story) {
  std::string text;
  for (std::size_t i = story.size() > 40 ? story.size() - 40 : 0; i < story.size(); ++i)
    text += "  " + story[i] + "\n";
  return text;
}

TEST(Simulation, WhateverHappensEveryGrantIsThereOnceAndEveryTotalIsItsSum) {
  const std::uint64_t first = FromEnvironment("COBBLESTONE_SIM_SEED", 1);
  const std::uint64_t seeds = FromEnvironment("COBBLESTONE_SIM_SEEDS", 300);
  std::map<std::string, std::uint64_t> counts;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const SimResult result =
        RunSchedule(Traffics()[seed % Traffics().size()], {.seed = seed, .hot_standby = seed % 2 == 0});
    for (const auto& [kind, count] : result.counts) counts[kind] += count;
    if (result.problem.empty()) continue;
    ADD_FAILURE() << "seed " << seed << ": " << result.problem << "\n" << Tail(result.story);
    if (++failures == 3) break;
  }
  for (const auto& [kind, count] : counts)
    std::printf("%-28s %llu\n", kind.c_str(), static_cast<unsigned long long>(count));
}

// What would be found if it were wrong: a producer that goes on after it has sent the end of a transaction twice.
TEST(Simulation, CanaryStrayEndOfATransaction) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 300 && found == 0; ++seed) {
    const SimResult result = RunSchedule(Traffics()[2], {.seed = seed, .hide_suspects = true});
    if (!result.problem.empty()) ++found;
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace cobblestone::testing
