// A federation hub keeps the days of accounts and projects for years.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/hub_world.h"

namespace cobblestone::testing {
namespace {

using HubHistory = HubWorld;

// Ten years with credit on every fourth day; no day leaves the history. A deleted account leaves none behind.
TEST_F(HubHistory, OfAnAccountHasEveryDayForTenYears) {
  constexpr int kEditions = 900;
  constexpr double kFirst = -3650;
  const std::int64_t first_day = static_cast<std::int64_t>(kStart / kDay) - 3650;
  Project(1);
  for (int n = 1; n <= kEditions; ++n)
    Complete(1, static_cast<std::uint64_t>(n), kFirst + 4 * n, {User(7, static_cast<std::uint64_t>(n), n)},
             n == 1);
  const json days = Asked(1, 7)["days"];
  ASSERT_EQ(days.size(), kEditions - 1u);
  for (int n = 2; n <= kEditions; ++n) {
    const json expected{{"day", first_day + 4 * n}, {"credit", "1.000000"}};
    ASSERT_EQ(days[static_cast<std::size_t>(n) - 2], expected);
  }
  const auto person = questions_->PersonOfCpid(std::string(32, 'a'));
  ASSERT_TRUE(person.ok()) << person.status().message();
  EXPECT_EQ(person->at("days").size(), kEditions - 1u);

  FeedAccount erased = Gone(7, 0);
  erased.erased = true;
  Add(1, 1, std::move(erased));
  Complete(1, kEditions + 1, 2, {User(7, kEditions + 1, 5)});
  EXPECT_EQ(Asked(1, 7)["days"].size(), 0u);
  // An edition of long ago: had rows of the past stayed, their days would be seen again.
  Complete(1, kEditions + 2, kFirst + 50, {User(7, kEditions + 2, 6)});
  EXPECT_EQ(Asked(1, 7)["days"].size(), 1u);
}

// A total that falls is a negative day also where the day is older than the newest ones.
TEST_F(HubHistory, OfAnAccountTakesDaysInAnyOrder) {
  Project(1);
  const std::vector<int> order = {0, 500, 1000, 20, 510, -30, 1001, 20};
  std::int64_t credit = 100;
  for (std::size_t n = 0; n < order.size(); ++n, credit += 10)
    Complete(1, n + 1, order[n], {User(7, n + 1, credit)}, n == 0);
  const json days = Asked(1, 7)["days"];
  const std::int64_t start = static_cast<std::int64_t>(kStart / kDay);
  std::string found;
  for (const json& day : days)
    found +=
        std::to_string(day["day"].get<std::int64_t>() - start) + ":" + day["credit"].get<std::string>() + " ";
  EXPECT_EQ(found, "-30:10.000000 20:20.000000 500:10.000000 510:10.000000 1000:10.000000 1001:10.000000 ");
}

// The second correction came on a day on which the total did not fall. A fall that the project does not explain has no
// day that it is about.
TEST_F(HubHistory, MarksACorrectionOnTheDaysThatTheProjectNames) {
  const std::int64_t start = static_cast<std::int64_t>(kStart / kDay);
  Project(1);
  FeedAccount user = User(7, 1, 100);
  Complete(1, 1, 0, {user}, true);
  user = User(7, 2, 70);
  user.corrections = {{.micro = -30'000'000, .came = start + 5, .about = start - 20}};
  Complete(1, 2, 6, {user});
  user.edition = 3;
  user.total_micro = 90'000'000;
  user.corrections.push_back({.micro = -4'000'000, .came = start + 9, .about = start - 1});
  user.corrections.push_back({.micro = 1'000'000, .came = start + 9, .about = start + 2});
  Complete(1, 3, 9, {user});
  user.edition = 4;
  user.total_micro = 80'000'000;
  Complete(1, 4, 12, {user});
  const json sent =
      json::array({{{"day_came", start + 5}, {"day_about", start - 20}, {"credit", "-30.000000"}},
                   {{"day_came", start + 9}, {"day_about", start - 1}, {"credit", "-4.000000"}},
                   {{"day_came", start + 9}, {"day_about", start + 2}, {"credit", "1.000000"}}});
  EXPECT_EQ(Asked(1, 7)["corrections"], sent);
  const auto person = questions_->PersonOf(ProjectId(1), UserId(7));
  ASSERT_TRUE(person.ok()) << person.status().message();
  json expected = sent;
  expected.push_back({{"day_came", start + 12}, {"day_about", nullptr}, {"credit", "-10.000000"}});
  ASSERT_EQ(person->at("corrections").size(), expected.size()) << person->at("corrections");
  for (std::size_t n = 0; n < expected.size(); ++n)
    for (const auto& [field, value] : expected[n].items())
      EXPECT_EQ(person->at("corrections")[n][field], value) << n << " " << field;
  // While an edition arrives, nobody sees its corrections.
  Edition(1, 5, 13, EditionState::kBegun);
  user.edition = 5;
  user.corrections.push_back({.micro = -1'000'000, .came = start + 13, .about = start});
  Add(1, 13, user);
  EXPECT_EQ(Asked(1, 7)["corrections"], sent);
}

// A direct feed has an edition every few minutes. The ledger of editions has a bound, the days of the project have none.
TEST_F(HubHistory, OfAProjectIsItsNewestEditionsAndAllItsDays) {
  constexpr std::uint64_t kEditions = 1100;
  Project(1);
  Project(2);
  Complete(2, 1, 0, {}, true);
  for (std::uint64_t n = 1; n <= kEditions; ++n) {
    wire::FeedEdition edition{.edition = n, .state = EditionState::kBegun, .whole = n == 1};
    const double day = -1000 + static_cast<double>(n) / 2;
    Add(1, day, edition);
    edition.state = EditionState::kComplete;
    edition.sums = {{.kind = AccountKind::kUser,
                     .accounts = 5,
                     .total_micro = static_cast<std::int64_t>(1'000'000 * (1000 + n))}};
    Add(1, day, edition);
  }
  SendAndIndex();
  const auto project = questions_->Project(ProjectId(1), 2000);
  ASSERT_TRUE(project.ok()) << project.status().message();
  const json& editions = project->at("editions");
  ASSERT_EQ(editions.size(), 1000u);
  EXPECT_EQ(editions[0]["edition"], kEditions);
  EXPECT_EQ(editions[998]["edition"], kEditions - 998);
  EXPECT_EQ(editions[999]["edition"], 1) << "the last whole edition says since when an account is gone";
  const auto newest = questions_->Project(ProjectId(1), 1);
  ASSERT_TRUE(newest.ok());
  ASSERT_EQ(newest->at("editions").size(), 1u);
  EXPECT_EQ(newest->at("editions")[0]["edition"], kEditions);
  const auto other = questions_->Project(ProjectId(2), 2000);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->at("editions").size(), 1u);

  const auto days = questions_->lists().Days(ProjectId(1));
  ASSERT_TRUE(days.ok()) << days.status().message();
  ASSERT_EQ(days->size(), kEditions / 2);
  double sum = 0;
  for (std::size_t n = 0; n < days->size(); ++n) {
    EXPECT_EQ(days->at(n)["day"], days->at(0)["day"].get<std::int64_t>() + static_cast<std::int64_t>(n));
    sum += std::stod(days->at(n)["credit"].get<std::string>());
  }
  EXPECT_EQ(sum, kEditions - 1.0) << "what the first edition has is no day's credit";
  EXPECT_EQ(days->back()["edition"], kEditions);
  EXPECT_EQ(days->back()["accounts"], 5);
}

}  // namespace
}  // namespace cobblestone::testing
