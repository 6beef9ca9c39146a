// Where the rows lie in a large JSON file, found in one pass without keeping it: {"section": [ {row}, ... ], ...}. The scanner
// knows just enough of JSON to tell where a value ends; each row is read as JSON when it is needed (json_row.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::statistics {

// A file that is read at any place; keeps one window of it in memory.
class RandomFile {
 public:
  // NotFound, naming the file, where it cannot be opened.
  static Result<RandomFile> Open(const std::string& path);
  ~RandomFile();
  RandomFile(RandomFile&& other) noexcept;
  RandomFile& operator=(RandomFile&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // These bytes; valid until the next call. Fatal where they cannot be read (the file has shrunk, the disk fails).
  Result<std::string_view> Read(std::uint64_t offset, std::uint64_t length);
  // Line (from 1) that the byte is in: for messages, reads the file up to there.
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
  std::string_view section;  // the key at the top
  bool is_row = false;  // an element of the section's array; false: the section's value, which is no array
  std::uint64_t offset = 0;
  std::string_view text;  // valid until the callback returns
};

// Every piece in order. InvalidArgument with file and line where the file is not of this shape or breaks off. Ends early
// with what `take` returns, if that is no Ok. A row may have `kLargestRow` bytes.
constexpr std::uint64_t kLargestRow = 64U << 20U;
Status ScanJson(RandomFile& file, const std::function<Status(const JsonPiece&)>& take);

}  // namespace cobblestone::statistics
