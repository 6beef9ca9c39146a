// Seeds of the traffic that tests compare with the oracle.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace cobblestone::testing {

// With other seeds than its own a test expects lower counts of some events, because the traffic may have few of them.
inline bool UsesOwnSeeds() { return std::getenv("COBBLESTONE_ORACLE_SEEDS") == nullptr; }

// The usual seeds, or COBBLESTONE_ORACLE_SEEDS consecutive seeds from COBBLESTONE_ORACLE_SEED on (default 1; `./dev
// chaos --oracle`).
inline std::vector<std::uint64_t> Seeds(std::vector<std::uint64_t> usual) {
  if (UsesOwnSeeds()) return usual;
  const char* many = std::getenv("COBBLESTONE_ORACLE_SEEDS");
  const char* first = std::getenv("COBBLESTONE_ORACLE_SEED");
  std::vector<std::uint64_t> seeds(std::stoull(many));
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = (first == nullptr ? 1 : std::stoull(first)) + i;
  return seeds;
}

}  // namespace cobblestone::testing
