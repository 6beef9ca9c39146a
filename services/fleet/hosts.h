// Hosts of a simulated fleet: what a host is, and when it is available. Both are pure functions of the parameters, the
// seed and the number of the host.
#pragma once

#include <cstdint>
#include <limits>

#include "common/credit/model/model.h"
#include "services/fleet/draws.h"
#include "services/fleet/parameters.h"

namespace cobblestone::fleet {

enum class AvailabilityKind : std::uint8_t { kAlways, kDaily, kRandom };

struct HostTraits {
  double core_flops = 0;  // true speed of one core, FLOP/s
  double whetstone = 0;   // as its benchmark measured it, FLOP/s
  double gpu_flops = 0;   // peak of its GPU, FLOP/s; 0: none
  std::uint32_t cores = 1;
  credit::Resource gpu = credit::Resource::kUnknown;
  AvailabilityKind availability = AvailabilityKind::kAlways;
  std::uint32_t day_start = 0;   // kDaily: s after midnight, UTC
  std::uint32_t day_length = 0;  // kDaily: s
  bool weekends = true;
  bool anonymous = false;
  bool managed = false;
  std::uint32_t projects = 1;     // attached projects, at most 3
  std::uint32_t speed_class = 0;  // third of the population by core speed, 0 the slowest
  double error_rate = 0;
  double lifetime = 0;  // s
};

// `settled`: the host is part of a stationary population at the start, so that its remaining lifetime counts.
HostTraits TraitsOf(const Parameters& parameters, const Draws& draws, std::uint64_t host, bool settled);

// The share of the time in which a host is available: of its own days, or over all hosts that are available at random.
double OnFraction(const Parameters& parameters, const HostTraits& traits);

// The periods in which a host computes and connects. Moments are seconds since the start of the simulation.
// Value type: a copy looks ahead without moving the original. Invariant: moments passed to one object never decrease.
class Availability {
 public:
  static constexpr double kForever = std::numeric_limits<double>::infinity();

  Availability() = default;
  // `joined`: the host's first available moment if it is kRandom.
  Availability(const HostTraits& traits, std::uint64_t host, double joined);

  // The first available moment at or after `moment`.
  double NextOn(const Parameters& parameters, const Draws& draws, double moment);
  // The moment at which `seconds` of available time after `moment` have passed.
  double After(const Parameters& parameters, const Draws& draws, double moment, double seconds);
  // The available seconds between two moments.
  double Between(const Parameters& parameters, const Draws& draws, double from, double to);

 private:
  // Moves to the first period that ends after `moment`.
  void MoveTo(const Parameters& parameters, const Draws& draws, double moment);

  std::uint64_t host_ = 0;
  double from_ = 0;
  double until_ = kForever;
  std::uint32_t period_ = 0;
  std::uint32_t day_start_ = 0;
  std::uint32_t day_length_ = 0;
  AvailabilityKind kind_ = AvailabilityKind::kAlways;
  bool weekends_ = true;
};

}  // namespace cobblestone::fleet
