#include <cstdint>
#include <nlohmann/json.hpp>

#include "services/cli/format.h"
#include "services/cobblestone/commands/command.h"

namespace cobblestone {

using cli::RefusedListText;
using cli::RefusedText;

namespace {

struct ListOptions {
  QueryOptions query;
  std::uint64_t from = 0;
  std::uint64_t limit = 20;
};

struct OneOptions {
  QueryOptions query;
  std::uint64_t number = 0;
};

int List(const ListOptions& options) {
  return AskAndPrint(
      options.query, Purpose::kAsk,
      {.path = "/refused",
       .parameters = {{"from", std::to_string(options.from)}, {"limit", std::to_string(options.limit)}}},
      RefusedListText);
}

int Show(const OneOptions& options) {
  return AskAndPrint(options.query, Purpose::kAsk,
                     {.path = "/refused/show", .parameters = {{"offset", std::to_string(options.number)}}},
                     RefusedText);
}

int Resubmit(const OneOptions& options) {
  return AskAndPrint(
      options.query, Purpose::kWork,
      {.path = "/refused/resubmit", .parameters = {{"offset", std::to_string(options.number)}}},
      [&](const nlohmann::json&) {
        return "refused record " + std::to_string(options.number) +
               " was resubmitted; if the event is refused again, the new refusal is at the end of "
               "`cobblestone refused list`\n";
      });
}

void AddNumber(Verb& part, OneOptions& options) {
  part.Add("NUMBER", options.number, "number of the refused record, as shown by `refused list`").Required();
  AddQueryOptions(part, options.query, false);
}

}  // namespace

void AddRefused(Program& program) {
  Verb verb = program.root.Sub("refused", "Refused input: list, show, resubmit");
  verb.Footer(
      "A refused record contains the event, its source, and one reason from a fixed list (schemas/README.md).\n"
      "It omits texts of members (hosts, users, teams) and the bytes of lines that are not events, so that no\n"
      "texts of deleted members remain. Such a record cannot be resubmitted: send the event again. A refusal\n"
      "changes no credit.\n\n"
      "Examples:  cobblestone refused list --from 1000 --limit 50\n"
      "           cobblestone refused show 1003\n"
      "           cobblestone refused resubmit 1003      after the missing event has been ingested");
  AddVerb<ListOptions>(
      program, verb, "list", "Lists refused records, one line each",
      [](Verb& part, ListOptions& options) {
        part.Add("--from", options.from, "first number").Type("N").ShowDefault();
        part.Add("--limit", options.limit, "maximum number of records").Type("N").ShowDefault();
        AddQueryOptions(part, options.query, false);
      },
      List);
  AddVerb<OneOptions>(program, verb, "show", "Shows one refused record in full", AddNumber, Show);
  AddVerb<OneOptions>(program, verb, "resubmit", "Submits a refused event again", AddNumber, Resubmit);
}

}  // namespace cobblestone
