// Reads any text as the spec file of an export. The result is an error, or a spec whose file names stay in their
// directory.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "services/export/spec.h"

using namespace cobblestone;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto spec = exports::ParseSpec({reinterpret_cast<const char*>(data), size}, "spec");
  if (!spec.ok()) return 0;
  for (const exports::Enumeration& enumeration : spec->enumerations) {
    if (enumeration.filename.empty() || enumeration.filename.find('/') != std::string::npos) std::abort();
  }
  return 0;
}
