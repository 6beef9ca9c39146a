#include "services/audit/grant_audit.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <vector>

#include "common/credit/policies/worth_if_valid.h"
#include "common/credit/trickles/partial_settlement.h"
#include "common/credit/trickles/trickle_policy.h"

namespace cobblestone::audit {
namespace {

bool SameBits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::string Text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

}  // namespace

std::string AuditedPlace::Text() const {
  std::string text = "grant at partition " + std::to_string(partition) + ", offset " + std::to_string(offset);
  if (result) text += " (result " + std::to_string(result.value) + ")";
  return text;
}

Status GrantAudit::Take(const wire::Grant& grant, const AuditedPlace& place) {
  switch (grant.head.kind) {
    case wire::GrantKind::kTrickle: CheckUnpaid(grant, place); break;
    case wire::GrantKind::kInvalid: return CheckInvalid(grant, place);
    case wire::GrantKind::kPartial: return CheckPartial(grant, place);
    case wire::GrantKind::kReversal:
      if (!grant.undone) CheckReversal(grant, place);
      break;
    case wire::GrantKind::kRepricing: break;
    default: return CheckFinal(grant, place);
  }
  return Status::Ok();
}

void GrantAudit::CheckUnpaid(const wire::Grant& grant, const AuditedPlace& place) {
  ++counts_.unpaid;
  const bool has_reason = grant.partial && (grant.partial->outcome != credit::TrickleOutcome::kPaid ||
                                            grant.partial->refusal != wire::RefusalReason::kUnknown);
  if (!has_reason) Problem(place, "the unpaid trickle has no reason");
  if (grant.head.credit_micro != 0 || grant.head.settles_micro != 0)
    Problem(place, "the unpaid trickle has an amount");
}

Status GrantAudit::CheckPartial(const wire::Grant& grant, const AuditedPlace& place) {
  ++counts_.partials;
  if (!grant.partial || !grant.partial->price) {
    Problem(place, "the partial grant has no trickle");
    return Status::Ok();
  }
  const wire::PartialGrant& partial = *grant.partial;
  const double worth = credit::CreditOfHighWaterMark(*partial.price, partial.mark_after);
  bool ok = true;
  if (!SameBits(worth, partial.credit) || !SameBits(worth, grant.detail.credit) ||
      credit::RoundToMicro(worth, &ok) - partial.paid_before != grant.head.credit_micro || !ok)
    Problem(place, "the mark of " + Text(partial.mark_after) + " is worth " + Text(worth) +
                       ", but the payment was " + std::to_string(grant.head.credit_micro) +
                       " micro-credits after " + std::to_string(partial.paid_before));
  const auto policy = find_policy_(grant.head.project, grant.head.app, partial.price->rule_version);
  if (!policy.ok()) return policy.status();
  const auto is_its = [&](const credit::TrickleRule& rule) {
    return rule.variety == partial.variety && rule.kind == partial.price->kind;
  };
  if (*policy == nullptr || std::none_of((*policy)->trickles.begin(), (*policy)->trickles.end(), is_its))
    Problem(place, "unknown trickle rule of version " + std::to_string(partial.price->rule_version) +
                       " of app " + std::to_string(grant.head.app.value) + ", which there never was");
  return Status::Ok();
}

void GrantAudit::CheckReversal(const wire::Grant& grant, const AuditedPlace& place) {
  ++counts_.reversals;
  if (grant.head.credit_micro > 0 || -grant.head.credit_micro > grant.head.settles_micro)
    Problem(place, "the reversal of " + std::to_string(-grant.head.credit_micro) +
                       " micro-credits exceeds the settled " + std::to_string(grant.head.settles_micro));
  if (grant.reason.empty()) Problem(place, "the reversal has no reason");
}

Status GrantAudit::CheckFinal(const wire::Grant& grant, const AuditedPlace& place) {
  ++counts_.finals;
  if (!grant.claim) {
    Problem(place, "the grant has no claim");
    return Status::Ok();
  }
  const credit::Claim& claim = *grant.claim;
  bool ok = true;
  const credit::MicroCredit worth = credit::RoundToMicro(grant.detail.credit, &ok);
  // The worth less the trickle payments.
  const credit::MicroCredit due =
      credit::SettlePartials(claim.paid, worth, claim.settlement, grant.head.time).final_micro;
  if (due != grant.head.credit_micro || !ok)
    Problem(place,
            Text(grant.detail.credit) + " is not rounded to " + std::to_string(grant.head.credit_micro));
  const auto policy = CheckClaim(claim, grant.head.project, place);
  if (!policy.ok() || *policy == nullptr) return policy.status();
  if ((grant.head.flags & credit::kGrantLate) != 0) return CheckLate(grant, place);
  CheckSettlement(grant, (*policy)->constants, place);
  return Status::Ok();
}

Result<const credit::PolicyVersion*> GrantAudit::CheckClaim(const credit::Claim& claim, ProjectId project,
                                                            const AuditedPlace& place) {
  const auto policy = find_policy_(project, claim.app, claim.policy_version);
  if (!policy.ok()) return policy;
  if (*policy == nullptr || (*policy)->kind != claim.policy) {
    Problem(place, "unknown policy version " + std::to_string(claim.policy_version) + " of app " +
                       std::to_string(claim.app.value) + ", which there never was");
    return nullptr;
  }
  credit::Claim again = claim;
  credit::PolicyFor(claim.policy).Price(again, (*policy)->constants);
  if (again.mode != claim.mode || !SameBits(again.pfc, claim.pfc) ||
      !SameBits(again.claimed, claim.claimed) || again.flags != claim.flags)
    Problem(place, "the claim of " + Text(claim.claimed) + " is worth " + Text(again.claimed) +
                       " from the recorded inputs");
  return policy;
}

// The record of a result that was judged invalid awards nothing, and states the worth of its claim.
Status GrantAudit::CheckInvalid(const wire::Grant& grant, const AuditedPlace& place) {
  ++counts_.invalid;
  if (!grant.claim) {
    Problem(place, "the result judged invalid has no claim");
    return Status::Ok();
  }
  if (grant.head.credit_micro != 0 || grant.head.settles_micro != 0)
    Problem(place, "the result judged invalid has an amount");
  const auto policy = CheckClaim(*grant.claim, grant.head.project, place);
  if (!policy.ok() || *policy == nullptr) return policy.status();
  const double worth =
      credit::WorthAlone(*grant.claim, grant.detail.max_granted_credit, (*policy)->constants);
  if (!SameBits(worth, grant.detail.credit))
    Problem(place,
            "the recorded worth is " + Text(grant.detail.credit) + ", but the claim is worth " + Text(worth));
  return Status::Ok();
}

void GrantAudit::CheckSettlement(const wire::Grant& grant, const credit::Constants& constants,
                                 const AuditedPlace& place) {
  std::vector<credit::Claim> claims;
  claims.push_back(*grant.claim);
  for (const wire::OtherClaim& other : grant.others) claims.push_back(wire::ClaimOf(other, *grant.claim));
  std::sort(claims.begin(), claims.end(),
            [](const credit::Claim& a, const credit::Claim& b) { return a.result < b.result; });
  const credit::Settlement settled =
      credit::PolicyFor(grant.claim->policy).Settle(claims, grant.detail.max_granted_credit, constants);
  ++counts_.settlements;
  if (!SameBits(settled.credit, grant.detail.credit))
    Problem(place, "granted " + Text(grant.detail.credit) + ", but the claims give " + Text(settled.credit));
}

// A late result gets the amount of another result of its workunit.
Status GrantAudit::CheckLate(const wire::Grant& grant, const AuditedPlace& place) {
  ++counts_.late;
  const ResultId result = grant.detail.canonical_result;
  if (!result) return Status::Ok();  // the validator named no canonical result: nothing to compare
  const auto ledger = ledger_();
  if (!ledger.ok()) return ledger.status();
  const auto places = (*ledger)->GrantsOf(grant.head.project, result);
  if (!places.ok()) return places.status();
  wire::Grant canonical;
  bool decided = false;
  for (const view::LedgerPlace& one : *places) {
    Status s = (*ledger)->ReadGrant(one, [&](std::string_view record) {
      wire::GrantHead head;
      if (wire::DecodeGrantHead(record, &head) && head.kind == wire::GrantKind::kFinal &&
          head.project == grant.head.project && head.result == result)
        decided = wire::DecodeGrant(record, &canonical);
      return !decided;
    });
    if (!s.ok()) return s;
    if (decided) break;
  }
  // Without a grant, the host of the canonical result is deleted, or the result has trickle payments only.
  if (decided && (!canonical.claim || canonical.claim->workunit != grant.claim->workunit ||
                  !SameBits(canonical.detail.credit, grant.detail.credit)))
    Problem(place,
            "the late grant differs from the grant of canonical result " + std::to_string(result.value));
  return Status::Ok();
}

}  // namespace cobblestone::audit
