// Makes a backup of a pipeline on one machine, whether or not the pipeline runs.
//
// The process that has the data directory open copies log and states by hard links as of one commit of the log. This
// takes a moment and stops nothing (Engine::CopyForBackup). Then the caller's process copies the files. A file that has
// not changed since the previous backup becomes a link to the file of that backup.
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

// Lowers the priorities of the calling thread. On an error the new backup is deleted and all older ones are kept. Only
// if the deletion of an older backup fails, the new one stays; the message says that it is complete. kNotFound: there
// is no data directory. kFenced: another backup of the directory, or into `to`, is being made, or the process that
// holds the directory does not answer. kRetry: the running program has ended. kFull: the disk is full. kCorrupted: the
// copy reads back differently, or does not open. kInvalidArgument: `to` lies in the data directory.
Result<BackupOutcome> BackUpPipeline(const settings::RunSettings& settings, const BackupOptions& options);

// The second half: makes a backup of `directory`, which no process may use or change meanwhile. `manifest` names the
// source (backend, source, partitions).
Result<BackupOutcome> BackUpDirectory(const std::string& directory, BackupManifest manifest, BackupSet& set,
                                      const BackupOptions& options);

}  // namespace cobblestone::backup
