// Three workers on a real broker, of which at any time some are killed, asleep for longer than their session, leaving, or
// coming back, with or without what they had on their disks; hot standbys take over. Afterwards lag reaches zero in bounded
// time, and everything is as the independent computation says.
//
// COBBLESTONE_CHAOS_ROUNDS: how many faults; COBBLESTONE_CHAOS_SEED: which.

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>
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

struct Member {
  std::string name;
  std::unique_ptr<Background> process;
};

TEST(KafkaChaos, WorkersComeAndGoAndNothingIsLostOrDoubled) {
  const auto broker = TestBroker::Shared();
  const int rounds = FromEnvironment("COBBLESTONE_CHAOS_ROUNDS", 12);
  std::mt19937 random(static_cast<unsigned>(FromEnvironment("COBBLESTONE_CHAOS_SEED", 1)));
  const KafkaWorld world(*broker, Traffic(31, static_cast<std::uint64_t>(2500 * rounds)),
                         {.kafka = "  standby: hot\n"});
  std::vector<Member> members;
  for (const char* name : {"a", "b", "c"}) members.push_back({.name = name, .process = world.Worker(name)});
  ASSERT_TRUE(world.AwaitRest(seconds(60))) << world.Tasks().dump(1);
  auto ingest = world.IngestInBackground();
  std::map<std::string, int> faults;
  for (int round = 0; round < rounds && ingest->Runs(); ++round) {
    Member& member = members[random() % members.size()];
    switch (random() % 5) {
      case 0:
        member.process->Signal(SIGKILL);
        (void)member.process->Wait();
        ++faults["killed"];
        break;
      case 1: {
        member.process->Signal(SIGKILL);
        (void)member.process->Wait();
        std::filesystem::remove_all(world.state_of(member.name));
        ++faults["killed, and its disk lost"];
        break;
      }
      case 2:
        member.process->Signal(SIGSTOP);
        std::this_thread::sleep_for(milliseconds(4500));  // the session is 3 s: this is the fault itself
        member.process->Signal(SIGCONT);
        ++faults["asleep beyond its session"];
        break;
      case 3:
        ASSERT_TRUE(member.process->WaitFor("running")) << member.process->err();
        member.process->Signal(SIGTERM);
        EXPECT_EQ(member.process->Wait(), 0) << member.process->err();
        ++faults["left"];
        break;
      default:
        member.process->Signal(SIGKILL);
        (void)member.process->Wait();
        member.process = world.Worker(member.name);
        ++faults["killed and back at once"];
        break;
    }
    if (!member.process->Runs()) member.process = world.Worker(member.name);
  }
  for (Member& member : members)
    if (!member.process->Runs()) member.process = world.Worker(member.name);
  const int taken = ingest->Wait();
  EXPECT_LE(taken, 1) << ingest->err();
  EXPECT_TRUE(world.AwaitRest(seconds(60))) << world.Tasks().dump(1);
  for (Member& member : members) {
    ASSERT_TRUE(member.process->WaitFor("running")) << member.process->err();
    member.process->Signal(SIGTERM);
    EXPECT_EQ(member.process->Wait(), 0) << member.process->err();
  }
  int all = 0;
  for (const auto& [kind, count] : faults) {
    std::printf("%s: %d times\n", kind.c_str(), count);
    all += count;
  }
  EXPECT_EQ(all, rounds) << "the events were over before the faults";
  world.ExpectLikeTheOracle();
}

}  // namespace
}  // namespace cobblestone::testing
