#include "services/cli/format.h"
#include "services/cobblestone/commands/command.h"

namespace cobblestone {
namespace {

struct Options {
  QueryOptions query;
};

int Run(const Options& options) {
  return AskAndPrint(options.query, Purpose::kAsk, {.path = "/tasks"}, [](const nlohmann::json& answer) {
    return answer.contains("workers") ? KafkaTasksText(answer) : TasksText(answer);
  });
}

}  // namespace

void AddTasks(Program& program) {
  AddVerb<Options>(
      program, "tasks", "How the pipeline is doing: what waits, commits, checkpoints, the log",
      [](CLI::App& verb, Options& options) { AddQueryOptions(verb, options.query, false); }, Run);
}

}  // namespace cobblestone
