// The fast path for lines of JSON gives the results of protobuf's JSON mapping, and reads all usual lines.
#include "common/wire/json/json_lines.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/events/event_codec.h"
#include "common/wire/json/json_lines_generic.h"
#include "schemas/events.pb.h"
#include "services/traffic/generate.h"

namespace cobblestone::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

enum class Path { kFast, kGeneric };

// Reads a line in both ways; a difference fails the test. Returns the path that the reader used.
class BothWays {
 public:
  Path Read(std::string_view line) {
    const auto wanted = EnvelopeFromJsonGeneric(line);
    std::string envelope = "from before";
    const std::uint64_t fast_before = reader_.fast_lines();
    const Status status = reader_.Read(line, &envelope);
    EXPECT_EQ(status.message(), wanted.ok() ? "" : wanted.status().message()) << line;
    EXPECT_EQ(envelope, wanted.ok() ? *wanted : "") << line;
    return reader_.fast_lines() > fast_before ? Path::kFast : Path::kGeneric;
  }

  [[nodiscard]] const JsonEventReader& reader() const { return reader_; }

 private:
  JsonEventReader reader_;
};

std::string Json(const Message& message, bool schema_names = true) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = schema_names;
  std::string line;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &line, options).ok());
  return line;
}

std::vector<std::string> Traffic(std::uint64_t results) {
  traffic::GenerateOptions options;
  options.results = results;
  options.hosts = 50;
  options.dispatches = true;
  options.trickles = 2;
  options.gpu_hosts = 0.5;
  options.machines = 0.2;
  traffic::Generator generator(options);
  std::vector<std::string> events;
  for (std::string envelope; generator.Next(&envelope);) events.push_back(envelope);
  return events;
}

// A regression to the slow path changes no result, only the time: 20 times as long.
TEST(WireJsonReader, TheFastPathReadsAllGeneratedTraffic) {
  BothWays both;
  std::array<int, 4> hot{};
  for (const std::string& event : Traffic(2000)) {
    const auto line = EnvelopeToJson(event);
    ASSERT_TRUE(line.ok());
    EXPECT_EQ(both.Read(*line), Path::kFast) << *line;
    const auto kind = PeekKind(event);
    if (kind == EventKind::kCompletion) ++hot[0];
    if (kind == EventKind::kValidation) ++hot[1];
    if (kind == EventKind::kDispatch) ++hot[2];
    if (kind == EventKind::kTrickle) ++hot[3];
  }
  for (const int count : hot) EXPECT_GE(count, 2000);
  EXPECT_EQ(both.reader().generic_lines(), 0u);
}

TEST(WireJsonReader, ReadsTheUsualFormsFastAndDeclinesTheOthers) {
  struct Case {
    Path path;
    std::string_view line;
  };
  const Case cases[] = {
      // Spellings, numbers and texts, order, blanks.
      {Path::kFast, R"({"id":"1","project":1,"completion":{"elapsed_time":3,"appVersion":"-2"}})"},
      {Path::kFast,
       R"({"completion":{"elapsedTime":3.5e2,"app_version":-2,"result":7},"project":"1","id":1})"},
      {Path::kFast, "{ \"id\" : 1 ,\t\"validation\" : { \"state\" : \"VALIDATE_STATE_VALID\" } }  \r"},
      {Path::kFast, R"({"completion":{"usage":[{"resource":"RESOURCE_CPU","count":2},{}, {"count":0.5}]}})"},
      {Path::kFast, R"({"line":7,"tick":{}})"},
      {Path::kFast, R"({})"},
      {Path::kFast, R"({"completion":{"usage":[]}})"},
      {Path::kFast, R"({"completion":{"reported_flops":0,"elapsed_time":0.0,"peak_flops":1}})"},
      {Path::kFast, R"({"completion":{"outcome":3}})"},
      {Path::kFast, R"({"validation":{"late":true,"check_failed":false}})"},
      {Path::kFast,
       R"({"trickle":{"variety":"","others":[{"name":"a","text":"\"\\\/\b\f\n\r\t\u003c\u00e9"}]}})"},
      {Path::kFast, R"({"user":{"user":"7","name":"","team":0}})"},
      {Path::kFast,
       R"({"app":{"app":1,"constants":{"multiplier":2},"trickles":[{"phases":[{"last_step":1}]}]}})"},
      {Path::kFast, R"({"id":18446744073709551615})"},
      {Path::kFast, R"({"id":"18446744073709551615"})"},
      {Path::kFast, R"({"completion":{"app_version":-9223372036854775808}})"},
      {Path::kFast, R"({"completion":{"app_version":"9223372036854775807"}})"},
      {Path::kFast, R"({"project":4294967295,"time":1.7976931348623157e308})"},
      {Path::kFast, R"({"time":2.2250738585072014e-308,"completion":{"cpu_time":-1E+3}})"},
      {Path::kFast,
       R"({"time":0.0000000000000000000000000000000000000000000000000000000012345678901234567})"},
      // Events that only protobuf's JSON mapping reads.
      {Path::kGeneric, R"({"id":null})"},
      {Path::kGeneric, R"({"completion":null})"},
      {Path::kGeneric, R"({"completion":{"usage":null}})"},
      {Path::kGeneric, R"({"completion":{"usage":[null]}})"},
      {Path::kGeneric, R"({"time":"1.5"})"},
      {Path::kGeneric, R"({"time":"NaN"})"},
      {Path::kGeneric, R"({"time":"-Infinity"})"},
      {Path::kGeneric, R"({"id":1,"id":2})"},
      {Path::kGeneric, R"({"completion":{"elapsed_time":1,"elapsedTime":2}})"},
      {Path::kGeneric, R"({"tick":{},"tick":{}})"},
      {Path::kGeneric, R"({"tick":{},"barrier":{}})"},
      {Path::kGeneric, R"({"id":1e3})"},
      {Path::kGeneric, R"({"id":1.0})"},
      {Path::kGeneric, R"({"id":"1e3"})"},
      {Path::kGeneric, R"({"id":" 1"})"},
      {Path::kGeneric, R"({"id":"01"})"},
      {Path::kGeneric, R"({"id":""})"},
      {Path::kGeneric, R"({"id":-0,"time":1})"},
      {Path::kGeneric, R"({"time":-0})"},
      {Path::kGeneric, R"({"time":-0.0})"},
      {Path::kGeneric, R"({"time":1e-400})"},
      {Path::kGeneric, R"({"time":4.9e-324})"},
      {Path::kGeneric, R"({"time":2.2250738585072011e-308})"},
      {Path::kGeneric, R"({"time":1e400})"},
      {Path::kFast, R"({"time":1000000000000000000})"},
      {Path::kGeneric, R"({"time":1000000000000000129})"},
      {Path::kGeneric, R"({"time":0.95000000000000000000})"},
      {Path::kGeneric, R"({"time":18446744073709551615})"},
      {Path::kGeneric, R"({"time":18446744073709551616})"},
      {Path::kGeneric, R"({"time":-9223372036854775809})"},
      {Path::kGeneric, R"({"completion":{"app_version":-0}})"},
      {Path::kGeneric, R"({"completion":{"outcome":"1"}})"},
      {Path::kGeneric, R"({"completion":{"outcome":77}})"},
      {Path::kGeneric, R"({"completion":{"outcome":-1}})"},
      {Path::kGeneric, R"({"completion":{"outcome":"outcome_success"}})"},
      {Path::kGeneric, R"({"validation":{"late":"true"}})"},
      {Path::kGeneric, R"({"validation":{"late":1}})"},
      {Path::kGeneric, R"({"\u0069d":1})"},
      {Path::kGeneric, R"({"trickle":{"variety":"\ud83d\ude00"}})"},
      {Path::kGeneric, R"({"trickle":{"variety":"\ud83d"}})"},
      {Path::kGeneric, R"({"trickle":{"variety":"\uDE00x"}})"},
      {Path::kGeneric, R"({"trickle":{"variety":"a\u0000b"}})"},
      {Path::kGeneric, R"({"user":{"profile":{"url":"QUJD"}}})"},
      {Path::kGeneric, R"({"held_result":{"by":[1,"2"]}})"},
      {Path::kGeneric, "  {\"id\":1}"},
      {Path::kGeneric, "\xef\xbb\xbf{\"id\":1}"},
      {Path::kGeneric, "{'id':1}"},
      {Path::kGeneric, "{id:1}"},
      {Path::kGeneric, R"({"id":1,})"},
      {Path::kGeneric, "{\"trickle\":{\"variety\":\"a\tb\"}}"},
      {Path::kGeneric, R"({"completion":{"usage":{"count":1}}})"},
      // No events.
      {Path::kGeneric, ""},
      {Path::kGeneric, "null"},
      {Path::kGeneric, "[]"},
      {Path::kGeneric, "{"},
      {Path::kGeneric, "}"},
      {Path::kGeneric, R"({"id":1}})"},
      {Path::kGeneric, R"({"id":1} x)"},
      {Path::kGeneric, R"({"id":1}{"id":2})"},
      {Path::kGeneric, R"({"id":1},)"},
      {Path::kGeneric, std::string_view("{\"id\":1}\0", 9)},
      {Path::kGeneric, std::string_view("{\"id\":1\0}", 9)},
      {Path::kGeneric, R"({"id":18446744073709551616})"},
      {Path::kGeneric, R"({"id":"18446744073709551616"})"},
      {Path::kGeneric, R"({"id":99999999999999999999})"},
      {Path::kGeneric, R"({"id":-1})"},
      {Path::kGeneric, R"({"project":4294967296})"},
      {Path::kGeneric, R"({"completion":{"app_version":9223372036854775808}})"},
      {Path::kGeneric, R"({"completion":{"app_version":"-9223372036854775809"}})"},
      {Path::kGeneric, R"({"id":+1})"},
      {Path::kGeneric, R"({"id":0x1})"},
      {Path::kGeneric, R"({"id":1x})"},
      {Path::kGeneric, R"({"id":"1" "project":1})"},
      {Path::kGeneric, R"({"id" "1"})"},
      {Path::kGeneric, R"({"id":"1)"},
      {Path::kGeneric, R"({"id":[1]})"},
      {Path::kGeneric, R"({"id":{}})"},
      {Path::kGeneric, R"({"tick":[]})"},
      {Path::kGeneric, R"({"unknown":1})"},
      {Path::kGeneric, R"({"":1})"},
      {Path::kGeneric, R"({"completion":{"elapsed_tme":1}})"},
      {Path::kGeneric, R"({"completion":{"outcome":"OUTCOME_FINE"}})"},
      {Path::kGeneric, R"({"completion":{"outcome":"OUTCOME_SUCCES\u0053"}})"},
      {Path::kGeneric, R"({"time":1.})"},
      {Path::kGeneric, R"({"time":.5})"},
      {Path::kGeneric, R"({"time":1e})"},
      {Path::kGeneric, R"({"time":01})"},
      {Path::kGeneric, R"({"time":true})"},
      {Path::kGeneric, R"({"validation":{"late":tru}})"},
      {Path::kGeneric, R"({"validation":{"late":truee}})"},
      {Path::kGeneric, R"({"trickle":{"variety":"\x"}})"},
      {Path::kGeneric, R"({"trickle":{"variety":"\u12"}})"},
      {Path::kGeneric, R"({"trickle":{"variety":7}})"},
      {Path::kGeneric, "{\"trickle\":{\"variety\":\"\xff\"}}"},
      {Path::kGeneric, "{\"trickle\":{\"variety\":\"\xed\xa0\x80\"}}"},
      {Path::kGeneric, "{\"trickle\":{\"variety\":\"\xc0\x80\"}}"},
      {Path::kGeneric, "{\"trickle\":{\"variety\":\"\xe2\x82\"}}"},
  };
  BothWays both;
  for (const Case& c : cases) EXPECT_EQ(both.Read(c.line), c.path) << c.line;
}

TEST(WireJsonReader, DeclinesDeepAndLongLinesWithoutDamageToTheNextOne) {
  BothWays both;
  const std::string good = R"({"id":"1","trickle":{"variety":"a"}})";
  for (const std::size_t depth : {8u, 64u, 1000u, 20000u}) {
    std::string objects;
    for (std::size_t i = 0; i < depth; ++i) objects += R"({"app":)";
    EXPECT_EQ(both.Read(objects), Path::kGeneric);
    EXPECT_EQ(both.Read(R"({"completion":{"usage":)" + std::string(depth, '[')), Path::kGeneric);
    EXPECT_EQ(both.Read(good), Path::kFast);
  }
  for (const std::size_t size : {1000u, 1020u, 1024u, 4096u, 60000u})
    EXPECT_EQ(both.Read(R"({"trickle":{"variety":")" + std::string(size, 'x') + "\"}}"), Path::kFast) << size;
  for (const std::size_t size : {65536u, 200000u})
    EXPECT_EQ(both.Read(R"({"trickle":{"variety":")" + std::string(size, 'x') + "\"}}"), Path::kGeneric)
        << size;
  EXPECT_EQ(both.Read(good), Path::kFast);
}

TEST(WireJsonReader, EachPrefixOfALineIsRefused) {
  BothWays both;
  const std::string line =
      R"({"id":"12","project":3,"time":1700000000.25,"completion":{"result":"7","app_version":"-2",)"
      R"("outcome":"OUTCOME_SUCCESS","usage":[{"resource":"RESOURCE_CPU","count":1}]}})";
  EXPECT_EQ(both.Read(line), Path::kFast);
  for (std::size_t size = 0; size < line.size(); ++size)
    EXPECT_EQ(both.Read(line.substr(0, size)), Path::kGeneric) << size;
}

// Visits all fields by reflection, so that a new field is tested as soon as the schema has it.
class Filler {
 public:
  explicit Filler(std::mt19937_64* random) : random_(*random) {}

  // Sets each field with one chance in `sparse`; of a oneof only one member, in turn.
  void Fill(Message* message, std::uint64_t sparse) {
    const auto* type = message->GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (field->real_containing_oneof() != nullptr || random_() % sparse != 0) continue;
      Set(message, field, sparse);
    }
  }

  void Set(Message* message, const FieldDescriptor* field, std::uint64_t sparse) {
    const auto* r = message->GetReflection();
    if (field->is_repeated()) {
      for (std::uint64_t left = random_() % 4; left > 0; --left) Add(message, field, sparse);
      return;
    }
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32:
        return r->SetUInt32(message, field, static_cast<std::uint32_t>(Integer()));
      case FieldDescriptor::CPPTYPE_UINT64: return r->SetUInt64(message, field, Integer());
      case FieldDescriptor::CPPTYPE_INT64:
        return r->SetInt64(message, field, static_cast<std::int64_t>(Integer()));
      case FieldDescriptor::CPPTYPE_DOUBLE: return r->SetDouble(message, field, Double());
      case FieldDescriptor::CPPTYPE_BOOL: return r->SetBool(message, field, random_() % 2 != 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return r->SetEnumValue(message, field, static_cast<int>(random_() % 7));
      case FieldDescriptor::CPPTYPE_STRING: return r->SetString(message, field, Text());
      case FieldDescriptor::CPPTYPE_MESSAGE: return Fill(r->MutableMessage(message, field), sparse);
      default: ADD_FAILURE() << "a field type that the schema did not have: " << field->full_name();
    }
  }

 private:
  void Add(Message* message, const FieldDescriptor* field, std::uint64_t sparse) {
    const auto* r = message->GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: return Fill(r->AddMessage(message, field), sparse);
      case FieldDescriptor::CPPTYPE_UINT64: return r->AddUInt64(message, field, Integer());
      case FieldDescriptor::CPPTYPE_INT64:
        return r->AddInt64(message, field, static_cast<std::int64_t>(Integer()));
      default: ADD_FAILURE() << "a repeated type that the schema did not have: " << field->full_name();
    }
  }

  std::uint64_t Integer() {
    constexpr std::uint64_t kEdges[] = {0,
                                        1,
                                        127,
                                        128,
                                        0x7fffffff,
                                        0x80000000,
                                        0xffffffff,
                                        ~0ull,
                                        1ull << 63,
                                        (1ull << 63) - 1,
                                        9007199254740993ull,
                                        10000000000000000000ull};
    return random_() % 2 == 0 ? kEdges[random_() % std::size(kEdges)] : random_() >> random_() % 64;
  }
  double Double() {
    const auto any = std::bit_cast<double>(random_());
    if (random_() % 4 == 0) return any;
    if (random_() % 3 == 0) return static_cast<double>(random_() % 1000);
    return static_cast<double>(random_() >> 11) * 1e-3;
  }
  std::string Text() {
    std::string text;
    for (std::uint64_t left = random_() % 12; left > 0; --left)
      text += std::array{"a", "Z", " ", "\"", "\\", "\n", "<", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}
          [random_() % 10];
    return text;
  }

  std::mt19937_64& random_;
};

TEST(WireJsonReader, AllFieldsOfAllKindsHaveTheSameBytesInBothWays) {
  std::mt19937_64 random(25);
  Filler filler(&random);
  BothWays both;
  const auto* event = v1::Envelope::descriptor()->FindOneofByName("event");
  ASSERT_NE(event, nullptr);
  for (int round = 0; round < 40; ++round)
    for (int kind = 0; kind < event->field_count(); ++kind) {
      v1::Envelope envelope;
      const std::uint64_t sparse = round % 3 + 1;
      filler.Fill(&envelope, sparse);
      filler.Set(&envelope, event->field(kind), sparse);
      both.Read(Json(envelope));
      both.Read(Json(envelope, false));
    }
  EXPECT_GT(both.reader().fast_lines(), 1000u);
}

// Each field alone, by name: a field that is not in the tables would always be declined.
TEST(WireJsonReader, TheFastPathReadsEachFieldExceptBytesAndRepeatedNumbers) {
  BothWays both;
  int read = 0;
  const auto* event = v1::Envelope::descriptor()->FindOneofByName("event");
  for (int kind = 0; kind < event->field_count(); ++kind) {
    const auto* type = event->field(kind)->message_type();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (field->type() == FieldDescriptor::TYPE_BYTES) continue;
      std::string value = "1";
      if (field->is_repeated())
        value = "[]";
      else if (field->type() == FieldDescriptor::TYPE_STRING)
        value = R"("a")";
      else if (field->type() == FieldDescriptor::TYPE_BOOL)
        value = "true";
      else if (field->type() == FieldDescriptor::TYPE_MESSAGE)
        value = "{}";
      const bool numbers = field->is_repeated() && field->message_type() == nullptr;
      for (const std::string& name : {field->name(), field->json_name()}) {
        const std::string line = "{\"" + event->field(kind)->name() + "\":{\"" + name + "\":" + value + "}}";
        EXPECT_EQ(both.Read(line), numbers ? Path::kGeneric : Path::kFast) << line;
      }
      ++read;
    }
  }
  EXPECT_GT(read, 100);
}

TEST(WireJsonReader, EachCodePointIsReadAlike) {
  BothWays both;
  std::string text;
  std::string escaped;
  for (std::uint32_t code = 0x20; code < 0x110000; ++code) {
    if (code == '"' || code == '\\') continue;
    std::string one;  // surrogates too: they are not UTF-8
    if (code < 0x80) {
      one = {static_cast<char>(code)};
    } else if (code < 0x800) {
      one = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    } else if (code < 0x10000) {
      one = {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
             static_cast<char>(0x80 | (code & 63))};
    } else {
      one = {static_cast<char>(0xf0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 63)),
             static_cast<char>(0x80 | (code >> 6 & 63)), static_cast<char>(0x80 | (code & 63))};
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    if (surrogate) {
      if (code % 64 == 0) both.Read("{\"trickle\":{\"variety\":\"" + one + "\"}}");
      continue;
    }
    text += one;
    if (code < 0x10000) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", code);
      escaped += escape.data();
    }
    if (code % 1024 != 1023) continue;
    EXPECT_EQ(both.Read("{\"trickle\":{\"variety\":\"" + text + "\"}}"), Path::kFast) << code;
    if (!escaped.empty()) both.Read("{\"trickle\":{\"variety\":\"" + escaped + "\"}}");
    text.clear();
    escaped.clear();
  }
}

TEST(WireJsonReader, DoublesHaveTheSameBits) {
  std::mt19937_64 random(25);
  BothWays both;
  const auto digits = [&](std::uint64_t most) {
    std::string text;
    for (std::uint64_t left = random() % most + 1; left > 0; --left)
      text += static_cast<char>('0' + random() % 10);
    return text;
  };
  for (int i = 0; i < 30000; ++i) {
    std::array<char, 400> text{};
    const auto any = std::bit_cast<double>(random());
    switch (i % 5) {
      case 0: std::snprintf(text.data(), text.size(), "%.17g", any); break;
      case 1: std::snprintf(text.data(), text.size(), "%.25e", any); break;  // beside the value
      case 2:  // near the middle between two doubles: 2^53 + odd / 2
        std::snprintf(text.data(), text.size(), "%llu.5%s", (1ull << 52) + (random() & ((1ull << 52) - 1)),
                      i % 2 == 0 ? "" : digits(40).c_str());
        break;
      case 3: std::snprintf(text.data(), text.size(), "%s.%s", digits(25).c_str(), digits(25).c_str()); break;
      default:
        std::snprintf(text.data(), text.size(), "%s%s.%se%d", i % 2 == 0 ? "-" : "", digits(3).c_str(),
                      digits(20).c_str(), static_cast<int>(random() % 700) - 350);
    }
    both.Read(std::string("{\"time\":") + text.data() + "}");
  }
  EXPECT_GT(both.reader().fast_lines(), 10000u);
}

// Damages valid lines, with a fixed seed. Most results are no events, and many are events of another form.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  void Mutate(std::string* line) {
    constexpr std::string_view kTokens[] = {"null",
                                            "true",
                                            "\"\"",
                                            "{}",
                                            "[]",
                                            ",",
                                            ":",
                                            "}",
                                            "{",
                                            "]",
                                            "[",
                                            "\"",
                                            "\\",
                                            "\\u0041",
                                            "\\ud800",
                                            "-0",
                                            "0",
                                            "1e3",
                                            "1.0",
                                            "1e400",
                                            "-",
                                            "1e-400",
                                            "\"NaN\"",
                                            "\"7\"",
                                            "\"-1\"",
                                            "18446744073709551616",
                                            "9223372036854775808",
                                            " ",
                                            "\t",
                                            "\xff",
                                            "\"id\":1,",
                                            "\"elapsed_time\":1,",
                                            "\"elapsedTime\":2,",
                                            "\"usage\":[{}],",
                                            "\"tick\":{},"};
    const std::size_t at = Below(line->size());
    switch (random_() % 7) {
      case 0: (*line)[at] = static_cast<char>(random_()); break;
      case 1: line->erase(at, 1 + Below(4)); break;
      case 2: line->insert(at, kTokens[Below(std::size(kTokens))]); break;
      case 3: ReplaceValue(line, kTokens[Below(std::size(kTokens))]); break;
      case 4: line->insert(at, line->substr(Below(line->size()), Below(40))); break;
      case 5: line->resize(at + 1); break;
      default: (*line)[at] = static_cast<char>((*line)[at] ^ 1 << Below(8));
    }
    if (line->empty()) *line = "{";
  }

 private:
  std::size_t Below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

  void ReplaceValue(std::string* line, std::string_view by) {
    const std::size_t colon = line->find(':', Below(line->size()));
    if (colon == std::string::npos) return;
    const std::size_t end = std::min(line->find_first_of(",}]", colon), line->size());
    line->replace(colon + 1, end - colon - 1, by);
  }

  std::mt19937_64 random_;
};

TEST(WireJsonReader, DamagedTrafficIsReadAlike) {
  Mutator mutator(25);
  BothWays both;
  for (const std::string& event : Traffic(1200)) {
    std::string line = *EnvelopeToJson(event);
    for (int i = 0; i < 4; ++i) {
      mutator.Mutate(&line);
      both.Read(line);
    }
  }
  EXPECT_GT(both.reader().fast_lines(), 500u);
  EXPECT_GT(both.reader().generic_lines(), 5000u);
}

}  // namespace
}  // namespace cobblestone::wire
