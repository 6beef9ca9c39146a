// Events of a command that the stages have refused.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "services/access/client.h"

namespace cobblestone::access {

inline constexpr std::size_t kMaxRefusalsListed = 20;
inline constexpr std::uint64_t kMaxRefusalsCounted = 10000;

struct Refusals {
  std::uint64_t all = 0;  // up to kMaxRefusalsCounted
  std::map<std::string, std::uint64_t> by_reason;
  std::vector<nlohmann::json> first;  // records of RefusedList
  std::vector<std::uint64_t> lines;   // of `first`, from 1; 0 if unknown
};

// Call it before sending.
Result<std::uint64_t> RefusedSoFar(Client& client);
// Call it when everything sent is processed; does not set `lines`. Lines that were never events are not included.
Result<Refusals> RefusedSince(Client& client, std::uint64_t from);

// Prints "3 events were refused: UNKNOWN_APP 2 ..." and the first refusals; prints nothing if there are none.
void PrintRefusals(const Refusals& refusals);
// [{"number", "reason", "detail", "line"}]: the first refusals.
nlohmann::json RefusalsJson(const Refusals& refusals);

}  // namespace cobblestone::access
