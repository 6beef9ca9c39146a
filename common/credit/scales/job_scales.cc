#include "common/credit/scales/job_scales.h"

#include <algorithm>

namespace cobblestone::credit {
namespace {

// S(H) before the limits of probation; 0: no scale.
double HostScale(const ScaleFacts& facts, const Constants& constants) {
  if (facts.host_pfc_n < constants.host_scale_min_samples) return 0;
  if (!(facts.host_pfc_mean > 0) || !(facts.version_pfc_mean > 0)) return 0;
  return std::min(facts.version_pfc_mean / facts.host_pfc_mean, constants.host_scale_limit);
}

}  // namespace

JobScales ScalesOf(const ScaleFacts& facts, const Constants& constants) {
  JobScales scales;
  scales.trust = TrustOf(facts.on_probation, facts.host_scale_time, facts.time);
  if (facts.version_scale > 0) scales.version = facts.version_scale;
  scales.host = scales.trust == HostTrust::kNoScale ? 0 : HostScale(facts, constants);
  if (scales.trust == HostTrust::kAtMostOne) scales.host = std::min(scales.host, 1.0);
  return scales;
}

std::optional<double> FindMinAvgPfc(const ScaleTable& scales, AppId app) {
  const auto row = scales.apps.find(app.value);
  if (row == scales.apps.end() || !row->second.defined || !(row->second.min_avg_pfc > 0)) return std::nullopt;
  return row->second.min_avg_pfc;
}

}  // namespace cobblestone::credit
