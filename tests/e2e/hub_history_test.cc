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

}  // namespace
}  // namespace cobblestone::testing
