// A project whose points count since a day, at a federation hub: what accounts had before counts one for one. From events over
// the rows of MEMBERS to the index and to answers, which say the same.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/hub_world.h"

namespace cobblestone::testing {
namespace {

constexpr std::int64_t kStartDay = 19675;  // of kStart

std::int64_t MicroOf(const json& text) {
  return std::llround(std::stold(text.get<std::string>()) * 1'000'000);
}

class HubPoints : public HubWorld {
 protected:
  // Seven points are one Cobblestone, from `since` days after kStart on.
  void Seven(std::uint32_t project, std::int64_t since) {
    Add(project, registered_++ / 1000.0,
        wire::FeedProject{.name = "project " + std::to_string(project),
                          .mode = wire::FeedMode::kFiles,
                          .points_per_cobblestone = 7,
                          .points_since = kStartDay + since});
  }
  // A complete edition with user 7 of a project alone.
  void Seen(std::uint32_t project, double day, std::int64_t credit) {
    ++edition_;
    Complete(project, edition_, day, {User(7, edition_, credit)}, edition_ == 1);
  }
  // The person's total. `had`: what the person had when the hub first saw it, in Cobblestones. With the days it is the total, to
  // one micro-credit for each day; the index and the lists have the same total.
  std::string Total(std::uint32_t project, std::int64_t had) {
    SendAndIndex();
    const auto person = questions_->PersonOf(ProjectId(project), UserId(7));
    if (!person.ok()) return person.status().message();
    std::int64_t sum = had * 1'000'000;
    for (const json& day : person->at("days"))
      for (const json& credit : day["credit"]) sum += MicroOf(credit);
    const std::string total = person->at("total");
    EXPECT_LE(std::abs(sum - MicroOf(total)), static_cast<std::int64_t>(person->at("days").size()))
        << *person;
    const auto index = questions_->lists().index();
    const view::Place user = index->FindUser(ProjectId(project), 7);
    EXPECT_EQ(MicroOf(total), static_cast<std::int64_t>(index->people[index->users.all[user].person].total));
    const auto people = questions_->lists().People({}, view::HubRank::kTotal, {});
    if (!people.ok()) return people.status().message();
    EXPECT_EQ(people->at("data")[0]["total"], total);
    return total;
  }
  // "DAY:CREDIT" of each day of the person, in days after kStart.
  std::string Days(std::uint32_t project, const char* list = "days", const char* number = "day") {
    const auto person = questions_->PersonOf(ProjectId(project), UserId(7));
    if (!person.ok()) return person.status().message();
    std::string text;
    for (const json& day : person->at(list)) {
      const json& credit = day["credit"];
      text += std::to_string(day[number].get<std::int64_t>() - kStartDay) + ":" +
              (credit.is_object() ? credit.begin()->get<std::string>() : credit.get<std::string>()) + " ";
    }
    return text;
  }

  int registered_ = 0;
  std::uint64_t edition_ = 0;
};

TEST_F(HubPoints, CountSinceTheirDayAndOneForOneBefore) {
  Seven(1, 2);
  Seen(1, 0, 100);
  Seen(1, 1, 170);
  EXPECT_EQ(Total(1, 100), "170.000000") << "the day has not come";
  Seen(1, 2, 240);
  EXPECT_EQ(Total(1, 100), "180.000000");
  Seen(1, 3, 241);
  EXPECT_EQ(Total(1, 100), "180.142857");  // 71 / 7 are 10.142857
  EXPECT_EQ(Days(1), "1:70.000000 2:10.000000 3:0.142857 ");
  // A total that falls after the day is credit of the day on which it falls, whenever it was earned.
  Seen(1, 4, 100);
  EXPECT_EQ(Total(1, 100), "160.000000");  // 170 + (100 - 170) / 7
  EXPECT_EQ(Days(1, "corrections", "day_came"), "4:-20.142857 ");
  // Another day, and none.
  Seven(1, 4);
  EXPECT_EQ(Total(1, 100), "220.857143");  // 241 - 141 / 7
  Add(1, 1, wire::FeedProject{.name = "p", .mode = wire::FeedMode::kFiles, .points_per_cobblestone = 7});
  SendAndIndex();
  EXPECT_EQ(questions_->PersonOf(ProjectId(1), UserId(7))->at("total"), "14.285714");  // 100 / 7
}

// A correction counts as credit of the day on which it came, also one about a day before the points did.
TEST_F(HubPoints, AreThoseOfTheDayOnWhichACorrectionCame) {
  Seven(1, 2);
  FeedAccount user = User(7, 1, 100);
  Complete(1, 1, 0, {user}, true);
  user = User(7, 2, 86);
  user.corrections = {{.micro = -14'000'000, .came = kStartDay + 1, .about = kStartDay - 9}};
  Complete(1, 2, 1, {user});
  user.edition = 3;
  user.total_micro = 72'000'000;
  user.corrections.push_back({.micro = -14'000'000, .came = kStartDay + 2, .about = kStartDay - 8});
  Complete(1, 3, 2, {user});
  EXPECT_EQ(Total(1, 100), "84.000000");
  EXPECT_EQ(Days(1), "1:-14.000000 2:-2.000000 ");
  EXPECT_EQ(Days(1, "corrections", "day_came"), "1:-14.000000 2:-2.000000 ");
}

TEST_F(HubPoints, CountNothingOfWhatAnAccountHadWhenItWasFirstSeen) {
  Seven(1, -100);
  Seen(1, 0, 700);
  EXPECT_EQ(Total(1, 700), "700.000000");
  Seen(1, 1, 770);
  EXPECT_EQ(Total(1, 700), "710.000000");
}

// The row of an account has the days of a week at most.
TEST_F(HubPoints, CountSinceADayThatIsInNoRowOfAnAccount) {
  Seven(1, -700);
  std::int64_t credit = 1000;
  Seen(1, -800, credit);
  for (int day = -770; day <= 30; day += 10) Seen(1, day, credit += 7);
  // Of 81 days 7 are before the day -700, which is one of the others.
  EXPECT_EQ(Total(1, 1000), "1123.000000");  // 1000 + 7 x 7 + 74
}

// A reader sees the sums of the complete edition while the next one arrives, also if an account's days move to older rows.
TEST_F(HubPoints, AreOfTheCompleteEditionWhileTheNextOneArrives) {
  Seven(1, 2);
  Seen(1, 0, 100);
  Seen(1, 3, 170);
  EXPECT_EQ(Total(1, 100), "110.000000");
  for (const double day : {4.0, 60.0}) {
    const std::string before = Total(1, 100);
    const std::string days = Days(1);
    const std::uint64_t next = edition_ + 1;
    const std::int64_t credit = day < 10 ? 240 : 947;
    Edition(1, next, day, EditionState::kBegun);
    Add(1, day, User(7, next, credit));
    EXPECT_EQ(Total(1, 100), before);
    EXPECT_EQ(Days(1), days);
    edition_ = next;
    Edition(1, next, day, EditionState::kComplete);
  }
  EXPECT_EQ(Total(1, 100), "221.000000");  // 100 + 847 / 7
}

// A person over two projects, of which one pays points since a day; a team and a host as well.
TEST_F(HubPoints, OfTeamsAndHostsCountAsThoseOfPeople) {
  Seven(1, 2);
  Project(2);
  const auto all = [](std::uint64_t edition, std::int64_t credit) {
    FeedAccount user = User(7, edition, credit);
    FeedAccount team = user;
    team.kind = AccountKind::kTeam;
    team.account = 5;
    team.name = "T";
    FeedAccount host = user;
    host.kind = AccountKind::kHost;
    host.account = 9;
    for (FeedAccount* one : {&team, &host}) one->create_time = 0;
    team.cross_project_id = "";
    return std::vector<FeedAccount>{user, team, host};
  };
  Complete(2, 1, 0, all(1, 1000), true);
  Complete(1, 1, 0, all(1, 100), true);
  Complete(1, 2, 2, all(2, 170));
  SendAndIndex();
  const view::HubLists& lists = questions_->lists();
  EXPECT_EQ(questions_->PersonOf(ProjectId(1), UserId(7))->at("total"), "1110.000000");
  EXPECT_EQ(lists.Teams(view::HubRank::kTotal, {})->at("data")[0]["total"], "1110.000000");
  const auto cpid = federation::ParseCpid(std::string(32, 'a'));
  ASSERT_TRUE(cpid);
  EXPECT_EQ(lists.Hosts(*cpid, {})->at("data")[0]["cobblestones"], "110.000000");
  const auto project = questions_->Project(ProjectId(1), 0);
  ASSERT_TRUE(project.ok()) << project.status().message();
  EXPECT_EQ(project->at("total"), "170.000000");
  EXPECT_EQ(project->at("cobblestones"), "110.000000");
  EXPECT_EQ(project->at("points_since"), kStartDay + 2);
  EXPECT_FALSE(questions_->Project(ProjectId(2), 0)->contains("points_since"));
}

}  // namespace
}  // namespace cobblestone::testing
