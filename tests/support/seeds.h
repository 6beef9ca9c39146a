// Seeds of the traffic that tests judge by the oracle.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace cobblestone::testing {

// Other seeds than a test's own are looked at for differences: their traffic may have too little of something to prove much.
inline bool OwnSeeds() { return std::getenv("COBBLESTONE_ORACLE_SEEDS") == nullptr; }

// These, or as many as COBBLESTONE_ORACLE_SEEDS says, from COBBLESTONE_ORACLE_SEED on (`./dev chaos --oracle`).
inline std::vector<std::uint64_t> Seeds(std::vector<std::uint64_t> usual) {
  if (OwnSeeds()) return usual;
  const char* many = std::getenv("COBBLESTONE_ORACLE_SEEDS");
  const char* first = std::getenv("COBBLESTONE_ORACLE_SEED");
  std::vector<std::uint64_t> seeds(std::stoull(many));
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = (first == nullptr ? 1 : std::stoull(first)) + i;
  return seeds;
}

}  // namespace cobblestone::testing
