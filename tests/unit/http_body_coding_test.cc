#include "common/http/body_coding.h"
#include "tests/support/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

namespace cobblestone::http {
namespace {

using testing::Gzip;

constexpr std::size_t kMax = 1u << 20;

std::string Zstd(const std::string& text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  EXPECT_FALSE(ZSTD_isError(size));
  out.resize(size);
  ZSTD_freeCCtx(context);
  return out;
}

class BodyCoding : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string Coded(const std::string& text) {
    return GetParam() == std::string("gzip") ? Gzip(text) : Zstd(text);
  }
  static Result<std::string> Decoded(const std::string& body, std::size_t most = kMax) {
    return DecodeBody(GetParam(), body, most);
  }
};

std::string Lines() {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  return text;
}

TEST_P(BodyCoding, AWholeBodyRoundTrips) {
  for (const std::string& text : {std::string(), std::string("a"), Lines()}) {
    const auto back = Decoded(Coded(text));
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, text);
  }
}

TEST_P(BodyCoding, ConcatenatedPartsAreOneText) {
  const auto back = Decoded(Coded("a\n") + Coded("b\n"));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, "a\nb\n");
}

TEST_P(BodyCoding, ATruncatedBodyIsRefused) {
  const std::string whole = Coded(Lines());
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 97)
    EXPECT_EQ(Decoded(whole.substr(0, size)).status().code(), StatusCode::kInvalidArgument) << size;
  EXPECT_EQ(Decoded(whole.substr(0, whole.size() - 1)).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(BodyCoding, AFlippedBitIsRefused) {
  const std::string whole = Coded(Lines());
  for (std::size_t at = whole.size() - 4; at < whole.size(); ++at) {  // the checksum (of gzip: the length)
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 1);
    EXPECT_FALSE(Decoded(broken).ok()) << at;
  }
  std::string broken = whole;
  broken[whole.size() / 2] = static_cast<char>(broken[whole.size() / 2] ^ 0x40);
  EXPECT_FALSE(Decoded(broken).ok());
}

TEST_P(BodyCoding, ExtraBytesAfterTheEndAreRefused) { EXPECT_FALSE(Decoded(Coded("a\n") + "junk").ok()); }

TEST_P(BodyCoding, ADecompressionBombEndsAtTheLimit) {
  const std::string bomb = Coded(std::string(64u << 20, '\0'));
  EXPECT_EQ(Decoded(bomb).status().code(), StatusCode::kFull);
  EXPECT_EQ(Decoded(Coded(std::string(kMax, 'a')))->size(), kMax);
  EXPECT_EQ(Decoded(Coded(std::string(kMax + 1, 'a'))).status().code(), StatusCode::kFull);
}

INSTANTIATE_TEST_SUITE_P(Codings, BodyCoding, ::testing::Values("gzip", "zstd"));

TEST(BodyCoding, OtherCodingsAreRefused) {
  for (const char* coding : {"br", "deflate", "x-gzip", "gzip, gzip", ""}) {
    EXPECT_FALSE(KnownCoding(coding)) << coding;
    EXPECT_FALSE(DecodeBody(coding, "abc", kMax).ok()) << coding;
  }
}

}  // namespace
}  // namespace cobblestone::http
