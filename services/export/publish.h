// Publication: a directory of files comes into being as a whole. It is written beside its final place, brought to the disk, and
// exchanged with what is there in one step, so that the name always stands for a whole export, the old or the new.
//
// What was there is renamed to itself with the time behind it, as upstream does (FINAL_2026_11_20_19_45_41, local time, no
// zeros in front), or moved into the archive as stats_2026_..., or deleted. Deaths in between heal at the next Begin: what an
// unfinished export left is deleted; where the exchange was done the old export gets its name.
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

  // To write into.
  [[nodiscard]] const std::string& directory() const { return partial_; }
  // Once. Where what was there has gone is returned; empty where there was nothing, or it was deleted.
  Result<std::string> Publish();

 private:
  explicit Publication(PublishOptions options);
  Status Prepare();
  Status HealLeftOvers();
  Status TakeLock(bool* left_over);
  Result<std::string> PutOldAway();
  std::string NameOfOld() const;
  Status SyncParent() const;
  void Report(const std::string& what) const;

  PublishOptions options_;
  std::string final_;
  std::string partial_;
  int lock_ = -1;      // of the directory that is being written; held by the system until this process ends
  bool mine_ = false;  // to be deleted where it is not published
};

}  // namespace cobblestone::statistics
