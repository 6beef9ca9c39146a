// The measured quantities of a job: elapsed time and peak FLOP/s after the project's limits (S003, 'The BOINC
// credit system': "sanity checking" for each quantity), the peak FLOP count from both, and its sanity check
// (S000, 'Sanity check').
// A quantity that is not finite fails the sanity check, also where a limit applies.
// Pure.
#pragma once

#include <optional>

#include "common/credit/model/constants.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// Peak FLOP/s of the devices that a job used, with at most constants.max_devices devices of at most
// max_peak_flops_cpu or _gpu each. A completion without usage stands for one device of the version's kind.
// A device of known speed counts with its speed, up to the limit of its kind, so a limit works independently
// of the job's other devices. A device of unknown speed counts with the limit of its kind; without such a
// limit, with the job's speed less the speed of the known devices.
[[nodiscard]] double LimitedPeakFlops(const CompletionFacts& completion, bool gpu,
                                      const Constants& constants);

// The elapsed seconds of a claim's job that count: at most received - sent, if both are known. For an elapsed
// time of 0, the CPU time counts.
[[nodiscard]] double LimitedElapsed(const Claim& claim);

struct Measure {
  double elapsed = 0;    // s
  double pfc = 0;        // FLOPs: elapsed x peak FLOP/s
  double ratio = 0;      // PFC/E
  bool clamped = false;  // a limit was applied
  bool sane = false;     // finite as reported and as limited, not negative, not above the workunit's bound
};

// The measure of a claim's job; `limited_peak_flops` is the sum over its devices.
[[nodiscard]] Measure MeasureJob(const Claim& claim, double limited_peak_flops);

// S000's default PFC, FLOPs: min_avg_pfc(A) x E where min_avg_pfc is defined, else E.
[[nodiscard]] double DefaultPfc(double fpops_est, std::optional<double> min_avg_pfc);
[[nodiscard]] double DefaultPfc(const Claim& claim);

// Computes a claim's credit from claim.pfc. If the credit is not a valid amount (overflow, negative job
// size), the claim becomes empty: mode kNone, kClaimNoClaim, 0 Cobblestones.
void FinishClaim(const Constants& constants, Claim& claim);

}  // namespace cobblestone::credit
