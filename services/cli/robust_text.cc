#include "services/cli/robust_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "services/cli/format.h"

namespace cobblestone::cli {

using nlohmann::json;

namespace {

// Infinite: as text in an answer.
double Figure(const json& object, std::string_view name) {
  if (!object.is_object()) return 0;
  const auto found = object.find(std::string(name));
  if (found == object.end()) return 0;
  if (found->is_number()) return found->get<double>();
  if (*found == "inf") return std::numeric_limits<double>::infinity();
  return *found == "-inf" ? -std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
}

const json& PartOf(const json& object, std::string_view name) {
  static const json kNothing = json::object();
  if (!object.is_object()) return kNothing;
  const auto found = object.find(std::string(name));
  return found == object.end() ? kNothing : *found;
}

bool Marked(const json& claim, std::string_view flag) {
  const json& flags = PartOf(claim, "flags");
  return flags.is_array() && std::find(flags.begin(), flags.end(), flag) != flags.end();
}

std::string Flops(double value) { return NumberText(value) + " FLOPs"; }

std::string PercentText(double share) { return NumberText(std::round(share * 1e4) / 100) + " %"; }

// The app's mean. Until it is defined, the size estimate counts as it is.
double LevelOf(const json& claim) {
  const double mean = Figure(claim, "min_avg_pfc");
  return mean > 0 ? mean : 1;
}

struct Measured {
  double flops = 0;
  std::string words;
};

// Time and speed after the limits of the policy (LimitedElapsed, LimitedPeakFlops).
Measured MeasuredWork(const json& claim) {
  const json& facts = PartOf(claim, "facts");
  const double elapsed = Figure(facts, "elapsed_time_s");
  const double sent = Figure(facts, "sent_time");
  const double received = Figure(facts, "received_time");
  double seconds = elapsed == 0 ? Figure(facts, "cpu_time_s") : elapsed;
  std::string time = elapsed == 0 ? "CPU time" : "elapsed time";
  const double wall = std::max(0.0, received - sent);
  if (sent > 0 && received > 0 && seconds > wall) {
    seconds = wall;
    time = "time between sending and return";
  }
  const double speed = Figure(facts, "benchmark");
  std::string words = time + " x peak speed";
  if (speed < Figure(facts, "peak_flops")) words += ", limited to " + NumberText(speed) + " FLOP/s";
  const double bound = Figure(facts, "fpops_bound");
  if (bound > 0 && seconds * speed > bound) return {bound, words + ", cut to the workunit's bound"};
  return {seconds * speed, words};
}

bool IsReplicated(const json& claim) { return Figure(claim, "awaited_claims") >= 2; }

// The factor on the claim.
double ReliabilityAlone(const json& claim) { return IsReplicated(claim) ? 1 : Figure(claim, "reliability"); }

// The average with which a job is compared. 0: there is none.
struct Average {
  double mean = 0;
  std::string_view whose;
};

// How many results of the version's average count beside the host's is a constant of the policy. The average follows from
// the claim, unless that was cut.
Average ComparedWith(const json& claim, double work) {
  constexpr double kAdded = 10;  // the policy's default
  constexpr double kUnlike = 2;
  const json& host = PartOf(claim, "host_average_before");
  const double own = Figure(host, "mean");
  if (!Marked(claim, "version_scale_applied"))
    return Marked(claim, "host_scale_applied") ? Average{own, "the host's average"} : Average{};
  if (!(Figure(claim, "min_avg_pfc") > 0)) return {};
  const double samples = Figure(host, "n");
  double version = Figure(PartOf(claim, "version_average"), "mean");
  if (samples == 0) return {version, "the version's average"};
  if (!Marked(claim, "rough_average")) version = std::clamp(version, own / kUnlike, own * kUnlike);
  const double pfc = Figure(claim, "pfc");
  const bool cut = Marked(claim, "one_time_cheat") || Marked(claim, "over_budget") || !(pfc > 0);
  return {cut ? version + (own - version) * (samples / (samples + kAdded))
              : work * LevelOf(claim) * ReliabilityAlone(claim) / pfc,
          "the average of host and version"};
}

std::string ReasonOfANewHost(const json& claim) {
  if (!Marked(claim, "version_scale_applied"))
    return "Until then a result with nothing to compare it with earns the estimate";
  if (IsReplicated(claim)) return "Other hosts compute this job, too, so its size is measured";
  return "It has them with another version of the app, so until then its jobs are compared with the version's average";
}

std::string AverageText(const json& average) {
  const double samples = Figure(average, "n");
  return samples == 0 ? "none yet"
                      : NumberText(Figure(average, "mean")) + " over " + NumberText(samples) + " samples";
}

}  // namespace

std::string_view RobustModeWords(std::string_view mode) {
  if (mode == "normal") return "from what the job measured";
  if (mode == "approximate") return "the host is new to the app version";
  if (mode == "default_pfc") return "sanity check failed: from the size estimate";
  return {};
}

LabelledLines RobustInputs(const json& claim) {
  LabelledLines lines;
  const double mean = Figure(claim, "min_avg_pfc");
  lines.emplace_back("app's mean", mean > 0 ? NumberText(mean) : "not defined yet: counts as 1");
  for (const auto& [name, label] : {std::pair("host_average_before", "host average before"),
                                    std::pair("host_average_after", "host average after")}) {
    if (claim.contains(name)) lines.emplace_back(label, AverageText(PartOf(claim, name)));
  }
  if (Marked(claim, "version_scale_applied"))
    lines.emplace_back("version average", AverageText(PartOf(claim, "version_average")));
  const Average average = ComparedWith(claim, MeasuredWork(claim).flops);
  lines.emplace_back("compared with", average.mean > 0
                                          ? NumberText(average.mean) + ", " + std::string(average.whose)
                                          : "no average");
  lines.emplace_back("failure rate",
                     PercentText(Figure(claim, "failure_rate")) +
                         " of the host's recent jobs of this app; by default a new host begins at 10 %");
  lines.emplace_back("reliability",
                     NumberText(Figure(claim, "reliability")) +
                         ", from the failure rate; by default 1 at 3 %" +
                         (IsReplicated(claim) ? ". Not a factor, because the result is replicated" : ""));
  lines.emplace_back(
      "budget", Flops(Figure(claim, "budget")) + (IsReplicated(claim)
                                                      ? " left; not applied, because the result is replicated"
                                                      : " left for this claim"));
  return lines;
}

LabelledLines RobustSteps(const json& claim) {
  LabelledLines lines;
  const json& facts = PartOf(claim, "facts");
  const double pfc = Figure(claim, "pfc");
  const double estimate = Figure(facts, "fpops_est");
  const double reliability = ReliabilityAlone(claim);
  const double expected = estimate * LevelOf(claim) * reliability;
  const bool over_budget = Marked(claim, "over_budget");
  double product = expected;
  const Measured work = MeasuredWork(claim);
  if (const Average average = ComparedWith(claim, work.flops); average.mean > 0) {
    lines.emplace_back("work", Flops(work.flops) + " = " + work.words);
    product = work.flops * LevelOf(claim) / average.mean * reliability;
    if (Marked(claim, "one_time_cheat")) {
      // The limit is a constant of the policy. A claim that the budget has cut does not reveal it.
      const double times = std::round(pfc / expected * 1e6) / 1e6;
      product = over_budget ? std::numeric_limits<double>::quiet_NaN() : pfc;
      lines.emplace_back("cut",
                         (over_budget ? "to the limit of the policy"
                                      : "to " + NumberText(times) + " x " + std::string(average.whose) +
                                            " x size estimate = " + Flops(times * average.mean * estimate)) +
                             ": no job counts for more, by default, than ten average jobs");
    }
    lines.emplace_back("x scale", NumberText(LevelOf(claim) / average.mean) + " = app's mean / " +
                                      std::string(average.whose));
  } else if (Marked(claim, "version_scale_applied")) {
    lines.emplace_back("work", Flops(work.flops) + " = " + work.words);
    if (work.flops > estimate)
      lines.emplace_back("cut", "to the size estimate " + Flops(estimate) +
                                    ": neither the host nor the app has an average yet");
    product = std::min(work.flops, estimate) * reliability;
  } else {
    lines.emplace_back("size estimate", Flops(estimate));
    lines.emplace_back("x app's mean", NumberText(LevelOf(claim)));
  }
  lines.emplace_back(
      "x reliability",
      NumberText(reliability) +
          (IsReplicated(claim) ? ": the failure rate does not count, because the result is replicated"
                               : ", for a failure rate of " + PercentText(Figure(claim, "failure_rate"))));
  if (over_budget) {
    if (std::isfinite(product)) lines.emplace_back("product", Flops(product));
    lines.emplace_back("budget", "left " + Flops(Figure(claim, "budget")) +
                                     ": the claims of a host in an app may add up to little more (by default "
                                     "4 %) than the estimates of its jobs x app's mean x reliability");
  }
  if (Marked(claim, "sanity_check_failed")) {
    lines.emplace_back("why",
                       "the work of this run is infinite, no number or negative: the size estimate takes "
                       "its place");
  } else if (PartOf(claim, "mode") == "approximate") {
    lines.emplace_back("why", "this host is new to the app version: " +
                                  NumberText(Figure(PartOf(claim, "host_average_before"), "n")) +
                                  " of its results have been averaged, and by default ten are needed. " +
                                  ReasonOfANewHost(claim));
  } else if (Marked(claim, "version_scale_applied")) {
    lines.emplace_back("why",
                       "several hosts do this job, so the version's average counts beside the host's, by "
                       "default like ten of its results");
  }
  if (Marked(claim, "rising"))
    lines.emplace_back("alarm", "the host's reports keep rising; that does not change this claim");
  return lines;
}

}  // namespace cobblestone::cli
