// The embedded pipeline: a data directory with log, states, checkpoints and ledger index; the runner;
// exactly-once append; and all questions that people ask. Invariant: one process at a time holds the
// directory.
//
// Answers are JSON (nlohmann), the same for the command line, the socket and the gateway. Credit is an
// integer number of micro-credits, with text of six decimals beside it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/fair_mutex.h"
#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "common/stream/embedded/log.h"
#include "common/stream/embedded/runner.h"
#include "common/stream/hash128.h"
#include "common/wire/events/events.h"
#include "services/audit/audit_outcome.h"
#include "services/intake/block.h"
#include "services/intake/quotas.h"
#include "services/metrics/ledger_watch.h"
#include "services/pipeline/periods.h"
#include "services/pipeline/pipeline.h"
#include "services/view/questions.h"

namespace cobblestone::corrections {
struct CorrectionRequest;
}  // namespace cobblestone::corrections

namespace cobblestone::ledger {
class LedgerIndex;
struct LedgerPlaces;
}  // namespace cobblestone::ledger

namespace cobblestone::pipeline {
class Ticker;
}  // namespace cobblestone::pipeline

namespace cobblestone::embedded {

// Path of the lock that a backup of this data directory holds from before its first step to its end, and of the copy
// that it makes (Engine::CopyForBackup). A copy that nobody holds the lock for is left over.
std::string BackupLockOf(const std::string& data_directory);
std::string BackupCopyOf(const std::string& data_directory);
// Folder in which `restore` makes this data directory. While it has restore.lock, Open() returns kInvalidArgument.
std::string RestoreFolderOf(const std::string& data_directory);

// Durable records, without watermarks.
struct EngineCounts {
  std::uint64_t completions = 0;  // events
  std::uint64_t grants = 0;       // records of the ledger
};

struct EngineOptions {
  std::function<double()> clock;  // UNIX s; the wall clock when empty
  // Monotonic seconds from any origin; the system's steady clock if empty.
  std::function<double()> steady;
  // The operator confirms the clock, however far it is from the times in the data directory.
  bool accept_time_jump = false;
  // Recovery from a damaged log: the readable part is authoritative, and states derived from the rest are
  // moved away and rebuilt. Has no effect on an undamaged log.
  bool accept_loss = false;
  // Receives messages that need an operator's reaction; any thread. If empty, `report` receives them.
  std::function<void(const std::string&)> warn;
  // Counts the output of slots and measures the time of commits, for metrics (engine_metrics.h).
  bool watched = false;
};

class Engine {
 public:
  // Opens and recovers. Without Start() nothing is processed, and the directory is only read.
  static Result<std::unique_ptr<Engine>> Open(const settings::RunSettings& settings,
                                              const std::function<void(const std::string&)>& report,
                                              const EngineOptions& options = {});
  ~Engine();

  void Start();
  Status Stop();
  [[nodiscard]] Status failure() const;

  [[nodiscard]] intake::ProducerState Producer(const std::string& source) const;
  // From the source's last block with a `batch_begin`; line 0 if there is none.
  [[nodiscard]] intake::ProducerState BatchBegin(const std::string& source) const;
  // Durable on return. kInvalidArgument: the block does not continue the source. Blocks while the stages are
  // too far behind, so that the stages read their input from memory.
  Result<intake::AppendOutcome> Append(const intake::AppendBlock& block);
  // The same in two steps, so that a caller can have several blocks in flight. A block with a barrier is processed
  // when BeginAppend returns (`order: lockstep`: once the period ends). The block, and what its processing has written,
  // are durable when FinishAppend returns. Blocks of several sources are appended in order of arrival, one block per
  // source and turn: a source that sends without pause delays another source's block by at most one block.
  struct PendingAppend {
    intake::AppendOutcome outcome;
    std::uint64_t ticket = 0;
  };
  Result<PendingAppend> BeginAppend(const intake::AppendBlock& block);
  Result<intake::AppendOutcome> FinishAppend(const PendingAppend& pending);
  void WaitIdle();
  [[nodiscard]] bool idle() const;
  // `order: lockstep`: sources must be ingested in lockstep.
  [[nodiscard]] bool lockstep() const { return pipeline_.lockstep; }

  // `ticks: wall`: appends the ticks that are due by the clock. A thread calls it every second; tests with
  // their own clock call it directly.
  void LookAtClock();

  // Questions over the live state of the slots. Each question takes a turn of a slot.
  [[nodiscard]] view::Questions& questions() { return *questions_; }
  // For many or long questions: over the state on disk, some seconds old; if nothing was started, over the
  // recovered state. The first call builds the ledger's indexes for people (LedgerIndex::IndexForPeople).
  Result<view::Questions*> QuestionsForMany();
  // The questions of QuestionsForMany() if it was called before; else null. Does not wait.
  [[nodiscard]] view::Questions* questions_for_many();
  [[nodiscard]] view::State& live_state() { return *live_state_; }
  [[nodiscard]] view::State& stored_state() { return *stored_state_; }
  [[nodiscard]] view::Ledger& ledger() { return *ledger_; }
  // Copies the states on disk, some seconds old, by hard links (OpenCopiedState): {"directory"}. Deletes the
  // previous copy: the caller must hold the lock of this directory's exports.
  Result<nlohmann::json> CopyState();
  // Copies log and states as of one commit by hard links, without stopping anything (Runner::CopyAll):
  // {"directory"}. Deletes the previous copy: the caller must hold BackupLockOf() of this data directory, and deletes
  // the copy when it is done.
  Result<nlohmann::json> CopyForBackup();
  // Ledger sums of each account up to these places (ledger_sums.h): {"file"}, which is kept and continued by
  // the next call. `from_start`: starts from the first record.
  Result<nlohmann::json> SumLedger(
      const ledger::LedgerPlaces& to, bool from_start,
      const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);
  // Effects of a reversal or repricing (correction_plan.h). Changes nothing, except that `order: lockstep`
  // ends the period.
  Result<nlohmann::json> Corrections(
      const corrections::CorrectionRequest& request,
      const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);
  // Appends refused events again, in this order and in few units; durable on return. On an error a part may have been
  // appended.
  Status Resubmit(const std::vector<std::string>& events);
  // Slots: lag, sequence, hash, state, checkpoints; counters of the log.
  nlohmann::json Tasks();
  // Exact when idle.
  EngineCounts Counts();

  // Re-derives every grant from its inputs and every total from the grants. `progress` receives the number of
  // processed records and of all. ["problems"] is empty if the audit is clean. `since_days`: AuditOptions, with the
  // file `audited` of the data directory.
  Result<nlohmann::json> Audit(const std::function<void(std::uint64_t done, std::uint64_t all)>& progress,
                               std::uint32_t since_days = 0);
  // The world of an app's hosts, fitted to the ledger: history::FitJson. `app` 0: the project's only app.
  Result<nlohmann::json> FitWorld(ProjectId project, AppId app,
                                  const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);
  // Of the last audit; stored in the data directory. None: no audit has run, or its outcome is unknown.
  [[nodiscard]] std::optional<audit::AuditOutcome> last_audit() const;

  // Output of the slots since Open (EngineOptions::watched), and the scales in force.
  [[nodiscard]] metrics::LedgerCounts ledger_counts() const;

  // Visits the durable records of a topic's partition in order, starting at `from`, until `visit` returns
  // false.
  Status ForEachRecord(stream::TopicPartition where,
                       const std::function<bool(std::uint64_t offset, std::string_view record)>& visit,
                       std::uint64_t from = 0);
  [[nodiscard]] const pipeline::PipelineOptions& pipeline() const { return pipeline_; }
  [[nodiscard]] const settings::RunSettings& settings() const { return settings_; }
  // For what enters from other processes; Append() does not charge them.
  [[nodiscard]] intake::Quotas& quotas() { return *quotas_; }
  [[nodiscard]] stream::embedded::Log& log() { return *log_; }
  [[nodiscard]] stream::embedded::Runner& runner() { return *runner_; }

 private:
  Engine() = default;

  class LogSink;  // requires append_mutex_

  // `order: lockstep`: ends the period, which makes everything before it visible.
  Status EndPeriod();
  [[nodiscard]] view::QuestionsOptions AskedHow() const;
  void LookAtClockEverySecond();
  void StopTicking();
  void SeedScales();
  void RememberAudit(const audit::AuditOutcome& outcome);

  settings::RunSettings settings_;
  std::unique_ptr<intake::Quotas> quotas_;
  pipeline::PipelineOptions pipeline_;
  std::unique_ptr<stream::embedded::Log> log_;
  std::vector<pipeline::StageSet> stages_;
  std::vector<std::unique_ptr<metrics::LedgerWatch>> watches_;  // by slot; empty: not watched
  std::unique_ptr<stream::embedded::Runner> runner_;
  std::unique_ptr<ledger::LedgerIndex> index_;  // ledger index, by result
  std::unique_ptr<view::State> live_state_;
  std::unique_ptr<view::State> stored_state_;
  std::unique_ptr<view::Ledger> ledger_;
  std::unique_ptr<view::Questions> questions_;
  std::mutex many_mutex_;
  std::unique_ptr<view::Questions> for_many_;  // guarded by many_mutex_
  EngineOptions options_;                      // defaults filled in
  // Held for one block at a time: sources take turns in order of arrival. A block of broadcasts holds the
  // mutex until the block has been processed.
  FairMutex append_mutex_;
  bool started_ = false;
  std::unique_ptr<pipeline::Ticker> ticker_;  // guarded by append_mutex_
  // The last block had a barrier, in this run or in a previous run that may have died while draining. Guarded
  // by append_mutex_.
  bool after_barrier_ = false;
  // Kind of events in the current period (`order: lockstep`). Guarded by append_mutex_.
  pipeline::PeriodKind period_kind_ = pipeline::PeriodKind::kNothing;
  std::thread tick_thread_;  // `ticks: wall`
  std::mutex tick_mutex_;
  std::condition_variable tick_wake_;
  bool tick_stopping_ = false;  // guarded by tick_mutex_
};

}  // namespace cobblestone::embedded
