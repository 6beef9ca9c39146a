// Checks the rules of the layout on the tree that this test was built from.
#include <gtest/gtest.h>

#include <string>

#include "tests/layering/rules.h"

namespace cobblestone::layering {
namespace {

const Tree& SourceTree() {
  static const Tree kTree = ReadTree(COBBLESTONE_SOURCE_DIR);
  return kTree;
}

class LayeringTest : public testing::TestWithParam<Rule> {};

TEST_P(LayeringTest, HoldsInTheWholeTree) {
  for (const Finding& finding : GetParam().check(SourceTree())) ADD_FAILURE() << finding;
}

// include-direction -> IncludeDirection
std::string CamelCase(const testing::TestParamInfo<Rule>& rule) {
  std::string name;
  bool upper = true;
  for (const char* c = rule.param.name; *c != '\0'; ++c) {
    if (*c != '-') name.push_back(upper ? static_cast<char>(*c - 'a' + 'A') : *c);
    upper = *c == '-';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Rules, LayeringTest, testing::ValuesIn(AllRules()), CamelCase);

// A rule holds trivially if the reader finds no file. Therefore the reader must have found both ends of the
// layering.
TEST(LayeringReaderTest, FindsTheTreeThatTheRulesCheck) {
  const Tree& tree = SourceTree();
  ASSERT_TRUE(tree.sources.contains("common/base/status.h"));
  ASSERT_TRUE(tree.sources.contains("tests/layering/rules.cc"));
  EXPECT_TRUE(tree.sources.contains("schemas/events.proto"));
  EXPECT_FALSE(tree.sources.at("tests/layering/rules.cc").includes.empty());
  EXPECT_FALSE(tree.cmake.at("").empty());
  EXPECT_TRUE(tree.readmes.contains("tests/layering"));
  for (const auto& [path, file] : tree.sources) {
    EXPECT_FALSE(path.starts_with("build/")) << path;
  }
}

}  // namespace
}  // namespace cobblestone::layering
