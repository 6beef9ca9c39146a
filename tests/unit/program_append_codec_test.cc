#include "services/access/append_codec.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cobblestone {

using access::DecodeAppendBlock;
using access::EncodeAppendBlock;
using access::HashText;
using access::OutcomeJson;
using access::ParseHashText;
using access::ParseOutcomeJson;
using intake::AppendBlock;
using intake::AppendOutcome;

namespace {

AppendBlock ThreeLines() {
  AppendBlock block;
  block.source = "events of May.jsonl";
  block.first_line = 300;
  block.hash = {.low = 0x0123456789abcdef, .high = 0xfedcba9876543210};
  block.barrier = true;
  block.own_ticks = true;
  block.ends_period = true;
  block.lines.push_back({.envelope = std::string("\x08\x00\xff", 3)});
  block.lines.push_back({.original = "{\"id\": seven}", .problem = "no JSON at column 8"});
  block.lines.push_back({});  // an empty line
  return block;
}

void ExpectEqual(const AppendBlock& a, const AppendBlock& b) {
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.first_line, b.first_line);
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(a.barrier, b.barrier);
  EXPECT_EQ(a.own_ticks, b.own_ticks);
  EXPECT_EQ(a.ends_period, b.ends_period);
  ASSERT_EQ(a.lines.size(), b.lines.size());
  for (std::size_t i = 0; i < a.lines.size(); ++i) {
    EXPECT_EQ(a.lines[i].envelope, b.lines[i].envelope) << i;
    EXPECT_EQ(a.lines[i].original, b.lines[i].original) << i;
    EXPECT_EQ(a.lines[i].problem, b.lines[i].problem) << i;
  }
}

TEST(AppendCodec, ABlockRoundTrips) {
  for (const AppendBlock& block : {ThreeLines(), AppendBlock{.source = "one"}}) {
    std::string bytes;
    EncodeAppendBlock(block, &bytes);
    const auto read = DecodeAppendBlock(bytes);
    ASSERT_TRUE(read.ok()) << read.status().message();
    ExpectEqual(*read, block);
  }
}

// The layout of append_codec.h, byte by byte, because an old client may connect to a new server.
TEST(AppendCodec, ABlockHasTheBytesOfVersionOne) {
  AppendBlock block;
  block.source = "s";
  block.first_line = 300;
  block.hash = {.low = 1, .high = 2};
  block.lines.push_back({.envelope = "E"});
  block.lines.push_back({.original = "oo", .problem = "p"});
  std::string bytes;
  EncodeAppendBlock(block, &bytes);
  const std::string expected(
      "\x01"                              // version
      "\x00"                              // no barrier
      "\x01s"                             // source
      "\xac\x02"                          // 300
      "\x01\x00\x00\x00\x00\x00\x00\x00"  // hash
      "\x02\x00\x00\x00\x00\x00\x00\x00"
      "\x02"  // lines
      "\x01"
      "E"
      "\x00"
      "\x02oo"
      "\x01p",
      31);
  EXPECT_EQ(bytes, expected);
}

TEST(AppendCodec, TruncatedBytesAreRefused) {
  std::string bytes;
  EncodeAppendBlock(ThreeLines(), &bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto read = DecodeAppendBlock(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(read.ok()) << size << " of " << bytes.size() << " bytes were accepted as a block";
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
  }
  bytes += 'x';
  EXPECT_FALSE(DecodeAppendBlock(bytes).ok()) << "extra bytes after the end";
}

TEST(AppendCodec, AnotherVersionOrAnUnknownFlagIsRefused) {
  std::string bytes;
  EncodeAppendBlock(ThreeLines(), &bytes);
  std::string newer = bytes;
  newer[0] = 2;
  EXPECT_FALSE(DecodeAppendBlock(newer).ok());
  std::string flagged = bytes;
  flagged[1] = 8;
  EXPECT_FALSE(DecodeAppendBlock(flagged).ok());
}

TEST(AppendCodec, AWrongNumberOfLinesAllocatesNoMemory) {
  AppendBlock empty;
  empty.source = "s";
  std::string bytes;
  EncodeAppendBlock(empty, &bytes);
  bytes.pop_back();                             // the number of lines, 0
  bytes += "\xff\xff\xff\xff\xff\xff\xff\x7f";  // 2^56 - 1
  EXPECT_FALSE(DecodeAppendBlock(bytes).ok());
}

TEST(AppendCodec, AHashRoundTripsAsText) {
  const stream::Hash128 hash{.low = 0x00000000000000ff, .high = 0x0123456789abcdef};
  EXPECT_EQ(HashText(hash), "0123456789abcdef00000000000000ff");
  EXPECT_EQ(ParseHashText(HashText(hash)), hash);
  EXPECT_EQ(ParseHashText("0123456789abcdef00000000000000f"), std::nullopt) << "a digit is missing";
  EXPECT_EQ(ParseHashText("0123456789abcdef00000000000000fg"), std::nullopt);
}

TEST(AppendCodec, AnOutcomeRoundTripsAsJson) {
  const AppendOutcome outcome{
      .producer = {.lines = 42, .hash = {.low = 1, .high = 2}}, .appended = 40, .refused = 2};
  const auto read = ParseOutcomeJson(OutcomeJson(outcome));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->producer.lines, 42u);
  EXPECT_EQ(read->producer.hash, outcome.producer.hash);
  EXPECT_EQ(read->appended, 40u);
  EXPECT_EQ(read->refused, 2u);
  EXPECT_FALSE(ParseOutcomeJson({{"lines", 42}}).ok());
  EXPECT_FALSE(ParseOutcomeJson("lines").ok());
}

}  // namespace
}  // namespace cobblestone
