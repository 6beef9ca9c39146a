// From the claims of a workunit's replicas to one credit: average, min or median (S000, 'The first credit
// system': "various schemes for taking the average or min").
// Pure. The order of the claims changes no bit: sums are taken over sorted values.
// Invariant: the combination lies between the least and the greatest claim, rounding included.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/credit/model/constants.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// `claims`: finite, not empty; left sorted. Median of an even number: mean of the two in the middle.
[[nodiscard]] double Combine(Replication replication, std::vector<double>& claims);

// The claims that take part in a workunit's credit, and how each was counted.
struct Counted {
  std::vector<double> claims;  // Cobblestones, of those that count
  std::vector<Mode> modes;     // of all; kCapped: thrown out because above the cap
  bool capped = false;         // at least one was
};

// Collects `claimed` of the valid claims that have none of the flags `left_out` and do not exceed `cap` (0:
// none).
// Claims with kClaimNoClaim never count.
[[nodiscard]] Counted CountClaims(std::span<const Claim> claims, std::uint32_t left_out, double cap);

// Credit limited to `cap`; 0: no cap.
[[nodiscard]] double Capped(double credit, double cap);

// The grant of the policies without a rule of their own: the combination of what counts; where the cap threw
// all out, the cap; where no claim could be formed, 0.
[[nodiscard]] Settlement SettleReplicas(std::span<const Claim> claims, double cap, Replication replication);

}  // namespace cobblestone::credit
