// Policy `boinc`: credit as BOINC's server code of 2026 computes it, bit for bit (golden README, items 1 to
// 20 and 30; boinc_quirks.h lists what is odd about it). Order of operations is part of the rule: nothing
// here may be regrouped.
#pragma once

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

const Policy& BoincPolicy();

// What a claim of `boinc` or `runtime` records of its job, whatever its price depends on: flags valid or
// invalid, late, outlier as reported, host deleted, anonymous, unreplicated.
[[nodiscard]] Claim ClaimFacts(const CompletionFacts& completion, const ValidationFacts& validation,
                               const InForce& in_force, const AppRow& app, const HostRecord& host);

// Item 5: what a workunit of `fpops_est` FLOPs is worth before anyone has run it, FLOPs. min_avg_pfc 0:
// undefined.
[[nodiscard]] double WorkunitEstimate(double fpops_est, double min_avg_pfc);

// Item 12: mean of the values, each weighted by 1 / (0.1 anchor + |anchor - value|), summed in order; a
// single value as is. Anchor 0 and a value of 0: NaN, as in BOINC; no account takes that.
[[nodiscard]] double PeggedAverage(std::span<const double> values, double anchor);

// Items 11 to 13: the award of a set of claims, before the validator caps it once more at `cap` (that is
// Settle()).
[[nodiscard]] Settlement SettleSet(std::span<const Claim> claims, double cap, const Constants& constants);

// The version's numbers that a result is priced with: the copy in the memory of the app's validator; where
// there is none the first use reads the stored row. False: there is neither (item 10).
bool LookUpVersion(const InForce& in_force, AppVersionId version, Average& pfc, double& scale);

}  // namespace cobblestone::credit
