// A federation hub on a real broker: two workers, one of which dies again and again while editions, decisions, proofs and
// deletions arrive. Accounts, identities and refusals are those of plain maps, bit for bit, and its answers are those of
// a hub on one machine.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/gateway_process.h"
#include "tests/robustness/hub_outcome.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {

using embedded::Engine;

namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr int kKilled = 128 + SIGKILL;
constexpr int kDays = 9;

// Every account that the traffic has, and everybody by every id.
std::vector<std::string> Paths() {
  std::vector<std::string> paths;
  for (int project = 1; project <= 4; ++project) {
    const std::string of = "/projects/" + std::to_string(project);
    paths.push_back(of);
    for (int id = 1; id <= 14; ++id) {
      paths.push_back(of + "/users/" + std::to_string(id));
      paths.push_back("/person?project=" + std::to_string(project) + "&user=" + std::to_string(id));
      if (id <= 6) paths.push_back(of + "/hosts/" + std::to_string(id));
      if (id <= 2) paths.push_back(of + "/teams/" + std::to_string(id));
    }
  }
  for (char id = 'a'; id <= 'f'; ++id) paths.push_back("/person?cpid=" + std::string(32, id));
  return paths;
}

// Removes what depends on the moment of the answer.
void Strip(json& value) {
  if (value.is_object())
    for (const char* moment : {"rac_time", "as_of"}) value.erase(moment);
  if (value.is_structured())
    for (json& part : value) Strip(part);
}

json AnswerOf(const Reply& reply) {
  json answer{{"status", reply.status}};
  if (reply.status == 200) answer["data"] = reply.json()["data"];
  Strip(answer);
  return answer;
}

class KafkaHub : public ::testing::Test {
 protected:
  KafkaHub() : broker_(TestBroker::Shared()), events_(HubTraffic(3, kDays)) {
    WriteTokens(dir_ / "tokens");
    const HubOutcome expected = HubOracle(events_);
    EXPECT_GT(expected.refused, 0u);
    EXPECT_GT(expected.counts.at("erased"), 0);
    world_ = std::make_unique<KafkaWorld>(*broker_, events_, KafkaWorldOptions{.more = More()});
  }

  std::string More() {
    return "role: hub\ngateway: {rate_limit: 100000, rate_burst: 100000, tokens_file: \"" +
           (dir_ / "tokens") + "\"}\n";
  }

  std::unique_ptr<Served> Serve(std::vector<std::string> words) {
    words.insert(words.end(), {"--listen", "127.0.0.1:0"});
    auto served = std::make_unique<Served>(std::make_unique<Background>(dir_.path(), words));
    EXPECT_TRUE(served->Start()) << served->process().err();
    return served;
  }
  // Of a hub on one machine.
  std::map<std::string, json> AnswersOfOneMachine() {
    std::ofstream(dir_ / "one.yaml") << "data_directory: one\n" << More();
    WriteTraffic(events_, dir_ / "events.pb");
    const Finished sent = RunProgram(dir_.path(), {"ingest", "events.pb", "--config", "one.yaml"});
    EXPECT_EQ(sent.code, 1) << sent.out << sent.err;  // forged proofs were refused
    const auto served = Serve({"run", "--config", "one.yaml"});
    const auto ready = [](const Reply& reply) { return reply.status != 503; };
    std::map<std::string, json> answers;
    for (const std::string& path : Paths())
      answers[path] = AnswerOf(served->GetUntil("/api/v1/federation" + path, ready));
    return answers;
  }

  TempDir dir_;
  std::unique_ptr<TestBroker> broker_;
  std::vector<Event> events_;
  std::unique_ptr<KafkaWorld> world_;
};

TEST_F(KafkaHub, IsThatOfPlainMapsAndOfOneMachineThoughAWorkerDies) {
  const std::map<std::string, json> expected = AnswersOfOneMachine();
  auto source = world_->IngestInBackground();
  auto steady = world_->Worker("w1");
  for (const char* point : {"K2:9", "K4:7", "K5:11", "K6:5"}) {
    auto worker = world_->Worker("w0", point);
    ASSERT_EQ(worker->Wait(), kKilled) << point << ": " << worker->err();
  }
  auto worker = world_->Worker("w0");
  // 1: forged proofs were refused.
  ASSERT_EQ(source->Wait(), 1) << source->err() << worker->err() << steady->err() << world_->Tasks().dump(1);
  ASSERT_TRUE(world_->AwaitRest(seconds(180))) << world_->Tasks().dump(1);
  {
    const auto served = Serve({"gateway", "--config", world_->ConfigOf("gateway")});
    for (const auto& [path, answer] : expected) {
      // A gateway beside Kafka follows the workers.
      const Reply reply = served->GetUntil("/api/v1/federation" + path,
                                           [&](const Reply& found) { return AnswerOf(found) == answer; });
      ASSERT_EQ(AnswerOf(reply), answer) << path;
    }
  }
  for (Background* process : {steady.get(), worker.get()}) {
    process->Signal(SIGTERM);
    EXPECT_EQ(process->Wait(), 0) << process->err();
  }
  const Finished verified = world_->Run({"verify"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  // A migrated hub is a hub, and every commit is re-executed.
  world_->WithMigrated([&](Engine& engine) { ExpectLikeTheHubOracle(engine, events_); });
}

}  // namespace
}  // namespace cobblestone::testing
