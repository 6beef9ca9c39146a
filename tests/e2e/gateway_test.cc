// The gateway of a running program, over real HTTP: access by role, answers, rejected requests, and the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "common/credit/policies/robust.h"
#include "examples/scheduler/gateway_advice.h"
#include "tests/e2e/gateway_process.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class GatewayTest : public ::testing::Test {
 protected:
  // 200 results of 20 hosts and 13 users, all granted and shown.
  void Fill(Served& served) {
    const std::string events = EventLines(dir_, 200);
    const Reply accepted = served.Post("/api/v1/events?source=all", events, kIngestToken);
    ASSERT_EQ(accepted.status, 200) << accepted.body;
    // The gateway answers from the state on disk: waits until nothing lags and everything is written.
    int settled = 0;
    const Reply tasks = served.GetUntil(
        "/api/v1/tasks",
        [&](const Reply& reply) {
          const json data = reply.status == 200 ? reply.json()["data"] : json::object();
          bool written = data.value("lag", 1) == 0 && data.value("grants", 0) > 100;
          for (const json& task : data.value("tasks", json::array()))
            written = written && task["commits"] == task["state_written"];
          settled = written ? settled + 1 : 0;
          return settled == 3;
        },
        kReadToken);
    ASSERT_EQ(settled, 3) << tasks.body;
    const json expected = AskProgram(dir_.path(), {"account", "user", "1", "--json", "--data", "data"});
    ASSERT_TRUE(expected.is_object());
    const Reply shown = served.Get("/api/v1/projects/1/users/1", kReadToken);
    ASSERT_EQ(shown.status, 200) << shown.body;
    ASSERT_EQ(shown.json()["data"]["total"], expected["total"]);
  }

  TempDir dir_;
};

TEST_F(GatewayTest, EveryQuestionHasItsAnswer) {
  Served served(dir_, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  Fill(served);
  const auto data = [&](const std::string& path) {
    const Reply reply = served.Get("/api/v1/projects/1" + path);
    EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
    const json answer = reply.json();
    EXPECT_EQ(answer["as_of"]["project"], 1) << path;
    EXPECT_GT(answer["as_of"]["epoch"].get<int>(), 0) << path;
    EXPECT_GT(answer["as_of"]["event_time"].get<double>(), 1.7e9) << path;
    EXPECT_EQ(answer["as_of"]["positions"].size(), 3u) << path;
    return answer["data"];
  };
  const json user = data("/users/1");
  EXPECT_EQ(user["kind"], "user");
  EXPECT_TRUE(user["hosts_shown"].get<bool>());
  ASSERT_FALSE(user["hosts"].empty());
  EXPECT_EQ(user["host_count"], user["hosts"].size());
  const std::string host = std::to_string(user["hosts"][0]["id"].get<int>());
  EXPECT_EQ(data("/hosts/" + host)["user"], 1);
  const json grants = data("/users/1/grants?limit=5");
  ASSERT_EQ(grants.size(), 5u);
  const std::string result = std::to_string(grants[0]["result"].get<int>());
  const json explained = data("/results/" + result);
  EXPECT_EQ(explained["grants"][0]["credit"], grants[0]["credit"]);
  EXPECT_EQ(explained, AskProgram(dir_.path(), {"explain", result, "--json", "--data", "data"}));
  EXPECT_FALSE(data("/hosts/" + host + "/grants").empty());
  const std::string team = std::to_string(user["team"].get<int>());
  if (team != "0") {
    EXPECT_GT(data("/teams/" + team)["members"].get<int>(), 0);
    EXPECT_FALSE(data("/teams/" + team + "/grants").empty());
  }
  const json versions = data("/hosts/" + host + "/versions");
  ASSERT_FALSE(versions.empty());
  const std::string version = std::to_string(versions[0]["app_version"].get<int>()) +
                              "&app=" + std::to_string(versions[0]["app"].get<int>());
  EXPECT_EQ(data("/hosts/" + host + "/versions?app_version=" + version).size(), 1u);
  const json estimate = data("/hosts/" + host + "/estimate?app_version=" + version + "&fpops_est=1e13");
  EXPECT_GT(estimate["flops"].get<double>(), 0);
  EXPECT_NEAR(estimate["runtime_s"].get<double>(), 1e13 / estimate["flops"].get<double>(), 1e-6);
  const json top = data("/top/users?by=total&limit=3");
  EXPECT_EQ(top["count"], 13);
  ASSERT_EQ(top["rows"].size(), 3u);
  EXPECT_EQ(top["rows"][0]["rank"], 1);
  EXPECT_EQ(data("/top/users?offset=2&limit=1")["rows"][0]["id"], top["rows"][2]["id"]);
  EXPECT_EQ(data("/top/hosts?by=rac")["count"], 20);
  EXPECT_FALSE(data("/top/teams")["rows"].empty());
  EXPECT_EQ(data("/search?q=1&kind=user")[0]["id"], 1);
  const json scales = data("/scales");
  EXPECT_EQ(scales["project"], 1);
  // For hubs, without a token and without `data` around it: the same figures, as of the epoch.
  const Reply published = served.Get("/api/v1/projects/1/app_versions");
  ASSERT_EQ(published.status, 200) << published.body;
  const json versions_for_hub = published.json();
  EXPECT_EQ(versions_for_hub["project"], 1);
  EXPECT_EQ(versions_for_hub["epoch"], scales["epoch"]);
  EXPECT_EQ(versions_for_hub["as_of"], scales["time"]);
  ASSERT_EQ(versions_for_hub["app_versions"].size(), scales["versions"].size());
  for (std::size_t i = 0; i < scales["versions"].size(); ++i) {
    const json& row = versions_for_hub["app_versions"][i];
    const json& scale = scales["versions"][i];
    EXPECT_EQ(row["app_version"], scale["app_version"]);
    EXPECT_EQ(row["samples"], scale["pfc"]["n"]);
    EXPECT_EQ(row["scale"].is_null(), scale["scale"] == 0.0);
    EXPECT_EQ(row["last_credit"], scale["expavg_time"]);
    const double credit = scale["expavg_credit"];
    const double age = std::max(0.0, scales["time"].get<double>() - scale["expavg_time"].get<double>());
    EXPECT_NEAR(row["recent_credit"], credit * std::exp2(-age / (7 * 86400)), 1e-9 * std::abs(credit));
  }
  EXPECT_EQ(data("/estimates")["provisional"], "0.000000");
  EXPECT_FALSE(data("/scales/history").empty());
  EXPECT_FALSE(data("/catalogue")["apps"].empty());
  const json reply = data("/scheduler-reply?host=" + host);
  EXPECT_EQ(reply["user_total_credit"], user["total"]);
  const Reply xml =
      served.Get("/api/v1/projects/1/scheduler-reply?host=" + host, "", {{"Accept", "application/xml"}});
  EXPECT_EQ(xml.header("Content-Type"), "application/xml; charset=utf-8");
  EXPECT_THAT(xml.body,
              HasSubstr("<user_total_credit>" + user["total"].get<std::string>() + "</user_total_credit>\n"));
  const json as_of = json::parse(xml.header("Cobblestone-As-Of"), nullptr, false);
  ASSERT_TRUE(as_of.is_object()) << xml.header("Cobblestone-As-Of");
  const json now = served.Get("/api/v1/projects/1/users/1").json()["as_of"];
  EXPECT_EQ(as_of["epoch"], now["epoch"]);
  ASSERT_EQ(as_of["positions"].size(), 1u);
  EXPECT_EQ(as_of["positions"][0], now["positions"][as_of["positions"][0]["slot"].get<std::size_t>()]);
  for (const char* path : {"/api/v1/projects", "/api/v1/tasks", "/api/v1/refused"})
    EXPECT_EQ(served.Get(path).json()["as_of"]["positions"], now["positions"]) << path;
  EXPECT_EQ(served.Get("/api/v1/projects").json()["data"][0]["users"], 13);
  EXPECT_EQ(served.Get("/api/v1/tasks").json()["data"]["tasks"].size(), 4u);
  EXPECT_EQ(served.Get("/api/v1/health").json(), (json{{"status", "ok"}, {"problems", json::array()}}));
  EXPECT_TRUE(served.Get("/api/v1/openapi.json").json().contains("paths"));
  EXPECT_THAT(served.process().err(), Not(HasSubstr("request"))) << "requests are logged only on demand";
}

TEST_F(GatewayTest, MissingDataAndBadRequestsHaveDifferentAnswers) {
  Served served(dir_, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  Fill(served);
  struct Case {
    const char* path;
    int status;
    const char* message;
  };
  const std::string project = "/api/v1/projects/1";
  for (const Case& c : {Case{"/users/999999", 404, "has no user 999999"},
                        Case{"/users/0", 404, "must be a number"},
                        Case{"/users/x", 404, "must be a number"},
                        Case{"/users/99999999999999999999", 404, "must be a number"},
                        Case{"/users/999999/grants", 404, "has no user"},
                        Case{"/hosts/999999", 404, "has no host"},
                        Case{"/teams/999999", 404, "has no team"},
                        Case{"/results/999999999", 404, "no grant and no waiting event"},
                        Case{"/nothing", 404, "not found: /api/v1/projects/1/nothing"},
                        Case{"/hosts/1/estimate", 400, "app_version is missing"},
                        Case{"/hosts/1/estimate?app_version=-2", 400, "app=A"},
                        Case{"/hosts/1/estimate?app_version=1&fpops_est=0", 400, "must be a number above 0"},
                        Case{"/hosts/1/estimate?app_version=987654&fpops_est=1", 404, "has no app version"},
                        Case{"/hosts/999999/estimate?app_version=1&fpops_est=1", 404, "has no host"},
                        Case{"/hosts/1/versions?app_version=-2", 400, "app=A"},
                        Case{"/search", 400, "q is missing"},
                        Case{"/search?q=a&kind=app", 400, "must be one of"},
                        Case{"/top/users?by=name", 400, "must be one of"},
                        Case{"/top/users?limit=1001", 400, "from 0 to 1000"},
                        Case{"/top/users?limit=1&limit=2", 400, "occurs twice"},
                        Case{"/scales?x=1", 400, "unknown parameter x"},
                        Case{"/scheduler-reply", 400, "host is missing"},
                        Case{"/scheduler-reply?host=999999", 404, "has no host"},
                        Case{"/scheduler-reply?host=1&format=yaml", 400, "must be one of"}}) {
    const Reply reply = served.Get(project + c.path);
    EXPECT_EQ(reply.status, c.status) << c.path << ": " << reply.body;
    EXPECT_THAT(reply.json()["error"].value("message", ""), HasSubstr(c.message)) << c.path;
    EXPECT_EQ(reply.json()["error"].value("code", ""), c.status == 404 ? "not_found" : "invalid_argument")
        << c.path;
  }
  EXPECT_EQ(served.Get("/api/v1/projects/0/scales").status, 404);
  EXPECT_EQ(served.Get("/api/v1/projects/77/scales").status, 404);
  const Reply method = served.Post("/api/v1/health", "", "", "text/plain");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.header("Allow"), "GET, HEAD");
  EXPECT_EQ(served.Get("/no-such-page").status, 404);
}

// A directory on which no program runs.
TEST_F(GatewayTest, ADirectoryIsServedWithItsMetrics) {
  ASSERT_EQ(
      RunProgram(dir_.path(), {"generate", "events.pb", "--results", "50", "--hosts", "5", "--quiet"}).code,
      0);
  ASSERT_EQ(RunProgram(dir_.path(), {"ingest", "events.pb", "--data", "data"}).code, 0);
  std::ofstream(dir_ / "metrics.yaml") << "data_directory: data\nmetrics: {listen: '127.0.0.1:0'}\n"
                                          "gateway: {listen: '127.0.0.1:0', rate_limit: 100000}\n";
  Served served(std::make_unique<Background>(
      dir_.path(), std::vector<std::string>{"gateway", "--config", "metrics.yaml"}));
  ASSERT_TRUE(served.Start()) << served.process().err();
  const std::string field = "address=";
  const std::string log = served.process().err();
  const std::size_t at = log.find(field);
  ASSERT_NE(at, std::string::npos) << log;
  httplib::Client client("http://" +
                         log.substr(at + field.size(), log.find_first_of(" \n", at) - at - field.size()));
  for (const std::string& text : {client.Get("/metrics")->body, served.Get("/api/v1/metrics").body}) {
    EXPECT_THAT(text, HasSubstr("\ncobblestone_topic_records_total{topic=\"grants\"} "));
    EXPECT_THAT(text, HasSubstr("\ncobblestone_health_state 0\n"));
    EXPECT_THAT(text, HasSubstr("\nprocess_start_time_seconds "));
  }
}

TEST_F(GatewayTest, ATokenGrantsExactlyThePermissionsOfItsRole) {
  Served served(dir_, "  anonymous_role: none\n  access_log: true\n");
  ASSERT_TRUE(served.Start()) << served.process().err();
  Fill(served);
  struct Case {
    const char* path;
    const char* token;
    int status;
  };
  const std::string unknown = "unknown-token-0123456789";
  for (const Case& c :
       {Case{"/api/v1/health", "", 200}, Case{"/api/v1/projects", "", 401},
        Case{"/api/v1/projects", unknown.c_str(), 401}, Case{"/api/v1/health", unknown.c_str(), 401},
        Case{"/api/v1/projects", kReadToken, 200}, Case{"/api/v1/projects", kOperateToken, 200},
        Case{"/api/v1/projects", kVolunteerToken, 200}, Case{"/api/v1/projects", kIngestToken, 403},
        Case{"/api/v1/events?source=all", kIngestToken, 200},
        Case{"/api/v1/events?source=all", kReadToken, 403},
        Case{"/api/v1/events?source=all", kOperateToken, 403}, Case{"/api/v1/events?source=all", "", 401}}) {
    const Reply reply = served.Get(c.path, c.token);
    EXPECT_EQ(reply.status, c.status) << c.path << " " << c.token << " " << reply.body;
    if (c.status == 401) {
      EXPECT_EQ(reply.header("WWW-Authenticate"), "Bearer");
    }
  }
  // A body that may not be sent is not read, and the connection stays usable for the next request.
  httplib::Client client(served.url());
  client.set_keep_alive(true);
  const std::string body(300000, 'x');
  auto refused = client.Post("/api/v1/events?source=a", body, "application/x-ndjson");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 401);
  refused = client.Get("/api/v1/health");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 200);
  EXPECT_EQ(served.Post("/api/v1/events?source=a", "{}\n", kReadToken).status, 403);
  EXPECT_EQ(served.Post("/api/v1/refused/0/resubmit", "", kReadToken).status, 403);
  EXPECT_EQ(served.Post("/api/v1/refused/0/resubmit", "", kOperateToken).status, 404);
  served.process().Signal(SIGTERM);
  EXPECT_EQ(served.process().Wait(), 0);
  const std::string log = served.process().err();
  EXPECT_THAT(log, HasSubstr("path=/api/v1/events"));
  EXPECT_THAT(log, HasSubstr("role=volunteer"));
  for (const char* secret :
       {kReadToken, kIngestToken, kOperateToken, kVolunteerToken, "unknown-token", "source=all"})
    EXPECT_THAT(log, Not(HasSubstr(secret)));
}

TEST_F(GatewayTest, AnOperatorResubmitsARefusedEvent) {
  Served served(dir_, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  Fill(served);
  // Of an unknown host, and dated too far ahead.
  const std::string event =
      R"({"id":"1","project":1,"time":99999999999,"completion":{"result":"77777","host":"5","workunit":"7","app":"1"}})"
      "\n";
  ASSERT_EQ(served.Post("/api/v1/events?source=b", event, kIngestToken).status, 200);
  const Reply refused = served.GetUntil(
      "/api/v1/refused?limit=1", [](const Reply& reply) { return reply.json()["data"].value("all", 0) > 0; });
  const int number = refused.json()["data"]["refused"][0]["number"].get<int>();
  const std::string path = "/api/v1/refused/" + std::to_string(number) + "/resubmit";
  EXPECT_EQ(served.Post(path, "", "").status, 401);
  const Reply done = served.Post(path, "", kOperateToken);
  ASSERT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(done.json()["data"]["resubmitted"], number);
  EXPECT_GT(
      served
          .GetUntil("/api/v1/refused?limit=1",
                    [&](const Reply& reply) { return reply.json()["data"].value("all", 0) > number + 1; })
          .json()["data"]["all"]
          .get<int>(),
      number + 1)
      << "it is refused again, with a new number";
}

TEST_F(GatewayTest, AccountsAreVisibleOnlyToTheirUsersWhereConfigured) {
  Served served(dir_, "  accounts_visible: own\n");
  ASSERT_TRUE(served.Start()) << served.process().err();
  Fill(served);
  const std::string project = "/api/v1/projects/1";
  const json mine = served.Get(project + "/users/1", kVolunteerToken).json()["data"];
  ASSERT_FALSE(mine["hosts"].empty());
  const std::string my_host = std::to_string(mine["hosts"][0]["id"].get<int>());
  const std::string my_result =
      std::to_string(served.Get(project + "/users/1/grants?limit=1", kVolunteerToken)
                         .json()["data"][0]["result"]
                         .get<int>());
  json theirs;
  int other = 2;
  for (; theirs["hosts"].empty(); ++other)
    theirs = served.Get(project + "/users/" + std::to_string(other), kReadToken).json()["data"];
  const std::string their_host = std::to_string(theirs["hosts"][0]["id"].get<int>());
  const std::string their_result =
      std::to_string(served.Get(project + "/hosts/" + their_host + "/grants?limit=1", kReadToken)
                         .json()["data"][0]["result"]
                         .get<int>());
  for (const char* path : {"/users/1", "/users/1/grants"}) {
    EXPECT_EQ(served.Get(project + path, kVolunteerToken).status, 200) << path;
    EXPECT_EQ(served.Get(project + path).status, 401) << path;
  }
  for (const std::string& path :
       {"/hosts/" + my_host, "/hosts/" + my_host + "/grants", "/hosts/" + my_host + "/versions",
        "/scheduler-reply?host=" + my_host, "/results/" + my_result}) {
    EXPECT_EQ(served.Get(project + path, kVolunteerToken).status, 200) << path;
    EXPECT_EQ(served.Get(project + path).status, 401) << path;
    EXPECT_EQ(served.Get(project + path, kReadToken).status, 200) << path;
  }
  for (const std::string& path :
       {std::string("/users/2"), std::string("/users/2/grants"), std::string("/users/999999"),
        std::string("/hosts/999999"), "/hosts/" + their_host, "/hosts/" + their_host + "/grants",
        "/hosts/" + their_host + "/versions", "/hosts/" + their_host + "/estimate?app_version=1&fpops_est=1",
        "/scheduler-reply?host=" + their_host, "/results/" + their_result, std::string("/results/99999999"),
        std::string("/teams/1"), std::string("/teams/1/grants"), std::string("/top/users"),
        std::string("/search?q=a"), std::string("/estimates")}) {
    const Reply reply = served.Get(project + path, kVolunteerToken);
    EXPECT_EQ(reply.status, 403) << path << reply.body;
    EXPECT_EQ(served.Get(project + path).status, 401) << path;
  }
  EXPECT_EQ(served.Get("/api/v1/refused", kVolunteerToken).status, 403);
  EXPECT_EQ(served.Get("/api/v1/watch").status, 401);
  EXPECT_EQ(served.Get("/api/v1/watch", kVolunteerToken).status, 403);
  EXPECT_EQ(served.Get("/api/v1/watch", kReadToken).json()["data"],
            (json{{"hosts", json::array()}, {"levels", json::array()}}));
  EXPECT_EQ(served.Get(project + "/scales").status, 200) << "scales do not belong to an account";
  EXPECT_EQ(served.Get(project + "/top/users", kReadToken).status, 200);
}

TEST_F(GatewayTest, WithoutLeadersThereAreNoLists) {
  Served served(dir_, "  leaders: false\n");
  ASSERT_TRUE(served.Start()) << served.process().err();
  Fill(served);
  const std::string project = "/api/v1/projects/1";
  const std::string team =
      std::to_string(served.Get(project + "/search?q=team&kind=team").json()["data"][0].value("id", 0));
  for (const char* token : {"", kReadToken}) {
    for (const char* board : {"/top/users", "/top/hosts", "/top/teams"})
      EXPECT_EQ(served.Get(project + board, token).status, 403) << board;
    EXPECT_EQ(served.Get(project + "/users/2", token).status, 200);
    EXPECT_EQ(served.Get(project + "/teams/" + team, token).json()["data"]["top_members"], json::array());
    // Search results in order of credit would be a leader board.
    std::vector<int> ids;
    const json found = served.Get(project + "/search?q=user&kind=user", token).json();
    for (const json& row : found["data"]) ids.push_back(row["id"].get<int>());
    ASSERT_GT(ids.size(), 5u);
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end())) << ::testing::PrintToString(ids);
    EXPECT_FALSE(served.Get("/api/v1/projects", token).json()["viewer"]["sees_leaders"].get<bool>());
  }
}

// A later event of the same user with additional fields.
std::string LaterEvent(const std::string& events, int user, const json& more) {
  std::istringstream lines(events);
  for (std::string line; std::getline(lines, line);) {
    json event = json::parse(line);
    if (!event.contains("user") || event["user"].value("user", "") != std::to_string(user)) continue;
    event["id"] = "990";
    event["time"] = event["time"].get<double>() + 1;
    event["user"].update(more);
    return event.dump() + "\n";
  }
  return {};
}

TEST_F(GatewayTest, ProfileAndConsentDecideWhatOthersSeeOfAUser) {
  Served served(dir_, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  Fill(served);
  const std::string project = "/api/v1/projects/1";
  const auto get = [&](const std::string& path, const std::string& token = "") {
    const Reply reply = served.Get(project + path, token);
    EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
    return reply.json()["data"];
  };
  // Two users with hosts and grants: the first will hide its hosts, the second will not consent.
  std::vector<int> users;
  for (int user = 2; users.size() < 2; ++user)
    if (!get("/users/" + std::to_string(user), kReadToken)["hosts"].empty() &&
        !get("/users/" + std::to_string(user) + "/grants?limit=1", kReadToken).empty())
      users.push_back(user);
  const std::string shy = std::to_string(users[0]);
  const std::string unnamed = std::to_string(users[1]);
  std::ifstream file(dir_ / "events.jsonl");
  const std::string events{std::istreambuf_iterator<char>(file), {}};
  std::string more =
      LaterEvent(events, users[0], {{"profile", {{"show_hosts", false}, {"create_time", "1234567890"}}}}) +
      LaterEvent(events, users[1], {{"profile", {{"show_hosts", true}}}}) +
      R"({"id":"991","project":1,"time":1700000001,"project_profile":{"has_consent_type":true,"consent_enabled":true}})"
      "\n";
  for (int user = 1; user <= 13; ++user)
    if (user != users[1])
      more += json{{"id", "992"},
                   {"project", 1},
                   {"time", 1700000001},
                   {"account_facts",
                    {{"kind", "ACCOUNT_KIND_USER"},
                     {"account", std::to_string(user)},
                     {"consent", {{"copies", 1}}}}}}
                  .dump() +
              "\n";
  const Reply accepted = served.Post("/api/v1/events?source=profiles", more, kIngestToken);
  ASSERT_EQ(accepted.status, 200) << accepted.body;
  ASSERT_EQ(accepted.json()["data"]["appended"], 15) << accepted.body;
  const auto until = [&](const std::string& user, const char* field, bool wanted) {
    served.GetUntil(project + "/users/" + user,
                    [&](const Reply& reply) { return reply.json()["data"].value(field, !wanted) == wanted; });
  };
  until(shy, "hosts_shown", false);
  until(unnamed, "named", false);
  for (int user = 1; user <= 13; ++user)
    if (user != users[1]) until(std::to_string(user), "named", true);

  for (const std::string& user : {shy, unnamed}) {
    const bool is_shy = user == shy;
    const json mine = get("/users/" + user, kReadToken);
    const json others = get("/users/" + user);
    EXPECT_EQ(others["total"], mine["total"]);
    EXPECT_EQ(others["hosts"], json::array());
    EXPECT_FALSE(others["hosts_shown"].get<bool>());
    EXPECT_EQ(others.contains("name"), is_shy) << others;
    EXPECT_EQ(others.contains("team"), is_shy);
    EXPECT_EQ(served.Get(project + "/users/" + user + "/grants").status, 401);
    const std::string host = std::to_string(mine["hosts"][0]["id"].get<int>());
    EXPECT_EQ(get("/hosts/" + host, kReadToken)["user"], std::stoi(user));
    EXPECT_FALSE(get("/hosts/" + host).contains("user"));
    EXPECT_FALSE(get("/hosts/" + host).contains("user_name"));
    const json newest = get("/users/" + user + "/grants?limit=1", kReadToken)[0];
    const std::string result = std::to_string(newest["result"].get<int>());
    // A trickle after the decision is refused, and appears in the result's explanation.
    const json trickle = {
        {"id", "993"},
        {"project", 1},
        {"time", 1700000001},
        {"trickle",
         {{"result", result},
          {"host", std::to_string(newest["host"].get<int>())},  // the user may have other hosts
          {"variety", "orig"},
          {"steps", 5}}}};
    const Reply sent = served.Post("/api/v1/events?source=late" + user, trickle.dump() + "\n", kIngestToken);
    ASSERT_EQ(sent.status, 200) << sent.body;
    const std::string why =
        served
            .GetUntil(project + "/results/" + result,
                      [](const Reply& reply) { return reply.json()["data"].contains("unpaid"); })
            .body;
    EXPECT_THAT(why, HasSubstr("\"refused\":\"ALREADY_DECIDED\""));
    EXPECT_THAT(why, Not(HasSubstr("\"user\"")));
    EXPECT_THAT(why, Not(HasSubstr("user" + user)));
    EXPECT_THAT(why, HasSubstr("\"grants\":[{"));
    EXPECT_THAT(served.Get(project + "/results/" + result, kReadToken).body, HasSubstr("user" + user));
    for (const json& row : get("/hosts/" + host + "/grants")) EXPECT_FALSE(row.contains("user"));
    const json hosts = get("/top/hosts?limit=100");
    for (const json& row : hosts["rows"])
      if (row["id"] == std::stoi(host)) {
        EXPECT_FALSE(row.contains("user"));
        EXPECT_FALSE(row.contains("user_name"));
      }
    const json reply = get("/scheduler-reply?host=" + host);
    EXPECT_TRUE(reply.contains("host_total_credit"));
    for (const char* field : {"user_name", "user_total_credit", "user_create_time", "team_name"})
      EXPECT_FALSE(reply.contains(field)) << field;
    EXPECT_TRUE(get("/scheduler-reply?host=" + host, kReadToken).contains("user_name"));
    if (is_shy) {
      EXPECT_EQ(get("/scheduler-reply?host=" + host, kReadToken)["user_create_time"], 1234567890);
      EXPECT_THAT(served.Get(project + "/scheduler-reply?format=xml&host=" + host, kReadToken).body,
                  HasSubstr("<user_create_time>1234567890</user_create_time>\n"));
    }
    // Found by name and by number, unless the name is hidden from the viewer.
    for (const std::string& q : {"user" + user, user}) {
      const auto found = [&](const char* token) {
        for (const json& row : get("/search?kind=user&q=" + q, token))
          if (row["id"] == std::stoi(user)) return true;
        return false;
      };
      EXPECT_TRUE(found(kReadToken));
      EXPECT_EQ(found(""), is_shy) << q;
    }
  }
  int hidden = 0;
  const json top = get("/top/users?limit=100");
  for (const json& row : top["rows"]) {
    EXPECT_NE(row.value("name", ""), "user" + unnamed);
    if (!row.value("hidden", false)) continue;
    ++hidden;
    EXPECT_FALSE(row.contains("id"));
    EXPECT_EQ(row["total"], get("/users/" + unnamed)["total"]);
  }
  EXPECT_EQ(hidden, 1);
  EXPECT_THAT(served.Get(project + "/top/users?limit=100", kReadToken).body, HasSubstr("user" + unnamed));
  const std::string team = std::to_string(get("/users/" + unnamed, kReadToken)["team"].get<int>());
  if (team != "0") {
    EXPECT_THAT(served.Get(project + "/teams/" + team).body, Not(HasSubstr("\"user" + unnamed + "\"")));
    for (const json& row : get("/teams/" + team + "/grants")) {
      EXPECT_TRUE(row.contains("user")) << "a team's grants show only users who show their hosts: " << row;
      EXPECT_NE(row.value("user", 0), std::stoi(unnamed));
    }
  }
}

TEST_F(GatewayTest, PersonalDataOfARefusedEventIsNotPublic) {
  Served served(dir_, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  const std::string event =
      R"({"id":"1","project":1,"time":99999999999,"user":{"user":"77","name":"somebody"}})"
      "\n";
  ASSERT_EQ(served.Post("/api/v1/events?source=b", event, kIngestToken).status, 200);
  served.GetUntil("/api/v1/refused?limit=1",
                  [](const Reply& reply) { return reply.json()["data"].value("all", 0) > 0; });
  for (const char* path : {"/api/v1/refused?limit=1", "/api/v1/refused/0"}) {
    EXPECT_THAT(served.Get(path).body, Not(HasSubstr("somebody"))) << path;
    EXPECT_THAT(served.Get(path).body, HasSubstr("\"redacted\":true")) << path;
    EXPECT_THAT(served.Get(path, kReadToken).body, AllOf(HasSubstr("\"77\""), Not(HasSubstr("somebody"))))
        << path;
  }
}

TEST_F(GatewayTest, AllPagesOfAListShowOneMoment) {
  Served served(dir_, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  Fill(served);
  const std::string path = "/api/v1/projects/1/top/users?limit=6";
  const json first = served.Get(path).json();
  const std::string ranking = "&ranking=" + std::to_string(first["data"]["ranking"].get<std::uint64_t>());
  // More credit is granted, and visible in an account.
  const std::string user = std::to_string(first["data"]["rows"][0]["id"].get<int>());
  const std::string events = EventLines(dir_, 600);
  ASSERT_EQ(served.Post("/api/v1/events?source=more", events, kIngestToken).status, 200);
  const Reply later = served.GetUntil("/api/v1/projects/1/users/" + user, [&](const Reply& reply) {
    return reply.json()["data"].value("total", "") != first["data"]["rows"][0]["total"].get<std::string>();
  });
  ASSERT_NE(later.json()["data"]["total"], first["data"]["rows"][0]["total"]);
  const json again = served.Get(path + ranking).json();
  EXPECT_EQ(again["data"]["ranking"], first["data"]["ranking"]);
  ASSERT_EQ(again["data"]["rows"].size(), 6u);
  for (std::size_t i = 0; i < 6; ++i)
    for (const char* field : {"rank", "id", "total", "grants"})
      EXPECT_EQ(again["data"]["rows"][i][field], first["data"]["rows"][i][field]) << i << field;
  EXPECT_EQ(again["as_of"], first["as_of"]) << "the moment of the list, not the present";
  const Reply moved = served.GetUntil("/api/v1/projects/1/users/" + user, [&](const Reply& reply) {
    return reply.json()["as_of"]["positions"] != first["as_of"]["positions"];
  });
  EXPECT_NE(moved.json()["as_of"]["positions"], again["as_of"]["positions"]);
  const json second = served.Get(path + "&offset=6" + ranking).json()["data"];
  EXPECT_EQ(second["rows"][0]["rank"], 7);
  std::vector<double> totals;
  for (const json& page : {first["data"], second})
    for (const json& row : page["rows"]) totals.push_back(std::stod(row["total"].get<std::string>()));
  EXPECT_EQ(totals.size(), 12u);
  EXPECT_TRUE(std::is_sorted(totals.rbegin(), totals.rend())) << ::testing::PrintToString(totals);
  EXPECT_EQ(served.Get(path + "&ranking=7").status, 200) << "an unknown ranking is answered with the newest";
}

TEST_F(GatewayTest, TheSchedulerExampleGetsTheGatewaysAnswer) {
  Served served(dir_, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  Fill(served);
  const std::string project = "/api/v1/projects/1";
  const std::string host = std::to_string(
      served.Get(project + "/users/1", kReadToken).json()["data"]["hosts"][0]["id"].get<int>());
  const json known = served.Get(project + "/hosts/" + host + "/versions", kReadToken).json()["data"];
  const auto version = std::find_if(known.begin(), known.end(),
                                    [](const json& row) { return row["app_version"].get<int>() > 0; });
  ASSERT_NE(version, known.end());
  const std::string number = std::to_string((*version)["app_version"].get<int>());
  // Built as its README describes.
  const std::string root = COBBLESTONE_SOURCE_DIR;
  std::ifstream readme(root + "/examples/scheduler/README.md");
  std::string build;
  while (std::getline(readme, build) && build.find("g++ ") == std::string::npos) continue;
  const std::string program = dir_ / "ask";
  build.replace(build.find("-o ask"), 6, "-o '" + program + "'");
  ASSERT_EQ(std::system(("cd '" + root + "' && " + build).c_str()), 0) << build;
  const auto ask = [&](const std::string& url) {
    const std::string command = std::string("COBBLESTONE_TOKEN=") + kReadToken + " " + program + " " + url +
                                " 1 " + host + " 0 " + number + " 1e13 > '" + dir_.path() + "/asked'";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::ifstream file(dir_ / "asked");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const json advice =
      served
          .Get(project + "/hosts/" + host + "/estimate?app_version=" + number + "&fpops_est=1e13", kReadToken)
          .json()["data"];
  const std::string asked = ask(served.url());
  double runtime = 0;
  double left = 0;
  int single = -1;
  ASSERT_EQ(std::sscanf(asked.c_str(), "runtime_s %lf quota_left %lf single_replication %d", &runtime, &left,
                        &single),
            3)
      << asked;
  EXPECT_EQ(runtime, advice["runtime_s"].get<double>());
  EXPECT_EQ(left, advice["quota_left"].get<double>());
  EXPECT_EQ(single, advice["single_replication"].get<bool>() ? 1 : 0);
  EXPECT_THAT(
      asked,
      HasSubstr(
          served.Get(project + "/scheduler-reply?format=xml&host=" + host, kReadToken).body.substr(0, 30)));
  EXPECT_THAT(asked, HasSubstr("<host_total_credit>"));
  // Without an answer the example continues on its own.
  EXPECT_EQ(ask("http://127.0.0.1:1"), "no advice: the scheduler uses its own estimate\n");
}

TEST(SchedulerExample, TheStandingNeededIsThatOfTheRule) {
  constexpr std::uint32_t kCounts[] = {0, 1, 10, 19, 20, 41};
  for (const std::uint32_t one : kCounts)
    for (const std::uint32_t two : kCounts)
      for (const std::uint32_t three : kCounts)
        for (const std::uint32_t four : kCounts) {
          const std::array<std::uint32_t, 5> hosts = {7, one, two, three, four};
          EXPECT_EQ(GatewayAdvice::StandingNeeded({7, one, two, three, four}), credit::StandingNeeded(hosts))
              << one << ' ' << two << ' ' << three << ' ' << four;
        }
}

TEST_F(GatewayTest, RequestsBeyondTheLimitsAreRejected) {
  Served served(dir_, "  largest_body: 64 KiB\n");
  ASSERT_TRUE(served.Start()) << served.process().err();
  const Reply large = served.Post("/api/v1/events?source=a", std::string(65537, ' '), kIngestToken);
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(large.json()["error"]["code"], "too_large");
  httplib::Client client(served.url());
  // Of unknown length.
  int sent = 0;
  const auto chunked = client.Post(
      "/api/v1/events?source=a", {{"Authorization", std::string("Bearer ") + kIngestToken}},
      [&](std::size_t, httplib::DataSink& sink) {
        if (++sent > 40) {
          sink.done();
          return true;
        }
        const std::string part(4096, ' ');
        return sink.write(part.data(), part.size());
      },
      "application/x-ndjson");
  if (chunked) {
    EXPECT_EQ(chunked->status, 413);
  }
  EXPECT_EQ(served.Get("/api/v1/events?source=a", kIngestToken).json()["data"]["lines"], 0);
  EXPECT_EQ(served.Post("/api/v1/events?source=a", std::string(65536, ' '), kIngestToken).status, 200);
}

// The start of the answer to the bytes of a request; empty: no answer.
std::string AnswerTo(const Served& served, const std::string& request) {
  sockaddr_in address{
      .sin_family = AF_INET,
      .sin_port =
          htons(static_cast<std::uint16_t>(std::stoi(served.url().substr(served.url().rfind(':') + 1)))),
      .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const timeval patience{.tv_sec = 20, .tv_usec = 0};  // shorter than the gateway waits for a body
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  EXPECT_EQ(::send(connection, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  char some[4096];
  const ssize_t n = ::recv(connection, some, sizeof some, 0);
  ::close(connection);
  return {some, n > 0 ? static_cast<std::size_t>(n) : 0};
}

// As `curl -X POST` sends it: no header announces a body, and none follows.
TEST_F(GatewayTest, APostWithoutBodyHeadersHasNoBody) {
  Served served(dir_, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  EXPECT_THAT(AnswerTo(served, "POST /api/v1/events?source=a HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              HasSubstr("401"));
}

TEST_F(GatewayTest, AnAddressHasARateLimitAndATokenAHigherOne) {
  std::ofstream(dir_ / "limited.yaml")
      << "data_directory: data\ngateway: {listen: '127.0.0.1:0', rate_limit: 1, "
         "rate_burst: 5, tokens_file: tokens}\n";
  Served unused(dir_, "", "config");  // writes the token file
  Background run(dir_.path(), {"run", "--config", "limited.yaml"});
  ASSERT_TRUE(run.WaitFor("gateway=")) << run.err();
  const std::size_t begin = run.err().rfind("gateway=") + 8;
  httplib::Client client(run.err().substr(begin, run.err().find_first_of(" \n", begin) - begin));
  client.set_keep_alive(true);
  int refused = 0;
  for (int i = 0; i < 20; ++i) {
    const auto reply = client.Get("/api/v1/tasks");
    ASSERT_TRUE(reply);
    if (reply->status != 429) continue;
    ++refused;
    EXPECT_GE(std::atoi(reply->get_header_value("Retry-After").c_str()), 1);
    EXPECT_EQ(json::parse(reply->body)["error"]["code"], "too_many_requests");
  }
  EXPECT_GE(refused, 10);
  // Attempts to guess tokens count as requests: a guess is refused right after a request was. On a slow machine the
  // limit can allow one in between, hence four guesses, fewer than a limit of their own would allow.
  bool guess_refused = false;
  for (int guesses = 0; guesses < 4 && !guess_refused; ++guesses) {
    for (int status = 200; status == 200;) {
      const auto reply = client.Get("/api/v1/tasks");
      ASSERT_TRUE(reply);
      status = reply->status;
    }
    const auto guess = client.Get("/api/v1/tasks", {{"Authorization", "Bearer unknown-token-0123456789"}});
    ASSERT_TRUE(guess);
    guess_refused = guess->status == 429;
  }
  EXPECT_TRUE(guess_refused);
  for (int i = 0; i < 20; ++i) {
    const auto reply = client.Get("/api/v1/tasks", {{"Authorization", std::string("Bearer ") + kReadToken}});
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200);
  }
}

// A visitor shares the limit of the busy one if it is refused right after the busy one was. On a slow machine the limit
// can allow one more request in between, so the question is asked repeatedly, but less often than a visitor with a limit
// of its own may ask.
TEST_F(GatewayTest, BehindATrustedProxyEachVisitorIsLimitedAndLogged) {
  const std::string busy = "203.0.113.7";
  // Values of X-Forwarded-For headers.
  const std::vector<std::vector<std::string>> visitors = {
      {busy},
      {"192.0.2.1, " + busy},
      {"198.51.100.2"},
      {busy + ", 198.51.100.3, 127.0.0.1"},
      // A proxy that adds a second header after a forged one.
      {"192.0.2.9", busy}};
  const auto asked = [&](const std::string& trusted) {
    std::ofstream(dir_ / "proxied.yaml")
        << "data_directory: data\ngateway: {listen: '127.0.0.1:0', rate_limit: 1, rate_burst: 100, access_log: true, "
        << trusted << "}\n";
    Served served(std::make_unique<Background>(dir_.path(),
                                               std::vector<std::string>{"run", "--config", "proxied.yaml"}));
    EXPECT_TRUE(served.Start()) << served.process().err();
    // The bytes of the request, because clients do not keep the order of headers with one name.
    const auto status = [&](const std::vector<std::string>& visitor) {
      std::string request = "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
      for (const std::string& value : visitor) request += "X-Forwarded-For: " + value + "\r\n";
      const std::string answer = AnswerTo(served, request + "\r\n");
      return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3));
    };
    std::string limited;
    for (const std::vector<std::string>& visitor : visitors) {
      bool shared = false;
      for (int tries = 0; tries < 50 && !shared; ++tries) {
        while (status(visitors[0]) == 200) {
        }
        shared = status(visitor) == 429;
      }
      limited += shared ? '1' : '0';
    }
    served.process().Signal(SIGTERM);
    EXPECT_EQ(served.process().Wait(), 0);
    return std::pair(limited, served.process().err());
  };
  const auto [trusted, log] = asked("trusted_proxies: [127.0.0.0/8]");
  EXPECT_EQ(trusted, "11001");
  for (const char* address : {"203.0.113.7", "198.51.100.2", "198.51.100.3"})
    EXPECT_THAT(log, HasSubstr(std::string("address=") + address));
  EXPECT_THAT(log, Not(HasSubstr("address=127.0.0.1")));
  const auto [alone, plain_log] = asked("trusted_proxies: [192.0.2.0/24]");
  EXPECT_EQ(alone, "11111") << "other proxies are not trusted";
  EXPECT_THAT(plain_log, Not(HasSubstr("203.0.113")));
}

TEST_F(GatewayTest, ServesTls) {
  const std::string make =
      "cd '" + dir_.path() +
      "' && openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 "
      "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost >/dev/null 2>&1";
  ASSERT_EQ(std::system(make.c_str()), 0);
  const std::string settings = "  tls_certificate: cert.pem\n  tls_key: key.pem\n";
  Served served(dir_, settings);
  ASSERT_TRUE(served.Start()) << served.process().err();
  ASSERT_THAT(served.url(), HasSubstr("https://127.0.0.1:"));
  httplib::Client client(served.url());
  client.set_ca_cert_path((dir_ / "cert.pem").c_str());
  client.enable_server_certificate_verification(true);
  const auto reply = client.Get("/api/v1/health");
  ASSERT_TRUE(reply) << httplib::to_string(reply.error());
  EXPECT_EQ(reply->status, 200);
  EXPECT_THAT(reply->get_header_value("Strict-Transport-Security"), HasSubstr("max-age="));
  std::string plain_url = served.url();
  plain_url.replace(0, 5, "http");
  httplib::Client plain(plain_url);
  EXPECT_FALSE(plain.Get("/api/v1/health")) << "no answer without TLS";
  served.process().Signal(SIGTERM);
  EXPECT_EQ(served.process().Wait(), 0);

  std::ofstream(dir_ / "key.pem") << "no key\n";
  Served broken(dir_, settings);
  EXPECT_FALSE(broken.Start());
  EXPECT_EQ(broken.process().Wait(), 2);
  EXPECT_THAT(broken.process().err(), HasSubstr("gateway.tls_key: key.pem cannot be used"));
  ASSERT_EQ(::chmod((dir_ / "key.pem").c_str(), 0644), 0);
  Served open(dir_, settings);
  EXPECT_FALSE(open.Start());
  EXPECT_EQ(open.process().Wait(), 2);
  EXPECT_THAT(open.process().err(), HasSubstr("gateway.tls_key: key.pem contains a secret"));
}

TEST_F(GatewayTest, UnsafeSettingsPreventServing) {
  const auto error = [&](const std::string& settings) {
    std::ofstream(dir_ / "bad.yaml") << "data_directory: bad\ngateway: {" << settings << "}\n";
    const Finished run = RunProgram(dir_.path(), {"run", "--config", "bad.yaml"});
    EXPECT_EQ(run.code, 2) << run.err;
    return run.err;
  };
  EXPECT_THAT(error("listen: '0.0.0.0:0'"), HasSubstr("gateway.allow_plaintext: true"));
  EXPECT_THAT(error("listen: '127.0.0.1:0', tokens_file: nothing"), HasSubstr("gateway.tokens_file"));
  std::ofstream(dir_ / "open") << "read read-token-0123456789\n";
  ASSERT_EQ(::chmod((dir_ / "open").c_str(), 0644), 0);
  EXPECT_THAT(error("listen: '127.0.0.1:0', tokens_file: open"), HasSubstr("chmod 600 open"));
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(error("listen: '127.0.0.1:0', tokens_file: fifo"), HasSubstr("not a regular file"));
  std::ofstream(dir_ / "old") << "ingest ingest-token-0123456789\n";
  ASSERT_EQ(::chmod((dir_ / "old").c_str(), 0600), 0);
  EXPECT_THAT(error("listen: '127.0.0.1:0', tokens_file: old"),
              HasSubstr("ingest PROJECT[,PROJECT] KIND[,KIND] TOKEN"));
  Served served(dir_, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  const std::string port = served.url().substr(served.url().rfind(':') + 1);
  std::ofstream(dir_ / "bad.yaml") << "data_directory: other\ngateway: {listen: '127.0.0.1:" << port
                                   << "'}\n";
  const Finished second = RunProgram(dir_.path(), {"run", "--config", "bad.yaml"});
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, HasSubstr("cannot listen at 127.0.0.1:" + port));
}

// Reads a stream until it contains `wanted` or ends.
std::string ReadStream(const std::string& url, const std::string& wanted, const std::string& token = "") {
  httplib::Client client(url);
  client.set_read_timeout(60);
  httplib::Headers headers;
  if (!token.empty()) headers.emplace("Authorization", "Bearer " + token);
  std::string text;
  const auto ended = client.Get("/api/v1/live", headers, [&](const char* data, std::size_t size) {
    text.append(data, size);
    return wanted.empty() || text.find(wanted) == std::string::npos;
  });
  return text;
}

TEST_F(GatewayTest, LiveFiguresFlow) {
  Served served(dir_, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  EXPECT_THAT(ReadStream(served.url(), "\n\nevent: flow"), HasSubstr("retry: 2000\n\n"));
  std::string seen;
  std::atomic<bool> done{false};
  std::thread watcher([&] {
    seen = ReadStream(served.url(), "event: grant");
    done = true;
  });
  // A watcher does not see grants from before its first flow: more grants, of other projects, until it has seen one.
  for (int project = 1; project < 200 && !done; ++project) {
    const std::string events = EventLines(dir_, 50, {"--project", std::to_string(project)});
    const std::string source = "p" + std::to_string(project);
    EXPECT_EQ(served.Post("/api/v1/events?source=" + source, events, kIngestToken).status, 200);
  }
  watcher.join();
  ASSERT_THAT(seen, HasSubstr("event: grant"));
  const std::size_t begin = seen.find("data: ", seen.find("event: flow")) + 6;
  const json flow = json::parse(seen.substr(begin, seen.find('\n', begin) - begin));
  for (const char* field :
       {"time", "results_per_s", "grants_per_s", "credit_per_s", "refused_per_s", "refused", "lag"})
    EXPECT_TRUE(flow[field].is_number()) << field;
  EXPECT_EQ(flow["as_of"]["positions"].size(), 3u);
  ASSERT_EQ(flow["stages"].size(), 5u);
  EXPECT_EQ(flow["stages"][0]["stage"], "claims");
  const std::size_t grant_begin = seen.find("data: ", seen.find("event: grant")) + 6;
  const json grant =
      json::parse(seen.substr(grant_begin, seen.find('\n', grant_begin) - grant_begin), nullptr, false);
  if (!grant.is_discarded()) {
    EXPECT_TRUE(grant["credit"].is_string());
    EXPECT_GT(grant.value("result", 0), 0);
  }
}

TEST_F(GatewayTest, StreamsEndWithTheProgramAndDoNotStarveRequests) {
  Served served(dir_, "  connections: 6\n  streams: 4\n");
  ASSERT_TRUE(served.Start()) << served.process().err();
  std::atomic<int> flowing{0};
  std::vector<std::thread> watchers;
  for (int i = 0; i < 4; ++i) {
    watchers.emplace_back([&] {
      httplib::Client client(served.url());
      client.set_read_timeout(60);
      bool counted = false;
      (void)client.Get("/api/v1/live", [&](const char*, std::size_t) {
        if (!std::exchange(counted, true)) ++flowing;
        return true;
      });
    });
  }
  while (flowing < 4) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Reply fifth = served.Get("/api/v1/live");
  EXPECT_EQ(fifth.status, 503);
  EXPECT_EQ(fifth.header("Retry-After"), "10");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(served.Get("/api/v1/health").status, 200);
  const auto begin = steady_clock::now();
  served.process().Signal(SIGTERM);
  EXPECT_EQ(served.process().Wait(), 0) << served.process().err();
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(15));
  for (std::thread& watcher : watchers) watcher.join();
}

TEST_F(GatewayTest, ADirectoryAtRestIsServedReadOnly) {
  {
    Served served(dir_, "");
    ASSERT_TRUE(served.Start()) << served.process().err();
    Fill(served);
    const Finished held = RunProgram(dir_.path(), {"gateway", "--data", "data", "--listen", "127.0.0.1:0"});
    EXPECT_EQ(held.code, 4);
    EXPECT_THAT(held.err, HasSubstr("cobblestone run --listen"));
    served.process().Signal(SIGTERM);
    ASSERT_EQ(served.process().Wait(), 0);
  }
  const std::string total =
      AskProgram(dir_.path(), {"account", "user", "1", "--json", "--data", "data"})["total"];
  Served served(dir_, "", "gateway");
  ASSERT_TRUE(served.Start()) << served.process().err();
  EXPECT_EQ(served.Get("/api/v1/projects/1/users/1").json()["data"]["total"], total);
  EXPECT_EQ(served.Get("/api/v1/health").json()["status"], "ok");
  const Reply accepted = served.Post("/api/v1/events?source=b", "\n", kIngestToken);
  EXPECT_EQ(accepted.status, 503);
  EXPECT_THAT(accepted.body, HasSubstr("no pipeline is running on its directory"));
  served.process().Signal(SIGTERM);
  EXPECT_EQ(served.process().Wait(), 0);
  EXPECT_EQ(RunProgram(dir_.path(), {"gateway", "--data", "nothing"}).code, 3);
}

TEST_F(GatewayTest, ThePageIsBuiltInAndSentOnce) {
  Served served(dir_, "  anonymous_role: none\n");
  ASSERT_TRUE(served.Start()) << served.process().err();
  const Reply page = served.Get("/");
  ASSERT_EQ(page.status, 200);
  EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.header("Content-Security-Policy"), HasSubstr("script-src 'self'"));
  EXPECT_EQ(page.header("Cache-Control"), "no-cache");
  EXPECT_EQ(served.Get("/index.html").body, page.body);
  const Reply same = served.Get("/", "", {{"If-None-Match", page.header("ETag")}});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  const Reply script = served.Get("/app.js");
  ASSERT_GT(script.body.size(), 10000u);
  httplib::Client client(served.url());
  client.set_decompress(false);
  const auto packed = client.Get("/app.js", {{"Accept-Encoding", "br, gzip"}});
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->get_header_value("Content-Encoding"), "gzip");
  EXPECT_EQ(packed->body.substr(0, 2), "\x1f\x8b");
  EXPECT_LT(packed->body.size(), script.body.size() / 2);
  EXPECT_EQ(served.Get("/app.js", "", {{"Accept-Encoding", "gzip"}}).body, script.body) << "the same file";
  EXPECT_EQ(served.Post("/", "", "", "text/plain").status, 405);
}

TEST_F(GatewayTest, AnswersCannotBeFramedSniffedOrCutIntoParts) {
  Served served(dir_, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  const Reply whole = served.Get("/api/v1/openapi.json");
  EXPECT_EQ(whole.header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(whole.header("Content-Security-Policy"), "default-src 'none'; frame-ancestors 'none'");
  EXPECT_EQ(whole.header("Cache-Control"), "no-store");
  EXPECT_EQ(whole.header("Content-Encoding"), "");
  const Reply part = served.Get("/api/v1/openapi.json", "", {{"Range", "bytes=5-9"}});
  EXPECT_EQ(part.status, 200);
  EXPECT_EQ(part.body, whole.body);
  EXPECT_EQ(served.Get("/api/v1/openapi.json", "", {{"Range", "bytes=99999999-999999999"}}).body, whole.body);
  EXPECT_EQ(
      served.Get("/api/v1/openapi.json", "", {{"Accept-Encoding", "br, gzip"}}).header("Content-Encoding"),
      "");
  httplib::Client client(served.url());
  const auto head = client.Head("/api/v1/health");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->body, "");
}

}  // namespace
}  // namespace cobblestone::testing
