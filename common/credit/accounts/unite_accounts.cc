#include "common/credit/accounts/unite_accounts.h"

#include <algorithm>
#include <cmath>

#include "common/credit/accounts/day_history.h"
#include "common/credit/model/constants.h"

namespace cobblestone::credit {
void Unite(const Account& from, Account& into) {
  into.total_micro += from.total_micro;
  into.provisional_micro += from.provisional_micro;
  into.owed_micro += from.owed_micro;
  into.grants += from.grants;
  for (const AppSum& app : from.apps) AddApp(app, into.apps);
  for (const DaySum& day : from.days) AddDay(day, into.days);
  if (from.recent.time == 0) return;
  if (into.recent.time == 0) {
    into.recent = from.recent;
    return;
  }
  const double now = std::max(from.recent.time, into.recent.time);
  const double value = DecayedAverage(into.recent, now, kRecentAverageHalfLife) +
                       DecayedAverage(from.recent, now, kRecentAverageHalfLife);
  if (std::isfinite(value)) into.recent = {.value = value, .time = now};
}

}  // namespace cobblestone::credit
