// Trickle messages as BOINC stores them: bodies of the senders that there are, rows of the table, and what
// becomes of them.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "services/boinc/trickle_event.h"
#include "services/boinc/trickle_rows.h"
#include "services/boinc/trickle_xml.h"

namespace cobblestone::boinc {
namespace {

const std::string kMessages = std::string(COBBLESTONE_SOURCE_DIR) + "/tests/fuzz/trickle_messages/";

// What the client writes before every body.
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

std::vector<TrickleMessageRow> Rows(const std::string& path) {
  std::vector<TrickleMessageRow> rows;
  const Status read =
      ReadTrickleMessages(path, [&rows](const TrickleFilePlace&, const TrickleMessageRow& row) {
        rows.push_back(row);
        return Status::Ok();
      });
  EXPECT_TRUE(read.ok()) << read.message();
  return rows;
}

// All rows of lines, or the error.
struct Read {
  std::vector<TrickleMessageRow> rows;
  std::string error;
};
Read ReadLines(const std::vector<std::string>& lines) {
  Read result;
  TrickleRowReader reader("input");
  std::optional<TrickleMessageRow> row;
  for (const std::string& line : lines) {
    const Status status = reader.ReadLine(line, &row);
    if (row) result.rows.push_back(*row);
    if (!status.ok()) {
      result.error = status.message();
      return result;
    }
  }
  result.error = reader.Finish().message();
  return result;
}

// ---- Bodies --------------------------------------------------------------------------------------------------

TEST(TrickleBody, OfAClimateModel) {
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

TEST(TrickleBody, OfOpenIfsWhoseElementsMayBeEmpty) {
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

TEST(TrickleBody, OfWrappers) {
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

TEST(TrickleBody, KeepsWhatItDoesNotKnow) {
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

TEST(TrickleBody, ErrorsSayTheLineAndWhatIsWrong) {
  struct Case {
    const char* xml;
    const char* line;
    const char* what;
  };
  const Case cases[] = {
      {"<ts>5</ts>\n<cp>7", "line 2", "this is no XML (mismatched tag)"},
      {"<ts>5</ts>\n</msg_from_host>", "line 2", "mismatched tag"},
      {"<ts>5</ts></body><body>", "line 1", "junk after document element"},
      {"\n<data>\xff\xfe</data>", "line 2", "invalid token"},
      {"<!DOCTYPE a [<!ENTITY e \"x\">]>\n<ts>5</ts>", "line 1", "a declaration (document type"},
      {"<data>\n<![CDATA[ open</data>", "line 2", "unclosed CDATA section"},
      {"<ts>5</ts><!-- open", "line 1", "this is no XML"},
      {"<ts>5</ts>\n<data>&lol;</data>", "line 2", "undefined entity"},
      {"sample trickle message", "line 1", "text 'sample trickle message' between elements"},
      {"<ts>5</ts>\nmore\n<cp>5</cp>", "line 3", "text 'more' between elements"},
      {"<ts>five</ts>", "line 1", "<ts> is 'five'"},
      {"\n\n<ts>nan</ts>", "line 3", "finite number"},
      {"<cp>inf</cp>", "line 1", "finite number"},
      {"<cp>-1</cp>", "line 1", "not below 0"},
      {"<cp>1e999</cp>", "line 1", "finite number"},
      {"<cp>12 s</cp>", "line 1", "finite number"},
      {"<ph>1.5</ph>", "line 1", "whole number"},
      {"<result_id>-4</result_id>", "line 1", "whole number"},
      {"<ts>5</ts>\n<ts>6</ts>", "line 2", "and <ts> in line 1, say the same thing"},
      {"<cp>5</cp>\n<cpu_time>5</cpu_time>", "line 2", "and <cp> in line 1, say the same thing"},
      {"<ts></ts>\n<trickle_up><ts>1</ts></trickle_up>", "line 2", "say the same thing"},
  };
  for (const Case& c : cases) {
    const std::string error = ErrorOf(c.xml);
    EXPECT_TRUE(Has(error, "body, ") && Has(error, c.line) && Has(error, c.what)) << c.xml << " -> " << error;
  }
}

TEST(TrickleBody, HasLimits) {
  EXPECT_TRUE(
      Has(ErrorOf("<data>" + std::string(kLargestTrickle, 'x') + "</data>"), "larger than a trickle"));
  std::string many;
  for (std::size_t k = 0; k < kMostTrickleElements; ++k) many += "<x/>";
  EXPECT_EQ(ErrorOf(many), "read");
  EXPECT_TRUE(Has(ErrorOf(many + "<x/>"), "more than 1000 elements"));
  std::string deep;
  for (std::size_t k = 0; k < 100'000 / 3; ++k) deep += "<x>";
  EXPECT_TRUE(Has(ErrorOf(deep), "deeper than 16"));
  EXPECT_TRUE(Has(ErrorOf("<result_name>" + std::string(255, 'x') + "</result_name>"), "longer than 254"));
}

// ---- Rows ----------------------------------------------------------------------------------------------------

TEST(TrickleRows, OfTheTableAsMysqlPrintsIt) {
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

TEST(TrickleRows, OfTheTableAsADumpHasIt) {
  const std::vector<TrickleMessageRow> rows = Rows(kMessages + "table_dump.txt");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].xml,
            "<result_name>hadam3p_x_0</result_name>\n<data>tab:\there, backslash: \\</data>\n<ts>7</ts>");
  EXPECT_EQ(rows[1].id, 12U);
  EXPECT_EQ(rows[1].line, 4U);
  EXPECT_EQ(rows[1].xml, "");  // NULL
}

TEST(TrickleRows, EndInABackslashThatIsEscaped) {
  const Read read = ReadLines({"1\t17\t5\torig\t0\ta\\\\", "2\t17\t5\torig\t0\tb\\\\\\\\"});
  ASSERT_EQ(read.rows.size(), 2U) << read.error;
  EXPECT_EQ(read.rows[0].xml, "a\\");
  EXPECT_EQ(read.rows[1].xml, "b\\\\");
}

TEST(TrickleRows, ColumnsMayComeInAnyOrder) {
  const Read read =
      ReadLines({"xml\thostid\tmore\tid\tvariety\tcreate_time", "a\\\\b\\tc\\0d\t5\tx\t9\torig\t17.5"});
  ASSERT_EQ(read.rows.size(), 1U) << read.error;
  EXPECT_EQ(read.rows[0].xml, std::string("a\\b\tc\0d", 7));
  EXPECT_EQ(read.rows[0].id, 9U);
  EXPECT_EQ(read.rows[0].create_time, 17.5);
}

TEST(TrickleRows, OfBodiesWithinAnElement) {
  const std::vector<TrickleMessageRow> rows = Rows(kMessages + "handler_bodies.xml");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].id, 101U);
  EXPECT_EQ(rows[0].host, HostId(7));
  EXPECT_EQ(Body(rows[0].xml).timestep, 2160);
  EXPECT_EQ(Body(rows[1].xml).cpu_time, 14400.25);  // the closing tag in the body's last line
  EXPECT_EQ(Body(rows[2].xml).run_time, 86400);
  // One that is broken spoils no other.
  EXPECT_TRUE(Has(ErrorOf(rows[3].xml), "this is no XML"));
  EXPECT_EQ(Body(rows[4].xml).result_name, "crack_1_0");
}

TEST(TrickleRows, OfAFolderComeInTheOrderOfItsFiles) {
  const std::vector<TrickleMessageRow> rows = Rows(kMessages);
  ASSERT_EQ(rows.size(), 9U);
  EXPECT_EQ(rows[0].id, 101U);
  EXPECT_EQ(rows[8].id, 12U);
}

TEST(TrickleRows, ErrorsSayTheLineAndWhatIsWrong) {
  const std::string header = "id\tcreate_time\thostid\tvariety\thandled\txml";
  const std::string tag = R"(<msg_from_host id="7" create_time="17" hostid="5" variety="orig">)";
  struct Case {
    std::vector<std::string> lines;
    const char* line;
    const char* what;
  };
  const Case cases[] = {
      {{"result\tcpu_time", "1\t2"}, "line 1", "the column id is missing"},
      {{"id\tid\tcreate_time\thostid\tvariety\txml"}, "line 1", "the column id is there twice"},
      {{header, "1\t17\t5\torig\t0"}, "line 2", "a row of 5 columns; it must have 6"},
      {{"", header, "0\t17\t5\torig\t0\t"}, "line 3", "id is '0'"},
      {{header, "1\tyesterday\t5\torig\t0\t"}, "line 2", "create_time is 'yesterday'"},
      {{header, "1\t17\t\\N\torig\t0\t"}, "line 2", "hostid is NULL"},
      {{header, "1\t17\t-5\torig\t0\t"}, "line 2", "hostid is '-5'"},
      {{header, "1\t17\t5\torig\t0\tcut\\"}, "line 2", "does not end"},
      {{header, "1\t17\t5\torig\t0\t" + std::string(kLargestTrickleRow, 'x')},
       "line 2",
       "bytes is no message"},
      {{tag, "<ts>5</ts>"}, "line 1", "</msg_from_host> is missing"},
      {{tag, "</msg_from_host> <ts>"}, "line 2", "nothing may follow"},
      {{tag, "</msg_from_host>", "<ts>5</ts>"}, "line 3", "a message must begin with a line like"},
      {{"<msg_from_host id=\"7\">"}, "line 1", "the attribute create_time is missing"},
      {{"<msg_from_host id=\"7\" id=\"8\">"}, "line 1", "duplicate attribute"},
      {{"<msg_from_host id=\"7\" host=\"8\">"}, "line 1", "there is no attribute host"},
      {{R"(<msg_from_host id="x" create_time="17" hostid="5" variety="orig">)"}, "line 1", "id is 'x'"},
      {{tag, std::string(kLargestTrickleRow, 'x')}, "line 1", "bytes is none"},
  };
  for (const Case& c : cases) {
    const Read read = ReadLines(c.lines);
    EXPECT_TRUE(Has(read.error, "input, ") && Has(read.error, c.line) && Has(read.error, c.what))
        << c.lines.back().substr(0, 80) << " -> " << read.error;
  }
  EXPECT_TRUE(Has(ReadTrickleMessages(kMessages + "none", nullptr).message(), "cannot be opened"));
}

TEST(TrickleRows, StopWhereTheyAreNotTaken) {
  int taken = 0;
  const Status status =
      ReadTrickleMessages(kMessages, [&taken](const TrickleFilePlace&, const TrickleMessageRow&) {
        return ++taken == 3 ? Status::Retry("later") : Status::Ok();
      });
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(status.message(), "later");
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
  expected.sequence = 1699999990;
  expected.cpu_time = 190000;
  expected.steps = 43200;
  expected.result_name = "wu_1_0";
  expected.phase = 2;
  EXPECT_EQ(named.trickle, expected);
}

TEST(TrickleEvent, KeepsWhatPaysNothing) {
  const std::string body =
      kFromClient + "<wu>hadam3p_1</wu><vr>6.07</vr><data>287.31</data><d id=\"2\"><t>71</t></d>";
  using Others = std::vector<wire::TrickleElement>;
  EXPECT_EQ(Event(Row(body)).trickle.others,
            (Others{{"wu", "hadam3p_1"}, {"vr", "6.07"}, {"data", "287.31"}, {"d@id", "2"}, {"d/t", "71"}}));
  // Texts beyond the limit go, one by one, and their names stay.
  const std::string most(kMostKeptText - 4, 'x');
  EXPECT_EQ(Event(Row(kFromClient + "<a>" + most + "</a><b>four</b><c>5</c>")).trickle.others,
            (Others{{"a", most}, {"b", "four"}, {"c", ""}}));
}

TEST(TrickleEvent, RepeatedByTheClientKeepsItsSequence) {
  TrickleMessageRow again = Row(kFromClient);
  again.id = 8;  // a row of its own
  EXPECT_EQ(Event(Row(kFromClient)).trickle.sequence, Event(again).trickle.sequence);
  EXPECT_EQ(Event(Row("<result_id>4</result_id>")).trickle.sequence, 7U);
  EXPECT_EQ(Event(Row("<result_id>4</result_id><time>1e300</time>")).trickle.sequence, 7U);
  EXPECT_EQ(Event(Row("<result_id>4</result_id><time>0</time>")).trickle.sequence, 7U);
}

TEST(TrickleEvent, RunTimeIsWhatTheVarietysFormatSays) {
  const TrickleMessageRow row = Row("<result_id>4</result_id><run_time>3600</run_time>", "vm");
  const auto unsaid = TrickleOf(row, {.app = AppId(3)}, "input");
  ASSERT_FALSE(unsaid.ok());
  EXPECT_TRUE(Has(unsaid.status().message(), "input, message 7: it has <run_time>"))
      << unsaid.status().message();
  const TrickleEvent increment =
      Event(row, {.app = AppId(3), .elements = {{"run_time", TrickleField::kRuntimeIncrement}}});
  EXPECT_EQ(increment.trickle.runtime_increment, 3600);
  EXPECT_EQ(increment.trickle.elapsed_time, std::nullopt);
  EXPECT_EQ(increment.trickle.result, ResultId(4));
  const TrickleEvent total =
      Event(row, {.app = AppId(3), .elements = {{"runtime", TrickleField::kElapsedTime}}});
  EXPECT_EQ(total.trickle.elapsed_time, 3600);
}

TEST(TrickleEvent, ElementsAreTheFieldsThatTheFormatNames) {
  // vboxwrapper's CPU time is in truth the time that it has run.
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

TEST(TrickleEvent, ErrorsSayTheMessageAndWhatIsWrong) {
  const TrickleFormat format{
      .app = AppId(3),
      .elements = {{"progress", TrickleField::kFractionDone}, {"runtime", TrickleField::kElapsedTime}}};
  const std::string result = "<result_id>4</result_id>";
  struct Case {
    std::string xml;
    const char* what;
  };
  const Case cases[] = {
      {"<ts>5</ts>", "names no result"},
      {"<result_id>0</result_id>", "<result_id> is 0"},
      {"<result>wu_1_0</result><ts>5</ts>", "names no result"},  // the model's name, not BOINC's
      {result + "<variety>other</variety>", "variety 'other', its row 'orig'"},
      {result + "<ts>5", "line 1: this is no XML"},
      {result + "<progress>half</progress>", "<progress> must be a finite number"},
      {result + "<progress>0.5</progress>\n<progress>0.6</progress>", "<progress> becomes a field"},
      {result + "<elapsed_time>5</elapsed_time><runtime>5</runtime>", "<run_time> becomes a field"},
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
