// Watermarks of event time: pipelines in `order: arrival` with partitions that are blocked for a long time, forged
// watermarks, and barriers that show when everything before them is done.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/control/control_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/traffic/generate.h"
#include "tests/support/free_world.h"
#include "tests/support/job_events.h"
#include "tests/support/oracle.h"

namespace cobblestone::testing {

using pipeline::PipelineSlot;
using traffic::GenerateOptions;
using traffic::Generator;

namespace {

using Events = std::vector<std::string>;

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;
constexpr std::size_t kClaimsStage = 0;
constexpr std::size_t kGrantsStage = 1;
constexpr std::size_t kAccountsStage = 2;

std::string EventOf(std::uint64_t id, double time, wire::EventBody body) {
  return wire::EncodeEvent(
      {.head = {.id = id, .project = ProjectId(1), .time = time}, .body = std::move(body)});
}

// Members and catalogue, and then the other events.
struct Story {
  Events members;
  Events events;

  [[nodiscard]] Events All() const {
    Events all = members;
    all.insert(all.end(), events.begin(), events.end());
    return all;
  }
};

bool IsMember(const std::string& event) {
  const auto routing = wire::PeekRouting(event);
  return routing && routing->kind != wire::EventKind::kTick &&
         (routing->key == wire::KeyKind::kBroadcast || routing->kind == wire::EventKind::kHost ||
          routing->kind == wire::EventKind::kUser || routing->kind == wire::EventKind::kTeam);
}

// Forty days, with windows of twelve days: no event is too late, but some results never have a partner, and one user
// in five stays unknown. Some days after the end everything that waits has expired.
GenerateOptions FortyDays(std::uint64_t seed) {
  GenerateOptions options;
  options.seed = seed;
  options.results = 1200;
  options.hosts = 40;
  options.apps = 4;
  options.policies = {"benchmark", "reported-flops", "runtime", "assigned"};
  options.ownerless_hosts = 0.05;
  options.inconclusive = 0.05;
  options.late = 0.05;
  options.duplicates = 0.05;
  options.out_of_order = 0.1;
  options.lost = 0.04;
  options.delay_bound = 2 * kDay;
  options.result_window = 12 * kDay;
  options.span = 40 * kDay;
  options.tick_period = 21600;
  return options;
}

Story StoryOf(const GenerateOptions& options) {
  Story story;
  Generator generator(options);
  for (std::string envelope; generator.Next(&envelope);) {
    if (!IsMember(envelope)) {
      story.events.push_back(envelope);
      continue;
    }
    const auto routing = wire::PeekRouting(envelope);
    if (routing->kind != wire::EventKind::kUser || routing->id % 5 != 0) story.members.push_back(envelope);
  }
  for (int day = 1; day <= 40; ++day) {
    const double time = kStart + options.span + day * kDay;
    story.events.push_back(EventOf(static_cast<std::uint64_t>(100000 + day), time, wire::Tick{.time = time}));
  }
  return story;
}

void ExpectLike(const Outcome& expected, FreeWorld& world, const std::string& what) {
  const Outcome actual = world.outcome();
  EXPECT_EQ(GrantDifferences(expected, actual), "") << what;
  EXPECT_EQ(expected.refusals, actual.refusals) << what;
}

// The latest event time that any partition of GRANTS or ACCOUNTS has reached.
double LatestTimeDownstream(FreeWorld& world) {
  double latest = 0;
  for (PipelineSlot& slot : world.slots()) {
    if (slot.stages.grants == nullptr) continue;
    for (auto* projects : {&slot.stages.grants->projects(), &slot.stages.accounts->projects()})
      projects->ForEach(
          [&](const stream::Key&, const stage::ProjectView& view) { latest = std::max(latest, view.time); });
  }
  return latest;
}

// The forty days prove nothing unless events expire during them.
TEST(Watermarks, TrafficWithManyExpiriesGivesTheSameInArrivalOrder) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Story story = StoryOf(FortyDays(seed));
    const Outcome expected = RunOracle(story.All());
    EXPECT_GT(expected.refusals.at("UNKNOWN_RESULT"), 30u);
    EXPECT_GT(expected.refusals.at("UNKNOWN_USER"), 30u);
    EXPECT_EQ(expected.refusals.count("TOO_LATE"), 0u) << "the order would decide that";
    FreeWorld world(3, seed);
    world.Add(story.members);
    world.RunUntilIdle();
    std::mt19937_64 random(seed);
    for (const std::string& event : story.events) {
      world.Add(event);
      if (random() % 6 == 0) world.Step();
    }
    world.RunUntilIdle();
    ExpectLike(expected, world, "seed " + std::to_string(seed));
  }
}

// One partition of CLAIMS is down for forty days while ticks continue: the claims of the other partitions wait for
// it.
TEST(Watermarks, NothingExpiresDownstreamOfABlockedClaimsPartition) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Story story = StoryOf(FortyDays(seed));
    const Outcome expected = RunOracle(story.All());
    FreeWorld world(3, seed);
    world.Add(story.members);
    world.RunUntilIdle();
    std::mt19937_64 random(seed);
    const std::size_t held_from = story.events.size() / 8;
    for (std::size_t i = 0; i < story.events.size(); ++i) {
      if (i == held_from) {
        world.RunUntilIdle();
        world.Hold(static_cast<std::uint32_t>(seed % 3), kClaimsStage);
      }
      world.Add(story.events[i]);
      if (random() % 4 == 0) world.Step();
    }
    world.RunUntilIdle();  // everything that can be read without it
    const double held_since = wire::PeekEventTime(story.events[held_from]).value_or(0);
    EXPECT_LE(LatestTimeDownstream(world), held_since) << "seed " << seed;
    const Outcome meanwhile = world.outcome();
    EXPECT_EQ(meanwhile.refusals.count("UNKNOWN_USER"), 0u) << "seed " << seed;
    EXPECT_LT(meanwhile.grants.size(), expected.grants.size());
    world.Release();
    world.RunUntilIdle();
    ExpectLike(expected, world, "seed " + std::to_string(seed));
    EXPECT_GT(LatestTimeDownstream(world), kStart + 79 * kDay);
  }
}

// Half of the unknown users are sent in time, in records that stay unread for long.
TEST(Watermarks, AGrantDoesNotExpireWhileItsUsersEventIsUnread) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Story story = StoryOf(FortyDays(seed));
    std::uint64_t id = 7'000'000;
    for (std::uint64_t user = 10; user <= 40; user += 10)
      story.events.insert(story.events.begin() + static_cast<std::ptrdiff_t>(story.events.size() / 8),
                          EventOf(++id, kStart, wire::UserMember{.user = UserId(user), .team = TeamId(1)}));
    const Outcome expected = RunOracle(story.All());
    FreeWorld world(3, seed);
    world.Add(story.members);
    world.RunUntilIdle();
    for (std::uint32_t k = 0; k < 3; ++k) world.Hold(k, kAccountsStage, wire::kUsers);
    for (std::size_t i = 0; i < story.events.size(); ++i) {
      world.Add(story.events[i]);
      if (i % 5 == 0) world.Step();
    }
    world.RunUntilIdle();
    const Outcome meanwhile = world.outcome();
    EXPECT_EQ(meanwhile.grants.size(), expected.grants.size());
    EXPECT_EQ(meanwhile.refusals.count("UNKNOWN_USER"), 0u) << "seed " << seed;
    world.Release();
    world.RunUntilIdle();
    ExpectLike(expected, world, "seed " + std::to_string(seed));
  }
}

// ---- Claims and their catalogue
// ------------------------------------------------------------------------------------

// Two results of a workunit, worth 100 and 200 Cobblestones: the mean by default, the lower by this version.
TEST(Watermarks, AClaimAheadOfItsCatalogueWaits) {
  const auto app = [](std::uint64_t id, std::optional<std::string> replication) {
    wire::AppChange change{.app = AppId(1), .policy = "benchmark"};
    change.constants.emplace().replication = std::move(replication);
    return EventOf(id, kStart, change);
  };
  Events members = {app(1, {})};
  for (std::uint64_t host = 1; host <= 2; ++host) {
    members.push_back(EventOf(host, kStart, wire::UserMember{.user = UserId(host)}));
    members.push_back(
        EventOf(host, kStart,
                wire::HostMember{.host = HostId(host), .user = UserId(host), .whetstone = 1e9, .cpus = 1}));
  }
  const std::string change = app(2, "min");
  Events results;
  for (std::uint64_t workunit = 1; workunit <= 20; ++workunit)
    for (std::uint64_t host = 1; host <= 2; ++host) {
      const std::uint64_t result = 10 * workunit + host;
      wire::Completion completion = CompletionOf(result, host, workunit, kStart);
      completion.facts.cpu_time = static_cast<double>(host) * 43200;
      completion.facts.sent_time = kStart - 2 * kDay;
      credit::ValidationFacts validation = ValidationOf(result, host, workunit, 0);
      validation.assigned_credit.reset();
      validation.claims = 2;
      results.push_back(EventOf(result, kStart, completion));
      results.push_back(EventOf(result, kStart, validation));
    }
  Events all = members;
  all.push_back(change);
  all.insert(all.end(), results.begin(), results.end());
  const Outcome expected = RunOracle(all);
  ASSERT_EQ(expected.grants.begin()->second.micro, 100'000'000);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    FreeWorld world(3, seed);
    world.Add(members);
    world.RunUntilIdle();
    for (std::uint32_t k = 0; k < 3; ++k) world.Hold(k, kGrantsStage, wire::kControl);
    world.Add(change);
    world.RunUntilIdle();
    world.Add(results);
    world.RunUntilIdle();
    EXPECT_TRUE(world.outcome().grants.empty()) << "seed " << seed;
    EXPECT_GE(world.Records(wire::kClaims).size(), results.size() / 2);
    world.Release();
    world.RunUntilIdle();
    ExpectLike(expected, world, "seed " + std::to_string(seed));
  }
}

// ---- False watermarks
// ----------------------------------------------------------------------------------------------

// The number of the newest control record that is not a watermark.
std::uint64_t NewestOther(const FreeWorld& world) {
  std::uint64_t newest = 0;
  for (const std::string& record : world.Records(wire::kControl)) {
    wire::ControlView control;
    EXPECT_TRUE(wire::DecodeControl(record, &control));
    if (control.kind != wire::ControlKind::kWatermark) newest = std::max(newest, control.head.number);
  }
  return newest;
}

TEST(Watermarks, ForgedAndRepeatedWatermarksChangeNothing) {
  constexpr wire::Topic kTopics[] = {wire::kHosts,       wire::kDispatches, wire::kCompletions,
                                     wire::kValidations, wire::kTrickles,   wire::kUsers,
                                     wire::kTeams};
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Story story = StoryOf(FortyDays(seed));
    FreeWorld world(3, seed);
    world.Add(story.members);
    world.RunUntilIdle();
    std::uint64_t refused = 0;
    std::mt19937_64 random(seed);
    for (const std::string& event : story.events) {
      world.Add(event);
      if (random() % 3 == 0) {
        const stream::TopicPartition where{kTopics[random() % std::size(kTopics)],
                                           static_cast<std::uint32_t>(random() % 3)};
        const Events there = world.Records(where.topic);
        const double far = kStart + 400 * kDay;
        switch (random() % 4) {
          case 0:  // never announced
            world.AddTo(where, EventOf(1, far, wire::Watermark{.number = 1'000'000 + random(), .time = far}));
            break;
          case 1:  // the newest control record that is not a watermark, or one of the first
            world.AddTo(where, EventOf(1, far,
                                       wire::Watermark{
                                           .number = random() % 2 == 0 ? NewestOther(world) : random() % 20,
                                           .time = far,
                                           .barrier = 9}));
            break;
          case 2:  // a repeat of any watermark of the topic
            if (!there.empty()) {
              const std::string again = there[random() % there.size()];
              const auto parsed = wire::ParseEvent(again);
              if (parsed.ok() && std::holds_alternative<wire::Watermark>(parsed->body))
                world.AddTo(where, again);
            }
            break;
          default:  // to the coordinator, which alone creates them
            world.Add(EventOf(1, far, wire::Watermark{.number = random() % 1000, .time = far}));
            ++refused;
        }
      }
      if (random() % 6 == 0) world.Step();
    }
    world.RunUntilIdle();
    Outcome expected = RunOracle(story.All());
    expected.refusals["NOT_SUPPORTED"] += refused;
    ExpectLike(expected, world, "seed " + std::to_string(seed));
  }
}

// ---- Barriers ------------------------------------------------------------------------------------------------------

// Partitions that report the barrier as passed.
std::set<std::uint32_t> Passed(const FreeWorld& world, std::uint64_t barrier) {
  std::set<std::uint32_t> partitions;
  for (const std::string& record : world.Records(wire::kPassed)) {
    wire::WatermarkPassed passed;
    EXPECT_TRUE(wire::DecodeWatermarkPassed(record, &passed));
    if (passed.barrier == barrier) partitions.insert(passed.partition);
  }
  return partitions;
}

TEST(Watermarks, ABarrierPassesOnlyWhenEverythingBeforeItIsDone) {
  constexpr std::uint64_t kBarrier = 4711;
  std::size_t while_busy = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    GenerateOptions options = FortyDays(seed);
    options.results = 300;
    const Story story = StoryOf(options);
    const std::size_t half = story.events.size() / 2;
    Events before = story.members;
    before.insert(before.end(), story.events.begin(),
                  story.events.begin() + static_cast<std::ptrdiff_t>(half));
    const Outcome expected = RunOracle(before);
    for (const bool more : {false, true}) {
      FreeWorld world(3, seed);
      world.Add(story.members);
      world.RunUntilIdle();
      world.Add(std::span(story.events).first(half));
      world.Add(wire::EncodeEvent({.head = {.id = kBarrier}, .body = wire::Barrier{}}));
      world.Hold(static_cast<std::uint32_t>(seed % 3), kClaimsStage);
      if (more) world.Add(std::span(story.events).subspan(half));
      world.RunUntilIdle();
      EXPECT_TRUE(Passed(world, kBarrier).empty()) << "one partition has not read the barrier";
      world.Release();
      while (Passed(world, kBarrier).size() < 3) ASSERT_TRUE(world.Step()) << "the barrier never passed";
      if (!more) {
        ExpectLike(expected, world, "seed " + std::to_string(seed));
      } else {
        // The ledger may have other grants, too, and grants that the oracle decides later by later events.
        const Outcome actual = world.outcome();
        for (const auto& [key, grant] : expected.grants) {
          ASSERT_TRUE(actual.grants.contains(key)) << "seed " << seed << " result " << key.result;
          EXPECT_EQ(actual.grants.at(key).micro, grant.micro);
        }
        while_busy += world.Step() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(while_busy, 10u) << "no events remained after the barrier";
}

}  // namespace
}  // namespace cobblestone::testing
