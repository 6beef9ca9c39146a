// The newest copy of each file that was fetched from one project, in a directory of its own that only its owner can read.
//
// Invariant: a name always refers to a whole file: a fetch writes beside it and replaces it by a rename, and then notes
// ETag and time. After a crash between the two the older ETag makes the next fetch a full one, never a "not modified"
// for bytes that are not here.
//
// Owner: one thread at a time, and one process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/status.h"

namespace cobblestone::hub {

struct StoredFile {
  std::string url{};
  std::string etag{};
  std::string last_modified{};
  std::uint64_t bytes = 0;
  double fetched = 0;  // UNIX s of the last answer that was not a 304
};

class FeedFolder {
 public:
  // Creates the directory if necessary and removes what unfinished fetches left. A damaged list of files is an empty one:
  // everything is fetched in full again. kInvalidArgument: it cannot be created.
  static Result<FeedFolder> Open(const std::string& path);

  // Absent: no copy, or one whose size is not the noted one. `name`: letters, digits, '_', '-' and '.', not beginning
  // with a dot (CHECK); so too below.
  [[nodiscard]] std::optional<StoredFile> Find(const std::string& name) const;
  [[nodiscard]] std::string PathOf(const std::string& name) const;
  // Where a fetch of this file writes.
  [[nodiscard]] std::string PartPathOf(const std::string& name) const;
  // The file at PartPathOf(name) becomes the copy. kFull, kFatal: the disk; the older copy is still there.
  Status Store(const std::string& name, const StoredFile& about);
  // The next fetch of the file is a full one. For a file that the reader refused: its server would answer "not modified"
  // for as long as it has the whole file of which this is a cut copy. The file itself stays, for an operator to examine.
  Status Forget(const std::string& name);

 private:
  explicit FeedFolder(std::string path) : path_(std::move(path)) {}
  void Load();
  [[nodiscard]] Status Save() const;

  std::string path_;
  std::map<std::string, StoredFile> files_;
};

}  // namespace cobblestone::hub
