#include "services/view/hub/index_schedule.h"

#include <algorithm>
#include <utility>

namespace cobblestone::view {

namespace {

constexpr double kLeastPause = 1;     // s between two builds
constexpr double kLongestPause = 60;  // s, or the cost of a build if that is more
// Times the cost of a build.
constexpr double kPauseForEdition = 4;
constexpr double kWaitWhileArriving = 9;
constexpr double kWaitForEvents = 19;
constexpr double kQuiet = 10;
// Longer than the usual time between two state writes, before which an import looks quiet.
constexpr double kLongestQuiet = 12;  // s
// A shorter build does not wait for quiet.
constexpr double kShortBuild = 0.1;  // s

}  // namespace

bool IndexSchedule::Due(const HubRows& rows, double now) {
  if (Moment seen{.editions = rows.editions, .positions = rows.positions}; seen != last_) {
    last_ = std::move(seen);
    changed_ = now;
  }
  if (!indexed_) return true;
  if (last_ == *indexed_) {
    stale_.reset();
    return false;
  }
  if (!stale_) stale_ = now;
  if (now - ended_ < kLeastPause) return false;
  const bool edition = last_.editions != indexed_->editions;
  const double quiet = cost_ < kShortBuild ? 0 : std::min(kQuiet * cost_, kLongestQuiet);
  const double pause = std::max(cost_, std::min(kPauseForEdition * cost_, kLongestPause));
  if (edition && now - changed_ >= quiet) return now - ended_ >= pause;
  return now - *stale_ >= (edition ? kWaitWhileArriving : kWaitForEvents) * cost_;
}

void IndexSchedule::Built(const HubRows& rows, double ended, double cost) {
  indexed_ = {.editions = rows.editions, .positions = rows.positions};
  stale_.reset();
  ended_ = ended;
  cost_ = cost;
}

}  // namespace cobblestone::view
