// Traffic in the middle of which an operator reverses and prices anew, by what the ledger has by then.
#pragma once

#include <vector>

#include "tests/robustness/traffic.h"

namespace cobblestone::testing {

// Of RestlessTraffic: with reversals of some hosts at half and at three quarters of it, another version of the policy `runtime`
// at half, and results priced anew by it. They are decided as `order: lockstep` decides, so what they rest on is so in each run
// in that order. Each is said twice.
std::vector<Event> WithCorrections(const std::vector<Event>& events);

}  // namespace cobblestone::testing
