// A federation hub as Prometheus metrics: at a project its factors (services/factors) and the accounts that it sends
// (services/hub/push); at the hub its index of accounts and the snapshots that it writes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

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

// The index of a hub's accounts (services/view/hub).
struct HubIndexLook {
  double as_of = 0;  // UNIX s; 0: none yet
  double took = 0;   // s
  std::uint64_t people = 0;
  std::uint64_t users = 0;
  std::uint64_t hosts = 0;
};

void AddHubIndex(const HubIndexLook& look, Families* all);

// A project whose accounts are sent to the hub.
struct HubPushLook {
  std::uint32_t project = 0;  // this deployment's number
  // When the newest edition that the hub has accepted was read from the state, UNIX s; before the first one the start of
  // the process.
  double accepted_time = 0;
  double checked_time = 0;  // last time the hub had everything, UNIX s; 0: not since the start
  std::uint64_t failures = 0;
};

void AddHubPush(std::span<const HubPushLook> looks, Families* all);

}  // namespace cobblestone::metrics
