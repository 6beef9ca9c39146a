// The coordinator's arithmetic for the apps of all policies except `boinc` and `runtime` (S000, 'Cross-version
// normalization', 'Cross-project version normalization'; S001, 'Version normalization', 'Project
// normalization'; docs/rules.md, section 8). Pure: the state is a value; samples come sorted by (time,
// validation_id, result).
//
// A version counts if it is neither deprecated nor deleted and its average has more than
// version_average_samples samples. Class means are taken over samples: sum of n x PFCmean(V) / sum of n, over
// the versions that count.
//
// creditnew and the rest
//   CPU versions only:   X = their mean, if two or more count
//   both kinds:          X = the lesser of the two means
//   X defined:           min_avg_pfc(A) = X, S(V) = X/PFCmean(V) for each version above the threshold
//   GPU versions only:   S(V) = factor of the plan class (hub's or gpu_only_factor), from the first job on;
//                        min_avg_pfc(A) = mean of factor x PFCmean(V), once a version counts
//   The versions that count decide which kinds the app has; while no version counts, all versions that are not
//   deprecated decide.
// robust
//   As creditnew, except: PFCmean(V) is the median over the hosts with host_scale_min_samples samples, once these are 20;
//   each host counts by its samples, so that influence costs work. Versions without a median then do not count; one CPU
//   version is enough for X; PFCmean(V) counts as at least half and at most twice the median (by samples) over the versions
//   of its kind; min_avg_pfc(A) changes by at most 2 % at one tick. An app that had another policy before keeps its
//   min_avg_pfc(A) until each kind of its versions has a median, and from then on the ratio of both, between 0.8 and
//   1.25: the median is less than the mean that the policy before used.
// creditnew-v2
//   X = the least PFC*(V) of the versions that count, S(V) = X/PFC*(V): never above 1; GPU versions only:
//   times the factor, from the first job on. NPFC*(A) from the samples, with the scale that was in force
//   before this tick and the cap claim_limit x NPFC*(A), as in claims.
// S(V) = 0: no scale. min_avg_pfc(A) keeps the last X when X is no longer defined.
#pragma once

#include <span>

#include "common/credit/model/catalogue.h"
#include "common/credit/scales/scales.h"

namespace cobblestone::credit {

// One tick of one app: applies the samples to the averages of versions and app, then computes new scales in
// state.table. A sample of a version that is not in the catalogue counts only for mean and variance of the
// app's claims.
void ApplyTickCreditNew(double now, AppId app, std::span<const Sample> samples_of_app,
                        const Catalogue& catalogue, ScaleState& state);

// Adds one claim to the mean and the (population) variance of an app's claims.
void AddClaim(double claimed, AppScale& app);

}  // namespace cobblestone::credit
