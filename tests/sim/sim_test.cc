// Thousands of schedules a minute: the real workers and stages on a simulated cluster. COBBLESTONE_SIM_SEEDS is the
// number of schedules (./dev chaos --sim: 10,000), COBBLESTONE_SIM_SEED the first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/stream/table.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "tests/sim/sim_world.h"

namespace cobblestone::testing {
namespace {

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

stream::kafka::Standby StandbyOf(std::uint64_t seed) {
  using stream::kafka::Standby;
  constexpr Standby kAll[] = {Standby::kHot, Standby::kNone, Standby::kCheckpoint};
  return kAll[seed / 3 % 3];
}

const std::vector<SimTraffic>& Traffics() {
  static const std::vector<SimTraffic> traffics = [] {
    std::vector<SimTraffic> made;
    for (std::uint64_t t = 1; t <= 3; ++t) made.push_back(MakeSimTraffic(t, 60 * t));
    return made;
  }();
  return traffics;
}

std::string Tail(const std::vector<std::string>& story) {
  std::string text;
  for (std::size_t i = story.size() > 40 ? story.size() - 40 : 0; i < story.size(); ++i)
    text += "  " + story[i] + "\n";
  return text;
}

TEST(Simulation, EveryGrantExistsOnceAndEveryTotalIsTheirSum) {
  const std::uint64_t first = FromEnvironment("COBBLESTONE_SIM_SEED", 1);
  const std::uint64_t seeds = FromEnvironment("COBBLESTONE_SIM_SEEDS", 300);
  std::map<std::string, std::uint64_t> counts;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const SimResult result =
        RunSchedule(Traffics()[seed % Traffics().size()], {.seed = seed, .standby = StandbyOf(seed)});
    for (const auto& [kind, count] : result.counts) counts[kind] += count;
    if (result.problem.empty()) continue;
    ADD_FAILURE() << "seed " << seed << ": " << result.problem << "\n" << Tail(result.story);
    if (++failures == 3) break;
  }
  if (seeds >= 100) {
    EXPECT_GT(counts["had followed checkpoints"], 0u);
  }
  if (seeds >= 5000) {  // rare
    EXPECT_GT(counts["lost a checkpoint to compaction"], 0u);
  }
  for (const auto& [kind, count] : counts)
    std::printf("%-28s %llu\n", kind.c_str(), static_cast<unsigned long long>(count));
}

// A checkpoint that brokers compact while it is read is either read completely or recognised as incomplete.
TEST(Simulation, ACheckpointCompactedDuringARestoreIsReadWholeOrNotAtAll) {
  const std::uint64_t first = FromEnvironment("COBBLESTONE_SIM_SEED", 1);
  const std::uint64_t seeds = FromEnvironment("COBBLESTONE_SIM_SEEDS", 300) / 3;
  std::uint64_t lost = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    SimResult result =
        RunSchedule(Traffics()[2], {.seed = seed, .standby = StandbyOf(seed), .compacting = true});
    ASSERT_EQ(result.problem, "") << "seed " << seed << "\n" << Tail(result.story);
    lost += result.counts["lost a checkpoint to compaction"];
  }
  std::printf("lost to compaction %llu\n", static_cast<unsigned long long>(lost));
  if (seeds >= 50) {
    EXPECT_GT(lost, 0u);
  }
}

// An additional stage that crashes at one record, or at its re-execution.
class Deadly final : public stream::Stage {
 public:
  struct What {
    std::string record;
    bool when_first_seen = true;
    std::string then{};  // crashes once at this record
    int deaths = 0;
    int seen = 0;
    bool died_then = false;
  };
  explicit Deadly(What& what) : what_(what) {}
  void Process(std::size_t, const stream::RecordView& record, stream::Emitter&) override {
    if (record.value == what_.record && (what_.seen++ > 0 || what_.when_first_seen)) {
      ++what_.deaths;
      throw sim::Crash{};
    }
    if (record.value == what_.then && !std::exchange(what_.died_then, true)) throw sim::Crash{};
  }
  std::vector<stream::TableBase*> tables() override { return {}; }

  static std::function<void(stream::SlotFactory&)> In(What& what) {
    return [&what](stream::SlotFactory& factory) {
      factory = [&what, real = factory](std::uint32_t k) {
        stream::SlotParts parts = real(k);
        if (k < kSimPartitions)
          parts.slot->AddStage(std::make_unique<Deadly>(what), {{wire::kCompletions, k}});
        return parts;
      };
    };
  }

 private:
  What& what_;
};

std::vector<std::string> Completions(const SimTraffic& traffic, std::uint32_t partition) {
  std::vector<std::string> all;
  for (const std::string& event : traffic.events)
    if (wire::RouteEvent(event, kSimPartitions) == stream::TopicPartition{wire::kCompletions, partition})
      all.push_back(event);
  return all;
}

// A record that crashes every process that reads it: after some crashes it is skipped, and nothing else is.
TEST(Simulation, ARecordThatCrashesTheProgramIsSkipped) {
  const SimTraffic& traffic = Traffics()[2];
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto completions = Completions(traffic, 0);
    Deadly::What what{.record = completions[seed % completions.size()]};
    const auto times =
        static_cast<std::size_t>(std::count(completions.begin(), completions.end(), what.record));
    const SimResult result = RunSchedule(
        traffic,
        {.seed = seed, .standby = StandbyOf(seed), .change_stages = Deadly::In(what), .restarts = true});
    EXPECT_EQ(result.problem, "") << "seed " << seed << "\n" << Tail(result.story);
    EXPECT_EQ(result.crashed.size(), times) << "seed " << seed << "\n" << Tail(result.story);
    for (const wire::Refused& refused : result.crashed) {
      EXPECT_EQ(refused.original, what.record);
      EXPECT_EQ(refused.topic, "completions");
    }
    EXPECT_GE(what.deaths, 3) << "seed " << seed;
  }
}

// A commit that was made and crashes at re-execution is not skipped: the slot stops.
TEST(Simulation, ACommitThatCrashesAtReexecutionStopsItsSlot) {
  const SimTraffic& traffic = Traffics()[2];
  int stopped = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto completions = Completions(traffic, 0);
    const std::size_t at = 10 + seed;
    Deadly::What what{.record = completions[at], .when_first_seen = false, .then = completions[at + 12]};
    const SimResult result =
        RunSchedule(traffic, {.seed = seed, .change_stages = Deadly::In(what), .restarts = true});
    if (result.problem.empty()) continue;
    EXPECT_NE(result.problem.find("crashed the program 3 times on this machine"), std::string::npos)
        << "seed " << seed << ": " << result.problem << "\n"
        << Tail(result.story);
    ++stopped;
  }
  EXPECT_GT(stopped, 0);
}

// Each traffic has one hash, whatever the workers, crashes and read order.
TEST(Simulation, LockstepGivesOneHashPerTraffic) {
  const std::uint64_t first = FromEnvironment("COBBLESTONE_SIM_SEED", 1);
  const std::uint64_t seeds = FromEnvironment("COBBLESTONE_SIM_SEEDS", 300) / 10;
  for (std::uint64_t t = 1; t <= 3; ++t) {
    const SimTraffic traffic = MakeLockstepTraffic(first + t, 40 * t);
    const SimResult calm = RunSchedule(traffic, {.lockstep = true, .calm = true});
    ASSERT_EQ(calm.problem, "");
    std::printf("traffic %llu: %s\n", static_cast<unsigned long long>(first + t), calm.hash.c_str());
    std::uint64_t judged = 0;
    for (std::uint64_t seed = first; seed < first + seeds / 3; ++seed) {
      const SimResult result =
          RunSchedule(traffic, {.seed = seed, .standby = StandbyOf(seed), .lockstep = true});
      ASSERT_EQ(result.problem, "") << "traffic " << first + t << ", seed " << seed << "\n"
                                    << Tail(result.story);
      if (result.counts.count("skipped a record") > 0) continue;
      ASSERT_EQ(result.hash, calm.hash) << "traffic " << first + t << ", seed " << seed;
      ++judged;
    }
    EXPECT_GE(2 * judged, seeds / 3) << "most schedules must be judged";
  }
}

TEST(Simulation, AHubKnowsEveryFactOnceAndErasesEveryAccountOnce) {
  const std::uint64_t first = FromEnvironment("COBBLESTONE_SIM_SEED", 1);
  const std::uint64_t seeds = FromEnvironment("COBBLESTONE_SIM_SEEDS", 300) / 10;
  const std::vector<SimTraffic> traffics = {MakeHubTraffic(1, 10), MakeHubTraffic(2, 14)};
  std::map<std::string, std::uint64_t> counts;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const SimResult result = RunSchedule(traffics[seed % traffics.size()],
                                         {.seed = seed, .standby = StandbyOf(seed), .hub = true});
    ASSERT_EQ(result.problem, "") << "seed " << seed << "\n" << Tail(result.story);
    for (const auto& [kind, count] : result.counts) counts[kind] += count;
  }
  if (seeds >= 10) {
    EXPECT_GT(counts["killed"] + counts["crashed at a call"], 0u);
    EXPECT_LT(counts["skipped a record"], seeds / 3) << "most schedules must be judged";
  }
}

// Canary for a fault that the simulation must find: a producer that continues after it has sent the end of a
// transaction twice.
TEST(Simulation, CanaryStrayEndOfATransaction) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 300 && found == 0; ++seed) {
    const SimResult result = RunSchedule(Traffics()[2], {.seed = seed, .hide_suspects = true});
    if (!result.problem.empty()) ++found;
  }
  EXPECT_GT(found, 0);
}

// If a worker dies while it releases a slot and restarts within its session, the slot has no owner
// (tests/robustness/kafka_group_test.cc).
TEST(Simulation, CanaryNoWorkerChecksForSlotsWithoutOwner) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 5000 && found == 0; ++seed) {
    const SimResult result = RunSchedule(Traffics()[2], {.seed = seed, .no_watch = true});
    if (result.problem.empty()) continue;
    EXPECT_NE(result.problem.find("is of nobody"), std::string::npos)
        << "seed " << seed << ": " << result.problem;
    ++found;
  }
  EXPECT_GT(found, 0);
}

// An additional stage that stores the machine's own time for each record.
class LooksAtTheClock final : public stream::Stage {
 public:
  explicit LooksAtTheClock(stream::TableHost& tables) : seen_(tables, {.id = kSeenTable}, true) {}
  void Process(std::size_t, const stream::RecordView&, stream::Emitter&) override {
    seen_.Mutable({}).at = std::chrono::steady_clock::now().time_since_epoch().count();
  }
  std::vector<stream::TableBase*> tables() override { return {&seen_}; }

 private:
  static constexpr std::uint8_t kSeenTable = 250;
  struct Seen {
    std::int64_t at = 0;

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.at);
    }
  };
  stream::Table<Seen> seen_;
};

// A re-execution gives another fingerprint than the one in the journal, and stops there.
TEST(Simulation, CanaryAStageThatLooksAtTheClock) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20 && found == 0; ++seed) {
    const SimResult result = RunSchedule(
        Traffics()[2], {.seed = seed, .change_stages = [](stream::SlotFactory& factory) {
                          factory = [real = factory](std::uint32_t k) {
                            stream::SlotParts parts = real(k);
                            if (k < kSimPartitions)
                              parts.slot->AddStage(std::make_unique<LooksAtTheClock>(*parts.tables),
                                                   {{wire::kCompletions, k}});
                            return parts;
                          };
                        }});
    if (result.problem.empty()) continue;
    EXPECT_NE(result.problem.find("diverged"), std::string::npos)
        << "seed " << seed << ": " << result.problem;
    ++found;
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace cobblestone::testing
