// The built program ingests files: repeated, grown, changed, bad, refused; and answers in words and as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
