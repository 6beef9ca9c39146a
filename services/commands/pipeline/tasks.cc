#include <nlohmann/json.hpp>

#include "services/cli/format.h"
#include "services/commands/command.h"

namespace cobblestone::commands {

using cli::KafkaTasksText;
using cli::TasksText;

namespace {

struct TasksArguments {
  QueryOptions query;
};

int RunTasks(const TasksArguments& options) {
  return AskAndPrint(options.query, Purpose::kAsk, {.path = "/tasks"}, [](const nlohmann::json& answer) {
    return answer.contains("workers") ? KafkaTasksText(answer) : TasksText(answer);
  });
}

}  // namespace

void AddTasks(Program& program) {
  AddVerb<TasksArguments>(
      program, "tasks", "Shows the state of the pipeline: backlog, commits, checkpoints, log",
      [](Verb& verb, TasksArguments& options) { AddQueryOptions(verb, options.query, false); }, RunTasks);
}

}  // namespace cobblestone::commands
