#include "common/credit/policies/robust.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "common/credit/model/flops.h"
#include "common/credit/model/low_average.h"
#include "common/credit/policies/replicas.h"
#include "common/credit/policies/standard_policy.h"
#include "common/credit/scales/job_scales.h"

namespace cobblestone::credit {
namespace {

constexpr std::uint32_t kPriceFlags = kClaimPfcClamped | kClaimOneTimeCheat | kClaimSanityFailed |
                                      kClaimHasVersionScale | kClaimHasHostScale | kClaimOverBudget |
                                      kClaimRough | kClaimUnreliable | kClaimNoClaim;
constexpr double kChecksPerResult = 0.1;       // bounds the gain of unchecked results to this
constexpr double kReliable = 0.85;             // a host whose R is lower fails often
constexpr double kReturnsItsJobs = 0.9;        // R from which on a host vouches for its partners
constexpr double kReturnsMost = 0.3;           // the same for a host with many results
constexpr std::uint32_t kHostsThatVouch = 20;  // so many make it unlikely that they are one person's
constexpr double kPrecise = 3;       // samples from which on claims are compared, in host_scale_min_samples
constexpr double kUnlike = 2;        // PFCmean(V) counts beside a precise average within this factor
constexpr double kTolerance = 1.3;   // a claim counts up to so many times the lowest one
constexpr double kRoughAlone = 0.8;  // how a rough claim counts that is left alone
constexpr double kAllowedExcess = 0.05;  // of each comparison
constexpr double kExcessLimit = 0.5;     // of the sum
constexpr double kMostTimes = 20;        // a claim that was too high counts as at most so many results
constexpr double kRisingAlarm = 50;      // score
constexpr double kNotRising = 1.5;       // what a result that is not above the average takes from the score

// A new record takes over the failures that another policy has counted for the host's versions of the app. `boinc` and
// `runtime` count none: such hosts begin where a claim is neither raised nor lowered.
HostApp& HostAppFor(HostRecord& host, const AppRow& app) {
  for (HostApp& row : host.apps) {
    if (row.app == app.id) return row;
  }
  HostApp made;
  made.app = app.id;
  made.error_rate = app.policy.constants.error_rate_initial;
  double samples = 0;
  for (const HostVersion& row : host.versions) {
    if (row.app != app.id || row.et.n <= samples) continue;
    samples = row.et.n;
    made.error_rate = row.error_rate > 0 ? row.error_rate : app.policy.constants.failure_allowance;
  }
  host.apps.push_back(made);
  return host.apps.back();
}

// F: the part of a host's work that it has returned, if each failed job was as large as `failure_weight` average ones.
double ReturnedShare(double failure_rate, const Constants& constants) {
  const double returned = 1 - std::max(1.0, constants.failure_weight) * failure_rate;
  return returned > 0 ? returned / (1 - failure_rate) : 0;
}

bool IsReplicated(const Claim& claim) { return claim.awaited >= 2; }

// The factor on the claim: R, if nobody else does the job.
double ReliabilityAlone(const Claim& claim, const Constants& constants) {
  return IsReplicated(claim) ? 1 : Reliability(claim.failure_rate, constants);
}

// D x R of a single result, D of a replicated one; FLOPs.
double ExpectedPfc(const Claim& claim, const Constants& constants) {
  return DefaultPfc(claim) * ReliabilityAlone(claim, constants);
}

// PFC above the bound counts as the bound. A host's average then is of what its claims count.
Measure MeasureWithinBound(const Claim& claim, double peak_flops) {
  Measure measure = MeasureJob(claim, peak_flops);
  if (measure.sane || !(measure.pfc > claim.fpops_bound) || !(claim.fpops_bound > 0)) return measure;
  Claim unbounded = claim;
  unbounded.fpops_bound = std::numeric_limits<double>::infinity();
  measure.sane = MeasureJob(unbounded, peak_flops).sane;
  if (!measure.sane) return measure;
  measure.pfc = claim.fpops_bound;
  measure.ratio = measure.pfc / claim.fpops_est;
  measure.clamped = true;
  return measure;
}

// With other claims for the same job.
bool IsComparable(const Claim& claim) {
  return (claim.flags & (kClaimUncalibrated | kClaimRough | kClaimLate | kClaimNoClaim)) == 0 &&
         (claim.flags & kClaimValid) != 0;
}

bool IsCalibrated(double samples, double mean, const Constants& constants) {
  return samples >= constants.host_scale_min_samples && mean > 0;
}

// With the version: the jobs of a host that is calibrated with another one are measured, too.
bool HasOwnAverage(const Claim& claim, const Constants& constants) {
  return (claim.flags & kClaimUncalibrated) == 0 &&
         IsCalibrated(claim.host_pfc_n, claim.host_pfc_mean, constants);
}

// Where other hosts do the same job, a claim is compared with theirs. A host with few results then has a more precise
// average if some of the version's results count beside its own. A host that is new to a version, and not to the app, has
// nothing better: its budget limits what it gains by false reports.
bool AveragesVersion(const Claim& claim, const Constants& constants) {
  const bool known = (claim.flags & kClaimUncalibrated) == 0;
  return (IsReplicated(claim) || (known && !HasOwnAverage(claim, constants))) &&
         claim.version_pfc_n > constants.version_average_samples && claim.version_pfc_mean > 0;
}

// m: the PFC/E of a job of the estimated size. Absent: unknown.
std::optional<double> AverageOf(const Claim& claim, const Constants& constants) {
  if (AveragesVersion(claim, constants)) {
    const double own = claim.host_pfc_mean;
    const double added = std::max(1.0, constants.host_scale_min_samples);
    const double weight = claim.host_pfc_n / (claim.host_pfc_n + added);
    // A host whose reports are all a hundredth of the truth must not claim a fraction for long. But the first jobs of an
    // honest host can all be small, and then the version's average must count in full.
    const bool precise = (claim.flags & kClaimRough) == 0;
    const double version =
        precise ? std::clamp(claim.version_pfc_mean, own / kUnlike, own * kUnlike) : claim.version_pfc_mean;
    return version + (own - version) * weight;
  }
  if (HasOwnAverage(claim, constants)) return claim.host_pfc_mean;
  return std::nullopt;
}

// Sets pfc, mode and flags of a claim that passed the sanity check.
void PriceMeasured(const Measure& measure, const Constants& constants, Claim& claim) {
  const bool own = HasOwnAverage(claim, constants);
  claim.mode = own ? Mode::kNormal : Mode::kApproximate;
  claim.pfc = ExpectedPfc(claim, constants);
  if (const auto average = AverageOf(claim, constants)) {
    const double limit = constants.average_sample_limit * *average;
    if (measure.ratio > limit) claim.flags |= kClaimOneTimeCheat;
    claim.pfc *= std::min(measure.ratio, limit) / *average;
    if (own) claim.flags |= kClaimHasHostScale;
    if (AveragesVersion(claim, constants)) claim.flags |= kClaimHasVersionScale;
  } else if (IsReplicated(claim) && (claim.flags & kClaimMinAvgDefined) == 0) {
    claim.pfc *= std::min(measure.ratio, 1.0);  // the first results of an app
    claim.flags |= kClaimHasVersionScale;
  }
}

// The claims that tell the size of the job. If there is none: all.
Counted CountMeasured(std::span<const Claim> claims, double cap) {
  Counted counted = CountClaims(claims, 0, cap, kClaimHasHostScale | kClaimHasVersionScale);
  return counted.claims.empty() ? CountClaims(claims, 0, cap) : counted;
}

// A host that returns too few of its jobs may keep those that are small for their estimates: its claims would then raise
// what they earn. The lowest claim of a host that does not; infinite: there is none.
double LowestReliable(const Counted& counted) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const Claim* claim : counted.counting) {
    if ((claim->flags & kClaimUnreliable) == 0) lowest = std::min(lowest, claim->claimed);
  }
  return lowest;
}

// The factor on the award of a replicated result. Hosts that end most of their jobs at once are sent most jobs, so they meet
// in workunits; then no claim of theirs shows that they keep the small jobs. One of the hosts must return its jobs. With
// many results a lower R is enough: where many jobs fail, all hosts have one, and a new identity has few results. R alone
// is too little: it takes failed jobs for 2.25 average ones, and these hosts keep the smallest.
double ReliabilityTogether(const Counted& counted) {
  std::vector<double> factors;
  for (const Claim* claim : counted.counting) {
    if (!IsReplicated(*claim) || claim->reliability >= kReturnsItsJobs) return 1;
    if ((claim->flags & kClaimRough) == 0 && claim->reliability >= kReturnsMost) return 1;
    factors.push_back(claim->reliability * claim->reliability);
  }
  std::sort(factors.begin(), factors.end());  // the product must not depend on the order of the claims
  return std::accumulate(factors.begin(), factors.end(), 1.0, std::multiplies<>());
}

// The default claim, Cobblestones. Absent: the host of a claim that counts is calibrated.
std::optional<double> MostForNewHosts(std::span<const Claim> claims, const Counted& counted,
                                      const Constants& constants) {
  for (const Claim* claim : counted.counting) {
    if ((claim->flags & kClaimUncalibrated) == 0) return std::nullopt;
  }
  double most = 0;  // the app's level can have moved between two claims
  for (const Claim& claim : claims) {
    if ((claim.flags & kClaimValid) != 0)
      most = std::max(most, CreditOfFlops(ExpectedPfc(claim, constants), constants));
  }
  return most;
}

double FiniteOrZero(double value) { return std::isfinite(value) ? value : 0; }

// X. Until the first tick with this policy, an app may have no X but an average of its only version.
std::optional<double> LevelOf(const ValidatedJob& job, const VersionInForce& version,
                              const Constants& constants) {
  if (const auto min_avg_pfc = FindMinAvgPfc(job.in_force.scales, job.app.id)) return min_avg_pfc;
  if (version.pfc.n > constants.version_average_samples && version.pfc.mean > 0) return version.pfc.mean;
  return std::nullopt;
}

// Of a result that measures: late results and outliers do not.
bool IsAboveAverage(const Claim& claim, const Measure& measure, const Constants& constants) {
  return (claim.flags & (kClaimLate | kClaimOutlier)) == 0 && HasOwnAverage(claim, constants) &&
         measure.ratio > claim.host_pfc_mean;
}

class Robust final : public StandardPolicy {
 public:
  void Price(Claim& claim, const Constants& constants) const override {
    claim.flags &= ~kPriceFlags;
    claim.reliability = Reliability(claim.failure_rate, constants);
    if (claim.host_pfc_n < kPrecise * constants.host_scale_min_samples) claim.flags |= kClaimRough;
    if (claim.reliability < kReliable) claim.flags |= kClaimUnreliable;
    const Measure measure = MeasureWithinBound(claim, claim.benchmark);
    if (measure.clamped) claim.flags |= kClaimPfcClamped;
    if (!measure.sane) {
      claim.pfc = ExpectedPfc(claim, constants);
      claim.mode = Mode::kDefaultPfc;
      claim.flags |= kClaimSanityFailed;
    } else {
      PriceMeasured(measure, constants, claim);
    }
    if (claim.pfc > claim.budget && !IsReplicated(claim)) {
      claim.pfc = claim.budget;
      claim.flags |= kClaimOverBudget;
    }
    FinishClaim(constants, claim);
  }

  Settlement Settle(std::span<const Claim> claims, double cap, const Constants& constants) const override {
    Counted counted = CountMeasured(claims, cap);
    Settlement settlement;
    settlement.modes = std::move(counted.modes);
    const std::vector<double>& values = counted.claims;
    if (values.empty()) {
      settlement.credit = counted.capped ? cap : 0;
      return settlement;
    }
    const auto at = std::min_element(values.begin(), values.end()) - values.begin();
    const double lowest = values[static_cast<std::size_t>(at)];
    const bool rough = (counted.counting[static_cast<std::size_t>(at)]->flags & kClaimRough) != 0;
    const double lowest_reliable = LowestReliable(counted);
    std::size_t tolerated = 0;
    std::vector<double> counting;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] > kTolerance * lowest) continue;
      ++tolerated;
      if ((counted.counting[i]->flags & kClaimUnreliable) == 0 || values[i] <= lowest_reliable)
        counting.push_back(values[i]);
    }
    std::sort(counting.begin(), counting.end());  // the sum must not depend on the order of the claims
    const double credit = LowAverage(counting);
    // Not finite: the sum of the claims is 0, or overflows.
    settlement.credit = std::isfinite(credit) ? std::clamp(credit, lowest, counting.back()) : lowest;
    if (rough && tolerated == 1 && CountClaims(claims, 0, cap).claims.size() > 1)
      settlement.credit *= kRoughAlone;
    if (const auto most = MostForNewHosts(claims, counted, constants))
      settlement.credit = std::min(settlement.credit, *most);
    settlement.credit *= ReliabilityTogether(counted);
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
    if (const auto level = LevelOf(job, version, constants)) {
      claim.flags |= kClaimMinAvgDefined;
      claim.min_avg_pfc = *level;
    }
    claim.host_pfc_n = job.row.pfc.n;
    claim.host_pfc_mean = job.row.pfc.mean;
    const auto calibrated = [&](const HostVersion& row) {
      return row.app == job.app.id && IsCalibrated(row.pfc.n, row.pfc.mean, constants);
    };
    if (std::none_of(job.host.versions.begin(), job.host.versions.end(), calibrated))
      claim.flags |= kClaimUncalibrated;
    HostApp& record = HostAppFor(job.host, job.app);
    claim.failure_rate = record.error_rate;
    // Results that another policy priced count as paid with what was expected.
    if (record.expected == 0 && record.claimed == 0)
      record.expected = record.claimed = FiniteOrZero(job.row.pfc.n * ExpectedPfc(claim, constants));
    claim.budget = std::max(
        0.0, constants.budget_factor * (record.expected + ExpectedPfc(claim, constants)) - record.claimed);
    const Measure measure = MeasureWithinBound(claim, claim.benchmark);
    if (measure.sane && IsAboveAverage(claim, measure, constants) && record.rising + 1 >= kRisingAlarm)
      claim.flags |= kClaimRising;
  }

  Measure MeasureOf(const Claim& claim, double peak_flops) const override {
    return MeasureWithinBound(claim, peak_flops);
  }
  double StatisticsPeakFlops(const ValidatedJob&, const Claim& claim) const override {
    return claim.benchmark;
  }
  bool InsaneClaimChangesNothing() const override { return true; }
  bool IsMeasurement(const Claim& claim) const override { return (claim.flags & kClaimLate) == 0; }
  bool AveragesAnonymous() const override { return true; }
  bool DoubtsCancellation() const override { return true; }

  void Learn(const ValidatedJob& job, const Claim& claim, const Measure& measure, bool counted,
             Sample&) const override {
    const Constants& constants = job.app.policy.constants;
    HostApp& record = HostAppFor(job.host, job.app);
    record.error_rate *= constants.error_rate_keep;
    if ((claim.flags & kClaimLate) != 0) return;
    if (IsReplicated(claim)) record.replicated_valid += 1;
    if (counted && HasOwnAverage(claim, constants)) {
      record.rising = (claim.flags & kClaimRising) != 0           ? 0
                      : IsAboveAverage(claim, measure, constants) ? record.rising + 1
                                                                  : std::max(0.0, record.rising - kNotRising);
    }
    // A low claim of a replicated result must not leave budget for a high one of a single result.
    const double usual = ExpectedPfc(claim, constants);
    const double expected = record.expected + usual;
    const double claimed = record.claimed + (IsReplicated(claim) ? usual : claim.pfc);
    if (!std::isfinite(expected) || !std::isfinite(claimed)) return;
    record.expected = expected;
    record.claimed = claimed;
  }

  void Failed(const Attempt& attempt) const override {
    const Constants& constants = attempt.app.policy.constants;
    HostApp& record = HostAppFor(attempt.host, attempt.app);
    record.error_rate = record.error_rate * constants.error_rate_keep + constants.error_rate_add;
    if (attempt.invalid) record.replicated_valid = 0;
  }
};

}  // namespace

double Reliability(double failure_rate, const Constants& constants) {
  const double allowed = ReturnedShare(constants.failure_allowance, constants);
  return allowed > 0 ? ReturnedShare(failure_rate, constants) / allowed : 1;
}

std::optional<double> ExcessOf(const Claim& own, std::span<const Claim> others) {
  if (!IsComparable(own)) return std::nullopt;
  std::optional<double> lowest;
  for (const Claim& other : others) {
    if (IsComparable(other)) lowest = std::min(lowest.value_or(other.claimed), other.claimed);
  }
  if (!lowest || !(*lowest > 0) || !(own.claimed > 0)) return std::nullopt;
  return std::max(-1.0, 1 - *lowest / own.claimed);
}

void NoteExcess(double excess, Agreement& agreement) {
  agreement.results += 1;
  agreement.excess = std::max(0.0, agreement.excess + excess - kAllowedExcess);
  if (agreement.excess <= kExcessLimit) return;
  // A claim that was ten times too high counts as ten results, or rare huge claims would pay.
  const double times = 1 / std::max(1 - excess, 1 / kMostTimes);
  agreement.results = std::min(0.0, 1 - times);
  agreement.excess = 0;
}

double ResultsThatVouch(const HostApp* record, const Agreement* agreement, const Constants& constants) {
  if (record == nullptr || agreement == nullptr) return 0;
  if (Reliability(record->error_rate, constants) < kReliable) return 0;
  return std::max(0.0, std::min(record->replicated_valid, agreement->results));
}

double ReplicationProbability(double results_that_vouch) {
  return 1 / (1 + kChecksPerResult * results_that_vouch);
}

std::uint32_t StandingOf(double results_that_vouch, std::uint32_t run_of_valid_results) {
  if (ReplicationProbability(results_that_vouch) <= 0.5) return kHighestStanding;
  return std::min(run_of_valid_results, kHighestStanding - 1);
}

std::uint32_t StandingNeeded(std::span<const std::uint32_t, kHighestStanding + 1> hosts) {
  std::uint32_t known = 0;
  for (const std::uint32_t some : hosts.subspan<1>()) known += some;
  std::uint32_t needed = kHighestStanding;
  std::uint32_t reached = 0;
  for (; needed > 0; --needed) {
    reached += hosts[needed];
    if (reached >= kHostsThatVouch && 2 * reached >= known) break;
  }
  return needed;
}

const Policy& RobustPolicy() {
  static const Robust policy;
  return policy;
}

}  // namespace cobblestone::credit
