// Three workers on a real broker. At any time some of them are killed, stopped for longer than their session,
// leaving, out of disk space, without their disk's contents, or restarted with a wrong clock; hot standbys
// take over. Afterwards lag reaches zero in bounded time, and every result equals the oracle's.
//
// COBBLESTONE_CHAOS_ROUNDS: how many faults (the short form: each kind once); COBBLESTONE_CHAOS_SEED: their
// order.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/robustness/kafka_faults.h"
#include "tests/robustness/kafka_world.h"
#include "tests/support/small_disk.h"

namespace cobblestone::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kFullExitCode = 74;             // docs/guides/command-line.md
constexpr milliseconds kBeyondSession{4500};  // the session is 3 s
constexpr seconds kPatience{180};

// The last lines of a worker's output.
std::string End(const std::string& text) {
  std::size_t from = text.size();
  for (int lines = 0; lines < 8 && from != std::string::npos && from > 0; ++lines)
    from = text.rfind('\n', from - 1);
  return from == std::string::npos ? text : text.substr(from);
}

class KafkaChaos : public ::testing::Test {
 protected:
  struct Member {
    std::string name;
    std::unique_ptr<Background> process;
  };

  void Begin() {
    world_ = std::make_unique<KafkaWorld>(*broker_, static_cast<std::uint64_t>(seed_) + 30,
                                          KafkaWorldOptions{.kafka = "  standby: hot\n"});
    for (const char* name : {"a", "b", "c"}) {
      // Each member has its own small disk, with room until a fault fills it.
      disks_.push_back(std::make_unique<SmallDisk>("300m"));
      if (disks_.back()->mounted())
        fs::create_directory_symlink(disks_.back()->dir().path(), world_->state_of(name));
      members_.push_back({.name = name, .process = world_->Worker(name)});
    }
  }

  // Restarts a member, as a service manager would.
  void Start(Member& member) { member.process = world_->Worker(member.name); }

  // Kills a process with a transaction open: this member, or another one that has one.
  Member& Kill(Member& chosen, const std::string& kind) {
    Member* member = &chosen;
    bool open = world_->StopInTransaction(chosen.name, *chosen.process);
    for (Member& other : members_) {
      if (open || &other == &chosen) continue;
      member->process->Signal(SIGCONT);
      member = &other;
      open = world_->StopInTransaction(other.name, *other.process);
    }
    member->process->Signal(SIGKILL);
    EXPECT_EQ(member->process->Wait(), 128 + SIGKILL) << member->process->err();
    faults_.Note(kind, open);
    return *member;
  }

  void Wipe(const Member& member) const {
    for (const auto& entry : fs::directory_iterator(world_->state_of(member.name)))
      fs::remove_all(entry.path());
  }

  // Flips bits in some of the member's state files.
  void Damage(const Member& member) {
    for (const auto& entry : fs::recursive_directory_iterator(world_->state_of(member.name))) {
      if (!entry.is_regular_file() || entry.file_size() == 0 || random_() % 2 == 0) continue;
      std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
      for (int flips = 0; flips < 5; ++flips) {
        const auto at = static_cast<std::streamoff>(random_() % entry.file_size());
        file.seekg(at);
        const char damaged = static_cast<char>(file.get() ^ (1 << random_() % 8));
        file.seekp(at);
        file.put(damaged);
      }
    }
  }

  void FillDisk(Member& member, const SmallDisk& disk) {
    const bool open = world_->StopInTransaction(member.name, *member.process);
    member.process->Signal(SIGCONT);
    const std::string path = disk.dir() / "filler";
    {
      std::ofstream filler(path, std::ios::binary);
      const std::string some(64u << 10, 'x');
      while (filler << some && filler.flush()) {
      }
    }
    EXPECT_EQ(member.process->Wait(), kFullExitCode) << member.process->err();
    fs::resize_file(path, 0);  // a process that was just started may have inherited the open file
    fs::remove(path);
    faults_.Note("disk full", open);
  }

  [[nodiscard]] Member& Coordinator() {
    std::string owner;
    (void)world_->Await(
        [&](const nlohmann::json& answer) {
          owner = answer["tasks"].back().value("worker", "");
          return !owner.empty();
        },
        kPatience);
    for (Member& member : members_)
      if (member.name + ".0" == owner) return member;
    return members_.front();
  }

  // Waits until a slot of this worker has a newer checkpoint than at the start of the wait. False: not in
  // time.
  [[nodiscard]] bool AwaitCheckpointOf(const Member& member) const {
    std::vector<std::uint64_t> before;
    return world_->Await(
        [&](const nlohmann::json& answer) {
          const auto& tasks = answer["tasks"];
          const bool first = before.empty();
          bool newer = false;
          for (std::size_t k = 0; k < tasks.size(); ++k) {
            const auto checkpoint = tasks[k].value("checkpoint", std::uint64_t{0});
            if (first) before.push_back(checkpoint);
            newer = newer || (tasks[k].value("owner", "") == member.name + ".0" && checkpoint > before[k]);
          }
          return newer;
        },
        kPatience);
  }

  void Strike(int kind) {
    Member& member = members_[random_() % members_.size()];
    switch (kind) {
      case 0: Start(Kill(member, "killed, back at once")); break;
      case 1: {
        Member& killed = Kill(member, "killed, back after its session");
        std::this_thread::sleep_for(kBeyondSession);
        Start(killed);
        break;
      }
      case 2: {
        Member& killed = Kill(member, "killed, disk lost");
        Wipe(killed);
        Start(killed);
        break;
      }
      case 3: {
        Member& killed = Kill(member, "killed, disk damaged");
        Damage(killed);
        Start(killed);
        break;
      }
      case 4: {
        const bool open = world_->StopInTransaction(member.name, *member.process);
        std::this_thread::sleep_for(kBeyondSession);
        member.process->Signal(SIGCONT);
        faults_.Note("asleep beyond its session", open);
        break;
      }
      case 5: {
        ASSERT_TRUE(member.process->WaitFor("running")) << member.process->err();
        const bool open = world_->StopInTransaction(member.name, *member.process);
        member.process->Signal(SIGCONT);
        member.process->Signal(SIGTERM);
        EXPECT_EQ(member.process->Wait(), 0) << member.process->err();
        faults_.Note("left and joined", open);
        Start(member);
        break;
      }
      case 6: Start(Kill(Coordinator(), "coordinator's worker killed among ticks")); break;
      case 7: {
        // The first checkpoint after a restart includes what was written before the crash.
        Member& killed = Kill(member, "killed, disk lost after the next checkpoint");
        Start(killed);
        (void)AwaitCheckpointOf(killed);
        killed.process->Signal(SIGKILL);
        (void)killed.process->Wait();
        Wipe(killed);
        Start(killed);
        break;
      }
      case 8: {
        static constexpr int kOffsets[] = {-40 * 86400, -3 * 3600, 3 * 3600, 400 * 86400};
        Member& killed = Kill(member, "killed, back with another clock");
        killed.process = world_->Worker(killed.name, "", seconds(kOffsets[random_() % 4]));
        break;
      }
      default: {
        const auto at = static_cast<std::size_t>(&member - members_.data());
        if (!disks_[at]->mounted())
          return;  // this user may not mount a disk; program_disk_full_test reports that
        FillDisk(member, *disks_[at]);
        Start(member);
        break;
      }
    }
  }
  static constexpr int kKinds = 10;

  const int seed_ = FromEnvironment("COBBLESTONE_CHAOS_SEED", 1);
  std::mt19937 random_{static_cast<unsigned>(seed_)};
  std::unique_ptr<TestBroker> broker_ = TestBroker::Shared();
  std::vector<std::unique_ptr<SmallDisk>> disks_;
  std::unique_ptr<KafkaWorld> world_;
  std::vector<Member> members_;
  FaultCounts faults_;
};

TEST_F(KafkaChaos, WorkersComeAndGoAndNothingIsLostOrDoubled) {
  const int rounds = FromEnvironment("COBBLESTONE_CHAOS_ROUNDS", kKinds);
  std::printf("seed %d, %d rounds\n", seed_, rounds);
  Begin();
  ASSERT_TRUE(world_->AwaitRest(kPatience)) << world_->Tasks().dump(1);
  KafkaWorld::Feed feed(*world_);
  std::vector<int> deck;
  for (int round = 0; round < rounds; ++round) {
    if (deck.empty()) {
      for (int kind = 0; kind < kKinds; ++kind) deck.push_back(kind);
      std::shuffle(deck.begin(), deck.end(), random_);
    }
    ASSERT_NO_FATAL_FAILURE(Strike(deck.back()));
    deck.pop_back();
    // A member that exited on its own would stay down, because nothing restarts it.
    for (Member& member : members_) ASSERT_TRUE(member.process->Runs()) << member.process->err();
  }
  EXPECT_EQ(feed.Finish(), "");
  EXPECT_TRUE(world_->AwaitRest(kPatience)) << world_->Tasks().dump(1);
  for (Member& member : members_) {
    ASSERT_TRUE(member.process->WaitFor("running")) << member.process->err();
    member.process->Signal(SIGTERM);
    EXPECT_EQ(member.process->Wait(), 0) << member.process->err();
    if (HasFailure())
      std::printf("---- the end of %s\n%s", member.name.c_str(), End(member.process->err()).c_str());
  }
  world_->ExpectLikeTheOracle();
}

}  // namespace
}  // namespace cobblestone::testing
