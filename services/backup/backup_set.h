// The backups of a directory. A backup is complete if its directory has its final name (README.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/stream/embedded/lock_file.h"

namespace cobblestone::backup {

// Names of the complete backups of `directory`, oldest first, by their numbers: a clock that goes back changes nothing.
// Empty if there are none, or no such directory. kFatal: it cannot be read.
Result<std::vector<std::string>> CompleteBackups(const std::string& directory);

// A set in which a backup is being made. Not thread-safe.
class BackupSet {
 public:
  // Makes the directory (mode 0700) if it does not exist, takes its lock, and removes what dead backups have left;
  // `report` receives a message for each. kFenced: another backup is being made there. kFull, kFatal: it cannot be
  // written.
  static Result<BackupSet> Open(const std::string& directory,
                                const std::function<void(const std::string&)>& report);

  // Path of the newest complete backup; empty: none.
  [[nodiscard]] std::string Newest() const;
  // Makes the directory of a new backup, under a temporary name, and returns its path. `now`: UNIX s.
  Result<std::string> Begin(double now);
  // Removes it again.
  void Abandon();
  // Syncs its directories and gives it its final name, whose path is returned. Call it when all files are synced.
  Result<std::string> Complete();
  // Deletes the oldest complete backups, so that `keep` (at least 1) are left; returns their names.
  Result<std::vector<std::string>> DeleteOldest(std::size_t keep);

 private:
  BackupSet(std::string directory, stream::embedded::LockFile lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}
  Status RemoveLeftOvers(const std::function<void(const std::string&)>& report);

  std::string directory_;
  stream::embedded::LockFile lock_;
  std::vector<std::string> complete_;  // names, oldest first
  std::uint64_t last_number_ = 0;
  std::string name_;  // of the backup that is being made
};

}  // namespace cobblestone::backup
