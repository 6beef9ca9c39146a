// Policy `creditnew-v2`: the second version of the CreditNew page (S001; docs/rules.md, section 17).
//
//   NPFC(J)    PFC(J) x S(V), at most claim_limit x NPFC*(A)
//   S(V)       X/PFC*(V) with X the least PFC*(V), so at most 1; times the plan class's factor if the app has
//              GPU versions only (scales_creditnew.h)
//   claimed    NPFC(J) x NPFC*(A)/NPFC*(H,A), again at most claim_limit x NPFC*(A): a tiny NPFC*(H,A) would
//              otherwise multiply the claim without bound; no host scale while either average is missing
//   granted    the minimum of the valid claims
// All NPFC here are per estimated FLOP, so NPFC*(A) x E is FLOPs. NPFC*(H,A) and NPFC*(A) are recent averages
// weighted by E: each job reduces the weight of all earlier jobs by the rule's weight (constants:
// host_average_weight, version_average_weight).
// An error, time-out, abort by the user or invalid result sets NPFC*(H,A) to NPFC*(A) for all apps of the
// host, and the error rates of these apps to their initial values.
// PFC infinite, NaN, negative or above the bound, anonymous platform, version no longer in the catalogue: the
// claim is NPFC*(A) x E (E while NPFC*(A) is undefined), and no PFC or NPFC average changes.
//
// Meaning of the policy's inputs in a claim (all others: schemas/internal.proto):
//   benchmark       peak FLOP/s after the project's limits; peak_flops is the scheduler's value
//   version_*       PFC*(V) and S(V) of the epoch `epoch`
//   min_avg_pfc     NPFC*(A), if kClaimMinAvgDefined
//   host_pfc_n      weight of NPFC*(H,A) before this result, FLOPs; 0: no average
//   host_pfc_mean   NPFC*(H,A) before this result
// Set by Price(): mode, pfc, claimed, kClaimPfcClamped, kClaimOneTimeCheat (NPFC(J) reached the limit),
// kClaimSanityFailed, kClaimHasVersionScale, kClaimHasHostScale, kClaimNoClaim.
#pragma once

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

const Policy& CreditNewV2Policy();

// A recent average weighted by job size. Each new sample first multiplies the older weight by 1-fade:
// mean = sum of (1-fade)^k size value / sum of (1-fade)^k size, k = 0 for the newest sample. UpdateWeighted
// returns false and changes nothing for a negative, NaN or infinite value or size, a size of 0, or an infinite
// new weight.
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
