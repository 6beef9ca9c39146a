// The problems that an audit found: all are counted, the first ones are kept as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cobblestone::audit {

class AuditProblems {
 public:
  static constexpr std::size_t kTexts = 100;

  void Add(std::string text) {
    ++count_;
    if (texts_.size() < kTexts) texts_.push_back(std::move(text));
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::uint64_t count_ = 0;
  std::vector<std::string> texts_;
};

}  // namespace cobblestone::audit
