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

using Properties = std::map<std::string, std::string>;  // librdkafka's names and values

struct ClusterOptions {
  Properties connection;  // bootstrap.servers, security; for every client
  Properties producer{};  // overrides our settings; for experts
  Properties consumer{};
  std::string prefix;  // prefix of topic names and of the group
  std::vector<TopicSpec> topics;
  TopicIndex journal = 0;
  std::string group;           // group.id
  bool static_members = true;  // a member that returns within the session keeps its slots
  Millis session_timeout{10000};
  Millis transaction_timeout{10000};
  std::function<void(const std::string&)> report;  // receives the client's warnings and errors; any thread
};

// kInvalidArgument: librdkafka rejects an option (the message says which). Does not connect yet.
Result<std::unique_ptr<Cluster>> MakeCluster(const ClusterOptions& options);

// The topic's name on the cluster.
std::string TopicName(const ClusterOptions& options, TopicIndex topic);

}  // namespace cobblestone::stream::kafka
