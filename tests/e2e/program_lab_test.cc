// `lab run` through the program: table, JSON and page of a small laboratory, and its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

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

// Two hosts that lose many jobs do not vouch for each other. What they are granted follows from the ledger.
TEST(ProgramRobust, TheLedgerHasTheReliabilityOfHostsThatAllFailOften) {
  testing::TempDir dir;
  const auto run = [&](std::vector<std::string> arguments) {
    const Finished finished = RunProgram(dir.path(), std::move(arguments));
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished.out;
  };
  run({"fleet", "run", "--hosts", "30", "--days", "4", "--like", "seti", "--projects", "1", "--policy",
       "robust", "--set", "error_rate=0.3", "--out", "events.pb", "--quiet"});
  run({"ingest", "events.pb", "--lockstep", "--data", "data"});
  EXPECT_EQ(nlohmann::json::parse(run({"audit", "--data", "data", "--json"}))["problem_count"], 0);
  run({"replay", "events.pb", "--grants-out", "grants.jsonl"});

  const auto marked = [](const nlohmann::json& claim, const char* flag) {
    return std::ranges::find(claim["flags"], flag) != claim["flags"].end();
  };
  const auto vouches = [&](const nlohmann::json& claim) {
    return claim["reliability"] >= (marked(claim, "rough_average") ? 0.9 : 0.3);
  };
  const auto measured = [&](const nlohmann::json& claim) {
    return marked(claim, "host_scale_applied") || marked(claim, "version_scale_applied");
  };
  std::map<std::uint64_t, std::vector<nlohmann::json>> workunits;
  std::ifstream rows(dir / "grants.jsonl");
  for (std::string line; std::getline(rows, line);) {
    const auto row = nlohmann::json::parse(line);
    if (row.contains("claimed")) workunits[row["workunit"].get<std::uint64_t>()].push_back(row);
  }
  int lowered = 0;
  for (const auto& [number, results] : workunits) {
    if (lowered == 3) break;
    if (results.size() != 2) continue;
    const double a = results[0]["claimed"];
    const double b = results[1]["claimed"];
    const double credit = results[0]["credit"];
    // Both claims count, and not in full.
    if (std::max(a, b) > 1.3 * std::min(a, b) || credit == 0 || credit >= 0.84 * std::min(a, b)) continue;
    const std::string result = std::to_string(results[0]["result"].get<std::uint64_t>());
    const auto answer = nlohmann::json::parse(run({"explain", result, "--data", "data", "--json"}));
    const nlohmann::json& grant = answer["grants"][0];
    const nlohmann::json& own = grant["claim"];
    const nlohmann::json& other = grant["other_claims"].at(0);
    // Of hosts without averages at most the default is granted.
    if (marked(own, "uncalibrated") && marked(other, "uncalibrated")) continue;
    if (!measured(own) || !measured(other)) continue;
    ++lowered;
    EXPECT_FALSE(vouches(own) || vouches(other)) << answer;
    const double together = own["reliability"].get<double>() * other["reliability"].get<double>();
    // The claim of a host that fails often does not raise that of one that does not.
    const nlohmann::json& higher = own["claimed"] > other["claimed"] ? own : other;
    const nlohmann::json& lower = own["claimed"] > other["claimed"] ? other : own;
    const bool one = marked(higher, "unreliable") && !marked(lower, "unreliable");
    EXPECT_NEAR(credit, together * together * (one ? std::min(a, b) : 2 * a * b / (a + b)), 1e-9 * a)
        << answer;
  }
  EXPECT_EQ(lowered, 3);
}

// ---- The world of a project's own records ----------------------------------------------------------------------

class ProgramLabLedger : public ::testing::Test {
 protected:
  Finished Run(std::vector<std::string> arguments) { return RunProgram(dir_.path(), std::move(arguments)); }
  // `lab run` with attack A10, small and without progress.
  Finished Lab(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "lab", "run", std::string(kAttacks) + "a10-recycle.yaml", "--hosts", "20", "--seeds", "1", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(std::move(arguments));
  }

  testing::TempDir dir_;
};

TEST_F(ProgramLabLedger, AttacksTheProjectsOwnWorldFromItsDataDirectoryOrItsEvents) {
  ASSERT_EQ(Run({"fleet", "run", "--hosts", "80", "--days", "8", "--like", "seti", "--projects", "1",
                 "--policy", "boinc", "--out", "events.pb", "--quiet"})
                .code,
            0);
  ASSERT_EQ(Run({"ingest", "events.pb", "--data", "data"}).code, 0);
  const Finished several = Lab({"--from-ledger", "data"});
  EXPECT_EQ(several.code, 2);
  EXPECT_THAT(several.err,
              ::testing::ContainsRegex("several apps: 1 multibeam .*, 2 astropulse .*choose one with --app"));

  nlohmann::json fits[2];
  for (const std::string place : {"data", "events.pb"}) {
    const Finished run = Lab({"--from-ledger", place, "--app", "1", "--jobs", "40", "--json", "lab.json"});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("world of app 1 multibeam: "));
    EXPECT_THAT(run.out, HasSubstr("40 results of each attacker count"));
    EXPECT_THAT(run.out, HasSubstr("boinc, double replication, measured sizes\n"));
    EXPECT_THAT(run.out, HasSubstr("robust, double replication, measured sizes: "));
    const auto json = nlohmann::json::parse(ContentOf(dir_ / "lab.json"));
    EXPECT_EQ(json["measurements"].size(), 2u);
    fits[place == "data" ? 0 : 1] = json["ledger"];
  }
  // The ledger and the events tell the same: from the same results, but for rounding in sums of another order.
  ASSERT_EQ(fits[0]["figures"].size(), fits[1]["figures"].size());
  EXPECT_GE(fits[0]["figures"].size(), 25u);
  EXPECT_EQ(fits[0]["results"], fits[1]["results"]);
  for (std::size_t i = 0; i < fits[0]["figures"].size(); ++i) {
    const nlohmann::json& ledger = fits[0]["figures"][i];
    const nlohmann::json& events = fits[1]["figures"][i];
    EXPECT_EQ(ledger["name"], events["name"]);
    EXPECT_EQ(ledger["results"], events["results"]) << ledger["name"];
    EXPECT_NEAR(ledger["value"].get<double>() / std::max(1e-300, events["value"].get<double>()),
                events["value"] == 0 ? 0 : 1, 0.01)
        << ledger["name"];
  }
}

TEST_F(ProgramLabLedger, AnErrorSaysWhatIsMissing) {
  ASSERT_EQ(Run({"fleet", "run", "--hosts", "60", "--days", "3", "--like", "seti", "--projects", "1", "--set",
                 "bound_factor=24", "--policy", "boinc", "--out", "first.jsonl", "--quiet"})
                .code,
            0);
  // From the second day on the app has another policy.
  ASSERT_EQ(Run({"generate", "--results", "30", "--hosts", "10", "few.jsonl"}).code, 0);
  std::ofstream(dir_ / "both.jsonl")
      << ContentOf(dir_ / "first.jsonl")
      << R"({"id":"2","project":1,"time":1700300000,"app":{"app":"1","policy":"creditnew"}})"
      << "\n";
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--from-ledger", "nowhere"}, "nowhere"},
      {{"--from-ledger", "few.jsonl"}, "too few results for a fit"},
      {{"--from-ledger", "first.jsonl", "--app", "7"}, "no valid results of app 7"},
      {{"--from-ledger", "first.jsonl", "--project", "4"}, "no events of project 4"},
      {{"--from-ledger", "first.jsonl", "--world", "mixed"}, "--world"},
  };
  for (const auto& [arguments, message] : cases) {
    const Finished run = Lab(arguments);
    EXPECT_NE(run.code, 0) << message;
    EXPECT_THAT(run.err, HasSubstr(message));
  }
  ASSERT_EQ(Run({"ingest", "both.jsonl", "--data", "both"}).code, 0);
  for (const std::string place : {"both.jsonl", "both"}) {
    const Finished mixed = Lab({"--from-ledger", place, "--app", "1"});
    EXPECT_EQ(mixed.code, 2) << place;
    EXPECT_THAT(mixed.err,
                HasSubstr("app 1 has had several policies: boinc, creditnew; name those to compare"));
  }
}

}  // namespace
}  // namespace cobblestone
