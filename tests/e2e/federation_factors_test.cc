// Factors of plan classes from projects to a hub's arithmetic and back, with running pipelines and a local server that
// plays the hub.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "common/federation/factors.h"
#include "common/federation/plan_class.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/access/engine_pipeline.h"
#include "services/embedded/engine.h"
#include "services/factors/factor_taker.h"
#include "services/factors/hub_answer.h"
#include "tests/support/job_events.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {
namespace {

using factors::FactorTaker;
using federation::Factor;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;

// Plays a hub: answers with the text that was set last, or with status 503.
class HubServer {
 public:
  HubServer() {
    server_.Get("/api/v1/federation/factors", [this](const httplib::Request&, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      ++asked_;
      response.status = away_ ? 503 : 200;
      response.set_content(answer_, "application/json");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~HubServer() {
    server_.stop();
    thread_.join();
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void Answer(std::string text) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(text);
    away_ = false;
  }
  void GoAway() {
    const std::lock_guard lock(mutex_);
    away_ = true;
  }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::string answer_ = "{}";
  bool away_ = false;
  int asked_ = 0;
};

std::string AnswerOf(std::uint64_t sequence, double as_of, const std::map<std::string, double>& cuda_like) {
  json factors = json::array();
  for (const auto& [plan_class, factor] : cuda_like)
    factors.push_back(
        {{"plan_class", plan_class},
         {"resource", "nvidia"},
         {"factor", factor},
         {"is_default", false},
         {"contributions", {{{"project", 1}, {"name", "P1"}, {"weight", 1.0}, {"value", factor}}}},
         {"left_out", json::array()}});
  return json{{"data", {{"sequence", sequence}, {"as_of", as_of}, {"factors", factors}}}}.dump();
}

// A deployment of several projects. Each has app 1 with a CPU version 1 and a GPU version 2 (cuda), unless it has GPU
// versions only.
class FederationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_.data_directory = temp_ / "data";
    settings_.partitions = 2;
    settings_.threads = 2;
    settings_.hub.url = hub_.url();
    settings_.hub.interval = std::chrono::hours(24);  // the test asks itself
    options_.clock = [this] { return now_.load(); };
    Open();
  }
  void TearDown() override { taker_.reset(); }
  void Open() {
    auto engine = embedded::Engine::Open(
        settings_, [](const std::string&) {}, options_);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    engine_ = std::move(*engine);
    engine_->Start();
    pipeline_ = access::MakeEnginePipeline(*engine_, true, nullptr);
  }
  void StartTaker() {
    taker_ = std::make_unique<FactorTaker>(factors::TakerOptions{.hub = settings_.hub,
                                                                 .clock = [this] { return now_.load(); },
                                                                 .warn =
                                                                     [this](const std::string& what) {
                                                                       const std::lock_guard lock(mutex_);
                                                                       warnings_.push_back(what);
                                                                     }},
                                           engine_->live_state(), *pipeline_);
    // It asks at once in its own thread.
    for (int wait = 0; wait < 6000 && !taker_->Look().answered && taker_->Look().failures == 0; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::vector<std::string> warnings() {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

  void Put(std::uint32_t project, double time, wire::EventBody body) {
    queued_.push_back(
        {.envelope = wire::EncodeEvent(
             {.head = {.id = ++id_, .project = ProjectId(project), .time = time}, .body = std::move(body)})});
  }
  void Flush(bool barrier = false) {
    intake::AppendBlock block{
        .source = "story", .first_line = lines_, .lines = std::move(queued_), .own_ticks = true};
    block.barrier = barrier;
    lines_ += block.lines.size();
    queued_.clear();
    const auto appended = engine_->Append(block);
    ASSERT_TRUE(appended.ok()) << appended.status().message();
    engine_->WaitIdle();
    ASSERT_TRUE(engine_->failure().ok()) << engine_->failure().message();
  }
  void Broadcast(std::uint32_t project, double time, wire::EventBody body) {
    Put(project, time, std::move(body));
    Flush(true);
  }
  void Tick(double time) {
    now_ = time;
    Broadcast(0, time, wire::Tick{.time = time});
  }
  // A new epoch, in which a changed factor is in force.
  void NextEpoch() { Tick(now_ + 600); }

  void MakeProject(std::uint32_t project, bool mixed) {
    Broadcast(project, kStart,
              wire::AppChange{.app = AppId(1), .name = "fold", .policy = "creditnew", .delay_bound = kDay});
    if (mixed)
      Broadcast(project, kStart,
                wire::AppVersionChange{.row = {.id = 1,
                                               .app = AppId(1),
                                               .version_num = 100,
                                               .platform = 1,
                                               .resource = credit::Resource::kCpu}});
    Broadcast(project, kStart,
              wire::AppVersionChange{.row = {.id = 2,
                                             .app = AppId(1),
                                             .version_num = 100,
                                             .platform = 1,
                                             .plan_class = "cuda",
                                             .resource = credit::Resource::kNvidia}});
    Put(project, kStart, wire::UserMember{.user = UserId(1)});
    for (std::uint64_t host = 1; host <= 4; ++host)
      Put(project, kStart, wire::HostMember{.host = HostId(host), .user = UserId(1), .cpus = 4, .gpus = 1});
    Flush();
  }
  // A valid result whose peak FLOP count is `ratio` times the FLOPs of the job.
  void Result(std::uint32_t project, double time, std::uint64_t result, std::uint64_t host,
              std::int64_t version, double ratio) {
    constexpr double kEstimate = 8.64e12;
    const double peak = version == 1 ? 1e9 : 1e12;
    wire::Completion completion = CompletionOf(result, host, result, time);
    completion.facts.version = AppVersionId(version);
    completion.facts.peak_flops = peak;
    completion.facts.elapsed_time = ratio * kEstimate / peak;
    completion.facts.sent_time = time - completion.facts.elapsed_time - 60;
    credit::ValidationFacts validation = ValidationOf(result, host, result, 0);
    validation.assigned_credit.reset();
    validation.fpops_est = kEstimate;
    validation.fpops_bound = 100 * kEstimate;
    Put(project, time, completion);
    Put(project, time, validation);
  }
  // 120 GPU results, each with `gpu` times the FLOPs of its job on average, and as many CPU results with 1. Jobs differ
  // by up to a tenth, and the second host of a kind needs a third more than the first.
  void Traffic(std::uint32_t project, double time, bool mixed, double gpu) {
    now_ = std::max(now_.load(), time);
    for (std::uint64_t n = 0; n < 120; ++n) {
      const double job = 0.9 + 0.05 * static_cast<double>(n % 5);
      const double host = n % 2 == 0 ? 6.0 / 7 : 8.0 / 7;
      Result(project, time, ++result_, 1 + n % 2, 2, gpu * job * host);
      if (mixed) Result(project, time, ++result_, 3 + n % 2, 1, job * host);
    }
    Flush();
  }

  json Published(std::uint32_t project) {
    const auto versions = engine_->questions().AppVersions(ProjectId(project));
    EXPECT_TRUE(versions.ok()) << versions.status().message();
    return versions.ok() ? *versions : json();
  }
  json Scales(std::uint32_t project) {
    const auto scales = engine_->questions().Scales(ProjectId(project));
    EXPECT_TRUE(scales.ok()) << scales.status().message();
    return scales.ok() ? *scales : json();
  }
  double ScaleOf(std::uint32_t project, std::uint64_t version) {
    const json scales = Scales(project);
    for (const json& row : scales["versions"])
      if (row["app_version"] == version) return row["scale"];
    return 0;
  }
  // Cobblestones of the GPU hosts.
  double GpuCredit(std::uint32_t project) {
    double credit = 0;
    for (const std::uint64_t host : {1u, 2u}) {
      const auto account = engine_->questions().Account(ProjectId(project), wire::AccountKind::kHost, host);
      EXPECT_TRUE(account.ok()) << account.status().message();
      if (account.ok()) credit += std::stod(account->at("total").get<std::string>());
    }
    return credit;
  }
  // Events of this kind in the catalogue topic.
  int FactorEventsAppended() {
    int count = 0;
    const Status read =
        engine_->ForEachRecord({wire::kCatalogue, 0}, [&](std::uint64_t, std::string_view record) {
          count += wire::PeekKind(record) == wire::EventKind::kPlanClassFactor ? 1 : 0;
          return true;
        });
    EXPECT_TRUE(read.ok()) << read.message();
    return count;
  }
  std::uint64_t Refused() { return engine_->log().DurableEnd({wire::kRefused, 0}); }

  HubServer hub_;
  TempDir temp_;
  settings::RunSettings settings_;
  embedded::EngineOptions options_;
  std::atomic<double> now_{kStart};
  std::unique_ptr<embedded::Engine> engine_;
  std::unique_ptr<gateway::Pipeline> pipeline_;
  std::unique_ptr<FactorTaker> taker_;
  std::vector<intake::SourceLine> queued_;
  std::uint64_t lines_ = 0;
  std::uint64_t id_ = 0;
  std::uint64_t result_ = 0;
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

// What a hub stores of a project's answer.
std::vector<federation::VersionReport> ReportsOf(const json& published) {
  std::vector<federation::VersionReport> reports;
  for (const json& row : published["app_versions"]) {
    federation::VersionReport report{
        .project = published["project"],
        .project_name = "P" + std::to_string(published["project"].get<int>()),
        .app = row["app"],
        .app_version = row["app_version"],
        .plan_class = row["plan_class"],
        .resource = federation::ResourceOfName(row["resource"].get<std::string>()),
        .samples = row["samples"],
        .recent_credit = row["recent_credit"],
        .recent_time = published["as_of"],
        .both_kinds = row["both_kinds"],
        .deprecated = row["deprecated"],
        .time = published["as_of"]};
    if (!row["scale"].is_null()) report.scale = row["scale"];
    reports.push_back(report);
  }
  return reports;
}

std::string AnswerOf(const federation::Factors& computed, std::uint64_t sequence, double as_of) {
  json factors = json::array();
  for (const Factor& factor : computed.factors) {
    json contributions = json::array();
    for (const federation::Contribution& one : factor.contributions)
      contributions.push_back({{"project", one.project},
                               {"name", one.project_name},
                               {"weight", one.weight},
                               {"value", one.value}});
    factors.push_back({{"plan_class", factor.plan_class},
                       {"resource", federation::ResourceName(factor.resource)},
                       {"factor", factor.factor},
                       {"is_default", factor.is_default},
                       {"contributions", contributions}});
  }
  return json{{"data", {{"sequence", sequence}, {"as_of", as_of}, {"factors", factors}}}}.dump();
}

// The GPU versions of three mixed projects need 2.04, 2.0 and 1.95 times the FLOPs of their jobs, and their CPU versions
// 1.0. Their scales are 0.490, 0.5 and 0.513, so the factor is 0.5. Project 4 runs the GPU results of project 1 and has no
// CPU version. For the same results it grants 0.1 x 2.04 = 0.204 of what project 1 grants by the default, and 0.5 x 2.04
// = 1.02 by the factor.
TEST_F(FederationTest, AProjectWithoutCpuVersionsGrantsWhatAMixedProjectGrants) {
  const std::map<std::uint32_t, double> mixed{{1, 2.04}, {2, 2.0}, {3, 1.95}};
  for (const auto& [project, gpu] : mixed) MakeProject(project, true);
  MakeProject(4, false);
  double time = kStart + kDay;
  const auto day = [&] {
    const std::uint64_t first = result_;
    for (const auto& [project, gpu] : mixed) {
      result_ = first;
      Traffic(project, time, true, gpu);
    }
    result_ = first;
    Traffic(4, time, false, mixed.at(1));
    result_ = first + 1000;
    Tick(time + 600);
    time += kDay;
  };
  Tick(kStart + 60);
  day();

  // A day by the default.
  EXPECT_EQ(ScaleOf(4, 2), 0.1);
  double before1 = GpuCredit(1);
  double before4 = GpuCredit(4);
  day();
  const double by_default = (GpuCredit(4) - before4) / (GpuCredit(1) - before1);
  EXPECT_NEAR(by_default, 0.204, 0.002);

  std::vector<federation::VersionReport> reports;
  for (std::uint32_t project = 1; project <= 4; ++project)
    for (const auto& report : ReportsOf(Published(project))) reports.push_back(report);
  const auto computed = federation::ComputeFactors(reports, {}, {}, now_);
  ASSERT_EQ(computed.factors.size(), 1u);
  const Factor& factor = computed.factors[0];
  EXPECT_NEAR(factor.factor, 0.5, 1e-9);
  ASSERT_EQ(factor.contributions.size(), 3u);
  EXPECT_NEAR(factor.contributions[2].value, 1 / 1.95, 1e-9);
  ASSERT_EQ(factor.left_out.size(), 1u);
  EXPECT_EQ(factor.left_out[0].project, 4u);
  EXPECT_EQ(factor.left_out[0].reason, federation::LeftOutReason::kGpuOnly);

  hub_.Answer(AnswerOf(computed, 1, now_));
  StartTaker();
  ASSERT_TRUE(taker_->AskNow().ok());
  NextEpoch();
  EXPECT_NEAR(ScaleOf(4, 2), 0.5, 1e-9);
  const json in_force = Scales(4)["factors"];
  ASSERT_EQ(in_force.size(), 1u);
  EXPECT_THAT(in_force[0]["provenance"].get<std::string>(),
              HasSubstr(", sequence 1: 3 projects: P1 (33.3 %, 0.490196), P2 (33.3 %, 0.5)"));

  before1 = GpuCredit(1);
  before4 = GpuCredit(4);
  day();
  const double by_factor = (GpuCredit(4) - before4) / (GpuCredit(1) - before1);
  EXPECT_NEAR(by_factor, 1.0, 0.05);
  EXPECT_NEAR(by_factor, 1.02, 0.002);
  RecordProperty("granted_by_default", std::to_string(by_default));
  RecordProperty("granted_by_factor", std::to_string(by_factor));

  // The factor in force changes the GPU-only project's own report, and no factor.
  reports.clear();
  for (std::uint32_t project = 1; project <= 4; ++project)
    for (const auto& report : ReportsOf(Published(project))) reports.push_back(report);
  const auto next = federation::ComputeFactors(reports, {}, computed.factors, now_);
  ASSERT_EQ(next.factors.size(), 1u);
  EXPECT_NEAR(next.factors[0].factor, factor.factor, 1e-9);
}

// Applied once, changed later, the hub away for a week, restarts in between.
TEST_F(FederationTest, FactorsStayInForceWhileTheHubIsAway) {
  MakeProject(1, false);
  MakeProject(2, false);
  Tick(kStart + 60);
  double time = kStart + kDay;
  now_ = time;
  hub_.Answer(AnswerOf(1, time - 100, {{"cuda", 0.4}, {"cuda_other", 0.7}}));
  StartTaker();
  ASSERT_TRUE(taker_->AskNow().ok());
  EXPECT_EQ(FactorEventsAppended(), 2) << "a class that no project has is not sent";
  NextEpoch();
  for (const std::uint32_t project : {1u, 2u}) EXPECT_EQ(ScaleOf(project, 2), 0.4);
  const auto epoch = Scales(1)["epoch"];

  // The same answer again, and after a restart that forgets everything but the log.
  ASSERT_TRUE(taker_->AskNow().ok());
  taker_.reset();
  pipeline_.reset();
  ASSERT_TRUE(engine_->Stop().ok());
  engine_.reset();
  Open();
  StartTaker();
  ASSERT_TRUE(taker_->AskNow().ok());
  EXPECT_EQ(FactorEventsAppended(), 2);
  EXPECT_EQ(Scales(1)["epoch"], epoch);

  // A week without the hub, with a restart of the process in the middle.
  hub_.GoAway();
  for (int day = 0; day < 7; ++day) {
    time += kDay;
    for (const std::uint32_t project : {1u, 2u}) Traffic(project, time - 60, false, 2.0);
    Tick(time);
    const int asked = hub_.asked();
    EXPECT_FALSE(taker_->AskNow().ok());
    EXPECT_GT(hub_.asked(), asked);
    for (const std::uint32_t project : {1u, 2u}) EXPECT_EQ(ScaleOf(project, 2), 0.4) << "day " << day;
    if (day == 3) {
      taker_.reset();
      StartTaker();
    }
  }
  const metrics::HubLook away = taker_->Look();
  EXPECT_FALSE(away.answered);
  EXPECT_EQ(away.as_of, kStart + 60)
      << "the time of the events that set the factors, at the project's time then";
  EXPECT_GE(away.failures, 3u);
  EXPECT_EQ(FactorEventsAppended(), 2);
  ASSERT_FALSE(warnings().empty());
  EXPECT_THAT(warnings().back(), HasSubstr("has status 503. The factors in force stay"));

  // The hub is back with other factors.
  hub_.Answer(AnswerOf(9, time - 100, {{"cuda", 0.44}}));
  ASSERT_TRUE(taker_->AskNow().ok());
  EXPECT_EQ(FactorEventsAppended(), 4);
  EXPECT_EQ(taker_->Look().last_success, time);
  NextEpoch();
  for (const std::uint32_t project : {1u, 2u}) EXPECT_EQ(ScaleOf(project, 2), 0.44);
  EXPECT_EQ(taker_->Look().as_of, time - 100);
  EXPECT_EQ(Refused(), 0u);
}

TEST_F(FederationTest, AnswersThatCannotBeRightChangeNothing) {
  MakeProject(1, false);
  Tick(kStart + 60);
  const double time = kStart + kDay;
  now_ = time;
  hub_.Answer(AnswerOf(5, time, {{"cuda", 0.4}}));
  StartTaker();
  ASSERT_TRUE(taker_->AskNow().ok());
  for (const std::string& bad :
       {AnswerOf(4, time - 1, {{"cuda", 0.5}}), AnswerOf(6, time + 2 * kDay, {{"cuda", 0.5}}),
        std::string("<html>"), std::string(5u << 20, ' ')}) {
    hub_.Answer(bad);
    EXPECT_FALSE(taker_->AskNow().ok()) << bad.substr(0, 100);
    EXPECT_EQ(Scales(1)["factors"][0]["factor"], 0.4);
  }
  EXPECT_EQ(taker_->Look().failures, 4u);
  // Accepted, but the factor is beyond every bound.
  hub_.Answer(AnswerOf(6, time, {{"cuda", 1e6}}));
  EXPECT_TRUE(taker_->AskNow().ok());
  NextEpoch();
  EXPECT_EQ(ScaleOf(1, 2), 0.4);
  EXPECT_EQ(taker_->Look().failures, 5u);
  EXPECT_THAT(warnings().back(), HasSubstr("outside 0.0001 to 100"));
  EXPECT_EQ(FactorEventsAppended(), 1);
}

// Two processes ask the same hub (gateways on Kafka), and both see the state from before the first answer.
TEST_F(FederationTest, AnEventThatIsSentTwiceIsAppliedOnce) {
  MakeProject(1, false);
  Tick(kStart + 60);
  now_ = kStart + kDay;
  const std::string answer = AnswerOf(1, kStart + 30, {{"cuda", 0.4}});
  hub_.Answer(answer);
  const factors::ProjectFactors before{
      .project = ProjectId(1), .time = kStart + 60, .classes = {{"cuda", credit::Resource::kNvidia}}};
  auto parsed = factors::ParseHubAnswer(answer);
  ASSERT_TRUE(parsed.ok());
  parsed->hub = hub_.url();
  StartTaker();
  ASSERT_TRUE(taker_->AskNow().ok());
  const auto epoch = Scales(1)["epoch"];
  const factors::FactorEvents again = factors::EventsOf(*parsed, {before});
  ASSERT_EQ(again.events.size(), 1u);
  queued_.push_back({.envelope = wire::EncodeEvent(again.events[0])});
  Flush(true);
  EXPECT_EQ(FactorEventsAppended(), 2);
  EXPECT_EQ(Scales(1)["epoch"], epoch);
  EXPECT_EQ(Refused(), 0u);
}

}  // namespace
}  // namespace cobblestone::testing
