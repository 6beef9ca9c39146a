// What all policies but `boinc` and `runtime` do alike: the facts of a claim, the statistics of (host, app
// version), its reliability, the sample for the coordinator. A policy fills the hooks.
//
// Order within OnValidation: the record as it was before -> inputs of the claim -> Price() -> statistics. So
// a claim never depends on its own sample.
#pragma once

#include "common/credit/model/average.h"
#include "common/credit/model/measure.h"
#include "common/credit/policies/policy.h"
#include "common/credit/policies/probation.h"

namespace cobblestone::credit {

// S000, 'Computing averages': straight "for the first N samples", then exponential. BOINC's comparison leaves
// the Nth out (average.h), so these ask for one more.
[[nodiscard]] AverageRule StandardHostRule(const Constants& constants);
[[nodiscard]] AverageRule StandardVersionRule(const Constants& constants);

// Adds a sample, unless a number of the average would overflow by it (the variance squares): such a sample is
// refused like an infinite one.
void AddFiniteSample(const AverageRule& rule, double sample, Average& average);
void AddFiniteSample(const AverageRule& rule, double sample, AverageVar& average);

// Averages and scale of a version as claims are to use them: the median over hosts where the app has that
// option.
struct VersionInForce {
  Average pfc;
  double scale = 0;  // 0: none
};
[[nodiscard]] VersionInForce FindVersionInForce(const ScaleTable& scales, AppVersionId version);

// One result as a policy's hooks see it. References outlive the call only.
struct ValidatedJob {
  const CompletionFacts& completion;
  const ValidationFacts& validation;
  const InForce& in_force;
  const AppRow& app;
  HostRecord& host;
  HostVersion& row;
  bool gpu = false;
};

// An attempt that came to nothing, or a completed one.
struct Attempt {
  const InForce& in_force;
  const AppRow& app;
  HostRecord& host;
  HostVersion& row;
  double now = 0;          // UNIX s
  double sent_time = 0;    // UNIX s; 0 unknown
  double delay_bound = 0;  // s
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
  // Sets the inputs that the policy's Price() reads beyond the job's facts. May change the row (one-time
  // cheats).
  virtual void FillInputs(const ValidatedJob& job, Claim& claim) const = 0;
  // Peak FLOP/s by which the job's statistics are measured.
  [[nodiscard]] virtual double StatisticsPeakFlops(const ValidatedJob& job, const Claim& claim) const;
  // The result was valid and its claim is priced: records of the policy's own, and `sample`, which is filled
  // already. `counted`: the job feeds statistics (sane, no outlier).
  virtual void Learn(const ValidatedJob&, const Claim&, const Measure&, bool /*counted*/, Sample&) const {}
  // True if a claim that failed the sanity check leaves every record as it was.
  [[nodiscard]] virtual bool InsaneClaimChangesNothing() const { return false; }
  // A job was sent (seen from its dispatch, or from its completion, which tells the same).
  virtual void Sent(const Attempt&) const {}
  // A job ended in error, was aborted by the user, timed out, or its result was invalid.
  virtual void Failed(const Attempt&) const {}
};

}  // namespace cobblestone::credit
