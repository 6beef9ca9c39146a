// Reading C++ and CMake text.
#include "tests/layering/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cobblestone::layering {
namespace {

using testing::ElementsAre;

TEST(CodeOnlyTest, BlanksCommentsAndLiteralsAndKeepsLines) {
  EXPECT_EQ(CodeOnly("a; // exp(1)\nb;"), "a;          \nb;");
  EXPECT_EQ(CodeOnly("a /* exp(1)\n exp(2) */ b"), "a          \n           b");
  EXPECT_EQ(CodeOnly(R"x(f("exp(\"1)", 'x');)x"), R"x(f("        ", ' ');)x");
  EXPECT_EQ(CodeOnly("f(R\"x(\" // exp( )\" )x\") + exp(1)"), "f(R\"                 \") + exp(1)");
}

TEST(CodeOnlyTest, AQuoteBetweenDigitsStartsNoLiteral) {
  EXPECT_EQ(CodeOnly("n = 1'000'000; exp(1) // x"), "n = 1'000'000; exp(1)     ");
}

TEST(CodeOnlyTest, AcceptsUnterminatedText) {
  EXPECT_EQ(CodeOnly("a /* b"), "a     ");
  EXPECT_EQ(CodeOnly("\"a").size(), 2u);
  EXPECT_EQ(CodeOnly("R\"x(a").size(), 5u);
  EXPECT_EQ(CodeOnly("'\\").size(), 2u);
}

TEST(ProseOnlyTest, KeepsCommentsAndSentencesOfLiterals) {
  EXPECT_EQ(ProseOnly("a; // b\n  // c\nd"), ";;    b\n     c\n;");
  EXPECT_EQ(ProseOnly("f(\"a b \"\n\"c d\")"), ";; a b  \n c d ;");
  EXPECT_EQ(ProseOnly("f(\"name\", \"a b\")"), ";; ;;;; ;  a b ;");
  EXPECT_EQ(ProseOnly("a /* b\n * c */ d"), ";    b\n   c    ;");
  EXPECT_EQ(ProseOnly("\"a").size(), 2u);
}

TEST(IncludesOfTest, FindsQuotedAndAngledIncludesWithTheirLines) {
  const auto includes =
      IncludesOf("#pragma once\n#include <map>\n  #  include \"a/b.h\"  // why\n// #include <no>\n");
  ASSERT_EQ(includes.size(), 2u);
  EXPECT_EQ(includes[0].path, "map");
  EXPECT_EQ(includes[0].line, 2);
  EXPECT_FALSE(includes[0].quoted);
  EXPECT_EQ(includes[1].path, "a/b.h");
  EXPECT_EQ(includes[1].line, 3);
  EXPECT_TRUE(includes[1].quoted);
}

TEST(CMakeCallsOfTest, FindsNamesArgumentsAndLines) {
  const auto calls = CMakeCallsOf(
      "# library(no)\ncobblestone_library(NAME a # why\n  SOURCES \"b c.cc\" d.cc)\nif(NOT (A AND B))\nendif()\n");
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].name, "cobblestone_library");
  EXPECT_EQ(calls[0].line, 2);
  EXPECT_THAT(calls[0].arguments, ElementsAre("NAME", "a", "SOURCES", "b c.cc", "d.cc"));
  EXPECT_EQ(calls[1].name, "if");
  EXPECT_EQ(calls[1].line, 4);
  EXPECT_THAT(calls[1].arguments, ElementsAre("NOT", "A", "AND", "B"));
  EXPECT_EQ(calls[2].name, "endif");
}

TEST(CMakeCallsOfTest, UnrollsLoopsAndLists) {
  const auto calls = CMakeCallsOf(
      "set(stories order damage)\nforeach(story IN LISTS stories)\n  f(SOURCES log_${story}_test.cc ${other})\n"
      "endforeach()\nforeach(x a b)\n g(${x}${x})\n");
  ASSERT_EQ(calls.size(), 6u);
  EXPECT_THAT(calls[2].arguments,
              ElementsAre("SOURCES", "log_order_test.cc", "log_damage_test.cc", "${other}"));
  EXPECT_THAT(calls[5].arguments, ElementsAre("aa", "ab", "ba", "bb"));
}

}  // namespace
}  // namespace cobblestone::layering
