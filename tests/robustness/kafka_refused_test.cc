// A project with many refused events: the worker warns, `tasks` shows an alarm, and nothing stops.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "common/wire/events/event_codec.h"
#include "tests/robustness/kafka_world.h"

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

}  // namespace
}  // namespace cobblestone::testing
