#include <cstdint>

#include "services/cli/format.h"
#include "services/commands/command.h"

namespace cobblestone::commands {

using cli::AccountText;

namespace {

struct AccountArguments {
  QueryOptions query;
  std::string kind;
  std::uint64_t id = 0;
};

int RunAccount(const AccountArguments& options) {
  return AskAndPrint(options.query, Purpose::kAsk,
                     {.path = "/account",
                      .parameters = {{"project", std::to_string(options.query.project)},
                                     {"kind", options.kind},
                                     {"id", std::to_string(options.id)}}},
                     AccountText);
}

}  // namespace

void AddAccount(Program& program) {
  AddVerb<AccountArguments>(
      program, "account",
      "Shows the credit of a host, a user or a team (total, recent average, per app, per day), or a project's estimates",
      [](Verb& verb, AccountArguments& options) {
        verb.Add("KIND", options.kind, "host, user, team or project")
            .Required()
            .OneOf({"host", "user", "team", "project"});
        verb.Add("ID", options.id, "number of the account").Required();
        AddQueryOptions(verb, options.query);
        verb.Footer(
            "Examples:  cobblestone account user 17\n"
            "           cobblestone account team 3 --json | jq .total");
      },
      RunAccount);
}

}  // namespace cobblestone::commands
