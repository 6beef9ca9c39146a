// A source enters a pipeline on Kafka and a pipeline on one machine by the same rules: the same reports, exit codes,
// refusals and ticks for the same files.

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/settings/run_settings.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/embedded/engine.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;

constexpr int kDay = 86400;
constexpr int kStart = 1'700'000'000;

std::string Event(int id, int time, const std::string& body) {
  return R"({"id":")" + std::to_string(id) + R"(","project":1,"time":)" + std::to_string(time) + "," + body +
         "}\n";
}

std::string Completion(int id, int time) {
  return Event(id, time,
               R"("completion":{"result":")" + std::to_string(id) +
                   R"(","host":"5","workunit":"3","app":"1","appVersion":"1","outcome":"OUTCOME_SUCCESS",)"
                   R"("elapsedTime":3600,"peakFlops":4e9,"sentTime":)" +
                   std::to_string(time - 3600) + R"(,"receivedTime":)" + std::to_string(time) + "}");
}

// Broadcasts between results, blank lines, bad lines, an event that a stage refuses, two merges of the same hosts, and a
// repeat.
std::string MixedLines() {
  return Event(1, kStart, R"("app":{"app":"1","name":"fold","policy":"creditnew","delayBound":604800})") +
         Event(2, kStart, R"("appVersion":{"appVersion":"1","app":"1","versionNum":100,"platform":"1"})") +
         Event(3, kStart, R"("user":{"user":"42","name":"Ada"})") + "\n" +
         Event(4, kStart, R"("host":{"host":"5","user":"42","cpus":4})") +
         Event(5, kStart, R"("host":{"host":"6","user":"42","cpus":4})") + "{\"id\":\n" +
         Completion(7, kStart + 3600) + Completion(7, kStart + 3600) +
         Event(9, kStart + 3600, R"("completion":{"result":"9","host":"5"})") +
         Event(10, kStart + 3700, R"("app":{"app":"1","name":"unfold"})") + "not JSON at all\n  \t\n" +
         Event(11, kStart + 3800, R"("hostMerge":{"host":"6","into":"5"})") +
         Event(12, kStart + 3900, R"("hostMerge":{"host":"5","into":"6"})");
}

// What an operator sees of an ingest, without what depends on the moment.
struct Seen {
  int code = 0;
  json report;
  std::string error;

  friend bool operator==(const Seen&, const Seen&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << seen.code << " " << seen.report.dump(1) << seen.error;
  }
};

// A refusal has its offset and its time of arrival, and on Kafka `all` is an offset, too.
void DropMoments(json& value) {
  for (const char* field : {"seconds", "number", "offset", "all", "time", "append_time"})
    if (value.is_object()) value.erase(field);
  for (auto& one : value)
    if (one.is_structured()) DropMoments(one);
}

Seen SeenOf(const Finished& finished) {
  Seen seen{
      .code = finished.code, .report = json::parse(finished.out, nullptr, false), .error = finished.err};
  if (seen.report.is_structured()) DropMoments(seen.report);
  return seen;
}

// Project and time of each tick.
std::multiset<std::pair<std::uint32_t, double>> TicksOf(embedded::Engine& engine) {
  std::multiset<std::pair<std::uint32_t, double>> ticks;
  const Status read =
      engine.ForEachRecord({wire::kCatalogue, 0}, [&](std::uint64_t, std::string_view record) {
        const auto event = wire::ParseEvent(record);
        if (!event.ok()) return true;
        if (const auto* tick = std::get_if<wire::Tick>(&event->body))
          ticks.insert({event->head.project.value, tick->time});
        return true;
      });
  EXPECT_TRUE(read.ok()) << read.message();
  return ticks;
}

TEST(KafkaIntake, TheSameFilesGiveTheSameReportsRefusalsAndTicksOnBothBackends) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, std::vector<testing::Event>(), {.partitions = 2, .kafka = {}});
  const std::vector<std::pair<std::string, std::string>> files = {
      {"mixed.jsonl", MixedLines()},
      {"mixed.jsonl", MixedLines()},                                  // again
      {"mixed.jsonl", MixedLines() + Completion(20, kStart + 7200)},  // grown
      {"mixed.jsonl", "\n" + MixedLines()},                           // changed
      // Each day has a file of its own: the time of the project goes on from file to file.
      {"day2.jsonl", Completion(21, kStart + kDay)},
      {"day3.jsonl", Completion(22, kStart + 2 * kDay) + Completion(23, kStart + 3 * kDay)},
  };
  const std::string one = "data_directory: " + world.path("one") + "\npartitions: 2\n";
  std::ofstream(world.path("one.yaml")) << one;
  auto worker = world.Worker("w0");
  for (const auto& [name, lines] : files) {
    std::ofstream(world.path(name), std::ios::binary | std::ios::trunc) << lines;
    const Finished kafka = world.Run({"ingest", name, "--json"});
    const Finished single = RunProgram(world.path(""), {"ingest", name, "--json", "--config", "one.yaml"});
    EXPECT_EQ(SeenOf(kafka), SeenOf(single)) << name;
    EXPECT_FALSE(SeenOf(kafka).report.is_discarded()) << kafka.out;
  }
  const Finished kafka = world.Run({"refused", "list", "--json"});
  const Finished single = RunProgram(world.path(""), {"refused", "list", "--json", "--config", "one.yaml"});
  EXPECT_EQ(SeenOf(kafka), SeenOf(single));
  EXPECT_EQ(SeenOf(kafka).report["refused"].size(), 4u) << kafka.out;
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();

  const auto settings = settings::LoadRunSettings(world.path("one.yaml"));
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  auto engine = embedded::Engine::Open(*settings, [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const auto ticks = TicksOf(**engine);
  EXPECT_EQ(ticks.size(), 5u)
      << "one behind each period without an event, however many files have the events";
  world.WithMigrated([&](embedded::Engine& migrated) { EXPECT_EQ(TicksOf(migrated), ticks); });
}

}  // namespace
}  // namespace cobblestone::testing
