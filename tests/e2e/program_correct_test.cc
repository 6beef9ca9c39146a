// The built program takes credit back and prices it anew: what it shows, what it writes, and what becomes of saying it twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "tests/e2e/program_process.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

using nlohmann::json;
using testing::AskProgram;
using testing::Background;
using testing::Finished;
using ::testing::HasSubstr;
using testing::RunProgram;

class ProgramCorrect : public ::testing::Test {
 protected:
  void SetUp() override {
    Run({"generate", "--quiet", "--results", "1500", "--hosts", "30", "--policy", "benchmark",
         "events.jsonl"});
    Run({"ingest", "events.jsonl", "--data", "data"});
    std::ofstream(dir_ / "next.jsonl")
        << R"({"id":999999,"project":1,"time":1700000000,"app":{"app":1,"policy":"benchmark",)"
        << R"("policy_version":2,"constants":{"multiplier":0.5}}})"
        << "\n";
  }
  Finished Run(const std::vector<std::string>& arguments, int code = 0) {
    Finished finished = RunProgram(dir_.path(), arguments);
    EXPECT_EQ(finished.code, code) << arguments.front() << ": " << finished.out << finished.err;
    return finished;
  }
  Finished Correct(std::vector<std::string> arguments, int code = 0) {
    arguments.insert(arguments.end(), {"--reason", "forged results", "--data", "data"});
    return Run(arguments, code);
  }
  json Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--data", "data"});
    return AskProgram(dir_.path(), arguments);
  }
  std::string Total(const std::string& kind, std::uint64_t id) {
    return Ask({"account", kind, std::to_string(id)})["total"];
  }
  void ExpectSound(std::uint64_t corrections) {
    const json audit = Ask({"audit"});
    EXPECT_EQ(audit["problem_count"], 0) << audit.dump(1);
    EXPECT_EQ(audit["corrections"], corrections);
  }

  testing::TempDir dir_;
};

TEST_F(ProgramCorrect, ShowsFirstThenTakesBackOnceAndExplains) {
  const std::string before = Total("host", 7);
  const Finished shown = Correct({"reverse", "--host", "7"});
  EXPECT_THAT(shown.out, HasSubstr("-" + before));
  EXPECT_THAT(shown.out, HasSubstr("nothing was written"));
  EXPECT_EQ(Total("host", 7), before);
  const json plan = Ask({"reverse", "--host", "7", "--reason", "forged results"});
  const auto corrections = plan["corrections"].size();
  ASSERT_GT(corrections, 20u);
  EXPECT_EQ(plan["losses"]["host"][0]["credit"], "-" + before);

  EXPECT_THAT(Correct({"reverse", "--host", "7", "--yes"}).out, HasSubstr("events sent, and applied"));
  EXPECT_EQ(Total("host", 7), "0.000000");
  EXPECT_EQ(Ask({"account", "host", "7"})["grants"], 0);
  EXPECT_THAT(Correct({"reverse", "--host", "7", "--yes"}).out, HasSubstr("nothing changes"));
  ExpectSound(corrections);
  const std::string result = plan["corrections"][0]["result"].dump();
  EXPECT_THAT(Run({"explain", result, "--data", "data"}).out, HasSubstr("because forged results"));
  const json explained = Ask({"explain", result});
  EXPECT_EQ(explained["corrections"][0]["after"], "0.000000");
  EXPECT_EQ(explained["credit"], "0.000000");
}

TEST_F(ProgramCorrect, GoesThroughTheProgramThatRunsAndOverItsDeath) {
  Run({"ingest", "next.jsonl", "--data", "data"});
  const json plan = Ask({"reprice", "--policy-version", "2", "--host", "8", "--reason", "forged results"});
  const auto corrections = plan["corrections"].size();
  ASSERT_GT(corrections, 20u);
  {
    Background program(dir_.path(), {"run", "--data", "data"}, "E4b:1");
    ASSERT_TRUE(program.WaitFor("running")) << program.err();
    Background reprice(dir_.path(), {"reprice", "--policy-version", "2", "--host", "8", "--yes", "--reason",
                                     "forged results", "--data", "data"});
    EXPECT_EQ(program.Wait(), 128 + SIGKILL) << program.err();
    EXPECT_NE(reprice.Wait(), 0);  // its events are durable, and nobody told it so
  }
  Background program(dir_.path(), {"run", "--data", "data"});
  ASSERT_TRUE(program.WaitFor("running")) << program.err();
  Correct({"reprice", "--policy-version", "2", "--host", "8", "--yes"});
  EXPECT_THAT(Correct({"reprice", "--policy-version", "2", "--host", "8", "--yes"}).out,
              HasSubstr("nothing changes"));
  ExpectSound(corrections);
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0) << program.err();
  double before = 0;
  double after = 0;
  for (const json& row : plan["corrections"]) {
    before += row["before_micro"].get<double>();
    after += row["after_micro"].get<double>();
  }
  EXPECT_NEAR(after, before / 2, static_cast<double>(corrections));
}

// What the ledger holds of a result, only those who read it know: ACCOUNTS believes them, and the audit does not.
TEST_F(ProgramCorrect, TheAuditFindsACorrectionThatRestsOnWhatNeverWas) {
  const json plan = Ask({"reverse", "--host", "7", "--reason", "forged results"});
  const json& row = plan["corrections"][0];
  const json forged = {{"id", "4711"},
                       {"project", 1},
                       {"time", 1700000000},
                       {"reversal",
                        {{"result", row["result"]},
                         {"reason", "more than there was"},
                         {"entry",
                          {{"user", row["user"]},
                           {"host", row["host"]},
                           {"team", row["team"]},
                           {"app", row["app"]},
                           {"creditMicro", std::to_string(row["before_micro"].get<std::int64_t>() + 1)},
                           {"counted", true}}}}}};
  std::ofstream(dir_ / "forged.jsonl") << forged.dump() << "\n";
  Run({"ingest", "forged.jsonl", "--data", "data"});
  const Finished audit = Run({"audit", "--data", "data"}, 1);
  EXPECT_THAT(audit.out, HasSubstr("correction 4711 rests on"));
  // The next look finds what it has left.
  const Finished stale = Correct({"reverse", "--host", "7", "--yes"});
  EXPECT_THAT(stale.out, HasSubstr("events sent, and applied"));
  EXPECT_EQ(Total("host", 7), "0.000000");
}

TEST_F(ProgramCorrect, WhatCannotBeDoneIsSaid) {
  EXPECT_THAT(Correct({"reverse"}, 2).err, HasSubstr("one of --result, --host, --workunit, --app-version"));
  EXPECT_THAT(Correct({"reverse", "--host", "7", "--workunit", "3"}, 2).err, HasSubstr("say of what"));
  EXPECT_THAT(Correct({"reverse", "--host", "4711"}, 3).err, HasSubstr("the ledger has no credit"));
  EXPECT_THAT(Correct({"reprice", "--policy-version", "9", "--host", "7"}, 2).err,
              HasSubstr("never had version 9 of a policy"));
  EXPECT_THAT(Correct({"reverse", "--host", "7", "--since", "4e9"}, 3).err, HasSubstr("no credit"));
}

}  // namespace
}  // namespace cobblestone
