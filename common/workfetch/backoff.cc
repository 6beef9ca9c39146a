#include "common/workfetch/backoff.h"

#include <algorithm>

namespace cobblestone::workfetch {

void Backoff::NoJobs(double now) {
  interval_ = interval_ == 0 ? kFirstBackoff : std::min(2 * interval_, kLongestBackoff);
  until_ = now + interval_;
}

}  // namespace cobblestone::workfetch
