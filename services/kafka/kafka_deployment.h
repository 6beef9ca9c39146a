// A deployment on Kafka as the settings describe it: connection, topics with their required properties, and tasks
// (`Task`: a slot on Kafka).
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

namespace cobblestone::kafka {

// Topics that exist on Kafka only; numbered after those of wire::Manifest.
enum KafkaTopic : stream::TopicIndex {
  kCheckpointTopic = wire::kTopicCount,  // state, by slot; compacted
  kProducersTopic,                       // position of each source; compacted
  kStatusTopic,                          // status of each stream thread; compacted
  kKafkaTopicCount,
};

struct KafkaDeployment {
  stream::kafka::ClusterOptions cluster;
  std::vector<stream::kafka::TopicPlan> plan;
  stream::kafka::TaskOptions task;
  int replication = 1;
  // Topic that exists only with the other value of kafka.slots: if both topics existed, events would be granted
  // twice.
  std::string excluded;
};

// kafka.slots: with by_stage each stage has its own slots, journal, checkpoints and consumer group. A role is one
// such group, as settings that name a single stage. Where slots have all stages there is one role, the settings
// unchanged. RolesOf: the roles of this process. AllRolesOf: the roles of the whole deployment.
std::vector<settings::RunSettings> RolesOf(const settings::RunSettings& settings);
std::vector<settings::RunSettings> AllRolesOf(settings::RunSettings settings);
// The role that an operator names by its stage: required where slots are by stage, an error otherwise.
Result<settings::RunSettings> RoleNamed(settings::RunSettings settings, const std::string& stage);
// "claims", ...; empty if a slot has all stages.
std::string RoleName(const settings::RunSettings& role);
pipeline::PipelineOptions PipelineOf(const settings::RunSettings& role);

// Deployment of a role; except for journal, checkpoints, group and tasks it is equal for all roles. kInvalidArgument:
// the file or variable of a secret is missing. `report` may be empty.
Result<KafkaDeployment> DeploymentOf(const settings::RunSettings& settings,
                                     std::function<void(const std::string&)> report);

stream::SlotFactory MakeSlotFactory(const settings::RunSettings& role);

// Name of a stream thread of this process, and the directory with the state of its slots.
std::string ThreadName(const settings::RunSettings& role, std::uint32_t thread);
std::string StateDirectory(const settings::RunSettings& role, std::uint32_t thread);
// Claims all state directories of this process for this deployment (ClaimStateDirectory). kRetry: the cluster does
// not report its id.
Status ClaimStateDirectories(const settings::RunSettings& role, const KafkaDeployment& deployment,
                             const std::function<void(const std::string&)>& report);

// kInvalidArgument: the topics belong to the other value of kafka.slots.
Status CheckSlots(const KafkaDeployment& deployment, stream::kafka::TopicAdmin& admin);
// kNotFound: topics are missing (the message says how to create them). kInvalidArgument: topics differ from the plan.
Status CheckTopics(const KafkaDeployment& deployment);

// Waits until the group has no members; a member that stopped counts until its session expires. kRetry: names the
// remaining members.
Status AwaitNoMembers(stream::kafka::TopicAdmin& admin, const settings::RunSettings& settings,
                      const std::function<void(const std::string&)>& report);

// The kind of the deployment (settings::KindOf) is fixed when the topics are created: a row of the status topic with
// this key stores it.
inline constexpr std::string_view kKindKey = "order";
// Writes the row if it does not exist. kRetry: the cluster does not answer.
Status WriteKind(stream::kafka::Cluster& cluster, const settings::RunSettings& settings);
// kInvalidArgument: the topics were created for another kind.
Status CheckKind(stream::kafka::Cluster& cluster, const settings::RunSettings& settings);

}  // namespace cobblestone::kafka
