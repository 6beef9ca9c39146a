#include "common/credit/model/average.h"

#include <cmath>

namespace cobblestone::credit {
namespace {

// Accepts, cuts or refuses `sample`.
SampleTaken Take(const AverageRule& rule, double n, double mean, double& sample) {
  if (sample < 0) return SampleTaken::kRefused;
  if (rule.refuse_non_finite && !std::isfinite(sample)) return SampleTaken::kRefused;
  if (n != 0 && mean != 0 && sample > mean * rule.limit) {
    sample = mean * rule.limit;
    return SampleTaken::kCut;
  }
  return SampleTaken::kAsIs;
}

bool TakesNonFinite(PolicyKind kind) { return kind == PolicyKind::kBoinc || kind == PolicyKind::kRuntime; }

}  // namespace

SampleTaken AddSample(const AverageRule& rule, double sample, Average& average) {
  const SampleTaken taken = Take(rule, average.n, average.mean, sample);
  if (taken == SampleTaken::kRefused) return taken;
  average.n += 1;
  const double delta = sample - average.mean;
  if (average.n < rule.samples) {
    average.mean += delta / average.n;
  } else {
    average.mean += rule.weight * delta;
  }
  return taken;
}

SampleTaken AddSample(const AverageRule& rule, double sample, AverageVar& average) {
  const SampleTaken taken = Take(rule, average.n, average.mean, sample);
  if (taken == SampleTaken::kRefused) return taken;
  average.n += 1;
  const double delta = sample - average.mean;
  if (average.n < rule.samples) {
    average.mean += delta / average.n;
    average.q += delta * (sample - average.mean);
    average.var = average.q / average.n;
  } else {
    average.mean += rule.weight * delta;
    average.var += rule.weight * (delta * delta - average.var);
  }
  return taken;
}

AverageRule HostAverageRule(const Constants& constants, PolicyKind kind) {
  return {.samples = constants.host_average_samples,
          .weight = constants.host_average_weight,
          .limit = constants.average_sample_limit,
          .refuse_non_finite = !TakesNonFinite(kind)};
}

AverageRule VersionAverageRule(const Constants& constants, PolicyKind kind) {
  return {.samples = constants.version_average_samples,
          .weight = constants.version_average_weight,
          .limit = constants.average_sample_limit,
          .refuse_non_finite = !TakesNonFinite(kind)};
}

bool IsFinite(const Average& average) { return std::isfinite(average.n) && std::isfinite(average.mean); }

bool IsFinite(const AverageVar& average) {
  return std::isfinite(average.n) && std::isfinite(average.mean) && std::isfinite(average.var) &&
         std::isfinite(average.q);
}

}  // namespace cobblestone::credit
