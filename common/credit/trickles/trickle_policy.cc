#include "common/credit/trickles/trickle_policy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "common/base/check.h"
#include "common/credit/model/flops.h"
#include "common/credit/model/measure.h"
#include "common/credit/policies/host_rows.h"
#include "common/credit/policies/probation.h"
#include "common/credit/policies/reliability.h"
#include "common/credit/policies/standard_policy.h"
#include "common/credit/scales/job_scales.h"

namespace cobblestone::credit {
namespace {

// Indexed by enum value; kBoundNames by bit.
constexpr std::array<std::string_view, 6> kKindNames = {"none",     "elapsed", "steps",
                                                        "fraction", "runtime", "day"};
constexpr std::array<std::string_view, 6> kMeasureNames = {
    "none", "elapsed_time", "cpu_time", "runtime_increment", "fraction_done", "steps"};
constexpr std::array<std::string_view, 9> kOutcomeNames = {
    "paid", "nothing_due", "old", "repeat", "missing", "not_finite", "negative", "too_much", "too_old"};
constexpr std::array<std::string_view, 9> kBoundNames = {"wall_time",   "last_step", "whole_job",
                                                         "increment",   "speed",     "devices",
                                                         "fpops_bound", "estimate",  "max_credit"};

template <class Enum, std::size_t N>
std::string_view NameOf(const std::array<std::string_view, N>& names, Enum value) {
  const auto number = static_cast<std::size_t>(value);
  return number < N ? names[number] : "unknown";
}

template <class Enum, std::size_t N>
std::optional<Enum> ByName(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<Enum>(it - names.begin());
}

bool PaysSeconds(TrickleKind kind) { return kind == TrickleKind::kElapsed || kind == TrickleKind::kRunTime; }

bool CanRead(TrickleKind kind, TrickleMeasure measure) {
  switch (kind) {
    case TrickleKind::kElapsed:
    case TrickleKind::kRunTime:
      return measure == TrickleMeasure::kElapsedTime || measure == TrickleMeasure::kCpuTime ||
             measure == TrickleMeasure::kRuntimeIncrement;
    case TrickleKind::kSteps: return measure == TrickleMeasure::kSteps;
    case TrickleKind::kFraction: return measure == TrickleMeasure::kFractionDone;
    case TrickleKind::kNone:
    case TrickleKind::kDay: return measure == TrickleMeasure::kNone;
  }
  return false;
}

// A quantity that is not a finite number above 0 is unknown.
double Known(double value) { return std::isfinite(value) && value > 0 ? value : 0; }
double LimitOf(double value) { return Known(value) > 0 ? value : std::numeric_limits<double>::infinity(); }

std::optional<std::string> ProblemOfNumbers(const TrickleRule& rule) {
  const std::pair<const char*, double> numbers[] = {
      {"max_increment", rule.max_increment},   {"min_step_seconds", rule.min_step_seconds},
      {"median_speed", rule.typical.median},   {"speed_limit", rule.typical.percentile_95},
      {"credit_per_day", rule.credit_per_day}, {"max_credit", rule.max_credit}};
  for (const auto& [name, value] : numbers) {
    if (!std::isfinite(value) || value < 0)
      return std::string(name) + ": must be a finite number, not below 0";
  }
  return std::nullopt;
}

std::optional<std::string> ProblemOfPhases(const TrickleRule& rule) {
  if (rule.phases.empty())
    return "phases: a rule of kind steps needs at least one, with the model's last step";
  double before = 0;
  for (const TricklePhase& phase : rule.phases) {
    if (!std::isfinite(phase.last_step) || !(phase.last_step > before) ||
        std::floor(phase.last_step) != phase.last_step) {
      return "phases: last_step must be whole and above that of the phase before";
    }
    if (!std::isfinite(phase.credit_per_step) || phase.credit_per_step < 0)
      return "phases: credit_per_step must be a finite number, not below 0";
    before = phase.last_step;
  }
  const double factor = rule.model_factor * rule.multiplier;
  if (!(rule.model_factor > 0) || !(rule.multiplier > 0) || !(factor > 0) || !std::isfinite(factor))
    return "model_factor, multiplier: must be finite numbers above 0, and so must their product";
  return std::nullopt;
}

double CpusOf(const CompletionFacts& dispatch, bool gpu) {
  const double used = Known(dispatch.cpus_used) > 0 ? dispatch.cpus_used : gpu ? 0 : Known(dispatch.devices);
  return std::max(used, 1.0);
}

// S(V) and S(H) of a claim at the time of the dispatch.
JobScales ScalesAtDispatch(const TrickleJob& job, const AppRow& app, const InForce& in_force, double sent) {
  const VersionInForce version = FindVersionInForce(in_force.scales, job.dispatch.version);
  const HostVersion* found = FindHostVersion(job.host, app.id, job.dispatch.version);
  const HostVersion row = found == nullptr ? HostVersion{} : *found;
  return ScalesOf({.version_scale = Known(version.scale),
                   .version_pfc_mean = Known(version.pfc.mean),
                   .host_pfc_n = row.pfc.n,
                   .host_pfc_mean = Known(row.pfc.mean),
                   .on_probation = OnProbation(row, app.host_scale_check),
                   .host_scale_time = row.host_scale_time,
                   .time = sent},
                  app.policy.constants);
}

double Scaled(const TricklePrice& price, double flops) {
  return JobScales{.version = price.version_scale, .host = price.host_scale}.Apply(flops);
}

double Cut(double credit, double limit, TrickleBound bound, std::uint32_t* bounds) {
  if (!(credit > limit)) return credit;
  *bounds |= bound;
  return limit;
}

double StepCredit(const TricklePrice& price, double steps) {
  double sum = 0;
  double begin = 0;
  for (const TricklePhase& phase : price.phases) {
    if (!(steps > begin)) break;
    sum += (std::min(steps, phase.last_step) - begin) * phase.credit_per_step;
    begin = phase.last_step;
  }
  return sum * price.factor;
}

double UnboundedCredit(const TricklePrice& price, double high_water_mark) {
  const auto credit_of = [&](double flops) {
    return CreditOfFlops(flops, price.cobblestones_per_gflops_day);
  };
  switch (price.kind) {
    case TrickleKind::kElapsed: {
      const double elapsed =
          price.measure == TrickleMeasure::kCpuTime ? high_water_mark / price.cpus : high_water_mark;
      return credit_of(Scaled(price, elapsed * price.rate));
    }
    case TrickleKind::kSteps: return StepCredit(price, high_water_mark);
    case TrickleKind::kFraction: return high_water_mark * credit_of(price.default_pfc);
    case TrickleKind::kRunTime: return credit_of(high_water_mark * price.rate);
    case TrickleKind::kDay: return high_water_mark * price.credit_per_day;
    case TrickleKind::kNone: break;
  }
  return 0;
}

// The mark that a message claims, or the reason for its refusal.
struct Asked {
  double progress = 0;
  double time = 0;             // UNIX s: end of the wall time
  std::int64_t increment = 0;  // ns
  std::uint64_t sequence = 0;
  std::uint32_t bounds = 0;
  TrickleOutcome outcome = TrickleOutcome::kPaid;
  std::string_view field;
};

std::optional<double> MeasureIn(const TrickleMessage& message, TrickleMeasure measure) {
  switch (measure) {
    case TrickleMeasure::kElapsedTime: return message.elapsed_time;
    case TrickleMeasure::kCpuTime: return message.cpu_time;
    case TrickleMeasure::kRuntimeIncrement: return message.runtime_increment;
    case TrickleMeasure::kFractionDone: return message.fraction_done;
    case TrickleMeasure::kSteps: return message.steps;
    case TrickleMeasure::kNone: break;
  }
  return std::nullopt;
}

double WallTime(const TricklePrice& price, double time) { return std::max(time - price.sent_time, 0.0); }

constexpr double kNanoseconds = 1e9;  // in a second
// No job ends in less than 1/kFastestJob of the time that its estimated size takes at peak speed.
constexpr double kFastestJob = 10;

constexpr std::int64_t kMaxNanoseconds = 4'000'000'000'000'000'000;  // 126 years; twice that fits 64 bits

std::int64_t NanosecondsOf(double seconds) {
  const double nanoseconds = seconds * kNanoseconds;
  return nanoseconds < static_cast<double>(kMaxNanoseconds)
             ? static_cast<std::int64_t>(std::nearbyint(nanoseconds))
             : kMaxNanoseconds;
}

bool Seen(const HighWaterMark& high_water_mark, std::uint64_t sequence) {
  return std::binary_search(high_water_mark.seen.begin(), high_water_mark.seen.end(), sequence);
}

std::int64_t SumWith(const HighWaterMark& high_water_mark, std::int64_t increment) {
  return std::min(high_water_mark.sum_ns + increment, kMaxNanoseconds);
}

void Count(const Asked& asked, HighWaterMark* high_water_mark) {
  high_water_mark->sum_ns = SumWith(*high_water_mark, asked.increment);
  high_water_mark->latest = asked.time;
  high_water_mark->seen.insert(
      std::lower_bound(high_water_mark->seen.begin(), high_water_mark->seen.end(), asked.sequence),
      asked.sequence);
  if (high_water_mark->seen.size() <= kIncrementsRemembered) return;
  high_water_mark->forgotten = high_water_mark->seen.front();
  high_water_mark->seen.erase(high_water_mark->seen.begin());
}

Asked AskedBy(const TricklePrice& price, const HighWaterMark& high_water_mark,
              const TrickleMessage& message) {
  const auto refuse = [](TrickleOutcome why, std::string_view field) {
    return Asked{.outcome = why, .field = field};
  };
  if (!std::isfinite(message.event_time)) return refuse(TrickleOutcome::kNotFinite, "event_time");
  Asked asked{.progress = high_water_mark.value, .time = message.event_time};
  if (price.kind == TrickleKind::kDay)
    asked.progress = std::floor(WallTime(price, message.event_time) / kSecondsPerDay);
  if (price.measure == TrickleMeasure::kNone) return asked;

  const std::string_view field = TrickleMeasureName(price.measure);
  std::optional<double> number = MeasureIn(message, price.measure);
  if (!number) return refuse(TrickleOutcome::kMissing, field);
  // Before the check for finite numbers: BOINC cuts an infinite run time too (scenario s13).
  if (price.incremental && price.max_increment > 0 && *number > price.max_increment) {
    number = price.max_increment;
    asked.bounds |= kTrickleIncrement;
  }
  if (!std::isfinite(*number)) return refuse(TrickleOutcome::kNotFinite, field);
  if (*number < 0) return refuse(TrickleOutcome::kNegative, field);
  asked.progress = *number;
  if (!price.incremental) return asked;
  if (message.sequence.value_or(0) == 0) return refuse(TrickleOutcome::kMissing, "sequence");
  asked.sequence = *message.sequence;
  if (asked.sequence <= high_water_mark.forgotten) return refuse(TrickleOutcome::kTooOld, "sequence");
  asked.increment = NanosecondsOf(*number);
  asked.progress = static_cast<double>(SumWith(high_water_mark, asked.increment)) / kNanoseconds;
  asked.time = std::max(asked.time, high_water_mark.latest);
  if (Seen(high_water_mark, asked.sequence)) asked.outcome = TrickleOutcome::kRepeat;
  return asked;
}

// The part of the asked mark within the bounds.
double Allowed(const TricklePrice& price, double asked, double wall, std::uint32_t* bounds) {
  switch (price.kind) {
    case TrickleKind::kElapsed:
    case TrickleKind::kRunTime:
      return Cut(asked, price.measure == TrickleMeasure::kCpuTime ? wall * price.cpus : wall,
                 kTrickleWallTime, bounds);
    case TrickleKind::kSteps: {
      double steps = Cut(std::floor(asked), price.phases.back().last_step, kTrickleLastStep, bounds);
      if (price.min_step_seconds > 0)
        steps = Cut(steps, std::floor(wall / price.min_step_seconds), kTrickleWallTime, bounds);
      return steps;
    }
    case TrickleKind::kFraction: {
      const double fraction = Cut(asked, 1, kTrickleWholeJob, bounds);
      if (!(price.rate > 0) || !(price.default_pfc > 0)) return fraction;
      return Cut(fraction, Scaled(price, wall * price.rate) / price.default_pfc, kTrickleWallTime, bounds);
    }
    case TrickleKind::kDay:
    case TrickleKind::kNone: break;
  }
  return asked;
}

}  // namespace

std::optional<std::string> ProblemOf(const TrickleRule& rule) {
  if (!CanRead(rule.kind, rule.measure)) {
    return "measure: a rule of kind " + std::string(TrickleKindName(rule.kind)) + " cannot read " +
           std::string(TrickleMeasureName(rule.measure));
  }
  if (rule.incremental && !PaysSeconds(rule.kind))
    return "incremental: allowed only for rules of kind elapsed and runtime";
  if (rule.measure == TrickleMeasure::kRuntimeIncrement && !rule.incremental)
    return "incremental: required for runtime_increment; use elapsed_time for a sum since the start";
  if (rule.max_increment > 0 && !rule.incremental) return "max_increment: requires incremental";
  if (rule.kind == TrickleKind::kRunTime && !(rule.typical.percentile_95 > 0))
    return "speed_limit: required for a rule of kind runtime; it must be above 0";
  if (rule.kind == TrickleKind::kSteps) {
    if (auto problem = ProblemOfPhases(rule)) return problem;
  }
  return ProblemOfNumbers(rule);
}

TricklePrice PriceOf(const TrickleRule& rule, const TrickleJob& job, const InForce& in_force) {
  const CompletionFacts& dispatch = job.dispatch;
  const AppRow* app = in_force.catalogue.FindApp(dispatch.app);
  COBBLESTONE_CHECK(app != nullptr, "the rule is the app's, so the catalogue has it");
  const Constants& constants = app->policy.constants;
  const bool gpu = IsGpuVersion(dispatch.version, in_force.catalogue);
  const bool anonymous = in_force.catalogue.FindVersion(dispatch.version) == nullptr;

  TricklePrice price;
  price.kind = rule.kind;
  price.measure = rule.measure;
  price.incremental = rule.incremental;
  price.rule_version = app->policy.version;
  price.epoch = in_force.scales.epoch;
  price.sent_time = dispatch.sent_time > 0 ? dispatch.sent_time : dispatch.event_time;
  price.cpus = CpusOf(dispatch, gpu);
  price.cobblestones_per_gflops_day = Known(constants.cobblestones_per_gflops_day);
  price.max_increment = rule.max_increment;
  price.factor = rule.model_factor * rule.multiplier;
  price.credit_per_day = rule.credit_per_day;
  price.phases = rule.phases;

  double claimed_speed = 0;
  if (rule.kind == TrickleKind::kRunTime) {
    claimed_speed = job.host.whetstone;
    price.rate = Known(LimitedSpeed(claimed_speed, rule.typical));
    if (claimed_speed > price.rate) price.bounds |= kTrickleSpeed;
  } else {
    claimed_speed = dispatch.peak_flops;
    price.rate = Known(LimitedPeakFlops(dispatch, gpu, constants));
    if (claimed_speed > price.rate) price.bounds |= kTrickleDevices;
    if (!anonymous) {
      const JobScales scales = ScalesAtDispatch(job, *app, in_force, price.sent_time);
      price.version_scale = scales.version;
      price.host_scale = scales.host;
    }
  }

  if (rule.kind == TrickleKind::kSteps) {
    price.min_step_seconds = rule.min_step_seconds;
    if (price.min_step_seconds == 0 && price.rate > 0)
      price.min_step_seconds = Known(job.fpops_est) / price.rate / kFastestJob / rule.phases.back().last_step;
  }

  const auto credit_of = [&](double flops) {
    return CreditOfFlops(flops, price.cobblestones_per_gflops_day);
  };
  price.default_pfc = Known(DefaultPfc(Known(job.fpops_est), FindMinAvgPfc(in_force.scales, app->id)));
  if (Known(job.fpops_bound) > 0) price.bound_credit = credit_of(Scaled(price, job.fpops_bound));
  if (rule.kind == TrickleKind::kElapsed && anonymous && price.default_pfc > 0)
    price.estimate_credit = credit_of(price.default_pfc);
  price.max_credit =
      std::min(LimitOf(rule.max_credit), LimitOf(in_force.catalogue.settings.max_granted_credit));
  return price;
}

double CreditOfHighWaterMark(const TricklePrice& price, double high_water_mark, std::uint32_t* bounds) {
  std::uint32_t ignored = 0;
  std::uint32_t* const reached = bounds == nullptr ? &ignored : bounds;
  double credit = UnboundedCredit(price, high_water_mark);
  credit = Cut(credit, price.bound_credit, kTrickleFpopsBound, reached);
  credit = Cut(credit, price.estimate_credit, kTrickleEstimate, reached);
  credit = Cut(credit, price.max_credit, kTrickleMaxCredit, reached);
  return credit > 0 ? credit : 0;
}

TrickleDecision Decide(const TricklePrice& price, const HighWaterMark& high_water_mark, MicroCredit paid,
                       const TrickleMessage& message) {
  TrickleDecision decision;
  decision.before = high_water_mark;
  decision.after = high_water_mark;
  decision.paid_before = paid;
  const Asked asked = AskedBy(price, high_water_mark, message);
  decision.outcome = asked.outcome;
  decision.field = asked.field;
  if (decision.refused()) return decision;

  if (asked.outcome == TrickleOutcome::kRepeat) return decision;

  decision.bounds = price.bounds | asked.bounds;
  decision.asked = asked.progress;
  decision.allowed = Allowed(price, asked.progress, WallTime(price, asked.time), &decision.bounds);
  const double value = std::max(high_water_mark.value, decision.allowed);
  decision.credit = CreditOfHighWaterMark(price, value, &decision.bounds);
  bool is_number = false;
  const MicroCredit worth = RoundToMicro(decision.credit, &is_number);
  if (!is_number) {
    decision.outcome = TrickleOutcome::kTooMuch;
    decision.field = TrickleMeasureName(price.measure);
    return decision;
  }
  decision.after.value = value;
  if (price.incremental) Count(asked, &decision.after);
  if (value == high_water_mark.value) {
    decision.outcome = TrickleOutcome::kOld;
    return decision;
  }
  decision.partial = std::max<MicroCredit>(worth - paid, 0);
  if (decision.partial == 0) decision.outcome = TrickleOutcome::kNothingDue;
  return decision;
}

std::optional<TrickleKind> TrickleKindByName(std::string_view name) {
  return ByName<TrickleKind>(kKindNames, name);
}
std::string_view TrickleKindName(TrickleKind kind) { return NameOf(kKindNames, kind); }
std::optional<TrickleMeasure> TrickleMeasureByName(std::string_view name) {
  return ByName<TrickleMeasure>(kMeasureNames, name);
}
std::string_view TrickleMeasureName(TrickleMeasure measure) { return NameOf(kMeasureNames, measure); }
std::string_view TrickleOutcomeName(TrickleOutcome outcome) { return NameOf(kOutcomeNames, outcome); }
std::string_view TrickleBoundName(TrickleBound bound) {
  return NameOf(kBoundNames, std::countr_zero(static_cast<std::uint32_t>(bound)));
}

}  // namespace cobblestone::credit
