// The lines of a text file, plain or gzip'ed (told from its contents), one after the other, of any length.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"

namespace cobblestone::boinc {

class LineFile {
 public:
  // NotFound, naming the file, where it cannot be opened.
  static Result<LineFile> Open(const std::string& path);

  // The next line without its end (LF or CR LF); false at the end of the file. InvalidArgument, with
  // file and line, where the file cannot be read further (a damaged or shortened gzip stream): *more is then false.
  Status Next(std::string* line, bool* more);
  // Of the file, compressed as it is; some more than the lines so far.
  [[nodiscard]] std::uint64_t bytes_read() const;

 private:
  struct Closer {
    void operator()(void* file) const;
  };

  LineFile(std::string path, void* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::unique_ptr<void, Closer> file_;
  std::uint64_t lines_ = 0;  // that were whole
};

}  // namespace cobblestone::boinc
