// What a result that the validator judged invalid would have got, had the validator judged it valid at that moment: the price by
// which an operator may reinstate the result (docs/rules.md, section 50). Pure.
#pragma once

#include <optional>

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

struct WorthIfValid {
  Claim claim;  // as a valid result's, priced by the policy version, scales and host's record of that moment
  double credit =
      0;  // Cobblestones: what the claim comes to alone, under the cap. Meaningless unless TellsWorth(claim)
};

// False for policy `assigned` where neither validator nor application has said an amount: nobody knows what the result is worth.
[[nodiscard]] bool TellsWorth(const Claim& claim);

// `host`: the host's record as it was before the validation; it stays as it is. `cap`: max_granted_credit in force, 0 none.
// None: a valid result would have got no credit either, because its host is deleted or the policy makes no claim.
[[nodiscard]] std::optional<WorthIfValid> PriceIfValid(const CompletionFacts& completion,
                                                       const ValidationFacts& validation,
                                                       const InForce& in_force, const HostRecord& host,
                                                       double cap);

// What the claim comes to alone. An audit does this again.
[[nodiscard]] double WorthAlone(const Claim& claim, double cap, const Constants& constants);

}  // namespace cobblestone::credit
