// A federation hub's collector: a local server plays a stock BOINC project; the built program fetches its files, and the hub
// answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/e2e/gateway_process.h"
#include "tests/support/signing_project.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr std::uint64_t kMonday = 1790000000;
constexpr std::uint64_t kDay = 86400;

struct Account {
  int id = 0;
  std::string total;
  std::string name{};
  std::string cpid = "e6548b6c3d364685ae9221e0abe10098";
};

std::string UsersFile(const std::vector<Account>& users) {
  std::string text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<users>\n";
  for (const Account& user : users)
    text +=
        "<user>\n <id>" + std::to_string(user.id) + "</id>\n <name>" + user.name +
        "</name>\n <create_time>1003711477</create_time>\n <total_credit>" + user.total +
        "</total_credit>\n <expavg_credit>0.500000</expavg_credit>\n <expavg_time>1789999999.0</expavg_time>\n" +
        " <cpid>" + user.cpid + "</cpid>\n</user>\n";
  return text + "</users>\n";
}

// Plays the web server of a project.
class Project {
 public:
  Project() {
    server_.set_error_handler(
        [](const httplib::Request&, httplib::Response& response) { response.body = ""; });
    server_.Get("/.*", [this](const httplib::Request& request, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      if (const auto failure = failures_.find(request.path); failure != failures_.end()) {
        response.status = failure->second;
        return;
      }
      const auto file = files_.find(request.path);
      if (file == files_.end()) {
        response.status = 404;
        return;
      }
      response.set_header("ETag", "\"1\"");
      if (stuck_ && request.has_header("If-None-Match")) {
        response.status = 304;
        return;
      }
      response.set_content(file->second, "application/xml");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  ~Project() {
    server_.stop();
    thread_.join();
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }
  void Serve(const std::string& path, const std::string& text) {
    const std::lock_guard lock(mutex_);
    files_[path] = text;
  }
  // From now on the path has this status. 0: as before.
  void Fail(const std::string& path, int status) {
    const std::lock_guard lock(mutex_);
    failures_[path] = status;
    if (status == 0) failures_.erase(path);
  }
  void Remove(const std::string& path) {
    const std::lock_guard lock(mutex_);
    files_.erase(path);
  }
  // From now on no file has ever changed, as an overlooked cache says.
  void BeStuck() {
    const std::lock_guard lock(mutex_);
    stuck_ = true;
  }
  // An export of that day with these users.
  void Export(std::uint64_t time, const std::vector<Account>& users, const std::string& sum, int teams = 0,
              const std::string& directory = "/stats/") {
    Serve(directory + "tables.xml",
          "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<tables>\n    <update_time>" + std::to_string(time) +
              "</update_time>\n<nusers_total>" + std::to_string(users.size()) + "</nusers_total>\n" +
              (teams > 0 ? "<nteams_total>" + std::to_string(teams) + "</nteams_total>\n" : "") +
              "<total_credit>" + sum + "</total_credit>\n</tables>\n");
    Serve(directory + "user.xml", UsersFile(users));
  }

 private:
  httplib::Server server_;
  std::mutex mutex_;
  std::map<std::string, std::string> files_;
  std::map<std::string, int> failures_;
  bool stuck_ = false;
  int port_ = 0;
  std::thread thread_;
};

class HubCollect : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(dir_ / "key.pem") << signer_.PublicKey();
    served_ = std::make_unique<Served>(dir_, "role: hub\nprojects:\n  - {id: 4, name: Rosewood, url: \"" +
                                                 project_.url() + "\", statistics: \"" + project_.url() +
                                                 "stats/\", ownership_key: \"" + (dir_ / "key.pem") +
                                                 "\", points_per_cobblestone: 7}\n");
    ASSERT_TRUE(served_->Start()) << served_->process().err();
  }
  // One round; its log.
  std::string Collect() {
    const Finished done = RunProgram(
        dir_.path(), {"hub", "collect", "--once", "--private-addresses", "--config", "served.yaml"});
    EXPECT_EQ(done.code, 0) << done.err;
    return done.err;
  }
  // The same with a clock that is wrong by so many seconds; its exit code and its log.
  std::pair<int, std::string> CollectAt(std::int64_t seconds) {
    Background collector(
        dir_.path(), {"hub", "collect", "--once", "--private-addresses", "--config", "served.yaml"}, "",
        {{"LD_PRELOAD", COBBLESTONE_OTHER_CLOCK}, {"COBBLESTONE_OTHER_CLOCK", std::to_string(seconds)}});
    const int code = collector.Wait();
    return {code, collector.err()};
  }
  // An answer about the project once `wanted` of it is true, because answers lag behind the pipeline. Null: 404.
  json GetOnce(const std::string& path, const std::function<bool(const json&)>& wanted) {
    json data;
    (void)served_->GetUntil("/api/v1/federation/projects/4" + path, [&](const Reply& reply) {
      data = reply.status == 200 ? reply.json()["data"] : json();
      return wanted(data);
    });
    return data;
  }
  // The project with that many editions, of which none is arriving.
  json Editions(std::size_t count) {
    const json project = GetOnce("", [&](const json& data) {
      return data.is_object() && data["editions"].size() == count && data["arriving_edition"] == 0;
    });
    EXPECT_EQ(project["editions"].size(), count) << project;
    return project;
  }
  json User(int id, const std::string& total) {
    const json user = GetOnce("/users/" + std::to_string(id),
                              [&](const json& data) { return data.is_object() && data["total"] == total; });
    EXPECT_EQ(user["total"], total) << user;
    return user;
  }
  bool Unknown(int id) {
    return GetOnce("/users/" + std::to_string(id), [](const json& data) { return data.is_null(); }).is_null();
  }

  // The exit code of `hub proof` and what it printed.
  std::pair<int, std::string> HandIn(const std::string& message, const std::string& signature) {
    std::ofstream(dir_ / "proof.xml") << "<account_ownership_verification>\n<master_url>" << project_.url()
                                      << "</master_url>\n<msg>" << message << "</msg>\n<signature>"
                                      << signature << "</signature>\n</account_ownership_verification>\n";
    const Finished done = RunProgram(dir_.path(), {"hub", "proof", "proof.xml", "--config", "served.yaml"});
    return {done.code, done.out + done.err};
  }

  // The files that `cobblestone export` has published in this directory.
  void ServeExport(const std::string& directory) {
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / directory)) {
      std::ifstream file(entry.path(), std::ios::binary);
      project_.Serve("/stats/" + entry.path().filename().string(),
                     std::string{std::istreambuf_iterator<char>(file), {}});
    }
  }

  TempDir dir_;
  Project project_;
  SigningProject signer_;
  std::unique_ptr<Served> served_;
};

TEST_F(HubCollect, AnExportIsImportedAsAWholeAndOnlyItsChangesAreSent) {
  project_.Export(kMonday, {{1, "100.000000", "Ann"}, {2, "50.500000", "Zo&#195;&#169;"}}, "150.500000");
  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  json user = User(1, "100.000000");
  EXPECT_EQ(user["name"], "Ann");
  EXPECT_EQ(user["cpid"], "e6548b6c3d364685ae9221e0abe10098");
  EXPECT_EQ(User(2, "50.500000")["name"], "Zoé");
  json project = Editions(1);
  EXPECT_EQ(project["editions"][0]["whole"], true);
  EXPECT_EQ(project["editions"][0]["published_time"], kMonday);

  // The same export again: nothing is sent.
  EXPECT_EQ(Collect().find("is complete"), std::string::npos);
  (void)Editions(1);

  // The next day user 1 has earned 25, user 2 has not changed, and user 3 is new.
  project_.Export(kMonday + kDay,
                  {{1, "125.000000", "Ann"}, {2, "50.500000", "Zo&#195;&#169;"}, {3, "1.000000", "Cem"}},
                  "176.500000");
  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  user = User(1, "125.000000");
  ASSERT_EQ(user["days"].size(), 1u);
  EXPECT_EQ(user["days"][0]["credit"], "25.000000");
  EXPECT_EQ(User(3, "1.000000")["name"], "Cem");
  project = Editions(2);
  EXPECT_EQ(project["editions"][0]["whole"], false);
  EXPECT_EQ(project["editions"][0]["sums"][0]["accounts"], 3);
  EXPECT_EQ(project["editions"][0]["sums"][0]["changed"], 2) << "users 1 and 3";
  EXPECT_EQ(project["editions"][0]["sums"][0]["total"], "176.500000");
}

// The operator says since which day seven points are one Cobblestone, 2026-09-22, after two editions.
TEST_F(HubCollect, PointsThatCountSinceADayLeaveEarlierCreditAsItIs) {
  std::ifstream file(dir_ / "served.yaml");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string all = "points_per_cobblestone: 7";
  ASSERT_NE(text.find(all), std::string::npos);
  std::ofstream(dir_ / "dated.yaml") << text.replace(text.find(all), all.size(),
                                                     all + ", points_since: 2026-09-22");
  const std::string person = "/api/v1/federation/person?cpid=e6548b6c3d364685ae9221e0abe10098";
  const auto total = [&](const std::string& wanted) {
    const Reply reply = served_->GetUntil(
        person, [&](const Reply& r) { return r.status == 200 && r.json()["data"]["total"] == wanted; });
    EXPECT_EQ(reply.json()["data"]["total"], wanted) << reply.body;
    return reply.json()["data"];
  };
  project_.Export(kMonday - kDay, {{1, "100.000000", "Ann"}, {2, "50.000000", "Bo"}}, "150.000000");
  Collect();
  project_.Export(kMonday, {{1, "135.000000", "Ann"}, {2, "50.000000", "Bo"}}, "185.000000");
  Collect();
  total("19.285714");  // 135 / 7: of all credit
  project_.Export(kMonday + kDay, {{1, "205.000000", "Ann"}, {2, "50.000000", "Bo"}}, "255.000000");
  const Finished done =
      RunProgram(dir_.path(), {"hub", "collect", "--once", "--private-addresses", "--config", "dated.yaml"});
  EXPECT_EQ(done.code, 0) << done.err;
  const json ann = total("145.000000");  // 100 when she was first seen, 35 on Monday, 70 / 7
  const json days = json::array({{{"day", kMonday / kDay}, {"credit", {{"4", "35.000000"}}}},
                                 {{"day", kMonday / kDay + 1}, {"credit", {{"4", "10.000000"}}}}});
  EXPECT_EQ(ann["days"], days);
  EXPECT_EQ(ann["accounts"][0]["total"], "205.000000");
  EXPECT_EQ(ann["accounts"][0]["cobblestones"], "145.000000");
  const json people = served_->Get("/api/v1/federation/people").json();
  EXPECT_EQ(people["data"][0]["total"], "145.000000");
  EXPECT_EQ(people["data"][1]["total"], "50.000000");
  const json project = Editions(3);
  EXPECT_EQ(project["points_per_cobblestone"], 7);
  EXPECT_EQ(project["points_since"], kMonday / kDay + 1);
  EXPECT_EQ(project["total"], "255.000000");
  EXPECT_EQ(project["cobblestones"], "195.000000");
  const std::string xml =
      served_->Get("/get_user_credit_history.php?cpid=e6548b6c3d364685ae9221e0abe10098").body;
  EXPECT_THAT(xml, HasSubstr("<day_91>145.000000</day_91>"));
}

TEST_F(HubCollect, AnEmptyFileIsHeldUntilAnOperatorReleasesIt) {
  project_.Export(kMonday, {{1, "100.000000", "Ann"}}, "100.000000");
  Collect();
  (void)Editions(1);
  project_.Export(kMonday + kDay, {}, "0.000000");
  EXPECT_THAT(Collect(), HasSubstr("is held"));
  json project = Editions(2);
  EXPECT_EQ(project["editions"][0]["state"], "held");
  EXPECT_NE(project["held_edition"], 0);
  EXPECT_THAT(
      project["held_next_step"].get<std::string>(),
      HasSubstr("If the files are right, stop the collector, run `cobblestone hub release 4 --config "));
  EXPECT_EQ(project["held_reason"].get<std::string>().find("release"), std::string::npos);
  EXPECT_EQ(User(1, "100.000000")["name"], "Ann") << "a silent project is unknown, never zero";
  const std::string person = "/api/v1/federation/person?cpid=e6548b6c3d364685ae9221e0abe10098";
  EXPECT_EQ(served_->Get(person).json()["data"]["total"], "14.285714") << "7 points are one";
  // It is held once, however often it is fetched.
  Collect();
  (void)Editions(2);

  const Finished released = RunProgram(dir_.path(), {"hub", "release", "4", "--config", "served.yaml"});
  EXPECT_EQ(released.code, 0) << released.err;
  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  project = Editions(3);
  EXPECT_EQ(project["editions"][0]["released"], true);
  EXPECT_TRUE(Unknown(1));
  EXPECT_EQ(served_->Get(person).status, 404) << "nobody has 0 because they left";
}

// tables.xml is always fetched. Its new sums show that the file, which the server says is the same, is not of this export.
TEST_F(HubCollect, AFileThatFalselyHasNotChangedIsHeld) {
  project_.Export(kMonday, {{1, "100.000000", "Ann"}}, "100.000000");
  Collect();
  (void)Editions(1);
  project_.BeStuck();
  project_.Export(kMonday + kDay, {{1, "125.000000", "Ann"}}, "125.000000");
  EXPECT_THAT(Collect(), HasSubstr("the users have 100 Cobblestones in all, but tables.xml says 125"));
  EXPECT_EQ(Editions(2)["editions"][0]["state"], "held");
  EXPECT_EQ(User(1, "100.000000")["name"], "Ann");
}

TEST_F(HubCollect, FilesWithoutTablesXmlAreHeldUntilAnOperatorReleasesThem) {
  project_.Serve("/stats/user.xml", UsersFile({{1, "100.000000", "Ann"}}));
  EXPECT_THAT(Collect(),
              AllOf(HasSubstr("is held: users: there is no tables.xml to compare the file with"),
                    HasSubstr("What to do: Look whether tables.xml is at the address of the statistics"),
                    HasSubstr("If a second fetch an hour later has the same contents, they are accepted")));
  EXPECT_EQ(Editions(1)["editions"][0]["state"], "held");
  const Finished released = RunProgram(dir_.path(), {"hub", "release", "4", "--config", "served.yaml"});
  EXPECT_EQ(released.code, 0) << released.err;
  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  EXPECT_EQ(User(1, "100.000000")["name"], "Ann");
}

std::string TeamsFile(const std::string& teams) {
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<teams>\n" + teams + "</teams>\n";
}
constexpr const char* kTeam =
    "<team>\n <id>5</id>\n <type>1</type>\n <name>T</name>\n <userid>1</userid>\n"
    " <total_credit>9.000000</total_credit>\n <expavg_credit>0.000000</expavg_credit>\n"
    " <expavg_time>1789999999.0</expavg_time>\n <create_time>1003711477</create_time>\n</team>\n";

// The users of the edition are good, its teams are empty: nothing of it takes effect. Once the project has repaired the
// file, without a new tables.xml, the whole edition does.
TEST_F(HubCollect, AnEditionWithOneBadFileIsFetchedAgainAsAWhole) {
  project_.Serve("/stats/team.xml", TeamsFile(kTeam));
  project_.Export(kMonday, {{1, "100.000000", "Ann"}}, "100.000000", 1);
  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  (void)Editions(1);
  project_.Export(kMonday + kDay, {{1, "125.000000", "Ann"}}, "125.000000", 1);
  project_.Serve("/stats/team.xml", TeamsFile(""));
  EXPECT_THAT(Collect(), HasSubstr("teams: "));
  (void)Editions(2);
  EXPECT_EQ(User(1, "100.000000")["days"].size(), 0u);

  project_.Serve("/stats/team.xml", TeamsFile(kTeam));
  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  EXPECT_EQ(User(1, "125.000000")["days"].size(), 1u);
}

TEST_F(HubCollect, ABrokenFigureHoldsTheFileWithItsLine) {
  project_.Export(kMonday, {{1, "17\r\n1000\r\n446.350588", "Ann"}}, "17446.350588");
  EXPECT_THAT(Collect(), HasSubstr("user.xml:7"));
  const Finished released = RunProgram(dir_.path(), {"hub", "release", "4", "--config", "served.yaml"});
  EXPECT_EQ(released.code, 3);
  EXPECT_THAT(released.err, HasSubstr("cannot be read, so there is nothing to accept: user.xml:7"));
  EXPECT_EQ(Editions(1)["editions"][0]["state"], "held");
  EXPECT_TRUE(Unknown(1));
}

// Events that are three days ahead of the hub are refused. The collector says so, counts none of them as sent, and sends them
// again once its clock is right.
TEST_F(HubCollect, WhatTheHubRefusesIsNotSentAndIsSentAgain) {
  project_.Export(kMonday, {{1, "100.000000", "Ann"}}, "100.000000");
  const auto [code, log] = CollectAt(3 * 86400);
  EXPECT_EQ(code, 1) << log;
  EXPECT_THAT(log, HasSubstr("FROM_THE_FUTURE"));
  EXPECT_THAT(log, HasSubstr("the hub has refused what was sent about the project"));
  EXPECT_THAT(log, HasSubstr("the hub has refused edition ")) << "of a project that it does not know";
  EXPECT_THAT(log, Not(HasSubstr("is complete")));
  EXPECT_THAT(log, HasSubstr("accepted=2 refused=3"))
      << "the account, and a barrier, which belongs to no project";
  EXPECT_TRUE(Unknown(1));

  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  json project = Editions(1);
  EXPECT_EQ(project["name"], "Rosewood");
  EXPECT_EQ(project["points_per_cobblestone"], 7);
  EXPECT_EQ(User(1, "100.000000")["name"], "Ann");

  // Without tables.xml an edition has the collector's time. The accounts that are refused are not taken as known.
  project_.Export(kMonday + kDay, {{1, "125.000000", "Ann"}, {2, "7.000000", "Bo"}}, "132.000000");
  project_.Remove("/stats/tables.xml");
  EXPECT_EQ(CollectAt(3 * 86400).first, 1) << "the refused held edition is no edition";
  (void)Editions(1);
  project_.Export(kMonday + kDay, {{1, "125.000000", "Ann"}, {2, "7.000000", "Bo"}}, "132.000000");
  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  project = Editions(2);
  EXPECT_EQ(project["editions"][0]["whole"], true);
  EXPECT_EQ(User(2, "7.000000")["name"], "Bo");
}

// An operator adds a project to the configuration, and starts the collector again, but not the hub.
TEST_F(HubCollect, AProjectThatTheRunningHubHasNotHeardOfIsCollected) {
  std::ifstream file(dir_ / "served.yaml");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string known = "id: 4, name: Rosewood";
  ASSERT_NE(text.find(known), std::string::npos);
  std::ofstream(dir_ / "more.yaml") << text.replace(text.find(known), known.size(), "id: 5, name: Elm");
  project_.Export(kMonday, {{1, "100.000000", "Ann"}}, "100.000000");
  const Finished done =
      RunProgram(dir_.path(), {"hub", "collect", "--once", "--private-addresses", "--config", "more.yaml"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("is complete"));
}

TEST_F(HubCollect, AfterTheLossOfItsDirectoryTheNextEditionIsWhole) {
  project_.Export(kMonday, {{1, "100.000000", "Ann"}, {2, "7.000000", "Bo"}}, "107.000000");
  Collect();
  (void)Editions(1);
  std::filesystem::remove_all(dir_.path() + "/data/feeds");
  project_.Export(kMonday + kDay, {{1, "100.000000", "Ann"}}, "100.000000");
  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  EXPECT_EQ(Editions(2)["editions"][0]["whole"], true);
  EXPECT_EQ(User(1, "100.000000")["name"], "Ann");
  EXPECT_TRUE(Unknown(2)) << "not in the whole edition";
}

// User 3 withdraws the consent: the file lacks them, tables.xml still counts them and their 7 Cobblestones.
TEST_F(HubCollect, WhatAProjectDoesNotShowStillAddsUp) {
  project_.Export(kMonday, {{1, "100.000000", "Ann"}, {2, "50.500000", "Bo"}, {3, "7.000000", "Cem"}},
                  "157.500000");
  Collect();
  EXPECT_EQ(Editions(1)["editions"][0]["sums"][0]["not_shown"]["accounts"], 0);
  project_.Export(kMonday + kDay, {{1, "100.000000", "Ann"}, {2, "50.500000", "Bo"}}, "157.500000");
  project_.Serve(
      "/stats/tables.xml",
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<tables>\n    <update_time>" +
          std::to_string(kMonday + kDay) +
          "</update_time>\n<nusers_total>3</nusers_total>\n<total_credit>157.500000</total_credit>\n"
          "</tables>\n");
  EXPECT_THAT(Collect(), HasSubstr("1 of 3 users are missing")) << "one in three is more than one in twenty";
  (void)Editions(2);
  ASSERT_EQ(RunProgram(dir_.path(), {"hub", "release", "4", "--config", "served.yaml"}).code, 0);
  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  const json users = Editions(3)["editions"][0]["sums"][0];
  EXPECT_EQ(users["total"], "150.500000");
  EXPECT_EQ(users["not_shown"]["accounts"], 1);
  EXPECT_EQ(users["not_shown"]["total"], "7.000000");
  EXPECT_TRUE(Unknown(3));
}

TEST_F(HubCollect, AnOwnerHandsInAProofOfTheProject) {
  const std::string message = "1 cobblestone leaves 2023-11-27";
  project_.Export(kMonday, {{1, "100.000000", "Ann"}}, "100.000000");
  Collect();
  EXPECT_EQ(Editions(1)["points_per_cobblestone"], 7);
  const auto [code, text] = HandIn(message, signer_.Sign(message));
  EXPECT_EQ(code, 0) << text;
  EXPECT_EQ(text, "accepted: " + message + "\n");
  const auto [forged, why] = HandIn(message, SigningProject().Sign(message));
  EXPECT_EQ(forged, 1) << why;
  EXPECT_THAT(why, HasSubstr("has not signed this proof of ownership"));
  const auto [strange, what] = HandIn("1 of another hub", signer_.Sign("1 of another hub"));
  EXPECT_EQ(strange, 2);
  EXPECT_THAT(what, HasSubstr("no statement for this hub"));
}

TEST_F(HubCollect, TheConditionOfAProjectIsAFact) {
  project_.Serve(
      "/get_project_config.php",
      "<?xml version=\"1.0\" ?>\n<project_config>\n<name>Rosewood</name>\n<master_url>" + project_.url() +
          "</master_url>\n<web_stopped>0</web_stopped>\n<sched_stopped>1</sched_stopped>\n</project_config>\n");
  std::string daemons;  // more of them than the reason of a condition can name
  for (int i = 0; i < 5000; ++i)
    daemons += "<daemon><command>Scheduler</command><host>host</host><status>disabled</status></daemon>\n";
  project_.Serve("/server_status.php",
                 "<server_status>\n<daemon_status>\n" + daemons + "</daemon_status>\n</server_status>\n");
  project_.Export(kMonday, {{1, "100.000000", "Ann"}}, "100.000000");
  Collect();
  const json project =
      GetOnce("", [](const json& data) { return data.is_object() && data["condition"] == "stopped"; });
  EXPECT_EQ(project["name"], "Rosewood");
  EXPECT_EQ(project["condition"], "stopped") << project;
  EXPECT_FALSE(project.contains("condition_next_step")) << "only the project can do something";

  project_.Serve("/get_project_config.php",
                 "<?xml version=\"1.0\" ?>\n<project_config>\n<name>Rosewood</name>\n<master_url>"
                 "https://new.example/</master_url>\n</project_config>\n");
  project_.Serve("/server_status.php", "");
  Collect();
  const json moved =
      GetOnce("", [](const json& data) { return data.is_object() && data["condition"] == "moved"; });
  EXPECT_EQ(moved["condition_reason"], "the project says that its URL is https://new.example/") << moved;
  EXPECT_EQ(moved["condition_next_step"],
            "Ask the project whether the new address is its own, and set `url` and `statistics` to it.");
}

// An operator sees why a project is silent, and since when, without the log of the collector. The address of the files may be
// a secret of the hub.
TEST_F(HubCollect, WhyAFetchFailsIsPartOfTheCondition) {
  project_.Export(kMonday, {{1, "100.000000", "Ann"}}, "100.000000");
  Collect();
  EXPECT_EQ(Editions(1)["condition"], "unknown") << "the project publishes no condition";
  const auto failing = [&](const std::string& cause) {
    Collect();
    json project = GetOnce("", [&](const json& data) {
      return data.is_object() && data.value("condition_reason", "").find(cause) != std::string::npos;
    });
    EXPECT_EQ(project["condition"], "unreachable") << project;
    EXPECT_THAT(project["condition_reason"].get<std::string>(),
                MatchesRegex("fetching the statistics has failed since 2[0-9-]* [0-9:]* UTC: .*"));
    EXPECT_THAT(project["condition_reason"].get<std::string>(), Not(HasSubstr("127.0.0.1")));
    EXPECT_THAT(project["condition_reason"].get<std::string>(), Not(HasSubstr("stats/")));
    EXPECT_GT(project["condition_time"], kMonday);
    return project;
  };
  const auto since = [](const json& project) {
    return project["condition_reason"].get<std::string>().substr(0, 62);  // up to " UTC"
  };
  project_.Fail("/stats/tables.xml", 503);
  const json first = failing("tables.xml (server_error): the server answered 503");
  EXPECT_EQ(first["condition_next_step"],
            "Wait, because the collector tries again; if it fails for days, tell the project.");
  project_.Fail("/stats/tables.xml", 0);
  project_.Serve("/stats/tables.xml", "<html><input type=\"password\"></html>");
  const json page =
      failing("tables.xml (password_page): the server answered 200 with a page that asks for a password");
  EXPECT_EQ(since(page), since(first));
  project_.Serve("/stats/tables.xml", "<tables>\n<update_time>\x1b[31mnow</update_time>\n</tables>\n");
  EXPECT_EQ(failing("tables.xml (foreign): ")["condition_next_step"],
            "Look at this line of the file, and tell the project what is wrong with it.");
  // The hub would refuse an edition of such a time, and nobody would see what is wrong.
  project_.Serve("/stats/tables.xml",
                 "<tables>\n<update_time>9999999999999999999</update_time>\n</tables>\n");
  (void)failing("tables.xml (foreign): a figure is outside the range of its field");
  project_.Export(kMonday + kDay, {{1, "101.000000", "Ann"}}, "101.000000");
  project_.Remove("/stats/user.xml");
  const json missing = failing("user.gz (missing): the server has neither it nor one of its other names");
  EXPECT_EQ(failing("user.gz (missing)")["condition_time"], missing["condition_time"]) << "said once";

  project_.Export(kMonday + kDay, {{1, "101.000000", "Ann"}}, "101.000000");
  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  const json repaired =
      GetOnce("", [](const json& data) { return data.is_object() && data["condition"] == "fine"; });
  EXPECT_EQ(repaired["condition"], "fine") << repaired;
  EXPECT_EQ(repaired["condition_reason"], "the statistics can be fetched again");
  EXPECT_FALSE(repaired.contains("condition_next_step"));
}

TEST_F(HubCollect, AKeyThatCannotBeUsedIsNamedWithItsPlaceInTheConfiguration) {
  const auto collect = [&](const std::string& key) {
    std::ofstream(dir_ / "wrong.yaml") << "role: hub\ndata_directory: data\nprojects:\n"
                                       << "  - id: 4\n    name: Rosewood\n    url: \"" << project_.url()
                                       << "\"\n    ownership_key: " << key << "\n";
    const Finished done = RunProgram(dir_.path(), {"hub", "collect", "--once", "--config", "wrong.yaml"});
    EXPECT_EQ(done.code, 2) << done.err;
    return done.err;
  };
  std::ofstream(dir_ / "note.pem") << "no key\n";
  EXPECT_THAT(collect("note.pem"),
              HasSubstr("wrong.yaml:7:20: projects.ownership_key: note.pem: the project's "
                        "public key is no RSA key of at least 2,048 bits in PEM form"));
  EXPECT_THAT(collect("missing.pem"),
              HasSubstr("wrong.yaml:7:20: projects.ownership_key: missing.pem: the file cannot be read"));
}

// The statistics files of a Cobblestone project are those of any project. An export of changes alone has fewer records
// than its tables.xml announces, so it cannot be mistaken for the whole.
TEST_F(HubCollect, AFullExportOfCobblestoneIsImportedAndOneOfChangesAloneIsHeld) {
  std::string spec = "<boinc_db_dump_spec>\n";
  for (const char* table : {"user", "team", "host"})
    spec += "<enumeration><table>" + std::string(table) + "</table><filename>" + table +
            "</filename><sort>id</sort><output><compression>gzip</compression></output></enumeration>\n";
  std::ofstream(dir_ / "spec.xml") << spec << "</boinc_db_dump_spec>\n";
  ASSERT_FALSE(EventLines(dir_, 300).empty());
  const auto run = [&](const std::vector<std::string>& arguments) {
    const Finished done = RunProgram(dir_.path(), arguments);
    ASSERT_EQ(done.code, 0) << done.err;
  };
  run({"ingest", "events.jsonl", "--data", "project"});
  run({"export", "--data", "project", "--spec", "spec.xml", "--out", "stats", "--now",
       std::to_string(kMonday)});
  ServeExport("stats");
  EXPECT_THAT(Collect(), HasSubstr("is complete"));
  int with_credit = 0;
  std::string total;
  for (int id = 1; id <= 13; ++id) {
    total = AskProgram(dir_.path(),
                       {"account", "user", std::to_string(id), "--json", "--data", "project"})["total"];
    if (total == "0.000000") continue;
    ++with_credit;
    (void)User(id, total);
  }
  EXPECT_GT(with_credit, 10);
  const json whole = Editions(1)["editions"][0];

  run({"export", "--data", "project", "--spec", "spec.xml", "--out", "changes", "--incremental-from", "stats",
       "--now", std::to_string(kMonday + kDay)});
  ServeExport("changes");
  EXPECT_THAT(Collect(), HasSubstr("is held"));
  const json project = Editions(2);
  EXPECT_EQ(project["complete_edition"], whole["edition"]);
  (void)User(13, total);
}

// Scenario (a) of docs/design/identity.md through the files of three projects: A shows the id a, C shows c, and B the two in
// turn. From the first return of B on, nothing that is shown of the person changes but the credit that B grants.
TEST(HubCollectPeople, AnIdThatSwingsInTheFilesIsOnePersonForEver) {
  const TempDir dir;
  Project project;
  std::string config = "role: hub\nprojects:\n";
  for (const char* name : {"A", "B", "C"})
    config += "  - {id: " + std::to_string(name[0] - 'A' + 1) + ", name: " + name + ", statistics: \"" +
              project.url() + name + "/\"}\n";
  Served served(dir, config);
  ASSERT_TRUE(served.Start()) << served.process().err();
  const auto id = [](char digit) { return std::string(32, digit); };
  json first;
  for (int round = 1; round <= 8; ++round) {
    const std::uint64_t day = kMonday + static_cast<std::uint64_t>(round) * kDay;
    const std::string credit = std::to_string(round) + ".000000";
    project.Export(day, {{11, "100.000000", "Ann", id('a')}, {12, "50.000000", "Bob", id('b')}}, "150.0", 0,
                   "/A/");
    project.Export(day, {{22, credit, "Ann", id(round % 2 == 1 ? 'a' : 'c')}}, credit, 0, "/B/");
    project.Export(day, {{33, "1000.000000", "Ann", id('c')}}, "1000.0", 0, "/C/");
    const Finished done = RunProgram(
        dir.path(), {"hub", "collect", "--once", "--private-addresses", "--config", "served.yaml"});
    ASSERT_EQ(done.code, 0) << done.err;
    if (round < 3) continue;  // B has not returned to an earlier id
    const std::string total = std::to_string(1100 + round) + ".000000";
    const Reply reply = served.GetUntil("/api/v1/federation/person?cpid=" + id('c'), [&](const Reply& r) {
      return r.status == 200 && r.json()["data"]["total"] == total;
    });
    const json person = reply.json()["data"];
    ASSERT_EQ(person["total"], total) << "round " << round << ": " << reply.body;
    if (round == 3) first = person;
    EXPECT_EQ(person["identity"], first["identity"]) << round;
    EXPECT_EQ(person["rank_total"], 1) << round;
    EXPECT_EQ(person["accounts"].size(), 3u) << round;
    // Each day of B has the credit 1, whichever id it shows.
    ASSERT_EQ(person["days"].size(), static_cast<std::size_t>(round - 1)) << reply.body;
    for (const json& one : person["days"]) EXPECT_EQ(one["credit"], (json{{"2", "1.000000"}})) << round;
  }
  const json people = served.Get("/api/v1/federation/people").json();
  EXPECT_EQ(people["count"], 2);
  EXPECT_EQ(people["data"][1]["total"], "50.000000");
}

// Together has one account at Rosewood, number 5, under which the computers of Ann and Bob have worked for a million; Ann has
// 100 there of her own. Only Together knows whose the million is, and exports it as any project exports its users.
TEST(HubCollectPeople, AnAccountManagersMembersHaveWhatItsAccountHasEarned) {
  const TempDir dir;
  Project project;
  Served served(dir, "role: hub\nprojects:\n  - {id: 1, name: Rosewood, statistics: \"" + project.url() +
                         "rosewood/\", shared_accounts: [5]}\n  - {id: 2, name: Together, statistics: \"" +
                         project.url() + "together/\", account_manager: true}\n");
  ASSERT_TRUE(served.Start()) << served.process().err();
  const auto id = [](char digit) { return std::string(32, digit); };
  project.Export(kMonday, {{5, "1000000.000000", "Together", id('c')}, {11, "100.000000", "Ann", id('a')}},
                 "1000100.0", 0, "/rosewood/");
  project.Export(kMonday, {{1, "600000.000000", "Ann", id('a')}, {2, "400000.000000", "Bob", id('b')}},
                 "1000000.0", 0, "/together/");
  const Finished done =
      RunProgram(dir.path(), {"hub", "collect", "--once", "--private-addresses", "--config", "served.yaml"});
  ASSERT_EQ(done.code, 0) << done.err;
  const json people = served
                          .GetUntil("/api/v1/federation/people",
                                    [](const Reply& r) {
                                      return r.status == 200 && r.json()["data"].size() == 2 &&
                                             r.json()["data"][0]["total"] == "600100.000000";
                                    })
                          .json();
  ASSERT_EQ(people["count"], 2) << people;
  EXPECT_EQ(people["data"][0]["name"], "Ann");
  EXPECT_EQ(people["data"][0]["total"], "600100.000000");
  EXPECT_EQ(people["data"][1]["name"], "Bob");
  EXPECT_EQ(people["data"][1]["total"], "400000.000000");

  // Each project adds up to what it exports, and the projects that are no manager to what was earned.
  const json projects = served.Get("/api/v1/federation/projects").json()["data"];
  ASSERT_EQ(projects.size(), 2u) << projects;
  EXPECT_EQ(projects[0]["total"], "1000100.000000");
  EXPECT_EQ(projects[0]["users"], 2);
  EXPECT_EQ(projects[0]["shared_accounts"], json{5});
  EXPECT_EQ(projects[0]["account_manager"], false);
  EXPECT_EQ(projects[1]["total"], "1000000.000000");
  EXPECT_EQ(projects[1]["account_manager"], true);

  const json top = served.Get("/api/v1/federation/projects/1/top/users").json()["data"];
  ASSERT_EQ(top.size(), 2u) << top;
  EXPECT_EQ(top[0]["id"], 5) << "it is in the list of its project";
  EXPECT_FALSE(top[0].contains("identity"));
  EXPECT_EQ(served.Get("/api/v1/federation/projects/1/users/5").json()["data"]["in_sum"], false);
  const json manager = served.Get("/api/v1/federation/person?cpid=" + id('c')).json()["data"];
  EXPECT_EQ(manager["total"], "0.000000") << "it is nobody's";
  EXPECT_FALSE(manager.contains("rank_total"));
}

}  // namespace
}  // namespace cobblestone::testing
