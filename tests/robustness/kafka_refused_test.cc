// A project with many refused events: the worker warns, `tasks` shows an alarm, and nothing stops.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/wire/events/event_codec.h"
#include "tests/robustness/kafka_world.h"
#include "tests/support/job_events.h"

namespace cobblestone::testing {
namespace {

constexpr std::uint32_t kBroken = 9;
constexpr int kEvents = 400;

// Completions without most of their required fields.
std::vector<Event> BrokenEvents() {
  std::vector<Event> events;
  for (std::uint64_t n = 1; n <= kEvents; ++n) {
    std::string envelope;
    wire::EncodeCompletion({.id = n, .project = ProjectId(kBroken), .time = 1.7e9},
                           {.result = ResultId(n),
                            .host = HostId(1),
                            .workunit = WorkunitId(n),
                            .app = AppId(1),
                            .event_time = 1.7e9},
                           {}, &envelope);
    events.push_back({.envelope = envelope});
  }
  return events;
}

TEST(KafkaRefused, AProjectWithManyRefusedEventsRaisesAnAlarm) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, Traffic(35, 2000), {.kafka = "  alarm_window: 10 s\n"});
  WriteTraffic(BrokenEvents(), world.path("broken.pb"));
  auto worker = world.Worker("w0");
  EXPECT_LE(world.Ingest().code, 1);  // 1: bad lines of the traffic were reported
  const Finished sent =
      RunProgram(world.path(""), {"ingest", world.path("broken.pb"), "--config", world.ConfigOf("admin")});
  EXPECT_EQ(sent.code, 1) << sent.out << sent.err;
  // `tasks` shows the alarm for one window.
  nlohmann::json alarm;
  EXPECT_TRUE(world.Await(
      [&](const nlohmann::json& answer) {
        for (const auto& one : answer["workers"])
          if (one.contains("alarms")) alarm = one["alarms"][0];
        return !alarm.is_null();
      },
      std::chrono::seconds(60)))
      << world.Tasks().dump(1);
  EXPECT_EQ(alarm.value("project", 0u), kBroken) << alarm.dump(1);
  EXPECT_GT(alarm["reasons"].value("MISSING_FIELD", 0), 0) << alarm.dump(1);
  ASSERT_TRUE(worker->WaitFor("project 9, ")) << worker->err();
  EXPECT_EQ(worker->err().find("of project 1, "), std::string::npos) << worker->err();
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
}

// Completions of an app that the catalogue does not have.
std::vector<Event> EventsOfApp(std::uint64_t app, int count) {
  std::vector<Event> events;
  for (int n = 0; n < count; ++n) {
    const std::uint64_t id = 1000 * app + static_cast<std::uint64_t>(n);
    wire::Completion completion = CompletionOf(id, 1, id, 1.7e9);
    completion.facts.app = AppId(app);
    events.push_back(
        {.envelope = wire::EncodeEvent(
             {.head = {.id = id, .project = ProjectId(kBroken), .time = 1.7e9}, .body = completion})});
  }
  return events;
}

std::vector<Event> Catalogue(std::uint64_t app) {
  return {{.envelope = wire::EncodeEvent({.head = {.id = app, .project = ProjectId(kBroken), .time = 1.7e9},
                                          .body = wire::AppChange{.app = AppId(app), .policy = "runtime"}})}};
}

TEST(KafkaRefused, ManyRefusedEventsAreResubmittedInBlocksAndTheSummaryAddsUp) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, Traffic(36, 100));
  auto worker = world.Worker("w0");
  const auto ingest = [&](const char* file, std::vector<Event> events) {
    WriteTraffic(events, world.path(file));
    return world.Ask({"ingest", world.path(file)});
  };
  EXPECT_EQ(
      ingest("host.pb",
             {{.envelope = wire::EncodeEvent({.head = {.id = 1, .project = ProjectId(kBroken), .time = 1.7e9},
                                              .body = wire::HostMember{.host = HostId(1)}})}})["accepted"],
      1);
  const nlohmann::json first = ingest("seven.pb", EventsOfApp(7, 1500));
  EXPECT_EQ(first["refused"], 1500) << first;
  EXPECT_EQ(first["accepted"], 0);
  EXPECT_EQ(first["results"], 0);
  EXPECT_EQ(first["lines"], 1500);
  EXPECT_EQ(ingest("eight.pb", EventsOfApp(8, 3))["refused"], 3);
  std::ofstream(world.path("lines.jsonl")) << "no event\n";
  EXPECT_EQ(world.Ask({"ingest", world.path("lines.jsonl")})["bad"], 1);

  const nlohmann::json newest = world.Ask({"refused", "list", "--last", "4"});
  ASSERT_EQ(newest["refused"].size(), 4u) << newest;
  EXPECT_EQ(newest["refused"][3]["reason"], "UNDECODABLE");
  const std::uint64_t from = newest["refused"][0]["number"];
  const std::uint64_t to = newest["refused"][3]["number"];
  const nlohmann::json dry = world.Ask({"refused", "resubmit", "--all", "--dry-run"});
  EXPECT_EQ(dry["resubmitted"].size(), 1503u);
  EXPECT_EQ(dry["left"].size(), 1u);
  EXPECT_EQ(world.Ask({"refused", "list", "--last", "1"})["refused"][0]["number"], to) << "nothing was sent";

  EXPECT_EQ(ingest("app7.pb", Catalogue(7))["accepted"], 1);
  const nlohmann::json range =
      world.Ask({"refused", "resubmit", std::to_string(from) + "-" + std::to_string(to)});
  EXPECT_EQ(range["resubmitted"].size(), 3u) << range;
  EXPECT_EQ(range["left"].size(), 1u);
  EXPECT_EQ(range["refused_again"], 3) << "their app is still missing";
  const nlohmann::json all = world.Ask({"refused", "resubmit", "--all", "--reason", "UNKNOWN_APP"});
  EXPECT_EQ(all["resubmitted"].size(), 1506u) << all;
  EXPECT_EQ(all["refused_again"], 6) << "those of app 8, twice";
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
}

}  // namespace
}  // namespace cobblestone::testing
