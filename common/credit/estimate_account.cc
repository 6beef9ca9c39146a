#include "common/credit/estimate_account.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/credit/constants.h"

namespace cobblestone::credit {
namespace {

// A wild time is of the nearest day that a number can hold.
std::int64_t DayOf(double time) {
  return static_cast<std::int64_t>(std::clamp(std::floor(time / kSecondsPerDay), -9e15, 9e15));
}

void AddDay(const EstimateDay& more, std::vector<EstimateDay>& days) {
  if (!days.empty() && more.day <= days.back().day - kHistoryDays)
    return;  // older than the history goes back
  auto at = days.end();
  while (at != days.begin() && std::prev(at)->day >= more.day)
    --at;  // from the end: reports come almost in order
  if (at == days.end() || at->day != more.day)
    at = days.insert(at, {.day = more.day, .micro = 0, .run_time = 0, .jobs = 0});
  at->micro += more.micro;
  at->run_time += more.run_time;
  at->jobs += more.jobs;
  const std::int64_t oldest = days.back().day - kHistoryDays + 1;
  days.erase(days.begin(), std::find_if(days.begin(), days.end(),
                                        [&](const EstimateDay& one) { return one.day >= oldest; }));
}

}  // namespace

void AddEstimate(const EstimateCounters& use, double time, EstimateSums& sums) {
  sums.micro += use.credit;
  sums.run_time += use.run_time;
  sums.jobs += use.jobs;
  sums.failed_jobs += use.failed_jobs;
  sums.failed_run_time += use.failed_run_time;
  AddDay({.day = DayOf(time), .micro = use.credit, .run_time = use.run_time, .jobs = use.jobs}, sums.days);
}

void Add(const EstimateSums& more, EstimateSums& sums) {
  sums.micro += more.micro;
  sums.run_time += more.run_time;
  sums.jobs += more.jobs;
  sums.failed_jobs += more.failed_jobs;
  sums.failed_run_time += more.failed_run_time;
  for (const EstimateDay& day : more.days) AddDay(day, sums.days);
}

void UserEstimates::Show(MicroTotal before, MicroTotal total) {
  if (total < before) shown -= before - total;
  shown = std::max(shown, total + open);
}

}  // namespace cobblestone::credit
