#include <gtest/gtest.h>

#include "services/gateway/visibility.h"

namespace cobblestone::gateway {
namespace {

using nlohmann::json;
using settings::AccountsVisible;

constexpr ProjectId kProject{1};
constexpr UserId kOpen{10};
constexpr UserId kShy{20};      // does not show their hosts
constexpr UserId kUnnamed{30};  // has not consented to statistics

const Rights kAnybody{.read = true};
const Rights kNobody{};
const Rights kReader{.read = true, .read_all = true, .trusted = true};
const Rights kShyOne{.read = true, .own = OwnAccount{kProject, kShy}};
const Rights kOtherProjects{.read = true, .own = OwnAccount{ProjectId(2), kShy}};

Visibility Of(AccountsVisible accounts, bool leaders = true) {
  return {accounts, leaders, [](ProjectId, UserId user) {
            return Visibility::Shown{.hosts = user != kShy, .name = user != kUnnamed};
          }};
}

TEST(GatewayVisibility, PublicAccountsAreEverybodysWhoMayRead) {
  const Visibility visibility = Of(AccountsVisible::kPublic);
  EXPECT_TRUE(visibility.MaySee(kAnybody, kProject, kShy));
  EXPECT_FALSE(visibility.MaySee(kNobody, kProject, kShy));
  EXPECT_TRUE(visibility.MaySeeAll(kAnybody));
  EXPECT_TRUE(visibility.MayList(kAnybody));
  EXPECT_FALSE(visibility.MayList(kNobody));
}

TEST(GatewayVisibility, OwnAccountsAreTheirUsersAndTheProjects) {
  const Visibility visibility = Of(AccountsVisible::kOwn);
  EXPECT_FALSE(visibility.MaySee(kAnybody, kProject, kShy));
  EXPECT_TRUE(visibility.MaySee(kShyOne, kProject, kShy));
  EXPECT_FALSE(visibility.MaySee(kShyOne, kProject, kOpen));
  EXPECT_FALSE(visibility.MaySee(kOtherProjects, kProject, kShy)) << "the same number in another project";
  EXPECT_TRUE(visibility.MaySee(kReader, kProject, kShy));
  EXPECT_FALSE(visibility.MaySee(kShyOne, kProject, UserId())) << "what is nobody's is not everybody's";
  for (const Rights& viewer : {kAnybody, kShyOne}) {
    EXPECT_FALSE(visibility.MaySeeAll(viewer));
    EXPECT_FALSE(visibility.MayList(viewer));
  }
  EXPECT_TRUE(visibility.MayList(kReader));
}

TEST(GatewayVisibility, WithoutLeadersNobodyHasLists) {
  EXPECT_FALSE(Of(AccountsVisible::kPublic, false).MayList(kReader));
  EXPECT_TRUE(Of(AccountsVisible::kPublic, false).MaySeeAll(kAnybody));
}

TEST(GatewayVisibility, WhoDoesNotShowTheirHostsIsNotNamedBesideThem) {
  const Visibility visibility = Of(AccountsVisible::kPublic);
  const json row = {{"host", 5}, {"user", kShy.value}, {"user_name", "s"},
                    {"team", 3}, {"team_name", "t"},   {"result", 9}};
  json seen = row;
  EXPECT_FALSE(visibility.Unlink(kAnybody, kProject, seen));
  EXPECT_EQ(seen, (json{{"host", 5}, {"result", 9}}));
  for (const Rights& viewer : {kShyOne, kReader}) {
    seen = row;
    EXPECT_TRUE(visibility.Unlink(viewer, kProject, seen));
    EXPECT_EQ(seen, row);
  }
  json open = row;
  open["user"] = kOpen.value;
  seen = open;
  EXPECT_TRUE(visibility.Unlink(kAnybody, kProject, seen));
  EXPECT_EQ(seen, open);
  EXPECT_FALSE(visibility.MayLink(kOtherProjects, kProject, kShy));
}

TEST(GatewayVisibility, WhoHasNotConsentedHasAPlaceAndNoName) {
  const Visibility visibility = Of(AccountsVisible::kPublic);
  const Rights unnamed{.read = true, .own = OwnAccount{kProject, kUnnamed}};
  const json row = {{"rank", 1},        {"id", kUnnamed.value}, {"name", "s"},      {"team", 3},
                    {"team_name", "t"}, {"grants", 7},          {"create_time", 5}, {"total", "1.000000"}};
  json seen = row;
  EXPECT_FALSE(visibility.Name(kAnybody, kProject, seen));
  EXPECT_EQ(seen, (json{{"rank", 1}, {"grants", 7}, {"total", "1.000000"}, {"hidden", true}}));
  for (const Rights& viewer : {unnamed, kReader}) {
    seen = row;
    EXPECT_TRUE(visibility.Name(viewer, kProject, seen));
    EXPECT_EQ(seen, row);
  }
  json shy = row;
  shy["id"] = kShy.value;
  EXPECT_TRUE(visibility.Name(kAnybody, kProject, shy)) << "hosts are another matter";
  // Neither is their name beside a host, though they show their hosts.
  json host = {{"host", 5}, {"user", kUnnamed.value}, {"user_name", "s"}};
  EXPECT_FALSE(visibility.Unlink(kAnybody, kProject, host));
  EXPECT_EQ(host, (json{{"host", 5}}));
  EXPECT_FALSE(visibility.MayName(kAnybody, kProject, kUnnamed));
  EXPECT_TRUE(visibility.MayName(kAnybody, kProject, UserId())) << "nobody has no name to hide";
}

TEST(GatewayVisibility, WhatARefusedEventSaysOfPeopleIsForThoseWhoMaySeeAll) {
  const json row = {{"number", 3}, {"event", {{"id", "1"}, {"user", {{"user", "7"}, {"name", "s"}}}}}};
  json seen = row;
  Visibility::Redact(kReader, seen);
  EXPECT_EQ(seen, row);
  for (const Rights& viewer : {kAnybody, kShyOne}) {
    seen = row;
    Visibility::Redact(viewer, seen);
    EXPECT_EQ(seen, (json{{"number", 3}, {"event", {{"id", "1"}}}, {"redacted", true}}));
  }
  const json job = {{"number", 3}, {"event", {{"completion", {{"result", "7"}, {"host", "5"}}}}}};
  seen = job;
  Visibility::Redact(kAnybody, seen);
  EXPECT_EQ(seen, job);
  json line = {{"number", 3}, {"original", "{\"user\": oops"}};
  Visibility::Redact(kAnybody, line);
  EXPECT_EQ(line, (json{{"number", 3}, {"redacted", true}}));
}

}  // namespace
}  // namespace cobblestone::gateway
