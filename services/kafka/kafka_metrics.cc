#include "services/kafka/kafka_metrics.h"

#include <utility>
#include <vector>

#include "services/metrics/ledger_families.h"
#include "services/metrics/process.h"
#include "services/metrics/task_families.h"

namespace cobblestone {
namespace {

using metrics::Families;
using stream::kafka::Phase;

double Count(std::uint64_t n) { return static_cast<double>(n); }

metrics::TaskLook LookOf(const stream::kafka::TaskStatus& task, std::string role) {
  metrics::TaskLook look{.slot = task.slot,
                         .role = std::move(role),
                         .records = task.records,
                         .lag = task.owned ? task.lag : 0,  // otherwise its owner reports it
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
  auto phase = all->Gauge("cobblestone_kafka_task_phase", "1 for the phase that a slot is in.");
  auto owned = all->Gauge("cobblestone_kafka_task_owned", "1: the group has given the slot to this process.");
  auto behind = all->Gauge("cobblestone_kafka_standby_lag_commits",
                           "Commits of its owner that a standby has not executed yet, as far as it knows.");
  auto rows = all->Counter("cobblestone_kafka_restored_rows_total",
                           "Rows of state that came from checkpoints since the process began.");
  auto produced = all->Counter("cobblestone_kafka_messages_produced_total",
                               "Messages produced, those of journal and checkpoints included.");
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
  auto transactions =
      all->Counter("cobblestone_kafka_transactions_total", "Transactions, by what became of them.");
  transactions.Add({{"result", "committed"}}, Count(sum.commits));
  transactions.Add({{"result", "aborted"}}, Count(sum.aborts));
  all->Counter("cobblestone_kafka_rebalances_total",
               "Times that the group gave slots to a thread or took some.")
      .Add(Count(sum.rebalances));
  all->Counter("cobblestone_kafka_fenced_owners_total",
               "Owners before that had to be fenced: they did not say good-bye.")
      .Add(Count(sum.fenced));
  all->Counter("cobblestone_kafka_producers_total",
               "Producers that were made; one a thread while all is well.")
      .Add(Count(sum.producers));
  auto waits = all->Counter("cobblestone_kafka_commit_wait_seconds_total",
                            "Time that commits waited for brokers, by what they waited for.");
  waits.Add({{"for", "messages"}}, sum.flush_seconds);
  waits.Add({{"for", "offsets"}}, sum.offsets_seconds);
  waits.Add({{"for", "end"}}, sum.end_seconds);
}

}  // namespace

std::string KafkaMetrics::Render() const {
  Families all;
  metrics::AddBuild(&all);
  all.Gauge("cobblestone_health_state", "How the process is doing; 0: ok, 1: degraded, 2: failed.")
      .Add(static_cast<double>(health().state));
  const std::vector<WorkerLook> workers = workers_.LookAtWorkers();
  AddSlots(workers, &all);
  AddThreads(workers, &all);
  metrics::AddLedger(workers_.ledger_counts(), &all);
  metrics::AddDisk(workers_.settings().data_directory, &all);
  metrics::AddProcess(&all);
  return all.Text();
}

metrics::Health KafkaMetrics::health() const {
  if (!workers_.failure().ok())
    return {.state = metrics::HealthState::kFailed,
            .problems = {"the worker has failed; its log says why, and what to do"}};
  metrics::Health health;
  for (const WorkerLook& worker : workers_.LookAtWorkers())
    for (const auto& task : worker.status.tasks)
      if (task.phase == Phase::kStopped)
        health.problems.push_back("slot " + std::to_string(task.slot) +
                                  " has stopped; `cobblestone tasks` says why, and what to do");
  if (!health.problems.empty()) health.state = metrics::HealthState::kDegraded;
  return health;
}

}  // namespace cobblestone
