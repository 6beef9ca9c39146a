// What the laboratory measures. Pure functions of what two worlds granted; docs/lab.md defines each figure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cobblestone::lab {

// A granted result.
struct GrantedJob {
  std::uint64_t host = 0;
  std::uint64_t account = 0;
  std::uint32_t person = 0;  // of an attacker: from 1; 0: an honest host
  std::uint32_t device = 0;  // class of the version: 0 CPU, 1 GPU, 2 anonymous
  double granted = 0;
  double deserved = 0;
};

// What happened in one world, in the order of the grants.
struct WorldOutcome {
  std::vector<GrantedJob> jobs;
  double attackers_work = 0;  // deserved credit of all results that attackers returned
};

struct Figures {
  double gain = 0;              // absolute, of all attackers
  double relative_gain = 0;     // the same against honest hosts of the same world
  double worst_person = 0;      // absolute gain of the person that gains most
  double worst_account = 0;     // absolute gain of the account that gains most
  double income = 0;            // granted credit in the same time / that of the twin
  double honest_work = 0;       // work that the attackers really did / that of the twin
  double collateral = 0;        // shift of the honest level: granted/deserved, minus 1
  double worst_collateral = 0;  // 1st percentile over honest hosts
  double cv_identical = 0;
  double device_neutrality = 1;
  double convergence = 0;  // jobs, median over honest hosts
  double drift = 0;        // r of honest results of the second half / r of those of the first half, minus 1
};

// `limit`: of the grants of a person that count; 0: all. The order of `jobs` decides which are first. A ratio without a
// denominator is infinite if its numerator is positive, and else 0.
Figures FiguresOf(const WorldOutcome& attack, const WorldOutcome& twin, std::uint64_t limit);

// Jobs until the running mean of 20 values stays within 5 % of `level`; values.size() if it never does.
std::size_t ConvergenceOf(const std::vector<double>& values, double level);

// Coefficient of variation (of a sample); 0 for fewer than two values.
double VariationOf(const std::vector<double>& values);

struct Spread {
  double mean = 0;
  double least = 0;
  double greatest = 0;
  double half_width = 0;  // of the 95 % interval of the mean (Student's t); 0 for one value
};
Spread SpreadOf(const std::vector<double>& values);

}  // namespace cobblestone::lab
