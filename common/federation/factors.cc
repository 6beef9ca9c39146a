#include "common/federation/factors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "common/base/check.h"
#include "common/credit/accounts/account.h"
#include "common/credit/model/constants.h"

namespace cobblestone::federation {

using credit::Resource;

namespace {

// Cobblestones per day: more than all projects together grant. Keeps sums of reported weights finite.
constexpr double kLargestCredit = 1e15;
// Weights are counted in this part of the largest weight. Sums of integers are exact, so equal weights make an exact tie.
constexpr double kUnitsOfLargest = 1LL << 40;

using ClassKey = std::pair<std::string, Resource>;

bool IsGpuClass(const VersionReport& report) {
  return report.resource >= Resource::kNvidia && report.resource <= Resource::kAppleGpu &&
         !report.plan_class.empty();
}

bool IsFigure(double value) { return std::isfinite(value) && value >= 0; }

double CreditAt(const VersionReport& report, double now) {
  const double credit = credit::DecayedAverage({.value = report.recent_credit, .time = report.recent_time},
                                               now, credit::kRecentAverageHalfLife);
  return std::min(credit, kLargestCredit);
}

std::optional<LeftOutReason> ReasonToLeaveOut(const VersionReport& report, const FactorRules& rules,
                                              double now) {
  for (const double figure :
       {report.samples, report.scale.value_or(0), report.recent_credit, report.recent_time, report.time})
    if (!IsFigure(figure)) return LeftOutReason::kNotANumber;
  if (!IsGpuClass(report)) return LeftOutReason::kNotGpu;
  if (report.deprecated) return LeftOutReason::kDeprecated;
  if (report.scale.value_or(0) <= 0) return LeftOutReason::kNoScale;
  if (!report.both_kinds) return LeftOutReason::kGpuOnly;
  if (report.samples < rules.min_samples) return LeftOutReason::kFewSamples;
  if (now - report.time > rules.stale_after || now - report.recent_time > rules.stale_after)
    return LeftOutReason::kStale;
  if (!(CreditAt(report, now) > 0)) return LeftOutReason::kNoCredit;
  return std::nullopt;
}

LeftOut LeaveOut(const VersionReport& report, LeftOutReason reason) {
  return {.project = report.project,
          .project_name = report.project_name,
          .app_version = report.app_version,
          .plan_class = report.plan_class,
          .resource = report.resource,
          .reason = reason};
}

// A total order of reports that are numbers, so that ties of (project, version, time) do not depend on the input.
bool ReportOrder(const VersionReport* a, const VersionReport* b) {
  const auto rank = [](const VersionReport& r) {
    return std::tie(r.project, r.app_version, r.time, r.plan_class, r.resource, r.both_kinds, r.deprecated,
                    r.scale, r.samples, r.recent_credit, r.recent_time, r.platform, r.project_name, r.app,
                    r.app_name, r.version_num);
  };
  return rank(*a) < rank(*b);
}

struct Weighted {
  double value = 0;   // finite, above 0; in ReachOfOneProject one item may be 0 or infinite
  double weight = 0;  // finite, above 0
};

// The weighted median in the logarithmic domain. Exactly half of the weight on either side of two values: their
// geometric mean. `items` must not be empty.
double WeightedMedian(std::vector<Weighted> items) {
  std::sort(items.begin(), items.end(), [](const Weighted& a, const Weighted& b) {
    return std::tie(a.value, a.weight) < std::tie(b.value, b.weight);
  });
  double largest = 0;
  for (const Weighted& item : items) largest = std::max(largest, item.weight);
  std::vector<std::uint64_t> units;
  std::uint64_t total = 0;
  for (const Weighted& item : items) {
    // At least one unit: the weight of every item is above 0.
    units.push_back(
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(item.weight / largest * kUnitsOfLargest)));
    total += units.back();
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    sum += units[i];
    if (2 * sum < total) continue;
    if (2 * sum > total || items[i].value == items[i + 1].value) return items[i].value;
    return std::sqrt(items[i].value) * std::sqrt(items[i + 1].value);  // the product could overflow
  }
  COBBLESTONE_CHECK(false, "the median of no values");
  return 0;
}

// The largest weight that keeps every project at or below the share: min(weight, level) <= share x sum of them all.
double CapLevel(std::vector<double> weights, double share) {
  std::sort(weights.begin(), weights.end());
  const std::size_t n = weights.size();
  if (share * static_cast<double>(n) <= 1) return weights.front();  // only equal weights come near the share
  // `capped` of the largest have the level t = share x (capped x t + rest).
  for (std::size_t capped = 0;; ++capped) {
    double rest = 0;
    for (std::size_t i = 0; i + capped < n; ++i) rest += weights[i];
    const double left = 1 - share * static_cast<double>(capped);
    if (left <= 0) return weights[n - capped - 1];
    const double level = share * rest / left;
    if (weights[n - capped - 1] <= level || capped + 1 == n) return level;
  }
}

// The versions of one class that contribute, by project.
using ByProject = std::map<std::uint32_t, std::vector<const VersionReport*>>;

Contribution ContributionOf(const std::vector<const VersionReport*>& versions, double now) {
  Contribution made{.project = versions.front()->project, .project_name = versions.back()->project_name};
  std::vector<Weighted> scales;
  for (const VersionReport* version : versions) {
    const double credit = CreditAt(*version, now);
    scales.push_back({.value = *version->scale, .weight = credit});
    made.credit = std::min(made.credit + credit, kLargestCredit);
    made.versions.push_back(version->app_version);
  }
  made.value = WeightedMedian(std::move(scales));
  return made;
}

void CapWeights(double largest_share, std::vector<Contribution>& contributions) {
  std::vector<double> credits;
  credits.reserve(contributions.size());
  for (const Contribution& one : contributions) credits.push_back(one.credit);
  const double level = CapLevel(std::move(credits), largest_share);
  double sum = 0;
  for (const Contribution& one : contributions) sum += std::min(one.credit, level);
  for (Contribution& one : contributions) one.weight = std::min(one.credit, level) / sum;
}

double MedianOf(const std::vector<Contribution>& contributions) {
  std::vector<Weighted> values;
  values.reserve(contributions.size());
  for (const Contribution& one : contributions) values.push_back({.value = one.value, .weight = one.weight});
  return WeightedMedian(std::move(values));
}

// Limits the step from a computed factor. The default is a guess, so the first target that reports support is in force
// at once.
void SetInForce(const FactorRules& rules, const Factor* before, Factor& factor) {
  if (before == nullptr || !before->is_computed) {
    factor.factor = factor.target;
  } else {
    factor.factor = std::clamp(factor.target, before->factor / rules.slew, before->factor * rules.slew);
  }
  factor.is_computed = !(factor.is_default && factor.factor == factor.target);
}

Factor FactorOf(const ClassKey& key, const ByProject& projects, const FactorRules& rules,
                const Factor* before, double now, std::vector<LeftOut> left_out) {
  Factor factor{.plan_class = key.first, .resource = key.second, .left_out = std::move(left_out)};
  factor.is_default = projects.size() < rules.min_projects;
  if (factor.is_default) {
    factor.target = rules.default_factor;
    for (const auto& [project, versions] : projects)
      for (const VersionReport* version : versions)
        factor.left_out.push_back(LeaveOut(*version, LeftOutReason::kTooFewProjects));
  } else {
    for (const auto& [project, versions] : projects)
      factor.contributions.push_back(ContributionOf(versions, now));
    CapWeights(rules.largest_share, factor.contributions);
    factor.target = MedianOf(factor.contributions);
  }
  SetInForce(rules, before, factor);
  return factor;
}

void SortLeftOut(std::vector<LeftOut>& list) {
  std::sort(list.begin(), list.end(), [](const LeftOut& a, const LeftOut& b) {
    const auto rank = [](const LeftOut& l) {
      return std::tie(l.project, l.app_version, l.plan_class, l.resource, l.reason, l.project_name);
    };
    return rank(a) < rank(b);
  });
}

struct ClassInput {
  ByProject projects;
  std::vector<LeftOut> left_out;
  const Factor* before = nullptr;
};

using Classes = std::map<ClassKey, ClassInput>;

// Puts a report where its reason is shown.
void PutLeftOut(const VersionReport& report, LeftOutReason reason, Classes& classes, Factors& factors) {
  if (IsGpuClass(report))
    classes[{report.plan_class, report.resource}].left_out.push_back(LeaveOut(report, reason));
  else
    factors.left_out.push_back(LeaveOut(report, reason));
}

}  // namespace

std::string_view LeftOutName(LeftOutReason reason) {
  switch (reason) {
    case LeftOutReason::kNotANumber: return "not_a_number";
    case LeftOutReason::kNotGpu: return "not_gpu";
    case LeftOutReason::kDeprecated: return "deprecated";
    case LeftOutReason::kNoScale: return "no_scale";
    case LeftOutReason::kGpuOnly: return "gpu_only";
    case LeftOutReason::kFewSamples: return "few_samples";
    case LeftOutReason::kStale: return "stale";
    case LeftOutReason::kNoCredit: return "no_credit";
    case LeftOutReason::kTooFewProjects: return "too_few_projects";
    case LeftOutReason::kSuperseded: return "superseded";
  }
  return "unknown";
}

std::string_view LeftOutWords(LeftOutReason reason) {
  switch (reason) {
    case LeftOutReason::kNotANumber: return "a figure of the report is negative, infinite or not a number";
    case LeftOutReason::kNotGpu:
      return "the version is for CPUs, or its plan class belongs to no known type of GPU";
    case LeftOutReason::kDeprecated: return "the version is deprecated";
    case LeftOutReason::kNoScale: return "the version has no scale";
    case LeftOutReason::kGpuOnly:
      return "the app has no CPU version with enough samples, which would limit the scale";
    case LeftOutReason::kFewSamples: return "the version has too few samples";
    case LeftOutReason::kStale: return "the report or the recent credit of the version is too old";
    case LeftOutReason::kNoCredit: return "the version has no recent credit";
    case LeftOutReason::kTooFewProjects: return "too few projects contribute to the factor";
    case LeftOutReason::kSuperseded: return "the project has sent a newer report of the version";
  }
  return "unknown reason";
}

Factors ComputeFactors(std::span<const VersionReport> reports, const FactorRules& rules,
                       std::span<const Factor> before, double now) {
  COBBLESTONE_CHECK(rules.slew >= 1, "the slew limit of factors is a ratio of at least 1");
  COBBLESTONE_CHECK(rules.min_projects >= 1, "a factor needs at least one project");
  Factors made;
  Classes classes;
  std::vector<const VersionReport*> numbers;
  for (const VersionReport& report : reports) {
    const auto reason = ReasonToLeaveOut(report, rules, now);
    if (reason == LeftOutReason::kNotANumber)
      PutLeftOut(report, *reason, classes, made);
    else
      numbers.push_back(&report);
  }
  std::sort(numbers.begin(), numbers.end(), ReportOrder);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const VersionReport& report = *numbers[i];
    auto reason = ReasonToLeaveOut(report, rules, now);
    if (i + 1 < numbers.size() && numbers[i + 1]->project == report.project &&
        numbers[i + 1]->app_version == report.app_version)
      reason = LeftOutReason::kSuperseded;
    if (reason)
      PutLeftOut(report, *reason, classes, made);
    else
      classes[{report.plan_class, report.resource}].projects[report.project].push_back(&report);
  }
  for (const Factor& old : before)
    if (old.is_computed || classes.contains({old.plan_class, old.resource}))
      classes[{old.plan_class, old.resource}].before = &old;
  for (auto& [key, input] : classes) {
    made.factors.push_back(
        FactorOf(key, input.projects, rules, input.before, now, std::move(input.left_out)));
    SortLeftOut(made.factors.back().left_out);
  }
  SortLeftOut(made.left_out);
  return made;
}

// Each contributing project in turn reports the smallest and the largest value, with the largest weight. This is enough:
// - The median does not fall if a value rises.
// - A liar's larger weight also raises the level of the cap, and so the weights of other capped projects. Those at or below
//   a value x gain more by it than the liar only if they have more than half of the weight. Then the median is at most x
//   whatever the liar reports; the same holds above x.
// - A new project moves the median upwards by no more than the contributing project with the smallest value does, because
//   that project also takes its own weight away from the lower side; downwards likewise. If a project is silent, the median
//   lies between the medians of its two lies.
std::optional<Reach> ReachOfOneProject(const Factor& factor, const FactorRules& rules) {
  if (factor.is_default || factor.contributions.empty()) return std::nullopt;
  double least = HUGE_VAL;
  double greatest = 0;
  for (std::size_t liar = 0; liar < factor.contributions.size(); ++liar) {
    std::vector<Contribution> lie = factor.contributions;
    lie[liar].credit = kLargestCredit;
    CapWeights(rules.largest_share, lie);
    lie[liar].value = 0;
    least = std::min(least, MedianOf(lie));
    lie[liar].value = HUGE_VAL;
    greatest = std::max(greatest, MedianOf(lie));
  }
  Reach reach{.least = least};
  reach.silence_is_default = factor.contributions.size() <= rules.min_projects;
  if (reach.silence_is_default) {
    reach.least = std::min(least, rules.default_factor);
    greatest = std::max(greatest, rules.default_factor);
  }
  if (std::isfinite(greatest)) reach.greatest = greatest;
  return reach;
}

}  // namespace cobblestone::federation
