#include "services/cli/format.h"
#include "services/commands/command.h"

namespace cobblestone::commands {

using cli::ScalesText;

namespace {

struct ScalesArguments {
  QueryOptions query;
};

int RunScales(const ScalesArguments& options) {
  return AskAndPrint(options.query, Purpose::kAsk,
                     {.path = "/scales", .parameters = {{"project", std::to_string(options.query.project)}}},
                     ScalesText);
}

}  // namespace

void AddScales(Program& program) {
  AddVerb<ScalesArguments>(
      program, "scales", "Shows the scales in force per app and app version, and their epoch",
      [](Verb& verb, ScalesArguments& options) { AddQueryOptions(verb, options.query); }, RunScales);
}

}  // namespace cobblestone::commands
