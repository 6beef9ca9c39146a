#include "services/members/members_stage.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/federation/identity/deletion_hash.h"
#include "common/federation/identity/facts.h"
#include "common/wire/control/identity_fact.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "services/stage/inbox.h"
#include "services/stage/refuse.h"

namespace cobblestone::members {

using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;
using wire::StampOrder;

namespace {

constexpr std::size_t kSearched = 1000;  // absent accounts of a search

// A project that starts again gives the number of a user to somebody else, who was created at another time. Users without a
// time cannot be told apart.
bool IsSomebodyElse(const wire::FeedAccount& account, const MemberRow& row) {
  const wire::FeedAccount& last = row.now.gone && row.before ? *row.before : row.now;
  return account.kind == wire::AccountKind::kUser && !account.gone && account.create_time >= 1 &&
         last.create_time >= 1 && std::floor(account.create_time) != std::floor(last.create_time);
}

// Applies the newer state of an account. `day`: the UNIX day to which a change of its credit belongs.
void Apply(const Key& key, const wire::EventStamp& stamp, wire::FeedAccount&& account, std::int64_t day,
           bool is_new, MemberRow& row, DayRows& older) {
  if (is_new) {
    row.opening_micro = account.total_micro;
    row.counted_micro = account.total_micro;
  } else {
    // The days are not theirs, and what they have already is no day's credit.
    if (IsSomebodyElse(account, row)) {
      EraseOlderDays(key, row, older);
      row.days.clear();
      row.arriving = {};
      row.opening_micro = row.counted_micro = account.total_micro;
    }
    if (account.edition != row.now.edition) {
      row.before = std::move(row.now);
      row.arriving = {};
    }
  }
  if (!account.gone && account.total_micro != row.counted_micro) {
    const credit::DaySum more{.micro = account.total_micro - row.counted_micro, .day = day};
    AddDay(key, more, row, older);
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
      projects_(tables, kProjectsTable, true),
      absent_(tables, kAbsentTable, false),
      tombstones_(tables, kTombstonesTable, false),
      hosts_{.rows = {tables, kHostsTable, false}, .days = {tables, kHostDaysTable, false}},
      users_{.rows = {tables, kUsersTable, false}, .days = {tables, kUserDaysTable, false}},
      teams_{.rows = {tables, kTeamsTable, false}, .days = {tables, kTeamDaysTable, false}},
      watermarks_(tables, kWatermarksTable.id, 0, 3),
      budget_(options.rows_per_commit) {}

std::vector<stream::TableBase*> MembersStage::tables() {
  return {&hosts_.rows, &hosts_.days,        &users_.rows, &users_.days, &teams_.rows,
          &teams_.days, watermarks_.table(), &projects_,   &absent_,     &tombstones_};
}

Status MembersStage::Opened() {
  watermarks_.Opened();
  expiry_ = {};
  erased_.clear();
  return Status::Ok();
}

void MembersStage::Finish(Emitter& out) {
  if (watermarks_.begun() && !budget_.spent()) PassWatermarks(out);
  budget_.Renew();
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
  if (account->erased) return OnErased(event->head, *account, out);
  OnAccount(record, event->head, std::move(*account), KindOf(expected), out);
}

MembersStage::Kind& MembersStage::KindOf(wire::AccountKind kind) {
  return kind == wire::AccountKind::kHost ? hosts_ : kind == wire::AccountKind::kUser ? users_ : teams_;
}

void MembersStage::OnControl(const RecordView& record, Emitter& out) {
  const auto control = stage::ReadControl(record, watermarks_, out);
  if (!control) return;
  if (control->kind == wire::ControlKind::kWatermark) return PassWatermarks(out);
  const auto event = wire::ParseEvent(control->body);
  if (!event.ok())
    return out.Fail(Status::Corrupted("a relayed event cannot be decoded: " + event.status().message()));
  OnRelayed(*event);
}

void MembersStage::OnRelayed(const wire::Event& event) {
  ProjectRow& row = projects_.Mutable(ProjectKey(event.head.project));
  if (const auto* project = std::get_if<wire::FeedProject>(&event.body)) {
    row.erase_after = project->erase_after;
  } else if (const auto* edition = std::get_if<wire::FeedEdition>(&event.body)) {
    row.complete = edition->edition;
    if (!edition->whole) return;
    row.whole = edition->edition;
    row.whole_time = event.head.time;
  }
}

// Of two states of an account the one with the later edition is in force, within an edition the later by (time, id).
void MembersStage::OnAccount(const RecordView& record, const wire::EventHead& head,
                             wire::FeedAccount&& account, Kind& kind, Emitter& out) {
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
  } else if (account.gone || (account.kind == wire::AccountKind::kUser && IsBuried(key, head.time))) {
    return;
  }
  if (account.gone)
    absent_.Mutable(AbsentKey(key, account.kind)) = {.since = head.time, .edition = account.edition};
  if (account.kind == wire::AccountKind::kUser) ReportId(head, account, before, out);
  MemberRow& row = kind.rows.Mutable(key);
  Apply(key, stamp, std::move(account), credit::DayOf(head.time), before == nullptr, row, kind.days);
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

// ---- Erasing ------------------------------------------------------------------------------------------------

bool MembersStage::IsBuried(const Key& key, double time) {
  const ProjectRow* project = projects_.Find({.project = key.project, .id = 0, .sub = 0});
  if (project == nullptr || !project->has_tombstones) return false;
  const federation::RowKey hash = federation::DeletionKeyOf(key.project, key.id);
  const TombstoneRow* tombstone = tombstones_.Find({.project = hash.project, .id = hash.id, .sub = hash.sub});
  return tombstone != nullptr && time <= tombstone->until;
}

void MembersStage::OnErased(const wire::EventHead& head, const wire::FeedAccount& account, Emitter& out) {
  const Key key{.project = head.project.value, .id = account.account, .sub = 0};
  const MemberRow* row = KindOf(account.kind).rows.Find(key);
  if (row != nullptr && row->stamp.time > head.time) return;  // the number is in use again
  Erase(key, account.kind, head.time, out);
}

void MembersStage::Erase(const Key& key, wire::AccountKind kind, double until, Emitter& out) {
  Kind& rows = KindOf(kind);
  if (const MemberRow* row = rows.rows.Find(key)) {
    EraseOlderDays(key, *row, rows.days);
    rows.rows.Erase(key);
  }
  if (kind != wire::AccountKind::kUser) return;
  const federation::RowKey hash = federation::DeletionKeyOf(key.project, key.id);
  TombstoneRow& tombstone = tombstones_.Mutable({.project = hash.project, .id = hash.id, .sub = hash.sub});
  tombstone.until = std::max(tombstone.until, until);
  projects_.Mutable({.project = key.project, .id = 0, .sub = 0}).has_tombstones = true;
  const std::int64_t day = credit::DayOf(until);
  if (day < 1) return;
  bytes_.clear();
  wire::EncodeIdentityFact({.kind = wire::IdentityFactKind::kDeletion,
                            .project = ProjectId(key.project),
                            .user = key.id,
                            .day = static_cast<std::uint32_t>(day)},
                           &bytes_);
  out.Emit(wire::kIdentityFacts, 0, bytes_);
}

bool MembersStage::EraseDue(double now, Emitter& out) {
  std::vector<std::uint32_t> projects;
  projects_.ForEach([&](const Key& key, const ProjectRow&) { projects.push_back(key.project); });
  std::sort(projects.begin(), projects.end());
  for (const std::uint32_t project : projects) {
    if (const auto known = erased_.find(project); known != erased_.end() && known->second >= now) continue;
    if (!NoteAbsent(project) || !EraseDueOf(project, now, out)) return false;
    erased_[project] = now;
  }
  return true;
}

// An edition that was sent whole names no account that is gone: they are those of earlier editions. Accounts that are noted
// are not wanted again, so that a search that continues after a restart notes the same ones in the same commits.
bool MembersStage::NoteAbsent(std::uint32_t number) {
  const Key project_key{.project = number, .id = 0, .sub = 0};
  const ProjectRow project = projects_.Need(project_key);
  if (project.searched == project.whole) return true;
  for (const auto kind : {wire::AccountKind::kHost, wire::AccountKind::kUser, wire::AccountKind::kTeam}) {
    const auto wanted = [&](const Key& key, const MemberRow& row) {
      if (row.now.gone || !IsAbsent(row, project)) return false;
      const AbsentRow* noted = absent_.Find(AbsentKey(key, kind));
      return noted == nullptr || noted->edition <= row.now.edition;
    };
    for (;;) {
      const std::vector<Key> keys = KindOf(kind).rows.FirstKeys(project_key, kSearched, wanted);
      for (const Key& key : keys) {
        if (budget_.spent()) return false;
        absent_.Mutable(AbsentKey(key, kind)) = {.since = project.whole_time, .edition = project.whole};
        budget_.Take(sizeof(AbsentRow));
      }
      if (keys.size() < kSearched) break;
    }
  }
  projects_.Mutable(project_key).searched = project.whole;
  return true;
}

bool MembersStage::EraseDueOf(std::uint32_t number, double now, Emitter& out) {
  const ProjectRow project = projects_.Need({.project = number, .id = 0, .sub = 0});
  const double kept = project.erase_after > 0 ? project.erase_after : wire::kEraseAfter;
  const auto member_of = [&](const Key& key) {
    return KindOf(static_cast<wire::AccountKind>(key.sub))
        .rows.Find({.project = key.project, .id = key.id, .sub = 0});
  };
  expiry_.Begin(number, now);
  const auto due_at = [&](const Key& key, const AbsentRow& absent) {
    if (absent.since + kept >= now) return absent.since + kept;
    // While an edition arrives, what it says of the account does not count yet.
    const MemberRow* row = member_of(key);
    return row != nullptr && row->now.edition > project.complete ? now : absent.since + kept;
  };
  const bool all = expiry_.Rows(0, absent_, budget_, due_at, [&](const Key& key, const AbsentRow& absent) {
    const MemberRow* row = member_of(key);
    const std::uint64_t bytes = sizeof(AbsentRow) + (row == nullptr ? 0 : sizeof(MemberRow));
    // The account may have come back.
    if (row != nullptr && IsAbsent(*row, project))
      Erase({.project = key.project, .id = key.id, .sub = 0}, static_cast<wire::AccountKind>(key.sub),
            absent.since, out);
    return bytes;
  });
  if (all) (void)expiry_.End();
  return all;
}

void MembersStage::PassWatermarks(Emitter& out) {
  while (const auto watermark = watermarks_.Begin()) {
    if (watermark->time > 0 && !EraseDue(watermark->time, out)) return;
    bytes_.clear();
    wire::EncodeWatermarkPassed(
        {.number = watermark->number, .barrier = watermark->barrier, .partition = options_.partition},
        &bytes_);
    out.Emit(wire::kPassed, 0, bytes_);
    watermarks_.End();
  }
}

}  // namespace cobblestone::members
