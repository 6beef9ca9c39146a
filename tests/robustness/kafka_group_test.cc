// A worker dies while it releases a slot, and restarts within its session. The group of static members does
// not notice, and the slot has no owner. The workers detect that and rebalance.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/robustness/kafka_world.h"
#include "tests/robustness/traffic.h"

namespace cobblestone::testing {
namespace {

constexpr std::chrono::seconds kPatience{120};

bool EverySlotHasAnOwner(const nlohmann::json& answer) {
  bool all = !answer["tasks"].empty();
  for (const auto& task : answer["tasks"]) all = all && !task.value("worker", "").empty();
  return all;
}

TEST(KafkaGroup, ASlotOfADeadWorkerFindsANewOwner) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, Traffic(98, 1500));
  auto a = world.Worker("a", "revoked:1");
  ASSERT_TRUE(world.Await(EverySlotHasAnOwner, kPatience)) << world.Tasks().dump(1);
  auto b = world.Worker("b");
  EXPECT_EQ(a->Wait(), 128 + SIGKILL) << a->err();
  a = world.Worker("a");
  EXPECT_TRUE(world.Await(
      [](const nlohmann::json& answer) {
        std::map<std::string, int> slots;
        for (const auto& task : answer["tasks"]) ++slots[task.value("worker", "")];
        return slots.size() == 2 && slots.count("") == 0;
      },
      kPatience))
      << world.Tasks().dump(1) << a->err() << b->err();
  EXPECT_LE(world.Ingest().code, 1);
  EXPECT_TRUE(world.AwaitRest(kPatience)) << world.Tasks().dump(1);
  for (auto* worker : {a.get(), b.get()}) {
    worker->Signal(SIGTERM);
    EXPECT_EQ(worker->Wait(), 0) << worker->err();
  }
  EXPECT_NE((a->err() + b->err()).find("has no owner"), std::string::npos) << a->err() << b->err();
  world.ExpectLikeTheOracle();
}

}  // namespace
}  // namespace cobblestone::testing
