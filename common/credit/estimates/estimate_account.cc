#include "common/credit/estimates/estimate_account.h"

#include <algorithm>

#include "common/credit/accounts/day_history.h"

namespace cobblestone::credit {
void AddEstimate(const EstimateCounters& use, double time, EstimateSums& sums) {
  sums.micro += use.credit;
  sums.run_time += use.run_time;
  sums.jobs += use.jobs;
  sums.failed_jobs += use.failed_jobs;
  sums.failed_run_time += use.failed_run_time;
  AddDay({.day = DayOf(time),
          .micro = use.credit,
          .run_time = use.run_time,
          .jobs = use.jobs,
          .failed_jobs = use.failed_jobs,
          .failed_run_time = use.failed_run_time},
         sums.days);
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
