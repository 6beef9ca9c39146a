// Rows for statistics files: the newest event about a subject counts, in any order of arrival.
#include "services/stage/profile_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace cobblestone::wire {

using stage::FactsRow;
using stage::ProfileRow;
using stage::ShownOf;
using stage::TakeFacts;
using stage::TakeFigures;
using stage::TakeProfile;

namespace {

const stream::Key kUser{.project = 1, .id = 7, .sub = 0};

EventStamp At(double time, std::uint64_t id, std::uint32_t hash = 1) {
  return {.id = id, .time = time, .hash = hash};
}

struct MemberEvent {
  EventStamp stamp;
  bool deleted = false;
  std::optional<UserProfile> profile;
  std::string country = {};
  FieldMask plain = 0;
};

UserProfile Of(const std::string& url) { return {.url = url}; }

// Like a stage, passes overtaken events to the profile too.
std::optional<std::string> UrlAfter(const std::vector<MemberEvent>& events) {
  stream::TableHost host;
  stream::Table<ProfileRow<UserProfile>> table(host, stream::TableSpec<ProfileRow<UserProfile>>{.id = 1},
                                               true);
  EventStamp in_force;
  bool is_deleted = false;
  for (const MemberEvent& event : events) {
    const StampOrder standing = CompareStamps(event.stamp, in_force);
    if (standing == StampOrder::kRepeat || standing == StampOrder::kOtherContents) continue;
    const bool older = standing == StampOrder::kOlder;
    UserMember member{.deleted = event.deleted, .profile = event.profile, .present = event.plain};
    member.country = event.country;
    TakeProfile(event.stamp, event.deleted, ShownOf(member), older && is_deleted, kUser, table);
    if (older) continue;
    in_force = event.stamp;
    is_deleted = event.deleted;
  }
  const auto* row = table.Find(kUser);
  if (row == nullptr || !row->profile) return std::nullopt;
  return row->profile->url;
}

void ExpectInAnyOrder(std::vector<MemberEvent> events, const std::optional<std::string>& url) {
  const auto by_time = [](const MemberEvent& a, const MemberEvent& b) { return a.stamp.time < b.stamp.time; };
  std::sort(events.begin(), events.end(), by_time);
  do {
    std::string order;
    for (const MemberEvent& event : events) order += " " + std::to_string(static_cast<int>(event.stamp.time));
    EXPECT_EQ(UrlAfter(events), url) << "applied in the order" << order;
  } while (std::next_permutation(events.begin(), events.end(), by_time));
}

TEST(ProfileRows, TheNewestProfileCountsAndSurvivesEventsWithoutOne) {
  ExpectInAnyOrder({{At(1, 11), false, Of("old")},
                    {At(2, 12), false, std::nullopt},
                    {At(3, 13), false, Of("new")},
                    {At(4, 14), false, std::nullopt}},
                   "new");
}

TEST(ProfileRows, ADeletionRemovesTheProfileAndALateOlderProfile) {
  ExpectInAnyOrder({{At(1, 11), false, Of("private")}, {At(2, 12), true, std::nullopt}}, std::nullopt);
  ExpectInAnyOrder(
      {{At(1, 11), false, Of("private")}, {At(2, 12), true, std::nullopt}, {At(3, 13), false, Of("newer")}},
      "newer");
}

TEST(ProfileRows, APartialProfileKeepsTheOtherFields) {
  UserProfile country{.country = "Norway", .present = FieldBit(3)};
  ExpectInAnyOrder({{At(1, 11), false, Of("old")},
                    {At(2, 12), false, Of("new")},
                    {At(3, 13), false, country},
                    {At(4, 14), false, std::nullopt, "Poland", UserMember::kCountry}},
                   "new");
  UserProfile unset{.present = FieldBit(4)};
  ExpectInAnyOrder({{At(1, 11), false, Of("old")}, {At(2, 12), false, unset}}, "");
  // A later partial profile does not restore fields from before the deletion of the account.
  ExpectInAnyOrder(
      {{At(1, 11), false, Of("private")}, {At(2, 12), true, std::nullopt}, {At(3, 13), false, country}}, "");
}

TEST(ProfileRows, AProfileTakesPrecedenceOverTheMembersFields) {
  HostMember host{.whetstone = 3e9, .cpus = 4, .create_time = 1.65e9};
  host.profile = HostProfile{.p_ncpus = 8, .present = FieldBit(5)};
  const HostProfile shown = ShownOf(host);
  EXPECT_EQ(shown.p_ncpus, 8);
  EXPECT_EQ(shown.p_fpops, 3e9);
  EXPECT_EQ(shown.create_time, 1650000000);
  EXPECT_EQ(ShownOf(HostMember{.present = HostMember::kUser}).present, 0u);
}

TEST(ProfileRows, EventsWithoutAProfileChangeNothing) {
  stream::TableHost host;
  stream::Table<ProfileRow<UserProfile>> table(host, stream::TableSpec<ProfileRow<UserProfile>>{.id = 1},
                                               true);
  TakeProfile(At(1, 11), false, ShownOf(UserMember{.present = 0}), false, kUser, table);
  TakeFigures(At(1, 11), {.total = 12.5}, kUser, table);
  EXPECT_TRUE(host.touched.empty());
}

TEST(ProfileRows, PartsOfAnAccountHaveSeparateStamps) {
  stream::TableHost host;
  stream::Table<FactsRow> table(host, stream::TableSpec<FactsRow>{.id = 1}, true);
  const std::array<std::pair<EventStamp, AccountFacts>, 4> events = {
      {{At(1, 1), {.badges = std::vector<BadgeHeld>{{.badge = 1}}}},
       {At(2, 3), {.badges = std::vector<BadgeHeld>{{.badge = 2}}}},
       {At(1, 2), {.consent = 1}},
       {At(3, 1), {.consent = 0}}}};
  std::array<int, 4> order = {0, 1, 2, 3};
  do {
    table.Erase(kUser);
    for (const int i : order) EXPECT_TRUE(TakeFacts(events[i].first, events[i].second, kUser, table));
    const FactsRow* row = table.Find(kUser);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->badges, std::vector<BadgeHeld>{{.badge = 2}});
    EXPECT_EQ(row->consent, 0u);
    EXPECT_FALSE(row->credit_stamp.is_set());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(ProfileRows, OtherContentsWithTheSameIdAreRejected) {
  stream::TableHost host;
  stream::Table<FactsRow> table(host, stream::TableSpec<FactsRow>{.id = 1}, true);
  EXPECT_TRUE(TakeFacts(At(1, 1, 11), {.consent = 1}, kUser, table));
  EXPECT_TRUE(TakeFacts(At(1, 1, 11), {.consent = 1}, kUser, table)) << "the same again is a repeat";
  EXPECT_FALSE(TakeFacts(At(1, 1, 22), {.consent = 0}, kUser, table));
  EXPECT_EQ(table.Find(kUser)->consent, 1u);
}

}  // namespace
}  // namespace cobblestone::wire
