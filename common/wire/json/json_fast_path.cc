#include "common/wire/json/json_fast_path.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/base/check.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kLongestFastLine = 64u << 10;  // bounds the memory of a reader

char* PutVarint(std::uint64_t value, char* to) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}

char* PutBytes(const char* from, std::size_t size, char* to) {
  std::memcpy(to, from, size);
  return to + size;
}

// A tag has one or two bytes, rarely more: cheaper than a call of memcpy.
char* PutTag(const JsonField& field, char* to) {
  *to++ = field.tag[0];
  for (std::size_t i = 1; i < field.tag_size; ++i) *to++ = field.tag[i];
  return to;
}

// The text between the quotes of a token, up to the first quote; false if it contains a backslash.
bool PlainText(std::string_view token, std::string_view* text) {
  const std::size_t end = token.find('"', 1);
  if (end == std::string_view::npos) return false;
  *text = token.substr(1, end - 1);
  return std::memchr(text->data(), '\\', text->size()) == nullptr;
}

// Whether a number has at most 19 digits between its leading zeros and its exponent. simdjson before 3.6.3 reads longer ones
// wrongly if they begin with `0.` (its issue 2093).
bool HasFewDigits(std::string_view token) {
  constexpr std::size_t kMost = 19;
  if (token.size() <= kMost) return true;
  std::size_t digits = 0;
  for (const char c : token) {
    if (c == 'e' || c == 'E') break;
    if (c >= '0' && c <= '9' && (c != '0' || digits > 0)) ++digits;
  }
  return digits <= kMost;
}

bool ReadUnsigned(ondemand::value& value, std::uint64_t most, std::uint64_t* number) {
  const bool quoted = value.raw_json_token().front() == '"';
  const auto error = quoted ? value.get_uint64_in_string().get(*number) : value.get_uint64().get(*number);
  return !error && *number <= most;
}

bool ReadSigned(ondemand::value& value, std::uint64_t* zigzag) {
  const std::string_view token = value.raw_json_token();
  const bool quoted = token.front() == '"';
  const bool minus = token[quoted ? 1 : 0] == '-';
  std::int64_t number = 0;
  if (quoted ? value.get_int64_in_string().get(number) : value.get_int64().get(number)) return false;
  if (number == 0 && minus) return false;
  *zigzag = static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
  return true;
}

}  // namespace

bool JsonFastPath::Read(std::string_view line, std::string* envelope) {
  // simdjson skips blanks and a byte order mark at the beginning; protobuf decides about them.
  if (!line.starts_with('{') || line.size() > kLongestFastLine || !Reserve(line.size())) return false;
  std::memcpy(buffer_.data(), line.data(), line.size());
  // With a `}` of an earlier line behind this one, simdjson would count the brackets of the line.
  buffer_[line.size()] = '\0';
  ondemand::document document;
  if (parser_.iterate(simdjson::padded_string_view(buffer_.data(), line.size(), buffer_.size()))
          .get(document))
    return false;
  ondemand::object object;
  if (document.get_object().get(object)) return false;
  envelope->clear();
  if (!ReadMessage(object, envelope_fields_, nullptr, 0, envelope)) return false;
  // Nothing follows the object.
  return document.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

bool JsonFastPath::Reserve(std::size_t size) {
  constexpr std::size_t kLeast = 1024;
  constexpr std::size_t kDeepest = 64;
  if (size <= capacity_) return true;
  const std::size_t capacity = std::bit_ceil(std::max(size, kLeast));
  if (parser_.allocate(capacity, kDeepest)) return false;
  buffer_.resize(capacity + simdjson::SIMDJSON_PADDING);
  capacity_ = capacity;
  return true;
}

bool JsonFastPath::ReadMessage(ondemand::object object, const JsonMessage& type, const JsonField* as,
                               std::size_t level, std::string* out) {
  if (level >= kLevels) return false;
  Frame& frame = frames_[level];
  frame.children.clear();
  std::uint64_t seen = 0;
  std::uint64_t written = 0;
  std::size_t size = 0;
  const char* const buffer_end = buffer_.data() + buffer_.size();
  for (auto one : object) {
    ondemand::field member;
    if (std::move(one).get(member)) return false;
    const char* const name = member.key().raw();
    const auto* const name_end =
        static_cast<const char*>(std::memchr(name, '"', static_cast<std::size_t>(buffer_end - name)));
    if (name_end == nullptr) return false;
    const int found = type.names.Find({name, static_cast<std::size_t>(name_end - name)});
    if (found == JsonNames::kAbsent) return false;
    const auto place = static_cast<std::size_t>(found);
    const JsonField& field = type.fields[place];
    const std::uint64_t bit = std::uint64_t{1} << place;
    if ((seen & (bit | field.excludes)) != 0) return false;
    seen |= bit;
    Value& value = frame.values[place];
    if (!ReadValue(member.value(), field, level, &value)) return false;
    switch (field.kind) {
      case JsonKind::kMessage:
      case JsonKind::kMessages:
        if (value.bits == 0) continue;  // no element
        size += value.bits;
        break;
      case JsonKind::kString:
        if (value.bits == 0 && !field.has_presence) continue;
        size += field.tag_size + VarintSize(value.bits) + value.bits;
        break;
      case JsonKind::kDouble:
        if (value.bits == 0 && !field.has_presence) continue;
        size += field.tag_size + sizeof(double);
        break;
      default:
        if (value.bits == 0 && !field.has_presence) continue;
        size += field.tag_size + VarintSize(value.bits);
    }
    written |= bit;
  }
  Write(type, as, frame, written, size, out);
  return true;
}

bool JsonFastPath::ReadValue(ondemand::value& value, const JsonField& field, std::size_t level, Value* read) {
  switch (field.kind) {
    case JsonKind::kUint32:
      return ReadUnsigned(value, std::numeric_limits<std::uint32_t>::max(), &read->bits);
    case JsonKind::kUint64:
      return ReadUnsigned(value, std::numeric_limits<std::uint64_t>::max(), &read->bits);
    case JsonKind::kSint64: return ReadSigned(value, &read->bits);
    case JsonKind::kDouble: return ReadDouble(value, read);
    case JsonKind::kBool: {
      bool is_true = false;
      if (value.get_bool().get(is_true)) return false;
      read->bits = is_true ? 1 : 0;
      return true;
    }
    case JsonKind::kEnum: return ReadEnum(value, *field.enumeration, read);
    case JsonKind::kString: return ReadString(value, read);
    case JsonKind::kMessage:
    case JsonKind::kMessages: return ReadChildren(value, field, level, read);
    case JsonKind::kUnsupported: return false;
  }
  return false;
}

bool JsonFastPath::ReadChildren(ondemand::value& value, const JsonField& field, std::size_t level,
                                Value* read) {
  std::string& children = frames_[level].children;
  read->begin = children.size();
  ondemand::object object;
  if (field.kind == JsonKind::kMessage) {
    if (value.get_object().get(object)) return false;
    if (!ReadMessage(object, *field.message, &field, level + 1, &children)) return false;
  } else {
    ondemand::array array;
    if (value.get_array().get(array)) return false;
    for (auto one : array) {
      ondemand::value element;
      if (std::move(one).get(element) || element.get_object().get(object)) return false;
      if (!ReadMessage(object, *field.message, &field, level + 1, &children)) return false;
    }
  }
  read->bits = children.size() - read->begin;
  return true;
}

bool JsonFastPath::ReadDouble(ondemand::value& value, Value* read) const {
  constexpr double kSafeInteger = 1e18;
  const std::string_view token = value.raw_json_token();
  double number = 0;
  if (!HasFewDigits(token) || value.get_double().get(number)) return false;
  if (!std::isnormal(number)) {
    // 0 and 0.0, not -0 and 1e-999.
    if (number != 0 || token.find_first_not_of("0.,}] \t\r\n") != std::string_view::npos) return false;
  } else if (std::abs(number) > kSafeInteger && token.find_first_of(".eE") == std::string_view::npos) {
    return false;
  }
  read->bits = std::bit_cast<std::uint64_t>(number);
  return true;
}

bool JsonFastPath::ReadEnum(ondemand::value& value, const JsonEnum& enumeration, Value* read) const {
  if (value.raw_json_token().front() != '"') {
    constexpr std::uint64_t kMost = 63;
    return ReadUnsigned(value, kMost, &read->bits) && (enumeration.known_numbers >> read->bits & 1) != 0;
  }
  std::string_view name;
  if (!PlainText(value.raw_json_token(), &name)) return false;
  const int number = enumeration.names.Find(name);
  if (number == JsonNames::kAbsent) return false;
  ondemand::raw_json_string ignored;
  if (value.get_raw_json_string().get(ignored)) return false;
  read->bits = static_cast<std::uint64_t>(number);
  return true;
}

bool JsonFastPath::ReadString(ondemand::value& value, Value* read) const {
  const std::string_view token = value.raw_json_token();
  std::string_view text;
  if (token.front() != '"') return false;
  if (PlainText(token, &text)) {
    ondemand::raw_json_string ignored;
    if (value.get_raw_json_string().get(ignored)) return false;
  } else {
    // Versions of simdjson and protobuf differ about surrogates without their other half.
    for (const std::string_view odd : {"\\ud", "\\uD", "\\u0000"})
      if (token.find(odd) != std::string_view::npos) return false;
    if (value.get_string().get(text)) return false;
  }
  read->text = text.data();
  read->bits = text.size();
  return true;
}

void JsonFastPath::Write(const JsonMessage& type, const JsonField* as, const Frame& frame,
                         std::uint64_t written, std::size_t size, std::string* out) {
  const std::size_t begin = out->size();
  out->resize(begin + (as != nullptr ? as->tag_size + VarintSize(size) : 0) + size);
  char* to = out->data() + begin;
  if (as != nullptr) to = PutVarint(size, PutTag(*as, to));
  for (; written != 0; written &= written - 1) {
    const auto place = static_cast<std::size_t>(std::countr_zero(written));
    const JsonField& field = type.fields[place];
    const Value& value = frame.values[place];
    if (field.kind == JsonKind::kMessage || field.kind == JsonKind::kMessages) {
      to = PutBytes(frame.children.data() + value.begin, value.bits, to);
      continue;
    }
    to = PutTag(field, to);
    if (field.kind == JsonKind::kDouble) {
      to = PutBytes(reinterpret_cast<const char*>(&value.bits), sizeof(value.bits), to);
    } else {
      to = PutVarint(value.bits, to);
      if (field.kind == JsonKind::kString) to = PutBytes(value.text, value.bits, to);
    }
  }
  COBBLESTONE_CHECK(to == out->data() + out->size(), "the size of an encoded message");
}

}  // namespace cobblestone::wire
