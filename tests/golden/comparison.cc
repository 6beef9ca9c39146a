#include "tests/golden/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/golden/golden_file.h"

namespace cobblestone::golden {
namespace {

constexpr double kExpTolerance = 1e-12;  // relative; the golden README's tolerance where exp() differs
constexpr std::size_t kMessages = 20;

std::string Text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

}  // namespace

void Comparison::Value(const char* field, double got, const nlohmann::json& expected, Kind kind) {
  ++compared_;
  if (expected.is_null()) return Differ(field, Text(got), "nothing");
  const double want = Number(expected);
  if (Same(got, want)) return;
  if (kind == Kind::kThroughExp) {
    const double relative = std::abs(got - want) / std::max(std::abs(want), std::abs(got));
    if (relative <= kExpTolerance) {
      ++different_through_exp_;
      worst_relative_ = std::max(worst_relative_, relative);
      return;
    }
  }
  Differ(field, Text(got), Text(want));
}

void Comparison::Null(const char* field, bool got_none, const nlohmann::json& expected) {
  ++compared_;
  if (got_none != expected.is_null()) Differ(field, got_none ? "nothing" : "a value", expected.dump());
}

void Comparison::True(const char* field, bool holds) {
  ++compared_;
  if (!holds) Differ(field, "false", "true");
}

void Comparison::Differ(const char* field, const std::string& got, const std::string& expected) {
  ++different_;
  if (first_differences_.size() >= kMessages) return;
  first_differences_.push_back("line " + std::to_string(line_) + ", " + what_ + ", " + field + ": got " +
                               got + ", golden " + expected);
}

}  // namespace cobblestone::golden
