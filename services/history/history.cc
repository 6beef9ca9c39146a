#include "services/history/history.h"

#include <algorithm>
#include <cmath>

namespace cobblestone::history {
namespace {

// PFC/E beyond these limits is a broken measurement (BOINC's is_pfc_sane).
constexpr double kLeastRatio = 1e-4;
constexpr double kGreatestRatio = 1e4;
constexpr std::int64_t kAnonymousCpu = -2;

// splitmix64: neighbouring workunits are kept or dropped independently.
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

void History::TakeApp(const credit::AppRow& app) { apps_[app.id.value] = app; }

void History::TakeVersion(const credit::AppVersionRow& version) {
  gpu_versions_[version.id] = version.IsGpu();
}

bool History::IsGpu(AppVersionId version) const {
  if (version.anonymous()) return version.value != kAnonymousCpu;
  const auto found = gpu_versions_.find(static_cast<std::uint64_t>(version.value));
  return found != gpu_versions_.end() && found->second;
}

void History::Keep(const ResultRow& row) {
  if (Mix(row.workunit) % every_ != 0) return;
  rows_.push_back(row);
  while (rows_.size() > kMostRows) {
    every_ *= 2;
    std::erase_if(rows_, [&](const ResultRow& old) { return Mix(old.workunit) % every_ != 0; });
  }
}

void History::TakeResult(AppId app, credit::PolicyKind policy, const ValidResult& result) {
  ++results_[app.value];
  if (any_app_ && !app_) app_ = app;
  if (app != app_) return;
  policies_.insert(policy);
  ++hosts_[result.host.value].valid;
  users_.insert(result.user.value);
  const double ratio = result.elapsed_time * result.peak_flops / result.fpops_est;
  if (!(ratio >= kLeastRatio && ratio <= kGreatestRatio)) {
    ++left_out_;
    return;
  }
  Keep({.workunit = result.workunit.value,
        .host = result.host.value,
        .version = result.version.value,
        .replicas = result.replicas,
        .log_ratio = std::log(ratio),
        .fpops_est = static_cast<float>(result.fpops_est),
        .bound_factor = static_cast<float>(result.fpops_bound / result.fpops_est),
        .delay_bound = static_cast<float>(result.delay_bound),
        .turnaround = static_cast<float>(result.turnaround),
        .elapsed = static_cast<float>(result.elapsed_time),
        .cpu_efficiency = static_cast<float>(result.cpu_time / result.elapsed_time),
        .peak_flops = static_cast<float>(result.peak_flops)});
}

void History::TakeEnd(AppId app, HostId host, const credit::CompletionFacts& facts) {
  if (!Wants(app)) return;
  using credit::Outcome;
  // The project's own decision says nothing about the host.
  if (facts.outcome == Outcome::kUnknown || facts.cancelled) return;
  HostJobs& jobs = hosts_[host.value];
  ++jobs.ended;
  ++ended_;
  switch (facts.outcome) {
    case Outcome::kClientError: ++jobs.failed; break;
    case Outcome::kTimeout:
      ++jobs.failed;
      ++jobs.timed_out;
      break;
    case Outcome::kAbortedByUser:
    case Outcome::kAbortedByProject: ++jobs.aborted; break;
    default: break;
  }
}

void History::TakeJudgement(AppId app, bool valid) {
  if (!Wants(app)) return;
  ++judged_;
  if (!valid) ++invalid_;
}

std::string History::NameOf(std::uint64_t app) const {
  const auto found = apps_.find(app);
  return found == apps_.end() ? "" : found->second.name;
}

double History::delay_bound() const {
  const auto found = apps_.find(app_.value);
  return found == apps_.end() ? 0 : found->second.delay_bound;
}

std::set<credit::PolicyKind> History::policies() const {
  std::set<credit::PolicyKind> all = policies_;
  const auto found = apps_.find(app_.value);
  if (found != apps_.end()) all.insert(found->second.policy.kind);
  return all;
}

double History::WhetstoneOf(std::uint64_t host) const {
  const auto found = whetstones_.find(host);
  return found == whetstones_.end() ? 0 : found->second;
}

}  // namespace cobblestone::history
