// Random protobuf messages for the tests of common/wire: every field is sometimes absent, and sometimes has an
// extreme value.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

namespace cobblestone::wire {

using Random = std::mt19937_64;

inline double RandomDouble(Random& random) {
  switch (random() % 12) {
    case 0: return 0.0;
    case 1: return -0.0;
    case 2: return std::numeric_limits<double>::infinity();
    case 3: return -std::numeric_limits<double>::infinity();
    case 4: return std::bit_cast<double>(0x7ff8000000000123u);  // a NaN with a payload
    case 5: return std::bit_cast<double>(0xfff4dead0000beefu);  // a signalling NaN with a sign
    case 6: return std::numeric_limits<double>::denorm_min();
    case 7: return 1750005239.671617;
    case 8: return -1e200;
    default: return std::bit_cast<double>(random());
  }
}

inline std::uint64_t RandomUint(Random& random) {
  switch (random() % 6) {
    case 0: return 0;
    case 1: return random() % 128;
    case 2: return std::numeric_limits<std::uint64_t>::max();
    case 3: return std::uint64_t{1} << random() % 64;
    default: return random() >> random() % 64;
  }
}

// Fields with the meaning of an enum.
inline bool IsEnumInEffect(const google::protobuf::FieldDescriptor& field) {
  const std::string& name = field.name();
  return field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT32 &&
         (name == "mode" || name == "policy" || name == "kind" || name == "resource" || name == "measure" ||
          name == "outcome" || name == "trickle_settlement");
}

// Fills `m`. Enums, and fields with the meaning of an enum, get numbers of the schema.
inline void FillRandomly(Random& random, google::protobuf::Message* m) {
  using Field = google::protobuf::FieldDescriptor;
  const auto* reflection = m->GetReflection();
  const auto* type = m->GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const Field* f = type->field(i);
    if (f->real_containing_oneof() != nullptr) continue;  // set below, one field of each oneof
    if (random() % 4 == 0) continue;
    const auto set = [&](const Field* field) {
      switch (field->cpp_type()) {
        case Field::CPPTYPE_DOUBLE: reflection->SetDouble(m, field, RandomDouble(random)); break;
        case Field::CPPTYPE_UINT64: reflection->SetUInt64(m, field, RandomUint(random)); break;
        case Field::CPPTYPE_INT64:
          reflection->SetInt64(m, field, static_cast<std::int64_t>(RandomUint(random)));
          break;
        case Field::CPPTYPE_UINT32:
          if (const std::string& name = field->name(); IsEnumInEffect(*field)) {
            reflection->SetUInt32(
                m, field,
                static_cast<std::uint32_t>(random() % (name == "trickle_settlement"          ? 3
                                                       : name == "kind" || name == "measure" ? 6
                                                                                             : 11)));
          } else {
            reflection->SetUInt32(m, field, static_cast<std::uint32_t>(RandomUint(random)));
          }
          break;
        case Field::CPPTYPE_BOOL: reflection->SetBool(m, field, random() % 2 == 0); break;
        case Field::CPPTYPE_ENUM:
          reflection->SetEnumValue(
              m, field,
              field->enum_type()
                  ->value(static_cast<int>(random() %
                                           static_cast<std::uint64_t>(field->enum_type()->value_count())))
                  ->number());
          break;
        case Field::CPPTYPE_STRING: {
          std::string text(random() % 3 == 0 ? 0 : random() % 200, 'x');
          for (char& c : text) c = static_cast<char>('a' + random() % 26);
          reflection->SetString(m, field, text);
          break;
        }
        case Field::CPPTYPE_MESSAGE: FillRandomly(random, reflection->MutableMessage(m, field)); break;
        default: break;
      }
    };
    if (!f->is_repeated()) {
      set(f);
    } else if (f->cpp_type() == Field::CPPTYPE_MESSAGE) {
      for (std::uint64_t n = random() % 4; n > 0; --n) FillRandomly(random, reflection->AddMessage(m, f));
    }
  }
  for (int i = 0; i < type->real_oneof_decl_count(); ++i) {
    const auto* oneof = type->oneof_decl(i);
    const Field* chosen =
        oneof->field(static_cast<int>(random() % static_cast<std::uint64_t>(oneof->field_count())));
    if (chosen->cpp_type() == Field::CPPTYPE_MESSAGE) {
      FillRandomly(random, reflection->MutableMessage(m, chosen));
    } else if (chosen->cpp_type() == Field::CPPTYPE_UINT64) {
      reflection->SetUInt64(m, chosen, RandomUint(random));
    }
  }
}

template <class M>
M RandomMessage(Random& random) {
  M m;
  FillRandomly(random, &m);
  return m;
}

// Changes, truncates, duplicates or inserts a few bytes.
inline std::string Mutated(Random& random, std::string bytes) {
  for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
    const std::size_t at = bytes.empty() ? 0 : random() % bytes.size();
    switch (random() % 6) {
      case 0: bytes.resize(at); break;
      case 1: bytes.insert(at, 1, static_cast<char>(random())); break;
      case 2: bytes += bytes.substr(at); break;
      case 3: bytes.insert(at, std::string(random() % 12, '\xff')); break;
      default:
        if (!bytes.empty()) bytes[at] = static_cast<char>(random());
        break;
    }
  }
  return bytes;
}

}  // namespace cobblestone::wire
