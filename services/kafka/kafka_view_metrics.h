// Metrics and health of a gateway beside a deployment on Kafka: how far its view lags behind the deployment, the use of
// quotas by project, and figures of the process.
//
// Threads: any.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "services/intake/quotas.h"
#include "services/kafka/kafka_view.h"
#include "services/metrics/health.h"
#include "services/metrics/hub_families.h"

namespace cobblestone::kafka {

class KafkaViewMetrics {
 public:
  // `view` and `quotas` must outlive this object. `data_directory`: that of the view.
  KafkaViewMetrics(KafkaView& view, const intake::Quotas& quotas, std::string data_directory)
      : view_(view), quotas_(quotas), data_directory_(std::move(data_directory)) {}

  // Prometheus' text (services/metrics/families.h). Queries the brokers for committed positions.
  [[nodiscard]] std::string Render() const;
  [[nodiscard]] metrics::Health health() const;
  // From now on renders what `look` returns, too; empty: no more.
  void SetHub(std::function<metrics::HubLook()> look);
  void SetHubPush(std::function<std::vector<metrics::HubPushLook>()> look);

 private:
  KafkaView& view_;
  const intake::Quotas& quotas_;
  const std::string data_directory_;
  mutable std::mutex mutex_;
  std::function<metrics::HubLook()> hub_;                        // guarded by mutex_
  std::function<std::vector<metrics::HubPushLook>()> hub_push_;  // guarded by mutex_
};

}  // namespace cobblestone::kafka
