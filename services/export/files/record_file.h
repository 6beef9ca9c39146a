// A file of an export, read back: plain, gzip or zip, cut into its records.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "services/export/files/record_set.h"

namespace cobblestone::statistics {

// The bytes of a file behind its compression, told from its name.
class ContentReader {
 public:
  // NotFound, naming the file, where it cannot be opened; Corrupted where it is no such archive.
  static Result<std::unique_ptr<ContentReader>> Open(const std::string& path);
  virtual ~ContentReader() = default;
  // The next line with its end; empty at the end of the file. Valid until the next call. Corrupted where the file cannot be
  // unpacked.
  Result<std::string_view> NextLine();

 protected:
  explicit ContentReader(std::string path) : path_(std::move(path)) {}
  // Bytes read into `buffer`; 0 at the end.
  virtual Result<std::size_t> Read(char* buffer, std::size_t size) = 0;
  const std::string path_;

 private:
  std::string buffer_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

// Every record of the tag ("user", "badge_user"), with whose it is. Corrupted, with file and line, where the file is not one
// that an export writes. Text that upstream writes raw can look like the end of a record: such files can be read without
// doubt only if they were written with --strict-xml; a wrong cut shows in the totals of the manifest.
Status ReadRecords(const std::string& path, const std::string& tag,
                   const std::function<Status(const RecordKey&, std::string_view record)>& take);

// The numbers of a file of those that are gone.
Status ReadRemoved(const std::string& path, const std::function<Status(const RecordKey&)>& take);

}  // namespace cobblestone::statistics
