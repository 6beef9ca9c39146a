// Machines of account managers in a running pipeline: accounts, totals, audit and control totals agree about the
// reports, also over restarts.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/json/json_lines.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/embedded/engine.h"
#include "services/traffic/generate.h"
#include "tests/support/estimate_events.h"
#include "tests/support/job_events.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

using embedded::Engine;
using intake::AppendBlock;
using traffic::GenerateOptions;
using traffic::Generator;

namespace {

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;

class EstimateRun : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_.data_directory = temp_ / "data";
    settings_.partitions = 3;
    settings_.threads = 2;
    Open();
    for (const std::uint32_t project : {1u, 2u}) {
      Send(0, wire::AppChange{.app = AppId(1), .policy = "assigned"}, project);
      for (std::uint64_t user = 1; user <= 8; ++user)
        Send(0, wire::UserMember{.user = UserId(user)}, project);
      for (std::uint64_t host = 1; host <= 20; ++host)
        Send(0, wire::HostMember{.host = HostId(host), .user = UserId(1 + host % 8), .cpus = 4}, project);
    }
    Flush();
  }
  void Open() {
    auto engine = Engine::Open(settings_, [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    engine_ = std::move(*engine);
    engine_->Start();
  }
  void Reopen() {
    ASSERT_TRUE(engine_->Stop().ok());
    engine_.reset();
    Open();
  }
  void Send(double day, wire::EventBody body, std::uint32_t project = 1) {
    Send(wire::EncodeEvent({.head = {.id = ++id_, .project = ProjectId(project), .time = kStart + day * kDay},
                            .body = std::move(body)}));
  }
  void Send(std::string envelope) {
    const auto routing = wire::PeekRouting(envelope);
    const bool broadcast = routing && routing->key == wire::KeyKind::kBroadcast;
    if (broadcast != block_.barrier) Flush();
    block_.barrier = broadcast;
    block_.lines.push_back({.envelope = std::move(envelope)});
  }
  void Flush() {
    if (block_.lines.empty()) return;
    const std::uint64_t next = block_.first_line + block_.lines.size();
    const auto appended = engine_->Append(block_);
    ASSERT_TRUE(appended.ok()) << appended.status().message();
    engine_->WaitIdle();
    ASSERT_TRUE(engine_->failure().ok()) << engine_->failure().message();
    block_ = {.source = "story", .first_line = next, .own_ticks = true};
  }
  void Reports(double day, std::uint64_t machine, std::uint64_t host, double credit,
               std::uint32_t project = 1) {
    wire::EstimatedCredit report{.host = HostId(host),
                                 .counters = {},
                                 .machine = machine,
                                 .cpus = 1,
                                 .cpu_flops = 1e9,
                                 .gpus = 0,
                                 .gpu_flops = 0};
    report.counters.push_back({.resource = credit::Resource::kCpu,
                               .credit = credit,
                               .run_time = credit * 100.5,
                               .jobs = 3,
                               .failed_jobs = 1,
                               .failed_run_time = credit});
    Send(day, report, project);
  }
  void Granted(double day, std::uint64_t result, std::uint64_t host, double credit) {
    Send(day, CompletionOf(result, host, result, kStart + day * kDay));
    Send(day, ValidationOf(result, host, result, credit));
  }
  nlohmann::json Account(wire::AccountKind kind, std::uint64_t id) {
    Flush();
    const auto answer = engine_->questions().Account(ProjectId(1), kind, id);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? *answer : nlohmann::json();
  }
  nlohmann::json Audit() {
    Flush();
    const auto audit = engine_->Audit({});
    EXPECT_TRUE(audit.ok()) << audit.status().message();
    return audit.ok() ? *audit : nlohmann::json();
  }

  TempDir temp_;
  settings::RunSettings settings_;
  std::unique_ptr<Engine> engine_;
  AppendBlock block_{.source = "story", .own_ticks = true};
  std::uint64_t id_ = 100;
};

TEST_F(EstimateRun, AnAccountShowsItsEstimateAndTheGrantedPart) {
  Send(0, wire::MachineHost{.machine = 77, .host = HostId(7), .user = UserId(8)});
  Reports(1, 77, 7, 100);
  Reports(2, 77, 7, 160.25);
  Granted(2, 50, 7, 30);
  nlohmann::json user = Account(wire::AccountKind::kUser, 8);
  EXPECT_EQ(user["total"], "30.000000");
  EXPECT_EQ(user["shown"], "30.000000") << "from the ledger";
  nlohmann::json estimates = user["estimates"];
  EXPECT_EQ(estimates["credit"], "160.250000");
  EXPECT_EQ(estimates["provisional"], "130.250000");
  EXPECT_EQ(estimates["shown"], "160.250000");
  EXPECT_EQ(estimates["run_time"], "16105.125000");
  EXPECT_EQ(estimates["jobs"], 3);
  EXPECT_EQ(estimates["failed_run_time"], "160.250000");
  ASSERT_EQ(estimates["days"].size(), 2u);
  EXPECT_EQ(estimates["days"][1]["credit"], "60.250000");
  EXPECT_EQ(estimates["days"][0]["failed_jobs"], 1);
  EXPECT_EQ(estimates["days"][0]["failed_run_time"], "100.000000");
  EXPECT_EQ(estimates["days"][1]["failed_jobs"], 0);
  EXPECT_EQ(estimates["days"][1]["failed_run_time"], "60.250000");
  const nlohmann::json host = Account(wire::AccountKind::kHost, 7);
  EXPECT_EQ(host["estimates"]["credit"], "160.250000");
  EXPECT_EQ(host["estimates"]["days"], estimates["days"]);
  EXPECT_FALSE(Account(wire::AccountKind::kUser, 1).contains("estimates"));

  Reopen();
  EXPECT_EQ(Account(wire::AccountKind::kUser, 8)["estimates"], estimates);
  wire::Total last;
  for (std::uint32_t k = 0; k < 3; ++k) {
    const Status read =
        engine_->ForEachRecord({wire::kTotals, k}, [&](std::uint64_t, std::string_view bytes) {
          wire::Total total;
          EXPECT_TRUE(wire::DecodeTotal(bytes, &total));
          if (total.kind == wire::AccountKind::kUser && total.account == 8 && total.project == ProjectId(1))
            last = total;
          return true;
        });
    EXPECT_TRUE(read.ok()) << read.message();
  }
  EXPECT_TRUE(last.total_micro == 30'000'000);
  EXPECT_TRUE(last.estimated_micro == 130'250'000);
  EXPECT_TRUE(last.shown_micro == 160'250'000);
  EXPECT_EQ(Audit()["problem_count"], 0);
}

// Hosts 7 and 15 belong to user 8.
TEST_F(EstimateRun, AMergedHostKeepsItsEstimates) {
  Granted(0.5, 50, 15, 10);
  Send(0, wire::MachineHost{.machine = 77, .host = HostId(7), .user = UserId(8)});
  Reports(1, 77, 7, 100);
  Flush();
  Send(1.5, wire::HostMerge{.host = HostId(7), .into = HostId(15)});
  Flush();
  Reports(1.7, 77, 7, 150);  // the account manager does not know of the merge yet
  Granted(2, 51, 15, 150);
  EXPECT_EQ(Account(wire::AccountKind::kUser, 8)["estimates"]["provisional"], "0.000000");
  EXPECT_EQ(Account(wire::AccountKind::kHost, 15)["estimates"]["credit"], "150.000000");
  EXPECT_FALSE(Account(wire::AccountKind::kHost, 7).contains("estimates"));
  EXPECT_EQ(Audit()["problem_count"], 0);
  Reopen();
  EXPECT_EQ(Account(wire::AccountKind::kHost, 15)["estimates"]["credit"], "150.000000");
  EXPECT_EQ(Audit()["problem_count"], 0);
}

// docs/guides/estimates.md describes this example.
TEST_F(EstimateRun, TheExampleGivesTheDocumentedTotals) {
  std::ifstream file(COBBLESTONE_SOURCE_DIR "/examples/manager/reports.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto envelope = wire::EnvelopeFromJson(line);
    ASSERT_TRUE(envelope.ok()) << envelope.status().message();
    Send(std::move(*envelope));
  }
  const nlohmann::json user = Account(wire::AccountKind::kUser, 1);
  EXPECT_EQ(user["total"], "700.000000");
  const nlohmann::json estimates = user["estimates"];
  EXPECT_EQ(estimates["credit"], "40300.000000");
  EXPECT_EQ(estimates["provisional"], "39600.000000");
  EXPECT_EQ(estimates["shown"], "40300.000000");
  EXPECT_EQ(estimates["run_time"], "6890400.000000");
  EXPECT_EQ(estimates["jobs"], 192);
  EXPECT_EQ(estimates["failed_run_time"], "10800.000000");
  const auto other = engine_->questions().Account(ProjectId(2), wire::AccountKind::kUser, 1);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*other)["estimates"]["credit"], "900.000000");
  EXPECT_EQ(Audit()["problem_count"], 0);
}

// docs/guides/estimates.md describes this example: generated, ingested, shown, audited.
TEST_F(EstimateRun, GeneratedMachinesShowEstimatesBeforeGrants) {
  GenerateOptions options;
  options.project = 3;
  options.results = 400;
  options.hosts = 30;
  options.machines = 0.5;
  options.bad_reports = 0.2;
  Generator generator(options);
  for (std::string envelope; generator.Next(&envelope);) Send(envelope);
  Flush();
  std::size_t open = 0;
  for (std::uint64_t user = 1; user <= 20; ++user) {
    const auto answer = engine_->questions().Account(ProjectId(3), wire::AccountKind::kUser, user);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    if (answer->contains("estimates") && (*answer)["estimates"]["provisional"] != "0.000000") ++open;
  }
  EXPECT_GT(open, 5u);
  const nlohmann::json audit = Audit();
  EXPECT_EQ(audit["problem_count"], 0) << audit.dump(1);
  EXPECT_GT(audit["estimates"], 100);
}

// The project's hosts are in three partitions.
TEST_F(EstimateRun, AProjectShowsTheDaysOfAllItsHosts) {
  for (const std::uint64_t host : {7, 9, 11}) {
    Send(0, wire::MachineHost{.machine = host, .host = HostId(host), .user = UserId(1 + host % 8)});
    for (int day = 1; day <= 70; ++day) Reports(day, host, host, 10.5 * day);
  }
  Granted(70, 50, 9, 30);
  Flush();
  const auto of = [&](std::uint32_t project) {
    const auto answer = engine_->questions().EstimatesOf(ProjectId(project));
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? (*answer)["estimates"] : nlohmann::json();
  };
  const nlohmann::json estimates = of(1);
  EXPECT_EQ(estimates["credit"], "2205.000000");
  EXPECT_EQ(estimates["provisional"], "2175.000000");
  EXPECT_EQ(estimates["jobs"], 9);
  EXPECT_EQ(estimates["failed_jobs"], 3);
  EXPECT_EQ(estimates["failed_run_time"], "2205.000000");
  ASSERT_EQ(estimates["days"].size(), 70u);
  EXPECT_EQ(estimates["days"][0]["failed_jobs"], 3);
  EXPECT_EQ(estimates["days"][69]["credit"], "31.500000");
  EXPECT_TRUE(of(2)["days"].empty());
  EXPECT_EQ(engine_->questions().EstimatesOf(ProjectId(9)).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Audit()["problem_count"], 0);
  Reopen();
  EXPECT_EQ(of(1), estimates);
}

TEST_F(EstimateRun, TheAuditAgreesWithManyMachinesThatLieAndChangeHands) {
  const std::vector<ComingEvent> events = EstimateEvents(
      {.seed = 5, .start = kStart, .span = 20 * kDay, .projects = {1, 2}, .machines = 40, .users = 8});
  for (std::size_t i = 0; i < events.size(); ++i) {
    Send(events[i].second);
    if (i % 10 == 0) Granted(20, 1000 + i, 1 + i % 20, 1.5);
    if (i == events.size() / 2) {
      Flush();
      Reopen();
    }
  }
  const nlohmann::json audit = Audit();
  EXPECT_EQ(audit["problem_count"], 0) << audit.dump(1);
  EXPECT_GT(audit["estimates"], 300);
}

}  // namespace
}  // namespace cobblestone::testing
