// The disk under the running program becomes full repeatedly. Each time the program exits with the exit code of
// a full disk and advice to the operator. With free space it continues as if nothing had happened.
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

// The error must name the full disk and the remedy.
void ExpectSaysWhatToDo(const std::string& errors, const std::string& data) {
  EXPECT_THAT(errors, HasSubstr(data));
  EXPECT_THAT(errors, ContainsRegex("[Nn]o space left|disk is full"));
  EXPECT_THAT(errors, ContainsRegex("[Ff]ree disk space"));
}

TEST(ProgramDiskFull, ExitsWithItsOwnCodeAndContinuesWithRoom) {
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
      const testing::Finished ingested = world.Ingest();
      if (ingested.code <= 1) break;  // everything fitted, against expectation
      EXPECT_THAT(ingested.code, AnyOf(kGoneExitCode, kFullExitCode)) << ingested.err;
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

// The log has room, the state has none. Another thread writes the state, and its failure ends the program in
// the same way.
TEST(ProgramDiskFull, AFailedStateWriteEndsTheProgramToo) {
  const testing::SmallDisk disk("400k");  // enough for five empty states and little more
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk (" << disk.why() << ")";
  const testing::TempDir dir;
  const testing::TempDir beside;
  const std::vector<testing::Event> events = testing::Traffic(33, 4000);
  const testing::ProgramWorld world(dir.path(), beside, events);
  std::filesystem::create_directories(world.data());
  std::filesystem::create_directory_symlink(disk.dir().path(), world.data() + "/state");
  Background program(dir.path(), world.run());
  ASSERT_TRUE(program.WaitFor("running")) << program.err();
  EXPECT_LE(world.Ingest().code, kFullExitCode);  // the log may have ingested everything before
  EXPECT_EQ(program.Wait(), kFullExitCode) << program.err();
  ExpectSaysWhatToDo(program.err(), world.data() + "/state");
  ASSERT_TRUE(disk.Grow("100m"));
  world.FinishAndExpectLikeTheOracle();
}

// Nothing fits, at the very first start.
TEST(ProgramDiskFull, AFirstStartWithoutRoomDoesNotBlockTheNext) {
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
