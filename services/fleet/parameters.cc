#include "services/fleet/parameters.h"

#include <charconv>
#include <cstdio>

namespace cobblestone::fleet {
namespace {

constexpr double kDayS = 86400;

using P = Parameters;
constexpr ParameterRow kParameters[] = {
    {"core_speed_mu",
     "ln GFLOPS",
     &P::core_speed_mu,
     {1.067, 0.545, 1.153},
     -5,
     10,
     "D",
     "speed of one core, log-normal: mean of the logarithm"},
    {"core_speed_sigma",
     "",
     &P::core_speed_sigma,
     {0.420, 0.475, 0.308},
     0,
     5,
     "D",
     "speed of one core: standard deviation of the logarithm"},
    {"cores_1", "% of hosts", &P::cores_1, {8, 30, 0.1}, 0, 100, "D", "hosts with 1 core"},
    {"cores_2", "% of hosts", &P::cores_2, {23, 43, 11}, 0, 100, "D", "hosts with 2 cores"},
    {"cores_4", "% of hosts", &P::cores_4, {46, 19, 47}, 0, 100, "D", "hosts with 4 cores"},
    {"cores_8", "% of hosts", &P::cores_8, {18, 7.8, 37}, 0, 100, "D", "hosts with 8 cores"},
    {"cores_16", "% of hosts", &P::cores_16, {3.3, 0.7, 4.4}, 0, 100, "D", "hosts with 16 cores"},
    {"cores_32",
     "% of hosts",
     &P::cores_32,
     {1.8, 0.1, 0.2},
     0,
     100,
     "D",
     "hosts with 32 cores; the six shares are scaled to 100 %"},
    {"cores_speed_correlation",
     "",
     &P::cores_speed_correlation,
     {0.24, 0.59, 0.27},
     -0.99,
     0.99,
     "D",
     "correlation of the normal variables behind cores and speed"},
    {"benchmark_noise",
     "",
     &P::benchmark_noise,
     {0.10, 0.10, 0.10},
     0,
     5,
     "D",
     "log-normal noise of a host's benchmark: sigma"},
    {"slow_os_hosts",
     "share",
     &P::slow_os_hosts,
     {0.2, 0.2, 0.2},
     0,
     1,
     "A",
     "hosts whose system measures less"},
    {"slow_os_factor",
     "",
     &P::slow_os_factor,
     {0.85, 0.85, 0.85},
     0.01,
     1,
     "D",
     "benchmark of such a host / true speed"},
    {"failed_benchmarks",
     "share",
     &P::failed_benchmarks,
     {0.01, 0.01, 0.01},
     0,
     1,
     "A",
     "hosts that report 10^9 FLOP/s because their benchmark failed"},
    {"gpu_hosts",
     "share",
     &P::gpu_hosts,
     {0.6, 0.6, 0.6},
     0,
     1,
     "A",
     "hosts with a GPU; in 2019 0.8 GPUs per device (P)"},
    {"gpu_nvidia", "share", &P::gpu_nvidia, {0.6, 0.6, 0.6}, 0, 1, "A", "GPUs of NVIDIA"},
    {"gpu_amd", "share", &P::gpu_amd, {0.25, 0.25, 0.25}, 0, 1, "A", "GPUs of AMD; the others are Intel's"},
    {"gpu_models",
     "models",
     &P::gpu_models,
     {104, 104, 104},
     1,
     10000,
     "S",
     "different GPUs, equally frequent"},
    {"gpu_peak_mu",
     "ln GFLOPS",
     &P::gpu_peak_mu,
     {7.56, 7.56, 7.56},
     0,
     15,
     "S",
     "peak speed over the models"},
    {"gpu_peak_sigma", "", &P::gpu_peak_sigma, {1.20, 1.20, 1.20}, 0, 5, "S", "peak speed over the models"},
    {"cpu_samples",
     "PFC/E",
     &P::cpu_samples,
     {2, 2, 2},
     0.01,
     1000,
     "N",
     "peak FLOPs that a CPU version needs per FLOP: median over hosts"},
    {"cpu_samples_sigma",
     "",
     &P::cpu_samples_sigma,
     {0.3, 0.3, 0.3},
     0,
     5,
     "A",
     "the same: sigma over hosts"},
    {"gpu_samples",
     "PFC/E",
     &P::gpu_samples,
     {12.5, 12.5, 12.5},
     0.01,
     1000,
     "N",
     "the same of a GPU version"},
    {"gpu_samples_sigma",
     "",
     &P::gpu_samples_sigma,
     {0.4, 0.4, 0.4},
     0,
     5,
     "A",
     "the same: sigma over hosts"},
    {"release_factor",
     "",
     &P::release_factor,
     {0.8, 0.8, 0.8},
     0.01,
     10,
     "A",
     "PFC/E of the second CPU version / that of the first (vector instructions); later versions alternate"},
    {"mt_efficiency",
     "",
     &P::mt_efficiency,
     {0.8, 0.8, 0.8},
     0.01,
     1,
     "A",
     "speed-up of a multi-threaded job / threads"},
    {"runtime_noise",
     "",
     &P::runtime_noise,
     {0.08, 0.08, 0.08},
     0,
     5,
     "A",
     "log-normal noise of a job's run time: sigma"},
    {"cpu_efficiency", "", &P::cpu_efficiency, {0.90, 0.90, 0.90}, 0.01, 1, "R", "CPU time / elapsed time"},
    {"always_on", "share", &P::always_on, {0.36, 0.36, 0.36}, 0, 1, "A", "hosts that are always available"},
    {"random_on",
     "share",
     &P::random_on,
     {0.21, 0.21, 0.21},
     0,
     1,
     "J",
     "hosts available at random; the others on certain hours of the day"},
    {"day_hours", "h", &P::day_hours, {10, 10, 10}, 1, 23, "A", "daily hours of such a host: mean"},
    {"day_hours_sigma",
     "h",
     &P::day_hours_sigma,
     {3, 3, 3},
     0,
     12,
     "A",
     "the same: standard deviation over hosts"},
    {"weekend_hosts",
     "share",
     &P::weekend_hosts,
     {0.7, 0.7, 0.7},
     0,
     1,
     "A",
     "of them, available at weekends too"},
    {"on_shape", "", &P::on_shape, {0.393, 0.393, 0.393}, 0.1, 10, "C", "Weibull shape of available periods"},
    {"on_scale",
     "h",
     &P::on_scale,
     {2.964, 2.964, 2.964},
     0.01,
     1e4,
     "C",
     "Weibull scale of available periods"},
    {"off_mu", "ln h", &P::off_mu, {-0.586, -0.586, -0.586}, -10, 10, "C", "log-normal unavailable periods"},
    {"off_sigma", "", &P::off_sigma, {2.844, 2.844, 2.844}, 0, 5, "C", "log-normal unavailable periods"},
    {"off_limit", "h", &P::off_limit, {336, 336, 336}, 1, 1e4, "A", "longest unavailable period"},
    {"lifetime_shape",
     "",
     &P::lifetime_shape,
     {0.58, 0.58, 0.58},
     0.2,
     10,
     "R",
     "Weibull shape of a host's lifetime"},
    {"lifetime_scale",
     "d",
     &P::lifetime_scale,
     {135, 135, 135},
     0.1,
     1e5,
     "R",
     "Weibull scale of a host's lifetime"},
    {"reset_interval",
     "d",
     &P::reset_interval,
     {180, 180, 180},
     1,
     1e6,
     "A",
     "mean time between two losses of all jobs of a host"},
    {"hosts_per_user",
     "",
     &P::hosts_per_user,
     {1.583, 1.583, 1.583},
     1,
     1000,
     "T",
     "mean of 1 + a geometric number of hosts"},
    {"users_per_team", "", &P::users_per_team, {10, 10, 10}, 1, 1e6, "A", "users / teams"},
    {"teamless_users", "share", &P::teamless_users, {0.125, 0.125, 0.125}, 0, 1, "A", "users without a team"},
    {"second_project",
     "share",
     &P::second_project,
     {0.3, 0.3, 0.3},
     0,
     1,
     "A",
     "hosts with two projects or more"},
    {"third_project", "share", &P::third_project, {0.1, 0.1, 0.1}, 0, 1, "A", "hosts with three projects"},
    {"anonymous_hosts",
     "share",
     &P::anonymous_hosts,
     {0.05, 0.05, 0.05},
     0,
     1,
     "A",
     "hosts on the anonymous platform"},
    {"managed_hosts",
     "share",
     &P::managed_hosts,
     {0.1, 0.1, 0.1},
     0,
     1,
     "A",
     "hosts whose work an account manager reports"},
    {"report_period", "h", &P::report_period, {24, 24, 24}, 1, 1e4, "A", "time between two such reports"},
    {"error_rate",
     "share",
     &P::error_rate,
     {0.03, 0.03, 0.03},
     0,
     0.9,
     "G",
     "jobs that fail: mean over hosts"},
    {"error_rate_sigma", "", &P::error_rate_sigma, {1, 1, 1}, 0, 3, "A", "log-normal over hosts: sigma"},
    {"abort_rate",
     "share",
     &P::abort_rate,
     {0.02, 0.02, 0.02},
     0,
     0.9,
     "A",
     "jobs that the volunteer aborts"},
    {"wrong_rate",
     "share",
     &P::wrong_rate,
     {0.01, 0.01, 0.01},
     0,
     0.9,
     "A",
     "jobs of an honest host with a wrong output"},
    {"report_delay",
     "s",
     &P::report_delay,
     {600, 600, 600},
     1,
     1e6,
     "E",
     "end of a job to its report: mean, exponential, then the next available moment"},
    {"validation_delay",
     "s",
     &P::validation_delay,
     {600, 600, 600},
     1,
     1e6,
     "E",
     "last needed report to the validator's look: mean, exponential"},
    {"buffer_min",
     "d",
     &P::buffer_min,
     {0.1, 0.1, 0.1},
     0.001,
     10,
     "R",
     "a client asks for work below this buffer"},
    {"buffer_extra", "d", &P::buffer_extra, {0.5, 0.5, 0.5}, 0, 10, "R", "and fills it up to this much more"},
    {"request_interval",
     "s",
     &P::request_interval,
     {60, 60, 60},
     1,
     1e5,
     "A",
     "least time between two requests"},
    {"backoff_min",
     "s",
     &P::backoff_min,
     {600, 600, 600},
     1,
     1e6,
     "B",
     "first backoff after a request without work; doubles, times a uniform factor from 0.5 to 1.5"},
    {"backoff_max", "s", &P::backoff_max, {kDayS, kDayS, kDayS}, 1, 1e7, "B", "longest backoff"},
    {"daily_quota",
     "jobs/d",
     &P::daily_quota,
     {100, 100, 100},
     1,
     60000,
     "A",
     "per instance of a host; less 1 per error or time-out, doubled per valid result"},
    {"cpu_jobs_limit", "jobs", &P::cpu_jobs_limit, {4, 4, 4}, 1, 1000, "A", "in progress, per core"},
    {"gpu_jobs_limit", "jobs", &P::gpu_jobs_limit, {20, 20, 20}, 1, 1000, "A", "in progress, per GPU"},
    {"quorum",
     "results",
     &P::quorum,
     {2, 2, 2},
     1,
     8,
     "C",
     "equal results that decide a replicated workunit"},
    {"max_errors", "results", &P::max_errors, {7, 7, 7}, 1, 16, "C", "more failed results end a workunit"},
    {"max_total",
     "results",
     &P::max_total,
     {20, 20, 20},
     1,
     32,
     "C",
     "a workunit has at most so many results"},
    {"trusted_after",
     "results",
     &P::trusted_after,
     {10, 10, 10},
     1,
     1000,
     "B",
     "adaptive replication: cv of consecutive valid replicated results; then replicated with probability 1/cv"},
    {"hold_single",
     "0 or 1",
     &P::hold_single,
     {1, 1, 1},
     0,
     1,
     "A",
     "advised replication: a single result waits until what its host returned before it is judged; 0: it does not"},
    {"resend_lost",
     "0 or 1",
     &P::resend_lost,
     {1, 1, 0},
     0,
     1,
     "A",
     "whether the project sends lost jobs to their host again"},
    {"host_scale_check",
     "0 or 1",
     &P::host_scale_check,
     {0, 0, 0},
     0,
     1,
     "B",
     "whether apps have BOINC's flag of this name: the host's average counts from cv 10 on only"},
    {"release_interval",
     "d",
     &P::release_interval,
     {45, 45, 45},
     1,
     1e6,
     "A",
     "time between two CPU versions of an app"},
    {"trickle_interval",
     "h",
     &P::trickle_interval,
     {6, 6, 6},
     0.1,
     1e4,
     "A",
     "run time between two trickles of a job"},
    {"deadline_factor",
     "",
     &P::deadline_factor,
     {1, 1, 1},
     0.01,
     100,
     "A",
     "multiplies the delay bounds of all apps"},
    {"bound_factor", "", &P::bound_factor, {100, 100, 100}, 2, 1e6, "A", "bound / E"},
};

struct Source {
  const char* tag;
  const char* text;
};
constexpr Source kSources[] = {
    {"A", "assumption of this project, to be varied"},
    {"B", "read in the code of BOINC, server and client, commit c5c6cb79b9"},
    {"C", "ComBoS, defaults (Alonso-Monsalve et al., 2017; parameters.xml of its repository)"},
    {"D",
     "computed from the CPU lists that the three projects exported on 29 March 2016, shipped with ComBoS, by hosts"},
    {"E",
     "three separate delays as in Estrada, Taufer, Reed (CCGRID 2009, doi 10.1109/ccgrid.2009.69); values assumed"},
    {"G", "GSoC 2013 wiki of BOINC: about 5 % of jobs fail or time out; the part that fails is assumed"},
    {"J", "Javadi et al. (TPDS 22(11), 2011): 21 % of 230,000 SETI@home hosts are available at random"},
    {"N", "S000: about 50 % of CPU peak; BOINC code: Milkyway@home GPUs at 8 % of peak"},
    {"P", "Anderson, the BOINC platform paper, 2019: 700,000 devices, 560,000 GPUs"},
    {"R",
     "recalled, not verified: Heien, Kondo, Anderson (TPDS 2012) for lifetimes, Anderson and Fedak (2006) for CPU "
     "efficiency, BOINC's default preferences for the buffer"},
    {"S", "computed from HardwareStats.csv of shaggie76/SETI, 104 GPU models"},
    {"T", "SETI@home, March 2020: 144,779 active hosts of 91,454 users"},
};

constexpr AppModel kEinsteinApps[] = {
    {"pulsar", 1.08e14, SizeModel::kAccurate, Replication::kQuorum, 14 * kDayS, true, true, 1, 3, false, 0.7,
     "C, A"},
    {"pulsar-gpu", 1.08e15, SizeModel::kAccurate, Replication::kAdaptive, 14 * kDayS, false, true, 1, 1,
     false, 0.3, "A"},
    {"long-search", 5.4e14, SizeModel::kNoisy, Replication::kAdaptive, 14 * kDayS, true, false, 1, 1, true,
     0.3, "A"},
};
constexpr AppModel kSetiApps[] = {
    {"multibeam", 1.08e13, SizeModel::kNoisy, Replication::kQuorum, 1e6, true, true, 1, 1, false, 0.8,
     "C, A"},
    {"astropulse", 1.08e14, SizeModel::kNoisy, Replication::kQuorum, 1e6, true, true, 1, 1, false, 0.2,
     "C, A"},
};
constexpr AppModel kLhcApps[] = {
    {"sixtrack", 1.08e14, SizeModel::kBimodal, Replication::kAdaptive, 1e6, true, false, 1, 1, false, 0.7,
     "C, A"},
    {"atlas", 1.08e15, SizeModel::kNoisy, Replication::kSingle, 7 * kDayS, true, false, 8, 1, false, 0.2,
     "A"},
    {"theory", 3.6e14, SizeModel::kNoisy, Replication::kSingle, 14 * kDayS, true, false, 1, 1, true, 0.1,
     "A"},
};

constexpr const char* kPresetNames[] = {"einstein", "seti", "lhc"};

std::string Shortest(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

}  // namespace

std::optional<Preset> PresetByName(std::string_view name) {
  for (std::size_t i = 0; i < kPresets; ++i) {
    if (name == kPresetNames[i]) return static_cast<Preset>(i);
  }
  return std::nullopt;
}

std::string_view PresetName(Preset preset) { return kPresetNames[static_cast<std::size_t>(preset)]; }

std::span<const ParameterRow> ParameterRows() { return kParameters; }

std::span<const AppModel> AppsOf(Preset preset) {
  switch (preset) {
    case Preset::kEinstein: return kEinsteinApps;
    case Preset::kSeti: return kSetiApps;
    case Preset::kLhc: return kLhcApps;
  }
  return {};
}

Parameters ParametersOf(Preset preset) {
  Parameters parameters{};
  for (const ParameterRow& row : kParameters)
    parameters.*row.field = row.values[static_cast<std::size_t>(preset)];
  return parameters;
}

Status SetParameter(std::string_view assignment, Parameters* parameters) {
  const std::size_t sign = assignment.find('=');
  const std::string_view name = assignment.substr(0, sign);
  for (const ParameterRow& row : kParameters) {
    if (name != row.name) continue;
    const std::string_view text = sign == std::string_view::npos ? "" : assignment.substr(sign + 1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool number = error == std::errc() && end == text.data() + text.size();
    if (!number || !(value >= row.least && value <= row.most)) {
      return Status::InvalidArgument(std::string(assignment) + ": " + row.name + " must be a number from " +
                                     Shortest(row.least) + " to " + Shortest(row.most));
    }
    parameters->*row.field = value;
    return Status::Ok();
  }
  return Status::InvalidArgument("unknown parameter '" + std::string(name) +
                                 "'; `cobblestone fleet parameters` lists them");
}

std::string ParameterTable() {
  std::string text =
      "| parameter | unit | einstein | seti | lhc | source | meaning |\n|---|---|---|---|---|---|---|\n";
  for (const ParameterRow& row : kParameters) {
    text += std::string("| `") + row.name + "` | " + row.unit;
    for (const double value : row.values) text += " | " + Shortest(value);
    text += std::string(" | ") + row.source + " | " + row.meaning + " |\n";
  }
  text +=
      "\n| preset | app | E, FLOPs | size | replication | delay bound, d | devices | threads | sizes | trickles | weight "
      "| source |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  static constexpr const char* kSizes[] = {"accurate", "noisy", "bimodal"};
  static constexpr const char* kReplications[] = {"single", "quorum", "adaptive"};
  for (std::size_t i = 0; i < kPresets; ++i) {
    for (const AppModel& app : AppsOf(static_cast<Preset>(i))) {
      char days[32];
      std::snprintf(days, sizeof days, "%.1f", app.delay_bound / kDayS);
      text += std::string("| ") + kPresetNames[i] + " | " + app.name + " | " + Shortest(app.fpops_est) +
              " | " + kSizes[static_cast<int>(app.size)] + " | " +
              kReplications[static_cast<int>(app.replication)] + " | " + days + " | " +
              (app.cpu ? app.gpu ? "CPU, GPU" : "CPU" : "GPU") + " | " + std::to_string(app.threads) + " | " +
              std::to_string(app.size_classes) + " | " + (app.trickles ? "yes" : "no") + " | " +
              Shortest(app.weight) + " | " + app.source + " |\n";
    }
  }
  text += "\n| source | |\n|---|---|\n";
  for (const Source& source : kSources) text += std::string("| ") + source.tag + " | " + source.text + " |\n";
  return text;
}

}  // namespace cobblestone::fleet
