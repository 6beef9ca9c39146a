#include "services/metrics/hub_families.h"

namespace cobblestone::metrics {

void AddHub(const HubLook& look, Families* all) {
  all->Gauge(
         "cobblestone_hub_factors_timestamp_seconds",
         "Time of the newest accepted answer of the hub; before the first answer that of the newest factor in "
         "force, or the start of the process.")
      .Add(look.as_of);
  all->Gauge("cobblestone_hub_success_timestamp_seconds",
             "Time of the last answer of the hub that was accepted; 0: none since the start.")
      .Add(look.last_success);
  all->Counter("cobblestone_hub_failures_total",
               "Questions to the hub that failed, or whose answer was rejected or not fully applied.")
      .Add(static_cast<double>(look.failures));
}

void AddHubPush(std::span<const HubPushLook> looks, Families* all) {
  auto accepted = all->Gauge("cobblestone_hub_push_edition_timestamp_seconds",
                             "Time of the newest edition of a project's accounts that the hub has accepted; "
                             "before the first one the start of the process.");
  auto checked =
      all->Gauge("cobblestone_hub_push_success_timestamp_seconds",
                 "Last time the hub had all changed accounts of a project; 0: not since the start.");
  auto failures = all->Counter("cobblestone_hub_push_failures_total",
                               "Attempts to send accounts of a project to the hub that failed.");
  for (const HubPushLook& look : looks) {
    const Labels labels{{"project", std::to_string(look.project)}};
    accepted.Add(labels, look.accepted_time);
    checked.Add(labels, look.checked_time);
    failures.Add(labels, static_cast<double>(look.failures));
  }
}

}  // namespace cobblestone::metrics
