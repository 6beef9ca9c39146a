// The Kafka deployment behind the gateway's interface: events go to the topics, figures come from the view.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/gateway/pipeline.h"
#include "services/intake/quotas.h"
#include "services/kafka/kafka_view.h"
#include "services/kafka/kafka_view_metrics.h"

namespace cobblestone::access {

// All references must outlive the result. Errors: as ConnectKafka().
Result<std::unique_ptr<gateway::Pipeline>> MakeKafkaPipeline(const settings::RunSettings& settings,
                                                             kafka::KafkaView& view,
                                                             const kafka::KafkaViewMetrics& metrics,
                                                             intake::Quotas& quotas,
                                                             std::function<void(const std::string&)> report);

}  // namespace cobblestone::access
