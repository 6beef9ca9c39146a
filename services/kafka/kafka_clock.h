// `ticks: wall` on Kafka: the worker that has the coordinator's slot looks at its machine's clock, and appends the ticks
// that are due. They are a source like others, whose count is the last tick: so each is there once, whoever looks, and
// whoever had the slot before is fenced.
// Threads: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/client/publisher.h"
#include "services/pipeline/ticker.h"

namespace cobblestone {

struct KafkaClockOptions {
  std::uint32_t partitions = 8;
  stream::TopicIndex producers_topic = 0;
  double future_limit = 0;   // s
  bool accept_jump = false;  // Ticker
  std::function<void(const std::string&)> report;
};

class KafkaClock {
 public:
  // `cluster` outlives it.
  KafkaClock(stream::kafka::Cluster& cluster, KafkaClockOptions options)
      : cluster_(cluster), options_(std::move(options)) {}

  // `owned`: the coordinator's slot runs in this process. `now`: UNIX s. What cannot be told to the cluster now is told
  // at the next look.
  void Look(bool owned, double now);

 private:
  stream::kafka::Cluster& cluster_;
  KafkaClockOptions options_;
  std::unique_ptr<client::Publisher> publisher_;  // null: not ours to tell
  std::unique_ptr<Ticker> ticker_;
  bool accepted_ = false;
};

}  // namespace cobblestone
