// Policy `boinc`: credit as BOINC's server code of 2026 computes it, bit for bit (golden README, items 1 to
// 20 and 30; boinc_quirks.h lists the oddities). The order of floating-point operations is part of the rule:
// do not regroup any expression.
#pragma once

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

const Policy& BoincPolicy();

// The facts of the job in a claim of `boinc` or `runtime`, without the inputs that only one policy's price
// needs. Flags: valid or invalid, late, outlier as reported, host deleted, anonymous, unreplicated.
[[nodiscard]] Claim ClaimFacts(const CompletionFacts& completion, const ValidationFacts& validation,
                               const InForce& in_force, const AppRow& app, const HostRecord& host);

// Item 5: the worth of a workunit before any host has run it, FLOPs: fpops_est x min_avg_pfc. min_avg_pfc 0
// means undefined: the worth is fpops_est.
[[nodiscard]] double WorkunitEstimate(double fpops_est, double min_avg_pfc);

// Item 12: mean of the values, each weighted by 1 / (0.1 anchor + |anchor - value|), summed in order; a
// single value is returned unchanged. Anchor 0 with a value of 0: NaN, as in BOINC; no account accepts NaN.
[[nodiscard]] double PeggedAverage(std::span<const double> values, double anchor);

// Items 11 to 13: the award of a set of claims, before Policy::Settle() caps the award at `cap` a second time
// (as BOINC's validator does).
[[nodiscard]] Settlement SettleSet(std::span<const Claim> claims, double cap, const Constants& constants);

// The version's average and scale for pricing: the copy in the memory of the app's validator; without a copy,
// the stored row, as on the validator's first use. False: neither exists (item 10).
bool LookUpVersion(const InForce& in_force, AppVersionId version, Average& pfc, double& scale);

}  // namespace cobblestone::credit
