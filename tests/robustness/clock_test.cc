// A wrong clock, while the pipeline runs and between its runs: no number changes, nothing is refused or lost,
// and event time neither goes back nor runs far ahead.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/wire/control/control_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/embedded/engine.h"
#include "tests/robustness/traffic.h"
#include "tests/support/oracle.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using embedded::Engine;
using embedded::EngineOptions;
using intake::AppendBlock;

namespace {

using ::testing::ElementsAre;
using testing::Event;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kStart = 1.7e9;  // start of the traffic, UNIX s
constexpr double kHour = 3600;
constexpr double kDay = 86400;
constexpr double kYear2100 = 4102444800;

// True time, and the offset of the wall clock from it, s. Outlives the engines.
struct FakeClock {
  std::atomic<double> now{kStart};
  std::atomic<double> off{0};
  std::atomic<double> machine_started{kStart - 1000};

  [[nodiscard]] EngineOptions Options() {
    return {.clock = [this] { return now + off; },
            .steady = [this] { return now - machine_started; },
            .accept_time_jump = false,
            .warn =
                [this](const std::string& what) {
                  std::lock_guard lock(mutex);
                  warnings.push_back(what);
                }};
  }
  std::vector<std::string> Warnings() {
    std::lock_guard lock(mutex);
    return std::exchange(warnings, {});
  }

  std::mutex mutex;
  std::vector<std::string> warnings;
};

std::unique_ptr<Engine> Open(const settings::RunSettings& settings, const EngineOptions& options) {
  auto engine = Engine::Open(
      settings, [](const std::string&) {}, options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  if (!engine.ok()) return nullptr;
  (*engine)->Start();
  return *std::move(engine);
}

// Ticks as the claims stage of partition 0 received them.
std::vector<double> TicksOf(Engine& engine) {
  engine.WaitIdle();
  std::vector<double> ticks;
  const Status status =
      engine.ForEachRecord({wire::kControl, 0}, [&](std::uint64_t, std::string_view record) {
        wire::ControlView control;
        EXPECT_TRUE(wire::DecodeControl(record, &control));
        if (control.kind == wire::ControlKind::kWatermark && control.watermark.time > 0)
          ticks.push_back(control.watermark.time);
        return true;
      });
  EXPECT_TRUE(status.ok()) << status.message();
  return ticks;
}

std::map<std::string, std::uint64_t> RefusalsOf(Engine& engine) {
  testing::Outcome outcome;
  const Status status =
      engine.ForEachRecord({wire::kRefused, 0}, [&](std::uint64_t, std::string_view record) {
        EXPECT_TRUE(testing::AddRefusedRecord(record, &outcome));
        return true;
      });
  EXPECT_TRUE(status.ok()) << status.message();
  return outcome.refusals;
}

// Sends the source up to event `end` as a live project does: each block at the true time of its last event.
void IngestLive(Engine& engine, const std::vector<Event>& events, std::size_t end, FakeClock& clock) {
  std::uint64_t at = engine.Producer("traffic").lines;
  while (at < end) {
    AppendBlock block{.source = "traffic", .first_line = at, .barrier = events[at].broadcast};
    double now = clock.now;
    while (at < end && block.lines.size() < 300 && events[at].broadcast == block.barrier) {
      const double time = wire::PeekEventTime(events[at].envelope).value_or(0);
      if (time < kYear2100) now = std::max(now, time);
      block.lines.push_back({.envelope = events[at].envelope});
      ++at;
    }
    clock.now = now;
    const auto outcome = engine.Append(block);
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  }
  engine.WaitIdle();
  ASSERT_TRUE(engine.failure().ok()) << engine.failure().message();
}

constexpr double kRight = 0;
constexpr double kFiveHoursBack = -5 * kHour;
constexpr double kFlatBattery = -kStart;  // 1970

TEST(Clock, SettingTheClockBackChangesNoResult) {
  const testing::TempDir temp;
  const std::vector<Event> events = testing::Traffic(21, 6000);
  const std::size_t part = events.size() / 6;
  settings::RunSettings settings = testing::BusySettings(temp / "data");
  settings.retention.inputs_age = std::chrono::hours(24);
  FakeClock clock;
  const auto ingest = [&](Engine& engine, std::size_t end, double off) {
    clock.off = off;
    IngestLive(engine, events, end, clock);
  };
  {
    const auto engine = Open(settings, clock.Options());
    ASSERT_NE(engine, nullptr);
    ingest(*engine, part, kRight);
    ingest(*engine, 2 * part, kFiveHoursBack);
    ingest(*engine, 3 * part, kFlatBattery);
    ASSERT_TRUE(engine->Stop().ok());
  }
  clock.machine_started = clock.now - 5;
  {
    const auto engine = Open(settings, clock.Options());
    ASSERT_NE(engine, nullptr);
    ingest(*engine, 4 * part, kFlatBattery);
    ingest(*engine, 5 * part, kRight);
    ASSERT_TRUE(engine->Stop().ok());
  }
  clock.off = kFiveHoursBack;
  const auto engine = Open(settings, clock.Options());
  ASSERT_NE(engine, nullptr);
  ingest(*engine, events.size(), kFiveHoursBack);

  testing::ExpectLikeTheOracle(*engine, events);
  EXPECT_EQ(RefusalsOf(*engine).count("FROM_THE_FUTURE"), 0u);
  const std::vector<double> ticks = TicksOf(*engine);
  EXPECT_GT(ticks.size(), 100u) << "event time advances throughout";
  EXPECT_TRUE(std::is_sorted(ticks.begin(), ticks.end(), std::less_equal<>()))
      << "event time never goes back";
  EXPECT_LE(ticks.back(), clock.now);
}

// With `ticks: input` events advance event time. An event with a wrong date must not, or every deferred event
// would expire.
TEST(Clock, AnEventOrTickFromTheYear2100DoesNotAdvanceTime) {
  const testing::TempDir temp;
  const std::vector<Event> events = testing::Traffic(22, 2000);
  // Placed between two halves of the traffic: a completion, and a tick that the source itself sends.
  std::vector<Event> with_wrong_events(events.begin(),
                                       events.begin() + static_cast<std::ptrdiff_t>(events.size() / 2));
  const auto completion = std::find_if(events.begin(), events.end(), [](const Event& event) {
    return wire::PeekKind(event.envelope) == wire::EventKind::kCompletion;
  });
  ASSERT_NE(completion, events.end());
  wire::Event wrong = *wire::ParseEvent(completion->envelope);
  wrong.head = {.id = 990001, .project = wrong.head.project, .time = kYear2100};
  std::get<wire::Completion>(wrong.body).facts.result = ResultId(990001);
  with_wrong_events.push_back({wire::EncodeEvent(wrong), false});
  with_wrong_events.push_back({wire::EncodeEvent({.head = {.id = 990002, .project = {}, .time = kYear2100},
                                                  .body = wire::Tick{.time = kYear2100}}),
                               false});
  with_wrong_events.insert(with_wrong_events.end(),
                           events.begin() + static_cast<std::ptrdiff_t>(events.size() / 2), events.end());

  FakeClock clock;
  const auto engine = Open(testing::BusySettings(temp / "data"), clock.Options());
  ASSERT_NE(engine, nullptr);
  IngestLive(*engine, with_wrong_events, with_wrong_events.size(), clock);
  testing::ExpectLikeTheOracle(*engine, events);
  EXPECT_EQ(RefusalsOf(*engine)["FROM_THE_FUTURE"], 2u);
  const std::vector<double> ticks = TicksOf(*engine);
  ASSERT_GT(ticks.size(), 100u) << "event time advances after the wrong events";
  EXPECT_LE(ticks.back(), clock.now);
}

class WallTicks : public ::testing::Test {
 protected:
  WallTicks() : settings_(testing::BusySettings(temp_ / "data")) { settings_.ticks = settings::Ticks::kWall; }

  // With one project: the coordinator announces ticks only to known projects.
  std::unique_ptr<Engine> OpenWithProject(bool accept_time_jump) {
    EngineOptions options = clock_.Options();
    options.accept_time_jump = accept_time_jump;
    auto engine = Open(settings_, options);
    if (engine == nullptr || engine->Producer("project").lines > 0) return engine;
    engine->LookAtClock();  // otherwise the thread's first tick sometimes comes after the project
    const std::string app =
        wire::EncodeEvent({.head = {.id = 1, .project = ProjectId(1), .time = kStart},
                           .body = wire::AppChange{.app = AppId(1), .policy = "runtime"}});
    const auto answer =
        engine->Append({.source = "project", .first_line = 0, .lines = {{.envelope = app}}, .barrier = true});
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return engine;
  }
  // New ticks after the wall clock is set to `wall` and read twice.
  std::vector<double> NewTicks(Engine& engine, double wall) {
    clock_.off = wall - clock_.now;
    engine.LookAtClock();
    engine.LookAtClock();
    std::vector<double> ticks = TicksOf(engine);
    std::vector<double> fresh(ticks.begin() + static_cast<std::ptrdiff_t>(seen_), ticks.end());
    seen_ = ticks.size();
    return fresh;
  }

  testing::TempDir temp_;
  settings::RunSettings settings_;
  FakeClock clock_;
  std::size_t seen_ = 0;
};

constexpr double kMark = 1.7e9 + 400;  // a multiple of 600 s

TEST_F(WallTicks, AscendWithoutRepeats) {
  const auto engine = OpenWithProject(false);
  ASSERT_NE(engine, nullptr);
  EXPECT_THAT(NewTicks(*engine, kMark + 601), ElementsAre(kMark + 600));
  EXPECT_THAT(NewTicks(*engine, kMark + 1100), IsEmpty());
  EXPECT_THAT(NewTicks(*engine, kMark + 1200), ElementsAre(kMark + 1200));
  EXPECT_THAT(NewTicks(*engine, kMark + 1200 - 5 * kHour), IsEmpty()) << "set back by less than a day";
  EXPECT_THAT(NewTicks(*engine, kMark + 1199), IsEmpty());
  EXPECT_THAT(NewTicks(*engine, kMark + 1800 + 5 * kHour), ElementsAre(kMark + 1800 + 5 * kHour))
      << "a gap gives one tick";
  EXPECT_THAT(clock_.Warnings(), IsEmpty());
}

TEST_F(WallTicks, StopAtAJumpOfMoreThanADayUntilTheClockIsRight) {
  const auto engine = OpenWithProject(false);
  ASSERT_NE(engine, nullptr);
  EXPECT_THAT(NewTicks(*engine, kMark), ElementsAre(kMark));
  EXPECT_THAT(NewTicks(*engine, kMark + kDay), ElementsAre(kMark + kDay)) << "a day is not a jump";
  const double last = kMark + kDay;
  EXPECT_THAT(NewTicks(*engine, kYear2100), IsEmpty());
  EXPECT_THAT(NewTicks(*engine, kYear2100 + 600), IsEmpty());
  EXPECT_THAT(clock_.Warnings(), ElementsAre(::testing::AllOf(HasSubstr("event time is stopped"),
                                                              HasSubstr("2100-01-01 00:00:00 UTC"),
                                                              HasSubstr("run --accept-time-jump"))))
      << "warned once";
  EXPECT_THAT(NewTicks(*engine, last + 600), ElementsAre(last + 600));
  EXPECT_THAT(clock_.Warnings(), ElementsAre(HasSubstr("event time continues")));
  EXPECT_THAT(NewTicks(*engine, 3600), IsEmpty()) << "1970";
  EXPECT_THAT(clock_.Warnings(), ElementsAre(HasSubstr("earlier")));
  EXPECT_THAT(NewTicks(*engine, last + 1200), ElementsAre(last + 1200));
}

TEST_F(WallTicks, ContinueAfterAJumpThatTheOperatorAccepts) {
  {
    const auto engine = OpenWithProject(false);
    ASSERT_NE(engine, nullptr);
    EXPECT_THAT(NewTicks(*engine, kMark), ElementsAre(kMark));
    ASSERT_TRUE(engine->Stop().ok());
  }
  const double later = kMark + 10 * kDay;  // the engine was stopped for so long
  clock_.off = later - clock_.now;
  {
    const auto engine = OpenWithProject(false);
    ASSERT_NE(engine, nullptr);
    EXPECT_THAT(NewTicks(*engine, later), IsEmpty());
    EXPECT_THAT(clock_.Warnings(), ElementsAre(HasSubstr("10.0 days later")));
    ASSERT_TRUE(engine->Stop().ok());
  }
  const auto engine = OpenWithProject(true);
  ASSERT_NE(engine, nullptr);
  EXPECT_THAT(NewTicks(*engine, later), ElementsAre(later));
  EXPECT_THAT(clock_.Warnings(), IsEmpty());
  EXPECT_THAT(NewTicks(*engine, later + 2 * kDay), IsEmpty()) << "only the clock at start was accepted";
  EXPECT_THAT(clock_.Warnings(), ElementsAre(HasSubstr("event time is stopped")));
}

// While the clock was far ahead, it left append times that would make every event acceptable for decades.
TEST_F(WallTicks, AcceptingTheClockResetsAppendTimesThatWereAhead) {
  {
    clock_.off = kYear2100 - clock_.now;
    const auto engine = OpenWithProject(false);
    ASSERT_NE(engine, nullptr);
    EXPECT_GE(engine->log().Now(), kYear2100);
    ASSERT_TRUE(engine->Stop().ok());
  }
  clock_.off = 0;
  {
    const auto engine = OpenWithProject(false);
    ASSERT_NE(engine, nullptr);
    EXPECT_GE(engine->log().Now(), kYear2100) << "no operator has said which clock is right";
    ASSERT_TRUE(engine->Stop().ok());
  }
  const auto engine = OpenWithProject(true);
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(engine->log().Now(), kStart);
}

}  // namespace
}  // namespace cobblestone
