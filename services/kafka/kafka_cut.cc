#include "services/kafka/kafka_cut.h"

#include <string>
#include <thread>
#include <utility>

#include "common/stream/kafka/catch_up.h"

namespace cobblestone::kafka {
namespace {

using stream::TopicPartition;
using stream::kafka::Millis;
using AllEnds = std::vector<stream::kafka::TopicAdmin::Ends>;

constexpr Millis kAnswerWithin{1000};
constexpr Millis kBetweenTries{10};

}  // namespace

Result<KafkaCut> FindCut(const KafkaDeployment& deployment, stream::kafka::TopicAdmin& admin,
                         stream::kafka::Cluster& cluster, Millis patience) {
  std::vector<TopicPartition> partitions;
  for (stream::TopicIndex t = 0; t < deployment.task.topics.size(); ++t) {
    if (t == kStatusTopic) continue;
    for (std::uint32_t p = 0; p < deployment.task.topics[t].partitions; ++p) partitions.push_back({t, p});
  }
  const std::uint32_t slots = deployment.task.topics[deployment.task.journal].partitions;
  const auto name = [&](std::size_t i) {
    return TopicName(deployment.cluster, partitions[i].topic) + ", partition " +
           std::to_string(partitions[i].partition);
  };
  const auto open_transaction = [&](const AllEnds& ends) -> std::string {
    for (std::size_t i = 0; i < ends.size(); ++i)
      if (ends[i].stable != ends[i].all) return "a transaction is open on " + name(i);
    return {};
  };
  const auto change = [&](const AllEnds& before, const AllEnds& after) -> std::string {
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i].all != after[i].all) return name(i) + " has changed";
    return {};
  };
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto before = admin.EndsOfAll(partitions);
    if (!before.ok()) return before.status();
    std::string why = open_transaction(*before);
    if (why.empty()) {
      auto positions = stream::kafka::CommittedPositions(cluster, slots, kAnswerWithin);
      if (!positions.ok() && positions.status().code() != StatusCode::kRetry) return positions.status();
      const auto after = admin.EndsOfAll(partitions);
      if (!after.ok()) return after.status();
      why = open_transaction(*after);
      if (why.empty()) why = change(*before, *after);
      if (why.empty() && !positions.ok()) why = positions.status().message();
      if (why.empty()) {
        KafkaCut cut{.ends = {}, .positions = std::move(*positions)};
        for (std::size_t i = 0; i < partitions.size(); ++i) cut.ends[partitions[i]] = (*after)[i].all;
        return cut;
      }
    }
    if (std::chrono::steady_clock::now() >= deadline)
      return Status::Retry("within " + std::to_string(patience.count() / 1000) +
                           " s there was no moment without an open transaction: " + why +
                           ". Pause all sources for some seconds, or stop the workers");
    std::this_thread::sleep_for(kBetweenTries);
  }
}

}  // namespace cobblestone::kafka
