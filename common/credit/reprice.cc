#include "common/credit/reprice.h"

#include "common/credit/partial_settlement.h"
#include "common/credit/policy.h"

namespace cobblestone::credit {

namespace {

// All three record the host's benchmark, whether they look at it or not.
bool HasBenchmark(PolicyKind kind) {
  return kind == PolicyKind::kBenchmark || kind == PolicyKind::kReportedFlops ||
         kind == PolicyKind::kAssigned;
}

bool LooksAtBenchmark(const Claim& claim, const PolicyVersion& version) {
  const bool reported = (claim.flags & kClaimReported) != 0;
  switch (version.kind) {
    case PolicyKind::kBenchmark: return true;
    case PolicyKind::kReportedFlops: return !reported;
    case PolicyKind::kAssigned: return reported && version.constants.reported_credit_limit > 0;
    default: return false;
  }
}

}  // namespace

// A claim records what its own policy looks at: a benchmark, or averages of the host's version, or a word of the project.
std::optional<std::string> CannotPriceAnew(const RecordedClaim& recorded, const PolicyVersion& version) {
  const Claim& claim = recorded.claim;
  if (claim.policy == version.kind && claim.policy_version == version.version) return std::nullopt;
  const bool can = claim.policy == version.kind || version.kind == PolicyKind::kNone ||
                   (version.kind == PolicyKind::kBenchmark && HasBenchmark(claim.policy));
  if (!can)
    return "the ledger has what policy " + std::string(PolicyName(claim.policy)) +
           " looked at, and not what " + std::string(PolicyName(version.kind)) + " would";
  if (LooksAtBenchmark(claim, version) && recorded.benchmark != version.constants.benchmark)
    return "the version asks for another benchmark of the host than the ledger has";
  if (!recorded.whole)
    return "replica " + std::to_string(claim.result.value) +
           " was granted nothing, so the ledger has not what its claim was made of";
  return std::nullopt;
}

PricedAnew PriceAnew(std::span<const RecordedClaim> claims, double cap, const PolicyVersion& version) {
  PricedAnew anew;
  const Policy& policy = PolicyFor(version.kind);
  std::vector<Claim> priced;
  for (const RecordedClaim& recorded : claims) {
    Claim& claim = priced.emplace_back(recorded.claim);
    if (const auto why = CannotPriceAnew(recorded, version)) {
      anew.problem = *why;
      return anew;
    }
    claim.policy = version.kind;
    claim.policy_version = version.version;
    if (recorded.whole) policy.Price(claim, version.constants);
  }
  anew.credit = policy.Settle(priced, cap, version.constants).credit;
  bool ok = true;
  anew.micro = RoundToMicro(anew.credit, &ok);
  if (!ok) anew.problem = "it comes to no amount of credit";
  return anew;
}

MicroCredit BroughtTo(UserId user, const Claim& claim, MicroCredit worth) {
  const PartialSettlement settled = SettlePartials(claim.paid, worth, claim.settlement, claim.time);
  MicroCredit brought = user == claim.user ? settled.final_micro : 0;
  for (const SettledPartial& part : settled.parts)
    if (part.user == user) brought += part.settles - part.taken;
  return brought;
}

}  // namespace cobblestone::credit
