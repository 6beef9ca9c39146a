// Processes that divide the stages among themselves (kafka.slots: by_stage), on a real broker, one of them
// killed meanwhile. Every grant equals the oracle's, and every re-executed commit has an equal fingerprint.
// Slots that run all stages are refused on the same topics.

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "common/settings/run_settings.h"
#include "common/stream/kafka/librdkafka/cluster.h"
#include "common/stream/kafka/read_all.h"
#include "common/wire/control/topics.h"
#include "services/kafka/kafka_deployment.h"
#include "tests/robustness/kafka_world.h"
#include "tests/support/oracle.h"

namespace cobblestone::testing {

using kafka::CheckTopics;
using kafka::DeploymentOf;

namespace {

Outcome LedgerOf(const settings::RunSettings& settings) {
  Outcome outcome;
  const auto deployment = DeploymentOf(settings, {});
  EXPECT_TRUE(deployment.ok());
  const auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  EXPECT_TRUE(cluster.ok());
  const auto reader = (*cluster)->NewReader(stream::kafka::kShortFetch);
  EXPECT_TRUE(reader.ok());
  for (std::uint32_t p = 0; p < settings.partitions; ++p) {
    const Status s =
        stream::kafka::ReadAll(**reader, {wire::kGrants, p}, stream::kafka::kBeginning,
                               stream::kafka::Millis(30000), [&](const stream::kafka::Message& message) {
                                 stream::RecordCursor cursor(message.value());
                                 for (std::string_view record; cursor.Next(&record);)
                                   EXPECT_TRUE(AddLedgerRecord(record, &outcome));
                                 return Status::Ok();
                               });
    EXPECT_TRUE(s.ok()) << s.message();
  }
  return outcome;
}

TEST(KafkaStages, ProcessesDivideTheStages) {
  const auto broker = TestBroker::Shared();
  const auto events = Traffic(44, 4000);
  const KafkaWorld world(
      *broker, events,
      {.kafka = "  slots: by_stage\n",
       .stages = {{"front", "[claims, coordinator]"}, {"back", "[grants, accounts, teams]"}}});
  const auto front = world.Worker("front");
  auto back = world.Worker("back", "K3:40");
  auto ingest = world.IngestInBackground();
  EXPECT_EQ(back->Wait(), 128 + SIGKILL) << back->err();
  back = world.Worker("back");
  EXPECT_LE(ingest->Wait(), 1) << ingest->err();
  EXPECT_TRUE(world.AwaitRest(std::chrono::seconds(60))) << world.Tasks().dump(1);
  const nlohmann::json tasks = world.Ask({"tasks"});
  EXPECT_EQ(tasks["tasks"].size(), 4 * 4 + 1u);
  for (const auto& task : tasks["tasks"]) {
    const std::string role = task["role"];
    EXPECT_EQ(task["worker"], (role == "claims" || role == "coordinator" ? "front." : "back.") + role + ".0");
  }
  for (Background* worker : {front.get(), back.get()}) {
    worker->Signal(SIGTERM);
    EXPECT_EQ(worker->Wait(), 0) << worker->err();
  }

  const auto settings = settings::LoadRunSettings(world.ConfigOf("admin"));
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  const Outcome ledger = LedgerOf(*settings);
  EXPECT_TRUE(ledger.granted_twice.empty());
  std::vector<std::string> envelopes;
  for (const Event& event : events) envelopes.push_back(event.envelope);
  Outcome expected;  // of the ledger only
  expected.grants = RunOracle(envelopes).grants;
  ASSERT_FALSE(expected.grants.empty());
  for (auto& [key, grant] : expected.grants) grant.to_host = grant.to_user = grant.to_team = 0;
  EXPECT_EQ(GrantDifferences(expected, ledger, 3), "");
  const Finished verified = world.Run({"verify"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  const Finished one = world.Run({"verify", "3", "--stage", "accounts"});
  EXPECT_EQ(one.code, 0) << one.out << one.err;
  EXPECT_NE(one.out.find("accounts slot 3: "), std::string::npos) << one.out;
  EXPECT_NE(world.Run({"verify", "3"}).code, 0);  // no stage is given

  KafkaWorldOptions together;
  settings::RunSettings other = *settings;
  other.kafka.slots = settings::KafkaSlots::kTogether;
  const auto deployment = DeploymentOf(other, {});
  ASSERT_TRUE(deployment.ok());
  const Status refused = CheckTopics(*deployment);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("journal-claims"), std::string::npos) << refused.message();
}

}  // namespace
}  // namespace cobblestone::testing
