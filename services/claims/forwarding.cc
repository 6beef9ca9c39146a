// Results of hosts that have become other hosts: the part of ClaimsStage that forwards their events
// (forwarding.h).
#include "services/claims/forwarding.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "common/credit/model/constants.h"
#include "common/wire/events/event_line.h"
#include "common/wire/ledger/claim_codec.h"
#include "services/claims/claims_stage.h"
#include "services/claims/kept_events.h"
#include "services/claims/keys.h"
#include "services/claims/time_outs.h"
#include "services/stage/refuse.h"

namespace cobblestone::claims {

using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;

namespace {

// No real chain of merges is this long; the limit ends a cycle of merges.
constexpr std::uint32_t kMaxHops = 16;

// The event with its host replaced.
Result<std::string> Rename(std::string_view bytes, HostId host) {
  auto event = wire::ParseEvent(bytes);
  if (!event.ok()) return event.status();
  if (auto* completion = std::get_if<wire::Completion>(&event->body)) completion->facts.host = host;
  if (auto* validation = std::get_if<credit::ValidationFacts>(&event->body)) validation->host = host;
  if (auto* dispatch = std::get_if<wire::Dispatch>(&event->body)) dispatch->facts.host = host;
  if (auto* trickle = std::get_if<wire::Trickle>(&event->body)) trickle->host = host;
  return wire::EncodeEvent(*event);
}

}  // namespace

void ClaimsStage::SendToPeer(ProjectId project, HostId to, const wire::Event& event, std::uint64_t line,
                             Emitter& out) {
  std::string bytes = wire::EncodeEvent(event);
  if (options_.lockstep) {
    bytes_.clear();
    wire::AppendWithLine(line, bytes, &bytes_);
    bytes.swap(bytes_);
    ++peer_progress_.Mutable({}).moved;
  }
  out.Emit(wire::kHosts, wire::PartitionOf(project, to.value, options_.partitions), bytes);
}

// The number of watermarks that have passed, for a record that is sent now.
std::uint64_t ClaimsStage::WatermarkCount() { return options_.lockstep ? watermarks_.passed() : 0; }

// ---- The host that has ended ---------------------------------------------------------------------------------------

// For a result of a merged host that is outstanding (`until` 0), or that is decided and remembered until
// `until` (UNIX s).
void ClaimsStage::SendHolderToMergeTarget(const Key& result, HostId host, const credit::AppRow* app,
                                          double until, std::uint64_t line, Emitter& out) {
  const HostState* state = hosts_.Find(HostKey(result.project, host));
  if (state == nullptr || !state->merge.is_set()) return;
  const OpenJob* job = jobs_.Find(result);
  const Pending* pending = pending_.Find(result);
  const bool sent = (job != nullptr && (job->priced || !job->dispatch.empty())) ||
                    (pending != nullptr && !pending->dispatch.empty());
  // If trickles of the app are paid, only the dispatch says which host the job belongs to.
  if (!sent && app != nullptr && !app->policy.trickles.empty()) return;
  SendResultHolder({.host = state->into,
                    .result = ResultId(result.id),
                    .holder = host,
                    .result_name = job == nullptr ? std::string() : job->name,
                    .until = until,
                    .sent = sent,
                    .by = {},
                    .after = WatermarkCount()},
                   ProjectId(result.project), state->merge.time, line, out);
}

void ClaimsStage::SendResultHolder(const wire::HeldResult& held, ProjectId project, double time,
                                   std::uint64_t line, Emitter& out) {
  SendToPeer(project, held.host,
             {.head = {.id = held.result.value, .project = project, .time = time}, .body = held}, line, out);
}

// For a host that has just ended: all its outstanding results, in order.
void ClaimsStage::SendHoldersToMergeTarget(ProjectId project, HostId host, std::uint64_t line, Emitter& out) {
  std::vector<Key> held;
  std::vector<Key> passed_on;
  pending_.WalkProject(project.value, [&](const Key& key, const Pending&) {
    if (key.sub == host.value) held.push_back(key);
  });
  forwarded_.WalkProject(project.value, [&](const Key& key, const ForwardedResult&) {
    if (key.sub == host.value) passed_on.push_back(key);
  });
  std::sort(held.begin(), held.end());
  std::sort(passed_on.begin(), passed_on.end());
  const stage::ProjectView* view = projects_.Find({.project = project.value, .id = 0, .sub = 0});
  const auto app = [&](std::uint64_t id) {
    return view == nullptr ? nullptr : view->catalogue.FindApp(AppId(id));
  };
  for (const Key& key : held) SendHolderToMergeTarget(key, host, app(pending_.Need(key).app), 0, line, out);
  for (const Key& key : passed_on) RelayHolder(key, forwarded_.Need(key), line, out);
  // Decided results whose trickles may still arrive.
  const HostState& state = hosts_.Need(HostKey(project.value, host));
  if (!state.has_ended_jobs) return;
  const auto send = [&](const Seen& seen) {
    if (!EndsResult(seen)) return;
    const Key key = ResultKey(project.value, seen.result, host);
    if (const OpenJob* job = jobs_.Find(key); job != nullptr && job->ended)
      SendHolderToMergeTarget(key, host, app(seen.app), RememberedUntil(project, seen), line, out);
  };
  for (const RunRange& range : state.runs)
    for (const Seen& seen : std::vector<Seen>(
             runs_.Need({.project = project.value, .id = host.value, .sub = range.number}).results))
      send(seen);
  for (const Seen& seen : state.open) send(seen);
}

// For a host that has itself become another host. Merges may form a cycle: no host is notified twice.
void ClaimsStage::RelayHolder(const Key& key, const ForwardedResult& row, std::uint64_t line, Emitter& out) {
  const HostId host(row.host);
  const HostState* state = hosts_.Find(HostKey(key.project, host));
  if (state == nullptr || !state->merge.is_set() || state->into == row.holder ||
      std::find(row.by.begin(), row.by.end(), state->into) != row.by.end())
    return;
  wire::HeldResult held{.host = state->into,
                        .result = ResultId(key.id),
                        .holder = row.holder,
                        .result_name = row.name,
                        .until = row.until,
                        .sent = row.sent,
                        .by = row.by,
                        .after = WatermarkCount()};
  held.by.push_back(host);
  SendResultHolder(held, ProjectId(key.project), state->merge.time, line, out);
}

double ClaimsStage::RememberedUntil(ProjectId project, const Seen& seen) {
  const stage::ProjectView* view = projects_.Find({.project = project.value, .id = 0, .sub = 0});
  const credit::AppRow* app = view == nullptr ? nullptr : view->catalogue.FindApp(AppId(seen.app));
  const double window = app == nullptr ? credit::kDefaultResultWindow : app->Window();
  return (seen.day + 1) * credit::kSecondsPerDay + window;
}

// ---- The merge target ----------------------------------------------------------------------------------------------

// True: the record has new facts.
bool ClaimsStage::ApplyResultHolder(ProjectId project, const wire::HeldResult& held) {
  if (held.holder == held.host) return false;
  const Key key = ResultKey(project.value, held.result.value, held.host);
  if (const Pending* pending = pending_.Find(key); pending != nullptr && !pending->dispatch.empty())
    return false;  // the result was sent to this host, too
  if (const OpenJob* job = jobs_.Find(key); job != nullptr && job->priced && IsDecided(key, held.host))
    return false;
  ForwardedResult row{.host = held.host.value,
                      .holder = held.holder,
                      .name = held.result_name,
                      .until = held.until,
                      .sent = held.sent,
                      .by = held.by};
  if (row.until > 0) WaitsFrom(project, row.until, 0);
  if (const ForwardedResult* known = forwarded_.Find(key); known != nullptr) {
    // Of two contradicting records, the record whose holder has the dispatch counts, in any order of arrival.
    const auto rank = [](const ForwardedResult& one) { return std::tuple(!one.sent, one.holder); };
    if (known->holder == held.holder) {
      if (row.name.empty()) row.name = known->name;
      row.sent = row.sent || known->sent;
    } else if (rank(*known) < rank(row)) {
      return false;
    }
    if (*known == row) return false;
  }
  forwarded_.Mutable(key) = std::move(row);
  return true;
}

bool ClaimsStage::IsDecided(const Key& result, HostId host) {
  const ProjectId project(result.project);
  const stage::ProjectView* view = projects_.Find({.project = result.project, .id = 0, .sub = 0});
  return view != nullptr && FindSeen(project, *view, host, result.id, kSeenCompletion) != nullptr;
}

// Forwards the events of a result that arrived before the notice about its holder.
void ClaimsStage::ForwardResult(const Key& key, std::uint64_t line, Emitter& out) {
  const ForwardedResult row = forwarded_.Need(key);
  const ProjectId project(key.project);
  const HostId here(row.host);
  RelayHolder(key, row, line, out);
  if (!row.name.empty()) {
    const Key name = NameKey(project, row.name, here);
    names_.Mutable(name) = {.name = row.name, .result = key.id};
    TakeWaiting(name, waiting_names_, out);
  }
  TakeWaiting(key, waiting_trickles_, out);
  if (const Pending* pending = pending_.Find(key)) {
    const Pending waiting = *pending;
    if (waiting.waits_for_host) std::erase(hosts_.Mutable(HostKey(key.project, here)).waiting, key.id);
    pending_.Erase(key);
    for (const WaitingEvent* event : {&waiting.completion, &waiting.validation})
      if (!event->empty())
        ForwardEvent(event->Record(options_.partition), project, ResultId(key.id), here, out);
  }
  if (IsDecided(key, here))
    SendToPeer(
        project, row.holder,
        {.head = {.id = key.id, .project = project, .time = 0},
         .body =
             wire::DecidedResult{
                 .host = row.holder, .result = ResultId(key.id), .named = here, .after = WatermarkCount()}},
        line, out);
}

bool ClaimsStage::ForwardEvent(const RecordView& record, ProjectId project, ResultId result, HostId named,
                               Emitter& out) {
  if (forwarded_.rows() == 0 || hops_ >= kMaxHops) [[likely]]
    return false;
  const ForwardedResult* row = forwarded_.Find(ResultKey(project.value, result.value, named));
  if (row == nullptr) return false;
  auto event = Rename(record.value, row->holder);
  if (!event.ok()) {
    out.Fail(event.status());
    return true;
  }
  SendToPeer(project, row->holder,
             {.head = {.id = result.value, .project = project, .time = 0},
              .body = wire::HandedEvent{.host = row->holder,
                                        .named = named,
                                        .after = WatermarkCount(),
                                        .event = std::move(*event),
                                        .hops = hops_}},
             record.line, out);
  return true;
}

bool ClaimsStage::ExpireForwarded(ProjectId project) {
  return expiry_.Rows(
      kForwardedExpire, forwarded_, budget_,
      [](const Key&, const ForwardedResult& row) {
        return row.until == 0 ? std::numeric_limits<double>::infinity() : row.until;
      },
      [&](const Key& key, const ForwardedResult& row) {
        const Key name = NameKey(project, row.name, HostId(row.host));
        if (const NamedResult* named = row.name.empty() ? nullptr : names_.Find(name);
            named != nullptr && named->result == key.id)
          names_.Erase(name);
        return row.name.size();
      });
}

// ---- Messages between partitions of this stage ---------------------------------------------------------------------

void ClaimsStage::OnPeerMessage(const RecordView& record, wire::Event event, Emitter& out) {
  if (!options_.lockstep) {
    const PeerMessage one{record, std::move(event)};
    return ProcessPeerMessages({&one, 1}, out);
  }
  const std::uint64_t after = std::visit(
      [](const auto& body) -> std::uint64_t {
        if constexpr (requires { body.after; }) return body.after;
        return 0;
      },
      event.body);
  PeerProgress& progress = peer_progress_.Mutable({});
  ++progress.waits;
  peer_messages_.Mutable({.project = 0, .id = progress.next++, .sub = 0}) = {
      .after = after,
      .line = record.line,
      .offset = record.offset,
      .append_time = record.append_time,
      .event = std::string(record.value)};
}

// A watermark has just passed. All records sent before the previous watermark have arrived, because no record follows a
// watermark before the watermark has passed everywhere.
void ClaimsStage::ProcessDuePeerMessages(Emitter& out) {
  if (const PeerProgress* progress = peer_progress_.Find({}); progress == nullptr || progress->waits == 0)
    return;
  const std::uint64_t passed = watermarks_.passed();
  std::vector<std::pair<Key, PeerMessageRow>> due;
  peer_messages_.Walk([&](const Key& key, const PeerMessageRow& row) {
    if (row.after + 2 <= passed) due.emplace_back(key, row);
  });
  std::sort(due.begin(), due.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.line, a.second.event, a.first) <
           std::tie(b.second.line, b.second.event, b.first);
  });
  for (const auto& [key, row] : due) peer_messages_.Erase(key);
  if (due.empty()) return;
  peer_progress_.Mutable({}).waits -= due.size();
  std::vector<PeerMessage> all;
  all.reserve(due.size());
  for (const auto& [key, row] : due) {
    auto event = wire::ParseEvent(row.event);
    if (!event.ok()) peer_messages_.Damaged(key, "an event in the row cannot be decoded");
    all.push_back({{.where = {wire::kHosts, options_.partition},
                    .offset = row.offset,
                    .append_time = row.append_time,
                    .line = row.line,
                    .value = row.event},
                   std::move(*event)});
  }
  ProcessPeerMessages(all, out);
}

void ClaimsStage::ProcessPeerMessages(std::span<const PeerMessage> all, Emitter& out) {
  std::map<Key, std::uint64_t> newly_forwarded;  // result, and the line of its notice
  for (const PeerMessage& one : all) {
    const ProjectId project = one.event.head.project;
    if (const auto* held = std::get_if<wire::HeldResult>(&one.event.body))
      if (ApplyResultHolder(project, *held))
        newly_forwarded[ResultKey(project.value, held->result.value, held->host)] = one.record.line;
  }
  for (const auto& [key, line] : newly_forwarded) ForwardResult(key, line, out);
  for (const PeerMessage& one : all)
    if (const auto* decided = std::get_if<wire::DecidedResult>(&one.event.body))
      OnDecidedResult(one.record, one.event.head, *decided, out);
  for (const PeerMessage& one : all)
    if (const auto* handed = std::get_if<wire::HandedEvent>(&one.event.body)) {
      RecordView event = one.record;
      event.value = handed->event;
      ProcessForwarded(event, handed->hops + 1, out);
    }
}

// Records that wait for their watermark count as in flight, too.
std::uint64_t ClaimsStage::CountMoved() {
  const PeerProgress* progress = peer_progress_.Find({});
  if (progress == nullptr) return 0;
  const std::uint64_t moved = progress->moved + progress->waits;
  if (progress->waits == 0)
    peer_progress_.Erase({});
  else if (progress->moved > 0)
    peer_progress_.Mutable({}).moved = 0;
  return moved;
}

// ---- The host that the result was sent to --------------------------------------------------------------------------

void ClaimsStage::ProcessForwarded(const RecordView& record, std::uint32_t hops, Emitter& out) {
  hops_ = hops;
  if (wire::DecodeHot(record.value, &event_) == wire::HotDecode::kHot) {
    if (event_.kind == wire::EventKind::kCompletion)
      OnCompletion(record, out);
    else
      OnValidation(record, out);
  } else if (const auto event = wire::ParseEvent(record.value);
             event.ok() && event->kind() == wire::EventKind::kDispatch) {
    OnDispatch(record, out);
  } else {
    OnTrickle(record, out);
  }
  hops_ = 0;
}

// The result was decided by events that name the host that this host has become. GRANTS has its grant.
void ClaimsStage::OnDecidedResult(const RecordView& record, const wire::EventHead& head,
                                  const wire::DecidedResult& decided, Emitter& out) {
  const Key key = ResultKey(head.project.value, decided.result.value, decided.host);
  const Pending* pending = pending_.Find(key);
  const stage::ProjectView* view = projects_.Find({.project = key.project, .id = 0, .sub = 0});
  if (pending == nullptr || view == nullptr) return;
  const Pending waiting = *pending;
  const std::string detail =
      "this result is decided as a result of host " + std::to_string(decided.named.value);
  for (const WaitingEvent* event : {&waiting.completion, &waiting.validation})
    if (!event->empty())
      stage::Refuse(event->Record(options_.partition), head.project, RefusalReason::kAlreadyDecided, detail,
                    out);
  const double now = std::max(waiting.since, view->time);
  credit::CompletionFacts sent{.host = decided.host, .app = AppId(waiting.app)};
  if (!waiting.dispatch.empty())
    sent = std::get<wire::Dispatch>(ParseKept<wire::Dispatch>(pending_, key, waiting.dispatch).body).facts;
  sent.received_time = std::numeric_limits<double>::infinity();  // the time of its return is unknown here
  const OpenJob* job = waiting.has_job ? jobs_.Find(key) : nullptr;
  if (job != nullptr && !job->ended) {
    credit::Claim claim{.project = head.project,
                        .result = decided.result,
                        .workunit = WorkunitId(job->workunit),
                        .host = decided.host,
                        .app = AppId(job->app),
                        .time = now,
                        .line = record.line,
                        .flags = credit::kClaimPaidBefore};
    CloseJob(key, waiting, claim);
    if (!claim.paid.empty()) {
      bytes_.clear();
      wire::EncodeClaim(claim, &bytes_);
      out.Emit(wire::kClaims, wire::WorkunitPartition(head.project, claim.workunit, options_.partitions),
               bytes_);
    }
  }
  LeaveJob(key, &waiting, sent, record.line);
  pending_.Erase(key);
  HostState& state = hosts_.Mutable(HostKey(key.project, decided.host));
  if (waiting.waits_for_host) std::erase(state.waiting, key.id);
  Remember(head.project, *view, decided.host, state,
           {.result = key.id,
            .completion_hash = 0,
            .validation_hash = 0,
            .flags = kSeenCompletion | kSeenValidation,
            .day = stream::DayOf(sent.sent_time > 0 ? sent.sent_time : waiting.since),
            .app = waiting.app},
           record.line, out);
}

}  // namespace cobblestone::claims
