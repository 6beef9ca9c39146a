// Corrections of an account's credit by day: when they came, and the day whose credit they changed. The daily history
// (day_history.h) has a correction on the day on which it came; these sums say what it was about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/credit/accounts/account.h"

namespace cobblestone::credit {

struct CorrectedDay {
  MicroTotal micro = 0;    // the change of the total
  std::int64_t came = 0;   // UNIX day
  std::int64_t about = 0;  // UNIX day; 0: unknown

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.micro, s.came, s.about);
  }
  friend bool operator==(const CorrectedDay&, const CorrectedDay&) = default;
};

// A correction of a whole app may be about every day of the history, of every account: the newest ones are kept.
inline constexpr std::size_t kCorrectedDays = 100;

// Adds a correction. `days` ascends by (came, about) and has no sum of 0; beyond kCorrectedDays the first one is dropped.
void AddCorrection(const CorrectedDay& more, std::vector<CorrectedDay>& days);

}  // namespace cobblestone::credit
