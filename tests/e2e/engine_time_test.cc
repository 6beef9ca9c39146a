// Which events advance the time of a running program.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/embedded/engine.h"
#include "services/pipeline/event_time.h"
#include "tests/support/job_events.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

using embedded::Engine;
using intake::AppendBlock;

namespace {

// Ticks are generated from the times of events, but only of accepted ones.
TEST(EngineTime, OneEventFromTheFutureMakesNoTick) {
  TempDir temp;
  settings::RunSettings settings;
  settings.data_directory = temp / "data";
  settings.partitions = 2;
  settings.threads = 1;
  auto engine = Engine::Open(settings, [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  (*engine)->Start();
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::uint64_t line = 0;
  for (const double time : {now - 5000, now + 10 * 86400.0, now - 1000}) {
    AppendBlock block{.source = "s", .first_line = line++};
    block.lines.push_back(
        {.envelope = wire::EncodeEvent({.head = {.id = line, .project = ProjectId(1), .time = time},
                                        .body = wire::HostMember{.host = HostId(line), .user = UserId(1)}})});
    ASSERT_TRUE((*engine)->Append(block).ok());
  }
  (*engine)->WaitIdle();
  int ticks = 0;
  ASSERT_TRUE((*engine)
                  ->ForEachRecord({wire::kCatalogue, 0},
                                  [&](std::uint64_t, std::string_view record) {
                                    ++ticks;
                                    EXPECT_LT(wire::PeekEventTime(record).value_or(0), now);
                                    return true;
                                  })
                  .ok());
  EXPECT_EQ(ticks, 1) << "for the last event";
  const auto refused = (*engine)->questions().RefusedList(0, 10);
  ASSERT_TRUE(refused.ok());
  ASSERT_EQ((*refused)["refused"].size(), 1u);
  EXPECT_EQ((*refused)["refused"][0]["reason"], "FROM_THE_FUTURE");
}

// Projects with an app whose results wait ten days for their validation, and sources that send one event at a time.
class TimeByProject : public ::testing::Test {
 protected:
  static constexpr double kDay = 86400;
  static constexpr double kOld = 1.7e9;  // in 2023
  const double kNow =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();

  TimeByProject() {
    settings_.data_directory = temp_ / "data";
    settings_.partitions = 2;
    settings_.threads = 2;
  }
  void SetUp() override { Open(); }
  void Open() {
    auto engine = Engine::Open(settings_, [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    engine_ = std::move(*engine);
    engine_->Start();
  }
  void SendBytes(const std::string& source, std::string envelope) {
    const auto routing = wire::PeekRouting(envelope);
    AppendBlock block{.source = source, .first_line = engine_->Producer(source).lines};
    // A tick is a broadcast that needs no barrier.
    block.barrier =
        routing && routing->key == wire::KeyKind::kBroadcast && routing->kind != wire::EventKind::kTick;
    block.lines.push_back({.envelope = std::move(envelope)});
    const auto appended = engine_->Append(block);
    ASSERT_TRUE(appended.ok()) << appended.status().message();
    engine_->WaitIdle();
    ASSERT_TRUE(engine_->failure().ok()) << engine_->failure().message();
  }
  void Send(std::uint32_t project, double time, wire::EventBody body) {
    SendBytes("project " + std::to_string(project),
              wire::EncodeEvent({.head = {.id = ++id_, .project = ProjectId(project), .time = time},
                                 .body = std::move(body)}));
  }
  void Begin(std::uint32_t project, double time) {
    Send(project, time,
         wire::AppChange{
             .app = AppId(1), .policy = "assigned", .delay_bound = kDay, .result_window = 10 * kDay});
    Send(project, time, wire::UserMember{.user = UserId(1)});
    Send(project, time, wire::HostMember{.host = HostId(1), .user = UserId(1), .cpus = 1});
  }
  void Complete(std::uint32_t project, double time, std::uint64_t result) {
    Send(project, time, CompletionOf(result, 1, result, time));
  }
  void Validate(std::uint32_t project, double time, std::uint64_t result) {
    Send(project, time, ValidationOf(result, 1, result, 5));
  }
  std::vector<std::string> Refusals() {
    std::vector<std::string> reasons;
    const auto list = engine_->questions().RefusedList(0, 100);
    EXPECT_TRUE(list.ok());
    if (list.ok())
      for (const auto& one : (*list)["refused"]) reasons.push_back(one["reason"]);
    return reasons;
  }
  std::uint64_t Grants(std::uint32_t project) {
    const auto user = engine_->questions().Account(ProjectId(project), wire::AccountKind::kUser, 1);
    EXPECT_TRUE(user.ok()) << user.status().message();
    return user.ok() ? (*user).value("grants", std::uint64_t{0}) : 0;
  }
  double TimeOf(std::uint32_t project) {
    const auto projects = engine_->questions().Projects();
    EXPECT_TRUE(projects.ok());
    if (projects.ok())
      for (const auto& one : *projects)
        if (one["project"] == project) return one["event_time"];
    return -1;
  }

  TempDir temp_;
  settings::RunSettings settings_;
  std::unique_ptr<Engine> engine_;
  std::uint64_t id_ = 0;
};

// A result of project 1, of 2023, waits for its validation; no event of another project makes it expire.
TEST_F(TimeByProject, NoEventOfAnotherProjectMakesAResultExpire) {
  Begin(1, kOld);
  Begin(2, kNow - kDay);
  Complete(1, kOld + 3600, 1);
  Complete(1, kOld + 7200, 2);
  const double time = TimeOf(1);
  EXPECT_GT(time, kOld);

  const auto event = [this](double when, std::uint64_t id, wire::EventBody body) {
    return wire::EncodeEvent(
        {.head = {.id = id, .project = ProjectId(2), .time = when}, .body = std::move(body)});
  };
  struct Case {
    const char* what;
    std::string envelope;
  };
  const Case cases[] = {
      {"an event of now", event(kNow, 1, wire::HostMember{.host = HostId(1), .user = UserId(1)})},
      {"one more, ten minutes later", event(kNow + 600, 2, wire::HostMember{.host = HostId(2)})},
      {"a completion of a host that there is not", event(kNow, 3, CompletionOf(1, 9, 1, kNow))},
      {"an event without an id", event(kNow, 0, wire::UserMember{.user = UserId(1)})},
      {"an event within future_limit", event(kNow + 3000, 4, wire::UserMember{.user = UserId(2)})},
      {"an event beyond future_limit", event(kNow + 4000, 5, wire::UserMember{.user = UserId(3)})},
      {"an event of the year 2255", event(9e9, 6, wire::UserMember{.user = UserId(4)})},
      {"a tick of its project", event(kNow, 7, wire::Tick{.time = kNow})},
      {"bytes that are no event", "\x0a\xff\xff no event"},
  };
  for (const Case& one : cases) {
    SendBytes("another", one.envelope);
    EXPECT_EQ(TimeOf(1), time) << one.what;
  }
  EXPECT_GE(TimeOf(2), kNow) << "its own time has advanced";

  const auto before = Refusals();
  Validate(1, kOld + 7300, 1);
  Validate(1, kOld + 7300, 2);
  EXPECT_EQ(Grants(1), 2u);
  EXPECT_EQ(Refusals(), before) << "no refusal of project 1";
}

TEST_F(TimeByProject, ARefusedEventDoesNotAdvanceItsProjectsTime) {
  Begin(1, kOld);
  Complete(1, kOld + 3600, 1);
  const double time = TimeOf(1);
  for (const std::uint64_t project : {1, 0})
    SendBytes("wrong", wire::EncodeEvent({.head = {.id = project == 1 ? 0u : 1u,
                                                   .project = ProjectId(static_cast<std::uint32_t>(project)),
                                                   .time = kNow},
                                          .body = wire::HostMember{.host = HostId(7), .user = UserId(1)}}));
  SendBytes("wrong", wire::EncodeEvent({.head = {.id = 0, .project = ProjectId(1), .time = kNow},
                                        .body = wire::Tick{.time = kNow}}));
  EXPECT_EQ(Refusals(), (std::vector<std::string>{"MISSING_FIELD", "MISSING_FIELD", "MISSING_FIELD"}));
  EXPECT_EQ(TimeOf(1), time);
  Validate(1, kOld + 3700, 1);
  EXPECT_EQ(Grants(1), 1u);
}

// Events alternate, also over a restart. In each project, events that wait too long by the project's own time are
// refused.
TEST_F(TimeByProject, AProjectOf2023IsIngestedBesideALiveOne) {
  const std::map<std::uint32_t, double> starts = {{1, kOld}, {2, kNow - 60 * kDay}};
  for (const auto& [project, start] : starts) Begin(project, start);
  std::uint64_t result = 0;
  for (int day = 0; day < 40; ++day) {
    if (day == 20) {
      ASSERT_TRUE(engine_->Stop().ok());
      engine_.reset();
      Open();
    }
    ++result;
    for (const auto& [project, start] : starts) {
      Complete(project, start + day * kDay, result);
      if (day != 5) Validate(project, start + (day + 0.5) * kDay, result);
      if (day > 0) {
        EXPECT_NEAR(TimeOf(project), start + (day + 0.5) * kDay, kDay);
      }
    }
  }
  for (const auto& [project, start] : starts) EXPECT_EQ(Grants(project), 39u) << project;
  EXPECT_EQ(Refusals(), (std::vector<std::string>{"UNKNOWN_RESULT", "UNKNOWN_RESULT"}))
      << "in each project the result that was never validated";
}

// A source that alternates broadcasts and completions, so that each event waits for all before it.
TEST_F(TimeByProject, AnEndlessSourceOfBroadcastsDoesNotStarveOthers) {
  Begin(1, kOld);
  std::atomic<bool> others_done = false;
  std::atomic<std::uint64_t> sent = 0;
  constexpr std::uint64_t kMax = 4000;
  std::thread broadcasts([&] {
    for (std::uint64_t line = 0; line < kMax && !others_done; ++line) {
      AppendBlock block{.source = "broadcasts", .first_line = line, .barrier = line % 2 == 0};
      wire::Event event{.head = {.id = line + 1, .project = ProjectId(2), .time = kOld}, .body = {}};
      if (block.barrier)
        event.body = wire::AppChange{.app = AppId(1), .policy = "assigned", .delay_bound = kDay};
      else
        event.body = CompletionOf(line, 1, line, kOld);
      block.lines.push_back({.envelope = wire::EncodeEvent(event)});
      const auto appended = engine_->BeginAppend(block);
      ASSERT_TRUE(appended.ok()) << appended.status().message();
      sent = line + 1;
    }
  });
  while (sent == 0) std::this_thread::yield();
  for (std::uint64_t i = 0; i < 20; ++i) {
    AppendBlock block{.source = "other " + std::to_string(i)};
    block.lines.push_back(
        {.envelope = wire::EncodeEvent({.head = {.id = i + 1, .project = ProjectId(1), .time = kOld},
                                        .body = CompletionOf(100 + i, 1, 100 + i, kOld)})});
    const auto appended = engine_->Append(block);
    EXPECT_TRUE(appended.ok()) << appended.status().message();
  }
  others_done = true;
  broadcasts.join();
  EXPECT_LT(sent, kMax) << "all others were appended before this source came to its end";
}

}  // namespace
}  // namespace cobblestone::testing
