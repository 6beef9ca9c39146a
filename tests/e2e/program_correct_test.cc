// Reversals and repricings with the built program: its output, its records, and the effect of repeated commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
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

class Correcting : public ::testing::Test {
 protected:
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

  // A hand-written correction from one row of a plan, `more` micro-credits beyond it.
  void Forge(int id, const json& row, std::int64_t more, std::uint32_t version) {
    const json forged = {{"id", std::to_string(id)},
                         {"project", 1},
                         {"time", 1750000000},
                         {"repricing",
                          {{"result", row["result"]},
                           {"policyVersion", version},
                           {"reason", "by hand"},
                           {"creditMicro", std::to_string(row["after_micro"].get<std::int64_t>() + more)},
                           {"entry",
                            {{"user", row["user"]},
                             {"host", row["host"]},
                             {"team", row["team"]},
                             {"app", row["app"]},
                             {"creditMicro", std::to_string(row["before_micro"].get<std::int64_t>())}}}}}};
    const std::string file = std::to_string(id) + ".jsonl";
    std::ofstream(dir_ / file) << forged.dump() << "\n";
    Run({"ingest", file, "--data", "data"});
  }

  // The climate project's next policy version.
  void SayNextVersion() {
    // A quarter more for each step.
    std::ofstream(dir_ / "next.jsonl")
        << R"({"id":999999,"project":1,"time":1740000000,"app":{"app":1,"policy":"assigned","policy_version":2,)"
        << R"("delay_bound":34560000,"trickles":[{"variety":"orig","kind":"steps","measure":"steps",)"
        << R"("phases":[{"last_step":777600,"credit_per_step":0.25}]}]}})"
        << "\n";
    Run({"ingest", "next.jsonl", "--data", "data"});
  }
  static std::vector<std::string> By(const std::string& version) {
    return {"reprice", "--policy-version", version, "--app-version", "1", "--yes"};
  }

  testing::TempDir dir_;
};

class ProgramCorrect : public Correcting {
 protected:
  void SetUp() override {
    Run({"generate", "--quiet", "--results", "1500", "--hosts", "30", "--policy", "benchmark", "--late",
         "0.03", "events.jsonl"});
    Run({"ingest", "events.jsonl", "--data", "data"});
    std::ofstream(dir_ / "next.jsonl")
        << R"({"id":999999,"project":1,"time":1700000000,"app":{"app":1,"policy":"benchmark",)"
        << R"("policy_version":2,"constants":{"multiplier":0.5}}})"
        << "\n";
  }
};

TEST_F(ProgramCorrect, AWronglyReversedResultIsReinstatedOnce) {
  const std::string had = Total("host", 1);
  const std::string of_user = Total("user", 1);
  ASSERT_NE(had, "0.000000");
  EXPECT_THAT(Correct({"reinstate", "--host", "1", "--yes"}).out, HasSubstr("no corrections are needed"));
  Correct({"reverse", "--host", "1", "--yes"});
  EXPECT_EQ(Total("host", 1), "0.000000");
  const json reversed = Ask({"audit"});
  const Finished shown = Correct({"reinstate", "--host", "1"});
  EXPECT_THAT(shown.out, HasSubstr("corrections: reinstated"));
  EXPECT_THAT(shown.out, HasSubstr("nothing was written"));
  EXPECT_THAT(shown.out, HasSubstr(" " + had + " ")) << "the amount that the host gets back";
  EXPECT_EQ(Total("host", 1), "0.000000");

  const json plan = Ask({"reinstate", "--host", "1", "--reason", "the validator was wrong", "--yes"});
  EXPECT_GT(plan["sent"].get<std::uint64_t>(), 0u);
  EXPECT_EQ(Total("host", 1), had);
  EXPECT_EQ(Total("user", 1), of_user);
  EXPECT_THAT(Correct({"reinstate", "--host", "1", "--yes"}).out, HasSubstr("no corrections are needed"));
  EXPECT_EQ(Total("host", 1), had);
  ExpectSound(reversed["corrections"].get<std::uint64_t>() + plan["corrections"].size());

  const std::string result = plan["corrections"][0]["result"].dump();
  EXPECT_THAT(Run({"explain", result, "--data", "data"}).out,
              HasSubstr("(reason: the validator was wrong): 0.000000 became "));
  const json corrections = Ask({"explain", result})["corrections"];
  ASSERT_EQ(corrections.size(), 2u);
  EXPECT_EQ(corrections[1]["kind"], "reinstatement");
  EXPECT_EQ(corrections[1]["counts_again"], true);
  EXPECT_EQ(corrections[1]["after"], corrections[0]["before"]);
}

TEST_F(ProgramCorrect, AWronglyInvalidResultIsReinstatedOnce) {
  std::ofstream(dir_ / "invalid.jsonl")
      << R"({"id":1000001,"project":1,"time":1700000000,"completion":{"result":900001,"host":1,"workunit":900001,"app":1,)"
      << R"("app_version":1,"outcome":"OUTCOME_SUCCESS","sent_time":1699990000,"received_time":1700000000,)"
      << R"("elapsed_time":9000,"cpu_time":8640}})"
      << "\n"
      << R"({"id":1000002,"project":1,"time":1700000001,"validation":{"result":900001,"host":1,"workunit":900001,"app":1,)"
      << R"("fpops_est":1e12,"fpops_bound":1e15,"state":"VALIDATE_STATE_INVALID","pass":1}})"
      << "\n";
  Run({"ingest", "invalid.jsonl", "--data", "data"});
  const std::string had = Total("host", 1);
  const json judged = Ask({"explain", "900001"})["judged_invalid"];
  const std::string worth = judged["worth"];
  ASSERT_NE(worth, "0.000000");
  EXPECT_EQ(judged["claim"]["policy"], "benchmark");
  const std::vector<std::string> reinstate = {"reinstate", "--result", "900001"};
  EXPECT_THAT(Correct(reinstate).out, HasSubstr("1 of the corrections are for results judged invalid"));
  EXPECT_EQ(Total("host", 1), had);
  const json plan = Ask({"reinstate", "--result", "900001", "--reason", "the validator was wrong", "--yes"});
  EXPECT_EQ(plan["sent"], 1);
  EXPECT_EQ(plan["corrections"][0]["after"], worth);
  EXPECT_NE(Total("host", 1), had);
  ExpectSound(1);
  const std::string story = Run({"explain", "900001", "--data", "data"}).out;
  EXPECT_THAT(story, HasSubstr("(reason: the validator was wrong): 0.000000 became " + worth +
                               " Cobblestones (the result's own claim)"));
  EXPECT_THAT(story, HasSubstr("the validator judged the result invalid"));
  const std::string now = Total("host", 1);
  EXPECT_THAT(Correct({"reinstate", "--result", "900001", "--yes"}).out, HasSubstr("is already reinstated"));
  EXPECT_EQ(Total("host", 1), now);
  Correct({"reverse", "--result", "900001", "--yes"});
  EXPECT_EQ(Total("host", 1), had);
  ExpectSound(2);
}

// Twenty jobs of a year, in a project that pays trickles (README).
class ProgramCorrectYear : public Correcting {
 protected:
  void SetUp() override {
    const std::string make =
        "python3 '" COBBLESTONE_SOURCE_DIR "/examples/climate/project.py' '" + (dir_ / "year") + "'";
    ASSERT_EQ(std::system(make.c_str()), 0);
    Run({"ingest", "year/before.jsonl", "--data", "data"});
    Run({"ingest", "year/messages.xml", "--format", "trickle-xml", "--data", "data"}, 1);
    Run({"ingest", "year/after.jsonl", "--data", "data"});
    SayNextVersion();
  }
};

// The same jobs in the middle of the year.
TEST_F(Correcting, PaymentsOfRunningJobsAreReversed) {
  const std::string make =
      "python3 '" COBBLESTONE_SOURCE_DIR "/examples/climate/project.py' '" + (dir_ / "year") + "'";
  ASSERT_EQ(std::system(make.c_str()), 0);
  Run({"ingest", "year/before.jsonl", "--data", "data"});
  Run({"ingest", "year/messages.xml", "--format", "trickle-xml", "--data", "data"}, 1);
  const std::string paid = Total("user", 1);
  ASSERT_GT(std::stod(paid), 100'000);
  EXPECT_EQ(Ask({"account", "user", "1"})["provisional"], paid);
  const Finished shown = Correct({"reverse", "--host", "1"});
  EXPECT_THAT(shown.out, HasSubstr("1 of the corrections are for running jobs"));
  EXPECT_THAT(shown.out, HasSubstr("-" + paid));
  EXPECT_EQ(Total("user", 1), paid);

  EXPECT_THAT(Correct({"reverse", "--host", "1", "--yes"}).out, HasSubstr("1 events sent and processed"));
  EXPECT_EQ(Total("user", 1), "0.000000");
  EXPECT_EQ(Total("host", 1), "0.000000");
  EXPECT_EQ(Ask({"account", "user", "1"})["provisional"], "0.000000");
  EXPECT_THAT(Correct({"reverse", "--host", "1", "--yes"}).out, HasSubstr("no corrections are needed"));
  ExpectSound(1);
  EXPECT_THAT(Correct({"reprice", "--policy-version", "1", "--host", "2"}).out,
              HasSubstr("no corrections are needed"));

  Run({"ingest", "year/after.jsonl", "--data", "data"});
  EXPECT_NEAR(std::stod(Total("user", 1)), 160'000 - std::stod(paid), 1e-6);
  EXPECT_EQ(Ask({"account", "user", "1"})["provisional"], "0.000000");
  ExpectSound(1);
  EXPECT_THAT(
      Run({"explain", "1", "--data", "data"}).out,
      HasSubstr("reversed while running, for user 1 (reason: forged results): " + paid + " became 0.000000"));
  EXPECT_EQ(Ask({"explain", "1"})["corrections"][0]["up_to"], paid);
  Correct({"reverse", "--host", "1", "--yes"});
  EXPECT_EQ(Total("user", 1), "0.000000");
  ExpectSound(2);
}

// A quarter more for each step from the middle of the year on: in the end each job has the credit of a run with that
// price from the start.
TEST_F(Correcting, RunningJobsAreRepricedByTheVersion) {
  const std::string make =
      "python3 '" COBBLESTONE_SOURCE_DIR "/examples/climate/project.py' '" + (dir_ / "year") + "'";
  ASSERT_EQ(std::system(make.c_str()), 0);
  Run({"ingest", "year/before.jsonl", "--data", "data"});
  Run({"ingest", "year/messages.xml", "--format", "trickle-xml", "--data", "data"}, 1);
  SayNextVersion();
  const double paid = std::stod(Total("user", 1));
  const std::vector<std::string> all = {"reprice", "--policy-version", "2", "--app-version", "1"};
  std::vector<std::string> sent = all;
  sent.emplace_back("--yes");
  const Finished shown = Correct(all);
  EXPECT_THAT(shown.out,
              HasSubstr("20 of the corrections are for running jobs: past payments are repriced, and later "
                        "payments use this version"));
  EXPECT_THAT(shown.out, HasSubstr("nothing was written"));
  EXPECT_NEAR(std::stod(Total("user", 1)), paid, 1e-6);

  EXPECT_THAT(Correct(sent).out, HasSubstr("20 events sent and processed"));
  EXPECT_NEAR(std::stod(Total("user", 1)), paid * 1.25, 1e-6);
  EXPECT_EQ(Ask({"account", "user", "1"})["provisional"], Total("user", 1));
  EXPECT_THAT(Correct(sent).out, HasSubstr("no corrections are needed"));
  ExpectSound(20);

  Run({"ingest", "year/after.jsonl", "--data", "data"});
  EXPECT_EQ(Total("user", 1), "194400.000000");
  EXPECT_EQ(Total("host", 7), "81000.000000");
  EXPECT_EQ(Ask({"account", "user", "1"})["provisional"], "0.000000");
  EXPECT_THAT(Correct(sent).out, HasSubstr("no corrections are needed"));
  ExpectSound(20);
  EXPECT_THAT(Run({"explain", "1", "--data", "data"}).out,
              HasSubstr("repriced by version 2 while running, for user 1 (reason: forged results)"));
  EXPECT_EQ(Ask({"explain", "1"})["corrections"][0]["while_running"], true);
  Correct(By("1"));
  EXPECT_EQ(Total("user", 1), "160000.000000");
  EXPECT_EQ(Total("user", 7), "64800.000000");
  ExpectSound(40);
}

TEST_F(ProgramCorrectYear, TricklePaymentsAreRepricedOnceAndBack) {
  // Jobs 7 and 11 were paid by trickles only; the other jobs' grants were worth more than their trickles.
  const std::map<std::uint64_t, std::string> had = {
      {1, "160000.000000"}, {7, "64800.000000"}, {11, Total("user", 11)}};
  const Finished shown = Correct({"reprice", "--policy-version", "2", "--app-version", "1"});
  EXPECT_THAT(shown.out, HasSubstr("20 results, 20 corrections: repriced by version 2"));
  EXPECT_THAT(shown.out, HasSubstr("16200.000000"));
  EXPECT_THAT(shown.out, HasSubstr("nothing was written"));
  const json plan =
      Ask({"reprice", "--policy-version", "2", "--app-version", "1", "--reason", "a quarter more"});
  EXPECT_TRUE(plan["problems"].empty()) << plan["problems"];
  for (const auto& [user, total] : had) EXPECT_EQ(Total("user", user), total);

  Correct(By("2"));
  EXPECT_EQ(Total("user", 1), "194400.000000");
  EXPECT_EQ(Total("host", 7), "81000.000000");
  EXPECT_NEAR(std::stod(Total("user", 11)), 1.25 * std::stod(had.at(11)), 1e-6);
  EXPECT_THAT(Correct(By("2")).out, HasSubstr("no corrections are needed"));
  ExpectSound(20);
  EXPECT_THAT(Run({"explain", "7", "--data", "data"}).out, HasSubstr("(reason: forged results)"));
  EXPECT_EQ(Ask({"explain", "7"})["corrections"][0]["after"], "81000.000000");

  Correct(By("1"));
  for (const auto& [user, total] : had) {
    EXPECT_EQ(Total("user", user), total);
    EXPECT_EQ(Total("host", user), total);
  }
  ExpectSound(40);
}

TEST_F(ProgramCorrectYear, TheAuditFindsAPriceThatIsNotTheVersions) {
  const json plan =
      Ask({"reprice", "--policy-version", "2", "--app-version", "1", "--reason", "a quarter more"});
  Forge(4711, plan["corrections"][0], 0, 2);
  ExpectSound(1);
  Forge(4712, plan["corrections"][6], 1, 2);
  const Finished audit = Run({"audit", "--data", "data"}, 1);
  EXPECT_THAT(audit.out,
              HasSubstr("result 7 of project 1: correction 4712 gives 81000000001 micro-credits by "
                        "version 2, but that version gives 81000000000"));
  EXPECT_EQ(Ask({"audit"})["problem_count"], 1);
  // The next repricing corrects it.
  Correct(By("2"));
  EXPECT_EQ(Total("user", 7), "81000.000000");
  EXPECT_EQ(Ask({"audit"})["problem_count"], 1);
}

// The price of replicas and late results depends on other results' records.
TEST_F(ProgramCorrect, TheAuditReproducesThePriceOfEachGrant) {
  Run({"ingest", "next.jsonl", "--data", "data"});
  Forge(4711,
        Ask({"reprice", "--policy-version", "2", "--host", "1", "--reason",
             "forged results"})["corrections"][0],
        -5, 2);
  for (std::uint64_t host = 1; host <= 30; ++host)
    Correct({"reprice", "--policy-version", "2", "--host", std::to_string(host), "--yes"});
  const json audit = Ask({"audit"});
  EXPECT_GT(audit["late_grants"], 10);
  EXPECT_EQ(audit["corrections"], audit["grants"].get<int>() + 1);
  ASSERT_EQ(audit["problem_count"], 1) << audit.dump(1);
  EXPECT_THAT(audit["problems"][0].get<std::string>(), HasSubstr("correction 4711 gives"));
}

TEST_F(ProgramCorrect, ShowsAPlanThenReversesOnceAndExplains) {
  const std::string before = Total("host", 7);
  const Finished shown = Correct({"reverse", "--host", "7"});
  EXPECT_THAT(shown.out, HasSubstr("-" + before));
  EXPECT_THAT(shown.out, HasSubstr("nothing was written"));
  EXPECT_EQ(Total("host", 7), before);
  const json plan = Ask({"reverse", "--host", "7", "--reason", "forged results"});
  const auto corrections = plan["corrections"].size();
  ASSERT_GT(corrections, 20u);
  EXPECT_EQ(plan["losses"]["host"][0]["credit"], "-" + before);

  EXPECT_THAT(Correct({"reverse", "--host", "7", "--yes"}).out, HasSubstr("events sent and processed"));
  EXPECT_EQ(Total("host", 7), "0.000000");
  EXPECT_EQ(Ask({"account", "host", "7"})["grants"], 0);
  EXPECT_THAT(Correct({"reverse", "--host", "7", "--yes"}).out, HasSubstr("no corrections are needed"));
  ExpectSound(corrections);
  const std::string result = plan["corrections"][0]["result"].dump();
  EXPECT_THAT(Run({"explain", result, "--data", "data"}).out, HasSubstr("(reason: forged results)"));
  const json explained = Ask({"explain", result});
  EXPECT_EQ(explained["corrections"][0]["after"], "0.000000");
  EXPECT_EQ(explained["credit"], "0.000000");
}

TEST_F(ProgramCorrect, WorksThroughARunningProgramAndItsDeath) {
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
    EXPECT_NE(reprice.Wait(), 0);  // its events are durable, but it got no answer
  }
  Background program(dir_.path(), {"run", "--data", "data"});
  ASSERT_TRUE(program.WaitFor("running")) << program.err();
  Correct({"reprice", "--policy-version", "2", "--host", "8", "--yes"});
  EXPECT_THAT(Correct({"reprice", "--policy-version", "2", "--host", "8", "--yes"}).out,
              HasSubstr("no corrections are needed"));
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

// Only readers of the ledger know its records of a result: ACCOUNTS believes a correction's basis, the audit checks
// it.
TEST_F(ProgramCorrect, TheAuditFindsACorrectionWithAWrongBasis) {
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
  EXPECT_THAT(audit.out, HasSubstr("correction 4711 is based on"));
  // The next plan finds the remaining credit.
  const Finished stale = Correct({"reverse", "--host", "7", "--yes"});
  EXPECT_THAT(stale.out, HasSubstr("events sent and processed"));
  EXPECT_EQ(Total("host", 7), "0.000000");
}

TEST_F(ProgramCorrect, ImpossibleRequestsAreExplained) {
  EXPECT_THAT(Correct({"reverse"}, 2).err, HasSubstr("one of --result, --host, --workunit, --app-version"));
  EXPECT_THAT(Correct({"reverse", "--host", "7", "--workunit", "3"}, 2).err, HasSubstr("set exactly one of"));
  EXPECT_THAT(Correct({"reverse", "--host", "4711"}, 3).err, HasSubstr("the ledger has no matching credit"));
  EXPECT_THAT(Correct({"reprice", "--policy-version", "9", "--host", "7"}, 2).err,
              HasSubstr("never had policy version 9"));
  EXPECT_THAT(Correct({"reverse", "--host", "7", "--since", "4e9"}, 3).err, HasSubstr("no matching credit"));
}

}  // namespace
}  // namespace cobblestone
