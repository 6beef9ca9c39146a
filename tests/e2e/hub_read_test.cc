// What a federation hub answers over all its projects: ranks, people, teams by name, countries, hosts, histories, and the XML
// that BOINC's web pages and signature images read. Feeds are posted as events to the built program.
#include <expat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "tests/e2e/gateway_process.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kHub = "role: hub\n";
constexpr double kStart = 1.7e9;  // UNIX day 19675
constexpr double kDay = 86400;
const std::string kIdA(32, 'a');
const std::string kIdB(32, 'b');
const std::string kHostId(32, 'c');

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A parsed XML document: texts by path, "user/project/id". Empty and a problem if it is not well-formed.
class Xml {
 public:
  explicit Xml(const std::string& text) {
    const XML_Parser parser = ::XML_ParserCreate(nullptr);
    ::XML_SetUserData(parser, this);
    ::XML_SetElementHandler(
        parser, [](void* self, const char* name, const char**) { static_cast<Xml*>(self)->Begin(name); },
        [](void* self, const char*) { static_cast<Xml*>(self)->End(); });
    ::XML_SetCharacterDataHandler(parser, [](void* self, const char* more, int size) {
      static_cast<Xml*>(self)->text_.append(more, static_cast<std::size_t>(size));
    });
    if (::XML_Parse(parser, text.data(), static_cast<int>(text.size()), 1) != XML_STATUS_OK)
      ADD_FAILURE() << ::XML_ErrorString(::XML_GetErrorCode(parser)) << " in " << text;
    ::XML_ParserFree(parser);
  }
  // All elements at the path, in order.
  [[nodiscard]] std::vector<std::string> All(const std::string& path) const {
    const auto found = texts_.find(path);
    return found == texts_.end() ? std::vector<std::string>() : found->second;
  }
  // The only element at the path.
  [[nodiscard]] std::string One(const std::string& path) const {
    const auto all = All(path);
    EXPECT_EQ(all.size(), 1u) << path;
    return all.size() == 1 ? all[0] : std::string();
  }

 private:
  void Begin(const char* name) {
    path_ += (path_.empty() ? "" : "/") + std::string(name);
    text_.clear();
  }
  void End() {
    texts_[path_].push_back(text_);
    path_.erase(path_.rfind('/') == std::string::npos ? 0 : path_.rfind('/'));
    text_.clear();
  }

  std::string path_;
  std::string text_;
  std::map<std::string, std::vector<std::string>> texts_;
};

struct Member {
  int id = 0;
  double credit = 0;
  std::string name{};
  std::string country{};
  std::string cpid{};
  int team = 0;
  int owner = 0;
  double recent = 0;
  double recent_time = 0;
};

class HubRead : public ::testing::Test {
 protected:
  void SetUp() override { Start(kHub); }
  void Start(const std::string& settings) {
    served_ = std::make_unique<Served>(dir_, settings);
    ASSERT_TRUE(served_->Start()) << served_->process().err();
  }

  // ---- Feeds ----------------------------------------------------------------------------------------------------
  void Add(int project, double time, json body) {
    body["id"] = std::to_string(++id_);
    body["project"] = project;
    body["time"] = time;
    lines_ += body.dump() + "\n";
  }
  void Project(int number, const std::string& name, json more = json::object()) {
    more["name"] = name;
    more["mode"] = "FEED_MODE_FILES";
    if (!more.contains("url")) more["url"] = "https://" + std::to_string(number) + ".example/";
    Add(number, kStart, {{"feed_project", std::move(more)}});
  }
  void Begin(int project, int edition, double time) {
    edition_ = edition;
    time_ = time;
    sum_micro_ = 0;
    users_ = 0;
    Add(project, time,
        {{"feed_edition", {{"edition", std::to_string(edition)}, {"state", "EDITION_STATE_BEGUN"}}}});
  }
  void Account(int project, const std::string& kind, const Member& member) {
    const auto micro = static_cast<std::int64_t>(member.credit * 1e6);
    if (kind == "USER") {
      sum_micro_ += micro;
      ++users_;
    }
    json account{{"kind", "ACCOUNT_KIND_" + kind},
                 {"account", std::to_string(member.id)},
                 {"edition", std::to_string(edition_)},
                 {"total_micro", std::to_string(micro)},
                 {"recent", member.recent},
                 {"recent_time", member.recent_time},
                 {"create_time", 1.2e9 + member.id},
                 {"name", member.name},
                 {"country", member.country},
                 {"cross_project_id", member.cpid},
                 {"team", std::to_string(member.team)},
                 {"owner", std::to_string(member.owner)}};
    Add(project, time_, {{"feed_account", std::move(account)}});
  }
  // As a collector does, with a barrier before.
  void Complete(int project) {
    Add(0, time_, {{"barrier", json::object()}});
    Add(project, time_,
        {{"feed_edition",
          {{"edition", std::to_string(edition_)},
           {"state", "EDITION_STATE_COMPLETE"},
           {"published_time", time_},
           {"sums",
            {{{"kind", "ACCOUNT_KIND_USER"},
              {"accounts", std::to_string(users_)},
              {"total_micro_low", std::to_string(sum_micro_)}}}}}}});
  }
  void Post() {
    const Reply reply =
        served_->Post("/api/v1/events?source=feed&first_line=" + std::to_string(sent_), lines_, kIngestToken);
    ASSERT_EQ(reply.status, 200) << reply.body;
    sent_ += static_cast<std::size_t>(std::count(lines_.begin(), lines_.end(), '\n'));
    lines_.clear();
  }

  // ---- Answers --------------------------------------------------------------------------------------------------
  // The list once its first row has this total.
  json ListWith(const std::string& path, const std::string& total) {
    const Reply reply = served_->GetUntil("/api/v1/federation/" + path, [&](const Reply& r) {
      const json list = r.json();
      return r.status == 200 && !list["data"].empty() && list["data"][0]["total"] == total;
    });
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json();
  }
  json Data(const std::string& path) {
    const Reply reply = served_->Get("/api/v1/federation/" + path);
    EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
    return reply.json()["data"];
  }
  Xml GetXml(const std::string& path) {
    const Reply reply = served_->Get(path);
    EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
    EXPECT_THAT(reply.header("Content-Type"), HasSubstr("application/xml"));
    return Xml(reply.body);
  }

  // Three projects: Elm counts two points for a Cobblestone, and the account at Herd is a manager's. Ann has 100 at Rosewood and
  // 300 points, 150 Cobblestones, at Elm; Bob has 40.
  void FirstEditions() {
    Project(1, "Rosewood");
    Project(2, "Elm", {{"points_per_cobblestone", 2}});
    Project(3, "Herd", {{"shared_accounts", {{"users", {"31"}}}}});
    Begin(1, 1, kStart);
    Account(1, "TEAM", {.id = 5, .credit = 140, .name = "The Crunchers"});
    Account(1, "USER",
            {.id = 11,
             .credit = 100,
             .name = "Ann",
             .country = "Norway",
             .cpid = kIdA,
             .team = 5,
             .recent = 8,
             .recent_time = Now() - 7 * kDay});
    Account(1, "USER",
            {.id = 12, .credit = 40, .name = "Bob & <Co>", .country = "Chad", .cpid = kIdB, .team = 5});
    Account(1, "HOST", {.id = 51, .credit = 60, .cpid = kHostId, .owner = 11});
    Complete(1);
    Begin(2, 1, kStart);
    Account(2, "TEAM", {.id = 9, .credit = 300, .name = "THE crunchers"});
    Account(2, "USER",
            {.id = 21,
             .credit = 300,
             .name = "Ann at Elm",
             .country = "Sweden",
             .cpid = kIdA,
             .team = 9,
             .recent = 12,
             .recent_time = Now()});
    Account(2, "HOST", {.id = 61, .credit = 200, .cpid = kHostId, .recent = 12, .recent_time = Now()});
    Complete(2);
    Begin(3, 1, kStart);
    Account(3, "USER", {.id = 31, .credit = 1000, .name = "manager", .country = "Norway", .cpid = kIdA});
    Complete(3);
    Post();
  }

  TempDir dir_;
  std::unique_ptr<Served> served_;
  int id_ = 0;
  int edition_ = 0;
  double time_ = kStart;
  std::int64_t sum_micro_ = 0;
  int users_ = 0;
  std::string lines_;
  std::size_t sent_ = 0;
};

TEST_F(HubRead, RanksPeopleTeamsCountriesAndHostsOverProjects) {
  FirstEditions();
  const json people = ListWith("people", "250.000000");
  ASSERT_EQ(people["count"], 2) << people;
  EXPECT_GT(people["as_of"].get<double>(), kStart);
  const json& ann = people["data"][0];
  EXPECT_EQ(ann["name"], "Ann");
  EXPECT_EQ(ann["country"], "Norway");
  EXPECT_EQ(ann["projects"], 3 - 1) << "the shared account is not hers";
  // 8 of a week ago are 4 now, and 12 points are 6 Cobblestones.
  EXPECT_NEAR(ann["rac"].get<double>(), 10, 0.01);
  EXPECT_EQ(people["data"][1]["rank"], 2);

  const json countries = Data("countries");
  ASSERT_EQ(countries.size(), 2u) << "Sweden is the country of no person: " << countries;
  EXPECT_EQ(countries[0]["country"], "Norway");
  EXPECT_EQ(countries[0]["total"], "250.000000");
  EXPECT_EQ(Data("people?country=Chad")[0]["name"], "Bob & <Co>");
  EXPECT_EQ(Data("people?country=Chad")[0]["rank"], 2);
  EXPECT_EQ(Data("people?name=an").size(), 1u);
  EXPECT_EQ(Data("people?team=the CRUNCHERS").size(), 2u);
  EXPECT_EQ(Data("people?limit=1&offset=1")[0]["name"], "Bob & <Co>");

  const json teams = Data("teams");
  ASSERT_EQ(teams.size(), 1u) << teams;
  EXPECT_EQ(teams[0]["total"], "290.000000");  // 140 + 300 / 2
  EXPECT_EQ(teams[0]["members"], 3);
  const json team = Data("teams/ff8ccbaa387e38bd258bb65539f03e58");  // md5sum of "the crunchers"
  ASSERT_EQ(team["teams"].size(), 2u);
  EXPECT_EQ(team["teams"][0]["project_name"], "Elm");
  EXPECT_EQ(team["teams"][0]["total"], "300.000000") << "in the project's points";

  const json hosts = Data("hosts?cpid=" + kHostId);
  ASSERT_EQ(hosts.size(), 2u) << hosts;
  EXPECT_EQ(hosts[0]["id"], 51);
  EXPECT_EQ(hosts[1]["cobblestones"], "100.000000");

  const json top = Data("projects/1/top/users?sort=rac");
  EXPECT_EQ(top[0]["name"], "Ann");
  EXPECT_EQ(top[0]["identity"], ann["identity"]);
  EXPECT_EQ(top[0]["team_name"], "The Crunchers");
  EXPECT_EQ(Data("projects/1/top/hosts")[0]["id"], 51);
  EXPECT_EQ(Data("projects/1/top/teams")[0]["members"], 2);

  const json user = Data("projects/1/users/12");
  EXPECT_EQ(user["rank_total"], 2);
  EXPECT_EQ(user["of"], 2);
  for (const std::string& who :
       {"cpid=" + kIdA, "identity=" + ann["identity"].get<std::string>(), std::string("project=2&user=21")}) {
    const json person = Data("person?" + who);
    EXPECT_EQ(person["total"], "250.000000") << who;
    EXPECT_EQ(person["name"], "Ann");
    EXPECT_EQ(person["rank_total"], 1);
    EXPECT_EQ(person["of"], 2);
    EXPECT_EQ(person["accounts"][0]["team_name"], "The Crunchers");
  }
  const std::string metrics = served_->Get("/api/v1/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("cobblestone_hub_people 2\n"));
  EXPECT_THAT(metrics, HasSubstr("cobblestone_hub_accounts{kind=\"user\"} 4\n"));
  EXPECT_EQ(served_->Get("/api/v1/federation/people?limit=501").status, 400);
  EXPECT_EQ(served_->Get("/api/v1/federation/people?country=Chad&name=a").status, 400);
  EXPECT_EQ(served_->Get("/api/v1/federation/teams/xyz").status, 404);
  EXPECT_EQ(served_->Get("/api/v1/federation/projects/9/top/users").status, 404);
}

// What a host has at an account manager it earned at the projects, so it is in no sum.
TEST_F(HubRead, AHostOfAnAccountManagerIsListedAndNotAdded) {
  Project(1, "Rosewood", {{"shared_accounts", {{"users", {"5"}}}}});
  Project(2, "Together", {{"account_manager", true}});
  Begin(1, 1, kStart);
  Account(1, "USER", {.id = 5, .credit = 60, .name = "Together"});
  Account(1, "HOST", {.id = 51, .credit = 60, .cpid = kHostId, .owner = 5});
  Complete(1);
  Begin(2, 1, kStart);
  Account(2, "USER", {.id = 7, .credit = 60, .name = "Ann", .cpid = kIdA});
  Account(2, "HOST", {.id = 61, .credit = 60, .cpid = kHostId, .owner = 7});
  Complete(2);
  Post();
  EXPECT_EQ(ListWith("people", "60.000000")["count"], 1);
  const json hosts = Data("hosts?cpid=" + kHostId);
  ASSERT_EQ(hosts.size(), 2u) << hosts;
  EXPECT_EQ(hosts[0]["in_sum"], true);
  EXPECT_EQ(hosts[1]["in_sum"], false);
  const Xml host = GetXml("/get_host.php?cpid=" + kHostId);
  EXPECT_EQ(host.One("host/total_credit"), "60.000000");
  EXPECT_EQ(host.All("host/project/id"), (std::vector<std::string>{"51", "61"}));
  const Xml projects = GetXml("/get_projects.php");
  EXPECT_EQ(projects.All("projects/project/total_credit"),
            (std::vector<std::string>{"60.000000", "60.000000"}));
  EXPECT_EQ(projects.All("projects/project/account_manager"), (std::vector<std::string>{"1"}));
}

// A day later Ann has 30 more at Rosewood, and the project takes 10 back from Bob.
TEST_F(HubRead, HistoriesSayWhatADayGaveAndWhatWasCorrected) {
  FirstEditions();
  (void)ListWith("people", "250.000000");
  Begin(1, 2, kStart + kDay);
  Account(1, "USER", {.id = 11, .credit = 130, .name = "Ann", .country = "Norway", .cpid = kIdA});
  Account(1, "USER", {.id = 12, .credit = 30, .name = "Bob & <Co>", .country = "Chad", .cpid = kIdB});
  Post();
  // Half of the edition is here. A later index does not show it.
  const double before = ListWith("people", "250.000000")["as_of"].get<double>();
  const Reply later = served_->GetUntil(
      "/api/v1/federation/people", [&](const Reply& r) { return r.json()["as_of"].get<double>() > before; });
  EXPECT_EQ(later.json()["data"][0]["total"], "250.000000");
  EXPECT_EQ(later.json()["data"][1]["total"], "40.000000");

  Complete(1);
  Begin(2, 2, kStart + kDay);
  Account(2, "USER", {.id = 21, .credit = 306, .name = "Ann at Elm", .country = "Sweden", .cpid = kIdA});
  Complete(2);
  Add(3, kStart + kDay,
      {{"feed_edition",
        {{"edition", "2"}, {"state", "EDITION_STATE_HELD"}, {"reason", "the file is empty"}}}});
  Post();
  (void)ListWith("people", "283.000000");  // 130 + 306 / 2
  EXPECT_EQ(Data("people")[1]["total"], "30.000000");
  EXPECT_EQ(Data("person?cpid=" + kIdA)["days"],
            json::parse(R"([{"day": 19676, "credit": {"1": "30.000000", "2": "3.000000"}}])"));
  const json bob = Data("person?cpid=" + kIdB);
  ASSERT_EQ(bob["corrections"].size(), 1u) << bob;
  EXPECT_EQ(bob["corrections"][0]["credit"], "-10.000000");
  EXPECT_EQ(bob["corrections"][0]["day_came"], 19676);
  EXPECT_EQ(Data("projects/1/users/12")["days"],
            json::parse(R"([{"day": 19676, "credit": "-10.000000", "correction": true}])"));
  EXPECT_EQ(Data("projects/1/days"),
            json::parse(R"([{"day": 19676, "credit": "20.000000", "accounts": 2, "edition": 2}])"));

  const json projects = Data("projects");
  EXPECT_EQ(projects[0]["users"], 2);
  EXPECT_EQ(projects[0]["hosts"], 1);
  EXPECT_EQ(projects[0]["countries"], 2);
  EXPECT_EQ(projects[0]["total"], "160.000000");
  EXPECT_EQ(projects[0]["published_time"], kStart + kDay);
  EXPECT_EQ(projects[0]["unknown_since"], kStart + kDay) << "nothing has come for years";
  EXPECT_EQ(projects[2]["held_reason"], "the file is empty");
  EXPECT_EQ(projects[2]["users"], 1) << "a held project keeps the figures of its last complete edition";
}

// The last second of a year, the first of the next one, a leap day, and a total that falls. No month is left out until now.
TEST_F(HubRead, AHistoryHasTheTotalAtTheEndOfEachMonth) {
  Project(1, "Rosewood");
  int edition = 0;
  const std::string id(32, 'e');
  for (const auto& [day, credit] : {std::pair{19690.0, 100.0},
                                    {19723.0 - 1 / kDay, 130.0},
                                    {19723.0, 135.0},
                                    {19782.5, 142.0},
                                    {19783.0, 138.0}}) {
    Begin(1, ++edition, day * kDay);
    Account(1, "USER", {.id = 11, .credit = credit, .name = "Eve", .cpid = id});
    Complete(1);
  }
  Post();
  (void)ListWith("people", "138.000000");
  const Xml history = GetXml("/get_user_credit_history.php?cpid=" + id);
  const std::string path = "user_credit_history/total_credit_history_by_month/month/";
  const std::vector<std::string> months = history.All(path + "month");
  const std::vector<std::string> totals = history.All(path + "total_credit");
  ASSERT_GT(months.size(), 12u);
  ASSERT_EQ(totals.size(), months.size());
  const std::vector<std::pair<std::string, std::string>> first = {{"2023-12", "130.000000"},
                                                                  {"2024-01", "135.000000"},
                                                                  {"2024-02", "142.000000"},
                                                                  {"2024-03", "138.000000"},
                                                                  {"2024-04", "138.000000"}};
  for (std::size_t n = 0; n < first.size(); ++n) EXPECT_EQ(std::pair(months[n], totals[n]), first[n]);
  for (std::size_t n = 1; n < months.size(); ++n) {
    const int before = std::stoi(months[n - 1].substr(0, 4)) * 12 + std::stoi(months[n - 1].substr(5));
    EXPECT_EQ(std::stoi(months[n].substr(0, 4)) * 12 + std::stoi(months[n].substr(5)), before + 1)
        << months[n];
  }
  EXPECT_EQ(totals.back(), "138.000000");
}

TEST_F(HubRead, ProjectPagesAndSignatureImagesGetTheirXml) {
  FirstEditions();
  (void)ListWith("people", "250.000000");
  const Xml user = GetXml("/get_user.php?cpid=" + kIdA + "&unknown=1");
  EXPECT_EQ(user.One("user/name"), "Ann");
  EXPECT_EQ(user.One("user/total_credit"), "250.000000");
  EXPECT_EQ(user.One("user/world_rank_total_credit"), "1");
  // What BOINC's show_user.php reads of each project.
  EXPECT_EQ(user.All("user/project/name"), (std::vector<std::string>{"Rosewood", "Elm", "Herd"}));
  EXPECT_EQ(user.All("user/project/url"),
            (std::vector<std::string>{"https://1.example/", "https://2.example/", "https://3.example/"}));
  EXPECT_EQ(user.All("user/project/id"), (std::vector<std::string>{"11", "21", "31"}));
  EXPECT_EQ(user.All("user/project/total_credit"),
            (std::vector<std::string>{"100.000000", "300.000000", "1000.000000"}));
  EXPECT_EQ(user.All("user/project/create_time"),
            (std::vector<std::string>{"1200000011", "1200000021", "1200000031"}));
  ASSERT_EQ(user.All("user/project/expavg_credit").size(), 3u);
  EXPECT_NEAR(std::stod(user.All("user/project/expavg_credit")[0]), 4, 0.01);
  EXPECT_EQ(user.All("user/project/team_name"), (std::vector<std::string>{"The Crunchers", "THE crunchers"}));
  EXPECT_EQ(user.All("user/project/team_member_count"), (std::vector<std::string>{"2", "1"}));
  EXPECT_EQ(user.All("user/project/computer_count")[0], "1");
  EXPECT_EQ(GetXml("/get_user.php?cpid=" + kIdB).One("user/name"), "Bob & <Co>");

  const Xml history = GetXml("/get_user_credit_history.php?cpid=" + kIdA);
  const std::string days = "user_credit_history/total_credit_history_last_91_days/";
  EXPECT_EQ(history.One(days + "day_1"), "250.000000") << "nothing has changed for years";
  EXPECT_EQ(history.One(days + "day_91"), "250.000000");
  EXPECT_TRUE(history.All(days + "day_92").empty());
  EXPECT_EQ(history.One("user_credit_history/active_project_count"), "2");

  const Xml projects = GetXml("/get_projects.php");
  EXPECT_EQ(projects.All("projects/project/project_name"),
            (std::vector<std::string>{"Rosewood", "Elm", "Herd"}));
  EXPECT_EQ(projects.All("projects/project/user_count"), (std::vector<std::string>{"2", "1", "1"}));
  const Xml host = GetXml("/get_host.php?cpid=" + kHostId);
  EXPECT_EQ(host.One("host/total_credit"), "160.000000");           // 60 + 200 / 2
  EXPECT_NEAR(std::stod(host.One("host/expavg_credit")), 6, 0.01);  // 12 / 2
  EXPECT_EQ(host.All("host/project/id"), (std::vector<std::string>{"51", "61"}));
  for (const char* which : {"name=the crunchers", "key=FF8CCBAA387E38BD258BB65539F03E58"}) {
    const Xml team = GetXml("/get_team.php?" + std::string(which));
    EXPECT_EQ(team.One("team/total_credit"), "290.000000");
    EXPECT_EQ(team.All("team/project/id"), (std::vector<std::string>{"9", "5"}));
  }

  const Reply unknown = served_->Get("/get_user.php?cpid=" + std::string(32, 'e'));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(Xml(unknown.body).One("error"), HasSubstr("no account"));
  EXPECT_EQ(served_->Get("/get_user.php").status, 400);
  EXPECT_EQ(served_->Get("/get_host.php?cpid=1").status, 400);
  EXPECT_EQ(served_->Get("/get_other.php").status, 404);

  // After a restart the same, although no feed says anything.
  served_->process().Signal(SIGTERM);
  ASSERT_EQ(served_->process().Wait(), 0) << served_->process().err();
  Start(kHub);
  const Reply again =
      served_->GetUntil("/get_user.php?cpid=" + kIdA, [](const Reply& r) { return r.status == 200; });
  EXPECT_EQ(Xml(again.body).One("user/world_rank_total_credit"), "1");
}

TEST_F(HubRead, AHubThatIsNotPublicShowsNobody) {
  served_->process().Signal(SIGTERM);
  ASSERT_EQ(served_->process().Wait(), 0) << served_->process().err();
  Start("  accounts_visible: own\n" + std::string(kHub));
  FirstEditions();
  (void)served_->GetUntil(
      "/api/v1/federation/people", [](const Reply& r) { return r.status == 200 && r.json()["count"] == 2; },
      kReadToken);
  for (const std::string& path :
       {std::string("/api/v1/federation/people"), std::string("/api/v1/federation/teams"),
        std::string("/api/v1/federation/countries"), "/api/v1/federation/hosts?cpid=" + kHostId,
        std::string("/api/v1/federation/projects/1/top/users"), "/api/v1/federation/person?cpid=" + kIdA,
        "/get_user.php?cpid=" + kIdA, "/get_user_credit_history.php?cpid=" + kIdA,
        std::string("/get_team.php?name=the crunchers"), "/get_host.php?cpid=" + kHostId}) {
    const Reply stranger = served_->Get(path);
    EXPECT_EQ(stranger.status, 401) << path;
    EXPECT_EQ(stranger.body.find("Ann"), std::string::npos) << path;
    EXPECT_EQ(served_->Get(path, kReadToken).status, 200) << path;
  }
}

}  // namespace
}  // namespace cobblestone::testing
