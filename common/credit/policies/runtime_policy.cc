#include "common/credit/policies/runtime_policy.h"

#include <vector>

#include "common/credit/model/flops.h"
#include "common/credit/model/low_average.h"
#include "common/credit/policies/boinc.h"
#include "common/credit/policies/boinc_quirks.h"
#include "common/credit/policies/boinc_rows.h"

namespace cobblestone::credit {
namespace {

class Runtime final : public Policy {
 public:
  void OnFailure(const CompletionFacts& attempt, const InForce& in_force, HostRecord& host) const override {
    CountFailure(attempt, in_force.catalogue, host);
  }
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
  bool CountsInvalid() const override { return quirks::kRunTimeCountsInvalid; }
};

ClaimDecision Runtime::OnValidation(const CompletionFacts& completion, const ValidationFacts& validation,
                                    const InForce& in_force, HostRecord& host) const {
  if (validation.late) return BoincPolicy().OnValidation(completion, validation, in_force, host);
  ClaimDecision decision;
  const AppRow* app = in_force.catalogue.FindApp(completion.app);
  const bool valid = validation.state == ValidateState::kValid;
  const bool invalid = validation.state == ValidateState::kInvalid;
  if (app == nullptr || (!valid && !invalid)) return decision;

  BoincRow found = BoincRow::ForResult(completion, validation, in_force.catalogue, host);
  if (valid) {
    CountValid(validation.unreplicated, found.row);
  } else {
    CountInvalid(in_force.catalogue.settings, found.row);
  }
  if (!host.deleted) {
    found.Store(host);
    if (valid) CountTurnaround(completion.received_time - completion.sent_time, host);
  }
  decision.has_claim = valid || CountsInvalid();
  if (decision.has_claim) {
    decision.claim = ClaimFacts(completion, validation, in_force, *app, host);
    Price(decision.claim, app->policy.constants);
  }
  return decision;
}

void Runtime::Price(Claim& claim, const Constants& constants) const {
  if ((claim.flags & kClaimLate) != 0) return BoincPolicy().Price(claim, constants);
  const bool placeholder = claim.peak_flops == quirks::kPlaceholderSpeed;
  claim.pfc = claim.elapsed_time * (placeholder ? quirks::kAssumedSpeed : claim.peak_flops);
  if (claim.pfc > quirks::kRunTimeBoundFactor * claim.fpops_bound) claim.pfc = claim.fpops_bound;
  claim.claimed = CreditOfFlops(claim.pfc, constants);
  claim.mode = Mode::kRuntime;
}

Settlement Runtime::Settle(std::span<const Claim> claims, double cap, const Constants&) const {
  Settlement settlement;
  settlement.modes.reserve(claims.size());
  std::vector<double> credits;
  for (const Claim& claim : claims) {
    // NaN counts, as in BOINC; a grant that is not finite is then refused.
    const bool out = claim.claimed <= 0 || (cap != 0 && claim.claimed > cap);
    settlement.modes.push_back(out ? Mode::kCapped : Mode::kRuntime);
    if (!out) credits.push_back(claim.claimed);
  }
  if (!credits.empty()) settlement.credit = LowAverage(credits);
  if (cap != 0 && settlement.credit > cap) settlement.credit = cap;
  return settlement;
}

}  // namespace

const Policy& RuntimePolicy() {
  static const Runtime policy;
  return policy;
}

}  // namespace cobblestone::credit
