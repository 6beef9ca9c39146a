#include "common/credit/model/low_average.h"

namespace cobblestone::credit {

double LowAverage(std::span<const double> values) {
  if (values.size() == 1) return values.front();
  double sum = 0;
  for (const double value : values) sum += value;
  double weighted = 0;
  for (const double value : values) weighted += value * (sum - value);
  // Without values: 0 / (-1 x 0), so NaN.
  return weighted / ((static_cast<double>(values.size()) - 1) * sum);
}

}  // namespace cobblestone::credit
