#include "common/credit/policies/worth_if_valid.h"

#include <span>
#include <utility>

namespace cobblestone::credit {

bool StatesWorth(const Claim& claim) {
  return claim.policy != PolicyKind::kAssigned || (claim.flags & kClaimNoClaim) == 0;
}

double WorthAlone(const Claim& claim, double cap, const Constants& constants) {
  return PolicyFor(claim.policy).Settle(std::span(&claim, 1), cap, constants).credit;
}

std::optional<WorthIfValid> PriceIfValid(const CompletionFacts& completion, const ValidationFacts& validation,
                                         const InForce& in_force, const HostRecord& host, double cap) {
  const AppRow* app = in_force.catalogue.FindApp(completion.app);
  if (app == nullptr || host.deleted) return std::nullopt;
  ValidationFacts valid = validation;
  valid.state = ValidateState::kValid;
  HostRecord scratch = host;  // pricing updates the record, and `host` must not change
  ClaimDecision decision = PolicyFor(app->policy.kind).OnValidation(completion, valid, in_force, scratch);
  if (!decision.has_claim) return std::nullopt;
  const double credit = WorthAlone(decision.claim, cap, app->policy.constants);
  return WorthIfValid{.claim = std::move(decision.claim), .credit = credit};
}

}  // namespace cobblestone::credit
