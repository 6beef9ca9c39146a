// The JSON mapping of a message as tables, built from the descriptor of its schema: a new field of events.proto needs no
// change here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cobblestone::wire {

// Names with one small number each. Constant after it is built; safe for threads.
class JsonNames {
 public:
  static constexpr int kAbsent = -1;

  struct Name {
    std::string text;
    int number = kAbsent;
  };
  explicit JsonNames(std::vector<Name> names);

  // kAbsent: not one of the names.
  [[nodiscard]] int Find(std::string_view name) const;

 private:
  struct Slot {
    std::uint64_t word = 0;  // of the name
    int number = kAbsent;
    std::string text;
  };

  std::vector<Slot> slots_;  // a hash table with linear probing, at most half full
  std::size_t mask_ = 0;
};

struct JsonEnum {
  JsonNames names;                  // of values from 0 to 63
  std::uint64_t known_numbers = 0;  // bit n: the value n exists
};

enum class JsonKind : std::uint8_t {
  kUint32,
  kUint64,
  kSint64,
  kDouble,
  kBool,
  kEnum,
  kString,
  kMessage,
  kMessages,     // repeated
  kUnsupported,  // protobuf's JSON mapping must read it
};

struct JsonMessage;

struct JsonField {
  JsonKind kind = JsonKind::kUnsupported;
  bool has_presence = false;  // written even if it is 0 or empty
  std::uint8_t tag_size = 0;
  char tag[5] = {};                       // encoded
  std::uint64_t excludes = 0;             // bit n: field n of the message, in the same oneof
  const JsonMessage* message = nullptr;   // kMessage, kMessages
  const JsonEnum* enumeration = nullptr;  // kEnum
};

struct JsonMessage {
  JsonNames names;                // both spellings of each field; the number is the place in `fields`
  std::vector<JsonField> fields;  // in the order in which protobuf writes them; at most 64
};

// The tables of v1::Envelope; they exist until the program ends.
const JsonMessage& EnvelopeJsonFields();

}  // namespace cobblestone::wire
