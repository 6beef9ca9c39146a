// Shared parts of the verbs: their list, the place of the data, and the output of answers and errors.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/access/client.h"
#include "services/cli/exit_code.h"
#include "services/cli/progress.h"
#include "services/cli/terminal_text.h"
#include "services/cli/verb.h"

namespace cobblestone::commands {

// What most verbs name.
using access::Client;
using access::Purpose;
using cli::AddVerb;
using cli::kExitOk;
using cli::kExitProblems;
using cli::Program;
using cli::Progress;
using cli::TerminalText;
using cli::Verb;
using cli::WithCommas;

// Each function adds one verb.
void AddRun(Program& program);
void AddIngest(Program& program);
void AddAdopt(Program& program);
void AddGenerate(Program& program);
void AddReplay(Program& program);
void AddExplain(Program& program);
void AddExport(Program& program);
void AddGateway(Program& program);
void AddAccount(Program& program);
void AddHostVersion(Program& program);
void AddScales(Program& program);
void AddRefused(Program& program);
void AddTasks(Program& program);
void AddBackup(Program& program);
void AddRestore(Program& program);
void AddMigrate(Program& program);
void AddVerify(Program& program);
void AddRebuild(Program& program);
void AddTopics(Program& program);
void AddAudit(Program& program);
void AddReverse(Program& program);
void AddReprice(Program& program);
void AddConfig(Program& program);
void AddDemo(Program& program);
void AddHub(Program& program);
void AddHubProof(Program& program, Verb& hub);
// Verbs below `hub`: snapshot, new-key, adopt-snapshot.
void AddHubSnapshots(Program& program, Verb& hub);

// --config and --data.
struct DataPlace {
  std::string config;
  std::string data;
};
void AddDataPlace(Verb& verb, DataPlace& place);
// The settings of a place: from the file, else from the data directory (RememberPlace), else the defaults. --data
// overrides the data_directory of the file.
Result<settings::RunSettings> SettingsOf(const DataPlace& place);
// The same, for a verb about credit. kInvalidArgument: the deployment is a federation hub, which grants none.
Result<settings::RunSettings> ProjectSettingsOf(const DataPlace& place);
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
void AddQueryOptions(Verb& verb, QueryOptions& options, bool with_project = true);

// Sends the question and prints the answer: as JSON, or as text by `words`.
int AskAndPrint(const QueryOptions& options, Purpose purpose, const access::Question& question,
                const std::function<std::string(const nlohmann::json&)>& words);

// Prints to standard error; returns the exit code.
int ReportError(const Status& status);
// Prints the progress of a long opening to standard error.
void ReportOpening(const std::string& what);
// One object on one line, for machines (keys sorted).
void PrintJson(const nlohmann::json& json);

}  // namespace cobblestone::commands
