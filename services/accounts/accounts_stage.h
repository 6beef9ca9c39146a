// ACCOUNTS, by owner: applies grants to the totals of hosts and users, and passes them on as postings to teams. Hosts
// without an owner are partitioned by their own number.
// Time: after a watermark has arrived from every partition of GRANTS and on `users`, grants that have waited too
// long for a user and merges that have waited too long for a host expire, and the watermark is passed on among the
// postings.
//
// In: control (catalogue, watermarks), users (members, openings, facts, an operator's corrections), grants of one
// partition. Out: grants, postings, totals, refused. Its grants are the opening balance of a user and an operator's
// correction, which are applied when they are read back, and accounts and shares of hosts that change their owner.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/policies/robust.h"
#include "common/stream/calendar.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/stream/watermarks.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_stamp.h"
#include "common/wire/events/events.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "common/wire/ledger/refusal.h"
#include "services/accounts/corrections.h"
#include "services/accounts/estimates.h"
#include "services/accounts/host_merges.h"
#include "services/accounts/host_moves.h"
#include "services/accounts/profiles.h"
#include "services/accounts/waiting_grants.h"
#include "services/stage/day_rows.h"
#include "services/stage/expiry.h"
#include "services/stage/project_view.h"

namespace cobblestone::accounts {

// The identity of a member event, and the team that the event puts the user in.
struct MemberStamp {
  wire::EventStamp stamp;
  TeamId team;
  bool sets_team = true;  // false: the user stays in the team of the previous stamp

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.stamp, s.team, s.sets_team);
  }
};

struct UserState {
  // Member events by (time, id), in any order of arrival. The last one is in force; the first one also holds
  // for all time before it. Of old events only those that change the team are kept (AccountsStage::Insert).
  std::vector<MemberStamp> stamps;
  wire::EventStamp opening;  // of the account's balance
  bool deleted = false;      // the user is not shown, and later credit goes to no team
  std::string name;
  UnnamedUser unnamed;
  credit::Account account;
  bool estimated = false;  // the user has a row of estimates (estimates.h)
  wire::EventStamp named;  // the newest member event that set the name or deleted the user
  bool listed = false;     // the user is in `changed_users_`; not state

  // A member event has named the user.
  [[nodiscard]] bool known() const { return !stamps.empty(); }
  [[nodiscard]] TeamId TeamAt(double time) const;
  [[nodiscard]] TeamId TeamNow() const { return TeamBefore(stamps.size()); }
  // The team before this stamp.
  [[nodiscard]] TeamId TeamBefore(std::size_t stamp) const;
  // The user was always in one team, or always in none.
  [[nodiscard]] bool Settled() const;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.stamps, s.opening, s.deleted, s.name, s.unnamed, s.account, s.estimated, s.named);
  }
};

struct HostAccount {
  UserId user;              // the owner; its partition is this one
  bool elsewhere = false;   // the account is in another partition, or on its way to one: see HostMoves
  credit::Account account;  // empty if it is elsewhere, or if the host has become another host
  HostMerge merge;
  // Of apps with policy `robust`. They do not move: a host that changes its owner, or that another host has become,
  // begins again.
  std::vector<credit::Agreement> agreements;
  bool listed = false;  // the host is in `changed_hosts_`; not state

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.user, s.elsewhere, s.account, s.merge, s.agreements);
  }
};

// `order: lockstep`: a grant kept until the next barrier that ends a period, and the accounts that it is for.
// The grants are then applied in the order (time, line, result). The share of the user (with the team) and the
// share of the host are separate if the host has moved. Key: a number in order of arrival.
struct BufferedGrant {
  double time = 0;
  std::uint64_t line = 0;
  std::uint64_t result = 0;
  std::uint64_t offset = 0;  // in the ledger's partition
  double append_time = 0;    // UNIX s
  std::uint32_t project = 0;
  std::uint64_t host = 0;
  bool to_user = true;
  bool to_host = true;
  std::string bytes;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.time, s.line, s.result, s.offset, s.append_time, s.project, s.host, s.to_user, s.to_host, s.bytes);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<UserState> kUsersTable{.id = 32, .version = 1};
inline constexpr stream::TableSpec<HostAccount> kHostsTable{.id = 33, .version = 1};
inline constexpr stream::TableSpec<HostMoves> kMovesTable{.id = 34, .version = 1};
inline constexpr stream::TableSpec<WaitingGrant> kWaitingTable{.id = 35, .version = 1};
inline constexpr stream::TableSpec<Releasing> kReleasingTable{.id = 77, .version = 1};
inline constexpr stream::TableSpec<stage::ProjectView> kProjectsTable{.id = 36, .version = 1};
inline constexpr stream::TableSpec<BufferedGrant> kBufferedTable{.id = 40, .version = 1};
inline constexpr stream::TableSpec<MovedRecords> kMovedTable{.id = 41, .version = 1};
inline constexpr stream::TableSpec<WaitingMerges> kMergesTable{.id = 47, .version = 1};
inline constexpr stream::TableSpec<JoinedHosts> kJoinedTable{.id = 74, .version = 1};
inline constexpr stream::TableSpec<credit::DayBlock<credit::DaySum>> kUserDaysTable{.id = 70, .version = 1};
inline constexpr stream::TableSpec<credit::DayBlock<credit::DaySum>> kHostDaysTable{.id = 71, .version = 1};

struct AccountsOptions {
  std::uint32_t partition = 0;
  std::uint32_t partitions = 1;
  double future_limit = 3600;  // s: most that an event's time may be after the time of its append
  bool lockstep = false;       // `order: lockstep`
  std::size_t rows_per_commit = stage::CommitBudget::kRows;  // for tests
};

class AccountsStage final : public stream::Stage {
 public:
  enum Input : std::size_t { kControl, kUsers, kGrants };
  static std::vector<stream::TopicPartition> Inputs(std::uint32_t partition);

  AccountsStage(const AccountsOptions& options, stream::TableHost& tables);

  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  void Finish(stream::Emitter& out) override;
  [[nodiscard]] bool Unfinished() const override { return watermarks_.begun() || releasing_.rows() > 0; }
  Status Opened() override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

  stream::Table<UserState>& users() { return users_; }
  stream::Table<HostAccount>& hosts() { return hosts_; }
  stream::Table<HostMoves>& moves() { return moves_; }
  stream::Table<WaitingMerges>& merges() { return merges_; }
  stream::Table<UserProfileRow>& profiles() { return profiles_; }
  stream::Table<stage::FactsRow>& facts() { return facts_; }
  stream::Table<WaitingGrant>& waiting() { return waiting_; }
  stream::Table<BufferedGrant>& buffered() { return buffered_; }
  // Rows of the tables with their whole histories. Call between commits.
  UserState Whole(const stream::Key& key, UserState user);
  HostAccount Whole(const stream::Key& key, HostAccount host);
  HostEstimates Whole(const stream::Key& key, HostEstimates host);
  credit::UserEstimates Whole(const stream::Key& key, credit::UserEstimates user);
  ProjectEstimates Whole(const stream::Key& key, ProjectEstimates project);
  stream::Table<HostEstimates>& host_estimates() { return host_estimates_; }
  stream::Table<credit::UserEstimates>& user_estimates() { return user_estimates_; }
  stream::Table<ProjectEstimates>& project_estimates() { return project_estimates_; }
  stream::Table<stage::ProjectView>& projects() { return projects_; }
  stream::Watermarks& watermarks() { return watermarks_; }

 private:
  // Objects changed by a commit stay in place until the commit ends.
  template <class State>
  static void List(const stream::Key& key, State& state,
                   std::vector<std::pair<stream::Key, State*>>& changed) {
    if (state.listed) return;
    state.listed = true;
    changed.emplace_back(key, &state);
  }

  void OnControl(const stream::RecordView& record, stream::Emitter& out);
  void OnPassed(std::string_view bytes, stream::Emitter& out);
  void PassWatermarks(stream::Emitter& out);
  void OnUser(const stream::RecordView& record, stream::Emitter& out);
  void OnMember(const stream::RecordView& record, const wire::EventHead& head, const wire::UserMember& member,
                stream::Emitter& out);
  void OnOpening(const stream::RecordView& record, const wire::EventHead& head,
                 const wire::OpeningTotal& opening, stream::Emitter& out);
  void OnFacts(const stream::RecordView& record, const wire::EventHead& head, wire::AccountFacts facts,
               stream::Emitter& out);
  void OnCorrection(const stream::RecordView& record, const wire::Event& event, stream::Emitter& out);
  void Insert(const MemberStamp& stamp, double reported_since, UserState& user);
  // No later grant can be for a result that was reported before this time.
  double ReportedSince(ProjectId project);
  void OnGrant(const stream::RecordView& record, stream::Emitter& out);
  void Buffer(BufferedGrant one) {
    buffered_.Mutable({.project = 0, .id = buffered_count_++, .sub = 0}) = std::move(one);
  }
  void ApplyAllBuffered(stream::Emitter& out);
  void ApplyBuffered(const BufferedGrant& one, stream::Emitter& out);
  void ApplyOpening(const wire::GrantHead& head, stream::Emitter& out);
  void OpenHost(const wire::GrantHead& head, bool inherited, stream::Emitter& out);
  void ApplyToHost(const wire::GrantHead& head, stream::Emitter& out);
  void NoteComparison(const wire::GrantHead& head, std::string_view bytes, stream::Emitter& out);
  void SetOwner(const stream::Key& key, UserId user, HostAccount& host);
  void ApplyToUser(const wire::GrantHead& head, std::string_view bytes, UserState* user,
                   stream::Emitter& out);
  void PostTo(TeamId team, const wire::GrantHead& head, std::string_view bytes, stream::Emitter& out);

  void OnEstimate(std::string_view bytes, stream::Emitter& out);
  stream::Key EstimatesOf(const wire::GrantHead& head);
  void UniteEstimates(const stream::Key& from, UserId owner);
  // Adds the estimates to a user's shown total.
  void AddEstimates(const stream::Key& key, wire::Total& total);
  // A grant settles earlier estimates. `user` null: the host has no owner. `shown_before`: the user's shown
  // total before the grant.
  void SettleEstimates(const wire::GrantHead& head, UserState* user, credit::MicroTotal shown_before);

  void Wait(const stream::Key& key, UserState& user, const wire::GrantHead& head,
            const stream::RecordView& record);
  const WaitingGrant* FirstWaiting(const stream::Key& key, const UnnamedUser& unnamed, wire::Grant* grant);
  // Expires the user's grants that have waited too long and, if an event has named the user, applies the others.
  // Grants beyond the commit's budget are left for the next commits.
  void Release(const stream::Key& key, UserState& user, stream::Emitter& out);
  void ExpireGrant(const stream::Key& key, const WaitingGrant& row, const wire::Grant& grant, UserState& user,
                   stream::Emitter& out);
  void ApplyWaiting(const WaitingGrant& row, wire::Grant& grant, UserState& user, stream::Emitter& out);
  void Expire(std::size_t users, stream::Emitter& out);
  // Continues the work that earlier commits have left.
  void Continue(stream::Emitter& out);
  std::int32_t DueDay(const wire::GrantHead& head);

  void OnHostMove(const wire::GrantHead& head, std::string_view bytes, stream::Emitter& out);
  void OnHostAccount(const stream::Key& key, const wire::GrantHead& head, std::string_view bytes,
                     stream::Emitter& out);
  void TakeShare(const wire::GrantHead& head, std::uint64_t line, stream::Emitter& out);
  void PassOn(const wire::GrantHead& head, std::uint64_t line, stream::Emitter& out);
  void SendAccount(const stream::Key& key, UserId to, stream::Emitter& out);
  void SettlePlace(std::uint64_t number, stream::Emitter& out);

  void OnHostMerged(const stream::RecordView& record, stream::Emitter& out);
  void OnAnswer(const wire::GrantHead& head, stream::Emitter& out);
  stream::Key MergeTargetOf(std::uint32_t project, HostId host);
  bool Waits(const stream::Key& target, const WaitingMerge& merge);
  void ApplyReadyMerges(const stream::Key& target, stream::Emitter& out);
  void ApplyAllMerges(stream::Emitter& out);
  void ApplyMerge(const stream::Key& target, std::size_t at, stream::Emitter& out);
  HostId NamedTargetOf(std::uint32_t project, const WaitingMerge& merge);
  WaitingMerge RemoveWaiting(const stream::Key& target, std::size_t at);
  void RefuseMerge(std::uint32_t project, const WaitingMerge& merge, wire::RefusalReason reason,
                   std::string detail, stream::Emitter& out);
  [[nodiscard]] bool IsDue(const stream::Key& host);
  // False: the commit's budget is spent, and some due merges are left.
  bool ExpireMerges(std::uint32_t project, double now, stream::Emitter& out);
  void WaitFor(const stream::Key& target, const stream::Key& instead_of);
  void AddJoined(const stream::Key& key, std::vector<HostId> hosts);
  static wire::GrantHead ForMergeTarget(const wire::GrantHead& head, HostAccount& host);

  AccountsOptions options_;
  stream::Table<UserState> users_;
  stream::Table<HostAccount> hosts_;
  stage::DayTable<credit::DaySum> user_days_;
  stage::DayTable<credit::DaySum> host_days_;
  stream::Table<HostMoves> moves_;
  stream::Table<WaitingMerges> merges_;
  stream::Table<JoinedHosts> joined_;
  stream::Table<WaitingGrant> waiting_;  // by user and number
  stream::Table<Releasing> releasing_;   // by user
  stream::Table<UserProfileRow> profiles_;
  stream::Table<stage::FactsRow> facts_;
  stream::Table<HostEstimates> host_estimates_;
  stream::Table<credit::UserEstimates> user_estimates_;
  stage::DayTable<credit::EstimateDay>
      host_estimate_days_;  // one history per owner, in the order of the owners
  stage::DayTable<credit::EstimateDay> user_estimate_days_;
  stream::Table<ProjectEstimates> project_estimates_;
  stage::DayTable<credit::EstimateDay> project_estimate_days_;
  stream::Table<stage::ProjectView> projects_;
  stream::Table<BufferedGrant> buffered_;
  stream::Table<MovedRecords> moved_;  // `order: lockstep`; one row
  stream::Table<Corrections> corrections_;
  stream::Table<CorrectedDays> corrected_days_;
  // Users with waiting grants, by a day on which the first grant has not expired yet; and deleted users, by the
  // day after which files no longer list them.
  stream::Calendar calendar_;
  stream::Watermarks watermarks_;
  std::uint64_t buffered_count_ = 0;  // derived: rows of `buffered_`, which are all applied together
  // By project: no merge waits since before this time, UNIX s. Derived: absent means unknown, so all are
  // examined.
  std::map<std::uint32_t, double> first_merge_;
  stage::CommitBudget budget_;
  // Accounts whose totals this commit has changed, each once, in the order of their first change.
  std::vector<std::pair<stream::Key, UserState*>> changed_users_;
  std::vector<std::pair<stream::Key, HostAccount*>> changed_hosts_;
  std::string bytes_;
};

}  // namespace cobblestone::accounts
