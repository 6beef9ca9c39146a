#include "services/metrics/ledger_families.h"

#include <cctype>

namespace cobblestone::metrics {
namespace {

double Count(std::uint64_t n) { return static_cast<double>(n); }

// Adds the relative change since the previous epoch: 0.1 is an increase by a tenth.
void AddDrift(Families::Family& family, const Labels& labels, double now, double before) {
  if (now > 0 && before > 0) family.Add(labels, now / before - 1);
}

std::string Lower(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

void AddScales(const std::map<ProjectId, ProjectScales>& projects, Families* all) {
  auto epoch = all->Gauge("cobblestone_scale_epoch", "Number of the epoch of scales in force.");
  auto time = all->Gauge("cobblestone_scale_epoch_timestamp_seconds",
                         "Event time of the epoch of scales in force, UNIX time.");
  auto least = all->Gauge("cobblestone_app_min_avg_pfc",
                          "The app's X: the lowest mean PFC of its versions; all versions are scaled to X.");
  auto least_drift = all->Gauge("cobblestone_app_min_avg_pfc_drift_ratio",
                                "Relative change of the app's X since the previous epoch; 0.1: 10 % up.");
  auto mean = all->Gauge("cobblestone_app_pfc_mean", "Mean PFC of the app's versions for a kind of device.");
  auto scale = all->Gauge("cobblestone_version_scale", "Scale of an app version; absent without a scale.");
  auto scale_drift =
      all->Gauge("cobblestone_version_scale_drift_ratio",
                 "Relative change of a version's scale since the previous epoch; 0.1: 10 % up.");
  for (const auto& [project, scales] : projects) {
    if (scales.now.epoch == 0) continue;
    const std::string id = std::to_string(project.value);
    epoch.Add({{"project", id}}, Count(scales.now.epoch));
    time.Add({{"project", id}}, scales.now.time);
    for (const auto& [number, app] : scales.now.apps) {
      const Labels labels{{"project", id}, {"app", std::to_string(number)}};
      if (app.defined) {
        least.Add(labels, app.min_avg_pfc);
        const auto before = scales.before.apps.find(number);
        if (before != scales.before.apps.end() && before->second.defined)
          AddDrift(least_drift, labels, app.min_avg_pfc, before->second.min_avg_pfc);
      }
      for (const auto& [device, value] : {std::pair{"cpu", app.cpu_mean}, std::pair{"gpu", app.gpu_mean}})
        if (value > 0) mean.Add({labels[0], labels[1], {"device", device}}, value);
    }
    for (const auto& [number, version] : scales.now.versions) {
      if (version.scale <= 0) continue;
      const Labels labels{{"project", id},
                          {"app_version", std::to_string(static_cast<std::int64_t>(number))}};
      scale.Add(labels, version.scale);
      const auto before = scales.before.versions.find(number);
      if (before != scales.before.versions.end())
        AddDrift(scale_drift, labels, version.scale, before->second.scale);
    }
  }
}

}  // namespace

void AddLedger(const LedgerCounts& counts, Families* all) {
  auto grants = all->Counter("cobblestone_grants_total", "Grants to results since the process started.");
  auto credit = all->Counter("cobblestone_credit_granted_total",
                             "Credit granted to results since the process started, in Cobblestones.");
  auto claims = all->Counter("cobblestone_claims_total",
                             "Claims of valid results that were priced since the process started.");
  auto probation =
      all->Counter("cobblestone_claims_on_probation_total",
                   "Claims of valid results from hosts on probation for the app version, since the "
                   "process started.");
  auto rising =
      all->Counter("cobblestone_hosts_to_watch_total",
                   "Alarms of policy robust since the process started: the reports of a host keep rising.");
  for (const auto& [key, app] : counts.apps) {
    const Labels labels{{"project", std::to_string(key.first.value)},
                        {"app", std::to_string(key.second.value)}};
    grants.Add(labels, Count(app.grants));
    credit.Add(labels, static_cast<double>(app.credit_micro) / 1e6);
    claims.Add(labels, Count(app.claims));
    probation.Add(labels, Count(app.claims_on_probation));
    rising.Add(labels, Count(app.rising));
  }
  auto watched =
      all->Gauge("cobblestone_host_to_watch_timestamp_seconds",
                 "Event time of the newest alarm of a host; the 100 hosts with the newest alarms.");
  for (const auto& [key, time] : counts.watched) {
    watched.Add({{"project", std::to_string(std::get<0>(key).value)},
                 {"app", std::to_string(std::get<1>(key).value)},
                 {"host", std::to_string(std::get<2>(key).value)}},
                time);
  }
  auto refused =
      all->Counter("cobblestone_refused_total",
                   "Records refused since the process started; project 0: records without a project.");
  for (const auto& [key, count] : counts.refused)
    refused.Add({{"project", std::to_string(key.first.value)},
                 {"reason", Lower(wire::RefusalReasonName(key.second))}},
                Count(count));
  AddScales(counts.scales, all);
}

}  // namespace cobblestone::metrics
