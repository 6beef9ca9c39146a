// Whether two copies of one figure are the same figure. A project's programs read a figure from its database as text and tell it
// again: MySQL prints a DOUBLE with 15 digits, and a FLOAT column keeps 24 bits, so two copies of one figure may differ in their
// last bits. Pure.
#pragma once

#include <algorithm>
#include <cmath>

namespace cobblestone {

// Relative. A FLOAT column changes a figure by at most 6e-8 of it.
inline constexpr double kFigureTolerance = 1e-6;

// Whether two finite figures differ by at most kFigureTolerance of the larger one. 0 agrees with 0 alone.
[[nodiscard]] inline bool FiguresAgree(double a, double b) {
  // Halves, because the difference of two huge figures of different signs is infinite.
  return a == b || std::abs(a / 2 - b / 2) <= std::max(std::abs(a), std::abs(b)) / 2 * kFigureTolerance;
}

}  // namespace cobblestone
