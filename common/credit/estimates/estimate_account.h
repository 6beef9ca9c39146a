// What estimates have come to for a user, a host or both, with its history day by day, and how grants settle it
// (docs/rules.md, section 43). It awards nothing: totals and recent averages are the ledger's.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/added_in.h"
#include "common/credit/accounts/account.h"
#include "common/credit/estimates/estimate_policy.h"

namespace cobblestone::credit {

struct EstimateDay {
  std::int64_t day = 0;  // UNIX day of the report
  MicroTotal micro = 0;
  MicroTotal run_time = 0;  // microseconds; of failed jobs too
  std::uint64_t jobs = 0;   // failed ones too
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
    f(s.day, s.micro, s.run_time, s.jobs, AddedIn<3>(s.failed_jobs), AddedIn<3>(s.failed_run_time));
  }
};

struct EstimateSums {
  MicroTotal micro = 0;
  MicroTotal run_time = 0;  // microseconds; of failed jobs too
  std::uint64_t jobs = 0;   // failed ones too
  std::uint64_t failed_jobs = 0;
  MicroTotal failed_run_time = 0;  // microseconds
  std::vector<EstimateDay> days;   // ascending by day; stages keep older blocks beside it (day_history.h)

  friend bool operator==(const EstimateSums&, const EstimateSums&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.micro, s.run_time, s.jobs, s.failed_jobs, s.failed_run_time, s.days);
  }
};

// What a report of `time` (UNIX s) has brought.
void AddEstimate(const EstimateCounters& use, double time, EstimateSums& sums);

// Of several owners of a host.
void Add(const EstimateSums& more, EstimateSums& sums);

// What one host has done for one owner. Grants for it settle what was estimated; what is taken back of them does not make it
// provisional again.
struct OwnerEstimates {
  UserId user;  // 0: nobody
  EstimateSums sums;
  MicroTotal granted = 0;  // to this owner for this host, since its first estimate

  // Estimated and not granted.
  [[nodiscard]] MicroTotal open() const { return sums.micro > granted ? sums.micro - granted : 0; }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.user, s.sums, s.granted);
  }
};

// A user's, over all its hosts.
struct UserEstimates {
  EstimateSums sums;
  MicroTotal open = 0;   // of its hosts
  MicroTotal shown = 0;  // the most that total and open ones have come to, less what was taken back for good

  // The account shows `total` now, and `before` a moment ago.
  void Show(MicroTotal before, MicroTotal total);

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.sums, s.open, s.shown);
  }
};

}  // namespace cobblestone::credit
