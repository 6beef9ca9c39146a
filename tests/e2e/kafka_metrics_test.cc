// A real Prometheus scrapes two workers on a real broker, each a standby of the other. Their metrics add up to the
// grants, and every metric that the dashboard and the alerts use exists. One worker is killed; the other exports the
// metrics of its slots.

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/e2e/prometheus.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {

using embedded::Engine;
using traffic::GenerateOptions;

namespace {

using nlohmann::json;

// The world's worker of that name, with a JSON log.
std::unique_ptr<Background> WorkerInJson(const KafkaWorld& world, const std::string& name) {
  std::ifstream file(world.ConfigOf(name));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string level = "log:\n";
  const std::size_t at = text.find(level);
  if (at == std::string::npos) throw std::runtime_error("no " + level + " in " + text);
  text.insert(at + level.size(), "  format: json\n");
  std::ofstream(world.path(name + "-json.yaml")) << text;
  return std::make_unique<Background>(
      world.path(""), std::vector<std::string>{"run", "--config", world.path(name + "-json.yaml")});
}

TEST(KafkaMetrics, TheWorkersMetricsAddUpToTheDeployment) {
  const auto broker = TestBroker::Shared();
  GenerateOptions options = TrafficOptions(47, 4000);
  const KafkaWorld world(*broker, Traffic(options),
                         {.kafka = "  standby: hot\n", .more = "metrics: {listen: \"127.0.0.1:0\"}\n"});
  auto first = WorkerInJson(world, "w0");
  auto second = WorkerInJson(world, "w1");
  ASSERT_TRUE(first->WaitFor("\"running\"")) << first->err();
  ASSERT_TRUE(second->WaitFor("\"running\"")) << second->err();
  const std::string address = MetricsAddressIn(first->err());
  Background gateway(world.path(""), {"gateway", "--config", world.ConfigOf("g"), "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(gateway.WaitFor(" gateway=")) << gateway.err();
  const std::string gateway_address = MetricsAddressIn(gateway.err());
  const Prometheus prometheus(world.path(""), {address, MetricsAddressIn(second->err()), gateway_address});
  const Finished ingested = world.Ingest();
  ASSERT_LE(ingested.code, 1) << ingested.err;  // 1: bad lines of the traffic were reported
  ASSERT_TRUE(world.AwaitRest(std::chrono::seconds(60))) << world.Tasks().dump(1);

  EXPECT_TRUE(prometheus.Await("sum(cobblestone_kafka_task_owned) == 5")) << "each slot has one owner";
  EXPECT_TRUE(prometheus.Await("count(cobblestone_kafka_task_phase{phase=\"running\"}) == 5"));
  EXPECT_TRUE(prometheus.Await("count(cobblestone_kafka_task_phase{phase=\"standby\"}) == 5"));
  EXPECT_TRUE(prometheus.Await("max(cobblestone_kafka_standby_lag_commits) == 0"));
  EXPECT_TRUE(prometheus.Await("cobblestone_scale_epoch > 0"))
      << "the coordinator's owner exports the scales";
  EXPECT_TRUE(prometheus.Await("cobblestone_task_checkpoint_timestamp_seconds"));
  EXPECT_TRUE(prometheus.Await("count(cobblestone_kafka_view_commits > 0) == 5"));
  EXPECT_TRUE(prometheus.Await("count(cobblestone_kafka_view_lag_commits == 0) == 5"))
      << "at rest the gateway shows all commits";
  const auto scraped = prometheus.Names();
  for (const std::string& name : NamedMetrics()) {
    // Metrics of one machine's log, stages and audits.
    bool here = name.starts_with("cobblestone_kafka_") || name.starts_with("process_");
    for (const char* part :
         {"_task_records", "_task_lag", "_task_commit", "_task_stopped", "_task_state", "_task_checkpoint",
          "_grants_total", "_claims", "_credit", "_scale", "_health", "_disk"})
      here = here || name.find(part) != std::string::npos;
    if (name.find("_log_") != std::string::npos) here = false;
    if (!here) continue;
    EXPECT_TRUE(scraped.contains(name) || scraped.contains(name + "_bucket"))
        << name << " is used in deploy/monitoring, but no worker exports it";
  }
  EXPECT_EQ(PromtoolComplaints(world.path(""), Fetch(address, "/metrics")), "");
  EXPECT_EQ(PromtoolComplaints(world.path(""), Fetch(gateway_address, "/metrics")), "");
  EXPECT_EQ(json::parse(Fetch(gateway_address, "/health")).at("status"), "ok");

  // The new owner exports the scales, and counts from its own records on.
  first->Signal(SIGKILL);
  (void)first->Wait();
  EXPECT_TRUE(prometheus.Await("sum(cobblestone_kafka_task_owned) == 5 and on () count(up == 1) == 2"));
  EXPECT_TRUE(prometheus.Await("cobblestone_kafka_fenced_owners_total > 0"));
  EXPECT_TRUE(prometheus.Await("cobblestone_scale_epoch > 0"))
      << "read from the topic that the previous owner wrote";

  second->Signal(SIGTERM);
  EXPECT_EQ(second->Wait(), 0) << second->err();
  for (const Background* worker : {first.get(), second.get()}) {
    std::istringstream lines(worker->err());
    for (std::string line; std::getline(lines, line);)
      EXPECT_TRUE(json::parse(line, nullptr, false).is_object()) << line;
  }
}

TEST(KafkaMetrics, GrantsOfAllWorkersEqualTheLedger) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, Traffic(48, 3000),
                         {.kafka = "", .more = "metrics: {listen: \"127.0.0.1:0\"}\n"});
  auto first = world.Worker("w0");
  auto second = world.Worker("w1");
  ASSERT_TRUE(first->WaitFor("running")) << first->err();
  ASSERT_TRUE(second->WaitFor("running")) << second->err();
  const Prometheus prometheus(world.path(""),
                              {MetricsAddressIn(first->err()), MetricsAddressIn(second->err())});
  const Finished ingested = world.Ingest();
  ASSERT_LE(ingested.code, 1) << ingested.err;
  ASSERT_TRUE(world.AwaitRest(std::chrono::seconds(60))) << world.Tasks().dump(1);
  ASSERT_TRUE(prometheus.AwaitScrape());
  const double grants = prometheus.Value("sum(cobblestone_grants_total)");
  const double credit = prometheus.Value("sum(cobblestone_credit_granted_total)");
  const double refused = prometheus.Value("sum(cobblestone_refused_total{project!=\"0\"})");
  for (auto* worker : {first.get(), second.get()}) {
    worker->Signal(SIGTERM);
    EXPECT_EQ(worker->Wait(), 0) << worker->err();
  }
  world.WithMigrated([&](Engine& engine) {
    const auto audit = engine.Audit({});
    ASSERT_TRUE(audit.ok()) << audit.status().message();
    EXPECT_EQ(grants, audit->at("grants").get<double>());
    EXPECT_NEAR(credit, std::stod(audit->at("granted_micro").get<std::string>()) / 1e6, 1e-6);
  });
  EXPECT_GT(grants, 1000);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace cobblestone::testing
