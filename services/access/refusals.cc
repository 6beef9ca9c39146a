#include "services/access/refusals.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/cli/progress.h"
#include "services/cli/terminal_text.h"

namespace cobblestone::access {

using cli::TerminalText;
using cli::WithCommas;
using nlohmann::json;

Result<RefusalsPoint> RefusedSoFar(Client& client) {
  auto answer = client.Ask({.path = "/refused/point", .parameters = {}});
  if (!answer.ok()) return answer.status();
  return RefusalsPoint{.number = answer->value("all", std::uint64_t{0}), .since = answer->value("since", "")};
}

Result<Refusals> RefusedSince(Client& client, const RefusalsPoint& from, std::optional<ProjectId> project) {
  Question question{.path = "/refused/count",
                    .parameters = {{"from", std::to_string(from.number)}, {"since", from.since}}};
  if (project) question.parameters["of_project"] = std::to_string(project->value);
  auto answer = client.Ask(question);
  if (!answer.ok()) return answer.status();
  Refusals refusals{.all = answer->value("events", std::uint64_t{0}),
                    .results = answer->value("results", std::uint64_t{0}),
                    .derived = answer->value("derived", std::uint64_t{0}),
                    .by_reason = (*answer)["reasons"].get<std::map<std::string, std::uint64_t>>(),
                    .by_kind = (*answer)["kinds"].get<std::map<std::string, std::uint64_t>>(),
                    .earlier = answer->value("earlier", std::uint64_t{0}),
                    .first = (*answer)["first"].get<std::vector<json>>(),
                    .lines = {}};
  refusals.lines.assign(refusals.first.size(), 0);
  return refusals;
}

void PrintRefusals(const Refusals& refusals) {
  if (refusals.earlier > 0)
    std::printf("%s events that were ingested earlier were refused now; see `cobblestone refused list`\n",
                WithCommas(refusals.earlier).c_str());
  const std::uint64_t all = refusals.total();
  if (all == 0) return;
  if (refusals.all > 0) std::printf("%s events", WithCommas(refusals.all).c_str());
  if (refusals.derived > 0)
    std::printf("%s%s claims or grants of accepted events", refusals.all > 0 ? " and " : "",
                WithCommas(refusals.derived).c_str());
  std::printf(" were refused:");
  for (const auto& [reason, count] : refusals.by_reason)
    std::printf(" %s %s", reason.c_str(), WithCommas(count).c_str());
  std::printf("\n");
  for (std::size_t i = 0; i < refusals.first.size(); ++i) {
    const std::string where = refusals.lines[i] != 0 ? "line " + std::to_string(refusals.lines[i])
                                                     : "number " + refusals.first[i]["number"].dump();
    std::printf("  %s: %s: %s\n", where.c_str(), refusals.first[i].value("reason", "").c_str(),
                TerminalText(refusals.first[i].value("detail", "")).c_str());
  }
  if (all > refusals.first.size())
    std::printf("  ... and %s more; see `cobblestone refused list`\n",
                WithCommas(all - refusals.first.size()).c_str());
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
