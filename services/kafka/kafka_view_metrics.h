// The metrics and the health of a gateway beside a deployment on Kafka: how far what it shows is behind, and its process.
//
// Threads: any.
#pragma once

#include <string>

#include "services/kafka/kafka_view.h"
#include "services/metrics/health.h"

namespace cobblestone {

class KafkaViewMetrics {
 public:
  // The view must outlive it. `data_directory`: where it lies.
  KafkaViewMetrics(KafkaView& view, std::string data_directory)
      : view_(view), data_directory_(std::move(data_directory)) {}

  // Prometheus' text (services/metrics/families.h). Asks the brokers what is committed.
  [[nodiscard]] std::string Render() const;
  [[nodiscard]] metrics::Health health() const;

 private:
  KafkaView& view_;
  const std::string data_directory_;
};

}  // namespace cobblestone
