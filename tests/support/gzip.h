// Compresses texts of tests.
#pragma once

#include <zlib.h>

#include <string>

#include "common/base/check.h"

namespace cobblestone::testing {

// One gzip member.
inline std::string Gzip(const std::string& text, int level = 6) {
  z_stream stream{};
  COBBLESTONE_CHECK(deflateInit2(&stream, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK,
                    "zlib");
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  COBBLESTONE_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace cobblestone::testing
