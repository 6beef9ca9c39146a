// A policy says what a result is worth and what a workunit's results are awarded (docs/rules.md, section 15).
// Pure: values in, values out; no clock, no I/O, no memory of its own. One immutable object per kind: PolicyFor(kind).
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

  // An attempt has ended without a result to validate (error, aborted, time-out): reliability only (quota, error rate,
  // probation). Changes `host` alone. A success counts when it is validated, valid or not: until then its completion may
  // still be refused, and what is refused leaves no trace.
  virtual void OnFailure(const CompletionFacts& attempt, const InForce& in_force, HostRecord& host) const = 0;

  // A result was sent to the host (probation: host_scale_time; jobs today). Changes `host` alone.
  virtual void OnDispatch(const CompletionFacts& dispatch, const InForce& in_force,
                          HostRecord& host) const = 0;

  // Completion and validation (valid or invalid; never inconclusive) of one result are both there: updates the host's
  // record (reliability too) and gives the claim (where the workunit waits for one or the result is late) and the sample for the
  // coordinator. Everything that the claim depends on is recorded in it.
  [[nodiscard]] virtual ClaimDecision OnValidation(const CompletionFacts& completion,
                                                   const ValidationFacts& validation, const InForce& in_force,
                                                   HostRecord& host) const = 0;

  // The same pair, where the validator could not decide yet. `boinc` and `runtime`: the look makes the host's row, or
  // lets the version take over an older one's (golden README, item 19), so that what comes after counts.
  virtual void OnInconclusive(const CompletionFacts& /*completion*/, const ValidationFacts& /*validation*/,
                              const InForce& /*in_force*/, HostRecord& /*host*/) const {}

  // The host's record that its next result of the version would be priced with: the one that it has, or that of another
  // version which the policy lets it inherit. None where it would start from nothing. For estimates and advice.
  [[nodiscard]] virtual std::optional<HostVersion> NextRecord(const HostRecord& host, AppId app,
                                                              AppVersionId version,
                                                              const Catalogue& catalogue) const = 0;

  // Computes mode, pfc and claimed (and the flags that say how) of a claim from its recorded inputs alone; OnValidation
  // goes through it, and an audit does so again. `constants`: those of the claim's policy version.
  virtual void Price(Claim& claim, const Constants& constants) const = 0;

  // The award of a workunit from the claims it waited for, in ascending order of result, expired ones left out.
  // `cap`: max_granted_credit in force, 0 none. Late claims never come here: they get what the others got.
  [[nodiscard]] virtual Settlement Settle(std::span<const Claim> claims, double cap,
                                          const Constants& constants) const = 0;

  // True if the team that a user is in when granted gets the credit (boinc), not the one when reported.
  [[nodiscard]] virtual bool TeamAtGrant() const { return false; }
  // True if claims of invalid results are awaited and counted (boinc 'runtime', item 28).
  [[nodiscard]] virtual bool CountsInvalid() const { return false; }
};

const Policy& PolicyFor(PolicyKind kind);

// What a policy version has where it sets nothing itself: every policy its own (constants.h gives the sources).
Constants DefaultConstants(PolicyKind kind);

// Names as in the catalogue: "boinc", "creditnew-v2" and so on; none for an unknown one.
std::optional<PolicyKind> PolicyKindByName(std::string_view name);
std::string_view PolicyName(PolicyKind kind);
// As in the public formats: normal, approximate, workunit_estimate, capped, none, ...
std::string_view ModeName(Mode mode);

}  // namespace cobblestone::credit
