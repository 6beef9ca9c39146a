// Policy `creditnew-v2`: the second version of the CreditNew page (S001; docs/rules.md, section 17).
//
//   NPFC(J)    PFC(J) x S(V), at most claim_limit x NPFC*(A)
//   S(V)       X/PFC*(V) with X the least PFC*(V): downward only; times the hub's factor of the plan class
//              where the app has GPU versions only (scales_creditnew.h)
//   claimed    NPFC(J) x NPFC*(A)/NPFC*(H,A), at most claim_limit x NPFC*(A) too: a tiny NPFC*(H,A) would
//              otherwise multiply it without bound; no host scale while either average is missing
//   granted    the min of the valid results
// All NPFC here are per estimated FLOP, so NPFC*(A) x E is FLOPs. NPFC*(H,A) and NPFC*(A) are recent averages
// weighted by E: each job fades the weight of those before it by the rule's weight (constants:
// host_average_weight, version_average_weight).
// An error, time-out, abort by the user or invalid result sets NPFC*(H,A) to NPFC*(A) for all apps of the
// host, and its error rates to their initial values.
// PFC infinite, NaN, negative or above the bound, anonymous platform, version no longer in the catalogue:
// NPFC*(A) x E (E while undefined), and no average learns from it.
//
// Where its inputs stand in a claim (all others: schemas/internal.proto):
//   benchmark       peak FLOP/s after the project's limits; peak_flops is as the scheduler had it
//   version_*       PFC*(V) and S(V) of the epoch `epoch`
//   min_avg_pfc     NPFC*(A), if kClaimMinAvgDefined
//   host_pfc_n      weight of NPFC*(H,A) before this result, FLOPs; 0: no average
//   host_pfc_mean   NPFC*(H,A) before this result
// Set by Price(): mode, pfc, claimed, kClaimPfcClamped, kClaimOneTimeCheat (NPFC(J) was capped),
// kClaimSanityFailed, kClaimHasVersionScale, kClaimHasHostScale.
#pragma once

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

const Policy& CreditNewV2Policy();

// A recent average weighted by the size of jobs: weight and mean of the values before, faded by `fade` each
// time. mean = sum of (1-fade)^k size value / sum of (1-fade)^k size, k counting back from the last. A value
// or size that is negative, NaN or infinite, and a size of 0, change nothing; returns whether it counted.
struct WeightedAverage {
  double weight = 0;
  double mean = 0;
};
struct WeightedValue {
  double value = 0;
  double size = 0;
};
bool UpdateWeighted(WeightedAverage& average, WeightedValue sample, double fade);

}  // namespace cobblestone::credit
