// Appends blocks of a source: checks that a block continues its source, classifies each line, generates ticks, sends
// barriers, and records refused lines. The backend only stores the records (Sink).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "common/stream/record.h"
#include "services/intake/block.h"
#include "services/pipeline/periods.h"
#include "services/pipeline/ticker.h"

namespace cobblestone::intake {

struct IntakeOptions {
  std::uint32_t partitions = 0;
  bool lockstep = false;  // `order: lockstep`
  settings::Ticks ticks = settings::Ticks::kInput;

  static IntakeOptions Of(const settings::RunSettings& settings);
};

// Where one source is appended: the log of a data directory, or the topics of a cluster. Threads: one at a time,
// which has the turn of the source.
class Sink {
 public:
  virtual ~Sink() = default;

  [[nodiscard]] virtual const ProducerState& position() const = 0;
  // `order: lockstep`: the kind of the last event in the current period.
  [[nodiscard]] virtual pipeline::PeriodKind period_kind() const = 0;
  // An earlier block had a barrier that may not be processed yet: the next block must wait for it.
  [[nodiscard]] virtual bool must_drain() const = 0;
  // UNIX s, the arrival time of the block.
  [[nodiscard]] virtual double now() const = 0;
  [[nodiscard]] virtual pipeline::Ticker& ticker() = 0;

  // Retry: nothing processes the pipeline, so no barrier can pass.
  virtual Status ReadyForBarrier() = 0;
  // Returns once everything appended before is processed.
  virtual Status Drain() = 0;
  // `order: lockstep`: sends a barrier and returns once it has passed all stages of all partitions, with the number
  // of records that have moved between partitions since the previous barrier. kEnding is stored with the barrier, so
  // that the period ends again if the process dies before the last barrier has passed: otherwise events of the next
  // period could overtake it. `ends_period`: period_kind() is then kNothing.
  virtual Result<std::uint64_t> PassBarrier(bool ends_period) = 0;

  // Records of the block; nobody sees them before Commit().
  virtual void Add(stream::TopicPartition where, std::string_view record) = 0;
  // Removes the added records, and the ticks that the ticker has not kept.
  virtual void Discard() = 0;
  struct Commit {
    ProducerState position;
    std::optional<ProducerState> batch_begin;                           // none: unchanged
    pipeline::PeriodKind period_kind = pipeline::PeriodKind::kNothing;  // kNothing: unchanged
    bool barrier = false;  // the next block must wait for this one, whatever happens in between
  };
  // Stores the added records, the position and the ticks that the ticker keeps, or discards them all.
  virtual Status Store(const Commit& commit) = 0;
};

// The kind of events in the block. `order: lockstep`: broadcasts, hosts, users, teams and each tick are sent in blocks
// of their own kind with a barrier, and sources generate their ticks. A last block without lines ends the period,
// which makes the results of earlier blocks visible (services/pipeline/periods.h). kInvalidArgument: the reason why
// the block is invalid.
Result<pipeline::PeriodKind> PeriodKindOf(const AppendBlock& block, settings::Ticks ticks);

// `order: lockstep`: ends the period if it ends before `next`, or if it is asked to.
Status EndPeriodBefore(pipeline::PeriodKind next, bool asked, Sink& sink);

// kInvalidArgument: the block does not continue the source, or has a broadcast without a barrier; nothing is stored.
// With a barrier the block is processed on return (`order: lockstep`: once the period ends). Whether it is durable
// depends on the sink. An error behind Store() means that the block is stored, but not known to be processed.
Result<AppendOutcome> Append(const AppendBlock& block, const IntakeOptions& options, Sink& sink);

// The source of resubmitted events. Its sink is the one for Resubmit().
inline constexpr std::string_view kResubmissions = "refused";
// Appends refused events again, in this order. `order: lockstep`: in periods of their own, which end before the return.
// An error means that a part may have been appended.
Status Resubmit(const std::vector<std::string>& envelopes, const IntakeOptions& options, Sink& sink);

}  // namespace cobblestone::intake
