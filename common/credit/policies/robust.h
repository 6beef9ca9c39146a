// Policy `robust`: a host's claims follow what its jobs measure, but their sum follows what its jobs were estimated at.
// No report can raise it, a host that does not return all its jobs is paid less, and a new identity earns no more than
// an old one (docs/rules.md, section 54; the attacks: docs/lab.md).
//
//   x          PFC/E of the job, PFC at most the workunit's bound
//   D          X x E, the default claim; X = min_avg_pfc(A), here from the medians over hosts (scales_creditnew.h); while
//              it is undefined, PFCmean(V), if that has more than version_average_samples samples, else 1
//   R          reliability: F(failure rate)/F(failure_allowance), F(f) = (1 - failure_weight f)/(1 - f), at least 0. Counts
//              as 1 in the claim and its budget if the result is replicated: the other results show then whether the
//              host keeps its small jobs only
//   m          the average with which x is compared. A replicated result, or one of a host that is calibrated with another
//              version of the app only, while PFCmean(V) has more than version_average_samples samples:
//              (n H + k V)/(n + k), H = PFCmean(H,V) of n samples before this result, V = PFCmean(V),
//              k = host_scale_min_samples (at least 1). Any other result: H, if the host is calibrated with the version,
//              i.e. n >= k. V counts as at least H/2 and at most 2 H if n >= 3 k
//   claim      D x min(x, average_sample_limit m)/m x R. Without m: D x R, but E x min(x, 1) if the result is replicated
//              and the app has no X either
//   PFC infinite, NaN or negative
//     claim    D x R
//   budget     with a single result, the sum of a host's claims in an app is at most budget_factor x the sum of its D x R;
//              a replicated result counts as claimed with its D x R
//   granted    the low average (low_average.h) of the claims that come from a measurement; if there is none, of all. A
//              claim above 1.3 times the lowest of them does not count; if a single one of several is left, with kClaimRough
//              (n < 3 k), 0.8 of it. Of those that are left, one with kClaimUnreliable (R below 0.85) does not count
//              beside a lower one without. At most D x R, if no host of a claim that counts is calibrated with a
//              version of the app. Of a replicated result then times R^2 of each host whose claim counts
//              (before the limit of 1.3), unless one of them vouches: R is at least 0.9, or at least 0.3 without
//              kClaimRough
//
// The failure rate is the recent average over the host's jobs of the app, all versions together: an error, abort,
// time-out or invalid result counts 1, a valid result 0. The user's abort is not excused by an exit status: a job was
// cancelled by the project if the completion says so (`cancelled`). A result of an anonymous version, or of a version
// that has left the catalogue, is priced like any other. A late result changes no average and no budget.
//
// Watching: a host whose reports keep rising (a ramp) gains nothing by it, but its owner may try other things. Each
// measured result above the host's average adds 1 to a score, each other result takes 1.5 from it, down to 0. The claim
// with which the score reaches 50 has kClaimRising, and the score begins again. Whatever the sizes of jobs, an honest
// host has at most about as many results above its average as below, and reaches 50 less than once in 10^4 months.
//
// Meaning of the policy's inputs in a claim (all others: schemas/internal.proto):
//   benchmark       peak FLOP/s after the project's limits; peak_flops is the scheduler's value
//   version_pfc_*   PFCmean(V), the median over hosts, of the epoch `epoch`; version_scale is shown, not used
//   min_avg_pfc     X, if kClaimMinAvgDefined
//   host_pfc_*      the average of host and version before this result
//   failure_rate    before this result
//   budget          FLOPs that the budget leaves for this claim
//   flags           kClaimUncalibrated: the host is calibrated with no version of the app; kClaimRising
// Set by Price(): mode, pfc, claimed, reliability, kClaimPfcClamped, kClaimOneTimeCheat (x was cut), kClaimSanityFailed,
// kClaimHasHostScale (calibrated with the version, and from a measurement), kClaimHasVersionScale (m contains PFCmean(V);
// with neither m nor X: E x min(x, 1)), kClaimOverBudget, kClaimRough, kClaimUnreliable, kClaimNoClaim.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {

const Policy& RobustPolicy();

// R. 1 at failure_allowance, more below, 0 from a failure rate of 1/failure_weight on. A failure_weight below 1 would
// pay for failures, and counts as 1.
[[nodiscard]] double Reliability(double failure_rate, const Constants& constants);

// The part of the claim by which it exceeds the lowest of the other claims of its workunit: 1 - lowest/own, at least -1.
// Absent unless both are precise: three times the samples of a calibrated host, valid, not late. A host whose claims are
// higher than those of others for the same jobs keeps the jobs that are small for their estimates, in whatever way it
// drops the others.
[[nodiscard]] std::optional<double> ExcessOf(const Claim& own, std::span<const Claim> others);

// What comparisons have shown about a host's claims in an app. Kept in ACCOUNTS, which sees all claims of a workunit.
struct Agreement {
  AppId app;
  // Compared results since the host's claims were found to be too high. Begins below 0 if one was several times too high.
  double results = 0;
  double excess = 0;  // sum of ExcessOf() less an allowance each, at least 0

  friend bool operator==(const Agreement&, const Agreement&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.app, s.results, s.excess);
  }
};
void NoteExcess(double excess, Agreement& agreement);

// n: the results that vouch for the host: replicated, valid, and with claims like those of others, since the last that
// was not. `record` and `agreement` null: none is known.
[[nodiscard]] double ResultsThatVouch(const HostApp* record, const Agreement* agreement,
                                      const Constants& constants);

// Probability with which a result of the host should be replicated: 1/(1 + 0.1 n). A host that builds up n by honest
// work, and then invents results or keeps small jobs only until a check shows it, has 0.1 n unchecked results for n
// honest ones: it gains at most a tenth for every n.
[[nodiscard]] double ReplicationProbability(double results_that_vouch);

// What a scheduler knows about a host of an app: kHighestStanding if its results should be replicated with a probability
// of at most 1/2, else the valid replicated results since its last failure or invalid result, below that.
inline constexpr std::uint32_t kHighestStanding = 4;
[[nodiscard]] std::uint32_t StandingOf(double results_that_vouch, std::uint32_t run_of_valid_results);

// One result of a workunit should come from a host of this standing or more: several hosts that keep the same small
// jobs, or claim too much for the same job, would confirm each other. `hosts`: how many have each standing. It is the
// highest that at least half of those above 0 have, and at least 20 hosts. 0: any host will do.
[[nodiscard]] std::uint32_t StandingNeeded(std::span<const std::uint32_t, kHighestStanding + 1> hosts);

}  // namespace cobblestone::credit
