#include <cstdint>

#include "services/cli/format.h"
#include "services/cobblestone/commands/command.h"

namespace cobblestone {
namespace {

struct Options {
  QueryOptions query;
  std::uint64_t result = 0;
};

int Run(const Options& options) {
  return AskAndPrint(options.query, Purpose::kAsk,
                     {.path = "/explain",
                      .parameters = {{"project", std::to_string(options.query.project)},
                                     {"result", std::to_string(options.result)}}},
                     ExplainText);
}

}  // namespace

void AddExplain(Program& program) {
  AddVerb<Options>(
      program, "explain", "Shows how the credit of one result came about, step by step",
      [](CLI::App& verb, Options& options) {
        verb.add_option("RESULT", options.result, "the result's number")->required();
        AddQueryOptions(verb, options.query);
        verb.footer(
            "Tells the job, the averages and scales that were known, the claim, the other replicas' claims,\n"
            "how the grant was formed, its rounding, and whose accounts got it.\n\n"
            "Example:  cobblestone explain 4711 --config cobblestone.yaml\n"
            "Exit code 3: nothing is known of such a result.");
      },
      Run);
}

}  // namespace cobblestone
