#include "services/audit/correction_audit.h"

#include <algorithm>
#include <limits>

namespace cobblestone::audit {

using corrections::CorrectionReader;
using corrections::TargetKind;

namespace {

using view::LedgerPlace;

Result<std::optional<wire::Grant>> FinalOf(ProjectId project, ResultId result, const AuditedLedger& ledger) {
  const auto places = ledger.ledger.GrantsOf(project, result);
  if (!places.ok()) return places.status();
  std::optional<wire::Grant> final;
  for (const LedgerPlace& place : *places) {
    Status s = ledger.ledger.ReadGrant(place, [&](std::string_view record) {
      wire::Grant grant;
      if (wire::DecodeGrantHead(record, &grant.head) && grant.head.kind == wire::GrantKind::kFinal &&
          grant.head.project == project && grant.head.result == result && wire::DecodeGrant(record, &grant) &&
          grant.claim)
        final = std::move(grant);
      return !final;
    });
    if (!s.ok()) return s;
    if (final) break;
  }
  return final;
}

}  // namespace

void CorrectionAudit::Take(const wire::Grant& grant, const std::string& where) {
  ++records_;
  Corrected& corrected = results_[{grant.head.project, grant.head.result}];
  corrected.repriced = corrected.repriced || grant.head.kind == wire::GrantKind::kRepricing;
  if (grant.undone->like_result) corrected.others.push_back(grant.undone->like_result);
  if (grant.reason.empty()) problem_(where + ": the correction has no reason");
}

Status CorrectionAudit::Check(const AuditedLedger& ledger) {
  if (Status s = ReadLateWorkunits(ledger); !s.ok()) return s;
  for (const auto& [which, corrected] : results_)
    if (Status s = CheckResult(which, corrected, ledger); !s.ok()) return s;
  return Status::Ok();
}

Status CorrectionAudit::CheckResult(const OfResult& which, const Corrected& corrected,
                                    const AuditedLedger& ledger) {
  const auto& [project, result] = which;
  const std::string name =
      "result " + std::to_string(result.value) + " of project " + std::to_string(project.value);
  const auto view = ledger.projects.find(project.value);
  const stage::ProjectView unknown;
  CorrectionReader reader(
      {.project = project, .target = TargetKind::kResult, .id = static_cast<std::int64_t>(result.value)},
      view == ledger.projects.end() ? &unknown : &view->second);
  auto grants = ledger.ledger.GrantsOf(project, result);
  if (!grants.ok()) return grants.status();
  // A correction after the snapshot may name a policy version that the snapshot does not include.
  std::erase_if(*grants, ledger.is_behind);
  const auto postings = ledger.ledger.PostingsOf(project, result);
  if (!postings.ok()) return postings.status();
  bool whole = true;
  // A place may hold records of other results: the reader ignores them.
  const auto read = [&](const std::vector<LedgerPlace>& places, auto read_at,
                        bool (CorrectionReader::*take)(std::string_view)) -> Status {
    for (const LedgerPlace& place : places) {
      Status s = (ledger.ledger.*read_at)(place, [&](std::string_view record) {
        whole = (reader.*take)(record) && whole;
        return true;
      });
      if (!s.ok()) return s;
    }
    return Status::Ok();
  };
  Status s = read(*grants, &view::Ledger::ReadGrant, &CorrectionReader::Select);
  if (s.ok()) s = read(*grants, &view::Ledger::ReadGrant, &CorrectionReader::TakeGrant);
  if (s.ok() && corrected.repriced) {
    auto unpaid = ledger.ledger.TricklesOf(project, result, std::numeric_limits<std::size_t>::max());
    if (!unpaid.ok()) return unpaid.status();
    std::erase_if(*unpaid, ledger.is_behind);
    s = read(*unpaid, &view::Ledger::ReadGrant, &CorrectionReader::TakeGrant);
  }
  if (s.ok()) s = read(*postings, &view::Ledger::ReadPosting, &CorrectionReader::TakePosting);
  if (s.ok() && corrected.repriced) {
    const auto final = FinalOf(project, result, ledger);
    s = final.status();
    if (s.ok() && *final) s = ReadReplicas(**final, ledger, reader);
  }
  for (const ResultId other : corrected.others) {
    if (s.ok()) s = ReadReplica(project, other, ledger, reader);
  }
  if (!s.ok()) return s;
  if (!whole) problem_("a record of corrected " + name + " cannot be decoded");
  for (const std::string& problem : reader.WrongCorrections()) problem_(name + ": " + problem);
  return Status::Ok();
}

// A late result got the amount of its workunit's other results, but its grant does not name these results.
Status CorrectionAudit::ReadLateWorkunits(const AuditedLedger& ledger) {
  for (const auto& [which, corrected] : results_) {
    if (!corrected.repriced) continue;
    const auto final = FinalOf(which.first, which.second, ledger);
    if (!final.ok()) return final.status();
    if (*final && ((*final)->head.flags & credit::kGrantLate) != 0)
      late_workunits_[{which.first, (*final)->claim->workunit}];
  }
  if (late_workunits_.empty()) return Status::Ok();
  return ledger.each_grant([&](std::string_view record) {
    wire::Grant grant;
    if (!wire::DecodeGrantHead(record, &grant.head) || grant.head.kind != wire::GrantKind::kFinal ||
        !wire::DecodeGrant(record, &grant) || !grant.claim)
      return;
    const auto workunit = late_workunits_.find({grant.head.project, grant.claim->workunit});
    if (workunit != late_workunits_.end()) workunit->second.emplace_back(record);
  });
}

// Reads the grants of the workunit's other results: the price depends on them.
Status CorrectionAudit::ReadReplicas(const wire::Grant& final, const AuditedLedger& ledger,
                                     CorrectionReader& reader) const {
  const auto late = late_workunits_.find({final.head.project, final.claim->workunit});
  if (late != late_workunits_.end()) {
    for (const std::string& record : late->second) reader.TakeReplica(record);
    return Status::Ok();
  }
  for (const wire::OtherClaim& other : final.others)
    if (Status s = ReadReplica(final.head.project, other.result, ledger, reader); !s.ok()) return s;
  return Status::Ok();
}

Status CorrectionAudit::ReadReplica(ProjectId project, ResultId result, const AuditedLedger& ledger,
                                    CorrectionReader& reader) {
  const auto places = ledger.ledger.GrantsOf(project, result);
  if (!places.ok()) return places.status();
  for (const LedgerPlace& place : *places) {
    Status s = ledger.ledger.ReadGrant(place, [&](std::string_view record) {
      reader.TakeReplica(record);
      return true;
    });
    if (!s.ok()) return s;
  }
  return Status::Ok();
}

}  // namespace cobblestone::audit
