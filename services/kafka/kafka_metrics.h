// The metrics and the health of the workers of one process on Kafka, gathered from their counters when somebody asks.
// Each process tells of the slots that it has: sums over all processes are those of the deployment.
//
// Threads: any.
#pragma once

#include <string>

#include "services/kafka/kafka_workers.h"
#include "services/metrics/families.h"
#include "services/metrics/health.h"

namespace cobblestone {

class KafkaMetrics {
 public:
  // The workers must outlive this.
  explicit KafkaMetrics(const KafkaWorkers& workers) : workers_(workers) {}

  // Prometheus' text (services/metrics/families.h).
  [[nodiscard]] std::string Render() const;
  [[nodiscard]] metrics::Health health() const;

 private:
  const KafkaWorkers& workers_;
};

}  // namespace cobblestone
