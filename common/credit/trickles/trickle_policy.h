// Trickle policies: partial grants of a result that still runs (docs/rules.md, sections 35 to 41; S000,
// 'partial job'). A rule per (app, variety) defines the meaning and the price of a message's number. Pure.
//
//   paid so far = f(mark)   f: CreditOfHighWaterMark, monotone, rounded to micro-credits once, by RoundToMicro
//   partial grant = f(mark after the message) - paid so far, at least 0
//
// The high-water mark is the highest progress that was ever valid, and f depends on the mark alone. Any order,
// repetition or loss of messages that leaves the same mark therefore leaves the same sum, to the micro-credit.
// (BOINC's projects pay a difference for each message, which pays a rewound counter twice.) All other inputs
// of f are frozen at the dispatch in a TricklePrice: with the scales of each message's day, the sum would
// depend on the arrival times of messages. The paid sum belongs to the result, over all varieties: under
// several rules, a result is paid the credit of the best rule, never the sum over rules.
//
// Kinds, with seconds t, E = fpops_est, D = default PFC (min_avg_pfc(A) x E; E while min_avg_pfc is undefined),
// C = FLOPs -> Cobblestones:
//   elapsed   C(t x peak_flops x S(V) x S(H)), the claim of `creditnew` for a job that ended at the mark. S(H)
//             as for a claim at the sent time: none before host_scale_time, at most 1 on probation. CPU time
//             counts as t = CPU time / CPUs. Anonymous platform (speed stated by the host): at most C(D).
//   steps     (sum over phases of steps x credit per step) x model_factor x multiplier. Steps are counted
//             through the whole model; a phase begins at the end of the previous phase.
//   fraction  fraction x C(D). No scales: E x min_avg_pfc(A) already equals PFC x S(V) x S(H) of an average job
//             of the version and the host, so scales would be applied twice.
//   runtime   C(t x speed of the host), the speed limited: BOINC's rule (golden README, item 29), bit for bit.
//   day       credit_per_day x whole days from the dispatch to the message. Days without a message count at the
//             next message. The mark moves once a day, so at most one payment a day.
//
// Bounds apply to the whole result, not to each message: months of messages that arrive at once are paid in
// full. Seconds: at most the wall time from dispatch to message (CPU time: wall time x CPUs, at least one CPU).
// Steps: at most the last step, and at most wall time / min_step_seconds; a rule without min_step_seconds uses
// a tenth of the time per step that the job's estimate takes at peak speed. Fraction: at most 1, and at most
// the worth of the wall time by rule `elapsed`. Credit: at most the worth of fpops_bound with the frozen
// scales, max_credit of the rule and max_granted_credit of the project.
//
// The rule, never the message, defines numbers as cumulative or incremental: the "run time" of one sender
// counts from the start, of another from the previous message. An increment has a sequence number and counts
// once, in any order of arrival (clients send queued messages in no order). The mark is the sum of the
// increments, in whole nanoseconds, at most the wall time to the latest counted message. The highest
// kIncrementsRemembered sequence numbers of a result are remembered; a number below all remembered numbers may
// have counted, and is refused.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"
#include "common/credit/trickles/trickle_rule.h"

namespace cobblestone::credit {

// The problem of a rule, beginning with the field's name; absent: the rule is valid. PriceOf and Decide need
// valid rules.
[[nodiscard]] std::optional<std::string> ProblemOf(const TrickleRule& rule);

// The bounds that limited a mark, a rate or a credit. Frozen numbers.
enum TrickleBound : std::uint32_t {
  kTrickleWallTime = 1u << 0,
  kTrickleLastStep = 1u << 1,
  kTrickleWholeJob = 1u << 2,   // fraction above 1
  kTrickleIncrement = 1u << 3,  // an increment above max_increment
  kTrickleSpeed = 1u << 4,      // runtime: benchmark above the speed limit
  kTrickleDevices = 1u << 5,    // peak_flops above the project's limits of device count or device speed
  kTrickleFpopsBound = 1u << 6,
  kTrickleEstimate = 1u << 7,  // elapsed on an anonymous platform: at most C(D)
  kTrickleMaxCredit = 1u << 8,
};

// All inputs of f except the mark, as of the dispatch, and the inputs of the bounds.
// Invariant: for any input values, CreditOfHighWaterMark is at least 0 and does not fall as the mark rises.
struct TricklePrice {
  TrickleKind kind = TrickleKind::kNone;
  TrickleMeasure measure = TrickleMeasure::kNone;
  bool incremental = false;
  std::uint32_t rule_version = 0;
  std::uint32_t bounds = 0;  // kTrickleSpeed, kTrickleDevices, if `rate` was limited
  std::uint64_t epoch = 0;   // of the scales
  double sent_time = 0;      // UNIX s
  double cpus = 1;           // seconds of CPU time per second of wall time
  double rate = 0;           // FLOP/s: runtime: limited benchmark; other kinds: limited peak_flops
  double version_scale = 0;  // 0: none
  double host_scale = 0;     // 0: none
  double default_pfc = 0;    // FLOPs; 0: unknown
  double cobblestones_per_gflops_day = 0;
  double max_increment = 0;
  double min_step_seconds = 0;
  double factor = 1;  // steps: model_factor x multiplier
  double credit_per_day = 0;
  // Upper limits, Cobblestones; infinite: no limit.
  double bound_credit = std::numeric_limits<double>::infinity();     // worth of fpops_bound
  double estimate_credit = std::numeric_limits<double>::infinity();  // kTrickleEstimate
  double max_credit = std::numeric_limits<double>::infinity();
  std::vector<TricklePhase> phases;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.kind, s.measure, s.incremental, s.rule_version, s.bounds, s.epoch, s.sent_time, s.cpus, s.rate,
      s.version_scale, s.host_scale, s.default_pfc, s.cobblestones_per_gflops_day, s.max_increment,
      s.min_step_seconds, s.factor, s.credit_per_day, s.bound_credit, s.estimate_credit, s.max_credit,
      s.phases);
  }
};

struct TrickleJob {
  const CompletionFacts& dispatch;  // result, app, version, peak_flops, sent_time, event_time and devices
  double fpops_est = 0;             // FLOPs; 0: unknown
  double fpops_bound = 0;           // FLOPs; 0: unknown, no bound
  const HostRecord& host;           // after Policy::OnDispatch, so that probation counts this job
};

// The price of a job under `rule`. The app must be in the catalogue (CHECK).
[[nodiscard]] TricklePrice PriceOf(const TrickleRule& rule, const TrickleJob& job, const InForce& in_force);

// f, in Cobblestones. Adds the bounds that limited the credit to `bounds`, if not null.
[[nodiscard]] double CreditOfHighWaterMark(const TricklePrice& price, double high_water_mark,
                                           std::uint32_t* bounds = nullptr);

inline constexpr std::size_t kIncrementsRemembered = 1024;

// The progress of one (result, variety): the high-water mark and the remembered increments.
struct HighWaterMark {
  double value = 0;  // s, steps, fraction or days
  // Of incremental rules:
  std::int64_t sum_ns = 0;          // of all counted increments
  double latest = 0;                // UNIX s, latest event time of the counted messages
  std::uint64_t forgotten = 0;      // sequence numbers up to this are refused as too old
  std::vector<std::uint64_t> seen;  // counted sequence numbers above `forgotten`; ascending

  friend bool operator==(const HighWaterMark&, const HighWaterMark&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.value, s.sum_ns, s.latest, s.forgotten, s.seen);
  }
};

struct TrickleMessage {
  double event_time = 0;  // UNIX s, of the message at the project
  std::optional<std::uint64_t> sequence = std::nullopt;
  std::optional<double> elapsed_time = std::nullopt;
  std::optional<double> cpu_time = std::nullopt;
  std::optional<double> runtime_increment = std::nullopt;
  std::optional<double> fraction_done = std::nullopt;
  std::optional<double> steps = std::nullopt;
};

// Frozen numbers.
enum class TrickleOutcome : std::uint8_t {
  kPaid = 0,
  kNothingDue = 1,  // the mark rose, but its rounded credit does not exceed the paid sum
  kOld = 2,         // the mark did not rise
  kRepeat = 3,      // an increment that was already counted
  // Refused; the mark stays, and TrickleDecision::field names the field.
  kMissing = 4,  // absent; a sequence number: absent or 0
  kNotFinite = 5,
  kNegative = 6,
  kTooMuch = 7,  // the credit does not fit a number of micro-credits: constants too large
  kTooOld = 8,   // a sequence number below all remembered numbers
};

struct TrickleDecision {
  TrickleOutcome outcome = TrickleOutcome::kPaid;
  std::string_view field;  // of a refusal: name of the refused field, as in the event
  HighWaterMark before;
  HighWaterMark after;
  // Set if the message is neither refused nor a repeat:
  double asked = 0;          // the mark that the message claims
  double allowed = 0;        // the part of `asked` within the bounds
  std::uint32_t bounds = 0;  // TrickleBound
  double credit = 0;         // f(after), Cobblestones
  MicroCredit paid_before = 0;
  MicroCredit partial = 0;  // micro-credits to grant now; at least 0

  [[nodiscard]] bool refused() const { return outcome >= TrickleOutcome::kMissing; }
};

// Decides about one message. `paid`: sum of the result's partial grants so far. The caller has checked that the
// message comes from the host that holds the result.
[[nodiscard]] TrickleDecision Decide(const TricklePrice& price, const HighWaterMark& high_water_mark,
                                     MicroCredit paid, const TrickleMessage& message);

// Names for explanations.
[[nodiscard]] std::string_view TrickleOutcomeName(TrickleOutcome outcome);
[[nodiscard]] std::string_view TrickleBoundName(TrickleBound bound);

}  // namespace cobblestone::credit
