// A real Kafka cluster, through librdkafka (2.0.2 or newer).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/stream/kafka/transport.h"
#include "common/stream/record.h"

namespace cobblestone::stream::kafka {

using Properties = std::map<std::string, std::string>;  // names and values of librdkafka

struct ClusterOptions {
  Properties connection;  // bootstrap.servers, security; for every client
  Properties producer{};  // over what we set; for those who know
  Properties consumer{};
  std::string prefix;  // of the names of topics and of the group
  std::vector<TopicSpec> topics;
  TopicIndex journal = 0;
  std::string group;           // group.id
  bool static_members = true;  // a member that comes back within the session finds its slots as it left them
  Millis session_timeout{10000};
  Millis transaction_timeout{10000};
  std::function<void(const std::string&)> report;  // what the client complains of; any thread
};

// kInvalidArgument: librdkafka does not take an option (says which). Nothing is connected yet.
Result<std::unique_ptr<Cluster>> MakeCluster(const ClusterOptions& options);

// The name that a topic has on the cluster.
std::string TopicName(const ClusterOptions& options, TopicIndex topic);

}  // namespace cobblestone::stream::kafka
