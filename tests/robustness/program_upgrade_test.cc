// One machine is upgraded to a program with new rules and, by mistake, downgraded. The old program does not
// touch commits of the new program, and reports that. Nothing is lost or duplicated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "services/pipeline/rules_version.h"
#include "tests/robustness/program_world.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using pipeline::kRulesVersion;

namespace {

using testing::Background;
using ::testing::HasSubstr;
using testing::UseProgram;

constexpr int kStoppedExitCode = 70;  // docs/guides/command-line.md
// The test is linked with next_rules_version.cc.
const std::string kNeeds = "needs rules version " + std::to_string(kRulesVersion) +
                           ", but this program has " + std::to_string(kRulesVersion - 1);

class ProgramUpgrade : public ::testing::Test {
 protected:
  ~ProgramUpgrade() override { UseProgram(nullptr); }

  // Ingests events until the program kills itself at the failpoint.
  void KilledAt(const std::string& failpoint) {
    Background program(dir_.path(), world_.run(), failpoint);
    if (program.WaitFor("running")) {  // else the rest of the previous run was enough to reach the failpoint
      (void)world_.Ingest();
      program.Signal(SIGTERM);  // ends the program if the failpoint was not reached
    }
    ASSERT_EQ(program.Wait(), 128 + SIGKILL) << program.err();
  }
  void ExpectRefuses(const std::string& says) {
    Background program(dir_.path(), world_.run());
    if (program.WaitFor("running")) program.Signal(SIGKILL);
    EXPECT_EQ(program.Wait(), kStoppedExitCode) << program.err();
    EXPECT_THAT(program.err(), HasSubstr(says));
  }

  testing::TempDir dir_;
  testing::TempDir beside_;
  std::vector<testing::Event> events_ = testing::Traffic(34, 12000);
  testing::ProgramWorld world_{dir_.path(), beside_, events_};
};

TEST_F(ProgramUpgrade, AnOldProgramDoesNotExecuteCommitsOfANewOne) {
  ASSERT_NO_FATAL_FAILURE(KilledAt("E4:5"));
  UseProgram(COBBLESTONE_NEXT_PROGRAM);
  ASSERT_NO_FATAL_FAILURE(KilledAt("E4:3"));  // committed, but no state is written yet
  UseProgram(nullptr);
  ExpectRefuses(kNeeds);
  UseProgram(COBBLESTONE_NEXT_PROGRAM);
  world_.FinishAndExpectLikeTheOracle();
}

TEST_F(ProgramUpgrade, AnOldProgramDoesNotReadTheStateOfANewOne) {
  UseProgram(COBBLESTONE_NEXT_PROGRAM);
  world_.FinishAndExpectLikeTheOracle();
  UseProgram(nullptr);
  ExpectRefuses(kNeeds);
}

}  // namespace
}  // namespace cobblestone
