#include "services/metrics/ledger_watch.h"

#include <algorithm>
#include <utility>

#include "common/credit/model/model.h"
#include "common/wire/control/control_codec.h"
#include "common/wire/control/scale_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/head_peek.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/ledger/refused_codec.h"

namespace cobblestone::metrics {
namespace {

void TakeAlarms(const WatchedHosts& from, WatchedHosts* to) {
  for (const auto& [key, time] : from)
    TakeAlarm(std::get<0>(key), std::get<1>(key), std::get<2>(key), time, to);
}

}  // namespace

AppCounts& AppCounts::operator+=(const AppCounts& more) {
  grants += more.grants;
  credit_micro += more.credit_micro;
  claims += more.claims;
  claims_on_probation += more.claims_on_probation;
  rising += more.rising;
  return *this;
}

void TakeEpoch(credit::ScaleTable table, ProjectScales* scales) {
  if (table.epoch <= scales->now.epoch) return;
  scales->before = std::exchange(scales->now, std::move(table));
}

void TakeAlarm(ProjectId project, AppId app, HostId host, double time, WatchedHosts* hosts) {
  double& newest = (*hosts)[{project, app, host}];
  newest = std::max(newest, time);
  if (hosts->size() <= kMaxWatchedHosts) return;
  hosts->erase(std::min_element(hosts->begin(), hosts->end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; }));
}

AppCounts& LedgerWatch::OpenOf(const Key& key) {
  if (of_last_ == nullptr || key != last_) {
    of_last_ = &apps_[key];
    last_ = key;
    open_.push_back(of_last_);  // duplicates do no harm: settled counts are 0 afterwards
  }
  return of_last_->open;
}

void LedgerWatch::Wrote(stream::TopicPartition where, std::string_view payload) {
  // Every partition of `control` gets the same records.
  const bool epochs = where.topic == wire::kControl && where.partition == 0;
  if (where.topic != wire::kGrants && where.topic != wire::kClaims && where.topic != wire::kRefused &&
      !epochs)
    return;
  const std::lock_guard lock(mutex_);
  stream::RecordCursor cursor(payload);
  std::string_view record;
  // A record that does not decode is not counted: its reader reports it and the slot stops.
  while (cursor.Next(&record)) {
    if (where.topic == wire::kGrants) {
      wire::AwardHead head;
      if (!wire::PeekAward(record, &head) || !wire::IsAward(head.kind)) continue;
      AppCounts& of = OpenOf({head.project, head.app});
      of.grants += head.kind == wire::GrantKind::kFinal ? 1 : 0;
      if (head.credit_micro > 0) of.credit_micro += head.credit_micro;
    } else if (where.topic == wire::kClaims) {
      wire::ClaimHead head;
      if (!wire::PeekClaim(record, &head)) continue;
      if ((head.flags & credit::kClaimValid) == 0) continue;
      AppCounts& of = OpenOf({head.project, head.app});
      ++of.claims;
      of.claims_on_probation += (head.flags & credit::kClaimOnProbation) != 0 ? 1 : 0;
      credit::Claim claim;
      if ((head.flags & credit::kClaimRising) != 0 && wire::DecodeClaim(record, &claim)) {
        ++of.rising;
        TakeAlarm(claim.project, claim.app, claim.host, claim.time, &open_watched_);
      }
    } else if (where.topic == wire::kRefused) {
      wire::Refused refused;
      if (wire::DecodeRefused(record, &refused)) ++open_refused_[{refused.project, refused.refusal.reason}];
    } else {
      wire::ControlView control;
      ProjectId project;
      credit::ScaleTable table;
      if (wire::DecodeControl(record, &control) && control.kind == wire::ControlKind::kEpoch &&
          wire::DecodeEpoch(control.body, &project, &table))
        open_epochs_.emplace_back(project, std::move(table));
    }
  }
}

void LedgerWatch::Settled(bool committed) {
  const std::lock_guard lock(mutex_);
  for (Entry* entry : open_) {
    if (committed) entry->settled += entry->open;
    entry->open = {};
  }
  open_.clear();
  of_last_ = nullptr;
  if (committed) {
    for (const auto& [key, count] : open_refused_) refused_[key] += count;
    for (auto& [project, table] : open_epochs_) TakeEpoch(std::move(table), &scales_[project]);
    TakeAlarms(open_watched_, &watched_);
  }
  open_refused_.clear();
  open_epochs_.clear();
  open_watched_.clear();
}

void LedgerWatch::SeeEpoch(ProjectId project, credit::ScaleTable table) {
  const std::lock_guard lock(mutex_);
  TakeEpoch(std::move(table), &scales_[project]);
}

void LedgerWatch::AddTo(LedgerCounts* counts) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, entry] : apps_) counts->apps[key] += entry.settled;
  for (const auto& [key, count] : refused_) counts->refused[key] += count;
  TakeAlarms(watched_, &counts->watched);
  for (const auto& [project, scales] : scales_) {
    // One slot has the coordinator. If it has moved between processes, the newer epoch is correct.
    ProjectScales& there = counts->scales[project];
    if (scales.now.epoch > there.now.epoch) there = scales;
  }
}

}  // namespace cobblestone::metrics
