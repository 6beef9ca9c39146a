// A host's reliability with one app version: error rate, daily quota, run of valid results, runtime estimate
// (S000, 'Error rate, host punishment, and turnaround time estimation', 'Job runtime estimates', 'App plan
// functions'; docs/rules.md, sections 44 to 46). Pure: each function changes its row argument and nothing else.
// Schedulers read these values over the query interface.
#pragma once

#include <cstdint>
#include <optional>

#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// True for a version that runs on a GPU. Anonymous versions: -2 is the CPU, -3 and below are GPUs. Unknown
// versions: false.
[[nodiscard]] bool IsGpuVersion(AppVersionId version, const Catalogue& catalogue);

// Jobs per day of one version for a host without faults, and the upper limit of doubling: the project's
// daily_result_quota times the host's processors of the version's kind, at least one ("scaled by the number of
// CPUs and/or GPUs").
[[nodiscard]] double FullQuota(const ProjectSettings& settings, const HostRecord& host, bool gpu);

// The end of an attempt that has no result to validate.
enum class Failure : std::uint8_t {
  kCrash,    // client error
  kAborted,  // by the user: the job was discarded, but did not crash, so the quota stays
  kTimeout,
};

// A successful result, valid or not: the quota doubles, up to `full`. A quota above `full` stays.
void NoteSuccess(double full, HostVersion& row);
// Raises the error rate and ends the run of valid results. A crash also lowers the quota by one job per day,
// down to kMinJobsPerDay.
void NoteFailure(Failure failure, double full, const Constants& constants, HostVersion& row);
// The result was invalid: as NoteFailure, but the quota stays, because the job did not crash.
void NoteInvalid(const Constants& constants, HostVersion& row);
// The result was valid: lowers the error rate. `replicated`: the result was compared with another result, so
// the run of valid results grows.
void NoteValid(bool replicated, const Constants& constants, HostVersion& row);

// Counts a job sent at `time` (UNIX s). A job of an earlier day than the row's day is ignored.
void CountJob(double time, HostVersion& row);
// Jobs that may still be sent on `day` (UNIX day); never negative.
[[nodiscard]] double JobsLeft(const HostVersion& row, std::int64_t day, double full);

// Estimated seconds of a job of `fpops_est` FLOPs: R(J,H) = E x ETmean(H,V). Absent: no sample.
[[nodiscard]] std::optional<double> RuntimeEstimate(const HostVersion& row, double fpops_est);
// FLOP/s for a client's estimate of durations: 1/ETmean(H,V), so that E divided by this speed is R(J,H). With
// fewer than host_scale_min_samples samples: `peak_flops`, the value of the plan function.
[[nodiscard]] double FlopsEstimate(const HostVersion& row, double peak_flops, const Constants& constants);

// Whether a host's next result of a version needs a second replica. S000: after a fault or a one-time cheat,
// the error rate is such that the host 'won't do single replication for a while'. Here single replication needs
// an error rate of at most half the initial value and kSingleReplicationValid valid results in a row, the
// number of BOINC's adaptive replication.
enum class ReplicationAdvice : std::uint8_t {
  kSingle,       // one replica is enough
  kUnknown,      // the host has no row for this version
  kErrors,       // the error rate is above the initial value
  kTooFewValid,  // too few valid results in a row, or an error rate above half the initial value
};
inline constexpr double kSingleReplicationValid = 10;
[[nodiscard]] ReplicationAdvice ReplicationOf(const HostVersion* row, const Constants& constants);

}  // namespace cobblestone::credit
