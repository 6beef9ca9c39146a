// Trickle messages as BOINC stores them: bodies of all known senders, rows of the table, and the events made from
// them.

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "services/boinc/trickle_event.h"
#include "services/boinc/trickle_rows.h"
#include "services/boinc/trickle_xml.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::boinc {
namespace {

const std::string kMessages = std::string(COBBLESTONE_SOURCE_DIR) + "/tests/fuzz/trickle_messages/";

// The lines that the client writes before every body.
const std::string kFromClient = "      <result_name>wu_1_0</result_name>\n      <time>1699999990</time>\n";

TrickleBody Body(const std::string& xml) {
  auto body = ParseTrickleBody(xml, "body");
  EXPECT_TRUE(body.ok()) << body.status().message();
  return body.ok() ? *body : TrickleBody();
}

std::string ErrorOf(const std::string& xml) {
  const auto body = ParseTrickleBody(xml, "body");
  return body.ok() ? "read" : body.status().message();
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<TrickleMessageRow> Rows(const std::string& path, const BareBodies& bare = {}) {
  std::vector<TrickleMessageRow> rows;
  const Status read =
      ReadTrickleMessages(path, bare, [&rows](const TrickleFilePlace&, const TrickleMessageRow& row) {
        rows.push_back(row);
        return Status::Ok();
      });
  EXPECT_TRUE(read.ok()) << read.message();
  return rows;
}

// The rows that were read from some lines, and the error if there was one.
struct Read {
  std::vector<TrickleMessageRow> rows;
  std::string error;
};
Read ReadLines(const std::vector<std::string>& lines) {
  Read result;
  TrickleRowReader reader("input");
  std::vector<TrickleMessageRow> rows;
  for (const std::string& line : lines) {
    const Status status = reader.ReadLine(line, &rows);
    result.rows.insert(result.rows.end(), rows.begin(), rows.end());
    if (!status.ok()) {
      result.error = status.message();
      return result;
    }
  }
  result.error = reader.Finish(&rows).message();
  result.rows.insert(result.rows.end(), rows.begin(), rows.end());
  return result;
}

// ---- Bodies --------------------------------------------------------------------------------------------------

TEST(TrickleBody, OfAClimateModelIsRead) {
  const TrickleBody body = Body(kFromClient +
                                "<wu>hadam3p_eu_1</wu>\n<result>hadam3p_eu_1_0</result>\n<ph>2</ph>\n"
                                "<ts>43200</ts>\n<cp>190000</cp>\n<vr>6.07</vr>\n");
  EXPECT_EQ(body.result_name, "wu_1_0");
  EXPECT_EQ(body.model_result, "hadam3p_eu_1_0");
  EXPECT_EQ(body.workunit, "hadam3p_eu_1");
  EXPECT_EQ(body.client_time, 1699999990);
  EXPECT_EQ(body.phase, 2U);
  EXPECT_EQ(body.timestep, 43200);
  EXPECT_EQ(body.cpu_time, 190000);
  EXPECT_EQ(body.version, "6.07");
  EXPECT_TRUE(body.others.empty());
}

TEST(TrickleBody, OfOpenIfsMayHaveEmptyElements) {
  const TrickleBody body = Body(
      "<wu>oifs_1</wu>\n<result>oifs_1_0_r42</result>\n<ph></ph>\n<ts>0</ts>\n"
      "<cp>48377.25</cp>\n<vr/>\n<data>287.31,-12.5</data>\n");
  EXPECT_EQ(body.phase, std::nullopt);
  EXPECT_EQ(body.version, "");
  EXPECT_EQ(body.timestep, 0);
  EXPECT_EQ(body.cpu_time, 48377.25);
  EXPECT_EQ(body.data, "287.31,-12.5");
  EXPECT_EQ(body.result_name, "");
}

TEST(TrickleBody, OfWrappersIsRead) {
  EXPECT_EQ(Body(kFromClient + "<cpu_time>14400.250000</cpu_time>").cpu_time, 14400.25);
  EXPECT_EQ(Body("<run_time>3600.000000</run_time>").run_time, 3600);
  const TrickleBody search =
      Body(kFromClient +
           "<trickle_up>\n   <progress>0.250000</progress>\n"
           "   <cputime>86000.5</cputime>\n   <runtime>86400</runtime>\n</trickle_up>\n");
  EXPECT_EQ(search.cpu_time, 86000.5);
  EXPECT_EQ(search.run_time, 86400);
  EXPECT_EQ(search.others, (std::vector<TrickleElement>{{"progress", "0.250000", 4}}));
}

TEST(TrickleBody, KeepsUnknownElements) {
  const TrickleBody body = Body(
      "<?xml version=\"1.0\"?>\n<jid>3</jid>\n<device id=\"0\">\n"
      "  <ts>not a timestep</ts>\n  <name>a &lt; b</name>\n</device>\n<jid>4</jid>");
  EXPECT_EQ(body.others, (std::vector<TrickleElement>{{"jid", "3", 2},
                                                      {"device@id", "0", 3},
                                                      {"device/ts", "not a timestep", 4},
                                                      {"device/name", "a < b", 5},
                                                      {"jid", "4", 7}}));
  EXPECT_EQ(body.timestep, std::nullopt);
  EXPECT_EQ(Body("<data><![CDATA[1 < 2 & 3]]></data>").data, "1 < 2 & 3");
  EXPECT_EQ(Body("").others.size(), 0U);
}

TEST(TrickleBody, ErrorsNameTheLineAndTheProblem) {
  struct Case {
    const char* xml;
    const char* line;
    const char* what;
  };
  const Case cases[] = {
      {"<ts>5</ts>\n<cp>7", "line 2", "not well-formed XML (mismatched tag)"},
      {"<ts>5</ts>\n</msg_from_host>", "line 2", "mismatched tag"},
      {"<ts>5</ts></body><body>", "line 1", "junk after document element"},
      {"\n<data>\xff\xfe</data>", "line 2", "invalid token"},
      {"<!DOCTYPE a [<!ENTITY e \"x\">]>\n<ts>5</ts>", "line 1", "a declaration (document type"},
      {"<data>\n<![CDATA[ open</data>", "line 2", "unclosed CDATA section"},
      {"<ts>5</ts><!-- open", "line 1", "not well-formed XML"},
      {"<ts>5</ts>\n<data>&lol;</data>", "line 2", "undefined entity"},
      {"sample trickle message", "line 1", "text 'sample trickle message' between elements"},
      {"<ts>5</ts>\nmore\n<cp>5</cp>", "line 3", "text 'more' between elements"},
      {"<ts>five</ts>", "line 1", "<ts> is 'five'"},
      {"\n\n<ts>nan</ts>", "line 3", "finite number"},
      {"<cp>inf</cp>", "line 1", "finite number"},
      {"<cp>-1</cp>", "line 1", "at least 0"},
      {"<cp>1e999</cp>", "line 1", "finite number"},
      {"<cp>12 s</cp>", "line 1", "finite number"},
      {"<ph>1.5</ph>", "line 1", "whole number"},
      {"<result_id>-4</result_id>", "line 1", "whole number"},
      {"<ts>5</ts>\n<ts>6</ts>", "line 2", "and <ts> in line 1, have the same meaning"},
      {"<cp>5</cp>\n<cpu_time>5</cpu_time>", "line 2", "and <cp> in line 1, have the same meaning"},
      {"<ts></ts>\n<trickle_up><ts>1</ts></trickle_up>", "line 2", "have the same meaning"},
  };
  for (const Case& c : cases) {
    const std::string error = ErrorOf(c.xml);
    EXPECT_TRUE(Has(error, "body, ") && Has(error, c.line) && Has(error, c.what)) << c.xml << " -> " << error;
  }
}

TEST(TrickleBody, HasLimits) {
  EXPECT_TRUE(Has(ErrorOf("<data>" + std::string(kLargestTrickle, 'x') + "</data>"),
                  "exceeds the limit for trickles"));
  std::string many;
  for (std::size_t k = 0; k < kMaxTrickleElements; ++k) many += "<x/>";
  EXPECT_EQ(ErrorOf(many), "read");
  EXPECT_TRUE(Has(ErrorOf(many + "<x/>"), "more than 1000 elements"));
  std::string deep;
  for (std::size_t k = 0; k < 100'000 / 3; ++k) deep += "<x>";
  EXPECT_TRUE(Has(ErrorOf(deep), "deeper than 16"));
  EXPECT_TRUE(Has(ErrorOf("<result_name>" + std::string(255, 'x') + "</result_name>"), "longer than 254"));
}

// ---- Rows ----------------------------------------------------------------------------------------------------

TEST(TrickleRows, OfATableThatMysqlPrintsAreRead) {
  const std::vector<TrickleMessageRow> rows = Rows(kMessages + "table_batch.tsv");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].id, 11U);
  EXPECT_EQ(rows[0].create_time, 1'700'000'000);
  EXPECT_EQ(rows[0].host, HostId(5));
  EXPECT_EQ(rows[0].variety, "orig");
  EXPECT_EQ(rows[0].line, 2U);
  EXPECT_EQ(Body(rows[0].xml).timestep, 43200);
  EXPECT_EQ(Body(rows[1].xml).result_id, 88U);
}

TEST(TrickleRows, OfATextDumpAreRead) {
  const std::vector<TrickleMessageRow> rows = Rows(kMessages + "table_dump.txt");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].xml,
            "<result_name>hadam3p_x_0</result_name>\n<data>tab:\there, backslash: \\</data>\n<ts>7</ts>");
  EXPECT_EQ(rows[1].id, 12U);
  EXPECT_EQ(rows[1].line, 4U);
  EXPECT_EQ(rows[1].xml, "");  // NULL
}

TEST(TrickleRows, MayEndInAnEscapedBackslash) {
  const Read read = ReadLines({"1\t17\t5\torig\t0\ta\\\\", "2\t17\t5\torig\t0\tb\\\\\\\\"});
  ASSERT_EQ(read.rows.size(), 2U) << read.error;
  EXPECT_EQ(read.rows[0].xml, "a\\");
  EXPECT_EQ(read.rows[1].xml, "b\\\\");
}

TEST(TrickleRows, MayHaveTheirColumnsInAnyOrder) {
  const Read read =
      ReadLines({"xml\thostid\tmore\tid\tvariety\tcreate_time", "a\\\\b\\tc\\0d\t5\tx\t9\torig\t17.5"});
  ASSERT_EQ(read.rows.size(), 1U) << read.error;
  EXPECT_EQ(read.rows[0].xml, std::string("a\\b\tc\0d", 7));
  EXPECT_EQ(read.rows[0].id, 9U);
  EXPECT_EQ(read.rows[0].create_time, 17.5);
}

TEST(TrickleRows, OfBodiesWithinAnElementAreRead) {
  const std::vector<TrickleMessageRow> rows = Rows(kMessages + "handler_bodies.xml");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].id, 101U);
  EXPECT_EQ(rows[0].host, HostId(7));
  EXPECT_EQ(Body(rows[0].xml).timestep, 2160);
  EXPECT_EQ(Body(rows[1].xml).cpu_time, 14400.25);  // the closing tag in the body's last line
  EXPECT_EQ(Body(rows[2].xml).run_time, 86400);
  // A malformed body does not affect the others.
  EXPECT_TRUE(Has(ErrorOf(rows[3].xml), "not well-formed XML"));
  EXPECT_EQ(Body(rows[4].xml).result_name, "crack_1_0");
}

// MariaDB 10.11 wrote both files: a dump of the whole project, and a compact dump with column names.
TEST(TrickleRows, OfADumpOfStatementsAreRead) {
  for (const auto& [file, line] :
       {std::pair{"mariadb_dump.sql", 44U}, std::pair{"mariadb_dump_compact.sql", 14U}}) {
    const std::vector<TrickleMessageRow> rows = Rows(kMessages + file);
    ASSERT_EQ(rows.size(), 3U) << file;
    EXPECT_EQ(rows[0].id, 11U);
    EXPECT_EQ(rows[0].create_time, 1'700'000'000);
    EXPECT_EQ(rows[0].host, HostId(5));
    EXPECT_EQ(rows[0].variety, "orig");
    EXPECT_EQ(rows[0].line, line);
    EXPECT_EQ(rows[0].before, 0U);
    EXPECT_EQ(Body(rows[0].xml).data, "it's a tab:\t\"here\", (a), backslash: \\; `q` -- /* #");
    EXPECT_EQ(Body(rows[0].xml).timestep, 7);
    EXPECT_EQ(rows[1].xml, "");  // NULL
    EXPECT_EQ(rows[2].id, 15U);
    EXPECT_EQ(rows[2].variety, "o'r");
    EXPECT_EQ(rows[2].before, 2U);
    EXPECT_EQ(rows[2].xml, std::string("<result_name>grüße_0</result_name>\r\n<d>\x1a\0</d><ts>9</ts>", 57));
  }
}

TEST(TrickleRows, OfADumpMayShareALine) {
  const Read read = ReadLines(
      {"-- MySQL dump 10.13", "/*!40101 SET NAMES utf8mb4 */;", "LOCK TABLES `msg_from_host` WRITE;",
       "INSERT INTO `msg_from_host` VALUES (1,17,5,'orig',0,'<ts>1</ts>'),(2,18.5,6,_binary 'orig',1,0x3c6f2f3e);",
       "INSERT INTO `msg_from_host` VALUES (3,19,7,\"a\"\"b\",0,'two", "lines'' \\", "') ;"});
  ASSERT_EQ(read.rows.size(), 3U) << read.error;
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.rows[1].create_time, 18.5);
  EXPECT_EQ(read.rows[1].xml, "<o/>");
  EXPECT_EQ(read.rows[1].line, 4U);
  EXPECT_EQ(read.rows[1].before, 1U)
      << "rows are counted: with one more row in the line, the same file has grown";
  EXPECT_EQ(read.rows[2].variety, "a\"b");
  EXPECT_EQ(read.rows[2].xml, "two\nlines' \n");
}

TEST(TrickleRows, OfADumpHaveTheColumnsOfTheStatementElseOfTheTable) {
  const std::string table =
      "CREATE TABLE IF NOT EXISTS `msg_from_host` (`xml` text COMMENT 'x) , y', `handled` smallint(6), `hostid` int(11) "
      "DEFAULT '0', `variety` varchar(254), `id` int, `create_time` double(5,2), KEY `k` (`id`,`hostid`)) ENGINE=InnoDB;";
  const Read read =
      ReadLines({table, "INSERT  IGNORE INTO `project`.`msg_from_host` VALUES ('a',0,5,'orig',1,17);",
                 "REPLACE INTO msg_from_host (id, create_time, hostid, variety, xml) VALUES "
                 "(2,18,6,'other','b');"});
  ASSERT_EQ(read.rows.size(), 2U) << read.error;
  EXPECT_EQ(read.rows[0].id, 1U);
  EXPECT_EQ(read.rows[0].xml, "a");
  EXPECT_EQ(read.rows[1].host, HostId(6));
  EXPECT_EQ(read.rows[1].xml, "b");
}

TEST(TrickleRows, ErrorsInADumpNameTheLineAndTheProblem) {
  const std::string insert = "INSERT INTO `msg_from_host` VALUES ";
  struct Case {
    std::vector<std::string> lines;
    const char* what;
  };
  const Case cases[] = {
      {{"-- a dump", "INSERT INTO `result` VALUES (1,'msg_from_host');"},
       "input: no table msg_from_host in this dump, but result"},
      {{"--", insert + "(1,17,5,'orig',0)"}, "line 2: a row of 5 columns; the row must have 6"},
      {{insert + "(1,17,5,'orig',0,'',7,8,9)"}, "line 1: a row of more than 6 columns; the row must have 6"},
      {{insert, "(1,17,5,'orig',0,''),", "(0,17,5,'orig',0,'')"}, "line 3: id is '0'"},
      {{insert + "(1,17,NULL,'orig',0,'')"}, "line 1: hostid is NULL"},
      {{insert + "(1,17,5,'orig',0,now())"}, "line 1: 'now' instead of a value"},
      {{insert + "(1,17,5,'orig',,'')"}, "line 1: ',' instead of a value"},
      {{insert + "(1,17,5,'orig' 0,'')"}, "line 1: '0' instead of , or ) of a row"},
      {{insert, "(1,17,5,'orig',0,'')", "(2"},
       "line 3: '(' instead of , or ; (in the statement that starts in line 1)"},
      {{"INSERT INTO msg_from_host SELECT 1;"}, "line 1: 'SELECT' instead of VALUES"},
      {{"INSERT INTO msg_from_host (id, xml) VALUES (1,'')"},
       "line 1: the column create_time is missing in the statement's"},
      {{"CREATE TABLE msg_from_host (", "id int", ");"},
       "line 3: the column create_time is missing in the dump's"},
      {{"--", insert + "(1,17,5,'orig',0,'<ts>"}, "line 2: the statement that starts here has no end"},
      {{insert + "(1,17,5,'orig',0,'')"}, "line 1: the statement that starts here has no end"},
      {{"/* never"}, "line 1: the statement that starts here has no end"},
      {{insert + "(1,17,5,'orig',0,'" + std::string(kLargestTrickleRow + 1, 'x')},
       "line 1: a value of more than 1048576 bytes"},
      {{insert + "(1,17,5,'orig',0,'');",
        "INSERT INTO `result` VALUES ('" + std::string(2 * kLargestTrickleRow, 'x') + "');"},
       ""},
  };
  for (const Case& c : cases) {
    const Read read = ReadLines(c.lines);
    EXPECT_TRUE(Has(read.error, c.what) && read.error.empty() == (*c.what == 0))
        << c.lines.back().substr(0, 80) << " -> " << read.error;
  }
}

TEST(TrickleRows, OfAFolderAreReadInTheOrderOfItsFiles) {
  const std::vector<TrickleMessageRow> rows = Rows(kMessages);
  ASSERT_EQ(rows.size(), 15U);
  EXPECT_EQ(rows[0].id, 101U);
  EXPECT_EQ(rows[14].id, 12U);
}

TEST(TrickleRows, ErrorsNameTheLineAndTheProblem) {
  const std::string header = "id\tcreate_time\thostid\tvariety\thandled\txml";
  const std::string tag = R"(<msg_from_host id="7" create_time="17" hostid="5" variety="orig">)";
  struct Case {
    std::vector<std::string> lines;
    const char* line;
    const char* what;
  };
  const Case cases[] = {
      {{"result\tcpu_time", "1\t2"}, "line 1", "the column id is missing"},
      {{"id\tid\tcreate_time\thostid\tvariety\txml"}, "line 1", "the column id occurs twice"},
      {{"mysql: [Warning] Using a password on the command line interface can be insecure.", header},
       "line 1",
       "a message of the database client"},
      {{header, "1\t17\t5\torig\t0"}, "line 2", "a row of 5 columns; the row must have 6"},
      {{"", header, "0\t17\t5\torig\t0\t"}, "line 3", "id is '0'"},
      {{header, "1\tyesterday\t5\torig\t0\t"}, "line 2", "create_time is 'yesterday'"},
      {{header, "1\t17\t\\N\torig\t0\t"}, "line 2", "hostid is NULL"},
      {{header, "1\t17\t-5\torig\t0\t"}, "line 2", "hostid is '-5'"},
      {{header, "1\t17\t5\torig\t0\tcut\\"}, "line 2", "has no end"},
      {{header, "1\t17\t5\torig\t0\t" + std::string(kLargestTrickleRow, 'x')},
       "line 2",
       "bytes is too long for a message"},
      {{tag, "<ts>5</ts>"}, "line 1", "</msg_from_host> is missing"},
      {{tag, "</msg_from_host> <ts>"}, "line 2", "no text may follow"},
      {{tag, "</msg_from_host>", "<ts>5</ts>"}, "line 3", "a message must start with a line like"},
      {{"<msg_from_host id=\"7\">"}, "line 1", "the attribute create_time is missing"},
      {{"<msg_from_host id=\"7\" id=\"8\">"}, "line 1", "duplicate attribute"},
      {{"<msg_from_host id=\"7\" host=\"8\">"}, "line 1", "unknown attribute host"},
      {{R"(<msg_from_host id="x" create_time="17" hostid="5" variety="orig">)"}, "line 1", "id is 'x'"},
      {{tag, std::string(kLargestTrickleRow, 'x')}, "line 1", "bytes is too long"},
  };
  for (const Case& c : cases) {
    const Read read = ReadLines(c.lines);
    EXPECT_TRUE(Has(read.error, "input, ") && Has(read.error, c.line) && Has(read.error, c.what))
        << c.lines.back().substr(0, 80) << " -> " << read.error;
  }
  EXPECT_TRUE(Has(ReadTrickleMessages(kMessages + "none", {}, nullptr).message(), "cannot open"));
}

TEST(TrickleRows, ReadingStopsWhenTheVisitorFails) {
  int visited = 0;
  const Status status =
      ReadTrickleMessages(kMessages, {}, [&visited](const TrickleFilePlace&, const TrickleMessageRow&) {
        return ++visited == 3 ? Status::Retry("later") : Status::Ok();
      });
  EXPECT_EQ(visited, 3);
  EXPECT_EQ(status.message(), "later");
}

// ---- Bodies without a row ------------------------------------------------------------------------------------

BareBodies Bare(BareBodyOptions options) {
  auto bare = BareBodies::Of(std::move(options));
  EXPECT_TRUE(bare.ok()) << bare.status().message();
  return bare.ok() ? *bare : BareBodies();
}

TEST(BareBodies, GetTheirFieldsFromOptionsAndFileNames) {
  const testing::TempDir dir;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(dir / name, std::ios::binary) << text;
    return dir / name;
  };
  const std::string body =
      "<?xml version=\"1.0\"?>\n" + kFromClient + "<variety>orig</variety>\n<ts>7</ts>\n";
  const std::string file = write("h5_1700000000.25_v.1.xml", body);
  // A field of the file name takes precedence over the option for all files.
  auto rows = Rows(file, Bare({.host = HostId(9),
                               .received = 18,
                               .variety = "no",
                               .file_name = "h{host}_{received}_{variety}.xml"}));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].problem, "");
  EXPECT_EQ(rows[0].host, HostId(5));
  EXPECT_EQ(rows[0].create_time, 1'700'000'000.25);
  EXPECT_EQ(rows[0].variety, "v.1");
  EXPECT_EQ(rows[0].id, 1'700'000'000'250'000U);
  EXPECT_EQ(rows[0].line, 1U);
  EXPECT_EQ(Body(rows[0].xml).timestep, 7);
  EXPECT_TRUE(Has(ErrorOf(rows[0].xml + "\n<cp>"), "line 6: not well-formed XML"))
      << "line numbers count from the start of the file";

  rows = Rows(file, Bare({.received = 18, .file_name = "?{host}_*"}));
  EXPECT_EQ(rows.at(0).problem, "the file name does not match ?{host}_*")
      << "a question mark matches only itself";
  rows = Rows(file, Bare({.host = HostId(9), .received = 18, .file_name = "h*_{id}.25_*"}));
  EXPECT_EQ(rows.at(0).problem, "");
  EXPECT_EQ(rows.at(0).host, HostId(9));
  EXPECT_EQ(rows.at(0).id, 1'700'000'000U);
  EXPECT_EQ(rows.at(0).create_time, 18);
  EXPECT_EQ(rows.at(0).variety, "orig") << "the variety of the body";
  EXPECT_EQ(Rows(file, Bare({.file_name = "h{host}_*"})).at(0).host, HostId(5));

  EXPECT_EQ(Rows(write("h0.xml", body), Bare({.file_name = "h{host}.xml"})).at(0).problem,
            "hostid is '0'; the value must be a whole number above 0");
  EXPECT_EQ(Rows(write("none.xml", "<ts>7</ts>"), Bare({.host = HostId(9)})).at(0).problem,
            "the variety is unknown; set --variety");
  EXPECT_TRUE(Rows(write("blank.xml", "\n<!-- nothing -->\n"), Bare({.host = HostId(9)})).empty());
  EXPECT_TRUE(Has(ReadTrickleMessages(file, {}, nullptr).message(),
                  "h5_1700000000.25_v.1.xml, line 1: a body without the line <msg_from_host"));
  EXPECT_TRUE(
      Has(BareBodies::Of({.file_name = "{hots}"}).status().message(), "the names in braces must be {host}"));
  EXPECT_TRUE(Has(BareBodies::Of({.file_name = "{host}{host}"}).status().message(), "{host} occurs twice"));
}

TEST(BareBodies, OfAFolderAreReadInTheOrderOfReceipt) {
  const testing::TempDir dir;
  const auto write = [&](const std::string& name, double written) {
    std::ofstream(dir / name, std::ios::binary) << "<ts>7</ts>";
    timespec times[2] = {};
    times[0].tv_sec = times[1].tv_sec = static_cast<time_t>(written);
    times[1].tv_nsec = static_cast<long>((written - std::floor(written)) * 1e9);
    ASSERT_EQ(utimensat(AT_FDCWD, (dir / name).c_str(), times, 0), 0);
  };
  write("5_300.xml", 1000.25);
  write("7_200.xml", 3000);
  write("6_200.xml", 2000);
  const auto hosts = [&](const BareBodies& bare) {
    std::vector<std::uint64_t> ids;
    for (const TrickleMessageRow& row : Rows(dir.path(), bare)) ids.push_back(row.host.value);
    return ids;
  };
  EXPECT_EQ(hosts(Bare({.variety = "v", .file_name = "{host}_{received}.xml"})),
            (std::vector<std::uint64_t>{6, 7, 5}));
  const BareBodies by_clock = Bare({.variety = "v", .file_name = "{host}_*.xml"});
  EXPECT_EQ(hosts(by_clock), (std::vector<std::uint64_t>{5, 6, 7}));
  EXPECT_EQ(Rows(dir.path(), by_clock)[0].create_time, 1000.25) << "the time of the last write";
  EXPECT_EQ(Rows(dir.path(), by_clock)[2].before, 0U);
}

// ---- Events --------------------------------------------------------------------------------------------------

TrickleMessageRow Row(const std::string& xml, const std::string& variety = "orig") {
  return {.id = 7, .create_time = 1'700'000'000, .host = HostId(5), .variety = variety, .xml = xml};
}

TrickleEvent Event(const TrickleMessageRow& row, const TrickleFormat& format = {.app = AppId(3)}) {
  auto named = TrickleOf(row, format, "input");
  EXPECT_TRUE(named.ok()) << named.status().message();
  return named.ok() ? *named : TrickleEvent();
}

TEST(TrickleEvent, OfAModelHasStepsAndCpuTime) {
  const TrickleEvent named = Event(Row(kFromClient + "<ts>43200</ts><cp>190000</cp><ph>2</ph>"));
  EXPECT_EQ(named.head.id, 7U);
  EXPECT_EQ(named.head.time, 1'700'000'000);
  wire::Trickle expected;
  expected.host = HostId(5);
  expected.app = AppId(3);
  expected.variety = "orig";
  expected.sequence = named.trickle.sequence;
  EXPECT_EQ(*expected.sequence >> kBodyBits, 1699999990U);
  expected.cpu_time = 190000;
  expected.steps = 43200;
  expected.result_name = "wu_1_0";
  expected.phase = 2;
  EXPECT_EQ(named.trickle, expected);
}

TEST(TrickleEvent, KeepsElementsThatPayNothing) {
  const std::string body =
      kFromClient + "<wu>hadam3p_1</wu><vr>6.07</vr><data>287.31</data><d id=\"2\"><t>71</t></d>";
  using Others = std::vector<wire::TrickleElement>;
  EXPECT_EQ(Event(Row(body)).trickle.others,
            (Others{{"wu", "hadam3p_1"}, {"vr", "6.07"}, {"data", "287.31"}, {"d@id", "2"}, {"d/t", "71"}}));
  // Texts beyond the limit are dropped one by one; their names stay.
  const std::string most(kMaxKeptText - 4, 'x');
  EXPECT_EQ(Event(Row(kFromClient + "<a>" + most + "</a><b>four</b><c>5</c>")).trickle.others,
            (Others{{"a", most}, {"b", "four"}, {"c", ""}}));
}

TEST(TrickleEvent, ARepeatByTheClientKeepsItsSequence) {
  TrickleMessageRow again = Row(kFromClient);
  again.id = 8;  // the repeat is another row
  EXPECT_EQ(Event(Row(kFromClient)).trickle.sequence, Event(again).trickle.sequence);
  EXPECT_EQ(Event(Row("<result_id>4</result_id>")).trickle.sequence, 7U);
  EXPECT_EQ(Event(Row("<result_id>4</result_id><time>1e300</time>")).trickle.sequence, 7U);
  EXPECT_EQ(Event(Row("<result_id>4</result_id><time>0</time>")).trickle.sequence, 7U);
}

// This happens after a clock was set back, or if a message was written while the previous one was being sent.
TEST(TrickleEvent, DifferentBodiesOfOneSecondAreTwoTrickles) {
  const auto sequence = [](const std::string& content) {
    return *Event(Row(kFromClient + content)).trickle.sequence;
  };
  EXPECT_NE(sequence("<ts>7</ts>"), sequence("<ts>8</ts>"));
  EXPECT_EQ(sequence("<ts>7</ts>"), sequence("\r\n <ts> 7 </ts>\n")) << "blanks have no meaning";
  // Sequences increase with the second for any content, because the oldest sequences are forgotten first.
  for (int i = 0; i < 100; ++i) {
    const std::string content = "<ts>" + std::to_string(i) + "</ts>";
    EXPECT_LT(*Event(Row("<result_id>4</result_id><time>1699999990</time>" + content)).trickle.sequence,
              *Event(Row("<result_id>4</result_id><time>1699999991</time>" + content)).trickle.sequence);
  }
}

TEST(TrickleEvent, TheFormatOfTheVarietyDefinesRunTime) {
  const TrickleMessageRow row = Row("<result_id>4</result_id><run_time>3600</run_time>", "vm");
  const auto undefined = TrickleOf(row, {.app = AppId(3)}, "input");
  ASSERT_FALSE(undefined.ok());
  EXPECT_TRUE(Has(undefined.status().message(), "input, message 7: the message has <run_time>"))
      << undefined.status().message();
  const TrickleEvent increment =
      Event(row, {.app = AppId(3), .elements = {{"run_time", TrickleField::kRuntimeIncrement}}});
  EXPECT_EQ(increment.trickle.runtime_increment, 3600);
  EXPECT_EQ(increment.trickle.elapsed_time, std::nullopt);
  EXPECT_EQ(increment.trickle.result, ResultId(4));
  const TrickleEvent total =
      Event(row, {.app = AppId(3), .elements = {{"runtime", TrickleField::kElapsedTime}}});
  EXPECT_EQ(total.trickle.elapsed_time, 3600);
}

TEST(TrickleEvent, TheFormatMapsElementsToFields) {
  // vboxwrapper reports its elapsed time in <cpu_time>.
  const TrickleEvent wrapper =
      Event(Row("<result_id>4</result_id><cpu_time>50</cpu_time>"),
            {.app = AppId(3), .elements = {{"cpu_time", TrickleField::kElapsedTime}}});
  EXPECT_EQ(wrapper.trickle.elapsed_time, 50);
  EXPECT_EQ(wrapper.trickle.cpu_time, std::nullopt);
  const TrickleMessageRow progress = Row("<result_id>4</result_id><job><progress>62.5</progress></job>");
  EXPECT_EQ(Event(progress).trickle.fraction_done, std::nullopt);
  EXPECT_EQ(Event(progress, {.app = AppId(3), .elements = {{"job/progress", TrickleField::kPercentDone}}})
                .trickle.fraction_done,
            0.625);
  EXPECT_EQ(Event(Row("<result_id>4</result_id><cp>5</cp>"),
                  {.app = AppId(3), .elements = {{"cp", TrickleField::kNothing}}})
                .trickle.cpu_time,
            std::nullopt);
}

TEST(TrickleEvent, ErrorsNameTheMessageAndTheProblem) {
  const TrickleFormat format{
      .app = AppId(3),
      .elements = {{"progress", TrickleField::kFractionDone}, {"runtime", TrickleField::kElapsedTime}}};
  const std::string result = "<result_id>4</result_id>";
  struct Case {
    std::string xml;
    const char* what;
  };
  const Case cases[] = {
      {"<ts>5</ts>", "the message has no result"},
      {"<result_id>0</result_id>", "<result_id> is 0"},
      {"<result>wu_1_0</result><ts>5</ts>", "the message has no result"},  // the model's name, not BOINC's
      {result + "<variety>other</variety>", "variety 'other', but the row has 'orig'"},
      {result + "<ts>5", "line 1: not well-formed XML"},
      {result + "<progress>half</progress>", "<progress> must be a finite number"},
      {result + "<progress>0.5</progress>\n<progress>0.6</progress>",
       "<progress> and another element of the message map to the same field"},
      {result + "<elapsed_time>5</elapsed_time><runtime>5</runtime>",
       "<run_time> and another element of the message map to the same field"},
  };
  for (const Case& c : cases) {
    const auto named = TrickleOf(Row(c.xml), format, "input");
    ASSERT_FALSE(named.ok()) << c.xml;
    EXPECT_TRUE(Has(named.status().message(), "input, message 7") && Has(named.status().message(), c.what))
        << named.status().message();
  }
}

TEST(TrickleFields, HaveNames) {
  EXPECT_EQ(TrickleFieldByName("runtime_increment"), TrickleField::kRuntimeIncrement);
  EXPECT_EQ(TrickleFieldByName("percent_done"), TrickleField::kPercentDone);
  EXPECT_EQ(TrickleFieldByName("run_time"), std::nullopt);
}

}  // namespace
}  // namespace cobblestone::boinc
