// Metrics and health of the workers of one process on Kafka, computed from their counters on request. Each process
// reports its own slots; the sums over all processes are those of the deployment.
//
// Threads: any.
#pragma once

#include <string>

#include "services/kafka/kafka_workers.h"
#include "services/metrics/families.h"
#include "services/metrics/health.h"

namespace cobblestone::kafka {

class KafkaMetrics {
 public:
  // `workers` must outlive this object.
  explicit KafkaMetrics(const KafkaWorkers& workers) : workers_(workers) {}

  // Prometheus' text (services/metrics/families.h).
  [[nodiscard]] std::string Render() const;
  [[nodiscard]] metrics::Health health() const;

 private:
  const KafkaWorkers& workers_;
};

}  // namespace cobblestone::kafka
