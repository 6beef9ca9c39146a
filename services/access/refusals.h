// Events of a command that the stages have refused.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "services/access/client.h"

namespace cobblestone::access {

// A point in the refused records and in the events.
struct RefusalsPoint {
  std::uint64_t number = 0;  // behind the last record
  std::string since;         // of /refused/point (refused_question.h)
};

// Of events that were appended after a point, by any source.
struct Refusals {
  std::uint64_t all = 0;
  std::uint64_t results = 0;                       // completions among them
  std::uint64_t derived = 0;                       // claims and grants made from accepted events
  std::map<std::string, std::uint64_t> by_reason;  // of `all` and `derived`
  std::map<std::string, std::uint64_t> by_kind;    // of `all`: "feed_account"
  std::uint64_t earlier = 0;                       // events refused after the point, appended before it
  std::vector<nlohmann::json> first;               // records of RefusedList
  std::vector<std::uint64_t> lines;                // of `first`, from 1; 0 if unknown

  [[nodiscard]] std::uint64_t total() const { return all + derived; }
};

// Call it before sending.
Result<RefusalsPoint> RefusedSoFar(Client& client);
// Call it when everything sent is processed; does not set `lines`. Lines that were never events are not included, and an
// event that several stages refuse counts once.
// `project`: of its events, and of those of no project.
Result<Refusals> RefusedSince(Client& client, const RefusalsPoint& from,
                              std::optional<ProjectId> project = std::nullopt);

// Prints "3 events were refused: UNKNOWN_APP 2 ..." and the first refusals; prints nothing if there are none.
void PrintRefusals(const Refusals& refusals);
// [{"number", "reason", "detail", "line"}]: the first refusals.
nlohmann::json RefusalsJson(const Refusals& refusals);

}  // namespace cobblestone::access
