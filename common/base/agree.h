// Whether two copies of a figure agree. A project's programs read a figure from its database as text and send
// it again. MySQL prints a DOUBLE with 15 digits, and a FLOAT column keeps 24 bits, so two copies of one
// figure may differ in their last bits. Pure.
#pragma once

#include <algorithm>
#include <cmath>

namespace cobblestone {

// Relative. A FLOAT column changes a figure by at most 6e-8 of its value.
inline constexpr double kFigureTolerance = 1e-6;

// Whether two finite figures differ by at most kFigureTolerance of the larger one. Only 0 agrees with 0.
[[nodiscard]] inline bool FiguresAgree(double a, double b) {
  // Halves, because the difference of two huge figures of different signs would be infinite.
  return a == b || std::abs(a / 2 - b / 2) <= std::max(std::abs(a), std::abs(b)) / 2 * kFigureTolerance;
}

}  // namespace cobblestone
