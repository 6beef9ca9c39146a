// The problems that an audit found: all are counted, the first ones are kept as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cobblestone {

class AuditProblems {
 public:
  static constexpr std::size_t kTold = 100;

  void Add(std::string text) {
    ++count_;
    if (told_.size() < kTold) told_.push_back(std::move(text));
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] const std::vector<std::string>& told() const { return told_; }

 private:
  std::uint64_t count_ = 0;
  std::vector<std::string> told_;
};

}  // namespace cobblestone
