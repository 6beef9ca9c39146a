// A running project changes its policy by an event: `robust` continues with the averages of `boinc` and `creditnew`, so the
// mean credit of the app does not jump.
#include <gtest/gtest.h>

#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "common/wire/events/event_codec.h"
#include "services/lab/experiment.h"
#include "services/pipeline/event_time.h"
#include "services/replay/replay.h"

namespace cobblestone {
namespace {

struct Paid {
  double granted = 0;
  double deserved = 0;

  [[nodiscard]] double ratio() const { return granted / deserved; }
};

// The results of the last tenth of the time before the change, and of the tenth after.
struct Change {
  Paid before;
  Paid after;
  std::uint64_t results = 0;
};

Change SwitchedAfterHalfTheTime(const std::string& policy, fleet::Replication replication) {
  lab::LabOptions options{.parameters = lab::LabParameters(), .hosts = 60, .jobs = 300};
  options.parameters.error_rate = 0.02;
  options.parameters.abort_rate = 0.01;
  const fleet::FleetOptions world_options =
      lab::WorldOf(options, {policy, replication, fleet::SizeModel::kNoisy}, 0, {}, 1);
  std::unordered_map<std::uint64_t, double> deserved;
  fleet::Fleet world(world_options, [&](const fleet::Truth& row) {
    deserved[row.result] = static_cast<double>(row.deserved_micro) / 1e6;
  });
  const double begin = world_options.start_time;
  const double whole = world_options.days * 86400;
  const double middle = begin + whole / 2;
  Change change;
  double now = begin;
  replay::LockstepPipeline pipeline(1, [&](const replay::GrantRow& row) {
    const double distance = (now - middle) / whole;
    Paid* paid = distance >= -0.1 && distance < 0  ? &change.before
                 : distance >= 0 && distance < 0.1 ? &change.after
                                                   : nullptr;
    if (paid == nullptr) return Status::Ok();
    paid->granted += static_cast<double>(row.micro) / 1e6;
    paid->deserved += deserved[row.result.value];
    change.results += 1;
    return Status::Ok();
  });
  pipeline::TickMaker ticks(600);
  wire::Event app;
  bool switched = false;
  std::uint64_t line = 0;
  const auto feed = [&](std::string_view event, bool tick) {
    const Status fed = pipeline.Feed(event, tick ? line : line++, tick);
    ASSERT_TRUE(fed.ok()) << fed.message();
  };
  std::string_view bytes;
  while (world.Next(&bytes)) {
    const auto event = wire::ParseEvent(bytes);
    if (!event.ok()) {
      ADD_FAILURE() << event.status().message();
      break;
    }
    if (std::holds_alternative<wire::AppChange>(event->body)) app = *event;
    now = event->head.time;
    ticks.Observe(bytes, [&](const std::string& tick) { feed(tick, true); });
    if (!switched && now >= middle) {
      switched = true;
      app.head.id = 1ull << 60;
      app.head.time = now;
      std::get<wire::AppChange>(app.body).policy = "robust";
      feed(wire::EncodeEvent(app), false);
    }
    feed(bytes, false);
  }
  EXPECT_TRUE(pipeline.Finish().ok());
  EXPECT_EQ(pipeline.refused(), 0u);
  EXPECT_TRUE(switched);
  return change;
}

TEST(LabSwitch, MeanCreditOfAnAppDoesNotJumpWhenItsPolicyBecomesRobust) {
  for (const char* policy : {"creditnew", "boinc"}) {
    for (const auto replication : {fleet::Replication::kSingle, fleet::Replication::kQuorum}) {
      const Change change = SwitchedAfterHalfTheTime(policy, replication);
      EXPECT_GT(change.results, 2000u);
      EXPECT_NEAR(change.after.ratio() / change.before.ratio(), 1, 0.02)
          << policy << ", " << lab::NameOf(replication);
    }
  }
}

}  // namespace
}  // namespace cobblestone
