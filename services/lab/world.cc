#include "services/lab/world.h"

#include <algorithm>
#include <utility>

namespace cobblestone::lab {
namespace {

constexpr double kNever = 1e6;  // d
constexpr std::pair<const char*, World> kWorlds[] = {
    {"uniform", World::kUniform},       {"mixed", World::kMixed},
    {"new-hosts", World::kNewHosts},    {"gpu", World::kGpu},
    {"long-on-cpu", World::kLongOnCpu}, {"new-version", World::kNewVersion},
    {"unreliable", World::kUnreliable}, {"size-step", World::kSizeStep},
    {"gpu-only", World::kGpuOnly},      {"two-versions", World::kTwoVersions}};

// A GPU does a job four times as fast as a core, not a hundred times: more jobs show nothing more.
constexpr double kGpuPeakMu = 4.28;  // ln GFLOPS
constexpr double kGpuPeakSigma = 0.5;

void GiveGpus(double share, fleet::FleetOptions* options) {
  options->parameters.gpu_hosts = share;
  options->parameters.gpu_peak_mu = kGpuPeakMu;
  options->parameters.gpu_peak_sigma = kGpuPeakSigma;
  for (fleet::AppModel& app : options->apps) app.gpu = true;
}

}  // namespace

Result<World> WorldByName(const std::string& name) {
  for (const auto& [known, world] : kWorlds)
    if (name == known) return world;
  return Status::InvalidArgument("unknown world '" + name + "'; known are " + WorldNames());
}

std::string NameOf(World world) {
  for (const auto& [name, value] : kWorlds)
    if (value == world) return name;
  return "";
}

std::string WorldNames() {
  std::string names;
  for (const auto& [name, world] : kWorlds) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

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

void Shape(World world, fleet::FleetOptions* options) {
  fleet::Parameters& p = options->parameters;
  constexpr double kSecondsPerDay = 86400;
  switch (world) {
    case World::kUniform: return;
    case World::kMixed: {
      const fleet::Parameters real = fleet::ParametersOf(fleet::Preset::kEinstein);
      p.core_speed_sigma = real.core_speed_sigma;
      p.cores_speed_correlation = real.cores_speed_correlation;
      p.cores_1 = real.cores_1;
      p.cores_2 = real.cores_2;
      p.cores_4 = real.cores_4;
      p.cores_8 = real.cores_8;
      p.cores_16 = real.cores_16;
      p.cores_32 = real.cores_32;
      p.slow_os_hosts = real.slow_os_hosts;
      p.failed_benchmarks = real.failed_benchmarks;
      p.anonymous_hosts = real.anonymous_hosts;
      p.always_on = real.always_on;
      p.random_on = real.random_on;
      p.lifetime_scale = real.lifetime_scale;
      p.hosts_per_user = real.hosts_per_user;
      p.error_rate = real.error_rate;
      p.abort_rate = real.abort_rate;
      p.wrong_rate = real.wrong_rate;
      return;
    }
    case World::kNewHosts:
      p.lifetime_shape = 1;
      p.lifetime_scale = options->days / 4;
      p.benchmark_noise = 0.3;
      return;
    case World::kGpu: return GiveGpus(0.5, options);
    case World::kLongOnCpu:
      GiveGpus(0.5, options);
      for (fleet::AppModel& app : options->apps) app.long_on_cpu = true;
      return;
    case World::kNewVersion: p.release_interval = std::max(1.0, options->days / 2); return;
    case World::kUnreliable: p.error_rate = 0.15; return;
    case World::kSizeStep:
      for (fleet::AppModel& app : options->apps) app.double_at = options->days / 2 * kSecondsPerDay;
      return;
    case World::kGpuOnly:
      GiveGpus(1, options);
      for (fleet::AppModel& app : options->apps) app.cpu = false;
      options->days /= 4;
      return;
    case World::kTwoVersions:
      for (fleet::AppModel& app : options->apps) {
        app.variants = std::max(app.variants, 1u);
        app.share_variants = true;
      }
      return;
  }
}

}  // namespace cobblestone::lab
