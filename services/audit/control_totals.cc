#include "services/audit/control_totals.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/accounts/accounts_stage.h"
#include "services/coordinator/coordinator_stage.h"
#include "services/teams/teams_stage.h"
#include "services/view/json.h"

namespace cobblestone::audit {

using ledger::LedgerAccount;
using ledger::LedgerSums;
using ledger::LedgerTotal;
using ledger::StateSnapshot;

namespace {

using exports::KindTotals;
using stream::Key;

// Names the kind of account in error messages.
const char* NameOf(LedgerAccount account) {
  switch (account) {
    case LedgerAccount::kHost: return "host";
    case LedgerAccount::kUser: return "user";
    case LedgerAccount::kTeam: return "team";
    case LedgerAccount::kTeamOpening: return "opening balance of team";
  }
  return "";
}

class Reconciler {
 public:
  Reconciler(const StateSnapshot& snapshot, ProjectId project, LedgerSums& sums)
      : snapshot_(snapshot), project_(project), sums_(sums) {
    const LedgerSums::ProjectTotals ledger = sums.TotalsOf(project);
    const auto take = [](const LedgerTotal& from, KindTotals& to) {
      to.opening = from.opening;
      to.granted = from.granted;
      to.moving = -from.moved;
    };
    take(ledger.hosts, totals_.hosts);
    take(ledger.users, totals_.users);
    take(ledger.teams, totals_.teams);
    totals_.project = project.value;
    for (const LedgerSums::Entry& late : sums.late_openings())
      if (late.project == project.value) late_openings_[late.id] += late.micro;
  }

  Result<exports::LedgerTotals> Run() {
    if (Status s = TakeTime(); !s.ok()) return s;
    for (std::size_t k = 0; k < snapshot_.accounts.size(); ++k) {
      totals_.positions.push_back({.commit = snapshot_.commits[k],
                                   .grants = snapshot_.places.grants[k],
                                   .postings = snapshot_.places.postings[k]});
      for (const auto walk : {&Reconciler::Hosts, &Reconciler::Moves, &Reconciler::Users,
                              &Reconciler::WaitingForUsers, &Reconciler::WaitingForPeriod})
        if (Status s = (this->*walk)(*snapshot_.accounts[k]); !s.ok()) return s;
      for (const auto walk : {&Reconciler::Teams, &Reconciler::PostingsWaiting})
        if (Status s = (this->*walk)(*snapshot_.teams[k]); !s.ok()) return s;
    }
    LookAtTheRest();
    for (const auto& [name, kind] : {std::pair{"hosts", &totals_.hosts}, std::pair{"users", &totals_.users},
                                     std::pair{"teams", &totals_.teams}}) {
      const exports::MicroSum off =
          kind->total + kind->waiting + kind->expired + kind->moving - kind->opening - kind->granted;
      if (off != 0) Differs(std::string("all ") + name + " together", off);
    }
    if (differing_ == 0) return totals_;
    return Status::Corrupted("no files were exported: project " + std::to_string(project_.value) +
                             " does not agree with its ledger: " + first_ +
                             (differing_ > 1 ? ", and " + std::to_string(differing_ - 1) + " more" : "") +
                             "; for details run `cobblestone audit`");
  }

 private:
  [[nodiscard]] bool IsOurs(const Key& key) const { return key.project == project_.value; }

  void Differs(const std::string& what, credit::MicroTotal state_has_more) {
    if (differing_++ == 0)
      first_ = what + (state_has_more > 0 ? " has " : " lacks ") +
               view::MicroText(state_has_more > 0 ? state_has_more : -state_has_more) +
               (state_has_more > 0 ? " Cobblestones too many" : " Cobblestones");
  }
  static std::string Named(LedgerAccount account, std::uint64_t id) {
    return std::string(NameOf(account)) + " " + std::to_string(id);
  }

  LedgerSums::Entry* Find(LedgerAccount account, std::uint64_t id) {
    const auto place = [](const LedgerSums::Entry& e) { return std::tuple(e.project, e.account, e.id); };
    const auto wanted = std::tuple(project_.value, account, id);
    auto& entries = sums_.entries();
    const auto found = std::lower_bound(entries.begin(), entries.end(), wanted,
                                        [&](const auto& e, const auto& w) { return place(e) < w; });
    return found != entries.end() && place(*found) == wanted ? &*found : nullptr;
  }
  // `micro` of the account's ledger sum is accounted for by the state.
  void Account(LedgerAccount account, std::uint64_t id, credit::MicroTotal micro) {
    if (micro == 0) return;
    if (LedgerSums::Entry* entry = Find(account, id)) {
      entry->micro -= micro;
    } else {
      Differs(Named(account, id), micro);
    }
  }
  void Wait(LedgerAccount account, KindTotals& kind, std::uint64_t id, credit::MicroTotal micro) {
    kind.waiting += micro;
    Account(account, id, micro);
  }
  void Waits(const wire::GrantHead& head, bool to_host, bool to_user) {
    if (to_host) Wait(LedgerAccount::kHost, totals_.hosts, head.host.value, head.credit_micro);
    if (to_user) Wait(LedgerAccount::kUser, totals_.users, head.user.value, head.credit_micro);
  }

  Status TakeTime() {
    const auto project = view::Find(*snapshot_.coordinator, coordinator::kProjectsTable,
                                    Key{.project = project_.value, .id = 0, .sub = 0});
    if (!project.ok()) return project.status();
    if (!project->has_value()) return Status::Ok();
    totals_.event_time = (*project)->last_tick;
    totals_.epoch = (*project)->scales.table.epoch;
    return Status::Ok();
  }

  Status Hosts(const view::Rows& rows) {
    return view::ForEach(rows, accounts::kHostsTable, [&](const Key& key, const accounts::HostAccount& host) {
      if (!IsOurs(key)) return Status::Ok();
      totals_.hosts.accounts += host.elsewhere || host.merge.done ? 0 : 1;
      totals_.hosts.total += host.account.total_micro;
      // The ledger granted to this host all credit that the host later gave to the host that it has become.
      Account(LedgerAccount::kHost, key.id, host.account.total_micro + host.merge.given_micro);
      if (host.merge.done) Account(LedgerAccount::kHost, host.merge.into.value, -host.merge.given_micro);
      return Status::Ok();
    });
  }
  // All credit that came to a partition for a host is in the account, waits for the account, or was sent on.
  Status Moves(const view::Rows& rows) {
    return view::ForEach(rows, accounts::kMovesTable, [&](const Key& key, const accounts::HostMoves& moves) {
      if (!IsOurs(key)) return Status::Ok();
      totals_.hosts.moving += moves.sent_micro;
      Account(LedgerAccount::kHost, key.id, moves.sent_micro);
      for (const std::string& bytes : moves.waiting) {
        wire::GrantHead head;
        if (!wire::DecodeGrantHead(bytes, &head))
          return Status::Corrupted("a share of host " + std::to_string(key.id) + " cannot be decoded");
        Waits(head, true, false);
      }
      return Status::Ok();
    });
  }
  Status Users(const view::Rows& rows) {
    return view::ForEach(rows, accounts::kUsersTable, [&](const Key& key, const accounts::UserState& user) {
      if (!IsOurs(key)) return Status::Ok();
      ++totals_.users.accounts;
      totals_.users.total += user.account.total_micro;
      totals_.users.expired += user.unnamed.expired_micro;
      Account(LedgerAccount::kUser, key.id, user.account.total_micro + user.unnamed.expired_micro);
      return Status::Ok();
    });
  }
  Status WaitingForUsers(const view::Rows& rows) {
    return view::ForEach(rows, accounts::kWaitingTable,
                         [&](const Key& key, const accounts::WaitingGrant& one) {
                           if (!IsOurs(key)) return Status::Ok();
                           wire::GrantHead head;
                           if (!wire::DecodeGrantHead(one.bytes, &head))
                             return Status::Corrupted("a grant that waits for user " +
                                                      std::to_string(key.id) + " cannot be decoded");
                           Waits(head, true, true);
                           return Status::Ok();
                         });
  }
  // `order: lockstep`: these grants are in the ledger and are applied at the next barrier.
  Status WaitingForPeriod(const view::Rows& rows) {
    return view::ForEach(rows, accounts::kBufferedTable, [&](const Key&, const accounts::BufferedGrant& one) {
      if (one.project != project_.value) return Status::Ok();
      wire::GrantHead head;
      if (!wire::DecodeGrantHead(one.bytes, &head))
        return Status::Corrupted("a grant that waits for the end of its period cannot be decoded");
      const bool opening_of_host = head.kind == wire::GrantKind::kOpening && head.host;
      Waits(head, one.to_host && head.host, one.to_user && head.user && !opening_of_host);
      return Status::Ok();
    });
  }
  // The state decides which opening balances of teams count: TEAMS applies an opening before its record is
  // among the grants.
  Status Teams(const view::Rows& rows) {
    return view::ForEach(rows, teams::kTeamsTable, [&](const Key& key, const teams::TeamState& team) {
      if (!IsOurs(key)) return Status::Ok();
      ++totals_.teams.accounts;
      totals_.teams.total += team.account.total_micro;
      Account(LedgerAccount::kTeam, key.id, team.account.total_micro - team.account.opening_micro);
      if (!team.opening.is_set()) return Status::Ok();
      credit::MicroTotal opening = 0;
      if (const LedgerSums::Entry* entry = Find(LedgerAccount::kTeamOpening, key.id)) opening += entry->micro;
      if (const auto late = late_openings_.find(key.id); late != late_openings_.end())
        opening += late->second;
      totals_.teams.opening += opening;
      if (opening != team.account.opening_micro)
        Differs(Named(LedgerAccount::kTeamOpening, key.id), team.account.opening_micro - opening);
      return Status::Ok();
    });
  }
  Status PostingsWaiting(const view::Rows& rows) {
    return view::ForEach(rows, teams::kBufferedTable, [&](const Key&, const teams::BufferedPosting& one) {
      wire::Posting posting;
      if (!wire::DecodePosting(one.bytes, &posting))
        return Status::Corrupted("a posting that waits for the end of its period cannot be decoded");
      if (posting.project == project_)
        Wait(LedgerAccount::kTeam, totals_.teams, posting.team.value, posting.credit_micro);
      return Status::Ok();
    });
  }

  void LookAtTheRest() {
    for (const LedgerSums::Entry& entry : sums_.entries())
      if (entry.project == project_.value && entry.account != LedgerAccount::kTeamOpening && entry.micro != 0)
        Differs(Named(entry.account, entry.id), -entry.micro);
  }

  const StateSnapshot& snapshot_;
  const ProjectId project_;
  LedgerSums& sums_;
  exports::LedgerTotals totals_;
  std::map<std::uint64_t, credit::MicroTotal> late_openings_;  // by team
  std::uint64_t differing_ = 0;
  std::string first_;
};

}  // namespace

Result<exports::LedgerTotals> Reconcile(const StateSnapshot& snapshot, ProjectId project, LedgerSums& sums) {
  return Reconciler(snapshot, project, sums).Run();
}

}  // namespace cobblestone::audit
