// The rule by which an app pays for the trickles of one variety (trickle_policy.h), as a value of the
// catalogue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/credit/trickles/trickle_credit.h"

namespace cobblestone::credit {

// Frozen numbers.
enum class TrickleKind : std::uint8_t {
  kNone = 0,
  kElapsed = 1,
  kSteps = 2,
  kFraction = 3,
  kRunTime = 4,
  kDay = 5
};

// The field of a message that a rule reads. Frozen numbers; names as in the event.
enum class TrickleMeasure : std::uint8_t {
  kNone = 0,  // day: the message itself counts
  kElapsedTime = 1,
  kCpuTime = 2,
  kRuntimeIncrement = 3,
  kFractionDone = 4,
  kSteps = 5
};

// One part of a model's run: the steps after the previous phase, up to and including `last_step`.
struct TricklePhase {
  double last_step = 0;        // counted from the start of the model; a whole number
  double credit_per_step = 0;  // Cobblestones

  friend bool operator==(const TricklePhase&, const TricklePhase&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.last_step, s.credit_per_step);
  }
};

// A value of the catalogue, part of a policy version (trickle_policy.h describes the payment).
struct TrickleRule {
  std::string variety;
  TrickleKind kind = TrickleKind::kNone;
  TrickleMeasure measure = TrickleMeasure::kNone;
  bool incremental = false;          // elapsed, runtime: messages contain seconds since the last message
  double max_increment = 0;          // s; a longer increment is cut to this; 0: no limit
  std::vector<TricklePhase> phases;  // steps: ascending; a model without phases has one element
  double model_factor = 1;           // steps
  double multiplier = 1;             // steps
  double min_step_seconds = 0;       // steps: least wall time of one step; 0: from the job's estimate
  TypicalSpeeds typical;             // runtime, FLOP/s: speed for a benchmark below 0, and speed limit
  double credit_per_day = 0;         // day, Cobblestones
  double max_credit = 0;             // Cobblestones per result; 0: no limit

  friend bool operator==(const TrickleRule&, const TrickleRule&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.variety, s.kind, s.measure, s.incremental, s.max_increment, s.phases, s.model_factor, s.multiplier,
      s.min_step_seconds, s.typical.median, s.typical.percentile_95, s.credit_per_day, s.max_credit);
  }
};

// Names as in the catalogue ("elapsed", "cpu_time") and in explanations. Absent: unknown name.
[[nodiscard]] std::optional<TrickleKind> TrickleKindByName(std::string_view name);
[[nodiscard]] std::string_view TrickleKindName(TrickleKind kind);
[[nodiscard]] std::optional<TrickleMeasure> TrickleMeasureByName(std::string_view name);
[[nodiscard]] std::string_view TrickleMeasureName(TrickleMeasure measure);

}  // namespace cobblestone::credit
