#include "services/metrics/ledger_watch.h"

#include <gtest/gtest.h>

#include <string>

#include "common/wire/control/control_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "common/wire/ledger/refused_codec.h"

namespace cobblestone::metrics {
namespace {

using wire::RefusalReason;

class Watch : public ::testing::Test {
 protected:
  void Grant(std::uint32_t project, std::uint64_t app, std::int64_t micro,
             wire::GrantKind kind = wire::GrantKind::kFinal) {
    std::string bytes;
    wire::EncodeGrant({.project = ProjectId(project), .app = AppId(app), .credit_micro = micro, .kind = kind},
                      {}, {}, {}, &bytes);
    Write(wire::kGrants, bytes);
  }
  void Claim(std::uint32_t project, std::uint64_t app, std::uint32_t flags) {
    credit::Claim claim;
    claim.project = ProjectId(project);
    claim.app = AppId(app);
    claim.result = ResultId(5);
    claim.host = HostId(9);
    claim.time = 1e9;
    claim.flags = flags;
    claim.elapsed_time = 3;
    std::string bytes;
    wire::EncodeClaim(claim, &bytes);
    Write(wire::kClaims, bytes);
  }
  void Refuse(std::uint32_t project, RefusalReason reason) {
    std::string bytes;
    wire::EncodeRefused({.refusal = {.reason = reason}, .project = ProjectId(project)}, &bytes);
    Write(wire::kRefused, bytes);
  }
  void Epoch(std::uint32_t project, std::uint64_t epoch, double x, std::uint32_t partition = 0) {
    std::string bytes;
    wire::EncodeControlEpoch({.project = ProjectId(project)},
                             {.epoch = epoch, .apps = {{1, {.defined = true, .min_avg_pfc = x}}}}, &bytes);
    Write(wire::kControl, bytes, partition);
  }
  void Write(stream::TopicIndex topic, const std::string& record, std::uint32_t partition = 0) {
    std::string payload;
    stream::AppendRecord(payload, record);
    watch_.Wrote({topic, partition}, payload);
  }
  LedgerCounts Counts() const {
    LedgerCounts counts;
    watch_.AddTo(&counts);
    return counts;
  }
  AppCounts Of(std::uint32_t project, std::uint64_t app) const {
    return Counts().apps[{ProjectId(project), AppId(app)}];
  }

  LedgerWatch watch_;
};

TEST_F(Watch, GrantsAndTheirCreditCountForTheirApp) {
  Grant(1, 1, 12'345'678);
  Grant(1, 2, 1);
  Grant(1, 1, 2);
  Grant(2, 1, 7);
  watch_.Settled(true);
  EXPECT_EQ(Of(1, 1).grants, 2u);
  EXPECT_EQ(Of(1, 1).credit_micro, 12'345'680);
  EXPECT_EQ(Of(1, 2).credit_micro, 1);
  EXPECT_EQ(Of(2, 1).grants, 1u);
}

TEST_F(Watch, LedgerRecordsThatAwardNothingDoNotCount) {
  for (const auto kind :
       {wire::GrantKind::kOpening, wire::GrantKind::kHostLeaves, wire::GrantKind::kHostAccount,
        wire::GrantKind::kHostShare, wire::GrantKind::kWatermark})
    Grant(1, 1, 1000, kind);
  watch_.Settled(true);
  EXPECT_EQ(Of(1, 1).grants, 0u);
}

TEST_F(Watch, AnAlarmIsAClaimOfAHostWhoseReportsKeepRising) {
  Claim(1, 1, credit::kClaimValid);
  Claim(1, 1, credit::kClaimValid | credit::kClaimRising);
  EXPECT_EQ(Of(1, 1).rising, 0u) << "not committed yet";
  EXPECT_TRUE(Counts().watched.empty());
  watch_.Settled(true);
  EXPECT_EQ(Of(1, 1).rising, 1u);
  EXPECT_EQ(Counts().watched, (WatchedHosts{{{ProjectId(1), AppId(1), HostId(9)}, 1e9}}));
}

TEST(WatchedHostsTest, TheHostsWithTheNewestAlarmsStay) {
  WatchedHosts hosts;
  for (std::uint64_t host = 1; host <= 150; ++host)
    TakeAlarm(ProjectId(1), AppId(1), HostId(host), host == 3 ? 1e6 : static_cast<double>(host), &hosts);
  EXPECT_EQ(hosts.size(), kMaxWatchedHosts);
  EXPECT_EQ(hosts.count({ProjectId(1), AppId(1), HostId(3)}), 1u);
  EXPECT_EQ(hosts.count({ProjectId(1), AppId(1), HostId(51)}), 0u);
  EXPECT_EQ(hosts.count({ProjectId(1), AppId(1), HostId(150)}), 1u);
  TakeAlarm(ProjectId(1), AppId(1), HostId(3), 5, &hosts);  // an older alarm
  EXPECT_EQ(hosts.at({ProjectId(1), AppId(1), HostId(3)}), 1e6);
}

TEST_F(Watch, ProbationIsAShareOfTheClaimsOfValidResults) {
  Claim(1, 1, credit::kClaimValid);
  Claim(1, 1, credit::kClaimValid | credit::kClaimOnProbation);
  Claim(1, 1, credit::kClaimInvalid | credit::kClaimOnProbation);
  Claim(1, 1, credit::kClaimExpired);
  std::string passed;
  wire::EncodePassed(wire::PassedIn::kClaim, {}, &passed);
  Write(wire::kClaims, passed);
  watch_.Settled(true);
  EXPECT_EQ(Of(1, 1).claims, 2u);
  EXPECT_EQ(Of(1, 1).claims_on_probation, 1u);
  EXPECT_EQ(Counts().apps.size(), 1u) << "a mark belongs to no project";
}

TEST_F(Watch, RefusalsCountByProjectAndReason) {
  Refuse(1, RefusalReason::kTooLate);
  Refuse(1, RefusalReason::kTooLate);
  Refuse(0, RefusalReason::kUndecodable);
  watch_.Settled(true);
  const LedgerCounts counts = Counts();
  EXPECT_EQ(counts.refused.at({ProjectId(1), RefusalReason::kTooLate}), 2u);
  EXPECT_EQ(counts.refused.at({ProjectId(0), RefusalReason::kUndecodable}), 1u);
}

TEST_F(Watch, UncommittedRecordsDoNotCount) {
  Grant(1, 1, 5);
  Claim(1, 1, credit::kClaimValid);
  Refuse(1, RefusalReason::kTooLate);
  Epoch(1, 3, 100);
  EXPECT_EQ(Of(1, 1).grants, 0u) << "grants do not count before their commit";
  watch_.Settled(false);
  Grant(1, 1, 7);
  watch_.Settled(true);
  watch_.Settled(true);
  EXPECT_EQ(Of(1, 1).grants, 1u);
  EXPECT_EQ(Of(1, 1).credit_micro, 7);
  EXPECT_EQ(Of(1, 1).claims, 0u);
  EXPECT_TRUE(Counts().refused.empty());
  EXPECT_TRUE(Counts().scales.empty());
}

TEST_F(Watch, ANewEpochMakesTheCurrentOneThePreviousEpoch) {
  watch_.SeeEpoch(ProjectId(1), {.epoch = 3, .apps = {{1, {.defined = true, .min_avg_pfc = 100}}}});
  Epoch(1, 4, 80);
  for (std::uint32_t other = 1; other < 4; ++other) Epoch(1, 4, 80, other);  // every partition gets the epoch
  watch_.Settled(true);
  watch_.SeeEpoch(ProjectId(1), {.epoch = 2});  // an old epoch
  const LedgerCounts counts = Counts();
  EXPECT_EQ(counts.scales.at(ProjectId(1)).now.epoch, 4u);
  EXPECT_EQ(counts.scales.at(ProjectId(1)).before.epoch, 3u);
  EXPECT_EQ(counts.scales.at(ProjectId(1)).before.apps.at(1).min_avg_pfc, 100);
}

TEST_F(Watch, CountsOfWatchesAddUpAndTheNewestScalesApply) {
  Grant(1, 1, 5);
  Epoch(1, 4, 80);
  watch_.Settled(true);
  LedgerWatch other;
  other.SeeEpoch(ProjectId(1), {.epoch = 9});
  LedgerCounts counts = Counts();
  other.AddTo(&counts);
  watch_.AddTo(&counts);
  EXPECT_EQ(counts.apps.at({ProjectId(1), AppId(1)}).grants, 2u);
  EXPECT_EQ(counts.scales.at(ProjectId(1)).now.epoch, 9u);
}

TEST_F(Watch, UndecodableBytesAreIgnored) {
  for (const auto topic : {wire::kGrants, wire::kClaims, wire::kRefused, wire::kControl})
    Write(topic, "\xff\xff\xff");
  watch_.Wrote({wire::kGrants, 0}, "\x7f");
  Grant(1, 1, 5);
  watch_.Settled(true);
  EXPECT_EQ(Of(1, 1).grants, 1u);
}

}  // namespace
}  // namespace cobblestone::metrics
