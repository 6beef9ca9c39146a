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

void AddHubIndex(const HubIndexLook& look, Families* all) {
  all->Gauge("cobblestone_hub_index_timestamp_seconds",
             "Time of the index of accounts that a federation hub answers from; 0: it is being built.")
      .Add(look.as_of);
  all->Gauge("cobblestone_hub_index_build_seconds", "Duration of the last build of the index of accounts.")
      .Add(look.took);
  all->Gauge("cobblestone_hub_people", "People over all projects in the index of accounts.")
      .Add(static_cast<double>(look.people));
  auto accounts =
      all->Gauge("cobblestone_hub_accounts", "Accounts of all projects in the index of accounts.");
  accounts.Add({{"kind", "user"}}, static_cast<double>(look.users));
  accounts.Add({{"kind", "host"}}, static_cast<double>(look.hosts));
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
