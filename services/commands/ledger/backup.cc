#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "services/backup/kafka_backup.h"
#include "services/backup/pipeline_backup.h"
#include "services/commands/command.h"

namespace cobblestone::commands {

using cli::ProgressPoint;

namespace {

struct BackupArguments {
  DataPlace place;
  std::string to;
  std::size_t keep = 7;
  std::uint32_t wait = 60;
  bool full = false;
  bool json = false;
};

nlohmann::json OutcomeJson(const backup::BackupOutcome& outcome) {
  const backup::BackupManifest& manifest = outcome.manifest;
  return {{"directory", outcome.directory},
          {"made_at", manifest.made_at},
          {"commit", manifest.commit},
          {"records", manifest.records},
          {"sources", manifest.sources},
          {"bytes", manifest.bytes()},
          {"copied_files", outcome.copied_files},
          {"copied_bytes", outcome.copied_bytes},
          {"linked_files", outcome.linked_files},
          {"linked_bytes", outcome.linked_bytes},
          {"deleted", outcome.deleted}};
}

void Print(const backup::BackupOutcome& outcome) {
  const backup::BackupManifest& manifest = outcome.manifest;
  std::printf("%s: %s as of commit %s, with %s records and the positions of %s sources\n",
              TerminalText(outcome.directory).c_str(), TerminalText(manifest.source).c_str(),
              WithCommas(manifest.commit).c_str(), WithCommas(manifest.records).c_str(),
              WithCommas(manifest.sources).c_str());
  std::printf("%s files (%s bytes) copied and read back, %s files (%s bytes) linked to the previous backup\n",
              WithCommas(outcome.copied_files).c_str(), WithCommas(outcome.copied_bytes).c_str(),
              WithCommas(outcome.linked_files).c_str(), WithCommas(outcome.linked_bytes).c_str());
  for (const std::string& name : outcome.deleted) std::printf("deleted %s\n", name.c_str());
}

int RunBackup(const BackupArguments& options) {
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  std::optional<Progress> progress;
  const auto show = [&](const char* unit, const ProgressPoint& point) {
    if (!progress || progress->unit() != unit) progress.emplace(unit, options.json);
    progress->Show(point);
  };
  const backup::BackupOptions backup{
      .to = options.to,
      .keep = options.keep,
      .full = options.full,
      .configuration = options.place.config,
      .made_with = PlaceText(*settings, false),
      .wait = std::chrono::seconds(options.wait),
      .reading = [&](std::uint64_t records) { show("records", {.done = records, .counted = records}); },
      .progress = [&](std::uint64_t done,
                      std::uint64_t all) { show("bytes", {.done = done, .all = all, .counted = done}); },
      .report =
          [&](const std::string& what) {
            progress.reset();
            ReportOpening(what);
          },
      .clock = {}};
  const auto outcome = settings->backend == settings::Backend::kKafka
                           ? backup::BackUpKafka(*settings, backup)
                           : backup::BackUpPipeline(*settings, backup);
  progress.reset();
  if (!outcome.ok()) return ReportError(outcome.status());
  if (options.json) {
    PrintJson(OutcomeJson(*outcome));
  } else {
    Print(*outcome);
  }
  return kExitOk;
}

}  // namespace

void AddBackup(Program& program) {
  AddVerb<BackupArguments>(
      program, "backup", "Copies log, states and configuration as of one commit, while the pipeline runs",
      [](Verb& verb, BackupArguments& options) {
        AddDataPlace(verb, options.place);
        verb.Add("--to", options.to, "directory of the backups; created if it does not exist")
            .Type("DIR")
            .Required();
        verb.Add("--keep", options.keep,
                 "number of complete backups to keep; older backups are deleted afterwards")
            .Type("N")
            .Between(1, 100000)
            .ShowDefault();
        verb.Add("--wait", options.wait,
                 "on Kafka: how long to wait for a moment without an open transaction")
            .Type("SECONDS")
            .Between(1, 86400)
            .ShowDefault();
        verb.Flag("--full", options.full,
                  "copy all files; do not link unchanged files to the previous backup");
        verb.Flag("--json", options.json, "print the outcome as JSON");
        verb.Footer(
            "Each backup is a directory DIR/TIME-NUMBER. A file that has not changed since the previous backup is a\n"
            "hard link to that backup's file. All other files are copied, synced and read back. An interrupted\n"
            "backup leaves older backups unchanged, and the next backup deletes its files. A backup contains the\n"
            "file of --config, but not the files with keys, tokens and passwords that this file names.\n"
            "On Kafka the topics are copied into a data directory for one machine, as of a moment without an open\n"
            "transaction. Under constant traffic there is no such moment: pause the sources until the command\n"
            "reports that they may continue. Workers keep running.\n\n"
            "Examples:  cobblestone backup --config cobblestone.yaml --to /backup/cobblestone\n"
            "           cobblestone restore --from /backup/cobblestone --check");
      },
      RunBackup);
}

}  // namespace cobblestone::commands
