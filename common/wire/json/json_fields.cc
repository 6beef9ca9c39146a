#include "common/wire/json/json_fields.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "common/base/check.h"
#include "schemas/events.pb.h"

namespace cobblestone::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

constexpr int kBits = 64;

// Enum values share their first bytes, and fields such as sent_time share their last word: the last eight bytes and the
// length differ in nearly all names of one table. Names of at most eight bytes with one length and one word are equal.
std::uint64_t WordOf(std::string_view name) {
  const char* const end = name.data() + name.size();
  std::uint64_t word = 0;
  if (name.size() >= sizeof(word)) {
    std::memcpy(&word, end - sizeof(word), sizeof(word));
  } else if (name.size() >= 4) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::memcpy(&first, name.data(), sizeof(first));
    std::memcpy(&last, end - sizeof(last), sizeof(last));
    word = std::uint64_t{last} << 32 | first;
  } else {
    for (const char c : name) word = word << 8 | static_cast<unsigned char>(c);
  }
  return word;
}

std::size_t HashOf(std::uint64_t word, std::size_t size) {
  return static_cast<std::size_t>(((word ^ size) * 0x9e3779b97f4a7c15u) >> 40);
}

// Whether two names with one length and one word are equal.
bool SameStart(const std::string& text, std::string_view name) {
  if (name.size() <= 8) return true;
  if (name.size() > 16) return std::memcmp(text.data(), name.data(), name.size() - 8) == 0;
  std::uint64_t one = 0;
  std::uint64_t other = 0;
  std::memcpy(&one, text.data(), sizeof(one));
  std::memcpy(&other, name.data(), sizeof(other));
  return one == other;
}

JsonKind KindOf(const FieldDescriptor& field) {
  if (field.is_map()) return JsonKind::kUnsupported;
  if (field.is_repeated())
    return field.type() == FieldDescriptor::TYPE_MESSAGE ? JsonKind::kMessages : JsonKind::kUnsupported;
  switch (field.type()) {
    case FieldDescriptor::TYPE_UINT32: return JsonKind::kUint32;
    case FieldDescriptor::TYPE_UINT64: return JsonKind::kUint64;
    case FieldDescriptor::TYPE_SINT64: return JsonKind::kSint64;
    case FieldDescriptor::TYPE_DOUBLE: return JsonKind::kDouble;
    case FieldDescriptor::TYPE_BOOL: return JsonKind::kBool;
    case FieldDescriptor::TYPE_ENUM: return JsonKind::kEnum;
    case FieldDescriptor::TYPE_STRING: return JsonKind::kString;
    case FieldDescriptor::TYPE_MESSAGE: return JsonKind::kMessage;
    default: return JsonKind::kUnsupported;
  }
}

// Of the encodings that the kinds have.
std::uint32_t WireTypeOf(JsonKind kind) {
  switch (kind) {
    case JsonKind::kDouble: return 1;
    case JsonKind::kString:
    case JsonKind::kMessage:
    case JsonKind::kMessages: return 2;
    default: return 0;
  }
}

// Builds each message and enum once. The tables are never freed: readers of other threads may outlive statics.
class Tables {
 public:
  const JsonMessage* Message(const Descriptor& type) {
    if (const auto known = messages_.find(&type); known != messages_.end()) return known->second;
    auto* message = new JsonMessage{.names = JsonNames({}), .fields = {}};
    messages_.emplace(&type, message);  // before its fields: a message may contain itself
    std::vector<const FieldDescriptor*> sorted;
    for (int i = 0; i < type.field_count(); ++i) sorted.push_back(type.field(i));
    std::sort(sorted.begin(), sorted.end(),
              [](const auto* a, const auto* b) { return a->number() < b->number(); });
    // Fields without a name in the table are declined.
    if (sorted.size() > kBits || type.full_name().starts_with("google.protobuf.")) sorted.clear();
    std::vector<JsonNames::Name> names;
    for (const FieldDescriptor* field : sorted) {
      const int place = static_cast<int>(message->fields.size());
      names.push_back({.text = field->name(), .number = place});
      if (field->json_name() != field->name()) names.push_back({.text = field->json_name(), .number = place});
      message->fields.push_back(Field(*field, sorted));
    }
    message->names = JsonNames(std::move(names));
    return message;
  }

 private:
  JsonField Field(const FieldDescriptor& from, const std::vector<const FieldDescriptor*>& all) {
    JsonField field{.kind = KindOf(from), .has_presence = from.has_presence()};
    std::uint32_t tag = static_cast<std::uint32_t>(from.number()) << 3 | WireTypeOf(field.kind);
    for (; tag >= 0x80; tag >>= 7) field.tag[field.tag_size++] = static_cast<char>(tag | 0x80);
    field.tag[field.tag_size++] = static_cast<char>(tag);
    if (const auto* oneof = from.real_containing_oneof())
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i]->real_containing_oneof() == oneof) field.excludes |= std::uint64_t{1} << i;
    if (field.kind == JsonKind::kMessage || field.kind == JsonKind::kMessages)
      field.message = Message(*from.message_type());
    if (field.kind == JsonKind::kEnum) field.enumeration = Enum(*from.enum_type());
    return field;
  }

  const JsonEnum* Enum(const EnumDescriptor& type) {
    const JsonEnum*& known = enums_[&type];
    if (known != nullptr) return known;
    std::vector<JsonNames::Name> names;
    std::uint64_t numbers = 0;
    for (int i = 0; i < type.value_count(); ++i) {
      const int number = type.value(i)->number();
      if (number < 0 || number >= kBits) continue;
      names.push_back({.text = type.value(i)->name(), .number = number});
      numbers |= std::uint64_t{1} << number;
    }
    known = new JsonEnum{.names = JsonNames(std::move(names)), .known_numbers = numbers};
    return known;
  }

  std::map<const Descriptor*, JsonMessage*> messages_;
  std::map<const EnumDescriptor*, const JsonEnum*> enums_;
};

}  // namespace

JsonNames::JsonNames(std::vector<Name> names) {
  slots_.resize(std::bit_ceil(2 * names.size() + 1));
  mask_ = slots_.size() - 1;
  for (Name& name : names) {
    const std::uint64_t word = WordOf(name.text);
    std::size_t at = HashOf(word, name.text.size()) & mask_;
    while (slots_[at].number != kAbsent) at = (at + 1) & mask_;
    slots_[at] = {.word = word, .number = name.number, .text = std::move(name.text)};
  }
}

int JsonNames::Find(std::string_view name) const {
  const std::uint64_t word = WordOf(name);
  for (std::size_t at = HashOf(word, name.size()) & mask_;; at = (at + 1) & mask_) {
    const Slot& slot = slots_.data()[at];
    if (slot.number == kAbsent) return kAbsent;
    if (slot.word == word && slot.text.size() == name.size() && SameStart(slot.text, name))
      return slot.number;
  }
}

const JsonMessage& EnvelopeJsonFields() {
  static const JsonMessage* const kEnvelope = Tables().Message(*v1::Envelope::descriptor());
  return *kEnvelope;
}

}  // namespace cobblestone::wire
