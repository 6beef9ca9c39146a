// The 'low average': a mean that leans to the small values (golden README, item 28; table s12).
#pragma once

#include <span>

namespace cobblestone::credit {

// Mean of the values, each weighted by the sum of the others: sum of x (S - x) / ((count - 1) S). A single
// value as is. No value, a sum of zero or one that overflows: not finite, which the caller settles.
[[nodiscard]] double LowAverage(std::span<const double> values);

}  // namespace cobblestone::credit
