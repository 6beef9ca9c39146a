// Makes a backup of a pipeline on one machine, whether or not a program runs it.
//
// The program that has the data directory copies log and states by hard links, as of one commit of the log, which takes
// a moment and stops nothing (Engine::CopyForBackup). The caller's process then copies the files: those that have not
// changed since the backup before are linked to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/backup/backup_manifest.h"
#include "services/backup/backup_set.h"

namespace cobblestone::backup {

struct BackupOptions {
  std::string to;                                        // directory of the set
  std::size_t keep = 7;                                  // complete backups, at least 1
  bool full = false;                                     // copies unchanged files, too
  std::string configuration;                             // a file that goes into the backup; empty: none
  std::string made_with;                                 // text of data/made_with.yaml
  std::chrono::milliseconds wait{60000};                 // on Kafka: for a moment without an open transaction
  std::function<void(std::uint64_t records)> reading{};  // from Kafka's topics; may be empty
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;         // bytes; may be empty
  std::function<void(const std::string&)> report = [](const std::string&) {};  // messages for people
  std::function<double()> clock;  // UNIX s; empty: the wall clock
};

struct BackupOutcome {
  std::string directory;  // of the backup
  BackupManifest manifest;
  std::uint64_t copied_files = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t linked_files = 0;
  std::uint64_t linked_bytes = 0;
  std::vector<std::string> deleted;  // names of older backups
};

// Lowers the priorities of the calling thread. On an error nothing is left of the new backup, and the older ones are
// all there. kNotFound: there is no data directory. kFenced: another backup of the directory, or into `to`, is being
// made, or another process holds the directory without answering. kRetry: the running program has ended. kFull: no
// room. kCorrupted: what was written reads back differently, or does not open. kInvalidArgument: `to` lies in the
// data directory.
Result<BackupOutcome> BackUpPipeline(const settings::RunSettings& settings, const BackupOptions& options);

// The second half: makes a backup of `directory`, which no process uses and which does not change meanwhile.
// `manifest` says what it is of (backend, source, partitions).
Result<BackupOutcome> BackUpDirectory(const std::string& directory, BackupManifest manifest, BackupSet& set,
                                      const BackupOptions& options);

}  // namespace cobblestone::backup
