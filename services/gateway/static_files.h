// The web page, from files that are built in. Always to be asked for again (no-cache), and not sent again where it is the
// same (strong ETag). Compressed where the client takes gzip, by what was compressed when the program was built.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "services/gateway/embedded_files.h"

namespace cobblestone::gateway {

struct StaticAnswer {
  int status = 200;  // or 304, without a body
  const EmbeddedFile* file = nullptr;
  std::string_view body;
  bool gzip = false;
};

// "/" is /index.html. None where there is no such file.
std::optional<StaticAnswer> FindStatic(std::span<const EmbeddedFile> files, std::string_view path,
                                       std::string_view accept_encoding, std::string_view if_none_match);

// Does the client take gzip (RFC 9110, 12.5.3)?
bool AcceptsGzip(std::string_view accept_encoding);

}  // namespace cobblestone::gateway
