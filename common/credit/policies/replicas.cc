#include "common/credit/policies/replicas.h"

#include <algorithm>

#include "common/base/check.h"

namespace cobblestone::credit {

double Combine(Replication replication, std::vector<double>& claims) {
  COBBLESTONE_CHECK(!claims.empty(), "a combination needs a claim");
  std::sort(claims.begin(), claims.end());
  const std::size_t n = claims.size();
  switch (replication) {
    case Replication::kMin: return claims.front();
    case Replication::kMedian: {
      if (n % 2 == 1) return claims[n / 2];
      // The sum could overflow, so each claim is halved first: exact except for subnormals, hence the clamp.
      const double middle = claims[n / 2 - 1] / 2 + claims[n / 2] / 2;
      return std::clamp(middle, claims[n / 2 - 1], claims[n / 2]);
    }
    case Replication::kAverage: break;
  }
  double sum = 0;
  for (const double claim : claims) sum += claim;
  // Rounding may lift the quotient above the greatest claim: three times 0.1 is more than 0.3.
  return std::clamp(sum / static_cast<double>(n), claims.front(), claims.back());
}

Counted CountClaims(std::span<const Claim> claims, std::uint32_t left_out, double cap, std::uint32_t one_of) {
  Counted counted;
  counted.claims.reserve(claims.size());
  counted.counting.reserve(claims.size());
  counted.modes.reserve(claims.size());
  for (const Claim& claim : claims) {
    counted.modes.push_back(claim.mode);
    if ((claim.flags & kClaimValid) == 0 || (claim.flags & (left_out | kClaimNoClaim)) != 0) continue;
    if (one_of != 0 && (claim.flags & one_of) == 0) continue;
    if (cap > 0 && claim.claimed > cap) {
      counted.modes.back() = Mode::kCapped;
      counted.capped = true;
      continue;
    }
    counted.claims.push_back(claim.claimed);
    counted.counting.push_back(&claim);
  }
  return counted;
}

double Capped(double credit, double cap) { return cap > 0 && credit > cap ? cap : credit; }

Settlement SettleReplicas(std::span<const Claim> claims, double cap, Replication replication) {
  Counted counted = CountClaims(claims, 0, cap);
  Settlement settlement;
  settlement.modes = std::move(counted.modes);
  if (!counted.claims.empty()) {
    settlement.credit = Combine(replication, counted.claims);
  } else if (counted.capped) {
    settlement.credit = cap;
  }
  return settlement;
}

}  // namespace cobblestone::credit
