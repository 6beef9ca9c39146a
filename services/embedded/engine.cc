#include "services/embedded/engine.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "common/base/private_directory.h"
#include "common/stream/embedded/indexed_log.h"
#include "common/stream/embedded/lock_file.h"
#include "common/stream/state_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/event_line.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/embedded/accepted_loss.h"
#include "services/embedded/engine_state.h"
#include "services/ledger/ledger.h"
#include "services/ledger/ledger_index.h"
#include "services/pipeline/event_time.h"
#include "services/pipeline/ticker.h"

namespace cobblestone::embedded {

using audit::AuditOutcome;
using ledger::IndexedLogOf;
using ledger::LedgerIndex;
using ledger::MakeLedger;
using pipeline::EncodeTick;
using pipeline::MakeSlot;
using pipeline::PeekLine;
using pipeline::PeekTime;
using pipeline::PeriodEndsBefore;
using pipeline::PeriodKind;
using pipeline::PeriodKindOf;
using pipeline::PipelineSlot;
using pipeline::SlotCount;
using pipeline::StageSet;
using pipeline::StandsAlone;
using pipeline::Ticker;
using pipeline::TickerOptions;
using stream::embedded::LogUnit;

namespace {

constexpr std::string_view kProducerRow = "producer/";
constexpr std::string_view kBatchRow = "batch/";
constexpr std::string_view kOwnerRow = "owner/";
constexpr std::string_view kTickRow = "tick/";  // by project, 0 for all: time of the last tick
// Non-empty if the last appended block had a barrier: after a crash during that block, the next block waits
// until the block is processed, as it would have without the crash.
constexpr std::string_view kBarrierRow = "barrier";
// "lockstep" if the data directory was created with that order; otherwise absent.
constexpr std::string_view kOrderRow = "order";
// `order: lockstep`: the PeriodKind as of the unit that contains the row.
constexpr std::string_view kPeriodKindRow = "period_kind";
// AuditOutcome.
constexpr std::string_view kAuditRow = "audit";
// Records that may wait on the stages' inputs before appends wait; fewer than the log's tail holds.
constexpr std::uint64_t kMaxLag = 1000000;

std::string ProducerKey(const std::string& source) { return std::string(kProducerRow) + source; }

std::string TickKey(ProjectId project) { return std::string(kTickRow) + std::to_string(project.value); }

double WallClock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The records of one unit, by partition.
class UnitBuilder {
 public:
  void Add(stream::TopicPartition where, std::string_view record) {
    Part& part = parts_[where];
    stream::AppendRecord(part.payload, record);
    ++part.count;
  }
  LogUnit Take() {
    LogUnit unit;
    for (auto& [where, part] : parts_)
      unit.outputs.push_back({.where = where, .payload = std::move(part.payload), .count = part.count});
    parts_.clear();
    return unit;
  }

 private:
  struct Part {
    std::string payload;
    std::uint32_t count = 0;
  };
  std::map<stream::TopicPartition, Part> parts_;
};

void AddBarrier(std::uint64_t id, bool ends_period, UnitBuilder& unit) {
  unit.Add({wire::kCatalogue, 0},
           wire::EncodeEvent({.head = {.id = id}, .body = wire::Barrier{.ends_period = ends_period}}));
}

// Visits the records from `at` to `end`, until `visit` returns false.
Status ReadRecords(stream::embedded::Log& log, stream::TopicPartition where, std::uint64_t at,
                   std::uint64_t end,
                   const std::function<bool(std::uint64_t offset, std::string_view record)>& visit) {
  while (at < end) {
    auto batch = log.Read(where, at);
    if (!batch.ok()) return batch.status();
    if (*batch == nullptr) break;
    stream::RecordCursor cursor((*batch)->payload);
    std::string_view record;
    for (std::uint64_t offset = (*batch)->first; cursor.Next(&record); ++offset)
      if (offset >= at && !visit(offset, record)) return Status::Ok();
    at = (*batch)->end();
  }
  return Status::Ok();
}

std::string EncodeRow(const auto& value) {
  std::string bytes;
  stream::EncodeState(value, bytes);
  return bytes;
}

// Rows for the ticks in the unit.
void AddTickRows(const std::map<ProjectId, double>& moved, LogUnit& unit) {
  for (const auto& [project, time] : moved) unit.rows.emplace_back(TickKey(project), EncodeRow(time));
}

// If the log is damaged and the operator accepts the loss (EngineOptions::accept_loss), opens it with that
// loss.
Result<std::unique_ptr<stream::embedded::Log>> OpenLog(stream::embedded::LogOptions options,
                                                       const std::string& data_directory, std::uint32_t slots,
                                                       const EngineOptions& engine_options) {
  auto log = stream::embedded::Log::Open(options);
  if (!engine_options.accept_loss) return log;
  const bool damaged = log.status().code() == StatusCode::kCorrupted;
  if (damaged) {
    const std::string& message = log.status().message();
    engine_options.warn("data loss accepted: " + message.substr(0, message.find("; nothing was changed")));
    options.accept_loss = true;
    log = stream::embedded::Log::Open(options);
  }
  if (!log.ok()) return log;
  const auto moved = PutAsideWhatIsNewerThan(**log, data_directory, slots, engine_options.warn);
  if (!moved.ok()) return moved.status();
  engine_options.warn(
      damaged || *moved > 0
          ? "the records that remain in the log are authoritative from now on. Send every source again "
            "from its beginning: lines that are already ingested are skipped. External systems "
            "must withdraw credit that was exported since and is not granted again. Check the "
            "result with `cobblestone audit`; " +
                data_directory + "/lost can be deleted"
          : "no data loss to accept: the log is complete, and no state is newer than the log. "
            "Start without --accept-loss");
  return log;
}

// The order is fixed when the directory is created.
Status CheckOrderOf(stream::embedded::Log& log, const std::vector<stream::TopicSpec>& topics,
                    const settings::RunSettings& settings) {
  const bool asked = settings.order == settings::Order::kLockstep;
  const auto row = log.GetRow(kOrderRow);
  if (row.ok() == asked) return Status::Ok();
  bool fresh = true;
  for (std::size_t topic = 0; topic < topics.size(); ++topic)
    for (std::uint32_t p = 0; p < topics[topic].partitions; ++p)
      fresh = fresh && log.End({static_cast<stream::TopicIndex>(topic), p}) == 0;
  if (!asked || !fresh)
    return Status::InvalidArgument(
        "the data directory " + settings.data_directory +
        " was created with `order: " + (asked ? "arrival" : "lockstep") + "`, but the configuration has " +
        (asked ? "lockstep" : "arrival") +
        "; the order cannot be changed: restore the old value, or use another directory");
  stream::embedded::LogUnit unit;
  unit.rows = LockstepRows(PeriodKind::kNothing);
  log.WaitDurable(log.Append(std::move(unit)));
  return Status::Ok();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> LockstepRows(PeriodKind period_kind) {
  return {{std::string(kOrderRow), "lockstep"}, {std::string(kPeriodKindRow), EncodeRow(period_kind)}};
}

PeriodKind LastPeriodKind(const stream::embedded::Log& log) {
  PeriodKind period_kind = PeriodKind::kNothing;
  if (const auto row = log.GetRow(kPeriodKindRow); row.ok()) {
    stream::StateReader reader(*row);
    reader(period_kind);
  }
  return period_kind;
}

std::pair<std::string, std::string> ProducerRow(const std::string& source, const ProducerState& state) {
  return {ProducerKey(source), EncodeRow(state)};
}

std::pair<std::string, std::string> OwnerRow(const std::string& source, const std::string& owner) {
  return {std::string(kOwnerRow) + source, owner};
}

stream::Hash128 ChainLine(const stream::Hash128& before, std::string_view line) {
  stream::Hash128 of_line = stream::HashBytes(line, before.low);
  const std::uint64_t both[4] = {before.low, before.high, of_line.low, of_line.high};
  return stream::HashBytes({reinterpret_cast<const char*>(both), sizeof both});
}

Result<std::unique_ptr<Engine>> Engine::Open(const settings::RunSettings& settings,
                                             const std::function<void(const std::string&)>& report,
                                             const EngineOptions& engine_options) {
  std::unique_ptr<Engine> engine(new Engine);
  engine->settings_ = settings;
  engine->options_ = engine_options;
  if (!engine->options_.clock) engine->options_.clock = WallClock;
  if (!engine->options_.warn) engine->options_.warn = report;
  engine->pipeline_ = {.partitions = settings.partitions,
                       .future_limit = std::chrono::duration<double>(settings.future_limit).count(),
                       .lockstep = settings.order == settings::Order::kLockstep};
  if (Status s = MakePrivateDirectory(settings.data_directory, report); !s.ok()) return s;
  if (std::filesystem::exists(RestoreFolderOf(settings.data_directory) + "/restore.lock"))
    return Status::InvalidArgument(
        "a restore into " + settings.data_directory +
        " has not ended; wait for it or, if it died, run `cobblestone restore` again");
  const auto topics = wire::Manifest(settings.partitions);
  const std::uint32_t slots = SlotCount(engine->pipeline_);
  auto log = OpenLog({.path = settings.data_directory + "/log",
                      .topics = topics,
                      .sync = settings.sync,
                      .tail_bytes = settings.memory.log_tail,
                      .write_buffer_bytes = settings.memory.write_buffer,
                      .commit_gap = settings.commit.interval,
                      .clock = engine->options_.clock,
                      .steady = engine->options_.steady,
                      .accept_clock = engine->options_.accept_time_jump},
                     settings.data_directory, slots, engine->options_);
  if (!log.ok()) return log.status();
  engine->log_ = std::move(*log);
  // A backup that died left it; it would keep deleted files on the disk.
  if (stream::embedded::LockFile::CheckFree(BackupLockOf(settings.data_directory)).ok()) {
    std::error_code stays;  // and the next backup removes it
    std::filesystem::remove_all(BackupCopyOf(settings.data_directory), stays);
  }
  if (Status s = CheckOrderOf(*engine->log_, topics, settings); !s.ok()) return s;

  engine->stages_.resize(slots);
  stream::embedded::RunnerOptions options{
      .directory = settings.data_directory,
      .threads = settings.threads,
      .topics = topics,
      .journal = wire::kJournal,
      .commit_interval = settings.commit.interval,
      .commit_records = settings.commit.max_records,
      .commit_bytes = settings.commit.max_bytes,
      .flush_interval = std::chrono::duration_cast<std::chrono::milliseconds>(settings.state.flush_interval),
      .flush_debt_records = settings.state.max_debt_records,
      .checkpoint_interval =
          std::chrono::duration_cast<std::chrono::milliseconds>(settings.checkpoint.interval),
      .checkpoints_kept = static_cast<int>(settings.checkpoint.keep),
      .verify_checkpoints = settings.checkpoint.verify,
      .object_bytes = settings.memory.objects / slots,
      .inputs_age = std::chrono::duration<double>(settings.retention.inputs_age).count(),
      .inputs_bytes = settings.retention.inputs_bytes,
      .peek_time = engine->lockstep() ? PeekLine : PeekTime,
      .lockstep = engine->lockstep(),
      .block_cache_bytes = settings.memory.block_cache,
      .clock = engine->options_.clock,
  };
  for (std::uint32_t k = 0; engine->options_.watched && k < slots; ++k) {
    engine->watches_.push_back(std::make_unique<metrics::LedgerWatch>());
    options.watches.push_back(engine->watches_.back().get());
  }
  Engine* raw = engine.get();
  options.count = [raw, slots](std::uint32_t k) {
    const StageSet& stages = raw->stages_[k];
    if (k + 1 == slots) return stages.coordinator->watermarks();
    stream::Watermarks& watermarks = stages.grants->watermarks();
    return watermarks.passed() - (watermarks.begun() ? 1 : 0);  // of which the ledger has the record
  };
  auto runner = stream::embedded::Runner::Open(
      options, *engine->log_, slots,
      [raw](std::uint32_t k) {
        PipelineSlot made = MakeSlot(k, raw->pipeline_);
        raw->stages_[k] = made.stages;
        return stream::SlotParts{.tables = std::move(made.tables), .slot = std::move(made.slot)};
      },
      report);
  if (!runner.ok()) return runner.status();
  engine->runner_ = std::move(*runner);
  engine->SeedScales();
  const IndexedLogOf log_of = [log = engine->log_.get()](stream::TopicIndex) {
    return stream::embedded::MakeIndexedLog(*log);
  };
  auto index = LedgerIndex::Open(settings.data_directory + "/index", log_of, settings.partitions);
  if (!index.ok()) return index.status();
  engine->index_ = std::move(*index);
  engine->live_state_ = MakeLiveState(*engine->runner_, engine->pipeline_);
  engine->stored_state_ = MakeStoredState(*engine->runner_, engine->pipeline_);
  engine->ledger_ = MakeLedger(log_of, *engine->index_);
  engine->questions_ =
      std::make_unique<view::Questions>(*engine->live_state_, *engine->ledger_, engine->AskedHow());
  const auto last_of = [log = engine->log_.get()](ProjectId project) {
    double last = 0;
    if (const auto row = log->GetRow(TickKey(project)); row.ok()) {
      stream::StateReader reader(*row);
      reader(last);
    }
    return last;
  };
  engine->ticker_ = std::make_unique<Ticker>(TickerOptions{.last = last_of(ProjectId{}),
                                                           .future_limit = engine->pipeline_.future_limit,
                                                           .accept_jump = engine->options_.accept_time_jump,
                                                           .last_of = last_of});
  const auto barrier = engine->log_->GetRow(kBarrierRow);
  engine->after_barrier_ = barrier.ok() && !barrier->empty();
  engine->period_kind_ = LastPeriodKind(*engine->log_);
  return engine;
}

Engine::~Engine() {
  StopTicking();
  runner_.reset();
  index_.reset();
}

void Engine::Start() {
  started_ = true;
  runner_->Start();
  if (settings_.ticks == settings::Ticks::kWall)
    tick_thread_ = std::thread([this] { LookAtClockEverySecond(); });
}

Status Engine::Stop() {
  StopTicking();
  return runner_->Stop();
}

// ---- Metrics ------------------------------------------------------------------------------------------------

// Loads the scales in force; later epochs are seen when they are written.
void Engine::SeedScales() {
  if (watches_.empty()) return;
  const std::uint32_t k = pipeline_.partitions;
  runner_->Query(k, [&](stream::Slot&) {
    stages_[k].coordinator->projects().ForEach(
        [&](const stream::Key& key, const coordinator::ProjectState& state) {
          watches_[k]->SeeEpoch(ProjectId(key.project), state.scales.table);
        });
  });
}

metrics::LedgerCounts Engine::ledger_counts() const {
  metrics::LedgerCounts counts;
  for (const auto& watch : watches_) watch->AddTo(&counts);
  return counts;
}

std::optional<AuditOutcome> Engine::last_audit() const {
  const auto row = log_->GetRow(kAuditRow);
  if (!row.ok()) return std::nullopt;
  AuditOutcome outcome;
  stream::StateReader reader(*row);
  reader(outcome);
  if (!reader.ok()) return std::nullopt;
  return outcome;
}

void Engine::RememberAudit(const AuditOutcome& outcome) {
  log_->WaitDurable(log_->Append({.rows = {{std::string(kAuditRow), EncodeRow(outcome)}}}));
}

// ---- Ticks --------------------------------------------------------------------------------------------------

void Engine::LookAtClock() {
  if (settings_.ticks != settings::Ticks::kWall) return;
  Ticker::Look look;
  {
    std::lock_guard lock(append_mutex_);
    ticker_->Drop();
    look = ticker_->OnClock(options_.clock());
    if (look.tick && (!lockstep() || EndPeriodBefore(PeriodKind::kTick, false).ok())) {
      UnitBuilder unit;
      unit.Add({wire::kCatalogue, 0}, EncodeTick({}, *look.tick));
      LogUnit taken = unit.Take();
      AddTickRows(ticker_->Keep(), taken);
      if (lockstep()) SetPeriodKind(PeriodKind::kTick, taken);
      log_->Append(std::move(taken));
      // Applies the tick now; if this fails, the runner has failed and reports it to every caller.
      if (lockstep()) static_cast<void>(EndPeriodBefore(PeriodKind::kNothing, true));
    }
  }
  if (!look.warning.empty()) options_.warn(look.warning);
}

void Engine::LookAtClockEverySecond() {
  std::unique_lock lock(tick_mutex_);
  while (!tick_stopping_) {
    lock.unlock();
    LookAtClock();
    lock.lock();
    tick_wake_.wait_for(lock, std::chrono::seconds(1), [&] { return tick_stopping_; });
  }
}

void Engine::StopTicking() {
  {
    std::lock_guard lock(tick_mutex_);
    tick_stopping_ = true;
  }
  tick_wake_.notify_all();
  if (tick_thread_.joinable()) tick_thread_.join();
}

// ---- Appending ----------------------------------------------------------------------------------------------

Status Engine::failure() const { return runner_->failure(); }
void Engine::WaitIdle() { runner_->WaitIdle(); }
bool Engine::idle() const { return runner_->idle(); }

namespace {

ProducerState ReadState(const stream::embedded::Log& log, const std::string& key) {
  ProducerState state;
  if (const auto row = log.GetRow(key); row.ok()) {
    stream::StateReader reader(*row);
    reader(state);
  }
  return state;
}

}  // namespace

ProducerState ReadProducer(const stream::embedded::Log& log, const std::string& source) {
  ProducerState state = ReadState(log, ProducerKey(source));
  if (auto row = log.GetRow(std::string(kOwnerRow) + source); row.ok()) state.owner = std::move(*row);
  return state;
}

ProducerState Engine::Producer(const std::string& source) const { return ReadProducer(*log_, source); }

ProducerState Engine::BatchBegin(const std::string& source) const {
  return ReadState(*log_, std::string(kBatchRow) + source);
}

Status Engine::DrainFor(bool barrier) {
  if (!barrier && !after_barrier_) return Status::Ok();
  if (!started_ && (barrier || !runner_->idle()))
    return Status::Retry("a broadcast requires running stages, but the stages have not been started");
  runner_->WaitIdle();
  return runner_->failure();
}

std::uint64_t Engine::AppendDrained(LogUnit unit, bool barrier) {
  if (barrier != after_barrier_) unit.rows.emplace_back(kBarrierRow, barrier ? "1" : "");
  after_barrier_ = barrier;
  const std::uint64_t ticket = log_->Append(std::move(unit));
  if (barrier) {
    runner_->WaitIdle();
    log_->CommitSoon();
  }
  return ticket;
}

void Engine::SetPeriodKind(PeriodKind period_kind, LogUnit& unit) {
  period_kind_ = period_kind;
  unit.rows.emplace_back(kPeriodKindRow, EncodeRow(period_kind));
}

Status Engine::EndPeriodBefore(PeriodKind next, bool asked) {
  const bool ends = PeriodEndsBefore(period_kind_, next, asked);
  if (!started_ && (ends || StandsAlone(next) || !runner_->idle()))
    return Status::Retry("the end of a period requires running stages, but the stages have not been started");
  runner_->WaitIdle();
  if (!ends || !runner_->failure().ok()) return runner_->failure();
  Result<std::uint64_t> moved = 0;
  do {
    moved = PassBarrier(false);
    if (!moved.ok()) return moved.status();
  } while (*moved > 0);
  return PassBarrier(true).status();
}

Result<std::uint64_t> Engine::PassBarrier(bool ends_period) {
  const stream::TopicPartition where{wire::kPassed, 0};
  const std::uint64_t at = log_->End(where);
  UnitBuilder unit;
  AddBarrier(1 + log_->End({wire::kCatalogue, 0}), ends_period, unit);
  LogUnit taken = unit.Take();
  if (ends_period) SetPeriodKind(PeriodKind::kNothing, taken);
  log_->Append(std::move(taken));
  runner_->WaitIdle();
  if (Status s = runner_->failure(); !s.ok()) return s;
  std::uint64_t moved = 0;
  Status read = ReadRecords(*log_, where, at, log_->End(where), [&](std::uint64_t, std::string_view record) {
    if (wire::WatermarkPassed passed; wire::DecodeWatermarkPassed(record, &passed)) moved += passed.moved;
    return true;
  });
  if (!read.ok()) return read;
  return moved;
}

Result<PeriodKind> PeriodKindOf(const AppendBlock& block, const settings::RunSettings& settings) {
  PeriodKind period_kind = PeriodKind::kNothing;
  std::uint64_t number = block.first_line;
  for (const SourceLine& line : block.lines) {
    ++number;
    const PeriodKind one = PeriodKindOf(line.envelope);
    if (one == PeriodKind::kNothing) continue;
    if (one == PeriodKind::kResults && !block.own_ticks && settings.ticks == settings::Ticks::kInput)
      return Status::InvalidArgument("the pipeline runs with `order: lockstep`: source " + block.source +
                                     " must create its ticks itself; use `cobblestone ingest`");
    const bool alone = StandsAlone(one);
    if ((period_kind != PeriodKind::kNothing && (one != period_kind || one == PeriodKind::kTick)) ||
        (alone && !block.barrier))
      return Status::InvalidArgument(
          "line " + std::to_string(number) + " of " + block.source +
          " must be in a block of its own kind, and a broadcast, member or tick requires a "
          "barrier: the pipeline runs with `order: lockstep`");
    period_kind = one;
  }
  return period_kind;
}

Result<AppendOutcome> Engine::Append(const AppendBlock& block) {
  auto begun = BeginAppend(block);
  if (!begun.ok()) return begun.status();
  return FinishAppend(*begun);
}

Result<AppendOutcome> Engine::FinishAppend(const PendingAppend& pending) {
  log_->WaitDurable(pending.ticket);
  if (Status s = runner_->failure(); !s.ok()) return s;
  return pending.outcome;
}

Result<Engine::PendingAppend> Engine::BeginAppend(const AppendBlock& block) {
  std::unique_lock lock(append_mutex_);
  if (started_) runner_->WaitLag(kMaxLag);
  if (block.source.empty()) return Status::InvalidArgument("the source has no name");
  const ProducerState before = Producer(block.source);
  if (block.first_line != before.lines)
    return Status::InvalidArgument("source " + block.source + " is ingested up to line " +
                                   std::to_string(before.lines) + ", but this block starts after line " +
                                   std::to_string(block.first_line) +
                                   "; check for another client that sends under the same name");
  PeriodKind period_kind = PeriodKind::kNothing;
  if (lockstep()) {
    const auto kind = PeriodKindOf(block, settings_);
    if (!kind.ok()) return kind.status();
    period_kind = *kind;
    if (Status s = EndPeriodBefore(period_kind, block.ends_period); !s.ok()) return s;
  } else if (Status s = DrainFor(block.barrier); !s.ok()) {
    return s;
  }
  AppendOutcome outcome;
  UnitBuilder unit;
  ticker_->Drop();  // left by a block that could not be appended
  std::uint64_t line = block.first_line;
  std::string with_line;
  const double now = log_->Now();
  for (const SourceLine& one : block.lines) {
    const std::uint64_t number = line++;
    if (one.envelope.empty() && one.original.empty())
      continue;  // a blank line, or a barrier without an event
    const auto refuse = [&](wire::RefusalReason reason, const std::string& detail,
                            const std::string& original) {
      std::string bytes;
      wire::EncodeRefused({.refusal = {.reason = reason, .detail = detail},
                           .append_time = now,
                           .original = original,
                           .source = block.source,
                           .line = number},
                          &bytes);
      unit.Add({wire::kRefused, 0}, bytes);
      ++outcome.refused;
    };
    if (one.envelope.empty()) {
      refuse(wire::RefusalReason::kUndecodable, one.problem, one.original);
      continue;
    }
    const auto routing = wire::PeekRouting(one.envelope);
    if (routing && wire::IsOurOwn(routing->kind)) {
      refuse(wire::RefusalReason::kNotSupported,
             "only the pipeline may create a " + std::string(wire::EventKindName(routing->kind)),
             one.envelope);
      continue;
    }
    const stream::TopicPartition where = routing ? wire::RouteEvent(*routing, pipeline_.partitions)
                                                 : stream::TopicPartition{wire::kCompletions, 0};
    if (routing && routing->kind == wire::EventKind::kTick) {
      ticker_->OnTick(one.envelope, now);
    } else if (where.topic == wire::kCatalogue && routing->kind != wire::EventKind::kBarrier &&
               !block.barrier) {
      return Status::InvalidArgument("line " + std::to_string(number + 1) + " of " + block.source +
                                     " is a broadcast and must be sent in its own block, with a barrier");
    }
    // Before the event: an event after the watermark must not count into the period before it.
    if (routing && settings_.ticks == settings::Ticks::kInput && !block.barrier && !block.own_ticks) {
      const auto tick = ticker_->OnEvent(routing->project, one.envelope, now);
      if (tick) unit.Add({wire::kCatalogue, 0}, EncodeTick(routing->project, *tick));
    }
    if (lockstep()) {
      with_line.clear();
      wire::AppendWithLine(number, one.envelope, &with_line);
    }
    unit.Add(where, lockstep() ? with_line : one.envelope);
    ++outcome.appended;
  }
  outcome.producer = {
      .lines = line, .hash = block.hash, .owner = block.owner.empty() ? before.owner : block.owner};
  LogUnit taken = unit.Take();
  taken.rows.push_back(ProducerRow(block.source, outcome.producer));
  if (outcome.producer.owner != before.owner)
    taken.rows.push_back(OwnerRow(block.source, outcome.producer.owner));
  if (block.batch_begin)
    taken.rows.emplace_back(std::string(kBatchRow) + block.source, EncodeRow(*block.batch_begin));
  AddTickRows(ticker_->Keep(), taken);
  if (period_kind != PeriodKind::kNothing && period_kind != period_kind_) SetPeriodKind(period_kind, taken);
  const std::uint64_t ticket = AppendDrained(std::move(taken), block.barrier);
  lock.unlock();  // other sources may append while this source waits for the disk
  if (block.barrier) log_->WaitDurable(ticket);
  if (Status s = runner_->failure(); !s.ok()) return s;
  return PendingAppend{.outcome = outcome, .ticket = ticket};
}

Status Engine::ForEachRecord(stream::TopicPartition where,
                             const std::function<bool(std::uint64_t offset, std::string_view record)>& visit,
                             std::uint64_t from) {
  return ReadRecords(*log_, where, std::max(from, log_->Begin(where)), log_->DurableEnd(where), visit);
}

}  // namespace cobblestone::embedded
