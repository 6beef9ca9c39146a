// `ticks: wall` on Kafka: the worker with the coordinator's slot reads its machine's clock and appends the ticks that
// are due. Ticks are a source like others, whose position is the last tick: each tick is therefore appended once,
// whichever worker has the slot, and the previous owner of the slot is fenced. Threads: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/client/publisher.h"
#include "services/pipeline/ticker.h"

namespace cobblestone::kafka {

struct KafkaClockOptions {
  std::uint32_t partitions = 8;
  stream::TopicIndex producers_topic = 0;
  double future_limit = 0;   // s
  bool accept_jump = false;  // TickerOptions::accept_jump
  std::function<void(const std::string&)> report;
};

class KafkaClock {
 public:
  // `cluster` must outlive the clock.
  KafkaClock(stream::kafka::Cluster& cluster, KafkaClockOptions options)
      : cluster_(cluster), options_(std::move(options)) {}

  // `owned`: the coordinator's slot runs in this process. `now`: UNIX s. A tick that cannot be appended now is
  // retried at the next call.
  void Look(bool owned, double now);

 private:
  stream::kafka::Cluster& cluster_;
  KafkaClockOptions options_;
  std::unique_ptr<client::Publisher> publisher_;  // null: this process publishes no ticks
  std::unique_ptr<pipeline::Ticker> ticker_;
  bool accepted_ = false;
};

}  // namespace cobblestone::kafka
