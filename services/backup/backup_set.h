// The backups of a directory. A backup is complete if its directory has its final name (README.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/stream/embedded/lock_file.h"

namespace cobblestone::backup {

// Names of the complete backups in `directory`, ordered by number, oldest first; a clock that goes back does not change
// the order. Empty if there are none, or no such directory. kFatal: the directory cannot be read.
Result<std::vector<std::string>> CompleteBackups(const std::string& directory);

// The set of backups in a directory, locked to make one backup. Not thread-safe.
class BackupSet {
 public:
  // Makes the directory (mode 0700) if it does not exist, takes its lock, and deletes what interrupted backups and
  // deletions left; `report` receives a message for each. kFenced: another backup is being made there. kFull, kFatal:
  // the directory cannot be written.
  static Result<BackupSet> Open(const std::string& directory,
                                const std::function<void(const std::string&)>& report);

  // Path of the newest complete backup; empty: none.
  [[nodiscard]] std::string Newest() const;
  // Makes the directory of a new backup, under a temporary name, and returns its path. `now`: UNIX s.
  Result<std::string> Begin(double now);
  // Deletes the new backup, if it is not complete.
  void Abandon();
  // Syncs the directories of the new backup, renames it to its final name, and returns its path. All files must be
  // synced before.
  Result<std::string> Complete();
  // Deletes the oldest complete backups until `keep` (at least 1) are left; returns the names of the deleted ones.
  Result<std::vector<std::string>> DeleteOldest(std::size_t keep);

 private:
  BackupSet(std::string directory, stream::embedded::LockFile lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}
  Status RemoveLeftOvers(const std::function<void(const std::string&)>& report);

  std::string directory_;
  stream::embedded::LockFile lock_;
  std::vector<std::string> complete_;  // names, oldest first
  std::uint64_t last_number_ = 0;
  std::string name_;  // of the new backup; empty: none
};

}  // namespace cobblestone::backup
