// The spec file of an export and its settings: valid input, and messages for invalid input.
#include "services/export/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/export/settings.h"

namespace cobblestone::statistics {

using exports::Compression;
using exports::LoadSpec;
using exports::ParseSettings;
using exports::ParseSpec;
using exports::Sort;
using exports::Table;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Spec1(const std::string& inside) {
  return "<boinc_db_dump_spec>\n<output_dir>../tmp</output_dir>\n<enumeration>\n" + inside +
         "\n</enumeration>\n</boinc_db_dump_spec>\n";
}

TEST(ExportSpec, IsReadCompletely) {
  const auto spec = ParseSpec(
      "<?xml version=\"1.0\"?>\n<boinc_db_dump_spec>\n <!-- daily -->\n <output_dir> a </output_dir>\n"
      "<final_output_dir>b</final_output_dir><archive_dir>c</archive_dir>"
      "<enumeration><table>host</table><filename>h</filename><sort>expavg_credit</sort>"
      "<output><detail/><compression>zip</compression></output>"
      "<output><recs_per_file>100</recs_per_file></output></enumeration>"
      "<enumeration><table>user_deleted</table><filename>d</filename></enumeration></boinc_db_dump_spec>",
      "x");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->output_dir, "a");
  EXPECT_EQ(spec->final_output_dir, "b");
  EXPECT_EQ(spec->archive_dir, "c");
  ASSERT_EQ(spec->enumerations.size(), 2u);
  EXPECT_EQ(spec->enumerations[0].table, Table::kHost);
  EXPECT_EQ(spec->enumerations[0].sort, Sort::kExpavgCredit);
  ASSERT_EQ(spec->enumerations[0].outputs.size(), 2u);
  EXPECT_TRUE(spec->enumerations[0].outputs[0].detail);
  EXPECT_EQ(spec->enumerations[0].outputs[0].compression, Compression::kZip);
  EXPECT_FALSE(spec->enumerations[0].outputs[1].detail);
  EXPECT_EQ(spec->enumerations[0].outputs[1].recs_per_file, 100u);
  EXPECT_THAT(spec->warnings, ElementsAre(HasSubstr("has no effect without <sort>id</sort>")));
  EXPECT_TRUE(spec->enumerations[1].outputs.empty());
}

struct BadSpec {
  std::string text;
  std::string expected;
};

TEST(ExportSpec, ErrorsNameFileLineAndAllowedValues) {
  const std::string user = "<table>user</table><filename>user</filename>";
  const BadSpec kBad[] = {
      {"", "s.xml, line 1: not well-formed XML"},
      {"<boinc_db_dump_spec>\n<enumeration>\n", "s.xml, line 3: not well-formed XML: no element found"},
      {"<spec/>", "<spec> is not an export spec; the root must be <boinc_db_dump_spec>"},
      {Spec1("<table>users</table>"),
       "line 4: unknown table 'users'; allowed: user, team, host, user_deleted"},
      {Spec1(user + "\n<sort>name</sort>"),
       "line 5: unknown sort 'name'; allowed: id, total_credit, expavg_credit"},
      {Spec1(user + "<order>id</order>"), "unknown element <order> in <enumeration>"},
      {Spec1("<filename>user</filename>"), "line 5: this <enumeration> has no <table>"},
      {Spec1("<table>user</table>"), "this <enumeration> has no <filename>"},
      {Spec1("<table>user</table><filename>../user</filename>"), "'../user' is not a valid file name"},
      {Spec1("<table>user</table><filename/>"), "'' is not a valid file name"},
      {Spec1(user + "<output><recs_per_file>ten</recs_per_file></output>"),
       "'ten' is not a valid number of records"},
      {Spec1(user + "<output><recs_per_file>-1</recs_per_file></output>"),
       "'-1' is not a valid number of records"},
      {Spec1(user + "<output/><output><detail/></output>"), "two outputs would both write user"},
      {Spec1(
           "<table>user</table><filename>badge_user</filename><output><compression>gzip</compression></output>"),
       "the export itself writes a file badge_user.gz"},
      {Spec1(user + " gzip <output/>"), "text 'gzip' between elements"},
      {"<!DOCTYPE a [<!ENTITY b \"c\">]>\n<boinc_db_dump_spec/>",
       "a document type declaration is not allowed"},
      {std::string(2U << 20U, ' '), "larger than the limit for spec files"},
  };
  for (const BadSpec& bad : kBad) {
    const auto spec = ParseSpec(bad.text, "s.xml");
    ASSERT_FALSE(spec.ok()) << bad.expected;
    EXPECT_EQ(spec.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(spec.status().message(), HasSubstr(bad.expected));
  }
}

TEST(ExportSpec, AnUnknownCompressionMeansNone) {
  const auto spec = ParseSpec(Spec1("<table>user</table><filename>user</filename>\n"
                                    "<output><compression>bzip2</compression></output>"),
                              "s.xml");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->enumerations[0].outputs[0].compression, Compression::kNone);
  EXPECT_THAT(spec->warnings, ElementsAre(HasSubstr("s.xml, line 5: unknown compression 'bzip2'")));
}

TEST(ExportSpec, AMissingFileIsNamed) {
  const auto spec = LoadSpec("/nowhere/db_dump.xml");
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(spec.status().message(), HasSubstr("/nowhere/db_dump.xml"));
}

TEST(ExportSettings, DefaultsAreUpstreams) {
  const auto settings = ParseSettings({});
  ASSERT_TRUE(settings.ok());
  EXPECT_TRUE(settings->user_country);
  EXPECT_TRUE(settings->user_url);
  EXPECT_FALSE(settings->credit_by_app);
  EXPECT_EQ(settings->statsexport_enabled, std::nullopt);
}

TEST(ExportSettings, AreReadByNameAndUnknownNamesRefused) {
  const auto settings =
      ParseSettings({"user_country=0", "user_url=false", "credit_by_app=1", "statsexport_enabled=true"});
  ASSERT_TRUE(settings.ok());
  EXPECT_FALSE(settings->user_country);
  EXPECT_FALSE(settings->user_url);
  EXPECT_TRUE(settings->credit_by_app);
  EXPECT_EQ(settings->statsexport_enabled, true);
  EXPECT_THAT(ParseSettings({"user_contry=1"}).status().message(),
              HasSubstr("unknown setting 'user_contry'; settings:"));
  EXPECT_THAT(ParseSettings({"user_url"}).status().message(), HasSubstr("as in user_url=1"));
  EXPECT_THAT(ParseSettings({"user_url=yes"}).status().message(), HasSubstr("a value of 0 or 1"));
}

}  // namespace
}  // namespace cobblestone::statistics
