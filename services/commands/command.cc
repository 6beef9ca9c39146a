#include "services/commands/command.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace cobblestone::commands {

using access::Question;
using cli::ExitCodeOf;
using cli::TerminalLines;

namespace {

constexpr const char* kRemembered = "/made_with.yaml";
constexpr std::size_t kLongestSocketPath = 107;  // sockaddr_un

std::string SocketIn(const std::string& directory) { return directory + "/cobblestone.sock"; }

// If the settings do not name the socket, it is in the data directory.
Result<settings::RunSettings> InDirectory(settings::RunSettings settings, const std::string& data) {
  if (settings.listen.socket == SocketIn(settings.data_directory)) settings.listen.socket = SocketIn(data);
  settings.data_directory = data;
  if (settings.listen.socket.size() <= kLongestSocketPath) return settings;
  return Status::InvalidArgument(
      "the path of the socket is longer than the limit for Unix sockets (" +
      std::to_string(kLongestSocketPath) + " bytes): " + settings.listen.socket +
      "; use a path relative to the working directory, or set listen.socket in a configuration file");
}

}  // namespace

void AddDataPlace(Verb& verb, DataPlace& place) {
  verb.Add("--config", place.config, "configuration file of the pipeline (see `cobblestone config`)")
      .Type("FILE");
  verb.Add("--data", place.data,
           "data directory; overrides data_directory of the configuration (default without both: "
           "./cobblestone-data)")
      .Type("DIR");
}

Result<settings::RunSettings> SettingsOf(const DataPlace& place) {
  std::string data = place.data;
  while (data.size() > 1 && data.ends_with('/')) data.pop_back();
  if (place.config.empty()) {
    if (data.empty()) data = settings::RunSettings().data_directory;
    std::error_code ignored;  // a file that cannot be accessed counts as absent
    const std::string remembered = data + kRemembered;
    auto settings = std::filesystem::exists(remembered, ignored)
                        ? settings::LoadRunSettings(remembered)
                        : settings::ParseRunSettings("", "the defaults");
    return settings.ok() ? InDirectory(*settings, data) : settings;
  }
  auto settings = settings::LoadRunSettings(place.config);
  return settings.ok() && !data.empty() ? InDirectory(*settings, data) : settings;
}

Result<settings::RunSettings> ProjectSettingsOf(const DataPlace& place) {
  auto settings = SettingsOf(place);
  if (settings.ok() && settings->role == settings::Role::kHub)
    return Status::InvalidArgument(
        "this deployment is a federation hub (role: hub): it grants no credit, so there is nothing to ask, audit, "
        "correct or export here. Its accounts and factors are at /api/v1/federation of its gateway");
  return settings;
}

std::string PlaceText(const settings::RunSettings& settings, bool with_socket) {
  std::error_code error;
  const std::string socket = std::filesystem::absolute(settings.listen.socket, error).string();
  std::string text = "# Written by the program, for commands that use --data without --config.\n";
  text += "partitions: " + std::to_string(settings.partitions) + "\n";
  if (settings.order == settings::Order::kLockstep) text += "order: lockstep\n";
  if (settings.role == settings::Role::kHub) text += "role: hub\n";
  // A socket in the data directory is not written: a copy of the directory has its own. A path that is too
  // long is reached by the relative path, from the directory where it was given.
  if (with_socket && settings.listen.socket != SocketIn(settings.data_directory) && !error &&
      socket.size() <= kLongestSocketPath)
    text += "listen:\n  socket: " + nlohmann::json(socket).dump() + "\n";
  if (!settings.projects.empty()) text += "projects:\n";
  for (const settings::ProjectEntry& project : settings.projects)
    text += "  - {id: " + std::to_string(project.id.value) +
            ", name: " + nlohmann::json(project.name).dump() + "}\n";
  return text;
}

Status RememberPlace(const settings::RunSettings& settings) {
  const std::string path = settings.data_directory + kRemembered;
  std::error_code error;
  const std::string text = PlaceText(settings, true);
  // By rename, because other processes may be reading the file.
  const std::string new_path = path + ".new";
  std::ofstream file(new_path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) std::filesystem::rename(new_path, path, error);
  if (!file || error)
    return Status::Unwritten(error ? error.value() : errno,
                             "cannot write " + path + "; free disk space, or check the permissions");
  return Status::Ok();
}

void AddQueryOptions(Verb& verb, QueryOptions& options, bool with_project) {
  AddDataPlace(verb, options.place);
  if (with_project) {
    verb.Add("--project", options.project, "number of the project").Type("P").ShowDefault();
  }
  verb.Flag("--json", options.json, "print the answer as JSON, with full precision");
}

int AskAndPrint(const QueryOptions& options, Purpose purpose, const Question& question,
                const std::function<std::string(const nlohmann::json&)>& words) {
  // Slots and refused events exist in every deployment.
  const bool any = question.path == "/tasks" || question.path.starts_with("/refused");
  const auto settings = any ? SettingsOf(options.place) : ProjectSettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  auto client = Client::Open(*settings, purpose, ReportOpening);
  if (!client.ok()) return ReportError(client.status());
  auto answer = (*client)->Ask(question);
  if (!answer.ok()) return ReportError(answer.status());
  if (purpose == Purpose::kWork) {
    if (Status status = (*client)->WaitIdle(); !status.ok()) return ReportError(status);
    if (Status status = (*client)->Close(); !status.ok()) return ReportError(status);
  }
  if (options.json) {
    PrintJson(*answer);
  } else {
    std::fputs(TerminalLines(words(*answer)).c_str(), stdout);
  }
  return kExitOk;
}

int ReportError(const Status& status) {
  std::fflush(stdout);
  std::fprintf(stderr, "cobblestone: %s\n", TerminalLines(status.message()).c_str());
  return ExitCodeOf(status);
}

void ReportOpening(const std::string& what) {
  std::fprintf(stderr, "cobblestone: %s\n", TerminalLines(what).c_str());
}

void PrintJson(const nlohmann::json& json) {
  std::puts(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace cobblestone::commands
