// Reads the topics of a deployment by offset, for the ledger's indexes and for look-ups.
#pragma once

#include <memory>

#include "common/stream/kafka/topics.h"
#include "common/stream/kafka/transport.h"
#include "services/kafka/kafka_deployment.h"
#include "services/ledger/ledger_index.h"

namespace cobblestone::kafka {

// kOn: reads continue where the last read ended. kAnywhere: reads start at any offset.
enum class Reads { kOn, kAnywhere };

// Each log that the result creates has its own consumer. All arguments must outlive the logs.
ledger::IndexedLogOf LogsOf(stream::kafka::Cluster& cluster, stream::kafka::TopicAdmin& admin,
                            const KafkaDeployment& deployment, Reads reads);

}  // namespace cobblestone::kafka
