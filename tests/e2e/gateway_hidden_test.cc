// Hidden data stays hidden. The test requests every route of the table as every role, in a project whose users hide
// everything that can be hidden, and no answer contains a marker that its viewer may not see. A route that is not in
// the table fails the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <latch>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/gateway/routes.h"
#include "tests/e2e/gateway_process.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Users by the data that they hide. Each has a team, a host and a result of its own; all numbers and names are unique
// in the test.
enum Who : int {
  kOpen = 1,  // the volunteer with the token
  kHidesHosts = 2,
  kNoConsent = 3,
  kDeleted = 4,
  kHidden = 5,   // the profile is hidden
  kForeign = 6,  // hides nothing; the former owner of a host that now belongs to the volunteer
};
std::string UserOf(int who) { return who == kOpen ? "1" : "771000" + std::to_string(who); }
std::string TeamOf(int who) { return "775000" + std::to_string(who); }
std::string HostOf(int who) { return "772000" + std::to_string(who); }
std::string ResultOf(int who) { return "773000" + std::to_string(who); }
std::string NameOf(int who) { return "MARKNAME" + std::to_string(who); }
constexpr const char* kHandedOn =
    "7730009";  // a result of the volunteer, on the host that was the foreign user's
// In texts of refused events, and of lines that are not events.
constexpr const char* kText = "MARKTEXT";

class Events {
 public:
  void Add(json body, double time = 1.7e9) {
    body["id"] = std::to_string(++id_);
    body["project"] = 1;
    body["time"] = time;
    lines_ += body.dump() + "\n";
  }
  void AddLine(const std::string& line) { lines_ += line + "\n"; }
  void Granted(const std::string& result, const std::string& host, const std::string& workunit,
               int claims = 1) {
    Add({{"completion",
          {{"result", result},
           {"host", host},
           {"workunit", workunit},
           {"app", "1"},
           {"app_version", "1"},
           {"outcome", "OUTCOME_SUCCESS"},
           {"elapsed_time", 3600},
           {"peak_flops", 4e9},
           {"sent_time", 1.7e9},
           {"received_time", 1.7e9 + 3600}}}},
        1.7e9 + 3600);
    Add({{"validation",
          {{"result", result},
           {"host", host},
           {"workunit", workunit},
           {"app", "1"},
           {"fpops_est", 1e13},
           {"fpops_bound", 1e14},
           {"state", "VALIDATE_STATE_VALID"},
           {"claims", claims},
           {"pass", 1}}}},
        1.7e9 + 3700);
  }
  [[nodiscard]] const std::string& lines() const { return lines_; }

 private:
  int id_ = 0;
  std::string lines_;
};

std::string World() {
  Events events;
  events.Add({{"app", {{"app", "1"}, {"name", "fold"}, {"policy", "creditnew"}, {"delay_bound", 604800}}}});
  events.Add(
      {{"app_version", {{"app_version", "1"}, {"app", "1"}, {"version_num", 100}, {"platform", "1"}}}});
  events.Add({{"project_profile", {{"has_consent_type", true}, {"consent_enabled", true}}}});
  for (int who = kOpen; who <= kForeign; ++who) {
    events.Add({{"team", {{"team", TeamOf(who)}, {"name", "team of " + std::to_string(who)}}}});
    events.Add(
        {{"user",
          {{"user", UserOf(who)},
           {"name", NameOf(who)},
           {"team", TeamOf(who)},
           {"country", kText},
           {"profile",
            {{"create_time", 1.6e9}, {"show_hosts", who != kHidesHosts}, {"hidden", who == kHidden}}}}}});
    if (who != kNoConsent)
      events.Add({{"account_facts",
                   {{"kind", "ACCOUNT_KIND_USER"}, {"account", UserOf(who)}, {"consent", {{"copies", 1}}}}}});
    events.Add(
        {{"host",
          {{"host", HostOf(who)}, {"user", UserOf(who)}, {"cpus", 4}, {"whetstone", 2e9}, {"name", kText}}}});
  }
  for (int who = kOpen; who <= kForeign; ++who)
    events.Granted(ResultOf(who), HostOf(who), "774000" + std::to_string(who));
  // One workunit of the volunteer and of another user.
  events.Granted("7730011", HostOf(kOpen), "7740011", 2);
  events.Granted("7730012", HostOf(kForeign), "7740011", 2);
  events.Add({{"user", {{"user", UserOf(kDeleted)}, {"deleted", true}}}}, 1.7e9 + 3800);
  events.Add({{"host", {{"host", HostOf(kForeign)}, {"user", "1"}, {"cpus", 4}}}}, 1.7e9 + 3900);
  events.Granted(kHandedOn, HostOf(kForeign), "7740012");
  return events.lines();
}

std::string Refusals() {
  Events events;
  for (const int who : {kHidesHosts, kNoConsent, kDeleted, kHidden}) {
    const json entry{{"user", UserOf(who)}, {"host", HostOf(who)}, {"team", TeamOf(who)}, {"workunit", "1"},
                     {"app", "1"},          {"app_version", "1"},  {"credit_micro", "1"}, {"previous", "77"}};
    const double time = 1.7e9 + 4000 + who;  // so that no id repeats an event of the project
    events.Add({{"reversal", {{"result", ResultOf(who)}, {"reason", kText}, {"entry", entry}}}}, time);
    events.Add({{"repricing",
                 {{"result", ResultOf(who)}, {"policy_version", 9}, {"reason", kText}, {"entry", entry}}}},
               time);
    events.Add({{"opening_host_version",
                 {{"host", HostOf(who)}, {"app", "99"}, {"app_version", "77"}, {"pfc", {{"n", -1}}}}}},
               time);
    events.Add({{"trickle",
                 {{"result_name", kText},
                  {"host", HostOf(who)},
                  {"app", "1"},
                  {"variety", kText},
                  {"elapsed_time", -5},
                  {"others", json::array({{{"name", kText}, {"text", kText}}})}}}},
               time);
    events.Add({{"user", {{"user", UserOf(who)}, {"name", kText}, {"profile", {{"create_time", -1.0}}}}}},
               9e13);
    events.Add({{"host", {{"host", HostOf(who)}, {"name", kText}, {"whetstone", 1}}}}, 9e13);
  }
  events.AddLine(R"({"user":{"user":"7710003","name":"MARKTEXT","coutry":"x"},"id":"1"})");
  events.AddLine("MARKTEXT <MARKNAME3@example.org>");
  return events.lines();
}

// Requests of a route. {who}: each of the users.
struct Asked {
  const char* method;
  const char* path;
  std::vector<std::string> urls;
};

std::vector<Asked> Table() {
  const auto each = [](const std::string& before, std::string (*id)(int),
                       const std::vector<std::string>& behind) {
    std::vector<std::string> urls;
    for (int who = kOpen; who <= kForeign; ++who)
      for (const std::string& one : behind) urls.push_back(before + id(who) + one);
    return urls;
  };
  const std::string p = "/api/v1/projects/1";
  std::vector<std::string> searches;
  for (const char* kind : {"any", "user", "host", "team"})
    for (const char* q : {"MARKNAME", "MARKTEXT", "7710003", "7710002", "7720002", "1", "team"})
      searches.push_back(p + "/search?limit=1000&q=" + q + "&kind=" + kind);
  std::vector<std::string> results = each(p + "/results/", ResultOf, {""});
  for (const char* result : {"7730011", "7730012", kHandedOn}) results.push_back(p + "/results/" + result);
  std::vector<std::string> refused;
  for (int number = 0; number < 26; ++number) refused.push_back("/api/v1/refused/" + std::to_string(number));
  return {
      {"GET", "/api/v1/health", {"/api/v1/health"}},
      {"GET", "/api/v1/openapi.json", {"/api/v1/openapi.json"}},
      {"GET", "/api/v1/metrics", {"/api/v1/metrics"}},
      {"GET", "/api/v1/live", {}},  // see Watch
      {"GET", "/api/v1/tasks", {"/api/v1/tasks"}},
      {"GET", "/api/v1/watch", {"/api/v1/watch?limit=100"}},
      {"GET", "/api/v1/refused", {"/api/v1/refused?limit=1000", "/api/v1/refused?limit=1000&from=0"}},
      {"GET", "/api/v1/refused/{number}", refused},
      {"POST",
       "/api/v1/refused/{number}/resubmit",
       {"/api/v1/refused/0/resubmit", "/api/v1/refused/25/resubmit"}},
      {"GET", "/api/v1/events", {"/api/v1/events?source=bad"}},
      {"POST", "/api/v1/events", {"/api/v1/events?source=bad&first_line=0"}},
      {"GET", "/api/v1/projects", {"/api/v1/projects"}},
      {"GET", "/api/v1/projects/{project}/catalogue", {p + "/catalogue"}},
      {"GET", "/api/v1/projects/{project}/scales", {p + "/scales"}},
      {"GET", "/api/v1/projects/{project}/scales/history", {p + "/scales/history"}},
      {"GET", "/api/v1/projects/{project}/app_versions", {p + "/app_versions"}},
      {"GET", "/api/v1/projects/{project}/estimates", {p + "/estimates"}},
      {"GET", "/api/v1/projects/{project}/search", searches},
      {"GET", "/api/v1/projects/{project}/scheduler-reply",
       each(p + "/scheduler-reply?host=", HostOf, {"&format=json", "&format=xml"})},
      {"GET",
       "/api/v1/projects/{project}/top/users",
       {p + "/top/users?limit=1000", p + "/top/users?limit=1000&by=rac"}},
      {"GET",
       "/api/v1/projects/{project}/top/hosts",
       {p + "/top/hosts?limit=1000", p + "/top/hosts?limit=1000&by=rac"}},
      {"GET", "/api/v1/projects/{project}/top/teams", {p + "/top/teams?limit=1000"}},
      {"GET", "/api/v1/projects/{project}/results/{result}", results},
      {"GET", "/api/v1/projects/{project}/users/{id}", each(p + "/users/", UserOf, {""})},
      {"GET", "/api/v1/projects/{project}/users/{id}/grants",
       each(p + "/users/", UserOf, {"/grants?limit=1000"})},
      {"GET", "/api/v1/projects/{project}/hosts/{id}", each(p + "/hosts/", HostOf, {""})},
      {"GET", "/api/v1/projects/{project}/hosts/{id}/grants",
       each(p + "/hosts/", HostOf, {"/grants?limit=1000"})},
      {"GET", "/api/v1/projects/{project}/hosts/{id}/versions", each(p + "/hosts/", HostOf, {"/versions"})},
      {"GET", "/api/v1/projects/{project}/hosts/{id}/estimate",
       each(p + "/hosts/", HostOf, {"/estimate?app_version=1&fpops_est=1e13"})},
      {"GET", "/api/v1/projects/{project}/teams/{id}", each(p + "/teams/", TeamOf, {""})},
      {"GET", "/api/v1/projects/{project}/teams/{id}/grants",
       each(p + "/teams/", TeamOf, {"/grants?limit=1000"})},
      // A pipeline of projects answers 404; the accounts of a hub are those that projects publish (e2e_hub_test).
      {"GET", "/api/v1/federation/projects", {"/api/v1/federation/projects"}},
      {"GET", "/api/v1/federation/projects/{project}", {"/api/v1/federation/projects/1"}},
      {"GET", "/api/v1/federation/projects/{project}/users/{id}",
       each("/api/v1/federation/projects/1/users/", UserOf, {""})},
      {"GET", "/api/v1/federation/projects/{project}/hosts/{id}",
       each("/api/v1/federation/projects/1/hosts/", HostOf, {""})},
      {"GET", "/api/v1/federation/projects/{project}/teams/{id}",
       each("/api/v1/federation/projects/1/teams/", TeamOf, {""})},
      {"GET", "/api/v1/federation/projects/{project}/days", {"/api/v1/federation/projects/1/days"}},
      {"GET", "/api/v1/federation/projects/{project}/top/users", {"/api/v1/federation/projects/1/top/users"}},
      {"GET", "/api/v1/federation/projects/{project}/top/hosts", {"/api/v1/federation/projects/1/top/hosts"}},
      {"GET", "/api/v1/federation/projects/{project}/top/teams", {"/api/v1/federation/projects/1/top/teams"}},
      {"GET", "/api/v1/federation/factors", {"/api/v1/federation/factors"}},
      {"GET", "/api/v1/federation/person", {"/api/v1/federation/person?project=1&user=1"}},
      {"GET",
       "/api/v1/federation/people",
       {"/api/v1/federation/people?name=MARK", "/api/v1/federation/people"}},
      {"GET", "/api/v1/federation/teams", {"/api/v1/federation/teams"}},
      {"GET",
       "/api/v1/federation/teams/{key}",
       {"/api/v1/federation/teams/0123456789abcdef0123456789abcdef"}},
      {"GET", "/api/v1/federation/countries", {"/api/v1/federation/countries"}},
      {"GET", "/api/v1/federation/hosts", {"/api/v1/federation/hosts?cpid=0123456789abcdef0123456789abcdef"}},
      {"GET", "/get_user.php", {"/get_user.php?cpid=0123456789abcdef0123456789abcdef"}},
      {"GET",
       "/get_user_credit_history.php",
       {"/get_user_credit_history.php?cpid=0123456789abcdef0123456789abcdef"}},
      {"GET", "/get_projects.php", {"/get_projects.php"}},
      {"GET", "/get_host.php", {"/get_host.php?cpid=0123456789abcdef0123456789abcdef"}},
      {"GET", "/get_team.php", {"/get_team.php?name=MARKTEXT"}},
  };
}

struct Viewer {
  const char* name;
  const char* token;
  bool sees_all;   // a read or operate token
  bool volunteer;  // the open user's token
};
constexpr Viewer kViewers[] = {
    {"nobody", "", false, false},
    {"the volunteer", kVolunteerToken, false, true},
    {"read", kReadToken, true, false},
    {"ingest", kIngestToken, false, false},
    {"operate", kOperateToken, true, false},
    {"metrics", kMetricsToken, false, false},
};

// Markers that an answer to this viewer must not contain.
std::set<std::string> Forbidden(const Viewer& viewer, bool own, const Asked& asked, const std::string& url) {
  const std::string path = asked.path;
  const auto about = [&](const char* part) { return path.find(part) != std::string::npos; };
  // A deleted user's name and texts are erased for everyone. Texts of members do not appear in refused records.
  std::set<std::string> never = {NameOf(kDeleted)};
  if (viewer.sees_all) return never;
  never.insert(kText);
  for (const int who : {kNoConsent, kHidden}) {
    never.insert(NameOf(who));
    never.insert(UserOf(who));
  }
  never.insert(UserOf(kDeleted));
  // Refused events and the live feed's newest grants name no owner.
  const bool of_hosts =
      about("/hosts") || about("/results") || about("scheduler") || about("/refused") || about("/live");
  if (of_hosts)
    never.merge(std::set<std::string>{UserOf(kHidesHosts), NameOf(kHidesHosts), TeamOf(kHidesHosts)});
  for (int who = kHidesHosts; who <= kHidden; ++who) {
    if (about("/users") || about("/teams") || about("/refused")) {
      never.insert(HostOf(who));
      never.insert(ResultOf(who));
    }
    if (of_hosts) never.insert(TeamOf(who));
  }
  if (own)
    for (int who = kHidesHosts; who <= kForeign; ++who) {
      never.merge(std::set<std::string>{UserOf(who), NameOf(who), TeamOf(who), ResultOf(who)});
      if (who != kForeign || !viewer.volunteer) never.insert(HostOf(who));
      never.insert("7730012");
    }
  if (own && !viewer.volunteer)
    never.merge(
        std::set<std::string>{NameOf(kOpen), HostOf(kOpen), ResultOf(kOpen), TeamOf(kOpen), kHandedOn});
  // A viewer may see its own input: an account exists under its number, and an error repeats its URL.
  std::erase_if(never, [&](const std::string& marker) {
    return marker != kText && marker.find("NAME") == std::string::npos &&
           url.find(marker) != std::string::npos;
  });
  return never;
}

class GatewayHidden : public ::testing::TestWithParam<const char*> {
 protected:
  void Expect(const Viewer& viewer, const Asked& asked, const std::string& url, const std::string& body) {
    const bool own = std::string(GetParam()).find("own") != std::string::npos;
    for (const std::string& marker : Forbidden(viewer, own, asked, url))
      EXPECT_EQ(body.find(marker), std::string::npos)
          << viewer.name << " must not see " << marker << " in " << url << ":\n"
          << body.substr(body.find(marker) < 300 ? 0 : body.find(marker) - 300, 600);
  }
  TempDir dir_;
};

TEST(GatewayHiddenTable, HasEveryRoute) {
  std::set<std::string> routes;
  std::set<std::string> asked;
  for (const gateway::Route& route : gateway::Routes())
    routes.insert(std::string(route.method) + " " + std::string(route.path));
  for (const Asked& one : Table()) asked.insert(std::string(one.method) + " " + one.path);
  EXPECT_EQ(asked, routes)
      << "add a new route with its requests to the table, so that it is tested as every role";
}

TEST_P(GatewayHidden, NoAnswerShowsWhatItsViewerMayNotSee) {
  Served served(dir_, GetParam());
  ASSERT_TRUE(served.Start()) << served.process().err();
  const Reply world = served.Post("/api/v1/events?source=world", World(), kIngestToken);
  ASSERT_EQ(world.status, 200) << world.body;
  served.GetUntil(
      "/api/v1/projects/1/hosts/" + HostOf(kForeign) + "/grants",
      [](const Reply& reply) { return reply.body.find(kHandedOn) != std::string::npos; }, kReadToken);
  // Viewers watch from before the refusals on, until the newest refusal arrives, or for 20 flows if the viewer may
  // not see refusals.
  std::map<std::string, std::string> live;
  std::vector<std::thread> watching;
  // Each viewer has received its first flow, after which a refusal is news, or may not watch.
  std::latch watched(std::size(kViewers));
  for (const Viewer& viewer : kViewers)
    watching.emplace_back([&served, &watched, token = std::string(viewer.token), text = &live[viewer.name]] {
      bool arrived = false;
      httplib::Client client(served.url());
      client.set_read_timeout(60);
      httplib::Headers headers;
      if (!token.empty()) headers.emplace("Authorization", "Bearer " + token);
      client.Get("/api/v1/live", headers, [&](const char* data, std::size_t size) {
        text->append(data, size);
        int refused = 0;
        int flows = 0;
        for (std::size_t at = 0; (at = text->find("event: flow", at)) != std::string::npos; ++at) ++flows;
        for (std::size_t at = 0; (at = text->find("event: refused", at)) != std::string::npos; ++at)
          ++refused;
        if (flows > 0 && !std::exchange(arrived, true)) watched.count_down();
        return refused == 0 && flows < 20;
      });
      if (!arrived) watched.count_down();
    });
  watched.wait();
  const Reply bad = served.Post("/api/v1/events?source=bad&bad_lines=refuse", Refusals(), kIngestToken);
  EXPECT_EQ(bad.status, 200) << bad.body;
  EXPECT_EQ(bad.body.find(kText), std::string::npos)
      << "an answer names the error of a line, not its contents: " << bad.body;
  served.GetUntil(
      "/api/v1/refused?limit=1",
      [](const Reply& reply) { return reply.json()["data"].value("all", 0) >= 26; }, kReadToken);
  for (std::thread& one : watching) one.join();

  std::string all;  // the answers to viewers who may see everything: a marker that is nowhere proves nothing
  for (const Viewer& viewer : kViewers)
    for (const Asked& asked : Table()) {
      if (std::string(asked.path) == "/api/v1/live") Expect(viewer, asked, asked.path, live[viewer.name]);
      for (const std::string& url : asked.urls) {
        const bool get = std::string(asked.method) == "GET";
        // Resubmitting and sending change state, so they are tried only with tokens that lack the permission.
        if (!get && (std::string(viewer.name) == "operate" || std::string(viewer.name) == "ingest")) continue;
        const Reply reply =
            get ? served.Get(url, viewer.token) : served.Post(url, "MARKTEXT\n", viewer.token);
        ASSERT_NE(reply.status, 0) << url;
        EXPECT_LT(reply.status, 500) << url << ": " << reply.body;
        Expect(viewer, asked, url, reply.body);
        if (viewer.sees_all) all += reply.body;
      }
    }
  for (int who = kOpen; who <= kForeign; ++who)
    for (const std::string& marker : {UserOf(who), HostOf(who), ResultOf(who), TeamOf(who)})
      EXPECT_NE(all.find(marker), std::string::npos) << marker << " appears in no answer at all";
  for (const int who : {kOpen, kHidesHosts, kNoConsent, kHidden, kForeign})
    EXPECT_NE(all.find(NameOf(who)), std::string::npos) << NameOf(who);
  EXPECT_NE(live["read"].find("event: refused"), std::string::npos) << live["read"];
  // Other users of the machine cannot read it in the files either.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "data"))
    EXPECT_EQ(entry.status().permissions() &
                  (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
              std::filesystem::perms::none)
        << entry.path();
}

const char* NameOfSettings(const ::testing::TestParamInfo<const char*>& info) {
  constexpr const char* kNames[] = {"Public", "Own", "NobodyWithoutAToken"};
  return kNames[info.index];
}

INSTANTIATE_TEST_SUITE_P(As, GatewayHidden,
                         ::testing::Values("", "  accounts_visible: own\n", "  anonymous_role: none\n"),
                         NameOfSettings);

}  // namespace
}  // namespace cobblestone::testing
