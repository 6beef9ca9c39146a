// Grants that wait for their user's event (docs/rules.md, section 33): the part of AccountsStage that keeps them.
#include "services/accounts/waiting_grants.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "common/credit/model/constants.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/ledger/counted.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/accounts/accounts_stage.h"
#include "services/stage/inbox.h"
#include "services/stage/refuse.h"

namespace cobblestone::accounts {

using stream::Emitter;
using stream::Key;

namespace {

Key RowKey(const Key& user, std::uint32_t number) {
  return {.project = user.project, .id = user.id, .sub = number};
}

}  // namespace

void AccountsStage::OnControl(const stream::RecordView& record, Emitter& out) {
  const auto control = stage::ReadControl(record, watermarks_, out);
  if (!control) return;
  if (control->kind == wire::ControlKind::kWatermark) return PassWatermarks(out);
  if (control->kind == wire::ControlKind::kEpoch) return;  // ACCOUNTS does not use scales
  stage::ProjectView& view = projects_.Mutable({.project = control->head.project.value, .id = 0, .sub = 0});
  if (Status s = stage::ApplyControl(*control, view); !s.ok()) out.Fail(std::move(s));
}

void AccountsStage::PassWatermarks(Emitter& out) {
  while (const auto watermark = watermarks_.Begin()) {
    for (const std::uint32_t project : stage::MovedBy(*watermark, projects_)) {
      stage::MoveTime(watermark->time, projects_.Mutable({.project = project, .id = 0, .sub = 0}));
      calendar_.SetToday(project, stream::DayOf(watermark->time));
      // Lockstep: the outcome must not depend on the number of users in one partition.
      Expire(options_.lockstep ? std::numeric_limits<std::size_t>::max() : kExpireAtTick, out);
      if (releasing_.rows() > 0 || (options_.lockstep && calendar_.behind())) return;
      if (!ExpireMerges(project, watermark->time, out)) return;
    }
    if (watermark->ends_period) ApplyAllBuffered(out);
    if (watermark->ends_period && options_.lockstep) ApplyAllMerges(out);
    stream::Passed passed{.source = options_.partition, .watermark = watermark->number};
    if (options_.lockstep && watermark->barrier != 0) std::swap(passed.moved, moved_.Mutable({}).records);
    bytes_.clear();
    wire::EncodePassed(wire::PassedIn::kPosting, passed, &bytes_);
    for (std::uint32_t p = 0; p < options_.partitions; ++p) out.Emit(wire::kPostings, p, bytes_);
    watermarks_.End();
  }
}

void AccountsStage::Continue(Emitter& out) {
  std::vector<Key> users;
  releasing_.ForEach([&users](const Key& key, const Releasing&) { users.push_back(key); });
  std::sort(users.begin(), users.end());
  for (const Key& key : users) {
    if (budget_.spent()) return;
    UserState& user = users_.Mutable(key);
    Release(key, user, out);
    wire::Grant grant;
    if (releasing_.Find(key) == nullptr && FirstWaiting(key, user.unnamed, &grant) != nullptr)
      calendar_.File(key.project, DueDay(grant.head), key.id);
  }
  if (watermarks_.begun() && !budget_.spent()) PassWatermarks(out);
}

Status AccountsStage::Opened() {
  projects_.ForEach([this](const Key& key, const stage::ProjectView& view) {
    calendar_.SetToday(key.project, stream::DayOf(view.time));
  });
  watermarks_.Opened();
  buffered_count_ = 0;
  buffered_.ForEach([this](const Key&, const BufferedGrant&) { ++buffered_count_; });
  return Status::Ok();
}

// The day after which a grant waits no longer.
std::int32_t AccountsStage::DueDay(const wire::GrantHead& head) {
  const stage::ProjectView* view = projects_.Find({.project = head.project.value, .id = 0, .sub = 0});
  const credit::AppRow* app = view != nullptr ? view->catalogue.FindApp(head.app) : nullptr;
  return stream::DayOf(head.time + (app != nullptr ? app->Window() : credit::kDefaultResultWindow));
}

void AccountsStage::Wait(const Key& key, UserState& user, const wire::GrantHead& head,
                         const stream::RecordView& record) {
  if (user.unnamed.waiting() == 0) calendar_.File(key.project, DueDay(head), key.id);
  waiting_.Mutable(RowKey(key, user.unnamed.end++)) = {
      .offset = record.offset, .append_time = record.append_time, .bytes = std::string(record.value)};
}

// In lockstep the hosts' shares are applied at the barrier like other shares: a host may be in another
// partition.
void AccountsStage::Release(const Key& key, UserState& user, Emitter& out) {
  const stage::ProjectView* view = projects_.Find({.project = key.project, .id = 0, .sub = 0});
  const std::uint32_t first = user.unnamed.first;
  const Releasing* begun = releasing_.Find(key);
  bool applies = begun != nullptr && begun->applies;
  bool all = true;
  wire::Grant grant;
  while (const WaitingGrant* row = FirstWaiting(key, user.unnamed, &grant)) {
    // A grant whose window has ended counts as expired even if it was not examined yet: the time of the examination
    // depends on how commits are cut.
    const bool over = !applies && view != nullptr && DueDay(grant.head) < stream::DayOf(view->time);
    if (!over && !user.known()) break;
    applies = !over;
    all = !budget_.spent();
    if (!all) break;
    budget_.Take(row->bytes.size());
    if (over)
      ExpireGrant(key, *row, grant, user, out);
    else
      ApplyWaiting(*row, grant, user, out);
    waiting_.Erase(RowKey(key, user.unnamed.first++));
  }
  if (!all) {
    releasing_.Mutable(key).applies = applies;
    return;
  }
  releasing_.Erase(key);
  UnnamedUser& unnamed = user.unnamed;
  if (!options_.lockstep || unnamed.first == first) return;
  for (std::uint32_t number = unnamed.first; number != unnamed.end; ++number) {
    const std::uint64_t offset = waiting_.Need(RowKey(key, number)).offset;
    if (unnamed.Expired(offset)) unnamed.spared.push_back(offset);
  }
}

void AccountsStage::ApplyWaiting(const WaitingGrant& row, wire::Grant& grant, UserState& user, Emitter& out) {
  NoteComparison(grant.head, row.bytes, out);
  TakeShare(grant.head, grant.detail.line, out);
  // The reversal of a running job has waited together with the job's payments, which are posted to the user's present
  // team.
  if ((grant.head.flags & credit::kGrantCorrects) != 0) grant.head.team = user.TeamNow();
  ApplyToUser(grant.head, row.bytes, &user, out);
}

void AccountsStage::ExpireGrant(const Key& key, const WaitingGrant& row, const wire::Grant& grant,
                                UserState& user, Emitter& out) {
  UnnamedUser& unnamed = user.unnamed;
  stage::Refuse({.where = {wire::kGrants, options_.partition},
                 .offset = row.offset,
                 .append_time = row.append_time,
                 .line = grant.detail.line,
                 .value = row.bytes},
                grant.head.project, wire::RefusalReason::kUnknownUser,
                "unknown user " + std::to_string(key.id) + "; the credit is posted only to the host", out);
  unnamed.expired_micro += grant.head.credit_micro;
  unnamed.expired += wire::CountedBy(grant.head);
  unnamed.expired_provisional += wire::ProvisionalOf(grant.head);
  unnamed.expired_provisional -=
      std::min<credit::MicroTotal>(unnamed.expired_provisional, grant.head.settles_micro);
  unnamed.expired_end = std::max(unnamed.expired_end, row.offset + 1);
  TakeShare(grant.head, grant.detail.line, out);
}

// Null: no grant waits.
const WaitingGrant* AccountsStage::FirstWaiting(const Key& key, const UnnamedUser& unnamed,
                                                wire::Grant* grant) {
  if (unnamed.waiting() == 0) return nullptr;
  const Key at = RowKey(key, unnamed.first);
  const WaitingGrant& row = waiting_.Need(at);
  if (!wire::DecodeGrant(row.bytes, grant)) waiting_.Damaged(at, "the grant of the row cannot be decoded");
  return &row;
}

void AccountsStage::Expire(std::size_t users, Emitter& out) {
  const auto visit = [&](std::uint32_t project, std::uint64_t number,
                         std::int32_t today) -> std::optional<std::int32_t> {
    budget_.Take(0);
    const Key key{.project = project, .id = number, .sub = 0};
    const std::optional<std::int32_t> tombstone = stage::DropTombstone(today, key, facts_);
    const UserState* known = users_.Find(key);
    if (known == nullptr || known->unnamed.waiting() == 0) return tombstone;  // an event has named it
    UserState& user = users_.Mutable(key);
    Release(key, user, out);
    if (user.unnamed.waiting() == 0 || releasing_.Find(key) != nullptr) return tombstone;
    wire::GrantHead head;
    const Key at = RowKey(key, user.unnamed.first);
    if (!wire::DecodeGrantHead(waiting_.Need(at).bytes, &head))
      waiting_.Damaged(at, "the grant of the row cannot be decoded");
    return std::min(DueDay(head), tombstone.value_or(std::numeric_limits<std::int32_t>::max()));
  };
  for (; users > 0 && calendar_.behind() && !budget_.spent(); --users) calendar_.Take(1, visit);
}

}  // namespace cobblestone::accounts
