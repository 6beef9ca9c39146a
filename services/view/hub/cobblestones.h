// Points of a project as Cobblestones: some projects give seven points for what others give one Cobblestone for.
#pragma once

#include <cmath>

#include "common/credit/accounts/account.h"
#include "common/wire/events/feeds.h"

namespace cobblestone::view {

inline double PointsPerCobblestone(const wire::FeedProject& project) {
  return project.points_per_cobblestone > 0 ? project.points_per_cobblestone : 1;
}

// Rounded to the nearest micro-credit; exact if `points` is 1.
inline credit::MicroTotal InCobblestones(credit::MicroTotal micro, double points) {
  if (points == 1) return micro;
  return static_cast<credit::MicroTotal>(std::round(static_cast<long double>(micro) / points));
}

}  // namespace cobblestone::view
