// Named places at which a test kills the process: COBBLESTONE_FAILPOINT=E3:17 sends SIGKILL at the 17th pass
// through E3. Costs one predictable branch when not set.
#pragma once

#include <string_view>

namespace cobblestone {

extern bool failpoints_armed;  // set at start from the environment, or by ArmFailpoint
void FailpointHit(std::string_view name);

// For tests that fork: equivalent to the environment variable with the value `spec` ("E3:17"). Call before
// any thread is started.
void ArmFailpoint(std::string_view spec);

inline void Failpoint(std::string_view name) {
  if (failpoints_armed) [[unlikely]]
    FailpointHit(name);
}

}  // namespace cobblestone
