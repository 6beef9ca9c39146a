#include "services/audit/audit_snapshot.h"

#include "common/wire/ledger/counted.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/accounts/accounts_stage.h"
#include "services/claims/state.h"
#include "services/teams/teams_stage.h"

namespace cobblestone::audit {
namespace {

using stream::Key;

class Taker {
 public:
  Taker(std::uint32_t partition, const AuditedState& state, bool folded, AccountBalance& balance)
      : partition_(partition), state_(state), folded_(folded), balance_(balance) {
    taken_.grants_end = state.grants_end;
    taken_.postings_end = state.postings_end;
  }

  Result<AuditSnapshot> Run() {
    const auto meta = state_.accounts.Meta();
    if (!meta.ok()) return meta.status();
    taken_.rules_version = meta->rules_version;
    for (const auto walk :
         {&Taker::Pending, &Taker::Hosts, &Taker::Moves, &Taker::Users, &Taker::WaitingForUsers,
          &Taker::WaitingForPeriod, &Taker::Teams, &Taker::PostingsForPeriod}) {
      if (Status s = (this->*walk)(); !s.ok()) return s;
      if (!balance_.status().ok()) return balance_.status();
    }
    return std::move(taken_);
  }

 private:
  [[nodiscard]] AccountBalance::Account Of(AuditedAccount kind, std::uint32_t project,
                                           std::uint64_t id) const {
    return {.partition = partition_, .kind = kind, .project = project, .id = id};
  }
  static AuditedSum SumOf(const wire::GrantHead& head) {
    return {.micro = head.credit_micro, .grants = wire::CountedBy(head)};
  }
  // A grant that is in the ledger, but not yet in the user's total.
  void WaitsForUser(const wire::GrantHead& head) {
    balance_.AddState(Of(AuditedAccount::kUser, head.project.value, head.user.value), SumOf(head));
    if (const credit::MicroTotal change = ProvisionalChange(head); change != 0)
      balance_.AddState(Of(AuditedAccount::kProvisional, head.project.value, head.user.value),
                        {.micro = change});
  }
  void WaitsForHost(const wire::GrantHead& head) {
    balance_.AddHeld(Of(AuditedAccount::kHost, head.project.value, head.host.value), SumOf(head));
  }

  Status Pending() {
    return view::ForEach(state_.claims, claims::kPendingTable, [&](const Key&, const claims::Pending& one) {
      taken_.waiting_results += one.completion.empty() != one.validation.empty() ? 1 : 0;
      return Status::Ok();
    });
  }
  Status Hosts() {
    return view::ForEach(
        state_.accounts, accounts::kHostsTable, [&](const Key& key, const accounts::HostAccount& host) {
          // The credit that the host gave to the host that it has become was its own before.
          const accounts::HostMerge& merge = host.merge;
          balance_.AddState(Of(AuditedAccount::kHost, key.project, key.id),
                            {.micro = host.account.total_micro + merge.given_micro,
                             .grants = host.account.grants + merge.given_grants});
          if (merge.done)
            balance_.AddHeld(Of(AuditedAccount::kHost, key.project, merge.into.value),
                             {.micro = -merge.given_micro, .grants = 0 - merge.given_grants});
          return Status::Ok();
        });
  }
  // All credit that came here for the host is in the account, waits for it, or was sent on.
  Status Moves() {
    return view::ForEach(
        state_.accounts, accounts::kMovesTable, [&](const Key& key, const accounts::HostMoves& moves) {
          AuditedSum all{.micro = moves.sent_micro, .grants = moves.sent_grants};
          for (const std::string& bytes : moves.waiting) {
            wire::GrantHead head;
            if (!wire::DecodeGrantHead(bytes, &head)) continue;
            all.micro += head.credit_micro;
            all.grants += wire::CountedBy(head);
          }
          balance_.AddState(Of(AuditedAccount::kHost, key.project, key.id), all);
          if (moves.sent > 0)
            taken_.sent[{key.project, key.id}] = {moves.sent, {moves.sent_micro, moves.sent_grants}};
          return Status::Ok();
        });
  }
  Status Users() {
    return view::ForEach(
        state_.accounts, accounts::kUsersTable, [&](const Key& key, const accounts::UserState& user) {
          const auto of = [&](AuditedAccount kind) { return Of(kind, key.project, key.id); };
          balance_.AddState(of(AuditedAccount::kUser),
                            {.micro = user.account.total_micro, .grants = user.account.grants});
          const credit::MicroTotal provisional =
              user.account.provisional_micro + user.unnamed.expired_provisional;
          if (provisional != 0) balance_.AddState(of(AuditedAccount::kProvisional), {.micro = provisional});
          if (user.unnamed.expired_end == 0) return Status::Ok();
          balance_.AddState(of(folded_ ? AuditedAccount::kUser : AuditedAccount::kExpired),
                            {.micro = user.unnamed.expired_micro, .grants = user.unnamed.expired});
          taken_.unnamed[{key.project, key.id}] = user.unnamed;
          return Status::Ok();
        });
  }
  Status WaitingForUsers() {
    return view::ForEach(state_.accounts, accounts::kWaitingTable,
                         [&](const Key&, const accounts::WaitingGrant& waiting) {
                           wire::GrantHead head;
                           if (!wire::DecodeGrantHead(waiting.bytes, &head)) return Status::Ok();
                           ++taken_.waiting_grants;
                           WaitsForUser(head);
                           WaitsForHost(head);
                           return Status::Ok();
                         });
  }
  // `order: lockstep`: these grants are applied at the next barrier.
  Status WaitingForPeriod() {
    return view::ForEach(state_.accounts, accounts::kBufferedTable,
                         [&](const Key&, const accounts::BufferedGrant& one) {
                           wire::GrantHead head;
                           if (!wire::DecodeGrantHead(one.bytes, &head)) return Status::Ok();
                           if (one.to_host && head.host) WaitsForHost(head);
                           if (one.to_user && head.user && (wire::IsAward(head.kind) || !head.host))
                             WaitsForUser(head);
                           return Status::Ok();
                         });
  }
  Status Teams() {
    return view::ForEach(state_.teams, teams::kTeamsTable, [&](const Key& key, const teams::TeamState& team) {
      balance_.AddState(
          Of(AuditedAccount::kTeam, key.project, key.id),
          {.micro = team.account.total_micro - team.account.opening_micro, .grants = team.account.grants});
      return Status::Ok();
    });
  }
  Status PostingsForPeriod() {
    return view::ForEach(
        state_.teams, teams::kBufferedTable, [&](const Key&, const teams::BufferedPosting& one) {
          wire::Posting posting;
          if (!wire::DecodePosting(one.bytes, &posting)) return Status::Ok();
          balance_.AddState(Of(AuditedAccount::kTeam, posting.project.value, posting.team.value),
                            {.micro = posting.credit_micro, .grants = wire::CountedBy(posting)});
          return Status::Ok();
        });
  }

  const std::uint32_t partition_;
  const AuditedState& state_;
  const bool folded_;
  AccountBalance& balance_;
  AuditSnapshot taken_;
};

}  // namespace

credit::MicroTotal ProvisionalChange(const wire::GrantHead& head) {
  return wire::ProvisionalOf(head) - head.settles_micro;
}

Result<AuditSnapshot> TakeSnapshot(std::uint32_t partition, const AuditedState& state, bool folded,
                                   AccountBalance& balance) {
  return Taker(partition, state, folded, balance).Run();
}

}  // namespace cobblestone::audit
