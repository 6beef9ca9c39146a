// Hosts that change their owner (docs/rules.md, section 32): the part of AccountsStage that moves their accounts.
#include <algorithm>

#include "common/wire/ledger/counted.h"
#include "services/accounts/accounts_stage.h"

namespace cobblestone::accounts {

using stream::Emitter;
using stream::Key;

void AccountsStage::OnHostMove(const wire::GrantHead& head, std::string_view bytes, Emitter& out) {
  const Key key{.project = head.project.value, .id = head.host.value, .sub = 0};
  switch (head.kind) {
    case wire::GrantKind::kHostComes: {
      HostAccount& host = hosts_.Mutable(key);
      if (!host.elsewhere && (host.account.grants != 0 || host.account.total_micro != 0))
        return out.Fail(Status::Corrupted("host " + std::to_string(key.id) +
                                          " is expected to arrive, but its account is already here"));
      host.elsewhere = true;
      ++moves_.Mutable(key).due;
      return;
    }
    case wire::GrantKind::kHostLeaves:
      if (hosts_.Mutable(key).elsewhere) {
        moves_.Mutable(key).leaving.push_back(head.user);
      } else {
        SendAccount(key, head.user, out);
      }
      return;
    case wire::GrantKind::kHostAccount: return OnHostAccount(key, head, bytes, out);
    case wire::GrantKind::kHostNamed:
    case wire::GrantKind::kHostOthers: return OnAnswer(head, out);
    default: break;
  }
  wire::Grant share;
  if (!wire::DecodeGrant(bytes, &share) || !share.transfer)
    return out.Fail(Status::Corrupted("a host's share of a grant cannot be decoded"));
  share.head.kind = share.transfer->share_of;
  TakeShare(share.head, share.detail.line, out);
}

void AccountsStage::OnHostAccount(const Key& key, const wire::GrantHead& head, std::string_view bytes,
                                  Emitter& out) {
  wire::Grant record;
  if (!wire::DecodeGrant(bytes, &record) || !record.transfer)
    return out.Fail(Status::Corrupted("a host's account cannot be decoded"));
  HostMoves& moves = moves_.Mutable(key);
  HostAccount& host = hosts_.Mutable(key);
  if (moves.due == 0 || !host.elsewhere)
    return out.Fail(
        Status::Corrupted("an unexpected account of host " + std::to_string(key.id) + " arrived"));
  --moves.due;
  host.elsewhere = false;
  host.user = head.user;
  host.account = std::move(record.transfer->account);
  host.merge.joined = static_cast<std::uint32_t>(record.transfer->joined.size());
  AddJoined(key, std::move(record.transfer->joined));
  stage::FileOlderDays(key, host.account.days, host_days_);
  List(key, host, changed_hosts_);
  std::vector<std::string> waiting;
  waiting.swap(moves.waiting);
  for (const std::string& share : waiting) {
    wire::Grant grant;
    if (!wire::DecodeGrant(share, &grant)) moves_.Damaged(key, "a share in the account cannot be decoded");
    TakeShare(grant.head, grant.detail.line, out);
  }
  if (moves.leaving.empty()) return;
  const UserId next = moves.leaving.front();
  moves.leaving.erase(moves.leaving.begin());
  SendAccount(key, next, out);
}

// The host's share of a grant or opening goes to the account if it is here, or is sent after it. `line`: input
// line (lockstep).
void AccountsStage::TakeShare(const wire::GrantHead& head, std::uint64_t line, Emitter& out) {
  const Key key{.project = head.project.value, .id = head.host.value, .sub = 0};
  HostAccount& host = hosts_.Mutable(key);
  if (host.elsewhere) return PassOn(head, line, out);
  if (!options_.lockstep) return ApplyToHost(head, out);
  if (host.merge.done) return TakeShare(ForMergeTarget(head, host), line, out);
  std::string bytes;
  wire::EncodeGrant(head, {.line = line}, {}, {}, &bytes);
  Buffer({.time = head.time,
          .line = line,
          .result = head.result.value,
          .project = head.project.value,
          .host = head.host.value,
          .to_user = false,
          .bytes = std::move(bytes)});
}

void AccountsStage::PassOn(const wire::GrantHead& head, std::uint64_t line, Emitter& out) {
  const Key key{.project = head.project.value, .id = head.host.value, .sub = 0};
  HostMoves& moves = moves_.Mutable(key);
  if (moves.due > 0) {
    wire::EncodeGrant(head, {.line = line}, {}, {}, &moves.waiting.emplace_back());
    return;
  }
  moves.sent_micro += head.credit_micro;
  moves.sent_grants += wire::CountedBy(head);
  wire::GrantHead share = head;
  share.kind = wire::GrantKind::kHostShare;
  std::string bytes;
  const wire::HostTransfer transfer{.from_partition = options_.partition,
                                    .number = ++moves.sent,
                                    .share_of = head.kind,
                                    .account = {},
                                    .joined = {}};
  wire::EncodeGrant(share, {.line = line}, {}, {}, &bytes, {.transfer = &transfer});
  if (options_.lockstep) ++moved_.Mutable({}).records;
  out.Emit(wire::kGrants, wire::OwnerPartition(head.project, moves.went_to, head.host, options_.partitions),
           bytes);
}

void AccountsStage::SendAccount(const Key& key, UserId to, Emitter& out) {
  const ProjectId project(key.project);
  HostMoves& moves = moves_.Mutable(key);
  HostAccount& host = hosts_.Mutable(key);
  stage::TakeOlderDays(key, host.account.days, host_days_);
  moves.went_to = to;
  moves.sent_micro += host.account.total_micro;
  moves.sent_grants += host.account.grants;
  std::string bytes;
  std::vector<HostId> joined;
  if (const JoinedHosts* row = joined_.Find(key)) {
    joined = row->hosts;
    joined_.Erase(key);
  }
  const wire::HostTransfer transfer{.from_partition = options_.partition,
                                    .number = ++moves.sent,
                                    .share_of = wire::GrantKind::kUnknown,
                                    .account = std::move(host.account),
                                    .joined = std::move(joined)};
  wire::EncodeGrant(
      {.project = project, .user = to, .host = HostId(key.id), .kind = wire::GrantKind::kHostAccount}, {}, {},
      {}, &bytes, {.transfer = &transfer});
  if (options_.lockstep) ++moved_.Mutable({}).records;
  out.Emit(wire::kGrants, wire::OwnerPartition(project, to, HostId(key.id), options_.partitions), bytes);
  host.user = {};
  host.account = {};
  host.merge.joined = 0;
  host.elsewhere = true;
  List(key, host, changed_hosts_);
  // Lockstep: grants that arrived since the last barrier are sorted and applied at the next barrier, in the
  // partition where the host will be by then. So its account has the same bits for any number of partitions.
  if (buffered_count_ == 0) return;
  std::vector<std::uint64_t> here;
  buffered_.ForEach([&](const Key& number, const BufferedGrant& one) {
    if (one.project == key.project && one.host == key.id) here.push_back(number.id);
  });
  std::sort(here.begin(), here.end());
  for (const std::uint64_t number : here) SettlePlace(number, out);
}

// For a buffered grant: sends the host's share on if the host is not here or has become another host. A grant
// whose user is unknown waits as a whole for the user's event.
void AccountsStage::SettlePlace(std::uint64_t number, Emitter& out) {
  const Key row{.project = 0, .id = number, .sub = 0};
  const BufferedGrant& one = buffered_.Need(row);
  if (!one.to_host || one.host == 0) return;
  const HostAccount* host = hosts_.Find({.project = one.project, .id = one.host, .sub = 0});
  if (host == nullptr || !(host->elsewhere || host->merge.done)) return;
  wire::GrantHead head;
  if (!wire::DecodeGrantHead(one.bytes, &head))
    return out.Fail(Status::Corrupted("a grant cannot be decoded"));
  if (one.to_user && wire::IsAward(head.kind) && head.user) {
    const UserState* user = users_.Find({.project = head.project.value, .id = head.user.value, .sub = 0});
    if (user == nullptr || !user->known()) return;
  }
  const std::uint64_t line = one.line;
  buffered_.Mutable(row).to_host = false;
  TakeShare(head, line, out);
}

}  // namespace cobblestone::accounts
