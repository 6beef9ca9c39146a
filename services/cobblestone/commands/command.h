// Shared parts of the verbs: their list, the place of the data, and the output of answers and errors.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/access/client.h"
#include "services/cli/exit_code.h"
#include "services/cli/verb.h"

namespace cobblestone {

// Each function adds one verb.
void AddRun(cli::Program& program);
void AddIngest(cli::Program& program);
void AddAdopt(cli::Program& program);
void AddGenerate(cli::Program& program);
void AddReplay(cli::Program& program);
void AddExplain(cli::Program& program);
void AddExport(cli::Program& program);
void AddGateway(cli::Program& program);
void AddAccount(cli::Program& program);
void AddHostVersion(cli::Program& program);
void AddScales(cli::Program& program);
void AddRefused(cli::Program& program);
void AddTasks(cli::Program& program);
void AddBackup(cli::Program& program);
void AddRestore(cli::Program& program);
void AddMigrate(cli::Program& program);
void AddVerify(cli::Program& program);
void AddRebuild(cli::Program& program);
void AddTopics(cli::Program& program);
void AddAudit(cli::Program& program);
void AddReverse(cli::Program& program);
void AddReprice(cli::Program& program);
void AddConfig(cli::Program& program);
void AddDemo(cli::Program& program);

// --config and --data.
struct DataPlace {
  std::string config;
  std::string data;
};
void AddDataPlace(cli::Verb& verb, DataPlace& place);
// The settings of a place: from the file, else from the data directory (RememberPlace), else the defaults. --data
// overrides the data_directory of the file.
Result<settings::RunSettings> SettingsOf(const DataPlace& place);
// Stores in the data directory what another verb needs to find it with --data alone: the number of partitions, the
// path of the socket, and the names of the projects.
Status RememberPlace(const settings::RunSettings& settings);
// The text that RememberPlace stores. Without the socket for a copy, whose questions must not reach the original.
std::string PlaceText(const settings::RunSettings& settings, bool with_socket);

// Options of every question.
struct QueryOptions {
  DataPlace place;
  std::uint32_t project = 1;
  bool json = false;
};
void AddQueryOptions(cli::Verb& verb, QueryOptions& options, bool with_project = true);

// Sends the question and prints the answer: as JSON, or as text by `words`.
int AskAndPrint(const QueryOptions& options, access::Purpose purpose, const access::Question& question,
                const std::function<std::string(const nlohmann::json&)>& words);

// Prints to standard error; returns the exit code.
int TellError(const Status& status);
// Prints the progress of a long opening to standard error.
void ReportOpening(const std::string& what);
// One object on one line, for machines (keys sorted).
void PrintJson(const nlohmann::json& json);

}  // namespace cobblestone
