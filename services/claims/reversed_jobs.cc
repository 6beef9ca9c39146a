// Reversal of a running job by an operator (docs/rules.md, section 47): the part of ClaimsStage that knows the job's
// payments and their reversals.
//
// The event names one owner and team, and the sum of the job's payments to them up to which everything is
// reversed. So a duplicate or late event reverses nothing twice, and payments made meanwhile stay until the next
// reversal. High-water marks stay unchanged: later trickles pay only for progress beyond them, and
// the decision counts the reversed amount as paid (common/credit/trickles/partial_settlement.h).
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "common/credit/accounts/correction.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/claims/claims_stage.h"
#include "services/claims/corrected_jobs.h"
#include "services/stage/refuse.h"

namespace cobblestone::claims {

using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;

namespace {

// For a running job. `before`: null if none of its payments was reversed yet.
std::optional<wire::Refusal> Against(const wire::JobReversal& reversal, const ReversedPartial* before,
                                     const credit::PaidPartial* paid) {
  const credit::MicroCredit taken = before == nullptr ? 0 : before->micro;
  if (reversal.paid_micro <= taken)
    return wire::Refusal{
        RefusalReason::kAlreadyDecided,
        std::to_string(taken) +
            " micro-credits of this job's trickle payments are already reversed: run `cobblestone "
            "reverse` again to plan against the current amounts"};
  if (paid == nullptr || reversal.paid_micro - taken > paid->kept())
    return wire::Refusal{RefusalReason::kOutOfRange, "paid_micro: the job's trickles have paid this user " +
                                                         std::to_string(paid == nullptr ? 0 : paid->micro) +
                                                         " micro-credits"};
  return std::nullopt;
}

}  // namespace

const OpenJob* ClaimsStage::RunningJob(const Key& key, HostId host, const RecordView& record, Emitter& out) {
  const ProjectId project(key.project);
  const OpenJob* job = jobs_.Find(key);
  if (job != nullptr && job->host == host.value && !job->ended) return job;
  const stage::ProjectView* view = projects_.Find({.project = key.project, .id = 0, .sub = 0});
  if (view != nullptr && FindSeen(project, *view, host, key.id, kSeenCompletion) != nullptr)
    stage::Refuse(record, project, RefusalReason::kAlreadyDecided,
                  "this result was decided since the plan: run the command again after the decision of "
                  "its workunit",
                  out);
  else
    stage::Refuse(record, project, RefusalReason::kUnknownResult,
                  "host " + std::to_string(host.value) +
                      " has no running job of this result with trickle payments: run the command again to "
                      "plan against the current amounts",
                  out);
  return nullptr;
}

OpenJob* ClaimsStage::AdmitReversal(const RecordView& record, const wire::EventHead& head,
                                    const wire::JobReversal& reversal, Emitter& out) {
  const Key key = JobKey(head.project, reversal.result, reversal.host);
  const auto refuse = [&](RefusalReason reason, std::string detail) -> OpenJob* {
    stage::Refuse(record, head.project, reason, std::move(detail), out);
    return nullptr;
  };
  const OpenJob* job = RunningJob(key, reversal.host, record, out);
  if (job == nullptr) return nullptr;
  const wire::EventStamp stamp = wire::StampOf(head, record.value);
  const ReversedPartial* before = FindReversed(*reversal.entry, job->reversed);
  if (before != nullptr)
    for (const wire::EventStamp& one : before->stamps) {
      if (one.id != stamp.id) continue;
      if (wire::CompareStamps(stamp, one) != wire::StampOrder::kRepeat)
        return refuse(RefusalReason::kDuplicateWithOtherContents, "another reversal of this job has this id");
      ++duplicates_;
      return nullptr;
    }
  if (reversal.repriced != job->repriced.size())
    return refuse(RefusalReason::kAlreadyDecided,
                  "the job was repriced since the plan: run the command again to plan against the "
                  "current amounts");
  if (auto refusal = Against(reversal, before, FindPaid(reversal.entry->user, job->paid)))
    return refuse(refusal->reason, std::move(refusal->detail));
  return &jobs_.Mutable(key);
}

void ClaimsStage::OnJobReversal(const RecordView& record, const wire::EventHead& head,
                                const wire::JobReversal& reversal, Emitter& out) {
  OpenJob* job = AdmitReversal(record, head, reversal, out);
  if (job == nullptr) return;
  const wire::LedgerEntry& entry = *reversal.entry;
  ReversedPartial* reversed = FindReversed(entry, job->reversed);
  if (reversed == nullptr)
    reversed = &job->reversed.emplace_back(ReversedPartial{.user = entry.user, .team = entry.team});
  const credit::MicroCredit micro = reversal.paid_micro - reversed->micro;
  reversed->micro = reversal.paid_micro;
  reversed->stamps.push_back(wire::StampOf(head, record.value));
  // Payments since the plan are not in the entry's average; amounts that another correction took since are
  // still in it.
  const double off = credit::ShareOff({.value = entry.recent, .time = entry.recent_time}, entry.credit_micro,
                                      entry.credit_micro - micro, head.time);
  const double recent_off = credit::TakeBackPaid(micro, off, head.time, *FindPaid(entry.user, job->paid));

  const wire::Undone undone{.event = head.id,
                            .workunit = WorkunitId(job->workunit),
                            .app_version = AppVersionId(job->version),
                            .credit_micro = micro,
                            .paid_micro = reversal.paid_micro};
  bytes_.clear();
  wire::EncodeGrant({.project = head.project,
                     .user = entry.user,
                     .host = reversal.host,
                     .team = entry.team,
                     .app = AppId(job->app),
                     .result = reversal.result,
                     .credit_micro = -micro,
                     .time = head.time,
                     .kind = wire::GrantKind::kReversal,
                     .flags = credit::kGrantCorrects | credit::kGrantSettles,
                     .settles_micro = micro,
                     .recent_off = recent_off,
                     .paid_time = entry.recent_time},
                    {.line = record.line}, {}, {}, &bytes_, {.reason = reversal.reason, .undone = &undone});
  out.Emit(wire::kGrants, wire::OwnerPartition(head.project, entry.user, reversal.host, options_.partitions),
           bytes_);
}

}  // namespace cobblestone::claims
