// Sums of estimated credit (of a user, of a host for one owner, of a project) with a daily history, and their
// settlement by grants (docs/rules.md, section 43). Estimates award nothing: totals and recent averages come
// from the ledger only.
#pragma once

#include <cstdint>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/estimates/estimate_policy.h"

namespace cobblestone::credit {

struct EstimateDay {
  std::int64_t day = 0;  // UNIX day of the report
  MicroTotal micro = 0;
  MicroTotal run_time = 0;  // microseconds; includes failed jobs
  std::uint64_t jobs = 0;   // includes failed jobs
  std::uint64_t failed_jobs = 0;
  MicroTotal failed_run_time = 0;  // microseconds

  void Add(const EstimateDay& more) {
    micro += more.micro;
    run_time += more.run_time;
    jobs += more.jobs;
    failed_jobs += more.failed_jobs;
    failed_run_time += more.failed_run_time;
  }

  friend bool operator==(const EstimateDay&, const EstimateDay&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.day, s.micro, s.run_time, s.jobs, s.failed_jobs, s.failed_run_time);
  }
};

struct EstimateSums {
  MicroTotal micro = 0;
  MicroTotal run_time = 0;  // microseconds; includes failed jobs
  std::uint64_t jobs = 0;   // includes failed jobs
  std::uint64_t failed_jobs = 0;
  MicroTotal failed_run_time = 0;  // microseconds
  std::vector<EstimateDay> days;  // ascending by day; stages keep older days in separate rows (day_history.h)

  friend bool operator==(const EstimateSums&, const EstimateSums&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.micro, s.run_time, s.jobs, s.failed_jobs, s.failed_run_time, s.days);
  }
};

// Adds the growth that a report of `time` (UNIX s) was allowed.
void AddEstimate(const EstimateCounters& use, double time, EstimateSums& sums);

// Adds all of `more`, for example the sums of another owner of a host.
void Add(const EstimateSums& more, EstimateSums& sums);

// Estimates of one host for one owner. Grants for the same host and owner settle the estimates; a reversal of
// such a grant does not make the estimates provisional again.
struct OwnerEstimates {
  UserId user;  // 0: no user
  EstimateSums sums;
  MicroTotal granted = 0;  // to this owner for this host, since the first estimate

  // Estimated and not yet granted.
  [[nodiscard]] MicroTotal open() const { return sums.micro > granted ? sums.micro - granted : 0; }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.user, s.sums, s.granted);
  }
};

// Estimates of one user, over all the user's hosts.
struct UserEstimates {
  EstimateSums sums;
  MicroTotal open = 0;   // sum over the user's hosts
  MicroTotal shown = 0;  // highest total + open so far, less decreases of the total

  // Updates `shown`. The account's shown total (Account::shown_micro) has changed from `before` to `total`.
  void Show(MicroTotal before, MicroTotal total);

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.sums, s.open, s.shown);
  }
};

}  // namespace cobblestone::credit
