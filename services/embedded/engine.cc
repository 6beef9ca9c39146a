#include "services/embedded/engine.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "common/base/private_directory.h"
#include "common/stream/embedded/indexed_log.h"
#include "common/stream/embedded/lock_file.h"
#include "common/wire/control/topics.h"
#include "services/embedded/accepted_loss.h"
#include "services/embedded/engine_state.h"
#include "services/embedded/log_records.h"
#include "services/embedded/log_rows.h"
#include "services/ledger/ledger.h"
#include "services/ledger/ledger_index.h"
#include "services/pipeline/event_time.h"
#include "services/pipeline/ticker.h"

namespace cobblestone::embedded {

using audit::AuditOutcome;
using ledger::IndexedLogOf;
using ledger::LedgerIndex;
using ledger::MakeLedger;
using pipeline::MakeSlot;
using pipeline::PeekLine;
using pipeline::PeekTime;
using pipeline::PeriodKind;
using pipeline::PipelineSlot;
using pipeline::SlotCount;
using pipeline::StageSet;
using pipeline::Ticker;
using pipeline::TickerOptions;
using pipeline::WatermarksOf;

namespace {

double WallClock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
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

// The kind of deployment is fixed when the directory is created.
Status CheckKindOf(stream::embedded::Log& log, const std::vector<stream::TopicSpec>& topics,
                   const settings::RunSettings& settings) {
  const std::string_view asked = settings::KindOf(settings);
  const std::string stored = StoredKind(log);
  if (stored == asked) return Status::Ok();
  bool fresh = true;
  for (std::size_t topic = 0; topic < topics.size(); ++topic)
    for (std::uint32_t p = 0; p < topics[topic].partitions; ++p)
      fresh = fresh && log.End({static_cast<stream::TopicIndex>(topic), p}) == 0;
  if (stored != settings::kArrivalKind || !fresh)
    return Status::InvalidArgument(settings::OtherKind(
        "the data directory " + settings.data_directory + " was", stored, asked, "another directory"));
  stream::embedded::LogUnit unit;
  if (asked == settings::kLockstepKind)
    unit.rows = LockstepRows(PeriodKind::kNothing);
  else
    unit.rows = {KindRow(asked)};
  log.WaitDurable(log.Append(std::move(unit)));
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Open(const settings::RunSettings& settings,
                                             const std::function<void(const std::string&)>& report,
                                             const EngineOptions& engine_options) {
  std::unique_ptr<Engine> engine(new Engine);
  engine->settings_ = settings;
  engine->quotas_ = std::make_unique<intake::Quotas>(settings);
  engine->options_ = engine_options;
  if (!engine->options_.clock) engine->options_.clock = WallClock;
  if (!engine->options_.warn) engine->options_.warn = report;
  engine->pipeline_ = pipeline::OptionsOf(settings);
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
  if (Status s = CheckKindOf(*engine->log_, topics, settings); !s.ok()) return s;

  engine->stages_.resize(slots);
  // IDENTITY of a hub is one slot with three rows for each user, and reads those of a person at all projects. A row of an
  // account is read once a day at most.
  const std::uint64_t objects = settings.memory.objects;
  const std::uint64_t last_bytes = settings.role == settings::Role::kHub ? objects / 2 : objects / slots;
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
      .object_bytes = (objects - last_bytes) / (slots - 1),
      .last_object_bytes = last_bytes,
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
  options.count = [raw](std::uint32_t k) { return WatermarksOf(raw->stages_[k]); };
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
  const auto last_of = [log = engine->log_.get()](ProjectId project) { return ReadTick(*log, project); };
  engine->ticker_ = std::make_unique<Ticker>(TickerOptions{.last = last_of(ProjectId{}),
                                                           .future_limit = engine->pipeline_.future_limit,
                                                           .accept_jump = engine->options_.accept_time_jump,
                                                           .last_of = last_of});
  engine->after_barrier_ = ReadBarrier(*engine->log_);
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
  if (watches_.empty() || pipeline_.hub) return;
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

std::optional<AuditOutcome> Engine::last_audit() const { return ReadAudit(*log_); }

void Engine::RememberAudit(const AuditOutcome& outcome) {
  log_->WaitDurable(log_->Append({.rows = {AuditRow(outcome)}}));
}

// ---- Ticks --------------------------------------------------------------------------------------------------

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

Status Engine::failure() const { return runner_->failure(); }
void Engine::WaitIdle() { runner_->WaitIdle(); }
bool Engine::idle() const { return runner_->idle(); }

Status Engine::ForEachRecord(stream::TopicPartition where,
                             const std::function<bool(std::uint64_t offset, std::string_view record)>& visit,
                             std::uint64_t from) {
  return ReadRecords(*log_, where, std::max(from, log_->Begin(where)), log_->DurableEnd(where), visit);
}

}  // namespace cobblestone::embedded
