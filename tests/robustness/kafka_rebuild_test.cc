// What an operator's `rebuild` is for, on a real broker: a group whose committed offsets are gone goes on from its
// journals, and a state that is made again on one machine is as good as the one that was there, for the checkpoints that
// come of it, too.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

constexpr int kKilled = 128 + SIGKILL;
constexpr int kSlots = 5;

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++count;
  return count;
}

// With Kafka's own tool, which refuses while sessions last.
bool DeleteGroup(const KafkaWorld& world) {
  const std::string command =
      "java -XX:TieredStopAtLevel=1 -cp '" COBBLESTONE_SOURCE_DIR
      "/build/kafka/libs/*' org.apache.kafka.tools.consumer.group.ConsumerGroupCommand "
      "--bootstrap-server " +
      world.bootstrap() + " --delete --group " + world.prefix() + ".slots 2>&1";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::string said;
  while (std::chrono::steady_clock::now() < deadline) {
    said.clear();
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return false;
    char some[4096];
    while (const std::size_t n = std::fread(some, 1, sizeof some, pipe)) said.append(some, n);
    ::pclose(pipe);
    if (said.find("was successful") != std::string::npos) return true;
  }
  std::printf("%s\n", said.c_str());
  return false;
}

class KafkaRebuild : public ::testing::Test {
 protected:
  Finished Rebuild(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"rebuild", "--config", world_.ConfigOf("w0")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(world_.path(""), arguments);
  }
  // The source's first events; it grows.
  void IngestSome(std::size_t count) const {
    WriteTraffic({events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(count)},
                 world_.path("some.pb"));
    const Finished taken = RunProgram(world_.path(""), {"ingest", world_.path("some.pb"), "--source",
                                                        "traffic.pb", "--config", world_.ConfigOf("admin")});
    EXPECT_LE(taken.code, 1) << taken.err;  // 1: bad lines of the traffic were told
  }
  static void Stop(Background& worker) {
    ASSERT_TRUE(worker.WaitFor("running")) << worker.err();
    worker.Signal(SIGTERM);
    EXPECT_EQ(worker.Wait(), 0) << worker.err();
  }

  std::unique_ptr<TestBroker> broker_ = TestBroker::Shared();
  std::vector<Event> events_ = Traffic(51, 3000);
  KafkaWorld world_{*broker_, events_};
};

TEST_F(KafkaRebuild, AForgottenGroupGoesOnFromItsJournals) {
  {
    auto worker = world_.Worker("w0");
    IngestSome(events_.size() / 2);
    Stop(*worker);
  }
  // It dies with a transaction open, whose records lie at the end of the journals.
  auto ingest = world_.IngestInBackground();
  auto worker = world_.Worker("w0", "K3:12");
  ASSERT_EQ(worker->Wait(), kKilled) << worker->err();
  ASSERT_TRUE(DeleteGroup(world_));

  worker = world_.Worker("w0");
  ASSERT_TRUE(worker->WaitFor("--journal` commits the end of the journal")) << worker->err();
  // It says so before it joins the group, too; a member has been given its slots.
  EXPECT_TRUE(world_.Await(
      [](const nlohmann::json& answer) {
        for (const auto& task : answer["tasks"])
          if (task.value("phase", "") != "stopped") return false;
        return true;
      },
      std::chrono::seconds(60)))
      << world_.Tasks().dump(1);
  const Finished early = Rebuild({"--journal"});
  EXPECT_EQ(early.code, 4) << early.out << early.err;
  EXPECT_NE(early.err.find("Stop all of them"), std::string::npos) << early.err;
  Stop(*worker);

  const Finished taken = Rebuild({"--journal"});
  ASSERT_EQ(taken.code, 0) << taken.err;
  EXPECT_EQ(Count(taken.out, "continues after commit"), kSlots) << taken.out;
  const Finished again = Rebuild({"--journal"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(Count(again.out, "the group already has commit"), kSlots) << again.out;

  worker = world_.Worker("w0");
  EXPECT_LE(ingest->Wait(), 1) << ingest->err();
  EXPECT_TRUE(world_.AwaitRest(std::chrono::seconds(60))) << world_.Tasks().dump(1);
  Stop(*worker);
  world_.ExpectLikeTheOracle();
}

TEST_F(KafkaRebuild, AStateThatIsMadeAgainServesAsTheOneThatWasThere) {
  // Until here there is no checkpoint: all that the state has, the next one must say.
  std::ifstream file(world_.ConfigOf("w0"));
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string often = "checkpoint_interval: 1 s";
  ASSERT_NE(text.find(often), std::string::npos);
  text.replace(text.find(often), often.size(), "checkpoint_interval: 1 h");
  const std::string seldom = world_.path("seldom.yaml");
  std::ofstream(seldom) << text;
  {
    Background first(world_.path(""), {"run", "--config", seldom});
    IngestSome(events_.size() / 2);
    Stop(first);
  }
  const Finished rebuilt = Rebuild({});
  ASSERT_EQ(rebuilt.code, 0) << rebuilt.err;
  EXPECT_GT(Count(rebuilt.out, "rebuilt as of commit"), Count(rebuilt.out, " 0 commits re-executed"))
      << rebuilt.out;
  EXPECT_EQ(Rebuild({"77"}).code, 3);

  auto worker = world_.Worker("w0");
  const Finished taken = world_.Ingest();
  EXPECT_LE(taken.code, 1) << taken.err;  // 1: bad lines of the traffic were told
  const Finished early = Rebuild({"0"});
  EXPECT_EQ(early.code, 4) << early.out << early.err;
  // Checkpoints that were written with the state that was made again.
  EXPECT_TRUE(world_.AwaitRest(std::chrono::seconds(60))) << world_.Tasks().dump(1);
  EXPECT_TRUE(world_.Await(
      [](const nlohmann::json& answer) {
        for (const auto& task : answer["tasks"])
          if (task.value("checkpoint", 0) < task.value("state_written", 1)) return false;
        return true;
      },
      std::chrono::seconds(60)))
      << world_.Tasks().dump(1);
  Stop(*worker);
  // What the checkpoints hold is what all commits from the first on give.
  const Finished verified = RunProgram(world_.path(""), {"verify", "--config", world_.ConfigOf("admin")});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  EXPECT_EQ(Count(verified.out, "give the same"), kSlots) << verified.out;
  world_.ExpectLikeTheOracle();
}

}  // namespace
}  // namespace cobblestone::testing
