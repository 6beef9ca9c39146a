#include <cstdint>

#include "services/cli/format.h"
#include "services/commands/command.h"

namespace cobblestone::commands {

using cli::ExplainText;

namespace {

struct ExplainArguments {
  QueryOptions query;
  std::uint64_t result = 0;
};

int RunExplain(const ExplainArguments& options) {
  return AskAndPrint(options.query, Purpose::kAsk,
                     {.path = "/explain",
                      .parameters = {{"project", std::to_string(options.query.project)},
                                     {"result", std::to_string(options.result)}}},
                     ExplainText);
}

}  // namespace

void AddExplain(Program& program) {
  AddVerb<ExplainArguments>(
      program, "explain", "Explains the credit of one result, step by step",
      [](Verb& verb, ExplainArguments& options) {
        verb.Add("RESULT", options.result, "number of the result").Required();
        AddQueryOptions(verb, options.query);
        verb.Footer(
            "Shows the job, the averages and scales in force, the claim, the claims of the other replicas, the\n"
            "calculation of the grant, its rounding, and the accounts that received the credit.\n\n"
            "Example:  cobblestone explain 4711 --config cobblestone.yaml\n"
            "Exit code 3: the result is unknown.");
      },
      RunExplain);
}

}  // namespace cobblestone::commands
