// Running averages of samples (S000, 'Computing averages'; docs/rules.md, section 6; golden README, items 7
// and 8): a straight mean of the first samples, exponential from then on. Both the rules of S000 and BOINC's
// are this code with other constants; every product is rounded before it is added, in the order written here.
// Pure. Invariant: n counts the samples taken; a refused sample changes nothing.
#pragma once

#include "common/credit/model/constants.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

struct AverageRule {
  double samples = 100;   // straight mean while n, with the new sample, is below this
  double weight = 0.001;  // of a sample from then on
  double limit = 10;      // a sample above limit x mean is cut to that, unless n or mean is 0
  // S000: an infinite sample or NaN is refused. BOINC lets them in (they spoil the row, and SQL then refuses
  // it).
  bool refuse_non_finite = true;
};

enum class SampleTaken { kAsIs, kCut, kRefused };

// Adds one sample; below zero it is refused.
SampleTaken AddSample(const AverageRule& rule, double sample, Average& average);

// The same with the variance of the samples: q is the sum of squared deviations of the straight mean and
// stays when the exponential part begins.
SampleTaken AddSample(const AverageRule& rule, double sample, AverageVar& average);

// The rules of a policy version for host and for version averages.
[[nodiscard]] AverageRule HostAverageRule(const Constants& constants, PolicyKind kind);
[[nodiscard]] AverageRule VersionAverageRule(const Constants& constants, PolicyKind kind);

// True if no number of the average is infinite or NaN.
[[nodiscard]] bool IsFinite(const Average& average);
[[nodiscard]] bool IsFinite(const AverageVar& average);

}  // namespace cobblestone::credit
