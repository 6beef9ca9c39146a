// The fast path for lines of JSON: simdjson finds the tokens, and tables of the schema (json_fields.h) turn them into the
// Envelope's bytes, without a protobuf message.
//
// Invariant: a line that it reads gives exactly the bytes that EnvelopeFromJsonGeneric gives. It declines everything else:
//   - lines that are not strict JSON, do not begin with `{`, or are longer than 64 KiB
//   - unknown fields and enum values, a field that occurs twice in either spelling, two members of a oneof
//   - null, and a value whose JSON type is not the usual one: a double as a text (also "NaN", "Infinity"), a bool or an enum
//     number as a text, a 64-bit number with a fraction or an exponent
//   - numbers out of range, negative zero, doubles that round to zero or to a subnormal number, doubles of more than
//     19 digits, integers above 10^18 for a double
//   - field names with escapes, texts with escaped surrogates or an escaped NUL
//   - bytes, repeated numbers and texts, and kinds of fields that the schema does not have today
// Some of these are events; protobuf's JSON mapping decides that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// No function of simdjson may throw: with this macro it has none that does.
#define SIMDJSON_EXCEPTIONS 0
#include <simdjson.h>

#include "common/wire/json/json_fields.h"

namespace cobblestone::wire {

// Owner: one thread at a time.
class JsonFastPath {
 public:
  JsonFastPath() : envelope_fields_(EnvelopeJsonFields()) {}

  // True: *envelope is replaced with the Envelope's bytes. False: declined; *envelope is then unspecified.
  bool Read(std::string_view line, std::string* envelope);

 private:
  // The value of a field until its message is written.
  struct Value {
    std::uint64_t bits = 0;      // a number as it is encoded, or the size of the bytes
    const char* text = nullptr;  // kString
    std::size_t begin = 0;       // kMessage, kMessages: place in `children`
  };
  // A message that is being read.
  struct Frame {
    std::array<Value, 64> values;
    std::string children;  // encoded messages that it contains, with their tags
  };
  // Messages within messages; deeper ones are declined. The schema has four levels: Envelope, App, TrickleRule, TricklePhase.
  static constexpr std::size_t kLevels = 8;

  bool Reserve(std::size_t size);
  bool ReadMessage(simdjson::ondemand::object object, const JsonMessage& type, const JsonField* as,
                   std::size_t level, std::string* out);
  bool ReadValue(simdjson::ondemand::value& value, const JsonField& field, std::size_t level, Value* read);
  bool ReadChildren(simdjson::ondemand::value& value, const JsonField& field, std::size_t level, Value* read);
  bool ReadDouble(simdjson::ondemand::value& value, Value* read) const;
  bool ReadEnum(simdjson::ondemand::value& value, const JsonEnum& enumeration, Value* read) const;
  bool ReadString(simdjson::ondemand::value& value, Value* read) const;
  static void Write(const JsonMessage& type, const JsonField* as, const Frame& frame, std::uint64_t written,
                    std::size_t size, std::string* out);

  const JsonMessage& envelope_fields_;
  simdjson::ondemand::parser parser_;
  std::string buffer_;  // the line, with the padding that simdjson reads
  std::size_t capacity_ = 0;
  std::array<Frame, kLevels> frames_;
};

}  // namespace cobblestone::wire
