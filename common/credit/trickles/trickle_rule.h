// Rules by which an app pays for the trickles of one variety (trickle_policy.h), as values of the catalogue.
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

// The number of a message that a rule reads. Frozen numbers; the names are those of the event's fields.
enum class TrickleMeasure : std::uint8_t {
  kNone = 0,  // day: that the host was heard of
  kElapsedTime = 1,
  kCpuTime = 2,
  kRuntimeIncrement = 3,
  kFractionDone = 4,
  kSteps = 5
};

// One part of a model's run: what lies above the phase before it, up to `last_step`.
struct TricklePhase {
  double last_step = 0;        // counted from the model's start, whole
  double credit_per_step = 0;  // Cobblestones

  friend bool operator==(const TricklePhase&, const TricklePhase&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.last_step, s.credit_per_step);
  }
};

// A value of the catalogue: part of a policy's version (trickle_policy.h says how it pays).
struct TrickleRule {
  std::string variety;
  TrickleKind kind = TrickleKind::kNone;
  TrickleMeasure measure = TrickleMeasure::kNone;
  bool incremental = false;          // elapsed, runtime: the message tells the seconds since the one before
  double max_increment = 0;          // s; a longer one is cut to it; 0: none
  std::vector<TricklePhase> phases;  // steps: ascending; one phase is a model without any
  double model_factor = 1;           // steps
  double multiplier = 1;             // steps
  double min_step_seconds = 0;  // steps: wall time that one takes on the fastest computer; 0: by the estimate
  TypicalSpeeds typical;        // runtime: for hosts without a benchmark, and the cap, FLOP/s
  double credit_per_day = 0;    // day, Cobblestones
  double max_credit = 0;        // Cobblestones per result; 0: none

  friend bool operator==(const TrickleRule&, const TrickleRule&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.variety, s.kind, s.measure, s.incremental, s.max_increment, s.phases, s.model_factor, s.multiplier,
      s.min_step_seconds, s.typical.median, s.typical.percentile_95, s.credit_per_day, s.max_credit);
  }
};

// Names as in the catalogue ("elapsed", "cpu_time") and for explanations; none for an unknown one.
[[nodiscard]] std::optional<TrickleKind> TrickleKindByName(std::string_view name);
[[nodiscard]] std::string_view TrickleKindName(TrickleKind kind);
[[nodiscard]] std::optional<TrickleMeasure> TrickleMeasureByName(std::string_view name);
[[nodiscard]] std::string_view TrickleMeasureName(TrickleMeasure measure);

}  // namespace cobblestone::credit
