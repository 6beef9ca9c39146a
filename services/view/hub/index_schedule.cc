#include "services/view/hub/index_schedule.h"

#include <algorithm>
#include <utility>

namespace cobblestone::view {

namespace {

constexpr double kLeastPause = 1;  // s between two builds
// Times the duration of a build.
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
  const double quiet = took_ < kShortBuild ? 0 : std::min(kQuiet * took_, kLongestQuiet);
  if (edition && now - changed_ >= quiet) return now - ended_ >= kPauseForEdition * took_;
  return now - *stale_ >= (edition ? kWaitWhileArriving : kWaitForEvents) * took_;
}

void IndexSchedule::Built(const HubRows& rows, double begun, double ended) {
  indexed_ = {.editions = rows.editions, .positions = rows.positions};
  stale_.reset();
  ended_ = ended;
  took_ = ended - begun;
}

}  // namespace cobblestone::view
