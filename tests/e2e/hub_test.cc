// A federation hub from outside: feeds are posted as events, and read back over HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/e2e/gateway_process.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kHub = "role: hub\n";
constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;

// Builds events of feeds, each with an id of its own.
class Feed {
 public:
  void Add(int project, double time, json body) {
    body["id"] = std::to_string(++id_);
    body["project"] = project;
    body["time"] = time;
    lines_ += body.dump() + "\n";
  }
  void Project(int project, const std::string& name) {
    Add(project, kStart, {{"feed_project", {{"name", name}, {"mode", "FEED_MODE_FILES"}}}});
  }
  void Edition(int project, int edition, const std::string& state, double time = kStart,
               const std::string& reason = "") {
    json body{{"edition", std::to_string(edition)}, {"state", "EDITION_STATE_" + state}};
    if (!reason.empty()) body["reason"] = reason;
    Add(project, time, {{"feed_edition", body}});
  }
  // `credit`: Cobblestones.
  void User(int project, int user, int edition, int credit, double time = kStart) {
    Add(project, time,
        {{"feed_account",
          {{"kind", "ACCOUNT_KIND_USER"},
           {"account", std::to_string(user)},
           {"edition", std::to_string(edition)},
           {"total_micro", std::to_string(credit * 1000000LL)},
           {"name", "user " + std::to_string(user)}}}});
  }
  // An account with an id, in an edition of its own.
  void Person(int project, int user, int edition, char id, double time, int credit = 10, double created = 0) {
    Edition(project, edition, "BEGUN", time);
    Add(project, time,
        {{"feed_account",
          {{"kind", "ACCOUNT_KIND_USER"},
           {"account", std::to_string(user)},
           {"edition", std::to_string(edition)},
           {"total_micro", std::to_string(credit * 1000000LL)},
           {"create_time", created > 0 ? created : 1.2e9 + user},
           {"cross_project_id", std::string(32, id)}}}});
    Edition(project, edition, "COMPLETE", time);
  }
  void Gone(int project, int user, int edition, double time = kStart) {
    Add(project, time,
        {{"feed_account",
          {{"kind", "ACCOUNT_KIND_USER"},
           {"account", std::to_string(user)},
           {"edition", std::to_string(edition)},
           {"gone", true}}}});
  }
  // An app with one GPU version of plan class cuda, sent at `time` and dated `dated`.
  void Versions(int project, double time, double scale, double recent_credit, bool both_kinds) {
    Versions(project, time, scale, recent_credit, both_kinds, time);
  }
  void Versions(int project, double time, double scale, double recent_credit, bool both_kinds, double dated) {
    Add(project, time,
        {{"feed_versions",
          {{"as_of", dated},
           {"versions",
            {{{"app", "1"},
              {"app_name", "fold"},
              {"app_version", "10"},
              {"plan_class", "cuda"},
              {"resource", "RESOURCE_NVIDIA"},
              {"samples", 1000},
              {"scale", scale},
              {"recent_credit", recent_credit},
              {"recent_time", dated},
              {"both_kinds", both_kinds}}}}}}});
  }
  void Tick(double time) { Add(0, time, {{"tick", {{"time", time}}}}); }
  // All lines so far, which are then forgotten.
  std::string Take() { return std::exchange(lines_, {}); }

 private:
  int id_ = 0;
  std::string lines_;
};

class Hub : public ::testing::Test {
 protected:
  void SetUp() override {
    served_ = std::make_unique<Served>(dir_, kHub);
    ASSERT_TRUE(served_->Start()) << served_->process().err();
  }
  void Post() {
    const std::string lines = feed_.Take();
    const Reply reply =
        served_->Post("/api/v1/events?source=feed&first_line=" + std::to_string(sent_), lines, kIngestToken);
    ASSERT_EQ(reply.status, 200) << reply.body;
    sent_ += static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
  }
  // The user's account, once `wanted` of it is true; null while it is unknown.
  json User(int project, int user, const std::function<bool(const json&)>& wanted) {
    const Reply reply = served_->GetUntil(
        "/api/v1/federation/projects/" + std::to_string(project) + "/users/" + std::to_string(user),
        [&](const Reply& r) { return wanted(r.status == 404 ? json() : r.json()["data"]); });
    return reply.status == 404 ? json() : reply.json()["data"];
  }
  json UserWith(int project, int user, const std::string& total) {
    return User(project, user,
                [&](const json& found) { return found.is_object() && found.value("total", "") == total; });
  }
  // The project, once everything that was sent so far has been processed by the leading stage.
  json ProjectAt(int project, const std::string& field, std::uint64_t edition) {
    return served_
        ->GetUntil("/api/v1/federation/projects/" + std::to_string(project),
                   [&](const Reply& r) { return r.status == 200 && r.json()["data"][field] == edition; })
        .json()["data"];
  }
  // Reasons of all refused events, once there are `count`.
  std::vector<std::string> Refused(std::size_t count) {
    std::vector<std::string> reasons;
    const Reply reply = served_->GetUntil(
        "/api/v1/refused",
        [&](const Reply& r) {
          reasons.clear();
          const json all = r.json();
          for (const json& one : all["data"]["refused"]) reasons.push_back(one["reason"].get<std::string>());
          return reasons.size() >= count;
        },
        kReadToken);
    EXPECT_GE(reasons.size(), count) << reply.body;
    return reasons;
  }

  TempDir dir_;
  Feed feed_;
  std::unique_ptr<Served> served_;
  std::size_t sent_ = 0;
};

TEST_F(Hub, AnEditionIsSeenAsAWholeOnceItIsComplete) {
  feed_.Project(1, "Rosewood");
  feed_.Edition(1, 1, "BEGUN");
  feed_.User(1, 7, 1, 100);
  feed_.User(1, 8, 1, 5);
  Post();
  EXPECT_EQ(ProjectAt(1, "arriving_edition", 1)["complete_edition"], 0);
  EXPECT_TRUE(User(1, 7, [](const json&) { return true; }).is_null());

  feed_.Edition(1, 1, "COMPLETE");
  Post();
  json user = UserWith(1, 7, "100.000000");
  EXPECT_EQ(user["name"], "user 7");
  EXPECT_TRUE(user["days"].empty()) << "credit from before the hub is no day's credit: " << user;

  // A day later: user 7 has 50 more, user 8 has left. Nobody sees it before the edition is complete.
  feed_.Edition(1, 2, "BEGUN", kStart + kDay);
  feed_.User(1, 7, 2, 150, kStart + kDay);
  feed_.Gone(1, 8, 2, kStart + kDay);
  Post();
  (void)ProjectAt(1, "arriving_edition", 2);
  user = User(1, 7, [](const json&) { return true; });
  EXPECT_EQ(user["total"], "100.000000");
  EXPECT_TRUE(user["days"].empty());
  EXPECT_EQ(UserWith(1, 8, "5.000000").value("total", ""), "5.000000");

  feed_.Edition(1, 2, "COMPLETE", kStart + kDay);
  Post();
  user = UserWith(1, 7, "150.000000");
  // 1700086400 / 86400 = 19676.9.
  EXPECT_EQ(user["days"], json::parse(R"([{"day": 19676, "credit": "50.000000"}])"));
  EXPECT_TRUE(User(1, 8, [](const json& found) { return found.is_null(); }).is_null());

  // After a restart the hub answers the same.
  served_->process().Signal(SIGTERM);
  ASSERT_EQ(served_->process().Wait(), 0) << served_->process().err();
  served_ = std::make_unique<Served>(dir_, kHub);
  ASSERT_TRUE(served_->Start()) << served_->process().err();
  EXPECT_EQ(UserWith(1, 7, "150.000000")["days"], user["days"]);
  const json editions = ProjectAt(1, "complete_edition", 2)["editions"];
  ASSERT_EQ(editions.size(), 2u);
  EXPECT_EQ(editions[0]["edition"], 2);
  EXPECT_EQ(editions[0]["state"], "complete");
}

TEST_F(Hub, AFallOfATotalIsANegativeDay) {
  feed_.Project(1, "Rosewood");
  for (const auto& [edition, credit] : {std::pair{1, 100}, std::pair{2, 130}, std::pair{3, 90}}) {
    const double time = kStart + edition * kDay;
    feed_.Edition(1, edition, "BEGUN", time);
    feed_.User(1, 7, edition, credit, time);
    feed_.Edition(1, edition, "COMPLETE", time);
  }
  Post();
  const json user = UserWith(1, 7, "90.000000");
  EXPECT_EQ(user["days"], json::parse(R"([{"day": 19677, "credit": "30.000000"},
                                          {"day": 19678, "credit": "-40.000000", "correction": true}])"));
}

// A direct project knows its name and its URL, the hub's operator its key and its points. Each event comes late once.
TEST_F(Hub, WhatASenderDoesNotKnowOfAProjectStays) {
  const auto project = [&](double time, json fields) {
    fields["mode"] = "FEED_MODE_DIRECT";
    feed_.Add(1, time, {{"feed_project", std::move(fields)}});
  };
  project(kStart, {{"name", "Elm"}, {"url", "https://elm.example/"}});
  project(kStart + 1, {{"name", "Elm"},
                       {"points_per_cobblestone", 7},
                       {"shared_accounts", {{"users", {"6", "5"}}}},
                       {"account_manager", true}});
  project(kStart + 2, {{"name", "Elm 2"}, {"url", "https://elm2.example/"}});
  project(kStart + 1.5, {{"name", "late"}, {"points_per_cobblestone", 8}, {"url", "https://late.example/"}});
  project(kStart + 3, {{"name", "Elm 3"}, {"account_manager", false}});
  feed_.Edition(1, 1, "BEGUN");
  feed_.Edition(1, 1, "COMPLETE");
  Post();
  const json known = ProjectAt(1, "complete_edition", 1);
  EXPECT_EQ(known["name"], "Elm 3");
  EXPECT_EQ(known["url"], "https://elm2.example/");
  EXPECT_EQ(known["points_per_cobblestone"], 8.0);
  EXPECT_EQ(known["account_manager"], false) << "a field that is present is set, also to false";
  EXPECT_EQ(known["shared_accounts"], (json{5, 6}));
  project(kStart + 4, {{"name", "Elm 4"}, {"shared_accounts", json::object()}});
  feed_.Edition(1, 2, "BEGUN");
  feed_.Edition(1, 2, "COMPLETE");
  Post();
  EXPECT_EQ(ProjectAt(1, "complete_edition", 2)["shared_accounts"], json::array()) << "and to an empty list";
}

// A project that counts in microseconds, or sends any number, would leave no number for its later editions.
TEST_F(Hub, ANumberThatWouldShutOutAllLaterEditionsIsRefused) {
  const auto edition = [&](const std::string& number, const char* state) {
    feed_.Add(1, kStart,
              {{"feed_edition",
                {{"edition", number},
                 {"state", std::string("EDITION_STATE_") + state},
                 {"published_time", kStart}}}});
  };
  const auto now = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                                  std::chrono::system_clock::now().time_since_epoch())
                                                  .count());
  constexpr std::uint64_t kDayMs = 86400000;
  feed_.Project(1, "Rosewood");
  for (const std::string& number : {std::string("18446744073709551615"), std::to_string(now * 1000),
                                    std::to_string(now + 367 * kDayMs)}) {
    edition(number, "BEGUN");
    edition(number, "COMPLETE");
  }
  const std::uint64_t ahead = now + 365 * kDayMs;  // a clock that is that far ahead
  edition(std::to_string(ahead), "BEGUN");
  edition(std::to_string(ahead), "COMPLETE");
  Post();
  (void)ProjectAt(1, "complete_edition", ahead);
  EXPECT_EQ(Refused(6), std::vector<std::string>(6, "OUT_OF_RANGE"));
}

TEST_F(Hub, EditionsOutOfPlaceAreRefused) {
  feed_.Edition(1, 1, "BEGUN");  // UNKNOWN_PROJECT
  feed_.Project(1, "Rosewood");
  feed_.Edition(1, 1, "COMPLETE");  // has not begun
  feed_.Edition(1, 1, "HELD", kStart, "the file is empty");
  feed_.Edition(1, 2, "BEGUN");
  feed_.Edition(1, 3, "BEGUN");  // 2 is not complete
  feed_.Edition(1, 2, "COMPLETE");
  feed_.Edition(1, 2, "BEGUN");                                       // is complete
  feed_.Add(1, kStart, {{"app", {{"app", "1"}, {"name", "fold"}}}});  // an event of a project pipeline
  feed_.Add(1, kStart, {{"team", {{"team", "1"}, {"name", "x"}}}});   // likewise
  Post();
  const json project = ProjectAt(1, "complete_edition", 2);
  EXPECT_EQ(project["editions"][1]["reason"], "the file is empty");
  EXPECT_EQ(project["editions"][1]["state"], "held");
  std::vector<std::string> reasons = Refused(6);
  std::sort(reasons.begin(), reasons.end());
  EXPECT_EQ(reasons, (std::vector<std::string>{"ALREADY_DECIDED", "ALREADY_DECIDED", "ALREADY_DECIDED",
                                               "NOT_SUPPORTED", "NOT_SUPPORTED", "UNKNOWN_PROJECT"}));
}

// Three projects with both kinds of versions and a GPU-only project. Their recent credit is equal, so each of the three
// has a third of the weight, and the median of 0.2, 0.3 and 0.5 is 0.3. The GPU-only project's own scale, 0.1, is itself a
// factor and must not count.
TEST_F(Hub, FactorsAreTheMedianOfProjectsWithBothKindsOfVersions) {
  const double scales[] = {0.2, 0.3, 0.5};
  for (int project = 1; project <= 3; ++project) {
    feed_.Project(project, "Project " + std::to_string(project));
    feed_.Versions(project, kStart, scales[project - 1], 1000, true);
  }
  feed_.Project(4, "GPU only");
  feed_.Versions(4, kStart, 0.1, 100000, false);
  feed_.Tick(kStart + 60);
  Post();
  const Reply reply = served_->GetUntil("/api/v1/federation/factors",
                                        [](const Reply& r) { return r.json()["data"]["sequence"] == 1; });
  const json factors = reply.json()["data"];
  ASSERT_EQ(factors["factors"].size(), 1u) << factors;
  const json& cuda = factors["factors"][0];
  EXPECT_EQ(cuda["plan_class"], "cuda");
  EXPECT_EQ(cuda["resource"], "nvidia");
  EXPECT_EQ(cuda["factor"], 0.3);
  EXPECT_EQ(cuda["is_default"], false);
  ASSERT_EQ(cuda["contributions"].size(), 3u);
  EXPECT_EQ(cuda["contributions"][1]["name"], "Project 2");
  EXPECT_EQ(cuda["contributions"][1]["value"], 0.3);
  // Whoever of the three lies, the median is a value of the two others, and the silence of one brings back 0.1.
  EXPECT_EQ(cuda["reach"], (json{{"least", 0.1}, {"greatest", 0.5}, {"silence_is_default", true}}));
  ASSERT_EQ(cuda["left_out"].size(), 1u);
  EXPECT_EQ(cuda["left_out"][0]["project"], 4);
  EXPECT_EQ(cuda["left_out"][0]["reason"], "gpu_only");

  // The next factors follow a day later, not with each tick, and the ticks of a project do not count.
  feed_.Tick(kStart + 3600);
  feed_.Add(1, kStart + 2 * kDay, {{"tick", {{"time", kStart + 2 * kDay}}}});
  feed_.Tick(kStart + 61 + kDay);
  Post();
  const json next = served_
                        ->GetUntil("/api/v1/federation/factors",
                                   [](const Reply& r) { return r.json()["data"]["sequence"].get<int>() > 1; })
                        .json()["data"];
  EXPECT_EQ(next["sequence"], 2);
  EXPECT_EQ(next["as_of"], kStart + 61 + kDay);
  EXPECT_EQ(served_->Get("/api/v1/federation/factors?sequence=1").json()["data"]["as_of"], kStart + 60);
}

// What a manager reports of app versions it knows from the projects, which report them themselves.
TEST_F(Hub, AnAccountManagerHasNoPartInFactors) {
  const double scales[] = {0.2, 0.3, 0.5, 0.9};
  for (int project = 1; project <= 4; ++project) {
    feed_.Project(project, "Project " + std::to_string(project));
    feed_.Versions(project, kStart, scales[project - 1], 1000, true);
  }
  feed_.Add(
      4, kStart + 1,
      {{"feed_project", {{"name", "Manager"}, {"mode", "FEED_MODE_FILES"}, {"account_manager", true}}}});
  feed_.Tick(kStart + 60);
  Post();
  const json factors = served_
                           ->GetUntil("/api/v1/federation/factors",
                                      [](const Reply& r) { return r.json()["data"]["sequence"] == 1; })
                           .json()["data"];
  ASSERT_EQ(factors["factors"].size(), 1u) << factors;
  EXPECT_EQ(factors["factors"][0]["factor"], 0.3);
  EXPECT_EQ(factors["factors"][0]["contributions"].size(), 3u) << factors;
  EXPECT_EQ(factors["factors"][0]["left_out"], json::array());
}

TEST_F(Hub, AReportOfVersionsFromTheFutureBecomesStale) {
  for (int project = 1; project <= 3; ++project) {
    feed_.Project(project, "Project " + std::to_string(project));
    feed_.Versions(project, kStart, 0.3, 1000, true, 9e10);
  }
  feed_.Tick(kStart + 60);
  feed_.Tick(kStart + 31 * kDay);
  Post();
  const json factors = served_
                           ->GetUntil("/api/v1/federation/factors",
                                      [](const Reply& r) { return r.json()["data"]["sequence"] == 2; })
                           .json()["data"];
  ASSERT_EQ(factors["factors"].size(), 1u) << factors;
  ASSERT_EQ(factors["factors"][0]["left_out"].size(), 3u) << factors;
  EXPECT_EQ(factors["factors"][0]["left_out"][0]["reason"], "stale");
}

// Scenario of docs/design/identity.md: one computer is attached to projects 1 and 2, another to 3 and 2. Project 1 shows
// id a, project 3 shows c, and project 2 shows a and c in turn for ever.
TEST_F(Hub, APersonWhoseIdSwingsIsOnePersonForEver) {
  for (int project = 1; project <= 3; ++project) feed_.Project(project, "Project " + std::to_string(project));
  feed_.Person(1, 11, 1, 'a', kStart, 100);
  feed_.Person(3, 33, 1, 'c', kStart, 1000);
  for (int round = 1; round <= 6; ++round)
    feed_.Person(2, 22, round, round % 2 == 1 ? 'a' : 'c', kStart + round * kDay, round);
  Post();
  const std::string of_c = "/api/v1/federation/person?cpid=" + std::string(32, 'c');
  const json person = served_
                          ->GetUntil(of_c,
                                     [](const Reply& r) {
                                       return r.status == 200 && r.json()["data"]["total"] == "1106.000000";
                                     })
                          .json()["data"];
  EXPECT_EQ(person["total"], "1106.000000") << person;  // 100 + 6 + 1000
  ASSERT_EQ(person["accounts"].size(), 3u);
  EXPECT_EQ(served_->Get("/api/v1/federation/person?cpid=" + std::string(32, 'a')).json()["data"]["identity"],
            person["identity"]);
  EXPECT_EQ(served_->Get("/api/v1/federation/person?project=1&user=11").json()["data"]["identity"],
            person["identity"]);
  EXPECT_EQ(served_->Get("/api/v1/federation/person?cpid=" + std::string(32, 'b')).status, 404);
  // Clients and project pages find her by each of her ids as well.
  for (const char id : {'a', 'c'}) {
    const Reply xml = served_->Get("/get_user.php?cpid=" + std::string(32, id));
    EXPECT_NE(xml.body.find("<total_credit>1106.000000</total_credit>"), std::string::npos) << xml.body;
  }

  // The operator separates the account of project 3.
  feed_.Add(3, kStart + 9 * kDay,
            {{"identity_decision",
              {{"kind", "IDENTITY_DECISION_KIND_LEAVE"},
               {"user", "33"},
               {"create_time", 1.2e9 + 33},
               {"reason", "asked for by its owner"}}}});
  Post();
  const json alone = served_
                         ->GetUntil("/api/v1/federation/person?project=3&user=33",
                                    [](const Reply& r) { return r.json()["data"]["total"] == "1000.000000"; })
                         .json()["data"];
  EXPECT_EQ(alone["accounts"].size(), 1u) << alone;
  const json rest = served_->Get("/api/v1/federation/person?project=1&user=11").json()["data"];
  EXPECT_EQ(rest["total"], "106.000000") << rest;
}

// Two people known at several projects; project 5 alone says that they are one.
TEST_F(Hub, OneProjectAloneJoinsNobody) {
  for (const int project : {1, 2, 5}) feed_.Project(project, "Project " + std::to_string(project));
  feed_.Person(1, 11, 1, 'a', kStart, 100);
  feed_.Person(2, 22, 1, 'c', kStart, 7);
  feed_.Person(5, 55, 1, 'a', kStart + kDay, 3);
  feed_.Person(5, 55, 2, 'c', kStart + 2 * kDay, 3);
  Post();
  const json first =
      served_
          ->GetUntil("/api/v1/federation/person?cpid=" + std::string(32, 'a'),
                     [](const Reply& r) { return r.status == 200 && !r.json()["data"]["possible"].empty(); })
          .json()["data"];
  EXPECT_EQ(first["total"], "103.000000") << first;
  EXPECT_EQ(first["possible"][0]["project"], 5) << first;
  EXPECT_EQ(served_->Get("/api/v1/federation/person?cpid=" + std::string(32, 'c')).json()["data"]["total"],
            "7.000000");
}

// Project 2 starts again with an empty database, and its user 22 is another person with id d.
TEST_F(Hub, AfterAResetANumberIsAnotherPerson) {
  for (const int project : {1, 2}) feed_.Project(project, "Project " + std::to_string(project));
  feed_.Person(1, 11, 1, 'a', kStart, 100);
  feed_.Person(2, 22, 1, 'a', kStart, 50);
  Post();
  const std::string of_a = "/api/v1/federation/person?cpid=" + std::string(32, 'a');
  const auto total = [&](const std::string& path, const std::string& wanted) {
    return served_
        ->GetUntil(path,
                   [&](const Reply& r) { return r.status == 200 && r.json()["data"]["total"] == wanted; })
        .json()["data"]["total"];
  };
  EXPECT_EQ(total(of_a, "150.000000"), "150.000000");
  feed_.Person(2, 22, 2, 'd', kStart + kDay, 7, 1.65e9);
  Post();
  EXPECT_EQ(total("/api/v1/federation/person?cpid=" + std::string(32, 'd'), "7.000000"), "7.000000");
  EXPECT_EQ(total(of_a, "100.000000"), "100.000000") << "the credit of the other person is not theirs";
  EXPECT_EQ(
      served_->Get("/api/v1/federation/person?cpid=" + std::string(32, 'd')).json()["data"]["days"].size(),
      0u)
      << "nor are their days, and 7 is no fall from 50";
}

TEST_F(Hub, ADecisionThatNamesNoTwoAccountsIsRefused) {
  feed_.Project(1, "Rosewood");
  // IDENTITY knows whole seconds: both are the same account.
  feed_.Add(1, kStart,
            {{"identity_decision",
              {{"kind", "IDENTITY_DECISION_KIND_JOIN"},
               {"user", "33"},
               {"create_time", 1.2e9},
               {"other_project", 1},
               {"other_user", "33"},
               {"other_create_time", 1.2e9 + 0.5},
               {"reason", "a mistake"}}}});
  Post();
  EXPECT_EQ(Refused(1), std::vector<std::string>{"OUT_OF_RANGE"});
  feed_.Edition(1, 1, "BEGUN");
  Post();
  EXPECT_EQ(ProjectAt(1, "arriving_edition", 1)["arriving_edition"], 1) << "the hub continues";
}

TEST_F(Hub, ItsDirectoryIsOpenedAsAHubOnly) {
  served_->process().Signal(SIGTERM);
  ASSERT_EQ(served_->process().Wait(), 0);
  // An audit that found nothing to audit would call it clean.
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"audit"}, {"account", "user", "7"}, {"scales"}}) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), {"--data", "data"});
    const Finished asked = RunProgram(dir_.path(), arguments);
    EXPECT_EQ(asked.code, 2) << verb.front();
    EXPECT_THAT(asked.err, HasSubstr("federation hub")) << verb.front();
  }
  std::ofstream(dir_ / "project.yaml") << "data_directory: data\npartitions: 3\n";
  const Finished project = RunProgram(dir_.path(), {"tasks", "--config", "project.yaml"});
  EXPECT_EQ(project.code, 2);
  EXPECT_THAT(project.err, HasSubstr("was created with `role: hub`"));
}

TEST(ProjectPipeline, FeedsAreRefused) {
  TempDir dir;
  Served served(dir, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  Feed feed;
  feed.Project(1, "Rosewood");
  feed.User(1, 7, 0, 100);
  const Reply sent = served.Post("/api/v1/events?source=feed&first_line=0", feed.Take(), kIngestToken);
  ASSERT_EQ(sent.status, 200) << sent.body;
  const Reply refused = served.GetUntil(
      "/api/v1/refused", [](const Reply& r) { return r.json()["data"]["refused"].size() == 2; }, kReadToken);
  const json all = refused.json();
  for (const json& one : all["data"]["refused"]) EXPECT_EQ(one["reason"], "NOT_SUPPORTED");
  EXPECT_EQ(served.Get("/api/v1/projects").json()["role"], "project");
  const Reply asked = served.Get("/api/v1/federation/factors");
  EXPECT_EQ(asked.status, 404);
  EXPECT_THAT(asked.body, HasSubstr("no federation hub"));
}

}  // namespace
}  // namespace cobblestone::testing
