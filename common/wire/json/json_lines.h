// An event as one line of text: the protobuf JSON mapping of Envelope, with the schema's field names. For
// event files and for people. Both directions are exact for every double, except for the sign of zero and the
// payload of a NaN, which JSON does not have.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::wire {

// Returns the Envelope's bytes. Accepts field names of the schema (elapsed_time) and of the JSON mapping
// (elapsedTime). InvalidArgument if the line is not JSON, has an unknown field, or a value that its field
// cannot hold; the message says which.
Result<std::string> EnvelopeFromJson(std::string_view line);

class JsonFastPath;

// EnvelopeFromJson for many lines: the reader keeps its buffers, at most about 1 MiB, so that a usual line allocates
// nothing. A fast path (json_fast_path.h) reads the usual lines of all kinds. Lines that it declines, with every line
// that is not an event among them, go to protobuf's JSON mapping (json_lines_generic.h).
// Owner: one thread at a time. Not copyable.
class JsonEventReader {
 public:
  JsonEventReader();
  ~JsonEventReader();
  JsonEventReader(const JsonEventReader&) = delete;
  JsonEventReader& operator=(const JsonEventReader&) = delete;

  // Replaces *envelope with the Envelope's bytes. Errors as EnvelopeFromJson; *envelope is then empty. `line` and
  // *envelope do not overlap.
  Status Read(std::string_view line, std::string* envelope);

  // The number of lines that the fast path read, and of those that went to protobuf's JSON mapping.
  [[nodiscard]] std::uint64_t fast_lines() const { return fast_lines_; }
  [[nodiscard]] std::uint64_t generic_lines() const { return generic_lines_; }

 private:
  std::unique_ptr<JsonFastPath> fast_path_;
  std::uint64_t fast_lines_ = 0;
  std::uint64_t generic_lines_ = 0;
};

// One line without its line end. InvalidArgument if the bytes are not an Envelope. Unknown fields are
// omitted.
Result<std::string> EnvelopeToJson(std::string_view bytes);

}  // namespace cobblestone::wire
