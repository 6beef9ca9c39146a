#include "services/lab/experiment.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "common/base/check.h"
#include "common/credit/policies/policy.h"
#include "common/credit/policies/robust.h"
#include "services/lab/parallel.h"
#include "services/pipeline/event_time.h"
#include "services/replay/replay.h"

namespace cobblestone::lab {

using fleet::FleetOptions;
using fleet::Replication;
using fleet::SizeModel;

namespace {

constexpr double kEstimate = 6.0e12;        // FLOPs
constexpr double kDelayBound = 10 * 86400;  // s
constexpr double kTickPeriod = 600;         // s
constexpr double kTrickleInterval = 0.25;   // h
constexpr double kMicro = 1e6;
// Slow hosts need longer for their jobs than the median host.
constexpr double kSpareTime = 1.2;

constexpr std::pair<const char*, Replication> kReplications[] = {{"single", Replication::kSingle},
                                                                 {"double", Replication::kQuorum},
                                                                 {"adaptive", Replication::kAdaptive},
                                                                 {"advised", Replication::kAdvised}};
constexpr std::pair<const char*, SizeModel> kSizeModels[] = {
    {"accurate", SizeModel::kAccurate}, {"noisy", SizeModel::kNoisy}, {"bimodal", SizeModel::kBimodal}};

// Mean of true size / estimate.
double MeanSize(const fleet::AppModel& app) {
  if (app.size != SizeModel::kMeasured) return app.size == SizeModel::kNoisy ? std::exp(0.18) : 1;
  double sum = 0;
  for (const double size : app.sizes) sum += size;
  return sum / static_cast<double>(app.sizes.size());
}

// s, of the median host's job.
double RunTimeOf(const fleet::AppModel& app, const fleet::Parameters& p) {
  return app.fpops_est * MeanSize(app) *
         (app.cpu ? p.cpu_samples / (1e9 * std::exp(p.core_speed_mu))
                  : p.gpu_samples / (1e9 * std::exp(p.gpu_peak_mu)));
}

std::uint32_t DeviceOf(const replay::GrantRow& row) {
  if (row.version.anonymous()) return 2;
  return fleet::ResourceOfVersion(static_cast<std::uint64_t>(row.version.value)) == credit::Resource::kCpu
             ? 0
             : 1;
}

}  // namespace

Result<Replication> ReplicationByName(const std::string& name) {
  for (const auto& [known, value] : kReplications)
    if (name == known) return value;
  return Status::InvalidArgument("unknown replication '" + name +
                                 "'; known are single, double, adaptive, advised");
}

Result<SizeModel> SizesByName(const std::string& name) {
  for (const auto& [known, value] : kSizeModels)
    if (name == known) return value;
  return Status::InvalidArgument("unknown sizes '" + name + "'; known are accurate, noisy, bimodal");
}

std::string NameOf(Replication replication) {
  for (const auto& [name, value] : kReplications)
    if (value == replication) return name;
  return "";
}

std::string NameOf(SizeModel sizes) {
  for (const auto& [name, value] : kSizeModels)
    if (value == sizes) return name;
  return "measured";
}

std::string NameOf(const Condition& condition) {
  std::string name = condition.policy + ", " + NameOf(condition.replication) + " replication, " +
                     NameOf(condition.sizes) + " sizes";
  if (condition.world != World::kUniform) name += ", world " + NameOf(condition.world);
  return name;
}

std::uint64_t AttackersOf(const LabOptions& options, const NamedAttack& attack) {
  const double share = options.share > 0 ? options.share : attack.share;
  return static_cast<std::uint64_t>(std::max(1LL, std::llround(share * static_cast<double>(options.hosts))));
}

FleetOptions WorldOf(const LabOptions& options, const Condition& condition, std::uint64_t attackers,
                     const fleet::Attack& attack, std::uint64_t seed, const NamedAttack& named) {
  FleetOptions world;
  world.seed = seed;
  const auto change = [&] {
    for (const std::string& assignment : options.changes) {
      const Status good = fleet::SetParameter(assignment, &world.parameters);
      COBBLESTONE_CHECK(good.ok(), good.message());
    }
  };
  world.parameters = options.parameters;
  change();
  world.hosts = options.hosts;
  world.projects = 1;
  world.policy = condition.policy;
  world.attackers = attackers;
  world.attackers_join = options.join;
  world.attack = attack;
  fleet::AppModel app{.name = "lab",
                      .fpops_est = kEstimate,
                      .size = condition.sizes,
                      .replication = condition.replication,
                      .delay_bound = kDelayBound,
                      .cpu = true,
                      .gpu = world.parameters.gpu_hosts > 0,
                      .threads = 1,
                      .size_classes = 1,
                      .trickles = false,
                      .weight = 1,
                      .source = ""};
  if (options.app) app = *options.app;
  app.replication = condition.replication;
  app.trickles = named.trickles;
  app.variants = named.versions - 1;
  world.apps = {app};
  // Whole hours: the last bits of exp() differ between machines.
  constexpr double kMostDays = 3650;
  const double hours = std::max(1.0, std::ceil(static_cast<double>(options.jobs) *
                                               RunTimeOf(app, world.parameters) * kSpareTime / 3600));
  world.days = std::min(kMostDays, options.join + hours / 24);
  Shape(condition.world, &world);
  if (named.reports) world.parameters.managed_hosts = 1;
  if (named.trickles) world.parameters.trickle_interval = kTrickleInterval;
  change();
  return world;
}

Result<WorldOutcome> RunWorld(const FleetOptions& options) {
  WorldOutcome outcome;
  std::unordered_map<std::uint64_t, fleet::Truth> open;    // by result
  std::unordered_map<std::uint64_t, double> paid;          // by result, before its grant
  std::unordered_map<std::uint64_t, std::size_t> granted;  // by result, its place in outcome.jobs
  const bool trickles = std::any_of(options.apps.begin(), options.apps.end(),
                                    [](const fleet::AppModel& app) { return app.trickles; });
  // What the pipeline knows when a scheduler asks which results vouch for a host; of the world's only app.
  struct Standing {
    credit::Agreement agreement;
    credit::HostApp record{.replicated_valid =
                               std::numeric_limits<double>::infinity()};  // the fleet counts them
  };
  std::unordered_map<std::uint64_t, Standing> standings;  // by host
  const credit::Constants constants = credit::DefaultConstants(credit::PolicyKind::kRobust);
  FleetOptions advised = options;
  if (options.policy == "robust") {
    advised.vouching = [&](std::uint64_t host, std::uint64_t) {
      const auto found = standings.find(host);
      if (found == standings.end()) return 0.0;
      const Standing& one = found->second;
      return credit::ResultsThatVouch(&one.record, &one.agreement, constants);
    };
  }
  fleet::Fleet world(advised, [&](const fleet::Truth& row) {
    if (row.host >= fleet::kFirstAttacker)
      outcome.attackers_work += static_cast<double>(row.deserved_micro) / kMicro;
    open[row.result] = row;
  });
  replay::LockstepPipeline pipeline(1, [&](const replay::GrantRow& row) {
    const double micro = static_cast<double>(row.micro);
    // Payments by trickles, and their reversals, belong to the result's job.
    if (row.kind != wire::GrantKind::kFinal) {
      const auto job = granted.find(row.result.value);
      (job != granted.end() ? outcome.jobs[job->second].granted : paid[row.result.value]) += micro / kMicro;
      return Status::Ok();
    }
    const auto found = open.find(row.result.value);
    if (found == open.end()) return Status::Fatal("a result was granted before it was returned");
    const std::uint64_t host = row.host.value;
    Standing& standing = standings[host];
    standing.record.error_rate = row.failure_rate;
    if (row.excess) credit::NoteExcess(*row.excess, standing.agreement);
    const std::uint64_t attacker = host - fleet::kFirstAttacker;
    outcome.jobs.push_back({.host = host,
                            .account = row.user.value,
                            .person = host < fleet::kFirstAttacker
                                          ? 0
                                          : static_cast<std::uint32_t>(attacker % options.attackers) + 1,
                            .device = DeviceOf(row),
                            .granted = micro / kMicro,
                            .deserved = static_cast<double>(found->second.deserved_micro) / kMicro});
    open.erase(found);
    if (trickles) {
      granted.emplace(row.result.value, outcome.jobs.size() - 1);
      if (const auto before = paid.find(row.result.value); before != paid.end())
        outcome.jobs.back().granted += before->second;
    }
    return Status::Ok();
  });
  pipeline::TickMaker ticks(kTickPeriod);
  std::uint64_t line = 0;
  std::string_view event;
  while (world.Next(&event)) {
    Status fed;
    ticks.Observe(event, [&](const std::string& tick) {
      if (fed.ok()) fed = pipeline.Feed(tick, line, true);
    });
    if (fed.ok()) fed = pipeline.Feed(event, line++, false);
    if (!fed.ok()) return fed;
  }
  if (Status ended = pipeline.Finish(); !ended.ok()) return ended;
  if (pipeline.refused() > 0)
    return Status::Fatal("the pipeline refused " + std::to_string(pipeline.refused()) + " events of a world");
  return outcome;
}

Result<std::vector<Measurement>> RunLaboratory(const LabOptions& options) {
  std::vector<std::uint64_t> attackers;
  for (const NamedAttack& attack : options.attacks) attackers.push_back(AttackersOf(options, attack));
  // What the worlds of two attacks must have in common to have the same twin.
  using TwinKey = std::tuple<std::uint64_t, std::uint32_t, bool, bool>;
  const auto key_of = [&](std::size_t i) {
    return TwinKey(attackers[i], options.attacks[i].versions, options.attacks[i].trickles,
                   options.attacks[i].reports);
  };
  std::map<TwinKey, std::size_t> twins;  // place in `firsts`
  std::vector<std::size_t> firsts;       // of each twin: its first attack
  for (std::size_t i = 0; i < options.attacks.size(); ++i) {
    if (twins.emplace(key_of(i), firsts.size()).second) firsts.push_back(i);
  }

  std::vector<Measurement> measurements;
  for (const Condition& condition : options.conditions) {
    for (std::size_t i = 0; i < options.attacks.size(); ++i)
      measurements.push_back({options.attacks[i].id, options.attacks[i].name, attackers[i], condition,
                              std::vector<Figures>(options.seeds)});
  }
  const std::uint64_t all =
      options.conditions.size() * options.seeds * (options.attacks.size() + twins.size());
  std::mutex mutex;  // of `done` and the calls of progress
  std::uint64_t done = 0;
  const auto run = [&](const FleetOptions& world) -> Result<WorldOutcome> {
    if (Status good = CheckFleetOptions(world); !good.ok()) return good;
    auto outcome = RunWorld(world);
    const std::scoped_lock lock(mutex);
    if (options.progress) options.progress(++done, all);
    return outcome;
  };
  // A batch is as many seeds of one condition as keep all threads busy: its twins, then its attacks.
  constexpr std::uint32_t kBatch = 8;  // seeds
  for (std::size_t c = 0; c < options.conditions.size(); ++c) {
    const Condition& condition = options.conditions[c];
    for (std::uint32_t first = 0; first < options.seeds; first += kBatch) {
      const std::size_t seeds = std::min(kBatch, options.seeds - first);
      std::vector<WorldOutcome> outcomes(seeds * twins.size());
      const auto run_twin = [&](std::size_t index) -> Status {
        const std::size_t i = firsts[index % firsts.size()];
        const std::uint64_t seed = first + index / firsts.size() + 1;
        auto outcome = run(WorldOf(options, condition, attackers[i], {}, seed, options.attacks[i]));
        if (!outcome.ok()) return outcome.status();
        outcomes[index] = *std::move(outcome);
        return Status::Ok();
      };
      if (Status ended = RunInParallel(outcomes.size(), options.threads, run_twin); !ended.ok()) return ended;
      const auto run_attack = [&](std::size_t index) -> Status {
        const std::size_t i = index % options.attacks.size();
        const std::size_t row = index / options.attacks.size();
        const NamedAttack& attack = options.attacks[i];
        const auto outcome =
            run(WorldOf(options, condition, attackers[i], attack.attack, first + row + 1, attack));
        if (!outcome.ok()) return outcome.status();
        measurements[c * options.attacks.size() + i].seeds[first + row] =
            FiguresOf(*outcome, outcomes[row * twins.size() + twins.at(key_of(i))], options.jobs);
        return Status::Ok();
      };
      Status ended = RunInParallel(seeds * options.attacks.size(), options.threads, run_attack);
      if (!ended.ok()) return ended;
    }
  }
  return measurements;
}

}  // namespace cobblestone::lab
