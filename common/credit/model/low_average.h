// The 'low average': a mean that favours small values (golden README, item 28; table s12).
#pragma once

#include <span>

namespace cobblestone::credit {

// Mean of the values, each weighted by the sum of the others: sum of x (S - x) / ((count - 1) S). A single
// value is returned unchanged. The result is not finite for no values, a sum of zero or a sum that overflows;
// the caller handles that case.
[[nodiscard]] double LowAverage(std::span<const double> values);

}  // namespace cobblestone::credit
