// The scales that turn the peak FLOP count of a job into a claim (S000; docs/rules.md, sections 8 and 11),
// both for a whole result (creditnew) and for a part of a result (trickles).
// Pure.
#pragma once

#include <optional>

#include "common/credit/model/catalogue.h"
#include "common/credit/model/constants.h"
#include "common/credit/policies/probation.h"

namespace cobblestone::credit {

struct ScaleFacts {
  double version_scale = 0;     // S(V) of the epoch in force; 0: none
  double version_pfc_mean = 0;  // PFCmean(V)
  double host_pfc_n = 0;        // samples of PFCmean(H,V)
  double host_pfc_mean = 0;     // PFCmean(H,V)
  bool on_probation = false;
  double host_scale_time = 0;  // UNIX s
  double time = 0;             // UNIX s, of the claim
};

struct JobScales {
  double version = 0;  // 0: none, which counts as 1
  double host = 0;     // 0: none
  HostTrust trust = HostTrust::kTrusted;

  // (PFC x S(V)) x S(H), multiplied one after the other.
  [[nodiscard]] double Apply(double pfc) const {
    if (version > 0) pfc *= version;
    if (host > 0) pfc *= host;
    return pfc;
  }
};

// S(H) = PFCmean(V)/PFCmean(H,V), at most host_scale_limit, from host_scale_min_samples on; none before
// host_scale_time; at most 1 on probation.
[[nodiscard]] JobScales ScalesOf(const ScaleFacts& facts, const Constants& constants);

// min_avg_pfc(A) of the epoch; a value of 0 counts as undefined.
[[nodiscard]] std::optional<double> FindMinAvgPfc(const ScaleTable& scales, AppId app);

}  // namespace cobblestone::credit
