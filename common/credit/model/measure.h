// What a job measured of itself, as far as it is believed: elapsed time and peak FLOP/s after the project's
// limits (S003, 'The BOINC credit system': "sanity checking" for each quantity), the peak FLOP count from
// them, and its sanity (S000, 'Sanity check').
// A quantity that is no finite number is not limited but insane, whatever the limits.
// Pure.
#pragma once

#include <optional>

#include "common/credit/model/constants.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// Peak FLOP/s of the devices that a job used, with at most constants.max_devices devices of at most
// max_peak_flops_cpu or _gpu each. Without usage in the completion one device of the version's kind is meant.
// A device of known speed counts with its speed, up to the limit of its kind, so a limit works whatever else the job
// uses. A device of unknown speed counts with its kind's limit; where its kind has none, with all of the job's speed
// that the told ones leave.
[[nodiscard]] double LimitedPeakFlops(const CompletionFacts& completion, bool gpu,
                                      const Constants& constants);

// Elapsed seconds of a claim's job that count: at most received - sent, where both are known. A client that
// reports none (0) is taken at its CPU time.
[[nodiscard]] double LimitedElapsed(const Claim& claim);

struct Measure {
  double elapsed = 0;    // s
  double pfc = 0;        // FLOPs: elapsed x peak FLOP/s
  double ratio = 0;      // PFC/E
  bool clamped = false;  // a limit was applied
  bool sane = false;     // finite as reported and as limited, not negative, not above the workunit's bound
};

// The measure of a claim's job that ran on devices of `limited_peak_flops` in all.
[[nodiscard]] Measure MeasureJob(const Claim& claim, double limited_peak_flops);

// S000's default PFC, FLOPs: min_avg_pfc(A) x E where it is defined, else E.
[[nodiscard]] double DefaultPfc(double fpops_est, std::optional<double> min_avg_pfc);
[[nodiscard]] double DefaultPfc(const Claim& claim);

// Gives a claim its credit from claim.pfc. A claim that is no number of credit (overflow, negative job size)
// is none: mode kNone, kClaimNoClaim, 0 Cobblestones.
void FinishClaim(const Constants& constants, Claim& claim);

}  // namespace cobblestone::credit
