// What the stages have refused of what a verb has sent.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/access/client.h"

namespace cobblestone {

inline constexpr std::size_t kMostRefusalsTold = 20;
inline constexpr std::uint64_t kMostRefusalsCounted = 10000;

struct Refusals {
  std::uint64_t all = 0;  // up to kMostRefusalsCounted
  std::map<std::string, std::uint64_t> by_reason;
  std::vector<nlohmann::json> first;  // records of RefusedList
  std::vector<std::uint64_t> lines;   // of these, from 1; 0 where it is not known
};

// Before anything is sent.
Result<std::uint64_t> RefusedSoFar(Client& client);
// When all that was sent is processed; without lines. Lines that never were events are not among them.
Result<Refusals> RefusedSince(Client& client, std::uint64_t from);

// "3 events were refused: UNKNOWN_APP 2 ...", and the first of them; nothing where there are none.
void PrintRefusals(const Refusals& refusals);
// [{"number", "reason", "detail", "line"}]: the first of them.
nlohmann::json RefusalsJson(const Refusals& refusals);

}  // namespace cobblestone
