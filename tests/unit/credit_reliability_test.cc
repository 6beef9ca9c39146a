// Reliability of a host with an app version (S000, 'Error rate, host punishment, and turnaround time
// estimation'; semantics of the policies that are not BOINC's).
#include "common/credit/policies/reliability.h"

#include <gtest/gtest.h>

#include "common/credit/policies/creditnew.h"
#include "tests/unit/credit_world.h"

namespace cobblestone::credit {
namespace {

TEST(ReliabilityTest, TheQuotaIsScaledByTheProcessorsOfTheVersionsKind) {
  ProjectSettings settings;
  settings.daily_result_quota = 200;  // "a project-specified value (e.g. 200)"
  HostRecord host;
  EXPECT_EQ(FullQuota(settings, host, false), 200);  // unknown: at least one
  host.cpus = 8;
  host.gpus = 2;
  EXPECT_EQ(FullQuota(settings, host, false), 1600);
  EXPECT_EQ(FullQuota(settings, host, true), 400);
}

TEST(ReliabilityTest, CrashesCutTheQuotaByOneAndSuccessesDoubleIt) {
  const Constants constants;
  HostVersion row;
  row.max_jobs_per_day = 200;
  for (int i = 0; i < 197; ++i) NoteFailure(Failure::kCrash, 200, constants, row);
  EXPECT_EQ(row.max_jobs_per_day, 3);
  NoteFailure(Failure::kAborted, 200, constants, row);  // "(but not if the job was aborted)"
  NoteFailure(Failure::kTimeout, 200, constants, row);
  EXPECT_EQ(row.max_jobs_per_day, 3);
  NoteSuccess(200, row);  // "doubled when a successful (but not necessarily valid) result is received"
  EXPECT_EQ(row.max_jobs_per_day, 6);
  for (int i = 0; i < 5; ++i) NoteSuccess(200, row);
  EXPECT_EQ(row.max_jobs_per_day, 192);
  NoteSuccess(200, row);
  EXPECT_EQ(row.max_jobs_per_day, 200);  // the cap
}

TEST(ReliabilityTest, TheQuotaNeverFallsBelowOne) {
  HostVersion row;
  row.max_jobs_per_day = 2;
  for (int i = 0; i < 5; ++i) NoteFailure(Failure::kCrash, 200, {}, row);
  EXPECT_EQ(row.max_jobs_per_day, 1);
  NoteSuccess(200, row);
  EXPECT_EQ(row.max_jobs_per_day, 2);
}

TEST(ReliabilityTest, ASuccessKeepsAQuotaAboveALoweredProjectQuota) {
  HostVersion row;
  row.max_jobs_per_day = 300;
  NoteSuccess(200, row);
  EXPECT_EQ(row.max_jobs_per_day, 300);
}

TEST(ReliabilityTest, ErrorRateStartsAtATenthAndFollowsOutcomes) {
  const Constants constants;
  HostVersion row;
  row.error_rate = constants.error_rate_initial;
  NoteValid(true, constants, row);
  EXPECT_EQ(row.error_rate, 0.1 * 0.95);
  NoteInvalid(constants, row);
  EXPECT_EQ(row.error_rate, 0.1 * 0.95 * 0.95 + 0.05);
  NoteFailure(Failure::kTimeout, 200, constants, row);
  EXPECT_EQ(row.error_rate, (0.1 * 0.95 * 0.95 + 0.05) * 0.95 + 0.05);
  for (int i = 0; i < 1000; ++i) NoteFailure(Failure::kCrash, 200, constants, row);
  EXPECT_NEAR(row.error_rate, 1, 1e-12);  // a broken host tends to 1
}

TEST(ReliabilityTest, ARunOfValidResultsEndsWithAnyFailure) {
  const Constants constants;
  HostVersion row;
  for (int i = 0; i < 3; ++i) NoteValid(true, constants, row);
  NoteValid(false, constants, row);
  EXPECT_EQ(row.consecutive_valid, 3);  // an unreplicated result is compared with no other
  NoteInvalid(constants, row);
  EXPECT_EQ(row.consecutive_valid, 0);
  NoteValid(true, constants, row);
  NoteFailure(Failure::kAborted, 200, constants, row);
  EXPECT_EQ(row.consecutive_valid, 0);
}

TEST(ReliabilityTest, JobsOfADayAreCountedByTheDayTheyWereSent) {
  HostVersion row;
  row.max_jobs_per_day = 3;
  const double day = 19000 * 86400.0;
  CountJob(day + 10, row);
  CountJob(day + 86399.9, row);
  EXPECT_EQ(JobsLeft(row, 19000, 200), 1);
  CountJob(day + 86400, row);
  EXPECT_EQ(row.jobs_today, 1);
  EXPECT_EQ(JobsLeft(row, 19001, 200), 2);
  CountJob(day + 20, row);  // a late job of the previous day
  EXPECT_EQ(JobsLeft(row, 19001, 200), 2);
  EXPECT_EQ(JobsLeft(row, 19002, 200), 3);
  for (int i = 0; i < 5; ++i) CountJob(day + 86401, row);
  EXPECT_EQ(JobsLeft(row, 19001, 200), 0);
}

TEST(ReliabilityTest, RuntimeIsEstimatedFromTheHostsOwnElapsedTimes) {
  HostVersion row;
  EXPECT_FALSE(RuntimeEstimate(row, 1e13).has_value());
  EXPECT_EQ(FlopsEstimate(row, 4e9, {}), 4e9);
  row.et.mean = 1.0 / 1024 / 1024 / 1024;  // s per FLOP
  row.et.n = 9;
  EXPECT_EQ(RuntimeEstimate(row, 1024.0 * 1024 * 1024 * 50), 50);  // R(J, H) = E x ETmean(H, V)
  EXPECT_EQ(FlopsEstimate(row, 4e9, {}), 4e9);                     // below the threshold of samples
  row.et.n = 10;
  EXPECT_EQ(FlopsEstimate(row, 4e9, {}), 1024.0 * 1024 * 1024);
}

TEST(ReliabilityTest, AnonymousVersionsAreGpusBelowMinusTwo) {
  const Catalogue catalogue;
  EXPECT_FALSE(IsGpuVersion(AppVersionId(-2), catalogue));
  for (const int id : {-3, -4, -5, -6}) EXPECT_TRUE(IsGpuVersion(AppVersionId(id), catalogue)) << id;
  EXPECT_FALSE(IsGpuVersion(AppVersionId(99), catalogue));
}

// ---- Through a policy ----

TEST(ReliabilityOfAPolicyTest, OutcomesReachTheRowOfTheirVersion) {
  World world{CreditNewPolicy(), PolicyKind::kCreditNew};
  world.catalogue.settings.daily_result_quota = 100;
  HostRecord host;
  host.cpus = 4;
  host.gpus = 1;
  world.Fail({}, Outcome::kClientError, host);
  world.Fail({.version = kGpuVersion}, Outcome::kTimeout, host);
  EXPECT_EQ(world.Row(host).max_jobs_per_day, 399);
  EXPECT_EQ(world.Row(host).error_rate, 0.1 * 0.95 + 0.05);
  EXPECT_EQ(world.Row(host, kGpuVersion).max_jobs_per_day, 100);  // "per-app-version"
  world.Validate({}, host, ValidateState::kInvalid);              // "successful (but not necessarily valid)"
  EXPECT_EQ(world.Row(host).max_jobs_per_day, 400);
}

TEST(ReliabilityOfAPolicyTest, AnErrorWithOnlyHostAndVersionFindsItsApp) {
  World world{CreditNewPolicy(), PolicyKind::kCreditNew};
  HostRecord host;
  CompletionFacts error = world.Completion({}, Outcome::kClientError);
  error.result = ResultId();
  error.app = AppId();
  world.policy.OnFailure(error, world.Force(), host);
  ASSERT_EQ(host.versions.size(), 1u);
  EXPECT_EQ(host.versions[0].app, world.app);
  EXPECT_EQ(host.versions[0].max_jobs_per_day, 199);
}

TEST(ReliabilityOfAPolicyTest, EventsWithoutAKnownAppOrFaultChangeNothing) {
  World world{CreditNewPolicy(), PolicyKind::kCreditNew};
  HostRecord host;
  CompletionFacts unknown_app = world.Completion({}, Outcome::kClientError);
  unknown_app.app = AppId(77);
  world.policy.OnFailure(unknown_app, world.Force(), host);
  world.policy.OnDispatch(unknown_app, world.Force(), host);
  world.Fail({}, Outcome::kAbortedByProject, host);
  world.Fail({}, Outcome::kUnknown, host);
  world.Fail({.version = 0}, Outcome::kClientError, host);
  EXPECT_TRUE(host.versions.empty());
}

TEST(ReliabilityOfAPolicyTest, DispatchesCountAgainstTheDay) {
  World world{CreditNewPolicy(), PolicyKind::kCreditNew};
  HostRecord host;
  world.Dispatch({}, host);
  world.Dispatch({.sent = 60}, host);
  const HostVersion& row = world.Row(host);
  EXPECT_EQ(row.jobs_today, 2);
  EXPECT_EQ(row.day, static_cast<std::int64_t>(kStart / 86400));
  EXPECT_EQ(JobsLeft(row, row.day, 200), 198);
}

TEST(Reliability, OneReplicaIsEnoughOnlyAWhileAfterTheLastFault) {
  const Constants constants;
  EXPECT_EQ(ReplicationOf(nullptr, constants), ReplicationAdvice::kUnknown);
  HostVersion row;
  row.error_rate = constants.error_rate_initial;
  int valid = 0;
  EXPECT_EQ(ReplicationOf(&row, constants), ReplicationAdvice::kTooFewValid)
      << "a new host has made no error";
  while (ReplicationOf(&row, constants) != ReplicationAdvice::kSingle && ++valid < 100)
    NoteValid(true, constants, row);
  EXPECT_EQ(valid, 14) << "0.1 x 0.95^14 is the first rate below 0.05";
  NoteFailure(Failure::kCrash, 10, constants, row);
  EXPECT_EQ(ReplicationOf(&row, constants), ReplicationAdvice::kTooFewValid);
  NoteFailure(Failure::kCrash, 10, constants, row);
  EXPECT_EQ(ReplicationOf(&row, constants), ReplicationAdvice::kErrors)
      << "the error rate is above the rate of a new host";
  row.error_rate = 0;
  EXPECT_EQ(ReplicationOf(&row, constants), ReplicationAdvice::kTooFewValid);
}

}  // namespace
}  // namespace cobblestone::credit
