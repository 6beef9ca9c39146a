// Checks a backup, and makes a data directory of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "services/backup/backup_manifest.h"

namespace cobblestone::backup {

using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;  // bytes; may be empty

struct FoundBackup {
  std::string directory;
  BackupManifest manifest;
};

// `from`: a backup, or a directory of backups, of which the newest is taken. kNotFound: there is none. Else as
// ReadManifest.
Result<FoundBackup> FindBackup(const std::string& from);

// Reads every file and compares. kCorrupted: the first that is missing or changed.
Status CheckBackup(const FoundBackup& backup, const Progress& progress);

// Copies the data of the backup to `to`, which must be empty or not exist. Every file is compared with its checksum
// as it is read, and read back. The copy is made in a folder within `to` and moved to its place when it is whole and
// opens; until then the pipeline does not open `to`. On an error nothing is left of it. kCorrupted: the backup is
// damaged: which file. kInvalidArgument: `to` is not empty. kFenced: another restore writes there. kFull: no room.
Status Restore(const FoundBackup& backup, const std::string& to, const Progress& progress);

}  // namespace cobblestone::backup
