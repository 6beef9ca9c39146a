// A host's reliability with one app version: error rate, daily quota, runs of valid results, turnaround, run
// time (S000, 'Error rate, host punishment, and turnaround time estimation', 'Job runtime estimates', 'App
// plan functions'; docs/rules.md, sections 44 to 46). Pure: each function changes the row it is given and
// nothing else. Served to schedulers over the query interface.
#pragma once

#include <cstdint>
#include <optional>

#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// True for a version that runs on a GPU; anonymous -2 is the CPU, -3 and below are GPUs. Unknown versions:
// false.
[[nodiscard]] bool IsGpuVersion(AppVersionId version, const Catalogue& catalogue);

// Jobs per day that a host without a fault gets of one version, and the cap of doubling: the project's
// initial value times the processors of the version's kind ("scaled by the number of CPUs and/or GPUs"),
// which are at least one.
[[nodiscard]] double FullQuota(const ProjectSettings& settings, const HostRecord& host, bool gpu);

// How an attempt ended that gave no result to validate.
enum class Failure : std::uint8_t {
  kCrash,    // client error
  kAborted,  // by the user: no crash, so the quota stays, but the job was discarded
  kTimeout,
};

// A successful, not necessarily valid result: the quota doubles up to `full`.
void NoteSuccess(double full, HostVersion& row);
// Error rate up, run of valid results ended; after a crash one job less per day, at least kMinJobsPerDay.
void NoteFailure(Failure failure, double full, const Constants& constants, HostVersion& row);
// The result was invalid: as a failure, but the quota stays (it did not crash).
void NoteInvalid(const Constants& constants, HostVersion& row);
// The result was valid. `replicated`: it was compared with another, so it counts for the run of valid
// results.
void NoteValid(bool replicated, const Constants& constants, HostVersion& row);

// One job sent at `time` (UNIX s). Jobs of an earlier day than the row's no longer matter.
void CountJob(double time, HostVersion& row);
// Jobs that may still be sent on `day` (UNIX day); never negative.
[[nodiscard]] double JobsLeft(const HostVersion& row, std::int64_t day, double full);

// Seconds that a job of `fpops_est` FLOPs will take: R(J,H) = E x ETmean(H,V). None without a sample.
[[nodiscard]] std::optional<double> RuntimeEstimate(const HostVersion& row, double fpops_est);
// FLOP/s from which a client estimates durations, so that E divided by it is R(J,H): 1/ETmean(H,V).
// `peak_flops` below the host's sample threshold, as the plan function named it.
[[nodiscard]] double FlopsEstimate(const HostVersion& row, double peak_flops, const Constants& constants);

// Whether a host's next result of a version needs a second replica. S000: after a fault, or a claim that cannot be, the error
// rate is such that the host 'won't do single replication for a while'; here while it is above half the initial value, and
// until as many results in a row were valid as BOINC's adaptive replication wants.
enum class ReplicationAdvice : std::uint8_t {
  kSingle,       // one is enough
  kUnknown,      // nothing is known of the host with this version
  kErrors,       // its error rate is above that of a new host
  kTooFewValid,  // too few valid results in a row to have come well below that
};
inline constexpr double kSingleReplicationValid = 10;
[[nodiscard]] ReplicationAdvice ReplicationOf(const HostVersion* row, const Constants& constants);

}  // namespace cobblestone::credit
