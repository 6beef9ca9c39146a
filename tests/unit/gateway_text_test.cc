// Texts that the gateway writes and parses: events of a stream, XML, the page's files, queries of requests,
// addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "services/gateway/listen_address.h"
#include "services/gateway/live.h"
#include "services/gateway/message.h"
#include "services/gateway/scheduler_xml.h"
#include "services/gateway/static_files.h"

namespace cobblestone::gateway {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(GatewayStream, AnEventIsOneLineOfJsonForAnyContent) {
  EXPECT_EQ(StreamEvent("flow", {{"lag", 1}}), "event: flow\ndata: {\"lag\":1}\n\n");
  const std::string text = StreamEvent("grant", {{"user_name", "a\nevent: flow\ndata: {}\n\n\xff"}});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_TRUE(json::accept(text.substr(text.find("data: ") + 6)));
  EXPECT_EQ(StreamHeartbeat(), ":\n\n");
}

TEST(GatewayStream, RatesAreComputedBetweenTwoSnapshots) {
  const Figures before{
      .results = 100, .grants = 10, .refused = 5, .lag = 9, .commit = {}, .stages = {{"claims", 4, 100}}};
  const Figures now{.results = 300,
                    .grants = 50,
                    .refused = 6,
                    .lag = 7,
                    .commit = Figures::Latency{1.5, 9},
                    .stages = {{"claims", 3, 200}, {"grants", 4, 50}}};
  const json flow = FlowJson(before, now, 2, {.micro = 8e6, .counted = 4}, 1700000000);
  EXPECT_EQ(flow["results_per_s"], 100.0);
  EXPECT_EQ(flow["grants_per_s"], 20.0);
  EXPECT_EQ(flow["credit_per_s"], 40.0)
      << "20 grants/s at the mean of the four counted grants, 2 Cobblestones";
  EXPECT_EQ(flow["refused_per_s"], 0.5);
  EXPECT_EQ(flow["refused"], 6);
  EXPECT_EQ(flow["lag"], 7);
  EXPECT_EQ(flow["commit_ms"], (json{{"p50", 1.5}, {"p99", 9.0}}));
  EXPECT_EQ(flow["stages"][0], (json{{"stage", "claims"}, {"lag", 3}, {"records_per_s", 50.0}}));
  EXPECT_EQ(flow["stages"][1]["records_per_s"], 0.0) << "the stage is missing in the earlier snapshot";
  const json still = FlowJson(now, now, 1, {}, 0);
  EXPECT_EQ(still["credit_per_s"], 0.0);
  EXPECT_EQ(FlowJson(now, before, 1, {}, 0)["results_per_s"], 0.0) << "a rate is never negative";
}

// An answer contains no paths and hosts of the machine; the log contains them.
TEST(GatewayErrors, TemporaryErrorsContainNoPathsAndHosts) {
  const auto message_of = [](const Status& status) {
    const Answer answer = ErrorAnswer(status);
    EXPECT_EQ(answer.status, 503);
    return json::parse(answer.body)["error"].value("message", "");
  };
  EXPECT_EQ(message_of(Status::Full("writing /var/lib/x/state/000012.log failed: No space left on device")),
            "the pipeline's disk is full; try again when space is free");
  for (const char* place : {"IO error: No space left on device: While appending to file: data/state/1.log",
                            "the Kafka cluster at broker.example:9092 does not answer", "[::1]:9092 is away"})
    EXPECT_EQ(message_of(Status::Retry(place)), "the request cannot be answered now; try again later")
        << place;
  EXPECT_EQ(message_of(Status::Retry("no pipeline is running in this process")),
            "no pipeline is running in this process");
}

TEST(GatewayXml, TextIsEscapedAndForbiddenCharactersAreReplaced) {
  EXPECT_EQ(XmlText("a<b>&\"c'\t"), "a&lt;b&gt;&amp;\"c'\t");
  EXPECT_EQ(XmlText("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(XmlText(std::string("a\0b", 3)), "a" + replacement + "b");
  EXPECT_EQ(XmlText("\x1b"), replacement);
  EXPECT_EQ(XmlText("\xff\xC0\xAF"), replacement + replacement + replacement)
      << "invalid UTF-8, and an overlong character";
  EXPECT_EQ(XmlText("\xED\xA0\x80"), replacement + replacement + replacement) << "a surrogate";
  EXPECT_EQ(XmlText("\xE2\x82"), replacement + replacement) << "truncated";
  EXPECT_EQ(XmlText("\xEF\xBF\xBF"), replacement + replacement + replacement);
}

TEST(GatewayXml, AReplyHasTheElementsOfASchedulerReply) {
  EXPECT_EQ(
      SchedulerReplyXml({{"user_name", "Ann & Bob"},
                         {"user_total_credit", "12.400000"},
                         {"user_expavg_credit", 1.25},
                         {"user_create_time", 1700000000},
                         {"host_total_credit", "1.000000"},
                         {"host_expavg_credit", 0},
                         {"team_name", nullptr}}),
      "<user_name>Ann &amp; Bob</user_name>\n<user_total_credit>12.400000</user_total_credit>\n"
      "<user_expavg_credit>1.250000</user_expavg_credit>\n<user_create_time>1700000000</user_create_time>\n"
      "<host_total_credit>1.000000</host_total_credit>\n<host_expavg_credit>0</host_expavg_credit>\n");
}

TEST(GatewayStatic, AFileIsSentOnceAndCompressedIfAccepted) {
  const EmbeddedFile files[] = {{"/index.html", "text/html", "\"one\"", "page", "zip"},
                                {"/a.png", "image/png", "\"two\"", "image", ""}};
  const auto plain = FindStatic(files, "/", "", "");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->status, 200);
  EXPECT_EQ(plain->body, "page");
  EXPECT_FALSE(plain->gzip);
  EXPECT_EQ(FindStatic(files, "/index.html", "br, gzip", "")->body, "zip");
  EXPECT_EQ(FindStatic(files, "/a.png", "gzip", "")->body, "image");
  for (const char* same : {"\"one\"", "\"x\", \"one\"", "W/\"one\"", "*"})
    EXPECT_EQ(FindStatic(files, "/", "gzip", same)->status, 304) << same;
  EXPECT_EQ(FindStatic(files, "/", "gzip", "\"other\"")->status, 200);
  for (const char* none : {"/index", "/../index.html", "index.html", "", "/a.png/"})
    EXPECT_FALSE(FindStatic(files, none, "", "")) << none;
}

TEST(GatewayStatic, GzipIsAcceptedIfListedAndNotRefused) {
  for (const char* yes :
       {"gzip", "br, gzip;q=0.5", "GZIP", "*", "deflate,gzip ; q=1", "identity;q=0, *;q=0.1"})
    EXPECT_TRUE(AcceptsGzip(yes)) << yes;
  for (const char* no : {"", "br", "gzip;q=0", "gzip;q=0.000, *", "*;q=0", "xgzip"})
    EXPECT_FALSE(AcceptsGzip(no)) << no;
}

TEST(GatewayQuery, TheFirstErrorIsReportedIncludingUnknownParameters) {
  const auto error = [](std::multimap<std::string, std::string> given, const auto& ask) {
    Query query(Request{.query = std::move(given)});
    ask(query);
    return query.status().message();
  };
  const auto limit = [](Query& query) { query.Number("limit", 20, 100); };
  EXPECT_EQ(error({}, limit), "");
  EXPECT_EQ(error({{"limit", "100"}}, limit), "");
  for (const char* bad : {"101", "-1", "", "1x", " 1", "1e2", "99999999999999999999"})
    EXPECT_EQ(error({{"limit", bad}}, limit), "the parameter limit must be a number from 0 to 100") << bad;
  EXPECT_EQ(error({{"limit", "1"}, {"limit", "2"}}, limit), "the parameter limit occurs twice");
  EXPECT_EQ(error({{"limits", "1"}}, limit), "unknown parameter limits");
  const auto flops = [](Query& query) { query.Positive("flops"); };
  for (const char* bad : {"0", "-1", "inf", "nan", "1,5", ""})
    EXPECT_EQ(error({{"flops", bad}}, flops), "the parameter flops must be a number above 0") << bad;
  EXPECT_EQ(error({{"flops", "1e12"}}, flops), "");
  const auto word = [](Query& query) { query.Word("by", {"total", "rac"}); };
  EXPECT_EQ(error({{"by", "name"}}, word), "the parameter by must be one of total, rac");
  const auto text = [](Query& query) { query.RequiredText("q", 3); };
  EXPECT_EQ(error({}, text), "the parameter q is missing");
  EXPECT_EQ(error({{"q", "long"}}, text), "the parameter q must be a text of at most 3 bytes");
}

TEST(GatewayAnswer, OmitsDetailsMeantForOperators) {
  const Answer answer = ErrorAnswer(Status::Corrupted("block 7 of /var/lib/cobblestone/log is damaged"));
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body.find("/var"), std::string::npos);
  EXPECT_EQ(json::parse(ErrorAnswer(Status::NotFound("no user 3")).body)["error"],
            (json{{"code", "not_found"}, {"message", "no user 3"}}));
  EXPECT_TRUE(json::accept(JsonText({{"name", "\xff"}})));
}

TEST(GatewayAddress, OnlyLoopbackAddressesListenWithoutTls) {
  for (const char* place : {"127.0.0.1:8080", "127.9.9.9:1", "localhost:0", "[::1]:8080"})
    EXPECT_TRUE(CheckListening({.listen = place}).ok()) << place;
  for (const char* place : {"0.0.0.0:8080", "[::]:8080", "192.0.2.1:80", "example.org:80"}) {
    EXPECT_THAT(CheckListening({.listen = place}).message(), HasSubstr("without TLS")) << place;
    EXPECT_TRUE(CheckListening({.listen = place, .allow_plaintext = true}).ok()) << place;
    EXPECT_TRUE(CheckListening({.listen = place, .tls_certificate = "c", .tls_key = "k"}).ok()) << place;
  }
  EXPECT_EQ(ParseListenAddress("[::1]:80")->host, "::1");
  EXPECT_EQ(UrlOf({.host = "::1", .port = 80}, true), "https://[::1]:80");
  EXPECT_FALSE(ParseListenAddress("127.0.0.1").ok());
  EXPECT_FALSE(ParseListenAddress("a:70000").ok());
}

}  // namespace
}  // namespace cobblestone::gateway
