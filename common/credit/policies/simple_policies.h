// The policies that price a job by itself, without scales: `benchmark`, `reported-flops`, `assigned`, `none`
// (docs/rules.md, sections 20 to 22). All of them keep the statistics and reliability of (host, app version), so that
// an app can change its policy without a cold start.
//
// Where their inputs stand in a claim (all others: schemas/internal.proto):
//   benchmark    benchmark of one CPU as the host reported it, FLOP/s: Whetstone, or its mean with Dhrystone
//   host_pfc_n   CPUs of the host; 0 unknown
//   reported     reported-flops: FLOPs that the app counted, if kClaimReported
//                assigned: Cobblestones; of the project, or of the app if kClaimReported
// Set by Price(): mode, pfc, claimed, kClaimPfcClamped, kClaimNoClaim; in `assigned` pfc stays 0.
#pragma once

#include <span>

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

// CPU time x benchmark x multiplier (S000, 'The first credit system'; S002). The benchmark is at most
// max_peak_flops_cpu; CPU time is at most (received - sent) x CPUs where these are known (S003). A host
// without a benchmark makes no claim. Granted: average, min or median, as constants.replication says.
const Policy& BenchmarkPolicy();

// FLOPs that the app counted x multiplier, at most the workunit's bound; without such a count the benchmark
// claim, x multiplier (S000, 'The second credit system'). Granted as `benchmark`.
const Policy& ReportedFlopsPolicy();

// Credit that the project names for the workunit or its canonical result; else the credit that the app
// reports, at most reported_credit_limit x the benchmark claim (S002; the limit is off at 0). Either is at
// most max_credit_per_job (off at 0). Granted: what the project named, that of the canonical result where
// they differ; reports of the app as `benchmark`.
const Policy& AssignedPolicy();

// Statistics kept, nothing granted: for apps that are paid by trickles alone.
const Policy& NonePolicy();

// The claims of one job under the first system and, with a multiplier of 1, under the second, Cobblestones.
struct JobClaims {
  double first = 0;
  double second = 0;
};
// The multiplier by which the mean second claim equals the mean first: "average credit per job was the same
// as the first credit system" (S000). 1 where the jobs do not tell (none, or all of their second claims 0).
[[nodiscard]] double FittedMultiplier(std::span<const JobClaims> jobs);

}  // namespace cobblestone::credit
