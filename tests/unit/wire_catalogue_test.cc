// Catalogue events are applied to a catalogue: the fields that each event changes or keeps, and the numbers of
// policy versions.
#include <gtest/gtest.h>

#include "common/credit/policies/policy.h"
#include "common/wire/control/catalogue_codec.h"

namespace cobblestone::wire {
namespace {

Event Of(EventBody body) { return {{.id = 1, .project = ProjectId(1), .time = 100}, std::move(body)}; }

AppChange App(std::string policy) {
  AppChange app;
  app.app = AppId(1);
  app.name = "app1";
  app.policy = std::move(policy);
  app.target_nresults = 2;
  return app;
}

std::optional<RefusalReason> Apply(EventBody body, credit::Catalogue& catalogue) {
  const auto refusal = ApplyCatalogueEvent(Of(std::move(body)), catalogue);
  return refusal ? std::optional(refusal->reason) : std::nullopt;
}

TEST(WireCatalogue, ANewAppGetsItsPolicysDefaultsAndItsOwnValues) {
  credit::Catalogue catalogue;
  AppChange app = App("benchmark");
  app.constants = ConstantChanges{};
  app.constants->multiplier = 2.5;
  app.constants->replication = "median";
  app.constants->benchmark = "mean";
  app.constants->version_median = true;
  app.constants->error_rate_keep = 0.9;
  app.min_avg_pfc = 0.0;
  EXPECT_EQ(Apply(app, catalogue), std::nullopt);

  credit::Constants expected = credit::DefaultConstants(credit::PolicyKind::kBenchmark);
  expected.multiplier = 2.5;
  expected.replication = credit::Replication::kMedian;
  expected.benchmark = credit::Benchmark::kMean;
  expected.version_median = true;
  expected.error_rate_keep = 0.9;
  const credit::AppRow& row = catalogue.apps.at(1);
  EXPECT_EQ(row.policy.kind, credit::PolicyKind::kBenchmark);
  EXPECT_EQ(row.policy.version, 1u);
  EXPECT_EQ(row.policy.constants, expected);
  EXPECT_EQ(row.name, "app1");
  EXPECT_EQ(row.target_nresults, 2u);
  EXPECT_EQ(row.min_avg_pfc, 0.0);  // 0 is a valid start value
}

TEST(WireCatalogue, EveryConstantOfTheRulesCanBeSet) {
  // Each constant has a different value (1000 plus its place), so that a missing or exchanged constant fails.
  ConstantChanges changes;
  double next = 1000;
  changes.cobblestones_per_gflops_day = next++;
  changes.host_average_samples = next++;
  changes.host_average_weight = next++;
  changes.version_average_samples = next++;
  changes.version_average_weight = next++;
  changes.average_sample_limit = next++;
  changes.host_scale_min_samples = next++;
  changes.host_scale_limit = next++;
  changes.one_time_cheat_factor = next++;
  changes.error_rate_initial = next++;
  changes.error_rate_keep = next++;
  changes.error_rate_add = next++;
  changes.multiplier = next++;
  changes.max_peak_flops_cpu = next++;
  changes.max_peak_flops_gpu = next++;
  changes.max_devices = next++;
  changes.claim_limit = next++;
  changes.max_credit_per_job = next++;
  changes.gpu_only_factor = next++;
  changes.reported_credit_limit = next++;
  const credit::Constants c = ConstantsFrom(credit::PolicyKind::kCreditNew, changes);
  double expected = 1000;
  for (const double v : {c.cobblestones_per_gflops_day,
                         c.host_average_samples,
                         c.host_average_weight,
                         c.version_average_samples,
                         c.version_average_weight,
                         c.average_sample_limit,
                         c.host_scale_min_samples,
                         c.host_scale_limit,
                         c.one_time_cheat_factor,
                         c.error_rate_initial,
                         c.error_rate_keep,
                         c.error_rate_add,
                         c.multiplier,
                         c.max_peak_flops_cpu,
                         c.max_peak_flops_gpu,
                         c.max_devices,
                         c.claim_limit,
                         c.max_credit_per_job,
                         c.gpu_only_factor,
                         c.reported_credit_limit}) {
    EXPECT_EQ(v, expected++);
  }
}

TEST(WireCatalogue, AnAppWithoutAPolicyKeepsItsPolicyOrGetsTheDefault) {
  credit::Catalogue catalogue;
  EXPECT_EQ(Apply(App(""), catalogue), std::nullopt);
  EXPECT_EQ(catalogue.apps.at(1).policy.kind, credit::PolicyKind::kCreditNew);
  EXPECT_EQ(catalogue.apps.at(1).policy.constants, credit::DefaultConstants(credit::PolicyKind::kCreditNew));

  AppChange priced = App("assigned");
  priced.constants = ConstantChanges{};
  priced.constants->max_credit_per_job = 500;
  EXPECT_EQ(Apply(priced, catalogue), std::nullopt);
  AppChange renamed = App("");
  renamed.name = "app one";
  EXPECT_EQ(Apply(renamed, catalogue), std::nullopt);
  EXPECT_EQ(catalogue.apps.at(1).name, "app one");
  EXPECT_EQ(catalogue.apps.at(1).policy.kind, credit::PolicyKind::kAssigned);
  EXPECT_EQ(catalogue.apps.at(1).policy.constants.max_credit_per_job, 500);
  EXPECT_EQ(catalogue.apps.at(1).policy.version,
            2u);  // set by the second event; the third event did not change the policy
}

TEST(WireCatalogue, PolicyVersionsCountChangesAndNeverGoBack) {
  credit::Catalogue catalogue;
  const auto version = [&] { return catalogue.apps.at(1).policy.version; };
  EXPECT_EQ(Apply(App("creditnew"), catalogue), std::nullopt);
  EXPECT_EQ(version(), 1u);
  EXPECT_EQ(Apply(App("creditnew"), catalogue), std::nullopt);  // the same again
  EXPECT_EQ(version(), 1u);
  EXPECT_EQ(Apply(App("boinc"), catalogue), std::nullopt);
  EXPECT_EQ(version(), 2u);

  AppChange named = App("boinc");
  named.constants = ConstantChanges{};
  named.constants->gpu_only_factor = 0.2;
  named.policy_version = 7;
  EXPECT_EQ(Apply(named, catalogue), std::nullopt);
  EXPECT_EQ(version(), 7u);
  EXPECT_EQ(Apply(named, catalogue), std::nullopt);  // a repeat
  EXPECT_EQ(version(), 7u);

  named.constants->gpu_only_factor = 0.3;  // version 7 already means 0.2
  EXPECT_EQ(Apply(named, catalogue), RefusalReason::kDuplicateWithOtherContents);
  named.policy_version = 6;
  EXPECT_EQ(Apply(named, catalogue), RefusalReason::kOutOfRange);
  EXPECT_EQ(version(), 7u);
  EXPECT_EQ(catalogue.apps.at(1).policy.constants.gpu_only_factor, 0.2);
  EXPECT_EQ(Apply(App("creditold"), catalogue), RefusalReason::kUnknownPolicy);
}

TEST(WireCatalogue, VersionsAreAddedDeprecatedAndDeleted) {
  credit::Catalogue catalogue;
  AppVersionChange version;
  version.row.id = 3;
  version.row.app = AppId(1);
  version.row.version_num = 101;
  version.row.plan_class = "cuda_fermi";
  EXPECT_EQ(Apply(version, catalogue), RefusalReason::kUnknownApp);
  EXPECT_TRUE(catalogue.versions.empty());
  EXPECT_EQ(Apply(App("boinc"), catalogue), std::nullopt);
  EXPECT_EQ(Apply(version, catalogue), std::nullopt);
  EXPECT_EQ(catalogue.versions.at(3).plan_class, "cuda_fermi");
  version.row.deprecated = true;
  EXPECT_EQ(Apply(version, catalogue), std::nullopt);
  EXPECT_TRUE(catalogue.versions.at(3).deprecated);

  AppVersionChange deletion;
  deletion.row.id = 3;
  deletion.row.deleted = true;
  EXPECT_EQ(Apply(deletion, catalogue), std::nullopt);
  EXPECT_TRUE(catalogue.versions.empty());
  EXPECT_EQ(Apply(deletion, catalogue), RefusalReason::kUnknownAppVersion);
}

TEST(WireCatalogue, SettingsChangeOnlyTheFieldsThatTheySet) {
  credit::Catalogue catalogue;
  EXPECT_EQ(
      Apply(SettingsChange{.max_granted_credit = 73e6, .daily_result_quota = 8, .scale_period = std::nullopt},
            catalogue),
      std::nullopt);
  EXPECT_EQ(
      Apply(SettingsChange{.max_granted_credit = 0, .daily_result_quota = std::nullopt, .scale_period = 1200},
            catalogue),
      std::nullopt);
  EXPECT_EQ(catalogue.settings.max_granted_credit, 0);
  EXPECT_EQ(catalogue.settings.daily_result_quota, 8);
  EXPECT_EQ(catalogue.settings.scale_period, 1200);
  EXPECT_EQ(Apply(PlanClassFactor{.plan_class = "mt", .factor = 0.4, .provenance = ""}, catalogue),
            std::nullopt);
  EXPECT_EQ(catalogue.plan_class_factors.at("mt"), 0.4);
  EXPECT_EQ(Apply(Tick{.time = 600}, catalogue), std::nullopt);
  EXPECT_EQ(Apply(ValidatorRestart{}, catalogue), std::nullopt);
}

}  // namespace
}  // namespace cobblestone::wire
