// Running averages of samples (S000, 'Computing averages'; docs/rules.md, section 6; golden README, items 7
// and 8): a straight mean of the first samples, then an exponential average. The rules of S000 and of BOINC use
// this code with different constants. Every product is rounded before it is added, in the order written here.
// Pure. Invariant: n counts the accepted samples; a refused sample changes nothing.
#pragma once

#include "common/credit/model/constants.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

struct AverageRule {
  double samples = 100;   // straight mean while n, with the new sample, is below this
  double weight = 0.001;  // of a sample in the exponential part
  double limit = 10;      // a sample above limit x mean is cut to limit x mean, unless n or mean is 0
  // S000 refuses an infinite sample or NaN. BOINC accepts both: they spoil the row, and SQL then rejects the
  // row.
  bool refuse_non_finite = true;
};

enum class SampleTaken { kAsIs, kCut, kRefused };

// Adds one sample; a negative sample is refused.
SampleTaken AddSample(const AverageRule& rule, double sample, Average& average);

// As above, with the variance of the samples: q is the sum of squared deviations of the straight mean and
// no longer changes once the exponential part begins.
SampleTaken AddSample(const AverageRule& rule, double sample, AverageVar& average);

// The rules of a policy version for host averages and for version averages.
[[nodiscard]] AverageRule HostAverageRule(const Constants& constants, PolicyKind kind);
[[nodiscard]] AverageRule VersionAverageRule(const Constants& constants, PolicyKind kind);

// True if no number of the average is infinite or NaN.
[[nodiscard]] bool IsFinite(const Average& average);
[[nodiscard]] bool IsFinite(const AverageVar& average);

}  // namespace cobblestone::credit
