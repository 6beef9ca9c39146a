// Publication: a directory of files comes into being as a whole. It is written beside its final place, brought to the disk, and
// exchanged with what is there in one step, so that the name always stands for a whole export, the old or the new.
//
// What was there is renamed to itself with the time behind it, as upstream does (FINAL_2026_11_20_19_45_41, local time, no
// zeros in front), or moved into the archive as stats_2026_..., or deleted. Deaths in between heal at the next Begin: what an
// unfinished export left is deleted; where the exchange was done the old export gets its name.
//
// Invariant: only directories of this process's user are written to, exchanged or emptied, and no link is followed to one: what
// lies at FINAL or FINAL.partial and is a link, or another's, is refused. Others may write beside the export (a web server's
// directory): files are made, and deleted, by way of the directory that was opened, whatever its name stands for meanwhile.
// Directories and files are readable to all, whatever the umask: statistics files are made to be published.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/base/status.h"

namespace cobblestone::statistics {

struct PublishOptions {
  std::string final_directory;
  std::string archive_directory;  // empty: beside it
  bool delete_old = false;
  std::int64_t now = 0;  // UNIX s
  // What was found and done about it.
  std::function<void(const std::string&)> report;
};

class Publication {
 public:
  // Makes FINAL.partial. Retry where another process is writing one, InvalidArgument where something lies there that no export
  // has left, or the places cannot be used (no such parent, another file system), Full or Fatal where nothing can be written.
  static Result<Publication> Begin(const PublishOptions& options);
  // What was not published is deleted.
  ~Publication();
  Publication(Publication&& other) noexcept;
  Publication& operator=(Publication&&) = delete;

  // To write into: a path by way of the open directory (/proc/self/fd). For messages there is `shown()`.
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::string& shown() const { return partial_; }
  // Once. Where what was there has gone is returned; empty where there was nothing, or it was deleted.
  Result<std::string> Publish();

 private:
  explicit Publication(PublishOptions options);
  Status Prepare();
  Status HealLeftOvers();
  Status TakeLock(bool* left_over);
  // Still ours, under its name.
  [[nodiscard]] Status CheckPlace() const;
  Result<std::string> PutOldAway();
  std::string NameOfOld() const;
  Status SyncParent() const;
  void Report(const std::string& what) const;

  PublishOptions options_;
  std::string final_;
  std::string partial_;
  std::string directory_;
  int lock_ = -1;      // of the directory that is being written; held by the system until this process ends
  bool mine_ = false;  // to be deleted where it is not published
};

}  // namespace cobblestone::statistics
