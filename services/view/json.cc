#include "services/view/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/credit/policies/policy.h"
#include "common/credit/policies/worth_if_valid.h"
#include "common/credit/trickles/partial_settlement.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/json/json_lines.h"

namespace cobblestone::view {

using nlohmann::json;

std::string MicroText(credit::MicroTotal micro) {
  const bool negative = micro < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(micro) : static_cast<unsigned __int128>(micro);
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
    if (digits.size() == 6) digits.push_back('.');
  } while (rest != 0 || digits.size() < 8);
  if (negative) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string_view KindName(wire::AccountKind kind) {
  if (kind == wire::AccountKind::kUser) return "user";
  return kind == wire::AccountKind::kTeam ? "team" : "host";
}

json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

json AverageJson(const credit::Average& a) { return {{"n", Number(a.n)}, {"mean", Number(a.mean)}}; }
json AverageVarJson(const credit::AverageVar& a) {
  return {{"n", Number(a.n)}, {"mean", Number(a.mean)}, {"variance", Number(a.var)}, {"q", Number(a.q)}};
}

json FlagsJson(std::uint32_t flags) {
  static constexpr std::pair<std::uint32_t, const char*> kNames[] = {
      {credit::kClaimValid, "valid"},
      {credit::kClaimInvalid, "invalid"},
      {credit::kClaimLate, "late"},
      {credit::kClaimExpired, "expired"},
      {credit::kClaimOutlier, "runtime_outlier"},
      {credit::kClaimHostDeleted, "host_deleted"},
      {credit::kClaimAnonymous, "anonymous_platform"},
      {credit::kClaimOnProbation, "on_probation"},
      {credit::kClaimPfcClamped, "clamped"},
      {credit::kClaimOneTimeCheat, "one_time_cheat"},
      {credit::kClaimSanityFailed, "sanity_check_failed"},
      {credit::kClaimHasVersionScale, "version_scale_applied"},
      {credit::kClaimHasHostScale, "host_scale_applied"},
      {credit::kClaimHostScaleCheck, "host_scale_check"},
      {credit::kClaimUnreplicated, "unreplicated"},
      {credit::kClaimNoClaim, "no_claim"},
      {credit::kClaimUncalibrated, "uncalibrated"},
      {credit::kClaimRough, "rough_average"},
      {credit::kClaimUnreliable, "unreliable"},
      {credit::kClaimOverBudget, "over_budget"},
      {credit::kClaimRising, "rising"},
  };
  json names = json::array();
  for (const auto& [flag, name] : kNames)
    if ((flags & flag) != 0) names.push_back(name);
  return names;
}

namespace {

// The average with which the policy compared the host's.
double ReferenceMean(const credit::Claim& claim) {
  if (claim.policy != credit::PolicyKind::kRobust) return claim.version_pfc_mean;
  return (claim.flags & credit::kClaimMinAvgDefined) != 0 ? claim.min_avg_pfc : 1;
}

// `robust` compares a replicated result with an average of host and version.
bool ComparesWithBoth(const credit::Claim& claim) {
  return claim.policy == credit::PolicyKind::kRobust && (claim.flags & credit::kClaimHasVersionScale) != 0;
}

}  // namespace

json ClaimJson(const credit::Claim& claim) {
  const double raw = claim.elapsed_time * claim.peak_flops;
  json j{
      {"result", claim.result.value},
      {"workunit", claim.workunit.value},
      {"host", claim.host.value},
      {"user", claim.user.value},
      {"app", claim.app.value},
      {"app_version", claim.version.value},
      {"validated_at", Number(claim.time)},
      {"validation_event", claim.validation_id},
      {"pass", claim.pass},
      {"awaited_claims", claim.awaited},
      {"policy", credit::PolicyName(claim.policy)},
      {"policy_version", claim.policy_version},
      {"epoch", claim.epoch},
      {"facts",
       {{"elapsed_time_s", Number(claim.elapsed_time)},
        {"cpu_time_s", Number(claim.cpu_time)},
        {"peak_flops", Number(claim.peak_flops)},
        {"fpops_est", Number(claim.fpops_est)},
        {"fpops_bound", Number(claim.fpops_bound)},
        {"sent_time", Number(claim.sent_time)},
        {"received_time", Number(claim.received_time)},
        {"reported", Number(claim.reported)},
        {"benchmark", Number(claim.benchmark)}}},
      {"raw_pfc", Number(raw)},
      {"sample", Number(raw / claim.fpops_est)},
      {"version_average", {{"n", Number(claim.version_pfc_n)}, {"mean", Number(claim.version_pfc_mean)}}},
      {"version_scale", Number(claim.version_scale)},
      {"min_avg_pfc", Number(claim.min_avg_pfc)},
      {"host_average_before", {{"n", Number(claim.host_pfc_n)}, {"mean", Number(claim.host_pfc_mean)}}},
      {"consecutive_valid", Number(claim.consecutive_valid)},
      {"host_scale_time", Number(claim.host_scale_time)},
      {"flags", FlagsJson(claim.flags)},
      {"mode", credit::ModeName(claim.mode)},
      {"pfc", Number(claim.pfc)},
      {"claimed", Number(claim.claimed)},
  };
  if (!claim.paid.empty()) {
    json paid = json::array();
    for (const credit::PaidPartial& one : claim.paid) {
      paid.push_back({{"user", one.user.value}, {"credit", MicroText(one.micro)}});
      if (one.reversed != 0) paid.back()["taken_back"] = MicroText(one.reversed);
    }
    j["paid_by_trickles"] = paid;
    j["trickle_settlement"] = credit::TrickleSettlementName(claim.settlement);
  }
  if ((claim.flags & credit::kClaimHasHostScale) != 0 && claim.host_pfc_mean != 0 && !ComparesWithBoth(claim))
    j["host_scale"] = Number(ReferenceMean(claim) / claim.host_pfc_mean);
  if (claim.policy == credit::PolicyKind::kRobust) {
    j["failure_rate"] = Number(claim.failure_rate);
    j["reliability"] = Number(claim.reliability);
    j["budget"] = Number(claim.budget);
  }
  return j;
}

namespace {

json BoundsJson(std::uint32_t bounds) {
  json names = json::array();
  for (std::uint32_t bound = 1; bound <= credit::kTrickleMaxCredit; bound <<= 1)
    if ((bounds & bound) != 0)
      names.push_back(credit::TrickleBoundName(static_cast<credit::TrickleBound>(bound)));
  return names;
}

// Adds the elements of the message that do not affect the payment.
void AddMessage(const wire::PartialGrant& partial, json* j) {
  if (partial.phase) (*j)["phase"] = *partial.phase;
  if (!partial.model_version.empty()) (*j)["model_version"] = partial.model_version;
  for (const wire::TrickleElement& other : partial.others)
    (*j)["others"].push_back({{"name", other.name}, {"text", other.text}});
  if (partial.others_left_out != 0)
    (*j)["others_left_out"] = {{"elements", partial.others_left_out}, {"bytes", partial.bytes_left_out}};
}

// Why a trickle paid nothing.
std::string_view OutcomeOf(const wire::PartialGrant& partial) {
  if (partial.refusal != wire::RefusalReason::kUnknown) return "refused";
  if (partial.outcome == credit::TrickleOutcome::kRepeat) return "repeat";
  const bool more = partial.asked > partial.mark_before;
  if (partial.bounds != 0 && more) return "held_back";
  if (partial.outcome == credit::TrickleOutcome::kNothingDue) return "nothing_due";
  return partial.asked < partial.mark_before ? "set_back" : "no_further";
}

}  // namespace

json UnpaidJson(const wire::Grant& grant) {
  const wire::PartialGrant& partial = *grant.partial;
  json j{{"trickle", partial.trickle},    {"time", Number(partial.sent_time)},
         {"user", grant.head.user.value}, {"host", grant.head.host.value},
         {"variety", partial.variety},    {"outcome", OutcomeOf(partial)}};
  AddMessage(partial, &j);
  if (!grant.reason.empty()) j["reason"] = grant.reason;
  if (partial.refusal != wire::RefusalReason::kUnknown) {
    j["refused"] = wire::RefusalReasonName(partial.refusal);
    return j;
  }
  j["bounded_by"] = BoundsJson(partial.bounds);
  j["mark_before"] = Number(partial.mark_before);
  j["mark_after"] = Number(partial.mark_after);
  if (partial.outcome != credit::TrickleOutcome::kRepeat) j["asked"] = Number(partial.asked);
  j["paid_before"] = MicroText(partial.paid_before);
  return j;
}

json PartialJson(const wire::Grant& grant) {
  const wire::PartialGrant& partial = *grant.partial;
  const credit::TricklePrice price = partial.price.value_or(credit::TricklePrice{});
  json j{{"trickle", partial.trickle},
         {"time", Number(partial.sent_time)},
         {"user", grant.head.user.value},
         {"host", grant.head.host.value},
         {"app", grant.head.app.value},
         {"workunit", partial.workunit.value},
         {"variety", partial.variety},
         {"rule", credit::TrickleKindName(price.kind)},
         {"policy_version", price.rule_version},
         {"measure", credit::TrickleMeasureName(price.measure)},
         {"mark_before", Number(partial.mark_before)},
         {"asked", Number(partial.asked)},
         {"mark_after", Number(partial.mark_after)},
         {"bounded_by", BoundsJson(partial.bounds)},
         {"worth_of_mark", Number(partial.credit)},
         {"paid_before", MicroText(partial.paid_before)},
         {"paid_before_micro", partial.paid_before},
         {"credit", MicroText(grant.head.credit_micro)},
         {"credit_micro", grant.head.credit_micro},
         {"sent_time", Number(price.sent_time)},
         {"epoch", price.epoch}};
  AddMessage(partial, &j);
  if (price.rate != 0) j["flops"] = Number(price.rate);
  if (price.version_scale != 0) j["version_scale"] = Number(price.version_scale);
  if (price.host_scale != 0) j["host_scale"] = Number(price.host_scale);
  if (std::isfinite(price.bound_credit)) j["bound_of_job"] = Number(price.bound_credit);
  return j;
}

json ReversalJson(const wire::Grant& grant) {
  return {{"time", Number(grant.head.time)},
          {"user", grant.head.user.value},
          {"host", grant.head.host.value},
          {"credit", MicroText(grant.head.credit_micro)},
          {"made_final", MicroText(grant.head.settles_micro)},
          {"made_up_for_by_future_credit", (grant.head.flags & credit::kGrantOwed) != 0},
          {"reason", grant.reason}};
}

json EstimatesJson(const credit::EstimateSums& sums, credit::MicroTotal open) {
  // MicroText(): microseconds have six decimals, as credit has.
  json days = json::array();
  for (const credit::EstimateDay& day : sums.days)
    days.push_back({{"day", day.day},
                    {"credit", MicroText(day.micro)},
                    {"run_time", MicroText(day.run_time)},
                    {"jobs", day.jobs},
                    {"failed_jobs", day.failed_jobs},
                    {"failed_run_time", MicroText(day.failed_run_time)}});
  return {{"credit", MicroText(sums.micro)},
          {"provisional", MicroText(open)},
          {"run_time", MicroText(sums.run_time)},
          {"jobs", sums.jobs},
          {"failed_jobs", sums.failed_jobs},
          {"failed_run_time", MicroText(sums.failed_run_time)},
          {"days", days}};
}

json InvalidJson(const wire::Grant& grant) {
  credit::Claim claim = grant.claim.value_or(credit::Claim());
  claim.flags &= ~static_cast<std::uint32_t>(credit::kClaimValid);  // the claim was priced as if valid
  json j{{"time", Number(grant.head.time)},
         {"user", grant.head.user.value},
         {"host", grant.head.host.value},
         {"max_granted_credit", Number(grant.detail.max_granted_credit)},
         {"claim", ClaimJson(claim)}};
  bool ok = true;
  const credit::MicroCredit worth = credit::RoundToMicro(grant.detail.credit, &ok);
  if (ok && credit::StatesWorth(claim)) j["worth"] = MicroText(worth);
  return j;
}

json CorrectionJson(const wire::Grant& grant) {
  const wire::Undone& undone = *grant.undone;
  const bool reinstates = (grant.head.flags & credit::kGrantReinstates) != 0;
  const bool reprices = grant.head.kind == wire::GrantKind::kRepricing;
  json j{{"kind", reinstates ? "reinstatement"
                  : reprices ? "repricing"
                             : "reversal"},
         {"event", undone.event},
         {"time", Number(grant.head.time)},
         {"user", grant.head.user.value},
         {"host", grant.head.host.value},
         {"team", grant.head.team.value},
         {"before", MicroText(undone.credit_micro)},
         {"credit", MicroText(grant.head.credit_micro)},
         {"after", MicroText(credit::MicroTotal{undone.credit_micro} + grant.head.credit_micro)},
         {"recent_average_off", Number(grant.head.recent_off)},
         {"counts_no_more", undone.counted},
         {"reason", grant.reason}};
  const bool judged_invalid = (grant.head.flags & credit::kGrantJudgedInvalid) != 0;
  if (judged_invalid) j["judged_invalid"] = true;
  if (undone.like_result) j["like_result"] = undone.like_result.value;
  if (reinstates && !judged_invalid) j["counts_again"] = (grant.head.flags & credit::kGrantRecounts) != 0;
  if (undone.policy_version != 0) j["policy_version"] = undone.policy_version;
  if (undone.repriced != 0)
    j["while_running"] = true;
  else if (undone.paid_micro != 0)
    j["up_to"] = MicroText(undone.paid_micro);
  return j;
}

void AddRecentNow(const char* name, const credit::RecentAverage& average, double now, json* j) {
  (*j)[name] = Number(credit::DecayedAverage(average, now, credit::kRecentAverageHalfLife));
  (*j)[std::string(name) + "_time"] = Number(now);
}

json AccountJson(const credit::Account& account, double now) {
  json apps = json::array();
  for (const credit::AppSum& app : account.apps)
    apps.push_back({{"app", app.app.value}, {"total", MicroText(app.micro)}, {"grants", app.grants}});
  json days = json::array();
  for (const credit::DaySum& day : account.days)
    days.push_back({{"day", day.day}, {"total", MicroText(day.micro)}, {"grants", day.grants}});
  json j{{"total", MicroText(account.total_micro)},
         {"provisional", MicroText(account.provisional_micro)},
         {"shown", MicroText(account.shown_micro())},
         {"opening", MicroText(account.opening_micro)},
         {"grants", account.grants},
         {"rac", Number(account.recent.value)},
         {"rac_time", Number(account.recent.time)},
         {"apps", apps},
         {"days", days}};
  AddRecentNow("rac_now", account.recent, now, &j);
  return j;
}

bool IsDerived(const wire::Refused& refused) {
  return refused.topic == wire::TopicName(wire::kClaims) || refused.topic == wire::TopicName(wire::kGrants);
}

json RefusedJson(std::uint64_t number, const wire::Refused& refused) {
  json j{{"number", number},
         {"reason", wire::RefusalReasonName(refused.refusal.reason)},
         {"detail", refused.refusal.detail},
         {"project", refused.project.value},
         {"topic", refused.topic},
         {"partition", refused.partition},
         {"offset", refused.offset},
         {"append_time", Number(refused.append_time)},
         {"bytes", refused.original.size()}};
  if (refused.left_out) j["left_out"] = true;
  if (!refused.source.empty()) {
    j["source"] = refused.source;
    j["line"] = refused.line + 1;
  }
  if (IsDerived(refused)) return j;
  if (auto text = wire::EnvelopeToJson(refused.original); text.ok() && refused.source.empty()) {
    j["event"] = json::parse(*text, nullptr, false);
  } else if (!refused.original.empty()) {
    std::string printable = refused.original.substr(0, 200);
    for (char& c : printable)
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
    j["original"] = printable;
  }
  return j;
}

Status MayBeResubmitted(std::uint64_t number, const wire::Refused& refused) {
  const std::string name = "refused record " + std::to_string(number);
  if (IsDerived(refused))
    return Status::InvalidArgument(name + " is a record of the topic " + refused.topic + ", not an event (" +
                                   refused.refusal.detail + "): its events are already ingested");
  if (!refused.source.empty())
    return Status::InvalidArgument(name + " is not an event (" + refused.refusal.detail +
                                   "): correct the line and ingest it again");
  if (refused.left_out)
    return Status::InvalidArgument(
        name +
        " cannot be resubmitted, because it is a member event (`refused` does not keep member "
        "texts) or an event of an unknown kind: send the event again from its source, with the "
        "same id");
  return Status::Ok();
}

}  // namespace cobblestone::view
