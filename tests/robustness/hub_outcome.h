// The state of a hub on one machine, compared with the oracle (hub_traffic.h).
#pragma once

#include <string>
#include <vector>

#include "services/embedded/engine.h"
#include "tests/robustness/hub_traffic.h"

namespace cobblestone::testing {

// From the rows of a hub at rest.
HubOutcome OutcomeOfHub(embedded::Engine& engine);
// Compares both, and names the first differences.
void ExpectLikeTheHubOracle(embedded::Engine& engine, const std::vector<Event>& events);

settings::RunSettings BusyHubSettings(const std::string& directory);

}  // namespace cobblestone::testing
