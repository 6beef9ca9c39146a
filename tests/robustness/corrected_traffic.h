// Traffic with reversals and repricings by an operator in between, planned from the ledger at that point.
#pragma once

#include <vector>

#include "tests/robustness/traffic.h"

namespace cobblestone::testing {

// RestlessTraffic with corrections: an operator reverses some hosts after one half and after three quarters
// of the traffic, and after one half introduces another version of the policy `runtime` and reprices results
// by it. The corrections are planned on a pipeline with `order: lockstep`, so they are based on the same
// ledger in every lockstep run. Each correction is sent twice.
std::vector<Event> WithCorrections(const std::vector<Event>& events);

}  // namespace cobblestone::testing
