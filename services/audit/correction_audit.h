// The part of the audit that is about operators' corrections: each rests on what its result had brought the owner, leaves what it
// says, and a re-pricing leaves what the version that it names makes of what the ledger recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/wire/control/topics.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/corrections/correction_plan.h"
#include "services/ledger/ledger_index.h"
#include "services/stage/project_view.h"

namespace cobblestone {

// What the audit reads, and how far.
struct AuditedLedger {
  LedgerIndex& index;
  std::function<Result<std::string>(const LedgerPlace& place, wire::Topic topic)> record_at;
  std::function<Status(const std::function<void(std::string_view record)>& take)> each_grant;
  std::function<bool(const LedgerPlace& grant)> is_behind;  // the snapshot has not read it
  const std::map<std::uint32_t, wire::ProjectView>& projects;
};

class CorrectionAudit {
 public:
  using Problem = std::function<void(std::string)>;
  explicit CorrectionAudit(Problem problem) : problem_(std::move(problem)) {}

  // A record of an operator's reversal or re-pricing.
  void Take(const wire::Grant& grant, const std::string& where);
  Status Check(const AuditedLedger& ledger);
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  using OfResult = std::pair<ProjectId, ResultId>;

  struct Corrected {
    bool repriced = false;         // priced anew, or reinstated
    std::vector<ResultId> others;  // of its workunit, whose grants were given it when it was reinstated
  };

  Status CheckResult(const OfResult& which, const Corrected& corrected, const AuditedLedger& ledger);
  Status ReadLateWorkunits(const AuditedLedger& ledger);
  static Status ReadReplica(ProjectId project, ResultId result, const AuditedLedger& ledger,
                            CorrectionReader& reader);
  Status ReadReplicas(const wire::Grant& final, const AuditedLedger& ledger, CorrectionReader& reader) const;

  Problem problem_;
  std::uint64_t records_ = 0;
  std::map<OfResult, Corrected> results_;
  // Final grants of workunits of which a late result was priced anew, as bytes.
  std::map<std::pair<ProjectId, WorkunitId>, std::vector<std::string>> late_workunits_;
};

}  // namespace cobblestone
