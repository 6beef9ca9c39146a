// The common part of all policies except `boinc` and `runtime`: the facts of a claim, the statistics and
// reliability of (host, app version), the sample for the coordinator. A policy implements the hooks.
//
// Order within OnValidation: old record -> inputs of the claim -> Price() -> statistics. A claim therefore
// never depends on its own sample.
#pragma once

#include "common/credit/model/average.h"
#include "common/credit/model/measure.h"
#include "common/credit/policies/policy.h"
#include "common/credit/policies/probation.h"

namespace cobblestone::credit {

// S000, 'Computing averages': straight "for the first N samples", then exponential. BOINC's comparison excludes
// the Nth sample (average.h), so these rules set one sample more.
[[nodiscard]] AverageRule StandardHostRule(const Constants& constants);
[[nodiscard]] AverageRule StandardVersionRule(const Constants& constants);

// Adds a sample. A sample that would make a number of the average overflow (the variance squares the sample) is
// refused, like an infinite sample.
void AddFiniteSample(const AverageRule& rule, double sample, Average& average);
void AddFiniteSample(const AverageRule& rule, double sample, AverageVar& average);

// The average and scale of a version for claims; with the app's option version_median the mean is the median
// over hosts.
struct VersionInForce {
  Average pfc;
  double scale = 0;  // 0: none
};
[[nodiscard]] VersionInForce FindVersionInForce(const ScaleTable& scales, AppVersionId version);

// One result, as passed to the hooks. The references are valid during the call only.
struct ValidatedJob {
  const CompletionFacts& completion;
  const ValidationFacts& validation;
  const InForce& in_force;
  const AppRow& app;
  HostRecord& host;
  HostVersion& row;
  bool gpu = false;
};

// A dispatched, failed or completed attempt, as passed to Sent() and Failed().
struct Attempt {
  const InForce& in_force;
  const AppRow& app;
  HostRecord& host;
  HostVersion& row;
  double now = 0;          // UNIX s
  double sent_time = 0;    // UNIX s; 0: unknown
  double delay_bound = 0;  // s
  bool invalid = false;    // the attempt returned a result that was invalid
};

class StandardPolicy : public Policy {
 public:
  void OnFailure(const CompletionFacts& attempt, const InForce& in_force, HostRecord& host) const final;
  void OnDispatch(const CompletionFacts& dispatch, const InForce& in_force, HostRecord& host) const final;
  [[nodiscard]] ClaimDecision OnValidation(const CompletionFacts& completion,
                                           const ValidationFacts& validation, const InForce& in_force,
                                           HostRecord& host) const final;
  [[nodiscard]] std::optional<HostVersion> NextRecord(const HostRecord& host, AppId app, AppVersionId version,
                                                      const Catalogue& catalogue) const final;
  [[nodiscard]] Settlement Settle(std::span<const Claim> claims, double cap,
                                  const Constants& constants) const override;

 protected:
  // Sets the inputs of the policy's Price() besides the job's facts. May change the row (one-time cheats).
  virtual void FillInputs(const ValidatedJob& job, Claim& claim) const = 0;
  // The measure of the claim's job, for its statistics; `peak_flops`: of StatisticsPeakFlops().
  [[nodiscard]] virtual Measure MeasureOf(const Claim& claim, double peak_flops) const {
    return MeasureJob(claim, peak_flops);
  }
  // Peak FLOP/s for the job's statistics.
  [[nodiscard]] virtual double StatisticsPeakFlops(const ValidatedJob& job, const Claim& claim) const;
  // Called after a valid result's claim is priced and its sample filled: updates the policy's own records and
  // `sample`. `counted`: the job enters the statistics (sane, not an outlier).
  virtual void Learn(const ValidatedJob&, const Claim&, const Measure&, bool /*counted*/, Sample&) const {}
  // True: a claim that failed the sanity check has no sample and changes neither statistics nor error rate.
  [[nodiscard]] virtual bool InsaneClaimChangesNothing() const { return false; }
  // False: the claim prices its result, but changes no average of its version or host.
  [[nodiscard]] virtual bool IsMeasurement(const Claim&) const { return true; }
  // True: the results of an anonymous version enter the host's average of that version.
  [[nodiscard]] virtual bool AveragesAnonymous() const { return false; }
  // True: an outcome ABORTED_BY_PROJECT of a job that the project had not cancelled is the user's abort.
  [[nodiscard]] virtual bool DoubtsCancellation() const { return false; }
  // A job was sent; called for the dispatch, and again for the failure or validation of a job with a sent time.
  virtual void Sent(const Attempt&) const {}
  // A job ended in error, was aborted by the user, timed out, or its result was invalid.
  virtual void Failed(const Attempt&) const {}
};

}  // namespace cobblestone::credit
