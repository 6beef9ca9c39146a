#include "common/credit/accounts/account.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "common/base/exp.h"
#include "common/credit/accounts/day_history.h"
#include "common/credit/model/constants.h"

namespace cobblestone::credit {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kMicroPerCredit = 1'000'000;
constexpr double kSmallestForgotten = 1e-6;  // S002: below it the first-order limit is used

// value / 2^shift, nearest integer, ties to even. shift > 0.
Wide ShiftRounded(Wide value, int shift) {
  if (shift > 100) return 0;  // value < 2^73: far below one half
  const Wide quotient = value >> shift;
  const Wide rest = value - (quotient << shift);
  const Wide half = Wide{1} << (shift - 1);
  const bool up = rest > half || (rest == half && (quotient & 1) != 0);
  return quotient + (up ? 1 : 0);
}

// Subtracts recent_off. The reversed credit had added kLn2 / half-life of each day's work at the times of its
// grants; recent_off is the decayed rest.
void TakeFromAverage(const PostingFacts& posting, RecentAverage& recent) {
  if (posting.recent_off == 0 || (recent.time == 0 && !posting.begins_average)) return;
  const double now = std::max(posting.now, recent.time);
  const double value = DecayedAverage(recent, now, kRecentAverageHalfLife) - posting.recent_off;
  if (!std::isfinite(value)) return;
  recent = {.value = std::max(value, 0.0), .time = now};
}

}  // namespace

MicroCredit RoundToMicro(double credit, bool* ok) {
  if (ok != nullptr) *ok = true;
  const auto fail = [ok] {
    if (ok != nullptr) *ok = false;
    return MicroCredit{0};
  };
  const auto bits = std::bit_cast<std::uint64_t>(credit);
  const bool negative = (bits >> 63) != 0;
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff) return fail();
  int shift = 1074;  // credit = mantissa / 2^shift
  if (exponent != 0) {
    mantissa |= std::uint64_t{1} << 52;
    shift = 1075 - exponent;
  }
  // A normal number with shift <= 0 is 2^52 or more: beyond 64 bits once multiplied.
  if (shift <= 0) return fail();
  const Wide micro = ShiftRounded(Wide{mantissa} * kMicroPerCredit, shift);  // below 2^73
  if (micro > Wide{std::numeric_limits<MicroCredit>::max()}) return fail();
  return negative ? -static_cast<MicroCredit>(micro) : static_cast<MicroCredit>(micro);
}

void UpdateAverage(double now, double work_start, double work, double half_life, RecentAverage& average) {
  if (average.time != 0) {
    double passed = now - average.time;
    if (passed < 0) passed = 0;
    const double weight = Exp(-passed * kLn2 / half_life);
    average.value *= weight;
    if (1.0 - weight > kSmallestForgotten) {
      const double days = passed / kSecondsPerDay;
      average.value += (1 - weight) * (work / days);
    } else {
      average.value += kLn2 * work * kSecondsPerDay / half_life;
    }
  } else if (work != 0) {
    const double days = (now - work_start) / kSecondsPerDay;
    average.value = work / days;
  }
  average.time = now;
}

double DecayedAverage(const RecentAverage& average, double now, double half_life) {
  const double passed = now - average.time;
  if (passed <= 0) return average.value;
  return average.value * Exp(-passed * kLn2 / half_life);
}

void AddApp(const AppSum& more, std::vector<AppSum>& apps) {
  auto at = std::lower_bound(apps.begin(), apps.end(), more.app,
                             [](const AppSum& sum, AppId app) { return sum.app < app; });
  if (at == apps.end() || at->app != more.app) at = apps.insert(at, AppSum{.app = more.app});
  at->micro += more.micro;
  at->grants += more.grants;
}

void Post(const PostingFacts& posting, Account& account) {
  account.total_micro += posting.micro;
  account.provisional_micro += posting.provisional;
  if (!posting.counted && !posting.uncounts && posting.micro == 0)
    return;  // the posting only makes partial grants final
  if (posting.micro < 0) {
    if (posting.owed) account.owed_micro -= posting.micro;
  } else if (account.owed_micro > 0) {
    account.owed_micro -= std::min<MicroTotal>(account.owed_micro, posting.micro);
  }
  const std::uint64_t counted = static_cast<std::uint64_t>(posting.counted) - (posting.uncounts ? 1 : 0);
  account.grants += counted;
  AddApp({.app = posting.app, .micro = posting.micro, .grants = counted}, account.apps);
  // A day counts the results granted on that day; later corrections do not change the count.
  const bool granted = posting.counted && !posting.corrects;
  AddDay({.micro = posting.micro, .day = DayOf(posting.now), .grants = granted ? 1u : 0u}, account.days);
  if (posting.corrects || (!posting.counted && posting.micro <= 0))
    return TakeFromAverage(posting, account.recent);

  if (!posting.boinc_average && account.recent.time == 0 && posting.work_start >= posting.now) return;
  RecentAverage next = account.recent;
  const double now = posting.boinc_average ? posting.now : std::max(posting.now, account.recent.time);
  const double work =
      posting.work.value_or(static_cast<double>(posting.micro) / static_cast<double>(kMicroPerCredit));
  UpdateAverage(now, posting.work_start, work, kRecentAverageHalfLife, next);
  if (std::isfinite(next.value) && std::isfinite(next.time)) account.recent = next;
}

}  // namespace cobblestone::credit
