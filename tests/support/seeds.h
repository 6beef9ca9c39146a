// Seeds of the traffic that tests compare with the oracle.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace cobblestone::testing {

// With seeds other than a test's own only differences are checked: their traffic may have too few of some events to
// prove much.
inline bool UsesOwnSeeds() { return std::getenv("COBBLESTONE_ORACLE_SEEDS") == nullptr; }

// The usual seeds, or as many as COBBLESTONE_ORACLE_SEEDS says, from COBBLESTONE_ORACLE_SEED on (`./dev chaos
// --oracle`).
inline std::vector<std::uint64_t> Seeds(std::vector<std::uint64_t> usual) {
  if (UsesOwnSeeds()) return usual;
  const char* many = std::getenv("COBBLESTONE_ORACLE_SEEDS");
  const char* first = std::getenv("COBBLESTONE_ORACLE_SEED");
  std::vector<std::uint64_t> seeds(std::stoull(many));
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = (first == nullptr ? 1 : std::stoull(first)) + i;
  return seeds;
}

}  // namespace cobblestone::testing
