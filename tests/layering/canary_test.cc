// The test of the test: each rule must find its only breach in an otherwise sound tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/layering/rules.h"

namespace cobblestone::layering {
namespace {

using Files = std::map<std::string, std::string>;

// A small tree that follows all rules.
Files SoundTree() {
  return {
      {"CMakeLists.txt",
       "set(folders common/base common/credit common/wire common/stream common/stream/embedded services/claims\n"
       "    services/grants services/cobblestone tests/unit)\n"},
      {"common/base/CMakeLists.txt", "cobblestone_library(NAME base SOURCES exp.cc)"},
      {"common/base/README.md", "Why."},
      {"common/base/exp.h", "namespace cobblestone {\ndouble Exp(double x);\n}"},
      {"common/base/exp.cc", "#include \"common/base/exp.h\"\n#include <cmath>\ndouble Exp(double x);"},
      {"common/credit/CMakeLists.txt",
       "cobblestone_library(NAME credit SOURCES average.cc DEPS cobblestone::base)"},
      {"common/credit/README.md", "Why."},
      {"common/credit/average.h", "double Average();"},
      {"common/credit/average.cc",
       "#include \"common/credit/average.h\"\n#include \"common/base/exp.h\"\n"
       "// Not std::exp(x): its last bit varies. And log(x) neither.\n"
       "double Average() { return row.log(1) + table->exp(1) + Exp(2) + other::pow(2) + std::sqrt(4); }"},
      {"common/wire/CMakeLists.txt",
       "cobblestone_library(NAME wire SOURCES claim.cc DEPS cobblestone::credit cobblestone::schemas)"},
      {"common/wire/README.md", "Why."},
      {"common/wire/claim.h", "#include \"common/credit/average.h\""},
      {"common/wire/claim.cc", "#include \"common/wire/claim.h\"\n#include \"schemas/events.pb.h\""},
      {"common/stream/CMakeLists.txt", "cobblestone_library(NAME stream DEPS cobblestone::base)"},
      {"common/stream/README.md", "Why."},
      {"common/stream/runner.h", "class Runner;"},
      {"common/stream/embedded/CMakeLists.txt",
       "cobblestone_library(NAME embedded SOURCES log.cc DEPS cobblestone::stream deps::rocksdb)"},
      {"common/stream/embedded/README.md", "Why."},
      {"common/stream/embedded/log.h", "#include \"common/stream/runner.h\""},
      {"common/stream/embedded/log.cc", "#include \"common/stream/embedded/log.h\"\n#include <rocksdb/db.h>"},
      {"services/claims/CMakeLists.txt",
       "cobblestone_library(NAME claims SOURCES claims.cc DEPS cobblestone::wire cobblestone::stream)"},
      {"services/claims/README.md", "Why."},
      {"services/claims/claims.h", "#include \"common/stream/runner.h\""},
      {"services/claims/claims.cc",
       "#include \"services/claims/claims.h\"\n#include \"common/wire/claim.h\""},
      {"services/grants/CMakeLists.txt", "cobblestone_library(NAME grants DEPS cobblestone::wire)"},
      {"services/grants/README.md", "Why."},
      {"services/grants/grants.h", "#include \"common/wire/claim.h\"\n// docs/rules.md, section 1."},
      {"docs/rules.md",
       "# Rules\nSee [code](../common/base/exp.h), [below](#1-a-rule), [the rule], [elsewhere](https://example.org).\n"
       "## 1. A rule\n`[no](link)`\n[the rule]: rules.md#1-a-rule\n"},
      {"services/cobblestone/CMakeLists.txt",
       "cobblestone_program(NAME cobblestone SOURCES main.cc DEPS cobblestone::claims cobblestone::embedded)"},
      {"services/cobblestone/README.md", "Why."},
      {"services/cobblestone/main.cc",
       "#include <chrono>\n#include \"services/claims/claims.h\"\n#include \"services/grants/grants.h\"\n"
       "#include \"common/stream/embedded/log.h\"\nint main() {}"},
      {"tests/unit/CMakeLists.txt", "cobblestone_test(NAME average_test SOURCES average_test.cc)"},
      {"tests/unit/README.md", "Why."},
      {"tests/unit/average_test.cc", "#include \"common/credit/average.h\"\nTEST(Average, Is) {}"},
      {"build/release/generated.cc", "#include <rocksdb/db.h>"},
      {".git/hooks/sample.sh", "exit 1"},
  };
}

class CanaryTest : public testing::Test {
 protected:
  CanaryTest()
      : root_(std::filesystem::temp_directory_path() / ("cobblestone-layering-" + std::to_string(getpid()))) {
  }
  ~CanaryTest() override { std::filesystem::remove_all(root_); }

  // The findings of all rules in these files, which are written to disk and read like the real tree.
  std::vector<Finding> CheckFiles(const Files& files) {
    std::filesystem::remove_all(root_);
    for (const auto& [path, text] : files) {
      std::filesystem::create_directories((root_ / path).parent_path());
      std::ofstream(root_ / path) << text;
    }
    return Check(ReadTree(root_));
  }

  std::filesystem::path root_;
};

TEST_F(CanaryTest, ASoundTreeHasNoFindings) { EXPECT_THAT(CheckFiles(SoundTree()), testing::IsEmpty()); }

// Each case adds or replaces a file in the sound tree, and names the rule that must report it and the exact place.
struct Breach {
  const char* rule;
  const char* where;
  const char* path;
  const char* text;
};

const Breach kBreaches[] = {
    {"namespace-follows-folder", "services/claims/claims.h:1", "services/claims/claims.h",
     "namespace cobblestone {\nclass Claims {};\n}"},
    {"namespace-follows-folder", "services/grants/grants.h:4", "services/grants/grants.h",
     "namespace cobblestone::claims {\nclass Claims;\n}\nnamespace cobblestone::claims {\nclass Grants {};\n}"},
    {"namespace-follows-folder", "common/base/exp.h:1", "common/base/exp.h",
     "namespace cobblestone::base {\ndouble Exp(double x);\n}"},
    {"unknown-folder", "common/misc/a.h", "common/misc/a.h", ""},
    {"include-direction", "common/base/exp.h:1", "common/base/exp.h", "#include \"common/credit/average.h\""},
    {"include-direction", "common/credit/average.h:2", "common/credit/average.h",
     "\n#include \"common/wire/claim.h\""},
    {"include-direction", "common/wire/claim.h:1", "common/wire/claim.h",
     "#include \"services/claims/claims.h\""},
    {"include-direction", "common/stream/runner.h:1", "common/stream/runner.h",
     "#include \"common/credit/average.h\""},
    {"include-direction", "common/stream/embedded/log.h:1", "common/stream/embedded/log.h",
     "#include \"common/wire/claim.h\""},
    {"include-direction", "services/grants/grants.h:1", "services/grants/grants.h",
     "#include \"services/claims/claims.h\""},
    {"include-direction", "services/claims/claims.h:1", "services/claims/claims.h",
     "#include \"services/cobblestone/main.h\""},
    {"include-direction", "services/cobblestone/main.cc:1", "services/cobblestone/main.cc",
     "#include \"tests/unit/helper.h\""},
    {"include-exists", "services/claims/claims.cc:1", "services/claims/claims.cc", "#include \"claims.h\""},
    {"include-exists", "services/claims/claims.cc:1", "services/claims/claims.cc",
     "#include <services/claims/claims.h>"},
    {"link-direction", "common/base/CMakeLists.txt:1", "common/base/CMakeLists.txt",
     "cobblestone_library(NAME base SOURCES exp.cc DEPS cobblestone::credit)"},
    {"link-direction", "services/grants/CMakeLists.txt:1", "services/grants/CMakeLists.txt",
     "cobblestone_library(NAME grants DEPS cobblestone::claims)"},
    {"link-direction", "services/claims/CMakeLists.txt:1", "services/claims/CMakeLists.txt",
     "cobblestone_library(NAME claims SOURCES claims.cc DEPS cobblestone::embedded)"},
    {"link-direction", "services/claims/CMakeLists.txt:1", "services/claims/CMakeLists.txt",
     "cobblestone_library(NAME claims SOURCES claims.cc DEPS deps::rocksdb)"},
    {"link-direction", "services/claims/CMakeLists.txt:1", "services/claims/CMakeLists.txt",
     "cobblestone_library(NAME claims SOURCES claims.cc DEPS cobblestone::schemas)"},
    {"confined-library", "common/stream/embedded/log.cc:1", "common/stream/embedded/log.cc",
     "#include <librdkafka/rdkafka.h>"},
    {"confined-library", "services/claims/claims.cc:1", "services/claims/claims.cc",
     "#include <rocksdb/db.h>"},
    {"confined-library", "services/cobblestone/main.cc:1", "services/cobblestone/main.cc",
     "#include <yaml-cpp/yaml.h>"},
    {"confined-library", "tests/unit/average_test.cc:1", "tests/unit/average_test.cc",
     "#include <yaml-cpp/yaml.h>"},
    {"confined-library", "services/claims/claims.cc:1", "services/claims/claims.cc",
     "#include \"schemas/events.pb.h\""},
    {"confined-library", "services/cobblestone/main.cc:1", "services/cobblestone/main.cc",
     "#include <google/protobuf/message.h>"},
    {"backend-named", "services/claims/claims.cc:1", "services/claims/claims.cc",
     "#include \"common/stream/embedded/log.h\""},
    {"backend-named", "common/stream/runner.h:1", "common/stream/runner.h",
     "#include \"common/store/rocksdb/store.h\""},
    {"pure-state-code", "common/credit/average.cc:1", "common/credit/average.cc", "#include <chrono>"},
    {"pure-state-code", "common/credit/average.cc:1", "common/credit/average.cc",
     "#include <spdlog/spdlog.h>"},
    {"pure-state-code", "services/grants/grants.h:2", "services/grants/grants.h",
     "\nauto now = std::chrono::system_clock::now();"},
    {"pure-state-code", "services/grants/grants.h:1", "services/grants/grants.h",
     "auto now = time(nullptr);"},
    {"pure-state-code", "services/grants/grants.h:1", "services/grants/grants.h", "int n = std::rand();"},
    {"pure-state-code", "services/stage/expiry.cc:1", "services/stage/expiry.cc", "int n = std::rand();"},
    {"libm-in-state-code", "common/credit/average.cc:1", "common/credit/average.cc",
     "double a = std::exp(1);"},
    {"libm-in-state-code", "common/credit/average.cc:2", "common/credit/average.cc", "\ndouble a = exp (1);"},
    {"libm-in-state-code", "common/credit/average.cc:2", "common/credit/average.cc", "\npow(2, 3);"},
    {"libm-in-state-code", "common/credit/average.cc:1", "common/credit/average.cc",
     "double a = 1*::log(2);"},
    {"libm-in-state-code", "common/credit/average.cc:1", "common/credit/average.cc", "using std::log1p;"},
    {"libm-in-state-code", "services/claims/claims.h:1", "services/claims/claims.h", "auto f = expm1f(1);"},
    {"libm-in-state-code", "services/grants/grants.h:1", "services/grants/grants.h",
     "double a = __builtin_exp2(2);"},
    {"dead-file", "common/credit/forgotten.cc", "common/credit/forgotten.cc", ""},
    {"dead-file", "common/credit/forgotten.h", "common/credit/forgotten.h", ""},
    {"dead-file", "common/credit/lonely.h", "common/credit/lonely.h", "#include \"common/credit/lonely.h\""},
    {"dead-file", "schemas/forgotten.proto", "schemas/forgotten.proto", ""},
    {"dead-file", "tests/e2e/forgotten.sh", "tests/e2e/forgotten.sh", ""},
    {"unregistered-test", "tests/unit/average_test.cc:2", "tests/unit/CMakeLists.txt",
     "cobblestone_library(NAME average_test SOURCES average_test.cc)"},
    {"unregistered-test", "tests/unit/other_test.cc:1", "tests/unit/other_test.cc", "TEST_P(Other, Is) {}"},
    {"unregistered-test", "tests/unit/average_test.cc:1", "tests/unit/average_test.cc",
     "BENCHMARK(Average);"},
    {"unregistered-test", "tests/unit/average_test.cc:1", "tests/unit/average_test.cc",
     "extern \"C\" int LLVMFuzzerTestOneInput(const uint8_t*, size_t);"},
    {"unregistered-test", "tests/unit/average_test.cc:1", "tests/unit/average_test.cc",
     "TEST(Average, DISABLED_Is) {}"},
    {"folder-not-built", "tests/new/CMakeLists.txt", "tests/new/CMakeLists.txt", ""},
    {"sources-listed", "common/credit/CMakeLists.txt:1", "common/credit/CMakeLists.txt",
     "file(GLOB sources *.cc)\ncobblestone_library(NAME credit SOURCES average.cc)"},
    {"exact-arithmetic", "common/credit/CMakeLists.txt:2", "common/credit/CMakeLists.txt",
     "cobblestone_library(NAME credit SOURCES average.cc)\ntarget_compile_options(credit PRIVATE -ffast-math)"},
    {"exact-arithmetic", "CMakeLists.txt:1", "CMakeLists.txt", "add_compile_options(\"-O3 -march=native\")"},
    {"file-name", "common/credit/Average2.cc", "common/credit/Average2.cc", ""},
    {"file-name", "common/credit/average2.cpp", "common/credit/average2.cpp", ""},
    {"folder-without-readme", "common/credit/README.md", "common/credit/README.md", " \n"},
    {"folder-without-readme", "services/teams/README.md", "services/teams/teams.h", ""},
    {"cited-document", "docs/rules.md:2", "docs/rules.md", "# Rules\nSee [the design](design/none.md)."},
    {"cited-document", "docs/rules.md:2", "docs/rules.md", "# Rules\nSee [code](../common/base/none.h)."},
    {"cited-document", "docs/rules.md:2", "docs/rules.md", "# Rules\nSee [here](#rule).\n## Rules of it"},
    {"cited-document", "docs/rules.md:3", "docs/rules.md", "# Rules\nSee [code].\n[code]: ../common/none.h"},
    {"cited-document", "services/grants/grants.h:1", "services/grants/grants.h", "// As notes.md says."},
    {"cited-document", "services/grants/grants.h:1", "services/grants/grants.h",
     "// docs/rules.md, sections 1 to 3."},
    {"banned-phrase", "services/grants/grants.h:1", "services/grants/grants.h",
     "// Each job is priced anew."},
    {"banned-phrase", "services/grants/grants.h:1", "services/grants/grants.h",
     "int a; // goes to that\n// one"},
    {"banned-phrase", "services/claims/claims.cc:2", "services/claims/claims.cc",
     "f(\"a\",\n\"Taken \"\n\"in: 1\");"},
    {"banned-phrase", "schemas/events.proto:1", "schemas/events.proto", "// The job. The host is told."},
    {"banned-phrase", "docs/rules.md:2", "docs/rules.md", "# Rules\nThe host, or that one."},
    {"banned-phrase", "tests/unit/README.md:1", "tests/unit/README.md", "Rebuilt anew."},
    {"banned-phrase", "config/default.yaml:2", "config/default.yaml", "a: 1\nb: 2  # nobody knows\n"},
    {"banned-phrase", "deploy/run:1", "deploy/run", "# waits in\n# vain"},
    {"banned-phrase", "services/gateway/openapi.json:1", "services/gateway/openapi.json",
     "{\"a\": \"taken in\"}"},
    {"banned-phrase", "services/gateway/web/src/a.ts:1", "services/gateway/web/src/a.ts", "f(`made anew`);"},
};

TEST_F(CanaryTest, EachRuleFindsItsBreaches) {
  for (const Breach& breach : kBreaches) {
    Files files = SoundTree();
    files[breach.path] = breach.text;
    const auto findings = CheckFiles(files);
    const bool found = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.rule == breach.rule && finding.where == breach.where;
    });
    EXPECT_TRUE(found) << breach.rule << " does not report " << breach.where << " after " << breach.path
                       << " became\n"
                       << breach.text << "\nwhat was found: " << testing::PrintToString(findings);
  }
}

// The rule accepts names in code, code spans, longer words, tests, and phrases that are plain English in another
// sense.
TEST_F(CanaryTest, BannedPhrasesAreNotReportedInCode) {
  Files files = SoundTree();
  files["services/grants/grants.h"] +=
      "\n// `anew` starts over, so that one copy is enough. Janew.\nint anew = Get(\"anew\"); f(\"that\", \"one\");";
  files["docs/rules.md"] += "`taken in`\n```\nanew\n```\n";
  files["tests/unit/average_test.cc"] += "  // anew";
  EXPECT_THAT(CheckFiles(files), testing::IsEmpty());
}

TEST_F(CanaryTest, ADeletedReadmeIsFound) {
  Files files = SoundTree();
  files.erase("common/wire/README.md");
  const auto findings = CheckFiles(files);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "folder-without-readme");
}

TEST_F(CanaryTest, AFolderWithTooManyLinesOrFilesIsFound) {
  Files files = SoundTree();
  std::string& header = files["services/grants/grants.h"];
  header += "\n";
  const auto lines = std::count(header.begin(), header.end(), '\n');
  header += std::string(static_cast<std::size_t>(4999 - lines), '\n');
  EXPECT_THAT(CheckFiles(files), testing::IsEmpty());
  header += "\n\n\n";
  auto findings = CheckFiles(files);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "folder-too-large");
  EXPECT_EQ(findings[0].where, "services/grants");

  files = SoundTree();
  for (int i = 0; i < 41; ++i)
    files["common/base/" + std::string(static_cast<std::size_t>(i + 1), 'a') + ".h"] = "";
  findings = CheckFiles(files);
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.rule == "folder-too-large" && finding.where == "common/base";
  }));
}

TEST_F(CanaryTest, EveryRuleHasABreach) {
  std::set<std::string> tried = {"folder-too-large"};  // AFolderWithTooManyLinesOrFilesIsFound
  for (const Breach& breach : kBreaches) tried.insert(breach.rule);
  for (const Rule& rule : AllRules()) EXPECT_TRUE(tried.contains(rule.name)) << rule.name;
}

}  // namespace
}  // namespace cobblestone::layering
