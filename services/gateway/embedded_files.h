// Files that are built into the program: embed_files.cc makes the lists when it is built.
#pragma once

#include <span>
#include <string_view>

namespace cobblestone::gateway {

struct EmbeddedFile {
  std::string_view path;  // "/index.html"
  std::string_view type;  // "text/html; charset=utf-8"
  std::string_view etag;  // with its quotes; of the contents, so that another build of the same has the same
  std::string_view bytes;
  std::string_view gzip;  // empty where that would not be smaller
};

std::span<const EmbeddedFile> WebFiles();  // the web page
std::span<const EmbeddedFile> ApiFiles();  // openapi.json

}  // namespace cobblestone::gateway
