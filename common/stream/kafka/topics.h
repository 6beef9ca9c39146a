// The topics of a deployment on a cluster: created with the settings that the guarantees depend on, and
// rejected if they differ (above all partition counts: a key must map to the same partition for the life of
// the data). Also the checks that operator commands need before they change the workers' data: the active
// members, and whether all transactions have ended.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/stream/record.h"

namespace cobblestone::stream::kafka {

struct TopicPlan {
  TopicSpec spec;
  std::map<std::string, std::string> settings{};  // Kafka's names
};

struct TopicDrift {
  std::string topic;  // name on the cluster
  std::string what;   // actual and required setting
  bool missing = false;
};

class TopicAdmin {
 public:
  virtual ~TopicAdmin() = default;

  // Differences from the plan. `replication` 0: any.
  virtual Result<std::vector<TopicDrift>> Check(const std::vector<TopicPlan>& plan, int replication) = 0;
  // Creates missing topics and returns their names; existing topics are not changed.
  virtual Result<std::vector<std::string>> Create(const std::vector<TopicPlan>& plan, int replication) = 0;
  // Identifies the cluster; state of one cluster must not be used with another.
  virtual Result<std::string> ClusterId() = 0;
  // Active members of the deployment's group. A stopped member counts until its session ends.
  virtual Result<std::vector<std::string>> Members() = 0;
  // End of a partition: `stable` for readers of committed messages, `all` including messages of open
  // transactions.
  struct Ends {
    std::uint64_t stable = 0;
    std::uint64_t all = 0;
  };
  // The only method that several threads may call at a time (each index of a view follows the log on its
  // own).
  virtual Result<Ends> EndsOf(TopicPartition where) = 0;
  // As EndsOf(), for many partitions at once: one question to each broker.
  virtual Result<std::vector<Ends>> EndsOfAll(const std::vector<TopicPartition>& where) = 0;
};

}  // namespace cobblestone::stream::kafka
