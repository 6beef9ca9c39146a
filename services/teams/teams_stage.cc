#include "services/teams/teams_stage.h"

#include <algorithm>
#include <tuple>

#include "common/wire/control/control_codec.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/event_line.h"
#include "common/wire/events/facts.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/stage/inbox.h"
#include "services/stage/refuse.h"

namespace cobblestone::teams {

using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;

namespace {

enum TableId : std::uint8_t { kWatermarkTable = 49 };

Key TeamKey(ProjectId project, TeamId team) { return {.project = project.value, .id = team.value, .sub = 0}; }

}  // namespace

std::vector<stream::TopicPartition> TeamsStage::Inputs(std::uint32_t partition) {
  return {{wire::kControl, partition}, {wire::kTeams, partition}, {wire::kPostings, partition}};
}

TeamsStage::TeamsStage(const TeamsOptions& options, stream::TableHost& tables)
    : options_(options),
      teams_(tables, kTeamsTable, false),
      days_(tables, kDaysTable, false),
      profiles_(tables, kProfileTable, false),
      facts_(tables, kFactsTable, false),
      buffered_(tables, kBufferedTable, true),
      moved_(tables, kMovedTable, true),
      watermarks_(tables, kWatermarkTable, options.partitions, 1) {
  teams_.MarkHot();
}

std::vector<stream::TableBase*> TeamsStage::tables() {
  return {&teams_, &days_, &profiles_, &facts_, &buffered_, &moved_, watermarks_.table()};
}

TeamState TeamsStage::Whole(const Key& key, TeamState team) {
  stage::AddOlderDays(key, team.account.days, days_);
  return team;
}

Status TeamsStage::Opened() {
  watermarks_.Opened();
  buffered_count_ = 0;
  buffered_.ForEach([this](const Key&, const BufferedPosting&) { ++buffered_count_; });
  return Status::Ok();
}

void TeamsStage::Process(std::size_t input, const RecordView& record, Emitter& out) {
  switch (input) {
    case kControl: return OnControl(record, out);
    case kTeams: return OnTeam(wire::WithoutLine(record), out);
    default: return OnPosting(record, out);
  }
}

void TeamsStage::OnControl(const RecordView& record, Emitter& out) {
  const auto control = stage::ReadControl(record, watermarks_, out);
  if (!control) return;
  if (control->kind == wire::ControlKind::kWatermark) PassWatermarks(out);
}

void TeamsStage::OnPosting(const RecordView& record, Emitter& out) {
  if (wire::IsPassedPosting(record.value)) [[unlikely]]
    return OnPassed(record, out);
  wire::Posting posting;
  if (!wire::DecodePosting(record.value, &posting))
    return out.Fail(Status::Corrupted("a posting cannot be decoded"));
  if (!options_.lockstep) return Apply(posting);
  buffered_.Mutable({.project = 0, .id = buffered_count_++, .sub = 0}) = {.time = posting.time,
                                                                          .line = posting.line,
                                                                          .result = posting.result.value,
                                                                          .bytes = std::string(record.value)};
}

void TeamsStage::OnPassed(const RecordView& record, Emitter& out) {
  wire::Passed passed;
  if (!wire::DecodePassed(wire::PassedIn::kPosting, record.value, &passed))
    return out.Fail(Status::Corrupted("a watermark among the postings cannot be decoded"));
  if (Status s = watermarks_.OnSource(passed); !s.ok()) return out.Fail(std::move(s));
  if (passed.moved > 0) moved_.Mutable({}).records += passed.moved;
  PassWatermarks(out);
}

void TeamsStage::PassWatermarks(Emitter& out) {
  while (const auto watermark = watermarks_.Next()) {
    if (watermark->ends_period) ApplyAllBuffered(out);
    wire::WatermarkPassed passed{
        .number = watermark->number, .barrier = watermark->barrier, .partition = options_.partition};
    if (options_.lockstep && watermark->barrier != 0) std::swap(passed.moved, moved_.Mutable({}).records);
    bytes_.clear();
    wire::EncodeWatermarkPassed(passed, &bytes_);
    out.Emit(wire::kPassed, 0, bytes_);
  }
}

void TeamsStage::ApplyAllBuffered(Emitter& out) {
  if (buffered_count_ == 0) return;
  std::vector<std::pair<std::uint64_t, const BufferedPosting*>> all;
  buffered_.ForEach([&](const Key& key, const BufferedPosting& one) { all.emplace_back(key.id, &one); });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second->time, a.second->line, a.second->result, a.first) <
           std::tie(b.second->time, b.second->line, b.second->result, b.first);
  });
  for (const auto& [number, one] : all) {
    wire::Posting posting;
    if (!wire::DecodePosting(one->bytes, &posting))
      return out.Fail(Status::Corrupted("a posting cannot be decoded"));
    Apply(posting);
  }
  for (const auto& [number, one] : all) buffered_.Erase({.project = 0, .id = number, .sub = 0});
  buffered_count_ = 0;
}

void TeamsStage::Apply(const wire::Posting& posting) {
  const Key key = TeamKey(posting.project, posting.team);
  TeamState& team = teams_.Mutable(key);
  credit::Post({.micro = posting.credit_micro,
                .app = posting.app,
                .now = posting.time,
                .work_start = posting.work_start,
                .boinc_average = (posting.flags & credit::kGrantBoincAverage) != 0,
                .counted = !posting.uncounted || (posting.flags & credit::kGrantRecounts) != 0,
                .owed = (posting.flags & credit::kGrantOwed) != 0,
                .recent_off = posting.recent_off,
                .corrects = (posting.flags & credit::kGrantCorrects) != 0,
                .uncounts = (posting.flags & credit::kGrantUncounts) != 0,
                .begins_average = (posting.flags & credit::kGrantJudgedInvalid) != 0},
               team.account);
  stage::FileOlderDays(key, team.account.days, days_);
  List(key, team);
}

void TeamsStage::List(const Key& key, TeamState& team) {
  if (team.listed) return;
  team.listed = true;
  changed_.emplace_back(key, &team);
}

void TeamsStage::OnTeam(const RecordView& record, Emitter& out) {
  auto event = stage::ReadEvent(record, options_.future_limit, out);
  if (!event) return;
  if (const auto* watermark = std::get_if<wire::Watermark>(&event->body)) {
    watermarks_.OnOutside(0, watermark->number);
    return PassWatermarks(out);
  }
  const ProjectId project = event->head.project;
  if (const auto* member = std::get_if<wire::TeamMember>(&event->body))
    return OnMember(record, event->head, *member, out);
  if (const auto* opening = std::get_if<wire::OpeningTotal>(&event->body))
    return OnOpening(record, event->head, *opening, out);
  if (auto* facts = std::get_if<wire::AccountFacts>(&event->body)) {
    const Key key = TeamKey(project, TeamId(facts->account));
    if (!stage::TakeFacts(wire::StampOf(event->head, record.value), std::move(*facts), key, facts_))
      stage::Refuse(record, project, RefusalReason::kDuplicateWithOtherContents,
                    "other facts of this team have this id", out);
    return;
  }
  stage::Refuse(record, project, RefusalReason::kNotSupported,
                "events of this kind are not allowed on this topic", out);
}

void TeamsStage::OnMember(const RecordView& record, const wire::EventHead& head,
                          const wire::TeamMember& member, Emitter& out) {
  const Key key = TeamKey(head.project, member.team);
  const wire::EventStamp stamp = wire::StampOf(head, record.value);
  const wire::TeamProfile shown = stage::ShownOf(member);
  bool is_newest = true;
  bool names = (member.Sets() & wire::TeamMember::kName) != 0;
  if (const TeamState* before = teams_.Find(key)) {
    const wire::StampOrder standing = wire::CompareStamps(stamp, before->member);
    if (standing == wire::StampOrder::kOtherContents)
      return stage::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                           "another event of this team has this id", out);
    if (standing == wire::StampOrder::kRepeat) return;
    is_newest = standing == wire::StampOrder::kNewer;
    names = names && wire::CompareStamps(stamp, before->named) == wire::StampOrder::kNewer;
    if (!is_newest) stage::TakeProfile(stamp, member.deleted, shown, before->deleted, key, profiles_);
    if (!is_newest && !names) return;  // a newer event has set everything
  }
  if (is_newest) stage::TakeProfile(stamp, member.deleted, shown, false, key, profiles_);
  TeamState& team = teams_.Mutable(key);
  if (is_newest) {
    team.member = stamp;
    team.deleted = member.deleted;
  }
  if (names) {
    team.named = stamp;
    team.name = member.deleted ? std::string() : member.name;
  }
}

void TeamsStage::OnOpening(const RecordView& record, const wire::EventHead& head,
                           const wire::OpeningTotal& opening, Emitter& out) {
  bool ok = true;
  const credit::MicroCredit micro =
      opening.total_micro ? *opening.total_micro : credit::RoundToMicro(opening.total.value_or(0), &ok);
  if (!ok)
    return stage::Refuse(record, head.project, RefusalReason::kOutOfRange,
                         "the opening total is out of range", out);
  const Key key = TeamKey(head.project, TeamId(opening.account));
  const wire::EventStamp stamp = wire::StampOfFacts(head, record.value);
  const TeamState* before = teams_.Find(key);
  if (before != nullptr && before->opening.is_set()) {
    if (wire::IsRepeat(stamp, before->opening)) return;
    return stage::Refuse(record, head.project,
                         stamp.id == before->opening.id ? RefusalReason::kDuplicateWithOtherContents
                                                        : RefusalReason::kAlreadyDecided,
                         "this team already has an opening balance", out);
  }
  TeamState& team = teams_.Mutable(key);
  team.opening = stamp;
  stage::TakeFigures(stamp, opening, key, profiles_);
  credit::Account& account = team.account;
  account.opening_micro += micro;
  account.total_micro += micro;
  account.recent = {.value = opening.rac, .time = opening.rac_time};
  List(key, team);
  bytes_.clear();
  wire::EncodeGrant({.project = head.project,
                     .team = TeamId(opening.account),
                     .credit_micro = micro,
                     .time = opening.rac_time,
                     .kind = wire::GrantKind::kOpening,
                     .work_start = opening.rac},
                    {}, {}, {}, &bytes_);
  out.Emit(wire::kGrants, options_.partition, bytes_);
}

void TeamsStage::Finish(Emitter& out) {
  for (auto& [key, team] : changed_) {
    team->listed = false;
    bytes_.clear();
    wire::EncodeTotal(wire::TotalOf(ProjectId(key.project), wire::AccountKind::kTeam, key.id, team->account),
                      &bytes_);
    out.Emit(wire::kTotals, options_.partition, bytes_);
  }
  changed_.clear();
}

}  // namespace cobblestone::teams
