// The engine's answers about accounts, and its audit of grants whose user is unknown: from memory, and from the state
// on disk.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/ledger/account_codec.h"
#include "services/access/engine_pipeline.h"
#include "services/access/question.h"
#include "tests/support/engine_story.h"

namespace cobblestone::testing {

using access::MakeEnginePipeline;

namespace {

class EngineAccounts : public EngineStory {
 protected:
  void SetUp() override {
    Open();
    for (std::uint64_t app = 1; app <= 2; ++app)
      Send(kStart,
           wire::AppChange{
               .app = AppId(app), .policy = "assigned", .delay_bound = kDay, .result_window = 10 * kDay});
  }

  void Host(std::uint64_t host, std::uint64_t user) {
    Send(kStart, wire::HostMember{.host = HostId(host), .user = UserId(user), .cpus = 1});
  }
  void User(double time, std::uint64_t user, std::uint64_t team) {
    Send(time, wire::UserMember{.user = UserId(user), .team = TeamId(team)});
  }
  void Tick(double time) { Send(time, wire::Tick{.time = time}); }

  nlohmann::json Account(wire::AccountKind kind, std::uint64_t id) {
    const auto answer = engine_->questions().Account(ProjectId(1), kind, id);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? *answer : nlohmann::json();
  }
  nlohmann::json Audit() {
    const auto answer = engine_->Audit({});
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_EQ((*answer)["problem_count"], 0) << answer->dump(1);
    return *answer;
  }
  nlohmann::json Explained(std::uint64_t result) {
    const auto answer = engine_->questions().Explain(ProjectId(1), ResultId(result));
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? (*answer)["grants"][0] : nlohmann::json();
  }
};

// An audit reads slots for minutes.
TEST_F(EngineAccounts, HealthAndLiveFiguresDoNotWaitForASlotBeingRead) {
  User(kStart, 1, 11);
  Host(1, 1);
  Granted(kStart, 500, 1, 1);
  engine_->WaitIdle();
  const auto pipeline = MakeEnginePipeline(*engine_, true, nullptr);
  const std::uint32_t slots = engine_->pipeline().partitions + 1;
  // Holds all slots, one inside the other.
  std::size_t looks = 0;
  const std::function<void(std::uint32_t)> hold = [&](std::uint32_t slot) {
    if (slot < slots) return engine_->runner().Query(slot, [&](stream::Slot&) { hold(slot + 1); });
    EXPECT_EQ(pipeline->CheckHealth().grade, gateway::Health::Grade::kOk);
    const auto figures = pipeline->Look();
    ASSERT_TRUE(figures.ok());
    EXPECT_EQ(figures->results, 1u);
    EXPECT_EQ(figures->grants, 1u);
    EXPECT_EQ(figures->lag, 0u);
    EXPECT_GT(figures->stages[0].records, 0u);
    ++looks;
  };
  hold(0);
  EXPECT_EQ(looks, 1u);
}

TEST_F(EngineAccounts, EveryGrantIsPostedWaitingOrExpiredForTheAudit) {
  User(kStart, 1, 11);
  Host(1, 1);
  Host(2, 2);
  Granted(kStart, 500, 1, 1);
  Granted(kStart, 501, 2, 2);
  Granted(kStart + 5 * kDay, 502, 2, 4);
  for (int run = 0; run < 2; ++run) {
    const auto audit = Audit();
    EXPECT_EQ(audit["grants"], 3);
    EXPECT_EQ(audit["waiting_for_user"], 2);
    EXPECT_EQ(audit["expired_grants"], 0);
    EXPECT_EQ(Account(wire::AccountKind::kUser, 2)["waiting_grants"], 2);
    EXPECT_EQ(Account(wire::AccountKind::kHost, 2)["total"], "0.000000");
    EXPECT_TRUE(Explained(501).contains("waits_for"));
    Reopen();
  }
  Tick(kStart + 12 * kDay);
  for (int run = 0; run < 2; ++run) {
    const auto audit = Audit();
    EXPECT_EQ(audit["waiting_for_user"], 1);
    EXPECT_EQ(audit["expired_grants"], 1);
    const auto user = Account(wire::AccountKind::kUser, 2);
    EXPECT_EQ(user["waiting_grants"], 1);
    EXPECT_EQ(user["expired_grants"], 1);
    EXPECT_EQ(user["expired_credit"], "2.000000");
    EXPECT_EQ(Account(wire::AccountKind::kHost, 2)["total"], "2.000000");
    EXPECT_TRUE(Explained(501).contains("expired"));
    EXPECT_TRUE(Explained(502).contains("waits_for"));
    Reopen();
  }
  const auto refused = engine_->questions().RefusedList(0, 10);
  ASSERT_TRUE(refused.ok());
  ASSERT_EQ((*refused)["refused"].size(), 1u);
  EXPECT_EQ((*refused)["refused"][0]["reason"], "UNKNOWN_USER");
  EXPECT_FALSE(access::Answer(*engine_, {.path = "/refused/resubmit", .parameters = {{"offset", "0"}}}).ok())
      << "the grant is already in the ledger";

  User(kStart + 13 * kDay, 2, 12);
  Granted(kStart + 13 * kDay, 503, 2, 8);
  const auto audit = Audit();
  EXPECT_EQ(audit["waiting_for_user"], 0);
  EXPECT_EQ(audit["expired_grants"], 1);
  EXPECT_EQ(audit["postings"], 3);
  EXPECT_EQ(Account(wire::AccountKind::kUser, 2)["total"], "12.000000");
  EXPECT_EQ(Account(wire::AccountKind::kTeam, 12)["total"], "12.000000");
  EXPECT_EQ(Account(wire::AccountKind::kHost, 2)["total"], "14.000000");
  EXPECT_TRUE(Explained(501).contains("expired"));
  EXPECT_EQ(Explained(501)["postings"].size(), 1u);
  EXPECT_EQ(Explained(502)["postings"].size(), 3u);
}

TEST_F(EngineAccounts, AGrantNamesTheTeamThatHasItAfterALateMove) {
  User(kStart, 1, 11);
  Host(1, 1);
  Granted(kStart + 2 * kDay, 500, 1, 1);
  User(kStart + kDay, 1, 12);  // dated before the result, sent after its grant
  Granted(kStart + 3 * kDay, 501, 1, 2);
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(Explained(500)["postings"][2]["id"], 11);
    EXPECT_EQ(Explained(501)["postings"][2]["id"], 12);
    EXPECT_EQ(Account(wire::AccountKind::kTeam, 11)["total"], "1.000000");
    EXPECT_EQ(Account(wire::AccountKind::kTeam, 12)["total"], "2.000000");
    Audit();
    Reopen();
  }
}

TEST_F(EngineAccounts, AppSumsAreInTotalsAndAnswersAndDaySumsInAnswers) {
  User(kStart, 1, 11);
  Host(1, 1);
  Granted(kStart, 500, 1, 1, 1);
  Granted(kStart, 501, 1, 2, 2);
  Granted(kStart + kDay, 502, 1, 4, 2);
  std::map<std::pair<wire::AccountKind, std::uint64_t>, wire::Total> totals;
  for (std::uint32_t p = 0; p < settings_.partitions; ++p)
    ASSERT_TRUE(engine_
                    ->ForEachRecord({wire::kTotals, p},
                                    [&](std::uint64_t, std::string_view record) {
                                      wire::Total total;
                                      EXPECT_TRUE(wire::DecodeTotal(record, &total));
                                      totals[{total.kind, total.account}] = total;
                                      return true;
                                    })
                    .ok());
  const std::vector<wire::AppTotal> apps = {{.app = AppId(1), .total_micro = 1'000'000, .grants = 1},
                                            {.app = AppId(2), .total_micro = 6'000'000, .grants = 2}};
  constexpr int kFirstDay = static_cast<int>(kStart / kDay);
  for (const auto& [kind, id] :
       {std::pair{wire::AccountKind::kHost, 1}, std::pair{wire::AccountKind::kUser, 1},
        std::pair{wire::AccountKind::kTeam, 11}}) {
    EXPECT_EQ((totals[{kind, id}].apps), apps) << "account " << id;
    const auto answer = Account(kind, id);
    EXPECT_EQ(answer["apps"], nlohmann::json::parse(R"([{"app": 1, "total": "1.000000", "grants": 1},
                                                        {"app": 2, "total": "6.000000", "grants": 2}])"));
    ASSERT_EQ(answer["days"].size(), 2u);
    EXPECT_EQ(answer["days"][0], (nlohmann::json{{"day", kFirstDay}, {"total", "3.000000"}, {"grants", 2}}));
    EXPECT_EQ(answer["days"][1],
              (nlohmann::json{{"day", kFirstDay + 1}, {"total", "4.000000"}, {"grants", 1}}));
  }
}

}  // namespace
}  // namespace cobblestone::testing
