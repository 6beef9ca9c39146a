// A file of generated text, plain or compressed.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

struct gzFile_s;

namespace cobblestone::traffic {

class TextFile {
 public:
  static Result<TextFile> Create(const std::string& path, bool compress);

  TextFile& operator<<(std::string_view text) {
    Reserve(text.size());
    std::memcpy(block_.data() + used_, text.data(), text.size());
    used_ += text.size();
    return *this;
  }
  TextFile& operator<<(std::uint64_t number) {
    constexpr std::size_t kDigits = 20;
    Reserve(kDigits);
    char* const at = block_.data() + used_;
    used_ += static_cast<std::size_t>(std::to_chars(at, at + kDigits, number).ptr - at);
    return *this;
  }
  // Six decimals: "1.500000" for 1500000.
  TextFile& Millionths(std::uint64_t number);
  // 32 hexadecimal digits.
  TextFile& Id(std::uint64_t high, std::uint64_t low);

  // Bytes before compression.
  [[nodiscard]] std::uint64_t bytes() const { return written_ + used_; }
  // Call once at the end. Errors of any write are reported here.
  Status Close();

 private:
  struct CloseFile {
    void operator()(gzFile_s* file) const;
  };

  void Reserve(std::size_t size) {
    if (block_.size() - used_ < size) Flush();
  }
  void Flush();

  std::string path_;
  std::unique_ptr<gzFile_s, CloseFile> file_;
  std::vector<char> block_;
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;
  int failed_ = 0;  // errno
};

}  // namespace cobblestone::traffic
