// The primitives of the wire format, compared byte by byte with the protobuf encoding guide.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

using namespace std::string_view_literals;

template <class F>
std::string Written(F write) {
  char buffer[256];
  ProtoWriter w(buffer);
  write(w);
  return std::string(w.written());
}

TEST(WireProto, AFieldIsItsTagAndItsValue) {
  // The example of the guide: field 1 has the value 150.
  EXPECT_EQ(Written([](ProtoWriter& w) { w.Uint(1, 150); }), "\x08\x96\x01"sv);
  EXPECT_EQ(Written([](ProtoWriter& w) { w.Sint(2, -1); }), "\x10\x01"sv);
  EXPECT_EQ(Written([](ProtoWriter& w) { w.Double(3, 1.0); }), "\x19\0\0\0\0\0\0\xf0\x3f"sv);
  EXPECT_EQ(Written([](ProtoWriter& w) { w.Bool(16, true); }), "\x80\x01\x01"sv);
  EXPECT_EQ(Written([](ProtoWriter& w) { w.Message(4, "ab"); }),
            "\x22\x02"
            "ab"sv);
}

TEST(WireProto, ADefaultIsLeftOutAndNegativeZeroIsNoDefault) {
  EXPECT_EQ(Written([](ProtoWriter& w) {
              w.Uint(1, 0);
              w.Sint(2, 0);
              w.Double(3, 0.0);
              w.Bool(4, false);
            }),
            "");
  EXPECT_EQ(Written([](ProtoWriter& w) { w.Double(3, -0.0); }), "\x19\0\0\0\0\0\0\0\x80"sv);
  EXPECT_EQ(Written([](ProtoWriter& w) { w.PresentDouble(3, 0.0); }), "\x19\0\0\0\0\0\0\0\0"sv);
}

TEST(WireProto, AVarintTakesAsManyBytesAsItsBitsNeed) {
  for (unsigned bits = 0; bits <= 64; ++bits) {
    const std::uint64_t v = bits == 0 ? 0 : std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
    const std::string bytes = Written([&](ProtoWriter& w) { w.Varint(v); });
    EXPECT_EQ(bytes.size(), std::max(1u, (bits + 6) / 7)) << bits;
    EXPECT_EQ(VarintSize(v), bytes.size()) << bits;
    ProtoReader r(bytes);
    EXPECT_EQ(r.Varint(), v);
    EXPECT_TRUE(r.ok());
  }
}

TEST(WireProto, SignedNumbersRoundTrip) {
  for (const std::int64_t v :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, std::int64_t{-6},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    const std::string bytes = Written([&](ProtoWriter& w) { w.PresentUint(1, ZigZag(v)); });
    ProtoReader r(bytes);
    ASSERT_EQ(r.NextTag(), VarintTag(1));
    EXPECT_EQ(r.Sint(), v);
  }
}

TEST(WireProto, ADoubleKeepsAllItsBits) {
  for (const std::uint64_t bits : {0x8000000000000000u, 0x7ff8000000000123u, 0xfff4dead0000beefu,
                                   0x7ff0000000000000u, std::uint64_t{1}}) {
    const std::string bytes = Written([&](ProtoWriter& w) { w.Double(1, std::bit_cast<double>(bits)); });
    ProtoReader r(bytes);
    ASSERT_EQ(r.NextTag(), DoubleTag(1));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(r.Double()), bits);
  }
}

// Skips all fields; true if the reader reaches the end of the bytes.
bool SkipsThrough(std::string_view bytes) {
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) r.Skip(tag);
  return r.ok();
}

TEST(WireProto, UnknownFieldsAreSkippedAndMalformedFieldsAreNot) {
  struct Case {
    const char* what;
    std::string_view bytes;
    bool good;
  };
  const Case cases[] = {
      {"nothing", ""sv, true},
      {"one of each wire type", "\x08\x01\x11\0\0\0\0\0\0\0\0\x1a\x01x\x25\0\0\0\0"sv, true},
      {"a varint with needless groups", "\x08\x81\x80\x00"sv, true},
      {"the largest field number", "\xf8\xff\xff\xff\x0f\x01"sv, true},
      {"ten bytes of varint", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv, true},
      {"a varint of 65 bits", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv, false},
      {"a varint of eleven bytes", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00"sv, false},
      {"field number 0", "\x00\x01"sv, false},
      {"field number 0 of bytes", "\x02\x00"sv, false},
      {"a field number of 30 bits", "\x80\x80\x80\x80\x10\x01"sv, false},
      {"start of a group", "\x0b\x0c"sv, false},
      {"end of a group", "\x0c"sv, false},
      {"wire type 6", "\x0e\x01"sv, false},
      {"wire type 7", "\x0f\x01"sv, false},
      {"a tag alone", "\x08"sv, false},
      {"half a tag", "\x80"sv, false},
      {"half a varint", "\x08\x96"sv, false},
      {"seven bytes of eight", "\x09\0\0\0\0\0\0\0"sv, false},
      {"three bytes of four", "\x0d\0\0\0"sv, false},
      {"a length past the end",
       "\x0a\x05"
       "abcd"sv,
       false},
      {"a length of 2^64 - 1", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv, false},
  };
  for (const Case& c : cases) EXPECT_EQ(SkipsThrough(c.bytes), c.good) << c.what;
}

TEST(WireProto, AfterAnErrorNothingMoreIsRead) {
  ProtoReader r("\x08\x96");
  ASSERT_EQ(r.NextTag(), VarintTag(1));
  EXPECT_EQ(r.Varint(), 0u);
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.NextTag(), 0u);
  EXPECT_EQ(r.Double(), 0.0);
  EXPECT_EQ(r.Bytes(), "");
}

}  // namespace
}  // namespace cobblestone::wire
