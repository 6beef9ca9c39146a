// Serves the web page from files that are built into the program. Clients revalidate each time (no-cache); an
// unchanged file is not sent again (strong ETag). Clients that accept gzip receive the copy that was compressed at
// build time.
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

// "/" is /index.html. None if the file does not exist.
std::optional<StaticAnswer> FindStatic(std::span<const EmbeddedFile> files, std::string_view path,
                                       std::string_view accept_encoding, std::string_view if_none_match);

// True if the client accepts gzip (RFC 9110, 12.5.3).
bool AcceptsGzip(std::string_view accept_encoding);

}  // namespace cobblestone::gateway
