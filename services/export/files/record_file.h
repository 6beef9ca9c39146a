// Reads a file of an export, plain, gzip or zip, and splits it into records.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "services/export/files/record_set.h"

namespace cobblestone::exports {

// The uncompressed contents of a file; the compression is detected from the name.
class ContentReader {
 public:
  // NotFound, with the name of the file, if it cannot be opened. Corrupted: not an archive of this kind.
  static Result<std::unique_ptr<ContentReader>> Open(const std::string& path);
  virtual ~ContentReader() = default;
  // The next line with its line end; empty at the end of the file. Valid until the next call. Corrupted:
  // decompression failed.
  Result<std::string_view> NextLine();

 protected:
  explicit ContentReader(std::string path) : path_(std::move(path)) {}
  // Number of bytes read into `buffer`; 0 at the end.
  virtual Result<std::size_t> Read(char* buffer, std::size_t size) = 0;
  const std::string path_;

 private:
  std::string buffer_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

// Every record with the tag ("user", "badge_user") and its key. Corrupted, with file and line: the file is not
// one that an export writes. Raw text of upstream's format can look like the end of a record: reading is
// unambiguous only for files written with --strict-xml; a wrong split shows in the totals of the manifest.
Status ReadRecords(const std::string& path, const std::string& tag,
                   const std::function<Status(const RecordKey&, std::string_view record)>& take);

// The keys in a file of removed records.
Status ReadRemoved(const std::string& path, const std::function<Status(const RecordKey&)>& take);

}  // namespace cobblestone::exports
