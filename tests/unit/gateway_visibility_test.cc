#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "services/gateway/rights/visibility.h"

namespace cobblestone::gateway {
namespace {

using nlohmann::json;
using settings::AccountsVisible;

constexpr ProjectId kProject{1};
constexpr UserId kOpen{10};
constexpr UserId kShy{20};      // does not show their hosts
constexpr UserId kUnnamed{30};  // has not consented to statistics

const Rights kAnybody{.read = true};
const Rights kNoRights{};
const Rights kReader{.read = true, .read_all = true, .trusted = true};
const Rights kShyUser{.read = true, .own = OwnAccount{kProject, kShy}};
const Rights kOtherProjects{.read = true, .own = OwnAccount{ProjectId(2), kShy}};

Visibility Of(AccountsVisible accounts, bool leaders = true) {
  return {accounts, leaders, [](ProjectId, UserId user) {
            return Visibility::Shown{.hosts = user != kShy, .name = user != kUnnamed};
          }};
}

TEST(GatewayVisibility, PublicAccountsAreVisibleToEveryReader) {
  const Visibility visibility = Of(AccountsVisible::kPublic);
  EXPECT_TRUE(visibility.MaySee(kAnybody, kProject, kShy));
  EXPECT_FALSE(visibility.MaySee(kNoRights, kProject, kShy));
  EXPECT_TRUE(visibility.MaySeeAll(kAnybody));
  EXPECT_TRUE(visibility.MayList(kAnybody));
  EXPECT_FALSE(visibility.MayList(kNoRights));
}

TEST(GatewayVisibility, OwnAccountsAreVisibleToTheirUserAndTheProject) {
  const Visibility visibility = Of(AccountsVisible::kOwn);
  EXPECT_FALSE(visibility.MaySee(kAnybody, kProject, kShy));
  EXPECT_TRUE(visibility.MaySee(kShyUser, kProject, kShy));
  EXPECT_FALSE(visibility.MaySee(kShyUser, kProject, kOpen));
  EXPECT_FALSE(visibility.MaySee(kOtherProjects, kProject, kShy)) << "the same number in another project";
  EXPECT_TRUE(visibility.MaySee(kReader, kProject, kShy));
  EXPECT_FALSE(visibility.MaySee(kShyUser, kProject, UserId())) << "an account without a user is not public";
  for (const Rights& viewer : {kAnybody, kShyUser}) {
    EXPECT_FALSE(visibility.MaySeeAll(viewer));
    EXPECT_FALSE(visibility.MayList(viewer));
  }
  EXPECT_TRUE(visibility.MayList(kReader));
}

TEST(GatewayVisibility, WithoutLeadersNobodyMayList) {
  EXPECT_FALSE(Of(AccountsVisible::kPublic, false).MayList(kReader));
  EXPECT_TRUE(Of(AccountsVisible::kPublic, false).MaySeeAll(kAnybody));
}

TEST(GatewayVisibility, AUserWithHiddenHostsIsNotNamedBesideThem) {
  const Visibility visibility = Of(AccountsVisible::kPublic);
  const json row = {{"host", 5}, {"user", kShy.value}, {"user_name", "s"},
                    {"team", 3}, {"team_name", "t"},   {"result", 9}};
  json seen = row;
  EXPECT_FALSE(visibility.Unlink(kAnybody, kProject, seen));
  EXPECT_EQ(seen, (json{{"host", 5}, {"result", 9}}));
  for (const Rights& viewer : {kShyUser, kReader}) {
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

TEST(GatewayVisibility, AUserWithoutConsentHasARankAndNoName) {
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
  EXPECT_TRUE(visibility.Name(kAnybody, kProject, shy)) << "hiding hosts does not hide the name";
  // A user without consent is not named beside a host either, even if the user shows hosts.
  json host = {{"host", 5}, {"user", kUnnamed.value}, {"user_name", "s"}};
  EXPECT_FALSE(visibility.Unlink(kAnybody, kProject, host));
  EXPECT_EQ(host, (json{{"host", 5}}));
  EXPECT_FALSE(visibility.MayName(kAnybody, kProject, kUnnamed));
  EXPECT_TRUE(visibility.MayName(kAnybody, kProject, UserId())) << "without a user there is no name to hide";
}

TEST(GatewayVisibility, OfARefusedEventOnlyKindAppAndVersionArePublic) {
  const json row = {{"number", 3},
                    {"reason", "OUT_OF_RANGE"},
                    {"detail", "MARKER"},
                    {"project", 1},
                    {"topic", "hosts"},
                    {"partition", 2},
                    {"offset", 9},
                    {"append_time", 1.5},
                    {"bytes", 77},
                    {"source", "MARKER"},
                    {"line", 5},
                    {"original", "MARKER"},
                    {"anything new", "MARKER"},
                    {"event",
                     {{"id", "1"},
                      {"time", 7.0},
                      {"reversal",
                       {{"result", "7"},
                        {"app", "12"},
                        {"app_version", -2},
                        {"reason", "MARKER"},
                        {"entry", {{"user", "7"}, {"host", "8"}}}}}}}};
  json seen = row;
  Visibility::Redact(kReader, seen);
  EXPECT_EQ(seen, row);
  for (const Rights& viewer : {kAnybody, kShyUser, kNoRights}) {
    seen = row;
    Visibility::Redact(viewer, seen);
    EXPECT_EQ(seen, (json{{"number", 3},
                          {"reason", "OUT_OF_RANGE"},
                          {"project", 1},
                          {"append_time", 1.5},
                          {"event", {{"reversal", {{"app", "12"}, {"app_version", -2}}}}},
                          {"redacted", true}}));
  }
  json text = {{"number", 3}, {"event", {{"completion", {{"app", "12 MARKER"}}}, {"user", "MARKER"}}}};
  Visibility::Redact(kAnybody, text);
  EXPECT_EQ(text, (json{{"number", 3}, {"event", {{"completion", json::object()}}}, {"redacted", true}}));
}

TEST(GatewayVisibility, ANewFieldOfARowIsHiddenUntilItIsListed) {
  const Visibility visibility = Of(AccountsVisible::kPublic);
  json grant = {{"user", kShy.value},
                {"host", 5},
                {"nickname", "MARKER"},
                {"reason", "MARKER"},
                {"others", json::array({{{"name", "email"}, {"text", "MARKER"}}})},
                {"claim", {{"user", kShy.value}, {"claimed", 3.0}, {"nickname", "MARKER"}}}};
  EXPECT_FALSE(visibility.Unlink(kAnybody, kProject, grant));
  EXPECT_EQ(grant, (json{{"host", 5}, {"claim", {{"claimed", 3.0}}}}));
  json user = {{"id", kUnnamed.value}, {"total", "1.000000"}, {"nickname", "MARKER"}};
  EXPECT_FALSE(visibility.Name(kAnybody, kProject, user));
  EXPECT_EQ(user, (json{{"total", "1.000000"}, {"hidden", true}}));
  json reply = {{"host_total_credit", "1"}, {"user_name", "MARKER"}, {"nickname", "MARKER"}};
  visibility.Reply(kAnybody, kProject, kShy, reply);
  EXPECT_EQ(reply, (json{{"host_total_credit", "1"}}));
}

TEST(GatewayVisibility, WithOwnAccountsClaimsOfOthersHaveNoHostAndNoResult) {
  const json claim = {{"result", 9}, {"host", 5},     {"mode", "normal"}, {"flags", json::array()},
                      {"pfc", 1.0},  {"claimed", 2.0}};
  const Visibility visibility = Of(AccountsVisible::kOwn);
  json seen = claim;
  visibility.OtherClaim(kShyUser, seen);
  EXPECT_EQ(seen, (json{{"mode", "normal"}, {"flags", json::array()}, {"pfc", 1.0}, {"claimed", 2.0}}));
  seen = claim;
  visibility.OtherClaim(kReader, seen);
  EXPECT_EQ(seen, claim);
  // A row of a list belongs to the user in the row, because the host may have had another owner.
  json row = {{"user", kOpen.value}, {"host", 5}};
  EXPECT_FALSE(visibility.Unlink(kShyUser, kProject, row));
  EXPECT_EQ(row, (json{{"host", 5}}));
}

}  // namespace
}  // namespace cobblestone::gateway
