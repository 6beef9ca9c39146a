// Accounts: totals as integers, recent average credit, per-app sums, daily history (docs/rules.md, sections 29
// to 31).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/ids.h"

namespace cobblestone::credit {

// Micro-credits: 10^-6 Cobblestone. 64 bits for one grant, 128 for a sum.
using MicroCredit = std::int64_t;
__extension__ using MicroTotal = __int128;

// The only conversion of a double to micro-credits: credit x 1e6, rounded once to the nearest integer, ties to
// even. The product before rounding is exact.
// Infinite, NaN or beyond 64 bits: 0 and *ok = false (the caller refuses).
MicroCredit RoundToMicro(double credit, bool* ok = nullptr);

// Recent average credit and the time at which it holds. S002, 'update_average'.
struct RecentAverage {
  double value = 0;  // Cobblestones per day
  double time = 0;   // UNIX s; 0: never

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.value, s.time);
  }
};

// Adds `work` Cobblestones granted at `now` for work begun at `work_start`. BOINC's and S002's function, with
// the limit for dt -> 0 (golden README, item 23; table s11). half_life in s. As in BOINC and S002, a `now`
// before average.time counts as no time passed, and average.time becomes `now` nevertheless. A first posting
// with work_start >= now results in an infinite or negative average, which Post() below handles.
void UpdateAverage(double now, double work_start, double work, double half_life, RecentAverage& average);

// The value at `now` without new work. S002, 'decay_average'; a `now` before average.time changes nothing.
double DecayedAverage(const RecentAverage& average, double now, double half_life);

struct AppSum {
  AppId app;
  MicroTotal micro = 0;
  std::uint64_t grants = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.app, s.micro, s.grants);
  }
};

// Adds `more` to the sum of its app. `apps` is ascending by app.
void AddApp(const AppSum& more, std::vector<AppSum>& apps);

struct DaySum {
  MicroTotal micro = 0;
  std::int64_t day = 0;  // UNIX day of the grant
  std::uint64_t grants = 0;

  void Add(const DaySum& more) {
    micro += more.micro;
    grants += more.grants;
  }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.day, s.micro, s.grants);
  }
};

struct Account {
  MicroTotal opening_micro = 0;      // from the opening event; part of total
  MicroTotal total_micro = 0;        // all credit ever granted, less all credit reversed
  MicroTotal provisional_micro = 0;  // part of total: partial grants of undecided results
  // Reversed credit that future credit makes up for first (TrickleSettlement::kCap).
  MicroTotal owed_micro = 0;
  RecentAverage recent;
  std::uint64_t grants = 0;  // granted results, including grants of zero
  std::vector<AppSum> apps;  // ascending by app
  std::vector<DaySum> days;  // ascending by day; stages keep older days in separate rows (day_history.h)

  // The total shown to people. A posting decreases this total only by reversed credit that is not owed.
  [[nodiscard]] MicroTotal shown_micro() const { return total_micro + owed_micro; }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.opening_micro, s.total_micro, s.recent, s.grants, s.apps, s.days, s.provisional_micro, s.owed_micro);
  }
};

struct PostingFacts {
  MicroCredit micro = 0;
  AppId app;
  double now = 0;         // grant time, UNIX s
  double work_start = 0;  // UNIX s
  // Work for the recent average, Cobblestones before rounding (Grant.credit); absent: micro / 1e6.
  std::optional<double> work = std::nullopt;
  // True: exactly as golden README item 23 (policy boinc). A posting older than the average sets the average's
  // time back, and a first posting with now < work_start makes the average negative. False: an older posting
  // counts at the average's time, and a first posting with work_start >= now leaves the average empty.
  bool boinc_average = false;
  bool counted = true;          // the posting grants a result; false for a partial grant or a reversal
  MicroCredit provisional = 0;  // added to the provisional part
  bool owed = false;            // future credit makes up for the amount that a negative `micro` reverses
  // Cobblestones per day that the recent average loses: the share that the reversed credit still has in the
  // average. A reversal's negative `micro` does not count as work for the average. Negative `recent_off`: the
  // average gains (only in a correction).
  double recent_off = 0;
  bool corrects = false;  // an operator's reversal or repricing: `micro` is not work for the average
  bool uncounts = false;  // the number of granted results decreases by one
  // A correction that grants a result its first credit: the gain starts the recent average of an account that
  // does not have one yet.
  bool begins_average = false;
};

// Applies one posting to total, recent average, app sum, day sum and count. Totals, sums and count accept any
// posting. A recent average that would not stay finite remains unchanged, including its time (golden README,
// item 27: BOINC's row keeps its content).
void Post(const PostingFacts& posting, Account& account);

}  // namespace cobblestone::credit
