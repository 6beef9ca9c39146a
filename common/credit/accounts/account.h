// Accounts: totals as integers, recent average credit, per-app sums, daily history (docs/rules.md, sections 29 to
// 31).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/added_in.h"
#include "common/base/ids.h"

namespace cobblestone::credit {

// Micro-credits: 10^-6 Cobblestone. 64 bits for one grant, 128 for a sum.
using MicroCredit = std::int64_t;
__extension__ using MicroTotal = __int128;

// The one place where a double becomes micro-credits: credit x 1e6, nearest integer, ties to even. The
// product is not rounded before: it is the exact value of the double, times a million, that is rounded.
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
// the limit for dt -> 0 (golden README, item 23; table s11). half_life in s. As in both: a `now` before
// average.time counts as no time passed and becomes the average's time all the same; a first posting with
// work_start >= now gives an infinite or negative average, which Post() below handles.
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

// Ascending by app.
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
  MicroTotal total_micro = 0;        // all credit ever granted, less all credit taken back
  MicroTotal provisional_micro = 0;  // part of total: partial grants of undecided results
  // Was taken back, and future credit makes up for it first (TrickleSettlement::kCap).
  MicroTotal owed_micro = 0;
  RecentAverage recent;
  std::uint64_t grants = 0;  // granted results, including grants of zero
  std::vector<AppSum> apps;  // ascending by app
  std::vector<DaySum>
      days;  // its history, ascending by day; stages keep older blocks beside it (day_history.h)

  // What people are shown: never goes down but where credit is taken back for good.
  [[nodiscard]] MicroTotal shown_micro() const { return total_micro + owed_micro; }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.opening_micro, s.total_micro, s.recent, s.grants, s.apps, s.days, AddedIn<2>(s.provisional_micro),
      AddedIn<2>(s.owed_micro));
  }
};

struct PostingFacts {
  MicroCredit micro = 0;
  AppId app;
  double now = 0;         // grant time, UNIX s
  double work_start = 0;  // UNIX s
  // Work for the recent average, Cobblestones before rounding (Grant.credit); absent: micro / 1e6.
  std::optional<double> work = std::nullopt;
  // boinc, exactly as golden README item 23: a posting older than the average sets the average's time back, and a
  // first posting that ends before it began makes the average negative. Otherwise the first counts as made at the
  // average's time, and the second leaves the average empty.
  bool boinc_average = false;
  bool counted = true;          // a result was granted with it; not with a partial grant or a reversal
  MicroCredit provisional = 0;  // added to the provisional part
  bool owed = false;            // what it takes back future credit makes up for
  // Cobblestones per day that the recent average loses: the share that the reversed credit still has in the average.
  // A negative `micro` itself is no work for the average. Negative: the average gains (only in a correction).
  double recent_off = 0;
  bool corrects = false;  // an operator's reversal or re-pricing: `micro` is no work, whatever its sign
  bool uncounts = false;  // a granted result no longer counts
  // A correction that gives a result its first credit: the gain starts the recent average of an account that has
  // none yet.
  bool begins_average = false;
};

// One posting, whole: total, recent average, per app, day, count. Total, sums and count take any posting;
// where the recent average would not stay finite it is left as it was, time included (golden README, item 27:
// BOINC's row keeps its content).
void Post(const PostingFacts& posting, Account& account);

}  // namespace cobblestone::credit
