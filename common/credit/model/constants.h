// Every constant of the rules, once, with its source. A policy version may set other values
// (schemas/events.proto, PolicyConstants).
#pragma once

#include <cstdint>

namespace cobblestone::credit {

inline constexpr double kSecondsPerDay = 86400;
inline constexpr double kFlopsPerGflops = 1e9;
inline constexpr double kLn2 = 0.693147180559945309417;
inline constexpr double kRecentAverageHalfLife = 7 * kSecondsPerDay;  // S002
inline constexpr double kDefaultDailyResultQuota = 200;               // S000, 'max_results_day'
inline constexpr double kDefaultScalePeriod = 600;  // S000, 'Feeder changes': every 10 minutes
inline constexpr double kDefaultResultWindow = 30 * kSecondsPerDay;  // docs/rules.md, section 23
inline constexpr double kResultWindowDelayBounds = 4;                // docs/rules.md, section 23
inline constexpr int kHistoryDays = 400;
inline constexpr double kMinJobsPerDay = 1;  // S000 names no minimum; a quota of 0 could not grow by doubling
inline constexpr int kMinVersionsForScale = 2;  // S000, 'Cross-version normalization'
inline constexpr double kMinCreditSpan = 1;     // s; least span of a version's first credit sample

enum class Replication : std::uint8_t { kAverage = 0, kMin = 1, kMedian = 2 };
enum class Benchmark : std::uint8_t { kWhetstone = 0, kMean = 1 };

// Constants of one policy version; DefaultConstants(kind) in policy.cc contains the defaults of each policy.
struct Constants {
  double cobblestones_per_gflops_day = 200;  // S003 and BOINC; 100 in S000 and S002
  double host_average_samples = 10;          // S000, 'Computing averages'
  double host_average_weight = 0.01;
  double version_average_samples = 100;
  double version_average_weight = 0.001;
  double average_sample_limit = 10;  // S000: non-first samples are capped at 10 times the average
  double host_scale_min_samples = 10;
  double host_scale_limit = 10;       // S000, 'Cherry picking', last sentence
  double one_time_cheat_factor = 20;  // S000, 'One-time cheats'
  double error_rate_initial = 0.1;    // docs/rules.md, section 44
  double error_rate_keep = 0.95;
  double error_rate_add = 0.05;
  double multiplier = 1;
  Replication replication = Replication::kAverage;
  Benchmark benchmark = Benchmark::kWhetstone;
  double max_peak_flops_cpu = 0;  // 0: no maximum
  double max_peak_flops_gpu = 0;
  double max_devices = 0;
  double claim_limit = 10;  // S001: NPFC(J) at most 10 x NPFC*(A)
  double max_credit_per_job = 0;
  bool version_median = false;
  double gpu_only_factor = 0.1;  // BOINC's default
  double reported_credit_limit = 0;
  // robust (policies/robust.h):
  double budget_factor = 1.04;      // claims of a host and app / their default claims, at most
  double failure_weight = 2.25;     // size of a job that failed, in average jobs
  double failure_allowance = 0.03;  // failure rate at which a claim is neither raised nor lowered

  friend bool operator==(const Constants&, const Constants&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.cobblestones_per_gflops_day, s.host_average_samples, s.host_average_weight, s.version_average_samples,
      s.version_average_weight, s.average_sample_limit, s.host_scale_min_samples, s.host_scale_limit,
      s.one_time_cheat_factor, s.error_rate_initial, s.error_rate_keep, s.error_rate_add, s.multiplier,
      s.replication, s.benchmark, s.max_peak_flops_cpu, s.max_peak_flops_gpu, s.max_devices, s.claim_limit,
      s.max_credit_per_job, s.version_median, s.gpu_only_factor, s.reported_credit_limit, s.budget_factor,
      s.failure_weight, s.failure_allowance);
  }
};

}  // namespace cobblestone::credit
