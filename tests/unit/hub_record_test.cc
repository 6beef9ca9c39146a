// The lines of a snapshot: one form for one record.
#include "services/hub/snapshot/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/hub/snapshot/canonical_text.h"

namespace cobblestone::hub {
namespace {

using ::testing::HasSubstr;

UserRecord Ada() {
  return {.id = 17,
          .cpid = "000102030405060708090a0b0c0d0e0f",
          .identity = "1-17-1100000000",
          .name = "Ada \"L\\\" \n\x01 é",
          .country = "France",
          .url = "https://ada.example/",
          .create_time = 1'100'000'000,
          .team = 5,
          .total = 9'007'199'254'740'993,  // 2^53 + 1: a number that JSON readers round
          .recent = 0,
          .recent_time = 1'764'000'000};
}

constexpr const char* kAda =
    R"({"id":17,"cpid":"000102030405060708090a0b0c0d0e0f","identity":"1-17-1100000000",)"
    R"("name":"Ada \"L\\\" \n\u0001 é","country":"France","url":"https://ada.example/","create_time":1100000000,"team":5,)"
    R"("total_micro":"9007199254740993","recent_micro":"0","recent_time":1764000000})";

TEST(Record, HasOneForm) {
  const auto line = LineOf(Ada());
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(*line, kAda);
  const auto head = ParseRecord(PartKind::kUsers, kAda);
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->id, 17u);
  EXPECT_EQ(head->total, 9'007'199'254'740'993);
}

TEST(Record, InAnyOtherFormIsRefused) {
  const auto replaced = [](std::string_view from, std::string_view to) {
    std::string line = kAda;
    line.replace(line.find(from), from.size(), to);
    return line;
  };
  for (const std::string& line : {std::string(),
                                  std::string("{}"),
                                  kAda + std::string(" "),
                                  replaced("\"id\":17", "\"id\": 17"),
                                  replaced("17", "017"),
                                  replaced("17", "-17"),
                                  replaced("17", "0"),
                                  replaced("17", "1e1"),
                                  replaced("\\n", "\\u000a"),
                                  replaced("\\u0001", "\\u0061"),
                                  replaced("\\u0001", "\x01"),
                                  replaced("\\u0001", "\\x01"),
                                  replaced("é", "\xE9"),
                                  replaced("\"0\"", "\"-0\""),
                                  replaced("\"0\"", "0"),
                                  replaced("\"0\"", "\"00\""),
                                  replaced("0a0b", "0A0B"),
                                  replaced("0a0b", "0a0"),
                                  replaced(",\"team\":5", ""),
                                  replaced("team", "teams"),
                                  replaced("9007199254740993", "99999999999999999999"),
                                  std::string(kAda).substr(0, 50),
                                  replaced("France", std::string(70'000, 'x'))})
    EXPECT_EQ(ParseRecord(PartKind::kUsers, line).status().code(), StatusCode::kInvalidArgument) << line;
  EXPECT_FALSE(ParseRecord(PartKind::kHosts, kAda).ok());
}

TEST(Record, ThatCannotBeWrittenSaysWhy) {
  UserRecord record = Ada();
  record.name = "latin1 \xE9";
  EXPECT_THAT(LineOf(record).status().message(), HasSubstr("name is not UTF-8"));
  record = Ada();
  record.cpid = "short";
  EXPECT_THAT(LineOf(record).status().message(), HasSubstr("record 17 has a malformed cross-project id"));
  record = Ada();
  record.id = 0;
  EXPECT_FALSE(LineOf(record).ok());
  record = Ada();
  record.name = std::string(70'000, 'x');
  EXPECT_THAT(LineOf(record).status().message(), HasSubstr("longer than 65,536 bytes"));
}

TEST(Record, OfEveryKindIsReadBack) {
  const auto host = LineOf(HostRecord{.id = 3, .user = 0, .description = "AMD", .total = -5});
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(ParseRecord(PartKind::kHosts, *host).status().message(), "");
  EXPECT_EQ((*ParseRecord(PartKind::kHosts, *host)).total, -5);
  const auto team = LineOf(TeamRecord{.id = 4, .name = "T", .founder = 17, .total = 8});
  ASSERT_TRUE(team.ok());
  EXPECT_EQ((*ParseRecord(PartKind::kTeams, *team)).id, 4u);
}

TEST(CanonicalText, KnowsUtf8) {
  for (const char* good : {"", "a", "é", "€", "😀", "\x7f", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"})
    EXPECT_TRUE(IsUtf8(good)) << ToHex(good);
  for (const char* bad : {"\x80", "\xC1\xBF", "\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "a\xFF"})
    EXPECT_FALSE(IsUtf8(bad)) << ToHex(bad);
}

TEST(CanonicalText, WritesSumsBeyond64Bits) {
  EXPECT_EQ(MicroText(0), "0");
  EXPECT_EQ(MicroText(-12), "-12");
  EXPECT_EQ(MicroText(MicroSum{10'000'000'000'000'000'000u} * 10), "100000000000000000000");
}

}  // namespace
}  // namespace cobblestone::hub
