// Any bytes as a configuration file: settings or a message, never an exception, a hang or a wild value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/settings/registry.h"
#include "common/settings/run_settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cobblestone::settings;
  const auto parsed = ParseRunSettings({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  if (!parsed.ok()) {
    if (parsed.status().message().empty()) std::abort();
    return 0;
  }
  // What was taken must be in range: each value written out is taken again.
  for (const Option& option : Options()) {
    RunSettings again;
    if (option.kind == Kind::kText) continue;
    if (!SetFromText(option, ValueText(option, *parsed), again).ok()) std::abort();
  }
  if (parsed->threads == 0 || parsed->listen.socket.empty()) std::abort();
  return 0;
}
