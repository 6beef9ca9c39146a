// Trickles (docs/rules.md, sections 35 to 41): the part of ClaimsStage that pays jobs while they run.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "common/credit/model/constants.h"
#include "common/wire/events/event_check.h"
#include "common/wire/events/facts.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/claims/claims_stage.h"
#include "services/claims/kept_events.h"
#include "services/claims/keys.h"
#include "services/claims/sendings.h"
#include "services/stage/inbox.h"
#include "services/stage/refuse.h"
#include "services/stage/settled_partials.h"

namespace cobblestone::claims {

using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;

namespace {

double ReceivedAt(const credit::CompletionFacts& back) {
  return back.received_time > 0 ? back.received_time : back.event_time;
}

// The part of a message that a record of the ledger contains, whatever its outcome.
wire::PartialGrant UnpaidTrickleOf(const wire::EventHead& head, const wire::Trickle& trickle) {
  wire::PartialGrant unpaid{.trickle = head.id,
                            .sent_time = head.time,
                            .variety = trickle.variety,
                            .sequence = trickle.sequence.value_or(0),
                            .phase = trickle.phase};
  wire::TakeOthers(trickle.others, &unpaid);
  return unpaid;
}

constexpr const char* kDecided = "this result is already decided, including the worth of its trickles";

RefusalReason ReasonOf(credit::TrickleOutcome outcome) {
  switch (outcome) {
    case credit::TrickleOutcome::kMissing: return RefusalReason::kMissingField;
    case credit::TrickleOutcome::kNotFinite: return RefusalReason::kNotFinite;
    case credit::TrickleOutcome::kNegative: return RefusalReason::kNegative;
    default: return RefusalReason::kOutOfRange;
  }
}

}  // namespace

// For a dispatch that has just been stored.
void ClaimsStage::OpenJobOf(const Key& key, const wire::Dispatch& dispatch, bool is_newest, Emitter& out) {
  const stage::ProjectView& view = projects_.Need(ProjectKey(key.project));
  if (pending_.Need(key).has_job) {
    OpenJob& job = jobs_.Mutable(key);
    if (job.priced)  // otherwise all dispatches are priced when the host is known
      PriceSending(dispatch, view, hosts_.Need(HostKey(key.project, dispatch.facts.host)).record, job);
    return;
  }
  if (!is_newest || view.catalogue.FindApp(dispatch.facts.app)->policy.trickles.empty()) return;
  pending_.Mutable(key).has_job = true;
  OpenJob& job = jobs_.Mutable(key);
  job = {};  // a job of an earlier, forgotten decision of the result may be left
  job.host = dispatch.facts.host.value;
  job.app = dispatch.facts.app.value;
  job.workunit = dispatch.facts.workunit.value;
  job.version = dispatch.facts.version.value;
  job.name = dispatch.result_name;
  PriceOrWait(key, dispatch, job, out);
}

// False: no event has named the host yet.
bool ClaimsStage::PriceOrWait(const Key& key, const wire::Dispatch& dispatch, OpenJob& job, Emitter& out) {
  const ProjectId project(key.project);
  HostState& state = hosts_.Mutable(HostKey(key.project, dispatch.facts.host));
  if (state.record.known)
    PriceSending(dispatch, projects_.Need(ProjectKey(key.project)), state.record, job);
  else
    state.unpriced.push_back(key.id);
  const bool priced = job.priced;
  if (!job.name.empty()) {
    const Key name = NameKey(project, job.name, dispatch.facts.host);
    names_.Mutable(name) = {.name = job.name, .result = key.id};
    if (priced) TakeWaiting(name, waiting_names_, out);
  }
  if (priced) TakeWaiting(key, waiting_trickles_, out);
  return priced;
}

void ClaimsStage::PriceSending(const wire::Dispatch& dispatch, const stage::ProjectView& view,
                               const credit::HostRecord& host, OpenJob& job) {
  const credit::TrickleJob facts{.dispatch = dispatch.facts,
                                 .fpops_est = dispatch.fpops_est,
                                 .fpops_bound = dispatch.fpops_bound,
                                 .host = host};
  const credit::InForce in_force{.project = {}, .catalogue = view.catalogue, .scales = view.scales};
  Sending sending{.sent_time = SentTimeOf(dispatch.facts), .version = dispatch.facts.version.value};
  for (const credit::TrickleRule& rule : view.catalogue.FindApp(dispatch.facts.app)->policy.trickles)
    sending.trickles.push_back(
        {.variety = rule.variety, .price = credit::PriceOf(rule, facts, in_force), .high_water_mark = {}});
  job.Add(std::move(sending));
}

// An event has named the host.
void ClaimsStage::PriceJobOf(ProjectId project, HostId host, std::uint64_t result, const HostState& state,
                             Emitter& out) {
  const stage::ProjectView& view = projects_.Need(ProjectKey(project.value));
  const Key key{.project = project.value, .id = result, .sub = host.value};
  const OpenJob* unpriced = jobs_.Find(key);
  if (unpriced == nullptr || unpriced->priced) return;  // the job has ended without a result
  // A forgotten result has no job, even if the job's row still exists: the time of the row's deletion depends on how
  // commits are cut.
  if (unpriced->ended && FindSeen(project, view, host, result, kSeenCompletion) == nullptr) return;
  const Pending* pending = unpriced->ended ? nullptr : pending_.Find(key);
  std::vector<std::string> dispatches = pending != nullptr ? pending->replaced : unpriced->replaced;
  dispatches.push_back(pending != nullptr ? pending->dispatch : unpriced->dispatch);
  OpenJob& job = jobs_.Mutable(key);
  job.dispatch.clear();
  job.replaced.clear();
  for (const std::string& bytes : dispatches) {
    const wire::Event event = pending != nullptr ? ParseKept<wire::Dispatch>(pending_, key, bytes)
                                                 : ParseKept<wire::Dispatch>(jobs_, key, bytes);
    PriceSending(std::get<wire::Dispatch>(event.body), view, state.record, job);
  }
  if (!job.name.empty()) TakeWaiting(NameKey(project, job.name, host), waiting_names_, out);
  TakeWaiting(key, waiting_trickles_, out);
}

void ClaimsStage::TakeWaiting(const Key& key, stream::Table<WaitingTrickles>& table, Emitter& out) {
  const WaitingTrickles* row = table.Find(key);
  if (row == nullptr) return;
  const WaitingTrickles waiting = *row;
  table.Erase(key);
  for (const WaitingEvent& one : waiting.events) {
    static_cast<void>(ParseKept<wire::Trickle>(table, key, one.bytes));  // throws if the row is damaged
    budget_.Take(one.bytes.size());
    OnTrickle(one.Record(options_.partition), out);
  }
}

void ClaimsStage::WaitForJob(const Key& key, double time, const RecordView& record,
                             stream::Table<WaitingTrickles>& table, Emitter& out) {
  const ProjectId project(key.project);
  bool created = false;
  WaitingTrickles& waiting = table.Mutable(key, &created);
  if (created) {
    // The event time of a trickle that was stored for long lies long before its arrival; its wait starts at the arrival.
    waiting.since = std::max(time, projects_.Need(ProjectKey(key.project)).time);
    WaitsFrom(project, waiting.since, credit::kDefaultResultWindow);
  }
  // A duplicate would be refused twice.
  const auto same = [&](const WaitingEvent& one) { return wire::SameFacts(one.bytes, record.value); };
  if (std::any_of(waiting.events.begin(), waiting.events.end(), same)) {
    ++duplicates_;
    return;
  }
  std::size_t bytes = record.value.size();
  for (const WaitingEvent& one : waiting.events) bytes += one.bytes.size();
  if (waiting.events.size() >= kMaxWaitingTrickles || bytes > kMaxWaitingTrickleBytes)
    return stage::Refuse(
        record, project, RefusalReason::kOutOfRange,
        std::to_string(waiting.events.size()) + " trickles of this result already wait for its dispatch",
        out);
  waiting.events.emplace_back().Keep(record);
}

void ClaimsStage::OpenEndedJob(const Key& key, const RecordView& record, const wire::Dispatch& dispatch,
                               Emitter& out) {
  const ProjectId project(key.project);
  const OpenJob* known = jobs_.Find(key);
  const SentAs now = SentAsOf(dispatch.facts);
  if (known != nullptr && !known->dispatch.empty()) {
    if (IsOneOf(record.value, known->replaced, known->dispatch)) {
      ++duplicates_;
      return;
    }
    const std::vector<SentAs> sent = SendingsOf(jobs_, key, known->replaced, known->dispatch);
    if (const char* problem = WhyNoSending(now, sent))
      return stage::Refuse(record, project, RefusalReason::kDuplicateWithOtherContents, problem, out);
    OpenJob& job = jobs_.Mutable(key);
    return KeepDispatch(std::string(record.value), PlaceOf(now, sent), &job.replaced, &job.dispatch);
  }
  if (known != nullptr && known->priced && known->IsFurther(now))
    return PriceSending(dispatch, projects_.Need(ProjectKey(key.project)),
                        hosts_.Need(HostKey(key.project, dispatch.facts.host)).record, jobs_.Mutable(key));
  if (known == nullptr || known->priced) {
    ++duplicates_;  // a repeat without new facts
    return RefuseWaiting(project, dispatch, out);
  }
  if (!IsOfOneOf({now}, {.app = known->app,
                         .version = known->version,
                         .peak_flops = known->peak_flops,
                         .sent_time = known->sent_time}))
    return stage::Refuse(record, project, RefusalReason::kDispatchDiffers, kOtherJob, out);
  OpenJob& job = jobs_.Mutable(key);
  job.name = dispatch.result_name;
  if (!PriceOrWait(key, dispatch, job, out)) job.dispatch = record.value;
  const stage::ProjectView& view = projects_.Need(ProjectKey(project.value));
  if (const Seen* seen = FindSeen(project, view, dispatch.facts.host, key.id, kSeenCompletion))
    SendHolderToMergeTarget(key, dispatch.facts.host, view.catalogue.FindApp(dispatch.facts.app),
                            RememberedUntil(project, *seen), record.line, out);
}

void ClaimsStage::RefuseWaiting(ProjectId project, const wire::Dispatch& dispatch, Emitter& out) {
  const Key result{
      .project = project.value, .id = dispatch.facts.result.value, .sub = dispatch.facts.host.value};
  const Key name = NameKey(project, dispatch.result_name, dispatch.facts.host);
  for (const auto& [table, key] : {std::pair{&waiting_names_, name}, std::pair{&waiting_trickles_, result}}) {
    const WaitingTrickles* waiting = table->Find(key);
    if (waiting == nullptr) continue;
    for (const WaitingEvent& one : waiting->events) {
      static_cast<void>(ParseKept<wire::Trickle>(*table, key, one.bytes));
      RefuseTrickle(one.Record(options_.partition), project, dispatch.facts.result,
                    RefusalReason::kAlreadyDecided, kDecided, out);
    }
    table->Erase(key);
  }
}

// For a trickle whose result is known: the refusal is also written to the result's history.
void ClaimsStage::RefuseTrickle(const RecordView& record, ProjectId project, ResultId result,
                                RefusalReason reason, std::string detail, Emitter& out) {
  auto event = wire::ParseEvent(record.value);
  if (!event.ok()) return out.Fail(event.status());
  const auto& trickle = std::get<wire::Trickle>(event->body);
  wire::PartialGrant unpaid = UnpaidTrickleOf(event->head, trickle);
  unpaid.refusal = reason;
  EmitUnpaidTrickle(record, project, result, trickle.host, unpaid, detail, out);
  stage::Refuse(record, project, reason, std::move(detail), out);
}

void ClaimsStage::EmitUnpaidTrickle(const RecordView& record, ProjectId project, ResultId result, HostId host,
                                    const wire::PartialGrant& unpaid, std::string_view detail, Emitter& out) {
  const HostState* known = hosts_.Find(HostKey(project.value, host));
  const UserId user = known == nullptr ? UserId() : known->record.user;
  const OpenJob* job = jobs_.Find({.project = project.value, .id = result.value, .sub = host.value});
  bytes_.clear();
  wire::EncodeGrant({.project = project,
                     .user = user,
                     .host = host,
                     .app = AppId(job == nullptr ? 0 : job->app),
                     .result = result,
                     .time = unpaid.sent_time,
                     .kind = wire::GrantKind::kTrickle,
                     .flags = job != nullptr && job->ended ? credit::kGrantLate : 0u},
                    {.line = record.line}, {}, {}, &bytes_, {.partial = &unpaid, .reason = detail});
  out.Emit(wire::kGrants, wire::OwnerPartition(project, user, host, options_.partitions), bytes_);
}

void ClaimsStage::OnTrickle(const RecordView& record, Emitter& out) {
  auto event = stage::ReadEvent(record, options_.future_limit, out);
  if (!event) return;
  if (const auto* watermark = std::get_if<wire::Watermark>(&event->body))
    return OnWatermark(kTrickles, *watermark, out);
  const ProjectId project = event->head.project;
  const auto* trickle = std::get_if<wire::Trickle>(&event->body);
  if (trickle == nullptr)
    return stage::Refuse(record, project, RefusalReason::kNotSupported,
                         "events of this kind are not allowed on this topic", out);
  const stage::ProjectView* view = projects_.Find(ProjectKey(project.value));
  if (view == nullptr)  // event time does not advance: the trickle would wait forever
    return stage::Refuse(record, project, RefusalReason::kUnknownApp, "the project has no apps", out);
  std::uint64_t result = trickle->result.value;
  if (result == 0) {
    const Key key = NameKey(project, trickle->result_name, trickle->host);
    const NamedResult* named = names_.Find(key);
    if (named == nullptr) return WaitForJob(key, event->head.time, record, waiting_names_, out);
    if (named->name != trickle->result_name)
      return stage::Refuse(record, project, RefusalReason::kUnknownResult, trickle->result_name, out);
    result = named->result;
  }
  if (ForwardEvent(record, project, ResultId(result), trickle->host, out)) return;
  const Key key{.project = project.value, .id = result, .sub = trickle->host.value};
  const OpenJob* job = jobs_.Find(key);
  // A forgotten result has no job, even if the job's row still exists: the time of the row's deletion depends on how
  // commits are cut.
  if (job != nullptr && job->ended &&
      FindSeen(project, *view, trickle->host, result, kSeenCompletion) == nullptr)
    job = nullptr;
  if (job != nullptr && job->priced) return PayTrickle(key, event->head, *trickle, record, out);
  if (job == nullptr) {
    if (const Pending* pending = pending_.Find(key); pending != nullptr && !pending->dispatch.empty())
      return RefuseTrickle(record, project, ResultId(result), RefusalReason::kNotSupported,
                           "the app did not pay trickles when the result was sent", out);
    if (FindSeen(project, *view, trickle->host, result, kSeenCompletion) != nullptr)
      return RefuseTrickle(record, project, ResultId(result), RefusalReason::kAlreadyDecided, kDecided, out);
  }
  WaitForJob(key, event->head.time, record, waiting_trickles_, out);
}

// When the result came back and its work ended, UNIX s; infinite: it has not come back.
double ClaimsStage::ReturnTime(const Key& key) {
  const Pending* pending = pending_.Find(key);
  wire::HotEvent completion;
  if (pending == nullptr || pending->completion.empty()) return std::numeric_limits<double>::infinity();
  DecodeKept(pending_, key, pending->completion.bytes, wire::EventKind::kCompletion, &completion);
  return ReceivedAt(completion.completion);
}

void ClaimsStage::PayTrickle(const Key& key, const wire::EventHead& head, const wire::Trickle& trickle,
                             const RecordView& record, Emitter& out) {
  const ProjectId project(key.project);
  OpenJob& job = jobs_.Mutable(key);
  if (trickle.app && trickle.app.value != job.app)
    return RefuseTrickle(record, project, ResultId(key.id), RefusalReason::kDispatchDiffers,
                         "the result is of app " + std::to_string(job.app), out);
  const credit::HostRecord& host = hosts_.Need(HostKey(key.project, trickle.host)).record;
  if (host.deleted)
    return RefuseTrickle(record, project, ResultId(key.id), RefusalReason::kUnknownHost,
                         "the row of the host was deleted, so the trickle is not paid", out);
  Sending* const earlier = job.EarlierAt(head.time);
  std::vector<OpenTrickle>& trickles = earlier == nullptr ? job.trickles : earlier->trickles;
  const auto open = std::find_if(trickles.begin(), trickles.end(),
                                 [&](const OpenTrickle& one) { return one.variety == trickle.variety; });
  if (open == trickles.end())
    return RefuseTrickle(
        record, project, ResultId(key.id), RefusalReason::kNotSupported,
        "app " + std::to_string(job.app) + " has no rule for trickles of variety '" + trickle.variety + "'",
        out);
  const credit::TrickleDecision decision =
      credit::Decide(open->price, open->high_water_mark, credit::PaidSum(job.paid),
                     {.event_time = std::min(head.time, job.ended ? job.return_time : ReturnTime(key)),
                      .sequence = trickle.sequence,
                      .elapsed_time = trickle.elapsed_time,
                      .cpu_time = trickle.cpu_time,
                      .runtime_increment = trickle.runtime_increment,
                      .fraction_done = trickle.fraction_done,
                      .steps = trickle.steps});
  if (decision.refused())
    return RefuseTrickle(
        record, project, ResultId(key.id), ReasonOf(decision.outcome),
        std::string(decision.field) + ": " + std::string(credit::TrickleOutcomeName(decision.outcome)), out);
  open->high_water_mark = decision.after;
  wire::PartialGrant partial = UnpaidTrickleOf(head, trickle);
  partial.asked = decision.asked;
  partial.allowed = decision.allowed;
  partial.mark_before = decision.before.value;
  partial.mark_after = decision.after.value;
  partial.bounds = decision.bounds;
  partial.paid_before = decision.paid_before;
  partial.repriced = static_cast<std::uint32_t>(job.repriced.size());
  // A trickle without payment also records the price if it is not the price of the dispatch.
  if (decision.partial != 0 || !open->sent_price.empty()) {
    partial.price = open->price;
    if (!open->sent_price.empty()) partial.sent_price = open->sent_price.front();
  }
  if (decision.partial == 0) {
    ++duplicates_;  // a repeat, or progress that is already paid or exceeds the limits
    partial.outcome = decision.outcome;
    return EmitUnpaidTrickle(record, project, ResultId(key.id), trickle.host, partial, {}, out);
  }
  partial.credit = decision.credit;
  partial.workunit = WorkunitId(job.workunit);
  partial.version = AppVersionId(earlier == nullptr ? job.version : earlier->version);
  credit::AddPaid(host.user, decision.partial, head.time, job.paid);
  bytes_.clear();
  wire::EncodeGrant({.project = project,
                     .user = host.user,
                     .host = trickle.host,
                     .app = AppId(job.app),
                     .result = ResultId(key.id),
                     .credit_micro = decision.partial,
                     .time = head.time,
                     .kind = wire::GrantKind::kPartial,
                     .work_start = open->price.sent_time,
                     .flags = job.ended ? credit::kGrantLate : 0u},
                    {.credit = decision.credit, .line = std::max(record.line, job.line)}, {}, {}, &bytes_,
                    {.partial = &partial});
  if (job.ended) {
    late_trickle_.clear();
    wire::EncodeLateTrickle(bytes_, &late_trickle_);
    return out.Emit(wire::kClaims,
                    wire::WorkunitPartition(project, WorkunitId(job.workunit), options_.partitions),
                    late_trickle_);
  }
  out.Emit(wire::kGrants, wire::OwnerPartition(project, host.user, trickle.host, options_.partitions),
           bytes_);
}

// Moves the job's payments into its claim.
void ClaimsStage::CloseJob(const Key& key, const Pending& pending, credit::Claim& claim) {
  const OpenJob* job = pending.has_job ? jobs_.Find(key) : nullptr;
  if (job == nullptr || job->ended) return;
  const stage::ProjectView& view = projects_.Need(ProjectKey(key.project));
  claim.paid = job->paid;
  if (const credit::AppRow* app = view.catalogue.FindApp(AppId(job->app)))
    claim.settlement = app->policy.settlement;
  jobs_.Mutable(key).ended = true;
}

// The job has ended without a grant.
void ClaimsStage::EndJob(const Key& key, const Pending& pending, double time, std::uint64_t line,
                         std::string_view reason, Emitter& out) {
  const OpenJob* job = pending.has_job ? jobs_.Find(key) : nullptr;
  if (job == nullptr || job->ended) return;
  credit::Claim claim;
  stage::PaidJob paid{.project = ProjectId(key.project),
                      .host = HostId(job->host),
                      .app = AppId(job->app),
                      .result = ResultId(key.id),
                      .time = time,
                      .line = line};
  CloseJob(key, pending, claim);
  paid.settlement = claim.settlement;
  for (const credit::SettledPartial& part :
       credit::SettlePartials(claim.paid, 0, claim.settlement, time).parts)
    stage::EmitSettled(paid, part, reason, options_.partitions, out);
}

void ClaimsStage::LeaveJob(const Key& key, const Pending* pending, const credit::CompletionFacts& back,
                           std::uint64_t line) {
  const credit::AppRow* app = projects_.Need(ProjectKey(key.project)).catalogue.FindApp(back.app);
  const bool keeps = app != nullptr && app->policy.settlement == credit::TrickleSettlement::kKeep;
  if (pending != nullptr && pending->has_job) {
    if (!keeps) return ForgetJob(key);
  } else {
    // If a dispatch is stored, it has opened no job because the app paid no trickles then.
    if (!keeps || app->policy.trickles.empty() || (pending != nullptr && !pending->dispatch.empty())) return;
    jobs_.Mutable(key) = {.host = back.host.value,
                          .app = back.app.value,
                          .version = back.version.value,
                          .peak_flops = back.peak_flops,
                          .sent_time = back.sent_time};
  }
  OpenJob& job = jobs_.Mutable(key);
  if (pending != nullptr && !job.priced) {
    job.dispatch = pending->dispatch;
    job.replaced = pending->replaced;
  }
  job.workunit = back.workunit.value;
  job.ended = true;
  job.return_time = ReceivedAt(back);
  job.line = line;
  HostState& host = hosts_.Mutable(HostKey(key.project, back.host));
  if (!host.has_ended_jobs && host.runs.empty())
    calendar_.File(key.project, stream::DayOf(back.event_time + app->Window()) + 1, back.host.value);
  host.has_ended_jobs = true;
}

void ClaimsStage::ForgetJob(const Key& key) {
  if (const OpenJob* job = jobs_.Find(key); job != nullptr && job->ended) EraseJob(key, *job);
}

void ClaimsStage::EraseJob(const Key& key, const OpenJob& job) {
  const NamedResult* named = nullptr;
  const Key name = NameKey(ProjectId(key.project), job.name, HostId(job.host));
  if (!job.name.empty()) named = names_.Find(name);
  if (named != nullptr && named->result == key.id) names_.Erase(name);
  if (!job.priced) std::erase(hosts_.Mutable(HostKey(key.project, HostId(job.host))).unpriced, key.id);
  jobs_.Erase(key);
}

// Expires trickles whose job never arrived.
bool ClaimsStage::ExpireTrickles(ProjectId project, Emitter& out) {
  constexpr const char* kNotSent =
      "the dispatch of this result to its host is missing, or the result is already decided";
  const auto bytes_of = [](const WaitingTrickles& waiting) {
    std::uint64_t bytes = 0;
    for (const WaitingEvent& one : waiting.events) bytes += one.bytes.size();
    return bytes;
  };
  return expiry_.Rows(kTricklesExpire, waiting_trickles_, budget_, DueAfterDefaultWindow,
                      [&](const Key& key, const WaitingTrickles& waiting) {
                        for (const WaitingEvent& one : waiting.events) {
                          static_cast<void>(ParseKept<wire::Trickle>(waiting_trickles_, key, one.bytes));
                          RefuseTrickle(one.Record(options_.partition), project, ResultId(key.id),
                                        RefusalReason::kUnknownResult, kNotSent, out);
                        }
                        return bytes_of(waiting);
                      }) &&
         // The result of these trickles is unknown.
         expiry_.Rows(kNamesExpire, waiting_names_, budget_, DueAfterDefaultWindow,
                      [&](const Key&, const WaitingTrickles& waiting) {
                        for (const WaitingEvent& one : waiting.events)
                          stage::Refuse(one.Record(options_.partition), project,
                                        RefusalReason::kUnknownResult, kNotSent, out);
                        return bytes_of(waiting);
                      });
}

}  // namespace cobblestone::claims
