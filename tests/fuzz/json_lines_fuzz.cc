// Reads any line as an event in JSON. The result is an error, or an Envelope whose JSON text is also a valid
// event.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/wire/json/json_lines.h"

using namespace cobblestone;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto envelope = wire::EnvelopeFromJson({reinterpret_cast<const char*>(data), size});
  if (!envelope.ok()) return 0;
  const auto text = wire::EnvelopeToJson(*envelope);
  if (!text.ok()) std::abort();
  const auto again = wire::EnvelopeFromJson(*text);
  if (!again.ok()) std::abort();
  return 0;
}
