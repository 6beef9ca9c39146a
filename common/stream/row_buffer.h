// The rows of a state write, one after the other, in pieces: hundreds of megabytes in one piece would be copied each time that
// they outgrow it, and asked of the system anew for each write.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cobblestone::stream {

class RowBuffer {
 public:
  // For the next row, whole; until the next call.
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
