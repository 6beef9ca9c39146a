// Prometheus metrics about a federation hub: its factors (services/factors), and the snapshots that it writes itself.
#pragma once

#include <cstdint>
#include <optional>

#include "services/metrics/families.h"

namespace cobblestone::metrics {

struct HubLook {
  bool answered = false;  // since the start of the process
  // Of the newest accepted answer, UNIX s. Before the first answer: of the newest factor in force, or the start of the
  // process if there is none.
  double as_of = 0;
  double last_success = 0;  // UNIX s; 0: none yet
  std::uint64_t failures = 0;
};

void AddHub(const HubLook& look, Families* all);
// `published`: UNIX s at which the newest snapshot was published; none yet: the time of the first call is shown.
void AddHubSnapshot(std::optional<double> published, Families* all);

}  // namespace cobblestone::metrics
