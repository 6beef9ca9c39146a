#include <nlohmann/json.hpp>

#include "services/cli/format.h"
#include "services/cobblestone/commands/command.h"

namespace cobblestone {

using cli::KafkaTasksText;
using cli::TasksText;

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
      program, "tasks", "Shows the state of the pipeline: backlog, commits, checkpoints, log",
      [](Verb& verb, Options& options) { AddQueryOptions(verb, options.query, false); }, Run);
}

}  // namespace cobblestone
