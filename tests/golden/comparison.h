// Counts the compared and the different values of a golden test, and keeps the first differences as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace cobblestone::golden {

// Fields that pass through exp(): BOINC's numbers carry the rounding of one glibc on one CPU, ours are
// rounded correctly, so these may differ in the last bits. Everything else has to be equal bit for bit.
enum class Kind { kExact, kThroughExp };

class Comparison {
 public:
  // Sets the place of the next values, for messages.
  void At(std::uint64_t line, const char* what) {
    line_ = line;
    what_ = what;
  }

  // `expected`: null means that there must be no such value.
  void Value(const char* field, double got, const nlohmann::json& expected, Kind kind = Kind::kExact);
  void Null(const char* field, bool got_none, const nlohmann::json& expected);
  void True(const char* field, bool holds);
  void LeaveOut() { ++left_out_; }

  [[nodiscard]] std::uint64_t compared() const { return compared_; }
  [[nodiscard]] std::uint64_t different() const { return different_; }
  [[nodiscard]] std::uint64_t different_through_exp() const { return different_through_exp_; }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  [[nodiscard]] double worst_relative() const { return worst_relative_; }
  [[nodiscard]] const std::vector<std::string>& first_differences() const { return first_differences_; }

 private:
  void Differ(const char* field, const std::string& got, const std::string& expected);

  std::uint64_t line_ = 0;
  const char* what_ = "";
  std::uint64_t compared_ = 0;
  std::uint64_t different_ = 0;
  std::uint64_t different_through_exp_ = 0;
  std::uint64_t left_out_ = 0;
  double worst_relative_ = 0;
  std::vector<std::string> first_differences_;
};

}  // namespace cobblestone::golden
