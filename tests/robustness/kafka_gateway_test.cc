// Several gateways on a deployment on a real broker, each with its own view. Together they ingest the events
// of one source exactly once and show the same accounts as one machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/gateway_process.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr seconds kPatience{180};
constexpr const char* kEvents = "/api/v1/events?source=http&first_line=";

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line + "\n");
  return lines;
}

class KafkaGateway : public ::testing::Test {
 protected:
  KafkaGateway() : broker_(TestBroker::Shared()) {
    WriteTokens(dir_ / "tokens");
    world_ = std::make_unique<KafkaWorld>(
        *broker_, std::vector<Event>(),
        KafkaWorldOptions{.more = "gateway: {rate_limit: 100000, rate_burst: 100000, tokens_file: \"" +
                                  (dir_ / "tokens") +
                                  "\"}\nprojects: [{id: 9, name: nine, events_per_second: 1}]\n"});
    lines_ = LinesOf(EventLines(dir_, 200));
  }

  std::unique_ptr<Served> Gateway(const std::string& name) {
    auto served = std::make_unique<Served>(std::make_unique<Background>(
        dir_.path(),
        std::vector<std::string>{"gateway", "--config", world_->ConfigOf(name), "--listen", "127.0.0.1:0"}));
    EXPECT_TRUE(served->Start()) << served->process().err();
    return served;
  }
  // Repeats the request while the gateway answers 503, as for a source that another gateway has sent since.
  json Send(Served& to, std::size_t begin, std::size_t end) {
    std::string text;
    for (std::size_t i = begin; i < std::min(end, lines_.size()); ++i) text += lines_[i];
    Reply reply;
    for (int attempt = 0; attempt < 10; ++attempt) {
      reply = to.Post(kEvents + std::to_string(begin), text, kIngestToken);
      if (reply.status != 503) break;
    }
    EXPECT_EQ(reply.status, 200) << reply.body << to.process().err();
    return reply.json()["data"];
  }
  // The first `flow` event of the live stream.
  static json NextFlow(const std::string& url) {
    httplib::Client client(url);
    client.set_read_timeout(60);
    std::string text;
    json flow;
    (void)client.Get("/api/v1/live", [&](const char* data, std::size_t size) {
      text.append(data, size);
      const std::size_t event = text.find("event: flow\ndata: ");
      const std::size_t end = event == std::string::npos ? event : text.find("\n\n", event);
      if (end == std::string::npos) return true;
      flow = json::parse(text.substr(event + 18, end - event - 18), nullptr, false);
      return false;
    });
    return flow;
  }
  // Accounts of all users, without the fields that depend on the time of the request.
  static json Accounts(const std::function<json(int user)>& ask) {
    json all = json::array();
    for (int user = 1; user <= 13; ++user) {
      json account = ask(user);
      all.push_back({account.value("total", ""), account.value("grants", 0), account.value("days", json())});
    }
    return all;
  }

  TempDir dir_;
  std::unique_ptr<TestBroker> broker_;
  std::unique_ptr<KafkaWorld> world_;
  std::vector<std::string> lines_;
};

TEST_F(KafkaGateway, SeveralIngestASourceOnceAndAgreeWithOneMachine) {
  ASSERT_GT(lines_.size(), 400u);
  ASSERT_EQ(RunProgram(dir_.path(), {"ingest", "events.jsonl", "--data", "reference"}).code, 0);
  const json truth = Accounts([&](int user) {
    return AskProgram(dir_.path(),
                      {"account", "user", std::to_string(user), "--json", "--data", "reference"});
  });
  auto worker = world_->Worker("a");
  auto first = Gateway("first");
  auto second = Gateway("second");

  EXPECT_EQ(Send(*first, 0, 200)["appended"], 200);
  EXPECT_EQ(Send(*second, 200, lines_.size())["appended"], lines_.size() - 200);
  // The first gateway does not know of the second one's events. A client that lost the answer sends
  // everything again.
  const json again = Send(*first, 0, lines_.size());
  EXPECT_EQ(again["appended"], 0);
  EXPECT_EQ(again["lines"], lines_.size());
  EXPECT_EQ(first->Get("/api/v1/events?source=http", kIngestToken).json()["data"]["lines"], lines_.size());
  // Every gateway knows which token used the source first. A request with another token does not close its
  // publisher either.
  for (Served* gateway : {first.get(), second.get()}) {
    EXPECT_EQ(gateway->Get("/api/v1/events?source=http", kOtherIngestToken).status, 403);
    EXPECT_EQ(gateway->Post(kEvents + std::to_string(lines_.size()), "\n", kOtherIngestToken).status, 403);
  }

  for (Served* gateway : {first.get(), second.get()}) {
    const auto accounts = [&] {
      return Accounts([&](int user) {
        return gateway->Get("/api/v1/projects/1/users/" + std::to_string(user))
            .json()
            .value("data", json::object());
      });
    };
    const auto until = std::chrono::steady_clock::now() + kPatience;
    json shown = accounts();
    while (shown != truth && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      shown = accounts();
    }
    EXPECT_EQ(json::diff(truth, shown), json::array()) << gateway->process().err();
    const Reply grants = gateway->Get("/api/v1/projects/1/users/1/grants?limit=3");
    ASSERT_EQ(grants.status, 200) << grants.body;
    const auto result = grants.json()["data"][0]["result"].get<std::uint64_t>();
    const Reply why = gateway->Get("/api/v1/projects/1/results/" + std::to_string(result));
    ASSERT_EQ(why.status, 200) << why.body;
    EXPECT_EQ(why.json()["data"]["grants"][0]["credit"], grants.json()["data"][0]["credit"]);
    EXPECT_EQ(gateway->Get("/api/v1/health").json()["status"], "ok");
    // Figures per stage, though one slot in another process runs all stages.
    const json tasks = gateway->Get("/api/v1/tasks", kReadToken).json()["data"];
    std::map<std::string, std::uint64_t> records;
    for (const json& task : tasks["tasks"])
      for (const json& stage : task.value("stages", json::array()))
        records[stage["stage"]] += stage["records"].get<std::uint64_t>();
    EXPECT_EQ(records.size(), 5u) << tasks;
    for (const auto& [stage, count] : records) EXPECT_GT(count, 0u) << stage;
    const json flow = NextFlow(gateway->url());
    std::vector<std::string> stages;
    for (const json& stage : flow["stages"]) stages.push_back(stage["stage"]);
    EXPECT_EQ(stages, (std::vector<std::string>{"claims", "grants", "accounts", "teams", "coordinator"}));
  }
  // Without a worker the health is degraded, and the gateway continues to show the last state.
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  const Reply unwell = first->GetUntil(
      "/api/v1/health", [](const Reply& reply) { return reply.json().value("status", "") == "degraded"; });
  EXPECT_EQ(unwell.json()["status"], "degraded") << unwell.body;
  EXPECT_EQ(first->Get("/api/v1/projects/1/users/1").status, 200);
  for (Served* gateway : {first.get(), second.get()}) {
    gateway->process().Signal(SIGTERM);
    EXPECT_EQ(gateway->process().Wait(), 0) << gateway->process().err();
  }
}

// No worker is needed: the gateway itself decides.
TEST_F(KafkaGateway, ABatchBeyondTheQuotaOfItsProjectIsRefusedAndCounted) {
  const auto gateway = Gateway("g");
  const auto users = [](int first, int last) {
    std::string text;
    for (int id = first; id <= last; ++id)
      text +=
          R"({"id":)" + std::to_string(id) + R"(,"project":9,"user":{"user":)" + std::to_string(id) + "}}\n";
    return text;
  };
  const Reply accepted = gateway->Post(kEvents + std::string("0"), users(1, 1000), kIngestToken);
  ASSERT_EQ(accepted.status, 200) << accepted.body;  // the bucket holds 10; the debt takes 990 s
  const Reply refused = gateway->Post(kEvents + std::string("1000"), users(1001, 1001), kIngestToken);
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.json()["project"], 9);
  EXPECT_EQ(gateway->Get("/api/v1/events?source=http", kIngestToken).json()["data"]["lines"], 1000);
  const std::string scrape = gateway->Get("/api/v1/metrics", kMetricsToken).body;
  EXPECT_THAT(scrape, ::testing::HasSubstr("\ncobblestone_project_events_total{project=\"9\"} 1000\n"));
  EXPECT_THAT(scrape, ::testing::HasSubstr("\ncobblestone_project_throttled_total{project=\"9\"} 1\n"));
}

// A block of broadcasts waits until workers have processed everything before it. Here no worker runs, so a
// request that does not wait for that block is answered before it, at any speed.
TEST_F(KafkaGateway, ASourceThatWaitsForItsBroadcastsDelaysNoOther) {
  auto gateway = Gateway("one");
  constexpr int kWaiting = 6;  // more than the threads of one owner
  const std::size_t broadcasts = 9;
  std::string catalogue;
  for (std::size_t i = 0; i < broadcasts; ++i) catalogue += lines_[i];
  std::vector<std::future<int>> waiting;
  for (int i = 0; i < kWaiting; ++i)
    waiting.push_back(std::async(std::launch::async, [&, i] {
      httplib::Client client(gateway->url());
      client.set_read_timeout(kPatience);
      const auto answer = client.Post("/api/v1/events?source=slow-" + std::to_string(i) + "&first_line=0",
                                      {{"Authorization", std::string("Bearer ") + kOtherIngestToken}},
                                      catalogue, "application/x-ndjson");
      return answer ? answer->status : 0;
    }));
  const std::string results = lines_[lines_.size() - 2] + lines_.back();
  const Reply accepted = gateway->Post("/api/v1/events?source=quick&first_line=0", results, kIngestToken);
  EXPECT_EQ(accepted.status, 200) << accepted.body;
  EXPECT_EQ(gateway->Post("/api/v1/events?source=quick&first_line=2", results, kIngestToken).status, 200);
  EXPECT_EQ(gateway->Get("/api/v1/tasks", kReadToken).status, 200);
  EXPECT_NE(gateway->Get("/api/v1/health").status, 0);
  for (const auto& one : waiting)
    EXPECT_NE(one.wait_for(seconds(0)), std::future_status::ready) << "no worker has processed it";

  auto worker = world_->Worker("a");
  for (auto& one : waiting) EXPECT_EQ(one.get(), 200) << gateway->process().err();
}

}  // namespace
}  // namespace cobblestone::testing
