// The audit's reports about state that differs from the ledger: a whole pipeline in memory in which one thing is
// falsified.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/audit/estimate_audit.h"
#include "services/audit/merge_audit.h"
#include "services/view/slot_rows.h"
#include "tests/support/free_world.h"
#include "tests/support/job_events.h"
#include "tests/support/lockstep_world.h"

namespace cobblestone::testing {

using audit::EstimateAudit;
using audit::MergeAudit;

namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;
constexpr std::int64_t kFirstDay = 19676;  // UNIX day of the first report

template <class Value>
stream::Table<Value>& TableOf(accounts::AccountsStage& stage, std::uint8_t id) {
  for (stream::TableBase* one : stage.tables())
    if (one->id() == id) return dynamic_cast<stream::Table<Value>&>(*one);
  throw std::runtime_error("there is no such table");
}

class AuditedState : public ::testing::Test {
 protected:
  void Send(double day, wire::EventBody body) {
    world_.Add(wire::EncodeEvent({.head = {.id = ++id_, .project = ProjectId(1), .time = kStart + day * kDay},
                                  .body = std::move(body)}));
  }
  accounts::AccountsStage& Accounts(std::uint32_t partition) {
    return *world_.slots()[partition].stages.accounts;
  }
  // In the only partition that has the row, or the first one.
  template <class Value>
  Value& Row(const stream::TableSpec<Value>& table, const stream::Key& key) {
    for (std::uint32_t k = 0; k < kPartitions; ++k)
      if (auto& rows = TableOf<Value>(Accounts(k), table.id); rows.Find(key) != nullptr)
        return rows.Mutable(key);
    throw std::runtime_error("there is no such row");
  }
  static constexpr std::uint32_t kPartitions = 3;
  LockstepWorld world_{kPartitions};

 private:
  std::uint64_t id_ = 100;
};

// ---- Estimates -------------------------------------------------------------------------------------------

class AuditedEstimates : public AuditedState {
 protected:
  // Hosts 1 and 2 belong to user 1 and report for a hundred days; host 3 has no owner.
  void Story() {
    Send(0, wire::AppChange{.app = AppId(1), .policy = "assigned"});
    Send(0, wire::UserMember{.user = UserId(1)});
    for (const std::uint64_t host : {1, 2, 3})
      Send(0, wire::MachineHost{.machine = host, .host = HostId(host), .user = UserId(host < 3 ? 1 : 0)});
    for (int day = 1; day <= 100; ++day)
      for (const std::uint64_t host : {1, 2, 3}) {
        wire::EstimatedCredit report{.host = HostId(host),
                                     .counters = {},
                                     .machine = host,
                                     .cpus = 1,
                                     .cpu_flops = 1e9,
                                     .gpus = 0,
                                     .gpu_flops = 0};
        report.counters.push_back({.resource = credit::Resource::kCpu,
                                   .credit = day * 10.0,
                                   .run_time = day * 100.0,
                                   .jobs = static_cast<std::uint64_t>(day),
                                   .failed_jobs = 0,
                                   .failed_run_time = 0});
        Send(day, std::move(report));
      }
    world_.Finish();
  }
  std::vector<std::string> Problems() {
    std::vector<std::string> problems;
    EstimateAudit audit([&](std::string text) { problems.push_back(std::move(text)); });
    for (std::uint32_t k = 0; k < kPartitions; ++k)
      EXPECT_TRUE(audit.Look(view::SlotRows(*world_.slots()[k].slot)).ok());
    for (const std::string& record : world_.ledger()) {
      wire::Grant grant;
      EXPECT_TRUE(wire::DecodeGrant(record, &grant));
      if (grant.head.kind == wire::GrantKind::kEstimate) audit.Take(grant, "record", false);
    }
    audit.Check();
    return problems;
  }
};

constexpr stream::Key kUser{.project = 1, .id = 1, .sub = 0};
constexpr stream::Key kProject{.project = 1, .id = 0, .sub = 0};

TEST_F(AuditedEstimates, CorrectStateHasNoProblems) {
  Story();
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(AuditedEstimates, ALostOrDoubledDayOfAUserIsReported) {
  Story();
  auto& days = Row(accounts::kUserEstimatesTable, kUser).sums.days;
  const std::int64_t last = kFirstDay + 99;
  ASSERT_EQ(days.back().day, last);
  const auto kept = days;
  days.pop_back();
  EXPECT_THAT(
      Problems(),
      ElementsAre(AllOf(HasSubstr("estimates of user 1 of project 1: the total is correct, but UNIX day " +
                                  std::to_string(last) + " differs by -20000000 micro-credits"),
                        HasSubstr("the first of 1 such days"))));
  days = kept;
  days.back().Add(days.back());
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr("differs by 20000000 micro-credits, 200000000 microseconds and 2 jobs")));
  days = kept;
  days.back().failed_run_time += 1;
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("failed jobs: 0 and 1 microseconds")));
}

// Older days are in separate rows.
TEST_F(AuditedEstimates, OlderDaysAreComparedToo) {
  Story();
  const std::int64_t block = credit::BlockOf(kFirstDay + 40);
  const auto row = [&](const stream::Key& key) { return stage::DayKey(key, 0, credit::RowOfBlock(block)); };
  const auto move = [&](credit::DayBlock<credit::EstimateDay>& filed) {
    // Moves one micro-credit from the third day to the second.
    filed.days[1].micro += 1;
    filed.days[2].micro -= 1;
    return filed.days[1].day;
  };
  std::int64_t day = move(Row(accounts::kUserEstimateDaysTable, row(kUser)));
  EXPECT_THAT(Problems(),
              ElementsAre(AllOf(HasSubstr("user 1"), HasSubstr(std::to_string(day) + " differs by 1 micro"),
                                HasSubstr("the first of 2 such days"))));
  day = move(Row(accounts::kProjectEstimateDaysTable, row(kProject)));
  EXPECT_THAT(Problems(), SizeIs(2));
  EXPECT_THAT(Problems(), Contains(AllOf(HasSubstr("estimates of project 1: the total is correct"),
                                         HasSubstr(std::to_string(day) + " differs by 1 micro"))));
  day = move(Row(accounts::kHostEstimateDaysTable, row({.project = 1, .id = 3, .sub = 0})));
  EXPECT_THAT(Problems(), Contains(AllOf(HasSubstr("host 3 of user 0 of project 1: the total is correct"),
                                         HasSubstr(std::to_string(day) + " differs by 1 micro"))));
}

TEST_F(AuditedEstimates, SumsAreComparedBeforeDays) {
  Story();
  Row(accounts::kUserEstimatesTable, kUser).sums.jobs += 1;
  EXPECT_THAT(
      Problems(),
      ElementsAre(HasSubstr("user 1 of project 1: differ by 0 micro-credits, 0 microseconds and 1 jobs")));
  Row(accounts::kUserEstimatesTable, kUser).sums.jobs -= 1;
  Row(accounts::kUserEstimatesTable, kUser).open += 1;
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr(
                  "2000000001 micro-credits are not granted yet, but for the user's hosts 2000000000")));
}

// ---- Merges of hosts -------------------------------------------------------------------------------------

class AuditedMerges : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kPartitions = 3;

  void Send(double day, wire::EventBody body) {
    world_.Add(wire::EncodeEvent({.head = {.id = ++id_, .project = ProjectId(1), .time = kStart + day * kDay},
                                  .body = std::move(body)}));
  }
  void SetOwner(double day, std::uint64_t host, std::uint64_t user) {
    Send(day, wire::HostMember{
                  .host = HostId(host), .user = UserId(user), .whetstone = 1e9, .dhrystone = 1e9, .cpus = 1});
  }
  void Merge(double day, std::uint64_t host, std::uint64_t into) {
    Send(day, wire::HostMerge{.host = HostId(host), .into = HostId(into)});
  }
  void Begin() {
    Send(0, wire::AppChange{.app = AppId(1), .policy = "assigned"});
    Send(0, wire::AppVersionChange{.row = {.id = 1, .app = AppId(1), .version_num = 1, .platform = 1}});
    for (std::uint64_t user = 1; user <= 5; ++user) Send(0, wire::UserMember{.user = UserId(user)});
    world_.RunUntilIdle();
  }
  // Hosts of user 1: host 1 is merged into 2, host 3 waits for 4, which belongs to user 2, and the merge of 2 into 1
  // is refused. Host 5 now belongs to user 2.
  void Story() {
    Begin();
    for (const std::uint64_t host : {1, 2, 3, 5}) SetOwner(0, host, 1);
    SetOwner(0, 4, 2);
    world_.RunUntilIdle();
    Merge(1, 1, 2);
    world_.RunUntilIdle();
    Merge(1, 3, 4);
    Merge(1, 2, 1);
    SetOwner(1, 5, 2);
    world_.RunUntilIdle();
  }
  accounts::AccountsStage& Accounts(std::uint32_t partition) {
    return *world_.slots()[partition].stages.accounts;
  }
  std::uint32_t PartitionOf(std::uint64_t user) {
    return wire::OwnerPartition(ProjectId(1), UserId(user), HostId(), kPartitions);
  }
  // In the partition of the host's owner.
  accounts::HostAccount& Row(std::uint64_t host, std::uint64_t user = 1) {
    return TableOf<accounts::HostAccount>(Accounts(PartitionOf(user)), accounts::kHostsTable.id)
        .Mutable(KeyOf(host));
  }
  stream::Table<accounts::WaitingMerges>& Waiting() {
    return TableOf<accounts::WaitingMerges>(Accounts(PartitionOf(1)), accounts::kMergesTable.id);
  }
  static stream::Key KeyOf(std::uint64_t host) { return {.project = 1, .id = host, .sub = 0}; }

  // The audit's problems at the current state of processing. `show_refused`: the audit sees refused merges.
  std::vector<std::string> Problems(bool show_refused = true) {
    std::vector<std::string> problems;
    MergeAudit audit([&](std::string text) { problems.push_back(std::move(text)); });
    for (std::uint32_t k = 0; k < kPartitions; ++k)
      EXPECT_TRUE(audit.Look(k, false, view::SlotRows(*world_.slots()[k].slot)).ok());
    for (std::uint32_t k = 0; k < kPartitions; ++k) {
      const stream::Slot& slot = *world_.slots()[k].slot;
      std::uint64_t end = 0;
      for (std::size_t i = 0; i < slot.inputs().size(); ++i)
        if (slot.inputs()[i].where.topic == wire::kGrants) end = slot.next(i);
      std::uint64_t offset = 0;
      for (const std::string& record : world_.Partition({wire::kGrants, k})) {
        wire::Grant grant;
        EXPECT_TRUE(wire::DecodeGrant(record, &grant));
        audit.Take(grant, k, offset++ >= end);
      }
    }
    if (show_refused)
      for (const std::string& record : world_.Records(wire::kRefused)) {
        wire::Refused refused;
        EXPECT_TRUE(wire::DecodeRefused(record, &refused));
        audit.TakeRefused(refused, true);
      }
    audit.Check();
    summary_ = std::to_string(audit.merges()) + " merges, " + std::to_string(audit.waiting()) + " wait, " +
               std::to_string(audit.refused()) + " refused";
    merges_ = audit.merges();
    waiting_ = audit.waiting();
    refused_ = audit.refused();
    return problems;
  }

  FreeWorld world_{kPartitions, 7};
  std::string summary_;
  std::uint64_t merges_ = 0;
  std::uint64_t waiting_ = 0;
  std::uint64_t refused_ = 0;

 private:
  std::uint64_t id_ = 100;
};

TEST_F(AuditedMerges, CorrectStateHasNoProblems) {
  Story();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(summary_, "3 merges, 1 wait, 1 refused");
}

TEST_F(AuditedMerges, ALostMergeIsReported) {
  Story();
  Row(1).merge.done = false;
  EXPECT_THAT(
      Problems(),
      ElementsAre(HasSubstr(
          "host 1 of project 1, to be merged into host 2: is neither merged, nor waiting, nor refused")));
  Row(1).merge.done = true;
  Waiting().Erase(KeyOf(4));
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr("host 3 of project 1, to be merged into host 4: is neither merged")));
}

TEST_F(AuditedMerges, AMergeWithoutItsRefusalIsReported) {
  Story();
  EXPECT_THAT(Problems(false),
              ElementsAre(HasSubstr("host 2 of project 1, to be merged into host 1: is neither merged")));
}

TEST_F(AuditedMerges, AMergeAcrossOwnersIsReported) {
  Story();
  Row(3).merge.done = true;
  Row(3).merge.into = HostId(4);
  EXPECT_THAT(
      Problems(),
      ElementsAre(HasSubstr("host 3 of project 1, to be merged into host 4: is merged, but also waits"),
                  HasSubstr("is merged into host 4, which the ledger does not have as a host of user 1")));
}

TEST_F(AuditedMerges, AMergeIntoAnotherHostIsReported) {
  Story();
  Row(1).merge.into = HostId(5);
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr("is merged into host 5, which is not on the chain of merges")));
  Row(1).merge.into = HostId(2);
  const accounts::WaitingMerges waiting = *Waiting().Find(KeyOf(4));
  Waiting().Erase(KeyOf(4));
  Waiting().Mutable(KeyOf(5)) = waiting;
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr("waits for host 5 of user 1, by a record that is not in the ledger")));
}

TEST_F(AuditedMerges, AMergeThatWaitsWithoutReasonIsReported) {
  Story();
  Row(4).user = UserId(1);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("waits for host 4, but both hosts are here for user 1")));
}

TEST_F(AuditedMerges, AMergeWithoutAnEventIsReported) {
  Story();
  Row(5, 2).merge.done = true;
  Row(5, 2).merge.into = HostId(4);
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr(
                  "host 5 of project 1: is merged into host 4, but the ledger has no record of this merge")));
}

TEST_F(AuditedMerges, AnAccountInAnotherPartitionThanInTheLedgerIsReported) {
  Story();
  Row(5, 2).elsewhere = true;
  EXPECT_THAT(Problems(), ElementsAre(AllOf(HasSubstr("host 5 of project 1"), HasSubstr("is elsewhere"),
                                            HasSubstr("by the ledger here, of user 2"))));
  Row(5, 2).elsewhere = false;
  Row(5, 2).user = UserId(3);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("here, of user 3, but by the ledger here, of user 2")));
}

// Hosts move, earn and are merged, in any order of reading; the audit reports nothing at any commit.
TEST_F(AuditedMerges, AnyTrafficHasNoProblemsAtAnyTime) {
  std::uint64_t most_waiting = 0;
  std::uint64_t refused = 0;
  std::uint64_t merged = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    world_ = FreeWorld(kPartitions, seed);
    Begin();
    for (std::uint64_t host = 1; host <= 9; ++host) SetOwner(0, host, 1 + random() % 3);
    for (int n = 1; n <= 150; ++n) {
      const double day = n * (seed % 2 == 0 ? 0.1 : 1);
      const std::uint64_t host = 1 + random() % 9;
      switch (random() % 6) {
        case 0: SetOwner(day, host, random() % 4); break;
        case 1: Merge(day, host, 1 + random() % 10); break;
        case 2: Send(day, wire::Tick{.time = kStart + day * kDay}); break;
        default: {
          wire::Completion completion = CompletionOf(1000u + static_cast<unsigned>(n), host,
                                                     1000u + static_cast<unsigned>(n), kStart + day * kDay);
          Send(day, completion);
          Send(day,
               ValidationOf(1000u + static_cast<unsigned>(n), host, 1000u + static_cast<unsigned>(n), 5));
        }
      }
      if (random() % 3 != 0) continue;
      for (std::uint64_t steps = random() % 8; steps > 0; --steps) world_.Step();
      ASSERT_THAT(Problems(), IsEmpty()) << "seed " << seed << ", event " << n;
      most_waiting = std::max(most_waiting, waiting_);
    }
    world_.RunUntilIdle();
    ASSERT_THAT(Problems(), IsEmpty()) << "seed " << seed;
    refused += refused_;
    merged += merges_ - waiting_ - refused_;
  }
  EXPECT_GT(most_waiting, 1u);
  EXPECT_GT(refused, 20u);
  EXPECT_GT(merged, 40u);
}

}  // namespace
}  // namespace cobblestone::testing
