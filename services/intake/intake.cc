#include "services/intake/intake.h"

#include <string>
#include <utility>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/event_line.h"
#include "common/wire/events/events.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/intake/block_maker.h"
#include "services/pipeline/event_time.h"

namespace cobblestone::intake {

using pipeline::EncodeTick;
using pipeline::PeriodEndsBefore;
using pipeline::PeriodKind;
using pipeline::PeriodKindOf;
using pipeline::StandsAlone;
using settings::Ticks;

namespace {

// Sorts the lines of a block into records.
class BlockAppend {
 public:
  BlockAppend(const AppendBlock& block, const IntakeOptions& options, Sink& sink)
      : block_(block),
        options_(options),
        sink_(sink),
        now_(sink.now()),
        makes_ticks_(options.ticks == Ticks::kInput && !block.barrier && !block.own_ticks) {}

  // `number`: of the line, from 0.
  Status Add(const SourceLine& line, std::uint64_t number) {
    if (line.envelope.empty()) {
      if (!line.original.empty())
        Refuse(wire::RefusalReason::kUndecodable, line.problem, line.original, number);
      return Status::Ok();
    }
    const auto routing = wire::PeekRouting(line.envelope);
    if (const std::string problem = ProblemOf(routing); !problem.empty()) {
      Refuse(routing ? wire::RefusalReason::kNotSupported : wire::RefusalReason::kUndecodable, problem,
             line.envelope, number);
      return Status::Ok();
    }
    const stream::TopicPartition where = wire::RouteEvent(*routing, options_.partitions);
    if (routing->kind == wire::EventKind::kTick) {
      sink_.ticker().OnTick(line.envelope, now_);
    } else if (where.topic == wire::kCatalogue && routing->kind != wire::EventKind::kBarrier &&
               !block_.barrier) {
      return Status::InvalidArgument("line " + std::to_string(number + 1) + " of " + block_.source +
                                     " is a broadcast and must be sent in its own block, with a barrier");
    }
    // Before the event: an event after the watermark must not count into the period before it.
    if (makes_ticks_) {
      const auto tick = sink_.ticker().OnEvent(routing->project, line.envelope, now_);
      if (tick) sink_.Add({wire::kCatalogue, 0}, EncodeTick(routing->project, *tick));
    }
    if (options_.lockstep) {
      with_line_.clear();
      wire::AppendWithLine(number, line.envelope, &with_line_);
    }
    sink_.Add(where, options_.lockstep ? with_line_ : line.envelope);
    ++outcome_.appended;
    return Status::Ok();
  }

  [[nodiscard]] const AppendOutcome& outcome() const { return outcome_; }

 private:
  void Refuse(wire::RefusalReason reason, const std::string& detail, const std::string& original,
              std::uint64_t number) {
    refused_.clear();
    wire::EncodeRefused({.refusal = {.reason = reason, .detail = detail},
                         .append_time = now_,
                         .original = original,
                         .source = block_.source,
                         .line = number},
                        &refused_);
    sink_.Add({wire::kRefused, 0}, refused_);
    ++outcome_.refused;
  }

  const AppendBlock& block_;
  const IntakeOptions& options_;
  Sink& sink_;
  const double now_;
  const bool makes_ticks_;
  AppendOutcome outcome_;
  std::string with_line_;
  std::string refused_;
};

// A barrier may pass while accounts of hosts, shares and events of merged hosts are on their way. Each makes at least
// one hop between two barriers, so none is on its way when a barrier counts no hop.
Status EndPeriod(Sink& sink) {
  Result<std::uint64_t> moved = 0;
  do {
    moved = sink.PassBarrier(false);
    if (!moved.ok()) return moved.status();
  } while (*moved > 0);
  return sink.PassBarrier(true).status();
}

}  // namespace

stream::Hash128 ChainLine(const stream::Hash128& before, std::string_view line) {
  stream::Hash128 of_line = stream::HashBytes(line, before.low);
  const std::uint64_t both[4] = {before.low, before.high, of_line.low, of_line.high};
  return stream::HashBytes({reinterpret_cast<const char*>(both), sizeof both});
}

IntakeOptions IntakeOptions::Of(const settings::RunSettings& settings) {
  return {.partitions = settings.partitions,
          .lockstep = settings.order == settings::Order::kLockstep,
          .ticks = settings.ticks};
}

Result<PeriodKind> PeriodKindOf(const AppendBlock& block, Ticks ticks) {
  PeriodKind period_kind = PeriodKind::kNothing;
  std::uint64_t number = block.first_line;
  for (const SourceLine& line : block.lines) {
    ++number;
    const PeriodKind one = PeriodKindOf(line.envelope);
    if (one == PeriodKind::kNothing) continue;
    if (one == PeriodKind::kResults && !block.own_ticks && ticks == Ticks::kInput)
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

Status EndPeriodBefore(PeriodKind next, bool asked, Sink& sink) {
  const bool ends = PeriodEndsBefore(sink.period_kind(), next, asked);
  if (ends || StandsAlone(next))
    if (Status s = sink.ReadyForBarrier(); !s.ok()) return s;
  return ends ? EndPeriod(sink) : Status::Ok();
}

Result<AppendOutcome> Append(const AppendBlock& block, const IntakeOptions& options, Sink& sink) {
  if (block.source.empty()) return Status::InvalidArgument("the source has no name");
  const ProducerState before = sink.position();
  if (block.first_line != before.lines)
    return Status::InvalidArgument("source " + block.source + " is ingested up to line " +
                                   std::to_string(before.lines) + ", but this block starts after line " +
                                   std::to_string(block.first_line) +
                                   "; check for another client that sends under the same name");
  PeriodKind period_kind = PeriodKind::kNothing;
  if (options.lockstep) {
    const auto kind = PeriodKindOf(block, options.ticks);
    if (!kind.ok()) return kind.status();
    period_kind = *kind;
    if (Status s = EndPeriodBefore(period_kind, block.ends_period, sink); !s.ok()) return s;
  } else if (block.barrier || sink.must_drain()) {
    // A broadcast takes effect for everything after it, and for nothing before it.
    if (block.barrier)
      if (Status s = sink.ReadyForBarrier(); !s.ok()) return s;
    if (Status s = sink.Drain(); !s.ok()) return s;
  }
  BlockAppend append(block, options, sink);
  std::uint64_t line = block.first_line;
  for (const SourceLine& one : block.lines)
    if (Status s = append.Add(one, line++); !s.ok()) {
      sink.Discard();
      return s;
    }
  AppendOutcome outcome = append.outcome();
  outcome.producer = {
      .lines = line, .hash = block.hash, .owner = block.owner.empty() ? before.owner : block.owner};
  Status s = sink.Store({.position = outcome.producer,
                         .batch_begin = block.batch_begin,
                         .period_kind = period_kind,
                         .barrier = block.barrier});
  if (s.ok() && block.barrier && !options.lockstep) s = sink.Drain();
  if (!s.ok()) return s;
  return outcome;
}

Status Resubmit(const std::vector<std::string>& envelopes, const IntakeOptions& options, Sink& sink) {
  Classifier classifier(options.lockstep ? Separation::kKinds : Separation::kBroadcasts);
  BlockMaker maker({.source = std::string(kResubmissions),
                    .first_line = sink.position().lines,
                    .lines = {},
                    .own_ticks = true});
  stream::Hash128 hash = sink.position().hash;
  for (std::size_t i = 0; i < envelopes.size(); ++i) {
    Step step{.line = {.envelope = envelopes[i]}};
    classifier.Classify(&step);
    hash = ChainLine(hash, envelopes[i]);
    maker.Put(std::move(step), hash);
    if (i + 1 == envelopes.size()) maker.Close();
    while (maker.complete() > 0) {
      if (const auto appended = Append(maker.Take().block, options, sink); !appended.ok())
        return appended.status();
      if (options.lockstep)
        if (Status s = EndPeriodBefore(PeriodKind::kNothing, true, sink); !s.ok()) return s;
    }
  }
  return Status::Ok();
}

}  // namespace cobblestone::intake
