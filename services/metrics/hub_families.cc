#include "services/metrics/hub_families.h"

#include <chrono>

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

void AddHubSnapshot(std::optional<double> published, Families* all) {
  static const double first_call =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  all->Gauge(
         "cobblestone_hub_snapshot_timestamp_seconds",
         "Time at which the newest snapshot of this hub was published; before the first one the start of the "
         "process.")
      .Add(published.value_or(first_call));
}

}  // namespace cobblestone::metrics
