// Audit of each ledger record by itself: the amount must follow from the recorded inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "common/base/status.h"
#include "common/credit/policies/policy.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/audit/audit_problems.h"
#include "services/stage/project_view.h"
#include "services/view/ledger.h"

namespace cobblestone::audit {

// Place of a ledger record, for messages.
struct AuditedPlace {
  std::uint32_t partition = 0;
  std::uint64_t offset = 0;
  ResultId result;  // 0: not named

  [[nodiscard]] std::string Text() const;
};

struct GrantCounts {
  std::uint64_t finals = 0;
  std::uint64_t partials = 0;
  std::uint64_t unpaid = 0;
  std::uint64_t invalid = 0;
  std::uint64_t reversals = 0;
  std::uint64_t settlements = 0;  // computed again
  std::uint64_t late = 0;
};

class GrantAudit {
 public:
  // A version of an app's policy; null: there never was one.
  using FindPolicy = std::function<Result<const credit::PolicyVersion*>(ProjectId project, AppId app,
                                                                        std::uint32_t version)>;

  // All arguments must outlive the audit. `ledger`: called when a record is compared with another.
  GrantAudit(FindPolicy find_policy, std::function<Result<view::Ledger*>()> ledger, AuditProblems& problems)
      : find_policy_(std::move(find_policy)), ledger_(std::move(ledger)), problems_(problems) {}

  // An award, or a note of a trickle that paid nothing or of a result that was judged invalid. A correction of
  // an operator is checked elsewhere (CorrectionAudit). A status other than ok: the ledger cannot be read.
  Status Take(const wire::Grant& grant, const AuditedPlace& place);

  [[nodiscard]] const GrantCounts& counts() const { return counts_; }

 private:
  Status CheckPartial(const wire::Grant& grant, const AuditedPlace& place);
  void CheckUnpaid(const wire::Grant& grant, const AuditedPlace& place);
  Status CheckInvalid(const wire::Grant& grant, const AuditedPlace& place);
  void CheckReversal(const wire::Grant& grant, const AuditedPlace& place);
  Status CheckFinal(const wire::Grant& grant, const AuditedPlace& place);
  Status CheckLate(const wire::Grant& grant, const AuditedPlace& place);
  void CheckSettlement(const wire::Grant& grant, const credit::Constants& constants,
                       const AuditedPlace& place);
  // Prices the claim again. Returns the policy version that the claim names; null, and a problem, if there
  // never was such a version.
  Result<const credit::PolicyVersion*> CheckClaim(const credit::Claim& claim, ProjectId project,
                                                  const AuditedPlace& place);
  void Problem(const AuditedPlace& place, const std::string& text) {
    problems_.Add(place.Text() + ": " + text);
  }

  const FindPolicy find_policy_;
  const std::function<Result<view::Ledger*>()> ledger_;
  AuditProblems& problems_;
  GrantCounts counts_;
};

}  // namespace cobblestone::audit
