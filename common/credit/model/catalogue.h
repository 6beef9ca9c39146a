// A project's apps, app versions and settings, and the scales that the coordinator published. Values. All
// stages hold equal values at the same place of their input, because the values arrive as broadcasts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/model/constants.h"
#include "common/credit/model/model.h"
#include "common/credit/trickles/trickle_rule.h"

namespace cobblestone::credit {

struct PolicyVersion {
  PolicyKind kind = PolicyKind::kCreditNew;
  std::uint32_t version = 1;
  Constants constants;
  std::vector<TrickleRule> trickles;  // one for each variety
  TrickleSettlement settlement = TrickleSettlement::kKeep;

  [[nodiscard]] bool SameRules(const PolicyVersion& other) const {
    return kind == other.kind && constants == other.constants && trickles == other.trickles &&
           settlement == other.settlement;
  }
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.kind, s.version, s.constants, s.trickles, s.settlement);
  }
};

struct AppRow {
  AppId id;
  std::string name;
  PolicyVersion policy;
  std::uint32_t target_nresults = 1;
  std::optional<double> min_avg_pfc;  // start value
  bool host_scale_check = false;
  double delay_bound = 0;    // s
  double result_window = 0;  // s; 0: default rule
  bool deleted = false;

  // Time after the sent time for which results and workunits of this app are remembered, s
  // (docs/rules.md, section 23).
  [[nodiscard]] double Window() const;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.id, s.name, s.policy, s.target_nresults, s.min_avg_pfc, s.host_scale_check, s.delay_bound,
      s.result_window, s.deleted);
  }
};

struct AppVersionRow {
  std::uint64_t id = 0;
  AppId app;
  std::uint32_t version_num = 0;
  std::uint64_t platform = 0;
  std::string plan_class;
  Resource resource = Resource::kUnknown;  // unknown: IsGpu() uses the plan class
  bool deprecated = false;
  bool deleted = false;

  [[nodiscard]] bool IsGpu() const;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.id, s.app, s.version_num, s.platform, s.plan_class, s.resource, s.deprecated, s.deleted);
  }
};

struct ProjectSettings {
  double max_granted_credit = 0;  // Cobblestones; 0: no cap
  double daily_result_quota = kDefaultDailyResultQuota;
  double scale_period = kDefaultScalePeriod;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.max_granted_credit, s.daily_result_quota, s.scale_period);
  }
};

// Scales in force for one version. `cached_*`: for boinc, the copy in the validator's memory (golden README,
// items 3, 24); without a copy the first use reads the stored values. For other policies with the option
// version_median: the median over hosts.
struct VersionScale {
  Average pfc;       // as stored
  double scale = 0;  // 0: none
  bool cached = false;
  Average cached_pfc;
  double cached_scale = 0;
  double expavg_credit = 0;
  double expavg_time = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.pfc, s.scale, s.cached, s.cached_pfc, s.cached_scale, s.expavg_credit, s.expavg_time);
  }
};

struct AppScale {
  bool defined = false;  // whether min_avg_pfc is defined
  double min_avg_pfc = 0;
  double cpu_mean = 0;
  double gpu_mean = 0;
  double npfc_weight = 0;  // creditnew-v2: sum of E
  double npfc_mean = 0;    // creditnew-v2: NPFC*(A), normalised by E
  double claim_n = 0;      // mean and variance of the claims, Cobblestones
  double claim_mean = 0;
  double claim_var = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.defined, s.min_avg_pfc, s.cpu_mean, s.gpu_mean, s.npfc_weight, s.npfc_mean, s.claim_n, s.claim_mean,
      s.claim_var);
  }
};

// The scales of one epoch.
struct ScaleTable {
  std::uint64_t epoch = 0;
  double time = 0;
  std::map<std::uint64_t, VersionScale> versions;  // by app version
  std::map<std::uint64_t, AppScale> apps;          // by app

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.epoch, s.time, s.versions, s.apps);
  }
};

struct Catalogue {
  ProjectSettings settings;
  std::map<std::uint64_t, AppRow> apps;
  std::map<std::uint64_t, AppVersionRow> versions;   // deleted ones leave the map
  std::map<std::string, double> plan_class_factors;  // from the hub

  [[nodiscard]] const AppRow* FindApp(AppId app) const;
  [[nodiscard]] const AppVersionRow* FindVersion(
      AppVersionId version) const;  // none for anonymous and deleted

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.settings, s.apps, s.versions, s.plan_class_factors);
  }
};

// Inputs of a decision about one result, besides the host.
struct InForce {
  ProjectId project;
  const Catalogue& catalogue;
  const ScaleTable& scales;
};

}  // namespace cobblestone::credit
