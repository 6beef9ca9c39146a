// Credit is taken back on a real broker: shown, done once, over the death of a worker, and as the audit then has it.
#include <gtest/gtest.h>

#include <csignal>

#include "services/cobblestone/engine.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;

TEST(KafkaCorrect, AHostsCreditIsTakenBackOnceWhateverDies) {
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
    const Finished taken = world.Ingest();
    ASSERT_LE(taken.code, 1) << taken.err;
    shown = reverse(false);
    ASSERT_TRUE(shown.is_object());
    ASSERT_GT(shown["corrections"].size(), 5u);
    EXPECT_EQ(reverse(false)["corrections"].size(), shown["corrections"].size()) << "a look changes nothing";
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

}  // namespace
}  // namespace cobblestone::testing
