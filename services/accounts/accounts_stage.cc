#include "services/accounts/accounts_stage.h"

#include <algorithm>
#include <tuple>

#include "common/credit/accounts/unite_accounts.h"
#include "common/credit/model/constants.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/event_line.h"
#include "common/wire/events/facts.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/counted.h"
#include "services/stage/inbox.h"
#include "services/stage/refuse.h"

namespace cobblestone::accounts {

using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;

namespace {

// Tables of the calendar and of watermarks.
enum TableId : std::uint8_t { kDaysTable = 37, kChunksTable = 38, kWatermarkTable = 39 };

Key UserKey(ProjectId project, UserId user) { return {.project = project.value, .id = user.value, .sub = 0}; }
Key HostKey(ProjectId project, HostId host) { return {.project = project.value, .id = host.value, .sub = 0}; }

credit::PostingFacts PostingOf(const wire::GrantHead& head) {
  return {.micro = head.credit_micro,
          .app = head.app,
          .now = head.time,
          .work_start = head.work_start,
          .boinc_average = (head.flags & credit::kGrantBoincAverage) != 0,
          .counted = head.kind == wire::GrantKind::kFinal || (head.flags & credit::kGrantRecounts) != 0,
          .provisional = wire::ProvisionalOf(head) - head.settles_micro,
          .owed = (head.flags & credit::kGrantOwed) != 0,
          .recent_off = head.recent_off,
          .corrects = (head.flags & credit::kGrantCorrects) != 0,
          .uncounts = (head.flags & credit::kGrantUncounts) != 0,
          .begins_average = (head.flags & credit::kGrantJudgedInvalid) != 0};
}

}  // namespace

TeamId UserState::TeamAt(double time) const {
  if (stamps.empty()) return {};
  const auto later = std::find_if(stamps.begin() + 1, stamps.end(),
                                  [time](const MemberStamp& one) { return one.stamp.time > time; });
  return TeamBefore(static_cast<std::size_t>(later - stamps.begin()));
}

TeamId UserState::TeamBefore(std::size_t stamp) const {
  while (stamp-- > 0)
    if (stamps[stamp].sets_team) return stamps[stamp].team;
  return {};
}

bool UserState::Settled() const {
  const TeamId now = TeamNow();
  if (!stamps.empty() && !stamps.front().sets_team && now) return false;
  return std::all_of(stamps.begin(), stamps.end(),
                     [now](const MemberStamp& one) { return !one.sets_team || one.team == now; });
}

std::vector<stream::TopicPartition> AccountsStage::Inputs(std::uint32_t partition) {
  return {{wire::kControl, partition}, {wire::kUsers, partition}, {wire::kGrants, partition}};
}

AccountsStage::AccountsStage(const AccountsOptions& options, stream::TableHost& tables)
    : options_(options),
      users_(tables, kUsersTable, false),
      hosts_(tables, kHostsTable, false),
      user_days_(tables, kUserDaysTable, false),
      host_days_(tables, kHostDaysTable, false),
      moves_(tables, kMovesTable, false),
      merges_(tables, kMergesTable, false),
      joined_(tables, kJoinedTable, false),
      waiting_(tables, kWaitingTable, false),
      releasing_(tables, kReleasingTable, true),
      profiles_(tables, kProfileTable, false),
      facts_(tables, kFactsTable, false),
      host_estimates_(tables, kHostEstimatesTable, false),
      user_estimates_(tables, kUserEstimatesTable, false),
      host_estimate_days_(tables, kHostEstimateDaysTable, false),
      user_estimate_days_(tables, kUserEstimateDaysTable, false),
      project_estimates_(tables, kProjectEstimatesTable, true),
      project_estimate_days_(tables, kProjectEstimateDaysTable, false),
      projects_(tables, kProjectsTable, true),
      buffered_(tables, kBufferedTable, true),
      moved_(tables, kMovedTable, true),
      corrections_(tables, kCorrectionsTable, false),
      corrected_days_(tables, kCorrectedDaysTable, false),
      calendar_(tables, kDaysTable, kChunksTable),
      watermarks_(tables, kWatermarkTable, options.partitions, 1),
      budget_(options.rows_per_commit) {
  users_.MarkHot();
  hosts_.MarkHot();
  waiting_.MarkWaiting("grants");
  merges_.MarkWaiting("merges");
}

std::vector<stream::TableBase*> AccountsStage::tables() {
  std::vector<stream::TableBase*> all = {&users_,
                                         &hosts_,
                                         &user_days_,
                                         &host_days_,
                                         &moves_,
                                         &merges_,
                                         &joined_,
                                         &waiting_,
                                         &releasing_,
                                         &profiles_,
                                         &facts_,
                                         &buffered_,
                                         &host_estimates_,
                                         &user_estimates_,
                                         &host_estimate_days_,
                                         &user_estimate_days_,
                                         &projects_,
                                         &moved_,
                                         &corrections_,
                                         &corrected_days_,
                                         watermarks_.table(),
                                         &project_estimates_,
                                         &project_estimate_days_};
  for (stream::TableBase* table : calendar_.tables()) all.push_back(table);
  return all;
}

UserState AccountsStage::Whole(const Key& key, UserState user) {
  stage::AddOlderDays(key, user.account.days, user_days_);
  return user;
}

HostAccount AccountsStage::Whole(const Key& key, HostAccount host) {
  stage::AddOlderDays(key, host.account.days, host_days_);
  return host;
}

void AccountsStage::Process(std::size_t input, const RecordView& record, Emitter& out) {
  if (input == kControl) return OnControl(record, out);
  if (input == kUsers) return OnUser(wire::WithoutLine(record), out);
  if (!options_.lockstep) return OnGrant(record, out);
  wire::Grant grant;
  if (!wire::DecodeGrant(record.value, &grant))
    return out.Fail(Status::Corrupted("a grant cannot be decoded"));
  if (wire::IsNote(grant.head.kind)) return;
  if (grant.head.kind == wire::GrantKind::kWatermark) return OnPassed(record.value, out);
  // Hosts move at once, so that at the barrier each account is in the partition where grants are applied to it.
  if (wire::IsHostMove(grant.head.kind)) return OnHostMove(grant.head, record.value, out);
  if (grant.head.kind == wire::GrantKind::kHostMerged) return OnHostMerged(record, out);
  Buffer({.time = grant.head.time,
          .line = grant.detail.line,
          .result = grant.head.result.value,
          .offset = record.offset,
          .append_time = record.append_time,
          .project = grant.head.project.value,
          .host = grant.head.host.value,
          .to_host = grant.head.kind != wire::GrantKind::kEstimate,  // an estimate stays with its owner
          .bytes = std::string(record.value)});
  SettlePlace(buffered_count_ - 1, out);
}

void AccountsStage::OnPassed(std::string_view bytes, Emitter& out) {
  wire::Passed passed;
  if (!wire::DecodePassed(wire::PassedIn::kGrant, bytes, &passed))
    return out.Fail(Status::Corrupted("a watermark in the ledger cannot be decoded"));
  if (Status s = watermarks_.OnSource(passed); !s.ok()) return out.Fail(std::move(s));
  if (passed.moved > 0) moved_.Mutable({}).records += passed.moved;
  PassWatermarks(out);
}

void AccountsStage::ApplyAllBuffered(Emitter& out) {
  if (buffered_count_ == 0) return;
  std::vector<std::pair<std::uint64_t, const BufferedGrant*>> all;
  buffered_.ForEach([&](const Key& key, const BufferedGrant& one) { all.emplace_back(key.id, &one); });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second->time, a.second->line, a.second->result, a.first) <
           std::tie(b.second->time, b.second->line, b.second->result, b.first);
  });
  for (const auto& [number, one] : all) ApplyBuffered(*one, out);
  for (const auto& [number, one] : all) buffered_.Erase({.project = 0, .id = number, .sub = 0});
  buffered_count_ = 0;
}

void AccountsStage::ApplyBuffered(const BufferedGrant& one, Emitter& out) {
  if (one.to_user && one.to_host)
    return OnGrant({.where = {wire::kGrants, options_.partition},
                    .offset = one.offset,
                    .append_time = one.append_time,
                    .line = one.line,
                    .value = one.bytes},
                   out);
  wire::GrantHead head;
  if (!wire::DecodeGrantHead(one.bytes, &head))
    return out.Fail(Status::Corrupted("a grant cannot be decoded"));
  if (one.to_host) {
    NoteComparison(head, one.bytes, out);
    return ApplyToHost(head, out);
  }
  if (head.kind == wire::GrantKind::kEstimate) return OnEstimate(one.bytes, out);
  if (!one.to_user || head.kind == wire::GrantKind::kOpening) return;
  ApplyToUser(head, one.bytes, head.user ? &users_.Mutable(UserKey(head.project, head.user)) : nullptr, out);
}

void AccountsStage::OnUser(const RecordView& record, Emitter& out) {
  auto event = stage::ReadEvent(record, options_.future_limit, out);
  if (!event) return;
  if (const auto* watermark = std::get_if<wire::Watermark>(&event->body)) {
    watermarks_.OnOutside(0, watermark->number);
    return PassWatermarks(out);
  }
  const ProjectId project = event->head.project;
  if (const auto* member = std::get_if<wire::UserMember>(&event->body))
    return OnMember(record, event->head, *member, out);
  if (const auto* opening = std::get_if<wire::OpeningTotal>(&event->body))
    return OnOpening(record, event->head, *opening, out);
  if (auto* facts = std::get_if<wire::AccountFacts>(&event->body))
    return OnFacts(record, event->head, std::move(*facts), out);
  if (std::holds_alternative<wire::Reversal>(event->body) ||
      std::holds_alternative<wire::Repricing>(event->body))
    return OnCorrection(record, *event, out);
  stage::Refuse(record, project, RefusalReason::kNotSupported,
                "events of this kind are not allowed on this topic", out);
}

// A member event older than the newest event is not in force, but still sets the user's team between its own time
// and the time of the next event.
void AccountsStage::OnMember(const RecordView& record, const wire::EventHead& head,
                             const wire::UserMember& member, Emitter& out) {
  const Key key = UserKey(head.project, member.user);
  const MemberStamp stamp{.stamp = wire::StampOf(head, record.value),
                          .team = member.deleted ? TeamId{} : member.team,
                          .sets_team = (member.Sets() & wire::UserMember::kTeam) != 0};
  const wire::UserProfile shown = stage::ShownOf(member);
  bool names = (member.Sets() & wire::UserMember::kName) != 0;
  bool is_over = false;  // no later grant can need the team at that time
  const double reported_since = ReportedSince(head.project);
  std::string public_id;
  if (member.deleted)
    if (const UserProfileRow* row = profiles_.Find(key); row != nullptr && row->profile)
      public_id = row->profile->cpid;
  if (const UserState* before = users_.Find(key); before != nullptr && before->known()) {
    for (const MemberStamp& one : before->stamps) {
      if (one.stamp.id != stamp.stamp.id) continue;
      if (wire::CompareStamps(stamp.stamp, one.stamp) == wire::StampOrder::kRepeat) return;
      return stage::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                           "another event of this user has this id", out);
    }
    const bool older =
        wire::CompareStamps(stamp.stamp, before->stamps.back().stamp) == wire::StampOrder::kOlder;
    stage::TakeProfile(stamp.stamp, member.deleted, shown, older && before->deleted, key, profiles_);
    names = names && wire::CompareStamps(stamp.stamp, before->named) == wire::StampOrder::kNewer;
    is_over = older && stamp.stamp.time < reported_since;
    if (is_over && !names) return;
  } else {
    stage::TakeProfile(stamp.stamp, member.deleted, shown, false, key, profiles_);
  }
  UserState& user = users_.Mutable(key);
  if (names) {
    user.named = stamp.stamp;
    user.name = member.deleted ? std::string() : member.name;
  }
  if (is_over) return;
  Insert(stamp, reported_since, user);
  if (user.stamps.back().stamp.id == stamp.stamp.id) {
    const bool goes_or_comes = member.deleted || user.deleted;
    user.deleted = member.deleted;
    if (goes_or_comes && stage::TakeDeletion(stamp.stamp, member.deleted, std::move(public_id), key, facts_))
      calendar_.File(head.project.value, stage::DayAfter(*facts_.Need(key).tombstone), key.id);
  }
  Release(key, user, out);
}

void AccountsStage::OnFacts(const RecordView& record, const wire::EventHead& head, wire::AccountFacts facts,
                            Emitter& out) {
  const Key key = UserKey(head.project, UserId(facts.account));
  const bool tombstone = facts.tombstone.has_value();
  if (!stage::TakeFacts(wire::StampOf(head, record.value), std::move(facts), key, facts_))
    return stage::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                         "other facts of this user have this id", out);
  if (!tombstone) return;
  if (const auto& kept = facts_.Need(key).tombstone)
    calendar_.File(head.project.value, stage::DayAfter(*kept), key.id);
}

// Erases stamps that cannot change the team of a later grant: those before `reported_since` that keep the team,
// except the first and the last stamp.
void AccountsStage::Insert(const MemberStamp& stamp, double reported_since, UserState& user) {
  const auto newer = [](const MemberStamp& a, const MemberStamp& b) {
    return std::tie(a.stamp.time, a.stamp.id) < std::tie(b.stamp.time, b.stamp.id);
  };
  auto& stamps = user.stamps;
  stamps.insert(std::upper_bound(stamps.begin(), stamps.end(), stamp, newer), stamp);
  for (std::size_t i = stamps.size() - 1; i-- > 1;)
    if (stamps[i].stamp.time < reported_since &&
        (!stamps[i].sets_team || stamps[i].team == user.TeamBefore(i)))
      stamps.erase(stamps.begin() + static_cast<std::ptrdiff_t>(i));
}

// Four waits of at most one window each can delay a grant: for the result, for its partner event, for the other
// results of its workunit, and for its user.
double AccountsStage::ReportedSince(ProjectId project) {
  const stage::ProjectView* view = projects_.Find({.project = project.value, .id = 0, .sub = 0});
  if (view == nullptr) return 0;
  double window = credit::kDefaultResultWindow;
  for (const auto& [id, app] : view->catalogue.apps) window = std::max(window, app.Window());
  return view->time - 4 * window;
}

void AccountsStage::OnOpening(const RecordView& record, const wire::EventHead& head,
                              const wire::OpeningTotal& opening, Emitter& out) {
  bool ok = true;
  const credit::MicroCredit micro =
      opening.total_micro ? *opening.total_micro : credit::RoundToMicro(opening.total.value_or(0), &ok);
  if (!ok)
    return stage::Refuse(record, head.project, RefusalReason::kOutOfRange,
                         "the opening total is out of range", out);
  // An opening goes through the ledger like all credit: it is applied when it is read back as a grant.
  const UserId user(opening.account);
  const wire::EventStamp stamp = wire::StampOfFacts(head, record.value);
  const UserState* before = users_.Find(UserKey(head.project, user));
  if (before != nullptr && before->opening.is_set()) {
    if (wire::IsRepeat(stamp, before->opening)) return;
    return stage::Refuse(record, head.project,
                         stamp.id == before->opening.id ? RefusalReason::kDuplicateWithOtherContents
                                                        : RefusalReason::kAlreadyDecided,
                         "this user already has an opening balance", out);
  }
  users_.Mutable(UserKey(head.project, user)).opening = stamp;
  stage::TakeFigures(stamp, opening, UserKey(head.project, user), profiles_);
  bytes_.clear();
  wire::EncodeGrant({.project = head.project,
                     .user = user,
                     .credit_micro = micro,
                     .time = opening.rac_time,
                     .kind = wire::GrantKind::kOpening,
                     .work_start = opening.rac},
                    {}, {}, {}, &bytes_);
  out.Emit(wire::kGrants, options_.partition, bytes_);
}

void AccountsStage::OnGrant(const RecordView& record, Emitter& out) {
  const std::string_view bytes = record.value;
  wire::GrantHead head;
  if (!wire::DecodeGrantHead(bytes, &head)) return out.Fail(Status::Corrupted("a grant cannot be decoded"));
  if (!wire::IsAward(head.kind)) {
    if (wire::IsNote(head.kind)) return;
    if (head.kind == wire::GrantKind::kOpening) return ApplyOpening(head, out);
    if (head.kind == wire::GrantKind::kWatermark) return OnPassed(bytes, out);
    if (head.kind == wire::GrantKind::kEstimate) return OnEstimate(bytes, out);
    if (wire::IsHostMove(head.kind)) return OnHostMove(head, bytes, out);
    if (head.kind == wire::GrantKind::kHostMerged) return OnHostMerged(record, out);
  }
  UserState* user = nullptr;
  if (head.user) {
    user = &users_.Mutable(UserKey(head.project, head.user));
    if (!user->known()) return Wait(UserKey(head.project, head.user), *user, head, record);
  }
  NoteComparison(head, bytes, out);
  ApplyToHost(head, out);
  ApplyToUser(head, bytes, user, out);
}

void AccountsStage::ApplyOpening(const wire::GrantHead& head, Emitter& out) {
  if (head.host) return OpenHost(head, false, out);
  if (!head.user) return;  // a team's opening, which TEAMS has applied
  UserState& user = users_.Mutable(UserKey(head.project, head.user));
  user.account.opening_micro += head.credit_micro;
  user.account.total_micro += head.credit_micro;
  user.account.recent = {.value = head.work_start, .time = head.time};
  List(UserKey(head.project, head.user), user, changed_users_);
}

// `inherited`: the opening of a host that has become this host.
void AccountsStage::OpenHost(const wire::GrantHead& head, bool inherited, Emitter& out) {
  const Key key = HostKey(head.project, head.host);
  HostAccount& host = hosts_.Mutable(key);
  if (host.elsewhere) return PassOn(head, 0, out);
  if (host.merge.done) return OpenHost(ForMergeTarget(head, host), true, out);
  SetOwner(key, head.user, host);
  List(key, host, changed_hosts_);
  credit::Account opening;
  opening.total_micro = head.credit_micro;
  opening.recent = {.value = head.work_start, .time = head.time};
  if (!inherited) host.account.opening_micro += head.credit_micro;
  if (inherited || host.merge.joined > 0) return credit::Unite(opening, host.account);
  host.account.total_micro += head.credit_micro;
  host.account.recent = opening.recent;
}

// The host's share of a grant or an opening.
void AccountsStage::ApplyToHost(const wire::GrantHead& head, Emitter& out) {
  if (head.kind == wire::GrantKind::kOpening) return ApplyOpening(head, out);
  HostAccount& host = hosts_.Mutable(HostKey(head.project, head.host));
  if (host.elsewhere) return PassOn(head, 0, out);
  if (host.merge.done) return ApplyToHost(ForMergeTarget(head, host), out);
  const Key key = HostKey(head.project, head.host);
  SetOwner(key, head.user, host);
  credit::Post(PostingOf(head), host.account);
  stage::FileOlderDays(key, host.account.days, host_days_);
  List(key, host, changed_hosts_);
}

// What the other claims of the workunit tell about the host's claim. A host that is elsewhere, or has become another
// one, is compared there from its next own grant on.
void AccountsStage::NoteComparison(const wire::GrantHead& head, std::string_view bytes, Emitter& out) {
  if ((head.flags & credit::kGrantCompared) == 0) return;
  wire::Grant grant;
  if (!wire::DecodeGrant(bytes, &grant)) return out.Fail(Status::Corrupted("a grant cannot be decoded"));
  if (!grant.claim) return;  // a share that was passed on
  std::vector<credit::Claim> others;
  for (const wire::OtherClaim& other : grant.others) others.push_back(wire::ClaimOf(other, *grant.claim));
  const auto excess = credit::ExcessOf(*grant.claim, others);
  if (!excess) return;
  HostAccount& host = hosts_.Mutable(HostKey(head.project, head.host));
  if (host.elsewhere || host.merge.done) return;
  const auto found = std::find_if(host.agreements.begin(), host.agreements.end(),
                                  [&](const credit::Agreement& one) { return one.app == head.app; });
  if (found != host.agreements.end()) return credit::NoteExcess(*excess, *found);
  credit::NoteExcess(*excess, host.agreements.emplace_back(credit::Agreement{.app = head.app}));
}

// The first grant or opening sets the owner, because later grants of a host that was merged into this host may
// name an earlier owner. For a host that has changed its owner only the change sets the owner.
void AccountsStage::SetOwner(const Key& key, UserId user, HostAccount& host) {
  if (!host.user && moves_.Find(key) == nullptr) host.user = user;
}

// The user's share, and the team's posting. `user` null: the host has no owner.
void AccountsStage::ApplyToUser(const wire::GrantHead& head, std::string_view bytes, UserState* user,
                                Emitter& out) {
  if (user == nullptr) return SettleEstimates(head, nullptr, 0);
  // A correction takes the credit from the team that got it, whatever team the user has joined since.
  const bool corrects = (head.flags & credit::kGrantCorrects) != 0;
  if (corrects) PostTo(head.team, head, bytes, out);
  const credit::MicroTotal shown_before = user->account.shown_micro();
  credit::PostingFacts posting = PostingOf(head);
  // Partial grants that had expired before an event named the user are not part of the total. A repricing
  // settles a negative amount if it increases them.
  const auto expired =
      std::clamp<credit::MicroTotal>(head.settles_micro, 0, user->unnamed.expired_provisional);
  user->unnamed.expired_provisional -= expired;
  posting.provisional += static_cast<credit::MicroCredit>(expired);
  const Key key = UserKey(head.project, head.user);
  credit::Post(posting, user->account);
  stage::FileOlderDays(key, user->account.days, user_days_);
  if (user->estimated) SettleEstimates(head, user, shown_before);
  List(key, *user, changed_users_);
  if (corrects) {
    if (head.credit_micro != 0)
      credit::AddCorrection({.micro = head.credit_micro,
                             .came = credit::DayOf(head.time),
                             .about = head.paid_time > 0 ? credit::DayOf(head.paid_time) : 0},
                            corrected_days_.Mutable(key).days);
    return;
  }

  TeamId team = user->TeamNow();
  if (!user->Settled() && (head.flags & credit::kGrantTeamAtGrant) == 0) {
    wire::Grant whole;  // rare: the user has moved
    if (!wire::DecodeGrant(bytes, &whole)) return out.Fail(Status::Corrupted("a grant cannot be decoded"));
    if (head.paid_time > 0)
      team = user->TeamAt(head.paid_time);
    else if (whole.claim && whole.claim->received_time > 0)
      team = user->TeamAt(whole.claim->received_time);
    else
      team = user->TeamAt(head.time);
  }
  PostTo(team, head, bytes, out);
}

void AccountsStage::PostTo(TeamId team, const wire::GrantHead& head, std::string_view bytes, Emitter& out) {
  if (!team || (wire::CountedBy(head) == 0 && head.credit_micro == 0)) return;
  bytes_.clear();
  std::uint64_t line = 0;
  if (options_.lockstep) {
    wire::Grant whole;
    if (wire::DecodeGrant(bytes, &whole)) line = whole.detail.line;
  }
  wire::EncodePosting({.project = head.project,
                       .team = team,
                       .user = head.user,
                       .host = head.host,
                       .app = head.app,
                       .result = head.result,
                       .credit_micro = head.credit_micro,
                       .time = head.time,
                       .work_start = head.work_start,
                       .line = line,
                       .flags = head.flags,
                       .uncounted = head.kind != wire::GrantKind::kFinal,
                       .recent_off = head.recent_off},
                      &bytes_);
  out.Emit(wire::kPostings, wire::PartitionOf(head.project, team.value, options_.partitions), bytes_);
}

// Emits the new totals of the accounts that this commit has changed, one record each.
void AccountsStage::Finish(Emitter& out) {
  if (Unfinished()) Continue(out);
  if (!options_.lockstep && calendar_.behind()) Expire(kExpireAtCommit, out);
  budget_.Renew();
  const auto emit = [&](wire::AccountKind kind, const Key& key, const credit::Account& account,
                        bool elsewhere, bool estimated) {
    wire::Total total = wire::TotalOf(ProjectId(key.project), kind, key.id, account);
    total.elsewhere = elsewhere;
    if (estimated) AddEstimates(key, total);
    bytes_.clear();
    wire::EncodeTotal(total, &bytes_);
    out.Emit(wire::kTotals, options_.partition, bytes_);
  };
  // Merges may have waited for one of these hosts, and may change other accounts.
  for (std::size_t i = 0; !options_.lockstep && i < changed_hosts_.size(); ++i) {
    const auto [key, host] = changed_hosts_[i];
    ApplyReadyMerges(key, out);
    if (host->merge.into && !host->merge.done)
      ApplyReadyMerges(MergeTargetOf(key.project, host->merge.into), out);
  }
  for (auto& [key, host] : changed_hosts_) {
    emit(wire::AccountKind::kHost, key, host->account, host->elsewhere, false);
    host->listed = false;
  }
  changed_hosts_.clear();
  for (auto& [key, user] : changed_users_) {
    emit(wire::AccountKind::kUser, key, user->account, false, user->estimated);
    user->listed = false;
  }
  changed_users_.clear();
}

}  // namespace cobblestone::accounts
