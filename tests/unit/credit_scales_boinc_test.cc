// The coordinator's side of policy `boinc`: the validator's copy of a row, the stored row, and the times at which
// one is updated from the other (golden README, items 24 to 27).

#include "common/credit/scales/scales_boinc.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/credit/policies/policy.h"

namespace cobblestone::credit {
namespace {

constexpr double kStart = 1'700'000'000;
constexpr double kPeriod = 600;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr AppId kApp{1};
constexpr std::uint64_t kCpu = 11;
constexpr std::uint64_t kSse = 12;
constexpr std::uint64_t kGpu = 21;

class BoincScalesTest : public testing::Test {
 protected:
  BoincScalesTest() {
    AppRow app;
    app.id = kApp;
    app.policy = {
        .kind = PolicyKind::kBoinc, .version = 1, .constants = DefaultConstants(PolicyKind::kBoinc)};
    app.min_avg_pfc = 1;
    catalogue.apps[kApp.value] = app;
    ApplyCatalogue(catalogue, state);
  }

  void AddVersion(std::uint64_t id, std::uint32_t number, const std::string& plan_class) {
    AppVersionRow row;
    row.id = id;
    row.app = kApp;
    row.platform = 1;
    row.version_num = number;
    row.plan_class = plan_class;
    catalogue.versions[id] = row;
    ApplyCatalogue(catalogue, state);
  }
  VersionScale& Stored(std::uint64_t id) { return state.table.versions.at(id); }
  void Store(std::uint64_t id, double n, double mean) { Stored(id).pfc = {n, mean}; }
  double MinAvgPfc() { return state.table.apps.at(kApp.value).min_avg_pfc; }

  // Adds the sample of a result, in order of arrival. Credit 0 leaves the recent average unchanged.
  void Use(std::uint64_t version, double pfc, double credit = 1) {
    Sample sample;
    sample.time = now + 1;
    sample.validation_id = ++last_id;
    sample.result = ResultId(last_id);
    sample.app = kApp;
    sample.version = AppVersionId(static_cast<std::int64_t>(version));
    sample.flags = kSampleUse | kSamplePfc | kSampleCredit;
    sample.pfc = pfc;
    sample.credit = credit;
    sample.credit_start = now - 86400;
    samples.push_back(sample);
  }
  void UseWithoutSample(std::uint64_t version) {
    Use(version, 0);
    samples.back().flags = kSampleUse;
  }
  void Tick() {
    now += kPeriod;
    ApplyTick(now, samples, catalogue, state);
    samples.clear();
  }

  Catalogue catalogue;
  ScaleState state;
  std::vector<Sample> samples;
  double now = kStart;
  std::uint64_t last_id = 0;
};

TEST_F(BoincScalesTest, SamplesReachTheRowAtTheTick) {
  AddVersion(kCpu, 100, "");
  Use(kCpu, 2);
  Use(kCpu, 4);
  EXPECT_EQ(Stored(kCpu).pfc, Average{});
  Tick();
  EXPECT_EQ(Stored(kCpu).pfc, (Average{.n = 2, .mean = 3}));
  EXPECT_EQ(Stored(kCpu).expavg_time, now);
  EXPECT_TRUE(Stored(kCpu).cached);
  EXPECT_EQ(Stored(kCpu).cached_pfc, Stored(kCpu).pfc);
  EXPECT_EQ(state.table.time, now);
}

// With 101 samples each, both kinds count and the smaller mean is the reference.
TEST_F(BoincScalesTest, WithBothKindsTheSmallerMeanSetsTheScales) {
  AddVersion(kCpu, 100, "");
  AddVersion(kGpu, 100, "cuda");
  Store(kCpu, 101, 2);
  Store(kGpu, 101, 8);
  Tick();
  EXPECT_EQ(MinAvgPfc(), 2);
  EXPECT_EQ(Stored(kCpu).scale, 1);
  EXPECT_EQ(Stored(kGpu).scale, 0.25);
}

TEST_F(BoincScalesTest, AMeanIsWeightedBySamples) {
  AddVersion(kCpu, 100, "");
  AddVersion(kSse, 100, "sse2");
  Store(kCpu, 200, 2);
  Store(kSse, 600, 6);
  Tick();
  EXPECT_EQ(MinAvgPfc(), 5);  // (200 x 2 + 600 x 6) / 800
  EXPECT_EQ(Stored(kCpu).scale, 2.5);
}

TEST_F(BoincScalesTest, ExactlyAHundredSamplesGetAScaleButDoNotSetOne) {
  AddVersion(kCpu, 100, "");
  AddVersion(kSse, 100, "sse2");
  AddVersion(kGpu, 100, "cuda");
  Store(kCpu, 101, 2);
  Store(kSse, 100, 1);
  Store(kGpu, 101, 8);
  Tick();
  EXPECT_EQ(MinAvgPfc(), 2);
  EXPECT_EQ(Stored(kSse).scale, 2);
}

TEST_F(BoincScalesTest, ALoneCpuVersionNeverGetsAScale) {
  AddVersion(kCpu, 100, "");
  Store(kCpu, 1000, 2);
  Tick();
  EXPECT_EQ(Stored(kCpu).scale, 0);
  EXPECT_EQ(MinAvgPfc(), 1);  // the start value
}

TEST_F(BoincScalesTest, AGpuOnlyAppIsScaledToATenth) {
  AddVersion(kGpu, 100, "opencl_ati_100");
  Store(kGpu, 101, 8);
  Tick();
  EXPECT_DOUBLE_EQ(MinAvgPfc(), 0.8);
  EXPECT_DOUBLE_EQ(Stored(kGpu).scale, 0.1);
}

TEST_F(BoincScalesTest, OnlyTheNewestVersionThatIsNotDeprecatedCounts) {
  AddVersion(kCpu, 100, "");
  AddVersion(kSse, 100, "sse2");
  AddVersion(13, 101, "");  // newer than kCpu
  Store(kCpu, 1000, 1);
  Store(kSse, 101, 6);
  Store(13, 101, 2);
  Tick();
  EXPECT_EQ(MinAvgPfc(), 4);
  EXPECT_EQ(Stored(kCpu).scale, 0);
  catalogue.versions.at(13).deprecated = true;
  Store(kSse, 1000, 3);
  Tick();
  EXPECT_EQ(MinAvgPfc(), 2);
  EXPECT_EQ(Stored(kCpu).scale, 2);
}

// Items 3 and 24: the validator's copy prices results. The copy gets a new scale when a flush finds that the row
// has changed.
TEST_F(BoincScalesTest, AValidatorGetsANewScaleOnePeriodLate) {
  AddVersion(kCpu, 100, "");
  AddVersion(kGpu, 100, "cuda");
  Store(kCpu, 101, 2);
  Store(kGpu, 100, 8);
  Use(kGpu, 8);
  Tick();  // flushed while the stored scale was still 0; then the scale is computed
  EXPECT_EQ(Stored(kGpu).scale, 0.25);
  EXPECT_EQ(Stored(kGpu).cached_scale, 0);

  Tick();  // without a flush the copy does not change
  EXPECT_EQ(Stored(kGpu).cached_scale, 0);

  Use(kGpu, 8);
  Tick();  // the row has changed: it is read again and the sample is added
  EXPECT_EQ(Stored(kGpu).cached_scale, 0.25);
  EXPECT_EQ(Stored(kGpu).pfc.n, 102);
  EXPECT_EQ(Stored(kGpu).cached_pfc, Stored(kGpu).pfc);
}

TEST_F(BoincScalesTest, AUseWithoutASampleLoadsTheRow) {
  AddVersion(kCpu, 100, "");
  UseWithoutSample(kCpu);
  Tick();
  EXPECT_TRUE(Stored(kCpu).cached);
  EXPECT_EQ(Stored(kCpu).pfc.n, 0);
}

TEST_F(BoincScalesTest, ARestartDropsCopiesAndKeepsTheRows) {
  AddVersion(kCpu, 100, "");
  Use(kCpu, 2);
  Tick();
  const std::uint64_t epoch = state.table.epoch;
  ApplyValidatorRestart(state);
  EXPECT_EQ(state.table.epoch, epoch + 1);
  EXPECT_FALSE(Stored(kCpu).cached);
  EXPECT_EQ(Stored(kCpu).pfc.n, 1);
  EXPECT_TRUE(state.validators.empty());
}

// A deleted version stays in the memory of a validator that uses it, until the validator restarts.
TEST_F(BoincScalesTest, ADeletedVersionStaysInTheValidatorsMemory) {
  AddVersion(kCpu, 100, "");
  AddVersion(kSse, 100, "sse2");
  Use(kCpu, 2);
  Tick();
  catalogue.versions.clear();
  ApplyCatalogue(catalogue, state);
  EXPECT_TRUE(state.table.versions.contains(kCpu));
  EXPECT_FALSE(state.table.versions.contains(kSse));
  Use(kCpu, 4);
  Tick();  // there is no row to write to
  EXPECT_EQ(Stored(kCpu).pfc.n, 1);
  ApplyValidatorRestart(state);
  ApplyCatalogue(catalogue, state);
  EXPECT_FALSE(state.table.versions.contains(kCpu));
}

// Item 27: a claim of infinite credit corrupts a copy permanently. The samples of the copy are lost, and later
// versions are not flushed.
TEST_F(BoincScalesTest, ACorruptCopyBlocksTheFlushOfLaterVersions) {
  AddVersion(kCpu, 100, "");
  AddVersion(kSse, 100, "sse2");
  AddVersion(kGpu, 100, "cuda");
  Use(kSse, 1);
  Use(kCpu, 1);  // first uses: kSse, kCpu, kGpu
  Use(kGpu, 1);
  Tick();
  Use(kGpu, 3);
  Use(kCpu, 3, kInf);
  Use(kSse, 3);
  Tick();
  EXPECT_EQ(Stored(kSse).pfc, (Average{.n = 2, .mean = 2}));
  EXPECT_EQ(Stored(kCpu).pfc, (Average{.n = 1, .mean = 1}));  // unchanged
  EXPECT_EQ(Stored(kCpu).cached_pfc.n, 2);                    // changed in memory only
  EXPECT_EQ(Stored(kGpu).pfc.n, 1);                           // not flushed
  Tick();  // a flush without samples of the corrupt copy completes
  EXPECT_EQ(Stored(kGpu).pfc, (Average{.n = 2, .mean = 2}));
  Use(kCpu, 1);
  Use(kGpu, 2);
  Tick();
  EXPECT_EQ(Stored(kCpu).pfc.n, 1);
  EXPECT_EQ(Stored(kGpu).pfc.n, 2);
  ApplyValidatorRestart(state);  // repairs the copy and loses the waiting samples
  Use(kCpu, 3);
  Tick();
  EXPECT_EQ(Stored(kCpu).pfc, (Average{.n = 2, .mean = 2}));
  EXPECT_EQ(Stored(kGpu).pfc.n, 2);
  EXPECT_TRUE(std::isfinite(Stored(kCpu).expavg_credit));
}

// A mean of 0 would give an infinite scale, so the row gets no scale.
TEST_F(BoincScalesTest, ANonFiniteScaleIsNotStored) {
  AddVersion(kCpu, 100, "");
  AddVersion(kGpu, 100, "cuda");
  Store(kCpu, 101, 2);
  Store(kGpu, 101, 0);
  Tick();
  EXPECT_EQ(MinAvgPfc(), 0);
  EXPECT_EQ(Stored(kCpu).scale, 0);
  EXPECT_EQ(Stored(kGpu).scale, 0);  // 0/0
}

// Sorted samples give the same bits for any number of partitions.
TEST_F(BoincScalesTest, ScalesDoNotDependOnPartitions) {
  AddVersion(kCpu, 100, "");
  AddVersion(kGpu, 100, "cuda");
  for (int k = 0; k < 400; ++k) Use(k % 3 == 0 ? kGpu : kCpu, 1 + 0.37 * (k % 17), 3 + k % 5);
  const std::vector<Sample> in_order = samples;
  const ScaleState before = state;
  Tick();
  const ScaleTable expected = state.table;

  for (const std::size_t partitions : {3U, 8U}) {
    std::vector<Sample> merged;  // partition after partition
    for (std::size_t p = 0; p < partitions; ++p) {
      for (std::size_t k = p; k < in_order.size(); k += partitions) merged.push_back(in_order[k]);
    }
    std::sort(merged.begin(), merged.end(),
              [](const Sample& a, const Sample& b) { return a.validation_id < b.validation_id; });
    ScaleState again = before;
    ApplyTick(now, merged, catalogue, again);
    for (const std::uint64_t id : {kCpu, kGpu}) {
      EXPECT_EQ(again.table.versions.at(id).pfc, expected.versions.at(id).pfc);
      EXPECT_EQ(again.table.versions.at(id).expavg_credit, expected.versions.at(id).expavg_credit);
    }
  }
}

TEST_F(BoincScalesTest, SamplesOfAnUnknownAppChangeNothing) {
  AddVersion(kCpu, 100, "");
  Use(kCpu, 2);
  samples.back().app = AppId(99);  // not in the catalogue
  Tick();
  EXPECT_EQ(Stored(kCpu).pfc.n, 0);
}

}  // namespace
}  // namespace cobblestone::credit
