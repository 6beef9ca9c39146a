// How values are written in statistics files: tests/golden/export/README.md, 'General format', 'Text', 'Filters'.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>

#include "services/export/collation.h"
#include "services/export/filters.h"
#include "services/export/php_number.h"
#include "services/export/text.h"

namespace cobblestone::statistics {

using exports::AppendEscaped;
using exports::AppendFixed;
using exports::AppendId;
using exports::AppendRounded;
using exports::BeginsWithDeleted;
using exports::Cut;
using exports::EqualsDeleted;
using exports::Host;
using exports::IsShown;
using exports::kBlobBytes;
using exports::Md5Hex;
using exports::PhpNumber;
using exports::Team;
using exports::User;

namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  AppendEscaped(text, &out);
  return out;
}
std::string Fixed(double value) {
  std::string out;
  AppendFixed(value, &out);
  return out;
}
std::string Rounded(double value) {
  std::string out;
  AppendRounded(value, &out);
  return out;
}

TEST(ExportText, TextIsCutAtAnyByteAndEndsAtAByteZero) {
  EXPECT_EQ(Cut(std::string(255, 'a')), std::string(255, 'a'));
  const std::string umlauts = std::string(254, 'a') + "\xc3\xa9";
  EXPECT_EQ(Cut(umlauts), umlauts.substr(0, 255)) << "half a character is left";
  EXPECT_EQ(Cut(std::string("ab\0cd", 5)), "ab");
  EXPECT_EQ(Cut(std::string(70'000, 'x'), kBlobBytes).size(), 65'535u);
}

TEST(ExportText, EachByteIsEscapedSeparately) {
  EXPECT_EQ(Escaped("a<b>&amp;\"'"), "a&lt;b>&amp;amp;\"'");
  EXPECT_EQ(Escaped("\xc3\xa9"), "&#195;&#169;");
  EXPECT_EQ(Escaped("\t\n\r"), "&#9;&#10;&#13;");
  EXPECT_EQ(Escaped("a\x01\x1f\x7f!"), "a\x7f!");
  EXPECT_EQ(Escaped("]]>]]]>]>"), "]]&gt;]]]&gt;]>");
  EXPECT_EQ(Escaped("]]"), "]]");
}

TEST(ExportText, ALongDescriptionEndsAfterTheEscapeThatPassesTheLimit) {
  EXPECT_EQ(Escaped(std::string(65'535, 'a')).size(), 65'529u);
  EXPECT_EQ(Escaped(std::string(65'535, '&')).size(), 65'530u) << "13,106 escapes of 5";
  const std::string bytes = Escaped(std::string(65'535, '\xff'));
  EXPECT_EQ(bytes.size(), 65'532u) << "10,922 escapes of 6";
  EXPECT_TRUE(bytes.ends_with("&#255;"));
}

TEST(ExportText, DoublesHaveSixDigitsOfTheirExactValue) {
  EXPECT_EQ(Fixed(5.7e11), "570000000000.000000");
  EXPECT_EQ(Fixed(1e-6), "0.000001");
  EXPECT_EQ(Fixed(1e-7), "0.000000");
  EXPECT_EQ(Fixed(-1e-7), "-0.000000");
  EXPECT_EQ(Fixed(-0.0), "-0.000000");
  EXPECT_EQ(Fixed(1e30), "1000000000000000019884624838656.000000");
  EXPECT_EQ(Fixed(std::numeric_limits<double>::max()).size(), 309u + 7u);
  // 2^-7 has seven digits and ends in 5, so it is rounded to even.
  EXPECT_EQ(Fixed(0.0078125), "0.007812");
  EXPECT_EQ(Fixed(3 * 0.0078125), "0.023438");
}

TEST(ExportText, DoublesAreFormattedLikePrintf) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 120) - 100) *
                         (i % 2 == 0 ? 1 : -1);
    char text[400];
    std::snprintf(text, sizeof text, "%.6f", value);
    ASSERT_EQ(Fixed(value), text);
    std::snprintf(text, sizeof text, "%.0f", value);
    ASSERT_EQ(Rounded(value), text);
  }
}

TEST(ExportText, TimesOfBadgesAreRoundedHalfToEven) {
  EXPECT_EQ(Rounded(0.5), "0");
  EXPECT_EQ(Rounded(1.5), "2");
  EXPECT_EQ(Rounded(2.5), "2");
  EXPECT_EQ(Rounded(-0.4), "-0");
}

TEST(ExportText, IdsAreUnsigned) {
  std::string out;
  AppendId(-1, &out);
  EXPECT_EQ(out, "18446744073709551615");
}

TEST(ExportText, TheCrossProjectIdIsTheMd5OfBothTexts) {
  EXPECT_EQ(Md5Hex("", ""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Md5Hex("message ", "digest"), "f96b697d7cb7938d525a2f31aaf161d0");  // RFC 1321
}

std::string Php(std::initializer_list<double> values) {
  PhpNumber number;
  for (const double value : values) number.Add(value);
  return number.Text();
}

// The expected texts are those of PHP 8.2 with precision 14, for the same values as texts of the database.
TEST(ExportPhpNumber, WholeValuesBelow1e15StayIntegers) {
  EXPECT_EQ(Php({999999999999999}), "999999999999999");
  EXPECT_EQ(Php({570000000000, 1}), "570000000001");
  EXPECT_EQ(Php({}), "0");
  EXPECT_EQ(Php({-0.0}), "0");
  EXPECT_EQ(Php({-12}), "-12");
}

TEST(ExportPhpNumber, OtherValuesHaveFourteenDigits) {
  EXPECT_EQ(Php({1e15}), "1.0E+15");
  EXPECT_EQ(Php({1.5e15}), "1.5E+15");
  EXPECT_EQ(Php({1.2345678901234568e17}), "1.2345678901235E+17");
  EXPECT_EQ(Php({123456789012345, 0.5}), "1.2345678901235E+14");
  EXPECT_EQ(Php({99999999999999, 0.4}), "99999999999999");
  EXPECT_EQ(Php({99999999999999, 0.6}), "1.0E+14");
  EXPECT_EQ(Php({0.1, 0.2}), "0.3");
  EXPECT_EQ(Php({0.0001}), "0.0001");
  EXPECT_EQ(Php({0.00012345}), "0.00012345");
  EXPECT_EQ(Php({0.00001}), "1.0E-5");
  EXPECT_EQ(Php({0.5, 4.5}), "5");
  EXPECT_EQ(Php({-4.5}), "-4.5");
  EXPECT_EQ(Php({1e22}), "1.0E+22");
  EXPECT_EQ(Php({0.5, -0.5}), "0");
}

TEST(ExportPhpNumber, IntegerSumsBeyond64BitsBecomeDoubles) {
  PhpNumber number;
  number.AddWhole(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(number.Text(), "9223372036854775807");
  number.AddWhole(1);
  EXPECT_EQ(number.Text(), "9.2233720368548E+18");
  EXPECT_FALSE(number.IsZero());
}

// All expected answers are those of MariaDB 10.11 for the collation utf8mb4_unicode_ci.
TEST(ExportCollation, CaseAccentsAndWidthDoNotMatter) {
  for (const char* text : {"deleted", "DELETED", "DéLèTeD", "ｄｅｌｅｔｅｄ", "ⓓⓔⓛⓔⓣⓔⓓ"}) {
    EXPECT_TRUE(EqualsDeleted(text)) << text;
    EXPECT_TRUE(BeginsWithDeleted(text)) << text;
  }
  for (const char* text : {"", "delete", "deletex", "đeleted", "deŁeted", "𝐝eleted",
                           "d\xc2\xad"
                           "eleted"}) {
    EXPECT_FALSE(EqualsDeleted(text)) << text;
    EXPECT_FALSE(BeginsWithDeleted(text)) << text;
  }
}

TEST(ExportCollation, EqualityIgnoresMarksAndTrailingSpaces) {
  for (const char* text : {"deleted  ", "deleted\xc2\xa0", "deleted\xe2\x80\x80", "deleted\x01",
                           "\x01"
                           "deleted",
                           "de\xcc\x81leted", "deleted\xe1\xa0\x8e"})
    EXPECT_TRUE(EqualsDeleted(text)) << text;
  for (const char* text : {" deleted", "deleted x", "deleted\t", "deleted_host", "deleted \xc2\xad"})
    EXPECT_FALSE(EqualsDeleted(text)) << text;
}

TEST(ExportCollation, APrefixIsComparedCharacterByCharacter) {
  EXPECT_TRUE(BeginsWithDeleted("deleted_1795100000"));
  EXPECT_TRUE(BeginsWithDeleted("deleted\xcc\x81x"));
  EXPECT_FALSE(BeginsWithDeleted("de\xcc\x81leted"));
  EXPECT_FALSE(
      BeginsWithDeleted("\x01"
                        "deleted"));
  EXPECT_FALSE(BeginsWithDeleted(" deleted"));
  EXPECT_FALSE(BeginsWithDeleted("undeleted"));
}

TEST(ExportCollation, TextThatEndsWithinACharacterEqualsNothing) {
  EXPECT_FALSE(EqualsDeleted("deleted\xc3"));
  EXPECT_FALSE(EqualsDeleted("\xa9\xf0\x9f"));
}

TEST(ExportFilters, ShowAccountsWithCreditThatAreNotDeleted) {
  User user{.total_credit = 1e-7, .authenticator = ""};
  EXPECT_TRUE(IsShown(user));
  user.authenticator.reset();
  EXPECT_FALSE(IsShown(user));
  user.authenticator = "DELETED_x";
  EXPECT_FALSE(IsShown(user));
  Host host{.userid = 1, .total_credit = 1, .domain_name = "deleted_host"};
  EXPECT_TRUE(IsShown(host));
  host.domain_name = "Deleted ";
  EXPECT_FALSE(IsShown(host));
  host.domain_name = "";
  host.userid = 0;
  EXPECT_FALSE(IsShown(host));
  EXPECT_FALSE(IsShown(Team{.total_credit = 0}));
  EXPECT_FALSE(IsShown(Team{.total_credit = -1}));
}

}  // namespace
}  // namespace cobblestone::statistics
