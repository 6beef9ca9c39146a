#include "services/corrections/correction_plan.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/credit/accounts/correction.h"
#include "common/credit/policies/policy.h"
#include "common/credit/policies/worth_if_valid.h"
#include "common/stream/hash128.h"
#include "common/wire/control/control_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/corrections/trickle_spans.h"
#include "services/view/json.h"

namespace cobblestone::corrections {

using nlohmann::json;

namespace {

std::string Digits(credit::MicroTotal micro) { return std::to_string(static_cast<long long>(micro)); }

bool SameBits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// The id is derived from the content of the decision, not from its time or reason: two operators who reach the
// same decision from the same ledger send the same event.
std::uint64_t EventIdOf(ProjectId project, ResultId result, const wire::LedgerEntry& entry,
                        credit::MicroCredit after, const CorrectionRequest& request,
                        credit::MicroCredit paid = 0) {
  std::string text;
  for (const std::uint64_t number :
       {std::uint64_t{project.value}, result.value, entry.host.value, entry.user.value, entry.team.value,
        entry.previous, static_cast<std::uint64_t>(entry.credit_micro), static_cast<std::uint64_t>(after),
        std::uint64_t{request.policy_version}, std::uint64_t{entry.counted ? 1u : 0u}})
    text += std::to_string(number) + ' ';
  if (request.reinstates) text += "reinstates";
  if (paid != 0) text += "runs " + std::to_string(paid);
  return std::max<std::uint64_t>(1, stream::HashBytes(text).low);
}

// As above. `repriced`: number of earlier repricings of the job, because the same price may be set twice.
std::uint64_t EventIdOf(ProjectId project, const wire::JobRepricing& repricing, std::uint32_t repriced) {
  std::string text = "runs ";
  const auto add = [&text](std::uint64_t number) { text += std::to_string(number) + ' '; };
  for (const std::uint64_t number :
       {std::uint64_t{project.value}, repricing.result.value, repricing.host.value,
        std::uint64_t{repricing.policy_version}, std::uint64_t{repriced}})
    add(number);
  for (const wire::RepricedShare& share : repricing.shares) {
    add(share.entry->user.value);
    add(share.entry->team.value);
    for (const credit::MicroCredit micro :
         {share.paid_micro, share.taken_micro, share.repriced_paid_micro, share.repriced_taken_micro})
      add(static_cast<std::uint64_t>(micro));
  }
  return std::max<std::uint64_t>(1, stream::HashBytes(text).low);
}

// True if ACCOUNTS applied a correction to the running job. ACCOUNTS does not know the results of provisional
// credit, so the part that was reversed of this job is unknown.
bool CorrectedByHand(const std::vector<ResultRecord>& records) {
  return std::any_of(records.begin(), records.end(),
                     [](const ResultRecord& one) { return one.event != 0 && !one.while_running(); });
}
std::string NeverThere(AppId app, std::uint32_t version) {
  return "uses unknown version " + std::to_string(version) + " of the policy of app " +
         std::to_string(app.value);
}

constexpr const char* kByHand =
    "the job is still running, and an operator has corrected its payments: run the command "
    "again after the decision of the job";

}  // namespace

bool CorrectionReader::TakeControl(std::string_view record) {
  wire::ControlView control;
  if (!wire::DecodeControl(record, &control)) return false;
  if (control.kind != wire::ControlKind::kEvent || control.head.project != request_.project) return true;
  return stage::ApplyControl(control, view_).ok();
}

bool CorrectionReader::IsRequested(const wire::GrantHead& head, const wire::Grant& whole) const {
  const auto id = static_cast<std::uint64_t>(request_.id);
  switch (request_.target) {
    case TargetKind::kResult: return head.result.value == id;
    case TargetKind::kHost: return head.host.value == id || Joined(head.host);
    case TargetKind::kWorkunit:
      return (whole.claim && whole.claim->workunit.value == id) ||
             (whole.partial && whole.partial->workunit.value == id);
    case TargetKind::kAppVersion:
      return (whole.claim && whole.claim->version.value == request_.id) ||
             (whole.partial && whole.partial->version.value == request_.id);
    case TargetKind::kNone: break;
  }
  return false;
}

// Only ACCOUNTS knows whether a merge has taken effect: it does once the ledger has shown the other host, or
// the host that the other host has become, as a host of the same owner.
bool CorrectionReader::TakeHost(std::string_view record) {
  wire::GrantHead head;
  if (!wire::DecodeGrantHead(record, &head)) return false;
  if (head.project != request_.project || !head.host || !head.user) return true;
  if (head.kind != wire::GrantKind::kEstimate && head.kind != wire::GrantKind::kHostLeaves &&
      head.kind != wire::GrantKind::kHostOthers && !wire::IsNote(head.kind))
    owned_.emplace(head.host, head.user);
  if (head.kind != wire::GrantKind::kHostMerged) return true;
  wire::Grant whole;
  if (!wire::DecodeGrant(record, &whole)) return false;
  merges_[head.host] = {.into = whole.into, .user = head.user};
  return true;
}

// A refused merge would close a circle, or its wait expired.
bool CorrectionReader::TakeMerge(std::string_view bytes) {
  wire::Refused refused;
  if (!wire::DecodeRefused(bytes, &refused)) return false;
  if (refused.topic != "grants") return true;
  wire::GrantHead head;
  if (wire::DecodeGrantHead(refused.original, &head) && head.kind == wire::GrantKind::kHostMerged &&
      head.project == request_.project)
    merges_.erase(head.host);
  return true;
}

// The host that `host` has become, if any. `asked`: hosts visited on the way, each once.
std::optional<HostId> CorrectionReader::MergeTargetOf(HostId host, std::set<HostId>& asked) const {
  const auto merge = merges_.find(host);
  if (merge == merges_.end() || !asked.insert(host).second) return std::nullopt;
  std::optional<HostId> target = merge->second.into;
  while (target && !owned_.contains({*target, merge->second.user})) target = MergeTargetOf(*target, asked);
  return target == host ? std::nullopt : target;
}

// The host was merged into the requested host.
bool CorrectionReader::Joined(HostId host) const {
  std::set<HostId> asked;
  for (auto target = MergeTargetOf(host, asked); target; target = MergeTargetOf(*target, asked))
    if (target->value == static_cast<std::uint64_t>(request_.id)) return true;
  return false;
}

bool CorrectionReader::Select(std::string_view record) {
  wire::Grant grant;
  if (!wire::DecodeGrantHead(record, &grant.head)) return false;
  const bool invalid = grant.head.kind == wire::GrantKind::kInvalid && ReinstatesInvalid();
  const bool award = wire::IsAward(grant.head.kind) && !request_.judged_invalid;
  if (!(award || invalid) || grant.head.project != request_.project) return true;
  const bool by_head = request_.target == TargetKind::kResult || request_.target == TargetKind::kHost;
  if (by_head && !IsRequested(grant.head, grant)) return true;
  if (!wire::DecodeGrant(record, &grant)) return false;
  if (!IsRequested(grant.head, grant)) return true;
  asked_.insert(grant.head.result.value);
  if ((request_.policy_version != 0 || invalid) && grant.claim)
    asked_workunits_.insert(grant.claim->workunit.value);
  return true;
}

bool CorrectionReader::TakeGrant(std::string_view bytes) {
  wire::GrantHead head;
  if (!wire::DecodeGrantHead(bytes, &head)) return false;
  if (head.project != request_.project) return true;
  if (head.kind == wire::GrantKind::kTrickle) return !asked_.contains(head.result.value) || TakeUnpaid(bytes);
  if (head.kind == wire::GrantKind::kInvalid) {
    if (ReinstatesInvalid()) newest_ = std::max(newest_, head.time);
    return !asked_.contains(head.result.value) || TakeInvalid(bytes);
  }
  if (!wire::IsAward(head.kind)) return true;
  newest_ = std::max(newest_, head.time);
  const bool meant = asked_.contains(head.result.value);
  if (!meant && (asked_workunits_.empty() || head.kind != wire::GrantKind::kFinal)) return true;
  wire::Grant grant;
  if (!wire::DecodeGrant(bytes, &grant)) return false;
  if (grant.claim && asked_workunits_.contains(grant.claim->workunit.value))
    replicas_[head.result.value] = grant;
  if (!meant) return true;

  LedgerResult& result = results_[head.result.value];
  ResultRecord& record = result.owners[{head.host, head.user}].emplace_back(
      ResultRecord{.kind = head.kind,
                   .team = head.team,
                   .micro = head.credit_micro,
                   .provisional = wire::ProvisionalOf(head) - head.settles_micro,
                   .time = head.time,
                   .recent_off = head.recent_off,
                   .flags = head.flags});
  result.app = head.app;
  if (grant.undone) {
    record.event = grant.undone->event;
    record.before = grant.undone->credit_micro;
    record.paid = grant.undone->paid_micro;
    record.taken = grant.undone->taken_micro;
    record.repriced = grant.undone->repriced;
    record.policy_version = grant.undone->policy_version;
    record.like_result = grant.undone->like_result;
    return true;
  }
  result.last_credit = std::max(result.last_credit, head.time);
  if (grant.partial && !TakePartial(*grant.partial, result, record)) return false;
  if (grant.claim) {
    result.workunit = grant.claim->workunit;
    result.version = grant.claim->version;
    result.final = std::move(grant);
  }
  return true;
}

bool CorrectionReader::TakeInvalid(std::string_view bytes) {
  wire::Grant grant;
  if (!wire::DecodeGrant(bytes, &grant) || !grant.claim) return false;
  LedgerResult& result = results_[grant.head.result.value];
  result.app = grant.head.app;
  result.last_credit = std::max(result.last_credit, grant.head.time);
  result.workunit = grant.claim->workunit;
  result.version = grant.claim->version;
  result.invalid[{grant.head.host, grant.head.user}] = std::move(grant);
  return true;
}

// A trickle that paid nothing may pay at another price.
bool CorrectionReader::TakeUnpaid(std::string_view bytes) {
  wire::Grant grant;
  if (!wire::DecodeGrant(bytes, &grant) || !grant.partial) return false;
  if (grant.partial->refusal != wire::RefusalReason::kUnknown) return true;
  LedgerResult& result = results_[grant.head.result.value];
  const bool late = (grant.head.flags & credit::kGrantLate) != 0;
  double& high_water_mark = result.unpaid[{grant.partial->variety, grant.partial->repriced, late}];
  high_water_mark = std::max(high_water_mark, grant.partial->mark_after);
  const auto& sent = grant.partial->sent_price ? grant.partial->sent_price : grant.partial->price;
  if (!sent) return true;
  const std::size_t variety = result.PlaceOf(grant.partial->variety, *sent);
  if (!late || !grant.partial->workunit) return true;  // CLAIMS decided this, not GRANTS
  const ResultOwner owner{grant.head.host, grant.head.user};
  const auto records = result.owners.find(owner);
  result.covered.push_back({.owner = owner,
                            .variety = variety,
                            .high_water_mark = grant.partial->mark_after,
                            .at = records == result.owners.end() ? 0 : records->second.size()});
  return true;
}

bool CorrectionReader::TakePartial(const wire::PartialGrant& partial, LedgerResult& result,
                                   ResultRecord& record) {
  result.workunit = partial.workunit;
  result.version = partial.version;
  record.mark_before = partial.mark_before;
  record.high_water_mark = partial.mark_after;
  record.paid_before = partial.paid_before;
  record.repriced = partial.repriced;
  const auto& sent = partial.sent_price ? partial.sent_price : partial.price;
  if (!sent) return false;  // a trickle that pays has a price
  record.variety = result.PlaceOf(partial.variety, *sent);
  const credit::TricklePrice& first = result.prices[0].second;
  result.resent = result.resent || sent->rule_version != first.rule_version ||
                  !SameBits(sent->sent_time, first.sent_time);
  return true;
}

bool CorrectionReader::TakeReplica(std::string_view bytes) {
  wire::Grant grant;
  if (!wire::DecodeGrantHead(bytes, &grant.head)) return false;
  if (grant.head.kind != wire::GrantKind::kFinal || grant.head.project != request_.project) return true;
  if (!wire::DecodeGrant(bytes, &grant)) return false;
  if (grant.claim) replicas_[grant.head.result.value] = std::move(grant);
  return true;
}

bool CorrectionReader::TakePosting(std::string_view bytes) {
  if (wire::IsPassedPosting(bytes)) return true;
  wire::Posting posting;
  if (!wire::DecodePosting(bytes, &posting)) return false;
  const auto result = results_.find(posting.result.value);
  if (posting.project != request_.project || result == results_.end()) return true;
  const auto found = result->second.owners.find({posting.host, posting.user});
  if (found == result->second.owners.end()) return true;
  const auto is_of = [&](const ResultRecord& one) {
    return !one.posted && one.micro == posting.credit_micro && SameBits(one.time, posting.time) &&
           (one.kind == wire::GrantKind::kFinal) != posting.uncounted;
  };
  // A correction's record contains its team, unless the correction waited for its user.
  auto& records = found->second;
  auto its = std::find_if(records.begin(), records.end(), [&](const ResultRecord& one) {
    return one.event != 0 && one.team == posting.team && is_of(one);
  });
  if (its == records.end())
    its = std::find_if(records.begin(), records.end(), [&](const ResultRecord& one) {
      return (one.event == 0 || (one.while_running() && !one.team)) && is_of(one);
    });
  if (its == records.end()) return true;
  its->posted = true;
  its->waited = its->while_running() && !its->team;
  its->team = posting.team;
  return true;
}

bool CorrectionReader::TakeRefused(std::string_view bytes) {
  wire::Refused refused;
  if (!wire::DecodeRefused(bytes, &refused)) return false;
  if (refused.refusal.reason != wire::RefusalReason::kUnknownUser || refused.topic != "grants") return true;
  wire::GrantHead head;
  if (!wire::DecodeGrantHead(refused.original, &head)) return true;
  const auto result = results_.find(head.result.value);
  if (head.project == request_.project && result != results_.end()) result->second.unnamed = true;
  return true;
}

void CorrectionReader::FindWaited() {
  for (auto& [id, result] : results_)
    for (auto& [owner, records] : result.owners)
      for (auto one = records.begin(); one != records.end(); ++one) {
        if (!one->while_running() || one->repriced == 0 || one->team || one->micro != 0) continue;
        const ResultRecord* last = nullptr;
        bool to_none = false;
        for (auto before = records.begin(); before != one; ++before)
          if (before->partial() && !before->late()) {
            last = &*before;
            to_none = to_none || !before->team;
          }
        if (last == nullptr || to_none) continue;
        one->waited = true;
        one->team = last->team;
      }
}

void CorrectionReader::Push(wire::Event event, ResultId result, const wire::LedgerEntry& entry,
                            credit::MicroCredit after, CorrectionPlan& plan) const {
  const credit::RecentAverage share{.value = entry.recent, .time = entry.recent_time};
  const double off = request_.reinstates
                         ? credit::ShareBack(share, event.head.time)
                         : credit::ShareOff(share, entry.credit_micro, after, event.head.time);
  plan.corrections.push_back(
      {.event = std::move(event), .result = result, .entry = entry, .after = after, .recent_off = off});
}

void CorrectionReader::Add(ResultId result, const wire::LedgerEntry& entry, credit::MicroCredit after,
                           CorrectionPlan& plan, std::optional<wire::JudgedInvalid> judged_invalid) {
  wire::Event event{.head = {.id = EventIdOf(request_.project, result, entry, after, request_),
                             .project = request_.project,
                             .time = TimeOfEvents()},
                    .body = {}};
  if (request_.policy_version == 0 && !request_.reinstates)
    event.body = wire::Reversal{.result = result, .reason = request_.reason, .entry = entry};
  else
    event.body = wire::Repricing{.policy_version = request_.policy_version,
                                 .result = result,
                                 .reason = request_.reason,
                                 .entry = entry,
                                 .credit_micro = after,
                                 .judged_invalid = judged_invalid};
  Push(std::move(event), result, entry, after, plan);
  plan.corrections.back().judged_invalid = judged_invalid;
}

void CorrectionReader::AddReversal(ResultId id, const LedgerResult& result, const RunningShare& share,
                                   CorrectionPlan& plan) {
  const auto paid = static_cast<credit::MicroCredit>(share.sums.paid);
  wire::Event event{.head = {.id = EventIdOf(request_.project, id, share.entry, 0, request_, paid),
                             .project = request_.project,
                             .time = TimeOfEvents()},
                    .body = wire::JobReversal{.host = share.entry.host,
                                              .result = id,
                                              .reason = request_.reason,
                                              .entry = share.entry,
                                              .paid_micro = paid,
                                              .repriced = result.Repriced()}};
  Push(std::move(event), id, share.entry, 0, plan);
}

void CorrectionReader::PlanResult(ResultId id, const LedgerResult& result, CorrectionPlan& plan) {
  const auto problem = [&](std::string why) { plan.problems.emplace_back(id, std::move(why)); };
  if (result.unnamed)
    return problem(
        "the user of the result is unknown, so only the host has the credit, and there is no "
        "user account to correct");
  if (request_.policy_version == 0) {
    for (const auto& [owner, records] : result.owners) {
      if (request_.judged_invalid) break;
      request_.reinstates ? PlanReinstatement(id, result, owner, plan)
                          : PlanReversal(id, result, owner, plan);
    }
    if (ReinstatesInvalid() && !result.invalid.empty()) PlanInvalid(id, result, plan);
    return;
  }
  if (result.Runs()) return PlanRunning(id, result, plan);
  RepricedCredit repriced = RepriceResult(result, replicas_, view(), request_.policy_version);
  if (!repriced.problem.empty()) return problem(std::move(repriced.problem));
  for (const auto& [owner, records] : result.owners) {
    const std::vector<TeamShare> shares = SharesOf(result, owner);
    if (shares.empty()) continue;
    const std::vector<credit::MicroTotal> each = Spread(shares, repriced.brought[owner]);
    bool changes = false;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const auto after = static_cast<credit::MicroCredit>(each[i] + shares[i].taken);
      if (after == shares[i].entry.credit_micro) continue;
      changes = true;
      Add(id, shares[i].entry, after, plan);
    }
    plan.unchanged += changes ? 0 : 1;
  }
}

// CLAIMS reverses the payments of a running job, because CLAIMS knows the payments and will settle them.
// ACCOUNTS reverses the credit of a decided job.
void CorrectionReader::PlanReversal(ResultId id, const LedgerResult& result, const ResultOwner& owner,
                                    CorrectionPlan& plan) {
  const std::vector<ResultRecord>& records = result.owners.at(owner);
  if (Provisional(records) == 0) {
    for (const TeamShare& share : SharesOf(result, owner)) {
      const bool something = share.entry.credit_micro != 0 || share.entry.counted;
      plan.unchanged += something ? 0 : 1;
      if (something) Add(id, share.entry, 0, plan);
    }
    return;
  }
  if (CorrectedByHand(records)) {
    plan.problems.emplace_back(id, kByHand);
    return;
  }
  for (const RunningShare& share : RunningSharesOf(result, owner)) {
    const bool something = share.sums.paid > share.sums.taken;
    plan.unchanged += something ? 0 : 1;
    if (something) AddReversal(id, result, share, plan);
  }
}

// Reinstates the sum that reversals took, regardless of other changes of the result since then.
void CorrectionReader::PlanReinstatement(ResultId id, const LedgerResult& result, const ResultOwner& owner,
                                         CorrectionPlan& plan) {
  const std::vector<ResultRecord>& records = result.owners.at(owner);
  const bool taken_while_running = std::any_of(records.begin(), records.end(), [](const ResultRecord& one) {
    return one.while_running() && one.kind == wire::GrantKind::kReversal && one.micro < 0;
  });
  if (taken_while_running) {
    plan.problems.emplace_back(
        id,
        "a part of the result was reversed while its job was running; such a reversal cannot "
        "be reinstated");
    return;
  }
  for (const TeamShare& share : SharesOf(result, owner)) {
    if (share.taken == 0 && !share.uncounted) {
      plan.unchanged += 1;
      continue;
    }
    wire::LedgerEntry entry = share.entry;
    entry.recent = share.lost.value;
    entry.recent_time = share.lost.time;
    Add(id, entry, static_cast<credit::MicroCredit>(entry.credit_micro - share.taken), plan);
  }
}

std::string CorrectionReader::CannotReinstate(const LedgerResult& result) {
  if (result.invalid.size() > 1)
    return "the result was judged invalid on " + std::to_string(result.invalid.size()) +
           " hosts, so the owner is ambiguous";
  if (result.final)
    return "the result was judged invalid on host " +
           std::to_string(result.invalid.begin()->first.host.value) + ", but has its grant on host " +
           std::to_string(result.final->head.host.value);
  if (result.Runs())
    return "the result was judged invalid, and its job is running again: run the command again "
           "after the decision of the job";
  for (const auto& [owner, records] : result.owners)
    if (std::any_of(records.begin(), records.end(), [](const ResultRecord& one) { return one.event != 0; }))
      return "an operator has corrected the trickle payments of the result, so the result cannot be "
             "reinstated";
  return {};
}

std::optional<credit::MicroCredit> CorrectionReader::NamedWorth(const wire::Grant& invalid,
                                                                std::string* problem) {
  if (credit::StatesWorth(*invalid.claim)) {
    *problem = "the price of the result is out of range";
    return std::nullopt;
  }
  if (!request_.credit) {
    unnamed_ = true;
    *problem =
        "the policy is assigned, and neither the validator nor the application set an amount: "
        "set the amount with --credit";
    return std::nullopt;
  }
  named_ = true;
  bool ok = true;
  const credit::MicroCredit micro = credit::RoundToMicro(*request_.credit, &ok);
  const double cap = invalid.detail.max_granted_credit;
  if (!ok) *problem = "the amount of --credit exceeds the range of the ledger";
  if (cap > 0 && *request_.credit > cap)
    *problem = "the amount of --credit exceeds the project's limit at that time, " +
               view::MicroText(credit::RoundToMicro(cap)) + " Cobblestones: use a smaller amount";
  return problem->empty() ? std::optional(micro) : std::nullopt;
}

// The first credit of a result that was judged invalid: its worth at the time of the validation, less the
// trickle payments.
void CorrectionReader::PlanInvalid(ResultId id, const LedgerResult& result, CorrectionPlan& plan) {
  const auto is_first = [](const ResultRecord& one) { return one.of_invalid(); };
  for (const auto& [owner, records] : result.owners)
    if (std::any_of(records.begin(), records.end(), is_first)) {
      // After the reinstatement the result counts as granted, so a reversal of it can be reinstated.
      const bool planned = !plan.corrections.empty() && plan.corrections.back().result == id;
      if (request_.judged_invalid)
        plan.unchanged += 1;
      else if (!planned)
        plan.problems.emplace_back(id, "the result was judged invalid, and is already reinstated");
      return;
    }
  std::string problem = CannotReinstate(result);
  const auto& [owner, invalid] = *result.invalid.begin();
  std::optional<InvalidWorth> worth;
  if (problem.empty()) worth = WorthOfInvalid(invalid, replicas_);
  if (problem.empty() && !worth)
    if (const auto named = NamedWorth(invalid, &problem)) worth = InvalidWorth{.micro = *named};
  if (!problem.empty()) {
    plan.problems.emplace_back(id, std::move(problem));
    return;
  }
  const credit::Claim& claim = *invalid.claim;
  const auto micro = static_cast<credit::MicroCredit>(
      std::max<credit::MicroTotal>(credit::MicroTotal{worth->micro} - PaidByTrickles(result), 0));
  credit::RecentAverage recent;
  credit::AddToShare(micro, invalid.head.time, recent);
  const wire::LedgerEntry entry{.user = owner.user,
                                .host = owner.host,
                                .workunit = claim.workunit,
                                .app = claim.app,
                                .app_version = claim.version,
                                .recent = recent.value,
                                .recent_time = recent.time};
  // As for a grant: the present team if the policy requires it, else the team at the time of the report.
  const double reported = claim.received_time > 0 ? claim.received_time : claim.time;
  const bool of_now = credit::PolicyFor(claim.policy).TeamAtGrant();
  Add(id, entry, micro, plan,
      wire::JudgedInvalid{.team_time = of_now ? TimeOfEvents() : reported,
                          .like_result = worth->like_result});
}

// CLAIMS puts the version in force for the job, because only CLAIMS knows the marks. The ledger supplies the
// amounts of each owner and team.
void CorrectionReader::PlanRunning(ResultId id, const LedgerResult& result, CorrectionPlan& plan) {
  const auto problem = [&](std::string why) { plan.problems.emplace_back(id, std::move(why)); };
  for (const auto& [owner, records] : result.owners)
    if (CorrectedByHand(records)) return problem(kByHand);
  if (!result.prices.empty() && result.VersionInForce() == request_.policy_version) {
    plan.unchanged += 1;
    return;
  }
  RepricedRunning repriced = RepriceRunning(result, view(), request_.policy_version);
  if (!repriced.problem.empty()) return problem("the job is still running: " + repriced.problem);
  wire::JobRepricing repricing{.host = repriced.shares.front().owner.host,
                               .result = id,
                               .reason = request_.reason,
                               .policy_version = request_.policy_version};
  for (const RepricedRunningShare& share : repriced.shares)
    repricing.shares.push_back({.entry = share.now.entry,
                                .paid_micro = static_cast<credit::MicroCredit>(share.now.sums.paid),
                                .taken_micro = static_cast<credit::MicroCredit>(share.now.sums.taken),
                                .repriced_paid_micro = share.paid,
                                .repriced_taken_micro = share.taken});
  const std::uint64_t event_id = EventIdOf(request_.project, repricing, result.Repriced());
  const wire::Event event{.head = {.id = event_id, .project = request_.project, .time = TimeOfEvents()},
                          .body = std::move(repricing)};
  for (const RepricedRunningShare& share : repriced.shares)
    Push(event, id, share.now.entry, share.paid - share.taken, plan);
}

// Checks the repricing at index `at` of the owner's records; empty: it is right. The plan may be older than the
// last late trickles and than corrections of other teams' shares by the same plan.
std::string CorrectionReader::WrongPrice(const LedgerResult& result, const ResultOwner& owner,
                                         std::size_t at) const {
  const ResultRecord& priced = result.owners.at(owner)[at];
  const std::string by = " by version " + std::to_string(priced.policy_version);
  if (view().FindPolicy(result.app, priced.policy_version) == nullptr)
    return NeverThere(result.app, priced.policy_version);
  LedgerResult then = result;
  for (auto& [other, records] : then.owners)
    if (other != owner)
      std::erase_if(records, [](const ResultRecord& one) { return one.event != 0 && !one.while_running(); });
  std::vector<ResultRecord>& own = then.owners[owner];
  std::erase_if(then.covered, [&](const CoveredTrickle& one) { return one.owner == owner && one.at > at; });
  const credit::MicroTotal after = credit::MicroTotal{priced.before} + priced.micro;
  std::string wrong;
  own.resize(at);
  for (;;) {
    RepricedCredit repriced = RepriceResult(then, replicas_, view(), priced.policy_version);
    const std::vector<TeamShare> shares = SharesOf(then, owner);
    const std::vector<credit::MicroTotal> each = Spread(shares, repriced.brought[owner]);
    credit::MicroTotal expected = 0;
    for (std::size_t i = 0; i < shares.size(); ++i)
      if (shares[i].entry.team == priced.team) expected = each[i] + shares[i].taken;
    if (repriced.problem.empty() && expected == after) return {};
    if (wrong.empty())
      wrong = "gives " + std::to_string(static_cast<long long>(after)) + " micro-credits" + by +
              (repriced.problem.empty()
                   ? ", but that version gives " + std::to_string(static_cast<long long>(expected))
                   : ", but that version gives no price: " + repriced.problem);
    // The last record may be newer than the operator's plan.
    const auto covered =
        std::find_if(then.covered.rbegin(), then.covered.rend(),
                     [&](const CoveredTrickle& one) { return one.owner == owner && one.at == own.size(); });
    if (covered != then.covered.rend()) {
      then.covered.erase(std::prev(covered.base()));
      continue;
    }
    if (own.empty()) return wrong;
    const ResultRecord& last = own.back();
    const bool may_be_behind = last.event != 0 ? last.team != priced.team : last.partial() && last.late();
    if (!may_be_behind) return wrong;
    own.pop_back();
  }
}

// Checks a repricing of a running job, at index `at` of the owner's records. CLAIMS applied it only if it
// covered all payments, so its basis is, for each owner, all records before the repricing with this number.
std::string CorrectionReader::WrongRunningPrice(const LedgerResult& result, const ResultOwner& owner,
                                                std::size_t at) const {
  const ResultRecord& priced = result.owners.at(owner)[at];
  const std::string by = " by version " + std::to_string(priced.policy_version);
  LedgerResult then = result;
  std::erase_if(then.unpaid, [&](const auto& one) { return std::get<1>(one.first) >= priced.repriced; });
  then.covered.clear();
  for (auto& [other, records] : then.owners) {
    const auto end = std::find_if(records.begin(), records.end(),
                                  [&](const ResultRecord& one) { return one.repriced >= priced.repriced; });
    const bool waited = end != records.end() && end->waited;
    const TeamId team = end != records.end() ? end->team : TeamId();
    records.erase(end, records.end());
    if (!waited) continue;
    // The earlier records had no team at that time either.
    for (ResultRecord& one : records) {
      one.team = team;
      one.waited = false;
    }
  }
  const RepricedRunning repriced = RepriceRunning(then, view(), priced.policy_version);
  if (!repriced.problem.empty())
    return "prices" + by + ", but that version gives no price: " + repriced.problem;
  const auto share =
      std::find_if(repriced.shares.begin(), repriced.shares.end(), [&](const RepricedRunningShare& one) {
        return one.owner == owner && one.now.entry.team == priced.team;
      });
  if (share == repriced.shares.end()) return "prices a job without payments to this owner and team";
  const PaidSums& sums = share->now.sums;
  if (sums.paid - sums.taken != priced.before)
    return "is based on " + std::to_string(priced.before) + " micro-credits, but the ledger had " +
           Digits(sums.paid - sums.taken);
  if (share->paid != priced.paid || share->taken != priced.taken ||
      priced.micro != priced.paid - priced.taken - priced.before || priced.provisional != priced.micro)
    return "gives " + std::to_string(priced.paid) + " micro-credits, minus " + std::to_string(priced.taken) +
           " reversed," + by + ", but that version gives " + std::to_string(share->paid) + " and " +
           std::to_string(share->taken);
  return {};
}

namespace {

// One team's credit for a result of one owner, accumulated record by record.
struct Net {
  credit::MicroTotal micro = 0;
  std::set<credit::MicroTotal> since;  // each value of `micro` since the last correction
  credit::MicroTotal taken = 0;        // by reversals that were not reinstated; 0 or less
  bool uncounted = false;              // by one of these reversals
  PaidSums sums;                       // of the running job
  std::set<credit::MicroTotal> paid;   // each value of sums.paid since the last repricing

  void AddPaid(const ResultRecord& record) {
    sums.Add(record);
    paid.insert(sums.paid);
  }
};

// Checks a correction of a decided job. Empty: not a reinstatement, or it reinstates exactly
// the amount that reversals took.
std::string WrongReinstatement(const ResultRecord& record, const Net& net) {
  if (!record.reinstates()) return {};
  if (record.micro != -net.taken)
    return "reinstates " + std::to_string(record.micro) + " micro-credits, but " + Digits(-net.taken) +
           " had been reversed";
  if (((record.flags & credit::kGrantRecounts) != 0) != net.uncounted)
    return net.uncounted ? "does not make the result count again"
                         : "counts a result again that is already counted";
  return {};
}

// Checks a reversal of a running job; empty: it is right.
std::string WrongWhileRunning(const ResultRecord& record, const Net& net, credit::MicroTotal provisional) {
  const credit::MicroTotal sum = net.sums.SumOf(record);
  if (!net.paid.contains(sum))
    return "reverses up to " + Digits(sum) + " micro-credits of trickle payments, but the ledger had " +
           Digits(net.sums.paid);
  const credit::MicroTotal more = net.sums.MoreBy(record);
  if (-record.micro != more || record.before != more || record.provisional != record.micro)
    return "reverses " + Digits(-record.micro) + " micro-credits, but " + Digits(sum - more) + " of " +
           Digits(sum) + " had already been reversed";
  if (-record.micro > provisional)
    return "reverses " + Digits(-record.micro) + " micro-credits, but the job had " + Digits(provisional);
  return {};
}

}  // namespace

// Checks the reinstatement of a result that was judged invalid; empty: it is right. Trickles after the decision
// may be newer than the operator's plan.
std::string CorrectionReader::WrongFirstCredit(const LedgerResult& result, const ResultOwner& owner,
                                               const ResultRecord& record) const {
  const auto invalid = result.invalid.find(owner);
  if (invalid == result.invalid.end()) return "reinstates a result that was not judged invalid";
  if (result.final) return "reinstates a result that already has a grant";
  if (!record.reinstates() || (record.flags & credit::kGrantRecounts) == 0 || record.before != 0)
    return "does not give the first credit of the result";
  credit::MicroTotal first = 0;
  credit::MicroTotal late = 0;
  for (const auto& [other, records] : result.owners)
    for (const ResultRecord& one : records) {
      first += one.of_invalid() ? 1 : 0;
      if (one.partial() && one.late()) late += one.micro;
    }
  if (first != 1) return "reinstates a result that is already reinstated";
  ReplicaGrants like;
  if (record.like_result) {
    const auto replica = replicas_.find(record.like_result.value);
    if (replica == replicas_.end() || replica->second.claim->workunit != result.workunit)
      return "gives the grant of result " + std::to_string(record.like_result.value) +
             ", which is not a granted result of the same workunit";
    like.insert(*replica);
  }
  const auto worth = WorthOfInvalid(invalid->second, like);
  const double cap = invalid->second.detail.max_granted_credit;
  if (!worth)  // the operator has named the amount
    return cap > 0 && record.micro > credit::RoundToMicro(cap)
               ? "gives " + std::to_string(record.micro) +
                     " micro-credits, more than the project's limit at that time"
               : "";
  const credit::MicroTotal least = std::max<credit::MicroTotal>(worth->micro - PaidByTrickles(result), 0);
  const credit::MicroTotal most =
      std::max<credit::MicroTotal>(worth->micro - PaidByTrickles(result) + late, 0);
  if (record.micro < least || record.micro > most)
    return "gives " + std::to_string(record.micro) + " micro-credits, but the result is worth " +
           Digits(most);
  return {};
}

std::vector<std::string> CorrectionReader::WrongCorrections() {
  FindWaited();
  std::vector<std::string> wrong;
  for (const auto& [id, result] : results_)
    for (const auto& [owner, records] : result.owners) {
      std::map<TeamId, Net> by_team;
      credit::MicroTotal provisional = 0;
      for (std::size_t at = 0; at < records.size(); ++at) {
        const ResultRecord& record = records[at];
        if (record.settles())
          for (auto& [team, net] : by_team)
            net = {.micro = net.micro,
                   .since = std::move(net.since),
                   .taken = net.taken,
                   .uncounted = net.uncounted};
        Net& net = by_team[record.team];
        net.since.insert(net.micro);
        if (record.while_running()) {
          const std::string which = "correction " + std::to_string(record.event) + " ";
          if (record.repriced != 0 && view().FindPolicy(result.app, record.policy_version) == nullptr)
            wrong.push_back(which + NeverThere(result.app, record.policy_version));
          else if (std::string why = record.repriced != 0 ? WrongRunningPrice(result, owner, at)
                                                          : WrongWhileRunning(record, net, provisional);
                   !why.empty())
            wrong.push_back(which + why);
          provisional += record.provisional;
          if (record.repriced != 0) net.paid.clear();
          net.AddPaid(record);
          net.micro += record.micro;
          net.since.clear();
          continue;
        }
        if (record.partial() && !record.late()) net.AddPaid(record);
        const std::string which = "correction " + std::to_string(record.event);
        if (record.of_invalid()) {
          if (std::string why = WrongFirstCredit(result, owner, record); !why.empty())
            wrong.push_back(which + " " + why);
          net.since.clear();
          net.micro += record.micro;
          continue;
        }
        if (record.event != 0 && !net.since.contains(record.before))
          wrong.push_back(which + " is based on " + std::to_string(record.before) +
                          " micro-credits, but the ledger had " + Digits(net.micro));
        if (record.event != 0 && record.kind == wire::GrantKind::kReversal && record.micro != -record.before)
          wrong.push_back(which + " reverses " + std::to_string(-record.micro) + " of " +
                          std::to_string(record.before) + " micro-credits");
        if (record.event != 0 && provisional != 0)
          wrong.push_back(
              which +
              " was made while the job was running, and the decision of the job settled the reversed "
              "amount again");
        if (std::string why = WrongReinstatement(record, net); !why.empty())
          wrong.push_back(which + " " + why);
        if (record.kind == wire::GrantKind::kRepricing && !record.reinstates() && provisional == 0)
          if (std::string why = WrongPrice(result, owner, at); !why.empty())
            wrong.push_back(which + " " + why);
        provisional += record.provisional;
        if (record.event != 0 && (record.kind == wire::GrantKind::kReversal || record.reinstates())) {
          net.taken += record.micro;
          net.uncounted =
              !record.reinstates() && (net.uncounted || (record.flags & credit::kGrantUncounts) != 0);
        }
        if (record.event != 0) net.since.clear();
        net.micro += record.micro;
      }
    }
  return wrong;
}

Result<CorrectionPlan> CorrectionReader::Plan() {
  FindWaited();
  CorrectionPlan plan;
  for (const auto& [host, merge] : merges_)
    if (Joined(host)) plan.joined.push_back(host);
  for (const auto& [id, result] : results_) {
    if (result.last_credit < request_.since || result.last_credit >= request_.until) continue;
    const bool by_version = request_.target == TargetKind::kAppVersion;
    if (by_version && result.version.value != request_.id) continue;
    if (request_.policy_version != 0 && view().FindPolicy(result.app, request_.policy_version) == nullptr)
      return Status::InvalidArgument("app " + std::to_string(result.app.value) + " of project " +
                                     std::to_string(request_.project.value) + " never had policy version " +
                                     std::to_string(request_.policy_version));
    ++plan.results;
    PlanResult(ResultId(id), result, plan);
  }
  if (plan.results == 0)
    return Status::NotFound(ReinstatesInvalid()
                                ? "the ledger has no matching credit and no matching result judged invalid"
                                : "the ledger has no matching credit");
  if (request_.reinstates && request_.credit && !named_)
    return Status::InvalidArgument(
        "--credit is only for results of policy assigned that were judged invalid and have no "
        "amount. No such result was selected: remove --credit");
  // A single requested result: an error. Among many results, the others are still corrected.
  if (request_.target == TargetKind::kResult && request_.reinstates && plan.corrections.empty() &&
      plan.problems.size() == 1 && (named_ || (unnamed_ && !request_.credit)))
    return Status::InvalidArgument("result " + std::to_string(plan.problems[0].first.value) + ": " +
                                   plan.problems[0].second);
  return plan;
}

json CorrectionPlanJson(const CorrectionPlan& plan) {
  json rows = json::array();
  for (const PlannedCorrection& one : plan.corrections) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (const char c : wire::EncodeEvent(one.event)) {
      hex.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
      hex.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
    }
    rows.push_back({{"result", one.result.value},
                    {"user", one.entry.user.value},
                    {"host", one.entry.host.value},
                    {"team", one.entry.team.value},
                    {"app", one.entry.app.value},
                    {"before_micro", one.entry.credit_micro},
                    {"after_micro", one.after},
                    {"before", view::MicroText(one.entry.credit_micro)},
                    {"after", view::MicroText(one.after)},
                    {"recent_average_off", view::Number(one.recent_off)},
                    {"running", one.running()},
                    {"judged_invalid", one.judged_invalid.has_value()},
                    {"like_result", one.judged_invalid ? one.judged_invalid->like_result.value : 0},
                    {"event_id", one.event.head.id},
                    {"event", hex}});
  }
  json problems = json::array();
  for (const auto& [result, why] : plan.problems)
    problems.push_back({{"result", result.value}, {"why", why}});
  json joined = json::array();
  for (const HostId host : plan.joined) joined.push_back(host.value);
  return {{"corrections", rows},
          {"hosts_joined", joined},
          {"problems", problems},
          {"results", plan.results},
          {"unchanged", plan.unchanged}};
}

}  // namespace cobblestone::corrections
