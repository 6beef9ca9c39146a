// Parameters of a simulated fleet, each with its unit and its source, and the three presets. docs/fleet.md contains the
// table that ParameterTable() prints, and a test compares them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::fleet {

// Values of one preset; kParameters (parameters.cc) names, explains and sources each.
struct Parameters {
  double core_speed_mu, core_speed_sigma;
  double cores_1, cores_2, cores_4, cores_8, cores_16, cores_32;
  double cores_speed_correlation;
  double benchmark_noise, slow_os_hosts, slow_os_factor, failed_benchmarks;
  double gpu_hosts, gpu_nvidia, gpu_amd, gpu_models, gpu_peak_mu, gpu_peak_sigma;
  double cpu_samples, cpu_samples_sigma, gpu_samples, gpu_samples_sigma, release_factor, mt_efficiency,
      runtime_noise, cpu_efficiency;
  double always_on, random_on, day_hours, day_hours_sigma, weekend_hosts, on_shape, on_scale, off_mu,
      off_sigma, off_limit;
  double lifetime_shape, lifetime_scale, reset_interval;
  double hosts_per_user, users_per_team, teamless_users, second_project, third_project;
  double anonymous_hosts, managed_hosts, report_period;
  double error_rate, error_rate_sigma, abort_rate, wrong_rate;
  double report_delay, validation_delay;
  double buffer_min, buffer_extra, request_interval, backoff_min, backoff_max;
  double daily_quota, cpu_jobs_limit, gpu_jobs_limit, quorum, max_errors, max_total, trusted_after,
      hold_single, resend_lost, host_scale_check;
  double release_interval, trickle_interval, deadline_factor, bound_factor;
};

enum class Preset : std::uint8_t { kEinstein = 0, kSeti = 1, kLhc = 2 };
inline constexpr std::size_t kPresets = 3;
std::optional<Preset> PresetByName(std::string_view name);
std::string_view PresetName(Preset preset);

struct ParameterRow {
  const char* name;
  const char* unit;
  double Parameters::*field;
  double values[kPresets];
  double least;
  double most;
  const char* source;  // a letter of kSources
  const char* meaning;
};
std::span<const ParameterRow> ParameterRows();

Parameters ParametersOf(Preset preset);

// "name=value". InvalidArgument names the parameter and its range.
Status SetParameter(std::string_view assignment, Parameters* parameters);

// How the true size of a job deviates from its estimate E.
enum class SizeModel : std::uint8_t {
  kAccurate,  // log-normal, sigma 0.1
  kNoisy,     // log-normal, sigma 0.6
  kBimodal,   // 0.05 or 1.95, each half of the jobs
  kMeasured,  // one of AppModel::sizes
};
enum class Replication : std::uint8_t {
  kSingle,    // one result per workunit
  kQuorum,    // `quorum` results of different users
  kAdaptive,  // one result if the host is trusted, else `quorum`
  kAdvised,   // `quorum` results with the probability that policy `robust` advises for the host, else one
};

struct AppModel {
  const char* name;
  double fpops_est;  // E of the middle size, FLOPs
  SizeModel size;
  Replication replication;
  double delay_bound;  // s
  bool cpu;
  bool gpu;
  std::uint32_t threads;       // of a multi-threaded app, else 1
  std::uint32_t size_classes;  // 1, or 3: half, whole and double size, by the speed of the host
  bool trickles;
  double weight;  // share of the project's jobs for a resource
  const char* source;
  // Further CPU versions with plan classes of their own, which are the same program. Hosts use none of them by themselves.
  std::uint32_t variants = 0;
  bool share_variants = false;  // hosts use the first CPU version and its variants in equal parts
  bool long_on_cpu =
      false;  // jobs for CPUs are twice as large as estimated, those for GPUs half as large; size_classes 1
  double double_at = 0;  // s: true sizes of workunits made from then on are twice as large; 0: never
  // kMeasured: true size / E, ascending, all equally frequent.
  std::array<double, 64> sizes{};
};
std::span<const AppModel> AppsOf(Preset preset);

// Tables in Markdown: parameters, apps, and the key of the sources.
std::string ParameterTable();

}  // namespace cobblestone::fleet
