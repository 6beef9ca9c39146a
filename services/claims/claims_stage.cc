#include "services/claims/claims_stage.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/credit/accounts/account.h"
#include "common/credit/policies/policy.h"
#include "common/credit/policies/worth_if_valid.h"
#include "common/wire/control/control_codec.h"
#include "common/wire/control/sample_source.h"
#include "common/wire/control/scale_codec.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_check.h"
#include "common/wire/events/event_line.h"
#include "common/wire/events/facts.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/claims/kept_events.h"
#include "services/claims/keys.h"
#include "services/claims/sendings.h"
#include "services/claims/time_outs.h"
#include "services/stage/inbox.h"
#include "services/stage/refuse.h"

namespace cobblestone::claims {

using stream::DayOf;
using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;

namespace {

// Tables of the calendar and of watermarks.
enum TableId : std::uint8_t { kDaysTable = 5, kChunksTable = 6, kWatermarkTable = 8 };

// Results in a closed run: a look-up that reads a run reads half a kilobyte.
constexpr std::size_t kRunResults = 32;

// Hosts examined with each tick, and with each commit while an ended day is left.
constexpr std::size_t kForgetAtTick = 500;
constexpr std::size_t kForgetAtCommit = 20;

// The start of a result's window: its sent time, or the event's time if the project sends no sent times.
double WindowBegin(const credit::CompletionFacts& facts) {
  return facts.sent_time > 0 ? facts.sent_time : facts.event_time;
}

bool TooLate(double begin, const stage::ProjectView& view, AppId app) {
  return begin < view.HorizonOf(app).results;
}

constexpr const char* kTooLong = "the result was sent before the earliest remembered state of its app";

// Every result of the run is too late to be repeated.
bool IsOver(const RunRange& run, const stage::ProjectView& view) {
  if (run.app != 0) return run.day < DayOf(view.HorizonOf(AppId(run.app)).results);
  return std::all_of(view.horizons.begin(), view.horizons.end(),
                     [&run](const auto& app) { return run.day < DayOf(app.second.results); });
}

// The last day on which the run is remembered, if no window changes.
std::int32_t LastDay(const RunRange& run, const stage::ProjectView& view) {
  double window = 0;
  for (const auto& [id, app] : view.catalogue.apps)
    if (run.app == 0 || run.app == id) window = std::max(window, app.Window());
  return DayOf((run.day + 1) * credit::kSecondsPerDay + window);
}

}  // namespace

std::vector<stream::TopicPartition> ClaimsStage::Inputs(std::uint32_t partition) {
  return {{wire::kControl, partition},     {wire::kHosts, partition},       {wire::kDispatches, partition},
          {wire::kCompletions, partition}, {wire::kValidations, partition}, {wire::kTrickles, partition}};
}

ClaimsStage::ClaimsStage(const ClaimsOptions& options, stream::TableHost& tables)
    : options_(options),
      hosts_(tables, kHostsTable, false),
      runs_(tables, kRunsTable, false),
      pending_(tables, kPendingTable, false),
      jobs_(tables, kJobsTable, false),
      names_(tables, kNamesTable, false),
      waiting_trickles_(tables, kWaitingTricklesTable, false),
      waiting_names_(tables, kWaitingNamesTable, false),
      openings_(tables, kOpeningsTable, false),
      profiles_(tables, kProfileTable, false),
      facts_(tables, kFactsTable, false),
      projects_(tables, kProjectsTable, true),
      forwarded_(tables, kForwardedTable, false),
      peer_messages_(tables, kPeerMessagesTable, false),
      peer_progress_(tables, kPeerProgressTable, true),
      releasing_(tables, kReleasingTable, true),
      machines_(options.partition, options.partitions, tables),
      calendar_(tables, kDaysTable, kChunksTable),
      watermarks_(tables, kWatermarkTable, 0, kTrickles),
      budget_(options.rows_per_commit) {
  hosts_.MarkHot();
  pending_.MarkWaiting("results");
  waiting_trickles_.MarkWaiting("trickles");
  waiting_names_.MarkWaiting("trickles");
  openings_.MarkWaiting("openings");
  forwarded_.MarkWaiting("results_of_merged_hosts");
  peer_messages_.MarkWaiting("events_of_merged_hosts");
}

std::vector<stream::TableBase*> ClaimsStage::tables() {
  std::vector<stream::TableBase*> all = {&hosts_,         &runs_,
                                         &pending_,       &jobs_,
                                         &names_,         &waiting_trickles_,
                                         &waiting_names_, &openings_,
                                         &profiles_,      &facts_,
                                         &projects_,      &forwarded_,
                                         &peer_messages_, &peer_progress_,
                                         &releasing_,     watermarks_.table()};
  for (stream::TableBase* table : machines_.tables()) all.push_back(table);
  for (stream::TableBase* table : calendar_.tables()) all.push_back(table);
  return all;
}

Status ClaimsStage::Opened() {
  projects_.ForEach([this](const Key& key, const stage::ProjectView& view) {
    calendar_.SetToday(key.project, DayOf(view.time));
  });
  watermarks_.Opened();
  return Status::Ok();
}

void ClaimsStage::Process(std::size_t input, const RecordView& record, Emitter& out) {
  if (input == kControl) return OnControl(record, out);
  if (wire::HasLine(record.value)) [[unlikely]]
    return OnOutside(input, wire::WithoutLine(record), out);
  OnOutside(input, record, out);
}

// Events from outside the pipeline.
void ClaimsStage::OnOutside(std::size_t input, const RecordView& record, Emitter& out) {
  switch (input) {
    case kHosts: return OnMember(record, out);
    case kDispatches: return OnDispatch(record, out);
    case kCompletions:
    case kValidations: {
      // Bytes that are no Envelope are routed to the topic of completions (wire::RouteEvent). On both topics the kind
      // of a record decides, not its topic.
      switch (wire::DecodeHot(record.value, &event_)) {
        case wire::HotDecode::kMalformed:
          return stage::Refuse(record, {}, RefusalReason::kUndecodable, "not an Envelope", out);
        case wire::HotDecode::kOther:
          return OnOther(input, record, "events of this kind are not allowed on this topic", out);
        case wire::HotDecode::kHot: break;
      }
      if (auto refusal = wire::CheckEvent(event_))
        return stage::Refuse(record, event_.head.project, refusal->reason, std::move(refusal->detail), out);
      return event_.kind == wire::EventKind::kCompletion ? OnCompletion(record, out)
                                                         : OnValidation(record, out);
    }
    default: return OnTrickle(record, out);
  }
}

void ClaimsStage::OnOther(std::size_t input, const RecordView& record, std::string detail, Emitter& out) {
  if (const auto event = wire::ParseEvent(record.value); event.ok())
    if (const auto* watermark = std::get_if<wire::Watermark>(&event->body))
      return OnWatermark(input, *watermark, out);
  stage::Refuse(record, {}, RefusalReason::kNotSupported, std::move(detail), out);
}

const stage::ProjectView* ClaimsStage::Admit(const RecordView& record, const wire::EventHead& head, AppId app,
                                             Emitter& out) {
  if (auto refusal = stage::FromTheFuture(record, head.time, options_.future_limit)) {
    stage::Refuse(record, head.project, refusal->reason, std::move(refusal->detail), out);
    return nullptr;
  }
  const stage::ProjectView* view = projects_.Find(ProjectKey(head.project));
  if (view == nullptr || view->catalogue.FindApp(app) == nullptr) {
    stage::Refuse(record, head.project, RefusalReason::kUnknownApp, "app " + std::to_string(app.value), out);
    return nullptr;
  }
  return view;
}

// ---- Control, members ----------------------------------------------------------------------------------------------

void ClaimsStage::OnControl(const RecordView& record, Emitter& out) {
  const auto control = stage::ReadControl(record, watermarks_, out);
  if (!control) return;
  if (control->kind == wire::ControlKind::kWatermark) return PassWatermarks(out);
  const ProjectId project = control->head.project;
  if (Status s = stage::ApplyControl(*control, projects_.Mutable(ProjectKey(project))); !s.ok())
    return out.Fail(std::move(s));
  if (control->kind == wire::ControlKind::kEvent) {
    first_due_.erase(project.value);  // a window may have changed
    if (const auto event = wire::ParseEvent(control->body); event.ok())
      if (const auto* settings = std::get_if<wire::SettingsChange>(&event->body))
        machines_.OnSettings(project, *settings);
  }
  // Claims from here on are made under this catalogue and these scales.
  EmitPassed({.source = options_.partition, .control = control->head.number}, out);
}

void ClaimsStage::EmitPassed(const wire::Passed& passed, Emitter& out) {
  bytes_.clear();
  wire::EncodePassed(wire::PassedIn::kClaim, passed, &bytes_);
  for (std::uint32_t p = 0; p < options_.partitions; ++p) out.Emit(wire::kClaims, p, bytes_);
  out.Cut(wire::kClaims);  // GRANTS may have to wait here
}

void ClaimsStage::OnWatermark(std::size_t input, const wire::Watermark& watermark, Emitter& out) {
  watermarks_.OnOutside(input - kHosts, watermark.number);
  PassWatermarks(out);
}

void ClaimsStage::PassWatermarks(Emitter& out) {
  while (const auto watermark = watermarks_.Begin()) {
    if (!Pass(*watermark, out)) return;
    watermarks_.End();
  }
}

bool ClaimsStage::Pass(const wire::Watermark& watermark, Emitter& out) {
  if (options_.lockstep) ProcessDuePeerMessages(out);
  const auto projects = stage::MovedBy(watermark, projects_);
  for (const std::uint32_t project : projects) {
    stage::MoveTime(watermark.time, projects_.Mutable(ProjectKey(ProjectId(project))));
    if (!Expire(ProjectId(project), watermark.time, out)) return false;
  }
  for (const std::uint32_t project : projects) {
    calendar_.SetToday(project, DayOf(watermark.time));
    Forget(kForgetAtTick);
  }
  if (watermark.time > 0 || options_.lockstep) {
    // All records before the watermark have been processed: emits the samples so far, then the watermark.
    EmitSamples(out);
    bytes_.clear();
    wire::AppendSampleSource(options_.partition, watermark.number, &bytes_);
    out.Emit(wire::kSamples, 0, bytes_);
  }
  stream::Passed passed{.source = options_.partition, .watermark = watermark.number};
  if (options_.lockstep && watermark.barrier != 0) passed.moved = CountMoved();
  EmitPassed(passed, out);
  return true;
}

void ClaimsStage::OnMember(const RecordView& record, Emitter& out) {
  auto event = wire::ParseEvent(record.value);
  if (!event.ok())
    return stage::Refuse(record, {}, RefusalReason::kUndecodable, event.status().message(), out);
  if (const auto* watermark = std::get_if<wire::Watermark>(&event->body))
    return OnWatermark(kHosts, *watermark, out);
  const ProjectId project = event->head.project;
  if (auto refusal = wire::CheckEvent(*event))
    return stage::Refuse(record, project, refusal->reason, std::move(refusal->detail), out);
  if (const auto* asked = std::get_if<wire::HostAsked>(&event->body))
    return OnOwnerQuestion(event->head, *asked, out);
  if (event->kind() >= wire::EventKind::kHeldResult && event->kind() <= wire::EventKind::kDecidedResult)
    return OnPeerMessage(record, std::move(*event), out);
  if (auto refusal = stage::FromTheFuture(record, event->head.time, options_.future_limit))
    return stage::Refuse(record, project, refusal->reason, std::move(refusal->detail), out);
  if (const auto* member = std::get_if<wire::HostMember>(&event->body))
    return OnHost(record, event->head, *member, out);
  if (const auto* merge = std::get_if<wire::HostMerge>(&event->body))
    return OnMerge(record, event->head, *merge, out);
  if (const auto* reversal = std::get_if<wire::JobReversal>(&event->body))
    return OnJobReversal(record, event->head, *reversal, out);
  if (const auto* repricing = std::get_if<wire::JobRepricing>(&event->body))
    return OnJobRepricing(record, event->head, *repricing, out);
  if (const auto* opening = std::get_if<wire::OpeningHostVersion>(&event->body))
    return OnOpeningRow(record, event->head, *opening, out);
  if (const auto* opening = std::get_if<wire::OpeningTotal>(&event->body))
    return OnOpeningTotal(record, event->head, *opening, out);
  if (auto* facts = std::get_if<wire::AccountFacts>(&event->body))
    return OnFacts(record, event->head, std::move(*facts), out);
  if (const auto* machine_host = std::get_if<wire::MachineHost>(&event->body))
    return machines_.OnMachineHost(record, event->head, *machine_host, out);
  if (const auto* report = std::get_if<wire::EstimatedCredit>(&event->body)) {
    const stage::ProjectView* view = projects_.Find(ProjectKey(project));
    if (view == nullptr)  // event time does not advance: the event would wait forever
      return stage::Refuse(record, project, RefusalReason::kUnknownApp, "the project has no apps", out);
    if (const auto since = machines_.OnReport(record, event->head, *report, view->time, out))
      WaitsFrom(project, *since, credit::kDefaultResultWindow);
    return;
  }
  stage::Refuse(record, project, RefusalReason::kNotSupported,
                "events of this kind are not allowed on this topic", out);
}

void ClaimsStage::OnHost(const RecordView& record, const wire::EventHead& head,
                         const wire::HostMember& member, Emitter& out) {
  const Key key = HostKey(head.project, member.host);
  const wire::EventStamp stamp = wire::StampOf(head, record.value);
  const wire::HostProfile shown = stage::ShownOf(member);
  wire::FieldMask news = member.Sets();
  bool is_newest = true;
  if (const HostState* known = hosts_.Find(key)) {
    const wire::StampOrder standing = wire::CompareStamps(stamp, known->member);
    if (standing == wire::StampOrder::kOtherContents)
      return stage::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                           "another event of this host has this id", out);
    is_newest = standing == wire::StampOrder::kNewer;
    news = wire::NewerFields(stamp, news, known->member, known->earlier);
    if (standing == wire::StampOrder::kOlder)
      stage::TakeProfile(stamp, member.deleted, shown, known->record.deleted || known->merge.is_set(), key,
                         profiles_);
    if (!is_newest && news == 0) {
      ++duplicates_;
      return;
    }
  }
  HostState& state = hosts_.Mutable(key);
  wire::StampFields(stamp, member.Sets(), wire::HostMember::kAllFields, &state.member, &state.earlier);
  if (!is_newest) return TakeHost(head, member, news, key, state, out);
  std::string public_id;
  if (member.deleted)
    if (const HostProfileRow* row = profiles_.Find(key); row != nullptr && row->profile)
      public_id = row->profile->host_cpid;
  if ((member.deleted || state.record.deleted) &&
      stage::TakeDeletion(stamp, member.deleted, std::move(public_id), key, facts_))
    calendar_.File(key.project, stage::DayAfter(*facts_.Need(key).tombstone), key.id);
  stage::TakeProfile(stamp, member.deleted, shown, state.merge.is_set(), key, profiles_);
  if (!state.merge.is_set()) state.record.deleted = member.deleted;
  TakeHost(head, member, news, key, state, out);
}

// Sets the fields in `news`.
void ClaimsStage::TakeHost(const wire::EventHead& head, const wire::HostMember& member, wire::FieldMask news,
                           const Key& key, HostState& state, Emitter& out) {
  credit::HostRecord& host = state.record;
  if ((news & wire::HostMember::kWhetstone) != 0) host.whetstone = member.whetstone;
  if ((news & wire::HostMember::kDhrystone) != 0) host.dhrystone = member.dhrystone;
  if ((news & wire::HostMember::kCpus) != 0) host.cpus = member.cpus;
  if ((news & wire::HostMember::kGpus) != 0) host.gpus = member.gpus;
  // Outstanding results of a merged host continue for its last owner: a merged host gets no new owner and is not
  // deleted.
  if (state.merge.is_set()) return;
  const bool is_first = !std::exchange(host.known, true);
  if ((news & wire::HostMember::kUser) != 0) {
    // Before its first event the host had no owner: no claim could be made, so there is no account to move.
    if (!is_first && host.user != member.user) EmitMove(head, member.host, host.user, member.user, out);
    host.user = member.user;
  }
  // Later changes of the owner are sent as moves, also a change to no owner.
  if (is_first && state.asked && host.user)
    EmitOwnerAnswer(head, wire::GrantKind::kHostNamed, member.host, host.user, out);
  ReleaseOpening(key, state, out);
  Release(key, state, out);
}

void ClaimsStage::Release(const Key& host, HostState& state, Emitter& out) {
  const ProjectId project(host.project);
  const HostId id(host.id);
  const auto take = [&](std::vector<std::uint64_t>& results, auto process) {
    std::vector<std::uint64_t> all;
    all.swap(results);
    std::size_t done = 0;
    for (; done < all.size() && !budget_.spent(); ++done) {
      budget_.Take(0);
      process(all[done]);
    }
    results.insert(results.begin(), all.begin() + static_cast<std::ptrdiff_t>(done), all.end());
    return results.empty();
  };
  const bool all =
      take(state.unpriced, [&](std::uint64_t result) { PriceJobOf(project, id, result, state, out); }) &&
      take(state.waiting, [&](std::uint64_t result) { Join(project, ResultId(result), id, out); });
  if (all)
    releasing_.Erase(host);
  else
    releasing_.Mutable(host);
}

void ClaimsStage::OnFacts(const RecordView& record, const wire::EventHead& head, wire::AccountFacts facts,
                          Emitter& out) {
  const Key key = HostKey(head.project, HostId(facts.account));
  const bool tombstone = facts.tombstone.has_value();
  if (!stage::TakeFacts(wire::StampOf(head, record.value), std::move(facts), key, facts_))
    return stage::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                         "other facts of this host have this id", out);
  if (!tombstone) return;
  if (const auto& kept = facts_.Need(key).tombstone)
    calendar_.File(key.project, stage::DayAfter(*kept), key.id);
}

void ClaimsStage::EmitMove(const wire::EventHead& head, HostId host, UserId from, UserId to, Emitter& out) {
  const std::uint32_t old_place = wire::OwnerPartition(head.project, from, host, options_.partitions);
  const std::uint32_t new_place = wire::OwnerPartition(head.project, to, host, options_.partitions);
  wire::GrantHead move{.project = head.project, .user = to, .host = host, .time = head.time};
  for (const auto& [kind, place] : {std::pair{wire::GrantKind::kHostLeaves, old_place},
                                    std::pair{wire::GrantKind::kHostComes, new_place}}) {
    move.kind = kind;
    bytes_.clear();
    wire::EncodeGrant(move, {}, {}, {}, &bytes_);
    out.Emit(wire::kGrants, place, bytes_);
  }
}

// ---- Results -------------------------------------------------------------------------------------------------------

void ClaimsStage::OnDispatch(const RecordView& record, Emitter& out) {
  auto event = wire::ParseEvent(record.value);
  if (!event.ok())
    return stage::Refuse(record, {}, RefusalReason::kUndecodable, event.status().message(), out);
  if (const auto* watermark = std::get_if<wire::Watermark>(&event->body))
    return OnWatermark(kDispatches, *watermark, out);
  const ProjectId project = event->head.project;
  if (auto refusal = wire::CheckEvent(*event))
    return stage::Refuse(record, project, refusal->reason, std::move(refusal->detail), out);
  const auto* dispatch = std::get_if<wire::Dispatch>(&event->body);
  if (dispatch == nullptr)
    return stage::Refuse(record, project, RefusalReason::kNotSupported,
                         "events of this kind are not allowed on this topic", out);
  const credit::CompletionFacts& facts = dispatch->facts;
  const stage::ProjectView* view = Admit(record, event->head, facts.app, out);
  if (view == nullptr) return;
  if (ForwardEvent(record, project, facts.result, facts.host, out)) return;
  if (const Seen* seen = FindSeen(project, *view, facts.host, facts.result.value, kSeenCompletion);
      seen != nullptr)
    return OpenEndedJob(ResultKey(project, facts.result, facts.host), record, *dispatch, out);
  const Key key = ResultKey(project, facts.result, facts.host);
  std::vector<SentAs> sent;
  std::size_t place = 0;  // place of this dispatch among them
  if (const Pending* pending = pending_.Find(key); pending != nullptr) {
    if (IsOneOf(record.value, pending->replaced, pending->dispatch)) {
      ++duplicates_;
      return;
    }
    sent = SendingsOf(pending_, key, pending->replaced, pending->dispatch);
    const SentAs now = SentAsOf(facts);
    if (const char* problem = WhyNoSending(now, sent))
      return stage::Refuse(record, project, RefusalReason::kDuplicateWithOtherContents, problem, out);
    place = PlaceOf(now, sent);
    sent.insert(sent.begin() + static_cast<std::ptrdiff_t>(place), now);
    if (!pending->completion.empty()) {
      DecodeKept(pending_, key, pending->completion.bytes, wire::EventKind::kCompletion, &completion_);
      if (!IsOfOneOf(sent, SentAsOf(completion_.completion)))
        return stage::Refuse(record, project, RefusalReason::kDispatchDiffers, kOtherJob, out);
    }
  }
  if (TooLate(WindowBegin(facts), *view, facts.app))
    return stage::Refuse(record, project, RefusalReason::kTooLate, kTooLong, out);
  bool created = false;
  Pending& pending = pending_.Mutable(key, &created);
  if (created) {
    pending.host = facts.host.value;
    pending.app = facts.app.value;
    pending.since = event->head.time;
    WaitsFrom(project, pending.since, view->catalogue.FindApp(facts.app)->Window());
  }
  KeepDispatch(std::string(record.value), place, &pending.replaced, &pending.dispatch);
  if (place + 1 < sent.size()) return OpenJobOf(key, *dispatch, false, out);
  if (!pending.replaced.empty()) pending.since = std::max(pending.since, event->head.time);
  const credit::AppRow& app = *view->catalogue.FindApp(facts.app);
  HostState& state = hosts_.Mutable(HostKey(project, facts.host));
  credit::PolicyFor(app.policy.kind)
      .OnDispatch(facts, {.project = project, .catalogue = view->catalogue, .scales = view->scales},
                  state.record);
  OpenJobOf(key, *dispatch, true, out);
  SendHolderToMergeTarget(key, facts.host, view->catalogue.FindApp(facts.app), 0, record.line, out);
}

void ClaimsStage::OnCompletion(const RecordView& record, Emitter& out) {
  const credit::CompletionFacts& facts = event_.completion;
  const ProjectId project = event_.head.project;
  const stage::ProjectView* view = Admit(record, event_.head, facts.app, out);
  if (view == nullptr) return;
  const credit::AppRow& app = *view->catalogue.FindApp(facts.app);
  if (facts.outcome != credit::Outcome::kSuccess && !facts.result) return OnError(record, *view, app, out);
  if (ForwardEvent(record, project, facts.result, facts.host, out)) return;
  const bool timed_out = facts.outcome == credit::Outcome::kTimeout;
  if (timed_out && FindSeen(project, *view, facts.host, TimeOutKey(facts.result, facts.sent_time),
                            kSeenTimeOut) != nullptr)
    return OnError(record, *view, app, out);

  const Pending* known = pending_.Find(ResultKey(project, facts.result, facts.host));
  if (known != nullptr) {
    if (!known->completion.empty()) {
      if (wire::SameFacts(known->completion.bytes, record.value)) {
        ++duplicates_;
        return;
      }
      return stage::Refuse(record, project, RefusalReason::kDuplicateWithOtherContents,
                           "this result already has another completion", out);
    }
  } else if (const Seen* seen = FindSeen(project, *view, facts.host, facts.result.value, kSeenCompletion);
             seen != nullptr) {
    if (seen->completion_hash == wire::HashOfFacts(record.value)) {
      ++duplicates_;
      return;
    }
    return stage::Refuse(record, project, RefusalReason::kDuplicateWithOtherContents,
                         "this result is decided and had another completion", out);
  }
  if (TooLate(WindowBegin(facts), *view, facts.app))
    return stage::Refuse(record, project, RefusalReason::kTooLate, kTooLong, out);
  if (known != nullptr && !known->dispatch.empty()) {
    if (!IsOfOneOf(SendingsOf(pending_, ResultKey(project, facts.result, facts.host), known->replaced,
                              known->dispatch),
                   SentAsOf(facts)))
      return stage::Refuse(record, project, RefusalReason::kDispatchDiffers, kOtherJob, out);
  }

  if (timed_out) return OnError(record, *view, app, out);
  if (facts.outcome != credit::Outcome::kSuccess) {
    HostState& state = hosts_.Mutable(HostKey(project, facts.host));
    credit::PolicyFor(app.policy.kind)
        .OnFailure(facts, {.project = project, .catalogue = view->catalogue, .scales = view->scales},
                   state.record);
    if (known != nullptr) {
      if (!known->validation.empty()) {
        // The validator judged a result that has failed; the workunit must not wait for its claim.
        wire::HotEvent validation;
        DecodeKept(pending_, ResultKey(project, facts.result, facts.host), known->validation.bytes,
                   wire::EventKind::kValidation, &validation);
        EmitExpired(project, validation.validation, std::max(known->line(), record.line), out);
        stage::Refuse(known->validation.Record(options_.partition), project, RefusalReason::kUnknownResult,
                      "this result ended in an error", out);
      }
      EndJob(ResultKey(project, facts.result, facts.host), *known, event_.head.time, record.line,
             "the result ended in an error", out);
    }
    LeaveJob(ResultKey(project, facts.result, facts.host), known, facts, record.line);
    Remember(project, *view, facts.host, state,
             {.result = facts.result.value,
              .completion_hash = wire::HashOfFacts(record.value),
              .validation_hash = 0,
              .flags = kSeenCompletion,
              .day = DayOf(WindowBegin(facts)),
              .app = facts.app.value},
             record.line, out);
    if (known != nullptr) pending_.Erase(ResultKey(project, facts.result, facts.host));
    return;
  }
  bool created = false;
  Pending& pending = pending_.Mutable(ResultKey(project, facts.result, facts.host), &created);
  if (created) {
    pending.host = facts.host.value;
    pending.app = facts.app.value;
    pending.since = event_.head.time;
    WaitsFrom(project, pending.since, view->catalogue.FindApp(facts.app)->Window());
    SendHolderToMergeTarget(ResultKey(project, facts.result, facts.host), facts.host,
                            view->catalogue.FindApp(facts.app), 0, record.line, out);
  }
  pending.completion.Keep(record);
  if (pending.validation.empty()) return;
  DecodeKept(pending_, ResultKey(project, facts.result, facts.host), pending.validation.bytes,
             wire::EventKind::kValidation, &validation_);
  JoinDecoded(ResultKey(project, facts.result, facts.host), pending, facts, validation_.validation, out);
}

// Events that count only in the host's statistics: a time-out of a result, and an error without a result. Two
// results may fail in the same way in one second, so a repeat of such an error is recognized by the event's id.
void ClaimsStage::OnError(const RecordView& record, const stage::ProjectView& view, const credit::AppRow& app,
                          Emitter& out) {
  const credit::CompletionFacts& facts = event_.completion;
  const ProjectId project = event_.head.project;
  const std::uint32_t hash = wire::HashOfFacts(record.value);
  const std::uint8_t kind = facts.result ? kSeenTimeOut : std::uint8_t{kSeenEventId};
  const std::uint64_t number = facts.result ? TimeOutKey(facts.result, facts.sent_time) : event_.head.id;
  if (const Seen* seen = FindSeen(project, view, facts.host, number, kind); seen != nullptr) {
    if (seen->completion_hash == hash) {
      ++duplicates_;
      return;
    }
    return stage::Refuse(record, project, RefusalReason::kDuplicateWithOtherContents,
                         facts.result ? "this dispatch of the result already has another time-out"
                                      : "another error has this event id",
                         out);
  }
  const double begin = facts.result ? WindowBegin(facts) : event_.head.time;
  if (TooLate(begin, view, facts.app))
    return stage::Refuse(record, project, RefusalReason::kTooLate,
                         "the error is older than the window of remembered errors", out);
  HostState& state = hosts_.Mutable(HostKey(project, facts.host));
  credit::PolicyFor(app.policy.kind)
      .OnFailure(facts, {.project = project, .catalogue = view.catalogue, .scales = view.scales},
                 state.record);
  Remember(project, view, facts.host, state,
           {.result = number,
            .completion_hash = hash,
            .validation_hash = 0,
            .flags = kind,
            .day = DayOf(begin),
            .app = facts.app.value},
           record.line, out);
}

void ClaimsStage::OnValidation(const RecordView& record, Emitter& out) {
  const credit::ValidationFacts& facts = event_.validation;
  const ProjectId project = event_.head.project;
  const stage::ProjectView* view = Admit(record, event_.head, facts.app, out);
  if (view == nullptr) return;
  if (ForwardEvent(record, project, facts.result, facts.host, out)) return;
  const Pending* known = pending_.Find(ResultKey(project, facts.result, facts.host));
  if (known != nullptr) {
    if (!known->validation.empty()) {
      if (wire::SameFacts(known->validation.bytes, record.value)) {
        ++duplicates_;
        return;
      }
      wire::HotEvent before;
      DecodeKept(pending_, ResultKey(project, facts.result, facts.host), known->validation.bytes,
                 wire::EventKind::kValidation, &before);
      if (before.head.id == event_.head.id)
        return stage::Refuse(record, project, RefusalReason::kDuplicateWithOtherContents,
                             "another validation has this id", out);
      const bool decided = before.validation.state != credit::ValidateState::kInconclusive;
      if (decided && facts.state == credit::ValidateState::kInconclusive) {
        ++duplicates_;  // of an older validation pass, superseded by the decision
        return;
      }
      if (decided)
        return stage::Refuse(record, project, RefusalReason::kAlreadyDecided,
                             "the validator has already decided this result", out);
      if (facts.pass < before.validation.pass) {
        ++duplicates_;  // of an older validation pass
        return;
      }
    }
  } else if (const Seen* seen =
                 FindSeen(project, *view, facts.host, facts.result.value, kSeenCompletion | kSeenValidation);
             seen != nullptr) {
    // An inconclusive validation that the decision has superseded has no effect, and its bytes are not remembered.
    if (seen->validation_hash == wire::HashOfFacts(record.value) ||
        (facts.state == credit::ValidateState::kInconclusive && (seen->flags & kSeenValidation) != 0)) {
      ++duplicates_;
      return;
    }
    if ((seen->flags & kSeenValidation) == 0) {
      EmitExpired(project, facts, record.line, out);
      return stage::Refuse(record, project, RefusalReason::kUnknownResult, "this result ended in an error",
                           out);
    }
    return stage::Refuse(record, project, RefusalReason::kAlreadyDecided, "this result is already decided",
                         out);
  }
  if (TooLate(facts.now, *view, facts.app))
    return stage::Refuse(record, project, RefusalReason::kTooLate,
                         "the result is older than the window of remembered results", out);
  bool created = false;
  Pending& pending = pending_.Mutable(ResultKey(project, facts.result, facts.host), &created);
  if (created) {
    pending.host = facts.host.value;
    pending.app = facts.app.value;
    pending.since = event_.head.time;
    WaitsFrom(project, pending.since, view->catalogue.FindApp(facts.app)->Window());
    SendHolderToMergeTarget(ResultKey(project, facts.result, facts.host), facts.host,
                            view->catalogue.FindApp(facts.app), 0, record.line, out);
  }
  pending.validation.Keep(record);
  if (pending.completion.empty()) return;
  DecodeKept(pending_, ResultKey(project, facts.result, facts.host), pending.completion.bytes,
             wire::EventKind::kCompletion, &completion_);
  JoinDecoded(ResultKey(project, facts.result, facts.host), pending, completion_.completion,
              event_.validation, out);
}

void ClaimsStage::Join(ProjectId project, ResultId result, HostId host, Emitter& out) {
  const Key key = ResultKey(project, result, host);
  const Pending* pending = pending_.Find(key);
  if (pending == nullptr) return;
  DecodeKept(pending_, key, pending->completion.bytes, wire::EventKind::kCompletion, &completion_);
  DecodeKept(pending_, key, pending->validation.bytes, wire::EventKind::kValidation, &validation_);
  JoinDecoded(key, *pending, completion_.completion, validation_.validation, out);
}

void ClaimsStage::JoinDecoded(const Key& key, const Pending& waiting, const credit::CompletionFacts& job,
                              credit::ValidationFacts& checked, Emitter& out) {
  const Pending* const pending = &waiting;
  const ProjectId project(key.project);
  const ResultId result(key.id);
  const bool inconclusive = checked.state == credit::ValidateState::kInconclusive;
  const HostState* known = hosts_.Find(HostKey(project, job.host));
  if (known == nullptr || !known->record.known) {
    if (inconclusive || pending->waits_for_host) return;
    pending_.Mutable(key).waits_for_host = true;
    hosts_.Mutable(HostKey(project, job.host)).waiting.push_back(result.value);
    return;
  }
  HostState& state = hosts_.Mutable(HostKey(project, job.host));
  const stage::ProjectView& view = projects_.Need(ProjectKey(project));
  const credit::AppRow* app = view.catalogue.FindApp(job.app);
  checked.line = pending->line();
  if (inconclusive) {
    credit::PolicyFor(app->policy.kind)
        .OnInconclusive(job, checked,
                        {.project = project, .catalogue = view.catalogue, .scales = view.scales},
                        state.record);
    return;
  }
  if (job.workunit != checked.workunit || job.app != checked.app) {
    // The two events contradict each other: both are refused, and the workunit does not wait.
    EmitExpired(project, checked, pending->line(), out);
    for (const WaitingEvent* event : {&pending->validation, &pending->completion})
      stage::Refuse(event->Record(options_.partition), project, RefusalReason::kWrongWorkunit,
                    "completion and validation have different workunits", out);
    if (pending->dispatch.empty()) return pending_.Erase(key);
    // The dispatched job continues, and its payments for trickles stay.
    Pending& sent = pending_.Mutable(key);
    sent.completion = {};
    sent.validation = {};
    sent.waits_for_host = false;
    return;
  }
  // GRANTS may have forgotten an earlier grant of the result under another host. After this check GRANTS still
  // remembers it, because the event time of GRANTS is never ahead of this stage's, and its catalogue never behind.
  // Events of one result wait that long for each other only if one of them was dated ahead of the event time at its
  // arrival.
  if (WindowBegin(job) < view.HorizonOf(job.app).workunits) {
    EmitExpired(project, checked, pending->line(), out);
    for (const WaitingEvent* event : {&pending->validation, &pending->completion})
      stage::Refuse(event->Record(options_.partition), project, RefusalReason::kTooLate, kTooLong, out);
    EndJob(key, *pending, checked.now, pending->line(), "the events of the result were refused", out);
    ForgetJob(key);
    pending_.Erase(key);
    return;
  }
  if (checked.state == credit::ValidateState::kInvalid) EmitInvalid(project, job, checked, state.record, out);
  const credit::Policy& policy = credit::PolicyFor(app->policy.kind);
  decision_ = policy.OnValidation(
      job, checked, {.project = project, .catalogue = view.catalogue, .scales = view.scales}, state.record);
  if (decision_.has_claim) {
    credit::Claim& claim = decision_.claim;
    claim.project = project;
    claim.line = pending->line();
    // Otherwise the claim leads to no grant.
    if ((claim.flags & credit::kClaimValid) != 0 && (claim.flags & credit::kClaimHostDeleted) == 0)
      CloseJob(key, *pending, claim);
    bytes_.clear();
    wire::EncodeClaim(claim, &bytes_);
    out.Emit(wire::kClaims, wire::WorkunitPartition(project, claim.workunit, options_.partitions), bytes_);
  }
  EndJob(key, *pending, checked.now, pending->line(),
         checked.state == credit::ValidateState::kValid ? "the result received no grant"
                                                        : "the result was invalid",
         out);
  LeaveJob(key, pending, job, pending->line());
  if (decision_.has_sample) {
    decision_.sample.line = pending->line();
    samples_[project.value].push_back(decision_.sample);
  }
  Remember(project, view, job.host, state,
           {.result = result.value,
            .completion_hash = wire::HashOfFacts(pending->completion.bytes),
            .validation_hash = wire::HashOfFacts(pending->validation.bytes),
            .flags = kSeenCompletion | kSeenValidation,
            .day = DayOf(WindowBegin(job)),
            .app = job.app.value},
           pending->line(), out);
  pending_.Erase(key);
}

void ClaimsStage::EmitInvalid(ProjectId project, const credit::CompletionFacts& job,
                              const credit::ValidationFacts& checked, const credit::HostRecord& host,
                              Emitter& out) {
  const stage::ProjectView& view = projects_.Need(ProjectKey(project));
  const double cap = view.catalogue.settings.max_granted_credit;
  auto worth = credit::PriceIfValid(
      job, checked, {.project = project, .catalogue = view.catalogue, .scales = view.scales}, host, cap);
  if (!worth) return;
  credit::Claim& claim = worth->claim;
  claim.project = project;
  claim.line = checked.line;
  std::string bytes;
  wire::EncodeClaim(claim, &bytes);
  bytes_.clear();
  wire::EncodeGrant({.project = project,
                     .user = claim.user,
                     .host = claim.host,
                     .app = claim.app,
                     .result = claim.result,
                     .time = claim.time,
                     .kind = wire::GrantKind::kInvalid,
                     .work_start = claim.sent_time},
                    {.credit = worth->credit,
                     .mode = claim.mode,
                     .line = claim.line,
                     .max_granted_credit = cap,
                     .canonical_result = claim.canonical_result},
                    {}, bytes, &bytes_);
  out.Emit(wire::kGrants, wire::OwnerPartition(project, claim.user, claim.host, options_.partitions), bytes_);
}

// Notifies GRANTS that there will be no claim for this result, so that its workunit does not wait.
void ClaimsStage::EmitExpired(ProjectId project, const credit::ValidationFacts& validation,
                              std::uint64_t line, Emitter& out) {
  if (validation.late || validation.claims == 0) return;
  credit::Claim claim;
  claim.project = project;
  claim.result = validation.result;
  claim.workunit = validation.workunit;
  claim.host = validation.host;
  claim.app = validation.app;
  claim.time = validation.now;
  claim.validation_id = validation.id;
  claim.line = line;
  claim.flags = credit::kClaimExpired;
  claim.pass = validation.pass;
  claim.awaited = validation.claims;
  claim.fpops_est = validation.fpops_est;
  claim.fpops_bound = validation.fpops_bound;
  const stage::ProjectView& view = projects_.Need(ProjectKey(project));
  if (const credit::AppRow* app = view.catalogue.FindApp(validation.app)) {
    claim.policy = app->policy.kind;
    claim.policy_version = app->policy.version;
  }
  bytes_.clear();
  wire::EncodeClaim(claim, &bytes_);
  out.Emit(wire::kClaims, wire::WorkunitPartition(project, claim.workunit, options_.partitions), bytes_);
}

// In order of keys within a table, so that the outcome is deterministic.
bool ClaimsStage::Expire(ProjectId project, double now, Emitter& out) {
  const auto known = first_due_.find(project.value);
  if (known != first_due_.end() && known->second >= now) return true;
  const stage::ProjectView& view = projects_.Need(ProjectKey(project));
  expiry_.Begin(project.value, now);
  const auto due_at = [&view](const Key&, const Pending& pending) {
    const credit::AppRow* app = view.catalogue.FindApp(AppId(pending.app));
    return pending.since + (app != nullptr ? app->Window() : credit::kDefaultResultWindow);
  };
  const bool all =
      ExpireOpenings(project, out) && ExpireTrickles(project, out) &&
      machines_.Expire(kReportsExpire, project, expiry_, budget_, out) && ExpireForwarded(project) &&
      expiry_.Rows(kPendingExpires, pending_, budget_, due_at,
                   [&](const Key& key, const Pending&) { return ExpirePending(project, key, now, out); });
  if (all) first_due_[project.value] = expiry_.End();
  return all;
}

// Returns the size of the events in bytes.
std::uint64_t ClaimsStage::ExpirePending(ProjectId project, const Key& key, double now, Emitter& out) {
  const stage::ProjectView& view = projects_.Need(ProjectKey(project));
  const Pending pending = pending_.Need(key);
  const std::string detail = pending.waits_for_host       ? "the event of its host never arrived"
                             : pending.completion.empty() ? "its completion never arrived"
                                                          : "its validation never arrived";
  const RefusalReason reason =
      pending.waits_for_host ? RefusalReason::kUnknownHost : RefusalReason::kUnknownResult;
  if (!pending.completion.empty())
    stage::Refuse(pending.completion.Record(options_.partition), project, reason, detail, out);
  if (!pending.validation.empty()) {
    stage::Refuse(pending.validation.Record(options_.partition), project, reason, detail, out);
    wire::HotEvent validation;
    DecodeKept(pending_, key, pending.validation.bytes, wire::EventKind::kValidation, &validation);
    if (validation.validation.state != credit::ValidateState::kInconclusive)
      EmitExpired(project, validation.validation, pending.line(), out);
  }
  if (pending.waits_for_host) {
    const Key host = HostKey(project, HostId(pending.host));
    HostState& state = hosts_.Mutable(host);
    std::erase(state.waiting, key.id);
  }
  SendHolderToMergeTarget(key, HostId(pending.host), view.catalogue.FindApp(AppId(pending.app)),
                          now + credit::kDefaultResultWindow, pending.line(), out);
  EndJob(key, pending, now, pending.line(), "no completion and validation arrived in time", out);
  ForgetJob(key);
  if (pending.waits_for_host) {
    const Key host = HostKey(project, HostId(pending.host));
    if (hosts_.Need(host).empty()) hosts_.Erase(host);
  }
  // A dispatch that expires alone is not refused: its job never came back, and if that matters, the scheduler sends a
  // time-out.
  return pending.dispatch.size() + pending.completion.bytes.size() + pending.validation.bytes.size();
}

void ClaimsStage::WaitsFrom(ProjectId project, double since, double window) {
  const auto known = first_due_.find(project.value);
  if (known != first_due_.end()) known->second = std::min(known->second, since + window);
}

// ---- Decided results -----------------------------------------------------------------------------------------------

const Seen* ClaimsStage::FindSeen(ProjectId project, const stage::ProjectView& view, HostId host,
                                  std::uint64_t result, std::uint8_t kind) {
  const HostState* state = hosts_.Find(HostKey(project, host));
  if (state == nullptr) return nullptr;
  // A result whose window has ended counts as forgotten even if its row still exists: the time of the row's deletion
  // depends on how commits are cut.
  constexpr std::uint32_t kNumbersOfOthers = kSeenEventId | kSeenTimeOut;
  const auto matches = [&](const Seen& seen) {
    return seen.result == result && (seen.flags & kNumbersOfOthers) == (kind & kNumbersOfOthers) &&
           seen.day >= DayOf(view.HorizonOf(AppId(seen.app)).results);
  };
  for (auto it = state->open.rbegin(); it != state->open.rend(); ++it)
    if (matches(*it)) return &*it;
  for (auto range = state->runs.rbegin(); range != state->runs.rend(); ++range) {
    if (result < range->first || result > range->last || IsOver(*range, view)) continue;
    const SeenRun& run = runs_.Need({.project = project.value, .id = host.value, .sub = range->number});
    auto it = std::lower_bound(run.results.begin(), run.results.end(), result,
                               [](const Seen& seen, std::uint64_t wanted) { return seen.result < wanted; });
    for (; it != run.results.end() && it->result == result; ++it)
      if (matches(*it)) return &*it;
  }
  return nullptr;
}

void ClaimsStage::Remember(ProjectId project, const stage::ProjectView& view, HostId host, HostState& state,
                           const Seen& seen, std::uint64_t line, Emitter& out) {
  if (state.merge.is_set() && EndsResult(seen)) [[unlikely]] {
    const Key key = ResultKey(project, ResultId(seen.result), host);
    SendHolderToMergeTarget(key, host, view.catalogue.FindApp(AppId(seen.app)),
                            RememberedUntil(project, seen), line, out);
  }
  state.open.push_back(seen);
  if (state.open.size() < kRunResults) return;
  // Ended runs are deleted whenever a new run is closed, and when the calendar is due. The new run stays for
  // now, so that the host remains filed.
  const bool filed = !state.runs.empty() || state.has_ended_jobs;
  DropRuns(project.value, view, host.value, state);
  SeenRun closed;
  closed.results.swap(state.open);
  std::sort(closed.results.begin(), closed.results.end(), [](const Seen& a, const Seen& b) {
    return a.result != b.result ? a.result < b.result : a.flags < b.flags;
  });
  RunRange range{.number = state.next_run++,
                 .first = closed.results.front().result,
                 .last = closed.results.back().result,
                 .day = closed.results.front().day,
                 .app = closed.results.front().app};
  for (const Seen& one : closed.results) {
    range.day = std::max(range.day, one.day);
    if (one.app != range.app) range.app = 0;
  }
  runs_.Mutable({.project = project.value, .id = host.value, .sub = range.number}) = std::move(closed);
  if (!filed) calendar_.File(project.value, LastDay(range, view), host.value);
  state.runs.push_back(range);
}

void ClaimsStage::DropRuns(std::uint32_t project, const stage::ProjectView& view, std::uint64_t host,
                           HostState& state) {
  std::erase_if(state.runs, [&](const RunRange& old) {
    if (!IsOver(old, view)) return false;
    const Key run{.project = project, .id = host, .sub = old.number};
    if (state.has_ended_jobs)
      for (const Seen& seen : runs_.Need(run).results)
        if (EndsResult(seen)) ForgetJob(ResultKey(ProjectId(project), ResultId(seen.result), HostId(host)));
    runs_.Erase(run);
    return true;
  });
}

void ClaimsStage::Forget(std::size_t hosts) {
  calendar_.Take(
      hosts,
      [this](std::uint32_t project, std::uint64_t number, std::int32_t today) -> std::optional<std::int32_t> {
        const Key key = HostKey(ProjectId(project), HostId(number));
        const std::optional<std::int32_t> tombstone = stage::DropTombstone(today, key, facts_);
        const HostState* known = hosts_.Find(key);
        if (known == nullptr) return tombstone;
        const stage::ProjectView& view = projects_.Need(ProjectKey(ProjectId(project)));
        const auto over = [&view](const RunRange& run) { return IsOver(run, view); };
        if (std::any_of(known->runs.begin(), known->runs.end(), over)) {
          HostState& state = hosts_.Mutable(key);
          DropRuns(project, view, number, state);
          known = &state;
        }
        std::int32_t next = 0;
        for (const RunRange& run : known->runs) next = std::max(next, LastDay(run, view));
        if (known->has_ended_jobs) next = std::max(next, ForgetEndedJobs(key, view));
        if (next == 0) return tombstone;
        return std::min(next, tombstone.value_or(next));
      });
}

std::int32_t ClaimsStage::ForgetEndedJobs(const Key& host, const stage::ProjectView& view) {
  HostState& state = hosts_.Mutable(host);
  std::int32_t next = 0;
  for (const Seen& seen : state.open) {
    const RunRange alone{.day = seen.day, .app = seen.app};
    if (!IsOver(alone, view))
      next = std::max(next, LastDay(alone, view));
    else if (EndsResult(seen))
      ForgetJob(ResultKey(ProjectId(host.project), ResultId(seen.result), HostId(host.id)));
  }
  state.has_ended_jobs = next != 0 || !state.runs.empty();
  return next;
}

void ClaimsStage::Finish(Emitter& out) {
  if (Unfinished()) Continue(out);
  budget_.Renew();
  if (calendar_.behind()) Forget(kForgetAtCommit);
  EmitSamples(out);
}

void ClaimsStage::Continue(Emitter& out) {
  std::vector<Key> hosts;
  releasing_.ForEach([&hosts](const Key& key, const Releasing&) { hosts.push_back(key); });
  std::sort(hosts.begin(), hosts.end());
  for (const Key& host : hosts)
    if (!budget_.spent()) Release(host, hosts_.Mutable(host), out);
  if (watermarks_.begun() && !budget_.spent()) PassWatermarks(out);
}

void ClaimsStage::EmitSamples(Emitter& out) {
  for (auto& [project, samples] : samples_) {
    if (samples.empty()) continue;
    bytes_.clear();
    wire::EncodeSampleBatch(ProjectId(project), samples, &bytes_);
    wire::AppendSampleSource(options_.partition, 0, &bytes_);
    out.Emit(wire::kSamples, 0, bytes_);
    samples.clear();
  }
}

}  // namespace cobblestone::claims
