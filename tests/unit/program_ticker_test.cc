// Each project has its own time. A well-formed event advances the time of its own project only; other events
// advance no time.
#include "services/pipeline/ticker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/wire/events/event_codec.h"
#include "services/pipeline/event_time.h"

namespace cobblestone {

using pipeline::EncodeTick;
using pipeline::Ticker;
using pipeline::TickMaker;

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr double kPeriod = 600;                   // credit::kDefaultScalePeriod
constexpr double kOld = 1700000400;               // a multiple of kPeriod, in 2023
constexpr double kNow = kOld + 100000 * kPeriod;  // two years later
constexpr double kLimit = 3600;

std::string HostOf(std::uint32_t project, double time, std::uint64_t id = 1) {
  return wire::EncodeEvent({.head = {.id = id, .project = ProjectId(project), .time = time},
                            .body = wire::HostMember{.host = HostId(1), .user = UserId(1)}});
}

Ticker MakeTicker(std::function<double(ProjectId)> last_of = {}) {
  return Ticker({.last = 0, .future_limit = kLimit, .last_of = std::move(last_of)});
}

std::optional<double> See(Ticker& ticker, std::uint32_t project, double time) {
  return ticker.OnEvent(ProjectId(project), HostOf(project, time), kNow);
}

TEST(Ticker, EachProjectHasItsOwnTime) {
  Ticker ticker = MakeTicker();
  EXPECT_EQ(See(ticker, 1, kOld), std::nullopt) << "the first event only sets the time";
  EXPECT_EQ(See(ticker, 2, kNow), std::nullopt) << "the first event of each project";
  EXPECT_EQ(See(ticker, 1, kOld + kPeriod), kOld + kPeriod);
  EXPECT_EQ(See(ticker, 2, kNow + kPeriod + 1), kNow + kPeriod);
  EXPECT_EQ(See(ticker, 1, kOld + kPeriod + 1), std::nullopt) << "a repeat";
  EXPECT_THAT(ticker.Keep(),
              ElementsAre(Pair(ProjectId(1), kOld + kPeriod), Pair(ProjectId(2), kNow + kPeriod)));
}

TEST(Ticker, MalformedEventsAdvanceNoTime) {
  Ticker ticker = MakeTicker();
  See(ticker, 1, kOld);
  ticker.Keep();
  const double later = kOld + 10 * kPeriod;
  EXPECT_EQ(ticker.OnEvent(ProjectId(1), HostOf(1, later, 0), kNow), std::nullopt)
      << "an event without an id";
  EXPECT_EQ(ticker.OnEvent(ProjectId(0), HostOf(0, later), kNow), std::nullopt)
      << "an event without a project";
  EXPECT_EQ(ticker.OnEvent(ProjectId(1), "these are no bytes of ours", kNow), std::nullopt);
  EXPECT_EQ(See(ticker, 1, kNow + kLimit + 1), std::nullopt) << "from the future";
  ticker.OnTick(EncodeTick(ProjectId(1), kNow + kLimit + kPeriod), kNow);
  ticker.OnTick(wire::EncodeEvent({.head = {.id = 0, .project = ProjectId(1), .time = later},
                                   .body = wire::Tick{.time = later}}),
                kNow);
  EXPECT_THAT(ticker.Keep(), IsEmpty());
  EXPECT_EQ(See(ticker, 1, later), later) << "the time advances as if none of these events existed";
}

TEST(Ticker, ATickAdvancesItsProjectOrAllWithoutAProject) {
  Ticker ticker = MakeTicker();
  See(ticker, 1, kOld);
  See(ticker, 2, kOld);
  ticker.OnTick(EncodeTick(ProjectId(2), kOld + 5 * kPeriod), kNow);
  EXPECT_EQ(See(ticker, 1, kOld + kPeriod), kOld + kPeriod);
  EXPECT_EQ(See(ticker, 2, kOld + 5 * kPeriod), std::nullopt);
  ticker.OnTick(EncodeTick({}, kOld + 9 * kPeriod), kNow);
  EXPECT_EQ(See(ticker, 1, kOld + 9 * kPeriod), std::nullopt);
  EXPECT_EQ(See(ticker, 2, kOld + 9 * kPeriod), std::nullopt);
  EXPECT_EQ(See(ticker, 3, kOld + 10 * kPeriod), kOld + 10 * kPeriod);
}

TEST(Ticker, ADroppedBlockAdvancesNoTime) {
  Ticker ticker = MakeTicker();
  See(ticker, 1, kOld);
  ticker.Keep();
  EXPECT_EQ(See(ticker, 1, kOld + kPeriod), kOld + kPeriod);
  EXPECT_EQ(See(ticker, 1, kOld + 2 * kPeriod), kOld + 2 * kPeriod);
  ticker.Drop();
  EXPECT_EQ(See(ticker, 1, kOld + kPeriod), kOld + kPeriod);
}

TEST(Ticker, ContinuesFromStoredTimes) {
  Ticker ticker = MakeTicker([](ProjectId project) { return project == ProjectId(2) ? kOld : 0; });
  EXPECT_EQ(See(ticker, 2, kOld + 1), std::nullopt);
  EXPECT_EQ(See(ticker, 2, kOld + kPeriod), kOld + kPeriod);
  EXPECT_EQ(See(ticker, 1, kOld + kPeriod), std::nullopt) << "no time of this project is stored";
}

// For files without ticks: `replay`, and `ingest --lockstep`.
TEST(TickMaker, MakesTicksOfAProjectFromItsWellFormedEvents) {
  TickMaker maker(kPeriod);
  const auto ticks_before = [&maker](const std::string& envelope) {
    std::vector<std::pair<std::uint32_t, double>> ticks;
    maker.Observe(envelope, [&ticks](const std::string& tick) {
      const auto event = wire::ParseEvent(tick);
      ASSERT_TRUE(event.ok());
      ticks.emplace_back(event->head.project.value, std::get<wire::Tick>(event->body).time);
    });
    return ticks;
  };
  EXPECT_THAT(ticks_before(HostOf(1, kOld)), IsEmpty());
  EXPECT_THAT(ticks_before(HostOf(2, kNow)), IsEmpty());
  EXPECT_THAT(ticks_before(HostOf(1, kOld + 30 * kPeriod, 0)), IsEmpty()) << "an event without an id";
  EXPECT_THAT(ticks_before(HostOf(1, kOld + 2 * kPeriod)),
              ElementsAre(Pair(1, kOld + kPeriod), Pair(1, kOld + 2 * kPeriod)));
  EXPECT_THAT(ticks_before(HostOf(2, kNow + kPeriod)), ElementsAre(Pair(2, kNow + kPeriod)));
  EXPECT_THAT(ticks_before(HostOf(1, kNow)), ElementsAre(Pair(1, kNow))) << "a gap is one step";
}

}  // namespace
}  // namespace cobblestone
