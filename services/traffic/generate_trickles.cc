// Trickles of running jobs, and the rules of apps that pay for them: the part of Generator for
// GenerateOptions::trickles.
#include <cmath>
#include <limits>

#include "common/wire/events/event_codec.h"
#include "services/traffic/generate.h"

namespace cobblestone::traffic {
namespace {

constexpr double kModelSteps = 72;
constexpr std::uint64_t kNobodysResults = std::uint64_t{1} << 41;

// Frozen, as the salts of generate.cc, which end far below these numbers.
enum TrickleSalt : std::uint32_t {
  kBadTrickle = 1001,
  kFate,
  kVariety,
  kByName,
  kNamed,
  kTogether,
  kLateBy,
  kRepeatAfter,
  kDispatchLate,
  kDispatchLateBy
};

enum class Fate : std::uint8_t {
  kGood,
  kLate,
  kRepeated,
  kLost,
  kRewound,
  kForged,         // by another host
  kNobodys,        // of a result that does not exist
  kUnpaidVariety,  // no rule pays for the variety
  kEmpty,          // without the value that its rule reads
  kGreedy,         // ten times the value
  kNotANumber,
  kWrongApp
};
constexpr std::uint64_t kBadFates = 11;

std::uint64_t MessageOf(std::uint64_t result, std::uint32_t message) { return result * 256 + message; }

}  // namespace

std::vector<wire::TrickleRuleChange> Generator::TrickleRulesOf(std::uint64_t app) const {
  if (app % 7 == 0) return {};
  const auto rule = [](std::uint64_t kind) -> wire::TrickleRuleChange {
    switch (kind) {
      case 0:
        return {.variety = "model",
                .kind = "steps",
                .measure = "steps",
                .phases = {{.last_step = kModelSteps / 2, .credit_per_step = 0.5},
                           {.last_step = kModelSteps, .credit_per_step = 0.25}},
                .model_factor = 1.25,
                .multiplier = 0.7,
                .min_step_seconds = 100};
      case 1: return {.variety = "time", .kind = "elapsed", .measure = "elapsed_time"};
      case 2: return {.variety = "part", .kind = "fraction", .measure = "fraction_done"};
      case 3:
        return {.variety = "since",
                .kind = "elapsed",
                .measure = "runtime_increment",
                .incremental = true,
                .max_increment = 20000};
      case 4: return {.variety = "day", .kind = "day", .credit_per_day = 7.5, .max_credit = 20};
      default:
        return {.variety = "cpu",
                .kind = "runtime",
                .measure = "cpu_time",
                .median_speed = 1e9,
                .speed_limit = 2e9};
    }
  };
  return {rule((app - 1) % 6), rule(app % 6)};
}

// An outage: the client sends all queued messages at once.
bool Generator::ComeTogether(std::uint64_t result) const { return Chance(0.1, result, kTogether); }

std::string Generator::NameOf(std::uint64_t result) const {
  return Below(result, kNamed, 3) == 0 ? "result_" + std::to_string(result) : std::string();
}

// Some dispatches are delayed, so that the first messages arrive before the dispatch.
std::uint64_t Generator::DispatchDelay(std::uint64_t result) const {
  if (options_.trickles == 0 || !Chance(options_.bad_trickles / 2, result, kDispatchLate)) return 0;
  return Below(result, kDispatchLateBy, window_);
}

void Generator::PutTrickles(std::uint64_t from, std::uint64_t to, std::uint64_t result, const Node& node) {
  for (std::uint32_t i = 0; i < options_.trickles; ++i) {
    const std::uint64_t draw = MessageOf(result, i);
    Node message = node;
    message.message = static_cast<std::uint8_t>(i);
    std::uint64_t at = ComeTogether(result) ? to : from + (to - from) * (i + 1) / (options_.trickles + 1);
    if (Chance(options_.bad_trickles, draw, kBadTrickle)) {
      const auto fate = static_cast<Fate>(1 + Below(draw, kFate, kBadFates));
      if (fate == Fate::kLost) continue;
      if (fate == Fate::kLate) at += Below(draw, kLateBy, window_);
      if (fate == Fate::kRepeated) PutNode(at + Below(draw, kRepeatAfter, window_), message);
    }
    PutNode(at, message);
  }
}

void Generator::WriteTrickle(const Run& run, std::uint32_t message, std::string* envelope) const {
  const std::uint64_t draw = MessageOf(run.result, message);
  const Fate fate = Chance(options_.bad_trickles, draw, kBadTrickle)
                        ? static_cast<Fate>(1 + Below(draw, kFate, kBadFates))
                        : Fate::kGood;
  const double done = static_cast<double>(message + 1) / static_cast<double>(options_.trickles + 1);
  const double times = fate == Fate::kGreedy       ? 10
                       : fate == Fate::kRewound    ? 0.5
                       : fate == Fate::kNotANumber ? std::numeric_limits<double>::quiet_NaN()
                                                   : 1;
  wire::Trickle trickle;
  trickle.result = ResultId(run.result);
  trickle.host = HostId(run.host);
  const auto rules = TrickleRulesOf(run.app);
  wire::TrickleRuleChange rule;
  if (!rules.empty()) rule = rules[Below(draw, kVariety, rules.size())];
  trickle.variety = fate == Fate::kUnpaidVariety ? "weather" : rule.variety;
  if (fate != Fate::kEmpty) {
    if (rule.measure == "steps") trickle.steps = std::floor(kModelSteps * done) * times;
    if (rule.measure == "elapsed_time") trickle.elapsed_time = run.elapsed * done * times;
    if (rule.measure == "cpu_time") trickle.cpu_time = run.cpu_time * done * times;
    if (rule.measure == "fraction_done") trickle.fraction_done = done * times;
    if (rule.incremental) {
      trickle.runtime_increment = run.elapsed / static_cast<double>(options_.trickles + 1) * times;
      // Rewound: repeats the previous number; numbers start at 1, so 0 is not valid.
      trickle.sequence = fate == Fate::kRewound ? message : message + 1;
    }
  }
  if (fate == Fate::kForged) trickle.host = HostId(1 + run.host % options_.hosts);
  if (fate == Fate::kNobodys) trickle.result = ResultId(kNobodysResults + run.result);
  if (fate == Fate::kWrongApp) trickle.app = AppId(run.app + 1);
  const std::string name = NameOf(run.result);
  if (!name.empty() && fate != Fate::kNobodys && (Hash(draw, kByName) & 1) != 0) {
    trickle.result = {};
    trickle.result_name = name;
  }
  const double heard = ComeTogether(run.result) ? run.received : run.sent + (run.received - run.sent) * done;
  *envelope = wire::EncodeEvent(
      {.head = {.id = draw, .project = ProjectId(options_.project), .time = std::floor(heard)},
       .body = std::move(trickle)});
}

}  // namespace cobblestone::traffic
