// What operators are shown to watch: hosts whose reports keep rising, and apps whose X has moved.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/support/engine_story.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;

class Watch : public EngineStory {
 protected:
  void SetUp() override {
    Open();
    Send(kStart, wire::AppChange{.app = AppId(1), .name = "fold", .policy = "robust"});
    Send(kStart,
         wire::AppVersionChange{.row = {.id = 1, .app = AppId(1), .version_num = 100, .platform = 1}});
    Send(kStart, wire::UserMember{.user = UserId(1)});
    for (const std::uint64_t host : {7, 8, 9})
      Send(kStart, wire::HostMember{.host = HostId(host), .user = UserId(1)});
  }

  // Seventy further results of the host; each takes `growth` times as long as the one before.
  void Results(std::uint64_t host, double growth) {
    double& elapsed = elapsed_.try_emplace(host, 1000).first->second;
    for (int n = 0; n < 70; ++n) {
      now_ += 10000;
      const std::uint64_t result = ++result_;
      wire::Completion completion = CompletionOf(result, host, result, now_);
      completion.facts.version = AppVersionId(1);
      completion.facts.sent_time = now_ - 10000;
      completion.facts.elapsed_time = elapsed *= growth;
      completion.facts.peak_flops = 1e9;
      Send(now_, completion);
      credit::ValidationFacts validation = ValidationOf(result, host, result, 0);
      validation.fpops_bound = 1e15;
      Send(now_, validation);
    }
  }
  // An app whose X begins at `x` and then follows what two versions measure at once.
  void App(std::uint64_t app, double x) {
    wire::ConstantChanges constants;
    constants.version_average_samples = 1;
    constants.version_average_weight = 0.9;
    Send(kStart, wire::AppChange{.app = AppId(app),
                                 .name = "app " + std::to_string(app),
                                 .policy = "creditnew",
                                 .constants = constants,
                                 .min_avg_pfc = x});
    for (const std::uint64_t version : {10 * app, 10 * app + 1})
      Send(kStart, wire::AppVersionChange{
                       .row = {.id = version, .app = AppId(app), .version_num = 100, .platform = version}});
  }
  // Jobs that take `x` times the work they were estimated at.
  void Measured(std::uint64_t app, double x, double time) {
    for (int n = 0; n < 6; ++n) {
      const std::uint64_t result = ++result_;
      wire::Completion completion = CompletionOf(result, 9, result, time);
      completion.facts.app = AppId(app);
      completion.facts.version = AppVersionId(static_cast<std::int64_t>(10 * app) + n % 2);
      completion.facts.sent_time = time - 10000;
      completion.facts.elapsed_time = 1000 * x;
      completion.facts.peak_flops = 1e9;
      Send(time, completion);
      credit::ValidationFacts validation = ValidationOf(result, 9, result, 0);
      validation.app = AppId(app);
      Send(time, validation);
    }
  }
  json Asked(std::size_t limit = 20) {
    const auto questions = engine_->QuestionsForMany();
    if (!questions.ok()) throw std::runtime_error(questions.status().message());
    const auto watch = (*questions)->Watch(limit);
    return watch.ok() ? *watch : json(watch.status().message());
  }
  // "HOST" of each row, in order.
  static std::string Hosts(const json& watch) {
    std::string text;
    for (const json& row : watch["hosts"]) text += std::to_string(row["host"].get<std::uint64_t>()) + " ";
    return text;
  }

  double now_ = kStart;
  std::map<std::uint64_t, double> elapsed_;  // by host
  std::uint64_t result_ = 0;
};

TEST_F(Watch, ShowsHostsWhoseReportsKeepRisingNewestFirst) {
  Results(9, 1);
  EXPECT_EQ(Asked(), (json{{"hosts", json::array()}, {"levels", json::array()}}));
  Results(7, 1.01);
  const json first = Asked();
  ASSERT_EQ(Hosts(first), "7 ") << first;
  const json& row = first["hosts"][0];
  EXPECT_EQ(row["project"], 1);
  EXPECT_EQ(row["app"], 1);
  EXPECT_EQ(row["app_name"], "fold");
  EXPECT_EQ(row["why"], "rising");
  const auto answer = engine_->questions().Explain(kProject, ResultId(row["result"]));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const json& explained = *answer;
  EXPECT_EQ(explained["grants"][0]["host"], 7);
  const json& flags = explained["grants"][0]["claim"]["flags"];
  EXPECT_NE(std::find(flags.begin(), flags.end(), "rising"), flags.end())
      << "the ledger has the alarm: " << flags;
  Results(8, 1.01);
  const json both = Asked();
  EXPECT_EQ(Hosts(both), "8 7 ");
  EXPECT_EQ(Hosts(Asked(1)), "8 ");
  // The same host again: its newest alarm alone.
  Results(7, 1.01);
  const json again = Asked();
  EXPECT_EQ(Hosts(again), "7 8 ");
  EXPECT_GT(again["hosts"][0]["time"], row["time"]);
  Reopen();
  EXPECT_EQ(Asked(), again) << "a restart forgets nothing";
}

// As the alert CobblestoneLevelMoved: by more than a tenth in a day.
TEST_F(Watch, ShowsAppsWhoseLevelHasMovedWithinADay) {
  App(2, 1);
  App(3, 1);
  App(4, 2);
  // The list of projects is as of the last state write.
  const auto tick = [&](double days) {
    Send(kStart + days * kDay, wire::Tick{.time = kStart + days * kDay});
    Reopen();
  };
  tick(0.1);
  EXPECT_TRUE(Asked()["levels"].empty());
  Measured(2, 1.09, kStart + 0.2 * kDay);
  Measured(3, 1.2, kStart + 0.2 * kDay);
  Measured(4, 1.7, kStart + 0.2 * kDay);
  tick(0.3);
  const json moved = Asked()["levels"];
  ASSERT_EQ(moved.size(), 2u) << moved;
  EXPECT_EQ(moved[0]["app"], 3);
  EXPECT_EQ(moved[0]["app_name"], "app 3");
  EXPECT_NEAR(moved[0]["x"], 1.2, 1e-9);
  EXPECT_EQ(moved[0]["x_before"], 1);
  EXPECT_EQ(moved[0]["time_before"], kStart + 0.1 * kDay);
  EXPECT_EQ(moved[1]["app"], 4);
  EXPECT_EQ(moved[1]["x_before"], 2);
  // The epoch of a day before, not the first one.
  Measured(2, 1.3, kStart + 1.2 * kDay);
  tick(1.4);
  const json later = Asked()["levels"];
  ASSERT_EQ(later.size(), 1u) << later;
  EXPECT_EQ(later[0]["app"], 2);
  EXPECT_NEAR(later[0]["x_before"], 1.09, 1e-9);
}

}  // namespace
}  // namespace cobblestone::testing
