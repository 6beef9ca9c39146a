// `cobblestone adopt` as a user starts it: once, repeated, killed in between, with a changed file, with statistics
// rows, through the running program; and every total from then on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
using testing::AskProgram;
using testing::Background;
using testing::Finished;
using ::testing::HasSubstr;
using testing::RunProgram;

const std::string kGolden = std::string(COBBLESTONE_SOURCE_DIR) + "/tests/golden/export/entities.json";
constexpr int kKilled = 128 + SIGKILL;

class ProgramAdopt : public ::testing::Test {
 protected:
  Finished Run(const std::vector<std::string>& arguments) { return RunProgram(dir_.path(), arguments); }
  Finished Adopt(const std::string& file, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"adopt", file, "--data", "data"});
    return Run(more);
  }
  json AdoptJson(const std::string& file, std::vector<std::string> more = {}) {
    more.push_back("--json");
    const Finished done = Adopt(file, more);
    const json answer = json::parse(done.out, nullptr, false);
    EXPECT_TRUE(answer.is_object()) << done.out << done.err;
    return answer;
  }
  json Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--data", "data"});
    return AskProgram(dir_.path(), arguments);
  }
  void ExpectCleanAudit(std::uint64_t openings) {
    const json audit = Ask({"audit"});
    EXPECT_EQ(audit["problem_count"], 0) << audit.dump(1);
    EXPECT_EQ(audit["opening_balances"], openings);
    const json since = Ask({"audit", "--since"});
    EXPECT_EQ(since["problem_count"], 0) << since.dump(1);
    EXPECT_EQ(since["since"]["grants"], audit["grants"]);
    EXPECT_EQ(since["opening_balances"], 0);
    EXPECT_EQ(since["accounts"], audit["accounts"]);
  }
  void Write(const std::string& file, const std::string& text) {
    std::ofstream(dir_ / file, std::ios::binary | std::ios::trunc) << text;
  }
  // A project of `users` users, with a host for each user and a team for every ten.
  void WriteProject(const std::string& file, int users) {
    std::ostringstream text;
    const auto figures = [&](int id, double factor) {
      text << R"("total_credit":)" << 1000.5 * id * factor << R"(,"expavg_credit":)" << 0.125 * id
           << R"(,"expavg_time":)" << 1700000000 + id;
    };
    text << R"({"users":[)";
    for (int id = 1; id <= users; ++id) {
      text << (id > 1 ? ",\n" : "") << R"({"id":)" << id << R"(,"name":"user )" << id
           << R"(","create_time":1,)";
      figures(id, 1);
      text << R"(,"cross_project_id":"c)" << id << R"(","email_addr":"e)" << id
           << R"(","country":"None","url":null,"teamid":)" << (id + 9) / 10
           << R"(,"has_profile":0,"show_hosts":1,"authenticator":"a"})";
    }
    text << "],\n"
         << R"("teams":[)";
    for (int id = 1; id <= (users + 9) / 10; ++id) {
      text << (id > 1 ? ",\n" : "") << R"({"id":)" << id << R"(,"create_time":1,"userid":)" << id
           << R"(,"name":"team","type":1,)";
      figures(id, 10);
      text << R"(,"url":"","name_html":"","description":"","country":""})";
    }
    text << "],\n"
         << R"("hosts":[)";
    for (int id = 1; id <= users; ++id) {
      text << (id > 1 ? ",\n" : "") << R"({"id":)" << id << R"(,"create_time":1,"userid":)" << id
           << R"(,"rpc_time":2,)";
      figures(id, 1);
      text
          << R"(,"timezone":0,"domain_name":"d","p_ncpus":4,"p_vendor":"v","p_model":"m","p_fpops":1e9,)"
          << R"("p_iops":2e9,"p_membw":3,"os_name":"o","os_version":"1","m_nbytes":1,"m_cache":1,"m_swap":1,)"
          << R"("d_total":1,"d_free":1,"n_bwup":1,"n_bwdown":1,"avg_turnaround":1,"credit_per_cpu_sec":1,)"
          << R"("host_cpid":"h","misc":""})";
    }
    text << "]}\n";
    Write(file, text.str());
  }

  testing::TempDir dir_;
};

TEST_F(ProgramAdopt, AProjectIsAdoptedOnceHoweverOftenItIsSent) {
  const Finished first = Adopt(kGolden, {"--project", "7"});
  ASSERT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_THAT(first.out, HasSubstr("the difference is 0"));
  EXPECT_THAT(first.out, HasSubstr("3 totals are not valid balances"));
  EXPECT_THAT(first.out, HasSubstr("2 hosts belong to users without a row"));
  for (int run = 0; run < 2; ++run) {
    const json again = AdoptJson(kGolden, {"--project", "7"});
    EXPECT_EQ(again["taken_in"], 0);
    EXPECT_EQ(again["known_before"], again["events"]);
    EXPECT_EQ(again["refused"], 0);
    EXPECT_TRUE(again["difference"].empty()) << again.dump(1);
    EXPECT_EQ(again["pipeline"]["users"]["accounts"], 60);
    EXPECT_EQ(again["pipeline"]["teams"]["accounts"], 12);
    EXPECT_EQ(again["pipeline"]["hosts"]["profiles"], 90);
    EXPECT_EQ(again["pipeline"]["hosts"]["figures"], again["read"]["hosts"]["figures"]);
  }
  EXPECT_THAT(Adopt(kGolden, {"--project", "7"}).out, HasSubstr("no new events"));
  // Under another source name all events are sent again, and are repeats.
  const json renamed = AdoptJson(kGolden, {"--project", "7", "--source", "other"});
  EXPECT_EQ(renamed["taken_in"], renamed["events"]);
  EXPECT_EQ(renamed["refused"], 0);
  EXPECT_TRUE(renamed["difference"].empty()) << renamed.dump(1);
  ExpectCleanAudit(60 + 12 + 90);
  const json user = Ask({"account", "user", "1", "--project", "7"});
  EXPECT_EQ(user["opening"], "4369010.125371");
  EXPECT_EQ(user["total"], "4369010.125371");
  EXPECT_EQ(user["rac"], 3731.1897882306853);
}

TEST_F(ProgramAdopt, AnInterruptedAdoptionIsFinishedByTheNext) {
  WriteProject("project.json", 4000);
  const json expected = AdoptJson("project.json", {"--dry-run"})["read"];
  int killed = 0;
  for (const int write : {1, 2, 3, 4, 5, 6, 8, 13}) {
    std::filesystem::remove_all(dir_ / "data");
    {
      Background program(dir_.path(), {"adopt", "project.json", "--data", "data"},
                         "E4:" + std::to_string(write));
      killed += program.Wait() == kKilled ? 1 : 0;
    }
    const json done = AdoptJson("project.json");
    EXPECT_EQ(done["refused"], 0);
    EXPECT_EQ(done["known_before"].get<std::uint64_t>() + done["taken_in"].get<std::uint64_t>(),
              done["events"]);
    EXPECT_TRUE(done["difference"].empty()) << done.dump(1);
    EXPECT_EQ(done["read"], expected);
    ExpectCleanAudit(4000 + 400 + 4000);
  }
  EXPECT_GE(killed, 5) << "too few kills in the middle of the adoption";
}

TEST_F(ProgramAdopt, AChangedFileIsReportedAndNothingHappens) {
  WriteProject("project.json", 50);
  ASSERT_EQ(Adopt("project.json").code, 0);
  const json before = AdoptJson("project.json");
  for (const int users : {49, 51}) {
    WriteProject("project.json", users);
    const Finished changed = Adopt("project.json");
    EXPECT_EQ(changed.code, 2);
    EXPECT_THAT(changed.err,
                HasSubstr("differs from the file that was adopted under the name 'project.json'"));
    EXPECT_EQ(changed.out, "");
  }
  WriteProject("project.json", 50);
  EXPECT_EQ(AdoptJson("project.json")["pipeline"], before["pipeline"]);
  // Under another name and time it is another description of the same adoption: everything is refused, and balances
  // stay.
  const json later = AdoptJson("project.json", {"--time", "1700000000", "--source", "later"});
  EXPECT_EQ(later["refused"], later["events"]);
  EXPECT_EQ(later["pipeline"], before["pipeline"]);
  ExpectCleanAudit(105);
}

TEST_F(ProgramAdopt, ADryRunSendsNothing) {
  const Finished dry = Adopt(kGolden, {"--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("no events were sent"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "data"));
}

TEST_F(ProgramAdopt, ATotalIsTheOpeningPlusLaterGrants) {
  ASSERT_EQ(Adopt(kGolden).code, 0);
  ASSERT_EQ(Run({"generate", "events.jsonl", "--results", "400", "--hosts", "20", "--seed", "3", "--policy",
                 "runtime"})
                .code,
            0);
  const Finished ingested = Run({"ingest", "events.jsonl", "--data", "data"});
  ASSERT_EQ(ingested.code, 0) << ingested.out << ingested.err;
  ExpectCleanAudit(60 + 12 + 90);
  const auto micro = [](const json& text) {
    std::string digits = text.get<std::string>();
    std::erase(digits, '.');
    return std::stoll(digits);
  };
  int grown = 0;
  for (const char* kind : {"user", "host"}) {
    for (int id = 1; id <= 8; ++id) {
      const json account = Ask({"account", kind, std::to_string(id)});
      if (!account.contains("total")) continue;
      long long granted = 0;
      for (const json& app : account["apps"]) granted += micro(app["total"]);
      EXPECT_EQ(micro(account["total"]), micro(account["opening"]) + granted) << account.dump();
      grown += granted > 0 && micro(account["opening"]) > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(grown, 3);
  EXPECT_TRUE(AdoptJson(kGolden)["difference"].empty()) << "openings are unchanged";
  const Finished shown = Run({"account", "user", "1", "--data", "data"});
  EXPECT_THAT(shown.out, HasSubstr("opening balance"));
}

TEST_F(ProgramAdopt, StatisticsRowsAreAdoptedAndUnknownVersionsRefused) {
  Write(
      "catalogue.jsonl",
      R"({"id":1,"project":1,"time":1700000000,"app":{"app":1,"name":"a","policy":"boinc"}})"
      "\n"
      R"({"id":1,"project":1,"time":1700000000,"app_version":{"app_version":9,"app":1,"version_num":100,"platform":1}})"
      "\n");
  ASSERT_EQ(Run({"ingest", "catalogue.jsonl", "--data", "data"}).code, 0);
  Write(
      "rows.jsonl",
      R"({"kind":"app_version","app_version":9,"pfc":{"n":300,"avg":2},"pfc_scale":0.5,"expavg_credit":3,"expavg_time":4})"
      "\n"
      R"({"kind":"app_version","app_version":10,"pfc":{"n":1,"avg":1},"pfc_scale":1,"expavg_credit":0,"expavg_time":0})"
      "\n"
      R"({"kind":"app","app":1,"min_avg_pfc":1.25})"
      "\n"
      R"({"kind":"host_version","host":1,"app_version":9,"app":1,"pfc":{"n":30,"avg":0.75},"et":{"n":4,"avg":1e-10,"var":0,"q":0},"turnaround":{"n":5,"avg":100,"var":0,"q":0},"consecutive_valid":11,"max_jobs_per_day":8})"
      "\n");
  const json done = AdoptJson(kGolden, {"--statistics", "rows.jsonl"});
  EXPECT_EQ(done["statistics"]["host_versions"], 1);
  EXPECT_EQ(done["refused"], 1);
  EXPECT_EQ(done["refused_events"][0]["reason"], "UNKNOWN_APP_VERSION");
  EXPECT_TRUE(done["difference"].empty()) << done.dump(1);
  EXPECT_EQ(Ask({"host-version", "1", "9"})["rows"][0]["pfc"]["mean"], 0.75);
  const json scales = Ask({"scales"});
  EXPECT_THAT(scales.dump(), HasSubstr("1.25"));
}

TEST_F(ProgramAdopt, WorksTheSameThroughTheRunningProgram) {
  Write("run.yaml", "data_directory: data\npartitions: 3\n");
  Background program(dir_.path(), {"run", "--config", "run.yaml"});
  ASSERT_TRUE(program.WaitFor("running")) << program.err();
  const json done = AdoptJson(kGolden);
  EXPECT_EQ(done["taken_in"], done["events"]);
  EXPECT_TRUE(done["difference"].empty()) << done.dump(1);
  EXPECT_EQ(AdoptJson(kGolden)["taken_in"], 0);
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(AdoptJson(kGolden)["pipeline"], done["pipeline"]);
}

TEST_F(ProgramAdopt, AnErrorInTheFileIsLocatedAndNothingIsIngested) {
  WriteProject("good.json", 3);
  std::ifstream in(dir_ / "good.json");
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  const auto with = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    return text.replace(text.find(what), what.size(), by);
  };
  const std::tuple<std::string, std::string, int> cases[] = {
      {with(R"({"id":2,"name")", R"({"id":1,"name")"), "has the number 1 twice", 2},
      {with(R"({"id":2,"name")", R"({"id":0,"name")"), "is not a valid number", 2},
      {good.substr(0, good.size() / 2), "is truncated", 2},
      {with(R"("teamid":1,)", ""), "the row has no 'teamid'", 2},
      {with(R"("teamid":1,)", R"("teamid":"one",)"), "'teamid' cannot be text", 2},
  };
  for (const auto& [text, says, code] : cases) {
    Write("bad.json", text);
    const Finished bad = Adopt("bad.json");
    EXPECT_EQ(bad.code, code) << bad.out;
    EXPECT_THAT(bad.err, HasSubstr(says));
    EXPECT_THAT(bad.err, HasSubstr("bad.json, line "));
  }
  EXPECT_EQ(Adopt("none.json").code, 3);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "data"));
  EXPECT_EQ(Adopt("good.json").code, 0);
}

}  // namespace
}  // namespace cobblestone
