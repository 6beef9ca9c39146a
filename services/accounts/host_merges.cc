// Hosts that become another host: the part of AccountsStage that adds up their accounts.
#include "services/accounts/host_merges.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "common/credit/accounts/unite_accounts.h"
#include "common/credit/model/constants.h"
#include "common/wire/ledger/counted.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/accounts/accounts_stage.h"
#include "services/stage/refuse.h"

namespace cobblestone::accounts {

using stream::Emitter;
using stream::Key;

namespace {

Key HostKey(std::uint32_t project, HostId host) { return {.project = project, .id = host.value, .sub = 0}; }

}  // namespace

void AccountsStage::OnHostMerged(const stream::RecordView& record, Emitter& out) {
  wire::Grant merge;
  if (!wire::DecodeGrant(record.value, &merge))
    return out.Fail(Status::Corrupted("a merge of hosts cannot be decoded"));
  const wire::GrantHead& head = merge.head;
  bool created = false;
  HostAccount& host = hosts_.Mutable(HostKey(head.project.value, head.host), &created);
  if (created) host.user = head.user;
  // Merges into this host may have waited until a record of the ledger names it.
  if (created && !options_.lockstep) ApplyReadyMerges(HostKey(head.project.value, head.host), out);
  host.merge.into = merge.into;
  const Key target = MergeTargetOf(head.project.value, merge.into);
  const stage::ProjectView* view = projects_.Find({.project = head.project.value, .id = 0, .sub = 0});
  const double since = std::max(head.time, view != nullptr ? view->time : 0);
  merges_.Mutable(target).hosts.push_back({.host = head.host.value,
                                           .user = head.user.value,
                                           .line = merge.detail.line,
                                           .offset = record.offset,
                                           .append_time = record.append_time,
                                           .bytes = std::string(record.value),
                                           .since = since});
  if (const auto known = first_merge_.find(target.project); known != first_merge_.end())
    known->second = std::min(known->second, since);
  if (!options_.lockstep) ApplyReadyMerges(target, out);
}

// The answer whether this user owns a host into which other hosts are to be merged.
void AccountsStage::OnAnswer(const wire::GrantHead& head, Emitter& out) {
  const Key key = HostKey(head.project.value, head.host);
  if (const Key target = MergeTargetOf(key.project, head.host); merges_.Find(target) != nullptr)
    for (WaitingMerge& one : merges_.Mutable(target).hosts)
      one.answered =
          one.answered || (one.user == head.user.value && NamedTargetOf(key.project, one) == head.host);
  if (head.kind != wire::GrantKind::kHostNamed) return;
  SetOwner(key, head.user, hosts_.Mutable(key));
  if (!options_.lockstep) ApplyReadyMerges(key, out);
}

// The target that the event names. None: the row cannot be read, and the slot stops.
HostId AccountsStage::NamedTargetOf(std::uint32_t project, const WaitingMerge& merge) {
  const HostAccount* host = hosts_.Find({.project = project, .id = merge.host, .sub = 0});
  return host != nullptr ? host->merge.into : HostId();
}

// The host itself, or the host that it has become: in this partition, or in the partition that its account came
// from.
Key AccountsStage::MergeTargetOf(std::uint32_t project, HostId host) {
  Key key = HostKey(project, host);
  for (;;) {
    HostId next;
    if (const HostAccount* row = hosts_.Find(key); row != nullptr && row->merge.done) {
      next = row->merge.into;
    } else if (const JoinedHosts* joined = joined_.Find(key)) {
      next = joined->target;
    }
    if (!next) return key;
    key.id = next.value;
  }
}

bool AccountsStage::Waits(const Key& target, const WaitingMerge& merge) {
  if (target.id == merge.host) return false;  // the merge will be refused
  const HostAccount* host = hosts_.Find({.project = target.project, .id = merge.host, .sub = 0});
  if (host == nullptr || host->elsewhere) return true;
  const HostAccount* into = hosts_.Find(target);
  return into == nullptr || into->elsewhere || into->user.value != merge.user;
}

void AccountsStage::ApplyReadyMerges(const Key& target, Emitter& out) {
  while (const WaitingMerges* waiting = merges_.Find(target)) {
    const auto& hosts = waiting->hosts;
    const auto ready = std::find_if(hosts.begin(), hosts.end(),
                                    [&](const WaitingMerge& one) { return !Waits(target, one); });
    if (ready == hosts.end()) return;
    ApplyMerge(target, static_cast<std::size_t>(ready - hosts.begin()), out);
  }
}

void AccountsStage::ApplyAllMerges(Emitter& out) {
  using Place = std::tuple<std::uint64_t, std::uint64_t, Key, std::size_t>;  // line, host, target, index
  for (;;) {
    std::optional<Place> first;
    merges_.Walk([&](const Key& target, const WaitingMerges& waiting) {
      for (std::size_t i = 0; i < waiting.hosts.size(); ++i) {
        const WaitingMerge& one = waiting.hosts[i];
        const Place place{one.line, one.host, target, i};
        if ((!first || place < *first) && !Waits(target, one)) first = place;
      }
    });
    if (!first) return;
    ApplyMerge(std::get<Key>(*first), std::get<3>(*first), out);
  }
}

// Applies a merge that no longer waits for anything.
void AccountsStage::ApplyMerge(const Key& target, std::size_t at, Emitter& out) {
  const WaitingMerge merge = RemoveWaiting(target, at);
  const Key from{.project = target.project, .id = merge.host, .sub = 0};
  if (target.id == merge.host)
    return RefuseMerge(target.project, merge, wire::RefusalReason::kOutOfRange,
                       "host " + std::to_string(NamedTargetOf(target.project, merge).value) +
                           " was merged into host " + std::to_string(merge.host),
                       out);
  HostAccount& host = hosts_.Mutable(from);
  HostAccount& into = hosts_.Mutable(target);
  stage::TakeOlderDays(from, host.account.days, host_days_);
  stage::TakeOlderDays(target, into.account.days, host_days_);
  credit::Unite(host.account, into.account);
  stage::FileOlderDays(target, into.account.days, host_days_);
  into.merge.joined += 1 + std::exchange(host.merge.joined, 0u);
  host.merge.done = true;
  host.merge.into = HostId(target.id);
  host.merge.given_micro += host.account.total_micro;
  host.merge.given_grants += host.account.grants;
  host.account = {};
  host.user = UserId(merge.user);
  UniteEstimates(from, host.user);
  List(from, host, changed_hosts_);
  List(target, into, changed_hosts_);
  std::vector<HostId> joined{HostId(from.id)};
  if (const JoinedHosts* before = joined_.Find(from)) {
    joined.insert(joined.end(), before->hosts.begin(), before->hosts.end());
    joined_.Erase(from);
  }
  auto& all = joined_.Mutable(target).hosts;
  all.insert(all.end(), joined.begin(), joined.end());
  WaitFor(target, from);
}

WaitingMerge AccountsStage::RemoveWaiting(const Key& target, std::size_t at) {
  auto& waiting = merges_.Mutable(target).hosts;
  WaitingMerge merge = std::move(waiting[at]);
  waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
  if (waiting.empty()) merges_.Erase(target);
  return merge;
}

void AccountsStage::RefuseMerge(std::uint32_t project, const WaitingMerge& merge, wire::RefusalReason reason,
                                std::string detail, Emitter& out) {
  hosts_.Mutable({.project = project, .id = merge.host, .sub = 0}).merge.into = {};
  stage::Refuse({.where = {wire::kGrants, options_.partition},
                 .offset = merge.offset,
                 .append_time = merge.append_time,
                 .line = merge.line,
                 .value = merge.bytes},
                ProjectId(project), reason, std::move(detail), out);
}

// The account is on its way to this partition.
bool AccountsStage::IsDue(const Key& host) {
  const HostMoves* moves = moves_.Find(host);
  return moves != nullptr && moves->due > 0;
}

// Expires merges that have waited for a window and that no earlier event can complete, in the order (line, host),
// whatever they waited for.
bool AccountsStage::ExpireMerges(std::uint32_t project, double now, Emitter& out) {
  const auto known = first_merge_.find(project);
  if (known != first_merge_.end() && known->second + credit::kDefaultResultWindow >= now) return true;
  constexpr std::size_t kAtOnce = 10000;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, Key>> over;  // line, host, target; the first in order
  bool all = true;
  double first = std::numeric_limits<double>::infinity();
  merges_.WalkProject(project, [&](const Key& target, const WaitingMerges& waiting) {
    for (const WaitingMerge& one : waiting.hosts) {
      if (one.answered && one.since + credit::kDefaultResultWindow < now && !IsDue(target) &&
          !IsDue({.project = project, .id = one.host, .sub = 0}))
        over.emplace_back(one.line, one.host, target);
      else
        first = std::min(first, one.since);
    }
    if (over.size() < 2 * kAtOnce) return;
    std::nth_element(over.begin(), over.begin() + kAtOnce, over.end());
    over.resize(kAtOnce);
    all = false;
  });
  std::sort(over.begin(), over.end());
  for (const auto& [line, number, target] : over) {
    if (budget_.spent()) return false;
    const auto& hosts = merges_.Need(target).hosts;
    const auto at = std::find_if(hosts.begin(), hosts.end(),
                                 [id = number](const WaitingMerge& one) { return one.host == id; });
    const WaitingMerge merge = RemoveWaiting(target, static_cast<std::size_t>(at - hosts.begin()));
    budget_.Take(merge.bytes.size());
    RefuseMerge(project, merge, wire::RefusalReason::kUnknownHost,
                "host " + std::to_string(target.id) + " was not a host of user " +
                    std::to_string(merge.user) + " within 30 days: host " + std::to_string(merge.host) +
                    " keeps its account",
                out);
  }
  if (all) first_merge_[project] = first;
  return all;
}

// Merges that waited for host `instead_of`, which has become `target`, now wait for `target`.
void AccountsStage::WaitFor(const Key& target, const Key& instead_of) {
  const WaitingMerges* waiting = merges_.Find(instead_of);
  if (waiting == nullptr) return;
  const std::vector<WaitingMerge> hosts = waiting->hosts;
  merges_.Erase(instead_of);
  auto& all = merges_.Mutable(target).hosts;
  all.insert(all.end(), hosts.begin(), hosts.end());
}

// The host's account has arrived, with the list of all hosts that have become it.
void AccountsStage::AddJoined(const Key& key, std::vector<HostId> hosts) {
  if (hosts.empty()) return;
  for (const HostId host : hosts) {
    const Key one{.project = key.project, .id = host.value, .sub = 0};
    joined_.Mutable(one).target = HostId(key.id);
    WaitFor(key, one);
  }
  joined_.Mutable(key).hosts = std::move(hosts);
}

// The head of a record for a host that has become another host, addressed to that host.
wire::GrantHead AccountsStage::ForMergeTarget(const wire::GrantHead& head, HostAccount& host) {
  wire::GrantHead to = head;
  to.host = host.merge.into;
  host.merge.given_micro += head.credit_micro;
  host.merge.given_grants += wire::CountedBy(head);
  return to;
}

}  // namespace cobblestone::accounts
