// Topics of a deployment on Kafka, read by place: what the ledger's indexes and those who look things up in it need.
#pragma once

#include <memory>

#include "common/stream/kafka/topics.h"
#include "common/stream/kafka/transport.h"
#include "services/kafka/kafka_deployment.h"
#include "services/ledger/ledger_index.h"

namespace cobblestone {

enum class Reads { kOn, kAnywhere };  // where the last read ended, or wherever

// Each log that it makes has a consumer of its own. All that is given must outlive them.
IndexedLogOf LogsOf(stream::kafka::Cluster& cluster, stream::kafka::TopicAdmin& admin,
                    const KafkaDeployment& deployment, Reads reads);

}  // namespace cobblestone
