// Errors that the audit finds in the estimates of the ledger.
#include "services/audit/estimate_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cobblestone {

using audit::EstimateAudit;

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kStart = 1.7e9;
constexpr std::int64_t kMicro = 1'000'000;

// A report after one day of a machine of 1 GFLOPS, whose limit is 200 Cobblestones.
wire::Grant Reported(std::uint32_t project, std::int64_t credit) {
  wire::Grant grant;
  grant.head = {.project = ProjectId(project),
                .user = UserId(1),
                .host = HostId(2),
                .time = kStart + 86400,
                .kind = wire::GrantKind::kEstimate};
  grant.estimate = wire::Estimate{.event = 1,
                                  .machine = 3,
                                  .asked_micro = credit,
                                  .allowed_micro = credit,
                                  .bounds = 0,
                                  .since = kStart,
                                  .flops = 1e9,
                                  .uses = {{.resource = credit::Resource::kCpu,
                                            .credit_micro = credit,
                                            .run_time = 10,
                                            .jobs = 1,
                                            .failed_jobs = 0,
                                            .failed_run_time = 0}}};
  return grant;
}

class EstimateAuditTest : public ::testing::Test {
 protected:
  std::vector<std::string> problems_;
  EstimateAudit audit_{[this](std::string text) { problems_.push_back(std::move(text)); }};
};

TEST_F(EstimateAuditTest, AnInconsistentRecordIsFound) {
  audit_.Take(Reported(1, 200 * kMicro), "record 1", false);
  EXPECT_THAT(problems_, IsEmpty());
  wire::Grant more = Reported(1, 200 * kMicro);
  more.estimate->asked_micro = 100 * kMicro;
  audit_.Take(more, "record 2", false);
  wire::Grant other = Reported(1, 200 * kMicro);
  other.estimate->uses[0].credit_micro -= 1;
  audit_.Take(other, "record 3", false);
  wire::Grant failed = Reported(1, 200 * kMicro);
  failed.estimate->uses[0].failed_jobs = 2;
  audit_.Take(failed, "record 4", false);
  wire::Grant awards = Reported(1, 200 * kMicro);
  awards.head.credit_micro = 1;
  audit_.Take(awards, "record 5", false);
  ASSERT_EQ(problems_.size(), 4u);
  EXPECT_THAT(problems_[0], HasSubstr("record 2: allows 200000000 micro-credits of 100000000"));
  EXPECT_THAT(problems_[1], HasSubstr("the sum of the resources is 199999999"));
  EXPECT_THAT(problems_[2], HasSubstr("the number of failed jobs exceeds"));
  EXPECT_THAT(problems_[3], HasSubstr("estimates award no credit"));
}

TEST_F(EstimateAuditTest, ARecordWithoutARowIsFound) {
  audit_.Take(Reported(1, 200 * kMicro), "record 1", false);
  audit_.Check();
  EXPECT_THAT(problems_,
              Contains(HasSubstr("host 2 of user 1 of project 1: are in the ledger but have no row")));
}

TEST_F(EstimateAuditTest, AWrongSumOfAProjectIsFound) {
  audit_.Take(Reported(1, 200 * kMicro), "record 1", false);
  audit_.Check();
  EXPECT_THAT(problems_, Contains(HasSubstr("estimates of project 1: differ by -200000000 micro-credits")));
}

TEST_F(EstimateAuditTest, TooMuchCreditOfAllProjectsOfAMachineIsFound) {
  audit_.Take(Reported(1, 200 * kMicro), "record 1", false);
  audit_.Take(Reported(2, 1 * kMicro), "record 2", false);
  audit_.Check();
  EXPECT_THAT(problems_, Contains(HasSubstr("machine 3: all projects together were allowed 201000000")));
}

TEST_F(EstimateAuditTest, UnreadRecordsAffectOnlyTheMachinesTime) {
  audit_.Take(Reported(1, 200 * kMicro), "record 1", false);
  audit_.Take(Reported(2, 200 * kMicro), "record 2", true);
  EXPECT_EQ(audit_.records(), 1u);
  audit_.Check();
  EXPECT_EQ(problems_.size(), 3u)
      << "the rows of the host, the user and the project are missing, and nothing else";
}

}  // namespace
}  // namespace cobblestone
