// Reads any line as an event in JSON in both ways: the fast path and protobuf's JSON mapping give the same bytes, or
// refuse the line with the same message.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/wire/json/json_lines.h"
#include "common/wire/json/json_lines_generic.h"

using namespace cobblestone;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static wire::JsonEventReader reader;  // its buffers keep parts of earlier lines
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const auto wanted = wire::EnvelopeFromJsonGeneric(line);
  std::string envelope;
  const Status status = reader.Read(line, &envelope);
  if (status.ok() != wanted.ok()) std::abort();
  if (wanted.ok() ? envelope != *wanted : status.message() != wanted.status().message()) std::abort();
  return 0;
}
