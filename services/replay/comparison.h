// Who gains and who loses by the second run of a replay.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "services/replay/replay.h"

namespace cobblestone::replay {

// Upper limits of the relative changes in a bin: below -10 %, to -2 %, to +2 %, to +10 %, above.
inline constexpr std::array<double, 4> kChangeLimits = {-0.10, -0.02, 0.02, 0.10};

// Hosts or users with credit in one of the runs. A change is relative to the first run; infinite if that granted nothing.
struct Changes {
  std::uint64_t all = 0;
  double median = 0;
  std::array<std::uint64_t, 5> bins{};

  [[nodiscard]] std::uint64_t losing() const { return bins[0] + bins[1]; }
  [[nodiscard]] std::uint64_t gaining() const { return bins[3] + bins[4]; }
};

struct Comparison {
  double all = 0;  // relative change of all credit
  Changes users;
  Changes hosts;
  std::array<Changes, 3> hosts_by_device;  // the kind of device that earned most of the host's credit
  // The same change for every user would be `all`. Users whose change deviates from it by more than 10 %.
  std::uint64_t users_above = 0;
  std::uint64_t users_below = 0;
};

Comparison Compare(const ReplaySummary& summary);

// The answer in two sentences; counts by size of the change; totals, by app and kind of device; the users and hosts that
// gain and lose most.
std::string DescribeComparison(const ReplaySummary& summary);

}  // namespace cobblestone::replay
