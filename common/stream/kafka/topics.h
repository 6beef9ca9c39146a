// The topics of a deployment on a cluster: made with the settings that its guarantees rest on, and refused where they
// differ (partition counts above all: a key must find its partition for as long as the data lives). And what an operator's
// verbs must know before they touch what workers have: who works, and whether all is decided.
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
  std::string topic;  // its name on the cluster
  std::string what;   // what is and what must be
  bool missing = false;
};

class TopicAdmin {
 public:
  virtual ~TopicAdmin() = default;

  // What differs from the plan. `replication` 0: whatever there is.
  virtual Result<std::vector<TopicDrift>> Check(const std::vector<TopicPlan>& plan, int replication) = 0;
  // Makes those that are missing; existing ones stay as they are. The names of those made.
  virtual Result<std::vector<std::string>> Create(const std::vector<TopicPlan>& plan, int replication) = 0;
  // Identifies the cluster; state made for one is not to be used with another.
  virtual Result<std::string> ClusterId() = 0;
  // Who works on the deployment now: members of its group. One that stopped counts until its session is over.
  virtual Result<std::vector<std::string>> Members() = 0;
  // Where a partition ends: for readers, and behind what transactions have left there that are still open.
  struct Ends {
    std::uint64_t stable = 0;
    std::uint64_t all = 0;
  };
  // The one call that several threads may make at a time (each index of a view follows on its own).
  virtual Result<Ends> EndsOf(TopicPartition where) = 0;
};

}  // namespace cobblestone::stream::kafka
