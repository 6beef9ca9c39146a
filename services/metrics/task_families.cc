#include "services/metrics/task_families.h"

#include <functional>

namespace cobblestone::metrics {
namespace {

Labels LabelsOf(const TaskLook& task) { return {{"slot", std::to_string(task.slot)}, {"role", task.role}}; }

double CountOf(std::uint64_t n) { return static_cast<double>(n); }

// Number of commits by which `commits` is behind the task.
double Behind(const TaskLook& task, std::uint64_t commits) {
  return task.commits > commits ? CountOf(task.commits - commits) : 0;
}

}  // namespace

void AddTasks(const std::vector<TaskLook>& tasks, Families* all) {
  const auto each = [&tasks](Families::Family family, const std::function<double(const TaskLook&)>& value) {
    for (const TaskLook& task : tasks) family.Add(LabelsOf(task), value(task));
  };
  // 0: the event has not happened yet, and no time is shown.
  const auto each_time = [&tasks](Families::Family family, const std::function<double(const TaskLook&)>& at) {
    for (const TaskLook& task : tasks)
      if (at(task) > 0) family.Add(LabelsOf(task), at(task));
  };
  each(all->Counter("cobblestone_task_records_total",
                    "Records that the slot has processed since the process started."),
       [](const TaskLook& t) { return CountOf(t.records); });
  each(all->Gauge("cobblestone_task_lag_records",
                  "Records on the inputs of the slot that are not processed yet."),
       [](const TaskLook& t) { return CountOf(t.lag); });
  each(all->Counter("cobblestone_task_commits_total", "Commits of the slot since its creation."),
       [](const TaskLook& t) { return CountOf(t.commits); });
  auto latency =
      all->Histogram("cobblestone_task_commit_duration_seconds",
                     "Time from the first record of a commit until the commit is durable; on Kafka, of a "
                     "transaction.");
  for (const TaskLook& task : tasks) latency.Add(LabelsOf(task), task.commit_latency);
  each(all->Counter("cobblestone_task_reexecuted_commits_total",
                    "Commits that were re-executed with the fingerprint in the journal."),
       [](const TaskLook& t) { return CountOf(t.reexecuted); });
  each(all->Gauge("cobblestone_task_stopped", "1: the slot has stopped and needs an operator."),
       [](const TaskLook& t) { return t.stopped ? 1 : 0; });
  each(all->Gauge("cobblestone_task_diverged",
                  "1: the slot has stopped because a re-executed commit gave another fingerprint."),
       [](const TaskLook& t) { return t.diverged ? 1 : 0; });
  each(all->Counter("cobblestone_task_restores_total",
                    "Missing or damaged states that were restored from a checkpoint or the log."),
       [](const TaskLook& t) { return CountOf(t.restores); });
  each(all->Counter("cobblestone_task_state_writes_total", "State writes since the process started."),
       [](const TaskLook& t) { return CountOf(t.state_writes); });
  each(all->Gauge("cobblestone_task_state_lag_commits", "Commits that are not in the state on disk yet."),
       [](const TaskLook& t) { return Behind(t, t.state_commits); });
  each(all->Gauge("cobblestone_task_checkpoint_lag_commits",
                  "Commits that are not in the newest checkpoint yet."),
       [](const TaskLook& t) { return Behind(t, t.checkpoint_commits); });
  each_time(
      all->Gauge("cobblestone_task_state_written_timestamp_seconds",
                 "Time of the last write of the slot's state, UNIX time; absent before the first write."),
      [](const TaskLook& t) { return t.state_written_at; });
  each_time(
      all->Gauge("cobblestone_task_checkpoint_timestamp_seconds",
                 "Time of the slot's newest checkpoint, UNIX time; absent before the first checkpoint."),
      [](const TaskLook& t) { return t.checkpoint_at; });
  each(all->Gauge("cobblestone_task_cached_bytes",
                  "Estimated memory of decoded, evictable objects of the slot's state."),
       [](const TaskLook& t) { return CountOf(t.cached_bytes); });
  const auto each_kind = [&tasks](Families::Family family, std::uint64_t TaskLook::Waiting::*value) {
    for (const TaskLook& task : tasks) {
      for (const TaskLook::Waiting& one : task.waiting) {
        Labels labels = LabelsOf(task);
        labels.emplace_back("kind", one.kind);
        family.Add(labels, CountOf(one.*value));
      }
    }
  };
  each_kind(all->Gauge("cobblestone_task_waiting_rows", "Rows of state that wait for an event, by kind."),
            &TaskLook::Waiting::rows);
  each_kind(
      all->Gauge("cobblestone_task_waiting_bytes", "Bytes of the waiting rows at the last state write."),
      &TaskLook::Waiting::bytes);
}

}  // namespace cobblestone::metrics
