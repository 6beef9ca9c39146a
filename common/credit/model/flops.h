// Converts FLOPs to credit, for every policy except `boinc`, which rounds in other places (golden README,
// item 13).
#pragma once

#include "common/credit/model/constants.h"

namespace cobblestone::credit {

// FLOPs -> Cobblestones: FLOPs x constant / 86400e9 (docs/rules.md, section 1; S000 with 100 for the
// constant). The product is rounded first, then the quotient.
[[nodiscard]] constexpr double CreditOfFlops(double flops, double cobblestones_per_gflops_day) {
  return flops * cobblestones_per_gflops_day / (kSecondsPerDay * kFlopsPerGflops);
}
[[nodiscard]] constexpr double CreditOfFlops(double flops, const Constants& constants) {
  return CreditOfFlops(flops, constants.cobblestones_per_gflops_day);
}

}  // namespace cobblestone::credit
