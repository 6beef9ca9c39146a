#include "services/kafka/kafka_view_metrics.h"

#include <algorithm>

#include "services/metrics/families.h"
#include "services/metrics/process.h"
#include "services/metrics/quota_families.h"
#include "services/view/hub_questions.h"

namespace cobblestone::kafka {
namespace {

std::vector<metrics::QuotaLook> QuotaLooks(const intake::Quotas& quotas) {
  std::vector<metrics::QuotaLook> looks;
  for (const auto& use : quotas.Look())
    looks.push_back({.project = use.project,
                     .events = use.events,
                     .bytes = use.bytes,
                     .throttled = use.throttled,
                     .events_per_second = use.events_per_second,
                     .bytes_per_second = use.bytes_per_second});
  return looks;
}

}  // namespace

std::string KafkaViewMetrics::Render() const {
  metrics::Families all;
  metrics::AddBuild(&all);
  all.Gauge("cobblestone_health_state", "Health of the process; 0: ok, 1: degraded, 2: failed.")
      .Add(static_cast<double>(health().state));
  auto shown =
      all.Gauge("cobblestone_kafka_view_commits",
                "Commits of a slot in the view of the gateway; 0: no state of the slot has arrived yet.");
  auto lag =
      all.Gauge("cobblestone_kafka_view_lag_commits",
                "Commits of a slot that are not in the view yet; absent if the brokers do not answer.");
  for (const KafkaView::ShownSlot& slot : view_.Look()) {
    const metrics::Labels labels{{"slot", std::to_string(slot.slot)}, {"role", slot.role}};
    shown.Add(labels, static_cast<double>(slot.shown));
    if (slot.committed)
      lag.Add(labels, static_cast<double>(*slot.committed - std::min(*slot.committed, slot.shown)));
  }
  metrics::AddQuotas(QuotaLooks(quotas_), &all);
  {
    const std::lock_guard lock(mutex_);
    if (hub_) metrics::AddHub(hub_(), &all);
    if (hub_push_) metrics::AddHubPush(hub_push_(), &all);
  }
  if (view::HubQuestions* hub = view_.questions().hub(); hub != nullptr) {
    const view::HubLists::Look look = hub->lists().look();
    metrics::AddHubIndex({.as_of = look.as_of,
                          .took = look.took,
                          .people = look.people,
                          .users = look.users,
                          .hosts = look.hosts},
                         &all);
  }
  metrics::AddDisk(data_directory_, &all);
  metrics::AddProcess(&all);
  return all.Text();
}

void KafkaViewMetrics::SetHub(std::function<metrics::HubLook()> look) {
  const std::lock_guard lock(mutex_);
  hub_ = std::move(look);
}

void KafkaViewMetrics::SetHubPush(std::function<std::vector<metrics::HubPushLook>()> look) {
  const std::lock_guard lock(mutex_);
  hub_push_ = std::move(look);
}

metrics::Health KafkaViewMetrics::health() const {
  if (!view_.failure().ok())
    return {
        .state = metrics::HealthState::kFailed,
        .problems = {
            "the view has stopped following the log; see the gateway's log for the reason and the remedy"}};
  return {};
}

}  // namespace cobblestone::kafka
