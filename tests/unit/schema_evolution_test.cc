// The schema keeps its promises: records written under the committed schema can still be read. Each rule has a
// canary that breaks the rule.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "schemas/events.pb.h"
#include "schemas/internal.pb.h"
#include "tests/unit/schema_rules.h"

namespace cobblestone {
namespace {

using google::protobuf::FileDescriptorSet;

FileDescriptorSet Current() {
  FileDescriptorSet set;
  v1::Envelope::descriptor()->file()->CopyTo(set.add_file());
  v1::Envelope::descriptor()->file()->CopyJsonNameTo(set.mutable_file(0));
  v1::Claim::descriptor()->file()->CopyTo(set.add_file());
  v1::Claim::descriptor()->file()->CopyJsonNameTo(set.mutable_file(1));
  return ForCommit(set);
}

FileDescriptorSet Committed() {
  std::ifstream file(std::string(COBBLESTONE_SOURCE_DIR) + "/schemas/committed.textproto");
  std::stringstream text;
  text << file.rdbuf();
  FileDescriptorSet set;
  std::string problem;
  EXPECT_TRUE(ParseCommittedText(text.str(), &set, &problem)) << problem;
  return set;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST(SchemaEvolution, ExistingRecordsCanStillBeRead) {
  const FileDescriptorSet committed = Committed();
  ASSERT_EQ(committed.file_size(), 2);
  EXPECT_EQ(Joined(BrokenPromises(committed, Current())), "");
}

TEST(SchemaEvolution, AnAdditionIsCommittedBeforeAnythingDependsOnIt) {
  // A field that is not committed could be renumbered tomorrow, and no test would fail.
  EXPECT_EQ(Joined(BrokenPromises(Current(), Committed())), "")
      << "The schema has additions that schemas/committed.textproto lacks. If they are intended, build the target "
         "commit_schema (cmake --build --preset release --target commit_schema) and commit the file with it.";
}

std::string ReadMe() {
  std::ifstream file(std::string(COBBLESTONE_SOURCE_DIR) + "/schemas/README.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The part of `text` under the heading of a message.
std::string SectionOf(const std::string& text, const std::string& message) {
  const std::size_t at = text.find("\n### " + message + "\n");
  if (at == std::string::npos) return "";
  return text.substr(at, text.find("\n### ", at + 1) - at);
}

TEST(SchemaReadMe, HasEveryMessageFieldAndReasonAndNoOther) {
  const std::string text = ReadMe();
  std::size_t rows = 0;
  std::size_t messages = 0;
  const FileDescriptorSet current = Current();
  for (const auto& file : current.file()) {
    for (const auto& message : file.message_type()) {
      const std::string section = SectionOf(text, message.name());
      EXPECT_NE(section, "") << message.name() << " is missing in schemas/README.md";
      ++messages;
      for (const auto& field : message.field()) {
        ++rows;
        EXPECT_NE(section.find("\n| " + std::to_string(field.number()) + " | `" + field.name() + "` | "),
                  std::string::npos)
            << message.name() << "." << field.name() << " is missing in schemas/README.md";
      }
    }
  }
  const auto count = [&](const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("\n### "), messages);
  EXPECT_EQ(count(" | `"), rows) << "a row of a field that the schema does not have";
  const auto* reasons = v1::RefusalReason_descriptor();
  for (int i = 0; i < reasons->value_count(); ++i) {
    const std::string row =
        "\n| " + std::to_string(reasons->value(i)->number()) + " | " + reasons->value(i)->name() + " | ";
    EXPECT_NE(text.find(row), std::string::npos) << reasons->value(i)->name();
  }
}

// ---- Canaries ---------------------------------------------------------------------------------------------

constexpr const char* kMadeUp = R"(
file {
  name: "schemas/made_up.proto" package: "p" syntax: "proto3"
  message_type {
    name: "Job"
    field { name: "id" number: 1 label: LABEL_OPTIONAL type: TYPE_UINT64 json_name: "id" }
    field { name: "size" number: 2 label: LABEL_OPTIONAL type: TYPE_DOUBLE json_name: "size" }
    field { name: "kind" number: 3 label: LABEL_OPTIONAL
            type: TYPE_ENUM type_name: ".p.Kind" json_name: "kind" }
    field { name: "by_host" number: 4 label: LABEL_OPTIONAL
            type: TYPE_UINT64 oneof_index: 0 json_name: "byHost" }
    field { name: "by_user" number: 5 label: LABEL_OPTIONAL
            type: TYPE_UINT64 oneof_index: 0 json_name: "byUser" }
    field { name: "cap" number: 6 label: LABEL_OPTIONAL
            type: TYPE_DOUBLE oneof_index: 1 proto3_optional: true json_name: "cap" }
    oneof_decl { name: "target" }
    oneof_decl { name: "_cap" }
    reserved_range { start: 8 end: 10 }
    nested_type {
      name: "Part"
      field { name: "n" number: 1 label: LABEL_OPTIONAL type: TYPE_UINT32 json_name: "n" }
    }
  }
  enum_type {
    name: "Kind"
    value { name: "KIND_UNKNOWN" number: 0 }
    value { name: "KIND_SHORT" number: 1 }
    reserved_range { start: 3 end: 3 }
  }
}
)";

FileDescriptorSet MadeUp(const std::string& from = "", const std::string& to = "") {
  std::string text(kMadeUp);
  if (!from.empty()) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
  }
  FileDescriptorSet set;
  std::string problem;
  EXPECT_TRUE(ParseCommittedText(text, &set, &problem)) << problem;
  return set;
}

TEST(SchemaEvolution, EachWayToBreakAPromiseIsFound) {
  struct Case {
    const char* from;
    const char* to;
    const char* found;
  };
  const Case cases[] = {
      // a field removed; renumbered; renamed; its number used for another
      {R"(field { name: "size" number: 2 label: LABEL_OPTIONAL type: TYPE_DOUBLE json_name: "size" })", "",
       "p.Job.size = 2: is gone"},
      {R"(name: "size" number: 2)", R"(name: "size" number: 7)", "p.Job.size = 2: has another number now"},
      {R"(name: "size" number: 2)", R"(name: "length" number: 2)",
       "p.Job.size = 2: its number now means length"},
      // another type; another message or enum; another label; another presence
      {"number: 2 label: LABEL_OPTIONAL type: TYPE_DOUBLE",
       "number: 2 label: LABEL_OPTIONAL type: TYPE_FLOAT", "p.Job.size = 2: was TYPE_DOUBLE, is TYPE_FLOAT"},
      {"number: 1 label: LABEL_OPTIONAL type: TYPE_UINT64",
       "number: 1 label: LABEL_OPTIONAL type: TYPE_SINT64", "p.Job.id = 1: was TYPE_UINT64, is TYPE_SINT64"},
      {R"(type_name: ".p.Kind")", R"(type_name: ".p.Sort")", "was TYPE_ENUM .p.Kind, is TYPE_ENUM .p.Sort"},
      {"number: 2 label: LABEL_OPTIONAL", "number: 2 label: LABEL_REPEATED",
       "p.Job.size = 2: was LABEL_OPTIONAL, is LABEL_REPEATED"},
      {"oneof_index: 1 proto3_optional: true", "", "p.Job.cap = 6: is no longer optional"},
      // out of a oneof; another name in JSON
      {R"(type: TYPE_UINT64 oneof_index: 0 json_name: "byUser")", R"(type: TYPE_UINT64 json_name: "byUser")",
       "moved from oneof 'target' to ''"},
      {R"(json_name: "byHost")", R"(json_name: "host")", "its name in JSON is now host"},
      // a reserved number used; no longer reserved
      {R"(reserved_range { start: 8 end: 10 })",
       R"(reserved_range { start: 8 end: 10 })"
       R"(field { name: "late" number: 9 type: TYPE_BOOL label: LABEL_OPTIONAL })",
       "p.Job.late = 9: the number is reserved"},
      {R"(reserved_range { start: 8 end: 10 })", "", "numbers from 8 are no longer reserved"},
      // a message, a nested message's field, an enum, its values
      {R"(name: "Job")", R"(name: "Task")", "p.Job: is gone"},
      {R"(name: "Part")", R"(name: "Piece")", "p.Job.Part: is gone"},
      {R"(name: "n" number: 1 label: LABEL_OPTIONAL type: TYPE_UINT32)",
       R"(name: "n" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING)", "p.Job.Part.n = 1: was TYPE_UINT32"},
      {R"(name: "Kind")", R"(name: "Sort")", "p.Kind: is gone"},
      {R"(value { name: "KIND_SHORT" number: 1 })", "", "p.Kind.KIND_SHORT = 1: is gone"},
      {R"(reserved_range { start: 3 end: 3 })", "", "p.Kind: numbers from 3 are no longer reserved"},
      {R"(name: "KIND_SHORT" number: 1)", R"(name: "KIND_SHORT" number: 2)",
       "KIND_SHORT = 1: has another number now"},
      {R"(name: "KIND_SHORT" number: 1)", R"(name: "KIND_LONG" number: 1)", "its number now means KIND_LONG"},
      {R"(package: "p" syntax: "proto3")", R"(package: "q" syntax: "proto3")", "p.Job: is gone"},
      {R"(syntax: "proto3")", R"(syntax: "proto2")", "p.Job: its syntax changed"},
  };
  for (const Case& c : cases) {
    const auto broken = Joined(BrokenPromises(MadeUp(), MadeUp(c.from, c.to)));
    EXPECT_NE(broken.find(c.found), std::string::npos) << c.from << " -> " << c.to << "\nfound: " << broken;
  }
}

TEST(SchemaEvolution, AdditionsKeepEveryPromise) {
  const std::pair<const char*, const char*> additions[] = {
      {"", ""},
      {"reserved_range {",
       R"(field { name: "late" number: 7 type: TYPE_BOOL label: LABEL_OPTIONAL } reserved_range {)"},
      {"reserved_range {",
       R"(field { name: "by_team" number: 7 type: TYPE_UINT64 label: LABEL_OPTIONAL oneof_index: 0 })"
       R"(reserved_range {)"},
      {"start: 8 end: 10", "start: 8 end: 12"},
      {"enum_type {", R"(message_type { name: "Task" } enum_type {)"},
      {R"(value { name: "KIND_SHORT" number: 1 })",
       R"(value { name: "KIND_SHORT" number: 1 } value { name: "KIND_LONG" number: 2 })"},
  };
  for (const auto& [from, to] : additions) {
    EXPECT_EQ(Joined(BrokenPromises(MadeUp(), MadeUp(from, to))), "") << to;
  }
}

TEST(SchemaEvolution, TheCommittedTextRoundTrips) {
  FileDescriptorSet read;
  std::string problem;
  ASSERT_TRUE(ParseCommittedText(CommittedText(Current()), &read, &problem)) << problem;
  EXPECT_EQ(read.SerializeAsString(), Current().SerializeAsString());
  EXPECT_FALSE(ParseCommittedText("file { nome: 1 }", &read, &problem));
  EXPECT_NE(problem.find("line 1"), std::string::npos) << problem;
}

}  // namespace
}  // namespace cobblestone
