// The index of a federation hub's accounts, built from rows in memory as FEEDS, MEMBERS and IDENTITY keep them.
#include "services/view/hub/hub_index_build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/federation/identity/identities.h"
#include "common/wire/control/topics.h"
#include "services/feeds/feed_rows.h"
#include "services/feeds/feeds_stage.h"
#include "services/identity/identity_rows.h"
#include "services/members/member_days.h"
#include "services/members/member_rows.h"
#include "services/view/hub/hub_lists.h"
#include "services/view/hub_questions.h"

namespace cobblestone::view {
namespace {

using nlohmann::json;
using wire::AccountKind;

constexpr double kNow = 1.7e9;
constexpr double kDay = 86400;
constexpr std::uint32_t kPartitions = 3;

class MemoryRows final : public Rows {
 public:
  Result<stream::SlotMeta> Meta() const override { return meta; }
  Status Get(std::uint8_t table, const stream::Key& key, std::string* value) const override {
    const auto found = rows_.find({table, key});
    if (found == rows_.end()) return Status::NotFound("no such row");
    *value = found->second;
    return Status::Ok();
  }
  Status Scan(std::uint8_t table, const Visit& visit) const override {
    for (const auto& [at, value] : rows_)
      if (at.first == table)
        if (Status s = visit(at.second, value); !s.ok()) return s;
    return Status::Ok();
  }
  template <class Row>
  void Put(const stream::TableSpec<Row>& table, const stream::Key& key, const Row& row) {
    std::string& bytes = rows_[{table.id, key}];
    bytes.clear();
    stream::EncodeRow(table, row, bytes);
  }

  stream::SlotMeta meta;

 private:
  std::map<std::pair<std::uint8_t, stream::Key>, std::string> rows_;
};

struct Account {
  std::uint64_t id = 0;
  double credit = 0;
  double recent = 0;
  double recent_time = kNow;
  std::string name{};
  std::string country{};
  std::uint64_t team = 0;
  char cpid = 0;  // 32 times this digit
  std::uint64_t edition = 1;
  std::uint64_t owner = 0;
};

wire::FeedAccount Feed(AccountKind kind, const Account& account) {
  return {.kind = kind,
          .account = account.id,
          .edition = account.edition,
          .total_micro = static_cast<credit::MicroCredit>(account.credit * 1e6),
          .recent = account.recent,
          .recent_time = account.recent_time,
          .create_time = 1.2e9,
          .name = account.name,
          .country = account.country,
          .cross_project_id = account.cpid == 0 ? "" : std::string(32, account.cpid),
          .team = account.team,
          .owner = account.owner};
}

// The state of a hub.
class HubWorld : public State {
 public:
  [[nodiscard]] std::uint32_t partitions() const override { return kPartitions; }
  Result<std::shared_ptr<const Rows>> Of(Stage stage, std::uint32_t partition) override {
    const MemoryRows& rows = stage == Stage::kCoordinator ? leading : members.at(partition);
    return std::shared_ptr<const Rows>(std::make_shared<MemoryRows>(rows));  // as of now
  }
  [[nodiscard]] std::vector<stream::TopicPartition> InputsOf(Stage, std::uint32_t) const override {
    return {};
  }

  void Project(std::uint32_t number, wire::FeedProject project = {}, std::uint64_t complete = 1) {
    if (project.name.empty()) project.name = "Project " + std::to_string(number);
    leading.Put(feeds::kProjectsTable, feeds::ProjectKey(ProjectId(number)),
                feeds::ProjectRow{.project = std::move(project), .complete = complete, .whole = 1});
  }
  // The end of a complete edition.
  void Ended(std::uint32_t project, double time, std::uint64_t edition = 1) {
    leading.Put(feeds::kEditionsTable, feeds::EditionKey(ProjectId(project), edition),
                feeds::EditionRow{.ended = {.time = time}});
  }
  void Put(std::uint32_t project, AccountKind kind, const Account& now, const Account* before = nullptr) {
    members::MemberRow row{.now = Feed(kind, now)};
    if (before != nullptr) row.before = Feed(kind, *before);
    PutRow(project, kind, row);
  }
  void PutRow(std::uint32_t project, AccountKind kind, const members::MemberRow& row) {
    const std::uint64_t id = row.now.account;
    const auto& table = kind == AccountKind::kHost   ? members::kHostsTable
                        : kind == AccountKind::kTeam ? members::kTeamsTable
                                                     : members::kUsersTable;
    members.at(wire::PartitionOf(ProjectId(project), id, kPartitions))
        .Put(table, {.project = project, .id = id, .sub = 0}, row);
    const auto cpid = federation::ParseCpid(row.now.cross_project_id);
    if (kind == AccountKind::kUser && cpid)
      (void)identities.Add(
          federation::Sighting{.account = {.project = project, .user = id, .create_time = 1'200'000'000},
                               .cpid = *cpid,
                               .day = day++});
  }
  void User(std::uint32_t project, const Account& user) { Put(project, AccountKind::kUser, user); }
  void Team(std::uint32_t project, const Account& team) { Put(project, AccountKind::kTeam, team); }
  void Host(std::uint32_t project, const Account& host) { Put(project, AccountKind::kHost, host); }

  Result<std::shared_ptr<const HubIndex>> Build(double now = kNow) {
    for (const auto& [key, row] : users.rows()) leading.Put(identity::kUsersTable, identity::KeyOf(key), row);
    for (const auto& [key, row] : cpids.rows()) leading.Put(identity::kCpidsTable, identity::KeyOf(key), row);
    for (const auto& [key, row] : identity_rows.rows())
      leading.Put(identity::kIdentitiesTable, identity::KeyOf(key), row);
    auto rows = ReadHubRows(*this, now);
    if (!rows.ok()) return rows.status();
    return BuildHubIndex(*rows, now, nullptr, [] { return false; });
  }
  std::shared_ptr<const HubIndex> Index(double now = kNow) {
    auto built = Build(now);
    EXPECT_TRUE(built.ok()) << built.status().message();
    return built.ok() ? *built : std::make_shared<const HubIndex>();
  }

  MemoryRows leading;
  std::array<MemoryRows, kPartitions> members;
  federation::MemoryTable<federation::UserRow> users;
  federation::MemoryTable<federation::CpidRow> cpids;
  federation::MemoryTable<federation::IdentityRow> identity_rows;
  federation::MemoryTable<federation::ProjectRow> projects;
  federation::MemoryTable<federation::SwingerRow> swingers;
  federation::MemoryTable<federation::DeletionRow> deletions;
  federation::IdentityTables tables{users, cpids, identity_rows, projects, swingers, deletions};
  federation::Identities identities{tables};
  federation::Day day = 15000;
};

// Answers of the lists over an index of the world.
class HubAnswers {
 public:
  explicit HubAnswers(HubWorld& world, double now = kNow) : lists_(world, [now] { return now; }) {
    lists_.Publish(world.Index(), 0);
  }
  [[nodiscard]] const HubLists& lists() const { return lists_; }
  static json Data(const Result<json>& list) {
    EXPECT_TRUE(list.ok()) << list.status().message();
    return list.ok() ? list->at("data") : json::array();
  }
  // "1 Ann 150.000000, 2 ..." of each row.
  static std::string Text(const json& rows, const char* name = "name") {
    std::string text;
    for (const json& row : rows)
      text += (text.empty() ? "" : ", ") + std::to_string(row["rank"].get<int>()) + " " +
              row[name].get<std::string>() + " " + row["total"].get<std::string>();
    return text;
  }
  [[nodiscard]] json People(HubLists::PeopleWanted wanted = {}, HubRank by = HubRank::kTotal,
                            HubLists::Page page = {}) const {
    return Data(lists_.People(wanted, by, page));
  }

 private:
  HubLists lists_;
};

TEST(HubIndexTest, EqualCreditSharesARank) {
  HubWorld world;
  world.Project(1);
  world.User(1, {.id = 1, .credit = 50, .recent = 1});
  world.User(1, {.id = 2, .credit = 100, .recent = 2});
  world.User(1, {.id = 3, .credit = 50, .recent = 2});
  world.User(1, {.id = 4, .credit = 20, .recent = 9});
  const auto index = world.Index();
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> ranks;
  for (std::uint64_t id = 1; id <= 4; ++id) {
    const Place user = index->FindUser(ProjectId(1), id);
    ASSERT_NE(user, kNowhere);
    ranks[id] = {index->UserRank(user, HubRank::kTotal), index->UserRank(user, HubRank::kRecent)};
  }
  // By total: 100, 50, 50, 20. By average: 9, 2, 2, 1.
  EXPECT_EQ(ranks[1], (std::pair<std::uint64_t, std::uint64_t>{2, 4}));
  EXPECT_EQ(ranks[2], (std::pair<std::uint64_t, std::uint64_t>{1, 2}));
  EXPECT_EQ(ranks[3], (std::pair<std::uint64_t, std::uint64_t>{2, 2}));
  EXPECT_EQ(ranks[4], (std::pair<std::uint64_t, std::uint64_t>{4, 1}));
  EXPECT_EQ(index->FindUser(ProjectId(1), 5), kNowhere);
  EXPECT_EQ(index->FindUser(ProjectId(2), 1), kNowhere);
}

// Half-life 7 days. A project that never runs update_stats exports averages of long ago: 100 of 14 days ago are 25 now.
TEST(HubIndexTest, AveragesAreComparedAtOneInstant) {
  HubWorld world;
  world.Project(1);
  world.Project(2);
  world.User(1, {.id = 1, .credit = 1, .recent = 100, .recent_time = kNow - 14 * kDay, .name = "stale"});
  world.User(2, {.id = 1, .credit = 1, .recent = 30, .recent_time = kNow, .name = "fresh"});
  world.User(2, {.id = 2, .credit = 1, .recent = 5, .recent_time = kNow + kDay, .name = "ahead"});
  world.User(2, {.id = 3, .credit = 1, .recent = 1e6, .recent_time = 0, .name = "never"});
  const HubAnswers now(world);
  const json people = now.People({}, HubRank::kRecent);
  ASSERT_EQ(people.size(), 4u);
  EXPECT_EQ(people[0]["name"], "fresh");
  EXPECT_EQ(people[1]["name"], "stale");
  EXPECT_NEAR(people[1]["rac"].get<double>(), 25, 1e-9);
  EXPECT_EQ(people[2]["name"], "ahead") << "an average of the future is taken as it is";
  EXPECT_EQ(people[2]["rac"], 5);
  EXPECT_EQ(people[3]["rac"], 0) << "decayed since 1970";
  // A week later each is half of it, in the same order.
  const HubAnswers later(world, kNow + 7 * kDay);
  EXPECT_NEAR(later.People({}, HubRank::kRecent)[0]["rac"].get<double>(), 15, 1e-9);
}

TEST(HubIndexTest, APersonIsTheAccountsOfOneIdentity) {
  HubWorld world;
  for (const std::uint32_t project : {1, 2, 3}) world.Project(project);
  world.User(1, {.id = 11, .credit = 100, .recent = 1, .name = "Ann", .country = "Norway", .cpid = 'a'});
  world.User(2, {.id = 22, .credit = 50, .recent = 2, .name = "Annie", .country = "Sweden", .cpid = 'a'});
  world.User(2, {.id = 23, .credit = 120, .recent = 0, .name = "Bob", .cpid = 'b'});
  world.User(3, {.id = 31, .credit = 7, .recent = 4, .name = "Cem"});
  const HubAnswers answers(world);
  EXPECT_EQ(HubAnswers::Text(answers.People()), "1 Ann 150.000000, 2 Bob 120.000000, 3 Cem 7.000000");
  const json ann = answers.People()[0];
  EXPECT_EQ(ann["identity"], "1-11-1200000000");
  EXPECT_EQ(ann["country"], "Norway") << "of the eldest account";
  EXPECT_EQ(ann["projects"], 2);
  EXPECT_EQ(ann["rac"], 3);
  EXPECT_EQ(HubAnswers::Text(answers.People({}, HubRank::kRecent)),
            "1 Cem 7.000000, 2 Ann 150.000000, 3 Bob 120.000000");
  json ranks;
  answers.lists().AddPersonRanks(ProjectId(2), 22, &ranks);
  EXPECT_EQ(ranks, (json{{"rank_total", 1}, {"rank_rac", 2}, {"of", 3}}));
}

// "id/project total in_sum" of each host.
std::string HostsText(const json& rows) {
  std::string text;
  for (const json& row : rows)
    text += row["id"].dump() + "/" + row["project"].dump() + " " + row["total"].get<std::string>() + " " +
            row["in_sum"].dump() + "\n";
  return text;
}

// The manager's account is known by its number alone: whoever shows its id has only their own credit.
TEST(HubIndexTest, AnAccountOfAManagerIsInNoSumButThoseOfItsProject) {
  HubWorld world;
  world.Project(1);
  world.Project(2, {.shared_accounts = {22, 24}});
  world.User(2, {.id = 22, .credit = 1000, .name = "everybody", .country = "Norway", .team = 5, .cpid = 'a'});
  world.User(1, {.id = 11, .credit = 100, .name = "Ann", .country = "Norway", .cpid = 'a'});
  world.User(2, {.id = 23, .credit = 1, .name = "somebody"});
  world.Team(2, {.id = 5, .credit = 1000, .name = "All of us"});
  const HubAnswers answers(world);
  EXPECT_EQ(HubAnswers::Text(answers.People()), "1 Ann 100.000000, 2 somebody 1.000000");
  EXPECT_EQ(HubAnswers::Text(answers.People({.name = "every"})), "");
  EXPECT_EQ(HubAnswers::Data(answers.lists().Countries(HubRank::kTotal, {}))[0]["total"], "100.000000");
  EXPECT_EQ(HubAnswers::Text(HubAnswers::Data(answers.lists().Teams(HubRank::kTotal, {}))),
            "1 All of us 1000.000000");
  // Within the project it is an account like all others, which has no person.
  json project;
  answers.lists().AddProject(ProjectId(2), &project);
  EXPECT_EQ(project["total"], "1001.000000");
  EXPECT_EQ(project["users"], 2);
  EXPECT_FALSE(HubAnswers::Data(answers.lists().Top(ProjectId(2), AccountKind::kUser, HubRank::kTotal, {}))[0]
                   .contains("identity"));
  EXPECT_EQ(HubAnswers::Text(
                HubAnswers::Data(answers.lists().Top(ProjectId(2), AccountKind::kUser, HubRank::kTotal, {}))),
            "1 everybody 1000.000000, 2 somebody 1.000000");
}

// The shared account gives the identity its name, because it was shown first.
TEST(HubIndexTest, APersonIsNotShownUnderTheNameOfASharedAccount) {
  HubWorld world;
  world.Project(1, {.shared_accounts = {22}});
  world.Project(2);
  world.User(1, {.id = 22, .credit = 1000, .name = "everybody", .country = "Chad", .cpid = 'a'});
  world.User(2, {.id = 11, .credit = 100, .name = "Ann", .country = "Norway", .cpid = 'a'});
  ASSERT_EQ(federation::IdentityText(world.identities
                                         .IdentityOf(federation::AccountKey{
                                             .project = 2, .user = 11, .create_time = 1'200'000'000})
                                         .value()),
            "1-22-1200000000");
  const HubAnswers answers(world);
  EXPECT_EQ(HubAnswers::Text(answers.People()), "1 Ann 100.000000");
  EXPECT_EQ(answers.People()[0]["country"], "Norway");
  EXPECT_EQ(HubAnswers::Text(answers.People({.name = "ann"})), "1 Ann 100.000000");
}

// An index is built again when accounts become shared, or a project a manager.
TEST(HubIndexTest, IsOfTheAccountsOfManagersThatFeedsKnows) {
  HubWorld world;
  std::vector<std::string> seen;
  for (const wire::FeedProject& project :
       {wire::FeedProject{}, {.shared_accounts = {5}}, {.shared_accounts = {6}}, {.account_manager = true}}) {
    world.Project(1, project);
    const auto rows = ReadHubRows(world, kNow);
    ASSERT_TRUE(rows.ok()) << rows.status().message();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), rows->editions), 0) << rows->editions;
    seen.push_back(rows->editions);
  }
}

// Project 3 is the manager of user 22 of project 2.
TEST(HubIndexTest, TheMembersOfAManagerArePeople) {
  HubWorld world;
  world.Project(1);
  world.Project(2, {.shared_accounts = {22}});
  world.Project(3, {.account_manager = true});
  world.User(1, {.id = 11, .credit = 100, .name = "Ann", .country = "Norway", .cpid = 'a'});
  world.User(2, {.id = 22, .credit = 1000, .name = "Manager"});
  world.User(3, {.id = 1, .credit = 600, .name = "Ann", .country = "Norway", .team = 5, .cpid = 'a'});
  world.User(3, {.id = 2, .credit = 400, .name = "Bob", .country = "Chad", .cpid = 'b'});
  world.Team(3, {.id = 5, .credit = 600, .name = "Crunchers"});
  world.Host(2, {.id = 7, .credit = 50, .cpid = 'c', .owner = 22});
  world.Host(3, {.id = 8, .credit = 50, .cpid = 'c', .owner = 1});
  const HubAnswers answers(world);
  EXPECT_EQ(HubAnswers::Text(answers.People()), "1 Ann 700.000000, 2 Bob 400.000000");
  EXPECT_EQ(HubAnswers::Text(HubAnswers::Data(answers.lists().Countries(HubRank::kTotal, {})), "country"),
            "1 Norway 700.000000, 2 Chad 400.000000");
  EXPECT_EQ(HubAnswers::Text(HubAnswers::Data(answers.lists().Teams(HubRank::kTotal, {}))),
            "1 Crunchers 600.000000");
  json manager;
  answers.lists().AddProject(ProjectId(3), &manager);
  EXPECT_EQ(manager["total"], "1000.000000");
  const auto cpid = federation::ParseCpid(std::string(32, 'c'));
  ASSERT_TRUE(cpid);
  EXPECT_EQ(HostsText(HubAnswers::Data(answers.lists().Hosts(*cpid, {}))),
            "7/2 50.000000 true\n8/3 50.000000 false\n");
}

// 700 points at seven points per Cobblestone are 100 Cobblestones.
TEST(HubIndexTest, SumsOverProjectsAreInCobblestones) {
  HubWorld world;
  world.Project(1, {.points_per_cobblestone = 7});
  world.Project(2);
  world.User(
      1, {.id = 1, .credit = 700, .recent = 70, .name = "Ann", .country = "Norway", .team = 1, .cpid = 'a'});
  world.User(2, {.id = 1, .credit = 1, .recent = 1, .name = "Ann", .country = "Norway", .cpid = 'a'});
  world.Team(1, {.id = 1, .credit = 700, .recent = 70, .name = "T"});
  const HubAnswers answers(world);
  EXPECT_EQ(HubAnswers::Text(answers.People()), "1 Ann 101.000000");
  EXPECT_EQ(answers.People()[0]["rac"], 11);
  EXPECT_EQ(HubAnswers::Data(answers.lists().Countries(HubRank::kTotal, {}))[0]["total"], "101.000000");
  EXPECT_EQ(HubAnswers::Data(answers.lists().Teams(HubRank::kTotal, {}))[0]["total"], "100.000000");
  EXPECT_EQ(HubAnswers::Text(
                HubAnswers::Data(answers.lists().Top(ProjectId(1), AccountKind::kUser, HubRank::kTotal, {}))),
            "1 Ann 700.000000");
}

// A day of points and what came on it.
credit::DaySum Day(std::int64_t day, std::int64_t credit) {
  return {.micro = credit * 1'000'000, .day = day};
}

// 1,000 points, of which 710 came on the day since which seven are one Cobblestone, and later: 100 of them in the row of older
// days, as is a day before.
TEST(HubIndexTest, CreditSinceADayIsDividedAndEarlierCreditIsNot) {
  constexpr std::int64_t kSince = 19000;
  HubWorld world;
  world.Project(1, {.points_per_cobblestone = 7, .points_since = kSince});
  world.Project(2);
  world.User(2, {.id = 1, .credit = 1, .name = "Ann", .country = "Norway", .cpid = 'a'});
  const auto put = [&](AccountKind kind, const auto& older, Account account) {
    account.credit = 1000;
    world.PutRow(1, kind,
                 {.now = Feed(kind, account),
                  .opening_micro = 190'000'000,
                  .days = {Day(kSince + 80, 605), Day(kSince + 81, 5)},
                  .oldest_day = kSince - 1});
    for (const auto& [block, days] : std::map<std::int64_t, std::vector<credit::DaySum>>{
             {credit::BlockOf(kSince - 40), {Day(kSince - 40, 60)}},
             {credit::BlockOf(kSince), {Day(kSince - 1, 40), Day(kSince, 100)}}})
      world.members.at(wire::PartitionOf(ProjectId(1), account.id, kPartitions))
          .Put(older, members::DayKey({.project = 1, .id = account.id, .sub = 0}, block),
               credit::DayBlock<credit::DaySum>{.days = days});
  };
  put(AccountKind::kUser, members::kUserDaysTable, {.id = 5, .name = "Ann", .cpid = 'a'});
  put(AccountKind::kTeam, members::kTeamDaysTable, {.id = 6, .name = "T"});
  put(AccountKind::kHost, members::kHostDaysTable, {.id = 7, .cpid = 'c'});
  // Not exported any more: it is in no sum.
  put(AccountKind::kUser, members::kUserDaysTable, {.id = 8, .name = "Bob", .edition = 0});
  world.PutRow(1, AccountKind::kUser,
               {.now = {.kind = AccountKind::kUser, .account = 8, .edition = 1, .gone = true},
                .days = {Day(kSince, 1)}});
  // An account of which nothing came since, and one of which a reader does not see what came.
  world.PutRow(1, AccountKind::kUser,
               {.now = Feed(AccountKind::kUser, {.id = 9, .credit = 50, .name = "Cem"}),
                .days = {Day(kSince - 1, 20)}});
  world.PutRow(1, AccountKind::kUser,
               {.now = Feed(AccountKind::kUser, {.id = 10, .credit = 87, .name = "Dora", .edition = 2}),
                .before = Feed(AccountKind::kUser, {.id = 10, .credit = 47, .name = "Dora"}),
                .arriving = Day(kSince + 2, 40),
                .days = {Day(kSince - 1, 20), Day(kSince + 1, 7), Day(kSince + 2, 40)}});
  const std::string ann = "391.428571";  // 290 + 710 / 7
  const HubAnswers answers(world);
  EXPECT_EQ(HubAnswers::Text(answers.People()),
            "1 Ann 392.428571, 2 Cem 50.000000, 3 Dora 41.000000");  // Dora: 40 + 7 / 7
  const HubLists& lists = answers.lists();
  EXPECT_EQ(HubAnswers::Data(lists.Countries(HubRank::kTotal, {}))[0]["total"], "392.428571");
  EXPECT_EQ(HubAnswers::Data(lists.Teams(HubRank::kTotal, {}))[0]["total"], ann);
  EXPECT_EQ(lists.Team(TeamNameKeyOf("T"), {})->at("data")["teams"][0]["cobblestones"], ann);
  const auto cpid = federation::ParseCpid(std::string(32, 'c'));
  ASSERT_TRUE(cpid);
  EXPECT_EQ(HubAnswers::Data(lists.Hosts(*cpid, {}))[0]["cobblestones"], ann);
  EXPECT_EQ(HubAnswers::Data(lists.Hosts(*cpid, {}))[0]["total"], "1000.000000");
  json project;
  lists.AddProject(ProjectId(1), &project);
  EXPECT_EQ(project["total"], "1097.000000");
  EXPECT_EQ(project["cobblestones"], "482.428571");  // 380 + 717 / 7
}

// Teams of a name are in order of Cobblestones: 60 points of before are more than 350 that are 50.
TEST(HubIndexTest, TeamsOfANameAreInOrderOfWhatTheirPointsCount) {
  HubWorld world;
  world.Project(1, {.points_per_cobblestone = 7, .points_since = 19000});
  for (const auto& [team, credit, day] : {std::tuple{5, 350, 19000}, std::tuple{6, 60, 18999}})
    world.PutRow(1, AccountKind::kTeam,
                 {.now = Feed(AccountKind::kTeam, {.id = static_cast<std::uint64_t>(team),
                                                   .credit = static_cast<double>(credit),
                                                   .name = "T"}),
                  .days = {Day(day, credit)}});
  const auto team = HubAnswers(world).lists().Team(TeamNameKeyOf("T"), {});
  ASSERT_TRUE(team.ok()) << team.status().message();
  EXPECT_EQ((*team)["data"]["total"], "110.000000");
  EXPECT_EQ((*team)["data"]["teams"][0]["id"], 6);
}

// Of Ann, of a team, of a host, and of ten hosts that earn as much at another project.
TEST(HubIndexTest, RecentAveragesAreDividedFromTheDayOnAndTheIndexIsBuiltAgainThen) {
  const auto asked = [](std::int64_t since, double now) {
    HubWorld world;
    world.Project(1, {.points_per_cobblestone = 7, .points_since = since});
    world.Project(2);
    for (const std::uint32_t project : {1, 2}) world.Ended(project, now);
    world.User(1, {.id = 1, .recent = 70, .recent_time = now + kDay, .name = "Ann"});
    world.Team(1, {.id = 5, .recent = 70, .recent_time = now + kDay, .name = "T"});
    const std::string digits = "123456789a";
    for (std::size_t n = 0; n < digits.size(); ++n)
      for (const std::uint32_t project : {1, 2})
        world.Host(project, {.id = n + 1, .recent = 7, .recent_time = now + kDay, .cpid = digits[n]});
    HubLists lists(world, [now] { return now; });
    lists.Publish(world.Index(now), 0);
    json compared;
    EXPECT_TRUE(lists.AddSharedHosts(ProjectId(1), &compared).ok());
    const auto cpid = federation::ParseCpid(std::string(32, '1'));
    return json{HubAnswers::Data(lists.People({}, HubRank::kRecent, {}))[0]["rac"],
                HubAnswers::Data(lists.Teams(HubRank::kRecent, {}))[0]["rac"],
                HubAnswers::Data(lists.Hosts(*cpid, {}))[0]["rac_cobblestones"],
                compared["shared_hosts"][0]["ratio"], ReadHubRows(world, now)->editions};
  };
  const double midnight = 19676 * kDay;
  const json before = asked(19676, midnight - 1);
  const json after = asked(19676, midnight);
  EXPECT_EQ(before[0], 70);
  EXPECT_EQ(after[0], 10);
  EXPECT_EQ(before[1], 70);
  EXPECT_EQ(after[1], 10);
  EXPECT_EQ(before[2], 7);
  EXPECT_EQ(after[2], 1);
  EXPECT_DOUBLE_EQ(before[3].get<double>(), 1);
  EXPECT_DOUBLE_EQ(after[3].get<double>(), 1.0 / 7);
  EXPECT_NE(before[4], after[4]);
  EXPECT_NE(asked(19675, midnight)[4], after[4]);
  EXPECT_EQ(asked(0, midnight - 1)[0], 10) << "without a day it holds of all credit";
}

// Eleven hosts earn 1, 2, ... 11 times as much at project 1 as at project 2.
TEST(HubIndexTest, ProjectsAreComparedByWhatTheSameHostsEarn) {
  HubWorld world;
  world.Project(1, {.points_per_cobblestone = 7});
  for (const std::uint32_t project : {2, 3}) world.Project(project);
  world.Project(4, {.account_manager = true});
  world.Project(5);
  for (const std::uint32_t project : {1, 2, 3, 4}) world.Ended(project, kNow - 2 * kDay);
  world.Ended(5, kNow - 2 * kDay - 1);
  const std::string digits = "123456789ab";
  for (std::size_t n = 1; n <= digits.size(); ++n) {
    const char cpid = digits[n - 1];
    const auto recent = static_cast<double>(n);
    if (n == 6) {  // attached twice
      world.Host(1, {.id = 100, .recent = 7 * 4, .cpid = cpid});
      world.Host(1, {.id = n, .recent = 7 * 2, .cpid = cpid});
    } else {
      world.Host(1, {.id = n, .recent = 7 * recent, .cpid = cpid});
    }
    world.Host(2, {.id = n, .recent = 1, .cpid = cpid});
    if (n < 10) world.Host(3, {.id = n, .recent = 1, .cpid = cpid});
    for (const std::uint32_t project : {4, 5}) world.Host(project, {.id = n, .recent = 1, .cpid = cpid});
  }
  // No longer at work, or without an id.
  world.Host(1, {.id = 50, .recent = 70, .cpid = 'c'});
  world.Host(2, {.id = 50, .recent = 0.09, .cpid = 'c'});
  world.Host(1, {.id = 51, .recent = 70});
  world.Host(2, {.id = 51, .recent = 1});
  const HubAnswers answers(world);
  const auto compared = [&](std::uint32_t project) {
    json shown;
    EXPECT_TRUE(answers.lists().AddSharedHosts(ProjectId(project), &shown).ok());
    return shown["shared_hosts"];
  };
  const json one = compared(1);
  ASSERT_EQ(one.size(), 1u)
      << "nine hosts are too few, project 4 is an account manager, and project 5 is silent: " << one;
  EXPECT_EQ(one[0]["project"], 2);
  EXPECT_EQ(one[0]["project_name"], "Project 2");
  EXPECT_EQ(one[0]["hosts"], 11);
  EXPECT_DOUBLE_EQ(one[0]["ratio"].get<double>(), 6);
  // Of 11 values the third and the ninth: 11 / 2 -+ 1.96 / 2 sqrt(11).
  EXPECT_DOUBLE_EQ(one[0]["least"].get<double>(), 3);
  EXPECT_DOUBLE_EQ(one[0]["greatest"].get<double>(), 9);
  const json two = compared(2);
  ASSERT_EQ(two.size(), 1u);
  EXPECT_EQ(two[0]["project"], 1);
  EXPECT_DOUBLE_EQ(two[0]["ratio"].get<double>(), 1.0 / 6);
  EXPECT_DOUBLE_EQ(two[0]["least"].get<double>(), 1.0 / 9);
  EXPECT_DOUBLE_EQ(two[0]["greatest"].get<double>(), 1.0 / 3);
  EXPECT_EQ(compared(3), json::array());
  for (const std::uint32_t project : {4, 5}) EXPECT_EQ(compared(project), json::array());
}

TEST(HubIndexTest, TeamsOfOneNameInAnyCaseAreOneTeam) {
  HubWorld world;
  for (const std::uint32_t project : {1, 2}) world.Project(project);
  world.Team(1, {.id = 5, .credit = 30, .recent = 1, .name = "The Crunchers"});
  world.Team(2, {.id = 9, .credit = 40, .recent = 2, .name = "THE CRUNCHERS"});
  world.Team(2, {.id = 10, .credit = 60, .recent = 9, .name = "Others"});
  world.Team(2, {.id = 11, .credit = 1000});
  world.User(1, {.id = 1, .credit = 30, .name = "Ann", .team = 5, .cpid = 'a'});
  world.User(2, {.id = 2, .credit = 40, .name = "Ann", .team = 9, .cpid = 'a'});
  world.User(2, {.id = 3, .credit = 60, .name = "Bob", .team = 10});
  world.User(2, {.id = 4, .credit = 1, .name = "Cem", .team = 9});
  const HubAnswers answers(world);
  const json teams = HubAnswers::Data(answers.lists().Teams(HubRank::kTotal, {}));
  EXPECT_EQ(HubAnswers::Text(teams), "1 THE CRUNCHERS 70.000000, 2 Others 60.000000")
      << "a team without a name is no team over projects";
  EXPECT_EQ(teams[0]["key"], "ff8ccbaa387e38bd258bb65539f03e58") << "md5sum of 'the crunchers'";
  EXPECT_EQ(teams[0]["projects"], 2);
  EXPECT_EQ(teams[0]["members"], 3);
  EXPECT_EQ(HubAnswers::Text(HubAnswers::Data(answers.lists().Teams(HubRank::kRecent, {}))),
            "1 Others 60.000000, 2 THE CRUNCHERS 70.000000");

  const auto team = answers.lists().Team(TeamNameKeyOf("the CRUNCHERS"), {});
  ASSERT_TRUE(team.ok()) << team.status().message();
  EXPECT_EQ((*team)["data"]["teams"][0]["project_name"], "Project 2");
  EXPECT_EQ((*team)["data"]["teams"][0]["rank_total"], 3) << "40 of 1000, 60, 40";
  EXPECT_EQ((*team)["data"]["teams"][1]["id"], 5);
  EXPECT_EQ(answers.lists().Team(TeamNameKeyOf("unknown"), {}).status().code(), StatusCode::kNotFound);
  // Ann is a member at both projects, and one person.
  EXPECT_EQ(HubAnswers::Text(answers.People({.team = "the crunchers"})), "1 Ann 70.000000, 3 Cem 1.000000");
}

TEST(HubIndexTest, CountriesAreThoseOfPeople) {
  HubWorld world;
  world.Project(1);
  world.User(1, {.id = 1, .credit = 10, .recent = 5, .name = "a", .country = "Norway"});
  world.User(1, {.id = 2, .credit = 20, .recent = 1, .name = "b", .country = "Chad"});
  world.User(1, {.id = 3, .credit = 10, .recent = 1, .name = "c", .country = "Norway"});
  world.User(1, {.id = 4, .credit = 5, .recent = 9, .name = "d", .country = "International"});
  world.User(1, {.id = 5, .credit = 90, .recent = 1, .name = "e", .country = "None"});
  world.User(1, {.id = 6, .credit = 90, .recent = 1, .name = "f"});
  const HubAnswers answers(world);
  const json countries = HubAnswers::Data(answers.lists().Countries(HubRank::kTotal, {}));
  EXPECT_EQ(HubAnswers::Text(countries, "country"),
            "1 Chad 20.000000, 1 Norway 20.000000, 3 International 5.000000");
  EXPECT_EQ(countries[1]["people"], 2);
  EXPECT_EQ(HubAnswers::Data(answers.lists().Countries(HubRank::kRecent, {}))[0]["country"], "International");
  EXPECT_EQ(HubAnswers::Text(answers.People({.country = "Norway"})), "4 a 10.000000, 4 c 10.000000")
      << "the rank is that among all: 90, 90, 20, 10, 10, 5";
  EXPECT_TRUE(answers.People({.country = "Atlantis"}).empty());
}

TEST(HubIndexTest, PagesFollowEachOther) {
  HubWorld world;
  world.Project(1);
  for (std::uint64_t id = 1; id <= 7; ++id)
    world.User(1, {.id = id,
                   .credit = 100.0 - static_cast<double>(id),
                   .name = "u" + std::to_string(id),
                   .country = "Chad"});
  const HubAnswers answers(world);
  const auto page = answers.lists().People({.country = "Chad"}, HubRank::kTotal, {.offset = 5, .limit = 3});
  EXPECT_EQ(HubAnswers::Text(HubAnswers::Data(page)), "6 u6 94.000000, 7 u7 93.000000");
  EXPECT_EQ((*page)["count"], 7);
  EXPECT_EQ((*page)["as_of"], kNow);
  const auto users =
      answers.lists().Top(ProjectId(1), AccountKind::kUser, HubRank::kTotal, {.offset = 2, .limit = 2});
  EXPECT_EQ(HubAnswers::Text(HubAnswers::Data(users)), "3 u3 97.000000, 4 u4 96.000000");
  EXPECT_TRUE(answers.People({}, HubRank::kTotal, {.offset = 100, .limit = 5}).empty());
}

TEST(HubIndexTest, PeopleAreFoundByTheBeginningOfTheirName) {
  HubWorld world;
  world.Project(1);
  world.User(1, {.id = 1, .credit = 1, .name = "Zoé"});
  world.User(1, {.id = 2, .credit = 5, .name = "ZOÉ of Kiel"});
  world.User(1, {.id = 3, .credit = 9, .name = "Zack"});
  world.User(1, {.id = 4, .credit = 9, .name = std::string(300, 'z')});
  world.User(1,
             {.id = 5, .credit = 2, .name = "Zoé of Aachen"});  // the first eight bytes are those of user 2
  const HubAnswers answers(world);
  EXPECT_EQ(HubAnswers::Text(answers.People({.name = "zoÉ"})),
            "3 ZOÉ of Kiel 5.000000, 4 Zoé of Aachen 2.000000, 5 Zoé 1.000000");
  EXPECT_EQ(HubAnswers::Text(answers.People({.name = "zoé of a"})), "4 Zoé of Aachen 2.000000");
  EXPECT_EQ(HubAnswers::Text(answers.People({.name = "zoé of k"})), "3 ZOÉ of Kiel 5.000000");
  EXPECT_EQ(answers.People({.name = "z"}).size(), 5u);
  EXPECT_EQ(answers.People({.name = std::string(200, 'Z')}).size(), 1u);
  EXPECT_TRUE(answers.People({.name = "zoe"}).empty());
}

TEST(HubIndexTest, HalfAnEditionIsNeverSeen) {
  HubWorld world;
  world.Project(1, {}, 1);
  const Account before{.id = 1, .credit = 100, .name = "Ann"};
  world.Put(1, AccountKind::kUser, {.id = 1, .credit = 150, .name = "Ann", .edition = 2}, &before);
  world.User(1, {.id = 2, .credit = 30, .name = "Bob"});
  world.User(1, {.id = 3, .credit = 70, .name = "Cem", .edition = 2});
  EXPECT_EQ(HubAnswers::Text(HubAnswers(world).People()), "1 Ann 100.000000, 2 Bob 30.000000");
  world.Project(1, {}, 2);
  EXPECT_EQ(HubAnswers::Text(HubAnswers(world).People()),
            "1 Ann 150.000000, 2 Cem 70.000000, 3 Bob 30.000000");
}

TEST(HubIndexTest, RowsOfDifferentMomentsAreNoIndex) {
  HubWorld world;
  world.Project(1, {}, 1);
  // The rows of accounts are two editions ahead: what edition 1 said is not known any more.
  const Account before{.id = 1, .credit = 100, .edition = 2};
  world.Put(1, AccountKind::kUser, {.id = 1, .credit = 150, .edition = 3}, &before);
  EXPECT_EQ(world.Build().status().code(), StatusCode::kRetry);
  // FEEDS has sent two barriers, and a partition of MEMBERS has passed one.
  HubWorld behind;
  behind.Project(1);
  behind.leading.Put(feeds::kRelayTable, {}, stage::RelayState{.number = 2, .watermarks = 2});
  for (MemoryRows& rows : behind.members)
    rows.Put(members::kWatermarksTable, {}, stream::WatermarkProgress{.passed = 2});
  EXPECT_TRUE(behind.Build().ok());
  behind.members[1].Put(members::kWatermarksTable, {}, stream::WatermarkProgress{.passed = 1});
  EXPECT_EQ(behind.Build().status().code(), StatusCode::kRetry);
}

TEST(HubIndexTest, HostsAreFoundByTheirIdAtAllProjects) {
  HubWorld world;
  for (const std::uint32_t project : {1, 2}) world.Project(project);
  world.User(1, {.id = 7, .credit = 9, .name = "Ann"});
  world.Host(1, {.id = 71, .credit = 5, .recent = 1, .cpid = 'c', .owner = 7});
  world.Host(1, {.id = 72, .credit = 4, .recent = 0.05, .cpid = 'd', .owner = 7});
  world.Host(2, {.id = 81, .credit = 3, .recent = 2, .cpid = 'c'});
  world.Host(2, {.id = 82, .credit = 30});
  const HubAnswers answers(world);
  const auto cpid = *federation::ParseCpid(std::string(32, 'c'));
  const auto found = answers.lists().Hosts(cpid, {});
  const json hosts = HubAnswers::Data(found);
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0]["id"], 71);
  EXPECT_EQ(hosts[1]["id"], 81);
  EXPECT_EQ(hosts[1]["rank_total"], 2);
  EXPECT_EQ(hosts[1]["project_name"], "Project 2");
  // Ids that begin alike are other ids.
  const auto alike = *federation::ParseCpid(std::string(12, 'c') + std::string(20, '0'));
  EXPECT_TRUE(HubAnswers::Data(answers.lists().Hosts(alike, {})).empty());
  json user;
  answers.lists().AddRanks(ProjectId(1), AccountKind::kUser, 7, &user);
  EXPECT_EQ(user, (json{{"rank_total", 1}, {"rank_rac", 1}, {"of", 1}, {"hosts", 2}, {"used_hosts", 1}}));
}

// A project chooses its numbers: from the smallest to the greatest, close together or far apart.
TEST(HubIndexTest, HostsCountForTheirOwnerWhateverTheNumbersOfUsersAre) {
  constexpr std::uint64_t kGreatest = 0x7fffffffffffffff;
  const std::vector<std::uint64_t> owners = {1, 2, 3, 1000, 1001, 1ull << 40, (1ull << 40) + 1, kGreatest};
  HubWorld world;
  for (const std::uint32_t project : {1, 2, 3}) world.Project(project);
  std::uint64_t host = 0;
  for (const std::uint64_t owner : owners) {
    world.User(1, {.id = owner, .credit = 1, .name = "of 1"});
    for (std::uint64_t n = 0; n <= owner % 3; ++n) world.Host(1, {.id = ++host, .credit = 1, .owner = owner});
  }
  world.User(2, {.id = 4, .credit = 1, .name = "of 2"});
  // Nobody's: there is no such user, at project 3 nobody at all.
  for (const std::uint64_t owner : {std::uint64_t{4}, std::uint64_t{999}, kGreatest - 1})
    world.Host(1, {.id = ++host, .credit = 1, .owner = owner});
  world.Host(2, {.id = 1, .credit = 1, .owner = kGreatest});
  world.Host(3, {.id = 1, .credit = 1, .owner = 1});
  const auto index = world.Index();
  for (const std::uint64_t owner : owners)
    EXPECT_EQ(index->users.all[index->FindUser(ProjectId(1), owner)].hosts, owner % 3 + 1) << owner;
  EXPECT_EQ(index->users.all[index->FindUser(ProjectId(2), 4)].hosts, 0u);
}

TEST(HubIndexTest, HostsWithAnIdAreInItsOrderAndThenInThatOfTheirPlaces) {
  HubWorld world;
  for (const std::uint32_t project : {1, 2}) world.Project(project);
  for (std::uint64_t id = 1; id <= 200; ++id)
    for (const std::uint32_t project : {1, 2}) {
      members::MemberRow row{.now = Feed(AccountKind::kHost, {.id = id, .credit = 1})};
      // Most begin like others, and each is of several hosts.
      const std::uint64_t high = id % 3 << 62 | id * 7 % 19 << 20;
      if (id % 10 != 0) row.now.cross_project_id = federation::CpidText({.high = high, .low = 1});
      world.PutRow(project, AccountKind::kHost, row);
    }
  const auto index = world.Index();
  const auto& all = index->hosts.all;
  std::vector<std::pair<std::uint64_t, Place>> wanted;
  for (std::size_t host = 0; host < all.size(); ++host)
    if (all[host].cpid != 0) wanted.emplace_back(all[host].cpid, static_cast<Place>(host));
  std::sort(wanted.begin(), wanted.end());
  ASSERT_GT(wanted.size(), 300u);
  ASSERT_EQ(index->hosts_by_cpid.size(), wanted.size());
  for (std::size_t n = 0; n < wanted.size(); ++n) EXPECT_EQ(index->hosts_by_cpid[n], wanted[n].second) << n;
}

// The eldest account names the person while it is exported; without it another account stands for the person.
TEST(HubIndexTest, APersonStaysOneWithoutTheEldestAccount) {
  HubWorld world;
  for (const std::uint32_t project : {1, 2, 3}) world.Project(project);
  world.User(1, {.id = 1, .credit = 1, .name = "eldest", .cpid = 'a'});
  world.User(2, {.id = 2, .credit = 20, .name = "second", .cpid = 'a'});
  world.User(3, {.id = 3, .credit = 30, .name = "third", .cpid = 'a'});
  members::MemberRow gone;
  gone.now = {.kind = AccountKind::kUser, .account = 1, .edition = 1, .gone = true};
  world.PutRow(1, AccountKind::kUser, gone);
  const HubAnswers answers(world);
  EXPECT_EQ(HubAnswers::Text(answers.People()), "1 second 50.000000");
}

// Slots write their state at different moments: FEEDS may know an edition as complete while one partition of MEMBERS has
// not written the accounts of it, and another one has.
TEST(HubIndexTest, AllAnswersAreOfTheMomentOfTheIndex) {
  HubWorld world;
  world.Project(1);
  world.User(1, {.id = 1, .credit = 10, .cpid = 'a'});
  world.User(1, {.id = 2, .credit = 20, .cpid = 'b'});
  HubQuestions questions(world, [] { return kNow; });
  const auto total = [&](std::uint64_t user) {
    const auto account = questions.Account(ProjectId(1), AccountKind::kUser, user);
    return account.ok() ? account->at("total").get<std::string>() : account.status().message();
  };
  const auto person_total = [&](char cpid) {
    const auto person = questions.PersonOfCpid(std::string(32, cpid));
    return person.ok() ? person->at("total").get<std::string>() : person.status().message();
  };
  EXPECT_EQ(questions.Account(ProjectId(1), AccountKind::kUser, 1).status().code(), StatusCode::kRetry);
  questions.lists().Publish(world.Index(), 0);
  EXPECT_EQ(total(1), "10.000000");

  world.Project(1, {}, 2);
  const Account before{.id = 1, .credit = 10, .cpid = 'a'};
  world.Put(1, AccountKind::kUser, {.id = 1, .credit = 13, .cpid = 'a', .edition = 2}, &before);
  EXPECT_EQ(total(1), "10.000000");
  EXPECT_EQ(person_total('a'), "10.000000");
  EXPECT_EQ(total(2), "20.000000");
  questions.lists().Publish(world.Index(), 0);
  EXPECT_EQ(total(1), "13.000000");
  EXPECT_EQ(person_total('a'), "13.000000");
}

TEST(HubIndexTest, BeforeTheFirstIndexListsSayWhenToAskAgain) {
  HubWorld world;
  const HubLists lists(world, [] { return kNow; });
  EXPECT_EQ(lists.People({}, HubRank::kTotal, {}).status().code(), StatusCode::kRetry);
  json shown = json::object();
  lists.AddRanks(ProjectId(1), AccountKind::kUser, 1, &shown);
  EXPECT_TRUE(shown.empty());
}

// An answer without some of its figures would be taken for one of a project without accounts.
TEST(HubIndexTest, BeforeTheFirstIndexAProjectIsAnsweredWithoutFiguresOnlyIfAsked) {
  HubWorld world;
  world.Project(1);
  world.User(1, {.id = 1, .credit = 5, .cpid = 'a'});
  HubQuestions questions(world, [] { return kNow; });
  EXPECT_EQ(questions.Project(ProjectId(1), 20).status().code(), StatusCode::kRetry);
  EXPECT_EQ(questions.Projects().status().code(), StatusCode::kRetry);
  EXPECT_EQ(questions.Project(ProjectId(2), 20).status().code(), StatusCode::kNotFound);
  const auto without = questions.Project(ProjectId(1), 20, false);
  ASSERT_TRUE(without.ok()) << without.status().message();
  EXPECT_EQ(without->at("complete_edition"), 1);
  EXPECT_FALSE(without->contains("users"));
  questions.lists().Publish(world.Index(), 0);
  EXPECT_EQ(questions.Project(ProjectId(1), 20)->at("users"), 1);
  EXPECT_EQ(questions.Projects()->at(0).at("total"), "5.000000");
}

}  // namespace
}  // namespace cobblestone::view
