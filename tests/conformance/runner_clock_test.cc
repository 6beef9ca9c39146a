// A wall clock that is set back by hours or years, while the runner runs and between its runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/conformance/runner_world.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using ::testing::ElementsAre;
using testing::TempDir;

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;

// True time, and the reading of the wall clock.
struct Clocks {
  double now = kStart;
  double wall = kStart;
  double machine_started = kStart - 1000;

  void At(double time) { now = wall = time; }
  void At(double time, double shown) { now = time, wall = shown; }
};

// One run: `story` with the runner, then a clean stop, which writes the state, makes a checkpoint and trims.
void Live(const std::string& directory, Clocks& clocks, const std::function<void(EchoWorld&)>& story) {
  LogOptions log = EchoLogOptions(directory);
  log.clock = [&clocks] { return clocks.wall; };
  log.steady = [&clocks] { return clocks.now - clocks.machine_started; };
  RunnerOptions options = EchoOptions(directory);
  options.clock = log.clock;
  options.checkpoint_interval = std::chrono::milliseconds(0);
  options.inputs_age = 3 * kDay;
  EchoWorld world(log, options);
  ASSERT_TRUE(world.status.ok()) << world.status.message();
  world.runner->Start();
  story(world);
  const Status stopped = world.runner->Stop();
  ASSERT_TRUE(stopped.ok()) << stopped.message();
}

std::vector<double> AppendTimes(Log& log, TopicPartition where) {
  std::vector<double> times;
  for (std::uint64_t at = log.Begin(where); at < log.End(where);) {
    const auto batch = log.Read(where, at);
    EXPECT_TRUE(batch.ok()) << batch.status().message();
    if (!batch.ok()) break;
    times.push_back((*batch)->append_time - kStart);
    at = (*batch)->end();
  }
  return times;
}

TEST(RunnerClock, AppendTimesNeverGoBackAndFollowTheSteadyClock) {
  const TempDir dir;
  Clocks clocks;
  const auto send = [&](EchoWorld& world, double time, double shown) {
    clocks.At(time, shown);
    world.Send(0, {"note"});
  };
  Live(dir.path(), clocks, [&](EchoWorld& world) {
    send(world, kStart, kStart);
    send(world, kStart + 10, kStart + 10 - 5 * 3600);
    send(world, kStart + 20, 20);  // 1970
    send(world, kStart + 30, kStart + 30);
    EXPECT_THAT(AppendTimes(*world.log, {kEchoNotes, 0}), ElementsAre(0, 10, 20, 30));
  });
  clocks.At(kStart + 100, 0);
  clocks.machine_started = kStart + 90;  // the length of the outage is unknown
  Live(dir.path(), clocks, [&](EchoWorld& world) {
    send(world, kStart + 105, 5);
    send(world, kStart + 110, kStart + 110);
    EXPECT_THAT(AppendTimes(*world.log, {kEchoNotes, 0}), ElementsAre(0, 10, 20, 30, 35, 110));
    EXPECT_EQ(AllRecords(*world.log, {kEchoes, 0}).back(), "note#6") << "nothing is lost";
  });
}

// Inputs that arrived while the clock read 1970 are not older than the others once the clock is right.
TEST(RunnerClock, InputsAreKeptForTheirAgeDespiteAWrongClock) {
  const TempDir dir;
  Clocks clocks;
  const auto begin = [&](EchoWorld& world) { return world.log->Begin({kEchoNotes, 0}); };
  Live(dir.path(), clocks, [&](EchoWorld& world) { world.Send(0, {"first"}); });
  clocks.At(kStart, 0);
  Live(dir.path(), clocks, [&](EchoWorld& world) {
    clocks.At(kStart + 60, 60);
    world.Send(0, {"in 1970"});
    clocks.At(kStart + 120, kStart + 120 - 5 * 3600);
    world.Send(0, {"five hours back"});
  });
  // Two checkpoints after them, and time passes. Each run trims at its end; the next one sees the result.
  const auto later = [&](double time) {
    clocks.At(time);
    Live(dir.path(), clocks, [&](EchoWorld& world) { world.Send(0, {"later"}); });
    std::uint64_t at = 0;
    Live(dir.path(), clocks, [&](EchoWorld& world) { at = begin(world); });
    return at;
  };
  EXPECT_EQ(later(kStart + 180), 0u);
  EXPECT_EQ(later(kStart + 200), 0u);
  clocks.At(kStart + 3 * kDay + 30, 30);
  Live(dir.path(), clocks, [&](EchoWorld& world) { world.Send(0, {"1970 again"}); });
  Live(dir.path(), clocks, [&](EchoWorld& world) { EXPECT_EQ(begin(world), 0u) << "not yet old enough"; });
  EXPECT_EQ(later(kStart + 3 * kDay + 30), 1u) << "only the first input is three days old";
  EXPECT_EQ(later(kStart + 3 * kDay + 90), 2u);
  EXPECT_EQ(later(kStart + 3 * kDay + 150), 3u) << "then each in its turn";
}

// Inputs grow old even if no further input arrives.
TEST(RunnerClock, OldInputsAreTrimmedWithoutNewOnes) {
  const TempDir dir;
  Clocks clocks;
  for (const char* note : {"first", "second", "third"})
    Live(dir.path(), clocks, [&](EchoWorld& world) { world.Send(0, {note}); });
  LogOptions log = EchoLogOptions(dir.path());
  RunnerOptions options = EchoOptions(dir.path());
  options.trim_interval = std::chrono::milliseconds(1);
  options.clock = [] { return kStart + 4 * kDay; };
  EchoWorld world(log, options);
  ASSERT_TRUE(world.status.ok()) << world.status.message();
  ASSERT_EQ(world.log->Begin({kEchoNotes, 0}), 0u);
  world.runner->Start();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (world.log->Begin({kEchoNotes, 0}) < 2 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(world.log->Begin({kEchoNotes, 0}), 2u) << "up to the older of two checkpoints";
  EXPECT_EQ(world.runner->status()[0].records, 0u) << "no input arrived";
}

}  // namespace
}  // namespace cobblestone::stream::embedded
