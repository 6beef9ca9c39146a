#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/credit/model/constants.h"
#include "common/credit/policies/policy.h"
#include "common/credit/policies/reliability.h"
#include "common/credit/policies/robust.h"
#include "common/wire/control/topics.h"
#include "services/accounts/accounts_stage.h"
#include "services/claims/state.h"
#include "services/view/json.h"
#include "services/view/project_now.h"

namespace cobblestone::view {

using nlohmann::json;

namespace {

json HostVersionJson(const credit::HostVersion& row) {
  json j{{"app", row.app.value},
         {"app_version", row.version.value},
         {"pfc", AverageJson(row.pfc)},
         {"et", AverageVarJson(row.et)},
         {"turnaround", AverageVarJson(row.turnaround)},
         {"consecutive_valid", Number(row.consecutive_valid)},
         {"max_jobs_per_day", Number(row.max_jobs_per_day)},
         {"error_rate", Number(row.error_rate)},
         {"host_scale_time", Number(row.host_scale_time)},
         {"scale_probation", row.scale_probation},
         {"jobs_today", Number(row.jobs_today)}};
  if (row.et.n > 0 && row.et.mean > 0) j["flops_estimate"] = Number(1 / row.et.mean);
  return j;
}

// A job's runtime is its FLOPs divided by `flops` (FLOP/s); `basis`: the source of the value.
struct Speed {
  double flops = 0;
  const char* basis = "";
};

Speed SpeedOf(const credit::HostVersion* row, const credit::VersionScale* version, double peak_flops,
              const credit::Constants& constants) {
  if (row != nullptr && row->et.n >= constants.host_scale_min_samples && row->et.mean > 0)
    return {1 / row->et.mean, "host_version"};
  // PFC/E of the version: peak FLOPs of a device per FLOP of the job.
  if (version != nullptr && version->pfc.n >= constants.version_average_samples && version->pfc.mean > 0)
    return {peak_flops / version->pfc.mean, "app_version"};
  return {peak_flops, "benchmark"};
}

const char* ReasonOf(credit::ReplicationAdvice replication) {
  switch (replication) {
    case credit::ReplicationAdvice::kUnknown:
      return "the host has not returned results of this app version yet";
    case credit::ReplicationAdvice::kErrors: return "the host's error rate with this app version is too high";
    case credit::ReplicationAdvice::kTooFewValid:
      return "too few consecutive valid results since the host's first result or last error";
    case credit::ReplicationAdvice::kSingle: return "";
  }
  return "";
}

// The host's record of the app, over all versions, that policy `robust` prices and advises by. A host without one has not
// returned a result of the app since the app took the policy.
const credit::HostApp* FindHostApp(const credit::HostRecord& host, AppId app) {
  for (const credit::HostApp& row : host.apps) {
    if (row.app == app) return &row;
  }
  return nullptr;
}

bool IsRobust(const credit::Catalogue& catalogue, AppId app) {
  const credit::AppRow* row = catalogue.FindApp(app);
  return row != nullptr && row->policy.kind == credit::PolicyKind::kRobust;
}

const credit::Agreement* FindAgreement(const accounts::HostAccount& account, AppId app) {
  for (const credit::Agreement& row : account.agreements) {
    if (row.app == app) return &row;
  }
  return nullptr;
}

// Valid replicated results of the host: with the version since its last failure or invalid result with it, and in the app
// since its last invalid one, whichever are fewer.
std::uint32_t RunOfValidResults(const credit::HostApp* of_app, const credit::HostVersion* of_version) {
  if (of_app == nullptr || of_version == nullptr) return 0;
  const double run = std::min<double>(of_version->consecutive_valid, of_app->replicated_valid);
  return static_cast<std::uint32_t>(std::clamp<double>(run, 0, credit::kHighestStanding));
}

}  // namespace

Result<json> Questions::HostVersions(ProjectId project, HostId host, std::optional<AppVersionId> version,
                                     AppId app) {
  const auto rows = Of(Stage::kClaims, project, host.value);
  if (!rows.ok()) return rows.status();
  const auto state = Find(**rows, claims::kHostsTable, KeyOf(project, host.value));
  if (!state.ok()) return state.status();
  json list = json::array();
  if (*state) {
    const auto now = Now(project);
    std::optional<accounts::HostAccount> account;  // looked for if an app needs it
    for (const credit::HostVersion& row : (*state)->record.versions) {
      if ((version && row.version != *version) || (app && row.app != app)) continue;
      json j = HostVersionJson(row);
      j["project"] = project.value;
      j["host"] = host.value;
      const credit::HostApp* of_app = FindHostApp((*state)->record, row.app);
      if (of_app != nullptr && now.ok() && IsRobust((*now)->state.catalogue, row.app)) {
        if (!account) {
          auto found = HostAccount(project, host, (*state)->record.user);
          if (!found.ok()) return found.status();
          account = *std::move(found);
        }
        const double vouch =
            credit::ResultsThatVouch(of_app, FindAgreement(*account, row.app),
                                     (*now)->state.catalogue.FindApp(row.app)->policy.constants);
        j["failure_rate"] = Number(of_app->error_rate);
        j["results_that_vouch"] = Number(vouch);
        j["replication_probability"] = Number(credit::ReplicationProbability(vouch));
        j["standing"] = credit::StandingOf(vouch, RunOfValidResults(of_app, &row));
      }
      list.push_back(std::move(j));
    }
  }
  if (list.empty() && (version || !*state))
    return Status::NotFound("host " + std::to_string(host.value) + " has no record" +
                            (version ? " of app version " + std::to_string(version->value) : std::string()) +
                            " in project " + std::to_string(project.value));
  return json{{"rows", list}};
}

Result<json> Questions::Estimate(ProjectId project, const Job& job) {
  const auto now = Now(project);
  if (!now.ok()) return now.status();
  const credit::Catalogue& catalogue = (*now)->state.catalogue;
  const credit::AppVersionRow* known = catalogue.FindVersion(job.version);
  if (known == nullptr && !job.version.anonymous())
    return Status::NotFound("project " + std::to_string(project.value) + " has no app version " +
                            std::to_string(job.version.value));
  const credit::AppRow* app = catalogue.FindApp(known != nullptr ? known->app : job.app);
  if (app == nullptr)
    return Status::NotFound("project " + std::to_string(project.value) + " has no app " +
                            std::to_string(job.app.value) +
                            "; the anonymous platform has one record per app: set the app");
  const auto rows = Of(Stage::kClaims, project, job.host.value);
  if (!rows.ok()) return rows.status();
  const auto host = Find(**rows, claims::kHostsTable, KeyOf(project, job.host.value));
  if (!host.ok()) return host.status();
  if (!*host || !(*host)->record.known)
    return Status::NotFound("project " + std::to_string(project.value) + " has no host " +
                            std::to_string(job.host.value));
  const credit::HostRecord& record = (*host)->record;
  const credit::Constants& constants = app->policy.constants;
  const std::optional<credit::HostVersion> next =
      credit::PolicyFor(app->policy.kind).NextRecord(record, app->id, job.version, catalogue);
  const credit::HostVersion* row = next ? &*next : nullptr;
  const auto& scales = (*now)->state.scales.table.versions;
  const auto scale =
      job.version.anonymous() ? scales.end() : scales.find(static_cast<std::uint64_t>(job.version.value));
  const Speed speed = SpeedOf(row, scale != scales.end() ? &scale->second : nullptr,
                              job.peak_flops > 0 ? job.peak_flops : record.whetstone, constants);
  const double full =
      credit::FullQuota(catalogue.settings, record, credit::IsGpuVersion(job.version, catalogue));
  const auto today = static_cast<std::int64_t>(std::floor(clock() / credit::kSecondsPerDay));
  const credit::HostVersion fresh;
  const credit::HostVersion& quota = row != nullptr ? *row : fresh;
  const credit::ReplicationAdvice replication = credit::ReplicationOf(row, constants);
  json j{{"host", job.host.value},
         {"app", app->id.value},
         {"app_version", job.version.value},
         {"flops", Number(speed.flops)},
         {"basis", speed.basis},
         {"error_rate", Number(row != nullptr ? row->error_rate : constants.error_rate_initial)},
         {"max_jobs_per_day", Number(quota.max_jobs_per_day > 0 ? quota.max_jobs_per_day : full)},
         {"jobs_today", Number(quota.day == today ? quota.jobs_today : 0)},
         {"quota_left", Number(credit::JobsLeft(quota, today, full))},
         {"consecutive_valid", Number(quota.consecutive_valid)},
         {"single_replication", replication == credit::ReplicationAdvice::kSingle}};
  if (job.fpops_est > 0) {
    j["fpops_est"] = Number(job.fpops_est);
    j["runtime_s"] = speed.flops > 0 ? Number(job.fpops_est / speed.flops) : json();
  }
  if (app->policy.kind == credit::PolicyKind::kRobust) {
    const auto account = HostAccount(project, job.host, record.user);
    if (!account.ok()) return account.status();
    const credit::HostApp* of_app = FindHostApp(record, app->id);
    const double vouch = credit::ResultsThatVouch(of_app, FindAgreement(*account, app->id), constants);
    j["replication_probability"] = Number(credit::ReplicationProbability(vouch));
    j["standing"] = credit::StandingOf(vouch, RunOfValidResults(of_app, row));
  }
  if (row != nullptr && row->turnaround.n > 0) j["turnaround_s"] = Number(row->turnaround.mean);
  if (replication != credit::ReplicationAdvice::kSingle) j["reason"] = ReasonOf(replication);
  return j;
}

Result<json> Questions::SchedulerReply(ProjectId project, HostId host) {
  const auto found = HostOf(project, host);
  if (!found.ok()) return found;
  if (found->is_null())
    return Status::NotFound("project " + std::to_string(project.value) + " has no host " +
                            std::to_string(host.value));
  json j{{"host_total_credit", (*found)["shown"]},
         {"host_expavg_credit", (*found)["rac_now"]},
         {"expavg_time", (*found)["rac_now_time"]}};
  const UserId owner((*found)["user"].get<std::uint64_t>());
  if (!owner) return j;
  const auto user = UserAccount(project, owner);
  if (!user.ok()) return user;
  if (user->is_null()) return j;
  j["user_name"] = (*user)["name"];
  j["user_total_credit"] = (*user)["shown"];
  j["user_expavg_credit"] = (*user)["rac_now"];
  if (user->contains("create_time")) j["user_create_time"] = (*user)["create_time"];
  j["team_name"] = user->value("team_name", "");
  return j;
}

}  // namespace cobblestone::view
