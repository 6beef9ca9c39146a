#include "services/kafka/kafka_flow.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace cobblestone::kafka {

std::optional<nlohmann::json> KafkaFlow::Report() {
  const auto now = Clock::now();
  if (now - reported_ < kEvery) return std::nullopt;
  const double seconds = std::chrono::duration<double>(now - reported_).count();
  std::uint64_t records = 0;
  std::uint64_t commits = 0;
  std::uint64_t lag = 0;
  std::uint64_t running = 0;
  std::uint64_t others = 0;
  for (const auto& worker : workers_.Look()) {
    records += worker.records;
    commits += worker.commits;
    for (const auto& task : worker.tasks) {
      const bool runs = task.phase == stream::kafka::Phase::kRunning;
      running += runs ? 1 : 0;
      others += runs || !task.owned ? 0 : 1;
      if (task.owned) lag += task.lag;
    }
  }
  const std::uint64_t processed = records - last_records_;
  last_records_ = records;
  reported_ = now;
  if (processed == 0 && lag == 0 && others == 0) return std::nullopt;
  return nlohmann::json{{"records_per_s", std::llround(static_cast<double>(processed) / seconds)},
                        {"commits", commits},
                        {"lag", lag},
                        {"slots_running", running},
                        {"slots_not_running", others}};
}

}  // namespace cobblestone::kafka
