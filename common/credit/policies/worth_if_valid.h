// The credit that an invalid result would have received if the validator had judged the result valid: the price
// at which an operator may reinstate the result (docs/rules.md, section 50). Pure.
#pragma once

#include <optional>

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

struct WorthIfValid {
  Claim claim;  // of a valid result, priced with policy version, scales and host's record of the validation
  double credit = 0;  // Cobblestones: WorthAlone() of the claim. Meaningless unless StatesWorth(claim)
};

// False for a claim of policy `assigned` without an amount from project or app: the worth is unknown.
[[nodiscard]] bool StatesWorth(const Claim& claim);

// `host`: the host's record before the validation. `cap`: max_granted_credit in force, 0: none. Absent: a valid
// result would have received no credit either, because the app is unknown, the host is deleted or the policy
// returns no claim.
[[nodiscard]] std::optional<WorthIfValid> PriceIfValid(const CompletionFacts& completion,
                                                       const ValidationFacts& validation,
                                                       const InForce& in_force, const HostRecord& host,
                                                       double cap);

// The award of a workunit with this claim alone, Cobblestones. An audit repeats the call.
[[nodiscard]] double WorthAlone(const Claim& claim, double cap, const Constants& constants);

}  // namespace cobblestone::credit
