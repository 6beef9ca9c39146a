// A real Prometheus scrapes a running pipeline. The metrics are exact and include every metric that the dashboard and
// the alerts of deploy/monitoring use. Renaming a metric in only one place fails here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/program_process.h"
#include "tests/e2e/prometheus.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

using nlohmann::json;
using testing::AskProgram;
using testing::Background;
using testing::Fetch;
using testing::Finished;
using ::testing::HasSubstr;
using testing::MetricsAddressIn;
using testing::Prometheus;
using testing::RunProgram;

class ProgramMetrics : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(dir_ / "site.yaml") << "data_directory: data\n"
                                         "partitions: 2\n"
                                         "state: {flush_interval: 100 ms}\n"
                                         "checkpoint: {interval: 1 s}\n"
                                         "log: {format: json}\n"
                                         "quota: {events_per_second: 100000000}\n"
                                         // nobody listens
                                         "hub: {url: \"http://127.0.0.1:9\", push_token_file: token}\n"
                                         "projects: [{id: 1, name: Fold, hub_project: 4}]\n"
                                         "snapshots: {directory: snapshots}\n"
                                         "metrics: {listen: \"127.0.0.1:0\"}\n";
    std::ofstream(dir_ / "token") << "a-token-0123456789\n";
    ::chmod((dir_ / "token").c_str(), 0600);
    const Finished made = Run({"generate", "events.pb", "--results", "6000", "--hosts", "60", "--seed", "5",
                               "--policy", "creditnew", "--quiet"});
    ASSERT_EQ(made.code, 0) << made.err;
    std::ofstream(dir_ / "bad.jsonl")
        << "this is no event\n"
        << R"({"id":"1","project":1,"time":1700000000,"completion":{"result":"99"}})"
        << "\n";
  }
  Finished Run(const std::vector<std::string>& arguments) { return RunProgram(dir_.path(), arguments); }
  json Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--config", "site.yaml"});
    return AskProgram(dir_.path(), arguments);
  }
  void Ingest(const std::string& file) {
    const Finished ingested = Run({"ingest", file, "--config", "site.yaml"});
    ASSERT_LE(ingested.code, 1) << ingested.err;  // 1: lines were refused
  }

  testing::TempDir dir_;
};

// A host whose reports keep rising, under policy robust.
void WriteRisingReports(const std::string& path) {
  std::ofstream out(path);
  int id = 0;
  double elapsed = 1000;
  const auto line = [&](double time, const std::string& event) {
    out << R"({"id":")" << ++id << R"(","project":5,"time":)" << static_cast<std::int64_t>(time) << ","
        << event << "}\n";
  };
  double now = 1.7e9;
  line(now, R"("app":{"app":"1","policy":"robust"})");
  line(now, R"("appVersion":{"appVersion":"1","app":"1","versionNum":100,"platform":"1"})");
  line(now, R"("user":{"user":"7"})");
  line(now, R"("host":{"host":"7","user":"7"})");
  for (int result = 1; result <= 70; ++result) {
    const std::string names = R"("result":")" + std::to_string(result) + R"(","host":"7","workunit":")" +
                              std::to_string(result) + R"(","app":"1",)";
    const double sent = now;
    now += 10000;
    elapsed *= 1.02;
    line(now, R"("completion":{)" + names + R"("appVersion":"1","outcome":"OUTCOME_SUCCESS","elapsedTime":)" +
                  std::to_string(elapsed) + R"(,"peakFlops":1e9,"sentTime":)" + std::to_string(sent) +
                  R"(,"receivedTime":)" + std::to_string(now) + "}");
    line(now, R"("validation":{)" + names +
                  R"("fpopsEst":1e12,"fpopsBound":1e15,"state":"VALIDATE_STATE_VALID","claims":1,"pass":1})");
  }
}

TEST_F(ProgramMetrics, MetricsAreExactAndIncludeAllThatAreUsed) {
  Background run(dir_.path(), {"run", "--config", "site.yaml"});
  ASSERT_TRUE(run.WaitFor("\"running\"")) << run.err();
  const std::string address = MetricsAddressIn(run.err());
  Ingest("events.pb");
  Ingest("bad.jsonl");
  const json audit = Ask({"audit"});
  ASSERT_EQ(audit.at("problems"), json::array());
  const Prometheus prometheus(dir_.path(), {address});
  ASSERT_TRUE(prometheus.AwaitScrape());

  const json tasks = Ask({"tasks"});
  EXPECT_GT(audit.at("grants"), 5000);
  EXPECT_EQ(prometheus.Value("sum(cobblestone_grants_total)"), audit.at("grants"));
  EXPECT_GE(tasks.at("grants"), audit.at("grants")) << "all records of the ledger";
  EXPECT_DOUBLE_EQ(prometheus.Value("sum(cobblestone_credit_granted_total)"),
                   std::stod(audit.at("granted_micro").get<std::string>()) / 1e6);
  EXPECT_EQ(prometheus.Value("sum(cobblestone_refused_total)"), tasks.at("refused"));
  EXPECT_EQ(prometheus.Value("cobblestone_refused_total{project=\"0\",reason=\"undecodable\"}"), 1)
      << "a line that is not an event never reached a stage";
  EXPECT_GE(prometheus.Value("sum(cobblestone_claims_total)"), audit.at("grants"));
  EXPECT_EQ(prometheus.Value("sum(cobblestone_task_lag_records)"), 0);
  EXPECT_EQ(prometheus.Value("cobblestone_ledger_unposted_records"), 0);
  EXPECT_EQ(prometheus.Value("cobblestone_audit_problems"), 0);
  EXPECT_EQ(prometheus.Value("cobblestone_audit_grants"), audit.at("grants"));
  EXPECT_GE(prometheus.Value("sum(cobblestone_task_commit_duration_seconds_count)"), 10);
  EXPECT_EQ(prometheus.Value("sum(cobblestone_task_commits_total)"),
            prometheus.Value("cobblestone_topic_records_total{topic=\"journal\"}"))
      << "a commit has one entry in the journal";
  const json scales = Ask({"scales"});
  EXPECT_EQ(prometheus.Value("cobblestone_scale_epoch"), scales.at("epoch"));
  EXPECT_DOUBLE_EQ(prometheus.Value("cobblestone_app_min_avg_pfc"), scales.at("apps")[0].at("min_avg_pfc"));

  // A checkpoint is due after a second, and comes with a state write, which needs new input.
  for (int line = 0; line < 200 && prometheus.Query("cobblestone_task_checkpoint_timestamp_seconds").empty();
       ++line) {
    std::ofstream(dir_ / "more.jsonl", std::ios::app)
        << R"({"id":")" << 1000 + line
        << R"(","project":1,"time":1700000000,"completion":{"result":"99","host":"1"}})"
        << "\n";
    Ingest("more.jsonl");
  }
  ASSERT_TRUE(prometheus.Await("cobblestone_task_checkpoint_timestamp_seconds"));
  WriteRisingReports(dir_ / "rising.jsonl");
  Ingest("rising.jsonl");
  ASSERT_TRUE(
      prometheus.Await(R"(cobblestone_host_to_watch_timestamp_seconds{project="5",app="1",host="7"})"));
  EXPECT_EQ(prometheus.Value(R"(cobblestone_hosts_to_watch_total{project="5"})"), 1);
  const auto scraped = prometheus.Names();
  for (const std::string& name : testing::NamedMetrics()) {
    if (name.starts_with("cobblestone_kafka_")) continue;  // kafka_metrics_test
    EXPECT_TRUE(scraped.contains(name) || scraped.contains(name + "_bucket"))
        << name << " is used in deploy/monitoring, but not exported";
  }
  for (const std::string& expression : testing::DashboardExpressions()) {
    EXPECT_FALSE(prometheus.Query(expression).is_null()) << expression;
  }
  EXPECT_EQ(testing::PromtoolComplaints(dir_.path(), Fetch(address, "/metrics")), "");
  EXPECT_GE(prometheus.Alerts().size(), 20u);
  EXPECT_TRUE(prometheus.Query("ALERTS{severity=\"critical\"}").empty())
      << prometheus.Query("ALERTS{severity=\"critical\"}").dump(1);
  EXPECT_EQ(json::parse(Fetch(address, "/health")).at("status"), "ok");

  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 0) << run.err();
  EXPECT_TRUE(prometheus.Await("up == 0"));
  EXPECT_TRUE(prometheus.Await("ALERTS{alertname=\"CobblestoneDown\"}")) << "at least pending";
}

TEST_F(ProgramMetrics, TheLastAuditAndTheScalesAreKnownAfterARestart) {
  ASSERT_EQ(Run({"ingest", "events.pb", "--config", "site.yaml"}).code, 0);
  ASSERT_EQ(Run({"audit", "--config", "site.yaml"}).code, 0) << "without a running program";
  const json scales = Ask({"scales"});
  Background run(dir_.path(), {"run", "--config", "site.yaml"});
  ASSERT_TRUE(run.WaitFor("\"running\"")) << run.err();
  const std::string text = Fetch(MetricsAddressIn(run.err()), "/metrics");
  EXPECT_THAT(text, HasSubstr("\ncobblestone_audit_problems 0\n"));
  EXPECT_THAT(text, HasSubstr("\ncobblestone_audit_timestamp_seconds "));
  EXPECT_THAT(text,
              HasSubstr("\ncobblestone_scale_epoch{project=\"1\"} " + scales.at("epoch").dump() + "\n"));
}

// Each line is one object with a time, a level and a sentence, from the first to the last, in every situation.
TEST_F(ProgramMetrics, EveryLineOfTheLogIsJson) {
  const auto check = [](const std::string& log, std::size_t least) {
    std::istringstream lines(log);
    std::string line;
    std::size_t count = 0;
    for (; std::getline(lines, line); ++count) {
      const json one = json::parse(line, nullptr, false);
      ASSERT_TRUE(one.is_object()) << line;
      EXPECT_TRUE(one.contains("time") && one.contains("level") && one.contains("message")) << line;
    }
    EXPECT_GE(count, least) << log;
  };
  {
    Background run(dir_.path(), {"run", "--config", "site.yaml"});
    ASSERT_TRUE(run.WaitFor("\"running\"")) << run.err();
    Ingest("events.pb");
    run.Signal(SIGKILL);
    EXPECT_EQ(run.Wait(), 128 + SIGKILL);
    check(run.err(), 2);
  }
  std::filesystem::remove_all(dir_ / "data/state");
  {
    Background run(dir_.path(), {"run", "--config", "site.yaml"});
    ASSERT_TRUE(run.WaitFor("\"running\"")) << run.err();
    const Finished second = Run({"run", "--config", "site.yaml"});
    EXPECT_EQ(second.code, 4);
    check(second.err, 1);
    run.Signal(SIGTERM);
    EXPECT_EQ(run.Wait(), 0) << run.err();
    EXPECT_THAT(run.err(), HasSubstr("is missing; rebuilding the state from the log"));
    check(run.err(), 5);
  }
}

}  // namespace
}  // namespace cobblestone
