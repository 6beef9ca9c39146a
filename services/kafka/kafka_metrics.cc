#include "services/kafka/kafka_metrics.h"

#include <utility>
#include <vector>

#include "services/hub/snapshot/archive.h"
#include "services/metrics/hub_families.h"
#include "services/metrics/ledger_families.h"
#include "services/metrics/process.h"
#include "services/metrics/task_families.h"

namespace cobblestone::kafka {
namespace {

using metrics::Families;
using stream::kafka::Phase;

double Count(std::uint64_t n) { return static_cast<double>(n); }

metrics::TaskLook LookOf(const stream::kafka::TaskStatus& task, std::string role) {
  metrics::TaskLook look{.slot = task.slot,
                         .role = std::move(role),
                         .records = task.records,
                         .lag = task.owned ? task.lag : 0,  // the slot's owner reports the lag
                         .commits = task.sequence,
                         .state_commits = task.flushed_sequence,
                         .checkpoint_commits = task.checkpoint_sequence,
                         .reexecuted = task.reexecuted,
                         .restores = task.restores,
                         .state_writes = task.state_writes,
                         .state_written_at = task.state_written_at,
                         .checkpoint_at = task.checkpoint_at,
                         .stopped = task.phase == Phase::kStopped,
                         .diverged = task.diverged && task.phase == Phase::kStopped,
                         .commit_latency = task.commit_latency,
                         .cached_bytes = task.cached_bytes};
  if (!task.owned) return look;
  for (const stream::WaitingRows& one : task.waiting)
    look.waiting.push_back({.kind = std::string(one.kind), .rows = one.rows, .bytes = one.bytes});
  return look;
}

void AddSlots(const std::vector<WorkerLook>& workers, Families* all) {
  std::vector<metrics::TaskLook> tasks;
  for (const WorkerLook& worker : workers)
    for (const auto& task : worker.status.tasks) tasks.push_back(LookOf(task, worker.RoleOf(task.slot)));
  metrics::AddTasks(tasks, all);
  auto phase = all->Gauge("cobblestone_kafka_task_phase", "1 for the current phase of a slot.");
  auto owned =
      all->Gauge("cobblestone_kafka_task_owned", "1: the group has assigned the slot to this process.");
  auto behind = all->Gauge("cobblestone_kafka_standby_lag_commits",
                           "Known commits of the owner that a standby has not executed yet.");
  auto rows = all->Counter("cobblestone_kafka_restored_rows_total",
                           "Rows of state restored from checkpoints since the process started.");
  auto produced = all->Counter("cobblestone_kafka_messages_produced_total",
                               "Messages produced, including journal and checkpoints.");
  for (const WorkerLook& worker : workers) {
    for (const auto& task : worker.status.tasks) {
      const metrics::Labels labels{{"slot", std::to_string(task.slot)}, {"role", worker.RoleOf(task.slot)}};
      phase.Add({labels[0], labels[1], {"phase", std::string(PhaseName(task.phase))}}, 1);
      owned.Add(labels, task.owned ? 1 : 0);
      if (!task.owned) behind.Add(labels, Count(task.target_sequence - task.sequence));
      rows.Add(labels, Count(task.restored_rows));
      produced.Add(labels, Count(task.produced));
    }
  }
}

void AddThreads(const std::vector<WorkerLook>& workers, Families* all) {
  stream::kafka::WorkerStatus sum;
  for (const WorkerLook& worker : workers) {
    sum.commits += worker.status.commits;
    sum.aborts += worker.status.aborts;
    sum.producers += worker.status.producers;
    sum.fenced += worker.status.fenced;
    sum.rebalances += worker.status.rebalances;
    sum.flush_seconds += worker.status.flush_seconds;
    sum.offsets_seconds += worker.status.offsets_seconds;
    sum.end_seconds += worker.status.end_seconds;
  }
  auto transactions = all->Counter("cobblestone_kafka_transactions_total", "Transactions, by outcome.");
  transactions.Add({{"result", "committed"}}, Count(sum.commits));
  transactions.Add({{"result", "aborted"}}, Count(sum.aborts));
  all->Counter("cobblestone_kafka_rebalances_total",
               "Times that the group assigned slots to a thread or revoked slots.")
      .Add(Count(sum.rebalances));
  all->Counter("cobblestone_kafka_fenced_owners_total",
               "Previous owners that were fenced because they did not leave cleanly.")
      .Add(Count(sum.fenced));
  all->Counter("cobblestone_kafka_producers_total", "Producers created; one per thread in normal operation.")
      .Add(Count(sum.producers));
  auto waits = all->Counter("cobblestone_kafka_commit_wait_seconds_total",
                            "Time that commits waited for brokers, by kind of wait.");
  waits.Add({{"for", "messages"}}, sum.flush_seconds);
  waits.Add({{"for", "offsets"}}, sum.offsets_seconds);
  waits.Add({{"for", "end"}}, sum.end_seconds);
}

}  // namespace

std::string KafkaMetrics::Render() const {
  Families all;
  metrics::AddBuild(&all);
  all.Gauge("cobblestone_health_state", "Health of the process; 0: ok, 1: degraded, 2: failed.")
      .Add(static_cast<double>(health().state));
  const std::vector<WorkerLook> workers = workers_.LookAtWorkers();
  AddSlots(workers, &all);
  AddThreads(workers, &all);
  metrics::AddLedger(workers_.ledger_counts(), &all);
  if (const std::string& snapshots = workers_.settings().snapshots.directory; !snapshots.empty())
    metrics::AddHubSnapshot(hub::PublishedTime(snapshots), &all);
  metrics::AddDisk(workers_.settings().data_directory, &all);
  metrics::AddProcess(&all);
  return all.Text();
}

metrics::Health KafkaMetrics::health() const {
  if (!workers_.failure().ok())
    return {.state = metrics::HealthState::kFailed,
            .problems = {"the worker has failed; see its log for the reason and the remedy"}};
  metrics::Health health;
  for (const WorkerLook& worker : workers_.LookAtWorkers())
    for (const auto& task : worker.status.tasks)
      if (task.phase == Phase::kStopped)
        health.problems.push_back("slot " + std::to_string(task.slot) +
                                  " has stopped; see `cobblestone tasks` for the reason and the remedy");
  if (!health.problems.empty()) health.state = metrics::HealthState::kDegraded;
  return health;
}

}  // namespace cobblestone::kafka
