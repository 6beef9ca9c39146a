// Factors of plan classes over many projects (docs/rules.md, section 53; source: S000, "Cross-project version
// normalization"). A project whose app has only GPU versions scales these versions by the factor of their plan class,
// so that its work earns what the same work earns where CPU versions limit the scale.
//
// Pure: the reports, the rules, the factors before and `now` determine every bit of the result. The order of the
// reports does not matter. No logarithm is needed: a median depends on the order of the values only, and the midpoint
// of two values in the logarithmic domain is the root of their product.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/credit/model/model.h"

namespace cobblestone::federation {

// What a project publishes about one app version.
struct VersionReport {
  std::uint32_t project = 0;  // number at the hub
  std::string project_name;
  std::uint64_t app = 0;
  std::string app_name;
  std::uint64_t app_version = 0;  // unique in the project
  std::uint32_t version_num = 0;
  std::string platform;
  std::string plan_class;
  credit::Resource resource = credit::Resource::kUnknown;
  double samples = 0;           // of the version's average of PFC
  std::optional<double> scale;  // absent: none
  double recent_credit = 0;     // Cobblestones per day, as of recent_time
  double recent_time = 0;       // UNIX s
  bool both_kinds = false;      // the app has CPU and GPU versions above the threshold of samples
  bool deprecated = false;
  double time = 0;  // of the report, UNIX s

  friend bool operator==(const VersionReport&, const VersionReport&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.project, s.project_name, s.app, s.app_name, s.app_version, s.version_num, s.platform, s.plan_class,
      s.resource, s.samples, s.scale, s.recent_credit, s.recent_time, s.both_kinds, s.deprecated, s.time);
  }
};

struct FactorRules {
  double min_samples = 100;           // a version with fewer is left out
  std::uint32_t min_projects = 3;     // at least 1; with fewer the factor is the default
  double largest_share = 0.2;         // of one project's weight, above 0; with n projects at least 1 / n
  double stale_after = 30 * 86400.0;  // s: age of a report, or of its recent credit, at which it is left out
  double slew = 1.1;                  // at least 1: the largest ratio of a factor to the one before
  double default_factor = 0.1;        // BOINC's

  friend bool operator==(const FactorRules&, const FactorRules&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.min_samples, s.min_projects, s.largest_share, s.stale_after, s.slew, s.default_factor);
  }
};

// Why a version does not contribute. Frozen numbers: stored and published. If several apply: kNotANumber, else
// kSuperseded, else the first of the list.
enum class LeftOutReason : std::uint8_t {
  kNotANumber = 1,  // a figure is not finite or is negative
  kNotGpu = 2,      // a CPU version, no plan class, or a plan class of no known GPU
  kDeprecated = 3,
  kNoScale = 4,
  kGpuOnly = 5,  // its scale is itself a factor of the hub, or unlimited
  kFewSamples = 6,
  kStale = 7,           // the report or its recent credit is too old
  kNoCredit = 8,        // its weight would be zero
  kTooFewProjects = 9,  // it would contribute if more projects did
  kSuperseded = 10,     // the project has sent a newer report of the version
};
// "no_scale": for JSON. "unknown" for other numbers.
std::string_view LeftOutName(LeftOutReason reason);
// "the version has no scale yet": for people.
std::string_view LeftOutWords(LeftOutReason reason);

struct LeftOut {
  std::uint32_t project = 0;
  std::string project_name;
  std::uint64_t app_version = 0;
  std::string plan_class;
  credit::Resource resource = credit::Resource::kUnknown;
  LeftOutReason reason = LeftOutReason::kNotANumber;

  friend bool operator==(const LeftOut&, const LeftOut&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.project, s.project_name, s.app_version, s.plan_class, s.resource, s.reason);
  }
};

// One project's part in a factor.
struct Contribution {
  std::uint32_t project = 0;
  std::string project_name;
  double credit = 0;  // weight before the cap: recent credit of the versions, decayed to one instant
  double weight = 0;  // share after the cap; the shares of a factor add up to 1
  double value = 0;   // the project's scale for the plan class
  std::vector<std::uint64_t> versions;  // app versions used, ascending

  friend bool operator==(const Contribution&, const Contribution&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.project, s.project_name, s.credit, s.weight, s.value, s.versions);
  }
};

struct Factor {
  std::string plan_class;
  credit::Resource resource = credit::Resource::kUnknown;
  double factor = 0;        // in force
  double target = 0;        // before the slew limit
  bool is_default = false;  // too few projects contribute: `target` is the default
  // False: `factor` is the default and does not come from reports; the next target is in force at once.
  bool is_computed = false;
  std::vector<Contribution> contributions;  // ascending by project; empty if is_default
  std::vector<LeftOut> left_out;            // ascending by project and app version

  friend bool operator==(const Factor&, const Factor&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.plan_class, s.resource, s.factor, s.target, s.is_default, s.is_computed, s.contributions, s.left_out);
  }
};

// Between which targets one project alone could have moved a factor, all other reports as they were. The project is a
// contributing one or a new one. It may report any scale and any recent credit, or fall silent.
struct Reach {
  double least = 0;                // 0: no bound, one project decides
  std::optional<double> greatest;  // absent: no bound
  // Exactly `min_projects` contribute, so the silence of one makes the default the target. The bounds include it.
  bool silence_is_default = false;

  friend bool operator==(const Reach&, const Reach&) = default;
};

struct Factors {
  std::vector<Factor> factors;  // ascending by (plan_class, resource)
  // Of no GPU plan class (kNotGpu), ascending by project and app version.
  std::vector<LeftOut> left_out;

  friend bool operator==(const Factors&, const Factors&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.factors, s.left_out);
  }
};

// The factors of one epoch of the hub, at `now` (UNIX s, finite). `before`: Factors::factors of the epoch before, in any
// order; empty in the first. A class appears if a report names it, or if its factor before was computed.
Factors ComputeFactors(std::span<const VersionReport> reports, const FactorRules& rules,
                       std::span<const Factor> before, double now);

// Of a factor of ComputeFactors with the same rules. Absent if is_default: then no report counts. It is about the target;
// the factor in force follows in steps of at most `slew`, so it stays between the same bounds once it has reached the target.
std::optional<Reach> ReachOfOneProject(const Factor& factor, const FactorRules& rules);

}  // namespace cobblestone::federation
