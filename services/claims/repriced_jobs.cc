// Repricing of a running job by an operator (docs/rules.md, section 49): the part of ClaimsStage that puts
// another version of the policy in force for the job.
//
// The event has, for each owner and team, the payments at the version's price. The operator's command has
// computed them from the ledger, which CLAIMS does not read. The event is accepted only if it includes exactly
// the job's payments and the operators' reversals of them, and if its total equals the version's price of the
// job's present high-water marks. So it can neither miss a trickle nor count one twice. From then on the job is
// treated as if the version had been in force at its dispatch: later trickles are paid by the version for
// progress beyond those high-water marks, and the decision settles by it.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/credit/accounts/correction.h"
#include "common/credit/accounts/reprice.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/claims/claims_stage.h"
#include "services/claims/corrected_jobs.h"
#include "services/stage/refuse.h"

namespace cobblestone::claims {

using credit::MicroCredit;
using credit::MicroTotal;
using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::Refusal;
using wire::RefusalReason;

namespace {

struct Sums {
  MicroTotal paid = 0;
  MicroTotal taken = 0;
};

std::string Digits(MicroTotal micro) { return std::to_string(static_cast<long long>(micro)); }

// Checks that the event includes all payments of the job and all reversals.
std::optional<Refusal> AgainstSums(const wire::JobRepricing& repricing, const OpenJob& job) {
  std::map<UserId, Sums> by_user;
  std::set<std::pair<UserId, TeamId>> seen;
  for (const wire::RepricedShare& share : repricing.shares) {
    const wire::LedgerEntry& entry = *share.entry;
    if (!seen.emplace(entry.user, entry.team).second)
      return Refusal{RefusalReason::kOutOfRange, "shares: two shares of the same owner and team"};
    const ReversedPartial* reversed = FindReversed(entry, job.reversed);
    if (share.taken_micro != (reversed == nullptr ? 0 : reversed->micro))
      return Refusal{RefusalReason::kAlreadyDecided,
                     "more of this job was reversed since the plan: run `cobblestone reprice` again to plan "
                     "against the current amounts"};
    Sums& sums = by_user[entry.user];
    sums.paid += share.paid_micro;
    sums.taken += share.taken_micro;
  }
  for (const credit::PaidPartial& paid : job.paid) {
    const auto sums = by_user.extract(paid.user);
    if (!sums || sums.mapped().paid != paid.micro || sums.mapped().taken != paid.reversed)
      return Refusal{RefusalReason::kAlreadyDecided,
                     "the trickle payments of the job have changed since the plan: user " +
                         std::to_string(paid.user.value) + " was paid " + std::to_string(paid.micro) +
                         " micro-credits until now. Run `cobblestone reprice` again to plan against the "
                         "current amounts"};
  }
  if (!by_user.empty())
    return Refusal{RefusalReason::kOutOfRange,
                   "the job's trickles have not paid user " + std::to_string(by_user.begin()->first.value)};
  return std::nullopt;
}

// The prices by the version, in the order of the job's varieties; or the reason why there are none.
std::optional<Refusal> PriceAgain(const stage::ProjectView& view, std::uint32_t version, const OpenJob& job,
                                  std::vector<credit::TricklePrice>* prices) {
  const credit::PolicyVersion* is = view.FindPolicy(AppId(job.app), version);
  if (is == nullptr)
    return Refusal{RefusalReason::kOutOfRange, "policy_version: unknown version of the app's policy"};
  for (const OpenTrickle& open : job.trickles) {
    const credit::TricklePrice& frozen = open.sent_price.empty() ? open.price : open.sent_price.front();
    const credit::PolicyVersion* was = view.FindPolicy(AppId(job.app), frozen.rule_version);
    if (was == nullptr)
      return Refusal{RefusalReason::kNotSupported, "the policy version at the dispatch is unknown"};
    if (auto why = credit::CannotContinue(*was, *is)) return Refusal{RefusalReason::kNotSupported, *why};
    credit::RefrozenPrice refrozen =
        credit::Refreeze(open.variety, frozen, view.catalogue.settings.max_granted_credit, *was, *is);
    if (!refrozen.problem.empty()) return Refusal{RefusalReason::kNotSupported, std::move(refrozen.problem)};
    prices->push_back(std::move(refrozen.price));
  }
  return std::nullopt;
}

std::optional<Refusal> AgainstHighWaterMarks(const wire::JobRepricing& repricing, const OpenJob& job,
                                             const std::vector<credit::TricklePrice>& prices) {
  MicroCredit worth = 0;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    bool ok = true;
    worth = std::max(
        worth, credit::RoundToMicro(
                   credit::CreditOfHighWaterMark(prices[i], job.trickles[i].high_water_mark.value), &ok));
    if (!ok) return Refusal{RefusalReason::kOutOfRange, "the worth of the trickles is out of range"};
  }
  MicroTotal total = 0;
  for (const wire::RepricedShare& share : repricing.shares) total += share.repriced_paid_micro;
  if (total == worth) return std::nullopt;
  return Refusal{RefusalReason::kOutOfRange,
                 "repriced_paid_micro: the version gives " + std::to_string(worth) +
                     " micro-credits for the marks, not " + Digits(total) +
                     ": an unpaid trickle may have arrived since the plan; run `cobblestone reprice` again "
                     "after the decision of the job"};
}

}  // namespace

void ClaimsStage::OnJobRepricing(const RecordView& record, const wire::EventHead& head,
                                 const wire::JobRepricing& repricing, Emitter& out) {
  const Key key = JobKey(head.project, repricing.result, repricing.host);
  const auto refuse = [&](RefusalReason reason, std::string detail) {
    stage::Refuse(record, head.project, reason, std::move(detail), out);
  };
  const OpenJob* running = RunningJob(key, repricing.host, record, out);
  if (running == nullptr) return;
  if (!running->earlier.empty())
    return refuse(RefusalReason::kNotSupported,
                  "the result was sent more than once, with trickle payments each time");
  const wire::EventStamp stamp = wire::StampOf(head, record.value);
  for (const wire::EventStamp& one : running->repriced) {
    if (one.id != stamp.id) continue;
    if (wire::CompareStamps(stamp, one) != wire::StampOrder::kRepeat)
      return refuse(RefusalReason::kDuplicateWithOtherContents, "another repricing of this job has this id");
    ++duplicates_;
    return;
  }
  const stage::ProjectView& view = projects_.Need({.project = key.project, .id = 0, .sub = 0});
  std::vector<credit::TricklePrice> prices;
  if (auto refusal = AgainstSums(repricing, *running)) return refuse(refusal->reason, refusal->detail);
  if (auto refusal = PriceAgain(view, repricing.policy_version, *running, &prices))
    return refuse(refusal->reason, refusal->detail);
  if (auto refusal = AgainstHighWaterMarks(repricing, *running, prices))
    return refuse(refusal->reason, refusal->detail);

  OpenJob& job = jobs_.Mutable(key);
  for (std::size_t i = 0; i < prices.size(); ++i) {
    OpenTrickle& open = job.trickles[i];
    if (open.sent_price.empty()) open.sent_price.push_back(std::move(open.price));
    open.price = std::move(prices[i]);
  }
  job.repriced.push_back(stamp);
  for (const wire::RepricedShare& share : repricing.shares) {
    if (ReversedPartial* reversed = FindReversed(*share.entry, job.reversed))
      reversed->micro = share.repriced_taken_micro;
    PayRepriced(record, head, repricing, share, job, out);
  }
}

// Pays one owner and team the difference, which may be negative.
void ClaimsStage::PayRepriced(const RecordView& record, const wire::EventHead& head,
                              const wire::JobRepricing& repricing, const wire::RepricedShare& share,
                              OpenJob& job, Emitter& out) {
  const wire::LedgerEntry& entry = *share.entry;
  const MicroCredit before = share.paid_micro - share.taken_micro;
  const MicroCredit after = share.repriced_paid_micro - share.repriced_taken_micro;
  const double recent_off = credit::PayRepriced(
      {.micro = share.repriced_paid_micro - share.paid_micro,
       .reversed = share.repriced_taken_micro - share.taken_micro},
      credit::ShareOff({.value = entry.recent, .time = entry.recent_time}, before, after, head.time),
      head.time, *FindPaid(entry.user, job.paid));
  const wire::Undone undone{.event = head.id,
                            .workunit = WorkunitId(job.workunit),
                            .app_version = AppVersionId(job.version),
                            .credit_micro = before,
                            .policy_version = repricing.policy_version,
                            .paid_micro = share.repriced_paid_micro,
                            .taken_micro = share.repriced_taken_micro,
                            .repriced = static_cast<std::uint32_t>(job.repriced.size())};
  bytes_.clear();
  wire::EncodeGrant({.project = head.project,
                     .user = entry.user,
                     .host = repricing.host,
                     .team = entry.team,
                     .app = AppId(job.app),
                     .result = repricing.result,
                     .credit_micro = after - before,
                     .time = head.time,
                     .kind = wire::GrantKind::kRepricing,
                     .flags = credit::kGrantCorrects | credit::kGrantSettles,
                     .settles_micro = before - after,
                     .recent_off = recent_off,
                     .paid_time = entry.recent_time},
                    {.line = record.line}, {}, {}, &bytes_, {.reason = repricing.reason, .undone = &undone});
  out.Emit(wire::kGrants, wire::OwnerPartition(head.project, entry.user, repricing.host, options_.partitions),
           bytes_);
}

}  // namespace cobblestone::claims
