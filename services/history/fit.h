// The world in which a project's hosts work, as far as its records show it: parameters of the fleet simulator under their
// names in services/fleet/parameters.h, and a few more figures.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/history/history.h"

namespace cobblestone::history {

// Figures that are no parameters of the fleet.
inline constexpr std::string_view kEstimate = "fpops_est";        // FLOPs: median of E
inline constexpr std::string_view kDelayBound = "delay_bound";    // s: median
inline constexpr std::string_view kSingleShare = "single_share";  // of workunits, one result of which counted
inline constexpr std::string_view kTurnaround = "turnaround";     // s: mean from dispatch to report
inline constexpr std::string_view kRunTime = "run_time";          // s: mean
inline constexpr std::string_view kTimeOuts = "time_out_share";   // of all ended jobs; part of error_rate
inline constexpr std::string_view kSizeSigma = "size_sigma";      // of ln(true size/E)
inline constexpr std::string_view kResultsPerHost = "results_median";  // of hosts: median
inline constexpr std::string_view kResultsOfBusy = "results_90";       // of hosts: 90th percentile

struct FittedFigure {
  std::string name;
  double value = 0;
  std::uint64_t results = 0;  // that it came from
  std::uint64_t hosts = 0;    // that it came from; 0: of no interest
};

// The n-th value is the mean of true size/E over the n-th n-th part of the jobs, relative to the geometric mean.
inline constexpr std::size_t kSizeParts = 64;

struct Fit {
  std::uint64_t app = 0;
  std::string app_name;
  std::vector<std::string> policies;  // that priced the results
  std::uint64_t results = 0;          // valid ones
  std::uint64_t hosts = 0;
  std::uint64_t left_out = 0;  // valid results without usable figures
  bool cpu = true;             // the app has results of CPU versions, enough to fit them
  std::vector<FittedFigure> figures;
  std::array<double, kSizeParts> sizes{};  // all 0: unknown

  // Null: the records do not tell.
  [[nodiscard]] const FittedFigure* Find(std::string_view name) const;
};

// kNotFound: there are no results. kInvalidArgument: too few results, or several apps and none was chosen; the message
// names them.
Result<Fit> FitOf(const History& history);

nlohmann::json FitJson(const Fit& fit);
// kCorrupted: not the JSON of a fit.
Result<Fit> ParseFit(const nlohmann::json& json);

}  // namespace cobblestone::history
