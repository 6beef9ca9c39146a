// The catalogue's look-ups, names of policies and modes, defaults of constants.
#include "common/credit/model/catalogue.h"

#include <gtest/gtest.h>

#include <set>

#include "common/credit/policies/boinc.h"
#include "common/credit/policies/creditnew.h"
#include "common/credit/policies/creditnew_v2.h"
#include "common/credit/policies/policy.h"
#include "common/credit/policies/robust.h"
#include "common/credit/policies/runtime_policy.h"
#include "common/credit/policies/simple_policies.h"

namespace cobblestone::credit {
namespace {

constexpr double kDay = 86400;

TEST(CatalogueTest, WindowIsTheLongerOfThirtyDaysAndFourDelayBounds) {
  struct Case {
    double delay_bound;
    double result_window;
    double window;
  };
  for (const Case& c : {Case{0, 0, 30 * kDay}, Case{7 * kDay, 0, 30 * kDay}, Case{10 * kDay, 0, 40 * kDay},
                        Case{10 * kDay, 5 * kDay, 5 * kDay}}) {
    AppRow app;
    app.delay_bound = c.delay_bound;
    app.result_window = c.result_window;
    EXPECT_EQ(app.Window(), c.window);
  }
}

TEST(CatalogueTest, TheResourceElseThePlanClassIdentifiesAGpu) {
  struct Case {
    Resource resource;
    const char* plan_class;
    bool gpu;
  };
  const Case cases[] = {
      {Resource::kUnknown, "", false},
      {Resource::kUnknown, "mt", false},
      {Resource::kUnknown, "cuda_fermi", true},
      {Resource::kUnknown, "opencl_nvidia_101", true},
      {Resource::kUnknown, "opencl_ati_101", true},
      {Resource::kUnknown, "opencl_amd", true},
      {Resource::kUnknown, "opencl_intel_gpu_102", true},
      {Resource::kUnknown, "metal_apple_gpu", true},
      {Resource::kCpu, "cuda", false},
      {Resource::kNvidia, "", true},
      {Resource::kAppleGpu, "mt", true},
  };
  for (const Case& c : cases) {
    AppVersionRow version;
    version.resource = c.resource;
    version.plan_class = c.plan_class;
    EXPECT_EQ(version.IsGpu(), c.gpu) << c.plan_class;
  }
}

TEST(CatalogueTest, FindsAppsAndLiveVersions) {
  Catalogue catalogue;
  catalogue.apps[1].name = "astropulse";
  catalogue.versions[11].version_num = 7;
  catalogue.versions[12].deleted = true;
  ASSERT_NE(catalogue.FindApp(AppId(1)), nullptr);
  EXPECT_EQ(catalogue.FindApp(AppId(1))->name, "astropulse");
  EXPECT_EQ(catalogue.FindApp(AppId(2)), nullptr);
  ASSERT_NE(catalogue.FindVersion(AppVersionId(11)), nullptr);
  EXPECT_EQ(catalogue.FindVersion(AppVersionId(11))->version_num, 7u);
  for (const int id : {12, 13, 0, -2}) EXPECT_EQ(catalogue.FindVersion(AppVersionId(id)), nullptr) << id;
}

TEST(PolicyNamesTest, EveryKindHasANameAndAnObject) {
  struct Case {
    PolicyKind kind;
    const char* name;
    const Policy* policy;
  };
  const Case cases[] = {
      {PolicyKind::kNone, "none", &NonePolicy()},
      {PolicyKind::kBoinc, "boinc", &BoincPolicy()},
      {PolicyKind::kCreditNew, "creditnew", &CreditNewPolicy()},
      {PolicyKind::kCreditNewV2, "creditnew-v2", &CreditNewV2Policy()},
      {PolicyKind::kRobust, "robust", &RobustPolicy()},
      {PolicyKind::kBenchmark, "benchmark", &BenchmarkPolicy()},
      {PolicyKind::kReportedFlops, "reported-flops", &ReportedFlopsPolicy()},
      {PolicyKind::kRuntime, "runtime", &RuntimePolicy()},
      {PolicyKind::kAssigned, "assigned", &AssignedPolicy()},
  };
  std::set<const Policy*> objects;
  for (const Case& c : cases) {
    EXPECT_EQ(PolicyName(c.kind), c.name);
    EXPECT_EQ(PolicyKindByName(c.name), c.kind);
    EXPECT_EQ(&PolicyFor(c.kind), c.policy) << c.name;
    objects.insert(c.policy);
  }
  EXPECT_EQ(objects.size(), 9u);
  for (const char* unknown : {"", "BOINC", "creditnew-v3", "creditnew "}) {
    EXPECT_FALSE(PolicyKindByName(unknown).has_value()) << unknown;
  }
}

TEST(PolicyNamesTest, ModesAreNamedInTheOrderOfTheirFrozenNumbers) {
  EXPECT_EQ(ModeName(Mode::kNormal), "normal");
  EXPECT_EQ(ModeName(Mode::kApproximate), "approximate");
  EXPECT_EQ(ModeName(Mode::kWorkunitEstimate), "workunit_estimate");
  EXPECT_EQ(ModeName(Mode::kCapped), "capped");
  EXPECT_EQ(ModeName(Mode::kNone), "none");
  EXPECT_EQ(ModeName(Mode::kBenchmark), "benchmark");
  EXPECT_EQ(ModeName(Mode::kReportedFlops), "reported_flops");
  EXPECT_EQ(ModeName(Mode::kRuntime), "runtime");
  EXPECT_EQ(ModeName(Mode::kAssigned), "assigned");
  EXPECT_EQ(ModeName(Mode::kDefaultPfc), "default_pfc");
  EXPECT_EQ(ModeName(Mode::kProbation), "probation");
  EXPECT_EQ(ModeName(static_cast<Mode>(99)), "unknown");
}

TEST(PolicyConstantsTest, EveryPolicyHasItsOwnDefaults) {
  const Constants seed = DefaultConstants(PolicyKind::kCreditNew);
  EXPECT_EQ(seed.host_average_samples, 10);
  EXPECT_EQ(seed.host_average_weight, 0.01);
  EXPECT_EQ(seed.version_average_samples, 100);
  EXPECT_EQ(seed.version_average_weight, 0.001);
  EXPECT_EQ(seed.average_sample_limit, 10);
  EXPECT_EQ(seed.gpu_only_factor, 0.1);
  EXPECT_EQ(seed.one_time_cheat_factor, 20);
  for (const PolicyKind kind : {PolicyKind::kBoinc, PolicyKind::kRuntime}) {
    const Constants boinc = DefaultConstants(kind);
    EXPECT_EQ(boinc.host_average_samples, 20);
    EXPECT_EQ(boinc.host_average_weight, 0.01);
    EXPECT_EQ(boinc.version_average_samples, 100);
    EXPECT_EQ(boinc.version_average_weight, 0.001);
    EXPECT_EQ(boinc.average_sample_limit, 10);
    EXPECT_EQ(boinc.host_scale_min_samples, 10);
  }
  const Constants robust = DefaultConstants(PolicyKind::kRobust);
  EXPECT_EQ(robust.host_average_samples, seed.host_average_samples);
  EXPECT_EQ(robust.average_sample_limit, seed.average_sample_limit);
  EXPECT_EQ(robust.error_rate_keep, 0.98);
  EXPECT_EQ(robust.error_rate_add, 0.02);
  EXPECT_TRUE(robust.version_median);
  EXPECT_EQ(robust.budget_factor, 1.04);
  EXPECT_EQ(robust.failure_weight, 2.25);
  EXPECT_EQ(robust.failure_allowance, 0.03);
  const Constants v2 = DefaultConstants(PolicyKind::kCreditNewV2);
  EXPECT_EQ(v2.gpu_only_factor, 1);
  EXPECT_EQ(v2.replication, Replication::kMin);
}

}  // namespace
}  // namespace cobblestone::credit
