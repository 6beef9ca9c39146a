// Files that upstream writes ill-formed are well-formed with --strict-xml. They have the same content where XML
// can represent it.
#include "services/export/strict_xml.h"

#include <expat.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "services/export/entities_file.h"
#include "services/export/export_job.h"
#include "services/export/files/record_file.h"
#include "services/export/records.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/export_rows.h"

namespace cobblestone::statistics {

using exports::AppendAttribute;
using exports::AppendCdata;
using exports::AppendRaw;
using exports::ContentReader;
using exports::CpidOf;
using exports::EntitiesFile;
using exports::FileFigures;
using exports::ParseSpec;
using exports::RunExport;
using exports::User;

namespace {

using testing::Json;

// The text inside the root as a parser reads it, or "ILL-FORMED: ..." if the document is not well-formed.
std::string Parsed(const std::string& document) {
  std::string text;
  XML_Parser parser = XML_ParserCreate(nullptr);
  XML_SetUserData(parser, &text);
  XML_SetCharacterDataHandler(parser, [](void* to, const char* data, int size) {
    static_cast<std::string*>(to)->append(data, static_cast<std::size_t>(size));
  });
  XML_SetStartElementHandler(parser, [](void* to, const char*, const char** attributes) {
    if (attributes[0] != nullptr) static_cast<std::string*>(to)->append(attributes[1]);
  });
  if (XML_Parse(parser, document.data(), static_cast<int>(document.size()), 1) != XML_STATUS_OK)
    text = std::string("ILL-FORMED: ") + XML_ErrorString(XML_GetErrorCode(parser)) + ", line " +
           std::to_string(XML_GetCurrentLineNumber(parser));
  XML_ParserFree(parser);
  return text;
}

std::string Raw(std::string_view text, bool strict = true) {
  std::string out = "<a>";
  AppendRaw(text, strict, &out);
  return out + "</a>";
}
std::string Cdata(std::string_view text, bool strict = true) {
  std::string out = "<a>";
  AppendCdata(text, strict, &out);
  return out + "</a>";
}
std::string Attribute(std::string_view text) {
  std::string out = "<a b=\"";
  AppendAttribute(text, true, &out);
  return out + "\"/>";
}

TEST(ExportStrictXml, MarkupIsText) {
  for (const char* text :
       {"Bosnia & Herzegovina <BA>", "a]]>b", "]]", ">", "Côte d'Ivoire 🚀", "tab\tline\nend", "a\r\nb"}) {
    EXPECT_EQ(Parsed(Raw(text)), text);
    EXPECT_EQ(Parsed(Attribute(std::string(text) + "\"")), std::string(text) + "\"");
  }
  for (const char* text : {"a]]>b", "<x>&amp;\"]]><![CDATA[evil", "]]]]>>", "]]>]]>", ""})
    EXPECT_EQ(Parsed(Cdata(text)), text);
  EXPECT_EQ(Raw("a&b<c>", false), "<a>a&b<c></a>") << "unchanged without --strict-xml";
  EXPECT_EQ(Cdata("a]]>b", false), "<a><![CDATA[a]]>b]]></a>");
}

TEST(ExportStrictXml, CharactersThatXmlForbidsAreLeftOut) {
  EXPECT_EQ(Parsed(Raw("a\x01\x1f"
                       "b\x7f")),
            "ab\x7f");
  EXPECT_EQ(Parsed(Raw("a\xc3")), "a") << "a truncated character";
  EXPECT_EQ(Parsed(Raw("a\xf0\x9f\x9a")), "a");
  EXPECT_EQ(Parsed(Raw("a\xef\xbf\xbe"
                       "b\xef\xbf\xbf"
                       "c")),
            "abc")
      << "U+FFFE, U+FFFF";
  EXPECT_EQ(Parsed(Raw("a\xc0\x80"
                       "b\xed\xa0\x80"
                       "c\xf4\x90\x80\x80"
                       "d")),
            "abcd")
      << "too long, surrogate, too large";
  EXPECT_EQ(Parsed(Cdata("]\x01]\x02>")), "]]>") << "leaving out characters joins the brackets";
}

TEST(ExportStrictXml, AnyBytesAreWellFormed) {
  std::mt19937 random(11);
  const std::string kLikely = "]]>><<&\"'\r\n\t\x01\xc3\xa9\xf0\x9f\x9a\x80\xef\xbf\xbe";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (unsigned n = random() % 20; n > 0; --n)
      text += random() % 3 == 0 ? static_cast<char>(random()) : kLikely[random() % kLikely.size()];
    for (const std::string& document : {Raw(text), Cdata(text), Attribute(text)})
      ASSERT_FALSE(Parsed(document).starts_with("ILL-FORMED")) << document;
  }
}

// Exports rows in which every text that upstream writes raw has the worst possible content.
class StrictExport : public ::testing::Test {
 protected:
  StrictExport() {
    const std::string bad = "<&\x01\"]]>\n";
    // The cut after 255 bytes is within the last character.
    const std::string cut = std::string(252, 'x') + "🚀";
    Json user = testing::UserRow(1, 5);
    user["country"] = cut;
    Json host = testing::HostRow(1, 1, 5);
    host["misc"] = bad;
    host["host_cpid"] = bad;
    Json team = testing::TeamRow(1, 1, 5);
    team["country"] = bad;
    Json badge = testing::BadgeRow(1);
    badge["title"] = bad;
    badge["name"] = cut;
    const Json file = {
        {"users", {user}},
        {"hosts", {host}},
        {"teams", {team}},
        {"badges", {badge}},
        {"badge_user", {testing::BadgeOf(1, 1)}},
        {"apps", {{{"id", 1}, {"user_friendly_name", bad}}}},
        {"subprojects", {{{"name", bad}, {"appids", {1}}}}},
        {"credit_user",
         {{{"userid", 1}, {"appid", 1}, {"njobs", 1}, {"total", 1.5}, {"expavg", 2}, {"credit_type", 0}}}},
        {"users_deleted", {{{"userid", 4}, {"public_cross_project_id", bad}}}},
        {"hosts_deleted", {{{"hostid", 4}, {"public_cross_project_id", bad}}}}};
    std::ofstream(dir_ / "e.json") << file.dump();
  }

  // How many of the files are ill-formed.
  int IllFormed(bool strict) {
    auto entities = EntitiesFile::Open(dir_ / "e.json", {});
    EXPECT_TRUE(entities.ok()) << entities.status().message();
    const auto spec = ParseSpec(testing::SpecText(), "spec");
    const auto outcome = RunExport(**entities, *spec,
                                   {.settings = {.credit_by_app = true, .strict_xml = strict},
                                    .now = 5,
                                    .out = dir_ / (strict ? "strict" : "plain")});
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    int ill_formed = 0;
    int files = 0;
    for (const FileFigures& file : outcome->manifest.files) {
      auto reader = ContentReader::Open(outcome->directory + "/" + file.name);
      std::string text;
      for (;;) {
        const auto line = (*reader)->NextLine();
        if (!line.ok() || line->empty()) break;
        text += *line;
      }
      ++files;
      const bool bad = Parsed(text).starts_with("ILL-FORMED");
      EXPECT_FALSE(bad && strict) << file.name << ": " << Parsed(text) << "\n" << text;
      ill_formed += bad ? 1 : 0;
    }
    EXPECT_EQ(files, 11);
    return ill_formed;
  }
  cobblestone::testing::TempDir dir_;
};

TEST_F(StrictExport, EveryFileIsWellFormed) { EXPECT_EQ(IllFormed(true), 0); }
TEST_F(StrictExport, WithoutStrictXmlSevenFilesAreIllFormedLikeUpstreams) { EXPECT_EQ(IllFormed(false), 7); }

// BOINC's cpid is an MD5 in hexadecimal digits, and upstream writes it without escaping. An event may contain any
// bytes as its cpid; markup among them could inject elements, even whole users.
TEST(StrictXml, ACpidThatIsNoMd5IsReplacedByTheComputedOne) {
  User user;
  user.id = 1;
  user.cross_project_id = "abc";
  user.email_addr = "a@example.org";
  const std::string computed = CpidOf(user);
  EXPECT_EQ(computed.size(), 32u);
  const std::string longer(33, 'a');
  for (const std::string& given : {std::string("</cpid></user><user>"), std::string(), std::string("abc"),
                                   longer, std::string(32, 'g')}) {
    user.cpid = given;
    EXPECT_EQ(CpidOf(user), computed) << given;
  }
  user.cpid = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(CpidOf(user), *user.cpid);
}

}  // namespace
}  // namespace cobblestone::statistics
