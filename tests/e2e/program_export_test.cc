// `cobblestone export` as a user starts it: BOINC's own variants through the command line, publication, incremental exports,
// reading back, deaths, and what is said where something is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/e2e/program_process.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Finished;
using ::testing::HasSubstr;
using testing::RunProgram;

std::string Golden(const std::string& name) {
  return std::string(COBBLESTONE_SOURCE_DIR) + "/tests/golden/export/" + name;
}

std::string Read(const std::string& path) {
  std::string text;
  char buffer[1 << 14];
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return "there is no " + path;
  for (int n = 0; (n = gzread(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  gzclose(file);
  return text;
}

class ProgramExport : public ::testing::Test {
 protected:
  Finished Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "export");
    return RunProgram(dir_.path(), arguments);
  }
  Finished Export(const std::string& variant, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"--entities", Golden("entities.json"), "--spec",
                                          Golden(variant + "/db_dump.xml")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
  std::set<std::string> Names(const std::string& directory = "") {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_ / directory))
      names.insert(entry.path().filename().string());
    return names;
  }
  testing::TempDir dir_;
};

TEST_F(ProgramExport, VariantsWithADefinedOrderAreEqual) {
  const json golden = json::parse(Read(Golden("MANIFEST.json")))["variants"];
  for (const char* variant : {"b_sort_total_credit", "b2_sort_expavg_credit", "c_sort_id_recs10",
                              "d2_consent_sort_id", "g_team_detail"}) {
    const json& about = golden[variant];
    const Finished done = Export(
        variant,
        {"--out", variant, "--now", std::to_string(about["update_time"].get<std::int64_t>()), "--setting",
         "user_country=1", "--setting",
         "statsexport_enabled=" + std::to_string(about["settings"]["statsexport_enabled"].get<int>())});
    ASSERT_EQ(done.code, 0) << done.err;
    for (const auto& [name, figures] : about["files"].items())
      EXPECT_TRUE(Read(dir_ / (std::string(variant) + "/" + name)) ==
                  Read(Golden(std::string(variant) + "/" + name)))
          << variant << "/" << name;
    const Finished read = Run({"--read", variant});
    EXPECT_EQ(read.code, 0) << read.out << read.err;
  }
}

TEST_F(ProgramExport, SaysWhatItWroteAndWhatIsOdd) {
  const Finished done = Export("a_default", {"--out", "stats", "--now", "1795204139"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("user.gz"));
  EXPECT_THAT(done.out, HasSubstr("54 records  570913887729.509"));
  EXPECT_THAT(done.out, HasSubstr("published as stats"));
  EXPECT_THAT(done.err,
              HasSubstr("there is no user 31337, who owns host 19; the host is written without an owner"));
  const json manifest = json::parse(Read(dir_ / "stats/manifest.json"));
  EXPECT_EQ(manifest["time"], 1795204139);
  EXPECT_EQ(manifest["base"], nullptr);
  EXPECT_EQ(manifest["files"].size(), Names("stats").size() - 1);
}

TEST_F(ProgramExport, WithoutOutTheSpecSaysWhereTo) {
  fs::create_directories(dir_ / "bin");
  fs::create_directories(dir_ / "html");
  const Finished done = RunProgram(dir_ / "bin", {"export", "--entities", Golden("entities.json"), "--spec",
                                                  Golden("a_default/db_dump.xml"), "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(json::parse(done.out)["directory"], "../html/stats");
  EXPECT_TRUE(fs::exists(dir_ / "html/stats/user.gz"));
}

TEST_F(ProgramExport, IncrementalExportsReadBackToTheSame) {
  ASSERT_EQ(Export("c_sort_id_recs10", {"--out", "full", "--strict-xml"}).code, 0);
  json entities = json::parse(Read(Golden("entities.json")));
  entities["users"].erase(2);
  entities["users"][5]["name"] = "new";
  entities["hosts"][0]["total_credit"] = 1.5;
  std::ofstream(dir_ / "later.json") << entities.dump();
  const Finished next = Run({"--entities", "later.json", "--spec", Golden("c_sort_id_recs10/db_dump.xml"),
                             "--out", "next", "--strict-xml", "--incremental-from", "full", "--json"});
  ASSERT_EQ(next.code, 0) << next.err;
  const json users = json::parse(next.out)["outputs"][0];
  EXPECT_EQ(users["name"], "user_N.gz");
  EXPECT_EQ(users["records"], 53);
  EXPECT_EQ(users["written"], 1);
  EXPECT_EQ(users["removed"], 1);
  const Finished read = Run({"--read", "full", "--then", "next"});
  EXPECT_EQ(read.code, 0) << read.out << read.err;
  EXPECT_THAT(read.out, HasSubstr("all outputs read back to the same"));
  EXPECT_EQ(Run({"--read", "next"}).code, 2);
}

TEST_F(ProgramExport, ADeathInPublicationLeavesAWholeExport) {
  ASSERT_EQ(Export("a_default", {"--out", "stats", "--now", "1"}).code, 0);
  // The third passes X3 once where it tidies up behind the second.
  for (const auto& [failpoint, time] : std::map<std::string, int>{{"X1:1", 1}, {"X2:1", 2}, {"X3:2", 3}}) {
    testing::Background dying(
        dir_.path(),
        {"export", "--entities", Golden("entities.json"), "--spec", Golden("a_default/db_dump.xml"), "--out",
         "stats", "--now", std::to_string(time)},
        failpoint);
    EXPECT_EQ(dying.Wait(), 128 + 9);
    EXPECT_EQ(json::parse(Read(dir_ / "stats/manifest.json"))["time"], time);
    EXPECT_EQ(Run({"--read", "stats"}).code, 0);
  }
  EXPECT_EQ(Export("a_default", {"--out", "stats", "--now", "4", "--delete-old"}).code, 0);
  EXPECT_FALSE(fs::exists(dir_ / "stats.partial"));
  EXPECT_FALSE(Names("stats").contains(".unfinished"));
}

TEST_F(ProgramExport, WhatIsWrongIsNamedAndNothingIsPublished) {
  std::ofstream(dir_ / "bad.xml") << "<boinc_db_dump_spec>\n<enumeration>\n<table>usr</table>";
  std::ofstream(dir_ / "bad.json") << "{\"users\": [\n{\"id\": 1},\n{\"id\": 1";
  const std::string spec = Golden("a_default/db_dump.xml");
  struct Case {
    std::vector<std::string> arguments;
    int code;
    std::string says;
  };
  const Case kCases[] = {
      {{}, 2, "--entities and --spec say what to export"},
      {{"--entities", Golden("entities.json"), "--spec", "bad.xml", "--out", "o"},
       2,
       "bad.xml, line 3: there is no table 'usr'"},
      {{"--entities", Golden("entities.json"), "--spec", "none.xml", "--out", "o"}, 3, "none.xml"},
      {{"--entities", "bad.json", "--spec", spec, "--out", "o"},
       2,
       "bad.json, line 2: the row has no 'teamid'"},
      {{"--entities", "none.json", "--spec", spec, "--out", "o"}, 3, "none.json"},
      {{"--entities", Golden("entities.json"), "--spec", spec, "--out", "o", "--setting", "user=1"},
       2,
       "there is no setting 'user'"},
      {{"--entities", Golden("entities.json"), "--spec", spec, "--out", "no/where"},
       2,
       "there is no directory no"},
      {{"--entities", Golden("entities.json"), "--spec", spec, "--out", "o", "--incremental-from", "none"},
       3,
       "none/manifest.json"},
      {{"--read", "none"}, 3, "none/manifest.json"},
  };
  const auto before = Names();
  for (const Case& c : kCases) {
    const Finished done = Run(c.arguments);
    EXPECT_EQ(done.code, c.code) << done.err;
    EXPECT_THAT(done.err, HasSubstr(c.says));
    EXPECT_EQ(Names(), before) << c.says;
  }
}

}  // namespace
}  // namespace cobblestone
