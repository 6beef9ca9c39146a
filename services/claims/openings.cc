// Balances and statistics of hosts from before the pipeline (openings): the part of ClaimsStage that accepts
// them. Statistics apply at once, like those of a host's results; a balance waits for the event that names the
// host's owner.
#include "common/credit/accounts/account.h"
#include "common/wire/events/facts.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/claims/claims_stage.h"
#include "services/claims/kept_events.h"
#include "services/stage/refuse.h"

namespace cobblestone::claims {

using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;

namespace {

// The total in micro-credits; false if it is not a valid amount.
bool MicroOf(const wire::OpeningTotal& opening, credit::MicroCredit* micro) {
  bool ok = true;
  *micro = opening.total_micro ? *opening.total_micro : credit::RoundToMicro(opening.total.value_or(0), &ok);
  return ok;
}

}  // namespace

void ClaimsStage::OnOpeningRow(const RecordView& record, const wire::EventHead& head,
                               const wire::OpeningHostVersion& opening, Emitter& out) {
  const Key key{.project = head.project.value, .id = opening.host.value, .sub = 0};
  const OpeningStamp stamp{.version = opening.version.value,
                           .app = opening.version.anonymous() ? opening.app.value : 0,
                           .stamp = wire::StampOfFacts(head, record.value)};
  if (const HostState* known = hosts_.Find(key)) {
    for (const OpeningStamp& before : known->opening_rows) {
      if (before.version != stamp.version || before.app != stamp.app) continue;
      if (wire::IsRepeat(stamp.stamp, before.stamp)) {
        ++duplicates_;
        return;
      }
      return stage::Refuse(record, head.project,
                           before.stamp.id == stamp.stamp.id ? RefusalReason::kDuplicateWithOtherContents
                                                             : RefusalReason::kAlreadyDecided,
                           "this host and version already has an opening row", out);
    }
  }
  HostState& state = hosts_.Mutable(key);
  state.opening_rows.push_back(stamp);
  auto& versions = state.record.versions;
  auto row = std::find_if(versions.begin(), versions.end(), [&](const credit::HostVersion& v) {
    return v.version == opening.version && (!opening.version.anonymous() || v.app == opening.app);
  });
  if (row == versions.end()) row = versions.insert(versions.end(), credit::HostVersion{});
  const stage::ProjectView* view = projects_.Find({.project = head.project.value, .id = 0, .sub = 0});
  AppId app = opening.app;
  if (!app && view != nullptr)
    if (const auto* version = view->catalogue.FindVersion(opening.version)) app = version->app;
  row->app = app;
  row->version = opening.version;
  row->pfc = opening.pfc;
  row->et = opening.et;
  row->turnaround = opening.turnaround;
  row->consecutive_valid = opening.consecutive_valid;
  row->max_jobs_per_day = opening.max_jobs_per_day;
  row->error_rate = opening.error_rate.value_or(credit::Constants{}.error_rate_initial);
}

void ClaimsStage::OnOpeningTotal(const RecordView& record, const wire::EventHead& head,
                                 const wire::OpeningTotal& opening, Emitter& out) {
  const Key key{.project = head.project.value, .id = opening.account, .sub = 0};
  const HostState* host = hosts_.Find(key);
  const WaitingOpening* waiting = openings_.Find(key);
  const wire::EventStamp stamp = wire::StampOfFacts(head, record.value);
  const wire::EventStamp before = waiting != nullptr ? waiting->stamp
                                  : host != nullptr  ? host->opening
                                                     : wire::EventStamp{};
  if (before.is_set()) {
    if (wire::IsRepeat(stamp, before)) {
      ++duplicates_;
      return;
    }
    return stage::Refuse(
        record, head.project,
        stamp.id == before.id ? RefusalReason::kDuplicateWithOtherContents : RefusalReason::kAlreadyDecided,
        "this host already has an opening balance", out);
  }
  credit::MicroCredit micro = 0;
  if (!MicroOf(opening, &micro))
    return stage::Refuse(record, head.project, RefusalReason::kOutOfRange,
                         "the opening total is out of range", out);
  if (host != nullptr && host->record.known)
    return EmitOpening(key, hosts_.Mutable(key), stamp, opening, out);
  // The event time of a balance often lies long before its arrival; its wait starts at the arrival.
  const stage::ProjectView* view = projects_.Find({.project = key.project, .id = 0, .sub = 0});
  const double since = std::max(head.time, view != nullptr ? view->time : 0);
  WaitingOpening& kept = openings_.Mutable(key);
  kept = {.stamp = stamp, .since = since, .event = {}};
  kept.event.Keep(record);
  WaitsFrom(head.project, since, credit::kDefaultResultWindow);
}

void ClaimsStage::EmitOpening(const Key& key, HostState& host, const wire::EventStamp& stamp,
                              const wire::OpeningTotal& opening, Emitter& out) {
  host.opening = stamp;
  stage::TakeFigures(stamp, opening, key, profiles_);
  const ProjectId project(key.project);
  credit::MicroCredit micro = 0;
  static_cast<void>(MicroOf(opening, &micro));  // was checked at its arrival
  bytes_.clear();
  wire::EncodeGrant({.project = project,
                     .user = host.record.user,
                     .host = HostId(key.id),
                     .credit_micro = micro,
                     .time = opening.rac_time,
                     .kind = wire::GrantKind::kOpening,
                     .work_start = opening.rac},
                    {}, {}, {}, &bytes_);
  out.Emit(wire::kGrants,
           wire::OwnerPartition(project, host.record.user, HostId(key.id), options_.partitions), bytes_);
}

void ClaimsStage::ReleaseOpening(const Key& key, HostState& host, Emitter& out) {
  const WaitingOpening* waiting = openings_.Find(key);
  if (waiting == nullptr) return;
  const auto event = ParseKept<wire::OpeningTotal>(openings_, key, waiting->event.bytes);
  EmitOpening(key, host, waiting->stamp, std::get<wire::OpeningTotal>(event.body), out);
  openings_.Erase(key);
}

bool ClaimsStage::ExpireOpenings(ProjectId project, Emitter& out) {
  return expiry_.Rows(kOpeningsExpire, openings_, budget_, DueAfterDefaultWindow,
                      [&](const Key&, const WaitingOpening& waiting) {
                        stage::Refuse(waiting.event.Record(options_.partition), project,
                                      RefusalReason::kUnknownHost, "the event of its host never arrived",
                                      out);
                        return waiting.event.bytes.size();
                      });
}

}  // namespace cobblestone::claims
