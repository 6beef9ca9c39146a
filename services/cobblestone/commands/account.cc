#include <cstdint>

#include "services/cli/format.h"
#include "services/cobblestone/commands/command.h"

namespace cobblestone {

using cli::AccountText;

namespace {

struct Options {
  QueryOptions query;
  std::string kind;
  std::uint64_t id = 0;
};

int Run(const Options& options) {
  return AskAndPrint(options.query, Purpose::kAsk,
                     {.path = "/account",
                      .parameters = {{"project", std::to_string(options.query.project)},
                                     {"kind", options.kind},
                                     {"id", std::to_string(options.id)}}},
                     AccountText);
}

}  // namespace

void AddAccount(Program& program) {
  AddVerb<Options>(
      program, "account",
      "Shows the credit of a host, a user or a team (total, recent average, per app, per day), or a project's estimates",
      [](Verb& verb, Options& options) {
        verb.Add("KIND", options.kind, "host, user, team or project")
            .Required()
            .OneOf({"host", "user", "team", "project"});
        verb.Add("ID", options.id, "number of the account").Required();
        AddQueryOptions(verb, options.query);
        verb.Footer(
            "Examples:  cobblestone account user 17\n"
            "           cobblestone account team 3 --json | jq .total");
      },
      Run);
}

}  // namespace cobblestone
