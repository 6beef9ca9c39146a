#include "common/credit/policies/boinc_rows.h"

#include <algorithm>
#include <cmath>

#include "common/credit/model/average.h"
#include "common/credit/policies/boinc_quirks.h"
#include "common/credit/policies/host_rows.h"

namespace cobblestone::credit {
namespace {

constexpr double kTurnaroundKeep = 0.7;  // item 20
constexpr double kTurnaroundAdd = 0.3;

bool SameRow(const HostVersion& row, AppId app, AppVersionId version) {
  return row.version == version && (!version.anonymous() || row.app == app);
}

HostVersion EmptyRow(AppId app, AppVersionId version) {
  HostVersion row;
  row.app = app;
  row.version = version;
  return row;
}

// The host's row of the same app, platform and plan class with the highest version number.
const HostVersion* RowToTakeOver(const AppVersionRow& version, const Catalogue& catalogue,
                                 const HostRecord& host) {
  const HostVersion* best = nullptr;
  std::uint32_t best_number = 0;
  for (const HostVersion& row : host.versions) {
    const AppVersionRow* other = catalogue.FindVersion(row.version);
    if (other == nullptr || other->app != version.app || other->platform != version.platform ||
        other->plan_class != version.plan_class) {
      continue;
    }
    if (best == nullptr || other->version_num > best_number) {
      best = &row;
      best_number = other->version_num;
    }
  }
  return best;
}

bool IsFiniteRow(const HostVersion& row) {
  return IsFinite(row.pfc) && IsFinite(row.et) && IsFinite(row.turnaround) &&
         std::isfinite(row.consecutive_valid) && std::isfinite(row.max_jobs_per_day);
}

// The row before this pass over the workunit. The first result of a pass stores the row.
const HostVersion& BeforeThisLook(const ValidationFacts& validation, const HostVersion& now,
                                  HostRecord& host) {
  for (RowBefore& before : host.rows_before) {
    if (!SameRow(before.row, now.app, now.version)) continue;
    if (before.workunit != validation.workunit || before.pass != validation.pass) {
      before = {.workunit = validation.workunit, .pass = validation.pass, .row = now};
    }
    return before.row;
  }
  host.rows_before.push_back({.workunit = validation.workunit, .pass = validation.pass, .row = now});
  return host.rows_before.back().row;
}

// An error may name only the version; its app is then the version's app.
const AppRow* AppRowOf(const CompletionFacts& completion, const Catalogue& catalogue) {
  if (completion.app) return catalogue.FindApp(completion.app);
  const AppVersionRow* version = catalogue.FindVersion(completion.version);
  return version == nullptr ? nullptr : catalogue.FindApp(version->app);
}

double ReducedQuota(double max_jobs_per_day, const ProjectSettings& settings) {
  return std::max(std::min(max_jobs_per_day, settings.daily_result_quota) - 1, 1.0);
}

}  // namespace

BoincRow BoincRow::Find(AppId app, AppVersionId version, const Catalogue& catalogue, HostRecord& host) {
  BoincRow found;
  if (const HostVersion* row = FindHostVersion(host, app, version)) {
    found.row = *row;
    found.exists_ = true;
    return found;
  }
  if (version.anonymous()) {
    if constexpr (quirks::kNoAnonymousRows) return found;
    host.versions.push_back(EmptyRow(app, version));
  } else {
    const AppVersionRow* in_catalogue = catalogue.FindVersion(version);
    if (in_catalogue == nullptr) return found;
    if (const HostVersion* older = RowToTakeOver(*in_catalogue, catalogue, host)) {
      HostVersion& taken = host.versions[static_cast<std::size_t>(older - host.versions.data())];
      taken.version = version;
      found.row = taken;
      found.exists_ = true;
      found.taken_over_ = quirks::kTakeOverLosesFirst;
      return found;
    }
    host.versions.push_back(EmptyRow(in_catalogue->app, version));
  }
  found.row = host.versions.back();
  found.exists_ = true;
  return found;
}

BoincRow BoincRow::ForResult(const CompletionFacts& completion, const ValidationFacts& validation,
                             const Catalogue& catalogue, HostRecord& host) {
  BoincRow found = Find(completion.app, completion.version, catalogue, host);
  if (quirks::kLaterWriteWins && found.exists_ && !validation.late) {
    found.row = BeforeThisLook(validation, found.row, host);
  }
  return found;
}

BoincRow BoincRow::ForHost(const CompletionFacts& completion, const Catalogue& catalogue, HostRecord& host) {
  return Find(completion.app, completion.version, catalogue, host);
}

void BoincRow::Store(HostRecord& host) const {
  if (!exists_ || taken_over_ || !IsFiniteRow(row)) return;
  if (HostVersion* stored = FindHostVersion(host, row.app, row.version)) *stored = row;
}

std::optional<HostVersion> NextRow(const HostRecord& host, AppId app, AppVersionId version,
                                   const Catalogue& catalogue) {
  if (const HostVersion* row = FindHostVersion(host, app, version)) return *row;
  const AppVersionRow* in_catalogue = catalogue.FindVersion(version);
  if (in_catalogue == nullptr) return std::nullopt;
  const HostVersion* older = RowToTakeOver(*in_catalogue, catalogue, host);
  if (older == nullptr) return std::nullopt;
  HostVersion row = *older;
  row.version = version;
  return row;
}

void LookAtRow(const CompletionFacts& completion, const Catalogue& catalogue, HostRecord& host) {
  static_cast<void>(BoincRow::ForHost(completion, catalogue, host));  // creates or takes over the row
}

void CountValid(bool unreplicated, HostVersion& row) {
  if (!unreplicated) row.consecutive_valid += 1;
  row.max_jobs_per_day += 1;
}

void CountInvalid(const ProjectSettings& settings, HostVersion& row) {
  row.consecutive_valid = 0;
  if (row.max_jobs_per_day > settings.daily_result_quota) row.max_jobs_per_day -= 1;
}

void CountTurnaround(double turnaround, HostRecord& host) {
  if (host.avg_turnaround == 0) {  // the first value, and again whenever the mean is 0
    host.avg_turnaround = turnaround;
  } else {
    host.avg_turnaround = kTurnaroundKeep * host.avg_turnaround + kTurnaroundAdd * turnaround;
  }
}

void CountFailure(const CompletionFacts& attempt, const Catalogue& catalogue, HostRecord& host) {
  switch (attempt.outcome) {
    case Outcome::kClientError:
    case Outcome::kAbortedByUser:
    case Outcome::kAbortedByProject: {
      HostVersion* row = FindHostVersion(host, attempt.app, attempt.version);
      if (row == nullptr) return;
      row->max_jobs_per_day = ReducedQuota(row->max_jobs_per_day, catalogue.settings);
      row->consecutive_valid = 0;
      return;
    }
    case Outcome::kTimeout: {
      const AppRow* app = AppRowOf(attempt, catalogue);
      if (app == nullptr) return;
      BoincRow found = BoincRow::ForHost(attempt, catalogue, host);
      if (!found.exists()) return;
      HostVersion& row = found.row;
      if (row.max_jobs_per_day == 0) row.max_jobs_per_day = catalogue.settings.daily_result_quota;
      row.max_jobs_per_day = ReducedQuota(row.max_jobs_per_day, catalogue.settings);
      row.consecutive_valid = 0;
      const double delay_bound = attempt.delay_bound > 0 ? attempt.delay_bound : app->delay_bound;
      AddSample(HostAverageRule(app->policy.constants, app->policy.kind), delay_bound, row.turnaround);
      found.Store(host);
      return;
    }
    case Outcome::kUnknown:
    case Outcome::kSuccess: return;
  }
}

}  // namespace cobblestone::credit
