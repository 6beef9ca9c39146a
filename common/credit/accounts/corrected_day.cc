#include "common/credit/accounts/corrected_day.h"

#include <algorithm>
#include <tuple>

namespace cobblestone::credit {

void AddCorrection(const CorrectedDay& more, std::vector<CorrectedDay>& days) {
  if (more.micro == 0) return;
  const auto at =
      std::lower_bound(days.begin(), days.end(), more, [](const CorrectedDay& a, const CorrectedDay& b) {
        return std::tie(a.came, a.about) < std::tie(b.came, b.about);
      });
  if (at != days.end() && at->came == more.came && at->about == more.about) {
    at->micro += more.micro;
    if (at->micro == 0) days.erase(at);
    return;
  }
  days.insert(at, more);
  if (days.size() > kCorrectedDays) days.erase(days.begin());
}

}  // namespace cobblestone::credit
