// Users, hosts and projects change in the middle of traffic: users move between teams, leave and come back. Of a
// deleted user only sums remain and, for a while, the number by which sites delete it. Projects are renamed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/wire/events/event_codec.h"
#include "services/embedded/engine.h"
#include "services/export/state/state_source.h"
#include "tests/support/control_totals_of.h"
#include "tests/support/job_events.h"
#include "tests/support/like_the_oracle.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

using embedded::Engine;
using exports::StateSource;
using intake::AppendBlock;

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;
constexpr std::int64_t kMicro = 1'000'000;

// App 1 pays its results' assigned credit, and 1 Cobblestone for each step that a trickle reports.
class Project {
 public:
  explicit Project(const char* settlement = "") {
    Send(kStart, wire::AppChange{.app = AppId(1),
                                 .policy = "assigned",
                                 .delay_bound = 60 * kDay,
                                 .trickles = {{.variety = "model",
                                               .kind = "steps",
                                               .measure = "steps",
                                               .phases = {{.last_step = 1000, .credit_per_step = 1}}}},
                                 .trickle_settlement = settlement});
    Send(kStart, wire::AppVersionChange{.row = {.id = 1, .app = AppId(1), .version_num = 1, .platform = 1}});
    Send(kStart, wire::HostMember{.host = HostId(5), .user = UserId(1), .whetstone = 1e9, .cpus = 1});
    User(kStart, 11);
  }

  void Send(double time, wire::EventBody body) {
    events.push_back(wire::EncodeEvent(
        {.head = {.id = ++id_, .project = ProjectId(1), .time = time}, .body = std::move(body)}));
  }
  void User(double time, std::uint64_t team, bool deleted = false) {
    Send(time,
         wire::UserMember{.user = UserId(1), .team = TeamId(team), .deleted = deleted, .name = "somebody"});
  }
  void Sent(double time, std::uint64_t result) {
    wire::Dispatch dispatch;
    dispatch.facts = JobOf(result, time);
    dispatch.facts.outcome = credit::Outcome::kUnknown;
    dispatch.facts.received_time = 0;
    dispatch.fpops_est = 1e15;
    dispatch.fpops_bound = 1e20;
    Send(time, dispatch);
  }
  void SendTrickle(double time, std::uint64_t result, double steps) {
    Send(time,
         wire::Trickle{.result = ResultId(result), .host = HostId(5), .variety = "model", .steps = steps});
  }
  void Done(double time, std::uint64_t result, double credit) {
    Send(time, wire::Completion{.facts = JobOf(result, time)});
    Send(time, ValidationOf(result, 5, result, credit));
  }
  // Everything before it has been applied.
  void Rest(double time) { Send(time, wire::Tick{.time = time}); }

  Events events;

 private:
  static credit::CompletionFacts JobOf(std::uint64_t result, double time) {
    credit::CompletionFacts facts = CompletionOf(result, 5, result, time).facts;
    facts.version = AppVersionId(1);
    facts.peak_flops = 1e9;
    facts.sent_time = kStart;
    return facts;
  }

  std::uint64_t id_ = 0;
};

std::int64_t TotalOf(const Outcome& outcome, OracleAccountKind kind, std::uint64_t id) {
  const auto account = outcome.accounts.find({1, kind, id});
  return account == outcome.accounts.end() ? 0 : static_cast<std::int64_t>(account->second.micro);
}

TEST(MemberLife, PartialGrantsGoToTheTeamOfTheMessageTheRestToTheReports) {
  Project project;
  project.Sent(kStart, 10);
  project.SendTrickle(kStart + 10 * kDay, 10, 20);
  project.User(kStart + 11 * kDay, 12);
  project.SendTrickle(kStart + 12 * kDay, 10, 50);
  project.User(kStart + 13 * kDay, 13);
  project.Done(kStart + 14 * kDay, 10, 60);
  project.User(kStart + 15 * kDay, 0);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kTeam, 11), 20 * kMicro);
  EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kTeam, 12), 30 * kMicro);
  EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kTeam, 13), 10 * kMicro);
  EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kUser, 1), 60 * kMicro);
}

TEST(MemberLife, TheTimeOfAMoveCountsNotItsArrival) {
  Project project;
  project.Sent(kStart, 10);
  project.User(kStart + 20 * kDay, 13);  // the last move arrives first
  project.User(kStart + 11 * kDay, 12);
  project.SendTrickle(kStart + 10 * kDay, 10, 20);
  project.SendTrickle(kStart + 12 * kDay, 10, 50);
  project.Done(kStart + 14 * kDay, 10, 60);
  project.Done(kStart + 21 * kDay, 20, 5);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kTeam, 11), 20 * kMicro);
  EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kTeam, 12), 40 * kMicro);
  EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kTeam, 13), 5 * kMicro);
}

TEST(MemberLife, ASettlementReversesFromTheTeamThatWasPaidLast) {
  Project project("settle");
  project.Sent(kStart, 10);
  project.SendTrickle(kStart + 10 * kDay, 10, 20);
  project.User(kStart + 11 * kDay, 12);
  project.SendTrickle(kStart + 12 * kDay, 10, 50);
  project.User(kStart + 13 * kDay, 13);
  project.Done(kStart + 14 * kDay, 10, 35);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kTeam, 11), 20 * kMicro);
  EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kTeam, 12), 15 * kMicro);
  EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kTeam, 13), 0);
  EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kUser, 1), 35 * kMicro);
}

TEST(MemberLife, ASettlementOfADeletedUserReversesFromItsTeamToo) {
  for (const bool deleted_late : {false, true}) {
    Project project("settle");
    project.Sent(kStart, 10);
    project.Sent(kStart, 20);
    project.SendTrickle(kStart + 10 * kDay, 10, 20);
    project.Rest(kStart + 10 * kDay);
    if (!deleted_late) project.User(kStart + 11 * kDay, 0, true);
    project.SendTrickle(kStart + 12 * kDay, 20, 100);
    project.Done(kStart + 14 * kDay, 10, 5);
    project.Done(kStart + 14 * kDay, 20, 70);
    if (deleted_late) project.User(kStart + 11 * kDay, 0, true);
    const Played run = ExpectLikeTheOracle(project.events);
    EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kTeam, 11), (deleted_late ? 75 : 5) * kMicro);
    EXPECT_EQ(TotalOf(run.outcome, OracleAccountKind::kUser, 1), 75 * kMicro);
  }
}

TEST(MemberLife, AReturningUserHasAllItsCreditAndItsTeamNoneOfTheGap) {
  Project project;
  project.Sent(kStart, 10);
  project.SendTrickle(kStart + 1 * kDay, 10, 8);
  project.Done(kStart + 2 * kDay, 20, 1);
  project.Rest(kStart + 2 * kDay);
  project.User(kStart + 3 * kDay, 11, true);
  project.Done(kStart + 4 * kDay, 21, 2);
  project.SendTrickle(kStart + 4 * kDay, 10, 24);
  project.Rest(kStart + 4 * kDay);
  const Played away = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(away.outcome, OracleAccountKind::kTeam, 11), 9 * kMicro) << "earlier credit stays";
  EXPECT_EQ(TotalOf(away.outcome, OracleAccountKind::kHost, 5), 27 * kMicro);
  project.User(kStart + 5 * kDay, 11);
  project.Done(kStart + 6 * kDay, 10, 30);
  const Played back = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(TotalOf(back.outcome, OracleAccountKind::kUser, 1), 33 * kMicro);
  EXPECT_EQ(TotalOf(back.outcome, OracleAccountKind::kTeam, 11), 15 * kMicro);
  EXPECT_TRUE((back.outcome.accounts.at({1, OracleAccountKind::kUser, 1}).provisional == 0));
}

// ---- Erasure
// -------------------------------------------------------------------------------------------------------

constexpr const char* kSecret = "Xanthippe";

void SendAll(Project& project) {
  const std::string secret = kSecret;
  project.Send(kStart + 1, wire::UserMember{.user = UserId(1),
                                            .team = TeamId(11),
                                            .name = secret,
                                            .profile = wire::UserProfile{.create_time = 1600000000,
                                                                         .cpid = "user-cpid",
                                                                         .country = secret,
                                                                         .url = secret + ".example"}});
  wire::HostProfile host;
  host.p_model = secret;
  host.os_name = secret;
  host.host_cpid = "host-cpid";
  project.Send(
      kStart + 1,
      wire::HostMember{.host = HostId(5), .user = UserId(1), .whetstone = 1e9, .cpus = 1, .profile = host});
  project.Send(kStart + 2, wire::AccountFacts{.kind = wire::AccountKind::kUser,
                                              .account = 1,
                                              .badges = std::vector<wire::BadgeHeld>{{.badge = 3}},
                                              .consent = 1});
  project.Done(kStart + kDay, 10, 7);
}

void DeleteAll(Project& project, double time) {
  project.Send(time, wire::UserMember{.user = UserId(1), .deleted = true, .name = kSecret});
  project.Send(time, wire::HostMember{.host = HostId(5), .user = UserId(1), .deleted = true});
}

// The number of state rows that contain the text.
std::size_t RowsWith(const Events& events, std::string_view text) {
  LockstepWorld world(1);
  world.Add(events);
  world.Finish();
  std::size_t rows = 0;
  for (const auto& [key, row] : world.StateRows()) rows += row.find(text) != std::string::npos ? 1 : 0;
  return rows;
}

TEST(MemberLife, NoTextOfADeletedMemberStaysInAnyState) {
  Project project;
  SendAll(project);
  EXPECT_GT(RowsWith(project.events, kSecret), 2u);
  const Events before = project.events;
  DeleteAll(project, kStart + 2 * kDay);
  EXPECT_EQ(RowsWith(project.events, kSecret), 0u);
  EXPECT_EQ(RowsWith(project.events, "user-cpid"), 1u) << "the tombstone";
  EXPECT_EQ(RowsWith(project.events, "host-cpid"), 1u);
  // The earlier events are repeated.
  Events again = project.events;
  again.insert(again.end(), before.begin(), before.end());
  EXPECT_EQ(RowsWith(again, kSecret), 0u);
  project.Rest(kStart + 63 * kDay);
  project.Rest(kStart + 64 * kDay);
  EXPECT_EQ(RowsWith(project.events, "user-cpid"), 0u);
  EXPECT_EQ(RowsWith(project.events, "host-cpid"), 0u);
}

// ---- The program's engine ------------------------------------------------------------------------------------------

class Running : public ::testing::Test {
 protected:
  Running() {
    settings_.data_directory = temp_ / "data";
    settings_.partitions = 3;
    settings_.threads = 2;
    settings_.projects = {{.id = ProjectId(1), .name = "As configured"}};
    auto engine = Engine::Open(settings_, [](const std::string&) {});
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    engine_ = std::move(*engine);
    engine_->Start();
  }

  // Ingests the project's events since the last call.
  void Ingest(const Project& project) {
    for (; ingested_ < project.events.size(); ++ingested_) {
      AppendBlock block{.source = "story", .first_line = ingested_, .own_ticks = true};
      block.lines.push_back({.envelope = project.events[ingested_]});
      block.barrier = wire::PeekRouting(block.lines[0].envelope)->key == wire::KeyKind::kBroadcast;
      const auto appended = engine_->Append(block);
      ASSERT_TRUE(appended.ok()) << appended.status().message();
      engine_->WaitIdle();
      ASSERT_TRUE(engine_->failure().ok()) << engine_->failure().message();
    }
  }
  // Users and hosts that exports list as deleted: "number public id time".
  std::vector<std::string> Deleted() {
    auto source = StateSource::Open(engine_->live_state(), {.project = ProjectId(1)});
    EXPECT_TRUE(source.ok()) << source.status().message();
    std::vector<std::string> all;
    const auto take = [&](const exports::Deleted& one) {
      all.push_back(std::to_string(one.id) + " " + one.public_cross_project_id + " " +
                    std::to_string(static_cast<std::int64_t>(one.create_time - kStart)));
      return Status::Ok();
    };
    EXPECT_TRUE((*source)->UsersDeleted(take).ok());
    EXPECT_TRUE((*source)->HostsDeleted(take).ok());
    return all;
  }

  TempDir temp_;
  settings::RunSettings settings_;
  std::unique_ptr<Engine> engine_;
  std::size_t ingested_ = 0;
};

TEST_F(Running, DeletedAccountsAreListedForSixtyDaysAndSumsReconcile) {
  Project project;
  SendAll(project);
  Ingest(project);
  EXPECT_THAT(Deleted(), IsEmpty());
  DeleteAll(project, kStart + 2 * kDay);
  project.Done(kStart + 3 * kDay, 11, 4);
  Ingest(project);
  EXPECT_THAT(Deleted(), ElementsAre("1 user-cpid 172800", "5 host-cpid 172800"));
  project.Rest(kStart + 62 * kDay);
  Ingest(project);
  EXPECT_THAT(Deleted(), ElementsAre("1 user-cpid 172800", "5 host-cpid 172800"));
  project.Rest(kStart + 62 * kDay + 1);
  Ingest(project);
  EXPECT_THAT(Deleted(), IsEmpty());
  const auto profile = engine_->questions().ProfileOf(ProjectId(1), UserId(1));
  ASSERT_TRUE(profile.ok());
  EXPECT_FALSE(profile->named || profile->shows_hosts);
  const auto account = engine_->questions().Account(ProjectId(1), wire::AccountKind::kUser, 1);
  ASSERT_TRUE(account.ok());
  EXPECT_EQ((*account)["name"], "");
  const auto audit = engine_->Audit({});
  ASSERT_TRUE(audit.ok()) << audit.status().message();
  EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
  const auto totals = ControlTotalsOf(*engine_, ProjectId(1), false);
  EXPECT_TRUE(totals.ok()) << totals.status().message();
}

TEST_F(Running, AReturningUserIsNoLongerListedAndTheAuditAgrees) {
  Project project;
  SendAll(project);
  project.Send(kStart + 2 * kDay, wire::UserMember{.user = UserId(1), .deleted = true});
  project.Done(kStart + 3 * kDay, 11, 4);
  project.Send(kStart + 4 * kDay, wire::UserMember{.user = UserId(1), .name = "back"});
  project.Done(kStart + 5 * kDay, 12, 2);
  Ingest(project);
  EXPECT_THAT(Deleted(), IsEmpty());
  const auto account = engine_->questions().Account(ProjectId(1), wire::AccountKind::kUser, 1);
  ASSERT_TRUE(account.ok()) << account.status().message();
  EXPECT_EQ((*account)["total"], "13.000000");
  EXPECT_EQ((*account)["name"], "back");
  const auto audit = engine_->Audit({});
  ASSERT_TRUE(audit.ok()) << audit.status().message();
  EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
  const auto totals = ControlTotalsOf(*engine_, ProjectId(1), false);
  EXPECT_TRUE(totals.ok()) << totals.status().message();
}

TEST_F(Running, APartialMemberEventKeepsTheNameAndTheProfile) {
  const auto about = [&](wire::AccountKind kind, std::uint64_t id) {
    const auto account = engine_->questions().Account(ProjectId(1), kind, id);
    EXPECT_TRUE(account.ok()) << account.status().message();
    return account.ok() ? *account : nlohmann::json();
  };
  Project project;
  using User = wire::UserMember;
  project.Send(kStart, User{.user = UserId(60), .team = TeamId(7), .create_time = 1.6e9, .name = "Ada"});
  project.Send(kStart, wire::TeamMember{.team = TeamId(70), .name = "Seventy"});
  project.Send(kStart + 2, User{.user = UserId(60), .team = TeamId(70), .present = User::kTeam});
  project.Send(
      kStart + 2,
      wire::TeamMember{.team = TeamId(70), .country = "Norway", .present = wire::TeamMember::kCountry});
  Ingest(project);
  nlohmann::json user = about(wire::AccountKind::kUser, 60);
  EXPECT_EQ(user["name"], "Ada");
  EXPECT_EQ(user["team"], 70u);
  EXPECT_EQ(user["team_name"], "Seventy");
  EXPECT_EQ(user["create_time"], 1.6e9);
  EXPECT_EQ(user["hosts_shown"], true);
  // An older name arrives late, and an empty one unsets it.
  project.Send(kStart + 1, User{.user = UserId(60), .name = "Eve", .present = User::kName});
  Ingest(project);
  EXPECT_EQ(about(wire::AccountKind::kUser, 60)["name"], "Eve");
  project.Send(kStart + 3, User{.user = UserId(60), .present = User::kName});
  project.Send(kStart + 3, User{.user = UserId(60), .present = User::kTeam});
  Ingest(project);
  user = about(wire::AccountKind::kUser, 60);
  EXPECT_EQ(user["name"], "");
  EXPECT_EQ(user["team"], 0u);
}

TEST_F(Running, TheNewestProjectNameOverridesTheConfiguration) {
  const auto called = [&] {
    const auto projects = engine_->questions().Projects();
    EXPECT_TRUE(projects.ok()) << projects.status().message();
    const nlohmann::json& one = projects->at(0);
    return one["name"].get<std::string>() + " " + one.value("url", "-");
  };
  Project project;
  Ingest(project);
  EXPECT_EQ(called(), "As configured -");
  project.Send(kStart + 2, wire::ProjectName{.name = "Newer", .url = "https://newer.example"});
  Ingest(project);
  EXPECT_EQ(called(), "Newer https://newer.example");
  project.Send(kStart + 1, wire::ProjectName{.name = "Older"});
  project.Send(kStart + 3, wire::ProjectName{.url = "https://newest.example"});
  Ingest(project);
  EXPECT_EQ(called(), "Newer https://newest.example");
  EXPECT_EQ(engine_->questions().NameOf(ProjectId(1)), "Newer");
}

}  // namespace
}  // namespace cobblestone::testing
