#include "services/lab/search.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "services/lab/report.h"

namespace cobblestone::lab {
namespace {

using fleet::Attack;
using fleet::ClaimChannel;
using fleet::ClaimPattern;
using fleet::NewIdentity;
using fleet::Unwanted;

// Draws that are the same on every machine; those of <random>'s distributions are not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  // From 0 to n - 1.
  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>((engine_() >> 33) % n); }
  bool Chance(double p) { return static_cast<double>(engine_() >> 11) < p * 9007199254740992.0; }
  template <class T, std::size_t kCount>
  T Of(const T (&values)[kCount]) {
    return values[Below(kCount)];
  }

 private:
  std::mt19937_64 engine_;
};

// The attacker's choices. Values on a grid: a found attack is a file that a person can read.
constexpr std::uint32_t kStarts[] = {0, 0, 5, 10, 20, 50, 100, 300};
constexpr ClaimPattern kPatternChoices[] = {
    ClaimPattern::kHonest, ClaimPattern::kConstant, ClaimPattern::kRamp,       ClaimPattern::kSawtooth,
    ClaimPattern::kSpike,  ClaimPattern::kSandbag,  ClaimPattern::kVolatility, ClaimPattern::kEstimate};
constexpr ClaimChannel kChannelChoices[] = {ClaimChannel::kTime, ClaimChannel::kBenchmark};
constexpr double kFactors[] = {1.1, 1.2, 1.5, 2, 3, 5, 10, 24, 100, 1000};
constexpr double kGrowths[] = {1.0005, 1.001, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.3};
constexpr std::uint32_t kPeriods[] = {2, 3, 5, 10, 20, 30, 50, 100, 200, 400};
constexpr std::uint32_t kFirstJobs[] = {1, 3, 8, 9, 10, 11, 12, 15, 20, 30, 60, 100, 200};
constexpr double kKeepShares[] = {1, 1, 0.99, 0.98, 0.97, 0.95, 0.93, 0.9, 0.85, 0.8, 0.7, 0.5, 0.2};
constexpr Unwanted kUnwanted[] = {Unwanted::kAbortedByUser, Unwanted::kAbortedByProject, Unwanted::kWithheld,
                                  Unwanted::kDetached};
constexpr std::uint32_t kFailures[] = {0, 0, 0, 5, 8, 10, 20, 50};
constexpr std::uint32_t kRecyclings[] = {0, 0, 10, 11, 15, 20, 30, 50, 80, 100, 200, 500};
constexpr NewIdentity kNew[] = {NewIdentity::kHost, NewIdentity::kAccount};

constexpr std::uint32_t kLate[] = {0, 0, 0, 0, 2, 5, 20};
constexpr std::uint32_t kBuilds[] = {0, 5, 10, 20, 40, 100};
constexpr double kFabricateShares[] = {1, 0.5, 0.2, 0.1, 0.05};

constexpr std::uint32_t kChoices = 16;

void Choose(std::uint32_t choice, Dice& dice, Attack& attack) {
  switch (choice) {
    case 0: attack.start = dice.Of(kStarts); break;
    case 1: attack.pattern = dice.Of(kPatternChoices); break;
    case 2: attack.channel = dice.Of(kChannelChoices); break;
    case 3: attack.factor = dice.Of(kFactors); break;
    case 4: attack.growth = dice.Of(kGrowths); break;
    case 5: attack.period = dice.Of(kPeriods); break;
    case 6: attack.first_jobs = dice.Of(kFirstJobs); break;
    case 7: attack.keep_share = dice.Of(kKeepShares); break;
    case 8: attack.unwanted = dice.Of(kUnwanted); break;
    case 9: attack.fail_every = dice.Of(kFailures); break;
    case 10: attack.recycle_every = dice.Of(kRecyclings); break;
    case 11: attack.identity = dice.Of(kNew); break;
    case 12: attack.anonymous = dice.Chance(0.3); break;
    case 13: attack.late_every = dice.Of(kLate); break;
    case 14: attack.build = dice.Of(kBuilds); break;
    case 15: attack.fabricate_share = dice.Of(kFabricateShares); break;
    default: break;
  }
}

Attack RandomAttack(Dice& dice) {
  Attack attack;
  for (std::uint32_t choice = 0; choice < kChoices; ++choice) Choose(choice, dice, attack);
  // Invented results are a strategy of their own: they are tried after honest work, which builds up trust.
  attack.fabricate = dice.Chance(0.15);
  return attack;
}

Attack ChangedAttack(const Attack& best, Dice& dice) {
  Attack attack = best;
  while (attack == best) {
    for (std::uint32_t changes = 1 + dice.Below(3); changes > 0; --changes)
      Choose(dice.Below(kChoices), dice, attack);
  }
  return attack;
}

Figures MeanOf(const std::vector<Figures>& seeds) {
  Figures mean;
  for (const FigureColumn& column : FigureColumns()) {
    double sum = 0;
    for (const Figures& one : seeds) sum += one.*column.field;
    mean.*column.field = sum / static_cast<double>(seeds.size());
  }
  return mean;
}

std::string Digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

template <class T, std::size_t kCount>
const char* NameIn(const std::pair<T, const char*> (&names)[kCount], T value) {
  for (const auto& [known, name] : names)
    if (known == value) return name;
  return "";
}

constexpr std::pair<ClaimPattern, const char*> kPatternNames[] = {{ClaimPattern::kHonest, "honest"},
                                                                  {ClaimPattern::kConstant, "constant"},
                                                                  {ClaimPattern::kRamp, "ramp"},
                                                                  {ClaimPattern::kSawtooth, "sawtooth"},
                                                                  {ClaimPattern::kSpike, "spike"},
                                                                  {ClaimPattern::kSandbag, "sandbag"},
                                                                  {ClaimPattern::kVolatility, "volatility"},
                                                                  {ClaimPattern::kEstimate, "estimate"}};
constexpr std::pair<Unwanted, const char*> kUnwantedNames[] = {{Unwanted::kAbortedByUser, "user"},
                                                               {Unwanted::kAbortedByProject, "project"},
                                                               {Unwanted::kWithheld, "never"},
                                                               {Unwanted::kDetached, "detach"}};

}  // namespace

double ScoreOf(const Figures& figures) {
  return std::isfinite(figures.gain) && figures.honest_work >= kLeastWork ? figures.gain : figures.income;
}

Result<Found> SearchAttack(const SearchOptions& options) {
  const Condition& condition = options.lab.conditions.front();
  const std::uint64_t attackers = AttackersOf(options.lab, {});
  std::vector<WorldOutcome> twins;
  for (std::uint64_t seed = 1; seed <= options.lab.seeds; ++seed) {
    auto twin = RunWorld(WorldOf(options.lab, condition, attackers, {}, seed));
    if (!twin.ok()) return twin.status();
    twins.push_back(*std::move(twin));
  }
  Dice dice(options.seed);
  Found best;
  for (std::uint32_t number = 1; number <= options.attacks; ++number) {
    const bool random = number <= options.attacks / 2 || best.at == 0;
    const Attack attack = random ? RandomAttack(dice) : ChangedAttack(best.attack, dice);
    std::vector<Figures> seeds;
    for (std::uint64_t seed = 1; seed <= options.lab.seeds; ++seed) {
      const auto outcome = RunWorld(WorldOf(options.lab, condition, attackers, attack, seed));
      if (!outcome.ok()) return outcome.status();
      seeds.push_back(FiguresOf(*outcome, twins[seed - 1], options.lab.jobs));
    }
    const Figures figures = MeanOf(seeds);
    if (best.at == 0 || ScoreOf(figures) > best.score) best = {attack, figures, ScoreOf(figures), number};
    if (options.progress) options.progress(number, best.score);
  }
  return best;
}

std::string AttackText(const NamedAttack& named) {
  const Attack& attack = named.attack;
  const Attack usual;
  std::string text = "id: " + named.id + "\nname: " + named.name + "\nshare: " + Digits(named.share) + "\n";
  const auto add = [&](bool differs, const std::string& key, const std::string& value) {
    if (differs) text += key + ": " + value + "\n";
  };
  add(attack.start != usual.start, "start", std::to_string(attack.start));
  if (attack.pattern != ClaimPattern::kHonest) {
    text += std::string("claim:\n  pattern: ") + NameIn(kPatternNames, attack.pattern) +
            "\n  channel: " + (attack.channel == ClaimChannel::kTime ? "time" : "benchmark") +
            "\n  factor: " + Digits(attack.factor) + "\n  growth: " + Digits(attack.growth) +
            "\n  period: " + std::to_string(attack.period) +
            "\n  first_jobs: " + std::to_string(attack.first_jobs) + "\n";
  }
  add(attack.benchmark > 0, "benchmark", Digits(attack.benchmark));
  add(attack.anonymous, "anonymous", "yes");
  add(attack.fabricate, "fabricate", "yes");
  add(attack.fabricate_share != 1, "fabricate_share", Digits(attack.fabricate_share));
  add(attack.build > 0, "build", std::to_string(attack.build));
  add(attack.keep_share != 1, "keep_share", Digits(attack.keep_share));
  add(attack.unwanted != usual.unwanted, "abort", NameIn(kUnwantedNames, attack.unwanted));
  add(attack.fail_every > 0, "fail_every", std::to_string(attack.fail_every));
  add(attack.late_every > 0, "late_every", std::to_string(attack.late_every));
  add(attack.one_account, "one_account", "yes");
  add(attack.rehome, "rehome", "yes");
  add(attack.repeat > 0, "repeat", std::to_string(attack.repeat));
  add(attack.trickles > 0, "trickles", std::to_string(attack.trickles));
  add(attack.reports != 1, "reports", Digits(attack.reports));
  if (attack.version_every > 0)
    text += "versions:\n  count: " + std::to_string(named.versions) +
            "\n  every: " + std::to_string(attack.version_every) + "\n";
  if (attack.recycle_every > 0) {
    text += "identities:\n  every: " + std::to_string(attack.recycle_every) +
            "\n  new: " + (attack.identity == NewIdentity::kHost ? "host" : "account") + "\n";
  }
  return text;
}

}  // namespace cobblestone::lab
