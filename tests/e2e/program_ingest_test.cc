// The built program ingests files: repeated, grown, changed, bad, refused; and answers in words and as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

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

class ProgramIngest : public ::testing::Test {
 protected:
  Finished Run(const std::vector<std::string>& arguments, const std::string& input = "") {
    return RunProgram(dir_.path(), arguments, input);
  }
  json Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--data", "data"});
    return AskProgram(dir_.path(), arguments);
  }
  // Without bad input; the policy's amounts do not depend on the order of processing.
  void Generate(const std::string& file, int results = 400) {
    const Finished made = Run({"generate", file, "--results", std::to_string(results), "--hosts", "20",
                               "--seed", "3", "--policy", "runtime", "--out-of-order", "0.05"});
    ASSERT_EQ(made.code, 0) << made.err;
  }
  std::string Read(const std::string& file) {
    std::ifstream in(dir_ / file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void Write(const std::string& file, const std::string& text) {
    std::ofstream(dir_ / file, std::ios::binary | std::ios::trunc) << text;
  }
  std::uint64_t Grants() { return Ask({"tasks"}).value("grants", std::uint64_t{0}); }

  testing::TempDir dir_;
};

// The events that README shows, with its questions.
TEST_F(ProgramIngest, AProjectInFiveMinutesMatchesReadme) {
  std::ifstream readme(COBBLESTONE_SOURCE_DIR "/README.md");
  std::string events;
  bool here = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("## ")) here = line == "## Your own project in five minutes";
    if (here && line.starts_with("    {")) events += line.substr(4) + "\n";
  }
  Write("events.jsonl", events);
  const Finished ingested = Run({"ingest", "events.jsonl", "--data", "data"});
  EXPECT_EQ(ingested.code, 0) << ingested.out << ingested.err;
  EXPECT_EQ(Ask({"account", "user", "42"})["total"], "33.333333");
  EXPECT_THAT(Run({"explain", "1", "--data", "data"}).out, HasSubstr("user 42 (Ada)"));
  EXPECT_EQ(Run({"audit", "--data", "data"}).code, 0);
}

// As a systemd unit does: one program runs the pipeline, another one follows the file of the project.
TEST_F(ProgramIngest, AFollowedFileIsIngestedWhileItGrowsUntilSigterm) {
  const auto user = [](int id) {
    return R"({"id":)" + std::to_string(id) + R"(,"project":1,"user":{"user":)" + std::to_string(id) + "}}\n";
  };
  const auto append = [&](int id) { std::ofstream(dir_ / "feed.jsonl", std::ios::app) << user(id); };
  const auto wait_for = [&](int id, Background& feed) {
    while (feed.Runs() && Run({"account", "user", std::to_string(id), "--data", "data"}).code != 0) {
    }
    ASSERT_TRUE(feed.Runs()) << feed.err();
  };
  Background pipeline(dir_.path(), {"run", "--data", "data"});
  ASSERT_TRUE(pipeline.WaitFor("running")) << pipeline.err();
  append(1);
  {
    Background feed(dir_.path(), {"ingest", "feed.jsonl", "--follow", "--data", "data"});
    wait_for(1, feed);
    EXPECT_THAT(feed.err(), HasSubstr("following feed.jsonl as source feed.jsonl@"));
    append(2);
    wait_for(2, feed);
    feed.Signal(SIGTERM);
    EXPECT_EQ(feed.Wait(), 0) << feed.err();
  }
  append(3);
  std::filesystem::rename(dir_ / "feed.jsonl", dir_ / "feed.jsonl.1");
  append(4);
  Background feed(dir_.path(), {"ingest", "feed.jsonl", "--follow", "--data", "data"});
  wait_for(3, feed);
  wait_for(4, feed);
  feed.Signal(SIGINT);
  EXPECT_EQ(feed.Wait(), 0) << feed.err();
  EXPECT_EQ(Ask({"refused", "list"})["all"], 0);
  const Finished excluded = Run({"ingest", "-", "--follow", "--source", "s", "--data", "data"});
  EXPECT_EQ(excluded.code, 2);
  EXPECT_THAT(excluded.err, HasSubstr("--follow requires the path"));
}

TEST_F(ProgramIngest, TheSameFileTwiceChangesNothing) {
  Generate("events.jsonl.gz");
  const Finished first = Run({"ingest", "events.jsonl.gz", "--data", "data"});
  ASSERT_EQ(first.code, 0) << first.out << first.err;
  const std::uint64_t grants = Grants();
  EXPECT_GE(grants, 350u);
  const json before = Ask({"account", "user", "1"});
  const Finished second = Run({"ingest", "events.jsonl.gz", "--data", "data"});
  EXPECT_EQ(second.code, 0);
  EXPECT_THAT(second.out, HasSubstr("no new lines"));
  EXPECT_EQ(Grants(), grants);
  json after = Ask({"account", "user", "1"});
  EXPECT_EQ(after["total"], before["total"]);
  EXPECT_EQ(after["grants"], before["grants"]);
  EXPECT_EQ(Run({"audit", "--data", "data"}).code, 0);
}

TEST_F(ProgramIngest, AGrownFileAddsItsEnd) {
  Generate("all.jsonl");
  const std::string all = Read("all.jsonl");
  const std::size_t half = all.find('\n', all.size() / 2) + 1;
  Write("events.jsonl", all.substr(0, half));
  ASSERT_EQ(Run({"ingest", "events.jsonl", "--data", "data"}).code, 0);
  const std::uint64_t of_half = Grants();
  Write("events.jsonl", all);
  const Finished grown = Run({"ingest", "events.jsonl", "--data", "data", "--json"});
  ASSERT_EQ(grown.code, 0) << grown.out << grown.err;
  const json summary = json::parse(grown.out);
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_EQ(summary["known_before"], lines(all.substr(0, half)));
  EXPECT_EQ(summary["lines"], lines(all.substr(half)));
  EXPECT_GT(Grants(), of_half);

  ASSERT_EQ(Run({"ingest", "all.jsonl", "--data", "other"}).code, 0);
  EXPECT_EQ(AskProgram(dir_.path(), {"tasks", "--json", "--data", "other"})["grants"], Grants())
      << "the same as in one piece";
}

TEST_F(ProgramIngest, AChangedFileIsRefusedAndNothingHappens) {
  Generate("events.jsonl");
  ASSERT_EQ(Run({"ingest", "events.jsonl", "--data", "data"}).code, 0);
  const std::uint64_t grants = Grants();
  std::string text = Read("events.jsonl");
  text.replace(text.find("\"id\":"), 5, "\"id\": ");
  Write("events.jsonl", text);
  const Finished changed = Run({"ingest", "events.jsonl", "--data", "data"});
  EXPECT_EQ(changed.code, 2);
  EXPECT_THAT(changed.err, AllOf(HasSubstr("differ from the lines ingested before under this name"),
                                 HasSubstr("--source NAME")));
  EXPECT_EQ(Grants(), grants);
}

TEST_F(ProgramIngest, FromStandardInputASourceNeedsAName) {
  Generate("events.jsonl");
  const std::string text = Read("events.jsonl");
  const Finished nameless = Run({"ingest", "--data", "data"}, text);
  EXPECT_EQ(nameless.code, 2);
  EXPECT_THAT(nameless.err, HasSubstr("--source NAME"));
  EXPECT_EQ(Run({"ingest", "-", "--source", "pipe", "--data", "data"}, text).code, 0);
  EXPECT_GE(Grants(), 350u);
  const Finished again = Run({"ingest", "-", "--source", "pipe", "--data", "data"}, text);
  EXPECT_THAT(again.out, HasSubstr("no new lines"));
}

TEST_F(ProgramIngest, RefusedEventsAreReportedByLine) {
  // Line 3 is not JSON; line 5 names an unknown app.
  Write("events.jsonl",
        R"({"id":1,"project":1,"time":1700000000,"app":{"app":1,"name":"a","policy":"runtime"}})"
        "\n"
        R"({"id":2,"project":1,"time":1700000000,"user":{"user":5,"name":"Ada"}})"
        "\n{\"id\": seven}\n"
        R"({"id":3,"project":1,"time":1700000000,"host":{"host":17,"user":5}})"
        "\n"
        R"({"id":4,"project":1,"time":1700000100,"completion":{"result":9,"host":17,"workunit":8,"app":77,)"
        R"("app_version":1,"outcome":"OUTCOME_SUCCESS","elapsed_time":10,"cpu_time":10,"peak_flops":1e9,)"
        R"("sent_time":1700000000,"received_time":1700000090}})"
        "\n");
  const Finished ingested = Run({"ingest", "events.jsonl", "--data", "data"});
  EXPECT_EQ(ingested.code, 1) << ingested.out << ingested.err;
  EXPECT_THAT(ingested.out, HasSubstr("line 3: "));
  EXPECT_THAT(ingested.out, HasSubstr("line 5: UNKNOWN_APP"));

  const json refused = Ask({"refused", "list"});
  EXPECT_EQ(refused["all"], 2);
  EXPECT_EQ(refused["refused"][0]["reason"], "UNDECODABLE");
  EXPECT_EQ(refused["refused"][0]["line"], 3);
  EXPECT_EQ(refused["refused"][0]["source"], "events.jsonl");
  EXPECT_EQ(Ask({"refused", "show", "1"})["reason"], "UNKNOWN_APP");
  EXPECT_EQ(Run({"refused", "show", "2", "--data", "data"}).code, 3);
}

// The numbers of the summary. `lines` is all new lines of the file.
void ExpectTheSumToHold(const json& summary, const std::string& text) {
  const auto number = [&](const char* name) { return summary.value(name, std::uint64_t{0}); };
  EXPECT_EQ(number("lines"), number("accepted") + number("refused") + number("bad") + number("blank"))
      << summary;
  EXPECT_EQ(number("events"), number("accepted") + number("refused")) << summary;
  EXPECT_EQ(number("skipped") + number("lines"),
            static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')))
      << summary;
  std::uint64_t by_reason = 0;
  for (const auto& [reason, count] : summary["refused_by_reason"].items())
    by_reason += count.get<std::uint64_t>();
  EXPECT_EQ(by_reason, number("refused") + number("refused_derived")) << summary;
}

constexpr const char* kCompletionOf17 =
    R"("time":1700000100,"completion":{"result":RESULT,"host":17,"workunit":8,"app":APP,)"
    R"("app_version":1,"outcome":"OUTCOME_SUCCESS","elapsed_time":10,"cpu_time":10,"peak_flops":1e9,)"
    R"("sent_time":1700000000,"received_time":1700000090}})";
std::string CompletionLine(int id, int result, int app) {
  std::string line = kCompletionOf17;
  line.replace(line.find("RESULT"), 6, std::to_string(result));
  line.replace(line.find("APP"), 3, std::to_string(app));
  return R"({"id":)" + std::to_string(id) + R"(,"project":1,)" + line + "\n";
}

// One line of each kind: accepted, refused, not an event, blank; then the same file with another line.
TEST_F(ProgramIngest, TheNumbersOfTheSummaryAddUp) {
  std::string text = R"({"id":1,"project":1,"time":1700000000,"app":{"app":1,"name":"a","policy":"runtime"}})"
                     "\n"
                     R"({"id":2,"project":1,"time":1700000000,"user":{"user":5,"name":"Ada"}})"
                     "\n{\"id\": seven}\n\n"
                     R"({"id":3,"project":1,"time":1700000000,"host":{"host":17,"user":5}})"
                     "\n" +
                     CompletionLine(4, 9, 77) + CompletionLine(5, 10, 78) + "not even that\n";
  Write("events.jsonl", text);
  const Finished first = Run({"ingest", "events.jsonl", "--data", "data", "--json"});
  EXPECT_EQ(first.code, 1) << first.err;
  json summary = json::parse(first.out);
  ExpectTheSumToHold(summary, text);
  EXPECT_EQ(summary["accepted"], 3) << summary;
  EXPECT_EQ(summary["results"], 0) << "both completions were refused";
  EXPECT_EQ(summary["refused"], 2);
  EXPECT_EQ(summary["refused_by_reason"], json({{"UNKNOWN_APP", 2}}));
  EXPECT_EQ(summary["bad"], 2);
  EXPECT_EQ(summary["blank"], 1);
  EXPECT_EQ(summary["skipped"], 0);

  text += CompletionLine(6, 11, 79) + R"({"id":7,"project":1,"time":1700000000,"user":{"user":6}})" + "\n";
  Write("events.jsonl", text);
  const Finished grown = Run({"ingest", "events.jsonl", "--data", "data"});
  EXPECT_EQ(grown.code, 1);
  EXPECT_THAT(grown.out, AllOf(HasSubstr(": 1 events ingested, 0 of them results"),
                               HasSubstr("8 lines were already ingested, skipped"),
                               HasSubstr("2 new lines: 1 accepted, 1 refused, 0 not events, 0 blank"),
                               HasSubstr("1 events were refused: UNKNOWN_APP 1\n  line 9: UNKNOWN_APP")));
  const Finished again = Run({"ingest", "events.jsonl", "--data", "data", "--json"});
  EXPECT_EQ(again.code, 0);
  summary = json::parse(again.out);
  ExpectTheSumToHold(summary, text);
  EXPECT_EQ(summary["skipped"], 10);
  // A shorter file.
  Write("events.jsonl", text.substr(0, text.find('\n') + 1));
  summary = json::parse(Run({"ingest", "events.jsonl", "--data", "data", "--json"}).out);
  EXPECT_EQ(summary["skipped"], 1);
  EXPECT_EQ(summary["known_before"], 10);
}

// More refusals than one answer lists, and refused events of an earlier file whose partners never came.
TEST_F(ProgramIngest, EventsOfAnEarlierFileThatAreRefusedNowAreNotOfThisFile) {
  std::string text = R"({"id":1,"project":1,"time":1700000000,"app":{"app":1,"name":"a","policy":"runtime"}})"
                     "\n"
                     R"({"id":2,"project":1,"time":1700000000,"host":{"host":17}})"
                     "\n" +
                     CompletionLine(3, 1, 1);
  Write("early.jsonl", text);
  json summary = json::parse(Run({"ingest", "early.jsonl", "--data", "data", "--json"}).out);
  EXPECT_EQ(summary["accepted"], 3) << "the completion waits for its validation";
  // A year later.
  Write("late.jsonl", R"({"id":9,"project":1,"time":1735000000,"tick":{"time":1735000000}})"
                      "\n");
  const Finished late = Run({"ingest", "late.jsonl", "--data", "data", "--json"});
  EXPECT_EQ(late.code, 0) << late.out << late.err;
  summary = json::parse(late.out);
  ExpectTheSumToHold(summary, Read("late.jsonl"));
  EXPECT_EQ(summary["accepted"], 1);
  EXPECT_EQ(summary["refused"], 0);
  EXPECT_EQ(summary["refused_earlier"], 1) << "the completion that waited";
  EXPECT_EQ(Ask({"refused", "list"})["all"], 1);
}

// Refused records: 0 to 2 of app 77, 3 a line that is no event, 4 a host without a number (its name is not kept), 5 to
// 1204 of app 78.
class ProgramRefused : public ProgramIngest {
 protected:
  static constexpr int kMany = 1200;  // more than one block

  void SetUp() override {
    std::string text =
        R"({"id":1,"project":1,"time":1700000000,"app":{"app":1,"name":"a","policy":"runtime"}})"
        "\n"
        R"({"id":2,"project":1,"time":1700000000,"host":{"host":17}})"
        "\n";
    Write("base.jsonl", text);
    ASSERT_EQ(Run({"ingest", "base.jsonl", "--data", "data"}).code, 0);
    Refuse("a.jsonl", CompletionLine(3, 1, 77) + CompletionLine(4, 2, 77) + CompletionLine(5, 3, 77));
    Refuse("b.jsonl", "no event\n");
    Refuse("c.jsonl", R"({"id":6,"project":1,"time":1700000000,"host":{"user":99,"name":"x"}})"
                      "\n");
    text.clear();
    for (int n = 0; n < kMany; ++n) text += CompletionLine(100 + n, 100 + n, 78);
    Refuse("d.jsonl", text);
    const json listed = Ask({"refused", "list", "--limit", "10000"});
    ASSERT_EQ(listed["all"], 5 + kMany) << listed.dump(1).substr(0, 4000);
    ASSERT_EQ(listed["refused"][3]["reason"], "UNDECODABLE");
    ASSERT_EQ(listed["refused"][4]["left_out"], true);
  }
  void Refuse(const std::string& file, const std::string& text) {
    Write(file, text);
    ASSERT_EQ(Run({"ingest", file, "--data", "data"}).code, 1);
  }
  // The catalogue of the app that was missing.
  void Define(int app) {
    const std::string file = "app" + std::to_string(app) + ".jsonl";
    Write(file, R"({"id":)" + std::to_string(app) + R"(,"project":1,"time":1700000000,"app":{"app":)" +
                    std::to_string(app) + R"(,"name":"b","policy":"runtime"}})" + "\n");
    ASSERT_EQ(Run({"ingest", file, "--data", "data"}).code, 0);
  }
  std::uint64_t All() { return Ask({"refused", "list", "--limit", "0"})["all"]; }
  static std::vector<std::uint64_t> NumbersOf(const json& list) {
    std::vector<std::uint64_t> numbers;
    for (const json& one : list) numbers.push_back(one["number"]);
    return numbers;
  }
};

TEST_F(ProgramRefused, TheListHasTheNewestRecordsAndFiltersByReason) {
  EXPECT_EQ(NumbersOf(Ask({"refused", "list", "--last", "2"})["refused"]),
            (std::vector<std::uint64_t>{kMany + 3, kMany + 4}));
  EXPECT_EQ(NumbersOf(Ask({"refused", "list", "--reason", "UNDECODABLE"})["refused"]),
            (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(NumbersOf(Ask({"refused", "list", "--last", "3", "--reason", "UNDECODABLE", "--reason",
                           Ask({"refused", "show", "4"})["reason"]})["refused"]),
            (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(NumbersOf(Ask(
                {"refused", "list", "--from", "1", "--limit", "3", "--reason", "UNKNOWN_APP"})["refused"]),
            (std::vector<std::uint64_t>{1, 2, 5}));
  EXPECT_EQ(Run({"refused", "list", "--last", "1", "--limit", "1", "--data", "data"}).code, 2);
  const Finished misspelt = Run({"refused", "list", "--reason", "UNKNOWN_AP", "--data", "data"});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("UNKNOWN_APP"));
}

TEST_F(ProgramRefused, RangesAndReasonsAreResubmittedAndTheOthersAreNamed) {
  Define(77);
  const json done = Ask({"refused", "resubmit", "0-1", "1-4"});
  EXPECT_EQ(NumbersOf(done["resubmitted"]), (std::vector<std::uint64_t>{0, 1, 2})) << "each once";
  EXPECT_EQ(NumbersOf(done["left"]), (std::vector<std::uint64_t>{3, 4}));
  EXPECT_THAT(done["left"][0]["why"].get<std::string>(), HasSubstr("correct the line and ingest it again"));
  EXPECT_THAT(done["left"][1]["why"].get<std::string>(), HasSubstr("send the event again from its source"));
  EXPECT_EQ(done["refused_again"], 0) << done;
  EXPECT_EQ(All(), 5 + kMany);
  const Finished words = Run({"refused", "resubmit", "2-3", "--data", "data"});
  EXPECT_EQ(words.code, 1);
  EXPECT_THAT(words.out,
              AllOf(HasSubstr("1 event was resubmitted\n"),
                    HasSubstr("1 record cannot be resubmitted:\n  refused record 3 is not an event")));
  // Of 0 to 10, only those of one reason.
  EXPECT_EQ(NumbersOf(Ask({"refused", "resubmit", "0-10", "--reason", "UNDECODABLE"})["left"]),
            (std::vector<std::uint64_t>{3}));
}

TEST_F(ProgramRefused, ADryRunListsTheEventsAndSubmitsNothing) {
  const Finished words = Run({"refused", "resubmit", "0", "3", "--dry-run", "--data", "data"});
  EXPECT_EQ(words.code, 1) << "record 3 would be left";
  EXPECT_THAT(words.out, AllOf(HasSubstr("UNKNOWN_APP"), HasSubstr("completion"),
                               HasSubstr("1 event would be resubmitted"),
                               HasSubstr("refused record 3 is not an event")));
  const json all = Ask({"refused", "resubmit", "--all", "--dry-run"});
  EXPECT_EQ(all["resubmitted"].size(), 3u + kMany);
  EXPECT_EQ(all["left"].size(), 2u);
  // An event that was submitted while its app is missing would be refused again by the next command that works.
  ASSERT_EQ(Run({"ingest", "base.jsonl", "--data", "data"}).code, 0);
  EXPECT_EQ(All(), 5 + kMany);
}

TEST_F(ProgramRefused, AllAreResubmittedInBlocksAndTheEventsThatAreRefusedAgainAreCounted) {
  Define(78);
  const Finished words = Run({"refused", "resubmit", "--all", "--data", "data"});
  EXPECT_EQ(words.code, 1);
  EXPECT_THAT(words.out, AllOf(HasSubstr("1,203 events were resubmitted\n2 records cannot be resubmitted"),
                               HasSubstr("3 events were refused: UNKNOWN_APP 3")));
  EXPECT_EQ(All(), 5 + kMany + 3) << "those of app 77";
  const Finished good = Run({"refused", "resubmit", "5-", "--reason", "MISSING_FIELD", "--data", "data"});
  EXPECT_EQ(good.code, 0) << "no record has this reason";
  EXPECT_THAT(good.out, HasSubstr("0 events were resubmitted"));
  EXPECT_EQ(Run({"audit", "--data", "data"}).code, 0);
}

TEST_F(ProgramRefused, ArgumentsThatNameNoRecordAreReported) {
  EXPECT_EQ(Run({"refused", "resubmit", "--data", "data"}).code, 2);
  EXPECT_EQ(Run({"refused", "resubmit", "--all", "3", "--data", "data"}).code, 2);
  for (const char* bad : {"ten", "5-3", "3-x", "1..4", "-"}) {
    SCOPED_TRACE(bad);
    const Finished asked = Run({"refused", "resubmit", bad, "--data", "data"});
    EXPECT_EQ(asked.code, 2);
  }
  const Finished unknown = Run({"refused", "resubmit", "99999", "--data", "data"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.out, HasSubstr("unknown refused record 99999"));
  Define(77);
  EXPECT_EQ(Run({"refused", "resubmit", "0", "99999", "--data", "data"}).code, 1) << "record 0 was submitted";
}

// A fault of the whole file: exit code 2, one message, and no refused record.
TEST_F(ProgramIngest, AFileThatIsNoFileOfEventsIsNamedAndNothingIsRefused) {
  Generate("events.jsonl", 50);
  std::string indented;
  std::istringstream lines(Read("events.jsonl"));
  for (std::string line; std::getline(lines, line);) indented += json::parse(line).dump(2) + "\n";
  Write("indented.json", indented);
  const std::vector<std::pair<std::string, std::string>> wanted = {
      {"indented.json", "JSON with one object over several lines; write one event per line: jq -c . FILE"},
      {"page.jsonl", "an HTML page"},
      {"warned.jsonl", "a message of a database client"}};
  Write("page.jsonl", "<!DOCTYPE html>\n<html><title>502 Bad Gateway</title></html>\n");
  Write("warned.jsonl", "mysql: [Warning] Using a password on the command line interface can be insecure.\n" +
                            Read("events.jsonl"));
  for (const auto& [file, what] : wanted) {
    SCOPED_TRACE(file);
    const Finished ingested = Run({"ingest", file, "--data", "data"});
    EXPECT_EQ(ingested.code, 2) << ingested.out;
    EXPECT_EQ(ingested.out, "");
    EXPECT_THAT(ingested.err, AllOf(HasSubstr(file + ": the file is "), HasSubstr(what)));
  }
  ASSERT_EQ(Run({"ingest", "events.jsonl", "--data", "data"}).code, 0);
  EXPECT_EQ(Ask({"refused", "list"})["all"], 0);
}

TEST_F(ProgramIngest, TheEventsBeforeATruncatedEndCountAndAreReported) {
  for (const char* file : {"events.jsonl.gz", "events.pb.zst"}) {
    SCOPED_TRACE(file);
    Generate(file, 20000);  // more than one block of the compression
    const std::string whole = Read(file);
    Write(file, whole.substr(0, whole.size() / 2));
    const Finished cut = Run({"ingest", file, "--data", file + std::string(".data"), "--json"});
    EXPECT_EQ(cut.code, 2);
    EXPECT_THAT(cut.err, AllOf(HasSubstr("data is truncated"), HasSubstr("ingest the complete file")));
    const json first = json::parse(cut.out);
    EXPECT_GT(first["lines"], 0);
    Write(file, whole);
    const Finished complete = Run({"ingest", file, "--data", file + std::string(".data"), "--json"});
    EXPECT_EQ(complete.code, 0) << complete.err;
    EXPECT_EQ(json::parse(complete.out)["known_before"], first["lines"]);
  }
}

TEST_F(ProgramIngest, EveryQuestionIsAnsweredInWordsAndAsJson) {
  Generate("events.pb.zst");
  ASSERT_EQ(Run({"ingest", "events.pb.zst", "--data", "data"}).code, 0);
  std::uint64_t result = 0;
  std::string number;
  for (result = 1; result < 50; ++result) {
    number = std::to_string(result);
    if (Run({"explain", number, "--data", "data"}).code == 0) break;
  }
  for (const std::vector<std::string>& question :
       std::vector<std::vector<std::string>>{{"explain", number},
                                             {"account", "host", "1"},
                                             {"account", "user", "1"},
                                             {"account", "team", "1"},
                                             {"scales"},
                                             {"refused", "list"},
                                             {"tasks"},
                                             {"audit"}}) {
    SCOPED_TRACE(question[0]);
    EXPECT_TRUE(Ask(question).is_object());
    std::vector<std::string> in_words = question;
    in_words.insert(in_words.end(), {"--data", "data"});
    const Finished words = Run(in_words);
    EXPECT_EQ(words.code, 0) << words.err;
    EXPECT_GT(words.out.size(), 20u);
    EXPECT_FALSE(json::accept(words.out));
  }
  const json explained = Ask({"explain", number});
  EXPECT_EQ(explained["result"], result);
  EXPECT_THAT(Run({"explain", number, "--data", "data"}).out,
              HasSubstr(explained["grants"][0]["credit"].get<std::string>() + " Cobblestones"));
}

TEST_F(ProgramIngest, MissingDataIsNotFound) {
  Generate("events.jsonl", 10);
  ASSERT_EQ(Run({"ingest", "events.jsonl", "--data", "data"}).code, 0);
  for (const std::vector<std::string>& question :
       std::vector<std::vector<std::string>>{{"explain", "987654321"},
                                             {"account", "user", "987654321"},
                                             {"host-version", "987654321", "1"},
                                             {"scales", "--project", "42"}}) {
    SCOPED_TRACE(question[0]);
    std::vector<std::string> arguments = question;
    arguments.insert(arguments.end(), {"--data", "data"});
    const Finished asked = Run(arguments);
    EXPECT_EQ(asked.code, 3);
    EXPECT_EQ(asked.out, "");
    EXPECT_THAT(asked.err, HasSubstr("cobblestone: "));
  }
  EXPECT_EQ(Run({"ingest", "nothing.jsonl", "--data", "data"}).code, 3);
  EXPECT_EQ(Run({"explain", "1", "--data", "nowhere"}).code, 3);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "nowhere")) << "a question creates no directory";
}

TEST_F(ProgramIngest, BadArgumentsAreUsageErrors) {
  EXPECT_EQ(Run({}).code, 2);
  const Finished misspelt = Run({"exlpain", "1"});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("unknown verb 'exlpain'"));
  EXPECT_EQ(Run({"explain"}).code, 2);
  EXPECT_EQ(Run({"explain", "minus one"}).code, 2);
  EXPECT_EQ(Run({"account", "planet", "1"}).code, 2);
  EXPECT_EQ(Run({"generate", "--replication", "0"}).code, 2);
  Write("bad.yaml", "partitions: many\n");
  const Finished config = Run({"config", "bad.yaml"});
  EXPECT_EQ(config.code, 2);
  EXPECT_THAT(config.err, HasSubstr("bad.yaml:1"));
  const Finished help = Run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("Exit codes"), HasSubstr("ingest")));
  EXPECT_EQ(Run({"ingest", "--help"}).code, 0);
}

}  // namespace
}  // namespace cobblestone
