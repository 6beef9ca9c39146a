// Traffic through the whole pipeline, in lockstep, against the oracle.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/traffic/generate.h"
#include "tests/support/lockstep_world.h"
#include "tests/support/oracle.h"

namespace cobblestone::testing {

using Events = std::vector<std::string>;

inline Events Generate(const traffic::GenerateOptions& options) {
  traffic::Generator generator(options);
  Events events;
  for (std::string envelope; generator.Next(&envelope);) events.push_back(envelope);
  return events;
}

// Traffic with every kind of event and error, often.
inline traffic::GenerateOptions Eventful(std::uint64_t seed) {
  traffic::GenerateOptions options;
  options.seed = seed;
  options.results = 1500;
  options.hosts = 60;
  options.apps = 5;
  options.policies = {"benchmark", "reported-flops", "runtime", "assigned", "none"};
  options.ownerless_hosts = 0.05;
  options.errors = 0.05;
  options.timeouts = 0.03;
  options.invalid = 0.05;
  options.inconclusive = 0.05;
  options.late = 0.08;
  options.cheats = 0.01;
  options.out_of_order = 0.15;
  options.duplicates = 0.05;
  options.conflicts = 0.03;
  options.bad_lines = 0.03;
  options.team_changes = 0.5;
  options.owner_changes = 0.5;
  options.tick_period = 1800;
  return options;
}

struct Played {
  Outcome outcome;
  Events ledger;
  std::map<std::string, std::string> accounts;  // exact bytes
};

inline Played RunPipeline(const Events& events, std::uint32_t partitions) {
  LockstepWorld world(partitions);
  world.Add(events);
  world.Finish();
  return {world.outcome(), world.SortedLedger(), world.AccountRows()};
}

inline std::uint64_t Sum(const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

// Expects 1, 3 and 8 partitions to equal the oracle, and their ledgers and accounts to be bit-identical.
inline Played ExpectLikeTheOracle(const Events& events) {
  const Outcome expected = RunOracle(events);
  Played one = RunPipeline(events, 1);
  EXPECT_EQ(Differences(expected, one.outcome), "") << "1 partition";
  for (const std::uint32_t partitions : {3u, 8u}) {
    const Played more = RunPipeline(events, partitions);
    EXPECT_EQ(Differences(expected, more.outcome), "") << partitions << " partitions";
    EXPECT_EQ(LedgerDifference(one.ledger, more.ledger), "") << partitions << " partitions";
    EXPECT_EQ(AccountDifference(one.accounts, more.accounts), "") << partitions << " partitions";
  }
  return one;
}

}  // namespace cobblestone::testing
