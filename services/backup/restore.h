// Checks a backup, and restores a data directory from it.
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

// `from`: a backup, or a directory of backups; then the newest complete backup. kNotFound: there is none. kCorrupted:
// the manifest is missing or damaged. Other errors as ReadManifest.
Result<FoundBackup> FindBackup(const std::string& from);

// Reads every file and compares it with the manifest. kCorrupted: names the first file that is missing or changed.
// Lowers the priorities of the calling thread.
Status CheckBackup(const FoundBackup& backup, const Progress& progress);

// Copies the data of the backup to `to`, which must be empty, not exist, or hold an unfinished restore. Every file is
// compared with its checksum as it is read, and read back. The copy is made in a folder within `to`, and moved to its
// place when it is complete and opens; until then the pipeline does not open `to`. An error before the move deletes the
// copy; after an error of the move, a second Restore() starts over. kCorrupted: the backup is damaged; names the file.
// kInvalidArgument: `to` is not empty. kFenced: another restore writes there. kFull: the disk is full.
Status Restore(const FoundBackup& backup, const std::string& to, const Progress& progress);

}  // namespace cobblestone::backup
