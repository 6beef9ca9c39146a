// More rows are due at one watermark than one commit may take. The worker makes commits without records until
// no row is left, and a re-execution gives the same commits.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/embedded/engine.h"
#include "services/stage/expiry.h"
#include "tests/robustness/kafka_world.h"
#include "tests/support/job_events.h"

namespace cobblestone::testing {

using embedded::Engine;

namespace {

constexpr ProjectId kProject{8};  // not a project of the traffic
constexpr double kBegin = 1.7e9;
constexpr double kDay = 86400;
constexpr std::uint64_t kResults = 2 * stage::CommitBudget::kRows + 1000;  // all of one host, so in one slot

std::vector<Event> Events() {
  std::vector<Event> events = Traffic(36, 2000);
  std::uint64_t id = 0;
  const auto add = [&](double time, wire::EventBody body, bool broadcast = false) {
    events.push_back({.envelope = wire::EncodeEvent(
                          {.head = {.id = ++id, .project = kProject, .time = time}, .body = std::move(body)}),
                      .broadcast = broadcast});
  };
  add(kBegin, wire::AppChange{.app = AppId(1), .policy = "assigned", .delay_bound = kDay}, true);
  for (std::uint64_t n = 1; n <= kResults; ++n) add(kBegin + 1, CompletionOf(n, 1, n, kBegin + 1));
  add(kBegin + 60 * kDay, wire::Tick{.time = kBegin + 60 * kDay}, true);
  return events;
}

TEST(KafkaWaiting, MoreRowsThanOneCommitTakesExpireAtOneWatermark) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, Events());
  auto worker = world.Worker("w0");
  EXPECT_LE(world.Ingest().code, 1);  // 1: refused events were listed
  EXPECT_TRUE(world.AwaitRest(std::chrono::seconds(60))) << world.Tasks().dump(1);
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  std::map<std::uint64_t, int> refused;  // by offset of the completion: number of refusals
  world.WithMigrated([&](Engine& engine) {
    const Status read = engine.ForEachRecord({wire::kRefused, 0}, [&](std::uint64_t, std::string_view bytes) {
      wire::Refused one;
      EXPECT_TRUE(wire::DecodeRefused(bytes, &one));
      if (one.project == kProject) ++refused[one.offset];
      return true;
    });
    EXPECT_TRUE(read.ok()) << read.message();
  });
  EXPECT_EQ(refused.size(), kResults);
  for (const auto& [offset, times] : refused) EXPECT_EQ(times, 1) << "completion at " << offset;
  world.ExpectLikeTheOracle();
}

}  // namespace
}  // namespace cobblestone::testing
