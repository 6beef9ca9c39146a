// The adaptive attacker: a search for the attack that gains most under a policy. Random attacks first, then changes of the
// best one, always on the same seeds. The same options find the same attack.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "services/lab/experiment.h"

namespace cobblestone::lab {

struct SearchOptions {
  LabOptions lab;              // its attacks and progress are not used; the first condition is
  std::uint32_t attacks = 60;  // to try
  std::uint64_t seed = 1;      // of the search
  // After each attack; may be empty.
  std::function<void(std::uint32_t tried, double best)> progress;
};

struct Found {
  fleet::Attack attack;
  Figures figures;       // means over the seeds
  double score = 0;      // ScoreOf the means
  std::uint32_t at = 0;  // number of the attack, from 1
};

// What an attacker wants: credit for work. Where it does less than kLeastWork of what it could do, credit in the same time:
// the gain of a handful of results is mostly chance.
inline constexpr double kLeastWork = 0.1;
[[nodiscard]] double ScoreOf(const Figures& figures);

Result<Found> SearchAttack(const SearchOptions& options);

// The attack as a file that ParseAttack reads as the same attack.
[[nodiscard]] std::string AttackText(const NamedAttack& attack);

}  // namespace cobblestone::lab
