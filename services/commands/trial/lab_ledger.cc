#include "services/commands/trial/lab_ledger.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "services/commands/command.h"
#include "services/history/event_history.h"
#include "services/history/pipeline_history.h"
#include "services/kafka/audited_deployment.h"

namespace cobblestone::commands {
namespace {

using ReadProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

Result<history::Fit> FitKafka(const settings::RunSettings& settings, const LedgerPlaceOptions& options,
                              const ReadProgress& progress) {
  // The directory of audits: both keep the same index.
  const auto audited = kafka::OpenAudited(
      settings, {.directory = settings.data_directory + "/audit", .report = ReportOpening});
  if (!audited.ok()) return audited.status();
  const auto history =
      history::ReadPipeline(**audited, ProjectId(options.project), AppId(options.app), progress);
  if (!history.ok()) return history.status();
  return history::FitOf(*history);
}

Result<history::Fit> FitDeployment(const DataPlace& place, const LedgerPlaceOptions& options,
                                   const ReadProgress& progress) {
  const auto settings = ProjectSettingsOf(place);
  if (!settings.ok()) return settings.status();
  if (settings->backend == settings::Backend::kKafka) return FitKafka(*settings, options, progress);
  auto client = Client::Open(*settings, Purpose::kAsk, ReportOpening);
  if (!client.ok()) return client.status();
  const auto answer = (*client)->AskLong(
      {.path = "/history/fit",
       .parameters = {{"project", std::to_string(options.project)}, {"app", std::to_string(options.app)}}},
      progress);
  if (!answer.ok()) return answer.status();
  return history::ParseFit(*answer);
}

Result<history::Fit> FitFile(const LedgerPlaceOptions& options, const ReadProgress& progress) {
  const auto history =
      history::ReadEvents(options.path, ProjectId(options.project), AppId(options.app), progress);
  if (!history.ok()) return history.status();
  return history::FitOf(*history);
}

}  // namespace

Result<history::Fit> FitLedger(const LedgerPlaceOptions& options) {
  std::error_code error;
  const std::filesystem::path path = options.path;
  const bool directory = std::filesystem::is_directory(path, error);
  const bool config = path.extension() == ".yaml" || path.extension() == ".yml";
  const bool file = !directory && !config;
  Progress progress(file ? "bytes" : "records", options.quiet);
  const auto show = [&](std::uint64_t done, std::uint64_t all) {
    progress.Show({.done = done, .all = all, .counted = done});
  };
  auto fit = file ? FitFile(options, show)
                  : FitDeployment(directory ? DataPlace{.config = "", .data = options.path}
                                            : DataPlace{.config = options.path, .data = ""},
                                  options, show);
  progress.Finish();
  return fit;
}

}  // namespace cobblestone::commands
