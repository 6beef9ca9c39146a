// A worker does not continue state of one deployment on another one. It refuses before it executes anything,
// and the state stays usable for the first deployment.

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kWrongConfiguration = 2;  // docs/guides/command-line.md

class KafkaOtherCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    auto worker = world_.Worker("w0");
    EXPECT_LE(world_.Ingest().code, 1);  // 1: bad lines of the traffic were reported
    Stop(*worker);
  }
  static void Stop(Background& worker) {
    ASSERT_TRUE(worker.WaitFor("running")) << worker.err();
    worker.Signal(SIGTERM);
    EXPECT_EQ(worker.Wait(), 0) << worker.err();
  }
  // The worker's configuration with `word` replaced.
  [[nodiscard]] std::string ConfigWith(const std::string& word, const std::string& instead) const {
    std::stringstream text;
    text << std::ifstream(world_.ConfigOf("w0")).rdbuf();
    std::string changed = text.str();
    changed.replace(changed.find(word), word.size(), instead);
    const std::string path = world_.path("changed.yaml");
    std::ofstream(path) << changed;
    return path;
  }
  void ExpectRefused(const std::string& config, const std::string& verb) const {
    std::vector<std::string> words = {verb, "--config", config};
    if (verb == "rebuild") words.insert(words.begin() + 1, "0");
    const Finished refused = RunProgram(world_.path(""), words);
    EXPECT_EQ(refused.code, kWrongConfiguration) << verb << refused.err;
    EXPECT_NE(refused.err.find("belong to the deployment " + world_.prefix()), std::string::npos)
        << refused.err;
  }
  void ExpectAsBefore() const {
    auto worker = world_.Worker("w0");
    EXPECT_TRUE(world_.AwaitRest(std::chrono::seconds(60))) << world_.Tasks().dump(1);
    Stop(*worker);
    EXPECT_EQ(worker->err().find("discarded"), std::string::npos) << worker->err();
    world_.ExpectLikeTheOracle();
  }

  std::unique_ptr<TestBroker> broker_ = TestBroker::Shared();
  KafkaWorld world_{*broker_, Traffic(61, 2000)};
};

TEST_F(KafkaOtherCluster, StateOfAnotherPrefixIsRefused) {
  const KafkaWorld other(*broker_, std::vector<Event>());
  const std::string config = ConfigWith("prefix: " + world_.prefix(), "prefix: " + other.prefix());
  ExpectRefused(config, "run");
  ExpectRefused(config, "rebuild");
  ExpectAsBefore();
}

TEST_F(KafkaOtherCluster, StateOfAnotherClusterIsRefused) {
  const auto other = TestBroker::Dedicated(1);
  const std::string config =
      ConfigWith("bootstrap: " + broker_->bootstrap(), "bootstrap: " + other->bootstrap());
  const Finished made = RunProgram(world_.path(""), {"topics", "create", "--config", config});
  ASSERT_EQ(made.code, 0) << made.err;
  ExpectRefused(config, "run");
  ExpectAsBefore();
}

TEST_F(KafkaOtherCluster, StateOfAnUnknownDeploymentIsDiscarded) {
  const std::string place = world_.state_of("w0") + "/kafka-state/w0.0";
  std::fstream(place + "/deployment", std::ios::in | std::ios::out).seekp(10).put('?');
  {
    auto worker = world_.Worker("w0");
    ASSERT_TRUE(worker->WaitFor("the deployment of the contents is unknown")) << worker->err();
    EXPECT_TRUE(world_.AwaitRest(std::chrono::seconds(60))) << world_.Tasks().dump(1);
    Stop(*worker);
  }
  ExpectAsBefore();
}

}  // namespace
}  // namespace cobblestone::testing
