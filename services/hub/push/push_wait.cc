#include "services/hub/push/push_wait.h"

#include <algorithm>

namespace cobblestone::hub {

namespace {

constexpr double kFirstPushRetry = 5;        // s
constexpr double kLongestAskedPause = 3600;  // s
constexpr int kOverQuota = 429;

}  // namespace

double PushWait(std::uint64_t failures_in_a_row, const AskedPause& asked, double interval) {
  if (failures_in_a_row == 0) return interval;
  const double pause = std::clamp(asked.seconds, 0.0, kLongestAskedPause);
  if (asked.status == kOverQuota && pause > 0) return pause;
  const auto doubled = static_cast<double>(1ULL << std::min<std::uint64_t>(failures_in_a_row - 1, 20));
  return std::max(std::min(interval, kFirstPushRetry * doubled), pause);
}

}  // namespace cobblestone::hub
