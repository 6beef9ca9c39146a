#include "services/embedded/engine_metrics.h"

#include <array>
#include <vector>

#include "common/settings/run_settings.h"
#include "common/wire/control/topics.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/hub/snapshot/archive.h"
#include "services/metrics/hub_families.h"
#include "services/metrics/ledger_families.h"
#include "services/metrics/process.h"
#include "services/metrics/quota_families.h"
#include "services/metrics/task_families.h"
#include "services/view/hub_questions.h"

namespace cobblestone::embedded {
namespace {

using metrics::Families;

double Count(std::uint64_t n) { return static_cast<double>(n); }
double Seconds(std::uint64_t nanos) { return static_cast<double>(nanos) / 1e9; }

// Index of a stage among the stages of a slot (MakeSlot).
constexpr std::size_t kAccountsStage = static_cast<std::size_t>(settings::Stage::kAccounts);

std::vector<metrics::QuotaLook> QuotaLooks(const intake::Quotas& quotas) {
  std::vector<metrics::QuotaLook> looks;
  for (const auto& use : quotas.Look())
    looks.push_back({.project = use.project,
                     .events = use.events,
                     .bytes = use.bytes,
                     .throttled = use.throttled,
                     .events_per_second = use.events_per_second,
                     .bytes_per_second = use.bytes_per_second});
  return looks;
}

void AddHubIndex(const view::HubLists::Look& look, Families* all) {
  metrics::AddHubIndex({.as_of = look.as_of,
                        .took = look.took,
                        .people = look.people,
                        .users = look.users,
                        .hosts = look.hosts},
                       all);
}

}  // namespace

EngineMetrics::EngineMetrics(Engine& engine)
    : engine_(engine), refused_next_(engine.log().DurableEnd({wire::kRefused, 0})) {}

void EngineMetrics::AddSlots(Families* all) const {
  const std::uint32_t coordinator = engine_.pipeline().partitions;
  std::vector<metrics::TaskLook> tasks;
  std::map<std::pair<std::size_t, stream::TopicIndex>, std::uint64_t> lags;  // by stage
  std::uint64_t unposted = 0;
  const auto slots = engine_.runner().Look();
  for (const auto& slot : slots) {
    const bool coordinates = slot.slot == coordinator;
    tasks.push_back({.slot = slot.slot,
                     .role = coordinates ? "coordinator" : "pipeline",
                     .records = slot.records,
                     .lag = slot.lag,
                     .commits = slot.sequence,
                     .state_commits = slot.flushed_sequence,
                     .checkpoint_commits = slot.checkpoint_sequence,
                     .reexecuted = slot.reexecuted,
                     .restores = slot.restores,
                     .state_writes = slot.state_writes,
                     .state_written_at = slot.state_written_at,
                     .checkpoint_at = slot.checkpoint_at,
                     .commit_latency = slot.commit_latency,
                     .cached_bytes = slot.cached_bytes});
    for (const stream::WaitingRows& one : slot.waiting)
      tasks.back().waiting.push_back({.kind = std::string(one.kind), .rows = one.rows, .bytes = one.bytes});
    for (const auto& input : slot.inputs) {
      const std::size_t stage =
          coordinates ? static_cast<std::size_t>(settings::Stage::kCoordinator) : input.stage;
      lags[{stage, input.topic}] += input.records;
      if (stage == kAccountsStage && input.topic == wire::kGrants) unposted += input.records;
    }
  }
  metrics::AddTasks(tasks, all);
  auto lag =
      all->Gauge("cobblestone_stage_lag_records", "Records of a topic that a stage has not processed yet.");
  for (const auto& [key, records] : lags)
    lag.Add({{"stage", std::string(settings::kStageNames[key.first])},
             {"topic", std::string(wire::TopicName(key.second))}},
            Count(records));
  all->Gauge("cobblestone_ledger_unposted_records",
             "Granted records of the ledger that are not posted to accounts yet.")
      .Add(Count(unposted));
  auto throttled =
      all->Counter("cobblestone_task_held_total",
                   "Times that a slot waited because its state on disk was too far behind its commits.");
  auto cached =
      all->Gauge("cobblestone_task_cached_objects", "Decoded objects of the slot's state in memory.");
  auto reads = all->Counter("cobblestone_task_store_reads_total", "Rows of state that were read from disk.");
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const metrics::Labels labels{{"slot", std::to_string(tasks[i].slot)}, {"role", tasks[i].role}};
    throttled.Add(labels, Count(slots[i].throttled));
    cached.Add(labels, Count(slots[i].cached_objects));
    reads.Add(labels, Count(slots[i].store_reads));
  }
}

void EngineMetrics::AddLog(Families* all) const {
  stream::embedded::Log& log = engine_.log();
  const auto counters = log.counters();
  all->Counter("cobblestone_log_units_total", "Units (commits, and appends of sources) written to the log.")
      .Add(Count(counters.units));
  all->Counter("cobblestone_log_records_total", "Records written to the log, including the journal.")
      .Add(Count(counters.records));
  all->Counter("cobblestone_log_syncs_total", "Synced writes of the log; each write holds many units.")
      .Add(Count(counters.syncs));
  all->Counter("cobblestone_log_sync_seconds_total", "Time spent in synced writes of the log.")
      .Add(Seconds(counters.sync_nanos));
  all->Gauge("cobblestone_log_longest_sync_seconds", "Longest synced write since the process started.")
      .Add(Seconds(counters.longest_sync_nanos));
  all->Counter("cobblestone_log_raw_bytes_total", "Bytes of records written to the log, before compression.")
      .Add(Count(counters.raw_bytes));
  all->Counter("cobblestone_log_stored_bytes_total", "Bytes written to the log.")
      .Add(Count(counters.stored_bytes));
  all->Gauge("cobblestone_log_disk_bytes", "Size of the log on disk.").Add(Count(log.disk_bytes()));
  auto records =
      all->Counter("cobblestone_topic_records_total",
                   "Durable records of a topic since the data directory was created, including watermarks.");
  const auto topics = wire::Manifest(engine_.pipeline().partitions);
  for (stream::TopicIndex topic = 0; topic < topics.size(); ++topic) {
    std::uint64_t end = 0;
    for (std::uint32_t p = 0; p < topics[topic].partitions; ++p) end += log.DurableEnd({topic, p});
    records.Add({{"topic", topics[topic].name}}, Count(end));
  }
}

void EngineMetrics::AddAudit(Families* all) const {
  const auto audit = engine_.last_audit();
  auto at = all->Gauge("cobblestone_audit_timestamp_seconds",
                       "End time of the last audit, UNIX time; absent before the first audit.");
  auto took = all->Gauge("cobblestone_audit_duration_seconds", "Duration of the last audit.");
  auto problems =
      all->Gauge("cobblestone_audit_problems", "Numbers that differed in the last audit; must be 0.");
  auto grants = all->Gauge("cobblestone_audit_grants", "Grants that the last audit recomputed.");
  auto waiting = all->Gauge("cobblestone_audit_waiting_grants",
                            "Grants that waited for the event of their user at the last audit.");
  auto expired = all->Gauge("cobblestone_audit_expired_grants",
                            "Grants that expired before the event of their user arrived, at the last audit.");
  auto waiting_results =
      all->Gauge("cobblestone_audit_waiting_results",
                 "Results with a completion or a validation, but not both, at the last audit.");
  if (!audit) return;
  at.Add(audit->at);
  took.Add(audit->seconds);
  problems.Add(Count(audit->problems));
  grants.Add(Count(audit->grants));
  waiting.Add(Count(audit->waiting_grants));
  expired.Add(Count(audit->expired_grants));
  waiting_results.Add(Count(audit->waiting_results));
}

void EngineMetrics::CountRefused() {
  const stream::TopicPartition where{wire::kRefused, 0};
  const std::uint64_t end = engine_.log().DurableEnd(where);
  while (refused_next_ < end) {
    const auto batch = engine_.log().Read(where, refused_next_);
    if (!batch.ok() || *batch == nullptr) return;  // the next scrape retries; an audit reports damage
    stream::RecordCursor cursor((*batch)->payload);
    std::string_view record;
    for (std::uint64_t offset = (*batch)->first; cursor.Next(&record) && offset < end; ++offset) {
      wire::Refused refused;
      if (offset < refused_next_) continue;
      refused_next_ = offset + 1;
      if (wire::DecodeRefused(record, &refused)) ++refused_[{refused.project, refused.refusal.reason}];
    }
  }
}

std::string EngineMetrics::Render() {
  Families all;
  metrics::AddBuild(&all);
  all.Gauge("cobblestone_health_state", "Health of the process; 0: ok, 1: degraded, 2: failed.")
      .Add(static_cast<double>(health().state));
  AddSlots(&all);
  AddLog(&all);
  metrics::LedgerCounts counts = engine_.ledger_counts();
  {
    const std::lock_guard lock(mutex_);
    if (hub_) metrics::AddHub(hub_(), &all);
    if (hub_push_) metrics::AddHubPush(hub_push_(), &all);
    CountRefused();
    counts.refused = refused_;
  }
  if (view::Questions* questions = engine_.questions_for_many();
      questions != nullptr && questions->hub() != nullptr)
    AddHubIndex(questions->hub()->lists().look(), &all);
  metrics::AddLedger(counts, &all);
  metrics::AddQuotas(QuotaLooks(engine_.quotas()), &all);
  AddAudit(&all);
  if (const std::string& snapshots = engine_.settings().snapshots.directory; !snapshots.empty())
    metrics::AddHubSnapshot(hub::PublishedTime(snapshots), &all);
  metrics::AddDisk(engine_.settings().data_directory, &all);
  metrics::AddProcess(&all);
  return all.Text();
}

void EngineMetrics::SetHub(std::function<metrics::HubLook()> look) {
  const std::lock_guard lock(mutex_);
  hub_ = std::move(look);
}

void EngineMetrics::SetHubPush(std::function<std::vector<metrics::HubPushLook>()> look) {
  const std::lock_guard lock(mutex_);
  hub_push_ = std::move(look);
}

metrics::Health EngineMetrics::health() const {
  if (!engine_.failure().ok())
    return {.state = metrics::HealthState::kFailed,
            .problems = {"the pipeline has failed; see its log for the reason and the remedy"}};
  const auto audit = engine_.last_audit();
  if (audit && audit->problems > 0)
    return {.state = metrics::HealthState::kDegraded,
            .problems = {"the last audit found numbers that differ: " + std::to_string(audit->problems)}};
  return {};
}

}  // namespace cobblestone::embedded
