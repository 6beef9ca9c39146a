// `cobblestone audit` of a deployment on a real broker, in place. While a worker runs and a source is
// ingested the audit reports nothing. It reports one wrong micro-credit in a checkpoint, and a grant that no
// worker has written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/position.h"
#include "common/stream/kafka/read_all.h"
#include "common/stream/kafka/set_position.h"
#include "common/wire/control/topics.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/accounts/accounts_stage.h"
#include "services/kafka/kafka_deployment.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {

using embedded::Engine;
using kafka::AwaitNoMembers;
using kafka::DeploymentOf;
using kafka::KafkaDeployment;
using kafka::kCheckpointTopic;

namespace {

using stream::kafka::Message;
using stream::kafka::Millis;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Millis kPatience{60000};
constexpr std::chrono::seconds kRest{120};

class KafkaAudit : public ::testing::Test {
 protected:
  // Runs the audit with --json; the exit code agrees with the answer.
  static nlohmann::json Audit(const KafkaWorld& world, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"audit", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = world.Run(words);
    auto answer = nlohmann::json::parse(finished.out, nullptr, false);
    if (answer.is_discarded()) throw std::runtime_error(finished.out + finished.err);
    EXPECT_EQ(finished.code, answer["problems"].empty() ? 0 : 1);
    return answer;
  }
  std::vector<std::string> Problems() { return Audit(*world_)["problems"].get<std::vector<std::string>>(); }
  static void Stop(Background& worker) {
    worker.Signal(SIGTERM);
    ASSERT_EQ(worker.Wait(), 0) << worker.err();
  }
  void Connect() {
    auto settings = settings::LoadRunSettings(world_->ConfigOf("admin"));
    ASSERT_TRUE(settings.ok()) << settings.status().message();
    auto deployment = DeploymentOf(*settings, {});
    ASSERT_TRUE(deployment.ok()) << deployment.status().message();
    deployment_ = std::move(*deployment);
    deployment_.cluster.static_members = true;
    auto cluster = stream::kafka::MakeCluster(deployment_.cluster);
    ASSERT_TRUE(cluster.ok()) << cluster.status().message();
    cluster_ = std::move(*cluster);
    settings_ = std::move(*settings);
  }
  std::unique_ptr<stream::kafka::Producer> Transaction() {
    auto producer = cluster_->NewProducer("somebody-else");
    EXPECT_TRUE(producer.ok());
    EXPECT_TRUE((*producer)->Init().ok());
    EXPECT_TRUE((*producer)->Begin().ok());
    return std::move(*producer);
  }
  void ReadAll(stream::TopicPartition where, const std::function<void(const Message&)>& take) {
    auto reader = cluster_->NewReader(stream::kafka::kShortFetch);
    ASSERT_TRUE(reader.ok());
    const Status s = stream::kafka::ReadAll(**reader, where, stream::kafka::kBeginning, kPatience,
                                            [&](const Message& message) {
                                              take(message);
                                              return Status::Ok();
                                            });
    ASSERT_TRUE(s.ok()) << s.message();
  }

  std::unique_ptr<TestBroker> broker_ = TestBroker::Shared();
  std::unique_ptr<KafkaWorld> world_;
  settings::RunSettings settings_;
  KafkaDeployment deployment_;
  std::unique_ptr<stream::kafka::Cluster> cluster_;
};

TEST_F(KafkaAudit, FindsNothingWhileAWorkerRunsAndASourceIsIngested) {
  KafkaWorld world(*broker_, 61);  // endless traffic
  auto worker = world.Worker("w0");
  ASSERT_TRUE(world.AwaitRest(kRest)) << world.Tasks().dump(1);
  ASSERT_EQ(Audit(world)["grants"], 0);  // before the first event
  std::uint64_t before = 0;
  {
    KafkaWorld::Stream stream(world);
    const auto first = Audit(world, {"--since"});
    ASSERT_TRUE(first.contains("since")) << first.dump(1);
    const auto audit = Audit(world);
    ASSERT_EQ(audit["problem_count"], 0) << audit.dump(1);
    before = audit["grants"].get<std::uint64_t>();
    const auto since = Audit(world, {"--since"});
    ASSERT_EQ(since["problem_count"], 0) << since.dump(1);
    ASSERT_TRUE(since.contains("since")) << since.dump(1);
    EXPECT_EQ(since["since"]["grants"], before);
    EXPECT_EQ(stream.Finish(), "");
  }
  // At rest the audit reads everything, and counts as much as an audit on one machine.
  ASSERT_TRUE(world.AwaitRest(kRest));
  const auto in_place = Audit(world);
  EXPECT_EQ(in_place["problem_count"], 0) << in_place.dump(1);
  EXPECT_GT(in_place["grants"], before);
  EXPECT_FALSE(std::filesystem::exists(world.state_of("admin") + "/audit/state"));
  Stop(*worker);
  world.WithMigrated([&](Engine& engine) {
    const auto on_one_machine = engine.Audit({});
    ASSERT_TRUE(on_one_machine.ok()) << on_one_machine.status().message();
    EXPECT_EQ(*on_one_machine, in_place);
  });
}

// kafka.slots: by_stage. The audit restores the slots of each stage.
TEST_F(KafkaAudit, ReadsSlotsByStage) {
  world_ = std::make_unique<KafkaWorld>(*broker_, Traffic(62, 1500),
                                        KafkaWorldOptions{.kafka = "  slots: by_stage\n"});
  auto worker = world_->Worker("w0");
  ASSERT_LE(world_->Ingest().code, 1);
  ASSERT_TRUE(world_->AwaitRest(kRest)) << world_->Tasks().dump(1);
  const auto audit = Audit(*world_);
  EXPECT_EQ(audit["problem_count"], 0) << audit.dump(1);
  EXPECT_GT(audit["grants"], 500);
  EXPECT_GT(audit["accounts"], 10);
  EXPECT_EQ(Audit(*world_, {"--since"})["since"]["grants"], audit["grants"]);
  Stop(*worker);
}

// `lab run --from-ledger` reads a deployment as audits do.
TEST_F(KafkaAudit, TheLaboratoryFitsItsWorldToADeploymentAsOnOneMachine) {
  world_ = std::make_unique<KafkaWorld>(*broker_, Traffic(64, 6000));
  auto worker = world_->Worker("w0");
  ASSERT_LE(world_->Ingest().code, 1);
  ASSERT_TRUE(world_->AwaitRest(kRest)) << world_->Tasks().dump(1);
  std::ofstream(world_->path("none.yaml")) << "id: A0\nname: none\n";
  const Finished lab = RunProgram(
      world_->path(""), {"lab", "run", world_->path("none.yaml"), "--from-ledger", world_->ConfigOf("admin"),
                         "--app", "1", "--policy", "robust", "--hosts", "10", "--jobs", "20", "--seeds", "1",
                         "--json", world_->path("lab.json"), "--quiet"});
  ASSERT_EQ(lab.code, 0) << lab.err;
  std::ifstream file(world_->path("lab.json"));
  const auto fit = nlohmann::json::parse(file)["ledger"];
  EXPECT_GE(fit["results"], 200) << fit.dump(1);
  Stop(*worker);
  world_->WithMigrated([&](Engine& engine) {
    const auto on_one_machine = engine.FitWorld(ProjectId(1), AppId(1), {});
    ASSERT_TRUE(on_one_machine.ok()) << on_one_machine.status().message();
    EXPECT_EQ(*on_one_machine, fit);
  });
}

// Changes a row of a host's account in the checkpoint topic; the worker's own state is correct.
TEST_F(KafkaAudit, OneWrongMicroCreditInACheckpointNamesTheAccount) {
  world_ = std::make_unique<KafkaWorld>(*broker_, Traffic(61, 3000));
  {
    auto worker = world_->Worker("w0");
    ASSERT_LE(world_->Ingest().code, 1);
    ASSERT_TRUE(world_->AwaitRest(kRest));
    Stop(*worker);
  }
  Connect();
  constexpr std::uint32_t kSlot = 1;
  std::string row;
  stream::Key key;
  accounts::HostAccount host;
  std::uint64_t end = 0;
  ReadAll({kCheckpointTopic, kSlot}, [&](const Message& message) {
    end = message.offset() + 1;
    std::uint8_t table = 0;
    stream::Key one;
    if (message.tombstone() || !stream::DecodeKey(message.key(), &table, &one) ||
        table != accounts::kHostsTable.id)
      return;
    ASSERT_TRUE(stream::DecodeRow(accounts::kHostsTable, message.value(), host).ok());
    row = message.key();
    key = one;
  });
  ASSERT_FALSE(row.empty());
  host.account.total_micro += 1;
  std::string damaged;
  stream::EncodeRow(accounts::kHostsTable, host, damaged);

  const auto admin = stream::kafka::MakeTopicAdmin(deployment_.cluster);
  ASSERT_TRUE(admin.ok());
  ASSERT_TRUE(AwaitNoMembers(**admin, settings_, [](const std::string&) {}).ok());
  stream::kafka::NoListener listener;
  auto group = cluster_->NewGroup("observer", listener);
  ASSERT_TRUE(group.ok());
  const auto committed = (*group)->Committed({kSlot}, true, kPatience);
  ASSERT_TRUE(committed.ok() && committed->front().offset);
  auto position = stream::kafka::DecodePosition(*committed->front().offset, committed->front().metadata);
  ASSERT_TRUE(position.ok());
  ASSERT_GT(position->checkpoint_sequence, 0u);
  const auto producer = Transaction();
  std::uint64_t offset = 0;
  ASSERT_TRUE(producer->Produce({kCheckpointTopic, kSlot}, row, damaged, &offset).ok());
  ASSERT_TRUE(producer->Flush().ok());
  position->checkpoint_end = offset + 1;
  ASSERT_TRUE(
      stream::kafka::SendPositions(*cluster_, {{kSlot, *position}}, deployment_.task.journal, *producer)
          .ok());
  ASSERT_TRUE(producer->Commit().ok());

  auto worker = world_->Worker("w0");
  ASSERT_TRUE(world_->AwaitRest(kRest));
  EXPECT_THAT(Problems(), ElementsAre("host " + std::to_string(key.id) +
                                      " of project 1: the total differs by 1 micro-credits from the grants"));
}

// The worker applies the forged grant from the topic, so accounts agree with the ledger, but nothing
// justifies the grant.
TEST_F(KafkaAudit, AForgedGrantIsFound) {
  world_ = std::make_unique<KafkaWorld>(*broker_, Traffic(61, 3000));
  auto worker = world_->Worker("w0");
  ASSERT_LE(world_->Ingest().code, 1);
  ASSERT_TRUE(world_->AwaitRest(kRest));
  Connect();
  constexpr std::uint32_t kPartition = 2;
  std::optional<wire::Grant> grant;
  ReadAll({wire::kGrants, kPartition}, [&](const Message& message) {
    stream::RecordCursor cursor(message.value());
    for (std::string_view record; cursor.Next(&record);) {
      wire::Grant one;
      if (wire::DecodeGrant(record, &one) && one.head.kind == wire::GrantKind::kFinal && one.claim)
        grant = one;
    }
  });
  ASSERT_TRUE(grant);
  grant->head.credit_micro += 1;
  std::string record;
  std::string claim;
  wire::EncodeClaim(*grant->claim, &claim);
  wire::EncodeGrant(grant->head, grant->detail, grant->others, claim, &record);
  std::string message;
  stream::AppendRecord(message, record);
  const auto producer = Transaction();
  std::uint64_t offset = 0;
  ASSERT_TRUE(producer->Produce({wire::kGrants, kPartition}, "", message, &offset).ok());
  ASSERT_TRUE(producer->Flush().ok());
  ASSERT_TRUE(producer->Commit().ok());
  ASSERT_TRUE(world_->AwaitRest(kRest));
  const std::string result = "result " + std::to_string(grant->head.result.value);
  const auto problems = Problems();
  EXPECT_THAT(problems, Contains(HasSubstr("offset " + std::to_string(offset) + " (" + result + "): ")));
  EXPECT_THAT(problems, Contains(HasSubstr(result + " of project 1: has 2 final grants")));
}

}  // namespace
}  // namespace cobblestone::testing
