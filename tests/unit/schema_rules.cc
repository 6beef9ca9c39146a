#include "tests/unit/schema_rules.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>

namespace cobblestone {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;

using Findings = std::vector<std::string>;

template <class List>
auto ByName(const List& list) {
  std::map<std::string, const typename List::value_type*> out;
  for (const auto& item : list) out[item.name()] = &item;
  return out;
}
template <class List>
auto ByNumber(const List& list) {
  std::map<int, const typename List::value_type*> out;
  for (const auto& item : list) out[item.number()] = &item;
  return out;
}

std::string TypeOf(const FieldDescriptorProto& field) {
  return FieldDescriptorProto::Type_Name(field.type()) +
         (field.type_name().empty() ? "" : " " + field.type_name());
}

// The oneof of a field. The synthetic oneof of an `optional` field does not count.
std::string OneofOf(const DescriptorProto& message, const FieldDescriptorProto& field) {
  if (!field.has_oneof_index() || field.proto3_optional()) return "";
  return message.oneof_decl(field.oneof_index()).name();
}

void CompareField(const std::string& where, const DescriptorProto& was_in, const FieldDescriptorProto& was,
                  const DescriptorProto& is_in, const FieldDescriptorProto& is, Findings* out) {
  const std::string field = where + "." + was.name() + " = " + std::to_string(was.number());
  if (was.name() != is.name()) out->push_back(field + ": its number now means " + is.name());
  if (TypeOf(was) != TypeOf(is)) out->push_back(field + ": was " + TypeOf(was) + ", is " + TypeOf(is));
  if (was.label() != is.label()) {
    out->push_back(field + ": was " + FieldDescriptorProto::Label_Name(was.label()) + ", is " +
                   FieldDescriptorProto::Label_Name(is.label()));
  }
  if (was.proto3_optional() != is.proto3_optional()) {
    out->push_back(field + (is.proto3_optional() ? ": became optional" : ": is no longer optional"));
  }
  if (OneofOf(was_in, was) != OneofOf(is_in, is)) {
    out->push_back(field + ": moved from oneof '" + OneofOf(was_in, was) + "' to '" + OneofOf(is_in, is) +
                   "'");
  }
  if (was.json_name() != is.json_name())
    out->push_back(field + ": its name in JSON is now " + is.json_name());
  if (was.options().packed() != is.options().packed()) out->push_back(field + ": its packing changed");
}

// `Type`: a message or an enum.
template <class Type>
void CompareReserved(const std::string& where, const Type& was, const Type& is, Findings* out) {
  for (const auto& range : was.reserved_range()) {
    const bool kept = std::any_of(is.reserved_range().begin(), is.reserved_range().end(), [&](const auto& r) {
      return r.start() <= range.start() && r.end() >= range.end();
    });
    if (!kept)
      out->push_back(where + ": numbers from " + std::to_string(range.start()) + " are no longer reserved");
  }
}

void CompareEnum(const std::string& where, const EnumDescriptorProto& was, const EnumDescriptorProto& is,
                 Findings* out) {
  const auto now = ByNumber(is.value());
  const auto names = ByName(is.value());
  for (const auto& value : was.value()) {
    const std::string what = where + "." + value.name() + " = " + std::to_string(value.number());
    const auto found = now.find(value.number());
    if (found == now.end()) {
      out->push_back(what + (names.contains(value.name()) ? ": has another number now" : ": is gone"));
    } else if (found->second->name() != value.name()) {
      out->push_back(what + ": its number now means " + found->second->name());
    }
  }
  CompareReserved(where, was, is, out);
}

void CompareMessage(const std::string& where, const DescriptorProto& was, const DescriptorProto& is,
                    Findings* out) {
  const auto now = ByNumber(is.field());
  const auto names = ByName(is.field());
  for (const FieldDescriptorProto& field : was.field()) {
    const auto found = now.find(field.number());
    if (found != now.end()) {
      CompareField(where, was, field, is, *found->second, out);
      continue;
    }
    const std::string what = where + "." + field.name() + " = " + std::to_string(field.number());
    out->push_back(what + (names.contains(field.name()) ? ": has another number now" : ": is gone"));
  }
  for (const auto& range : was.reserved_range()) {
    for (const auto& [number, field] : now) {
      if (number >= range.start() && number < range.end()) {
        out->push_back(where + "." + field->name() + " = " + std::to_string(number) +
                       ": the number is reserved");
      }
    }
  }
  CompareReserved(where, was, is, out);
  for (const auto& [name, nested] : ByName(was.nested_type())) {
    const auto nested_now = ByName(is.nested_type());
    const auto found = nested_now.find(name);
    if (found == nested_now.end()) {
      out->push_back(where + "." + name + ": is gone");
    } else {
      CompareMessage(where + "." + name, *nested, *found->second, out);
    }
  }
  for (const auto& [name, nested] : ByName(was.enum_type())) {
    const auto nested_now = ByName(is.enum_type());
    const auto found = nested_now.find(name);
    if (found == nested_now.end()) {
      out->push_back(where + "." + name + ": is gone");
    } else {
      CompareEnum(where + "." + name, *nested, *found->second, out);
    }
  }
}

// Messages and enums by full name, because a reader does not know their file.
struct Types {
  std::map<std::string, const DescriptorProto*> messages;
  std::map<std::string, const EnumDescriptorProto*> enums;
  std::map<std::string, std::string> syntax;
};
Types TypesOf(const FileDescriptorSet& set) {
  Types types;
  for (const FileDescriptorProto& file : set.file()) {
    for (const auto& message : file.message_type()) {
      types.messages[file.package() + "." + message.name()] = &message;
      types.syntax[file.package() + "." + message.name()] = file.syntax();
    }
    for (const auto& enumeration : file.enum_type())
      types.enums[file.package() + "." + enumeration.name()] = &enumeration;
  }
  return types;
}

}  // namespace

Findings BrokenPromises(const FileDescriptorSet& committed, const FileDescriptorSet& now) {
  Findings out;
  const Types was = TypesOf(committed);
  const Types is = TypesOf(now);
  for (const auto& [name, message] : was.messages) {
    const auto found = is.messages.find(name);
    if (found == is.messages.end()) {
      out.push_back(name + ": is gone");
      continue;
    }
    if (was.syntax.at(name) != is.syntax.at(name)) out.push_back(name + ": its syntax changed");
    CompareMessage(name, *message, *found->second, &out);
  }
  for (const auto& [name, enumeration] : was.enums) {
    const auto found = is.enums.find(name);
    if (found == is.enums.end()) {
      out.push_back(name + ": is gone");
    } else {
      CompareEnum(name, *enumeration, *found->second, &out);
    }
  }
  return out;
}

FileDescriptorSet ForCommit(const FileDescriptorSet& set) {
  std::map<std::string, FileDescriptorProto> files;
  for (FileDescriptorProto file : set.file()) {
    if (!file.name().starts_with("schemas/")) continue;
    file.clear_source_code_info();
    file.clear_options();
    files[file.name()] = std::move(file);
  }
  FileDescriptorSet out;
  for (auto& [name, file] : files) *out.add_file() = std::move(file);
  return out;
}

std::string CommittedText(const FileDescriptorSet& set) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(set, &text);
  return "# The schema as it was last committed: a google.protobuf.FileDescriptorSet. Written by the target\n"
         "# commit_schema; schemas/README.md says when. Do not edit.\n" +
         text;
}

bool ParseCommittedText(const std::string& text, FileDescriptorSet* set, std::string* problem) {
  struct Collector : google::protobuf::io::ErrorCollector {
    explicit Collector(std::string* to) : to_(to) {}
    void AddError(int line, int, const std::string& message) override {
      *to_ = "line " + std::to_string(line + 1) + ": " + message;
    }
    std::string* to_;
  } collector(problem);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  return parser.ParseFromString(text, set);
}

}  // namespace cobblestone
