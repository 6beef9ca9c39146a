// Random draws of the fleet simulator. A draw is a pure function of (seed, stream, entity, counter): an additional
// entity, or one draw more for another entity, changes no other draw.
//
// The same bits on every machine: Philox uses integers; the functions below use the four operations, sqrt and rounding
// of IEEE 754 (exact by its definition, compiled with -ffp-contract=off), the project's own Exp (common/base/exp.h) and
// the Log below. No function of libm is called.
#pragma once

#include <cstdint>
#include <utility>

#include "services/fleet/philox.h"

namespace cobblestone::fleet {

// What a draw is for. Frozen numbers: they determine the traffic of a seed.
enum class Stream : std::uint32_t {
  kUser = 1,        // entity: user; counter: 0 number of hosts, 1 team
  kHost = 2,        // entity: host; counter: HostDraw (hosts.cc)
  kAvailable = 3,   // entity: host; counter: period
  kVersion = 4,     // entity: host; counter: app version
  kJob = 5,         // entity: host; counter: its jobs in order of dispatch. Run-time noise, and the app
  kFate = 6,        // entity: host; counter: as kJob
  kReturn = 7,      // entity: host; counter: as kJob
  kWorkunit = 8,    // entity: workunit; counter: project
  kPass = 9,        // entity: workunit; counter: project x 64 + pass of the validator
  kReset = 10,      // entity: host; counter: its resets
  kContact = 11,    // entity: host; counter: its requests
  kFabricate = 13,  // entity: host; counter: as kJob. Whether an attacker invents the output
  kReplicate = 12,  // entity: host; counter: as kJob. Whether an advised workunit is replicated
};

// The natural logarithm of a positive finite number, within 2 units in the last place.
double Log(double x);

// The quantile function of the standard normal distribution at 0 < p < 1, to about 1e-16 relative (Wichura, algorithm
// AS 241, Applied Statistics 37, 1988, PPND16).
double NormalQuantile(double p);

// base^exponent for a positive base, by Exp and Log.
double Power(double base, double exponent);

class Draws {
 public:
  explicit Draws(std::uint64_t seed)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

  [[nodiscard]] PhiloxBlock Bits(Stream stream, std::uint64_t entity, std::uint32_t counter) const {
    return Philox({static_cast<std::uint32_t>(entity), static_cast<std::uint32_t>(entity >> 32),
                   static_cast<std::uint32_t>(stream), counter},
                  key_);
  }

  // Uniform on the open interval (0, 1): the middles of 2^52 equal parts, so that neither 0 nor 1 occurs.
  [[nodiscard]] double Uniform(Stream stream, std::uint64_t entity, std::uint32_t counter) const {
    return Uniforms(stream, entity, counter).first;
  }
  // Two independent draws of one block.
  [[nodiscard]] std::pair<double, double> Uniforms(Stream stream, std::uint64_t entity,
                                                   std::uint32_t counter) const;
  [[nodiscard]] double Normal(Stream stream, std::uint64_t entity, std::uint32_t counter) const {
    return NormalQuantile(Uniform(stream, entity, counter));
  }
  // Gamma with this shape (at least 1) and scale 1 (Marsaglia and Tsang, "A simple method for generating gamma
  // variables", 2000). Uses as many counters from `counter` on as it rejects: give it a range of 64 of its own.
  [[nodiscard]] double Gamma(double shape, Stream stream, std::uint64_t entity, std::uint32_t counter) const;

 private:
  PhiloxKey key_;
};

// Distributions by the quantile of a uniform draw u in (0, 1).
double LogNormal(double mu, double sigma, double u);
double Exponential(double mean, double u);
double Weibull(double shape, double scale, double u);

}  // namespace cobblestone::fleet
