// Every golden grant, repriced from the ledger by its own policy version, keeps its amount to the micro-credit.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "common/wire/control/topics.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/access/ingest.h"
#include "services/corrections/correction_plan.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::golden {

using access::ClientOf;
using access::Ingest;
using access::IngestSummary;
using corrections::TargetKind;
using embedded::Engine;

namespace {

const std::string kData = std::string(COBBLESTONE_SOURCE_DIR) + "/tests/golden/data/";

class RepriceGolden : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Scenarios, RepriceGolden,
                         ::testing::Values("s01_cpu_single", "s02_cpu_two", "s03_cpu_gpu", "s04_gpu_only",
                                           "s05_anonymous", "s06_sanity", "s06b_overflow",
                                           "s07_host_scale_check", "s08_outliers", "s09_caps",
                                           "s10_mixed_large", "s12b_credit_from_runtime"),
                         [](const auto& scenario) { return std::string(scenario.param); });

TEST_P(RepriceGolden, RepricingByItsOwnVersionChangesNoGrant) {
  const cobblestone::testing::TempDir dir;
  settings::RunSettings settings;
  settings.data_directory = dir / "data";
  settings.partitions = 2;
  settings.sync = false;
  settings.commit.interval = std::chrono::milliseconds(1);
  auto engine = Engine::Open(settings, [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  (*engine)->Start();
  IngestSummary summary;
  const Status ingested = Ingest(
      *ClientOf(**engine), {.file = kData + GetParam() + ".in.jsonl.gz", .source = "golden"}, {}, &summary);
  ASSERT_TRUE(ingested.ok()) << ingested.message();
  (*engine)->WaitIdle();
  std::set<std::int64_t> versions;
  std::set<std::uint32_t> policies;
  std::uint64_t granted = 0;
  for (std::uint32_t p = 0; p < 2; ++p) {
    const Status read =
        (*engine)->ForEachRecord({wire::kGrants, p}, [&](std::uint64_t, std::string_view record) {
          wire::Grant grant;
          EXPECT_TRUE(wire::DecodeGrant(record, &grant));
          if (!grant.claim || wire::IsNote(grant.head.kind)) return true;
          ++granted;
          versions.insert(grant.claim->version.value);
          policies.insert(grant.claim->policy_version);
          return true;
        });
    ASSERT_TRUE(read.ok()) << read.message();
  }
  EXPECT_EQ(policies, std::set<std::uint32_t>{1});
  std::uint64_t unchanged = 0;
  for (const std::int64_t version : versions) {
    const auto plan = (*engine)->Corrections(
        {.target = TargetKind::kAppVersion, .id = version, .policy_version = 1, .reason = "none"}, {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_TRUE(plan->at("corrections").empty()) << plan->at("corrections").front();
    EXPECT_TRUE(plan->at("problems").empty()) << plan->at("problems").front();
    unchanged += plan->at("unchanged").get<std::uint64_t>();
  }
  EXPECT_EQ(unchanged, granted);
  EXPECT_GT(granted, 0u);
  EXPECT_TRUE((*engine)->Stop().ok());
}

}  // namespace
}  // namespace cobblestone::golden
