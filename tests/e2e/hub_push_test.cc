// A project sends its accounts to a federation hub over a link that is cut in the middle of bodies, repeats, delays and
// reorders requests, with tokens that are revoked, clocks that are days apart, and a hub that is killed. After each story
// every account's total at the hub equals the project's ledger to the micro-credit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "services/export/selection.h"
#include "services/export/state/state_source.h"
#include "services/hub/push/project_push.h"
#include "services/view/json.h"
#include "tests/e2e/gateway_process.h"
#include "tests/support/bad_link.h"
#include "tests/support/control_totals_of.h"
#include "tests/support/engine_story.h"

namespace cobblestone::testing {
namespace {

namespace fs = std::filesystem;
using hub::ProjectPush;
using hub::PushedContents;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kUsers = 12;
constexpr int kTeams = 2;
constexpr ProjectId kAtHub{4};

double WallNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Project 1, in this process, is project 4 of a hub, which is a process of its own.
class HubPush : public EngineStory {
 protected:
  void SetUp() override {
    Open();
    StartHub();
    SetToken(kIngestToken);
    OpenPush();
    Send(kStart, wire::AppChange{.app = AppId(1), .policy = "assigned", .delay_bound = kDay});
    for (int team = 1; team <= kTeams; ++team) Send(kStart, wire::TeamMember{.team = TeamId(team)});
    for (int user = 1; user <= kUsers; ++user) {
      const auto id = static_cast<std::uint64_t>(user);
      Send(kStart, wire::UserMember{.user = UserId(id),
                                    .team = TeamId(1 + id % kTeams),
                                    .cross_project_id = std::string(31, 'a') + "0123456789abcdef"[user % 16],
                                    .create_time = kStart - user,
                                    .name = "user " + std::to_string(user)});
      Send(kStart, wire::HostMember{.host = HostId(id), .user = UserId(id), .cpus = 1});
    }
  }

  // ---- The hub --------------------------------------------------------------------------------------------------
  void StartHub(const std::vector<std::pair<std::string, std::string>>& environment = {}) {
    served_ = std::make_unique<Served>(hub_dir_, "role: hub\n");
    if (!environment.empty())
      served_ = std::make_unique<Served>(std::make_unique<Background>(
          hub_dir_.path(), std::vector<std::string>{"run", "--config", "served.yaml"}, "", environment));
    ASSERT_TRUE(served_->Start()) << served_->process().err();
    link_.SetServer(served_->url());
  }
  void KillHub() {
    served_->process().Signal(SIGKILL);
    (void)served_->process().Wait();
  }
  // An account at the hub as of the last complete edition, once it has the total; null: it has none.
  std::string TotalAtHub(const std::string& kind, std::uint64_t id, const std::string& wanted) {
    const Reply reply = served_->GetUntil("/api/v1/federation/projects/4/" + kind + "s/" + std::to_string(id),
                                          [&](const Reply& r) { return TotalIn(r) == wanted; });
    return TotalIn(reply);
  }
  static std::string TotalIn(const Reply& reply) {
    return reply.status == 200 ? reply.json()["data"]["total"].get<std::string>() : "none";
  }
  json ProjectAtHub() {
    return served_
        ->GetUntil("/api/v1/federation/projects/4", [](const Reply& reply) { return reply.status != 503; })
        .json()["data"];
  }
  void ExpectNothingRefused() {
    const json refused = served_->Get("/api/v1/refused", kReadToken).json();
    EXPECT_TRUE(refused["data"]["refused"].empty()) << refused.dump(1);
  }

  // ---- The project ------------------------------------------------------------------------------------------------
  void SetToken(const std::string& token) {
    fs::remove(temp_ / "token");
    std::ofstream(temp_ / "token") << token << "\n";
    ASSERT_EQ(::chmod((temp_ / "token").c_str(), 0600), 0);
  }
  void OpenPush() {
    auto push = ProjectPush::Open(temp_ / "push", kAtHub,
                                  {.confirm = std::chrono::seconds(60), .request_bytes = 1500});
    ASSERT_TRUE(push.ok()) << push.status().message();
    push_ = std::move(*push);
  }
  std::unique_ptr<exports::StateSource> State() {
    auto source = exports::StateSource::Open(engine_->live_state(), {.project = kProject});
    EXPECT_TRUE(source.ok()) << source.status().message();
    return std::move(*source);
  }
  Status Round() {
    const hub::HubClient client({.url = link_.url(), .token_file = temp_ / "token"});
    return push_->Round(
        client,
        [&]() -> Result<PushedContents> {
          auto state = State();
          PushedContents contents{.source = {}, .time = state->event_time(), .facts = {}};
          contents.source = std::move(state);
          contents.facts.emplace_back("project", wire::FeedProject{.name = "Fold",
                                                                   .mode = wire::FeedMode::kDirect,
                                                                   .present = wire::FeedProject::kRequired});
          return contents;
        },
        sender_clock_ > 0 ? sender_clock_ : WallNow(),
        [&](const std::string& what) { reports_.push_back(what); }, {});
  }
  void RoundIsOk() {
    const Status done = Round();
    ASSERT_TRUE(done.ok()) << done.message();
  }
  // A result of a host for an odd number of micro-credits, and a tick so that time moves.
  void Grant(double time, int host, double micro) {
    Granted(time, ++result_, static_cast<std::uint64_t>(host), micro / 1e6);
    Send(time, wire::Tick{.time = time});
  }

  // Every published account has the project's total at the hub, no other account of the project does, and the sums of the
  // last edition are those of the ledger.
  void ExpectTheSame() {
    const auto source = State();
    const json edition = ProjectAtHub()["editions"][0];
    ASSERT_EQ(edition["state"], "complete") << edition;
    std::map<std::string, std::pair<std::uint64_t, credit::MicroTotal>> sums;
    std::set<std::uint64_t> users;
    const auto compare = [&](const char* kind, std::int64_t id, exports::MicroSum balance) {
      const std::string total = view::MicroText(balance);
      EXPECT_EQ(TotalAtHub(kind, static_cast<std::uint64_t>(id), total), total) << kind << " " << id;
      ++sums[kind].first;
      sums[kind].second += balance;
      return Status::Ok();
    };
    EXPECT_TRUE(exports::PublishedUsers(*source, [&](const exports::User& user) {
                  users.insert(static_cast<std::uint64_t>(user.id));
                  return compare("user", user.id, user.balance);
                }).ok());
    EXPECT_TRUE(exports::PublishedHosts(*source, [&](const exports::Host& host) {
                  return compare("host", host.id, host.balance);
                }).ok());
    EXPECT_TRUE(exports::PublishedTeams(*source, [&](const exports::Team& team) {
                  return compare("team", team.id, team.balance);
                }).ok());
    for (std::uint64_t user = 1; user <= kUsers; ++user)
      if (!users.contains(user)) {
        EXPECT_EQ(TotalAtHub("user", user, "none"), "none") << user;
      }
    ASSERT_EQ(edition["sums"].size(), 3u);
    for (const json& sum : edition["sums"]) {
      const auto& [accounts, total] = sums[sum["kind"].get<std::string>()];
      EXPECT_EQ(sum["accounts"], accounts) << sum;
      EXPECT_EQ(sum["total"], view::MicroText(total)) << sum;
    }
    EXPECT_EQ(push_->state().accepted, edition["edition"]);
  }

  const TempDir hub_dir_;
  BadLink link_;
  std::unique_ptr<Served> served_;
  std::unique_ptr<ProjectPush> push_;
  std::vector<std::string> reports_;
  double sender_clock_ = 0;  // UNIX s; 0: the real one
  std::uint64_t result_ = 0;
};

TEST_F(HubPush, EveryAccountArrivesToTheMicroCreditAndLaterOnlyChangesDo) {
  // 0.1 + 0.2 of a micro-credit more than any double or text with six decimals of a sum would keep apart.
  for (int user = 1; user <= kUsers; ++user) Grant(kStart, user, 1'000'000'000'001.0 + user);
  RoundIsOk();
  ExpectTheSame();
  json project = ProjectAtHub();
  EXPECT_EQ(project["name"], "Fold");
  EXPECT_EQ(project["mode"], "direct");
  EXPECT_EQ(project["editions"][0]["whole"], true);
  // Twelve users with a host each, in two teams.
  EXPECT_EQ(project["editions"][0]["sums"][0]["changed"], 12);
  EXPECT_EQ(project["editions"][0]["published_time"], kStart);
  const json user = served_->Get("/api/v1/federation/projects/4/users/3").json()["data"];
  EXPECT_EQ(user["total"], "1000000.000004");
  EXPECT_EQ(user["name"], "user 3");
  EXPECT_EQ(user["cpid"], std::string(31, 'a') + "3");
  EXPECT_EQ(user["create_time"], kStart - 3);
  EXPECT_EQ(user["team"], 2);

  // Nothing has changed: no edition.
  RoundIsOk();
  EXPECT_EQ(ProjectAtHub()["editions"].size(), 1u);

  // A day later user 3 gets one micro-credit: the user, the host and the team change.
  Grant(kStart + kDay, 3, 1);
  RoundIsOk();
  ExpectTheSame();
  project = ProjectAtHub();
  EXPECT_EQ(project["editions"][0]["whole"], false);
  for (const json& sum : project["editions"][0]["sums"]) EXPECT_EQ(sum["changed"], 1) << sum;
  const json later = served_->Get("/api/v1/federation/projects/4/users/3").json()["data"];
  // kStart is in day 19675.
  EXPECT_EQ(later["days"], json::parse(R"([{"day": 19676, "credit": "0.000001"}])"));
  ExpectNothingRefused();
  const auto ledger = ControlTotalsOf(*engine_, kProject, true);
  ASSERT_TRUE(ledger.ok());
  EXPECT_EQ(project["editions"][0]["sums"][0]["total"], view::MicroText(ledger->users.granted));
}

// An operator configures the push, and then ingests the history of the project: its credit belongs to its own days.
TEST_F(HubPush, AProjectWithoutTicksWaitsSoThatAHistoryKeepsItsDays) {
  RoundIsOk();
  EXPECT_EQ(served_->Get("/api/v1/federation/projects/4").status, 404) << "without accounts";
  Granted(kStart, ++result_, 1, 0.001);
  RoundIsOk();
  EXPECT_EQ(served_->Get("/api/v1/federation/projects/4").status, 404) << "the tick may come in a moment";
  for (int user = 2; user <= kUsers; ++user) Grant(kStart, user, 1000);
  RoundIsOk();
  EXPECT_EQ(ProjectAtHub()["editions"][0]["published_time"], kStart);
  Grant(kStart + kDay, 3, 1);
  RoundIsOk();
  ExpectTheSame();
  const json user = served_->Get("/api/v1/federation/projects/4/users/3").json()["data"];
  EXPECT_EQ(user["days"], json::parse(R"([{"day": 19676, "credit": "0.000001"}])"));
}

TEST_F(HubPush, AProjectThatNeverHasTicksHasTheTimeOfTheClock) {
  Granted(kStart, ++result_, 1, 0.001);
  const double begun = WallNow() - kDay;
  for (const double since : {0.0, 3599.0}) {
    sender_clock_ = begun + since;
    RoundIsOk();
    EXPECT_EQ(served_->Get("/api/v1/federation/projects/4").status, 404) << since;
  }
  sender_clock_ = begun + 3600;
  RoundIsOk();
  EXPECT_GT(ProjectAtHub()["editions"][0]["published_time"], kStart + kDay);
}

// What statistics files do not show is not sent: hidden and deleted users, those without credit, and those who have not
// consented. Who hides after having been sent, leaves.
TEST_F(HubPush, OnlyWhatStatisticsFilesShowIsSent) {
  for (int user = 1; user < kUsers; ++user) Grant(kStart, user, 100 + user);
  Send(kStart + 1, wire::UserMember{.user = UserId(1), .deleted = true});
  RoundIsOk();
  ExpectTheSame();
  EXPECT_EQ(TotalAtHub("user", 1, "none"), "none") << "deleted";
  EXPECT_EQ(TotalAtHub("user", kUsers, "none"), "none") << "without credit";
  EXPECT_EQ(TotalAtHub("user", 2, "0.000102"), "0.000102");

  wire::UserMember hides{.user = UserId(2), .profile = wire::UserProfile{.hidden = true}};
  hides.present = 0;
  hides.profile->present = wire::FieldBit(7);
  Send(kStart + 2, hides);
  RoundIsOk();
  ExpectTheSame();
  EXPECT_EQ(TotalAtHub("user", 2, "none"), "none") << "hidden";
  const json edition = ProjectAtHub()["editions"][0];
  EXPECT_EQ(edition["sums"][0]["changed"], 1);
  EXPECT_EQ(edition["sums"][0]["accounts"], 9);  // 11 with credit, without 1 and 2
}

TEST_F(HubPush, ALinkThatCutsRepeatsAndReordersChangesNoMicroCredit) {
  link_.Harm(7);
  for (int step = 0; step < 40; ++step) {
    Grant(kStart + step * 3600, 1 + step % kUsers, 1 + step * 13.0);
    for (int attempt = 0; attempt < 3; ++attempt) (void)Round();
    if (step == 20) {
      KillHub();
      StartHub();
    }
    if (step % 9 == 0) OpenPush();  // the sender starts again
  }
  link_.Heal();
  RoundIsOk();
  ExpectTheSame();
  for (const LinkFault fault : {LinkFault::kCutRequest, LinkFault::kCutAnswer, LinkFault::kLoseAnswer,
                                LinkFault::kDelay, LinkFault::kRepeat, LinkFault::kOvertaken})
    EXPECT_GT(link_.Count(fault), 0) << static_cast<int>(fault);
  // One day of grants after the first edition, each counted once.
  const auto ledger = ControlTotalsOf(*engine_, kProject, true);
  ASSERT_TRUE(ledger.ok());
  credit::MicroTotal total = 0;
  for (int step = 0; step < 40; ++step) total += 1 + step * 13;
  EXPECT_TRUE(ledger->users.granted == total);
  EXPECT_EQ(ProjectAtHub()["editions"][0]["sums"][0]["total"], view::MicroText(total));
  // Old requests that arrive behind everything else add nothing.
  link_.Script({LinkFault::kNone, LinkFault::kNone, LinkFault::kRepeat, LinkFault::kRepeat});
  Grant(kStart + 41 * 3600, 1, 5);
  RoundIsOk();
  ExpectTheSame();
}

TEST_F(HubPush, ARevokedTokenStopsTheEditionAndANewOneContinuesIt) {
  for (int user = 1; user <= kUsers; ++user) Grant(kStart, user, user);
  // The project is asked for, then the position, then the first request arrives and the second one does not.
  link_.Script({LinkFault::kNone, LinkFault::kNone, LinkFault::kNone, LinkFault::kCutRequest});
  EXPECT_FALSE(Round().ok());
  std::ofstream(hub_dir_ / "tokens") << "read " << kReadToken << "\n";
  const auto unknown = [](const Reply& reply) { return reply.status == 401; };
  EXPECT_EQ(served_->GetUntil("/api/v1/health", unknown, kIngestToken).status, 401);
  const Status refused = Round();
  EXPECT_EQ(refused.code(), StatusCode::kRetry);
  EXPECT_THAT(refused.message(), HasSubstr("401"));
  EXPECT_THAT(refused.message(), Not(HasSubstr(kIngestToken)));
  // The new token has no name, so the source of the old one belongs to nobody any more.
  std::ofstream(hub_dir_ / "tokens") << "read " << kReadToken << "\ningest 4 feeds a-new-token-0123456789\n";
  SetToken("a-new-token-0123456789");
  Status done = Round();
  for (int attempt = 0; attempt < 100 && !done.ok(); ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    done = Round();
  }
  EXPECT_TRUE(done.ok()) << done.message();
  EXPECT_EQ(push_->state().attempt, 1u) << "the same file under another source";
  ExpectTheSame();
  ExpectNothingRefused();
}

// The hub's clock is three days behind. Without the bound at the hub's clock it would refuse every event as being from the
// future. Then the clock is repaired.
TEST_F(HubPush, AHubWhoseClockIsDaysBehindGetsEverything) {
  KillHub();
  fs::remove_all(hub_dir_ / "data");
  StartHub(
      {{"LD_PRELOAD", COBBLESTONE_OTHER_CLOCK}, {"COBBLESTONE_OTHER_CLOCK", std::to_string(-3 * 86400)}});
  const double now = WallNow();
  for (int user = 1; user <= kUsers; ++user) Grant(now, user, user);
  RoundIsOk();
  ExpectTheSame();
  ExpectNothingRefused();
  const double published = ProjectAtHub()["editions"][0]["published_time"];
  EXPECT_LT(published, now - 2 * kDay) << "the time of the hub";

  KillHub();
  StartHub();
  Grant(now + 1, 3, 1000);
  RoundIsOk();
  ExpectTheSame();
  ExpectNothingRefused();
  EXPECT_GE(ProjectAtHub()["editions"][0]["published_time"], now);
}

TEST_F(HubPush, ASenderWhoseClockJumpsBackContinues) {
  sender_clock_ = WallNow() + 10 * kDay;
  for (int user = 1; user <= kUsers; ++user) Grant(kStart, user, user);
  RoundIsOk();
  sender_clock_ = WallNow() - 10 * kDay;
  Grant(kStart + 1, 5, 77);
  RoundIsOk();
  ExpectTheSame();
  // Its directory is lost, too: the hub says which number is next.
  fs::remove_all(temp_ / "push");
  OpenPush();
  Grant(kStart + 2, 6, 88);
  RoundIsOk();
  ExpectTheSame();
  EXPECT_EQ(ProjectAtHub()["editions"][0]["whole"], true);
  ExpectNothingRefused();
}

// An edition is on its way when the sender loses its directory, and accounts leave the project meanwhile.
TEST_F(HubPush, AfterTheLossOfTheSendersDirectoryAllAccountsAreSent) {
  for (int user = 1; user <= kUsers; ++user) Grant(kStart, user, user);
  RoundIsOk();
  Grant(kStart + 1, 5, 77);
  link_.Script({LinkFault::kNone, LinkFault::kNone, LinkFault::kLoseAnswer});
  EXPECT_FALSE(Round().ok());
  fs::remove_all(temp_ / "push");
  OpenPush();
  Send(kStart + 2, wire::UserMember{.user = UserId(7), .deleted = true});
  RoundIsOk();
  ExpectTheSame();
  EXPECT_EQ(TotalAtHub("user", 7, "none"), "none");
}

// The hub goes back to a backup of two editions ago. The indexes of the sender describe what the hub no longer has.
TEST_F(HubPush, AHubThatIsRestoredFromABackupGetsAllAccounts) {
  for (int user = 1; user <= kUsers; ++user) Grant(kStart, user, user);
  RoundIsOk();
  served_->process().Signal(SIGTERM);
  ASSERT_EQ(served_->process().Wait(), 0);
  fs::copy(hub_dir_ / "data", hub_dir_ / "backup", fs::copy_options::recursive);
  StartHub();
  for (int step = 1; step <= 2; ++step) {
    Grant(kStart + step, step, 1000 * step);
    RoundIsOk();
  }
  KillHub();
  fs::remove_all(hub_dir_ / "data");
  fs::rename(hub_dir_ / "backup", hub_dir_ / "data");
  StartHub();
  Grant(kStart + 3, 3, 3000);
  RoundIsOk();
  ExpectTheSame();
  EXPECT_EQ(ProjectAtHub()["editions"][0]["whole"], true);
}

}  // namespace
}  // namespace cobblestone::testing
