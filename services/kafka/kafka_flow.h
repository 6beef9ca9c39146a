// Throughput of the slots of this process for the log of `run`, at intervals.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "services/kafka/kafka_workers.h"

namespace cobblestone::kafka {

class KafkaFlow {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kEvery = std::chrono::seconds(10);

  // The workers must outlive the flow.
  explicit KafkaFlow(KafkaWorkers& workers) : workers_(workers) {}

  // Records per second, commits, records behind, and the owned slots that run and that do not. A period lasts kEvery or
  // longer. None: the period has not ended, or nothing happened in it, nothing waits and every owned slot runs.
  std::optional<nlohmann::json> Report();

 private:
  KafkaWorkers& workers_;
  Clock::time_point reported_ = Clock::now();
  std::uint64_t last_records_ = 0;
};

}  // namespace cobblestone::kafka
