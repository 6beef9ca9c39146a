// The encoded rows of a state write, in pieces of 1 MiB. One buffer of hundreds of megabytes would be copied
// each time it grows and allocated again for each write.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cobblestone::stream {

class RowBuffer {
 public:
  // Returns a piece for the next row, which must not be split; valid until the next call.
  std::string& Piece() {
    if (pieces_.empty() || pieces_.back().capacity() - pieces_.back().size() < kLeft)
      pieces_.emplace_back().reserve(kPiece);
    return pieces_.back();
  }
  [[nodiscard]] const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 20;  // bytes
  static constexpr std::size_t kLeft = std::size_t{4} << 10;   // most rows are shorter

  std::vector<std::string> pieces_;
};

}  // namespace cobblestone::stream
