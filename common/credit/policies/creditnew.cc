#include "common/credit/policies/creditnew.h"

#include "common/credit/policies/probation.h"
#include "common/credit/policies/replicas.h"
#include "common/credit/policies/standard_policy.h"
#include "common/credit/scales/job_scales.h"

namespace cobblestone::credit {
namespace {

constexpr std::uint32_t kPriceFlags = kClaimPfcClamped | kClaimOneTimeCheat | kClaimSanityFailed |
                                      kClaimHasVersionScale | kClaimHasHostScale | kClaimNoClaim;

// S000, 'One-time cheats'. Never for a version without an average, and never for a runtime outlier, because the
// run time of an outlier measures nothing.
bool IsOneTimeCheat(const Claim& claim, const Measure& measure, const Constants& constants) {
  if ((claim.flags & (kClaimAnonymous | kClaimOutlier)) != 0) return false;
  return measure.sane && claim.version_pfc_mean > 0 &&
         measure.ratio > constants.one_time_cheat_factor * claim.version_pfc_mean;
}

void PriceMeasured(const Measure& measure, const Constants& constants, Claim& claim) {
  const JobScales scales = ScalesOf({.version_scale = claim.version_scale,
                                     .version_pfc_mean = claim.version_pfc_mean,
                                     .host_pfc_n = claim.host_pfc_n,
                                     .host_pfc_mean = claim.host_pfc_mean,
                                     .on_probation = (claim.flags & kClaimOnProbation) != 0,
                                     .host_scale_time = claim.host_scale_time,
                                     .time = claim.time},
                                    constants);
  claim.pfc = scales.Apply(measure.pfc);
  if (scales.version > 0) claim.flags |= kClaimHasVersionScale;
  if (scales.host > 0) claim.flags |= kClaimHasHostScale;
  const bool both = scales.version > 0 && scales.host > 0;
  claim.mode = scales.trust != HostTrust::kTrusted ? Mode::kProbation
               : both                              ? Mode::kNormal
                                                   : Mode::kApproximate;
}

class CreditNew final : public StandardPolicy {
 public:
  void Price(Claim& claim, const Constants& constants) const override {
    claim.flags &= ~kPriceFlags;
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
      if (IsOneTimeCheat(claim, measure, constants)) claim.flags |= kClaimOneTimeCheat;
      PriceMeasured(measure, constants, claim);
    }
    FinishClaim(constants, claim);
  }

  Settlement Settle(std::span<const Claim> claims, double cap, const Constants& constants) const override {
    // Single replication: the grant equals the claim, also on probation or an anonymous platform.
    const bool single = claims.size() == 1 && claims.front().awaited <= 1;
    Counted counted = CountClaims(claims, single ? 0 : kClaimAnonymous | kClaimOnProbation, cap);
    Settlement settlement;
    settlement.modes = std::move(counted.modes);
    if (!counted.claims.empty()) {
      settlement.credit = Combine(Replication::kAverage, counted.claims);
      return settlement;
    }
    const Claim* newest = nullptr;  // has the newest min_avg_pfc(A)
    for (const Claim& claim : claims) {
      if ((claim.flags & kClaimValid) != 0 && (newest == nullptr || claim.epoch > newest->epoch))
        newest = &claim;
    }
    if (newest == nullptr) return settlement;
    Claim fallback = *newest;
    fallback.pfc = DefaultPfc(fallback);
    FinishClaim(constants, fallback);
    settlement.credit = Capped(fallback.claimed, cap);
    return settlement;
  }

 protected:
  void FillInputs(const ValidatedJob& job, Claim& claim) const override {
    const Constants& constants = job.app.policy.constants;
    claim.benchmark = LimitedPeakFlops(job.completion, job.gpu, constants);
    const VersionInForce version = FindVersionInForce(job.in_force.scales, claim.version);
    claim.version_pfc_n = version.pfc.n;
    claim.version_pfc_mean = version.pfc.mean;
    claim.version_scale = version.scale;
    if (const auto min_avg_pfc = FindMinAvgPfc(job.in_force.scales, claim.app)) {
      claim.flags |= kClaimMinAvgDefined;
      claim.min_avg_pfc = *min_avg_pfc;
    }
    claim.host_pfc_n = job.row.pfc.n;
    claim.host_pfc_mean = job.row.pfc.mean;
    if (IsOneTimeCheat(claim, MeasureJob(claim, claim.benchmark), constants)) {
      NoteOneTimeCheat(TermsOf(job, claim), constants, job.row);
    }
    if (OnProbation(job.row, job.app.host_scale_check)) claim.flags |= kClaimOnProbation;
    claim.host_scale_time = job.row.host_scale_time;
  }

  double StatisticsPeakFlops(const ValidatedJob&, const Claim& claim) const override {
    return claim.benchmark;
  }
  bool InsaneClaimChangesNothing() const override { return true; }

  void Learn(const ValidatedJob& job, const Claim& claim, const Measure&, bool, Sample&) const override {
    // NoteValid() has just lowered the error rate that the cheat had set to its initial value.
    if ((claim.flags & kClaimOneTimeCheat) != 0)
      job.row.error_rate = job.app.policy.constants.error_rate_initial;
    NoteValidated(TermsOf(job, claim), job.row);
  }

  void Sent(const Attempt& attempt) const override {
    NoteDispatch({attempt.app.host_scale_check, attempt.sent_time, attempt.delay_bound}, attempt.row);
  }
  void Failed(const Attempt& attempt) const override {
    NoteUnreliable({attempt.app.host_scale_check, attempt.now, attempt.delay_bound}, attempt.row);
  }

 private:
  static ProbationTerms TermsOf(const ValidatedJob& job, const Claim& claim) {
    return {job.app.host_scale_check, claim.time, claim.delay_bound};
  }
};

}  // namespace

const Policy& CreditNewPolicy() {
  static const CreditNew policy;
  return policy;
}

}  // namespace cobblestone::credit
