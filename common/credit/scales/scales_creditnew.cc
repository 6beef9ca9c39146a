#include "common/credit/scales/scales_creditnew.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/policies/creditnew_v2.h"
#include "common/credit/policies/standard_policy.h"

namespace cobblestone::credit {
namespace {

constexpr double kMinHostsOfVersion = 20;  // robust
constexpr double kSettled =
    3;  // robust: samples per host / those for a vote, at which nearly all hosts have a vote
constexpr double kUnlike = 2;  // robust: a version's mean counts within this factor of the median version
constexpr double kMaxLevel = 1.25;         // robust: what an app keeps of the level of its policy before
constexpr double kMaxChangeOfMean = 1.02;  // robust: of min_avg_pfc(A) at one tick

// One version of the app: the inputs of its new scale.
struct Version {
  const AppVersionRow* row = nullptr;
  VersionScale* scale = nullptr;
  double mean = 0;      // PFCmean(V) in force: of samples, or the median over hosts
  double weight = 0;    // in the mean of its class: samples
  bool above = false;   // more samples than the threshold
  bool counts = false;  // `above` and not deprecated
  bool gpu = false;
  bool settled = false;  // HostsMedian
};

void ApplyVersionSample(const Sample& sample, const Constants& constants, VersionScale& version) {
  if ((sample.flags & kSamplePfc) != 0) {
    AddFiniteSample(StandardVersionRule(constants), sample.pfc, version.pfc);
  }
  if ((sample.flags & kSampleCredit) == 0 || !std::isfinite(sample.credit) || sample.credit < 0) return;
  RecentAverage recent{version.expavg_credit, version.expavg_time};
  // The first sample is divided by its span; the span of a job may be NaN or 0.
  const double latest = sample.time - kMinCreditSpan;
  const double start = sample.credit_start < latest ? sample.credit_start : latest;
  UpdateAverage(std::max(sample.time, recent.time), start, sample.credit, kRecentAverageHalfLife, recent);
  if (!std::isfinite(recent.value) || !std::isfinite(recent.time)) return;
  version.expavg_credit = recent.value;
  version.expavg_time = recent.time;
}

// S001: NPFC(J) = PFC(J) x S(V), "capping NPFC(J) at some multiple (say, 10) of NPFC*(A)".
void ApplyAppSample(const Sample& sample, const Constants& constants, double scale, AppScale& app) {
  double npfc = scale > 0 ? sample.pfc * scale : sample.pfc;
  if (app.npfc_weight > 0 && app.npfc_mean > 0) npfc = std::min(npfc, constants.claim_limit * app.npfc_mean);
  WeightedAverage average{app.npfc_weight, app.npfc_mean};
  UpdateWeighted(average, {npfc, sample.weight}, constants.version_average_weight);
  app.npfc_weight = average.weight;
  app.npfc_mean = average.mean;
}

void ApplySamples(const AppRow& app, std::span<const Sample> samples, const Catalogue& catalogue,
                  ScaleState& state) {
  const Constants& constants = app.policy.constants;
  AppScale& app_scale = state.table.apps[app.id.value];
  for (const Sample& sample : samples) {
    if ((sample.flags & kSampleClaim) != 0) AddClaim(sample.credit, app_scale);
    if (catalogue.FindVersion(sample.version) == nullptr) continue;
    const auto id = static_cast<std::uint64_t>(sample.version.value);
    VersionScale& version = state.table.versions[id];
    if ((sample.flags & kSampleApp) != 0) {
      ApplyAppSample(sample, constants, version.cached ? version.cached_scale : version.scale, app_scale);
    }
    ApplyVersionSample(sample, constants, version);
    if (constants.version_median && (sample.flags & kSamplePfc) != 0 && sample.host) {
      Average& mean = state.host_means[id][sample.host.value];
      const Average before = mean;
      AddFiniteSample(StandardHostRule(constants), sample.pfc, mean);
      if (const auto median = state.work_medians.find(id); median != state.work_medians.end())
        median->second.Change(sample.host.value, before, mean);
    }
  }
}

bool HasMedian(const Version& version) { return version.scale->cached; }

// robust: once a version has a median over hosts, versions without one do not count: the only user of a version would
// set the credit of the whole app.
void LeaveOutRareVersions(std::vector<Version>& versions) {
  if (!std::any_of(versions.begin(), versions.end(), HasMedian)) return;
  for (Version& version : versions) version.counts = version.counts && HasMedian(version);
}

struct HostsMedian {
  double hosts = 0;  // that have a vote
  double value = 0;
  // Nearly all hosts have a vote. Before that, those with a vote are the hosts whose first jobs were small.
  bool settled = false;
};

// S000: PFCmean(V) "as the sample-median value of PFCmean(H, V)". Even number of hosts: mean of the two middle values.
HostsMedian MedianOverHosts(const std::map<std::uint64_t, Average>& hosts) {
  std::vector<double> means;
  means.reserve(hosts.size());
  for (const auto& [host, average] : hosts) means.push_back(average.mean);
  HostsMedian median{.hosts = static_cast<double>(means.size())};
  if (means.empty()) return median;
  const auto middle = means.begin() + static_cast<std::ptrdiff_t>(means.size() / 2);
  std::nth_element(means.begin(), middle, means.end());
  median.value = means.size() % 2 == 1 ? *middle : (*std::max_element(means.begin(), middle) + *middle) / 2;
  return median;
}

HostsMedian MedianOverWork(const WorkMedian& median, std::size_t hosts) {
  return {.hosts = median.votes(),
          .value = median.value(),
          .settled = median.samples() >= kSettled * median.least() * static_cast<double>(hosts)};
}

// Versions of the app in the catalogue, ascending by id; with medians if the app has that option.
std::vector<Version> CollectVersions(const AppRow& app, const Catalogue& catalogue, ScaleState& state) {
  const Constants& constants = app.policy.constants;
  const bool by_hosts = app.policy.kind == PolicyKind::kRobust && constants.version_median;
  std::vector<Version> versions;
  for (const auto& [id, row] : catalogue.versions) {
    if (row.app != app.id || row.deleted) continue;
    VersionScale& scale = state.table.versions[id];
    const auto hosts = state.host_means.find(id);
    HostsMedian median;
    if (by_hosts && hosts != state.host_means.end()) {
      const double least = constants.host_scale_min_samples;
      auto kept = state.work_medians.find(id);
      if (kept == state.work_medians.end() || kept->second.least() != least)
        kept = state.work_medians.insert_or_assign(id, WorkMedian(hosts->second, least)).first;
      median = MedianOverWork(kept->second, hosts->second.size());
    } else if (constants.version_median && hosts != state.host_means.end()) {
      median = MedianOverHosts(hosts->second);
    }
    if (!by_hosts || hosts == state.host_means.end()) state.work_medians.erase(id);
    if (!constants.version_median && hosts != state.host_means.end()) state.host_means.erase(hosts);
    const bool enough = median.hosts >= (by_hosts ? kMinHostsOfVersion : 1);
    scale.cached = enough;
    scale.cached_pfc = scale.cached ? Average{scale.pfc.n, median.value} : Average{};
    const double mean = scale.cached ? scale.cached_pfc.mean : scale.pfc.mean;
    const bool above = scale.pfc.n > constants.version_average_samples && mean > 0;
    versions.push_back(
        {&row, &scale, mean, scale.pfc.n, above, above && !row.deprecated, row.IsGpu(), median.settled});
  }
  return versions;
}

bool HasHistory(const AppRow& app, const Catalogue& catalogue, const ScaleState& state) {
  return std::any_of(state.table.versions.begin(), state.table.versions.end(), [&](const auto& entry) {
    const AppVersionRow* row = catalogue.FindVersion(AppVersionId(static_cast<std::int64_t>(entry.first)));
    return row != nullptr && row->app == app.id && entry.second.pfc.n > 0;
  });
}

double FactorOf(const AppVersionRow& version, const Catalogue& catalogue, const Constants& constants) {
  const auto it = catalogue.plan_class_factors.find(version.plan_class);
  return it == catalogue.plan_class_factors.end() ? constants.gpu_only_factor : it->second;
}

// robust: attackers can be all users of many versions. Such versions move the level of the app by no more than their share
// of its results. GPU versions are compared after their factors, by which classes of devices differ.
void LimitUnlikeVersions(bool gpu, const Catalogue& catalogue, const Constants& constants,
                         std::vector<Version>& versions) {
  struct Compared {
    double mean = 0;
    double factor = 1;
    Version* version = nullptr;
  };
  std::vector<Compared> kind;
  double all = 0;
  for (Version& version : versions) {
    if (!version.counts || version.gpu != gpu) continue;
    const double factor = gpu ? FactorOf(*version.row, catalogue, constants) : 1;
    if (!(factor > 0) || !std::isfinite(factor)) continue;
    kind.push_back({factor * version.mean, factor, &version});
    all += version.weight;
  }
  std::stable_sort(kind.begin(), kind.end(),
                   [](const Compared& a, const Compared& b) { return a.mean < b.mean; });
  double weight = 0;
  const auto middle = std::find_if(kind.begin(), kind.end(), [&](const Compared& one) {
    weight += one.version->weight;
    return weight >= all / 2;
  });
  if (middle == kind.end() || !(middle->mean > 0)) return;
  const double least = middle->mean / kUnlike;
  const double most = middle->mean * kUnlike;
  for (const Compared& one : kind) {
    if (one.mean < least) one.version->mean = least / one.factor;
    if (one.mean > most) one.version->mean = most / one.factor;
  }
}

// Weighted mean over one kind of versions; `count`: versions that count.
struct ClassMean {
  int count = 0;
  double weight = 0;
  double sum = 0;

  void Add(double weight_of_one, double mean) {
    count += 1;
    weight += weight_of_one;
    sum += weight_of_one * mean;
  }
  [[nodiscard]] double Mean() const { return weight > 0 ? sum / weight : 0; }
};

struct ClassMeans {
  ClassMean cpu;
  ClassMean gpu;
  ClassMean gpu_with_factor;
  bool gpu_only = false;
};

ClassMeans MeansOf(const std::vector<Version>& versions, const Catalogue& catalogue,
                   const Constants& constants) {
  ClassMeans means;
  bool any_cpu = false;
  bool any_gpu = false;
  for (const Version& version : versions) {
    if (!version.row->deprecated) (version.gpu ? any_gpu : any_cpu) = true;
    if (!version.counts) continue;
    (version.gpu ? means.gpu : means.cpu).Add(version.weight, version.mean);
    if (version.gpu) {
      means.gpu_with_factor.Add(version.weight, FactorOf(*version.row, catalogue, constants) * version.mean);
    }
  }
  means.gpu_only = means.cpu.count == 0 && (means.gpu.count > 0 || (any_gpu && !any_cpu));
  return means;
}

void SetScale(double scale, VersionScale& version) {
  // An invalid factor or mean results in no scale, not in a wrong scale.
  version.scale = std::isfinite(scale) && scale > 0 ? scale : 0;
  version.cached_scale = version.cached ? version.scale : 0;
}

// X of the versions that count; 0: undefined.
double TargetOf(const ClassMeans& means, int least_cpu_versions) {
  if (means.cpu.count > 0 && means.gpu.count > 0) return std::min(means.cpu.Mean(), means.gpu.Mean());
  if (means.cpu.count >= least_cpu_versions) return means.cpu.Mean();
  return means.gpu_only ? means.gpu_with_factor.Mean() : 0;
}

// robust: X of this tick. `level`: ScaleState::levels.
double RobustX(const ClassMeans& all, const std::vector<Version>& versions, const Catalogue& catalogue,
               const Constants& constants, const AppScale& scale, double& level) {
  std::vector<Version> with_median = versions;
  LeaveOutRareVersions(with_median);
  for (const bool gpu : {false, true}) LimitUnlikeVersions(gpu, catalogue, constants, with_median);
  const ClassMeans means = MeansOf(with_median, catalogue, constants);
  const double target = TargetOf(means, 1);
  const bool known = scale.defined && scale.min_avg_pfc > 0;
  if (!known || !(target > 0)) return target;
  if (level == 0) {
    // Medians of one kind of versions say nothing about the level of an app with both kinds.
    const bool complete = std::any_of(versions.begin(), versions.end(), HasMedian) &&
                          std::all_of(with_median.begin(), with_median.end(),
                                      [](const Version& one) { return !one.counts || one.settled; }) &&
                          (means.cpu.count > 0) == (all.cpu.count > 0) &&
                          (means.gpu.count > 0) == (all.gpu.count > 0);
    if (!complete) return scale.min_avg_pfc;
    level = std::clamp(scale.min_avg_pfc / target, 1 / kMaxLevel, kMaxLevel);
  }
  return std::clamp(level * target, scale.min_avg_pfc / kMaxChangeOfMean,
                    scale.min_avg_pfc * kMaxChangeOfMean);
}

void ScaleCreditNew(const AppRow& app, const Catalogue& catalogue, std::vector<Version>& versions,
                    ScaleState& state, AppScale& scale) {
  const Constants& constants = app.policy.constants;
  const ClassMeans means = MeansOf(versions, catalogue, constants);
  scale.cpu_mean = means.cpu.Mean();
  scale.gpu_mean = means.gpu.Mean();
  const double x = app.policy.kind == PolicyKind::kRobust
                       ? RobustX(means, versions, catalogue, constants, scale, state.levels[app.id.value])
                       : TargetOf(means, kMinVersionsForScale);
  if (x > 0) {
    scale.min_avg_pfc = x;
    scale.defined = true;
  }
  for (Version& version : versions) {
    if (means.gpu_only) {
      SetScale(version.gpu ? FactorOf(*version.row, catalogue, constants) : 0, *version.scale);
    } else {
      SetScale(x > 0 && version.above ? x / version.mean : 0, *version.scale);
    }
  }
}

void ScaleCreditNewV2(const AppRow& app, const Catalogue& catalogue, std::vector<Version>& versions,
                      AppScale& scale) {
  const Constants& constants = app.policy.constants;
  const ClassMeans means = MeansOf(versions, catalogue, constants);
  scale.cpu_mean = means.cpu.Mean();
  scale.gpu_mean = means.gpu.Mean();
  double least = HUGE_VAL;
  for (const Version& version : versions) {
    if (version.counts) least = std::min(least, version.mean);
  }
  for (Version& version : versions) {
    // A deprecated version with a mean below the least is not scaled up: "always downwards".
    double s = version.above && std::isfinite(least) ? std::min(1.0, least / version.mean) : 0;
    if (means.gpu_only && version.gpu) {
      s = (s > 0 ? s : 1) * FactorOf(*version.row, catalogue, constants);
    }
    SetScale(s, *version.scale);
  }
}

}  // namespace

void ApplyTickCreditNew(double, AppId app_id, std::span<const Sample> samples_of_app,
                        const Catalogue& catalogue, ScaleState& state) {
  const AppRow* app = catalogue.FindApp(app_id);
  if (app == nullptr) return;
  const auto [it, is_new] = state.table.apps.try_emplace(app_id.value);
  if (is_new && app->min_avg_pfc.has_value()) {
    it->second.defined = true;
    it->second.min_avg_pfc = *app->min_avg_pfc;
  }
  const auto is_gone = [&catalogue](const auto& of_version) {
    return catalogue.FindVersion(AppVersionId(static_cast<std::int64_t>(of_version.first))) == nullptr;
  };
  std::erase_if(state.host_means, is_gone);
  std::erase_if(state.work_medians, is_gone);
  // An app that begins with `robust` has no level to keep.
  if (app->policy.kind == PolicyKind::kRobust)
    state.levels.try_emplace(app_id.value, HasHistory(*app, catalogue, state) ? 0 : 1);
  ApplySamples(*app, samples_of_app, catalogue, state);
  std::vector<Version> versions = CollectVersions(*app, catalogue, state);
  if (app->policy.kind == PolicyKind::kCreditNewV2) {
    ScaleCreditNewV2(*app, catalogue, versions, it->second);
  } else {
    ScaleCreditNew(*app, catalogue, versions, state, it->second);
  }
}

void AddClaim(double claimed, AppScale& app) {
  if (!std::isfinite(claimed) || claimed < 0) return;
  app.claim_n += 1;
  const double delta = claimed - app.claim_mean;
  app.claim_mean += delta / app.claim_n;
  app.claim_var += (delta * (claimed - app.claim_mean) - app.claim_var) / app.claim_n;
}

}  // namespace cobblestone::credit
