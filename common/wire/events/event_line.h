// The line of an event in its source, prefixed to its bytes (Envelope.line; `order: lockstep`). The line is
// not part of the event: a stage removes it first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/stream/processor.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {

inline constexpr std::uint32_t kLineField = 15;
static_assert(VarintTag(kLineField) == 0x78,
              "one byte, and the first of no envelope that generated code writes");

[[nodiscard]] inline bool HasLine(std::string_view record) { return record.starts_with('\x78'); }

// Appends to `out`.
inline void AppendWithLine(std::uint64_t line, std::string_view envelope, std::string* out) {
  char head[kMaxScalarField];
  ProtoWriter writer(head);
  writer.PresentUint(kLineField, line);
  out->append(writer.written());
  out->append(envelope);
}

// Splits the record into the original event and its line. A record without a line is returned unchanged.
[[nodiscard]] inline stream::RecordView WithoutLine(stream::RecordView record) {
  if (!HasLine(record.value)) [[likely]]
    return record;
  std::uint64_t line = 0;
  std::size_t at = 1;
  for (unsigned shift = 0; at < record.value.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(record.value[at++]);
    line |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      record.line = line;
      record.value.remove_prefix(at);
      break;
    }
  }
  return record;
}

}  // namespace cobblestone::wire
