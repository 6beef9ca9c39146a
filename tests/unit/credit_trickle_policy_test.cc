// Trickle policies: the worth of messages of a running result, and the most that an attacker can earn with
// messages.

#include "common/credit/trickles/trickle_policy.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "common/credit/model/flops.h"
#include "common/credit/policies/creditnew.h"
#include "common/credit/scales/job_scales.h"
#include "tests/unit/credit_world.h"

namespace cobblestone::credit {
namespace {

constexpr double kDay = kSecondsPerDay;
constexpr MicroCredit kMicro = 1'000'000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- Rules, one of each kind ---------------------------------------------------------------------------------

// 1 GFLOP/s: 200 Cobblestones a day.
TrickleRule Elapsed() {
  return {.variety = "progress", .kind = TrickleKind::kElapsed, .measure = TrickleMeasure::kElapsedTime};
}
TrickleRule ElapsedIncrements() {
  TrickleRule rule = Elapsed();
  rule.measure = TrickleMeasure::kRuntimeIncrement;
  rule.incremental = true;
  return rule;
}
// A slab model of three phases.
TrickleRule Steps() {
  return {.variety = "orig",
          .kind = TrickleKind::kSteps,
          .measure = TrickleMeasure::kSteps,
          .phases = {{.last_step = 1000, .credit_per_step = 0.5},
                     {.last_step = 3000, .credit_per_step = 0.25},
                     {.last_step = 4000, .credit_per_step = 2}},
          .model_factor = 1.5,
          .multiplier = 1.09,
          .min_step_seconds = 1};
}
TrickleRule Fraction() {
  return {.variety = "fraction", .kind = TrickleKind::kFraction, .measure = TrickleMeasure::kFractionDone};
}
TrickleRule RunTime() {
  return {.variety = "cpu_time",
          .kind = TrickleKind::kRunTime,
          .measure = TrickleMeasure::kRuntimeIncrement,
          .incremental = true,
          .max_increment = kDay,
          .typical = {.median = 2e9, .percentile_95 = 4e9}};
}
TrickleRule Days() { return {.variety = "trigger", .kind = TrickleKind::kDay, .credit_per_day = 5}; }

// One result that was sent at kStart and runs for a year, on one CPU.
class Running {
 public:
  Running() : world_(CreditNewPolicy(), PolicyKind::kCreditNew) {
    job_.peak_flops = kGflops;
    job_.fpops_est = 365 * kDay * kGflops;
    job_.fpops_bound = 10 * job_.fpops_est;
    job_.cpus_used = 1;
  }

  [[nodiscard]] TricklePrice Price(const TrickleRule& rule) {
    EXPECT_EQ(ProblemOf(rule), std::nullopt);
    const CompletionFacts dispatch = world_.Completion(job_);
    return PriceOf(
        rule,
        {.dispatch = dispatch, .fpops_est = job_.fpops_est, .fpops_bound = job_.fpops_bound, .host = host_},
        world_.Force());
  }

  World& world() { return world_; }
  Job& job() { return job_; }
  HostRecord& host() { return host_; }

 private:
  World world_;
  Job job_;
  HostRecord host_;
};

// The state that a stage keeps for the result.
struct Paid {
  TricklePrice price;
  HighWaterMark mark;
  MicroCredit micro = 0;

  TrickleDecision Take(const TrickleMessage& message) {
    const TrickleDecision decision = Decide(price, mark, micro, message);
    mark = decision.after;
    micro += decision.partial;
    return decision;
  }
};

TrickleMessage ElapsedAt(double day, double elapsed) {
  return {.event_time = kStart + day * kDay, .elapsed_time = elapsed};
}
TrickleMessage IncrementAt(double day, std::uint64_t sequence, double seconds) {
  return {.event_time = kStart + day * kDay, .sequence = sequence, .runtime_increment = seconds};
}
TrickleMessage StepsAt(double day, double steps) {
  return {.event_time = kStart + day * kDay, .steps = steps};
}
TrickleMessage FractionAt(double day, double fraction) {
  return {.event_time = kStart + day * kDay, .fraction_done = fraction};
}

// ---- What each kind pays -------------------------------------------------------------------------------------

TEST(ElapsedRule, PaysTheClaimOfAJobThatEndsNow) {
  Running running;
  running.world().SetVersion(kCpuVersion, 200, 2.0, 0.75);
  running.host() = running.world().Trusted(50, 1.5);
  const TricklePrice price = running.Price(Elapsed());
  EXPECT_EQ(price.version_scale, 0.75);
  EXPECT_EQ(price.host_scale, 2.0 / 1.5);
  EXPECT_EQ(price.epoch, 7U);
  for (const double elapsed : {1.0, 3600.5, 86399.999, 1e6}) {
    Job ended = running.job();
    ended.elapsed = elapsed;
    ended.received = elapsed + 1;
    HostRecord host = running.host();
    EXPECT_EQ(CreditOfHighWaterMark(price, elapsed), running.world().ClaimOf(ended, host).claimed) << elapsed;
  }
}

TEST(ElapsedRule, UsesTheHostScaleOfAClaimOnProbation) {
  Running running;
  running.world().SetVersion(kCpuVersion, 200, 3.0, 1.0);
  running.world().App().host_scale_check = true;
  running.host() = running.world().Trusted(50, 1.0);
  EXPECT_EQ(running.Price(Elapsed()).host_scale, 3.0);
  HostVersion& row = running.world().Row(running.host());
  row.scale_probation = true;
  row.host_scale_time = kStart - 1;
  EXPECT_EQ(running.Price(Elapsed()).host_scale, 1.0);  // at most 1
  row.host_scale_time = kStart + 1;
  EXPECT_EQ(running.Price(Elapsed()).host_scale, 0);  // none before host_scale_time
  row = {.app = row.app, .version = row.version, .pfc = {9, 1.0}, .scale_probation = false};
  EXPECT_EQ(running.Price(Elapsed()).host_scale, 0);  // too few samples
}

TEST(ElapsedRule, CountsCpuTimeByTheCpusOfTheJob) {
  Running running;
  running.job().cpus_used = 4;
  running.job().peak_flops = 4 * kGflops;
  TrickleRule rule = Elapsed();
  rule.measure = TrickleMeasure::kCpuTime;
  Paid paid{running.Price(rule)};
  // Four CPUs for a day.
  EXPECT_EQ(paid.Take({.event_time = kStart + kDay, .cpu_time = 4 * kDay}).partial, 800 * kMicro);
  const TrickleDecision more = paid.Take({.event_time = kStart + 2 * kDay, .cpu_time = 9 * kDay});
  EXPECT_EQ(more.after.value, 8 * kDay);
  EXPECT_EQ(more.bounds, kTrickleWallTime);
}

TEST(ElapsedRule, EarnsNoMoreThanTheDefaultClaimOnAnAnonymousPlatform) {
  Running running;
  running.job().version = -2;
  running.job().peak_flops = 1000 * kGflops;  // as the client reports
  running.world().SetMinAvgPfc(0.5);
  Paid paid{running.Price(Elapsed())};
  const TrickleDecision decision = paid.Take(ElapsedAt(300, 300 * kDay));
  EXPECT_EQ(decision.credit, CreditOfFlops(0.5 * running.job().fpops_est, Constants{}));
  EXPECT_EQ(decision.bounds, kTrickleFpopsBound | kTrickleEstimate);
}

TEST(ElapsedRule, LimitsTheSpeedOfDevicesLikeAClaim) {
  Running running;
  running.world().Rules().max_peak_flops_cpu = 0.5e9;
  Paid paid{running.Price(Elapsed())};
  const TrickleDecision decision = paid.Take(ElapsedAt(1, kDay));
  EXPECT_EQ(decision.partial, 100 * kMicro);
  EXPECT_EQ(decision.bounds, kTrickleDevices);
}

TEST(ElapsedRule, LimitsTheSpeedOfGpusBesideOtherDevices) {
  Running running;
  Job& job = running.job();
  job.peak_flops = 10.5e9;
  job.cpus_used = 0.5;
  job.gpus_used = 1;
  job.devices = 1.5;
  job.cpu_speed = 1e9;
  job.gpu_speed = 10e9;
  running.world().Rules().max_peak_flops_gpu = 0.5e9;
  Paid paid{running.Price(Elapsed())};
  const TrickleDecision decision = paid.Take(ElapsedAt(1, kDay));
  EXPECT_EQ(decision.partial, 200 * kMicro);
  EXPECT_EQ(decision.bounds, kTrickleDevices);
}

TEST(StepsRule, PaysEachPhaseAtItsPriceUpToTheLastStep) {
  Running running;
  Paid paid{running.Price(Steps())};
  const double factor = 1.5 * 1.09;
  EXPECT_EQ(paid.Take(StepsAt(1, 800)).credit, 800 * 0.5 * factor);
  EXPECT_EQ(paid.Take(StepsAt(2, 1000)).credit, 500 * factor);
  EXPECT_EQ(paid.Take(StepsAt(3, 1600.9)).credit, (500 + 600 * 0.25) * factor);  // whole steps
  const TrickleDecision beyond = paid.Take(StepsAt(4, 1e9));
  EXPECT_EQ(beyond.credit, (500 + 500 + 2000) * factor);
  EXPECT_EQ(beyond.asked, 1e9);
  EXPECT_EQ(beyond.allowed, 4000);
  EXPECT_EQ(beyond.bounds, kTrickleLastStep);
  EXPECT_EQ(paid.Take(StepsAt(5, 2e9)).outcome, TrickleOutcome::kOld);
}

TEST(StepsRule, LetsNoModelRunFasterThanTheFastestComputer) {
  Running running;
  TrickleRule rule = Steps();
  rule.min_step_seconds = 864;  // 100 steps a day
  Paid paid{running.Price(rule)};
  const TrickleDecision decision = paid.Take(StepsAt(1.5, 4000));
  EXPECT_EQ(decision.after.value, 150);
  EXPECT_EQ(decision.bounds, kTrickleWallTime);
}

TEST(StepsRule, ByDefaultAModelIsAtMostTenTimesFasterThanItsEstimate) {
  Running running;
  TrickleRule rule = Steps();
  rule.min_step_seconds = 0;
  Paid paid{running.Price(rule)};
  const TrickleDecision decision = paid.Take(StepsAt(3.65, 4000));  // E is a year of the device
  EXPECT_EQ(decision.after.value, 400);
  EXPECT_EQ(decision.bounds, kTrickleWallTime);
}

TEST(FractionRule, PaysThatPartOfTheDefaultClaimWithoutScalingItTwice) {
  Running running;
  running.world().SetVersion(kCpuVersion, 200, 2.0, 0.25);
  running.host() = running.world().Trusted(50, 1.0);  // S(V) x S(H) = 0.5
  running.world().SetMinAvgPfc(0.5);
  Paid paid{running.Price(Fraction())};
  // E is a year of the device; the claim of an average job of this host is half of it.
  const double full = CreditOfFlops(0.5 * running.job().fpops_est, Constants{});
  EXPECT_EQ(paid.Take(FractionAt(200, 0.25)).credit, 0.25 * full);
  const TrickleDecision whole = paid.Take(FractionAt(400, 1.5));
  EXPECT_EQ(whole.credit, full);
  EXPECT_EQ(whole.bounds, kTrickleWholeJob);
}

TEST(FractionRule, GrantsNoMoreThanTheWallTimeIsWorth) {
  Running running;
  Paid paid{running.Price(Fraction())};
  const TrickleDecision decision = paid.Take(FractionAt(36.5, 1));  // a tenth of what E takes
  EXPECT_DOUBLE_EQ(decision.after.value, 0.1);
  EXPECT_EQ(decision.bounds, kTrickleWallTime);
}

TEST(RunTimeRule, CapsTheSpeedAndUsesTheMedianWithoutABenchmark) {
  struct Case {
    double speed, credit;
    std::uint32_t bounds;
  };
  constexpr Case kCases[] = {{1e9, 200, 0}, {5e9, 800, kTrickleSpeed}, {-1, 400, 0}, {0, 0, 0}};
  for (const Case& c : kCases) {
    Running running;
    running.host().whetstone = c.speed;
    Paid paid{running.Price(RunTime())};
    const TrickleDecision decision = paid.Take(IncrementAt(2, 1, kDay));
    EXPECT_EQ(decision.credit, c.credit);
    EXPECT_EQ(decision.bounds, c.bounds);
  }
}

TEST(DayRule, PaysOnceADay) {
  Running running;
  Paid paid{running.Price(Days())};
  EXPECT_EQ(paid.Take({.event_time = kStart + 0.99 * kDay}).outcome, TrickleOutcome::kOld);
  EXPECT_EQ(paid.Take({.event_time = kStart + 1.0 * kDay}).partial, 5 * kMicro);
  EXPECT_EQ(paid.Take({.event_time = kStart + 1.5 * kDay}).outcome, TrickleOutcome::kOld);
  EXPECT_EQ(paid.Take({.event_time = kStart + 7.2 * kDay}).partial, 30 * kMicro);
  EXPECT_EQ(paid.Take({.event_time = kStart - 9.0 * kDay}).outcome, TrickleOutcome::kOld);
}

// ---- What today's systems get wrong --------------------------------------------------------------------------

TEST(Trickles, ManyForgedMessagesEarnNoMoreThanTheBestOfThem) {
  Running running;
  running.host().whetstone = kGflops;
  // Each message asks for the most that one message can earn.
  Paid paid{running.Price(RunTime())};
  for (std::uint64_t n = 1; n <= 1000; ++n) paid.Take(IncrementAt(3, n, kDay));
  EXPECT_EQ(paid.micro, 3 * 200 * kMicro);  // three days have passed
  EXPECT_EQ(paid.mark.value, 3 * kDay);
}

TEST(Trickles, ARewoundMessagePaysNothingAndLowersNothing) {
  Running running;
  Paid paid{running.Price(Steps())};
  paid.Take(StepsAt(10, 2000));
  const MicroCredit before = paid.micro;
  for (int round = 0; round < 3; ++round) {  // restarted from a checkpoint, again and again
    EXPECT_EQ(paid.Take(StepsAt(11 + round, 1500)).outcome, TrickleOutcome::kOld);
    EXPECT_EQ(paid.Take(StepsAt(12 + round, 2000)).outcome, TrickleOutcome::kOld);
  }
  EXPECT_EQ(paid.micro, before);
  EXPECT_EQ(paid.mark.value, 2000);
}

TEST(Trickles, TheRuleDefinesTheMeaningOfRunTime) {
  Running running;
  TrickleRule cumulative = Elapsed();
  cumulative.measure = TrickleMeasure::kCpuTime;
  TrickleRule incremental = cumulative;
  incremental.incremental = true;
  Paid total{running.Price(cumulative)};
  Paid sum{running.Price(incremental)};
  for (std::uint64_t n = 1; n <= 3; ++n) {
    const TrickleMessage message{
        .event_time = kStart + static_cast<double>(n) * kDay, .sequence = n, .cpu_time = 3600.0};
    total.Take(message);
    sum.Take(message);
  }
  EXPECT_EQ(total.mark.value, 3600);
  EXPECT_EQ(sum.mark.value, 3 * 3600);
}

TEST(Trickles, MonthsOfMessagesSentAtOnceArePaidInFull) {
  Running running;
  constexpr int kMessages = 180;
  Paid cumulative{running.Price(Elapsed())};
  Paid increments{running.Price(ElapsedIncrements())};
  Paid steps{running.Price(Steps())};
  for (int day = 1; day <= kMessages; ++day) {
    cumulative.Take(ElapsedAt(kMessages + 1, day * kDay));
    increments.Take(IncrementAt(kMessages + 1, static_cast<std::uint64_t>(day), kDay));
    steps.Take(StepsAt(kMessages + 1, day * 10));
  }
  EXPECT_EQ(cumulative.micro, MicroCredit{kMessages} * 200 * kMicro);
  EXPECT_EQ(increments.micro, cumulative.micro);
  EXPECT_EQ(steps.mark.value, 1800);
}

TEST(Trickles, AnIncrementIsPaidOnceDespiteRepeats) {
  Running running;
  Paid paid{running.Price(ElapsedIncrements())};
  EXPECT_EQ(paid.Take(IncrementAt(10, 4, kDay)).partial, 200 * kMicro);
  const HighWaterMark once = paid.mark;
  EXPECT_EQ(paid.Take(IncrementAt(11, 4, kDay)).outcome, TrickleOutcome::kRepeat);
  EXPECT_EQ(paid.Take(IncrementAt(12, 4, 2 * kDay)).outcome, TrickleOutcome::kRepeat);
  EXPECT_EQ(paid.mark, once);
  // An overtaken increment counts, also once.
  EXPECT_EQ(paid.Take(IncrementAt(9, 3, kDay)).partial, 200 * kMicro);
  EXPECT_EQ(paid.Take(IncrementAt(9, 3, kDay)).outcome, TrickleOutcome::kRepeat);
}

TEST(Trickles, ForgottenIncrementsAreNotPaidAgain) {
  Running running;
  Paid paid{running.Price(ElapsedIncrements())};
  for (std::uint64_t n = 1; n <= kIncrementsRemembered + 5; ++n) paid.Take(IncrementAt(300, 10 * n, 60));
  EXPECT_EQ(paid.mark.forgotten, 50U);
  EXPECT_EQ(paid.mark.seen.size(), kIncrementsRemembered);
  for (const std::uint64_t sequence : {std::uint64_t{60}, 10 * (kIncrementsRemembered + 5)})
    EXPECT_EQ(paid.Take(IncrementAt(301, sequence, 60)).outcome, TrickleOutcome::kRepeat) << sequence;
  for (const std::uint64_t sequence : {10U, 50U, 45U}) {
    const TrickleDecision decision = paid.Take(IncrementAt(301, sequence, 60));
    EXPECT_EQ(decision.outcome, TrickleOutcome::kTooOld) << sequence;
    EXPECT_EQ(decision.field, "sequence");
  }
  EXPECT_EQ(paid.Take(IncrementAt(301, 55, 60)).after.value, (kIncrementsRemembered + 6) * 60.0);
}

// A client sends its files in any order, possibly the newest first.
TEST(Trickles, AThousandQueuedIncrementsArePaidInFullInAnyOrder) {
  Running running;
  for (const bool shuffled : {false, true}) {
    std::vector<std::uint64_t> order(1000);
    std::iota(order.rbegin(), order.rend(), 1);
    if (shuffled) std::shuffle(order.begin(), order.end(), std::mt19937(6));
    Paid paid{running.Price(ElapsedIncrements())};
    for (const std::uint64_t day : order) paid.Take(IncrementAt(1001, 86400 * day, kDay));
    EXPECT_EQ(paid.mark.value, 1000 * kDay);
  }
}

TEST(Trickles, AResultWithSeveralVarietiesIsPaidTheBestOfThem) {
  Running running;
  TrickleRule half = Elapsed();
  half.variety = "other";
  half.kind = TrickleKind::kRunTime;
  half.typical = {.median = 0.5e9, .percentile_95 = 0.5e9};
  running.host().whetstone = kGflops;
  const TricklePrice prices[] = {running.Price(Elapsed()), running.Price(half)};
  HighWaterMark marks[2];
  MicroCredit paid = 0;
  for (int day = 1; day <= 30; ++day) {
    for (std::size_t k = 0; k < 2; ++k) {
      const TrickleDecision decision = Decide(prices[k], marks[k], paid, ElapsedAt(day, day * kDay));
      marks[k] = decision.after;
      paid += decision.partial;
    }
  }
  EXPECT_EQ(paid, 30 * 200 * kMicro);
}

TEST(Trickles, ScaleChangesDuringAJobDoNotChangeItsPrice) {
  Running running;
  running.world().SetVersion(kCpuVersion, 200, 1.0, 0.5);
  const TricklePrice price = running.Price(Elapsed());
  running.world().SetVersion(kCpuVersion, 300, 1.0, 0.1);
  EXPECT_EQ(Paid{price}.Take(ElapsedAt(1, kDay)).partial, 100 * kMicro);
}

// ---- Bounds and refusals -------------------------------------------------------------------------------------

TEST(Bounds, OfTheJobAndTheRuleHoldAtAnyHighWaterMark) {
  Running running;
  running.job().fpops_bound = 10 * kDay * kGflops;
  Paid bound{running.Price(Elapsed())};
  const TrickleDecision decision = bound.Take(ElapsedAt(100, 100 * kDay));
  EXPECT_EQ(decision.credit, 2000);
  EXPECT_EQ(decision.after.value, 100 * kDay);  // the high-water mark is not limited, its worth is
  EXPECT_EQ(decision.bounds, kTrickleFpopsBound);
  EXPECT_EQ(bound.Take(ElapsedAt(101, 101 * kDay)).outcome, TrickleOutcome::kNothingDue);

  running.job().fpops_bound = 0;  // unknown
  TrickleRule rule = Steps();
  rule.max_credit = 100;
  Paid capped{running.Price(rule)};
  EXPECT_EQ(capped.Take(StepsAt(1, 4000)).bounds, kTrickleMaxCredit);
  EXPECT_EQ(capped.micro, 100 * kMicro);
  running.world().catalogue.settings.max_granted_credit = 70;
  Paid project{running.Price(rule)};
  project.Take(StepsAt(1, 4000));
  EXPECT_EQ(project.micro, 70 * kMicro);
}

TEST(Bounds, NothingIsEarnedBeforeTheDispatch) {
  Running running;
  Paid paid{running.Price(Elapsed())};
  const TrickleDecision decision = paid.Take(ElapsedAt(-5, kDay));
  EXPECT_EQ(decision.outcome, TrickleOutcome::kOld);
  EXPECT_EQ(decision.asked, kDay);
  EXPECT_EQ(decision.allowed, 0);
  EXPECT_EQ(decision.bounds, kTrickleWallTime);
}

TEST(Refusals, NameTheFieldAndChangeNothing) {
  struct Case {
    TrickleRule rule;
    TrickleMessage message;
    TrickleOutcome outcome;
    const char* field;
  };
  const double now = kStart + kDay;
  const Case cases[] = {
      {Elapsed(), {.event_time = now}, TrickleOutcome::kMissing, "elapsed_time"},
      {Elapsed(), {.event_time = now, .cpu_time = 5}, TrickleOutcome::kMissing, "elapsed_time"},
      {Elapsed(), {.event_time = now, .elapsed_time = kNan}, TrickleOutcome::kNotFinite, "elapsed_time"},
      {Elapsed(), {.event_time = now, .elapsed_time = kInfinity}, TrickleOutcome::kNotFinite, "elapsed_time"},
      {Elapsed(), {.event_time = now, .elapsed_time = -1e-300}, TrickleOutcome::kNegative, "elapsed_time"},
      {Elapsed(), {.event_time = kNan, .elapsed_time = 5}, TrickleOutcome::kNotFinite, "event_time"},
      {Steps(), {.event_time = now, .steps = -1}, TrickleOutcome::kNegative, "steps"},
      {Fraction(), {.event_time = now, .fraction_done = kNan}, TrickleOutcome::kNotFinite, "fraction_done"},
      {RunTime(),
       {.event_time = now, .sequence = 8, .runtime_increment = kNan},
       TrickleOutcome::kNotFinite,
       "runtime_increment"},
      {RunTime(), {.event_time = now, .runtime_increment = 5}, TrickleOutcome::kMissing, "sequence"},
      {RunTime(),
       {.event_time = now, .sequence = 0, .runtime_increment = 5},
       TrickleOutcome::kMissing,
       "sequence"},
      {Days(), {.event_time = kInfinity}, TrickleOutcome::kNotFinite, "event_time"},
  };
  Running running;
  for (const Case& c : cases) {
    const HighWaterMark mark{.value = 7, .sum_ns = 7'000'000'000, .seen = {3}};
    const TrickleDecision decision = Decide(running.Price(c.rule), mark, 11, c.message);
    EXPECT_TRUE(decision.refused()) << c.field;
    EXPECT_EQ(decision.outcome, c.outcome) << c.field;
    EXPECT_EQ(decision.field, c.field);
    EXPECT_EQ(decision.after, mark) << c.field;
    EXPECT_EQ(decision.partial, 0) << c.field;
  }
}

TEST(Refusals, OfCreditBeyondTheRangeOfMicroCredits) {
  Running running;
  running.job().peak_flops = 1e300;
  running.job().fpops_bound = 0;
  const TrickleDecision decision = Decide(running.Price(Elapsed()), {}, 0, ElapsedAt(10, kDay));
  EXPECT_EQ(decision.outcome, TrickleOutcome::kTooMuch);
  EXPECT_EQ(decision.field, "elapsed_time");
  EXPECT_EQ(decision.after, HighWaterMark{});
}

TEST(Rules, ThatAreInvalidAreReportedWithTheField) {
  const auto problem = [](TrickleRule rule, auto change) {
    change(rule);
    return ProblemOf(rule).value_or("none");
  };
  const auto begins = [](const std::string& text, const char* with) { return text.rfind(with, 0) == 0; };
  EXPECT_TRUE(begins(problem(Elapsed(), [](auto& r) { r.measure = TrickleMeasure::kSteps; }),
                     "measure: a rule of kind"));
  EXPECT_TRUE(begins(problem(Steps(), [](auto& r) { r.incremental = true; }), "incremental: allowed only"));
  EXPECT_TRUE(begins(problem(ElapsedIncrements(), [](auto& r) { r.incremental = false; }),
                     "incremental: required for runtime_increment"));
  EXPECT_TRUE(begins(problem(Elapsed(), [](auto& r) { r.max_increment = 5; }), "max_increment"));
  EXPECT_TRUE(begins(problem(RunTime(), [](auto& r) { r.typical = {}; }), "speed_limit"));
  EXPECT_TRUE(begins(problem(Steps(), [](auto& r) { r.phases.clear(); }), "phases: a rule"));
  EXPECT_TRUE(begins(problem(Steps(), [](auto& r) { r.phases[1].last_step = 1000; }), "phases: last_step"));
  EXPECT_TRUE(begins(problem(Steps(), [](auto& r) { r.phases[2].last_step = 3000.5; }), "phases: last_step"));
  EXPECT_TRUE(
      begins(problem(Steps(), [](auto& r) { r.phases[0].credit_per_step = -1; }), "phases: credit_per_step"));
  EXPECT_TRUE(begins(problem(Steps(), [](auto& r) { r.multiplier = 0; }), "model_factor, multiplier"));
  EXPECT_TRUE(begins(problem(Days(), [](auto& r) { r.credit_per_day = kNan; }), "credit_per_day"));
  EXPECT_TRUE(begins(problem(Days(), [](auto& r) { r.max_credit = kInfinity; }), "max_credit"));
}

TEST(Names, OfKindsMeasuresOutcomesAndBoundsAreDefined) {
  for (const TrickleRule& rule : {Elapsed(), Steps(), Fraction(), RunTime(), Days()}) {
    EXPECT_EQ(TrickleKindByName(TrickleKindName(rule.kind)), rule.kind);
    EXPECT_EQ(TrickleMeasureByName(TrickleMeasureName(rule.measure)), rule.measure);
  }
  EXPECT_EQ(TrickleKindByName("weekly"), std::nullopt);
  EXPECT_EQ(TrickleOutcomeName(TrickleOutcome::kTooMuch), "too_much");
  EXPECT_EQ(TrickleOutcomeName(TrickleOutcome::kTooOld), "too_old");
  EXPECT_EQ(TrickleBoundName(kTrickleWallTime), "wall_time");
  EXPECT_EQ(TrickleBoundName(kTrickleMaxCredit), "max_credit");
}

// ---- Properties ----------------------------------------------------------------------------------------------

TrickleRule AnyRule() { return *rc::gen::element(Elapsed(), Steps(), Fraction(), Days()); }

// Prices with fractional factors, so that amounts are rounded at arbitrary places.
TricklePrice AnyPrice(const TrickleRule& rule) {
  Running running;
  const auto odd = [] { return *rc::gen::inRange(1, 1'000'000) / 333'333.0; };
  running.job().peak_flops = odd() * kGflops;
  running.job().fpops_est *= odd();
  running.job().fpops_bound = *rc::gen::element(0.0, running.job().fpops_est * odd());
  running.job().version = *rc::gen::element(kCpuVersion, kGpuVersion, std::int64_t{-2});
  running.world().SetVersion(kCpuVersion, 200, odd(), odd());
  running.host() = running.world().Trusted(*rc::gen::inRange(0, 30), odd());
  TrickleRule priced = rule;
  priced.max_credit = *rc::gen::element(0.0, 500.0 * odd());
  priced.multiplier = odd();
  return running.Price(priced);
}

// A message with a value for every measure, at a random point of the job.
TrickleMessage AnyMessage() {
  const double day = *rc::gen::inRange(-1, 4000) / 10.0;
  const double part = *rc::gen::inRange(0, 12'000) / 10'007.0;
  return {.event_time = kStart + day * kDay,
          .sequence = *rc::gen::inRange<std::uint64_t>(0, 50),
          .elapsed_time = part * 365 * kDay,
          .cpu_time = part * 365 * kDay,
          .runtime_increment = part * 10 * kDay,
          .fraction_done = part,
          .steps = std::floor(part * 4000)};
}

MicroCredit WorthOf(const TricklePrice& price, double mark) {
  return RoundToMicro(CreditOfHighWaterMark(price, mark));
}

RC_GTEST_PROP(TrickleProperties, AnyOrderRepetitionAndLossWithTheSameMarkPayTheSame, ()) {
  const TricklePrice price = AnyPrice(AnyRule());
  const auto messages = *rc::gen::container<std::vector<TrickleMessage>>(rc::gen::exec(AnyMessage));
  Paid all{price};
  TrickleMessage best{.event_time = kStart, .elapsed_time = 0, .fraction_done = 0, .steps = 0};
  for (const TrickleMessage& message : messages) {
    const TrickleDecision decision = all.Take(message);
    if (decision.after.value > decision.before.value) best = message;
    RC_ASSERT(decision.partial >= 0);
    RC_ASSERT(all.micro == WorthOf(price, all.mark.value));
  }

  // Shuffled, with repeats.
  std::vector<TrickleMessage> again = messages;
  again.insert(again.end(), messages.begin(), messages.end());
  const auto keys =
      *rc::gen::container<std::vector<std::uint32_t>>(again.size(), rc::gen::arbitrary<std::uint32_t>());
  std::vector<std::size_t> order(again.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::pair(keys[a], a) < std::pair(keys[b], b); });
  Paid shuffled{price};
  for (const std::size_t k : order) shuffled.Take(again[k]);
  RC_ASSERT(shuffled.mark.value == all.mark.value);
  RC_ASSERT(shuffled.micro == all.micro);

  // All messages are lost except the best.
  Paid lone{price};
  lone.Take(best);
  RC_ASSERT(lone.mark.value == all.mark.value);
  RC_ASSERT(lone.micro == all.micro);
}

RC_GTEST_PROP(TrickleProperties, TheWorthOfAMarkNeverFallsWithTheMark, ()) {
  const TricklePrice price = AnyPrice(AnyRule());
  const double top = price.kind == TrickleKind::kElapsed    ? 400 * kDay
                     : price.kind == TrickleKind::kFraction ? 1
                                                            : 4000;
  const double a = *rc::gen::inRange(0, 1'000'000) / 1'000'003.0 * top;
  const double next = std::nextafter(a, kInfinity);
  const double b = a + *rc::gen::inRange(0, 1'000'000) / 1'000'003.0 * (top - a);
  RC_ASSERT(CreditOfHighWaterMark(price, a) >= 0);
  RC_ASSERT(CreditOfHighWaterMark(price, a) <= CreditOfHighWaterMark(price, next));
  RC_ASSERT(CreditOfHighWaterMark(price, a) <= CreditOfHighWaterMark(price, b));
}

// An arbitrary number for a dispatch, a host or a scale.
double AnyNumber() {
  return *rc::gen::element(0.0, -0.0, -1.0, 1e-300, 1e300, 3.7e9, 1.0, kInfinity, -kInfinity, kNan,
                           std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max());
}

RC_GTEST_PROP(TrickleProperties, ForAnyDispatchNoMessageHasANegativeWorth, ()) {
  Running running;
  Job& job = running.job();
  for (double* number : {&job.peak_flops, &job.fpops_est, &job.fpops_bound, &job.devices, &job.cpus_used,
                         &job.gpus_used, &job.cpu_speed, &job.gpu_speed, &running.host().whetstone}) {
    *number = AnyNumber();
  }
  running.world().SetVersion(kCpuVersion, 200, AnyNumber(), AnyNumber());
  HostVersion& row = running.world().Row(running.host());
  row.pfc = {AnyNumber(), AnyNumber()};
  running.world().SetMinAvgPfc(AnyNumber());
  const TricklePrice price = running.Price(
      *rc::gen::element(Elapsed(), ElapsedIncrements(), Steps(), Fraction(), RunTime(), Days()));
  double before = 0;
  for (const double mark : {0.0, 1e-9, 0.5, 1.0, 4000.0, 1e7, 1e300}) {
    const double credit = CreditOfHighWaterMark(price, mark);
    RC_ASSERT(credit >= before);
    before = credit;
  }
  Paid paid{price};
  for (int k = 0; k < 10; ++k) {
    TrickleMessage message = AnyMessage();
    message.cpu_time = AnyNumber();
    message.elapsed_time = AnyNumber();
    message.runtime_increment = AnyNumber();
    message.fraction_done = AnyNumber();
    message.steps = AnyNumber();
    const TrickleDecision decision = paid.Take(message);
    RC_ASSERT(decision.partial >= 0);
    RC_ASSERT(!decision.refused() || decision.after == decision.before);
    RC_ASSERT(decision.after.value >= decision.before.value);
    RC_ASSERT(paid.micro == WorthOf(price, paid.mark.value));
  }
}

// An attacker sends forged messages in any number and any order. They pay at most as much as one message at the
// end by an honest host that worked all the time on all its CPUs.
RC_GTEST_PROP(TrickleProperties, AnAttackerGetsNoMoreThanTheWallTimeIsWorth, ()) {
  TrickleRule rule = *rc::gen::element(Elapsed(), ElapsedIncrements(), Fraction(), Days(), Steps());
  if (rule.kind == TrickleKind::kSteps) rule.min_step_seconds = 8640;
  const TricklePrice price = AnyPrice(rule);
  Paid attacker{price};
  double last = kStart;
  const int messages = *rc::gen::inRange(1, 60);
  for (int k = 0; k < messages; ++k) {
    TrickleMessage message = AnyMessage();
    const double forged = *rc::gen::element(1.0, 10.0, 1e6, 1e300);
    message.elapsed_time = *message.elapsed_time * forged;
    message.runtime_increment = *message.runtime_increment * forged;
    message.fraction_done = *message.fraction_done * forged;
    message.steps = *message.steps * forged;
    last = std::max(last, message.event_time);
    attacker.Take(message);
  }
  const double wall = last - kStart;
  double most = 0;
  switch (rule.kind) {
    case TrickleKind::kElapsed: most = wall; break;
    case TrickleKind::kFraction:
      most = std::min(
          1.0, JobScales{price.version_scale, price.host_scale}.Apply(wall * price.rate) / price.default_pfc);
      break;
    case TrickleKind::kDay: most = std::floor(wall / kDay); break;
    default: most = std::min(4000.0, std::floor(wall / 8640)); break;
  }
  RC_ASSERT(attacker.mark.value <= most);
  RC_ASSERT(attacker.micro <= WorthOf(price, most));
  RC_ASSERT(attacker.micro == WorthOf(price, attacker.mark.value));
  RC_ASSERT(CreditOfHighWaterMark(price, attacker.mark.value) <=
            std::min({price.bound_credit, price.estimate_credit, price.max_credit}));
}

RC_GTEST_PROP(TrickleProperties, IncrementsPayTheirSumOnceInAnyOrder, ()) {
  const TricklePrice price = AnyPrice(ElapsedIncrements());
  const int count = *rc::gen::inRange(1, static_cast<int>(kIncrementsRemembered) + 1);
  std::vector<TrickleMessage> messages;
  for (int n = 1; n <= count; ++n) {
    messages.push_back(IncrementAt(*rc::gen::inRange(-1, 400), static_cast<std::uint64_t>(n) * 3,
                                   *rc::gen::inRange(0, 10'000'000) / 7.0));
  }
  Paid once{price};
  for (const TrickleMessage& message : messages) once.Take(message);

  std::vector<std::pair<std::uint32_t, std::size_t>> order;
  for (std::size_t k = 0; k < 2 * messages.size(); ++k)  // each message twice
    order.emplace_back(*rc::gen::arbitrary<std::uint32_t>(), k % messages.size());
  std::sort(order.begin(), order.end());
  Paid noisy{price};
  for (const auto& [key, k] : order) {
    TrickleMessage message = messages[k];
    noisy.Take(message);
    message.runtime_increment = 1e300;  // forged with a used sequence number
    RC_ASSERT(noisy.Take(message).outcome == TrickleOutcome::kRepeat);
  }
  RC_ASSERT(noisy.mark == once.mark);
  RC_ASSERT(noisy.micro == once.micro);
  RC_ASSERT(once.micro == WorthOf(price, once.mark.value));
}

TEST(Sums, OfAMillionPartialGrantsAreExact) {
  Running running;
  running.job().peak_flops = kGflops / 3;
  for (const TrickleRule& rule : {Elapsed(), Fraction()}) {
    Paid paid{running.Price(rule)};
    constexpr int kMessages = 1'000'000;
    for (int k = 1; k <= kMessages; ++k) {
      const double part = k / static_cast<double>(kMessages);
      paid.Take(
          {.event_time = kStart + 2000 * kDay, .elapsed_time = part * 365 * kDay, .fraction_done = part});
    }
    Paid lone{paid.price};
    lone.Take({.event_time = kStart + 2000 * kDay, .elapsed_time = 365 * kDay, .fraction_done = 1});
    EXPECT_EQ(paid.micro, lone.micro);
    EXPECT_GT(paid.micro, 24'000 * kMicro);
  }
}

}  // namespace
}  // namespace cobblestone::credit
