// `lab run` through the program: table, JSON and page of a small laboratory, and its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/e2e/program_process.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunProgram;

constexpr const char* kAttacks = COBBLESTONE_SOURCE_DIR "/config/attacks/";

std::string ContentOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(ProgramLab, RecyclingPaysUnderSingleReplicationAndAnHonestAttackerGainsNothing) {
  testing::TempDir dir;
  std::ofstream(dir / "none.yaml") << "id: N\nname: none <b>\nshare: 0.05\n";
  const Finished run = RunProgram(
      dir.path(), {"lab", "run", "none.yaml", std::string(kAttacks) + "a10-recycle.yaml", "--policy", "boinc",
                   "--replication", "single,double", "--hosts", "20", "--jobs", "60", "--seeds", "2",
                   "--json", "lab.json", "--html", "lab.html", "--quiet"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("boinc, double replication, noisy sizes"));
  const auto json = nlohmann::json::parse(ContentOf(dir / "lab.json"));
  ASSERT_EQ(json["measurements"].size(), 4u);
  const auto gain = [&](int row) {
    return json["measurements"][row]["figures"]["gain"]["mean"].get<double>();
  };
  EXPECT_EQ(json["measurements"][0]["attack"], "N");
  EXPECT_EQ(json["measurements"][0]["figures"]["gain"]["seeds"].size(), 2u);
  // The attack-free twin is the same world, bit for bit.
  EXPECT_EQ(gain(0), 1);
  EXPECT_EQ(gain(2), 1);
  EXPECT_EQ(json["measurements"][0]["figures"]["collateral"]["greatest"], 0);
  // A new host has no scale: its claims are paid as they are.
  EXPECT_GT(gain(1), 2);
  EXPECT_LT(gain(3), gain(1));
  const std::string page = ContentOf(dir / "lab.html");
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("none &lt;b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
}

TEST(ProgramLab, RepeatedAndReplayedReportsEarnNothingUnderTheReplicationThatRobustAdvises) {
  testing::TempDir dir;
  const Finished run =
      RunProgram(dir.path(), {"lab", "run", std::string(kAttacks) + "a18-replay.yaml", "--policy", "robust",
                              "--replication", "advised", "--hosts", "20", "--jobs", "60", "--seeds", "2",
                              "--json", "lab.json", "--quiet"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("robust, advised replication, noisy sizes"));
  const auto json = nlohmann::json::parse(ContentOf(dir / "lab.json"));
  EXPECT_EQ(json["measurements"][0]["figures"]["gain"]["greatest"], 1);
  EXPECT_EQ(json["measurements"][0]["figures"]["income"]["greatest"], 1);
}

TEST(ProgramLab, TheNumberOfThreadsChangesNoFigure) {
  testing::TempDir dir;
  std::string reports[2];
  for (const int threads : {1, 3}) {
    const Finished run = RunProgram(
        dir.path(), {"lab", "run", std::string(kAttacks) + "a10-recycle.yaml",
                     std::string(kAttacks) + "a13-collusion.yaml", "--replication", "single,advised",
                     "--policy", "robust", "--hosts", "20", "--jobs", "40", "--seeds", "9", "--threads",
                     std::to_string(threads), "--json", "lab.json", "--quiet"});
    ASSERT_EQ(run.code, 0) << run.err;
    reports[threads / 3] = ContentOf(dir / "lab.json");
  }
  ASSERT_GT(reports[0].size(), 1000u);
  EXPECT_EQ(reports[0], reports[1]);
}

TEST(ProgramLab, ErrorsNameWhatIsWrong) {
  testing::TempDir dir;
  std::ofstream(dir / "bad.yaml") << "id: X\nname: x\nshare: lots\n";
  const Finished bad = RunProgram(dir.path(), {"lab", "run", "bad.yaml"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("bad.yaml:3:8: share: 'lots'"));
  const Finished absent = RunProgram(dir.path(), {"lab", "run", "absent.yaml"});
  EXPECT_EQ(absent.code, 3);
  const std::string good = std::string(kAttacks) + "a10-recycle.yaml";
  const Finished policy = RunProgram(dir.path(), {"lab", "run", good, "--policy", "best"});
  EXPECT_EQ(policy.code, 2);
  EXPECT_THAT(policy.err, HasSubstr("unknown policy 'best'"));
  const Finished sizes = RunProgram(dir.path(), {"lab", "run", good, "--sizes", "odd"});
  EXPECT_EQ(sizes.code, 2);
  EXPECT_THAT(sizes.err, HasSubstr("known are accurate, noisy, bimodal"));
}

}  // namespace
}  // namespace cobblestone
