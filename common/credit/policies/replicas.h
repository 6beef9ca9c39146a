// Combines the claims of a workunit's replicas into one credit: average, min or median (S000, 'The first credit
// system': "various schemes for taking the average or min").
// Pure. The result does not depend on the order of the claims, to the bit: sums run over sorted values.
// Invariant: the combination is between the least and the greatest claim, rounding included.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/credit/model/constants.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// `claims`: finite, not empty (CHECK); sorted on return. Median of an even number: mean of the middle two.
[[nodiscard]] double Combine(Replication replication, std::vector<double>& claims);

// The claims that count for a workunit's credit, and the mode of every claim.
struct Counted {
  std::vector<double> claims;          // Cobblestones, of the claims that count
  std::vector<const Claim*> counting;  // the same claims, among those that CountClaims() was given
  std::vector<Mode> modes;             // of all claims; kCapped: rejected because above the cap
  bool capped = false;                 // at least one claim was rejected by the cap
};

// Collects `claimed` of the valid claims that have none of the flags `left_out`, at least one of `one_of` (0: no matter
// which) and do not exceed `cap` (0: no cap). Claims with kClaimNoClaim never count.
[[nodiscard]] Counted CountClaims(std::span<const Claim> claims, std::uint32_t left_out, double cap,
                                  std::uint32_t one_of = 0);

// Credit limited to `cap`; 0: no cap.
[[nodiscard]] double Capped(double credit, double cap);

// The award of policies without a rule of their own: the combination of the claims that count. If none counts:
// the cap, if the cap rejected a claim; else 0.
[[nodiscard]] Settlement SettleReplicas(std::span<const Claim> claims, double cap, Replication replication);

}  // namespace cobblestone::credit
