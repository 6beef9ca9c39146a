#include "services/audit/merge_audit.h"

#include <optional>
#include <utility>

#include "common/stream/state_codec.h"
#include "services/accounts/accounts_stage.h"

namespace cobblestone::audit {
namespace {

using stream::Key;

std::string Name(const std::pair<std::uint32_t, std::uint64_t>& host) {
  return "host " + std::to_string(host.second) + " of project " + std::to_string(host.first);
}

}  // namespace

Status MergeAudit::Look(std::uint32_t partition, bool lockstep, const view::Rows& rows) {
  using accounts::HostAccount;
  Status s = view::ForEach(rows, accounts::kHostsTable, [&](const Key& key, const HostAccount& host) {
    if (!host.merge.done) return Status::Ok();
    const OfHost of{key.project, key.id};
    done_[{partition, of}] = host.merge.into.value;
    became_[of].push_back(host.merge.into.value);
    heirs_[{partition, {key.project, host.merge.into.value}}];
    return Status::Ok();
  });
  if (!s.ok()) return s;
  const auto find = [&](std::uint32_t project, std::uint64_t host) {
    return view::Find(rows, accounts::kHostsTable, Key{.project = project, .id = host, .sub = 0});
  };
  s = view::ForEach(
      rows, accounts::kMergesTable, [&](const Key& heir, const accounts::WaitingMerges& row) -> Status {
        const auto takes = find(heir.project, heir.id);
        if (!takes.ok()) return takes.status();
        for (const accounts::WaitingMerge& one : row.hosts) {
          wire::Grant record;
          if (!wire::DecodeGrant(one.bytes, &record)) record.into = {};
          const auto host = find(heir.project, one.host);
          if (!host.ok()) return host.status();
          const auto is_here = [](const std::optional<HostAccount>& account) {
            return account && !account->elsewhere;
          };
          const bool both_are_here = is_here(*host) && is_here(*takes);
          waiting_[{partition, {heir.project, one.host}}] = {
              .user = one.user,
              .into = record.into.value,
              .heir = heir.id,
              .ready =
                  !lockstep && (heir.id == one.host || (both_are_here && (*takes)->user.value == one.user))};
        }
        return Status::Ok();
      });
  if (!s.ok()) return s;
  return view::ForEach(rows, accounts::kMovesTable,
                       [&](const Key& key, const accounts::HostMoves& moves) -> Status {
                         const auto host = find(key.project, key.id);
                         if (!host.ok()) return host.status();
                         const Here here{partition, {key.project, key.id}};
                         places_[here] = {.due = moves.due,
                                          .elsewhere = *host && (*host)->elsewhere,
                                          .user = *host ? (*host)->user : UserId(),
                                          .leaving = moves.leaving};
                         if (*host && (*host)->merge.done) ended_.insert(here);
                         return Status::Ok();
                       });
}

void MergeAudit::Move(const wire::GrantHead& head, Place& place) const {
  const auto send = [&] {
    place.elsewhere = true;
    place.user = {};
  };
  switch (head.kind) {
    case wire::GrantKind::kHostComes:
      place.elsewhere = true;
      ++place.due;
      return;
    case wire::GrantKind::kHostLeaves:
      if (place.elsewhere) return place.leaving.push_back(head.user);
      return send();
    default:
      if (place.due > 0) --place.due;
      place.elsewhere = false;
      place.user = head.user;
      if (place.leaving.empty()) return;
      place.leaving.erase(place.leaving.begin());
      send();
  }
}

void MergeAudit::Take(const wire::Grant& grant, std::uint32_t partition, bool behind) {
  const wire::GrantHead& head = grant.head;
  const OfHost host{head.project.value, head.host.value};
  using wire::GrantKind;
  if (behind) {
    if (head.kind == GrantKind::kHostMerged) later_[host] = grant.into.value;
    return;
  }
  if (head.kind == GrantKind::kHostComes || head.kind == GrantKind::kHostLeaves ||
      head.kind == GrantKind::kHostAccount)
    Move(head, moved_[{partition, host}]);
  const bool shows = head.host && head.user && head.kind != GrantKind::kEstimate &&
                     head.kind != GrantKind::kHostComes && head.kind != GrantKind::kHostLeaves &&
                     head.kind != GrantKind::kHostOthers && !wire::IsNote(head.kind);
  if (shows && !heirs_.empty())
    if (const auto heir = heirs_.find({partition, host}); heir != heirs_.end())
      heir->second.insert(head.user.value);
  if (head.kind != GrantKind::kHostMerged) return;
  const bool first =
      merges_
          .try_emplace(host, Merge{.partition = partition, .user = head.user.value, .into = grant.into.value})
          .second;
  if (!first) problem_(Name(host) + ": the ledger has two merges of this host");
}

void MergeAudit::TakeRefused(const wire::Refused& refused, bool before) {
  wire::Grant record;
  if (refused.topic != "grants" || !wire::DecodeGrant(refused.original, &record) ||
      record.head.kind != wire::GrantKind::kHostMerged)
    return;
  const auto merge = merges_.find({record.head.project.value, record.head.host.value});
  if (merge == merges_.end()) return;  // the state has not read the merge
  auto& [host, recorded] = *merge;
  if (recorded.user != record.head.user.value || recorded.into != record.into.value)
    return problem_(Name(host) + ": the refused record is not the record of the merge into host " +
                    std::to_string(recorded.into));
  if (recorded.refused != Refusal::kNone) problem_(Name(host) + ": the merge was refused twice");
  recorded.refused = before ? Refusal::kBefore : Refusal::kLately;
}

bool MergeAudit::Leads(const OfHost& host, std::uint64_t into, std::uint64_t to) const {
  std::set<std::uint64_t> seen{host.second};
  std::vector<std::uint64_t> next{into};
  while (!next.empty()) {
    const std::uint64_t one = next.back();
    next.pop_back();
    if (!seen.insert(one).second) continue;
    if (one == to) return true;
    const OfHost key{host.first, one};
    if (const auto merge = merges_.find(key); merge != merges_.end()) next.push_back(merge->second.into);
    if (const auto later = later_.find(key); later != later_.end()) next.push_back(later->second);
    if (const auto became = became_.find(key); became != became_.end())
      next.insert(next.end(), became->second.begin(), became->second.end());
  }
  return false;
}

void MergeAudit::CheckMerge(const OfHost& host, const Merge& merge) {
  const Here here{merge.partition, host};
  const std::string name = Name(host) + ", to be merged into host " + std::to_string(merge.into);
  const auto done = done_.find(here);
  const auto waits = waiting_.find(here);
  const bool is_done = done != done_.end();
  const bool is_waiting = waits != waiting_.end();
  if (is_done && is_waiting) problem_(name + ": is merged, but also waits");
  if (is_done && merge.refused != Refusal::kNone) problem_(name + ": is merged, but was also refused");
  if (is_waiting && merge.refused == Refusal::kBefore) problem_(name + ": waits, but was refused");
  if (!is_done && !is_waiting && merge.refused == Refusal::kNone)
    problem_(name + ": is neither merged, nor waiting, nor refused");
  if (is_done) {
    if (!Leads(host, merge.into, done->second))
      problem_(name + ": is merged into host " + std::to_string(done->second) +
               ", which is not on the chain of merges");
    else if (!continues_ && !heirs_.at({merge.partition, {host.first, done->second}}).contains(merge.user))
      problem_(name + ": is merged into host " + std::to_string(done->second) +
               ", which the ledger does not have as a host of user " + std::to_string(merge.user));
  }
  if (!is_waiting) return;
  if (waits->second.user != merge.user || waits->second.into != merge.into ||
      (waits->second.heir != host.second && !Leads(host, merge.into, waits->second.heir)))
    problem_(name + ": waits for host " + std::to_string(waits->second.heir) + " of user " +
             std::to_string(waits->second.user) + ", by a record that is not in the ledger");
  if (waits->second.ready)
    problem_(name + ": waits for host " + std::to_string(waits->second.heir) +
             ", but both hosts are here for user " + std::to_string(merge.user));
}

void MergeAudit::CheckPlaces() {
  for (const auto& [here, place] : moved_) places_.try_emplace(here);
  for (const auto& [here, place] : places_) {
    if (ended_.contains(here)) continue;
    const auto& [partition, host] = here;
    const auto text = [](const Place& one) {
      return one.elsewhere ? "elsewhere, with " + std::to_string(one.due) + " records to arrive and " +
                                 std::to_string(one.leaving.size()) + " to leave"
                           : "here, of user " + std::to_string(one.user.value);
    };
    const Place& by_ledger = moved_[here];
    if (place.elsewhere != by_ledger.elsewhere || place.due != by_ledger.due ||
        place.leaving != by_ledger.leaving || (!place.elsewhere && place.user != by_ledger.user))
      problem_(Name(host) + ": in partition " + std::to_string(partition) + " the account is " + text(place) +
               ", but by the ledger " + text(by_ledger));
  }
}

std::string MergeAudit::Save() const {
  Saved saved;
  for (const auto& [host, merge] : merges_) {
    saved.merges.push_back({host.first, host.second, merge});
    // The next audit reads what was refused during this one again.
    if (merge.refused == Refusal::kLately) saved.merges.back().merge.refused = Refusal::kNone;
  }
  for (const auto& [here, place] : moved_)
    saved.places.push_back({here.first, here.second.first, here.second.second, place});
  std::string bytes;
  stream::EncodeState(saved, bytes);
  return bytes;
}

bool MergeAudit::Continue(std::string_view bytes) {
  Saved saved;
  stream::StateReader reader(bytes);
  reader(saved);
  if (!reader.done()) return false;
  continues_ = true;
  for (const SavedMerge& one : saved.merges) merges_[{one.project, one.host}] = one.merge;
  for (SavedPlace& one : saved.places)
    moved_[{one.partition, {one.project, one.host}}] = std::move(one.place);
  return true;
}

void MergeAudit::Check() {
  for (const auto& [host, merge] : merges_) {
    refused_ += merge.refused != Refusal::kNone ? 1 : 0;
    CheckMerge(host, merge);
  }
  const auto has_record = [&](const Here& here) {
    const auto merge = merges_.find(here.second);
    return merge != merges_.end() && merge->second.partition == here.first;
  };
  for (const auto& [here, into] : done_)
    if (!has_record(here))
      problem_(Name(here.second) + ": is merged into host " + std::to_string(into) +
               ", but the ledger has no record of this merge");
  for (const auto& [here, one] : waiting_)
    if (!has_record(here))
      problem_(Name(here.second) + ": waits to be merged into host " + std::to_string(one.heir) +
               ", but the ledger has no record of this merge");
  CheckPlaces();
}

}  // namespace cobblestone::audit
