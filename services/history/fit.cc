#include "services/history/fit.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "common/credit/policies/policy.h"
#include "services/history/fit_statistics.h"

namespace cobblestone::history {
namespace {

constexpr double kFewResults = 5;         // of a group that counts
constexpr std::size_t kLeastGroups = 10;  // of a kind of devices
constexpr std::uint64_t kLeastResults = 200;
constexpr std::size_t kLeastPairs = 50;
constexpr std::uint64_t kLeastFailures = 20;
// A client that failed its benchmark reports this number.
constexpr double kFailedBenchmark = 1e9;
constexpr double kDefaultNoise = 0.08;  // Parameters::runtime_noise
constexpr double kGigaflops = 1e9;

std::string WithNumber(std::uint64_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

class Fitter {
 public:
  explicit Fitter(const History& history) : history_(history) {}

  Result<Fit> Run() {
    if (Status status = CheckResults(); !status.ok()) return status;
    MakeGroups();
    fit_.cpu = used_[0].size() >= kLeastGroups;
    if (!fit_.cpu && used_[1].size() < kLeastGroups)
      return Status::InvalidArgument("too few results for a fit: only " +
                                     WithNumber(used_[0].size() + used_[1].size(), "host has", "hosts have") +
                                     " five results with one version; a kind of devices needs 10 such hosts");
    FitJobs();
    FitSpeeds();
    FitVersions();
    FitSizes();
    FitFailures();
    FitHosts();
    return std::move(fit_);
  }

 private:
  Status CheckResults() {
    const auto& apps = history_.results();
    if (apps.empty()) return Status::NotFound("the ledger has no valid results");
    if (history_.any_app() && apps.size() > 1) {
      std::string names;
      for (const auto& [app, results] : apps) {
        const std::string name = history_.NameOf(app);
        names += (names.empty() ? "" : ", ") + std::to_string(app) + (name.empty() ? "" : " " + name) + " (" +
                 WithNumber(results, "result", "results") + ")";
      }
      return Status::InvalidArgument("the ledger has results of several apps: " + names +
                                     "; choose one with --app");
    }
    fit_.app = history_.app().value;
    fit_.app_name = history_.NameOf(fit_.app);
    const auto found = apps.find(fit_.app);
    if (found == apps.end())
      return Status::NotFound("the ledger has no valid results of app " + std::to_string(fit_.app));
    fit_.results = found->second;
    fit_.left_out = history_.left_out();
    for (const credit::PolicyKind kind : history_.policies())
      fit_.policies.emplace_back(credit::PolicyName(kind));
    for (const auto& [host, jobs] : history_.hosts()) fit_.hosts += jobs.valid > 0 ? 1 : 0;
    const std::uint64_t usable = fit_.results - fit_.left_out;
    if (usable < kLeastResults)
      return Status::InvalidArgument("too few results for a fit: " + std::to_string(usable) + " of app " +
                                     std::to_string(fit_.app) +
                                     " have a run time, a speed and a size; at least 200 are needed");
    return Status::Ok();
  }

  void Add(std::string_view name, double value, std::uint64_t results, std::uint64_t hosts = 0) {
    fit_.figures.push_back({std::string(name), value, results, hosts});
  }

  [[nodiscard]] bool IsGpu(const ResultRow& row) const { return history_.IsGpu(AppVersionId(row.version)); }

  // By kind of devices: the groups with results enough.
  void MakeGroups() {
    std::map<std::pair<std::int64_t, std::uint64_t>, Group> groups;
    for (const ResultRow& row : history_.rows()) {
      Group& group = groups[{row.version, row.host}];
      group.host = row.host;
      group.version = row.version;
      group.n += 1;
      const double off = row.log_ratio - group.mean;
      group.mean += off / group.n;
      group.squares += off * (row.log_ratio - group.mean);
    }
    for (const auto& [key, group] : groups) {
      if (group.n < kFewResults) continue;
      const bool gpu = history_.IsGpu(AppVersionId(group.version));
      used_[gpu ? 1 : 0].push_back(group);
      all_.push_back(group);
      by_key_.emplace(key, group);
    }
    within_ = VarianceWithin(all_);
  }

  [[nodiscard]] const Group* GroupOf(const ResultRow& row) const {
    const auto found = by_key_.find({row.version, row.host});
    return found == by_key_.end() ? nullptr : &found->second;
  }

  template <class Take>
  std::vector<double> Values(const Take& take) const {
    std::vector<double> values;
    for (const ResultRow& row : history_.rows()) {
      const double value = take(row);
      if (value > 0) values.push_back(value);
    }
    return values;
  }

  void FitJobs() {
    const auto median = [&](std::string_view name, const auto& take) {
      const std::vector<double> values = Values(take);
      if (!values.empty()) Add(name, QuantileOf(values, 0.5), values.size());
    };
    const auto mean = [&](std::string_view name, const auto& take) {
      const std::vector<double> values = Values(take);
      if (!values.empty()) Add(name, MeanAndSigmaOf(values).mean, values.size());
    };
    median(kEstimate, [](const ResultRow& row) { return row.fpops_est; });
    median("bound_factor", [](const ResultRow& row) { return row.bound_factor; });
    median(kDelayBound, [&](const ResultRow& row) {
      return row.delay_bound > 0 ? row.delay_bound : static_cast<float>(history_.delay_bound());
    });
    mean(kRunTime, [](const ResultRow& row) { return row.elapsed; });
    mean(kTurnaround, [](const ResultRow& row) { return row.turnaround; });
    median("cpu_efficiency", [&](const ResultRow& row) { return IsGpu(row) ? 0 : row.cpu_efficiency; });
    FitReplication();
  }

  // A workunit with r results that count appears r times.
  void FitReplication() {
    double single = 0;
    double workunits = 0;
    double replicated = 0;
    double replicas = 0;
    std::uint64_t results = 0;
    for (const ResultRow& row : history_.rows()) {
      if (row.replicas == 0) continue;
      ++results;
      workunits += 1.0 / row.replicas;
      if (row.replicas == 1) {
        single += 1;
      } else {
        replicated += 1.0 / row.replicas;
        replicas += 1;
      }
    }
    if (results == 0) return;
    Add(kSingleShare, single / workunits, results);
    if (replicated > 0) Add("quorum", std::round(replicas / replicated), results);
  }

  void FitSpeeds() {
    std::vector<double> logs;
    std::uint64_t failed = 0;
    std::uint64_t known = 0;
    for (const auto& [host, jobs] : history_.hosts()) {
      const double whetstone = history_.WhetstoneOf(host);
      if (jobs.valid == 0 || !(whetstone > 0)) continue;
      ++known;
      if (whetstone == kFailedBenchmark) {
        ++failed;
      } else {
        logs.push_back(std::log(whetstone / kGigaflops));
      }
    }
    if (logs.size() < kLeastGroups) return;
    const MeanAndSigma speed = MeanAndSigmaOf(logs);
    Add("core_speed_mu", speed.mean, 0, logs.size());
    Add("core_speed_sigma", speed.sigma, 0, logs.size());
    Add("failed_benchmarks", static_cast<double>(failed) / static_cast<double>(known), 0, known);
  }

  void FitVersions() {
    const char* const names[] = {"cpu_samples", "gpu_samples"};
    for (const std::size_t device : {0, 1}) {
      const std::vector<Group>& groups = used_[device];
      if (groups.size() < kLeastGroups) continue;
      std::map<std::int64_t, double> results;
      double all = 0;
      for (const Group& group : groups) {
        results[group.version] += group.n;
        all += group.n;
      }
      const auto most = std::max_element(results.begin(), results.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      std::vector<double> means;
      for (const Group& group : groups) {
        if (group.version == most->first) means.push_back(group.mean);
      }
      Add(names[device], std::exp(QuantileOf(means, 0.5)), static_cast<std::uint64_t>(most->second),
          means.size());
      std::uint64_t counted = 0;
      const double sigma = SpreadOfHosts(groups, within_, &counted);
      if (counted >= kLeastGroups)
        Add(std::string(names[device]) + "_sigma", sigma, static_cast<std::uint64_t>(all), counted);
    }
  }

  // What two hosts need for the same job differs by noise only; what one host needs for several jobs, by their sizes too.
  void FitSizes() {
    std::unordered_map<std::uint64_t, std::vector<const ResultRow*>> workunits;
    std::vector<double> residuals;
    for (const ResultRow& row : history_.rows()) {
      const Group* group = GroupOf(row);
      if (group == nullptr) continue;
      residuals.push_back(row.log_ratio - group->mean);
      workunits[row.workunit].push_back(&row);
    }
    std::vector<Pair> pairs;
    for (const auto& [number, rows] : workunits) {
      for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i]->host == rows[i - 1]->host) continue;
        const Group* a = GroupOf(*rows[i - 1]);
        const Group* b = GroupOf(*rows[i]);
        pairs.push_back({.difference = (rows[i - 1]->log_ratio - a->mean) - (rows[i]->log_ratio - b->mean),
                         .a = a->n,
                         .b = b->n});
      }
    }
    double noise = std::min(kDefaultNoise * kDefaultNoise, within_);
    if (pairs.size() >= kLeastPairs) {
      noise = std::min(within_, NoiseVariance(pairs, within_));
      Add("runtime_noise", std::sqrt(noise), 2 * pairs.size());
    }
    const double sigma = std::sqrt(within_ - noise);
    Add(kSizeSigma, sigma, residuals.size(), all_.size());
    const MeanAndSigma spread = MeanAndSigmaOf(residuals);
    const double shrink = spread.sigma > 0 ? sigma / spread.sigma : 0;
    std::sort(residuals.begin(), residuals.end());
    for (std::size_t part = 0; part < kSizeParts; ++part) {
      const std::size_t from = residuals.size() * part / kSizeParts;
      const std::size_t to = std::max(from + 1, residuals.size() * (part + 1) / kSizeParts);
      double sum = 0;
      for (std::size_t i = from; i < to; ++i) sum += std::exp(shrink * residuals[i]);
      fit_.sizes[part] = sum / static_cast<double>(to - from);
    }
  }

  void FitFailures() {
    if (history_.ended() >= kLeastResults) {
      std::vector<Failures> hosts;
      std::uint64_t failed = 0;
      std::uint64_t timed_out = 0;
      std::uint64_t aborted = 0;
      double rates = 0;
      for (const auto& [host, jobs] : history_.hosts()) {
        failed += jobs.failed;
        timed_out += jobs.timed_out;
        aborted += jobs.aborted;
        if (static_cast<double>(jobs.ended) < kFewResults) continue;
        hosts.push_back({static_cast<double>(jobs.ended), static_cast<double>(jobs.failed)});
        rates += hosts.back().failed / hosts.back().jobs;
      }
      const auto all = static_cast<double>(history_.ended());
      const double mean =
          hosts.empty() ? static_cast<double>(failed) / all : rates / static_cast<double>(hosts.size());
      Add("error_rate", mean, history_.ended(), hosts.size());
      if (failed >= kLeastFailures && hosts.size() >= kLeastGroups && mean > 0)
        Add("error_rate_sigma", SigmaOfRates(hosts, mean), history_.ended(), hosts.size());
      Add(kTimeOuts, static_cast<double>(timed_out) / all, history_.ended());
      Add("abort_rate", static_cast<double>(aborted) / all, history_.ended());
    }
    if (history_.judged() >= kLeastResults)
      Add("wrong_rate", static_cast<double>(history_.invalid()) / static_cast<double>(history_.judged()),
          history_.judged());
  }

  void FitHosts() {
    std::vector<double> results;
    for (const auto& [host, jobs] : history_.hosts()) {
      if (jobs.valid > 0) results.push_back(static_cast<double>(jobs.valid));
    }
    Add(kResultsPerHost, QuantileOf(results, 0.5), fit_.results, fit_.hosts);
    Add(kResultsOfBusy, QuantileOf(results, 0.9), fit_.results, fit_.hosts);
    Add("hosts_per_user", static_cast<double>(fit_.hosts) / static_cast<double>(history_.users()), 0,
        fit_.hosts);
    struct Kinds {
      bool gpu = false;
      bool anonymous = false;
      double peak_sum = 0;  // of ln GFLOPS of its GPU
      double gpu_results = 0;
    };
    std::unordered_map<std::uint64_t, Kinds> hosts;
    for (const ResultRow& row : history_.rows()) {
      Kinds& kinds = hosts[row.host];
      kinds.anonymous = kinds.anonymous || AppVersionId(row.version).anonymous();
      if (!IsGpu(row)) continue;
      kinds.gpu = true;
      kinds.peak_sum += std::log(row.peak_flops / kGigaflops);
      kinds.gpu_results += 1;
    }
    double gpus = 0;
    double anonymous = 0;
    std::vector<double> peaks;
    for (const auto& [host, kinds] : hosts) {
      anonymous += kinds.anonymous ? 1 : 0;
      if (!kinds.gpu) continue;
      gpus += 1;
      peaks.push_back(kinds.peak_sum / kinds.gpu_results);
    }
    const auto all = static_cast<double>(hosts.size());
    Add("anonymous_hosts", anonymous / all, 0, hosts.size());
    // Too few to know how their version works: the world has none.
    const bool enough = used_[1].size() >= kLeastGroups;
    Add("gpu_hosts", enough ? gpus / all : 0, 0, hosts.size());
    if (!enough) return;
    const MeanAndSigma peak = MeanAndSigmaOf(peaks);
    Add("gpu_peak_mu", peak.mean, 0, peaks.size());
    Add("gpu_peak_sigma", peak.sigma, 0, peaks.size());
  }

  const History& history_;
  Fit fit_;
  std::vector<Group> used_[2];  // CPU, GPU
  std::vector<Group> all_;
  std::map<std::pair<std::int64_t, std::uint64_t>, Group> by_key_;
  double within_ = 0;
};

}  // namespace

const FittedFigure* Fit::Find(std::string_view name) const {
  for (const FittedFigure& figure : figures) {
    if (figure.name == name) return &figure;
  }
  return nullptr;
}

Result<Fit> FitOf(const History& history) { return Fitter(history).Run(); }

nlohmann::json FitJson(const Fit& fit) {
  nlohmann::json figures = nlohmann::json::array();
  for (const FittedFigure& figure : fit.figures)
    figures.push_back({{"name", figure.name},
                       {"value", figure.value},
                       {"results", figure.results},
                       {"hosts", figure.hosts}});
  return {{"app", fit.app},         {"app_name", fit.app_name}, {"policies", fit.policies},
          {"results", fit.results}, {"hosts", fit.hosts},       {"left_out", fit.left_out},
          {"cpu", fit.cpu},         {"figures", figures},       {"sizes", fit.sizes}};
}

Result<Fit> ParseFit(const nlohmann::json& json) {
  try {
    Fit fit;
    fit.app = json.at("app").get<std::uint64_t>();
    fit.app_name = json.at("app_name").get<std::string>();
    fit.policies = json.at("policies").get<std::vector<std::string>>();
    fit.results = json.at("results").get<std::uint64_t>();
    fit.hosts = json.at("hosts").get<std::uint64_t>();
    fit.left_out = json.at("left_out").get<std::uint64_t>();
    fit.cpu = json.at("cpu").get<bool>();
    fit.sizes = json.at("sizes").get<std::array<double, kSizeParts>>();
    for (const nlohmann::json& figure : json.at("figures"))
      fit.figures.push_back({figure.at("name").get<std::string>(), figure.at("value").get<double>(),
                             figure.at("results").get<std::uint64_t>(),
                             figure.at("hosts").get<std::uint64_t>()});
    return fit;
  } catch (const nlohmann::json::exception& error) {
    return Status::Corrupted(std::string("the answer is not a fit: ") + error.what());
  }
}

}  // namespace cobblestone::history
