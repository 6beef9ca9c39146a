// Compressed bodies of requests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::http {

// A body with `Content-Encoding: gzip` or `zstd`, in steps of at most 64 KiB, so that no input costs more than `most` bytes of
// output. The stream's end and checksum must be there. Members that follow one another (gzip) and frames (zstd) are one text.
// kInvalidArgument: the body is cut off, damaged, or `coding` is another. kFull: it holds more than `most` bytes.
Result<std::string> DecodeBody(std::string_view coding, std::string_view body, std::size_t most);

// Is it a Content-Encoding that DecodeBody understands?
bool KnownCoding(std::string_view coding);

}  // namespace cobblestone::http
