// A deployment on Kafka, as settings describe it: the connection, the topics with what each must be like, and the tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "common/stream/kafka/librdkafka/cluster.h"
#include "common/stream/kafka/task.h"
#include "common/stream/kafka/topics.h"
#include "common/wire/control/topics.h"
#include "services/pipeline/pipeline.h"

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
  std::string
      excluded;  // topic that only the other kafka.slots has: with both, events would be granted twice
};

// kafka.slots: by_stage gives each stage slots, a journal, checkpoints and a group of its own. A role is what such a group
// works on, as settings that name one stage alone; where slots have all stages there is one role, the settings as they are.
// Those of this process, and those of the whole deployment.
std::vector<settings::RunSettings> RolesOf(const settings::RunSettings& settings);
std::vector<settings::RunSettings> AllRolesOf(settings::RunSettings settings);
// The one that an operator names by its stage, which he must where slots are by stage, and cannot where they are not.
Result<settings::RunSettings> RoleNamed(settings::RunSettings settings, const std::string& stage);
// "claims", ...; empty where a slot has all stages.
std::string RoleName(const settings::RunSettings& role);
PipelineOptions PipelineOf(const settings::RunSettings& role);

// Of a role; but for journal, checkpoints, group and tasks it is the same for all of them. kInvalidArgument: a secret's file or variable is not there. `report` may be empty.
Result<KafkaDeployment> DeploymentOf(const settings::RunSettings& settings,
                                     std::function<void(const std::string&)> report);

stream::SlotFactory MakeSlotFactory(const settings::RunSettings& role);

// Name of a stream thread of this process, and where it has the state of its slots.
std::string ThreadName(const settings::RunSettings& role, std::uint32_t thread);
std::string StateDirectory(const settings::RunSettings& role, std::uint32_t thread);
// All of this process's, for this deployment (ClaimStateDirectory). kRetry: the cluster does not say which one it is.
Status ClaimStateDirectories(const settings::RunSettings& role, const KafkaDeployment& deployment,
                             const std::function<void(const std::string&)>& report);

// kInvalidArgument: the topics are those of the other kafka.slots.
Status CheckSlots(const KafkaDeployment& deployment, stream::kafka::TopicAdmin& admin);
// kNotFound: topics are missing (says how to make them). kInvalidArgument: they differ from what they must be.
Status CheckTopics(const KafkaDeployment& deployment);

// Until nobody is in the group; a member that stopped counts until its session is over. kRetry: who is there still.
Status AwaitNoMembers(stream::kafka::TopicAdmin& admin, const settings::RunSettings& settings,
                      const std::function<void(const std::string&)>& report);

// `order` is fixed when the topics are made: a row of the status topic, behind this key, says what it is.
inline constexpr std::string_view kOrderKey = "order";
// Where there is none yet. kRetry: the cluster does not answer.
Status WriteOrder(stream::kafka::Cluster& cluster, settings::Order order);
// kInvalidArgument: the topics were made with the other one.
Status CheckOrder(stream::kafka::Cluster& cluster, settings::Order order);

}  // namespace cobblestone
