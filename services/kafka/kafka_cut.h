// A cut through a deployment on Kafka: the ends of all partitions and the positions of all slots at one moment
// at which no transaction was open. A cut is consistent: before it are each record that a slot had consumed,
// each record that the slot had produced, and each row of a source with the events of that source.
//
// How: ends of partitions only grow. If the ends are read twice and are equal, nothing changed between the two reads. If
// no transaction was open either, no change was under way. The positions of the slots are read in between.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/base/status.h"
#include "common/stream/kafka/position.h"
#include "services/kafka/kafka_deployment.h"

namespace cobblestone::kafka {

struct KafkaCut {
  // By partition, of all topics but the status topic, in which workers report on themselves.
  std::map<stream::TopicPartition, std::uint64_t> ends;
  // By slot; none: nothing was ever committed for the slot.
  std::vector<std::optional<stream::kafka::Position>> positions;
};

// Retries for `patience`. A try succeeds if no transaction is open from its first request to its last: between
// two transactions of a deployment with little traffic, or while all sources pause. kRetry: no try succeeded
// (the message names a partition that was written to), or the cluster does not answer.
Result<KafkaCut> FindCut(const KafkaDeployment& deployment, stream::kafka::TopicAdmin& admin,
                         stream::kafka::Cluster& cluster, stream::kafka::Millis patience);

}  // namespace cobblestone::kafka
