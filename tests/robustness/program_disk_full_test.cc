// The disk under the running program is full, again and again: each time it ends with a code of its own and says what
// to do, and with room again it goes on as if nothing had been.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/robustness/program_world.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

using ::testing::AnyOf;
using testing::Background;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr int kFullExitCode = 74;  // docs/guides/command-line.md
constexpr int kGoneExitCode = 4;

// What an operator must be told: what is full, and what to do.
void ExpectSaysWhatToDo(const std::string& errors, const std::string& data) {
  EXPECT_THAT(errors, HasSubstr(data));
  EXPECT_THAT(errors, ContainsRegex("[Nn]o space left|disk is full"));
  EXPECT_THAT(errors, ContainsRegex("[Ff]ree disk space"));
}

TEST(ProgramDiskFull, EndsWithItsOwnCodeAndRoomBringsEverythingBack) {
  const testing::SmallDisk disk("3m");
  if (!disk.mounted()) {
    GTEST_SKIP() << "this user may not mount a small disk (" << disk.why()
                 << "); conformance_log_disk_full_test covers failing writes of the log without one";
  }
  const testing::TempDir beside;
  const std::vector<testing::Event> events = testing::Traffic(31, 12000);
  const testing::ProgramWorld world(disk.dir().path(), beside, events);
  int full = 0;
  for (const char* larger : {"4m", "5m", "6m", "8m", "100m"}) {
    Background program(disk.dir().path(), world.run());
    if (program.WaitFor("running")) {
      const testing::Finished taken = world.Ingest();
      if (taken.code <= 1) break;  // all fitted, though nobody would have thought so
      EXPECT_THAT(taken.code, AnyOf(kGoneExitCode, kFullExitCode)) << taken.err;
    }
    EXPECT_EQ(program.Wait(), kFullExitCode) << program.err();
    ExpectSaysWhatToDo(program.err(), world.data());
    ++full;
    ASSERT_TRUE(disk.Grow(larger));
  }
  EXPECT_GE(full, 3);
  ASSERT_TRUE(disk.Grow("200m"));
  world.FinishAndExpectLikeTheOracle();
}

// The log has room, the state none: it is written by another thread, and told to the same end.
TEST(ProgramDiskFull, AStateThatCannotBeWrittenEndsTheProgramToo) {
  const testing::SmallDisk disk("400k");  // what five empty states take, and not much more
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk (" << disk.why() << ")";
  const testing::TempDir dir;
  const testing::TempDir beside;
  const std::vector<testing::Event> events = testing::Traffic(33, 4000);
  const testing::ProgramWorld world(dir.path(), beside, events);
  std::filesystem::create_directories(world.data());
  std::filesystem::create_directory_symlink(disk.dir().path(), world.data() + "/state");
  Background program(dir.path(), world.run());
  ASSERT_TRUE(program.WaitFor("running")) << program.err();
  EXPECT_LE(world.Ingest().code, kFullExitCode);  // the log may have taken it all in before
  EXPECT_EQ(program.Wait(), kFullExitCode) << program.err();
  ExpectSaysWhatToDo(program.err(), world.data() + "/state");
  ASSERT_TRUE(disk.Grow("100m"));
  world.FinishAndExpectLikeTheOracle();
}

// Nothing fits: the first start of all.
TEST(ProgramDiskFull, AFirstStartWithoutRoomLeavesNothingInTheWayOfTheNext) {
  for (const char* size : {"4k", "16k", "64k", "128k"}) {
    SCOPED_TRACE(size);
    const testing::SmallDisk disk(size);
    if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk (" << disk.why() << ")";
    const testing::TempDir beside;
    const std::vector<testing::Event> events = testing::Traffic(32, 500);
    const testing::ProgramWorld world(disk.dir().path(), beside, events);
    Background program(disk.dir().path(), world.run());
    if (program.WaitFor("running")) {
      EXPECT_THAT(world.Ingest().code, AnyOf(kGoneExitCode, kFullExitCode));
    }
    EXPECT_EQ(program.Wait(), kFullExitCode) << program.err();
    ExpectSaysWhatToDo(program.err(), world.data());
    ASSERT_TRUE(disk.Grow("100m"));
    Background again(disk.dir().path(), world.run());
    ASSERT_TRUE(again.WaitFor("running")) << again.err();
    EXPECT_LE(world.Ingest().code, 1);
  }
}

}  // namespace
}  // namespace cobblestone
