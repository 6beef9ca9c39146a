#include "services/access/refusals.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/cli/progress.h"
#include "services/cli/terminal_text.h"

namespace cobblestone::access {

using cli::TerminalText;
using cli::WithCommas;
using nlohmann::json;

Result<std::uint64_t> RefusedSoFar(Client& client) {
  auto answer = client.Ask({.path = "/refused", .parameters = {{"limit", "0"}}});
  if (!answer.ok()) return answer.status();
  return answer->value("all", std::uint64_t{0});
}

Result<Refusals> RefusedSince(Client& client, std::uint64_t from) {
  auto answer = client.Ask(
      {.path = "/refused",
       .parameters = {{"from", std::to_string(from)}, {"limit", std::to_string(kMaxRefusalsCounted)}}});
  if (!answer.ok()) return answer.status();
  Refusals refusals;
  for (json& one : (*answer)["refused"]) {
    // A refusal with a source never was an event; this source's bad lines are already known, and other
    // sources' are irrelevant.
    if (one.contains("source")) continue;
    ++refusals.all;
    ++refusals.by_reason[one.value("reason", "")];
    if (refusals.first.size() < kMaxRefusalsListed) refusals.first.push_back(std::move(one));
  }
  refusals.lines.assign(refusals.first.size(), 0);
  return refusals;
}

void PrintRefusals(const Refusals& refusals) {
  if (refusals.all == 0) return;
  std::printf("%s%s events were refused:", WithCommas(refusals.all).c_str(),
              refusals.all == kMaxRefusalsCounted ? " or more" : "");
  for (const auto& [reason, count] : refusals.by_reason)
    std::printf(" %s %s", reason.c_str(), WithCommas(count).c_str());
  std::printf("\n");
  for (std::size_t i = 0; i < refusals.first.size(); ++i) {
    const std::string where = refusals.lines[i] != 0 ? "line " + std::to_string(refusals.lines[i])
                                                     : "number " + refusals.first[i]["number"].dump();
    std::printf("  %s: %s: %s\n", where.c_str(), refusals.first[i].value("reason", "").c_str(),
                TerminalText(refusals.first[i].value("detail", "")).c_str());
  }
  if (refusals.all > refusals.first.size())
    std::printf("  ... and %s more; see `cobblestone refused list`\n",
                WithCommas(refusals.all - refusals.first.size()).c_str());
}

json RefusalsJson(const Refusals& refusals) {
  json refused = json::array();
  for (std::size_t i = 0; i < refusals.first.size(); ++i) {
    json one = {{"number", refusals.first[i]["number"]},
                {"reason", refusals.first[i]["reason"]},
                {"detail", refusals.first[i]["detail"]}};
    if (refusals.lines[i] != 0) one["line"] = refusals.lines[i];
    refused.push_back(std::move(one));
  }
  return refused;
}

}  // namespace cobblestone::access
