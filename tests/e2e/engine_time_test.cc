// What moves the time of a running program.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "common/wire/event_codec.h"
#include "common/wire/topics.h"
#include "services/cobblestone/engine.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {
namespace {

// Ticks are made of the times of events: of those alone that are taken in.
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
  EXPECT_EQ(ticks, 1) << "of the last event";
  const auto refused = (*engine)->questions().RefusedList(0, 10);
  ASSERT_TRUE(refused.ok());
  ASSERT_EQ((*refused)["refused"].size(), 1u);
  EXPECT_EQ((*refused)["refused"][0]["reason"], "FROM_THE_FUTURE");
}

}  // namespace
}  // namespace cobblestone::testing
