// Trickle policies: what a result has earned while it still runs (docs/rules.md, sections 35 to 41; S000,
// 'partial job'). A rule per (app, variety) says what a message's number means and what it is worth; pure.
//
//   paid so far = f(mark)   f: CreditOfMark, monotone, rounded to micro-credits once, by RoundToMicro
//   partial grant = f(mark after the message) - paid so far
//
// The mark is the highest that was ever valid: f knows nothing of how it was reached, so any order, repetition
// or loss of messages that leaves the same mark leaves the same sum, to the micro-credit. (A difference for
// each message, as BOINC's projects pay it, pays a rewound counter twice.) For that, all that f needs besides
// the mark is frozen at the dispatch, in a TricklePrice: were the scales of the day of each message used, the
// sum would depend on when messages came. `paid` is the result's, whatever paid it: of an app with rules for
// several varieties a result is paid the best of them, never their sum.
//
// Kinds, with seconds t, E = fpops_est, D = default PFC (min_avg_pfc(A) x E, or E while that is undefined),
// C = FLOPs -> Cobblestones:
//   elapsed   C(t x peak_flops x S(V) x S(H)): what `creditnew` would claim for a job that ended here. S(H) as
//             for a claim at the sent time: none before host_scale_time, at most 1 on probation. CPU time
//             counts as t = CPU time / CPUs. On an anonymous platform its own word of its speed earns D at most.
//   steps     (sum over phases of steps x credit per step) x model_factor x multiplier. Steps are counted
//             through the whole model; a phase begins where the one before ends.
//   fraction  fraction x C(D). No scales: E x min_avg_pfc(A) is already what PFC x S(V) x S(H) is of a job that
//             is as its version and its host are on average, so they would be applied twice.
//   runtime   C(t x speed of the host), the speed capped: BOINC's own (golden README, item 29), bit for bit.
//   day       credit_per_day x whole days from the dispatch to the message. Days of silence count when the host
//             is heard of again; one payment a day at the most, since the mark moves once a day.
//
// Bounds are over the whole result, not per message: months of messages that come in one go are paid in full.
// Seconds: at most the wall time from dispatch to message (CPU time: that x CPUs; less than one CPU counts as
// one). Steps: the last step, and as many as fit the wall time; a step takes min_step_seconds at least, and where
// the rule does not say, a tenth of what it takes by the job's estimate at peak speed. Fraction: 1, and what the wall time is worth by rule `elapsed`. Credit: what fpops_bound is worth at
// the frozen rate; max_credit of the rule and max_granted_credit of the project.
//
// Cumulative or incremental is the rule's word, never the message's: one sender's "run time" is since the start,
// another's since the last message. An increment has a sequence number and counts once, in whatever order
// increments come (a client sends what it has queued in no order at all): the mark is their sum, in whole
// nanoseconds, at most the wall time up to the latest of their messages. Of each result the highest
// kIncrementsRemembered numbers are remembered; one below them all, which may have counted, is refused.
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

// What is wrong with a rule, beginning with the field's name; absent: nothing. PriceOf and Decide take rules
// that passed.
[[nodiscard]] std::optional<std::string> ProblemOf(const TrickleRule& rule);

// What held something back. Frozen numbers.
enum TrickleBound : std::uint32_t {
  kTrickleWallTime = 1u << 0,
  kTrickleLastStep = 1u << 1,
  kTrickleWholeJob = 1u << 2,   // fraction above 1
  kTrickleIncrement = 1u << 3,  // an increment above max_increment
  kTrickleSpeed = 1u << 4,      // runtime: benchmark above the cap
  kTrickleDevices = 1u << 5,    // peak_flops beyond the project's maximum of devices or of their speed
  kTrickleFpopsBound = 1u << 6,
  kTrickleEstimate = 1u << 7,  // elapsed on an anonymous platform: not above its default PFC
  kTrickleMaxCredit = 1u << 8,
};

// All that f needs besides the mark, as it was at the dispatch, and what the bounds are made of.
// Invariant: whatever comes in, CreditOfMark is at least 0 and does not fall with the mark.
struct TricklePrice {
  TrickleKind kind = TrickleKind::kNone;
  TrickleMeasure measure = TrickleMeasure::kNone;
  bool incremental = false;
  std::uint32_t rule_version = 0;
  std::uint32_t bounds = 0;  // kTrickleSpeed, kTrickleDevices: what the frozen rate was held back by
  std::uint64_t epoch = 0;   // of the scales
  double sent_time = 0;      // UNIX s
  double cpus = 1;           // seconds of CPU time in one of wall time
  double rate = 0;           // FLOP/s: elapsed, fraction: peak_flops after the limits; runtime: speed
  double version_scale = 0;  // 0: none
  double host_scale = 0;     // 0: none
  double default_pfc = 0;    // FLOPs; 0: not known
  double cobblestones_per_gflops_day = 0;
  double max_increment = 0;
  double min_step_seconds = 0;
  double factor = 1;  // steps: model_factor x multiplier
  double credit_per_day = 0;
  // Cobblestones at the most; infinite: no bound.
  double bound_credit = std::numeric_limits<double>::infinity();     // what fpops_bound is worth
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
  const CompletionFacts& dispatch;  // result, app, version, peak_flops, sent_time and devices count
  double fpops_est = 0;             // FLOPs; 0: not known
  double fpops_bound = 0;           // FLOPs; 0: not known, no bound
  const HostRecord& host;           // after Policy::OnDispatch: probation then counts this job
};

// The app must be in the catalogue.
[[nodiscard]] TricklePrice PriceOf(const TrickleRule& rule, const TrickleJob& job, const InForce& in_force);

// f, in Cobblestones. `bounds`, if given, gets what held it back added.
[[nodiscard]] double CreditOfMark(const TricklePrice& price, double mark, std::uint32_t* bounds = nullptr);

inline constexpr std::size_t kIncrementsRemembered = 1024;

// How far a result has come: the state of one (result, variety).
struct TrickleMark {
  double value = 0;  // s, steps, fraction or days
  // Where the rule takes increments:
  std::int64_t sum_ns = 0;          // of all that counted
  double latest = 0;                // UNIX s, the latest event time of one that counted
  std::uint64_t forgotten = 0;      // up to it no sequence number can be judged any more
  std::vector<std::uint64_t> seen;  // above it; ascending

  friend bool operator==(const TrickleMark&, const TrickleMark&) = default;
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
  kNothingDue = 1,  // the mark moved, by less than a micro-credit is worth, or under a bound of credit
  kOld = 2,         // the mark did not move
  kRepeat = 3,      // an increment that was seen
  // Refused; the mark stays. `field` says which.
  kMissing = 4,  // sequence: or 0
  kNotFinite = 5,
  kNegative = 6,
  kTooMuch = 7,  // no number of micro-credits: the rule's constants are beyond all measure
  kTooOld = 8,   // sequence: below all that are remembered
};

struct TrickleDecision {
  TrickleOutcome outcome = TrickleOutcome::kPaid;
  std::string_view field;  // of a refusal: the event's name of it
  TrickleMark before;
  TrickleMark after;
  // Of a message that is neither refused nor a repeat:
  double asked = 0;          // the mark that the message claims
  double allowed = 0;        // the mark that the bounds leave of it
  std::uint32_t bounds = 0;  // TrickleBound
  double credit = 0;         // f(after), Cobblestones
  MicroCredit paid_before = 0;
  MicroCredit partial = 0;  // to be granted now; never below 0

  [[nodiscard]] bool refused() const { return outcome >= TrickleOutcome::kMissing; }
};

// `paid`: what the result has been paid so far by partial grants. The caller has seen to it that the message is
// of the host that holds the result.
[[nodiscard]] TrickleDecision Decide(const TricklePrice& price, const TrickleMark& mark, MicroCredit paid,
                                     const TrickleMessage& message);

// Names for explanations.
[[nodiscard]] std::string_view TrickleOutcomeName(TrickleOutcome outcome);
[[nodiscard]] std::string_view TrickleBoundName(TrickleBound bound);

}  // namespace cobblestone::credit
