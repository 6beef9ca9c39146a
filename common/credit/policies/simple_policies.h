// The policies that price a job without scales: `benchmark`, `reported-flops`, `assigned`, `none`
// (docs/rules.md, sections 20 to 22). All of them keep the statistics and reliability of (host, app version),
// so that an app can change its policy without a cold start.
//
// Meaning of the policies' inputs in a claim (all others: schemas/internal.proto):
//   benchmark    benchmark of one CPU as the host reported it, FLOP/s: Whetstone, or its mean with Dhrystone
//   host_pfc_n   CPUs of the host; 0: unknown
//   reported     reported-flops: FLOPs that the app counted, if kClaimReported
//                assigned: Cobblestones; of the project, or of the app if kClaimReported
// Set by Price(): mode, pfc, claimed, kClaimPfcClamped, kClaimNoClaim; in `assigned` pfc stays 0.
#pragma once

#include <span>

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

// CPU time x benchmark x multiplier (S000, 'The first credit system'; S002). The benchmark is at most
// max_peak_flops_cpu; CPU time is at most (received - sent) x CPUs if these are known (S003). A result of a
// host without a benchmark has no claim. Granted: average, min or median, as constants.replication sets.
const Policy& BenchmarkPolicy();

// FLOPs that the app counted, at most the workunit's bound, x multiplier; without a valid count the benchmark
// claim (S000, 'The second credit system'). Granted as `benchmark`.
const Policy& ReportedFlopsPolicy();

// The amount that the project assigns to the workunit or its canonical result; else the amount that the app
// reports, at most reported_credit_limit x the benchmark claim without multiplier (S002; 0: no limit). Both are
// at most max_credit_per_job (0: no limit). Granted: the assigned amount, that of the canonical result if the
// amounts differ. As `benchmark`: reports of the app, and different amounts without a canonical claim.
const Policy& AssignedPolicy();

// Keeps statistics and grants nothing: for apps that only trickles pay.
const Policy& NonePolicy();

// The claims of one job, Cobblestones: under the first credit system, and under the second with multiplier 1.
struct JobClaims {
  double first = 0;
  double second = 0;
};
// The multiplier that makes the mean second claim equal the mean first claim: "average credit per job was the
// same as the first credit system" (S000). 1 if undefined: no jobs, all second claims 0, or an infinite value.
[[nodiscard]] double FittedMultiplier(std::span<const JobClaims> jobs);

}  // namespace cobblestone::credit
