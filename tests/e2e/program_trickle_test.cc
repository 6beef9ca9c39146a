// Trickle messages as BOINC's scheduler stores them, ingested by the built program: the example of a year-long job in
// docs/guides/long-jobs.md, and messages that cannot be used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/e2e/program_process.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using testing::AskProgram;
using testing::Background;
using testing::Finished;
using ::testing::HasSubstr;
using testing::RunProgram;

const std::string kConfig = std::string(COBBLESTONE_SOURCE_DIR) + "/examples/trickles.yaml";

// A project of one app, whose job 1 runs as "job_0" on host 5 of user 1, at 1 GFLOPS.
constexpr const char* kProject =
    R"({"id":1,"project":1,"time":1700000000,"app":{"app":1,"policy":"assigned","delay_bound":31536000,"trickles":[)"
    R"({"variety":"orig","kind":"steps","measure":"steps","phases":[{"last_step":1000,"credit_per_step":0.1}]},)"
    R"({"variety":"general","kind":"steps","measure":"steps","phases":[{"last_step":1000,"credit_per_step":0.1}]},)"
    R"({"variety":"cpu_time","kind":"elapsed","measure":"elapsed_time"},)"
    R"({"variety":"llr_progress","kind":"fraction","measure":"fraction_done"}]}})"
    "\n"
    R"({"id":2,"project":1,"time":1700000000,"app_version":{"app_version":1,"app":1,"version_num":1,"platform":1}})"
    "\n"
    R"({"id":3,"project":1,"time":1700000000,"user":{"user":1}})"
    "\n"
    R"({"id":4,"project":1,"time":1700000000,"host":{"host":5,"user":1,"whetstone":1e9,"cpus":1}})"
    "\n";

std::string Dispatch(int result) {
  return R"({"id":1)" + std::to_string(result) +
         R"(,"project":1,"time":1700000000,"dispatch":{"app":1,"host":5,"app_version":1,"peak_flops":1e9,)"
         R"("sent_time":1700000000,"fpops_est":4.32e12,"fpops_bound":4.32e15,"result":)" +
         std::to_string(result) + R"(,"workunit":)" + std::to_string(result) + R"(,"result_name":"job_)" +
         std::to_string(result) + "\"}}\n";
}

std::string Message(int id, const std::string& variety, const std::string& body, int host = 5) {
  return "<msg_from_host id=\"" + std::to_string(id) + "\" create_time=\"" + std::to_string(1701000000 + id) +
         "\" hostid=\"" + std::to_string(host) + "\" variety=\"" + variety + "\">\n" + body +
         "\n</msg_from_host>\n";
}
std::string From(int result, const std::string& body) {
  return "      <result_name>job_" + std::to_string(result) +
         "</result_name>\n      <time>1700990000</time>\n" + body;
}

class ProgramTrickle : public ::testing::Test {
 protected:
  Finished Run(const std::vector<std::string>& arguments) { return RunProgram(dir_.path(), arguments); }
  Finished Ingest(const std::string& file, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"ingest", file, "--data", "data", "--format", "trickle-xml"});
    return Run(more);
  }
  json Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--data", "data"});
    return AskProgram(dir_.path(), arguments);
  }
  std::string Total(const std::string& user = "1") { return Ask({"account", "user", user})["total"]; }
  void Write(const std::string& file, const std::string& text) {
    std::ofstream(dir_ / file, std::ios::binary | std::ios::trunc) << text;
  }
  void Project(int jobs) {
    std::string text = kProject;
    for (int result = 1; result <= jobs; ++result) text += Dispatch(result);
    Write("project.jsonl", text);
    const Finished ingested = Run({"ingest", "project.jsonl", "--data", "data"});
    ASSERT_EQ(ingested.code, 0) << ingested.out << ingested.err;
  }

  testing::TempDir dir_;
};

TEST_F(ProgramTrickle, MessagesArePaidByTheDocumentedVarieties) {
  Project(4);
  Write("messages.xml",
        "<?xml version=\"1.0\"?>\n" +
            Message(1, "orig",
                    From(1,
                         "<wu>job</wu>\n<result>job_r17</result>\n<ph>1</ph>\n<ts>400</ts>\n<cp>19000</cp>\n"
                         "<vr>6.08</vr>\n<data>287.31</data>")) +
            Message(2, "general",
                    From(2, "<ph></ph>\n<ts>250</ts>\n<cp>48377.25</cp>\n<vr/>\n<data>1,2</data>")) +
            Message(3, "cpu_time", From(3, "<cpu_time>43200.000000</cpu_time>")) +
            Message(
                4, "llr_progress",
                From(4,
                     "<trickle_up>\n<progress>0.25</progress>\n<cputime>9</cputime>\n<runtime>10</runtime>\n"
                     "</trickle_up>")) +
            Message(5, "status", From(4, "<battery>80</battery>")));
  Write(
      "formats.yaml",
      "varieties:\n  orig: {}\n  general: {app: 1}\n  cpu_time:\n    elements: {cpu_time: elapsed_time}\n"
      "  llr_progress:\n    elements: {progress: fraction_done, runtime: elapsed_time}\nignore: [status]\n");
  const Finished ingested = Ingest("messages.xml", {"--trickle-format", "formats.yaml"});
  EXPECT_EQ(ingested.code, 0) << ingested.out << ingested.err;
  EXPECT_THAT(ingested.out, HasSubstr("4 events ingested"));
  EXPECT_EQ(Ask({"explain", "1"})["credit"], "40.000000") << "400 steps";
  EXPECT_EQ(Ask({"explain", "2"})["credit"], "25.000000") << "250 steps";
  EXPECT_EQ(Ask({"explain", "3"})["credit"], "100.000000") << "half a day at 1 GFLOPS";
  EXPECT_EQ(Ask({"explain", "4"})["credit"], "2.500000")
      << "a quarter of 4.32e12 operations: 10 Cobblestones";
  EXPECT_EQ(Total(), "167.500000");
  const Finished shipped = Ingest("messages.xml", {"--trickle-format", kConfig, "--source", "shipped"});
  EXPECT_THAT(shipped.out, HasSubstr("message 2: " + kConfig + " does not define variety 'general'"));
  EXPECT_EQ(Total(), "167.500000") << "sent again from another source: repeats";
  EXPECT_EQ(Run({"audit", "--data", "data"}).code, 0);
}

TEST_F(ProgramTrickle, ABrokenMessageIsReportedByLineAndStopsNoOther) {
  Project(1);
  Write("messages.xml",
        Message(1, "orig", From(1, "<ts>100</ts>")) + Message(2, "orig", From(1, "<ts>200")) +
            Message(3, "orig", "<ts>300</ts>") + Message(4, "orig", From(1, "<run_time>5</run_time>")) +
            Message(5, "weather", From(1, "<ts>500</ts>")) + Message(6, "orig", From(1, "<ts>600</ts>")));
  const Finished ingested = Ingest("messages.xml");
  EXPECT_EQ(ingested.code, 1);
  EXPECT_THAT(
      ingested.out,
      AllOf(HasSubstr("line 6: messages.xml, line 6, message 2, line 4: not well-formed XML"),
            HasSubstr("message 3: the message has no result"),
            HasSubstr(
                "message 4: the message has <run_time>, but the format of variety 'orig' does not define"),
            HasSubstr("line 19: ")))
      << "the app has no rule for the fifth message, so the stage refuses it";
  EXPECT_EQ(Total(), "60.000000");
  const json refused = Ask({"refused", "list"});
  EXPECT_EQ(refused["all"], 4) << refused.dump(1);
}

TEST_F(ProgramTrickle, AnUnreadableRowEndsTheReadingAfterTheGoodRows) {
  Project(1);
  Write("messages.xml", Message(1, "orig", From(1, "<ts>100</ts>")) + "<ts>200</ts>\n");
  const Finished cut = Ingest("messages.xml");
  EXPECT_EQ(cut.code, 2);
  EXPECT_THAT(cut.err,
              HasSubstr("messages.xml, line 6: a message must start with a line like <msg_from_host"));
  EXPECT_EQ(Total(), "10.000000") << "rows before the bad one are ingested and paid";
  Write("messages.xml",
        Message(1, "orig", From(1, "<ts>100</ts>")) + Message(2, "orig", From(1, "<ts>200</ts>")));
  const Finished whole = Ingest("messages.xml", {"--json"});
  ASSERT_EQ(whole.code, 0) << "the corrected file continues";
  EXPECT_EQ(json::parse(whole.out)["events"], 1) << "rows before the bad one were already ingested";
  EXPECT_EQ(Total(), "20.000000");
}

TEST_F(ProgramTrickle, OnlyNewRowsOfARewrittenTableAreIngested) {
  Project(1);
  const auto row = [](int id, int handled, int steps) {
    return std::to_string(id) + "\t1701000000\t5\torig\t" + std::to_string(handled) +
           "\t<result_name>job_1</result_name>\\n<ts>" + std::to_string(steps) + "</ts>\\n\n";
  };
  const std::string head = "id\tcreate_time\thostid\tvariety\thandled\txml\n";
  Write("rows.tsv", head + row(1, 0, 100));
  ASSERT_EQ(Ingest("rows.tsv").code, 0);
  Write("rows.tsv", head + row(1, 1, 100) + row(2, 0, 300));
  const Finished grown = Ingest("rows.tsv", {"--json"});
  ASSERT_EQ(grown.code, 0) << grown.out << grown.err;
  EXPECT_EQ(json::parse(grown.out)["events"], 1)
      << "only BOINC's `handled` has changed, which is not part of the message";
  EXPECT_EQ(Total(), "30.000000");
  Write("rows.tsv", head + row(1, 1, 900));
  const Finished changed = Ingest("rows.tsv");
  EXPECT_EQ(changed.code, 0) << "the file is shorter, so nothing of it is new";
  EXPECT_EQ(Total(), "30.000000");
}

TEST_F(ProgramTrickle, AFolderIsReadInTheOrderOfItsNamesWhileTheProgramRuns) {
  Project(1);
  std::filesystem::create_directory(dir_ / "messages");
  Write("messages/2.xml", Message(2, "orig", From(1, "<ts>200</ts>")));
  Write("messages/1.xml", Message(1, "orig", From(1, "<ts>100</ts>")));
  Background run(dir_.path(), {"run", "--data", "data"});
  ASSERT_TRUE(run.WaitFor("socket=")) << run.err();
  const Finished first = Ingest("messages/");
  EXPECT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_THAT(first.out, HasSubstr("messages (trickle messages): 2 events"));
  Write("messages/3.xml", Message(3, "orig", "<ts>"));
  Write("messages/4.xml", Message(4, "orig", From(1, "<ts>400</ts>")));
  const Finished grown = Ingest("messages/");
  EXPECT_EQ(grown.code, 1);
  EXPECT_THAT(grown.out, AllOf(HasSubstr("1 events ingested"),
                               HasSubstr("messages/3.xml, line 1, message 3, line 2: not well-formed XML")));
  EXPECT_EQ(Total(), "40.000000");
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 0);
}

TEST_F(ProgramTrickle, OnlyNewRowsOfARewrittenDumpAreIngested) {
  Project(1);
  const auto row = [](int id, int handled, int steps) {
    return "(" + std::to_string(id) + ",1701000000,5,'orig'," + std::to_string(handled) +
           ",'<result_name>job_1</result_name>\\n<ts>" + std::to_string(steps) + "</ts>\\n')";
  };
  const std::string before =
      "-- A dump\nINSERT INTO `result` VALUES (1,'job_1');\nINSERT INTO `msg_from_host` VALUES ";
  Write("dump.sql", before + row(1, 0, 100) + ";\n");
  ASSERT_EQ(Ingest("dump.sql").code, 0);
  EXPECT_EQ(Total(), "10.000000");
  // In the existing line, and compressed.
  Write("dump.sql", before + row(1, 1, 100) + "," + row(2, 0, 300) + "," + row(3, 0, 2000) + ";\n");
  ASSERT_EQ(std::system(("gzip '" + (dir_ / "dump.sql") + "'").c_str()), 0);
  const Finished grown = Ingest("dump.sql.gz", {"--source", "dump.sql", "--json"});
  ASSERT_EQ(grown.code, 0) << grown.out << grown.err;
  EXPECT_EQ(json::parse(grown.out)["events"], 2);
  EXPECT_EQ(Total(), "100.000000") << "at most 1,000 steps";
  Write("cut.sql", before + row(4, 0, 100));
  const Finished cut = Ingest("cut.sql");
  EXPECT_EQ(cut.code, 2);
  EXPECT_THAT(cut.err, HasSubstr("cut.sql, line 3: the statement that starts here has no end"));
  Write("other.sql", "INSERT INTO `result` VALUES (1,'job_1');\n");
  EXPECT_THAT(Ingest("other.sql").err,
              HasSubstr("other.sql: no table msg_from_host in this dump, but result"));
}

TEST_F(ProgramTrickle, BodyFilesBelongToTheHostsInTheirNames) {
  Project(1);
  std::filesystem::create_directory(dir_ / "bodies");
  Write("bodies/5_1701000002.xml", From(1, "<ts>200</ts>"));
  Write("bodies/5_1701000001.xml", From(1, "<ts>100</ts>"));
  const std::vector<std::string> options = {"--variety", "orig", "--file-name", "{host}_{received}.xml"};
  const Finished first = Ingest("bodies", options);
  EXPECT_EQ(first.code, 0) << first.out << first.err;
  const json story = Ask({"explain", "1"});
  EXPECT_EQ(story["partials"].size(), 2U) << story.dump(1) << "in order of arrival";
  EXPECT_EQ(Total(), "20.000000");
  // The new file's name sorts before the existing ones; the name of the other file is no message's.
  Write("bodies/11_1701000003.xml", From(1, "<ts>300</ts>"));
  Write("bodies/readme.txt", "<ts>900</ts>");
  Write("bodies/5_1701000004.xml", From(1, "<ts>400</ts>"));
  const Finished grown = Ingest("bodies", options);
  EXPECT_EQ(grown.code, 1);
  EXPECT_THAT(
      grown.out,
      AllOf(HasSubstr("2 events ingested"),
            HasSubstr("bodies/readme.txt, line 1: the file name does not match {host}_{received}.xml")));
  EXPECT_EQ(Total(), "40.000000") << "host 11 was not sent the job";
  Write("one.xml", From(1, "<variety>orig</variety><ts>500</ts>"));
  EXPECT_THAT(Ingest("one.xml").err, HasSubstr("one.xml, line 1: a body without the line <msg_from_host"));
  ASSERT_EQ(Ingest("one.xml", {"--host", "5", "--received", "1701000009"}).code, 0);
  EXPECT_EQ(Total(), "50.000000");
  EXPECT_THAT(Run({"ingest", "one.xml", "--host", "5", "--data", "data"}).err,
              HasSubstr("--host, --received, --variety and --file-name require --format trickle-xml"));
  EXPECT_THAT(Ingest("one.xml", {"--file-name", "{"}).err,
              HasSubstr("--file-name '{': the names in braces must be"));
}

TEST_F(ProgramTrickle, AWrongFormatIsReportedByLineBeforeTheIngest) {
  Write("formats.yaml", "varieties:\n  orig:\n    app: x\n    elements: {ts: stepz}\n  orig: {}\nother: 1\n");
  Write("messages.xml", "");
  const Finished wrong = Ingest("messages.xml", {"--trickle-format", "formats.yaml"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err,
              AllOf(HasSubstr("formats.yaml:3:10: an app must be a number"),
                    HasSubstr("formats.yaml:4:20: 'ts' is mapped to 'stepz'; an element can be cpu_time, "),
                    HasSubstr("formats.yaml:5:3: 'orig' occurs twice"),
                    HasSubstr("formats.yaml:6:1: unknown key 'other'")));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "data"));
  EXPECT_THAT(Ingest("nothing.xml").err, HasSubstr("nothing.xml: no such file or directory"));
  EXPECT_THAT(Run({"ingest", "messages.xml", "--trickle-format", "formats.yaml"}).err,
              HasSubstr("--trickle-format requires --format trickle-xml"));
}

// README's commands for a year-long job, with the printed numbers.
TEST_F(ProgramTrickle, AYearLongJobGrowsFromDayToDayAndIsSettledAtItsEnd) {
  const std::string make =
      "python3 '" COBBLESTONE_SOURCE_DIR "/examples/climate/project.py' '" + (dir_ / "year") + "'";
  ASSERT_EQ(std::system(make.c_str()), 0);
  ASSERT_EQ(Run({"ingest", "year/before.jsonl", "--data", "data"}).code, 0);
  const Finished ingested = Ingest("year/messages.xml");
  EXPECT_EQ(ingested.code, 1);
  EXPECT_THAT(ingested.out,
              AllOf(HasSubstr("1,219 events ingested"), HasSubstr("1 events were refused: UNKNOWN_RESULT 1")))
      << "a message of another host about the job";
  const json running = Ask({"account", "user", "1"});
  EXPECT_EQ(running["total"], "155520.000000");
  EXPECT_EQ(running["provisional"], "155520.000000");
  EXPECT_EQ(running["days"].size(), 67u) << "72 messages, six of them on one day";
  EXPECT_THAT(Run({"explain", "1", "--data", "data"}).out,
              AllOf(HasSubstr("trickle payments  155520.000000 for 72 trickles, nothing for 1"),
                    HasSubstr("216,000  205,200     216,000"), HasSubstr("below the high-water mark"),
                    HasSubstr("The job is still running")));
  EXPECT_THAT(Ingest("year/messages.xml").out, HasSubstr("no new lines"));

  ASSERT_EQ(Run({"ingest", "year/after.jsonl", "--data", "data"}).code, 0);
  const Finished story = Run({"explain", "1", "--data", "data"});
  EXPECT_THAT(story.out,
              AllOf(HasSubstr("total             160000.000000 Cobblestones"),
                    HasSubstr("766,800  777,600     777,600  155,520  153360.000000  2160.000000"),
                    HasSubstr("grant: worth 160,000 Cobblestones, minus earlier payments: 4480.000000")));
  EXPECT_EQ(Total(), "160000.000000");
  EXPECT_EQ(Ask({"account", "user", "1"})["provisional"], "0.000000");
  EXPECT_THAT(Run({"explain", "7", "--data", "data"}).out, HasSubstr("64800.000000 final, no reversal"));
  // Jobs that were paid by trickles only are counted, too.
  EXPECT_THAT(Run({"reverse", "--app-version", "1", "--reason", "forged", "--data", "data"}).out,
              HasSubstr("-2700819.000000"));
  EXPECT_EQ(Run({"audit", "--data", "data"}).code, 0);
}

TEST_F(ProgramTrickle, ReplayCountsTricklePaymentsUnderGivenRules) {
  const std::string make =
      "python3 '" COBBLESTONE_SOURCE_DIR "/examples/climate/project.py' '" + (dir_ / "year") + "'";
  ASSERT_EQ(std::system(make.c_str()), 0);
  std::map<std::string, std::string> credit;
  for (const auto& [rules, parts] : {std::pair{"by_time", "1"}, std::pair{"by_day", "3"}}) {
    const json all = AskProgram(
        dir_.path(), {"replay", "year/all.jsonl", "--compare-apps", std::string("year/") + rules + ".jsonl",
                      "--partitions", parts, "--grants-out", std::string(parts) + ".jsonl", "--tick-period",
                      "86400", "--json"});
    EXPECT_EQ(all["first"]["credit"], "2700819.000000");
    EXPECT_EQ(all["first"]["partial_credit"], "2630880.000000");
    EXPECT_EQ(all["first"]["partial_grants"], 1218);
    EXPECT_EQ(all["first"]["grants"], 18);
    EXPECT_EQ(all["first"]["reversals"], 2);
    credit[rules] = all["second"]["credit"];
  }
  EXPECT_EQ(credit["by_time"], "3298720.000001");
  EXPECT_EQ(credit["by_day"], "3137750.000000");
  // The rows equal the total, for any number of partitions.
  std::map<std::string, long long> micro;
  std::string texts[2];
  for (const int k : {0, 1}) {
    std::ifstream in(dir_ / (k == 0 ? "1.jsonl" : "3.jsonl"));
    for (std::string line; std::getline(in, line);) {
      texts[k] += line + "\n";
      const json row = json::parse(line);
      if (k == 0) micro[row.value("kind", "final")] += row["credit_micro"].get<long long>();
    }
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(micro["partial"], 2630880000000);
  EXPECT_EQ(micro["partial"] + micro["final"] + micro["reversal"], 2700819000000);
  Write("no_app.jsonl", R"({"id":1,"project":1,"time":1,"user":{"user":1}})");
  EXPECT_THAT(Run({"replay", "year/all.jsonl", "--apps", "no_app.jsonl"}).err,
              HasSubstr("no_app.jsonl, line 1: is not an app event"));
}

}  // namespace
}  // namespace cobblestone
