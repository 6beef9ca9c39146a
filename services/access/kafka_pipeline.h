// What a gateway beside a deployment on Kafka does itself: its events go to the topics, its figures come from there.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/gateway/pipeline.h"
#include "services/kafka/kafka_view.h"
#include "services/kafka/kafka_view_metrics.h"

namespace cobblestone {

// `view` and `metrics` must outlive it. As ConnectKafka().
Result<std::unique_ptr<gateway::Pipeline>> MakeKafkaPipeline(const settings::RunSettings& settings,
                                                             KafkaView& view, const KafkaViewMetrics& metrics,
                                                             std::function<void(const std::string&)> report);

}  // namespace cobblestone
