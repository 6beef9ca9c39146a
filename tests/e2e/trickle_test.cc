// Jobs that are paid while they run, through the whole pipeline: known errors of existing systems, one by one. The
// ledger, the accounts, the audit and explain must agree.
#include <gtest/gtest.h>

#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/ledger/grant_codec.h"
#include "tests/support/engine_story.h"

namespace cobblestone::testing {
namespace {

// 0.1 Cobblestones for each of 1,000 steps.
wire::TrickleRuleChange Steps() {
  wire::TrickleRuleChange rule;
  rule.variety = "model";
  rule.kind = "steps";
  rule.measure = "steps";
  rule.phases = {{.last_step = 1000, .credit_per_step = 0.1}};
  return rule;
}

class TrickleStory : public EngineStory {
 protected:
  // A project with users 1 and 2, in teams 11 and 12, host 5 of user 1, and host 6 of user 2.
  void Project(const std::string& settlement, std::vector<wire::TrickleRuleChange> rules = {Steps()}) {
    Send(kStart, wire::AppChange{.app = AppId(1),
                                 .policy = "assigned",
                                 .delay_bound = 365 * kDay,
                                 .trickles = std::move(rules),
                                 .trickle_settlement = settlement});
    Send(kStart, wire::AppVersionChange{.row = {.id = 1, .app = AppId(1), .version_num = 1, .platform = 1}});
    for (std::uint64_t user = 1; user <= 2; ++user)
      Send(kStart, wire::UserMember{.user = UserId(user), .team = TeamId(10 + user)});
    Host(5, 1);
    Host(6, 2);
  }
  void Host(std::uint64_t host, std::uint64_t user, double time = kStart) {
    Send(time, wire::HostMember{.host = HostId(host), .user = UserId(user), .whetstone = 1e9, .cpus = 1});
  }
  void Sent(std::uint64_t result, std::uint64_t host, double time = kStart, const std::string& name = {}) {
    Send(time, DispatchOf(result, host, time, name));
  }
  void SendTrickle(std::uint64_t result, std::uint64_t host, double steps, double time,
                   const std::string& variety = "model") {
    Send(time,
         wire::Trickle{.result = ResultId(result), .host = HostId(host), .variety = variety, .steps = steps});
  }
  // Completed and validated, worth `credit` Cobblestones.
  void Validated(std::uint64_t result, std::uint64_t host, double credit, double time,
                 credit::ValidateState state = credit::ValidateState::kValid) {
    wire::Completion completion = CompletionOf(result, host, result, time);
    completion.facts.sent_time = kStart;
    completion.facts.version = AppVersionId(1);
    completion.facts.peak_flops = 1e9;
    Send(time, completion);
    credit::ValidationFacts validation = ValidationOf(result, host, result, credit);
    validation.state = state;
    Send(time, validation);
  }

  nlohmann::json Account(wire::AccountKind kind, std::uint64_t id) {
    const auto answer = engine_->questions().Account(ProjectId(1), kind, id);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? *answer : nlohmann::json();
  }
  // "total provisional shown" of a user, which must equal those of its host.
  std::string Has(std::uint64_t user, std::uint64_t host) {
    const auto of = [](const nlohmann::json& account) {
      return account["total"].get<std::string>() + " " + account["provisional"].get<std::string>() + " " +
             account["shown"].get<std::string>();
    };
    const std::string text = of(Account(wire::AccountKind::kUser, user));
    EXPECT_EQ(of(Account(wire::AccountKind::kHost, host)), text);
    return text;
  }
  std::string Team(std::uint64_t team) { return Account(wire::AccountKind::kTeam, team)["total"]; }
  nlohmann::json Explained(std::uint64_t result) {
    const auto answer = engine_->questions().Explain(ProjectId(1), ResultId(result));
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? *answer : nlohmann::json();
  }
  // Unpaid trickles: the value of each, the reason, and the number of paid trickles before it.
  std::string Unpaid(std::uint64_t result) {
    std::string text;
    const auto story = Explained(result);
    for (const nlohmann::json& one : story["unpaid"]) {
      if (!text.empty()) text += ", ";
      if (one.contains("asked")) {
        std::ostringstream asked;
        asked << std::setprecision(12) << one["asked"].get<double>();
        text += asked.str() + " ";
      }
      text += one["outcome"].get<std::string>() + " " + std::to_string(one["behind"].get<int>());
      if (one.contains("refused")) text += " " + one["refused"].get<std::string>();
      if (one.contains("reason")) text += ": " + one["reason"].get<std::string>();
    }
    return text;
  }
  std::size_t CountRefused() {
    std::size_t count = 0;
    const Status read = engine_->ForEachRecord({wire::kRefused, 0}, [&](std::uint64_t, std::string_view) {
      ++count;
      return true;
    });
    EXPECT_TRUE(read.ok()) << read.message();
    return count;
  }
  // The audit has no problems, now and with the state from disk.
  nlohmann::json Audit() {
    nlohmann::json report;
    for (int run = 0; run < 2; ++run) {
      const auto answer = engine_->Audit({});
      EXPECT_TRUE(answer.ok()) << answer.status().message();
      report = *answer;
      EXPECT_EQ(report["problem_count"], 0) << report.dump(1);
      Reopen();
    }
    return report;
  }
};

TEST_F(TrickleStory, CreditGrowsWhileTheJobRunsAndTheFinalGrantPaysTheDifference) {
  Project("");
  Sent(100, 5);
  SendTrickle(100, 5, 250, kStart + 30 * kDay);
  EXPECT_EQ(Has(1, 5), "25.000000 25.000000 25.000000");
  EXPECT_EQ(Team(11), "25.000000");
  SendTrickle(100, 5, 600, kStart + 60 * kDay);
  EXPECT_EQ(Has(1, 5), "60.000000 60.000000 60.000000");
  EXPECT_EQ(Account(wire::AccountKind::kUser, 1)["grants"], 0);
  Validated(100, 5, 100, kStart + 100 * kDay);
  EXPECT_EQ(Has(1, 5), "100.000000 0.000000 100.000000");
  EXPECT_EQ(Team(11), "100.000000");
  EXPECT_EQ(Account(wire::AccountKind::kUser, 1)["grants"], 1);

  const auto story = Explained(100);
  ASSERT_EQ(story["partials"].size(), 2u) << story.dump(1);
  EXPECT_EQ(story["partials"][0]["mark_after"], 250);
  EXPECT_EQ(story["partials"][1]["mark_before"], 250);
  EXPECT_EQ(story["partials"][1]["paid_before"], "25.000000");
  EXPECT_EQ(story["partials"][1]["credit"], "35.000000");
  EXPECT_EQ(story["grants"][0]["credit"], "40.000000");
  EXPECT_EQ(story["credit"], "100.000000");
  const auto report = Audit();
  EXPECT_EQ(report["partial_grants"], 2);
  EXPECT_EQ(report["grants"], 1);
}

// If the result were looked up by name only, any host could send the message.
TEST_F(TrickleStory, OnlyTheHostOfTheResultCanAddToIt) {
  Project("");
  Sent(100, 5, kStart, "hadcm3_0");
  SendTrickle(100, 6, 500, kStart + kDay);
  Send(kStart + kDay,
       wire::Trickle{.host = HostId(6), .variety = "model", .steps = 500, .result_name = "hadcm3_0"});
  EXPECT_EQ(Has(2, 6), "0.000000 0.000000 0.000000");
  EXPECT_EQ(Has(1, 5), "0.000000 0.000000 0.000000");
  Send(kStart + kDay,
       wire::Trickle{.host = HostId(5), .variety = "model", .steps = 10, .result_name = "hadcm3_0"});
  EXPECT_EQ(Has(1, 5), "1.000000 1.000000 1.000000");
  // Messages that wait for a dispatch to that host expire.
  EXPECT_EQ(CountRefused(), 0u);
  Send(kStart + 1000 * kDay, wire::Tick{.time = kStart + 1000 * kDay});
  EXPECT_EQ(CountRefused(), 2u);
  Audit();
}

// A flood of messages for a result that is never sent fills neither memory nor disk.
TEST_F(TrickleStory, MessagesThatWaitForADispatchAreBounded) {
  Project("");
  const std::string text(15000, 'x');
  for (int n = 0; n < 300; ++n)
    Send(kStart + kDay, wire::Trickle{.result = ResultId(100),
                                      .host = HostId(5),
                                      .variety = "model",
                                      .steps = 1.0 + n,
                                      .others = {{"data", text}}});
  const std::size_t refused = CountRefused();
  EXPECT_GT(refused, 10u) << "300 of 15 kB are more than 4 MiB";
  EXPECT_LT(refused, 40u);
  Sent(100, 5);
  EXPECT_EQ(CountRefused(), refused);
  EXPECT_EQ(Has(1, 5), "27.800000 27.800000 27.800000");
}

// N forged messages would earn N times as much if nothing linked them to a result.
TEST_F(TrickleStory, NoNumberOfMessagesEarnsMoreThanTheModelHasSteps) {
  Project("");
  Sent(100, 5);
  for (int n = 0; n < 20; ++n) SendTrickle(100, 5, 1e6 + n, kStart + 2 * kDay + n);
  EXPECT_EQ(Has(1, 5), "100.000000 100.000000 100.000000");
  EXPECT_EQ(Explained(100)["partials"].size(), 1u);
  EXPECT_EQ(Explained(100)["partials"][0]["bounded_by"][0], "last_step");
  EXPECT_EQ(Explained(100)["unpaid"].size(), 19u) << "each of the others is listed";
  EXPECT_EQ(Explained(100)["unpaid"][18]["outcome"], "held_back");
  EXPECT_EQ(Explained(100)["unpaid"][18]["bounded_by"][0], "last_step");
  EXPECT_EQ(Audit()["unpaid_trickles"], 19);
}

// A lost task that its project sends again to the same host starts over; earlier payments for it count.
TEST_F(TrickleStory, ANewerDispatchOfAResultReplacesTheOlder) {
  Project("keep");
  Sent(100, 5);
  SendTrickle(100, 5, 400, kStart + 30 * kDay);
  EXPECT_EQ(Has(1, 5), "40.000000 40.000000 40.000000");
  Sent(100, 5, kStart + 40 * kDay);
  Sent(100, 5, kStart + 40 * kDay);  // sent twice
  EXPECT_EQ(CountRefused(), 0u);
  SendTrickle(100, 5, 300, kStart + 50 * kDay);
  EXPECT_EQ(Has(1, 5), "40.000000 40.000000 40.000000") << "30 is less than the payments so far";
  Reopen();
  SendTrickle(100, 5, 600, kStart + 60 * kDay);
  EXPECT_EQ(Has(1, 5), "60.000000 60.000000 60.000000");
  SendTrickle(100, 5, 700, kStart + 35 * kDay);  // arrives late, from the first sending
  EXPECT_EQ(Has(1, 5), "70.000000 70.000000 70.000000");
  const auto running = Explained(100);
  ASSERT_EQ(running["partials"].size(), 3u) << running.dump(1);
  EXPECT_EQ(running["partials"][1]["mark_before"], 300) << "the mark of its own sending";
  EXPECT_EQ(running["partials"][2]["mark_before"], 400);
  EXPECT_EQ(Audit()["partial_grants"], 3);

  Validated(100, 5, 100, kStart + 70 * kDay);
  EXPECT_EQ(Has(1, 5), "100.000000 0.000000 100.000000");
  // After the decision a message is still paid by its own sending, up to the return of the result.
  SendTrickle(100, 5, 1000, kStart + 36 * kDay);
  EXPECT_EQ(Has(1, 5), "100.000000 0.000000 100.000000");
  Audit();
}

// The work of a sending is bounded by the time since that sending.
TEST_F(TrickleStory, EachSendingIsBoundedFromItsOwnTime) {
  wire::TrickleRuleChange seconds;
  seconds.variety = "time";
  seconds.kind = "elapsed";
  seconds.measure = "elapsed_time";
  Project("keep", {seconds});
  for (const bool in_order : {true, false}) {
    const std::uint64_t result = in_order ? 100 : 101;
    const auto send_trickle = [&](double elapsed, double time) {
      Send(time,
           wire::Trickle{
               .result = ResultId(result), .host = HostId(5), .variety = "time", .elapsed_time = elapsed});
    };
    wire::Dispatch again = DispatchOf(result, 5, kStart + 10 * kDay);
    again.facts.peak_flops = 4e9;
    // The first dispatch may arrive after the second one.
    if (in_order) Sent(result, 5);
    Send(kStart + 10 * kDay, again);
    if (!in_order) Sent(result, 5);
    send_trickle(9 * kDay, kStart + 9 * kDay);  // a day of 1 GFLOPS is worth 200 Cobblestones
    send_trickle(9 * kDay, kStart + 13 * kDay);
    const auto story = Explained(result);
    ASSERT_EQ(story["partials"].size(), 2u) << story.dump(1);
    EXPECT_EQ(story["partials"][0]["credit"], "1800.000000");
    EXPECT_EQ(story["partials"][1]["credit"], "600.000000") << "three days of 4 GFLOPS, less 1,800";
    EXPECT_EQ(story["partials"][1]["bounded_by"][0], "wall_time");
  }
  Audit();
}

TEST_F(TrickleStory, ACompletionBelongsToTheDispatchThatItsSentTimeNames) {
  Project("keep");
  std::uint64_t result = 100;
  const auto back = [&](double sent, double peak_flops) {
    wire::Completion completion = CompletionOf(result, 5, result, kStart + 20 * kDay);
    completion.facts.sent_time = sent;
    completion.facts.version = AppVersionId(1);
    completion.facts.peak_flops = peak_flops;
    Send(kStart + 20 * kDay, completion);
  };
  const auto send_twice = [&] {
    Sent(++result, 5);
    wire::Dispatch again = DispatchOf(result, 5, kStart + 10 * kDay);
    again.facts.peak_flops = 4e9;
    Send(kStart + 10 * kDay, again);
  };
  const auto refused = [&] { return CountRefused(); };
  send_twice();
  back(kStart, 4e9);
  EXPECT_EQ(refused(), 1u) << "the speed of the second sending with the time of the first";
  back(kStart + 10 * kDay, 1e9);
  EXPECT_EQ(refused(), 2u) << "the speed of the first sending with the time of the second";
  back(kStart, 1e9);
  EXPECT_EQ(refused(), 2u) << "the first sending was returned after all";
  send_twice();
  back(kStart + 10 * kDay, 4e9);
  EXPECT_EQ(refused(), 2u);
  send_twice();
  back(0, 4e9);
  EXPECT_EQ(refused(), 2u) << "without a sent time: the newest sending";
  // The completion of a second sending may arrive before its dispatch, which then has to agree with it.
  Sent(++result, 5);
  back(kStart + 10 * kDay, 4e9);
  EXPECT_EQ(refused(), 2u);
  Sent(result, 5, kStart + 10 * kDay);
  EXPECT_EQ(refused(), 3u);
  wire::Dispatch again = DispatchOf(result, 5, kStart + 10 * kDay);
  again.facts.peak_flops = 4e9;
  Send(kStart + 10 * kDay, again);
  EXPECT_EQ(refused(), 3u);
  Audit();
}

// Two dispatches must not have the same sent time, name two apps, or lack the sent time.
TEST_F(TrickleStory, OtherFactsOfOneSendingAreRefused) {
  Project("keep");
  Send(kStart, wire::AppChange{.app = AppId(2), .policy = "assigned"});
  Sent(100, 5);
  wire::Dispatch other = DispatchOf(100, 5, kStart);
  other.facts.peak_flops = 2e9;
  Send(kStart, other);
  EXPECT_EQ(CountRefused(), 1u);
  other.facts.sent_time = 0;
  Send(kStart + kDay, other);
  EXPECT_EQ(CountRefused(), 2u);
  other.facts.sent_time = kStart + kDay;
  other.facts.app = AppId(2);
  Send(kStart + kDay, other);
  EXPECT_EQ(CountRefused(), 3u);
}

// Trickles can only be paid by the known dispatches; the oldest dispatches are dropped.
TEST_F(TrickleStory, AsManySendingsAreKeptAsAHostMayLose) {
  Project("keep");
  for (int n = 0; n < 40; ++n) Sent(100, 5, kStart + n * kDay);
  EXPECT_EQ(CountRefused(), 0u);
  SendTrickle(100, 5, 100, kStart + 39.5 * kDay);
  SendTrickle(100, 5, 200, kStart + 30.5 * kDay);
  SendTrickle(100, 5, 300, kStart + kDay);  // priced by the oldest known dispatch, which leaves it no time
  EXPECT_EQ(Has(1, 5), "20.000000 20.000000 20.000000");
  Audit();
}

// Paying the difference to the last message would pay a rewound model twice.
TEST_F(TrickleStory, ARewoundCounterLowersNoMarkAndIsNotPaidAgain) {
  Project("");
  Sent(100, 5);
  for (const double steps : {500.0, 300.0, 400.0, 500.0, 450.0, 510.0, 510.0})
    SendTrickle(100, 5, steps, kStart + kDay);
  EXPECT_EQ(Has(1, 5), "51.000000 51.000000 51.000000");
  EXPECT_EQ(Explained(100)["partials"].size(), 2u);
  EXPECT_EQ(Unpaid(100),
            "300 set_back 1, 400 set_back 1, 500 no_further 1, 450 set_back 1, 510 no_further 2");
  Audit();
}

// Bounded to nothing, refused, repeated, too small to pay, after the decision, by another host: each is in the
// explanation.
TEST_F(TrickleStory, EachTrickleIsListedWhateverItsOutcome) {
  wire::TrickleRuleChange hours;
  hours.variety = "hours";
  hours.kind = "elapsed";
  hours.measure = "runtime_increment";
  hours.incremental = true;
  hours.max_increment = kDay;
  Project("settle", {Steps(), hours});
  Sent(100, 5, kStart, "hadcm3_0");
  SendTrickle(100, 5, 250, kStart + kDay, "other");  // without a rule
  Send(kStart + kDay,
       wire::Trickle{.host = HostId(5),
                     .variety = "model",
                     .steps = 100,
                     .result_name = "hadcm3_0",
                     .phase = 3,
                     .others = {{"vr", "6.08"}, {"data", "287"}, {"vr", std::string(65, 'x')}}});
  SendTrickle(100, 5, 100.000000001, kStart + kDay);  // steps are rounded down
  Send(kStart + kDay,
       wire::Trickle{.result = ResultId(100), .host = HostId(5), .variety = "model"});  // no steps
  for (int n = 0; n < 2; ++n)
    Send(kStart + 2 * kDay, wire::Trickle{.result = ResultId(100),
                                          .host = HostId(5),
                                          .variety = "hours",
                                          .sequence = 7,
                                          .runtime_increment = 43200});
  SendTrickle(100, 6, 900, kStart + 2 * kDay);  // of another host
  Validated(100, 5, 200, kStart + 3 * kDay);
  SendTrickle(100, 5, 900, kStart + 4 * kDay);
  Send(kStart + 1000 * kDay, wire::Tick{.time = kStart + 1000 * kDay});

  const auto story = Explained(100);
  ASSERT_EQ(story["partials"].size(), 2u) << story.dump(1);
  EXPECT_EQ(story["partials"][0]["phase"], 3);
  EXPECT_EQ(story["partials"][0]["model_version"], "6.08");
  EXPECT_FALSE(story["partials"][1].contains("phase"));
  EXPECT_EQ(story["partials"][0]["others"].dump(),
            R"([{"name":"data","text":"287"},{"name":"vr","text":")" + std::string(65, 'x') + R"("}])");
  EXPECT_FALSE(story["partials"][0].contains("others_left_out"));
  EXPECT_FALSE(story["partials"][1].contains("others"));
  EXPECT_EQ(Unpaid(100),
            "refused 1 NOT_SUPPORTED: app 1 has no rule for trickles of variety 'other', "
            "100.000000001 no_further 1, refused 1 MISSING_FIELD: steps: missing, repeat 2, "
            "refused 2 ALREADY_DECIDED: this result is already decided, including the worth of its "
            "trickles, refused 2 UNKNOWN_RESULT: the dispatch of this result to its host is "
            "missing, or the result is already decided");
  EXPECT_EQ(story["unpaid"][0]["variety"], "other");
  EXPECT_EQ(story["credit"], "200.000000") << "unpaid trickles change no sum";
  EXPECT_EQ(CountRefused(), 4u);
  const auto report = Audit();
  EXPECT_EQ(report["unpaid_trickles"], 6);
  EXPECT_EQ(report["partial_grants"], 2);
}

// Also for unpaid trickles; years later only the ledger has them.
TEST_F(TrickleStory, OtherElementsOfATrickleAreInItsExplanation) {
  Project("keep");
  Sent(100, 5, kStart, "hadcm3_0");
  const auto send_trickle = [&](double steps, std::vector<wire::TrickleElement> others) {
    Send(kStart + kDay, wire::Trickle{.host = HostId(5),
                                      .variety = "model",
                                      .steps = steps,
                                      .result_name = "hadcm3_0",
                                      .others = std::move(others)});
  };
  send_trickle(100, {{"wu", "hadcm3"}, {"data", std::string(2000, '7')}});
  send_trickle(50, {{"ncf", "3"}});
  const auto story = Explained(100);
  EXPECT_EQ(story["partials"][0]["others"].dump(), R"([{"name":"wu","text":"hadcm3"}])");
  EXPECT_EQ(story["partials"][0]["others_left_out"].dump(), R"({"bytes":2004,"elements":1})");
  EXPECT_EQ(story["unpaid"][0]["others"].dump(), R"([{"name":"ncf","text":"3"}])");
}

// If trickles continue to earn after the decision, a trickle that the grant already covers is listed as well.
TEST_F(TrickleStory, ATrickleCoveredByTheGrantIsListed) {
  Project("keep");
  Sent(100, 5);
  SendTrickle(100, 5, 250, kStart + kDay);
  Validated(100, 5, 60, kStart + 2 * kDay);
  SendTrickle(100, 5, 500, kStart + kDay);
  SendTrickle(100, 5, 400, kStart + kDay);
  EXPECT_EQ(Has(1, 5), "60.000000 0.000000 60.000000");
  const auto story = Explained(100);
  ASSERT_EQ(story["unpaid"].size(), 2u) << story.dump(1);
  EXPECT_EQ(story["unpaid"][0]["outcome"], "nothing_due");
  EXPECT_EQ(story["unpaid"][0]["reason"], "the job's own grant was worth at least as much");
  EXPECT_EQ(story["unpaid"][0]["mark_after"], 500);
  EXPECT_EQ(story["unpaid"][1]["outcome"], "set_back");
  Audit();
}

// A job without any paid message.
TEST_F(TrickleStory, AnExplanationMayHaveUnpaidMessagesOnly) {
  Project("");
  Sent(100, 5);
  SendTrickle(100, 5, 250, kStart + kDay, "other");
  const auto story = Explained(100);
  EXPECT_FALSE(story.contains("partials"));
  EXPECT_EQ(Unpaid(100), "refused 0 NOT_SUPPORTED: app 1 has no rule for trickles of variety 'other'");
  Audit();
}

TEST_F(TrickleStory, TricklesWaitForTheirDispatchAndForTheirHost) {
  Project("");
  SendTrickle(100, 7, 300, kStart + 2 * kDay);
  SendTrickle(100, 7, 200, kStart + kDay);
  Send(kStart + 3 * kDay,
       wire::Trickle{.host = HostId(7), .variety = "model", .steps = 400, .result_name = "n"});
  Sent(100, 7, kStart, "n");
  Host(7, 1);
  EXPECT_EQ(Has(1, 7), "40.000000 40.000000 40.000000");
  Audit();
}

TEST_F(TrickleStory, KeepLeavesPaymentsOfALesserOrInvalidResult) {
  Project("keep");
  for (const std::uint64_t result : {100, 101}) {
    Sent(result, 5);
    SendTrickle(result, 5, 500, kStart + kDay);
  }
  EXPECT_EQ(Has(1, 5), "100.000000 100.000000 100.000000");
  Validated(100, 5, 20, kStart + 2 * kDay);
  EXPECT_EQ(Has(1, 5), "100.000000 50.000000 100.000000");
  Validated(101, 5, 20, kStart + 2 * kDay, credit::ValidateState::kInvalid);
  EXPECT_EQ(Has(1, 5), "100.000000 0.000000 100.000000");
  EXPECT_EQ(Explained(101)["reversals"][0]["made_final"], "50.000000");
  Audit();
}

TEST_F(TrickleStory, SettleReversesTheExcessWithAReason) {
  Project("settle");
  for (const std::uint64_t result : {100, 101}) {
    Sent(result, 5);
    SendTrickle(result, 5, 500, kStart + kDay);
  }
  Validated(100, 5, 20, kStart + 2 * kDay);
  EXPECT_EQ(Has(1, 5), "70.000000 50.000000 70.000000");
  const double average = Account(wire::AccountKind::kUser, 1)["rac"];
  Validated(101, 5, 20, kStart + 2 * kDay, credit::ValidateState::kInvalid);
  EXPECT_EQ(Has(1, 5), "20.000000 0.000000 20.000000");
  EXPECT_EQ(Team(11), "20.000000");
  const auto story = Explained(101);
  EXPECT_EQ(story["reversals"][0]["credit"], "-50.000000");
  EXPECT_EQ(story["reversals"][0]["reason"], "the result was invalid");
  EXPECT_EQ(story["credit"], "0.000000");
  // A day later the recent average loses the remaining part: ln 2 / 7 days of the work, halved each week.
  const double left = 50 * std::log(2.0) / 7 * std::exp2(-1.0 / 7);
  EXPECT_NEAR(Account(wire::AccountKind::kUser, 1)["rac"].get<double>(), average - left, 1e-9);
  Audit();
}

TEST_F(TrickleStory, UnderCapTheShownTotalWaitsForFutureCredit) {
  Project("cap");
  Sent(100, 5);
  SendTrickle(100, 5, 500, kStart + kDay);
  Validated(100, 5, 20, kStart + 2 * kDay);
  EXPECT_EQ(Has(1, 5), "20.000000 0.000000 50.000000");
  Sent(101, 5);
  Validated(101, 5, 10, kStart + 3 * kDay);
  EXPECT_EQ(Has(1, 5), "30.000000 0.000000 50.000000");
  Sent(102, 5);
  Validated(102, 5, 30, kStart + 4 * kDay);
  EXPECT_EQ(Has(1, 5), "60.000000 0.000000 60.000000");
  Audit();
}

TEST_F(TrickleStory, AnErrorEndsTheJobAndNothingIsPaidAfterADecision) {
  Project("settle");
  Sent(100, 5);
  SendTrickle(100, 5, 500, kStart + kDay);
  wire::Completion failed = CompletionOf(100, 5, 100, kStart + 2 * kDay);
  failed.facts.outcome = credit::Outcome::kClientError;
  failed.facts.peak_flops = 1e9;
  failed.facts.version = AppVersionId(1);
  Send(kStart + 2 * kDay, failed);
  EXPECT_EQ(Has(1, 5), "0.000000 0.000000 0.000000");
  Sent(101, 5);
  Validated(101, 5, 20, kStart + 2 * kDay);
  for (const std::uint64_t result : {100, 101}) SendTrickle(result, 5, 900, kStart + 3 * kDay);
  EXPECT_EQ(Has(1, 5), "20.000000 0.000000 20.000000");
  EXPECT_EQ(CountRefused(), 2u);
  Audit();
}

// No work is done after the return, however long the validator takes.
TEST_F(TrickleStory, TimeBetweenReturnAndValidationEarnsNothing) {
  wire::TrickleRuleChange rule;
  rule.variety = "time";
  rule.kind = "elapsed";
  rule.measure = "elapsed_time";
  wire::TrickleRuleChange day;
  day.variety = "day";
  day.kind = "day";
  day.credit_per_day = 500;
  Project("keep", {rule, day});
  Sent(100, 5);
  const auto send_trickle = [&](const std::string& variety, double elapsed, double time) {
    Send(time, wire::Trickle{
                   .result = ResultId(100), .host = HostId(5), .variety = variety, .elapsed_time = elapsed});
  };
  wire::Completion completion = CompletionOf(100, 5, 100, kStart + 2 * kDay);
  completion.facts.sent_time = kStart;
  completion.facts.version = AppVersionId(1);
  completion.facts.peak_flops = 1e9;
  Send(kStart + 2 * kDay, completion);
  // 1 GFLOPS: 200 Cobblestones a day.
  for (int after = 10; after <= 60; after += 10) send_trickle("time", after * kDay, kStart + after * kDay);
  EXPECT_EQ(Has(1, 5), "400.000000 400.000000 400.000000");
  for (int after = 10; after <= 60; after += 10) send_trickle("day", 0, kStart + after * kDay);
  EXPECT_EQ(Has(1, 5), "1000.000000 1000.000000 1000.000000");
  Send(kStart + 60 * kDay, ValidationOf(100, 5, 100, 20));
  EXPECT_EQ(Has(1, 5), "1000.000000 0.000000 1000.000000");
  Audit();
}

// The dispatch arrives after the decision: waiting messages are processed at once, as late ones.
TEST_F(TrickleStory, MessagesOfALateDispatchArePaidUnderKeep) {
  Project("keep");
  SendTrickle(100, 5, 500, kStart + kDay);
  Send(kStart + kDay,
       wire::Trickle{.host = HostId(5), .variety = "model", .steps = 600, .result_name = "hadcm3_0"});
  Validated(100, 5, 20, kStart + 2 * kDay);
  EXPECT_EQ(Has(1, 5), "20.000000 0.000000 20.000000");
  Sent(100, 5, kStart, "hadcm3_0");
  EXPECT_EQ(CountRefused(), 0u);
  EXPECT_EQ(Has(1, 5), "60.000000 0.000000 60.000000");
  Audit();
}

TEST_F(TrickleStory, MessagesOfALateDispatchAreRefusedWithIt) {
  Project("settle");
  SendTrickle(100, 5, 500, kStart + kDay);
  Send(kStart + kDay,
       wire::Trickle{.host = HostId(5), .variety = "model", .steps = 600, .result_name = "hadcm3_0"});
  Validated(100, 5, 20, kStart + 2 * kDay);
  EXPECT_EQ(CountRefused(), 0u);
  Sent(100, 5, kStart, "hadcm3_0");
  EXPECT_EQ(CountRefused(), 2u);
  EXPECT_EQ(Has(1, 5), "20.000000 0.000000 20.000000");
  Audit();
}

// Messages that were stored for months and sent before their dispatches wait from their arrival on.
TEST_F(TrickleStory, MessagesStoredForMonthsWaitForTheirDispatch) {
  Project("keep");
  Send(kStart + 90 * kDay, wire::Tick{.time = kStart + 90 * kDay});
  SendTrickle(100, 5, 500, kStart + 10 * kDay);
  Send(kStart + 91 * kDay, wire::Tick{.time = kStart + 91 * kDay});
  Sent(100, 5);
  EXPECT_EQ(Has(1, 5), "50.000000 50.000000 50.000000");
  EXPECT_EQ(CountRefused(), 0u);
  Audit();
}

// A project that contradicts itself: both events are refused, the job continues, and nothing is paid twice.
TEST_F(TrickleStory, ARefusedDecisionEndsNoJob) {
  Project("keep");
  Sent(100, 5);
  SendTrickle(100, 5, 500, kStart + kDay);
  wire::Completion completion = CompletionOf(100, 5, 100, kStart + 2 * kDay);
  completion.facts.sent_time = kStart;
  completion.facts.version = AppVersionId(1);
  completion.facts.peak_flops = 1e9;
  Send(kStart + 2 * kDay, completion);
  Send(kStart + 2 * kDay, ValidationOf(100, 5, 666, 20));
  EXPECT_EQ(CountRefused(), 2u);
  Sent(100, 5);
  SendTrickle(100, 5, 500, kStart + kDay);
  EXPECT_EQ(Has(1, 5), "50.000000 50.000000 50.000000");
  SendTrickle(100, 5, 700, kStart + 3 * kDay);
  Validated(100, 5, 100, kStart + 4 * kDay);
  EXPECT_EQ(Has(1, 5), "100.000000 0.000000 100.000000");
  Audit();
}

TEST_F(TrickleStory, ADispatchThatDiffersFromTheCompletionIsRefused) {
  Project("keep");
  wire::Completion completion = CompletionOf(100, 5, 100, kStart + 2 * kDay);
  completion.facts.sent_time = kStart;
  completion.facts.version = AppVersionId(1);
  completion.facts.peak_flops = 2e9;
  Send(kStart + 2 * kDay, completion);
  Sent(100, 5);  // 1e9
  EXPECT_EQ(CountRefused(), 1u);
  Sent(101, 5);
  completion.facts.result = ResultId(101);
  completion.facts.workunit = WorkunitId(101);
  Send(kStart + 2 * kDay, completion);
  EXPECT_EQ(CountRefused(), 2u);
  Audit();
}

// Ids beyond 32 bits with equal low bits are two hosts.
TEST_F(TrickleStory, HostsWithEqualLowBitsOfTheirIdsAreDifferent) {
  Project("keep");
  Sent(100, 5);
  // They wait for their own dispatches, also those in the same partition.
  for (std::uint64_t more = 1; more <= 20; ++more) SendTrickle(100, 5 + (more << 32), 500, kStart + kDay);
  EXPECT_EQ(CountRefused(), 0u);
  SendTrickle(100, 5, 500, kStart + kDay);
  EXPECT_EQ(Has(1, 5), "50.000000 50.000000 50.000000");
  Audit();
}

// A project that reads its database after a merge and sends the result under the other host's id is detected.
TEST_F(TrickleStory, TheAuditNamesAResultThatWasPaidUnderTwoHosts) {
  Project("keep");
  Host(7, 1);
  Sent(100, 5);
  SendTrickle(100, 5, 500, kStart + kDay);
  Validated(100, 7, 100, kStart + 2 * kDay);
  const auto answer = engine_->Audit({});
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_EQ((*answer)["problem_count"], 1) << answer->dump(1);
  EXPECT_NE((*answer)["problems"][0].get<std::string>().find("result 100"), std::string::npos);
}

// The validator's canonical result ended in an error meanwhile; other results of its workunit are granted all the
// same.
TEST_F(TrickleStory, ALateResultNeedNotEqualATrickleOnlyCanonicalResult) {
  Project("keep");
  Sent(100, 5);
  SendTrickle(100, 5, 500, kStart + kDay);
  wire::Completion failed = CompletionOf(100, 5, 100, kStart + 2 * kDay);
  failed.facts.outcome = credit::Outcome::kClientError;
  failed.facts.peak_flops = 1e9;
  failed.facts.version = AppVersionId(1);
  Send(kStart + 2 * kDay, failed);
  for (const std::uint64_t result : {101, 102}) {
    wire::Completion completion = CompletionOf(result, 6, 100, kStart + 3 * kDay);
    completion.facts.version = AppVersionId(1);
    Send(kStart + 3 * kDay, completion);
    credit::ValidationFacts validation = ValidationOf(result, 6, 100, 20);
    validation.canonical_result = ResultId(100);
    validation.late = result == 102;
    Send(kStart + 3 * kDay, validation);
  }
  EXPECT_EQ(Has(1, 5), "50.000000 0.000000 50.000000");
  EXPECT_EQ(Has(2, 6), "40.000000 0.000000 40.000000");
  EXPECT_EQ(Audit()["late_grants"], 1);
}

// A job paid by trickles is a sample like any other once it is validated: once, with its whole length.
TEST_F(TrickleStory, AveragesAndRuntimeEstimatesUseJobsPaidByTrickles) {
  Project("keep");
  const auto row = [&] {
    const auto versions =
        engine_->questions().HostVersions(ProjectId(1), HostId(5), AppVersionId(1), AppId(1));
    EXPECT_TRUE(versions.ok()) << versions.status().message();
    return versions.ok() ? versions->at("rows").at(0) : nlohmann::json();
  };
  for (const std::uint64_t result : {100, 101, 102}) {
    Sent(result, 5);
    for (int day = 1; day <= 10; ++day) SendTrickle(result, 5, day * 100, kStart + day * kDay);
    wire::Completion completion = CompletionOf(result, 5, result, kStart + 10 * kDay);
    completion.facts.sent_time = kStart;
    completion.facts.version = AppVersionId(1);
    completion.facts.peak_flops = 1e9;
    completion.facts.elapsed_time = 9 * kDay;
    completion.facts.cpu_time = 9 * kDay;
    Send(kStart + 10 * kDay, completion);
    credit::ValidationFacts validation = ValidationOf(result, 5, result, 50);
    validation.fpops_est = 1e15;
    validation.fpops_bound = 1e17;
    Send(kStart + 10 * kDay, validation);
  }
  EXPECT_EQ(row()["et"]["n"], 3);
  EXPECT_EQ(row()["et"]["mean"], 9 * kDay / 1e15);
  EXPECT_EQ(row()["turnaround"]["mean"], 10 * kDay);
}

// Months of messages at once after an outage are not a cheat: the bound is over the whole job.
TEST_F(TrickleStory, AQueueOfMonthsIsPaidInFullUpToTheWallClock) {
  wire::TrickleRuleChange rule;
  rule.variety = "time";
  rule.kind = "elapsed";
  rule.measure = "elapsed_time";
  Project("", {rule});
  Sent(100, 5);
  const auto send_trickle = [&](double elapsed, double time) {
    Send(time, wire::Trickle{
                   .result = ResultId(100), .host = HostId(5), .variety = "time", .elapsed_time = elapsed});
  };
  // 1 GFLOPS: 200 Cobblestones a day.
  for (int day = 1; day <= 90; ++day) send_trickle(day * kDay, kStart + 90 * kDay);
  EXPECT_EQ(Has(1, 5), "18000.000000 18000.000000 18000.000000");
  send_trickle(400 * kDay, kStart + 91 * kDay);
  EXPECT_EQ(Has(1, 5), "18200.000000 18200.000000 18200.000000");
  const auto partials = Explained(100)["partials"];
  ASSERT_EQ(partials.size(), 91u);
  EXPECT_EQ(partials[90]["bounded_by"][0], "wall_time");
  Audit();
}

TEST_F(TrickleStory, AMovedHostIsPaidByTimeAndSettledWithBothOwners) {
  Project("settle");
  Sent(100, 5);
  SendTrickle(100, 5, 400, kStart + kDay);
  Host(5, 2, kStart + 2 * kDay);
  SendTrickle(100, 5, 700, kStart + 3 * kDay);
  EXPECT_EQ(Account(wire::AccountKind::kUser, 1)["total"], "40.000000");
  EXPECT_EQ(Account(wire::AccountKind::kUser, 2)["total"], "30.000000");
  EXPECT_EQ(Account(wire::AccountKind::kHost, 5)["total"], "70.000000");
  EXPECT_EQ(Account(wire::AccountKind::kHost, 5)["provisional"], "70.000000");
  // The latest payment is reversed first.
  Validated(100, 5, 35, kStart + 4 * kDay);
  EXPECT_EQ(Account(wire::AccountKind::kUser, 1)["total"], "35.000000");
  EXPECT_EQ(Account(wire::AccountKind::kUser, 2)["total"], "0.000000");
  for (const std::uint64_t user : {1, 2})
    EXPECT_EQ(Account(wire::AccountKind::kUser, user)["provisional"], "0.000000");
  EXPECT_EQ(Account(wire::AccountKind::kHost, 5)["total"], "35.000000");
  EXPECT_EQ(Account(wire::AccountKind::kHost, 5)["provisional"], "0.000000");
  Audit();
}

TEST_F(TrickleStory, AMessageWithoutARuleIsRefusedAndChangesNothing) {
  Project("");
  Sent(100, 5);
  SendTrickle(100, 5, 400, kStart + kDay, "weather");
  Send(kStart + kDay,
       wire::Trickle{.result = ResultId(100), .host = HostId(5), .variety = "model", .elapsed_time = 5});
  EXPECT_EQ(CountRefused(), 2u);
  EXPECT_EQ(Has(1, 5), "0.000000 0.000000 0.000000");
  Audit();
}

}  // namespace
}  // namespace cobblestone::testing
