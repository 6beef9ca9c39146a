// Reads the lines of a text file, plain or gzip'ed (detected from its contents), of any length.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"

namespace cobblestone::boinc {

class LineFile {
 public:
  // NotFound, with the name of the file, if the file cannot be opened.
  static Result<LineFile> Open(const std::string& path);

  // The next line without its end (LF or CR LF); *more is false at the end of the file. InvalidArgument, with
  // file and line: the file cannot be read further (a damaged or truncated gzip stream); *more is then false.
  Status Next(std::string* line, bool* more);
  // Compressed bytes read, including some read-ahead beyond the current line.
  [[nodiscard]] std::uint64_t bytes_read() const;

 private:
  struct Closer {
    void operator()(void* file) const;
  };

  LineFile(std::string path, void* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::unique_ptr<void, Closer> file_;
  std::uint64_t lines_ = 0;  // complete lines
};

}  // namespace cobblestone::boinc
