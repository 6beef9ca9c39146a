#include "services/fleet/attacks.h"

#include <algorithm>
#include <string>

#include "services/fleet/draws.h"

namespace cobblestone::fleet {

Result<Attack> AttackByName(std::string_view name) {
  Attack attack;
  if (name == "none") return attack;
  if (name == "inflate") {
    attack.pattern = ClaimPattern::kConstant;
    return attack;
  }
  if (name == "fabricate") {
    attack.fabricate = true;
    return attack;
  }
  return Status::InvalidArgument("unknown attack '" + std::string(name) +
                                 "'; known are none, inflate, fabricate");
}

double ClaimFactor(const Attack& attack, std::uint32_t n) {
  if (n < attack.start) return 1;
  n -= attack.start;
  switch (attack.pattern) {
    case ClaimPattern::kHonest:
    case ClaimPattern::kEstimate: return 1;
    case ClaimPattern::kConstant: return attack.factor;
    case ClaimPattern::kRamp: return std::min(attack.factor, Power(attack.growth, n));
    case ClaimPattern::kSawtooth: return std::min(attack.factor, Power(attack.growth, n % attack.period));
    case ClaimPattern::kSpike: return n % attack.period == attack.period - 1 ? attack.factor : 1;
    case ClaimPattern::kSandbag: return n < attack.first_jobs ? 1 / attack.factor : 1;
    case ClaimPattern::kVolatility: return n % 2 == 0 ? attack.factor : 1 / attack.factor;
  }
  return 1;
}

JobFate FateOf(const Attack& attack, std::uint32_t n, double size_rank) {
  if (n < attack.start) return JobFate::kComputed;
  if (size_rank > attack.keep_share) return JobFate::kUnwanted;
  if (attack.fail_every > 0 && n % attack.fail_every == attack.fail_every - 1) return JobFate::kFailed;
  return JobFate::kComputed;
}

}  // namespace cobblestone::fleet
