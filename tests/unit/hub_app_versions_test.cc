// What a stock project's app_versions.php says.
#include "services/hub/feeds/app_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace cobblestone::hub {
namespace {

using credit::Resource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Version(const std::string& app, const std::string& plan_class, const std::string& samples,
                    const std::string& scale, const std::string& credit = "1000.5") {
  return "\n    <app_version>\n        <create_time>1700000000</create_time>\n"
         "        <platform>x86_64-pc-linux-gnu</platform>\n        <app_name>" +
         app + "</app_name>\n        <version_num>102</version_num>\n        <plan_class>" + plan_class +
         "</plan_class>\n        <pfc_n>" + samples + "</pfc_n>\n        <pfc_avg>1.5E+15</pfc_avg>\n" +
         "        <pfc_scale>" + scale + "</pfc_scale>\n        <expavg_credit>" + credit +
         "</expavg_credit>\n        <expavg_time>1790000000.25</expavg_time>\n    </app_version>\n";
}
std::string Answer(const std::string& versions) {
  return "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<app_versions>\n" + versions +
         "</app_versions>\n";
}
std::vector<PublishedVersion> Parsed(const std::string& answer) {
  const auto parsed = ParseAppVersions(answer, "app_versions.php");
  EXPECT_TRUE(std::holds_alternative<std::vector<PublishedVersion>>(parsed));
  return std::get<std::vector<PublishedVersion>>(parsed);
}

TEST(AppVersions, AreReadWithTheNumbersThatPhpPrints) {
  const auto versions = Parsed(Answer(Version("sim", "opencl_amd", "250", "0.052631578947368", "1.0E-6") +
                                      Version("sim", "", "300", "1")));
  ASSERT_EQ(versions.size(), 2u);
  const PublishedVersion& gpu = versions[0];
  EXPECT_EQ(gpu.app, "sim");
  EXPECT_EQ(gpu.platform, "x86_64-pc-linux-gnu");
  EXPECT_EQ(gpu.version_num, 102u);
  EXPECT_EQ(gpu.plan.resource, Resource::kAmd);
  EXPECT_EQ(gpu.samples, 250);
  EXPECT_EQ(gpu.pfc_average, 1.5e15);
  EXPECT_EQ(gpu.scale, 0.052631578947368);
  EXPECT_EQ(gpu.recent_average, 1e-6);
  EXPECT_EQ(gpu.recent_average_time, 1790000000.25);
  EXPECT_EQ(gpu.id, 0u);
  EXPECT_EQ(gpu.problem, "");
  EXPECT_EQ(versions[1].plan.resource, Resource::kCpu);
}

// One event has all versions of a project: one that an event cannot have would cost the others.
TEST(AppVersions, ThatAnEventCannotHaveAreKeptWithTheReason) {
  std::string answer = Answer(Version("a", std::string(2000, 'x'), "250", "1") +
                              Version("caf\xe9s", "cuda", "250", "1") + Version("c", "cuda", "250", "1"));
  const std::string time = "1790000000.25";
  answer.replace(answer.rfind(time), time.size(), "1e300");
  const auto versions = Parsed(answer);
  ASSERT_EQ(versions.size(), 3u);
  EXPECT_EQ(versions[0].problem, "plan_class: more than 1016 bytes");
  EXPECT_EQ(versions[1].problem, "");
  EXPECT_EQ(versions[1].app, "caf\xc3\xa9s");
  EXPECT_EQ(versions[2].problem, "expavg_time: 1e300");
}

TEST(AppVersions, WithABadNumberAreKeptWithTheReason) {
  const auto versions = Parsed(Answer(Version("a", "cuda", "250", "NAN") + Version("b", "cuda", "INF", "1") +
                                      Version("c", "cuda", "250", "-0.5") + Version("d", "cuda", "250", "") +
                                      Version("e", "cuda", "250", "0.1")));
  ASSERT_EQ(versions.size(), 5u);
  EXPECT_EQ(versions[0].problem, "pfc_scale: NAN");
  EXPECT_EQ(versions[1].problem, "pfc_n: INF");
  EXPECT_EQ(versions[2].problem, "pfc_scale: -0.5");
  EXPECT_EQ(versions[3].problem, "pfc_scale: ");
  EXPECT_EQ(versions[4].problem, "");
  EXPECT_EQ(Parsed(Answer("<app_version><app_name>x</app_name></app_version>"))[0].problem, "pfc_n: missing");
}

TEST(AppVersions, OfAnAppCompareItsDevicesOnlyIfBothAreMeasured) {
  const auto versions = Parsed(
      Answer(Version("both", "", "100", "1") + Version("both", "cuda", "100", "0.1") +   // measured
             Version("young", "", "100", "1") + Version("young", "cuda", "99", "0.1") +  // too few samples
             Version("gpu_only", "cuda", "500", "0.1") +                                 // no CPU
             Version("unscaled", "", "500", "0") + Version("unscaled", "cuda", "500", "0.1") +  // no scale
             Version("strange", "turbo", "500", "1") + Version("strange", "cuda", "500", "0.1")));
  EXPECT_THAT(AppsWithBothKinds(versions, 100), ElementsAre("both"));
}

TEST(AppVersions, AreRefusedAsAPageOrCut) {
  const auto problem = [](const std::string& answer) {
    return std::get<FileRefusal>(ParseAppVersions(answer, "app_versions.php")).problem;
  };
  EXPECT_EQ(problem("<html>Project is down</html>"), FileProblem::kHtml);
  const std::string answer = Answer(Version("a", "cuda", "250", "1"));
  EXPECT_EQ(problem(answer.substr(0, answer.size() - 20)), FileProblem::kTruncated);
  EXPECT_EQ(problem(Answer("<app_version>\n<pfc_n>1\n</app_version>")), FileProblem::kUnclosedElement);
  EXPECT_EQ(problem("Unable to connect to database"), FileProblem::kNotStatistics);
}

}  // namespace
}  // namespace cobblestone::hub
