#include "services/metrics/families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "services/metrics/ledger_families.h"
#include "services/metrics/task_families.h"

namespace cobblestone::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Histogram, AnObservationIsInTheFirstBucketThatContainsIt) {
  LatencyHistogram histogram;
  for (const double seconds : {0.0, 0.0005, 0.00051, 10.0, 10.1, 1e9, -1.0}) histogram.Observe(seconds);
  const LatencyCounts snapshot = histogram.Look();
  EXPECT_EQ(snapshot.counts.front(), 3u)
      << "0, the bound itself, and the negative time of a clock that went back";
  EXPECT_EQ(snapshot.counts[1], 1u);
  EXPECT_EQ(snapshot.counts[kLatencyBounds.size() - 1], 1u);
  EXPECT_EQ(snapshot.counts[kLatencyBounds.size()], 2u);
  EXPECT_EQ(snapshot.observed(), 7u);
  EXPECT_DOUBLE_EQ(snapshot.sum, 0.0005 + 0.00051 + 10.0 + 10.1 + 1e9);
}

TEST(Histogram, ConcurrentSnapshotsNeverDecrease) {
  LatencyHistogram histogram;
  std::thread observer([&] {
    for (int i = 0; i < 200000; ++i) histogram.Observe(0.003);
  });
  std::uint64_t before = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = histogram.Look().observed();
    EXPECT_GE(now, before);
    before = now;
  }
  observer.join();
  EXPECT_EQ(histogram.Look().observed(), 200000u);
}

TEST(FamiliesText, IsInThePrometheusTextFormat) {
  Families all;
  auto lag = all.Gauge("lag_records", "Records that wait.");
  lag.Add({{"slot", "0"}}, 17);
  lag.Add({{"slot", "a \"quoted\"\nname"}}, 0.25);
  all.Counter("grants_total", "Grants.").Add(9007199254740991.0);
  LatencyHistogram histogram;
  histogram.Observe(0.002);
  histogram.Observe(20);
  all.Histogram("commit_duration_seconds", "Commits.").Add({{"slot", "0"}}, histogram.Look());
  const std::string text = all.Text();
  EXPECT_THAT(text, HasSubstr("# HELP lag_records Records that wait.\n# TYPE lag_records gauge\n"
                              "lag_records{slot=\"0\"} 17\n"));
  EXPECT_THAT(text, HasSubstr(R"(lag_records{slot="a \"quoted\"\nname"} 0.25)"));
  EXPECT_THAT(text, HasSubstr("# TYPE grants_total counter\ngrants_total 9007199254740991\n"));
  EXPECT_THAT(text, HasSubstr("commit_duration_seconds_count{slot=\"0\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("commit_duration_seconds_bucket{slot=\"0\",le=\"+Inf\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("commit_duration_seconds_bucket{slot=\"0\",le=\"10\"} 1\n"));
}

TEST(FamiliesText, TimestampsOfMissingEventsAreOmitted) {
  Families all;
  AddTasks({{.slot = 3, .role = "pipeline", .commits = 9, .state_commits = 4, .state_written_at = 1.7e9}},
           &all);
  const std::string text = all.Text();
  EXPECT_THAT(text, HasSubstr("cobblestone_task_state_lag_commits{slot=\"3\",role=\"pipeline\"} 5\n"));
  EXPECT_THAT(text,
              HasSubstr("cobblestone_task_state_written_timestamp_seconds{slot=\"3\",role=\"pipeline\"} 17"));
  EXPECT_THAT(text, Not(HasSubstr("cobblestone_task_checkpoint_timestamp_seconds{")));
}

TEST(FamiliesText, DriftNeedsAScaleInThisAndThePreviousEpoch) {
  LedgerCounts counts;
  ProjectScales& scales = counts.scales[ProjectId(2)];
  scales.before = {.epoch = 4,
                   .versions = {{7, {.scale = 0.5}}, {8, {.scale = 0}}},
                   .apps = {{1, {.defined = true, .min_avg_pfc = 100}}}};
  scales.now = {
      .epoch = 5,
      .time = 1.7e9,
      .versions = {{7, {.scale = 0.75}}, {8, {.scale = 0.3}}, {static_cast<std::uint64_t>(-2), {.scale = 1}}},
      .apps = {{1, {.defined = true, .min_avg_pfc = 80, .cpu_mean = 90}}, {2, {}}}};
  Families all;
  AddLedger(counts, &all);
  const std::string text = all.Text();
  EXPECT_THAT(text, HasSubstr("cobblestone_scale_epoch{project=\"2\"} 5\n"));
  EXPECT_THAT(text,
              HasSubstr("cobblestone_version_scale_drift_ratio{project=\"2\",app_version=\"7\"} 0.5\n"));
  EXPECT_THAT(text, Not(HasSubstr("cobblestone_version_scale_drift_ratio{project=\"2\",app_version=\"8\"}")));
  EXPECT_THAT(text, HasSubstr("cobblestone_version_scale{project=\"2\",app_version=\"-2\"} 1\n"))
      << "the anonymous platform";
  EXPECT_THAT(text, HasSubstr("cobblestone_app_min_avg_pfc_drift_ratio{project=\"2\",app=\"1\"} -0.2\n"));
  EXPECT_THAT(text, Not(HasSubstr("cobblestone_app_min_avg_pfc{project=\"2\",app=\"2\"}")));
  EXPECT_THAT(text, HasSubstr("cobblestone_app_pfc_mean{project=\"2\",app=\"1\",device=\"cpu\"} 90\n"));
  EXPECT_THAT(text, Not(HasSubstr("device=\"gpu\"")));
}

}  // namespace
}  // namespace cobblestone::metrics
