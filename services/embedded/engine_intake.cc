// How an engine ingests: the log of its data directory as a sink of services/intake, and resubmission.
#include <algorithm>
#include <map>

#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/events.h"
#include "services/embedded/engine.h"
#include "services/embedded/log_records.h"
#include "services/embedded/log_rows.h"
#include "services/intake/intake.h"
#include "services/pipeline/event_time.h"
#include "services/pipeline/ticker.h"

namespace cobblestone::embedded {

using intake::AppendBlock;
using intake::AppendOutcome;
using intake::IntakeOptions;
using intake::ProducerState;
using pipeline::EncodeTick;
using pipeline::PeriodKind;
using pipeline::Ticker;
using stream::embedded::LogUnit;

namespace {

// Records that may wait on the stages' inputs before appends wait; fewer than the log's tail holds.
constexpr std::uint64_t kMaxLag = 1000000;

}  // namespace

// Lives while its caller holds append_mutex_.
class Engine::LogSink final : public intake::Sink {
 public:
  // `source` is empty for blocks of the engine itself.
  LogSink(Engine& engine, std::string source) : engine_(engine), source_(std::move(source)) {
    if (!source_.empty()) position_ = engine.Producer(source_);
  }

  [[nodiscard]] const ProducerState& position() const override { return position_; }
  [[nodiscard]] PeriodKind period_kind() const override { return engine_.period_kind_; }
  [[nodiscard]] bool must_drain() const override { return engine_.after_barrier_; }
  [[nodiscard]] double now() const override { return engine_.log_->Now(); }
  [[nodiscard]] Ticker& ticker() override { return *engine_.ticker_; }

  Status ReadyForBarrier() override {
    if (engine_.started_) return Status::Ok();
    return Status::Retry(
        "a broadcast, or the end of a period, requires running stages, but the stages have not been started");
  }
  Status Drain() override {
    if (!engine_.started_ && !engine_.runner_->idle()) return ReadyForBarrier();
    // A block that is stored later becomes durable after what it has waited for.
    ticket_ = std::max(ticket_, engine_.runner_->WaitAtRest());
    return engine_.runner_->failure();
  }
  Result<std::uint64_t> PassBarrier(bool ends_period) override {
    if (Status s = Drain(); !s.ok()) return s;
    const stream::TopicPartition where{wire::kPassed, 0};
    const std::uint64_t at = engine_.log_->End(where);
    UnitBuilder unit;
    unit.Add({wire::kCatalogue, 0},
             wire::EncodeEvent({.head = {.id = 1 + engine_.log_->End({wire::kCatalogue, 0})},
                                .body = wire::Barrier{.ends_period = ends_period}}));
    LogUnit taken = unit.Take();
    SetPeriodKind(PeriodKind::kEnding, taken);
    engine_.log_->Append(std::move(taken));
    if (Status s = Drain(); !s.ok()) return s;
    // The next stored block replaces the row. If there is none, the end of an empty period is repeated.
    if (ends_period) engine_.period_kind_ = PeriodKind::kNothing;
    std::uint64_t moved = 0;
    Status read = ReadRecords(
        *engine_.log_, where, at, engine_.log_->End(where), [&](std::uint64_t, std::string_view record) {
          if (wire::WatermarkPassed passed; wire::DecodeWatermarkPassed(record, &passed))
            moved += passed.moved;
          return true;
        });
    if (!read.ok()) return read;
    return moved;
  }

  void Add(stream::TopicPartition where, std::string_view record) override { unit_.Add(where, record); }
  void Discard() override {
    unit_.Take();
    engine_.ticker_->Drop();
  }
  Status Store(const Commit& commit) override {
    LogUnit taken = unit_.Take();
    if (!source_.empty()) {
      taken.rows.push_back(ProducerRow(source_, commit.position));
      if (commit.position.owner != position_.owner)
        taken.rows.push_back(OwnerRow(source_, commit.position.owner));
      if (commit.batch_begin) taken.rows.push_back(BatchRow(source_, *commit.batch_begin));
    }
    for (const auto& [project, time] : engine_.ticker_->Keep()) taken.rows.push_back(TickRow(project, time));
    if (commit.period_kind != PeriodKind::kNothing && commit.period_kind != engine_.period_kind_)
      SetPeriodKind(commit.period_kind, taken);
    if (commit.barrier != engine_.after_barrier_) taken.rows.push_back(BarrierRow(commit.barrier));
    engine_.after_barrier_ = commit.barrier;
    ticket_ = engine_.log_->Append(std::move(taken));
    position_ = commit.position;
    return Status::Ok();
  }

  // What was stored, and what Drain() has waited for, is durable after WaitDurable(ticket()).
  [[nodiscard]] std::uint64_t ticket() const { return ticket_; }

 private:
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

  void SetPeriodKind(PeriodKind period_kind, LogUnit& unit) {
    engine_.period_kind_ = period_kind;
    unit.rows.push_back(PeriodKindRow(period_kind));
  }

  Engine& engine_;
  const std::string source_;
  ProducerState position_;
  UnitBuilder unit_;
  std::uint64_t ticket_ = 0;
};

ProducerState Engine::Producer(const std::string& source) const { return ReadProducer(*log_, source); }
ProducerState Engine::BatchBegin(const std::string& source) const { return ReadBatchBegin(*log_, source); }

Result<AppendOutcome> Engine::Append(const AppendBlock& block) {
  auto begun = BeginAppend(block);
  if (!begun.ok()) return begun.status();
  return FinishAppend(*begun);
}

Result<Engine::PendingAppend> Engine::BeginAppend(const AppendBlock& block) {
  std::unique_lock lock(append_mutex_);
  if (started_) runner_->WaitLag(kMaxLag);
  LogSink sink(*this, block.source);
  const auto outcome = intake::Append(block, IntakeOptions::Of(settings_), sink);
  lock.unlock();  // other sources may append while this source waits for the disk
  if (!outcome.ok()) return outcome.status();
  if (block.barrier) log_->CommitSoon();
  if (Status s = runner_->failure(); !s.ok()) return s;
  return PendingAppend{.outcome = *outcome, .ticket = sink.ticket()};
}

Result<AppendOutcome> Engine::FinishAppend(const PendingAppend& pending) {
  log_->WaitDurable(pending.ticket);
  if (Status s = runner_->failure(); !s.ok()) return s;
  return pending.outcome;
}

Status Engine::EndPeriod() {
  const std::lock_guard lock(append_mutex_);
  LogSink sink(*this, {});
  if (Status s = intake::EndPeriodBefore(PeriodKind::kNothing, true, sink); !s.ok()) return s;
  log_->WaitDurable(sink.ticket());
  return Status::Ok();
}

Status Engine::Resubmit(const std::vector<std::string>& envelopes) {
  std::unique_lock lock(append_mutex_);
  LogSink sink(*this, std::string(intake::kResubmissions));
  if (Status s = intake::Resubmit(envelopes, IntakeOptions::Of(settings_), sink); !s.ok()) return s;
  lock.unlock();
  log_->WaitDurable(sink.ticket());
  return runner_->failure();
}

void Engine::LookAtClock() {
  if (settings_.ticks != settings::Ticks::kWall) return;
  Ticker::Look look;
  {
    std::lock_guard lock(append_mutex_);
    look = ticker_->OnClock(options_.clock());
    LogSink sink(*this, {});
    if (look.tick && (!lockstep() || intake::EndPeriodBefore(PeriodKind::kTick, false, sink).ok())) {
      sink.Add({wire::kCatalogue, 0}, EncodeTick({}, *look.tick));
      static_cast<void>(sink.Store({.position = {},
                                    .batch_begin = {},
                                    .period_kind = lockstep() ? PeriodKind::kTick : PeriodKind::kNothing,
                                    .barrier = after_barrier_}));
      // Applies the tick now; if this fails, the runner has failed and reports it to every caller.
      if (lockstep()) static_cast<void>(intake::EndPeriodBefore(PeriodKind::kNothing, true, sink));
    } else {
      sink.Discard();  // the tick is due again at the next look
    }
  }
  if (!look.warning.empty()) options_.warn(look.warning);
}

}  // namespace cobblestone::embedded
