// A deployment on Kafka, as settings describe it: the connection, the topics with what each must be like, and the tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "common/stream/kafka/librdkafka/cluster.h"
#include "common/stream/kafka/task.h"
#include "common/stream/kafka/topics.h"
#include "common/wire/topics.h"
#include "services/cobblestone/pipeline.h"

namespace cobblestone {

// Topics that only a deployment on Kafka has, behind those of wire::Manifest.
enum KafkaTopic : stream::TopicIndex {
  kCheckpointTopic = wire::kTopicCount,  // state, by slot; compacted
  kProducersTopic,                       // how far each source was taken in; compacted
  kStatusTopic,                          // how each stream thread is doing; compacted
  kKafkaTopicCount,
};

struct KafkaDeployment {
  stream::kafka::ClusterOptions cluster;
  std::vector<stream::kafka::TopicPlan> plan;
  stream::kafka::TaskOptions task;
  int replication = 1;
};

// kInvalidArgument: a secret's file or variable is not there. `report` may be empty.
Result<KafkaDeployment> DeploymentOf(const settings::RunSettings& settings,
                                     std::function<void(const std::string&)> report);

stream::SlotFactory MakeSlotFactory(const settings::RunSettings& settings);

// kNotFound: topics are missing (says how to make them). kInvalidArgument: they differ from what they must be.
Status CheckTopics(const KafkaDeployment& deployment);

}  // namespace cobblestone
