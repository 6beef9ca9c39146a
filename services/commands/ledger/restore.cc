#include "services/backup/restore.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "services/commands/command.h"

namespace cobblestone::commands {
namespace {

struct RestoreArguments {
  DataPlace place;
  std::string from;
  bool check = false;
  bool json = false;
};

nlohmann::json FoundJson(const backup::FoundBackup& found) {
  return {{"backup", found.directory},         {"made_at", found.manifest.made_at},
          {"source", found.manifest.source},   {"partitions", found.manifest.partitions},
          {"commit", found.manifest.commit},   {"records", found.manifest.records},
          {"sources", found.manifest.sources}, {"files", found.manifest.files.size()},
          {"bytes", found.manifest.bytes()}};
}

void Print(const RestoreArguments& options, const backup::FoundBackup& found, const std::string& to) {
  const backup::BackupManifest& manifest = found.manifest;
  const std::string directory = TerminalText(found.directory);
  if (options.check) {
    std::printf("%s: all %s files (%s bytes) match their checksums, commit %s of %s\n", directory.c_str(),
                WithCommas(manifest.files.size()).c_str(), WithCommas(manifest.bytes()).c_str(),
                WithCommas(manifest.commit).c_str(), TerminalText(manifest.source).c_str());
    return;
  }
  std::printf("%s is %s as of commit %s, with %s records and the positions of %s sources\n",
              TerminalText(to).c_str(), directory.c_str(), WithCommas(manifest.commit).c_str(),
              WithCommas(manifest.records).c_str(), WithCommas(manifest.sources).c_str());
  for (const backup::BackupFile& file : manifest.files)
    if (file.path.starts_with(std::string(backup::kConfigurationFolder) + "/"))
      std::printf("its configuration was %s/%s\n", directory.c_str(), TerminalText(file.path).c_str());
  std::printf(
      "start the pipeline on it and send every source again in full: each source continues where the backup stands\n");
}

int RunRestore(const RestoreArguments& options) {
  if (!options.check && options.place.config.empty() && options.place.data.empty())
    return ReportError(Status::InvalidArgument(
        "name the directory to restore into, with --data or as data_directory of a --config; or use --check"));
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  if (!options.check && settings->backend == settings::Backend::kKafka)
    return ReportError(Status::InvalidArgument(
        options.place.config +
        " is for Kafka, but `restore` writes a data directory for one machine; name that directory "
        "with --data alone. `cobblestone migrate` then moves it to new topics"));
  const auto found = backup::FindBackup(options.from);
  if (!found.ok()) return ReportError(found.status());
  if (!options.check && !options.place.config.empty() && settings->partitions != found->manifest.partitions)
    return ReportError(Status::InvalidArgument(
        options.place.config + " has partitions: " + std::to_string(settings->partitions) + ", the backup " +
        found->directory + " has " + std::to_string(found->manifest.partitions) +
        "; use the configuration that the backup was made with"));
  Progress progress("bytes", options.json);
  const backup::Progress show = [&](std::uint64_t done, std::uint64_t all) {
    progress.Show({.done = done, .all = all, .counted = done});
  };
  const Status status = options.check ? backup::CheckBackup(*found, show)
                                      : backup::Restore(*found, settings->data_directory, show);
  progress.Finish();
  if (!status.ok()) return ReportError(status);
  if (options.json) {
    PrintJson(FoundJson(*found));
  } else {
    Print(options, *found, settings->data_directory);
  }
  return kExitOk;
}

}  // namespace

void AddRestore(Program& program) {
  AddVerb<RestoreArguments>(
      program, "restore", "Restores a data directory from a backup, or checks a backup",
      [](Verb& verb, RestoreArguments& options) {
        AddDataPlace(verb, options.place);
        verb.Add("--from", options.from,
                 "directory of the backups (the newest is restored), or one backup in it")
            .Type("DIR")
            .Required();
        verb.Flag("--check", options.check, "read every file and compare its checksum; restore nothing");
        verb.Flag("--json", options.json, "print the restored or checked backup as JSON");
        verb.Footer(
            "The data directory must be empty or not exist. The pipeline opens it only after `restore` has verified all\n"
            "checksums and has tested that the copy opens. From a damaged backup nothing is restored (exit code 5).\n\n"
            "Examples:  cobblestone restore --from /backup/cobblestone --data /var/lib/cobblestone\n"
            "           cobblestone restore --from /backup/cobblestone/20261126T095100Z-12 --data /tmp/look");
      },
      RunRestore);
}

}  // namespace cobblestone::commands
