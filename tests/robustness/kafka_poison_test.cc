// A record that crashes every process that reads it, on a real broker. Repeated crashes identify the record;
// it is skipped and stored in `refused` with its bytes. When the record no longer crashes the program and is
// resubmitted, the result is correct.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

constexpr int kKilled = 128 + SIGKILL;

TEST(KafkaPoison, OnlyTheRecordThatCrashesTheProgramIsSkipped) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, Traffic(33, 3000));
  const std::string deadly = "completions/1@7:1";  // in the middle of the first block
  auto ingest = world.IngestInBackground();
  int deaths = 0;
  std::unique_ptr<Background> worker;
  for (;;) {
    worker = world.Worker("w0", deadly);
    while (worker->Runs() && ingest->Runs()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (worker->Runs()) break;
    ASSERT_EQ(worker->Wait(), kKilled) << worker->err();
    ASSERT_LT(++deaths, 12) << worker->err();
  }
  EXPECT_LE(ingest->Wait(), 1) << ingest->err();
  EXPECT_TRUE(world.AwaitRest(std::chrono::seconds(60))) << world.Tasks().dump(1);
  EXPECT_GE(deaths, 3);
  std::printf("found after %d deaths\n", deaths);

  const nlohmann::json refused = world.Ask({"refused", "list", "--json", "--limit", "1000"});
  std::vector<std::uint64_t> crashed;
  for (const auto& one : refused.at("refused"))
    if (one.at("reason") == "CRASHED") crashed.push_back(one.at("number"));
  ASSERT_EQ(crashed.size(), 1u) << refused.dump(1);
  // The resubmitted record has another offset, at which nothing crashes.
  (void)world.Ask({"refused", "resubmit", std::to_string(crashed[0]), "--json"});
  EXPECT_TRUE(world.AwaitRest(std::chrono::seconds(60))) << world.Tasks().dump(1);
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  world.ExpectLikeTheOracle();
}

}  // namespace
}  // namespace cobblestone::testing
