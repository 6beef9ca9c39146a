#include "common/http/body_coding.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace cobblestone::http {
namespace {

constexpr std::size_t kCodingStep = 64 * 1024;
constexpr int kGzipWindow = 15 + 16;    // gzip only, no zlib header
constexpr int kLargestZstdWindow = 23;  // 8 MiB, RFC 8878's recommended bound

Status CutOff(std::string_view coding) {
  return Status::InvalidArgument("the " + std::string(coding) + " body is truncated; send the batch again");
}

Status Damaged(std::string_view coding, std::string_view why) {
  return Status::InvalidArgument("the " + std::string(coding) + " body is damaged (" + std::string(why) +
                                 "); send the batch again");
}

Status TooLarge(std::size_t most) {
  return Status::Full("the body has more than " + std::to_string(most) + " bytes when decompressed");
}

// Appends a step; false if the text would exceed the allowed size.
bool Take(const std::vector<char>& step, std::size_t size, std::size_t most, std::string* text) {
  if (size > most - text->size()) return false;
  text->append(step.data(), size);
  return true;
}

Result<std::string> Gunzip(std::string_view body, std::size_t most) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return Status::Fatal("cannot initialize zlib");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
  std::string text;
  std::vector<char> step(kCodingStep);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(step.data());
    stream.avail_out = static_cast<uInt>(step.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return Damaged("gzip", stream.msg == nullptr ? "not gzip" : stream.msg);
    const std::size_t made = step.size() - stream.avail_out;
    if (!Take(step, made, most, &text)) return TooLarge(most);
    if (code == Z_STREAM_END) {
      if (stream.avail_in == 0) return text;
      if (inflateReset(&stream) != Z_OK) return Status::Fatal("cannot reset zlib");
    } else if (made == 0 && stream.avail_in == 0) {
      return CutOff("gzip");
    } else if (code == Z_BUF_ERROR && made == 0) {
      return Damaged("gzip", "no progress");
    }
  }
}

Result<std::string> Unzstd(std::string_view body, std::size_t most) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!context) return Status::Fatal("cannot initialize zstd");
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kLargestZstdWindow);
  std::string text;
  std::vector<char> step(kCodingStep);
  ZSTD_inBuffer in{body.data(), body.size(), 0};
  std::size_t left = 1;  // 0: at the end of a frame
  for (;;) {
    ZSTD_outBuffer out{step.data(), step.size(), 0};
    const std::size_t before = in.pos;
    left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left)) return Damaged("zstd", ZSTD_getErrorName(left));
    if (!Take(step, out.pos, most, &text)) return TooLarge(most);
    if (in.pos == in.size && left == 0) return text;
    if (in.pos == before && out.pos == 0) return CutOff("zstd");
  }
}

}  // namespace

bool KnownCoding(std::string_view coding) { return coding == "gzip" || coding == "zstd"; }

Result<std::string> DecodeBody(std::string_view coding, std::string_view body, std::size_t most) {
  if (coding == "gzip") return Gunzip(body, most);
  if (coding == "zstd") return Unzstd(body, most);
  return Status::InvalidArgument("unknown Content-Encoding " + std::string(coding));
}

}  // namespace cobblestone::http
