// Audit of operators' corrections. Each correction must start from the owner's credit in the ledger and make
// the stated change. A repricing must result in the price of the recorded claims under the named policy
// version.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/corrections/correction_plan.h"
#include "services/stage/project_view.h"
#include "services/view/ledger.h"

namespace cobblestone::audit {

// Access to the ledger for the audit, and the end of the snapshot.
struct AuditedLedger {
  view::Ledger& ledger;
  std::function<Status(const std::function<void(std::string_view record)>& take)> each_grant;
  std::function<bool(const view::LedgerPlace& grant)> is_behind;  // the snapshot has not read the grant
  const std::map<std::uint32_t, stage::ProjectView>& projects;
};

class CorrectionAudit {
 public:
  using Problem = std::function<void(std::string)>;
  explicit CorrectionAudit(Problem problem) : problem_(std::move(problem)) {}

  // A record of an operator's reversal, repricing or reinstatement.
  void Take(const wire::Grant& grant, const std::string& where);
  Status Check(const AuditedLedger& ledger);
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  using OfResult = std::pair<ProjectId, ResultId>;

  struct Corrected {
    bool repriced = false;         // repriced or reinstated
    std::vector<ResultId> others;  // Undone::like_result of the reinstatements
  };

  Status CheckResult(const OfResult& which, const Corrected& corrected, const AuditedLedger& ledger);
  Status ReadLateWorkunits(const AuditedLedger& ledger);
  static Status ReadReplica(ProjectId project, ResultId result, const AuditedLedger& ledger,
                            corrections::CorrectionReader& reader);
  Status ReadReplicas(const wire::Grant& final, const AuditedLedger& ledger,
                      corrections::CorrectionReader& reader) const;

  Problem problem_;
  std::uint64_t records_ = 0;
  std::map<OfResult, Corrected> results_;
  // Final grants, encoded, of each workunit with a late result that was repriced or reinstated.
  std::map<std::pair<ProjectId, WorkunitId>, std::vector<std::string>> late_workunits_;
};

}  // namespace cobblestone::audit
