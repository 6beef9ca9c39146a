// Files that are built into the program. embed_files.cc generates the lists at build time.
#pragma once

#include <span>
#include <string_view>

namespace cobblestone::gateway {

struct EmbeddedFile {
  std::string_view path;  // "/index.html"
  std::string_view type;  // "text/html; charset=utf-8"
  // Quoted; a digest of the contents: builds with equal contents have equal ETags.
  std::string_view etag;
  std::string_view bytes;
  std::string_view gzip;  // empty if compression would not make the file smaller
};

std::span<const EmbeddedFile> WebFiles();  // the web page
std::span<const EmbeddedFile> ApiFiles();  // openapi.json

}  // namespace cobblestone::gateway
