#include "common/credit/policies/boinc.h"

#include <cmath>
#include <vector>

#include "common/credit/model/average.h"
#include "common/credit/model/flops.h"
#include "common/credit/policies/boinc_quirks.h"
#include "common/credit/policies/boinc_rows.h"

namespace cobblestone::credit {
namespace {

constexpr double kAnchorShare = 0.1;  // item 12

// Items 1 and 2.
struct Measured {
  double elapsed = 0;  // s
  double raw = 0;      // FLOPs
};

bool SpeedIsUnknown(double peak_flops) { return peak_flops <= 0 || peak_flops == quirks::kPlaceholderSpeed; }

Measured MeasureJob(double elapsed_time, double cpu_time, double peak_flops) {
  const bool use_cpu_time =
      elapsed_time < quirks::kNoElapsedTime && (quirks::kNegativeElapsedUsesCpuTime || elapsed_time >= 0);
  const double elapsed = use_cpu_time ? cpu_time : elapsed_time;
  const double speed = SpeedIsUnknown(peak_flops) ? quirks::kAssumedSpeed : peak_flops;
  return {.elapsed = elapsed, .raw = elapsed * speed};
}

// Item 7.
bool RatioCounts(double ratio) {
  if (ratio != ratio) return quirks::kNanRatioPasses;
  return ratio >= quirks::kLeastRatio && ratio <= quirks::kGreatestRatio;
}

// Items 3 and 4: whether the host's own average corrects its claims.
bool HostAverageCounts(const Claim& claim, const Constants& constants) {
  if (claim.host_pfc_n < constants.host_scale_min_samples || !(claim.host_pfc_mean > 0)) return false;
  return (claim.flags & kClaimHostScaleCheck) == 0 ||
         claim.consecutive_valid >= constants.host_scale_min_samples;
}

double AtMostBound(const Claim& claim) {
  return claim.pfc > claim.fpops_bound ? claim.fpops_bound : claim.pfc;
}

double FinalCredit(double flops, const Constants& constants) {
  if constexpr (!quirks::kFinalCreditByFactor) return CreditOfFlops(flops, constants);
  return flops * (constants.cobblestones_per_gflops_day / (kSecondsPerDay * kFlopsPerGflops));
}

void PriceAnonymous(const Measured& measured, const Constants& constants, Claim& claim) {
  claim.mode = Mode::kApproximate;
  const bool scaled =
      HostAverageCounts(claim, constants) && (quirks::kAnonymousClaimsZero || claim.min_avg_pfc != 0);
  if (scaled) {
    claim.pfc = measured.raw * (claim.min_avg_pfc / claim.host_pfc_mean);
    claim.flags |= kClaimHasHostScale;
  } else {
    claim.pfc = WorkunitEstimate(claim.fpops_est, claim.min_avg_pfc);
  }
}

void PriceVersion(const Measured& measured, const Constants& constants, Claim& claim) {
  claim.pfc = measured.raw;
  if (claim.version_scale != 0) {
    claim.pfc *= claim.version_scale;
    claim.flags |= kClaimHasVersionScale;
  }
  const bool may_scale_host = quirks::kHostScaleWithoutVersionScale || claim.version_scale != 0;
  if (may_scale_host && HostAverageCounts(claim, constants) &&
      claim.version_pfc_n >= constants.version_average_samples) {
    double scale = claim.version_pfc_mean / claim.host_pfc_mean;
    if (scale > constants.host_scale_limit) scale = constants.host_scale_limit;
    claim.pfc *= scale;
    claim.flags |= kClaimHasHostScale;
  }
  constexpr std::uint32_t kBoth = kClaimHasVersionScale | kClaimHasHostScale;
  claim.mode = (claim.flags & kBoth) == kBoth ? Mode::kNormal : Mode::kApproximate;
}

// The facts and all inputs of the price. `found`: the row that the host-scale test reads.
Claim ClaimInputs(const CompletionFacts& completion, const ValidationFacts& validation,
                  const InForce& in_force, const AppRow& app, const HostRecord& host, const BoincRow& found) {
  Claim claim = ClaimFacts(completion, validation, in_force, app, host);
  if (app.host_scale_check) claim.flags |= kClaimHostScaleCheck;
  const auto app_scale = in_force.scales.apps.find(app.id.value);
  if (app_scale != in_force.scales.apps.end() && app_scale->second.min_avg_pfc != 0) {
    claim.min_avg_pfc = app_scale->second.min_avg_pfc;
    claim.flags |= kClaimMinAvgDefined;
  }
  if (!found.exists()) {
    claim.flags |= kClaimNoHostRow;  // before the check of the speed
    return claim;
  }
  if (SpeedIsUnknown(completion.peak_flops)) claim.flags |= kClaimOutlier;
  claim.host_pfc_n = found.row.pfc.n;
  claim.host_pfc_mean = found.row.pfc.mean;
  claim.consecutive_valid = found.row.consecutive_valid;
  if (completion.version.anonymous()) return claim;
  Average pfc;
  if (LookUpVersion(in_force, completion.version, pfc, claim.version_scale)) {
    claim.version_pfc_n = pfc.n;
    claim.version_pfc_mean = pfc.mean;
  } else {
    claim.flags |= kClaimNoClaim;
  }
  return claim;
}

// Items 7 and 8: the host's averages.
void AddHostSamples(const CompletionFacts& completion, const Claim& claim, const Measured& measured,
                    const AppRow& app, HostVersion& row) {
  if ((claim.flags & kClaimOutlier) != 0) return;
  const AverageRule rule = HostAverageRule(app.policy.constants, app.policy.kind);
  const double ratio = measured.raw / claim.fpops_est;
  if (RatioCounts(ratio)) AddSample(rule, ratio, row.pfc);
  AddSample(rule, measured.elapsed / claim.fpops_est, row.et);
  AddSample(rule, completion.received_time - completion.sent_time, row.turnaround);
}

// Items 7 and 9: the sample for the version's averages.
Sample VersionSample(const Claim& claim, const Measured& measured, const Constants& constants) {
  Sample sample;
  sample.time = claim.time;
  sample.validation_id = claim.validation_id;
  sample.result = claim.result;
  sample.app = claim.app;
  sample.version = claim.version;
  sample.line = claim.line;
  sample.flags = kSampleUse | kSampleCredit;
  sample.credit = CreditOfFlops(quirks::kUncappedVersionCredit ? claim.pfc : AtMostBound(claim), constants);
  sample.credit_start = claim.sent_time;
  const double ratio = measured.raw / claim.fpops_est;
  if ((claim.flags & kClaimOutlier) == 0 && RatioCounts(ratio)) {
    sample.flags |= kSamplePfc;
    sample.pfc = ratio;
  }
  return sample;
}

class Boinc final : public Policy {
 public:
  void OnFailure(const CompletionFacts& attempt, const InForce& in_force, HostRecord& host) const override {
    CountFailure(attempt, in_force.catalogue, host);
  }

  // The golden rules do not contain the scheduler's own bookkeeping, and claims do not need it.
  void OnDispatch(const CompletionFacts&, const InForce&, HostRecord&) const override {}

  void OnInconclusive(const CompletionFacts& completion, const ValidationFacts&, const InForce& in_force,
                      HostRecord& host) const override {
    LookAtRow(completion, in_force.catalogue, host);
  }
  ClaimDecision OnValidation(const CompletionFacts& completion, const ValidationFacts& validation,
                             const InForce& in_force, HostRecord& host) const override;
  std::optional<HostVersion> NextRecord(const HostRecord& host, AppId app, AppVersionId version,
                                        const Catalogue& catalogue) const override {
    return NextRow(host, app, version, catalogue);
  }
  void Price(Claim& claim, const Constants& constants) const override;
  Settlement Settle(std::span<const Claim> claims, double cap, const Constants& constants) const override;
  bool TeamAtGrant() const override { return true; }
};

ClaimDecision Boinc::OnValidation(const CompletionFacts& completion, const ValidationFacts& validation,
                                  const InForce& in_force, HostRecord& host) const {
  ClaimDecision decision;
  const AppRow* app = in_force.catalogue.FindApp(completion.app);
  if (app == nullptr) return decision;
  const Constants& constants = app->policy.constants;
  BoincRow found = BoincRow::ForResult(completion, validation, in_force.catalogue, host);

  if (validation.state == ValidateState::kInvalid) {
    CountInvalid(in_force.catalogue.settings, found.row);
    if (!host.deleted) found.Store(host);
    return decision;
  }
  if (validation.state != ValidateState::kValid) return decision;

  const bool counts_first = quirks::kLateCountsFirst && validation.late;
  if (counts_first) CountValid(validation.unreplicated, found.row);
  decision.has_claim = true;
  decision.claim = ClaimInputs(completion, validation, in_force, *app, host, found);
  Price(decision.claim, constants);

  const Claim& claim = decision.claim;
  if (found.exists() && (claim.flags & kClaimNoClaim) == 0) {
    const Measured measured = MeasureJob(claim.elapsed_time, claim.cpu_time, claim.peak_flops);
    AddHostSamples(completion, claim, measured, *app, found.row);
    if (!completion.version.anonymous()) {
      decision.has_sample = true;
      decision.sample = VersionSample(claim, measured, constants);
    }
  }
  if (!counts_first) CountValid(validation.unreplicated, found.row);
  if (!host.deleted) {
    found.Store(host);
    CountTurnaround(completion.received_time - completion.sent_time, host);
  }
  return decision;
}

void Boinc::Price(Claim& claim, const Constants& constants) const {
  claim.flags &= ~static_cast<std::uint32_t>(kClaimHasVersionScale | kClaimHasHostScale);
  claim.pfc = 0;
  claim.claimed = 0;
  if ((claim.flags & kClaimNoClaim) != 0) {
    claim.mode = Mode::kNone;
    return;
  }
  const Measured measured = MeasureJob(claim.elapsed_time, claim.cpu_time, claim.peak_flops);
  if ((claim.flags & kClaimNoHostRow) != 0) {
    claim.mode = Mode::kWorkunitEstimate;
    claim.pfc = WorkunitEstimate(claim.fpops_est, claim.min_avg_pfc);
  } else if ((claim.flags & kClaimAnonymous) != 0) {
    PriceAnonymous(measured, constants, claim);
  } else {
    PriceVersion(measured, constants, claim);
  }
  claim.claimed = CreditOfFlops(AtMostBound(claim), constants);
}

Settlement Boinc::Settle(std::span<const Claim> claims, double cap, const Constants& constants) const {
  Settlement settlement = SettleSet(claims, cap, constants);
  if (cap != 0 && settlement.credit > cap) settlement.credit = cap;
  return settlement;
}

}  // namespace

Claim ClaimFacts(const CompletionFacts& completion, const ValidationFacts& validation,
                 const InForce& in_force, const AppRow& app, const HostRecord& host) {
  Claim claim;
  claim.project = in_force.project;
  claim.result = validation.result;
  claim.workunit = validation.workunit;
  claim.host = validation.host;
  claim.user = host.user;
  claim.app = app.id;
  claim.version = completion.version;
  claim.time = validation.now;
  claim.validation_id = validation.id;
  claim.line = validation.line;
  claim.pass = validation.pass;
  claim.awaited = validation.claims;
  claim.canonical_result = validation.canonical_result;
  claim.elapsed_time = completion.elapsed_time;
  claim.cpu_time = completion.cpu_time;
  claim.peak_flops = completion.peak_flops;
  claim.fpops_est = validation.fpops_est;
  claim.fpops_bound = validation.fpops_bound;
  claim.sent_time = completion.sent_time;
  claim.received_time = completion.received_time;
  claim.delay_bound = completion.delay_bound;
  claim.policy = app.policy.kind;
  claim.policy_version = app.policy.version;
  claim.epoch = in_force.scales.epoch;
  claim.flags = validation.state == ValidateState::kInvalid ? kClaimInvalid : kClaimValid;
  if (validation.late) claim.flags |= kClaimLate;
  if (validation.runtime_outlier) claim.flags |= kClaimOutlier;
  if (host.deleted) claim.flags |= kClaimHostDeleted;
  if (completion.version.anonymous()) claim.flags |= kClaimAnonymous;
  if (validation.unreplicated) claim.flags |= kClaimUnreplicated;
  return claim;
}

Settlement SettleSet(std::span<const Claim> claims, double cap, const Constants& constants) {
  Settlement settlement;
  settlement.modes.reserve(claims.size());
  std::vector<double> normal;
  std::vector<double> approximate;
  for (const Claim& claim : claims) {
    settlement.modes.push_back(claim.mode);
    if ((claim.flags & kClaimNoClaim) != 0) continue;
    const double value = AtMostBound(claim);
    if (cap != 0 && CreditOfFlops(value, constants) > cap) {
      settlement.modes.back() = Mode::kCapped;
    } else if (claim.mode == Mode::kNormal) {
      normal.push_back(value);
    } else {
      approximate.push_back(value);
    }
  }
  if (claims.empty()) return settlement;

  // fpops_est belongs to the workunit and min_avg_pfc to the app: both are equal in all claims of one pass.
  const double estimate = WorkunitEstimate(claims.front().fpops_est, claims.front().min_avg_pfc);
  double flops = estimate;
  if (normal.size() > 1) {
    flops = PeggedAverage(normal, estimate);
  } else {
    if (normal.size() == 1) {
      approximate.push_back(normal.front());
      if (quirks::kLoneNormalCountsTwice) approximate.push_back(normal.front());
    }
    if (!approximate.empty()) flops = PeggedAverage(approximate, estimate);
  }
  settlement.credit = FinalCredit(flops, constants);
  return settlement;
}

double WorkunitEstimate(double fpops_est, double min_avg_pfc) {
  return min_avg_pfc != 0 ? fpops_est * min_avg_pfc : fpops_est;
}

double PeggedAverage(std::span<const double> values, double anchor) {
  if (values.size() == 1) return values.front();
  double weights = 0;
  double sum = 0;
  for (const double value : values) {
    const double weight = 1 / (kAnchorShare * anchor + std::abs(anchor - value));
    weights += weight;
    sum += weight * value;
  }
  return sum / weights;
}

bool LookUpVersion(const InForce& in_force, AppVersionId version, Average& pfc, double& scale) {
  const auto it = in_force.scales.versions.find(static_cast<std::uint64_t>(version.value));
  const bool stored = in_force.catalogue.FindVersion(version) != nullptr;
  if (it == in_force.scales.versions.end()) return stored;  // newer than the epoch: a row of zeros
  const VersionScale& numbers = it->second;
  if (numbers.cached) {
    pfc = numbers.cached_pfc;
    scale = numbers.cached_scale;
    return true;
  }
  if (!stored) return false;
  pfc = numbers.pfc;
  scale = numbers.scale;
  return true;
}

const Policy& BoincPolicy() {
  static const Boinc policy;
  return policy;
}

}  // namespace cobblestone::credit
