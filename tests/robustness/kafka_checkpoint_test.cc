// The broker compacts the checkpoint topic while a worker writes to it. The worker is killed in the middle of
// a transaction and loses its disk. It restores the same state from the compacted topic.
//
// COBBLESTONE_CHAOS_ROUNDS: how often; COBBLESTONE_CHAOS_SEED: which traffic.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "common/stream/kafka/librdkafka/cluster.h"
#include "common/stream/kafka/read_all.h"
#include "tests/robustness/kafka_faults.h"
#include "tests/robustness/kafka_requests.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

using std::chrono::seconds;
using stream::kafka::Millis;

constexpr seconds kPatience{180};

// The checkpoint topic as its readers see it.
class CheckpointTopic {
 public:
  explicit CheckpointTopic(const KafkaWorld& world) : partitions_(KafkaWorldOptions{}.partitions) {
    auto cluster = stream::kafka::MakeCluster({.connection = {{"bootstrap.servers", world.bootstrap()}},
                                               .prefix = world.prefix(),
                                               .topics = {{.name = "checkpoint",
                                                           .partitions = partitions_,
                                                           .retention = stream::Retention::kForever}},
                                               .group = "nobody"});
    if (!cluster.ok()) throw std::runtime_error(cluster.status().message());
    cluster_ = std::move(*cluster);
  }

  // The end offset of each slot's partition, except the coordinator's.
  [[nodiscard]] std::vector<std::uint64_t> Ends() const {
    std::vector<std::uint64_t> ends(partitions_);
    for (std::uint32_t k = 0; k < partitions_; ++k) (void)Read(k, ~0ull, &ends[k]);
    return ends;
  }
  // Counts the messages before `ends`. Only a compaction can reduce the number.
  [[nodiscard]] std::vector<std::uint64_t> MessagesBefore(const std::vector<std::uint64_t>& ends) const {
    std::vector<std::uint64_t> messages(partitions_);
    std::uint64_t ignored = 0;
    for (std::uint32_t k = 0; k < partitions_; ++k) messages[k] = Read(k, ends[k], &ignored);
    return messages;
  }

 private:
  std::uint64_t Read(std::uint32_t partition, std::uint64_t until, std::uint64_t* end) const {
    auto reader = cluster_->NewReader(stream::kafka::kShortFetch);
    if (!reader.ok()) throw std::runtime_error(reader.status().message());
    std::uint64_t messages = 0;
    const Status s = stream::kafka::ReadAll(
        **reader, {0, partition}, stream::kafka::kBeginning, Millis(30000),
        [&](const stream::kafka::Message& message) {
          if (message.offset() < until) ++messages;
          return Status::Ok();
        },
        end);
    if (!s.ok()) throw std::runtime_error(s.message());
    return messages;
  }

  std::uint32_t partitions_;
  std::unique_ptr<stream::kafka::Cluster> cluster_;
};

// During the wait the topic's options differ from those that `topics create` sets, so no program could start
// then.
void AwaitCompaction(const KafkaWorld& world) {
  const CheckpointTopic checkpoint(world);
  const std::string name = world.prefix() + ".checkpoint";
  const std::vector<std::uint64_t> ends = checkpoint.Ends();
  const std::vector<std::uint64_t> before = checkpoint.MessagesBefore(ends);
  SetTopicOptions(
      world.bootstrap(), name,
      {{"segment.ms", "1000"}, {"min.compaction.lag.ms", "5000"}, {"min.cleanable.dirty.ratio", "0.01"}});
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (bool all = false; !all;) {
    std::this_thread::sleep_for(Millis(200));
    const std::vector<std::uint64_t> now = checkpoint.MessagesBefore(ends);
    all = true;
    for (std::size_t k = 0; k < now.size(); ++k) all = all && now[k] < before[k];
    ASSERT_TRUE(all || std::chrono::steady_clock::now() < deadline)
        << "the broker has not compacted all of " << name;
  }
  SetTopicOptions(world.bootstrap(), name,
                  {{"segment.ms", "86400000"}, {"min.compaction.lag.ms", "3600000"}});
}

TEST(KafkaCheckpoint, ACompactedCheckpointGivesTheSameState) {
  const int rounds = FromEnvironment("COBBLESTONE_CHAOS_ROUNDS", 1);
  const int seed = FromEnvironment("COBBLESTONE_CHAOS_SEED", 1);
  std::printf("seed %d, %d rounds\n", seed, rounds);
  const auto broker = TestBroker::Shared();
  KafkaWorld world(*broker, static_cast<std::uint64_t>(seed) + 70);
  auto worker = world.Worker("w0");
  KafkaWorld::Stream stream(world);
  FaultCounts faults;
  for (int round = 0; round < rounds; ++round) {
    // Waits for a complete checkpoint of every slot that has events, and then for a newer one that supersedes
    // it.
    std::vector<std::uint64_t> first;
    ASSERT_TRUE(world.Await(
        [&](const nlohmann::json& answer) {
          std::vector<std::uint64_t> now;
          for (const auto& task : answer["tasks"]) now.push_back(task.value("checkpoint", std::uint64_t{0}));
          now.pop_back();  // the coordinator's slot
          if (first.empty() && std::count(now.begin(), now.end(), 0) == 0) first = now;
          bool newer = !first.empty();
          for (std::size_t k = 0; k < first.size(); ++k) newer = newer && now[k] > first[k];
          return newer;
        },
        kPatience))
        << world.Tasks().dump(1);
    ASSERT_NO_FATAL_FAILURE(AwaitCompaction(world));
    const bool open = world.StopInTransaction("w0", *worker);
    worker->Signal(SIGKILL);
    EXPECT_EQ(worker->Wait(), 128 + SIGKILL) << worker->err();
    std::filesystem::remove_all(world.state_of("w0"));
    faults.Note("checkpoint topic compacted, disk lost", open);
    worker = world.Worker("w0");
    ASSERT_TRUE(worker->WaitFor("restored from its checkpoint")) << worker->err();
  }
  EXPECT_EQ(stream.Finish(), "");
  EXPECT_TRUE(world.AwaitRest(kPatience)) << world.Tasks().dump(1);
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  world.ExpectLikeTheOracle();
}

}  // namespace
}  // namespace cobblestone::testing
