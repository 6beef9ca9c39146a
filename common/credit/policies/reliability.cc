#include "common/credit/policies/reliability.h"

#include <algorithm>
#include <cmath>

namespace cobblestone::credit {
namespace {

// docs/rules.md, section 44: an exponential average of failures; each failure adds error_rate_add.
void RaiseErrorRate(const Constants& constants, HostVersion& row) {
  row.error_rate = row.error_rate * constants.error_rate_keep + constants.error_rate_add;
}

// An inherited row may have no quota.
double QuotaOf(const HostVersion& row, double full) {
  return row.max_jobs_per_day > 0 ? row.max_jobs_per_day : full;
}

}  // namespace

bool IsGpuVersion(AppVersionId version, const Catalogue& catalogue) {
  if (version.anonymous()) return version.value < -2;
  const AppVersionRow* row = catalogue.FindVersion(version);
  return row != nullptr && row->IsGpu();
}

double FullQuota(const ProjectSettings& settings, const HostRecord& host, bool gpu) {
  return settings.daily_result_quota * std::max(1u, gpu ? host.gpus : host.cpus);
}

void NoteSuccess(double full, HostVersion& row) {
  const double quota = QuotaOf(row, full);
  // A quota above `full` (the project lowered the quota, or the host lost a processor) falls only by crashes.
  if (quota < full) row.max_jobs_per_day = std::min(full, quota * 2);
}

void NoteFailure(Failure failure, double full, const Constants& constants, HostVersion& row) {
  RaiseErrorRate(constants, row);
  row.consecutive_valid = 0;
  if (failure == Failure::kCrash) row.max_jobs_per_day = std::max(kMinJobsPerDay, QuotaOf(row, full) - 1);
}

void NoteInvalid(const Constants& constants, HostVersion& row) {
  RaiseErrorRate(constants, row);
  row.consecutive_valid = 0;
}

void NoteValid(bool replicated, const Constants& constants, HostVersion& row) {
  row.error_rate *= constants.error_rate_keep;
  if (replicated) row.consecutive_valid += 1;
}

void CountJob(double time, HostVersion& row) {
  // The day of a larger time would not fit the integer; the stage refuses such times.
  if (!(std::abs(time) < 1e15)) return;
  const auto day = static_cast<std::int64_t>(std::floor(time / kSecondsPerDay));
  if (day < row.day) return;
  if (day > row.day) {
    row.day = day;
    row.jobs_today = 0;
  }
  row.jobs_today += 1;
}

double JobsLeft(const HostVersion& row, std::int64_t day, double full) {
  const double sent = row.day == day ? row.jobs_today : 0;
  return std::max(0.0, QuotaOf(row, full) - sent);
}

std::optional<double> RuntimeEstimate(const HostVersion& row, double fpops_est) {
  if (!(row.et.n > 0)) return std::nullopt;
  return fpops_est * row.et.mean;
}

double FlopsEstimate(const HostVersion& row, double peak_flops, const Constants& constants) {
  if (row.et.n < constants.host_scale_min_samples || !(row.et.mean > 0)) return peak_flops;
  return 1 / row.et.mean;
}

ReplicationAdvice ReplicationOf(const HostVersion* row, const Constants& constants) {
  if (row == nullptr) return ReplicationAdvice::kUnknown;
  if (row->error_rate > constants.error_rate_initial) return ReplicationAdvice::kErrors;
  const bool proven = row->consecutive_valid >= kSingleReplicationValid &&
                      row->error_rate <= constants.error_rate_initial / 2;
  return proven ? ReplicationAdvice::kSingle : ReplicationAdvice::kTooFewValid;
}

}  // namespace cobblestone::credit
