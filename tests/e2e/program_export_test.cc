// `cobblestone export` as a user starts it: BOINC's own variants on the command line, publication, incremental
// exports, reading back, deaths, and error messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "common/store/rocksdb/rocksdb_store.h"
#include "common/stream/state_codec.h"
#include "common/stream/table.h"
#include "services/accounts/accounts_stage.h"
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

// The first command of README's export section, run in a folder with the tree's config; its data directory is `data`.
std::vector<std::string> ReadmesExport() {
  std::ifstream readme(COBBLESTONE_SOURCE_DIR "/README.md");
  const std::string begin = "    ./dev cobblestone export ";
  std::string line;
  while (std::getline(readme, line) && !line.starts_with(begin)) {
  }
  std::vector<std::string> words;
  std::istringstream rest(line.substr(std::min(begin.size(), line.size())));
  for (std::string word; rest >> word;) words.push_back(word == "/var/lib/cobblestone" ? "data" : word);
  return words;
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

TEST_F(ProgramExport, ReadmesCommandRunsAsPrinted) {
  fs::create_directory_symlink(COBBLESTONE_SOURCE_DIR "/config", dir_ / "config");
  ASSERT_EQ(
      RunProgram(dir_.path(), {"generate", "events.pb", "--results", "300", "--hosts", "20", "--quiet"}).code,
      0);
  ASSERT_EQ(RunProgram(dir_.path(), {"ingest", "events.pb", "--data", "data"}).code, 0);
  const std::vector<std::string> words = ReadmesExport();
  ASSERT_GE(words.size(), 6u);
  const Finished done = Run(words);
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  for (const char* name : {"user", "team", "host"})
    EXPECT_THAT(Read(dir_ / "stats/" + name + ".gz"), HasSubstr("<total_credit>")) << name;
  EXPECT_THAT(Read(dir_ / "stats/user_deleted.gz"), HasSubstr("<users_deleted>"));
  EXPECT_EQ(Run({"--read", "stats"}).code, 0);
}

// No event has a profile; one user is sent in parts.
TEST_F(ProgramExport, MembersFromPlainEventsAreShownLikeAdoptedOnes) {
  fs::create_directory_symlink(COBBLESTONE_SOURCE_DIR "/config", dir_ / "config");
  std::ofstream(dir_ / "members.jsonl")
      << R"({"id":1,"project":1,"time":1700000000,"app":{"app":1,"policy":"assigned"}}
{"id":2,"project":1,"time":1700000000,"app_version":{"app_version":1,"app":1,"version_num":100,"platform":1}}
{"id":3,"project":1,"time":1700000000,"team":{"team":7,"name":"Team","create_time":1500000000,"country":"Poland"}}
{"id":4,"project":1,"time":1700000000,"user":{"user":1,"name":"Ada","team":7,"create_time":1600000001,"country":"Norway","cross_project_id":"00000000000000000000000000000001"}}
{"id":5,"project":1,"time":1700000000,"host":{"host":5,"user":1,"whetstone":3e9,"dhrystone":9e9,"cpus":4,"create_time":1650000001,"cross_project_id":"00000000000000000000000000000011"}}
{"id":6,"project":1,"time":1700000100,"user":{"user":1,"profile":{"show_hosts":true}}}
{"id":7,"project":1,"time":1700000100,"host":{"host":5,"cpus":8,"profile":{"p_vendor":"R2VudWluZQ=="}}}
{"id":8,"project":1,"time":1700000100,"team":{"team":7,"profile":{"url":"dGVhbS5leGFtcGxl"}}}
{"id":9,"project":1,"time":1700009000,"completion":{"result":1,"host":5,"workunit":1,"app":1,"app_version":1,"outcome":"OUTCOME_SUCCESS","received_time":1700009000,"elapsed_time":7000,"sent_time":1700000000,"peak_flops":3e9}}
{"id":10,"project":1,"time":1700009001,"validation":{"result":1,"host":5,"workunit":1,"app":1,"fpops_est":1e13,"fpops_bound":1e15,"state":"VALIDATE_STATE_VALID","pass":1,"claims":1,"assigned_credit":25}}
)";
  ASSERT_EQ(RunProgram(dir_.path(), {"ingest", "members.jsonl", "--data", "data"}).code, 0);
  const Finished done = Run({"--data", "data", "--spec", "config/db_dump.xml", "--setting", "user_country=1",
                             "--out", "stats", "--now", "1700100000"});
  ASSERT_EQ(done.code, 0) << done.err;
  const std::string user = Read(dir_ / "stats/user.gz");
  for (const char* element :
       {"<name>Ada</name>", "<country>Norway</country>", "<create_time>1600000001</create_time>",
        "<total_credit>25.000000</total_credit>", "<cpid>00000000000000000000000000000001</cpid>",
        "<teamid>7</teamid>"})
    EXPECT_THAT(user, HasSubstr(element));
  const std::string host = Read(dir_ / "stats/host.gz");
  for (const char* element :
       {"<userid>1</userid>", "<create_time>1650000001</create_time>", "<p_vendor>Genuine</p_vendor>",
        "<p_fpops>3000000000.000000</p_fpops>", "<p_iops>9000000000.000000</p_iops>",
        "<host_cpid>00000000000000000000000000000011</host_cpid>"})
    EXPECT_THAT(host, HasSubstr(element));
  EXPECT_THAT(host, ::testing::ContainsRegex("ncpus>8</"));
  const std::string team = Read(dir_ / "stats/team.gz");
  for (const char* element : {"<create_time>1500000000</create_time>", "<country>Poland</country>",
                              "<url>team.example</url>", "<name>Team</name>"})
    EXPECT_THAT(team, HasSubstr(element));
}

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

// The adopted project, from a running program and from a directory without one.
TEST_F(ProgramExport, AnAdoptedPipelineExportsTheSameAsItsFile) {
  std::ofstream(dir_ / "run.yaml") << "data_directory: data\npartitions: 3\nstate: {flush_interval: 20 ms}\n";
  const json about = json::parse(Read(Golden("MANIFEST.json")))["variants"]["d2_consent_sort_id"];
  const std::vector<std::string> export_it = {"--config",
                                              "run.yaml",
                                              "--project",
                                              "7",
                                              "--spec",
                                              Golden("d2_consent_sort_id/db_dump.xml"),
                                              "--out",
                                              "stats",
                                              "--delete-old",
                                              "--now",
                                              std::to_string(about["update_time"].get<std::int64_t>()),
                                              "--setting",
                                              "statsexport_enabled=1"};
  const auto equal = [&] {
    for (const auto& [name, figures] : about["files"].items())
      if (Read(dir_ / ("stats/" + name)) != Read(Golden("d2_consent_sort_id/" + name))) return name;
    return std::string();
  };
  EXPECT_EQ(Run(export_it).code, 3) << "nothing to export yet";
  {
    testing::Background running(dir_.path(), {"run", "--config", "run.yaml"});
    ASSERT_TRUE(running.WaitFor("running")) << running.err();
    const Finished adopted =
        RunProgram(dir_.path(), {"adopt", Golden("entities.json"), "--project", "7", "--config", "run.yaml"});
    ASSERT_EQ(adopted.code, 0) << adopted.out << adopted.err;
    // The exported state is some moments old.
    std::string differs = "never exported";
    for (const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
         !differs.empty() && std::chrono::steady_clock::now() < until;) {
      const Finished done = Run(export_it);
      ASSERT_EQ(done.code, 0) << done.out << done.err;
      differs = equal();
    }
    EXPECT_EQ(differs, "");
    EXPECT_FALSE(fs::exists(dir_ / "data/export-state")) << "the copies are deleted";
    running.Signal(SIGTERM);
    EXPECT_EQ(running.Wait(), 0) << running.err();
  }
  fs::remove_all(dir_ / "stats");
  const Finished done = Run(export_it);
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_EQ(equal(), "");
}

json ManifestOf(const std::string& directory) {
  return json::parse(Read(directory + "/manifest.json"), nullptr, false);
}

// Gives one account of the state on disk an additional micro-credit, with valid checksums.
void GiveAMicroCredit(const std::string& state, std::uint64_t user) {
  auto opened =
      store::OpenRocksdbStore({.path = state, .memory = std::make_shared<store::StoreMemory>(1 << 20)});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  char key[stream::kKeyBytes];
  stream::EncodeKey(accounts::kUsersTable.id, {.project = 7, .id = user, .sub = 0}, key);
  const std::string_view row(key, sizeof key);
  std::string bytes;
  if ((*opened)->Get(row, &bytes).code() == StatusCode::kNotFound) return;  // in another partition
  accounts::UserState account;
  ASSERT_TRUE(stream::DecodeRow(accounts::kUsersTable, bytes, account).ok());
  account.account.total_micro += 1;
  bytes.clear();
  stream::EncodeRow(accounts::kUsersTable, account, bytes);
  const auto meta = (*opened)->Meta();
  ASSERT_TRUE(meta.ok());
  ASSERT_TRUE((*opened)->Apply({{.key = row, .value = bytes}}, *meta).ok());
}

TEST_F(ProgramExport, ControlTotalsMatchTheLedgerAndAnErrorIsNotPublished) {
  std::ofstream(dir_ / "run.yaml") << "data_directory: data\npartitions: 3\nstate: {flush_interval: 20 ms}\n";
  const auto program = [&](const std::vector<std::string>& words) {
    const Finished done = RunProgram(dir_.path(), words);
    EXPECT_EQ(done.code, 0) << words[0] << done.out << done.err;
    return done;
  };
  const auto traffic = [&](const std::string& name, const std::string& results) {
    program({"generate", name, "--results", results, "--hosts", "90", "--users", "60", "--teams", "12",
             "--project", "7", "--bad-lines", "0", "--quiet"});
    const Finished done =
        RunProgram(dir_.path(), {"ingest", name, "--source", "traffic", "--config", "run.yaml"});
    EXPECT_LE(done.code, 1) << done.err;
  };
  const std::vector<std::string> export_it = {"--config",     "run.yaml",
                                              "--project",    "7",
                                              "--spec",       Golden("d2_consent_sort_id/db_dump.xml"),
                                              "--setting",    "statsexport_enabled=1",
                                              "--delete-old", "--out",
                                              "stats"};
  program({"adopt", Golden("entities.json"), "--project", "7", "--config", "run.yaml"});
  const auto micro = [](const json& text) {
    std::string digits;
    for (const char c : text.get<std::string>())
      if (c != '.') digits += c;
    return std::stoll(digits);
  };
  const auto agree = [&](const json& ledger) {
    for (const char* kind : {"users", "teams", "hosts"}) {
      const json& of = ledger[kind];
      EXPECT_EQ(micro(of["opening"]) + micro(of["granted"]),
                micro(of["total"]) + micro(of["waiting"]) + micro(of["expired"]) + micro(of["moving"]))
          << of.dump(1);
      EXPECT_EQ(micro(of["total"]), micro(of["exported"]["total"]) + micro(of["withheld"]["total"]));
      EXPECT_GT(micro(of["opening"]), 0);
    }
    EXPECT_EQ(ledger["positions"].size(), 3u);
  };
  ASSERT_EQ(Run(export_it).code, 0);
  const json before = ManifestOf(dir_ / "stats");
  agree(before["ledger"]);
  EXPECT_EQ(before["ledger"]["users"]["granted"], "0.000000");
  EXPECT_GT(before["ledger"]["users"]["withheld"]["accounts"], 10) << "users without consent";
  EXPECT_EQ(before["ledger"]["users"]["exported"]["accounts"], 29);

  traffic("events.pb", "2000");
  const Finished again = Run(export_it);
  ASSERT_EQ(again.code, 0) << again.err;
  const json after = ManifestOf(dir_ / "stats");
  agree(after["ledger"]);
  EXPECT_EQ(after["ledger"]["users"]["opening"], before["ledger"]["users"]["opening"]);
  const json audit = testing::AskProgram(dir_.path(), {"audit", "--config", "run.yaml", "--json"});
  EXPECT_EQ(std::to_string(micro(after["ledger"]["users"]["granted"])),
            audit["granted_micro"].get<std::string>());
  EXPECT_EQ(std::to_string(micro(after["ledger"]["teams"]["granted"])),
            audit["posted_micro"].get<std::string>());

  // The stored sums of the ledger are damaged, so the ledger is read again.
  std::ofstream(dir_ / "data/ledger-sums") << "not what was written";
  EXPECT_EQ(Run(export_it).code, 0);
  const std::string published = Read(dir_ / "stats/manifest.json");
  for (int k = 0; k < 3; ++k) GiveAMicroCredit(dir_ / ("data/state/slot-" + std::to_string(k)), 3);
  const auto names = Names();
  const Finished refused = Run(export_it);
  EXPECT_EQ(refused.code, 5) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("reading the whole ledger"));
  EXPECT_THAT(
      refused.err,
      HasSubstr("project 7 does not agree with its ledger: user 3 has 0.000001 Cobblestones too many"));
  EXPECT_EQ(Read(dir_ / "stats/manifest.json"), published);
  EXPECT_EQ(Names(), names);
}

TEST_F(ProgramExport, ExportsByAScheduleUntilStopped) {
  EXPECT_EQ(Export("a_default", {"--out", "stats", "--schedule", "25:00"}).code, 2);
  EXPECT_EQ(Export("a_default", {"--out", "stats", "--schedule", "1s", "--now", "5"}).code, 2);
  const Finished at_once = Run(
      {"--entities", Golden("entities.json"), "--spec", "none.xml", "--out", "stats", "--schedule", "00:00"});
  EXPECT_EQ(at_once.code, 3) << "a permanent error is reported at once, not at the scheduled time";
  testing::Background daily(dir_.path(),
                            {"export", "--entities", Golden("entities.json"), "--spec",
                             Golden("a_default/db_dump.xml"), "--out", "stats", "--schedule", "1s"});
  ASSERT_TRUE(daily.WaitFor("exported"));
  const json first = json::parse(Read(dir_ / "stats/manifest.json"));
  json next = first;
  for (const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
       next["time"] == first["time"] && std::chrono::steady_clock::now() < until;)
    next = json::parse(Read(dir_ / "stats/manifest.json"), nullptr, false);
  EXPECT_GT(next["time"], first["time"]);
  daily.Signal(SIGTERM);
  EXPECT_EQ(daily.Wait(), 0) << daily.err();
}

TEST_F(ProgramExport, ReportsItsFilesAndWarnings) {
  const Finished done = Export("a_default", {"--out", "stats", "--now", "1795204139"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("user.gz"));
  EXPECT_THAT(done.out, HasSubstr("54 records  570913887729.509"));
  EXPECT_THAT(done.out, HasSubstr("published as stats"));
  EXPECT_THAT(done.err,
              HasSubstr("unknown user 31337, the owner of host 19; the host is written without an owner"));
  const json manifest = json::parse(Read(dir_ / "stats/manifest.json"));
  EXPECT_EQ(manifest["time"], 1795204139);
  EXPECT_EQ(manifest["base"], nullptr);
  EXPECT_EQ(manifest["files"].size(), Names("stats").size() - 1);
}

TEST_F(ProgramExport, WithoutOutTheSpecNamesTheDirectory) {
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
  EXPECT_THAT(read.out, HasSubstr("all outputs match when read back"));
  EXPECT_EQ(Run({"--read", "next"}).code, 2);
}

TEST_F(ProgramExport, ADeathInPublicationLeavesAWholeExport) {
  ASSERT_EQ(Export("a_default", {"--out", "stats", "--now", "1"}).code, 0);
  // The third export reaches X3 once before, when it cleans up after the second.
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

TEST_F(ProgramExport, AnErrorIsNamedAndNothingIsPublished) {
  std::ofstream(dir_ / "bad.xml") << "<boinc_db_dump_spec>\n<enumeration>\n<table>usr</table>";
  std::ofstream(dir_ / "bad.json") << "{\"users\": [\n{\"id\": 1},\n{\"id\": 1";
  const std::string spec = Golden("a_default/db_dump.xml");
  struct Case {
    std::vector<std::string> arguments;
    int code;
    std::string says;
  };
  const Case kCases[] = {
      {{}, 2, "set --spec to the outputs to export"},
      {{"--entities", Golden("entities.json"), "--spec", "bad.xml", "--out", "o"},
       2,
       "bad.xml, line 3: unknown table 'usr'"},
      {{"--entities", Golden("entities.json"), "--spec", "none.xml", "--out", "o"}, 3, "none.xml"},
      {{"--entities", "bad.json", "--spec", spec, "--out", "o"},
       2,
       "bad.json, line 2: the row has no 'teamid'"},
      {{"--entities", "none.json", "--spec", spec, "--out", "o"}, 3, "none.json"},
      {{"--entities", Golden("entities.json"), "--spec", spec, "--out", "o", "--setting", "user=1"},
       2,
       "unknown setting 'user'"},
      {{"--entities", Golden("entities.json"), "--spec", spec, "--out", "no/where"}, 2, "no directory no"},
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
