#include "services/lab/fitted_world.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "services/lab/report.h"

namespace cobblestone::lab {
namespace {

using history::FittedFigure;

constexpr double kSecondsOfDay = 86400;
constexpr double kPays = 1.1;

const fleet::ParameterRow* RowOf(std::string_view name) {
  for (const fleet::ParameterRow& row : fleet::ParameterRows()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

double ValueOf(const history::Fit& fit, std::string_view name, double otherwise) {
  const FittedFigure* figure = fit.Find(name);
  return figure == nullptr ? otherwise : figure->value;
}

// Figures that are no parameters of the fleet.
struct OtherFigure {
  std::string_view name;
  const char* unit;
  const char* meaning;
};
constexpr OtherFigure kOtherFigures[] = {
    {history::kEstimate, "FLOPs", "E of a job: median"},
    {history::kDelayBound, "s", "delay bound: median"},
    {history::kSizeSigma, "", "ln(true size/E): sigma; the simulated sizes have the measured distribution"},
    {history::kSingleShare, "share", "workunits with a single result that counted"},
    {history::kRunTime, "s", "run time: mean"},
    {history::kTurnaround, "s", "dispatch to report: mean; the simulated buffers follow from it"},
    {history::kTimeOuts, "share", "jobs that timed out; they are a part of error_rate"},
    {history::kResultsPerHost, "results", "valid results of a host: median"},
    {history::kResultsOfBusy, "results", "the same: 90th percentile"},
};

struct Untold {
  const char* name;
  const char* why;
};
constexpr Untold kMayBeUntold[] = {
    {"core_speed_mu", "benchmarks of fewer than 10 hosts are known"},
    {"cpu_samples", "fewer than 10 hosts have five results of one CPU version: the world has none"},
    {"gpu_samples", "fewer than 10 hosts have five results of one GPU version: the world has none"},
    {"runtime_noise", "fewer than 50 pairs of results of the same workunit on different hosts"},
    {"quorum", "no workunit had several results that counted"},
    {"error_rate", "fewer than 200 completions; a pipeline's log keeps them for a limited time"},
    {"error_rate_sigma", "fewer than 20 failed jobs"},
    {"wrong_rate", "fewer than 200 verdicts about replicated results"},
};
constexpr Untold kNeverTold[] = {
    {"benchmark_noise", "0: part of cpu_samples_sigma, as are slow systems"},
    {"cpu_samples", "includes a common error of all estimates E"},
    {"always_on", "1: hosts are always available; turnaround shows in their buffers"},
    {"lifetime_scale", "hosts never leave; versions are never replaced"},
    {"cores_1", "100: hosts have one core; their credit does not depend on it"},
    {"report_delay, validation_delay", "600 s each"},
};

std::string Cell(const std::string& text, std::size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 1, ' ');
}

std::string Short(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string OriginOf(const FittedFigure& figure) {
  std::string text;
  if (figure.results > 0) text = std::to_string(figure.results) + " results";
  if (figure.hosts > 0) text += (text.empty() ? "" : ", ") + std::to_string(figure.hosts) + " hosts";
  return text;
}

std::string FigureLine(const FittedFigure& figure, const std::string& otherwise, const std::string& meaning) {
  return "  " + Cell(figure.name, 20) + Cell(Short(figure.value), 12) + Cell(otherwise, 9) +
         Cell(OriginOf(figure), 30) + meaning + "\n";
}

}  // namespace

void UseFit(const history::Fit& fit, LabOptions* options) {
  fleet::Parameters p = LabParameters();
  p.benchmark_noise = 0;
  for (const FittedFigure& figure : fit.figures) {
    const fleet::ParameterRow* row = RowOf(figure.name);
    if (row != nullptr) p.*row->field = std::clamp(figure.value, row->least, row->most);
  }
  if (p.gpu_hosts > 0) {
    // A GPU's peak speed changes how many jobs it does, and neither PFC nor credit of a job.
    constexpr double kMostTimes = 4;  // as fast as a core
    constexpr double kGpuSigma = 0.5;
    const double core = p.core_speed_mu - std::log(p.cpu_samples);
    if (fit.cpu)
      p.gpu_peak_mu =
          std::max(0.0, std::min(p.gpu_peak_mu, core + std::log(kMostTimes) + std::log(p.gpu_samples)));
    p.gpu_peak_sigma = std::min(p.gpu_peak_sigma, kGpuSigma);
  }
  fleet::AppModel app{.name = "lab",
                      .fpops_est = ValueOf(fit, history::kEstimate, 6e12),
                      .size = fleet::SizeModel::kMeasured,
                      .replication = fleet::Replication::kSingle,  // of the condition
                      .delay_bound = ValueOf(fit, history::kDelayBound, 10 * kSecondsOfDay),
                      .cpu = fit.cpu,
                      .gpu = p.gpu_hosts > 0,
                      .threads = 1,
                      .size_classes = 1,
                      .trickles = false,
                      .weight = 1,
                      .source = ""};
  static_assert(history::kSizeParts == std::tuple_size_v<decltype(app.sizes)>);
  std::copy(fit.sizes.begin(), fit.sizes.end(), app.sizes.begin());
  // A new job waits behind a buffer between buffer_min and buffer_min + buffer_extra, which are 1 : 5 as by default.
  const double run_time = ValueOf(fit, history::kRunTime, 0);
  const double waits = ValueOf(fit, history::kTurnaround, 0) - run_time - p.report_delay;
  constexpr double kMeanWait = 3.5;  // x buffer_min
  constexpr double kFull = 6;        // x buffer_min
  constexpr double kInTime = 0.8;    // of the delay bound
  if (waits > 0 && run_time > 0) {
    const double in_time = std::max(0.0, kInTime * app.delay_bound - run_time) / kFull;
    p.buffer_min = std::clamp(std::min(waits / kMeanWait, in_time) / kSecondsOfDay, 0.001, 2.0);
    p.buffer_extra = (kFull - 1) * p.buffer_min;
    const double jobs = std::ceil(2 * kFull * p.buffer_min * kSecondsOfDay / run_time);
    p.cpu_jobs_limit = std::clamp(jobs, p.cpu_jobs_limit, 1000.0);
    p.gpu_jobs_limit = std::clamp(4 * jobs, p.gpu_jobs_limit, 1000.0);
  }
  options->parameters = p;
  options->app = app;
}

fleet::Replication ReplicationOf(const history::Fit& fit) {
  constexpr double kNearlyAll = 0.95;
  const double single = ValueOf(fit, history::kSingleShare, 1);
  if (single >= kNearlyAll) return fleet::Replication::kSingle;
  return single <= 1 - kNearlyAll ? fleet::Replication::kQuorum : fleet::Replication::kAdaptive;
}

std::uint64_t JobsOf(const history::Fit& fit) {
  return static_cast<std::uint64_t>(
      std::clamp(std::round(ValueOf(fit, history::kResultsOfBusy, 1000)), 100.0, 1000.0));
}

std::string FitText(const history::Fit& fit) {
  std::string text = "world of app " + std::to_string(fit.app) +
                     (fit.app_name.empty() ? "" : " " + fit.app_name) + ": " + std::to_string(fit.results) +
                     " valid results of " + std::to_string(fit.hosts) + " hosts\n";
  if (fit.left_out > 0)
    text += "left out: " + std::to_string(fit.left_out) +
            " of them, whose run time, speed or size is missing or impossible\n";
  text +=
      "\n  " + Cell("fitted", 20) + Cell("value", 12) + Cell("default", 9) + Cell("from", 30) + "meaning\n";
  const fleet::Parameters defaults = LabParameters();
  for (const FittedFigure& figure : fit.figures) {
    const fleet::ParameterRow* row = RowOf(figure.name);
    if (row != nullptr) {
      text += FigureLine(figure, Short(defaults.*row->field),
                         std::string(row->meaning) + (row->unit[0] == '\0' ? "" : ", ") + row->unit);
      continue;
    }
    for (const OtherFigure& other : kOtherFigures) {
      if (other.name == figure.name)
        text += FigureLine(figure, "",
                           std::string(other.meaning) + (other.unit[0] == '\0' ? "" : ", ") + other.unit);
    }
  }
  text += "\n  not told by the records\n";
  for (const Untold& untold : kMayBeUntold) {
    if (fit.Find(untold.name) != nullptr) continue;
    const fleet::ParameterRow* row = RowOf(untold.name);
    text += "  " + Cell(untold.name, 32) + Cell(row == nullptr ? "" : Short(defaults.*row->field), 9) +
            untold.why + "\n";
  }
  for (const Untold& untold : kNeverTold) text += "  " + Cell(untold.name, 32) + untold.why + "\n";
  return text;
}

std::string PayingText(const std::vector<Measurement>& measurements) {
  struct Paying {
    double gain;
    std::string id;
  };
  const auto list = [](const char* begin, std::vector<Paying> paying) {
    std::sort(paying.begin(), paying.end(), [](const Paying& a, const Paying& b) { return a.gain > b.gain; });
    std::string text;
    for (const Paying& one : paying)
      text += (text.empty() ? begin : ", ") + one.id + " " + FigureText(one.gain);
    return text.empty() ? text : text + "\n";
  };
  std::string text;
  for (std::size_t i = 0; i < measurements.size();) {
    const std::string condition = NameOf(measurements[i].condition);
    std::vector<Paying> paying;
    std::vector<Paying> uncertain;
    std::size_t all = 0;
    for (; i < measurements.size() && NameOf(measurements[i].condition) == condition; ++i, ++all) {
      Spread gain = SpreadOf(measurements[i], &Figures::gain);
      if (!std::isfinite(gain.mean)) gain = SpreadOf(measurements[i], &Figures::income);
      if (!(gain.mean > kPays)) continue;
      (gain.mean - gain.half_width > kPays ? paying : uncertain).push_back({gain.mean, measurements[i].id});
    }
    text += condition + ": " + std::to_string(paying.size()) + " of " + std::to_string(all) +
            (all == 1 ? " attack pays" : " attacks pay") + (paying.empty() ? "\n" : ":\n");
    text += list("  ", paying) + list("  perhaps, more seeds would tell: ", uncertain);
  }
  return text;
}

}  // namespace cobblestone::lab
