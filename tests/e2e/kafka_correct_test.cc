// Reversals on a real broker: shown, executed once, over the death of a worker, and confirmed by the audit.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "common/wire/events/event_codec.h"
#include "services/embedded/engine.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {

using embedded::Engine;
using traffic::GenerateOptions;

namespace {

using nlohmann::json;

TEST(KafkaCorrect, AHostsCreditIsReversedOnceWhateverDies) {
  const auto broker = TestBroker::Shared();
  GenerateOptions options = RestlessOptions(7, 600);
  options.policies = {"benchmark"};
  const KafkaWorld world(*broker, Traffic(options));
  const std::vector<std::string> words = {"reverse", "--host", "9", "--reason", "forged results", "--json"};
  const auto reverse = [&](bool yes) {
    std::vector<std::string> all = words;
    if (yes) all.emplace_back("--yes");
    const Finished done = world.Run(all);
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    return json::parse(done.out, nullptr, false);
  };
  json shown;
  std::uint64_t sent = 0;
  {
    auto worker = world.Worker("a");
    const Finished ingested = world.Ingest();
    ASSERT_LE(ingested.code, 1) << ingested.err;
    shown = reverse(false);
    ASSERT_TRUE(shown.is_object());
    ASSERT_GT(shown["corrections"].size(), 5u);
    EXPECT_EQ(reverse(false)["corrections"].size(), shown["corrections"].size())
        << "a dry run changes nothing";
    worker->Signal(SIGKILL);
    worker->Wait();
    worker = world.Worker("a");
    sent = reverse(true)["sent"].get<std::uint64_t>();
    EXPECT_EQ(sent, shown["corrections"].size());
    worker->Signal(SIGKILL);
    worker->Wait();
    worker = world.Worker("a");
    const json again = reverse(true);
    EXPECT_TRUE(again["corrections"].empty()) << again.dump(1);
    EXPECT_EQ(again["sent"], 0);
    worker->Signal(SIGTERM);
    EXPECT_EQ(worker->Wait(), 0) << worker->err();
  }
  world.WithMigrated([&](Engine& engine) {
    const auto audit = engine.Audit({});
    ASSERT_TRUE(audit.ok()) << audit.status().message();
    EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
    EXPECT_EQ((*audit)["corrections"], sent);
    const auto host = engine.questions().Account(ProjectId(1), wire::AccountKind::kHost, 9);
    ASSERT_TRUE(host.ok()) << host.status().message();
    EXPECT_EQ((*host)["total"], "0.000000");
  });
}

// At the end each app pays twice as much for jobs and their trickles.
std::vector<Event> WithSecondVersion(std::vector<Event> events) {
  std::vector<Event> versions;
  double last = 0;
  for (const Event& one : events) {
    auto event = wire::ParseEvent(one.envelope);
    if (!event.ok()) continue;
    last = std::max(last, event->head.time);
    auto* app = std::get_if<wire::AppChange>(&event->body);
    if (app == nullptr || app->policy_version == 2) continue;
    app->policy_version = 2;
    if (!app->constants) app->constants.emplace();
    app->constants->multiplier = 2;
    for (wire::TrickleRuleChange& rule : app->trickles) {
      rule.multiplier = rule.multiplier.value_or(1) * 2;
      rule.credit_per_day *= 2;
      rule.max_credit *= 2;
    }
    event->head.id += 1'000'000'000'000;
    event->head.time = last;
    versions.push_back({wire::EncodeEvent(*event), true});
  }
  events.insert(events.end(), versions.begin(), versions.end());
  return events;
}

// All events of running jobs are processed, and paid, before their results arrive: topics have no order relative to
// each other except at a broadcast.
std::vector<Event> ResultsAtLast(std::vector<Event> events) {
  const auto is_result = [](const Event& one) {
    const auto kind = wire::PeekKind(one.envelope);
    return kind == wire::EventKind::kCompletion || kind == wire::EventKind::kValidation;
  };
  const auto results =
      std::stable_partition(events.begin(), events.end(), [&](const Event& one) { return !is_result(one); });
  events.insert(results, {wire::EncodeEvent({.head = {.id = 1, .project = ProjectId(1), .time = 1},
                                             .body = wire::ProjectName{.name = "Restless"}}),
                          true});
  return events;
}

TEST(KafkaCorrect, TricklePaymentsAreRepricedOnceAndTheAuditAgrees) {
  const auto broker = TestBroker::Shared();
  GenerateOptions options = RestlessOptions(8, 600);
  options.policies = {"benchmark"};
  options.delay_bound = options.result_window = 30 * 86400.0;
  const KafkaWorld world(*broker, WithSecondVersion(ResultsAtLast(Traffic(options))));
  std::uint64_t made = 0;
  std::set<std::uint64_t> results;
  {
    auto worker = world.Worker("a");
    const Finished ingested = world.Ingest();
    ASSERT_LE(ingested.code, 1) << ingested.err;
    for (int host = 1; host <= 3; ++host) {
      const std::vector<std::string> words = {
          "reprice",  "--policy-version", "2",    "--host", std::to_string(host),
          "--reason", "twice as much",    "--yes"};
      const json done = world.Ask(words);
      for (const json& row : done["corrections"]) results.insert(row["result"].get<std::uint64_t>());
      made += done["corrections"].size();
      if (host == 2) {
        worker->Signal(SIGKILL);
        worker->Wait();
        worker = world.Worker("a");
      }
      // Except for jobs that CLAIMS has decided and GRANTS has not, because their workunit still waits for other
      // results: those are refused.
      const json again = world.Ask(words);
      EXPECT_EQ(again["corrections"].size(), again["refused"].size()) << host << again.dump(1);
      for (const json& row : again["corrections"]) EXPECT_TRUE(row["running"]) << host << ": " << row.dump();
      for (const json& one : again["refused"]) EXPECT_EQ(one["reason"], "ALREADY_DECIDED") << host;
      made -= again["corrections"].size();
    }
    worker->Signal(SIGTERM);
    EXPECT_EQ(worker->Wait(), 0) << worker->err();
  }
  EXPECT_GT(results.size(), 20u);
  world.WithMigrated([&](Engine& engine) {
    const auto audit = engine.Audit({});
    ASSERT_TRUE(audit.ok()) << audit.status().message();
    EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
    EXPECT_EQ((*audit)["corrections"], made);
    const auto trickled = std::count_if(results.begin(), results.end(), [&](std::uint64_t result) {
      const auto story = engine.questions().Explain(ProjectId(1), ResultId(result));
      return story.ok() && story->contains("partials");
    });
    EXPECT_GT(trickled, 5);
  });
}

}  // namespace
}  // namespace cobblestone::testing
