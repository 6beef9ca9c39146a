// The audit of a whole pipeline in memory that continues while the audit reads its partitions one after the other.
// Correct state is never reported, whatever the moment and however little fits into memory; one wrong micro-credit is
// found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/audit/audit_record.h"
#include "services/audit/ledger_audit.h"
#include "services/ledger/ledger.h"
#include "services/ledger/ledger_index.h"
#include "services/traffic/generate.h"
#include "services/view/slot_rows.h"
#include "tests/support/free_world.h"
#include "tests/support/temp_dir.h"
#include "tests/support/trickle_traffic.h"

namespace cobblestone::testing {

using audit::AuditedPipeline;
using audit::AuditedState;
using audit::AuditLedger;
using audit::AuditReport;
using ledger::IndexedLogOf;
using ledger::LedgerIndex;
using ledger::MakeLedger;
using traffic::GenerateOptions;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint32_t kPartitions = 3;

class WorldLog final : public stream::IndexedLog {
 public:
  explicit WorldLog(FreeWorld& world) : world_(world) {}
  [[nodiscard]] std::uint64_t Begin(stream::TopicPartition) override { return 0; }
  [[nodiscard]] std::uint64_t End(stream::TopicPartition where) override {
    return world_.Partition(where).size();
  }
  Result<Piece> Read(stream::TopicPartition where, std::uint64_t offset) override {
    const auto& all = world_.Partition(where);
    if (offset >= all.size()) return Piece{};
    const auto copy = std::make_shared<std::vector<std::string>>(
        all.begin() + static_cast<std::ptrdiff_t>(offset), all.end());
    return Piece{.first = offset, .end = all.size(), .records = {copy->begin(), copy->end()}, .bytes = copy};
  }

 private:
  FreeWorld& world_;
};

class AuditedWorld final : public AuditedPipeline {
 public:
  // `steps`: steps of the world before a partition is read.
  AuditedWorld(FreeWorld& world, std::function<std::uint64_t(std::uint32_t partition)> steps)
      : world_(world), steps_(std::move(steps)) {}

  [[nodiscard]] std::uint32_t partitions() const override { return kPartitions; }
  [[nodiscard]] bool lockstep() const override { return false; }
  Status Look(std::uint32_t partition, const std::function<Status(const AuditedState&)>& look) override {
    for (std::uint64_t left = steps_(partition); left > 0 && world_.Step();) --left;
    stream::Slot& slot = *world_.slots()[partition].slot;
    const view::SlotRows rows(slot);
    AuditedState state{.claims = rows, .grants = rows, .accounts = rows, .teams = rows};
    for (std::size_t i = 0; i < slot.inputs().size(); ++i) {
      if (slot.inputs()[i].where.topic == wire::kGrants) state.grants_end = slot.next(i);
      if (slot.inputs()[i].where.topic == wire::kPostings) state.postings_end = slot.next(i);
    }
    return look(state);
  }
  std::unique_ptr<stream::IndexedLog> LogOf(stream::TopicIndex) override {
    return std::make_unique<WorldLog>(world_);
  }
  Result<view::Ledger*> ledger() override {
    if (ledger_) return ledger_.get();
    const IndexedLogOf log_of = [this](stream::TopicIndex topic) { return LogOf(topic); };
    auto index = LedgerIndex::Open(dir_ / "index", log_of, kPartitions);
    if (!index.ok()) return index.status();
    index_ = std::move(*index);
    ledger_ = MakeLedger(log_of, *index_);
    return ledger_.get();
  }

 private:
  FreeWorld& world_;
  const std::function<std::uint64_t(std::uint32_t partition)> steps_;
  TempDir dir_;
  std::unique_ptr<LedgerIndex> index_;
  std::unique_ptr<view::Ledger> ledger_;
};

class AuditAnytime : public ::testing::Test {
 protected:
  static Events Traffic(std::uint64_t seed) {
    GenerateOptions options = Trickling(seed);
    options.results = 150;
    options.hosts = 12;
    options.teams = 4;
    options.late = 0.1;
    return Generate(options);
  }
  nlohmann::json Audit(std::uint64_t steps, std::size_t entries) {
    return Audit([steps](std::uint32_t) { return steps; }, entries);
  }
  nlohmann::json Audit(std::function<std::uint64_t(std::uint32_t partition)> steps, std::size_t entries) {
    AuditedWorld audited(world_, std::move(steps));
    auto report = AuditLedger(audited, {.spill = {.directory = dir_.path(), .entries = entries}});
    if (!report.ok()) throw std::runtime_error(report.status().message());
    return report->answer;
  }

  TempDir dir_;
  FreeWorld world_{kPartitions, 7};
};

// On Kafka a slot can be minutes behind: its state does not have the policies of the grants of other partitions.
TEST_F(AuditAnytime, APartitionThatHasReadNothingYetIsNoProblem) {
  world_.Add(Traffic(1));
  const auto audit =
      Audit([](std::uint32_t partition) { return partition == 0 ? 0 : ~std::uint64_t{0}; }, 200);
  EXPECT_EQ(audit["problem_count"], 0) << audit.dump(1);
  EXPECT_GT(audit["grants"], 20);
  EXPECT_GT(audit["partial_grants"], 50);
}

TEST_F(AuditAnytime, ARunningPipelineHasNoProblems) {
  std::uint64_t grants = 0;
  std::uint64_t postings = 0;
  std::uint64_t late = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    std::mt19937_64 random(seed);
    world_ = FreeWorld(kPartitions, seed);
    world_.Add(Traffic(seed));
    for (bool more = true; more;) {
      for (std::uint64_t steps = random() % 60; steps > 0 && more; --steps) more = world_.Step();
      const auto audit = Audit(random() % 12, 5 + random() % 200);
      ASSERT_EQ(audit["problem_count"], 0) << "seed " << seed << ": " << audit.dump(1);
    }
    const auto audit = Audit(0, 1000);
    grants += audit["grants"].get<std::uint64_t>();
    late += audit["late_grants"].get<std::uint64_t>();
    postings += audit["postings"].get<std::uint64_t>();
    EXPECT_GT(audit["partial_grants"], 20);
  }
  EXPECT_GT(grants, 200u);
  EXPECT_GT(late, 3u);
  EXPECT_GT(postings, 100u);
}

TEST_F(AuditAnytime, TheReportDoesNotDependOnMemory) {
  world_.Add(Traffic(9));
  world_.RunUntilIdle();
  const auto in_memory = Audit(0, 1u << 20);
  for (const std::size_t entries : {2u, 16u, 300u}) EXPECT_EQ(Audit(0, entries), in_memory) << entries;
}

TEST_F(AuditAnytime, OneWrongMicroCreditNamesTheAccount) {
  world_.Add(Traffic(9));
  world_.RunUntilIdle();
  auto& hosts = world_.slots()[1].stages.accounts->hosts();
  stream::Key key;
  hosts.ForEach([&](const stream::Key& one, const accounts::HostAccount&) { key = one; });
  hosts.Mutable(key).account.total_micro += 1;
  EXPECT_THAT(Audit(0, 100)["problems"].get<std::vector<std::string>>(),
              ElementsAre(HasSubstr("host " + std::to_string(key.id) +
                                    " of project 1: the total differs by 1 micro-credits from the grants")));
}

// ---- audit --since ---------------------------------------------------------------------------------------

class AuditSince : public AuditAnytime {
 protected:
  Result<AuditReport> Try(std::uint32_t since_days, std::uint64_t steps = 0) {
    AuditedWorld audited(world_, [steps](std::uint32_t) { return steps; });
    return AuditLedger(audited, {.spill = {.directory = dir_.path(), .entries = 50},
                                 .record = record(),
                                 .at = now_,
                                 .since_days = since_days});
  }
  nlohmann::json Continue(std::uint64_t steps = 0) {
    auto report = Try(7, steps);
    if (!report.ok()) throw std::runtime_error(report.status().message());
    return report->answer;
  }
  std::uint64_t merge_ = 0;
  double now_ = 1.7e9;
  [[nodiscard]] std::string record() const { return dir_ / "audited"; }
  // A clean audit of the first half of the traffic; then the second half is processed.
  void HalfAudited() {
    const Events events = Traffic(9);
    const auto half = static_cast<std::ptrdiff_t>(events.size() / 2);
    world_.Add(Events(events.begin(), events.begin() + half));
    world_.RunUntilIdle();
    ASSERT_EQ(Continue()["problem_count"], 0);
    world_.Add(Events(events.begin() + half, events.end()));
    world_.RunUntilIdle();
  }
  std::string Bytes() const {
    std::ifstream file(record(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void ChangeRecord(const std::function<void(audit::AuditRecord&)>& change) const {
    audit::AuditRecordWriter writer(record());
    auto read =
        audit::AuditRecord::Load(record(), [&](const audit::AccountBalance::Account& account,
                                               const audit::AuditedSum& sum) { writer.Add(account, sum); });
    ASSERT_TRUE(read.ok()) << read.status().message();
    change(*read);
    ASSERT_TRUE(writer.Finish(*read).ok());
  }
  void Write(const std::string& bytes) const { std::ofstream(record(), std::ios::binary) << bytes; }
};

TEST_F(AuditSince, EachReadsOnlyNewRecordsAndTogetherTheyReadAll) {
  std::uint64_t continued = 0;
  std::uint64_t moves = 0;
  std::uint64_t merges = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::mt19937_64 random(seed);
    world_ = FreeWorld(kPartitions, seed);
    std::filesystem::remove(record());
    GenerateOptions options = Trickling(seed);
    options.results = 150;
    options.hosts = 12;
    options.teams = 4;
    options.machines = 0.5;
    world_.Add(Generate(options));
    std::uint64_t grants = 0;
    nlohmann::json last;
    for (bool more = true; more;) {
      for (std::uint64_t steps = random() % 120; steps > 0 && more; --steps) more = world_.Step();
      if (more && random() % 3 == 0)
        world_.Add(wire::EncodeEvent(
            {.head = {.id = 1'000'000'000 + ++merge_, .project = ProjectId(1), .time = options.start_time},
             .body = wire::HostMerge{.host = HostId(1 + random() % options.hosts),
                                     .into = HostId(1 + random() % options.hosts)}}));
      last = Continue(random() % 12);
      ASSERT_EQ(last["problem_count"], 0) << "seed " << seed << ": " << last.dump(1);
      EXPECT_EQ(last.contains("since") ? last["since"]["grants"].get<std::uint64_t>() : 0, grants);
      grants += last["grants"].get<std::uint64_t>();
      continued += last.contains("since") ? 1 : 0;
    }
    last = Continue();
    const auto full = Audit(0, 1000);
    EXPECT_EQ(full["grants"], grants + last["grants"].get<std::uint64_t>());
    for (const char* state : {"accounts", "waiting_for_user", "waiting_results", "host_merges"})
      EXPECT_EQ(last[state], full[state]) << state;
    EXPECT_EQ(last["postings"], 0);
    moves += full["host_moves"].get<std::uint64_t>();
    merges += full["host_merges"].get<std::uint64_t>();
  }
  EXPECT_GT(continued, 10u);
  EXPECT_GT(moves, 5u);
  EXPECT_GT(merges, 5u);
}

TEST_F(AuditSince, OneWrongMicroCreditIsFoundAndTheRecordStays) {
  HalfAudited();
  const std::string before = Bytes();
  auto& hosts = world_.slots()[1].stages.accounts->hosts();
  stream::Key key;
  hosts.ForEach([&](const stream::Key& one, const accounts::HostAccount&) { key = one; });
  hosts.Mutable(key).account.total_micro += 1;
  EXPECT_THAT(Continue()["problems"].get<std::vector<std::string>>(),
              ElementsAre(HasSubstr("host " + std::to_string(key.id) +
                                    " of project 1: the total differs by 1 micro-credits from the grants")));
  EXPECT_EQ(Bytes(), before);
  hosts.Mutable(key).account.total_micro -= 1;
  EXPECT_EQ(Continue()["problem_count"], 0);
  EXPECT_NE(Bytes(), before);
}

// The first grant is older than the record, but the index of the ledger contains it.
TEST_F(AuditSince, ASecondGrantOfAnOldResultIsFound) {
  HalfAudited();
  ASSERT_EQ(Continue()["problem_count"], 0);
  std::string again;
  for (const std::string& record : world_.Partition({wire::kGrants, 1})) {
    wire::GrantHead head;
    if (wire::DecodeGrantHead(record, &head) && head.kind == wire::GrantKind::kFinal) again = record;
  }
  wire::GrantHead head;
  ASSERT_TRUE(wire::DecodeGrantHead(again, &head));
  world_.AddTo({wire::kGrants, 1}, again);
  world_.RunUntilIdle();
  EXPECT_THAT(Continue()["problems"].get<std::vector<std::string>>(),
              ElementsAre(HasSubstr("result " + std::to_string(head.result.value) +
                                    " of project 1: has 2 final grants")));
}

TEST_F(AuditSince, EverythingIsReadAgainWhenTheLastFullAuditIsOld) {
  HalfAudited();
  now_ += 5 * 86400;
  EXPECT_TRUE(Continue().contains("since"));
  now_ += 3 * 86400;
  EXPECT_FALSE(Continue().contains("since"));
  EXPECT_TRUE(Continue().contains("since"));
}

TEST_F(AuditSince, ADamagedRecordIsRefused) {
  HalfAudited();
  const std::string good = Bytes();
  ASSERT_GT(good.size(), 200u);
  for (std::size_t at = 0; at < good.size(); at += 37) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    Write(bad);
    const auto report = Try(7);
    ASSERT_EQ(report.status().code(), StatusCode::kCorrupted) << at;
    EXPECT_THAT(report.status().message(), HasSubstr("without --since"));
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{30}, good.size() - 1}) {
    Write(good.substr(0, size));
    EXPECT_EQ(Try(7).status().code(), StatusCode::kCorrupted) << size;
  }
  // A full audit does not read the damaged record, and replaces it.
  ASSERT_TRUE(Try(0).ok());
  EXPECT_EQ(Continue()["problem_count"], 0);
}

TEST_F(AuditSince, AllIsReadAgainAfterAChangeOfTheRulesOfOnePartition) {
  HalfAudited();
  ChangeRecord([](audit::AuditRecord& before) { ++before.rules_versions.back(); });
  const auto all = Continue();
  EXPECT_FALSE(all.contains("since"));
  EXPECT_EQ(all["problem_count"], 0) << all.dump(1);
  EXPECT_EQ(Continue()["since"]["grants"], all["grants"]);
}

TEST_F(AuditSince, ContinuesIfAPartitionHadNoCommitYet) {
  HalfAudited();
  ChangeRecord([](audit::AuditRecord& before) { before.rules_versions.front() = 0; });
  EXPECT_TRUE(Continue().contains("since"));
}

TEST_F(AuditSince, TheRecordOfAnotherLedgerIsRefused) {
  HalfAudited();
  world_ = FreeWorld(kPartitions, 7);
  world_.Add(Traffic(10));
  world_.RunUntilIdle();
  const auto report = Try(7);
  EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(report.status().message(), HasSubstr("is of another ledger"));
}

}  // namespace
}  // namespace cobblestone::testing
