#include "services/lab/experiment.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

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
constexpr double kMicro = 1e6;
constexpr double kNever = 1e6;  // d
// Slow hosts need longer for their jobs than the median host.
constexpr double kSpareTime = 1.2;

constexpr std::pair<const char*, Replication> kReplications[] = {{"single", Replication::kSingle},
                                                                 {"double", Replication::kQuorum},
                                                                 {"adaptive", Replication::kAdaptive},
                                                                 {"advised", Replication::kAdvised}};
constexpr std::pair<const char*, SizeModel> kSizeModels[] = {
    {"accurate", SizeModel::kAccurate}, {"noisy", SizeModel::kNoisy}, {"bimodal", SizeModel::kBimodal}};

// Mean of true size / estimate.
double MeanSize(SizeModel sizes) { return sizes == SizeModel::kNoisy ? std::exp(0.18) : 1; }

std::uint32_t DeviceOf(const replay::GrantRow& row) {
  if (row.version.anonymous()) return 2;
  return fleet::ResourceOfVersion(static_cast<std::uint64_t>(row.version.value)) == credit::Resource::kCpu
             ? 0
             : 1;
}

}  // namespace

fleet::Parameters LabParameters() {
  fleet::Parameters p = fleet::ParametersOf(fleet::Preset::kEinstein);
  // One kind of host: one core, always available, never replaced, without errors. Version, device and benchmark keep their
  // noise.
  p.core_speed_sigma = p.cores_speed_correlation = 0;
  p.cores_1 = 100;
  p.cores_2 = p.cores_4 = p.cores_8 = p.cores_16 = p.cores_32 = 0;
  p.slow_os_hosts = p.failed_benchmarks = 0;
  p.gpu_hosts = p.anonymous_hosts = p.managed_hosts = 0;
  p.always_on = 1;
  p.random_on = 0;
  p.lifetime_scale = p.reset_interval = p.release_interval = kNever;
  p.hosts_per_user = 1;
  p.second_project = p.third_project = 0;
  p.error_rate = p.abort_rate = p.wrong_rate = 0;
  p.daily_quota = 10000;
  p.cpu_jobs_limit = 16;
  p.bound_factor = 24;
  return p;
}

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
  return "";
}

FleetOptions WorldOf(const LabOptions& options, const Condition& condition, std::uint64_t attackers,
                     const fleet::Attack& attack, std::uint64_t seed, std::uint32_t versions) {
  FleetOptions world;
  world.seed = seed;
  world.parameters = options.parameters;
  world.hosts = options.hosts;
  world.projects = 1;
  world.policy = condition.policy;
  world.attackers = attackers;
  world.attack = attack;
  world.apps = {{.name = "lab",
                 .fpops_est = kEstimate,
                 .size = condition.sizes,
                 .replication = condition.replication,
                 .delay_bound = kDelayBound,
                 .cpu = true,
                 .gpu = options.parameters.gpu_hosts > 0,
                 .threads = 1,
                 .size_classes = 1,
                 .trickles = false,
                 .weight = 1,
                 .source = "",
                 .variants = versions - 1}};
  const double run_time = kEstimate * MeanSize(condition.sizes) * options.parameters.cpu_samples /
                          (1e9 * std::exp(options.parameters.core_speed_mu));
  // Whole hours: the last bits of exp() differ between machines.
  world.days =
      std::max(1.0, std::ceil(static_cast<double>(options.jobs) * run_time * kSpareTime / 3600)) / 24;
  return world;
}

Result<WorldOutcome> RunWorld(const FleetOptions& options) {
  WorldOutcome outcome;
  std::unordered_map<std::uint64_t, fleet::Truth> open;  // by result
  fleet::Fleet world(options, [&](const fleet::Truth& row) {
    if (row.host >= fleet::kFirstAttacker)
      outcome.attackers_work += static_cast<double>(row.deserved_micro) / kMicro;
    open[row.result] = row;
  });
  replay::LockstepPipeline pipeline(1, [&](const replay::GrantRow& row) {
    const auto found = open.find(row.result.value);
    if (found == open.end()) return Status::Fatal("a result was granted before it was returned");
    const std::uint64_t host = row.host.value;
    const std::uint64_t attacker = host - fleet::kFirstAttacker;
    outcome.jobs.push_back({.host = host,
                            .account = row.user.value,
                            .person = host < fleet::kFirstAttacker
                                          ? 0
                                          : static_cast<std::uint32_t>(attacker % options.attackers) + 1,
                            .device = DeviceOf(row),
                            .granted = static_cast<double>(row.micro) / kMicro,
                            .deserved = static_cast<double>(found->second.deserved_micro) / kMicro});
    open.erase(found);
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
  for (const NamedAttack& attack : options.attacks)
    attackers.push_back(std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::llround(attack.share * static_cast<double>(options.hosts)))));
  // What the worlds of two attacks must have in common to have the same twin.
  using TwinKey = std::pair<std::uint64_t, std::uint32_t>;
  const auto key_of = [&](std::size_t i) { return TwinKey(attackers[i], options.attacks[i].versions); };
  std::map<TwinKey, std::size_t> twins;  // place among the twins of a condition and seed
  for (std::size_t i = 0; i < options.attacks.size(); ++i) twins.emplace(key_of(i), 0);
  std::size_t place = 0;
  for (auto& [key, number] : twins) number = place++;

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
        const auto& [key, number] =
            *std::next(twins.begin(), static_cast<std::ptrdiff_t>(index % twins.size()));
        const std::uint64_t seed = first + index / twins.size() + 1;
        auto outcome = run(WorldOf(options, condition, key.first, {}, seed, key.second));
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
            run(WorldOf(options, condition, attackers[i], attack.attack, first + row + 1, attack.versions));
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
