// Compressed request bodies.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::http {

// Decodes a body with `Content-Encoding: gzip` or `zstd` in steps of at most 64 KiB, so that no input
// produces more than `most` bytes of output. The stream's end and checksum must be present. Consecutive gzip
// members or zstd frames form one text. kInvalidArgument: the body is truncated or damaged, or `coding` is
// unknown. kFull: the body decodes to more than `most` bytes.
Result<std::string> DecodeBody(std::string_view coding, std::string_view body, std::size_t most);

// Whether DecodeBody supports the Content-Encoding.
bool KnownCoding(std::string_view coding);

}  // namespace cobblestone::http
