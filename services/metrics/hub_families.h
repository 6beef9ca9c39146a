// A federation hub as Prometheus metrics: its factors at a project that uses them (services/factors), and the hub's own
// index of accounts.
#pragma once

#include <cstdint>

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

// The index of a hub's accounts (services/view/hub).
struct HubIndexLook {
  double as_of = 0;  // UNIX s; 0: none yet
  double took = 0;   // s
  std::uint64_t people = 0;
  std::uint64_t users = 0;
  std::uint64_t hosts = 0;
};

void AddHubIndex(const HubIndexLook& look, Families* all);

}  // namespace cobblestone::metrics
