// Reversals, repricings and reinstatements (docs/rules.md, sections 47 to 50): the part of AccountsStage that
// checks an operator's event and writes a record to the ledger. The record is applied when it is read back, like any
// grant.
#include "services/accounts/corrections.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "common/credit/accounts/correction.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/accounts/accounts_stage.h"
#include "services/stage/refuse.h"

namespace cobblestone::accounts {

using wire::RefusalReason;

namespace {

struct Correction {
  wire::LedgerEntry entry;
  ResultId result;
  credit::MicroCredit after = 0;
  std::uint32_t policy_version = 0;
  std::string_view reason;
  bool reprices = false;
  bool reinstates = false;
  std::optional<wire::JudgedInvalid> judged_invalid{};
};

Correction CorrectionOf(const wire::Event& event) {
  if (const auto* reversal = std::get_if<wire::Reversal>(&event.body))
    return {.entry = *reversal->entry, .result = reversal->result, .reason = reversal->reason};
  const auto& repricing = std::get<wire::Repricing>(event.body);
  return {.entry = *repricing.entry,
          .result = repricing.result,
          .after = repricing.credit_micro,
          .policy_version = repricing.policy_version,
          .reason = repricing.reason,
          .reprices = true,
          .reinstates = repricing.policy_version == 0,
          .judged_invalid = repricing.judged_invalid};
}

// A result that was judged invalid has at most one entry per owner, whatever the team: the event names no team.
CorrectedEntry* Find(const Correction& correction, Corrections& row) {
  const wire::LedgerEntry& entry = correction.entry;
  const auto found = std::find_if(row.entries.begin(), row.entries.end(), [&](const CorrectedEntry& one) {
    return one.user == entry.user && one.host == entry.host &&
           (correction.judged_invalid || one.team == entry.team);
  });
  return found == row.entries.end() ? nullptr : &*found;
}

// `before`: null if the entry was never corrected.
std::optional<wire::Refusal> Against(const Correction& correction, const wire::EventStamp& stamp,
                                     const CorrectedEntry* before, credit::MicroTotal change) {
  const wire::LedgerEntry& entry = correction.entry;
  if (before != nullptr)
    for (const wire::EventStamp& one : before->stamps)
      if (one.id == stamp.id)
        return wire::Refusal{RefusalReason::kDuplicateWithOtherContents,
                             "another reversal or repricing of this result has this id"};
  if (correction.judged_invalid && before != nullptr)
    return wire::Refusal{
        RefusalReason::kAlreadyDecided,
        "this result is already reinstated, or an operator has corrected it: run `cobblestone "
        "reinstate` again to plan against the current amounts"};
  const std::uint64_t last = before != nullptr ? before->stamps.back().id : 0;
  if (entry.previous != last)
    return wire::Refusal{RefusalReason::kAlreadyDecided,
                         "the plan is based on correction " + std::to_string(entry.previous) +
                             ", but the last correction is " + std::to_string(last) +
                             ": run the command again to plan against the current amounts"};
  if (correction.reinstates && !correction.judged_invalid &&
      (before == nullptr || (change == 0 && !before->uncounted)))
    return wire::Refusal{RefusalReason::kAlreadyDecided,
                         "this result was not reversed, so it cannot be reinstated"};
  if (entry.counted && before != nullptr && before->uncounted)
    return wire::Refusal{RefusalReason::kAlreadyDecided, "this result is already uncounted"};
  if (change > std::numeric_limits<credit::MicroCredit>::max() ||
      change < std::numeric_limits<credit::MicroCredit>::min())
    return wire::Refusal{RefusalReason::kOutOfRange, "credit_micro"};
  return std::nullopt;
}

}  // namespace

void AccountsStage::OnCorrection(const stream::RecordView& record, const wire::Event& event,
                                 stream::Emitter& out) {
  const Correction correction = CorrectionOf(event);
  const wire::LedgerEntry& entry = correction.entry;
  TeamId team = entry.team;
  // Grants for an unknown user wait for the user, and the team that they will be posted to is not known yet.
  if (entry.user) {
    const UserState* user =
        users_.Find({.project = event.head.project.value, .id = entry.user.value, .sub = 0});
    if (user == nullptr || !user->known())
      return stage::Refuse(record, event.head.project, RefusalReason::kUnknownUser,
                           "unknown user " + std::to_string(entry.user.value) +
                               ": run the command again after the event of this user",
                           out);
    if (correction.judged_invalid) team = user->TeamAt(correction.judged_invalid->team_time);
  }
  // Every earlier grant has created the host's row. A result that was judged invalid may be the host's first credit,
  // which creates the row like a grant.
  if (!correction.judged_invalid &&
      hosts_.Find({.project = event.head.project.value, .id = entry.host.value, .sub = 0}) == nullptr)
    return stage::Refuse(
        record, event.head.project, RefusalReason::kUnknownHost,
        "no credit was granted to host " + std::to_string(entry.host.value) + " for this user", out);
  const stream::Key key{.project = event.head.project.value, .id = correction.result.value, .sub = 0};
  const wire::EventStamp stamp = wire::StampOf(event.head, record.value);
  const credit::MicroTotal change = credit::MicroTotal{correction.after} - entry.credit_micro;
  Corrections row;
  if (const Corrections* known = corrections_.Find(key)) row = *known;
  CorrectedEntry* before = Find(correction, row);
  if (before != nullptr)
    for (const wire::EventStamp& one : before->stamps)
      if (wire::CompareStamps(stamp, one) == wire::StampOrder::kRepeat) return;
  if (auto refusal = Against(correction, stamp, before, change))
    return stage::Refuse(record, event.head.project, refusal->reason, std::move(refusal->detail), out);
  if (before == nullptr)
    before = &row.entries.emplace_back(CorrectedEntry{.user = entry.user, .host = entry.host, .team = team});
  const bool uncounts = entry.counted && !correction.reprices;
  const bool recounts = correction.reinstates && (correction.judged_invalid || before->uncounted);
  before->stamps.push_back(stamp);
  before->uncounted = (before->uncounted || uncounts) && !recounts;
  corrections_.Mutable(key) = std::move(row);

  const wire::Undone undone{
      .event = event.head.id,
      .workunit = entry.workunit,
      .app_version = entry.app_version,
      .credit_micro = entry.credit_micro,
      .policy_version = correction.policy_version,
      .counted = uncounts,
      .like_result = correction.judged_invalid ? correction.judged_invalid->like_result : ResultId()};
  const credit::RecentAverage share{.value = entry.recent, .time = entry.recent_time};
  bytes_.clear();
  wire::EncodeGrant(
      {.project = event.head.project,
       .user = entry.user,
       .host = entry.host,
       .team = team,
       .app = entry.app,
       .result = correction.result,
       .credit_micro = static_cast<credit::MicroCredit>(change),
       .time = event.head.time,
       .kind = correction.reprices ? wire::GrantKind::kRepricing : wire::GrantKind::kReversal,
       .flags = credit::kGrantCorrects | credit::kGrantSettles | (uncounts ? credit::kGrantUncounts : 0u) |
                (correction.reinstates ? credit::kGrantReinstates : 0u) |
                (recounts ? credit::kGrantRecounts : 0u) |
                (correction.judged_invalid ? credit::kGrantJudgedInvalid : 0u),
       .recent_off = correction.reinstates
                         ? credit::ShareBack(share, event.head.time)
                         : credit::ShareOff(share, entry.credit_micro, correction.after, event.head.time),
       .paid_time = entry.recent_time},
      {.line = record.line}, {}, {}, &bytes_, {.reason = correction.reason, .undone = &undone});
  out.Emit(wire::kGrants, options_.partition, bytes_);
}

}  // namespace cobblestone::accounts
