// Policy `creditnew`: S000's system, the default (docs/rules.md, section 16).
//
//   F = PFC x S(V) x S(H), claimed = F x constant / 86400e9
//   PFC   peak FLOP count after the project's limits; infinite, NaN, negative or above the bound: default PFC
//   S(V)  version scale of the epoch in force; 1 if the version has no scale
//   S(H)  PFCmean(V)/PFCmean(H,V), at most host_scale_limit; from host_scale_min_samples on; not before
//         host_scale_time; at most 1 on probation
// A min_avg_pfc of 0 counts as undefined.
// A job on an anonymous platform, or of a version that has left the catalogue: F = default PFC.
// A job with PFC/E above one_time_cheat_factor x PFCmean(V) puts its host on probation before its own claim is
// priced. Until host_scale_time the claim then has no host scale, so it is not scaled down either, and it is not counted
// for the other replicas.
//
// Meaning of the policy's inputs in a claim (all others: schemas/internal.proto):
//   benchmark          peak FLOP/s after the project's limits; peak_flops is the scheduler's value
//   version_*          PFCmean(V) and S(V) of the epoch `epoch`
//   host_pfc_*         PFCmean(H,V) before this result
//   host_scale_time    of the row after the one-time-cheat rule; compared with `time`
//   kClaimOnProbation  of the row after the one-time-cheat rule
// Flags that Price() reads: kClaimOnProbation, kClaimAnonymous, kClaimMinAvgDefined, kClaimOutlier.
// Set by Price(): mode, pfc, claimed, kClaimPfcClamped, kClaimOneTimeCheat, kClaimSanityFailed,
// kClaimHasVersionScale, kClaimHasHostScale, kClaimNoClaim.
#pragma once

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

const Policy& CreditNewPolicy();

}  // namespace cobblestone::credit
