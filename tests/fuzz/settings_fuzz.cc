// Reads any bytes as a configuration file. The result is settings in range or an error with a message, never an
// exception or a hang.
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
  // Each accepted value is in range: its text is accepted again.
  for (const Option& option : Options()) {
    RunSettings again;
    if (option.kind == Kind::kText) continue;
    if (!SetFromText(option, ValueText(option, *parsed), again).ok()) std::abort();
  }
  if (parsed->threads == 0 || parsed->listen.socket.empty()) std::abort();
  return 0;
}
