// What the audit says of state that is not what the ledger has made: of a whole pipeline in memory, in which one thing is
// falsified.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/event_codec.h"
#include "services/cobblestone/estimate_audit.h"
#include "tests/support/estimate_events.h"
#include "tests/support/lockstep_world.h"

namespace cobblestone::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;
constexpr std::int64_t kFirstDay = 19676;  // UNIX day of the first report

class AuditedState : public ::testing::Test {
 protected:
  void Say(double day, wire::EventBody body) {
    world_.Add(wire::EncodeEvent({.head = {.id = ++id_, .project = ProjectId(1), .time = kStart + day * kDay},
                                  .body = std::move(body)}));
  }
  accounts::AccountsStage& Accounts(std::uint32_t partition) {
    return *world_.slots()[partition].stages.accounts;
  }
  template <class Value>
  stream::Table<Value>& Table(std::uint32_t partition, std::uint8_t id) {
    for (stream::TableBase* one : Accounts(partition).tables())
      if (one->id() == id) return dynamic_cast<stream::Table<Value>&>(*one);
    throw std::runtime_error("there is no such table");
  }
  // Of the only partition that has the row, or the first of them.
  template <class Value>
  Value& Row(const stream::TableSpec<Value>& table, const stream::Key& key) {
    for (std::uint32_t k = 0; k < kPartitions; ++k)
      if (auto& rows = Table<Value>(k, table.id); rows.Find(key) != nullptr) return rows.Mutable(key);
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
  // Hosts 1 and 2 are of user 1, and report for a hundred days; host 3 is nobody's.
  void Story() {
    Say(0, wire::AppChange{.app = AppId(1), .policy = "assigned"});
    Say(0, wire::UserMember{.user = UserId(1)});
    for (const std::uint64_t host : {1, 2, 3})
      Say(0, wire::MachineHost{.machine = host, .host = HostId(host), .user = UserId(host < 3 ? 1 : 0)});
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
        Say(day, std::move(report));
      }
    world_.Finish();
  }
  std::vector<std::string> Problems() {
    std::vector<std::string> problems;
    EstimateAudit audit([&](std::string text) { problems.push_back(std::move(text)); });
    for (std::uint32_t k = 0; k < kPartitions; ++k) EXPECT_TRUE(audit.Look(Accounts(k)).ok());
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

TEST_F(AuditedEstimates, OfStateThatIsRightNothingIsSaid) {
  Story();
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(AuditedEstimates, ADayOfAUserThatIsLostOrDoubledIsNamed) {
  Story();
  auto& days = Row(accounts::kUserEstimatesTable, kUser).sums.days;
  const std::int64_t last = kFirstDay + 99;
  ASSERT_EQ(days.back().day, last);
  const auto kept = days;
  days.pop_back();
  EXPECT_THAT(
      Problems(),
      ElementsAre(AllOf(HasSubstr("estimates of user 1 of project 1: are right in all, and on UNIX day " +
                                  std::to_string(last) + " off by -20000000 micro-credits"),
                        HasSubstr("the first of 1 such days"))));
  days = kept;
  days.back().Add(days.back());
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr("off by 20000000 micro-credits, 200000000 microseconds and 2 jobs")));
  days = kept;
  days.back().failed_run_time += 1;
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("of failed ones 0 and 1 microseconds")));
}

// They lie in rows of their own.
TEST_F(AuditedEstimates, OlderDaysAreComparedToo) {
  Story();
  const std::int64_t block = credit::BlockOf(kFirstDay + 40);
  const auto row = [&](const stream::Key& key) { return wire::DayKey(key, 0, credit::RowOfBlock(block)); };
  const auto move = [&](credit::DayBlock<credit::EstimateDay>& filed) {
    // Of the third day to the second.
    filed.days[1].micro += 1;
    filed.days[2].micro -= 1;
    return filed.days[1].day;
  };
  std::int64_t day = move(Row(accounts::kUserEstimateDaysTable, row(kUser)));
  EXPECT_THAT(Problems(),
              ElementsAre(AllOf(HasSubstr("user 1"), HasSubstr(std::to_string(day) + " off by 1 micro"),
                                HasSubstr("the first of 2 such days"))));
  day = move(Row(accounts::kProjectEstimateDaysTable, row(kProject)));
  EXPECT_THAT(Problems(), SizeIs(2));
  EXPECT_THAT(Problems().back(), AllOf(HasSubstr("estimates of project 1: are right in all"),
                                       HasSubstr(std::to_string(day) + " off by 1 micro")));
  day = move(Row(accounts::kHostEstimateDaysTable, row({.project = 1, .id = 3, .sub = 0})));
  EXPECT_THAT(Problems().front(), AllOf(HasSubstr("host 3 of user 0 of project 1: are right in all"),
                                        HasSubstr(std::to_string(day) + " off by 1 micro")));
}

TEST_F(AuditedEstimates, SumsAreComparedBeforeDays) {
  Story();
  Row(accounts::kUserEstimatesTable, kUser).sums.jobs += 1;
  EXPECT_THAT(
      Problems(),
      ElementsAre(HasSubstr("user 1 of project 1: are off by 0 micro-credits, 0 microseconds and 1 jobs")));
  Row(accounts::kUserEstimatesTable, kUser).sums.jobs -= 1;
  Row(accounts::kUserEstimatesTable, kUser).open += 1;
  EXPECT_THAT(
      Problems(),
      ElementsAre(HasSubstr("leave 2000000001 micro-credits open, and those of its hosts 2000000000")));
}

}  // namespace
}  // namespace cobblestone::testing
