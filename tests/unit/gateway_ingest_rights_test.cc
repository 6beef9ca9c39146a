// The events that a token may send: every kind of event with every kind of token, of its own project and of
// another.
#include "services/gateway/rights/ingest_rights.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace cobblestone::gateway {
namespace {

using wire::EventKind;

constexpr const char* kKinds[] = {"results",     "members",  "catalogue", "openings",
                                  "corrections", "machines", "feeds",     "identities"};

// The whole list, as users read it in README.md.
const std::map<std::string, std::set<std::string>> kEvents = {
    {"results", {"completion", "validation", "dispatch", "trickle", "validator_restart", "tick", "barrier"}},
    {"members", {"host", "user", "team", "host_merge", "account_facts"}},
    {"catalogue", {"app", "app_version", "settings", "plan_class_factor", "project_profile", "project_name"}},
    {"openings", {"opening_total", "opening_host_version", "opening_app_version", "opening_app"}},
    {"corrections", {"reversal", "repricing", "job_reversal", "job_repricing"}},
    {"machines", {"estimated_credit", "machine_host"}},
    {"feeds",
     {"feed_project", "feed_edition", "feed_versions", "feed_health", "feed_account", "ownership_proof"}},
    {"identities", {"identity_decision"}},
};

std::set<EventKind> AllKinds() {
  std::set<EventKind> all;
  for (int number = 1; number < 256; ++number)
    if (const auto kind = static_cast<EventKind>(number); wire::EventKindName(kind) != "none")
      all.insert(kind);
  return all;
}

IngestRights Of(const std::string& projects, const std::string& kinds) {
  const auto rights = IngestRights::Parse(projects, kinds);
  EXPECT_TRUE(rights) << projects << " " << kinds;
  return rights.value_or(IngestRights());
}

TEST(IngestRights, AnEventNeedsATokenOfItsKindAndProject) {
  std::size_t allowed = 0;
  for (const EventKind kind : AllKinds()) {
    const std::string event(wire::EventKindName(kind));
    const bool own = wire::IsOurOwn(kind);
    for (const std::string token : kKinds) {
      const bool good = kEvents.at(token).contains(event);
      allowed += good;
      const IngestRights rights = Of("1,2", token);
      const bool of_a_project = kind != EventKind::kBarrier;
      EXPECT_EQ(rights.May(ProjectId(1), kind), good && of_a_project) << token << " " << event;
      EXPECT_EQ(rights.May(ProjectId(2), kind), good && of_a_project) << token << " " << event;
      EXPECT_FALSE(rights.May(ProjectId(3), kind)) << token << " " << event;
      EXPECT_FALSE(rights.May(ProjectId(0), kind)) << token << " " << event;
      EXPECT_EQ(Of("*", token).May(ProjectId(3), kind), good) << token << " " << event;
      EXPECT_EQ(Of("0", token).May(ProjectId(0), kind), good) << token << " " << event;
      EXPECT_EQ(Of("1", token + ",members").May(ProjectId(1), EventKind::kUser), true) << token;
    }
    EXPECT_EQ(Of("1", "all").May(ProjectId(1), kind), !own && kind != EventKind::kBarrier) << event;
    EXPECT_FALSE(Of("1", "all").May(ProjectId(2), kind)) << event;
    EXPECT_EQ(Of("*", "all").May(ProjectId(2), kind), !own) << event;
    EXPECT_EQ(GroupOf(kind) == EventGroup::kInternal, own) << event;
    EXPECT_NE(GroupOf(kind), EventGroup::kUnknown) << event << " has no group in GroupOf()";
  }
  std::size_t listed = 0;
  for (const auto& [token, events] : kEvents) listed += events.size();
  EXPECT_EQ(allowed, listed) << "this test's list has an unknown kind of event, or a kind of another group";
}

TEST(IngestRights, ABarrierBelongsToNoProject) {
  EXPECT_FALSE(Of("7", "all").May(ProjectId(7), EventKind::kBarrier));
  EXPECT_TRUE(Of("7,0", "results").May(ProjectId(7), EventKind::kBarrier));
  EXPECT_FALSE(Of("7,0", "members").May(ProjectId(7), EventKind::kBarrier));
}

TEST(IngestRights, SettingsOfAHubAreAKindOfTheirOwnAndNoEvents) {
  for (const char* token : kKinds) EXPECT_FALSE(Of("*", token).MayDecideForHub()) << token;
  EXPECT_TRUE(Of("4", "feeds,hub_settings").MayDecideForHub());
  EXPECT_TRUE(Of("4", "all").MayDecideForHub());
  for (const EventKind kind : AllKinds())
    EXPECT_FALSE(Of("*", "hub_settings").May(ProjectId(1), kind)) << wire::EventKindName(kind);
}

TEST(IngestRights, AnUnknownKindOfEventNeedsEveryKind) {
  for (const char* token : kKinds) EXPECT_FALSE(Of("1", token).May(ProjectId(1), EventKind::kNone)) << token;
  EXPECT_TRUE(Of("1", "all").May(ProjectId(1), EventKind::kNone));
}

TEST(IngestRights, InvalidListsOfProjectsOrKindsAreRejected) {
  for (const auto& [projects, kinds] : {std::pair{"", "all"},
                                        {"1,", "all"},
                                        {",1", "all"},
                                        {"1,,2", "all"},
                                        {"-1", "all"},
                                        {"4294967296", "all"},
                                        {"1x", "all"},
                                        {"*,1", "all"},
                                        {"all", "all"},
                                        {"1", ""},
                                        {"1", "result"},
                                        {"1", "results,"},
                                        {"1", "results,all"},
                                        {"1", "*"}})
    EXPECT_FALSE(IngestRights::Parse(projects, kinds)) << projects << " " << kinds;
  EXPECT_EQ(Of("1,2", "results,members").text(), "results, members of projects 1, 2");
  EXPECT_EQ(Of("*", "all").text(), "every kind of event of every project");
}

TEST(Sender, OwnsTheSourcesOfItsNameAndItsToken) {
  const Sender unnamed{.name = "", .digest = "sha256:aa"};
  const Sender named{.name = "server1", .digest = "sha256:aa"};
  const Sender rotated{.name = "server1", .digest = "sha256:bb"};
  EXPECT_EQ(unnamed.owner(), "sha256:aa");
  EXPECT_EQ(named.owner(), "server1");
  EXPECT_TRUE(unnamed.Owns("sha256:aa"));
  EXPECT_FALSE(unnamed.Owns("server1"));
  EXPECT_TRUE(named.Owns("sha256:aa")) << "the sender got its name later";
  EXPECT_TRUE(rotated.Owns("server1"));
  EXPECT_FALSE(rotated.Owns("sha256:aa"));
  for (const Sender& sender : {unnamed, named, Sender{}}) EXPECT_FALSE(sender.Owns("")) << sender.digest;
}

}  // namespace
}  // namespace cobblestone::gateway
