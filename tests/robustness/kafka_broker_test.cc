// Brokers are killed and restarted while workers have transactions open: a single broker, and random brokers
// out of three. Afterwards lag reaches zero in bounded time, and every result equals the oracle's.
//
// COBBLESTONE_CHAOS_ROUNDS: how many kills; COBBLESTONE_CHAOS_SEED: which brokers, and how long each is down.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/robustness/kafka_faults.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{180};

std::uint64_t Commits(const KafkaWorld& world) {
  std::uint64_t sum = 0;
  const nlohmann::json answer = world.Tasks();
  if (answer.is_object())
    for (const auto& task : answer["tasks"]) sum += task.value("committed", std::uint64_t{0});
  return sum;
}

void KillBrokers(int brokers, int rounds, const std::string& kind) {
  const int seed = FromEnvironment("COBBLESTONE_CHAOS_SEED", 1);
  rounds = FromEnvironment("COBBLESTONE_CHAOS_ROUNDS", rounds);
  std::printf("seed %d, %d rounds\n", seed, rounds);
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto broker = TestBroker::Dedicated(brokers);
  KafkaWorld world(*broker, static_cast<std::uint64_t>(seed) + 50);
  const std::vector<std::string> names = {"w0", "w1"};
  std::vector<std::unique_ptr<Background>> workers;
  for (const std::string& name : names) workers.push_back(world.Worker(name));
  ASSERT_TRUE(world.AwaitRest(kPatience)) << world.Tasks().dump(1);
  KafkaWorld::Feed feed(world);
  FaultCounts faults;
  std::uint64_t commits = Commits(world);
  for (int round = 0; round < rounds; ++round) {
    // New commits show that the pipeline continues after each fault.
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (Commits(world) <= commits)
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "no commit after the fault\n"
                                                            << world.Tasks().dump(1);
    commits = Commits(world);
    std::size_t hit = random() % workers.size();
    bool open = world.StopInTransaction(names[hit], *workers[hit]);
    if (!open) {
      workers[hit]->Signal(SIGCONT);
      hit = 1 - hit;
      open = world.StopInTransaction(names[hit], *workers[hit]);
    }
    const int which = 1 + static_cast<int>(random() % static_cast<unsigned>(brokers));
    broker->Kill(which);
    workers[hit]->Signal(SIGCONT);
    std::this_thread::sleep_for(
        milliseconds(random() % 3000));  // the length of the outage is the fault itself
    broker->Restart(which);
    faults.Note(kind, open);
    for (std::size_t i = 0; i < workers.size(); ++i) ASSERT_TRUE(workers[i]->Runs()) << workers[i]->err();
  }
  const auto whole = std::chrono::steady_clock::now();
  EXPECT_EQ(feed.Finish(), "");
  const bool rests = world.AwaitRest(kPatience);
  std::printf("%.1f s after the last fault nothing waited any more\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - whole).count());
  EXPECT_TRUE(rests) << world.Tasks().dump(1);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    workers[i]->Signal(SIGTERM);
    EXPECT_EQ(workers[i]->Wait(), 0) << workers[i]->err();
    if (::testing::Test::HasFailure())
      std::printf("---- %s\n%s", names[i].c_str(), workers[i]->err().c_str());
  }
  world.ExpectLikeTheOracle();
}

TEST(KafkaBroker, TheOnlyBrokerDiesAndRestarts) { KillBrokers(1, 3, "broker killed, of one"); }

TEST(KafkaBroker, OneOfThreeBrokersDiesAndRestarts) { KillBrokers(3, 4, "broker killed, of three"); }

}  // namespace
}  // namespace cobblestone::testing
