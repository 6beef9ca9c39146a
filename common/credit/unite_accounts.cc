#include "common/credit/unite_accounts.h"

#include <algorithm>
#include <cmath>

#include "common/credit/constants.h"

namespace cobblestone::credit {
namespace {

// Both ascending by what `id` gives; sums of the same are added.
template <class Sum, class Id>
void AddSums(const std::vector<Sum>& from, Id Sum::*id, std::vector<Sum>& into) {
  for (const Sum& one : from) {
    auto at = std::lower_bound(into.begin(), into.end(), one,
                               [id](const Sum& a, const Sum& b) { return a.*id < b.*id; });
    if (at == into.end() || (*at).*id != one.*id) {
      into.insert(at, one);
    } else {
      at->micro += one.micro;
      at->grants += one.grants;
    }
  }
}

}  // namespace

void Unite(const Account& from, Account& into) {
  into.total_micro += from.total_micro;
  into.provisional_micro += from.provisional_micro;
  into.owed_micro += from.owed_micro;
  into.grants += from.grants;
  AddSums(from.apps, &AppSum::app, into.apps);
  AddSums(from.days, &DaySum::day, into.days);
  std::erase_if(into.days, [&](const DaySum& one) { return one.day <= into.days.back().day - kHistoryDays; });
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
