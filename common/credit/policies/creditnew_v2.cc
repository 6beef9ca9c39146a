#include "common/credit/policies/creditnew_v2.h"

#include <algorithm>
#include <cmath>

#include "common/credit/policies/replicas.h"
#include "common/credit/policies/standard_policy.h"

namespace cobblestone::credit {
namespace {

constexpr std::uint32_t kPriceFlagsV2 = kClaimPfcClamped | kClaimOneTimeCheat | kClaimSanityFailed |
                                        kClaimHasVersionScale | kClaimHasHostScale | kClaimNoClaim;

HostApp& HostAppFor(HostRecord& host, const AppRow& app) {
  for (HostApp& row : host.apps) {
    if (row.app == app.id) return row;
  }
  HostApp made;
  made.app = app.id;
  made.error_rate = app.policy.constants.error_rate_initial;
  host.apps.push_back(made);
  return host.apps.back();
}

const AppScale* FindAppScale(const ScaleTable& scales, AppId app) {
  const auto it = scales.apps.find(app.value);
  return it == scales.apps.end() ? nullptr : &it->second;
}

// Whether NPFC*(A) is defined. A mean of 0 counts as undefined: it would cap every later job at 0.
bool HasMean(const AppScale* scale) {
  return scale != nullptr && scale->npfc_weight > 0 && scale->npfc_mean > 0;
}

// NPFC(J) for averages and claims, FLOPs: scaled by version and capped.
double CappedNpfc(const Claim& claim, const Measure& measure, double limit) {
  const double npfc = claim.version_scale > 0 ? measure.pfc * claim.version_scale : measure.pfc;
  return npfc > limit ? limit : npfc;
}

// The limit of NPFC(J), FLOPs; infinite while NPFC*(A) is undefined.
double NpfcLimit(const Claim& claim, const Constants& constants) {
  if ((claim.flags & kClaimMinAvgDefined) == 0) return HUGE_VAL;
  return constants.claim_limit * (claim.min_avg_pfc * claim.fpops_est);
}

void PriceMeasuredV2(const Measure& measure, const Constants& constants, Claim& claim) {
  const double limit = NpfcLimit(claim, constants);
  const double npfc = CappedNpfc(claim, measure, limit);
  if (claim.version_scale > 0) claim.flags |= kClaimHasVersionScale;
  if (npfc == limit) claim.flags |= kClaimOneTimeCheat;
  claim.pfc = npfc;
  if ((claim.flags & kClaimMinAvgDefined) != 0 && claim.host_pfc_n > 0 && claim.host_pfc_mean > 0) {
    claim.pfc *= claim.min_avg_pfc / claim.host_pfc_mean;
    claim.pfc = std::min(claim.pfc, limit);
    claim.flags |= kClaimHasHostScale;
  }
  const bool both = (claim.flags & kClaimHasVersionScale) != 0 && (claim.flags & kClaimHasHostScale) != 0;
  claim.mode = both ? Mode::kNormal : Mode::kApproximate;
}

class CreditNewV2 final : public StandardPolicy {
 public:
  void Price(Claim& claim, const Constants& constants) const override {
    claim.flags &= ~kPriceFlagsV2;
    const Measure measure = MeasureJob(claim, claim.benchmark);
    if (measure.clamped) claim.flags |= kClaimPfcClamped;
    if ((claim.flags & kClaimAnonymous) != 0) {
      claim.pfc = DefaultPfc(claim);
      claim.mode = Mode::kWorkunitEstimate;
    } else if (!measure.sane) {
      claim.pfc = DefaultPfc(claim);
      claim.mode = Mode::kDefaultPfc;
      claim.flags |= kClaimSanityFailed;
    } else {
      PriceMeasuredV2(measure, constants, claim);
    }
    FinishClaim(constants, claim);
  }

  Settlement Settle(std::span<const Claim> claims, double cap, const Constants&) const override {
    return SettleReplicas(claims, cap, Replication::kMin);
  }

 protected:
  void FillInputs(const ValidatedJob& job, Claim& claim) const override {
    claim.benchmark = LimitedPeakFlops(job.completion, job.gpu, job.app.policy.constants);
    const VersionInForce version = FindVersionInForce(job.in_force.scales, claim.version);
    claim.version_pfc_n = version.pfc.n;
    claim.version_pfc_mean = version.pfc.mean;
    claim.version_scale = version.scale;
    const AppScale* app = FindAppScale(job.in_force.scales, claim.app);
    if (HasMean(app)) {
      claim.flags |= kClaimMinAvgDefined;
      claim.min_avg_pfc = app->npfc_mean;
    }
    const HostApp& record = HostAppFor(job.host, job.app);
    claim.host_pfc_n = record.weight;
    claim.host_pfc_mean = record.npfc_mean;
  }

  double StatisticsPeakFlops(const ValidatedJob&, const Claim& claim) const override {
    return claim.benchmark;
  }
  bool InsaneClaimChangesNothing() const override { return true; }

  void Learn(const ValidatedJob& job, const Claim& claim, const Measure& measure, bool counted,
             Sample& sample) const override {
    const Constants& constants = job.app.policy.constants;
    HostApp& record = HostAppFor(job.host, job.app);
    record.error_rate *= constants.error_rate_keep;
    if (!counted || (claim.flags & kClaimAnonymous) != 0) return;
    const double npfc = CappedNpfc(claim, measure, NpfcLimit(claim, constants));
    WeightedAverage average{record.weight, record.npfc_mean};
    UpdateWeighted(average, {npfc / claim.fpops_est, claim.fpops_est}, constants.host_average_weight);
    record.weight = average.weight;
    record.npfc_mean = average.mean;
    sample.flags |= kSampleApp;
  }

  void Failed(const Attempt& attempt) const override {
    HostAppFor(attempt.host, attempt.app);
    for (HostApp& record : attempt.host.apps) {
      const AppRow* app = attempt.in_force.catalogue.FindApp(record.app);
      if (app != nullptr) record.error_rate = app->policy.constants.error_rate_initial;
      const AppScale* scale = FindAppScale(attempt.in_force.scales, record.app);
      // If the app has no average, the host gets none. In both cases the host scale is 1.
      const bool defined = HasMean(scale);
      record.npfc_mean = defined ? scale->npfc_mean : 0;
      if (!defined) record.weight = 0;
    }
    attempt.row.error_rate = attempt.app.policy.constants.error_rate_initial;
  }
};

}  // namespace

bool UpdateWeighted(WeightedAverage& average, WeightedValue sample, double fade) {
  if (!std::isfinite(sample.value) || sample.value < 0) return false;
  if (!std::isfinite(sample.size) || !(sample.size > 0)) return false;
  const double weight = average.weight * (1 - fade) + sample.size;
  if (!std::isfinite(weight)) return false;
  average.weight = weight;
  average.mean += (sample.size / weight) * (sample.value - average.mean);
  return true;
}

const Policy& CreditNewV2Policy() {
  static const CreditNewV2 policy;
  return policy;
}

}  // namespace cobblestone::credit
