// A policy computes the claim of a result and the award of a workunit's results (docs/rules.md, section 15).
// Pure: no clock, no I/O, no state. One immutable object per kind: PolicyFor(kind).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

class Policy {
 public:
  virtual ~Policy() = default;

  // An attempt has ended without a result to validate (error, abort, time-out). Updates reliability (quota,
  // error rate, probation) in `host` and nothing else. A success counts at its validation, valid or not: until
  // then the completion may still be refused, and a refused completion must leave no trace.
  virtual void OnFailure(const CompletionFacts& attempt, const InForce& in_force, HostRecord& host) const = 0;

  // A result was sent to the host. Updates host_scale_time (probation) and jobs_today in `host`, nothing else.
  virtual void OnDispatch(const CompletionFacts& dispatch, const InForce& in_force,
                          HostRecord& host) const = 0;

  // Completion and validation (valid or invalid, never inconclusive) of one result have arrived. Updates the
  // host's record, reliability included. Returns the claim (of a valid result; CountsInvalid(): of an invalid
  // result too) and the sample for the coordinator, if any. The claim records every input of its price.
  [[nodiscard]] virtual ClaimDecision OnValidation(const CompletionFacts& completion,
                                                   const ValidationFacts& validation, const InForce& in_force,
                                                   HostRecord& host) const = 0;

  // As OnValidation, for an inconclusive validation. `boinc` and `runtime` create the host's row, or let the
  // version take over another version's row (golden README, item 19), so that later results count.
  virtual void OnInconclusive(const CompletionFacts& /*completion*/, const ValidationFacts& /*validation*/,
                              const InForce& /*in_force*/, HostRecord& /*host*/) const {}

  // The row that would price the host's next result of the version: the stored row, or the row of another
  // version that the policy lets this version inherit. Absent: neither exists. For estimates and advice.
  [[nodiscard]] virtual std::optional<HostVersion> NextRecord(const HostRecord& host, AppId app,
                                                              AppVersionId version,
                                                              const Catalogue& catalogue) const = 0;

  // Computes mode, pfc, claimed and the flags of the computation from the claim's recorded inputs alone.
  // OnValidation calls Price, and an audit repeats the call. `constants`: of the claim's policy version.
  virtual void Price(Claim& claim, const Constants& constants) const = 0;

  // The award of a workunit from its awaited claims, ascending by result, without expired claims. `cap`:
  // max_granted_credit in force, 0: none. Late claims are never passed: late results get the workunit's award.
  [[nodiscard]] virtual Settlement Settle(std::span<const Claim> claims, double cap,
                                          const Constants& constants) const = 0;

  // True if credit goes to the user's team at grant time (`boinc`, `runtime`), not at report time.
  [[nodiscard]] virtual bool TeamAtGrant() const { return false; }
  // True if claims of invalid results are awaited and counted (`runtime`; golden README, item 28).
  [[nodiscard]] virtual bool CountsInvalid() const { return false; }
};

const Policy& PolicyFor(PolicyKind kind);

// The constants of a policy version that sets none, by policy (constants.h names the sources).
Constants DefaultConstants(PolicyKind kind);

// Names as in the catalogue, such as "boinc" and "creditnew-v2". Absent: unknown name.
std::optional<PolicyKind> PolicyKindByName(std::string_view name);
std::string_view PolicyName(PolicyKind kind);
// Names as in the public formats: normal, approximate, workunit_estimate, capped, none, ...
std::string_view ModeName(Mode mode);

}  // namespace cobblestone::credit
