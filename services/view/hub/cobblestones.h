// Points of a project as Cobblestones: some projects give seven points for what others give one Cobblestone for.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/accounts/day_history.h"
#include "common/wire/events/feeds.h"

namespace cobblestone::view {

// Rounded to the nearest micro-credit; exact if `points` is 1.
inline credit::MicroTotal InCobblestones(credit::MicroTotal micro, double points) {
  if (points == 1) return micro;
  return static_cast<credit::MicroTotal>(std::round(static_cast<long double>(micro) / points));
}

// How a project's points count. Credit that an account had before the day `since` counts one for one, also what it had when
// the hub first saw it. So a total counts as the sum of its days, to one micro-credit for each of them.
struct Points {
  double per_cobblestone = 1;
  std::int64_t since = 0;  // UNIX day; 0: all credit

  // Whether a total is not enough to convert it: OfTotal() needs `later`.
  [[nodiscard]] bool dated() const { return since > 0; }
  // What came on a day, in Cobblestones.
  [[nodiscard]] credit::MicroTotal OfDay(credit::MicroTotal micro, std::int64_t day) const {
    return day < since ? micro : InCobblestones(micro, per_cobblestone);
  }
  // `later`: the part of the total that came on the day `since` or later; ignored unless dated().
  [[nodiscard]] credit::MicroTotal OfTotal(credit::MicroTotal total, credit::MicroTotal later) const {
    if (!dated()) return InCobblestones(total, per_cobblestone);
    return total - later + InCobblestones(later, per_cobblestone);
  }
  // A recent average at a time (UNIX s). It does not say of which days it is, so all of it counts as credit of that time.
  [[nodiscard]] double OfRecent(double recent, double time) const {
    return credit::DayOf(time) < since ? recent : recent / per_cobblestone;
  }
  // The part of these days that is `later`.
  [[nodiscard]] credit::MicroTotal LaterOf(const std::vector<credit::DaySum>& days) const {
    credit::MicroTotal later = 0;
    for (const credit::DaySum& day : days)
      if (day.day >= since) later += day.micro;
    return later;
  }
};

// Without a date if the points are Cobblestones.
inline Points PointsOf(const wire::FeedProject& project) {
  const double per = project.points_per_cobblestone > 0 ? project.points_per_cobblestone : 1;
  return {.per_cobblestone = per, .since = per == 1 ? 0 : project.points_since};
}

}  // namespace cobblestone::view
