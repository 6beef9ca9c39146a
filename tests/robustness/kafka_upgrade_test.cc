// A deployment is upgraded to a program with new rules, one worker after the other, while events are
// ingested. An old worker does not run slots with commits of the new program, and reports that. Nothing is lost
// or duplicated.
//
// COBBLESTONE_CHAOS_ROUNDS: how many upgrades; COBBLESTONE_CHAOS_SEED: which traffic.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "services/pipeline/rules_version.h"
#include "tests/robustness/kafka_faults.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {

using pipeline::kRulesVersion;

namespace {

using std::chrono::seconds;

constexpr seconds kPatience{180};
constexpr int kKilled = 128 + SIGKILL;
constexpr int kWrongProgram = 2;  // docs/guides/command-line.md
const char* const kUpgrade = "killed in a rolling upgrade of the rules";
const std::uint32_t kNextVersion = kRulesVersion;  // next_rules_version.cc
const std::uint32_t kThisVersion = kNextVersion - 1;
const std::string kNeeds = "needs rules version " + std::to_string(kNextVersion) + ", but this program has " +
                           std::to_string(kThisVersion);

class KafkaUpgrade : public ::testing::Test {
 protected:
  ~KafkaUpgrade() override { UseProgram(nullptr); }

  static std::unique_ptr<Background> Old(const KafkaWorld& world, const std::string& name) {
    UseProgram(nullptr);
    return world.Worker(name);
  }
  static std::unique_ptr<Background> New(const KafkaWorld& world, const std::string& name) {
    UseProgram(COBBLESTONE_NEXT_PROGRAM);
    return world.Worker(name);
  }
  static void StopGracefully(Background& process) {
    ASSERT_TRUE(process.WaitFor("running")) << process.err();
    process.Signal(SIGTERM);
    EXPECT_EQ(process.Wait(), 0) << process.err();
  }
  void KillInTransaction(const KafkaWorld& world, const std::string& name, Background& process,
                         const std::string& kind) {
    const bool open = world.StopInTransaction(name, process);
    process.Signal(SIGKILL);
    EXPECT_EQ(process.Wait(), kKilled) << process.err();
    faults_.Note(kind, open);
  }
  // Waits until the worker has committed by these rules. `tasks` may still show the report of an earlier
  // process of this name.
  static bool AwaitCommit(const KafkaWorld& world, const std::string& name, std::uint32_t rules) {
    return world.Await(
        [&](const nlohmann::json& answer) {
          for (const auto& task : answer["tasks"])
            if (task.value("owner", "") == name + ".0" && task.value("rules_version", 0u) == rules)
              return true;
          return false;
        },
        kPatience);
  }

  // Returns when both workers have committed under load and the first one runs the new program.
  static void UpgradeFirstWorker(KafkaWorld& world, std::unique_ptr<Background>* a,
                                 std::unique_ptr<Background>* b, std::optional<KafkaWorld::Feed>* feed) {
    *a = Old(world, "a");
    *b = Old(world, "b");
    feed->emplace(world);
    ASSERT_TRUE(AwaitCommit(world, "a", kThisVersion) && AwaitCommit(world, "b", kThisVersion))
        << world.Tasks().dump(1);
    StopGracefully(**a);
    *a = New(world, "a");
    ASSERT_TRUE(AwaitCommit(world, "a", kNextVersion)) << world.Tasks().dump(1) << (*a)->err();
  }

  void Upgrade(std::uint64_t seed) {
    KafkaWorld world(*broker_, seed);
    std::unique_ptr<Background> a;
    std::unique_ptr<Background> b;
    std::optional<KafkaWorld::Feed> feed;
    ASSERT_NO_FATAL_FAILURE(UpgradeFirstWorker(world, &a, &b, &feed));
    KillInTransaction(world, "b", *b, kUpgrade);
    // Restarted with the old program, it would take slots from the new one.
    b = Old(world, "b");
    EXPECT_EQ(b->Wait(), kWrongProgram) << b->err();
    EXPECT_NE(b->err().find(kNeeds), std::string::npos) << b->err();
    b = New(world, "b");
    ASSERT_TRUE(AwaitCommit(world, "b", kNextVersion)) << world.Tasks().dump(1) << b->err();
    KillInTransaction(world, "a", *a, kUpgrade);
    a = New(world, "a");
    EXPECT_EQ(feed->Finish(), "");
    EXPECT_TRUE(world.AwaitRest(kPatience)) << world.Tasks().dump(1);
    StopGracefully(*a);
    StopGracefully(*b);
    UseProgram(nullptr);
    const Finished verified = world.Run({"verify"});
    EXPECT_NE(verified.code, 0) << verified.out;
    EXPECT_NE((verified.out + verified.err).find(kNeeds), std::string::npos) << verified.out << verified.err;
    // The new program re-executes the old one's commits, from the first one on.
    UseProgram(COBBLESTONE_NEXT_PROGRAM);
    world.ExpectLikeTheOracle();
  }

  std::unique_ptr<TestBroker> broker_ = TestBroker::Shared();
  FaultCounts faults_;
};

TEST_F(KafkaUpgrade, WorkersOfTwoVersionsTogetherLoseAndDoubleNothing) {
  const int rounds = FromEnvironment("COBBLESTONE_CHAOS_ROUNDS", 1);
  const int seed = FromEnvironment("COBBLESTONE_CHAOS_SEED", 1);
  std::printf("seed %d, %d rounds\n", seed, rounds);
  for (int round = 0; round < rounds; ++round) Upgrade(static_cast<std::uint64_t>(seed + 1000 * round) + 90);
}

// No other worker is there to take the slot over, but the old one does not keep it from later ones.
TEST_F(KafkaUpgrade, AnOldWorkerReleasesASlotThatANewOneCommitted) {
  KafkaWorld world(*broker_, 97);
  std::unique_ptr<Background> a;
  std::unique_ptr<Background> b;
  std::optional<KafkaWorld::Feed> feed;
  ASSERT_NO_FATAL_FAILURE(UpgradeFirstWorker(world, &a, &b, &feed));
  KillInTransaction(world, "a", *a, kUpgrade);
  EXPECT_EQ(b->Wait(), kWrongProgram) << b->err();
  EXPECT_NE(b->err().find(kNeeds), std::string::npos) << b->err();
  a = New(world, "a");
  EXPECT_EQ(feed->Finish(), "");
  EXPECT_TRUE(world.AwaitRest(kPatience)) << world.Tasks().dump(1);
  StopGracefully(*a);
  world.ExpectLikeTheOracle();
}

}  // namespace
}  // namespace cobblestone::testing
