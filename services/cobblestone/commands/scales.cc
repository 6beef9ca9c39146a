#include "services/cli/format.h"
#include "services/cobblestone/commands/command.h"

namespace cobblestone {

using cli::ScalesText;

namespace {

struct Options {
  QueryOptions query;
};

int Run(const Options& options) {
  return AskAndPrint(options.query, Purpose::kAsk,
                     {.path = "/scales", .parameters = {{"project", std::to_string(options.query.project)}}},
                     ScalesText);
}

}  // namespace

void AddScales(Program& program) {
  AddVerb<Options>(
      program, "scales", "Shows the scales in force per app and app version, and their epoch",
      [](Verb& verb, Options& options) { AddQueryOptions(verb, options.query); }, Run);
}

}  // namespace cobblestone
