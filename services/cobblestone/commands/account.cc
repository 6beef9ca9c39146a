#include <cstdint>

#include "services/cli/format.h"
#include "services/cobblestone/commands/command.h"

namespace cobblestone {
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
      [](CLI::App& verb, Options& options) {
        verb.add_option("KIND", options.kind, "host, user, team or project")
            ->required()
            ->check(CLI::IsMember({"host", "user", "team", "project"}));
        verb.add_option("ID", options.id, "number of the account")->required();
        AddQueryOptions(verb, options.query);
        verb.footer(
            "Examples:  cobblestone account user 17\n"
            "           cobblestone account team 3 --json | jq .total");
      },
      Run);
}

}  // namespace cobblestone
