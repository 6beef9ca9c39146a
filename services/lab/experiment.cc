#include "services/lab/experiment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

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
  std::set<TwinKey> different;
  for (std::size_t i = 0; i < options.attacks.size(); ++i) different.insert(key_of(i));
  const std::uint64_t all =
      options.conditions.size() * options.seeds * (options.attacks.size() + different.size());
  std::uint64_t done = 0;
  const auto run = [&](const FleetOptions& world) -> Result<WorldOutcome> {
    if (Status good = CheckFleetOptions(world); !good.ok()) return good;
    auto outcome = RunWorld(world);
    if (options.progress) options.progress(++done, all);
    return outcome;
  };
  std::vector<Measurement> measurements;
  for (const Condition& condition : options.conditions) {
    const std::size_t first = measurements.size();
    for (std::size_t i = 0; i < options.attacks.size(); ++i)
      measurements.push_back({options.attacks[i].id, options.attacks[i].name, attackers[i], condition, {}});
    for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
      std::map<TwinKey, WorldOutcome> twins;
      for (std::size_t i = 0; i < options.attacks.size(); ++i) {
        const NamedAttack& attack = options.attacks[i];
        auto twin = twins.find(key_of(i));
        if (twin == twins.end()) {
          auto outcome = run(WorldOf(options, condition, attackers[i], {}, seed, attack.versions));
          if (!outcome.ok()) return outcome.status();
          twin = twins.emplace(key_of(i), *std::move(outcome)).first;
        }
        const auto outcome =
            run(WorldOf(options, condition, attackers[i], attack.attack, seed, attack.versions));
        if (!outcome.ok()) return outcome.status();
        measurements[first + i].seeds.push_back(FiguresOf(*outcome, twin->second, options.jobs));
      }
    }
  }
  return measurements;
}

}  // namespace cobblestone::lab
