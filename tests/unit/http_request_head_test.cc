// Request heads that two programs could interpret differently are refused, and so are heads that no client sends.
#include "common/http/request_head.h"

#include <gtest/gtest.h>

namespace cobblestone::http {
namespace {

std::string Get(const std::string& fields, const std::string& line = "GET /a HTTP/1.1") {
  return line + "\r\n" + fields + "\r\n";
}

TEST(RequestHead, WithOneMeaningIsRead) {
  auto head = ParseHead(Get("Host: h:8080\r\nX-A: b\r\nAuthorization:  Bearer x \r\n",
                            "GET /a%20b/c?q=x+y%2Bz&empty=&flag HTTP/1.1"));
  ASSERT_TRUE(head.ok()) << head.status().message();
  EXPECT_EQ(head->path, "/a b/c");
  EXPECT_EQ(head->query.find("q")->second, "x y+z");
  EXPECT_EQ(head->query.find("empty")->second, "");
  EXPECT_EQ(head->query.count("flag"), 1u);
  EXPECT_EQ(head->Field("authorization"), "Bearer x");
  EXPECT_EQ(head->host, "h:8080");
  EXPECT_FALSE(head->has_body());
  EXPECT_TRUE(head->keep_alive);

  head = ParseHead(Get("Host: h\r\nContent-Length: 12\r\n", "POST /a HTTP/1.1"));
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->content_length, 12u);
  head = ParseHead(Get("Host: h\r\nTransfer-Encoding: Chunked\r\n", "POST /a HTTP/1.1"));
  ASSERT_TRUE(head.ok());
  EXPECT_TRUE(head->chunked);
  head = ParseHead(Get("", "GET /a HTTP/1.0"));
  ASSERT_TRUE(head.ok());
  EXPECT_FALSE(head->keep_alive);
  head = ParseHead(Get("Host: other\r\n", "GET http://site:1/a?b=c HTTP/1.1"));
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->host, "site:1") << "an absolute target takes precedence over the Host field";
  EXPECT_EQ(head->path, "/a");
}

TEST(RequestHead, WithTwoMeaningsIsRefused) {
  const std::string post = "POST /a HTTP/1.1";
  for (const auto& [fields, line] : std::vector<std::pair<std::string, std::string>>{
           {"Host: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n", post},
           {"Host: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n", post},
           {"Host: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n", post},
           {"Host: h\r\nContent-Length: 0\r\nContent-Length: 3\r\n", post},
           {"Host: h\r\nContent-Length: 3, 3\r\n", post},
           {"Host: h\r\nContent-Length: +3\r\n", post},
           {"Host: h\r\nContent-Length: -3\r\n", post},
           {"Host: h\r\nContent-Length: 0x3\r\n", post},
           {"Host: h\r\nContent-Length: %33\r\n", post},
           {"Host: h\r\nContent-Length: 3 3\r\n", post},
           {"Host: h\r\nContent-Length:\r\n", post},
           {"Host: h\r\nContent-Length: 99999999999999999999\r\n", post},
           {"Host: h\r\nContent-Length : 3\r\n", post},
           {"Host: h\r\nTransfer-Encoding: xchunked\r\n", post},
           {"Host: h\r\nTransfer-Encoding: gzip, chunked\r\n", post},
           {"Host: h\r\nTransfer-Encoding: chunked, chunked\r\n", post},
           {"Host: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", post},
           {"Host: h\r\nTransfer-Encoding: identity\r\n", post},
           {"Transfer-Encoding: chunked\r\n", "POST /a HTTP/1.0"},
           {"Host: h\r\nX: a\r\n Content-Length: 3\r\n", post},
           {"Host: h\r\nX: a\r\n\tb\r\n", post},
           {" Host: h\r\n", post},
           {"Host: h\nContent-Length: 3\r\n", post},
           {"Host: h\r\nX: a\rb\r\n", post},
           {std::string("Host: h\r\nX: a\0b\r\n", 17), post},
           {"Host: h\r\nX: a\x7f\r\n", post},
           {"Host: h\r\nHost: h\r\n", post},
           {"Host: h\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n", post},
           {"Host: h\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n", post},
           {"Host: h\r\nX(: a\r\n", post},
           {"Host: h\r\n: a\r\n", post},
           {"Host: h\r\nno colon\r\n", post},
           {"", post},
           {"Host: h\r\n", "GET /a HTTP/2.0"},
           {"Host: h\r\n", "GET /a HTTP/3.7"},
           {"Host: h\r\n", "GET /a"},
           {"Host: h\r\n", "GET  /a HTTP/1.1"},
           {"Host: h\r\n", "GET /a  HTTP/1.1"},
           {"Host: h\r\n", "GET /a b HTTP/1.1"},
           {"Host: h\r\n", "GET a HTTP/1.1"},
           {"Host: h\r\n", "GET /a%zz HTTP/1.1"},
           {"Host: h\r\n", "GET /a%00 HTTP/1.1"},
           {"Host: h\r\n", "GET /a?b=%2 HTTP/1.1"},
           {"Host: h\r\n", "GET /\xc3\xa4 HTTP/1.1"},
           {"Host: h\r\n", "GET /a#b HTTP/1.1"},
           {"Host: h\r\n", "GET http://h HTTP/1.1"},
           {"Host: h\r\n", "\r\nGET /a HTTP/1.1"},
       })
    EXPECT_FALSE(ParseHead(Get(fields, line)).ok()) << line << "\n" << fields;
}

TEST(RequestHead, HasAHundredFieldsAtMost) {
  std::string fields = "Host: h\r\n";
  for (std::size_t i = 1; i < kMaxFields; ++i) fields += "A: b\r\n";
  EXPECT_TRUE(ParseHead(Get(fields)).ok());
  EXPECT_EQ(ParseHead(Get(fields + "A: b\r\n")).status().code(), StatusCode::kFull);
}

TEST(RequestHead, TheHostIsReturnedWithoutItsPort) {
  EXPECT_EQ(HostWithoutPort("a.example:80"), "a.example");
  EXPECT_EQ(HostWithoutPort("a.example"), "a.example");
  EXPECT_EQ(HostWithoutPort("[::1]:80"), "::1");
  EXPECT_EQ(HostWithoutPort("[::1]"), "::1");
  EXPECT_EQ(HostWithoutPort("[::1]evil"), "");
  EXPECT_EQ(HostWithoutPort("[::1"), "");
}

}  // namespace
}  // namespace cobblestone::http
