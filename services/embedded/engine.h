// The pipeline on one machine: a data directory with log, state, checkpoints and ledger index, the runner over it,
// appending exactly once, and every question that people ask. One process at a time holds the directory.
//
// Answers are JSON (nlohmann), the same for the command line, the socket and later the gateway; numbers of credit are
// given as integers of micro-credits and, beside them, as text with six decimals.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
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
#include "services/metrics/ledger_watch.h"
#include "services/pipeline/periods.h"
#include "services/pipeline/pipeline.h"
#include "services/view/questions.h"

namespace cobblestone {

class LedgerIndex;
class Ticker;
struct CorrectionRequest;
struct LedgerPlaces;

// How far a source (a file by its name, a client by its own) has been taken in.
struct ProducerState {
  std::uint64_t lines = 0;  // taken in so far
  stream::Hash128 hash;     // chained over the bytes of all lines before, ChainLine()
  // Who alone may go on with it over HTTP (gateway::Sender::owner()). Empty: nobody has used it over HTTP. A row of its own.
  std::string owner{};

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.lines, s.hash);
  }
};

// The rows of the log that say so: of how far, and of whose it is.
std::pair<std::string, std::string> ProducerRow(const std::string& source, const ProducerState& state);
std::pair<std::string, std::string> OwnerRow(const std::string& source, const std::string& owner);
// Lines 0 where the source was never used.
ProducerState ReadProducer(const stream::embedded::Log& log, const std::string& source);
// What says in a log that it is one of `order: lockstep`, and what was said in the period under way.
std::vector<std::pair<std::string, std::string>> LockstepRows(Said said);
// kNothing in a log of another order.
Said SaidLast(const stream::embedded::Log& log);

// The chain by which a source that is sent again, whole or grown, is known: hash' = H(hash, bytes of the line).
stream::Hash128 ChainLine(const stream::Hash128& before, std::string_view line);

// One line of a source.
struct SourceLine {
  std::string envelope;  // bytes of the Envelope; empty: the line could not be read
  std::string original;  // as it was, where it could not be read
  std::string problem;   // why
};

struct AppendBlock {
  std::string source;
  std::uint64_t first_line = 0;  // 0 for the first; must be the producer's `lines`
  std::vector<SourceLine> lines;
  stream::Hash128 hash;  // of the source up to and with this block
  // Where the batch begins that this block is part of, for sources that send in batches: kept with the log (BatchBegin), so that
  // a batch that is sent again can be compared.
  std::optional<ProducerState> batch_begin{};
  // Becomes the source's owner; empty: the owner stays. The caller has checked that the source may be used.
  std::string owner{};
  bool own_ticks = false;  // the source says itself when time passes: no ticks are made of its event times
  bool barrier = false;    // everything before is drained first, and the block before the answer
  // `order: lockstep`: the source asks that the period ends before this block; else what it says decides that, never where
  // blocks begin and end.
  bool ends_period = false;
};
// `order: lockstep`: broadcasts, hosts, users, teams and each tick come in blocks of their own kind with a barrier, sources
// make their ticks, and a last block without lines, which ends the period, makes what was sent show
// (services/pipeline/periods.h).
// What the block says; kInvalidArgument: why it cannot be taken.
Result<Said> SaidBy(const AppendBlock& block, const settings::RunSettings& settings);

struct AppendOutcome {
  ProducerState producer;
  std::uint64_t appended = 0;
  std::uint64_t refused = 0;  // lines that could not be read, or are marks
};

// Durable, and without marks.
struct EngineCounts {
  std::uint64_t completions = 0;  // events
  std::uint64_t grants = 0;       // records of the ledger
};

// What the last audit came to; the data directory remembers it.
struct AuditOutcome {
  double at = 0;       // UNIX s, when it had ended
  double seconds = 0;  // that it took
  std::uint64_t problems = 0;
  std::uint64_t grants = 0;             // that were derived again
  std::uint64_t waiting_grants = 0;     // for their user's event
  std::uint64_t expired_grants = 0;     // whose user never came
  std::uint64_t results_half_told = 0;  // completed and not validated, or the other way round

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.at, s.seconds, s.problems, s.grants, s.waiting_grants, s.expired_grants, s.results_half_told);
  }
};

struct EngineOptions {
  std::function<double()> clock;   // UNIX s; the wall clock when empty
  std::function<double()> steady;  // s since anything, never goes back; the system's steady clock when empty
  // The operator says that the clock is right, however far it is from what the data directory knows.
  bool accept_time_jump = false;
  // The operator's way out of a damaged log: what can still be read of it is the truth, and all that was made of the rest
  // is put aside and made again. A log that is whole is opened as ever.
  bool accept_loss = false;
  // What an operator must react to while it runs; any thread. When empty, what was given as `report` gets it.
  std::function<void(const std::string&)> warn;
  // Counts what slots write, and times their commits: for whoever gathers metrics (engine_metrics.h).
  bool watched = false;
};

class Engine {
 public:
  // Opens and recovers. Without Start() nothing is processed, and the directory is only asked.
  static Result<std::unique_ptr<Engine>> Open(const settings::RunSettings& settings,
                                              const std::function<void(const std::string&)>& report,
                                              const EngineOptions& options = {});
  ~Engine();

  void Start();
  Status Stop();
  [[nodiscard]] Status failure() const;

  [[nodiscard]] ProducerState Producer(const std::string& source) const;
  // Of the source's last block that named one; nothing (line 0) where none did.
  [[nodiscard]] ProducerState BatchBegin(const std::string& source) const;
  // Durable on return. kInvalidArgument when the block does not follow what the source has sent before. Waits while
  // the stages are too far behind, so that what they read is still in memory.
  Result<AppendOutcome> Append(const AppendBlock& block);
  // The same in two steps, so that a caller can have several blocks on their way. Blocks with a barrier are durable and
  // drained when the first returns. Blocks of several sources are appended in the order in which they come, one block of each
  // source in a turn: a source that sends without end holds up another's block for one block of its own.
  struct PendingAppend {
    AppendOutcome outcome;
    std::uint64_t ticket = 0;
  };
  Result<PendingAppend> BeginAppend(const AppendBlock& block);
  Result<AppendOutcome> FinishAppend(const PendingAppend& pending);
  void WaitIdle();
  [[nodiscard]] bool idle() const;
  // `order: lockstep`: sources are to be taken in so.
  [[nodiscard]] bool lockstep() const { return pipeline_.lockstep; }

  // `ticks: wall`: makes the tick that the clock says is due. A thread does so every second; tests with a clock of
  // their own need not wait for it.
  void LookAtClock();

  // Questions, of the slots as they run: each takes a turn of a slot.
  [[nodiscard]] view::Questions& questions() { return *questions_; }
  // For as many questions as come, and long ones: of the state on disk, some seconds old; where nothing was started, of what
  // was recovered. When it is first called the ledger is indexed for them (the whole of it, if it never was before).
  Result<view::Questions*> QuestionsForMany();
  [[nodiscard]] view::State& live_state() { return *live_state_; }
  [[nodiscard]] view::State& stored_state() { return *stored_state_; }
  [[nodiscard]] view::Ledger& ledger() { return *ledger_; }
  // The states as they lie on disk, some seconds old, copied by hard links (OpenCopiedState): {"directory"}. What an earlier
  // copy has left is removed: who asks has locked the exports of this directory.
  Result<nlohmann::json> CopyState();
  // The ledger's sums for each account up to these places (ledger_sums.h): {"file"}, which is kept and gone on from. `anew`: from
  // the first record on.
  Result<nlohmann::json> SumLedger(
      const LedgerPlaces& to, bool anew,
      const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);
  // What a reversal or re-pricing would do (correction_plan.h); changes nothing, but that `order: lockstep` ends the period.
  Result<nlohmann::json> Corrections(
      const CorrectionRequest& request,
      const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);
  Result<nlohmann::json> RefusedResubmit(std::uint64_t offset);
  nlohmann::json Tasks();  // slots: lag, sequence, hash, state, checkpoints; log counters
  // Exact when idle.
  EngineCounts Counts();

  // Re-derives every grant from its inputs and every total from the grants. `progress` gets records done and all.
  // ["problems"] is empty when all is well.
  Result<nlohmann::json> Audit(const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);
  // None: there never was one, or nothing of it is known.
  [[nodiscard]] std::optional<AuditOutcome> last_audit() const;

  // What slots have written since it was opened (EngineOptions::watched), and the scales in force.
  [[nodiscard]] metrics::LedgerCounts ledger_counts() const;

  // Every durable record of a topic's partition in order, from `from` on; a false from `visit` ends it.
  Status ForEachRecord(stream::TopicPartition where,
                       const std::function<bool(std::uint64_t offset, std::string_view record)>& visit,
                       std::uint64_t from = 0);
  [[nodiscard]] const PipelineOptions& pipeline() const { return pipeline_; }
  [[nodiscard]] const settings::RunSettings& settings() const { return settings_; }
  [[nodiscard]] stream::embedded::Log& log() { return *log_; }
  [[nodiscard]] stream::embedded::Runner& runner() { return *runner_; }

 private:
  Engine() = default;

  // These hold append_mutex_. Everything before a barrier, and a barrier before everything behind it, is drained.
  Status DrainFor(bool barrier);
  std::uint64_t AppendDrained(stream::embedded::LogUnit unit, bool barrier);
  // `order: lockstep`: drains all, and ends the period if it ends before `next`.
  Status EndPeriodBefore(Said next, bool asked);
  // Everything before it is drained, and it itself. Gives what has moved between partitions since the one before.
  Result<std::uint64_t> PassBarrier(bool ends_period);
  void Remember(Said said, stream::embedded::LogUnit& unit);

  [[nodiscard]] view::QuestionsOptions AskedHow() const;
  void LookAtClockEverySecond();
  void StopTicking();
  void SeedScales();
  void RememberAudit(const AuditOutcome& outcome);

  settings::RunSettings settings_;
  PipelineOptions pipeline_;
  std::unique_ptr<stream::embedded::Log> log_;
  std::vector<StageSet> stages_;
  std::vector<std::unique_ptr<metrics::LedgerWatch>> watches_;  // by slot; none: not watched
  std::unique_ptr<stream::embedded::Runner> runner_;
  std::unique_ptr<LedgerIndex> index_;  // ledger by result
  std::unique_ptr<view::State> live_state_;
  std::unique_ptr<view::State> stored_state_;
  std::unique_ptr<view::Ledger> ledger_;
  std::unique_ptr<view::Questions> questions_;
  std::mutex many_mutex_;
  std::unique_ptr<view::Questions> for_many_;  // guarded by many_mutex_
  EngineOptions options_;                      // with nothing left empty
  // Held for one block at a time: sources take turns, in the order in which their blocks come. A block of broadcasts holds it
  // until it has been processed.
  FairMutex append_mutex_;
  bool started_ = false;
  std::unique_ptr<Ticker> ticker_;  // guarded by append_mutex_
  // The last block had a barrier, in this run or the one before, which may have died while it drained. Guarded by
  // append_mutex_.
  bool after_barrier_ = false;
  Said said_ = Said::kNothing;  // `order: lockstep`: in this period. Guarded by append_mutex_
  std::thread tick_thread_;     // `ticks: wall`
  std::mutex tick_mutex_;
  std::condition_variable tick_wake_;
  bool tick_stopping_ = false;  // guarded by tick_mutex_
};

}  // namespace cobblestone
