// What a federation hub knows of a project: its sender and an operator of the hub each send the fields that they know.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "services/feeds/feed_rows.h"
#include "services/view/state.h"
#include "tests/e2e/hub_world.h"

namespace cobblestone::testing {
namespace {

using wire::FeedMode;
using wire::FeedProject;

class HubProjects : public HubWorld {
 protected:
  FeedProject Known(std::uint32_t project) {
    const auto rows = view::ReadHubRows(engine_->live_state(), kStart);
    if (!rows.ok()) return FeedProject{.name = rows.status().message()};
    const auto row = view::Find(*rows->leading, feeds::kProjectsTable, feeds::ProjectKey(ProjectId(project)));
    return row.ok() && *row ? (*row)->project : FeedProject{};
  }
};

FeedProject OfSender(const std::string& name, const std::string& url) {
  return {.name = name,
          .url = url,
          .mode = FeedMode::kDirect,
          .present = FeedProject::kRequired | FeedProject::kUrl};
}

// One project for each order of arrival of five events: the operator's are the second and the fourth, which takes two
// settings back.
TEST_F(HubProjects, HaveTheNewestValueOfEachFieldInEveryOrderOfArrival) {
  FeedProject settings{.name = "Elm",
                       .mode = FeedMode::kFiles,
                       .ownership_key = "key",
                       .points_per_cobblestone = 7,
                       .erase_after = 60 * kDay,
                       .shared_accounts = {9, 7, 9},
                       .account_manager = true,
                       .points_since = 19'000};
  settings.present = FeedProject::kAllFields & ~FeedProject::kUrl;
  FeedProject later{.name = "Elm", .mode = FeedMode::kDirect, .erase_after = 0};
  later.present = FeedProject::kRequired | FeedProject::kEraseAfter | FeedProject::kAccountManager;
  const std::array<FeedProject, 5> events = {OfSender("Elm", "https://elm.example/"), settings,
                                             OfSender("Elm 2", "https://elm2.example/"), later,
                                             OfSender("Elm 3", "https://elm3.example/")};
  std::array<std::size_t, 5> order = {0, 1, 2, 3, 4};
  std::uint32_t projects = 0;
  do {
    ++projects;
    for (const std::size_t at : order) Add(projects, static_cast<double>(at), events[at]);
  } while (std::next_permutation(order.begin(), order.end()));
  Send();
  const FeedProject expected{.name = "Elm 3",
                             .url = "https://elm3.example/",
                             .mode = FeedMode::kDirect,
                             .ownership_key = "key",
                             .points_per_cobblestone = 7,
                             .erase_after = 0,
                             .shared_accounts = {7, 9},
                             .points_since = 19'000};
  ASSERT_EQ(projects, 120u);
  for (std::uint32_t project = 1; project <= projects; ++project)
    EXPECT_EQ(Known(project), expected) << "order number " << project;
}

TEST_F(HubProjects, HaveNoSharedAccountsAfterAnEmptyListOfThem) {
  FeedProject settings = OfSender("Elm", "");
  settings.shared_accounts = {9, 7};
  settings.present = FeedProject::kRequired | FeedProject::kSharedAccounts;
  Add(1, 0, settings);
  Add(1, 1, OfSender("Elm", "https://elm.example/"));
  Send();
  EXPECT_EQ(Known(1).shared_accounts, (std::vector<std::uint64_t>{7, 9}));
  settings.shared_accounts.clear();
  Add(1, 2, settings);
  Send();
  EXPECT_EQ(Known(1).shared_accounts, std::vector<std::uint64_t>{});
  EXPECT_EQ(Known(1).url, "https://elm.example/");
}

// The sender knows nothing of erase_after, and MEMBERS keeps what the operator has set.
TEST_F(HubProjects, KeepTheOperatorsEraseAfterWhenTheSenderSpeaks) {
  FeedProject settings = OfSender("Elm", "");
  settings.erase_after = 60 * kDay;
  settings.present = FeedProject::kRequired | FeedProject::kEraseAfter;
  Add(1, 0, settings);
  Add(1, 1, OfSender("Elm 2", "https://elm2.example/"));
  Complete(1, 1, 2, {User(7, 1, 10)}, true);
  Complete(1, 2, 3, {Gone(7, 2)});
  Tick(40);
  Complete(1, 3, 41, {User(7, 3, 15)});
  EXPECT_EQ(Asked(1, 7)["days"].size(), 1u) << "the account was erased after 30 days";
}

TEST_F(HubProjects, RefuseAnotherEventWithTheIdOfTheNewest) {
  Add(1, 0, OfSender("Elm", "https://elm.example/"));
  --id_;
  Add(1, 0, OfSender("Oak", "https://oak.example/"));
  ASSERT_EQ(Refused().size(), 1u);
  EXPECT_EQ(Known(1).name, "Elm");
}

}  // namespace
}  // namespace cobblestone::testing
