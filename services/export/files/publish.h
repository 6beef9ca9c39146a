// Publishes a directory of files atomically. The files are written beside the final place, synced to disk, and
// exchanged with the previous directory in one step: the name always refers to a complete
// export, the old or the new one.
//
// The previous directory is renamed with the time appended, as upstream does (FINAL_2026_11_20_19_45_41,
// local time, without leading zeros), or moved into the archive as stats_2026_..., or deleted. The next
// Begin repairs the effects of a crash: it deletes an unfinished export, or, if the exchange had been
// done, renames the old export.
//
// Invariant: only directories of this process's user are written to, exchanged or emptied, and symbolic links
// to directories are not followed: if FINAL or FINAL.partial is a link or belongs to another user, Begin
// refuses. Other users may have write permission beside the export (in a web server's directory): files are
// created and deleted through the descriptor of the open directory, whatever its name refers to meanwhile.
// Directories and files are readable by everybody, whatever the umask: statistics files are meant to be public.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/base/status.h"

namespace cobblestone::exports {

struct PublishOptions {
  std::string final_directory;
  std::string archive_directory;  // empty: beside final_directory
  bool delete_old = false;
  std::int64_t now = 0;  // UNIX s
  // Receives a line for each problem that was found and repaired.
  std::function<void(const std::string&)> report;
};

class Publication {
 public:
  // Creates FINAL.partial. Retry: another process is writing an export. InvalidArgument: the place holds
  // something that no export has left, or it cannot be used (no parent directory, another file system). Full or
  // Fatal: nothing can be written.
  static Result<Publication> Begin(const PublishOptions& options);
  // Deletes an export that was not published.
  ~Publication();
  Publication(Publication&& other) noexcept;
  Publication& operator=(Publication&&) = delete;

  // Directory to write into: a path through the open descriptor (/proc/self/fd). `shown()`
  // is the path for messages.
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::string& shown() const { return partial_; }
  // Call it once. Returns the new place of the previous export; empty if there was none, or it was deleted.
  Result<std::string> Publish();

 private:
  explicit Publication(PublishOptions options);
  Status Prepare();
  Status HealLeftOvers();
  Status TakeLock(bool* left_over);
  // Ok if the directory under the name is still the one that Begin created.
  [[nodiscard]] Status CheckPlace() const;
  Result<std::string> PutOldAway();
  std::string NameOfOld() const;
  Status SyncParent() const;
  void Report(const std::string& what) const;

  PublishOptions options_;
  std::string final_;
  std::string partial_;
  std::string directory_;
  // Lock on the directory that is being written; released by the system when this process ends.
  int lock_ = -1;
  bool mine_ = false;  // delete the directory unless it is published
};

}  // namespace cobblestone::exports
