#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <tuple>

#include "common/credit/policies/policy.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/replay/replay.h"

namespace cobblestone::replay {

using pipeline::MakeSlot;
using pipeline::PeriodEndsBefore;
using pipeline::PeriodKind;
using pipeline::PeriodKindOf;
using pipeline::PipelineOptions;
using pipeline::PipelineSlot;
using pipeline::SlotCount;
using pipeline::StandsAlone;

namespace {

std::string AverageJson(const credit::Average& a) {
  return "{\"n\":" + JsonNumber(a.n) + ",\"avg\":" + JsonNumber(a.mean) + "}";
}
std::string AverageVarJson(const credit::AverageVar& a) {
  return "{\"n\":" + JsonNumber(a.n) + ",\"avg\":" + JsonNumber(a.mean) + ",\"var\":" + JsonNumber(a.var) +
         ",\"q\":" + JsonNumber(a.q) + "}";
}

std::string MicroText(credit::MicroTotal micro) {
  if (micro == 0) return "0";
  const bool negative = micro < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(micro) : static_cast<unsigned __int128>(micro);
  std::string digits;
  for (; rest != 0; rest /= 10) digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
  if (negative) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string AccountJson(const char* kind, const stream::Key& key, const credit::Account& account) {
  return std::string("{\"kind\":\"") + kind + "\",\"project\":" + std::to_string(key.project) +
         ",\"id\":" + std::to_string(key.id) + ",\"total_micro\":" + MicroText(account.total_micro) +
         ",\"total\":" + JsonNumber(static_cast<double>(account.total_micro) / 1e6) +
         ",\"rac\":" + JsonNumber(account.recent.value) + ",\"rac_time\":" + JsonNumber(account.recent.time) +
         "}";
}

}  // namespace

std::string JsonNumber(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string GrantRowJson(const GrantRow& row) {
  char text[512];
  if (row.kind != wire::GrantKind::kFinal) {
    const bool partial = row.kind == wire::GrantKind::kPartial;
    std::snprintf(text, sizeof text,
                  "{\"event\":%" PRIu64 ",\"kind\":\"%s\",\"project\":%u,\"workunit\":%" PRIu64
                  ",\"result\":%" PRIu64 ",\"host\":%" PRIu64 ",\"user\":%" PRIu64 ",\"team\":%" PRIu64
                  ",\"app\":%" PRIu64 ",",
                  row.event,
                  partial                                  ? "partial"
                  : row.kind == wire::GrantKind::kReversal ? "reversal"
                                                           : "repricing",
                  row.project.value, row.workunit.value, row.result.value, row.host.value, row.user.value,
                  row.team.value, row.app.value);
    return text +
           (partial ? "\"mark\":" + JsonNumber(row.high_water_mark) +
                          ",\"credit\":" + JsonNumber(row.credit) + ","
                    : "") +
           "\"credit_micro\":" + std::to_string(row.micro) + "}";
  }
  std::snprintf(text, sizeof text,
                "{\"event\":%" PRIu64 ",\"project\":%u,\"workunit\":%" PRIu64 ",\"result\":%" PRIu64
                ",\"host\":%" PRIu64 ",\"user\":%" PRIu64 ",\"team\":%" PRIu64 ",\"app\":%" PRIu64
                ",\"app_version\":%" PRId64 ",\"mode\":\"%s\",\"pfc\":",
                row.event, row.project.value, row.workunit.value, row.result.value, row.host.value,
                row.user.value, row.team.value, row.app.value, row.version.value,
                std::string(credit::ModeName(row.mode)).c_str());
  return text + JsonNumber(row.pfc) + ",\"claimed\":" + JsonNumber(row.claimed) +
         ",\"credit\":" + JsonNumber(row.credit) + ",\"credit_micro\":" + std::to_string(row.micro) + "}";
}

LockstepPipeline::LockstepPipeline(std::uint32_t partitions, GrantSink grants)
    : partitions_(partitions), sink_(std::move(grants)) {
  const PipelineOptions options{.partitions = partitions, .lockstep = true, .fingerprint = false};
  std::vector<stream::Slot*> slots;
  for (std::uint32_t k = 0; k < SlotCount(options); ++k) {
    slots_.push_back(MakeSlot(k, options));
    slots.push_back(slots_.back().slot.get());
    if (Status s = slots_.back().slot->Open(nullptr); !s.ok() && bad_.ok()) bad_ = s;
  }
  lockstep_ = std::make_unique<stream::Lockstep>(wire::Manifest(partitions), slots);
  lockstep_->SetTap(wire::kRefused, [this](stream::TopicPartition, std::string_view) { ++refused_; });
  if (!sink_) return;
  lockstep_->SetTap(wire::kGrants, [this](stream::TopicPartition, std::string_view bytes) {
    wire::Grant grant;
    if (!wire::DecodeGrant(bytes, &grant)) {
      bad_ = Status::Corrupted("a grant cannot be decoded");
      return;
    }
    if (wire::IsAward(grant.head.kind) && grant.head.kind != wire::GrantKind::kFinal) {
      GrantRow row{.kind = grant.head.kind,
                   .event = grant.detail.line,
                   .project = grant.head.project,
                   .result = grant.head.result,
                   .host = grant.head.host,
                   .user = grant.head.user,
                   .app = grant.head.app,
                   .micro = grant.head.credit_micro};
      if (grant.partial) {
        row.workunit = grant.partial->workunit;
        row.credit = grant.partial->credit;
        row.high_water_mark = grant.partial->mark_after;
      }
      if (grant.undone) row.workunit = grant.undone->workunit;
      period_.push_back(row);
      return;
    }
    if (grant.head.kind != wire::GrantKind::kFinal || !grant.claim) return;
    const credit::Claim& claim = *grant.claim;
    std::optional<double> excess;
    if ((grant.head.flags & credit::kGrantCompared) != 0) {
      std::vector<credit::Claim> others;
      for (const wire::OtherClaim& other : grant.others) others.push_back(wire::ClaimOf(other, claim));
      excess = credit::ExcessOf(claim, others);
    }
    period_.push_back({.event = grant.detail.line,
                       .project = grant.head.project,
                       .workunit = claim.workunit,
                       .result = claim.result,
                       .host = claim.host,
                       .user = claim.user,
                       .team = {},
                       .app = claim.app,
                       .version = claim.version,
                       .mode = grant.detail.mode,
                       .pfc = claim.pfc,
                       .claimed = claim.claimed,
                       .credit = grant.detail.credit,
                       .micro = grant.head.credit_micro,
                       .excess = excess,
                       .failure_rate = claim.failure_rate});
  });
  lockstep_->SetTap(wire::kPostings, [this](stream::TopicPartition, std::string_view bytes) {
    wire::Posting posting;
    if (!wire::IsPassedPosting(bytes) && wire::DecodePosting(bytes, &posting))
      teams_[{posting.project.value, posting.result.value}] = posting.team;
  });
}

LockstepPipeline::~LockstepPipeline() = default;

std::uint64_t LockstepPipeline::records() const { return lockstep_->records(); }

Status LockstepPipeline::Feed(std::string_view envelope, std::uint64_t line, bool barrier) {
  const PeriodKind period_kind = PeriodKindOf(envelope);
  if (PeriodEndsBefore(period_kind_, period_kind, barrier))
    if (Status s = EndPeriod(); !s.ok()) return s;
  line_ = line;
  if (envelope.empty()) return Status::Ok();
  lockstep_->Append(wire::RouteEvent(envelope, partitions_), line, envelope);
  if (period_kind != PeriodKind::kNothing) period_kind_ = period_kind;
  return StandsAlone(period_kind) ? lockstep_->Drain() : Status::Ok();
}

Status LockstepPipeline::EndPeriod() {
  period_kind_ = PeriodKind::kNothing;
  for (const bool ends_period : {false, true}) {
    if (Status s = lockstep_->Drain(); !s.ok()) return s;
    lockstep_->Append(
        {wire::kCatalogue, 0}, line_,
        wire::EncodeEvent({.head = {.id = ++barriers_}, .body = wire::Barrier{.ends_period = ends_period}}));
  }
  if (Status s = lockstep_->Drain(); !s.ok()) return s;
  if (!bad_.ok()) return bad_;
  return EmitGrants();
}

Status LockstepPipeline::Finish() {
  if (PeriodEndsBefore(period_kind_, PeriodKind::kNothing, true))
    if (Status s = EndPeriod(); !s.ok()) return s;
  if (Status s = lockstep_->Drain(); !s.ok()) return s;
  return bad_;
}

Status LockstepPipeline::EmitGrants() {
  // Records of one event, result and kind come from one partition, so the stable sort keeps their order.
  std::stable_sort(period_.begin(), period_.end(), [](const GrantRow& a, const GrantRow& b) {
    return std::tie(a.event, a.project, a.result, a.kind) < std::tie(b.event, b.project, b.result, b.kind);
  });
  for (GrantRow& row : period_) {
    const auto team = teams_.find({row.project.value, row.result.value});
    if (team != teams_.end()) row.team = team->second;
    if (Status s = sink_(row); !s.ok()) return s;
  }
  period_.clear();
  teams_.clear();
  return Status::Ok();
}

Status LockstepPipeline::WriteState(const std::function<Status(const std::string& row)>& sink) const {
  // Sorted by kind, then key: the output must not depend on partitions.
  using SortKey = std::tuple<int, std::uint32_t, std::uint64_t, std::uint64_t, std::int64_t>;
  std::vector<std::pair<SortKey, std::string>> rows;
  std::map<std::pair<std::uint32_t, std::uint64_t>, const credit::Account*> hosts;
  for (const PipelineSlot& slot : slots_) {
    if (slot.stages.coordinator != nullptr) {
      slot.stages.coordinator->projects().ForEach([&](const stream::Key& key,
                                                      const coordinator::ProjectState& project) {
        for (const auto& [id, version] : project.scales.table.versions) {
          if (project.catalogue.versions.count(id) == 0) continue;
          rows.emplace_back(SortKey{1, key.project, id, 0, 0},
                            "{\"kind\":\"app_version\",\"project\":" + std::to_string(key.project) +
                                ",\"app_version\":" + std::to_string(id) + ",\"pfc\":" +
                                AverageJson(version.pfc) + ",\"pfc_scale\":" + JsonNumber(version.scale) +
                                ",\"expavg_credit\":" + JsonNumber(version.expavg_credit) +
                                ",\"expavg_time\":" + JsonNumber(version.expavg_time) + "}");
        }
        for (const auto& [id, app] : project.scales.table.apps)
          rows.emplace_back(SortKey{2, key.project, id, 0, 0},
                            "{\"kind\":\"app\",\"project\":" + std::to_string(key.project) + ",\"app\":" +
                                std::to_string(id) + ",\"min_avg_pfc\":" + JsonNumber(app.min_avg_pfc) + "}");
      });
      continue;
    }
    slot.stages.claims->hosts().ForEach([&](const stream::Key& key, const claims::HostState& state) {
      for (const credit::HostVersion& row : state.record.versions)
        rows.emplace_back(
            SortKey{0, key.project, key.id, row.app.value, row.version.value},
            "{\"kind\":\"host_version\",\"project\":" + std::to_string(key.project) + ",\"host\":" +
                std::to_string(key.id) + ",\"app_version\":" + std::to_string(row.version.value) +
                ",\"app\":" + std::to_string(row.app.value) + ",\"pfc\":" + AverageJson(row.pfc) +
                ",\"et\":" + AverageVarJson(row.et) + ",\"turnaround\":" + AverageVarJson(row.turnaround) +
                ",\"consecutive_valid\":" + JsonNumber(row.consecutive_valid) +
                ",\"max_jobs_per_day\":" + JsonNumber(row.max_jobs_per_day) + "}");
      if (state.record.known && !state.record.deleted) hosts.emplace(std::pair{key.project, key.id}, nullptr);
    });
    slot.stages.accounts->hosts().ForEach([&](const stream::Key& key, const accounts::HostAccount& host) {
      if (!host.elsewhere) hosts[{key.project, key.id}] = &host.account;
    });
    slot.stages.accounts->users().ForEach([&](const stream::Key& key, const accounts::UserState& user) {
      if (user.known() && !user.deleted)
        rows.emplace_back(SortKey{4, key.project, key.id, 0, 0}, AccountJson("user", key, user.account));
    });
    slot.stages.teams->teams().ForEach([&](const stream::Key& key, const teams::TeamState& team) {
      rows.emplace_back(SortKey{5, key.project, key.id, 0, 0}, AccountJson("team", key, team.account));
    });
  }
  const credit::Account none;
  for (const auto& [id, account] : hosts)
    rows.emplace_back(SortKey{3, id.first, id.second, 0, 0},
                      AccountJson("host", {.project = id.first, .id = id.second, .sub = 0},
                                  account != nullptr ? *account : none));
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, row] : rows)
    if (Status s = sink(row); !s.ok()) return s;
  return Status::Ok();
}

}  // namespace cobblestone::replay
