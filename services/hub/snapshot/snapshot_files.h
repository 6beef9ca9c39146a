// Reads the files of a snapshot, which may come from a stranger: only regular files, no symbolic links, bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/hub/snapshot/manifest.h"

namespace cobblestone::hub {

// An open snapshot directory. Threads: one at a time.
class SnapshotFiles {
 public:
  // kNotFound: there is no such directory. kFatal: it cannot be read.
  static Result<SnapshotFiles> Open(const std::string& directory);
  ~SnapshotFiles();
  SnapshotFiles(SnapshotFiles&& other) noexcept;
  SnapshotFiles& operator=(SnapshotFiles&&) = delete;

  // All names but "." and "..", sorted.
  [[nodiscard]] Result<std::vector<std::string>> Names() const;
  // The whole file. kNotFound: missing. kInvalidArgument: no regular file, or larger than `largest` bytes.
  [[nodiscard]] Result<std::string> ReadWhole(const std::string& name, std::size_t largest) const;
  // Calls `chunk` with the bytes in order. Errors as above, and a status of `chunk` other than ok.
  Status Read(const std::string& name, const std::function<Status(std::string_view)>& chunk) const;

 private:
  explicit SnapshotFiles(int directory) : directory_(directory) {}

  int directory_ = -1;
};

// The manifest of a snapshot and what was signed.
struct SignedManifest {
  Manifest manifest;
  Hash sha256;  // of manifest.json
  bool signature_valid = false;
};
// kNotFound: no manifest. kInvalidArgument: the manifest is malformed (ParseManifest). A missing or wrong signature is no
// error here.
Result<SignedManifest> ReadManifestOf(const SnapshotFiles& files);

// Calls `line` with every line of a part, without its line break, and with its number from 1. kInvalidArgument: a line is
// longer than kLongestLine, or the last one has no line break; otherwise as Read.
Status ReadLines(const SnapshotFiles& files, const std::string& name,
                 const std::function<Status(std::string_view line, std::uint64_t number)>& line);

}  // namespace cobblestone::hub
