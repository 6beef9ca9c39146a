// ACCOUNTS, by user: applies grants to the totals of hosts and users, and passes them on as postings to teams.
//
// In: control (catalogue, ticks), users (members, openings), grants of one partition. Out: grants (the opening balance of a user; accounts of hosts
// that move to another partition), postings, totals, refused.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/credit/account.h"
#include "common/stream/calendar.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/wire/events.h"
#include "common/wire/grant_codec.h"
#include "common/wire/project_view.h"
#include "common/wire/topics.h"
#include "common/wire/word.h"
#include "services/accounts/host_moves.h"
#include "services/accounts/waiting_grants.h"

namespace cobblestone::accounts {

struct TeamMembership {
  double since = 0;  // UNIX s
  TeamId team;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.since, s.team);
  }
};

struct UserState {
  bool known = false;    // a member event has named it
  wire::Word member;     // the member event in force
  wire::Word opening;    // of the account's balance
  bool deleted = false;  // its row is gone: hosts still get their credit
  std::string name;
  std::vector<TeamMembership> teams;  // ascending by time; the last one holds now
  UnnamedUser unnamed;
  credit::Account account;
  bool listed = false;  // among the changed of this commit; not state

  [[nodiscard]] TeamId TeamAt(double time) const;
  [[nodiscard]] TeamId TeamNow() const { return teams.empty() ? TeamId{} : teams.back().team; }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.known, s.member, s.opening, s.deleted, s.name, s.teams, s.unnamed, s.account);
  }
};

struct HostAccount {
  UserId user;              // whose partition this is
  bool elsewhere = false;   // the account is in another partition, or on its way: HostMoves knows
  credit::Account account;  // empty where it is elsewhere
  bool listed = false;      // among the changed of this commit; not state

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.user, s.elsewhere, s.account);
  }
};

struct AccountsOptions {
  std::uint32_t partition = 0;
  std::uint32_t partitions = 1;
  double future_limit = 3600;  // s: an event may be so much later than the time at which it was appended
  bool sorted = false;  // lockstep: grants wait for the barrier and are applied by (time, line, result)
};

class AccountsStage final : public stream::Stage {
 public:
  enum Input : std::size_t { kControl, kUsers, kGrants };
  static std::vector<stream::TopicPartition> Inputs(std::uint32_t partition);

  AccountsStage(const AccountsOptions& options, stream::TableHost& tables);

  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  void Barrier(stream::Emitter& out) override;
  void Finish(stream::Emitter& out) override;
  Status Opened() override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

  stream::Table<UserState>& users() { return users_; }
  stream::Table<HostAccount>& hosts() { return hosts_; }
  stream::Table<HostMoves>& moves() { return moves_; }
  stream::Table<WaitingGrant>& waiting() { return waiting_; }

 private:
  // Lockstep: what is to be applied at the next barrier, and to whom: user (with team) and host are parted where the host
  // has moved.
  struct Sortable {
    double time = 0;
    std::uint64_t line = 0;
    std::uint64_t result = 0;
    std::string bytes;
    bool to_user = true;
    bool to_host = true;
  };

  // Objects that a commit has changed stay where they are until it ends.
  template <class State>
  static void List(const stream::Key& key, State& state,
                   std::vector<std::pair<stream::Key, State*>>& changed) {
    if (state.listed) return;
    state.listed = true;
    changed.emplace_back(key, &state);
  }

  void OnControl(const stream::RecordView& record, stream::Emitter& out);
  void OnUser(const stream::RecordView& record, stream::Emitter& out);
  void OnGrant(std::string_view bytes, std::uint64_t offset, stream::Emitter& out);
  void ApplySorted(const Sortable& one, stream::Emitter& out);
  void ApplyOpening(const wire::GrantHead& head, stream::Emitter& out);
  void ApplyToHost(const wire::GrantHead& head, stream::Emitter& out);
  void ApplyToUser(const wire::GrantHead& head, std::string_view bytes, UserState* user,
                   stream::Emitter& out);

  void Wait(const stream::Key& key, UserState& user, const wire::GrantHead& head, std::string_view bytes,
            std::uint64_t offset);
  void Release(const stream::Key& key, UserState& user, stream::Emitter& out);
  void ExpireOver(const stream::Key& key, UserState& user, std::int32_t today, stream::Emitter& out);
  void Expire(std::size_t users, stream::Emitter& out);
  std::int32_t DueDay(const wire::GrantHead& head);

  void OnHostMove(const wire::GrantHead& head, std::string_view bytes, stream::Emitter& out);
  void OnHostAccount(const stream::Key& key, const wire::GrantHead& head, std::string_view bytes,
                     stream::Emitter& out);
  void TakeShare(const wire::GrantHead& head, std::uint64_t line, stream::Emitter& out);
  void PassOn(const wire::GrantHead& head, std::uint64_t line, stream::Emitter& out);
  void SendAccount(const stream::Key& key, UserId to, stream::Emitter& out);
  void SettlePlace(Sortable& one, const stream::Key* of, stream::Emitter& out);

  AccountsOptions options_;
  stream::Table<UserState> users_;
  stream::Table<HostAccount> hosts_;
  stream::Table<HostMoves> moves_;
  stream::Table<WaitingGrant> waiting_;  // by user and number
  stream::Table<wire::ProjectView> projects_;
  stream::Calendar calendar_;     // users for whom grants wait, by a day on which the first is not over
  std::vector<Sortable> sorted_;  // lockstep, empty after each barrier
  // Whose totals this commit has changed, each once, in the order of their first change.
  std::vector<std::pair<stream::Key, UserState*>> changed_users_;
  std::vector<std::pair<stream::Key, HostAccount*>> changed_hosts_;
  std::string bytes_;
};

}  // namespace cobblestone::accounts
