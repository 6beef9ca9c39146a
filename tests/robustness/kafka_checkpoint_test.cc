// The broker compacts the checkpoint's topic while a worker writes to it; the worker is killed in the middle of a
// transaction, and its disk is lost. From what is left of the topic it comes to the same state.
//
// COBBLESTONE_CHAOS_ROUNDS: how often; COBBLESTONE_CHAOS_SEED: with which traffic.

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

// The checkpoint's topic as its readers see it.
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

  // Of each slot but the coordinator's, where its partition ends.
  [[nodiscard]] std::vector<std::uint64_t> Ends() const {
    std::vector<std::uint64_t> ends(partitions_);
    for (std::uint32_t k = 0; k < partitions_; ++k) (void)Read(k, ~0ull, &ends[k]);
    return ends;
  }
  // How many messages there are before `ends`. Only a compaction makes them fewer.
  [[nodiscard]] std::vector<std::uint64_t> MessagesBefore(const std::vector<std::uint64_t>& ends) const {
    std::vector<std::uint64_t> messages(partitions_);
    std::uint64_t ignored = 0;
    for (std::uint32_t k = 0; k < partitions_; ++k) messages[k] = Read(k, ends[k], &ignored);
    return messages;
  }

 private:
  std::uint64_t Read(std::uint32_t partition, std::uint64_t until, std::uint64_t* end) const {
    auto reader = cluster_->NewReader();
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

// While it waits, options of the topic are not what `topics create` made them, and no program would begin with it.
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

TEST(KafkaCheckpoint, OneThatWasCompactedGivesTheSameState) {
  const int rounds = FromEnvironment("COBBLESTONE_CHAOS_ROUNDS", 1);
  const int seed = FromEnvironment("COBBLESTONE_CHAOS_SEED", 1);
  std::printf("seed %d, %d rounds\n", seed, rounds);
  const auto broker = TestBroker::Shared();
  KafkaWorld world(*broker, static_cast<std::uint64_t>(seed) + 70);
  auto worker = world.Worker("w0");
  KafkaWorld::Stream stream(world);
  FaultCounts faults;
  for (int round = 0; round < rounds; ++round) {
    // One that is whole of every slot that has events, for the next one to take the place of.
    std::vector<std::uint64_t> first;
    ASSERT_TRUE(world.Await(
        [&](const nlohmann::json& answer) {
          std::vector<std::uint64_t> now;
          for (const auto& task : answer["tasks"]) now.push_back(task.value("checkpoint", std::uint64_t{0}));
          now.pop_back();  // the coordinator's
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
