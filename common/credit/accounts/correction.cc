#include "common/credit/accounts/correction.h"

#include <algorithm>
#include <cmath>

#include "common/credit/model/constants.h"

namespace cobblestone::credit {

void AddToShare(MicroCredit micro, double time, RecentAverage& share) {
  const double now = std::max(time, share.time);
  share = {.value = DecayedAverage(share, now, kRecentAverageHalfLife) +
                    kLn2 * (static_cast<double>(micro) / 1e6) * kSecondsPerDay / kRecentAverageHalfLife,
           .time = now};
}

void TakeFromShare(double off, double time, RecentAverage& share) {
  const double now = std::max(time, share.time);
  share = {.value = DecayedAverage(share, now, kRecentAverageHalfLife) - off, .time = now};
}

double ShareOff(const RecentAverage& share, MicroCredit before, MicroCredit after, double now) {
  if (before == 0) return 0;
  const double left = DecayedAverage(share, now, kRecentAverageHalfLife);
  const double off =
      after == 0 ? left : left * (1 - static_cast<double>(after) / static_cast<double>(before));
  return std::isfinite(off) ? off : 0;
}

double ShareBack(const RecentAverage& taken, double now) {
  const double back = DecayedAverage(taken, now, kRecentAverageHalfLife);
  return std::isfinite(back) ? -back : 0;
}

}  // namespace cobblestone::credit
