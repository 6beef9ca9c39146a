// Workers on a real broker are killed at each step of a commit, repeatedly, while events are ingested.
// Afterwards every grant and every total equals the oracle's, and every commit, re-executed from the first
// one, has the fingerprint in its journal.
//
// COBBLESTONE_CHAOS_ROUNDS: how many kills (the short form: two at each step).

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/robustness/kafka_faults.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {

using embedded::Engine;

namespace {

constexpr int kKilled = 128 + SIGKILL;

TEST(KafkaKill, NothingIsLostOrDoubledWhereverAWorkerDies) {
  const auto broker = TestBroker::Shared();
  const std::vector<std::string> points = {"K0", "K1", "K2", "K3", "K4", "K5", "K6", "K6s"};
  const int rounds = FromEnvironment("COBBLESTONE_CHAOS_ROUNDS", 16);
  const auto seed = static_cast<unsigned>(FromEnvironment("COBBLESTONE_CHAOS_SEED", 1));
  std::mt19937 random(seed);
  KafkaWorld world(*broker, seed + 20);
  KafkaWorld::Feed feed(world);
  FaultCounts faults;
  for (int round = 0; round < rounds; ++round) {
    const std::string& point = points[static_cast<std::size_t>(round) % points.size()];
    auto worker = world.Worker("w0", point + ":" + std::to_string(1 + random() % 3));
    ASSERT_EQ(worker->Wait(), kKilled) << worker->err();
    faults.Note("killed at " + point, world.InTransaction("w0"));
  }
  auto worker = world.Worker("w0");
  EXPECT_EQ(feed.Finish(), "");
  EXPECT_TRUE(world.AwaitRest(std::chrono::seconds(180))) << world.Tasks().dump(1);
  ASSERT_TRUE(worker->WaitFor("running")) << worker->err();
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  for (const std::string& point : points)
    EXPECT_GE(faults.Of("killed at " + point), rounds / static_cast<int>(points.size()))
        << "too few kills at " << point;
  world.ExpectLikeTheOracle();
}

// Jobs that are paid while they run. Elsewhere a trickle takes five separate writes; here two stages share
// its price.
TEST(KafkaKill, NoTrickleIsLostOrPaidTwiceWhereverAWorkerDies) {
  const auto broker = TestBroker::Shared();
  const auto seed = static_cast<unsigned>(FromEnvironment("COBBLESTONE_CHAOS_SEED", 1));
  std::mt19937 random(seed);
  const std::vector<Event> events = TrickleTrafficOf(seed, 6000);
  KafkaWorld world(*broker, events);
  auto source = world.IngestInBackground();
  for (const char* point : {"K0", "K1", "K2", "K3", "K4", "K5", "K6", "K6s"}) {
    auto worker = world.Worker("w0", point + (":" + std::to_string(2 + random() % 3)));
    ASSERT_EQ(worker->Wait(), kKilled) << point << ": " << worker->err();
  }
  auto worker = world.Worker("w0");
  EXPECT_LE(source->Wait(), 1) << source->err();  // 1: bad lines of the traffic were reported
  EXPECT_TRUE(world.AwaitRest(std::chrono::seconds(180))) << world.Tasks().dump(1);
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  const Finished verified = world.Run({"verify"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  world.WithMigrated([&](Engine& engine) { ExpectAccountsLikeTheOracle(engine, events); });
}

}  // namespace
}  // namespace cobblestone::testing
