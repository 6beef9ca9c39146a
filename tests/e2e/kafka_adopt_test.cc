// A project is adopted through a real broker: once, repeated, and as the workers then have it.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "services/adoption/adopted.h"
#include "services/embedded/engine.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {

using embedded::Engine;

namespace {

using nlohmann::json;

const std::string kGolden = std::string(COBBLESTONE_SOURCE_DIR) + "/tests/golden/export/entities.json";

TEST(KafkaAdopt, AQuestionThatNeedsStateNamesTheGatewaysUrl) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, std::vector<Event>{});
  struct Case {
    std::vector<std::string> words;
    std::vector<std::string> present;
  };
  for (const Case& c :
       {Case{{"account", "user", "17"}, {"cobblestone gateway --config", "/api/v1/projects/1/users/17,"}},
        Case{{"explain", "7", "--project", "2"}, {"/api/v1/projects/2/results/7,"}},
        Case{{"scales"}, {"/api/v1/projects/1/scales,"}},
        Case{{"host-version", "17", "4"}, {"/api/v1/projects/1/hosts/17/versions?app_version=4,"}}}) {
    const Finished asked = world.Run(c.words);
    EXPECT_EQ(asked.code, 2) << c.words[0];
    for (const std::string& text : c.present)
      EXPECT_NE(asked.err.find(text), std::string::npos) << text << " in " << asked.err;
  }
}

TEST(KafkaAdopt, AProjectIsAdoptedOnceAndTheWorkersHaveItsTotals) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, std::vector<Event>{});
  json first;
  {
    const auto worker = world.Worker("a");
    const auto adopt = [&] {
      const Finished done = world.Run({"adopt", kGolden, "--json"});
      EXPECT_EQ(done.code, 0) << done.out << done.err;
      return json::parse(done.out, nullptr, false);
    };
    first = adopt();
    ASSERT_TRUE(first.is_object());
    EXPECT_EQ(first["taken_in"], first["events"]);
    EXPECT_EQ(first["pipeline"]["hosts"]["accounts"], 90);
    EXPECT_TRUE(first["difference"].empty()) << first.dump(1);
    const json again = adopt();
    EXPECT_EQ(again["taken_in"], 0);
    EXPECT_EQ(again["pipeline"], first["pipeline"]);
    worker->Signal(SIGTERM);
    EXPECT_EQ(worker->Wait(), 0) << worker->err();
  }
  world.WithMigrated([&](Engine& engine) {
    const auto audit = engine.Audit({});
    ASSERT_TRUE(audit.ok()) << audit.status().message();
    EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
    EXPECT_EQ((*audit)["opening_balances"], 60 + 12 + 90);
    const auto adopted = adoption::AdoptedTotals(engine.live_state(), ProjectId(1));
    ASSERT_TRUE(adopted.ok()) << adopted.status().message();
    EXPECT_EQ(adoption::TotalsJson(*adopted), first["read"]) << "profiles and figures too, every bit";
  });
}

}  // namespace
}  // namespace cobblestone::testing
