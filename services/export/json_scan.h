// Locates the rows of a large JSON file in one pass, without loading the file: {"section": [ {row}, ... ],
// ...}. The scanner only finds where each value ends; a row is parsed when it is needed (json_row.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::exports {

// A file with random access; keeps one window of the file in memory.
class RandomFile {
 public:
  // NotFound, with the name of the file, if the file cannot be opened.
  static Result<RandomFile> Open(const std::string& path);
  ~RandomFile();
  RandomFile(RandomFile&& other) noexcept;
  RandomFile& operator=(RandomFile&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // The requested bytes; valid until the next call. Fatal: the bytes cannot be read (the file has
  // shrunk, or the disk fails).
  Result<std::string_view> Read(std::uint64_t offset, std::uint64_t length);
  // Line (from 1) of the byte at `offset`, for messages; reads the file from its beginning to `offset`.
  std::uint64_t LineOf(std::uint64_t offset);

 private:
  RandomFile(std::string path, int descriptor, std::uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t start_ = 0;  // of the window
  std::string window_;
};

struct JsonPiece {
  std::string_view section;  // top-level key
  // True: an element of the section's array. False: the section's value, which is not an array.
  bool is_row = false;
  std::uint64_t offset = 0;
  std::string_view text;  // valid until the callback returns
};

// Visits every piece in order. InvalidArgument, with file and line: the file has another structure
// or is truncated. Stops at the first status of `take` that is not Ok, and returns it. A row has
// at most `kLargestRow` bytes.
constexpr std::uint64_t kLargestRow = 64U << 20U;
Status ScanJson(RandomFile& file, const std::function<Status(const JsonPiece&)>& take);

}  // namespace cobblestone::exports
