#include "services/members/members_stage.h"

#include <utility>

#include "common/federation/identity/facts.h"
#include "common/wire/control/identity_fact.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "services/stage/inbox.h"
#include "services/stage/refuse.h"

namespace cobblestone::members {

using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;
using wire::StampOrder;

namespace {

enum TableId : std::uint8_t { kWatermarkTable = kWatermarksTable.id };

// Applies the newer state of an account. `day`: the UNIX day to which a change of its credit belongs.
void Apply(const wire::EventStamp& stamp, wire::FeedAccount account, std::int64_t day, bool is_new,
           MemberRow& row) {
  if (is_new) {
    row.opening_micro = account.total_micro;
    row.counted_micro = account.total_micro;
  } else if (account.edition != row.now.edition) {
    row.before = std::move(row.now);
    row.arriving = {};
  }
  if (!account.gone && account.total_micro != row.counted_micro) {
    const credit::DaySum more{.micro = account.total_micro - row.counted_micro, .day = day};
    credit::AddDay(more, row.days);
    row.arriving.micro += more.micro;
    row.arriving.day = day;
    row.counted_micro = account.total_micro;
  }
  row.stamp = stamp;
  row.now = std::move(account);
}

}  // namespace

std::vector<stream::TopicPartition> MembersStage::Inputs(std::uint32_t partition) {
  return {{wire::kControl, partition},
          {wire::kHosts, partition},
          {wire::kUsers, partition},
          {wire::kTeams, partition}};
}

MembersStage::MembersStage(const MembersOptions& options, stream::TableHost& tables)
    : options_(options),
      hosts_{.rows = {tables, kHostsTable, false}, .days = {tables, kHostDaysTable, false}},
      users_{.rows = {tables, kUsersTable, false}, .days = {tables, kUserDaysTable, false}},
      teams_{.rows = {tables, kTeamsTable, false}, .days = {tables, kTeamDaysTable, false}},
      watermarks_(tables, kWatermarkTable, 0, 3) {}

std::vector<stream::TableBase*> MembersStage::tables() {
  return {&hosts_.rows, &hosts_.days, &users_.rows,       &users_.days,
          &teams_.rows, &teams_.days, watermarks_.table()};
}

Status MembersStage::Opened() {
  watermarks_.Opened();
  return Status::Ok();
}

void MembersStage::Process(std::size_t input, const RecordView& record, Emitter& out) {
  if (input == kControl) return OnControl(record, out);
  auto event = stage::ReadEvent(record, options_.future_limit, out);
  if (!event) return;
  if (const auto* watermark = std::get_if<wire::Watermark>(&event->body)) {
    watermarks_.OnOutside(input - kHosts, watermark->number);
    return PassWatermarks(out);
  }
  auto* account = std::get_if<wire::FeedAccount>(&event->body);
  const wire::AccountKind expected = input == kHosts   ? wire::AccountKind::kHost
                                     : input == kUsers ? wire::AccountKind::kUser
                                                       : wire::AccountKind::kTeam;
  if (account == nullptr || account->kind != expected)
    return stage::Refuse(record, event->head.project, RefusalReason::kNotSupported,
                         "a federation hub accepts no events of this kind on this topic", out);
  OnAccount(record, event->head, std::move(*account),
            input == kHosts   ? hosts_
            : input == kUsers ? users_
                              : teams_,
            out);
}

void MembersStage::OnControl(const RecordView& record, Emitter& out) {
  const auto control = stage::ReadControl(record, watermarks_, out);
  if (control && control->kind == wire::ControlKind::kWatermark) PassWatermarks(out);
}

// Of two states of an account the one with the later edition is in force, within an edition the later by (time, id).
void MembersStage::OnAccount(const RecordView& record, const wire::EventHead& head, wire::FeedAccount account,
                             Kind& kind, Emitter& out) {
  const Key key{.project = head.project.value, .id = account.account, .sub = 0};
  const wire::EventStamp stamp = wire::StampOf(head, record.value);
  const MemberRow* before = kind.rows.Find(key);
  if (before != nullptr) {
    const StampOrder order = wire::CompareStamps(stamp, before->stamp);
    if (order == StampOrder::kRepeat) return;
    if (order == StampOrder::kOtherContents)
      return stage::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                           "another event of this account has this id", out);
    if (account.edition < before->now.edition)
      return stage::Refuse(
          record, head.project, RefusalReason::kTooLate,
          "the account is already known as of edition " + std::to_string(before->now.edition), out);
    if (account.edition == before->now.edition && order == StampOrder::kOlder) return;
  }
  if (account.kind == wire::AccountKind::kUser) ReportId(head, account, before, out);
  MemberRow& row = kind.rows.Mutable(key);
  Apply(stamp, std::move(account), credit::DayOf(head.time), before == nullptr, row);
  stage::FileOlderDays(key, row.days, kind.days);
}

// A sighting of an id that the account did not have before. Accounts without a creation time or an id have no identity.
void MembersStage::ReportId(const wire::EventHead& head, const wire::FeedAccount& account,
                            const MemberRow* before, Emitter& out) {
  const auto cpid = federation::ParseCpid(account.cross_project_id);
  const std::int64_t day = credit::DayOf(head.time);
  if (account.gone || !cpid || account.create_time < 1 || day < 1) return;
  if (before != nullptr && before->now.cross_project_id == account.cross_project_id &&
      before->now.create_time == account.create_time)
    return;
  bytes_.clear();
  wire::EncodeIdentityFact({.kind = wire::IdentityFactKind::kSighting,
                            .project = head.project,
                            .user = account.account,
                            .create_time = static_cast<std::uint64_t>(account.create_time),
                            .cpid_high = cpid->high,
                            .cpid_low = cpid->low,
                            .day = static_cast<std::uint32_t>(day)},
                           &bytes_);
  out.Emit(wire::kIdentityFacts, 0, bytes_);
}

void MembersStage::PassWatermarks(Emitter& out) {
  while (const auto watermark = watermarks_.Next()) {
    bytes_.clear();
    wire::EncodeWatermarkPassed(
        {.number = watermark->number, .barrier = watermark->barrier, .partition = options_.partition},
        &bytes_);
    out.Emit(wire::kPassed, 0, bytes_);
  }
}

}  // namespace cobblestone::members
