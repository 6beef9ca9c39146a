// Events: their kinds, routing, checks and refusal reasons, and their text form.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/event_line.h"
#include "common/wire/json/json_lines.h"
#include "common/wire/ledger/refused_codec.h"
#include "schemas/events.pb.h"
#include "schemas/internal.pb.h"

namespace cobblestone::wire {
namespace {

std::string FromJson(std::string_view line) {
  auto bytes = EnvelopeFromJson(line);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? *bytes : std::string();
}

// Visits every text field of every message that an event can contain, by reflection, so that a new field without a
// limit fails.
void EachText(
    const google::protobuf::Descriptor* type, std::vector<const google::protobuf::FieldDescriptor*>* path,
    const std::function<void(const std::vector<const google::protobuf::FieldDescriptor*>&)>& visit) {
  for (int i = 0; i < type->field_count(); ++i) {
    path->push_back(type->field(i));
    if (type->field(i)->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING) visit(*path);
    if (type->field(i)->message_type() != nullptr) EachText(type->field(i)->message_type(), path, visit);
    path->pop_back();
  }
}

std::optional<Refusal> CheckWithText(const std::vector<const google::protobuf::FieldDescriptor*>& path,
                                     std::size_t size) {
  v1::Envelope envelope;
  envelope.set_id(1);
  envelope.set_project(1);
  google::protobuf::Message* at = &envelope;
  for (const auto* field : path) {
    const auto* r = at->GetReflection();
    if (field->message_type() != nullptr)
      at = field->is_repeated() ? r->AddMessage(at, field) : r->MutableMessage(at, field);
    else if (field->is_repeated())
      r->AddString(at, field, std::string(size, 'x'));
    else
      r->SetString(at, field, std::string(size, 'x'));
  }
  const auto event = ParseEvent(envelope.SerializeAsString());
  if (!event.ok()) {
    ADD_FAILURE() << event.status().message();
    return std::nullopt;
  }
  return CheckEvent(*event);
}

TEST(WireEvents, EveryTextOfTheSchemaHasALimit) {
  std::vector<const google::protobuf::FieldDescriptor*> path;
  int texts = 0;
  EachText(v1::Envelope::descriptor(), &path, [&](const auto& fields) {
    const std::string name(fields.back()->full_name());
    if (name == "cobblestone.v1.HandedEvent.event")
      return;  // written by the pipeline; the event in it was checked
    ++texts;
    const auto refused = CheckWithText(fields, (64 << 10) + 1);
    ASSERT_TRUE(refused) << name;
    EXPECT_EQ(refused->reason, RefusalReason::kOutOfRange) << name;
    EXPECT_NE(refused->detail.find("bytes, more than"), std::string::npos) << name << ": " << refused->detail;
    const auto fits = CheckWithText(fields, 1016);
    EXPECT_TRUE(!fits || fits->detail.find("bytes, more than") == std::string::npos) << name;
    // BOINC allows 255 bytes for the name of a badge, and no list of the pipeline shows the name.
    const bool other = name == "cobblestone.v1.TrickleElement.name" || name.ends_with(".Badge.name");
    if (fields.back()->name() == "name" && !other) {
      const auto longer = CheckWithText(fields, 1017);
      ASSERT_TRUE(longer) << name;
      EXPECT_EQ(longer->reason, RefusalReason::kOutOfRange) << name;
    }
  });
  EXPECT_GT(texts, 40);
}

// ---- Frozen numbers ---------------------------------------------------------------------------------------

TEST(WireEvents, KindsAreTheFieldsOfEnvelope) {
  const auto* event = v1::Envelope::descriptor()->FindOneofByName("event");
  ASSERT_NE(event, nullptr);
  ASSERT_EQ(static_cast<std::size_t>(event->field_count()), std::variant_size_v<EventBodyVariant> - 1);
  for (int i = 0; i < event->field_count(); ++i) {
    const auto* field = event->field(i);
    EXPECT_EQ(EventKindName(static_cast<EventKind>(field->number())), field->name());
    // Every reader recognises an empty event of each kind.
    v1::Envelope e;
    e.GetReflection()->MutableMessage(&e, field);
    const std::string bytes = e.SerializeAsString();
    EXPECT_EQ(PeekKind(bytes), static_cast<EventKind>(field->number()));
    auto parsed = ParseEvent(bytes);
    ASSERT_TRUE(parsed.ok()) << field->name();
    EXPECT_EQ(parsed->kind(), static_cast<EventKind>(field->number())) << field->name();
  }
}

TEST(WireEvents, RefusalReasonsMatchTheSchema) {
  const auto* reasons = v1::RefusalReason_descriptor();
  EXPECT_EQ(reasons->value(reasons->value_count() - 1)->number(), static_cast<int>(kLastRefusalReason));
  for (int i = 0; i < reasons->value_count(); ++i) {
    EXPECT_EQ(RefusalReasonName(static_cast<RefusalReason>(reasons->value(i)->number())),
              reasons->value(i)->name());
  }
  EXPECT_EQ(static_cast<int>(RefusalReason::kUndecodable), static_cast<int>(v1::UNDECODABLE));
  EXPECT_EQ(static_cast<int>(RefusalReason::kNotFinite), static_cast<int>(v1::NOT_FINITE));
  EXPECT_EQ(static_cast<int>(RefusalReason::kAlreadyDecided), static_cast<int>(v1::ALREADY_DECIDED));
  EXPECT_EQ(static_cast<int>(RefusalReason::kDispatchDiffers), static_cast<int>(v1::DISPATCH_DIFFERS));
  EXPECT_EQ(static_cast<int>(RefusalReason::kNotSupported), static_cast<int>(v1::NOT_SUPPORTED));
  EXPECT_EQ(RefusalReasonName(static_cast<RefusalReason>(77)), "REFUSAL_REASON_UNKNOWN");
}

TEST(WireEvents, EnumsOfTheDomainHaveTheNumbersOfTheSchema) {
  EXPECT_EQ(static_cast<int>(credit::Outcome::kTimeout), static_cast<int>(v1::OUTCOME_TIMEOUT));
  EXPECT_EQ(static_cast<int>(credit::Outcome::kAbortedByUser), static_cast<int>(v1::OUTCOME_ABORTED_BY_USER));
  EXPECT_EQ(static_cast<int>(credit::ValidateState::kInconclusive),
            static_cast<int>(v1::VALIDATE_STATE_INCONCLUSIVE));
  EXPECT_EQ(static_cast<int>(credit::Resource::kAppleGpu), static_cast<int>(v1::RESOURCE_APPLE_GPU));
  EXPECT_EQ(static_cast<int>(credit::Mode::kProbation), static_cast<int>(v1::MODE_PROBATION));
  EXPECT_EQ(v1::Resource_MAX, v1::RESOURCE_APPLE_GPU);
  EXPECT_EQ(v1::Outcome_MAX, v1::OUTCOME_TIMEOUT);
}

// ---- Routing ----------------------------------------------------------------------------------------------

TEST(WireEvents, EveryKindHasItsKey) {
  struct Case {
    const char* event;
    KeyKind key;
    std::uint64_t id;
  };
  const Case cases[] = {
      {R"("completion":{"result":"1","host":"2","workunit":"3"})", KeyKind::kHost, 2},
      {R"("validation":{"result":"1","host":"2","workunit":"3"})", KeyKind::kHost, 2},
      {R"("dispatch":{"result":"1","host":"2"})", KeyKind::kHost, 2},
      {R"("trickle":{"result":"1","host":"2"})", KeyKind::kHost, 2},
      {R"("host":{"host":"5","user":"6"})", KeyKind::kHost, 5},
      {R"("user":{"user":"6","team":"7"})", KeyKind::kUser, 6},
      {R"("team":{"team":"7"})", KeyKind::kTeam, 7},
      {R"("host_merge":{"host":"5","into":"8"})", KeyKind::kHost, 5},
      {R"("host_asked":{"host":"5","user":"8"})", KeyKind::kHost, 5},
      {R"("held_result":{"host":"5","result":"8","holder":"9"})", KeyKind::kHost, 5},
      {R"("handed_event":{"host":"5","named":"8","event":"AA=="})", KeyKind::kHost, 5},
      {R"("decided_result":{"host":"5","result":"8","named":"9"})", KeyKind::kHost, 5},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"5"})", KeyKind::kHost, 5},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_USER","account":"6"})", KeyKind::kUser, 6},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_TEAM","account":"7"})", KeyKind::kTeam, 7},
      {R"("opening_total":{"account":"7"})", KeyKind::kNone, 7},
      {R"("account_facts":{"kind":"ACCOUNT_KIND_USER","account":"6","consent":{}})", KeyKind::kUser, 6},
      {R"("account_facts":{"kind":"ACCOUNT_KIND_HOST","account":"5","badges":{"badges":[{"badge":7}]}})",
       KeyKind::kHost, 5},
      {R"("project_profile":{"apps":[{"app":7}]})", KeyKind::kBroadcast, 0},
      {R"("opening_app":{"app":"7"})", KeyKind::kBroadcast, 0},
      {R"("opening_host_version":{"host":"5","app_version":"-2"})", KeyKind::kHost, 5},
      {R"("estimated_credit":{"host":"5","machine":"6"})", KeyKind::kMachine, 6},
      {R"("machine_host":{"host":"5","machine":"6"})", KeyKind::kMachine, 6},
      {R"("job_reversal":{"host":"5","result":"1","entry":{"user":"7","host":"6"}})", KeyKind::kHost, 5},
      {R"("job_repricing":{"host":"5","result":"1","shares":[{"entry":{"user":"7","host":"6"}}]})",
       KeyKind::kHost, 5},
      {R"("opening_app_version":{"app_version":"9"})", KeyKind::kBroadcast, 0},
      {R"("app":{"app":"1"})", KeyKind::kBroadcast, 0},
      {R"("feed_project":{"name":"x"})", KeyKind::kBroadcast, 0},
      {R"("feed_edition":{"edition":"1"})", KeyKind::kBroadcast, 0},
      {R"("feed_versions":{"as_of":5})", KeyKind::kBroadcast, 0},
      {R"("feed_health":{})", KeyKind::kBroadcast, 0},
      {R"("ownership_proof":{"message":"1 x"})", KeyKind::kBroadcast, 0},
      {R"("identity_decision":{"user":"6"})", KeyKind::kBroadcast, 0},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_HOST","account":"5"})", KeyKind::kHost, 5},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6"})", KeyKind::kUser, 6},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_TEAM","account":"7"})", KeyKind::kTeam, 7},
      {R"("app_version":{"app_version":"1"})", KeyKind::kBroadcast, 0},
      {R"("settings":{})", KeyKind::kBroadcast, 0},
      {R"("validator_restart":{})", KeyKind::kBroadcast, 0},
      {R"("tick":{"time":5})", KeyKind::kBroadcast, 0},
      {R"("plan_class_factor":{"plan_class":"mt"})", KeyKind::kBroadcast, 0},
      {R"("reversal":{"result":"1","entry":{"user":"7","host":"2"}})", KeyKind::kOwner, 7},
      {R"("reversal":{"result":"1","entry":{"host":"2"}})", KeyKind::kOwner, ~std::uint64_t{2}},
      {R"("repricing":{"policy_version":4,"result":"1","entry":{"user":"9"}})", KeyKind::kOwner, 9},
      {R"("reversal":{"result":"1","reason":"forgot whose"})", KeyKind::kNone, 0},
  };
  for (const Case& c : cases) {
    const auto routing =
        PeekRouting(FromJson(std::string(R"({"id":"1","project":3,"time":12.5,)") + c.event + "}"));
    ASSERT_TRUE(routing.has_value()) << c.event;
    EXPECT_EQ(routing->project.value, 3u) << c.event;
    EXPECT_EQ(routing->key, c.key) << c.event;
    EXPECT_EQ(routing->id, c.id) << c.event;
  }
}

TEST(WireEvents, PeekReadsAnEventWithoutDecodingIt) {
  const std::string bytes =
      FromJson(R"({"id":"7","project":3,"time":1750005239.671617,"completion":{"host":"2"}})");
  EXPECT_EQ(PeekEventTime(bytes), 1750005239.671617);
  EXPECT_EQ(PeekKind(bytes), EventKind::kCompletion);
  EXPECT_EQ(PeekEventTime(bytes.substr(0, bytes.size() - 1)), std::nullopt);
  EXPECT_EQ(PeekKind("\x07"), std::nullopt);
  EXPECT_EQ(PeekRouting("\x07"), std::nullopt);
  EXPECT_EQ(PeekEventTime(""), 0.0);
}

TEST(WireEvents, AnUnknownKindIsDistinguishedFromAMalformedEvent) {
  const std::string bytes(
      "\x08\x01\x10\x01\xa2\x06\x03"
      "abc",
      10);  // id, project, and field 100 with three bytes
  EXPECT_EQ(PeekKind(bytes), EventKind::kNone);
  HotEvent hot;
  EXPECT_EQ(DecodeHot(bytes, &hot), HotDecode::kOther);
  auto event = ParseEvent(bytes);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(CheckEvent(*event)->reason, RefusalReason::kNotSupported);
  EXPECT_EQ(ParseEvent("\x08").status().code(), StatusCode::kInvalidArgument);
}

TEST(WireEvents, AnEnumTooLargeForAByteIsNotReadAsASmallOne) {
  v1::Envelope e;
  e.set_id(1);
  e.set_project(1);
  auto* c = e.mutable_completion();
  c->set_result(1);
  c->set_host(1);
  c->set_workunit(1);
  c->set_app(1);
  c->set_outcome(static_cast<v1::Outcome>(256 + 1));  // 1 is success
  HotEvent event;
  ASSERT_EQ(DecodeHot(e.SerializeAsString(), &event), HotDecode::kHot);
  EXPECT_EQ(CheckEvent(event)->reason, RefusalReason::kOutOfRange);
}

TEST(WireEvents, DevicesAreSummedByKind) {
  const std::string bytes = FromJson(
      R"({"id":"1","project":1,"completion":{"result":"1","usage":[)"
      R"({"resource":"RESOURCE_CPU","count":0.5,"peak_flops":3e9},{"resource":"RESOURCE_NVIDIA","count":2},)"
      R"({"resource":"RESOURCE_AMD","count":1},{"count":0.25}]}})");
  HotEvent event;
  ASSERT_EQ(DecodeHot(bytes, &event), HotDecode::kHot);
  EXPECT_EQ(event.completion.cpus_used, 0.5);
  EXPECT_EQ(event.completion.gpus_used, 3.0);
  EXPECT_EQ(event.completion.devices, 3.75);
  EXPECT_EQ(event.completion.rated[static_cast<std::size_t>(credit::Resource::kCpu)].count, 0.5);
  EXPECT_EQ(event.completion.rated[static_cast<std::size_t>(credit::Resource::kCpu)].peak_flops, 1.5e9);
  EXPECT_EQ(event.completion.rated[static_cast<std::size_t>(credit::Resource::kNvidia)].count, 0);
  auto parsed = ParseEvent(bytes);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(std::get<Completion>(parsed->body).usage.size(), 4u);
  EXPECT_EQ(EncodeEvent(*parsed), bytes);
}

// Ingest writes the number of the line before an event. A line number inside an event has no meaning.
TEST(WireEvents, TheLineOfAnEventIsRemovedAndNoPartOfTheEvent) {
  const std::string event = FromJson(R"({"id":"1","project":1,"completion":{"result":"1"}})");
  for (const std::uint64_t line : {0ull, 1ull, 127ull, 128ull, 1ull << 40, ~0ull}) {
    std::string with_line;
    AppendWithLine(line, event, &with_line);
    ASSERT_TRUE(HasLine(with_line));
    const stream::RecordView record = WithoutLine({.line = 5, .value = with_line});
    EXPECT_EQ(record.line, line);
    EXPECT_EQ(record.value, event);
    EXPECT_EQ(PeekRouting(with_line), PeekRouting(event))
        << "an event with a line number is still an Envelope";
    v1::Envelope envelope;
    ASSERT_TRUE(envelope.ParseFromString(with_line));
    EXPECT_EQ(envelope.line(), line);
  }
  EXPECT_EQ(WithoutLine({.line = 5, .value = event}).line, 5u);
  EXPECT_EQ(WithoutLine({.value = event}).value, event);
  for (const std::string& cut :
       {std::string("\x78"), std::string("\x78\x80\x80"), "\x78" + std::string(12, '\xff')})
    EXPECT_EQ(WithoutLine({.value = cut}).value, cut) << "the record is refused with its original bytes";
}

TEST(WireEvents, AReusedEventKeepsNoOldFields) {
  HotEvent event;
  ASSERT_EQ(DecodeHot(FromJson(R"({"id":"9","project":9,"time":9,"completion":{"result":"9","host":"9",)"
                               R"("reported_flops":9,"elapsed_time":9,"usage":[{"count":1}]}})"),
                      &event),
            HotDecode::kHot);
  ASSERT_EQ(DecodeHot(FromJson(R"({"completion":{}})"), &event), HotDecode::kHot);
  EXPECT_EQ(event.head, EventHead{});
  EXPECT_EQ(event.completion.result.value, 0u);
  EXPECT_EQ(event.completion.elapsed_time, 0.0);
  EXPECT_EQ(event.completion.devices, 0.0);
  EXPECT_FALSE(event.completion.reported_flops.has_value());
  EXPECT_EQ(event.completion.event_time, 0.0);
}

// ---- Well-formed ------------------------------------------------------------------------------------------

constexpr std::string_view kCompletionLine =
    R"({"id":"7","project":1,"time":1750005239.5,"completion":{"result":"4","host":"6","workunit":"4",)"
    R"("app":"1","app_version":"1","outcome":"OUTCOME_SUCCESS","elapsed_time":26812.25,"cpu_time":26007.5,)"
    R"("peak_flops":2.7e9,"sent_time":1750001649,"received_time":1750005232}})";
constexpr std::string_view kValidationLine =
    R"({"id":"7","project":1,"time":1750005239.5,"validation":{"result":"4","host":"6","workunit":"4",)"
    R"("app":"1","fpops_est":3e13,"fpops_bound":3e14,"state":"VALIDATE_STATE_VALID","pass":1,"claims":1}})";

// The reason why a line is refused, or "good". Both decoders must agree.
std::string Verdict(std::string_view line) {
  const std::string bytes = FromJson(line);
  auto event = ParseEvent(bytes);
  if (!event.ok()) return "undecodable";
  const auto refusal = CheckEvent(*event);
  HotEvent hot;
  if (DecodeHot(bytes, &hot) == HotDecode::kHot) {
    EXPECT_EQ(CheckEvent(hot), refusal);
  }
  if (!refusal) return "good";
  EXPECT_NE(refusal->detail, "");
  return std::string(RefusalReasonName(refusal->reason));
}

std::string Replaced(std::string_view line, std::string_view from, std::string_view to) {
  std::string out(line);
  const std::size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? out : out.replace(at, from.size(), to);
}

TEST(WireCheck, ABarrierNeedsOnlyAnIdAndAMarkFromOutsideIsRefused) {
  EXPECT_EQ(Verdict(R"({"id":"5","barrier":{}})"), "good");
  EXPECT_EQ(Verdict(R"({"id":"5","project":3,"time":17,"barrier":{}})"), "good");
  EXPECT_EQ(Verdict(R"({"barrier":{}})"), "MISSING_FIELD");
  EXPECT_EQ(Verdict(R"({"id":"5","barrier":{},"time":"NaN"})"), "NOT_FINITE");
  EXPECT_EQ(Verdict(R"({"id":"5","project":1,"mark":{"number":"7","time":100}})"), "NOT_SUPPORTED");
  EXPECT_EQ(Verdict(R"({"mark":{}})"), "NOT_SUPPORTED");
}

TEST(WireCheck, ACompletionWithImpossibleValuesIsRefused) {
  EXPECT_EQ(Verdict(kCompletionLine), "good");
  struct Case {
    const char* from;
    const char* to;
    const char* verdict;
  };
  const Case cases[] = {
      {R"("id":"7")", R"("id":"0")", "MISSING_FIELD"},
      {R"("project":1)", R"("project":0)", "MISSING_FIELD"},
      {R"("time":1750005239.5)", R"("time":"NaN")", "NOT_FINITE"},
      {R"("time":1750005239.5)", R"("time":"Infinity")", "NOT_FINITE"},
      {R"("time":1750005239.5)", R"("time":-1)", "NEGATIVE"},
      {R"("time":1750005239.5)", R"("time":1e12)", "OUT_OF_RANGE"},
      {R"("result":"4")", R"("result":"0")", "MISSING_FIELD"},
      {R"("host":"6")", R"("host":"0")", "MISSING_FIELD"},
      {R"("workunit":"4")", R"("workunit":"0")", "MISSING_FIELD"},
      {R"("app":"1")", R"("app":"0")", "MISSING_FIELD"},
      {R"("app_version":"1")", R"("app_version":"-1")", "UNKNOWN_APP_VERSION"},
      {R"("app_version":"1")", R"("app_version":"-7")", "UNKNOWN_APP_VERSION"},
      {R"("OUTCOME_SUCCESS")", R"("OUTCOME_UNKNOWN")", "MISSING_FIELD"},
      {R"("OUTCOME_SUCCESS")", "17", "OUT_OF_RANGE"},
      {R"("elapsed_time":26812.25)", R"("elapsed_time":"NaN")", "NOT_FINITE"},
      {R"("cpu_time":26007.5)", R"("cpu_time":"-Infinity")", "NOT_FINITE"},
      {R"("peak_flops":2.7e9)", R"("peak_flops":"Infinity")", "NOT_FINITE"},
      {R"("sent_time":1750001649)", R"("sent_time":-3)", "NEGATIVE"},
      {R"("received_time":1750005232)", R"("received_time":"NaN")", "NOT_FINITE"},
      {R"("cpu_time":26007.5)", R"("cpu_time":1,"delay_bound":-1)", "NEGATIVE"},
      {R"("cpu_time":26007.5)", R"("cpu_time":1,"reported_credit":-0.5)", "NEGATIVE"},
      {R"("cpu_time":26007.5)", R"("cpu_time":1,"reported_flops":"Infinity")", "NOT_FINITE"},
      {R"("cpu_time":26007.5)", R"("cpu_time":1,"usage":[{"count":-1}])", "NEGATIVE"},
      {R"("cpu_time":26007.5)", R"("cpu_time":1,"usage":[{"count":"NaN"}])", "NOT_FINITE"},
      // Real projects send these values; the policy decides.
      {R"("elapsed_time":26812.25)", R"("elapsed_time":-5)", "good"},
      {R"("elapsed_time":26812.25)", R"("elapsed_time":0)", "good"},
      {R"("elapsed_time":26812.25)", R"("elapsed_time":1e200)", "good"},
      {R"("elapsed_time":26812.25)", R"("elapsed_time":99999999)", "good"},
      {R"("cpu_time":26007.5)", R"("cpu_time":-8532.77)", "good"},
      {R"("peak_flops":2.7e9)", R"("peak_flops":-1)", "good"},
      {R"("peak_flops":2.7e9)", R"("peak_flops":1e200)", "good"},
      {R"("app_version":"1")", R"("app_version":"0")", "good"},
      {R"("app_version":"1")", R"("app_version":"777")", "good"},
      {R"("app_version":"1")", R"("app_version":"-6")", "good"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Verdict(Replaced(kCompletionLine, c.from, c.to)), c.verdict) << c.from << " -> " << c.to;
  }
}

TEST(WireCheck, OnlyAFailureMayHaveNoResult) {
  const auto without_result = [](const char* outcome) {
    return std::string(
               R"({"id":"7","project":1,"time":5,"completion":{"host":"6","app":"1","app_version":"-3",)") +
           R"("outcome":")" + outcome + R"("}})";
  };
  EXPECT_EQ(Verdict(without_result("OUTCOME_CLIENT_ERROR")), "good");
  EXPECT_EQ(Verdict(without_result("OUTCOME_TIMEOUT")), "good");
  EXPECT_EQ(Verdict(without_result("OUTCOME_SUCCESS")), "MISSING_FIELD");
  EXPECT_EQ(Verdict(without_result("OUTCOME_ABORTED_BY_USER")), "MISSING_FIELD");
}

TEST(WireCheck, AValidationWithImpossibleValuesIsRefused) {
  EXPECT_EQ(Verdict(kValidationLine), "good");
  struct Case {
    const char* from;
    const char* to;
    const char* verdict;
  };
  const Case cases[] = {
      {R"("result":"4")", R"("result":"0")", "MISSING_FIELD"},
      {R"("host":"6")", R"("host":"0")", "MISSING_FIELD"},
      {R"("workunit":"4")", R"("workunit":"0")", "MISSING_FIELD"},
      {R"("app":"1")", R"("app":"0")", "MISSING_FIELD"},
      {R"("VALIDATE_STATE_VALID")", "0", "MISSING_FIELD"},
      {R"("VALIDATE_STATE_VALID")", "4", "OUT_OF_RANGE"},
      {R"("fpops_est":3e13)", R"("fpops_est":"NaN")", "NOT_FINITE"},
      {R"("fpops_est":3e13)", R"("fpops_est":-3e13)", "NEGATIVE"},
      {R"("fpops_bound":3e14)", R"("fpops_bound":"Infinity")", "NOT_FINITE"},
      {R"("claims":1)", R"("claims":0)", "MISSING_FIELD"},
      {R"("claims":1)", R"("claims":4000000000)", "OUT_OF_RANGE"},
      {R"("claims":1)", R"("claims":1,"assigned_credit":-1)", "NEGATIVE"},
      {R"("fpops_est":3e13)", R"("fpops_est":0)", "good"},
      {R"("fpops_bound":3e14)", R"("fpops_bound":0)", "good"},
      {R"("fpops_est":3e13)", R"("fpops_est":1e290)", "good"},
      {R"("claims":1)", R"("claims":0,"late":true,"canonical_result":"3")", "good"},
      {R"("VALIDATE_STATE_VALID","pass":1,"claims":1)", R"("VALIDATE_STATE_INCONCLUSIVE")", "good"},
      {R"("VALIDATE_STATE_VALID","pass":1,"claims":1)", R"("VALIDATE_STATE_INVALID","check_failed":true)",
       "good"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Verdict(Replaced(kValidationLine, c.from, c.to)), c.verdict) << c.from << " -> " << c.to;
  }
}

TEST(WireCheck, OtherKindsWithImpossibleValuesAreRefused) {
  struct Case {
    const char* event;
    const char* verdict;
  };
  const Case cases[] = {
      {R"("dispatch":{"result":"1","host":"2","workunit":"3","app":"4","app_version":"5","sent_time":6})",
       "good"},
      {R"("dispatch":{"result":"1","host":"2","workunit":"3","app":"4","app_version":"-9"})",
       "UNKNOWN_APP_VERSION"},
      {R"("dispatch":{"host":"2","workunit":"3","app":"4"})", "MISSING_FIELD"},
      {R"("trickle":{"result":"1","host":"2","app":"3","fraction_done":0.5})", "good"},
      {R"("trickle":{"result":"1","host":"2","fraction_done":1.5})", "OUT_OF_RANGE"},
      {R"("trickle":{"result_name":"a","host":"2"})", "good"},
      {R"("trickle":{"host":"2"})", "MISSING_FIELD"},
      {R"("trickle":{"result":"1"})", "MISSING_FIELD"},
      {R"("app":{"app":"1","trickles":[{"kind":"elapsed","measure":"cpu_time"}],"trickle_settlement":"cap"})",
       "good"},
      {R"("app":{"app":"1","trickles":[{"kind":"often"}]})", "OUT_OF_RANGE"},
      {R"("app":{"app":"1","trickles":[{"kind":"elapsed","measure":"weather"}]})", "OUT_OF_RANGE"},
      {R"("app":{"app":"1","trickles":[{"kind":"elapsed"},{"kind":"steps"}]})", "OUT_OF_RANGE"},
      {R"("app":{"app":"1","trickle_settlement":"later"})", "OUT_OF_RANGE"},
      {R"("trickle":{"result":"1","host":"2","app":"3","elapsed_time":-1})", "NEGATIVE"},
      {R"("trickle":{"result":"1","host":"2","app":"3","steps":"NaN"})", "NOT_FINITE"},
      {R"("host":{"host":"1","whetstone":-2.5e9})", "good"},
      {R"("host":{"host":"1","whetstone":"NaN"})", "NOT_FINITE"},
      {R"("host":{"user":"1"})", "MISSING_FIELD"},
      {R"("user":{"user":"1","create_time":-1})", "NEGATIVE"},
      {R"("team":{"name":"no number"})", "MISSING_FIELD"},
      {R"("host_merge":{"host":"1","into":"2"})", "good"},
      {R"("host_merge":{"host":"1","into":"1"})", "OUT_OF_RANGE"},
      {R"("host_asked":{"host":"1","user":"2"})", "good"},
      {R"("host_asked":{"host":"1"})", "MISSING_FIELD"},
      {R"("host_asked":{"user":"2"})", "MISSING_FIELD"},
      {R"("held_result":{"host":"1","result":"2","holder":"3"})", "good"},
      {R"("held_result":{"host":"1","result":"2"})", "MISSING_FIELD"},
      {R"("handed_event":{"host":"1","named":"2","event":"AA=="})", "good"},
      {R"("handed_event":{"host":"1","named":"2"})", "MISSING_FIELD"},
      {R"("decided_result":{"host":"1","result":"2","named":"3"})", "good"},
      {R"("decided_result":{"host":"1","named":"3"})", "MISSING_FIELD"},
      {R"("app":{"app":"1","policy":"creditnew-v2","constants":{"claim_limit":20}})", "good"},
      {R"("app":{"app":"1","policy":"creditold"})", "UNKNOWN_POLICY"},
      {R"("app":{"app":"1","policy":"benchmark","constants":{"replication":"mode"}})", "OUT_OF_RANGE"},
      {R"("app":{"app":"1","policy":"benchmark","constants":{"benchmark":"cinebench"}})", "OUT_OF_RANGE"},
      {R"("app":{"app":"1","policy":"benchmark","constants":{"multiplier":"NaN"}})", "NOT_FINITE"},
      {R"("app":{"app":"1","policy":"benchmark","constants":{"multiplier":-2}})", "NEGATIVE"},
      {R"("app":{"app":"1","constants":{"multiplier":2}})", "MISSING_FIELD"},
      {R"("app":{"app":"1","min_avg_pfc":-1})", "NEGATIVE"},
      {R"("app_version":{"app_version":"1"})", "MISSING_FIELD"},
      {R"("app_version":{"app_version":"1","deleted":true})", "good"},
      {R"("app_version":{"app_version":"1","app":"1","resource":9})", "OUT_OF_RANGE"},
      {R"("settings":{})", "good"},
      {R"("settings":{"max_granted_credit":0})", "good"},
      {R"("settings":{"max_granted_credit":-1})", "NEGATIVE"},
      {R"("settings":{"scale_period":0})", "OUT_OF_RANGE"},
      {R"("tick":{"time":"Infinity"})", "NOT_FINITE"},
      {R"("plan_class_factor":{"plan_class":"mt"})", "MISSING_FIELD"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","total":9223372036854.0})", "good"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","total":9223372036856.0})",
       "OUT_OF_RANGE"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","total_micro":"-1"})", "NEGATIVE"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","rac":-3.5})", "good"},
      {R"("opening_total":{"account":"1"})", "MISSING_FIELD"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","total_micro":"1500000",)"
       R"("figures":{"total_credit":1.5,"expavg_time":-1}})",
       "good"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","total":1.5,"figures":{"total_credit":1.5}})",
       "good"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","figures":{"total_credit":-3}})", "good"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","figures":{"total_credit":1e30}})",
       "good"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","figures":{"total_credit":"NaN"}})",
       "good"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","figures":{"total_credit":1.5}})",
       "OUT_OF_RANGE"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","total_micro":"1500001",)"
       R"("figures":{"total_credit":1.5}})",
       "good"},
      {R"("opening_total":{"kind":"ACCOUNT_KIND_HOST","account":"1","total_micro":"1500002",)"
       R"("figures":{"total_credit":1.5}})",
       "OUT_OF_RANGE"},
      {R"("opening_app":{"app":"1"})", "good"},
      {R"("opening_app":{"min_avg_pfc":1})", "MISSING_FIELD"},
      {R"("opening_app":{"app":"1","min_avg_pfc":-1})", "NEGATIVE"},
      {R"("project_profile":{})", "good"},
      {R"("account_facts":{"kind":"ACCOUNT_KIND_USER","account":"1","consent":{},"badges":{},"credit":{},)"
       R"("tombstone":{}})",
       "good"},
      {R"("account_facts":{"kind":"ACCOUNT_KIND_HOST","account":"1","tombstone":{}})", "good"},
      {R"("account_facts":{"kind":"ACCOUNT_KIND_HOST","account":"1","badges":{}})", "OUT_OF_RANGE"},
      {R"("account_facts":{"kind":"ACCOUNT_KIND_TEAM","account":"1","tombstone":{}})", "OUT_OF_RANGE"},
      {R"("account_facts":{"kind":"ACCOUNT_KIND_TEAM","account":"1","consent":{}})", "OUT_OF_RANGE"},
      {R"("account_facts":{"kind":"ACCOUNT_KIND_USER","account":"1"})", "MISSING_FIELD"},
      {R"("account_facts":{"kind":"ACCOUNT_KIND_USER","consent":{}})", "MISSING_FIELD"},
      {R"("account_facts":{"account":"1","consent":{}})", "MISSING_FIELD"},
      {R"("opening_host_version":{"host":"1","app":"1","app_version":"-2"})", "good"},
      {R"("opening_host_version":{"host":"1","app_version":"-2"})", "MISSING_FIELD"},
      {R"("opening_host_version":{"host":"1","app_version":"4","pfc":{"n":-1}})", "NEGATIVE"},
      {R"("opening_host_version":{"host":"1","app_version":"4","max_jobs_per_day":-1})", "good"},
      {R"("opening_app_version":{"app_version":"4","pfc":{"mean":"NaN"}})", "NOT_FINITE"},
      {R"("reversal":{"result":"4","reason":"cheat","entry":{"host":"1","app":"2"}})", "good"},
      {R"("reversal":{"result":"4","reason":"cheat"})", "MISSING_FIELD"},
      {R"("reversal":{"reason":"cheat","entry":{"host":"1","app":"2"}})", "MISSING_FIELD"},
      {R"("reversal":{"result":"4","reason":"cheat","entry":{"host":"1"}})", "MISSING_FIELD"},
      {R"("repricing":{"result":"4","reason":"no cheat","entry":{"host":"1","app":"2"}})", "good"},
      // The first credit of a result that was judged invalid.
      {R"("repricing":{"result":"4","reason":"valid","entry":{"host":"1","app":"2"},"judged_invalid":{"team_time":5},"credit_micro":"0"})",
       "good"},
      {R"("repricing":{"result":"4","reason":"valid","entry":{"host":"1","app":"2"},"judged_invalid":{"like_result":"5"}})",
       "MISSING_FIELD"},
      {R"("repricing":{"result":"4","reason":"valid","entry":{"host":"1","app":"2"},"judged_invalid":{"team_time":-5}})",
       "NEGATIVE"},
      {R"("repricing":{"result":"4","reason":"valid","entry":{"host":"1","app":"2"},"judged_invalid":{"team_time":5},"credit_micro":"-1"})",
       "NEGATIVE"},
      {R"("repricing":{"result":"4","reason":"valid","policy_version":2,"entry":{"host":"1","app":"2"},"judged_invalid":{"team_time":5}})",
       "OUT_OF_RANGE"},
      {R"("repricing":{"result":"4","reason":"valid","entry":{"host":"1","app":"2","team":"3"},"judged_invalid":{"team_time":5}})",
       "OUT_OF_RANGE"},
      {R"("repricing":{"result":"4","reason":"valid","entry":{"host":"1","app":"2","previous":"3"},"judged_invalid":{"team_time":5}})",
       "OUT_OF_RANGE"},
      {R"("reversal":{"result":"4","entry":{"host":"1","app":"2"}})", "MISSING_FIELD"},
      {R"("repricing":{"result":"4","reason":"rate","policy_version":2,"entry":{"host":"1","app":"2"}})",
       "good"},
      {R"("job_reversal":{"host":"1","result":"4","reason":"cheat","entry":{"host":"1","app":"2"},"paid_micro":"5"})",
       "good"},
      {R"("job_reversal":{"host":"1","reason":"cheat","entry":{"host":"1","app":"2"},"paid_micro":"5"})",
       "MISSING_FIELD"},
      {R"("job_reversal":{"result":"4","reason":"cheat","entry":{"host":"1","app":"2"},"paid_micro":"5"})",
       "MISSING_FIELD"},
      {R"("job_reversal":{"host":"1","result":"4","entry":{"host":"1","app":"2"},"paid_micro":"5"})",
       "MISSING_FIELD"},
      {R"("job_reversal":{"host":"1","result":"4","reason":"cheat","paid_micro":"5"})", "MISSING_FIELD"},
      {R"("job_reversal":{"host":"1","result":"4","reason":"cheat","entry":{"host":"1","app":"2"}})",
       "MISSING_FIELD"},
      {R"("job_reversal":{"host":"1","result":"4","reason":"cheat","entry":{"host":"1","app":"2"},"paid_micro":"-5"})",
       "NEGATIVE"},
      {R"("job_reversal":{"host":"1","result":"4","reason":"cheat","entry":{"host":"3","app":"2"},"paid_micro":"5"})",
       "OUT_OF_RANGE"},
      {R"("job_repricing":{"host":"1","result":"4","reason":"rate","policy_version":2,"shares":[{"entry":{"host":"1","app":"2"}}]})",
       "good"},
      {R"("job_repricing":{"host":"1","result":"4","reason":"rate","policy_version":2})", "MISSING_FIELD"},
      {R"("job_repricing":{"host":"1","result":"4","reason":"rate","shares":[{"entry":{"host":"1","app":"2"}}]})",
       "MISSING_FIELD"},
      {R"("job_repricing":{"host":"1","result":"4","policy_version":2,"shares":[{"entry":{"host":"1","app":"2"}}]})",
       "MISSING_FIELD"},
      {R"("job_repricing":{"host":"1","result":"4","reason":"rate","policy_version":2,"shares":[{"paid_micro":"5"}]})",
       "MISSING_FIELD"},
      {R"("job_repricing":{"host":"1","result":"4","reason":"rate","policy_version":2,"shares":[{"entry":{"host":"3","app":"2"}}]})",
       "OUT_OF_RANGE"},
      {R"("job_repricing":{"host":"1","result":"4","reason":"rate","policy_version":2,"shares":[{"entry":{"host":"1","app":"2"},"repriced_paid_micro":"-1"}]})",
       "NEGATIVE"},
      {R"("job_repricing":{"host":"1","result":"4","reason":"rate","policy_version":2,"shares":[{"entry":{"host":"1","app":"2"},"taken_micro":"1"}]})",
       "OUT_OF_RANGE"},
      {R"("job_repricing":{"host":"1","result":"4","reason":"rate","policy_version":2,"shares":[{"entry":{"host":"1","app":"2"},"paid_micro":"5","repriced_taken_micro":"1"}]})",
       "OUT_OF_RANGE"},
      {R"("machine_host":{"machine":"1","host":"2"})", "good"},
      {R"("feed_project":{"name":"x","mode":"FEED_MODE_FILES"})", "good"},
      {R"("feed_project":{"mode":"FEED_MODE_FILES"})", "MISSING_FIELD"},
      {R"("feed_project":{"name":"x"})", "MISSING_FIELD"},
      {R"("feed_project":{"name":"x","mode":7})", "OUT_OF_RANGE"},
      {R"("feed_project":{"name":"x","mode":"FEED_MODE_DIRECT","points_per_cobblestone":-1})", "NEGATIVE"},
      {R"("feed_project":{"name":"x","mode":"FEED_MODE_DIRECT","points_per_cobblestone":1e-9})", "good"},
      {R"("feed_project":{"name":"x","mode":"FEED_MODE_DIRECT","points_per_cobblestone":1e-10})",
       "OUT_OF_RANGE"},
      {R"("feed_project":{"name":"x","mode":"FEED_MODE_DIRECT","points_per_cobblestone":1e10})",
       "OUT_OF_RANGE"},
      {R"("feed_project":{"name":"x","mode":"FEED_MODE_FILES","points_since":"2932896"})", "good"},
      {R"("feed_project":{"name":"x","mode":"FEED_MODE_FILES","points_since":"2932897"})", "OUT_OF_RANGE"},
      {R"("feed_project":{"name":"x","mode":"FEED_MODE_FILES","points_since":"-1"})", "OUT_OF_RANGE"},
      {R"("feed_project":{"name":"x","mode":"FEED_MODE_FILES","shared_accounts":{},"account_manager":true})",
       "good"},
      {R"("feed_project":{"name":"x","mode":"FEED_MODE_FILES","shared_accounts":{"users":["5","0"]}})",
       "MISSING_FIELD"},
      {R"("feed_edition":{"edition":"1","state":"EDITION_STATE_BEGUN"})", "good"},
      {R"("feed_edition":{"edition":"1","state":"EDITION_STATE_COMPLETE","sums":[{"kind":"ACCOUNT_KIND_USER","total_micro_high":"4611686018427387903"}]})",
       "good"},
      {R"("feed_edition":{"edition":"1","state":"EDITION_STATE_COMPLETE","sums":[{"kind":"ACCOUNT_KIND_USER","total_micro_high":"4611686018427387904"}]})",
       "OUT_OF_RANGE"},
      {R"("feed_edition":{"edition":"1","state":"EDITION_STATE_COMPLETE","sums":[{"kind":"ACCOUNT_KIND_USER","not_shown_micro_high":"-1"}]})",
       "OUT_OF_RANGE"},
      {R"("feed_edition":{"state":"EDITION_STATE_BEGUN"})", "MISSING_FIELD"},
      {R"("feed_edition":{"edition":"1"})", "MISSING_FIELD"},
      {R"("feed_edition":{"edition":"1","state":"EDITION_STATE_HELD"})", "MISSING_FIELD"},
      {R"("feed_edition":{"edition":"1","state":"EDITION_STATE_COMPLETE","sums":[{"accounts":"1"}]})",
       "MISSING_FIELD"},
      {R"("feed_versions":{"as_of":5,"versions":[{"app":"1","app_version":"2","resource":"RESOURCE_AMD"}]})",
       "good"},
      {R"("feed_versions":{"versions":[]})", "MISSING_FIELD"},
      {R"("feed_versions":{"as_of":5,"versions":[{"app":"1","app_version":"2"}]})", "MISSING_FIELD"},
      {R"("feed_versions":{"as_of":5,"versions":[{"app":"1","app_version":"2","resource":2,"scale":-1}]})",
       "NEGATIVE"},
      {R"("feed_health":{"condition":"FEED_CONDITION_FINE"})", "good"},
      {R"("feed_health":{"condition":"FEED_CONDITION_STUCK"})", "MISSING_FIELD"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","total_micro":"5","recent":-1})", "good"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER"})", "MISSING_FIELD"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"9223372036854775807"})", "good"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"9223372036854775808"})", "OUT_OF_RANGE"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","recent":1e308})", "OUT_OF_RANGE"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","total_micro":"-5"})", "NEGATIVE"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","gone":true})", "good"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","gone":true,"name":"x"})", "OUT_OF_RANGE"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","gone":true,"erased":true})", "good"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","erased":true})", "OUT_OF_RANGE"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","corrections":[{"day_came":9},{"day_came":9,"day_about":3}]})",
       "good"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","corrections":[{"day_about":9}]})",
       "OUT_OF_RANGE"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","corrections":[{"day_came":3000000}]})",
       "OUT_OF_RANGE"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","corrections":[{"day_came":9,"day_about":-1}]})",
       "OUT_OF_RANGE"},
      {R"("feed_account":{"kind":"ACCOUNT_KIND_USER","account":"6","corrections":[{"day_came":9},{"day_came":9}]})",
       "OUT_OF_RANGE"},
      {R"("ownership_proof":{"message":"1 x","signature":"AA=="})", "good"},
      {R"("ownership_proof":{"message":"1 x"})", "MISSING_FIELD"},
      {R"("identity_decision":{"kind":"IDENTITY_DECISION_KIND_LEAVE","user":"6","reason":"asked"})", "good"},
      {R"("identity_decision":{"kind":"IDENTITY_DECISION_KIND_LEAVE","user":"6"})", "MISSING_FIELD"},
      {R"("identity_decision":{"kind":"IDENTITY_DECISION_KIND_CUT","user":"6","reason":"x"})",
       "OUT_OF_RANGE"},
      {R"("identity_decision":{"kind":"IDENTITY_DECISION_KIND_JOIN","user":"6","reason":"x"})",
       "MISSING_FIELD"},
      {R"("machine_host":{"host":"2"})", "MISSING_FIELD"},
      {R"("project_name":{"name":"Rosewood"})", "good"},
      {R"("project_name":{})", "MISSING_FIELD"},
      {R"("settings":{"estimates":{"gpus":-1}})", "NEGATIVE"},
      {R"("settings":{"estimates":{"saved_time":-1}})", "NEGATIVE"},
      {R"("settings":{"estimates":{"saved_time":"Infinity"}})", "NOT_FINITE"},
      {R"("estimated_credit":{"host":"1"})", "MISSING_FIELD"},
      {R"("estimated_credit":{"machine":"2","host":"1","counters":[{"resource":"RESOURCE_CPU","credit":5,"run_time":6}]})",
       "good"},
      {R"("estimated_credit":{"machine":"2","host":"1","counters":[{"credit":-5}]})", "NEGATIVE"},
      {R"("estimated_credit":{"machine":"2","host":"1","cpus":-5})", "NEGATIVE"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Verdict(std::string(R"({"id":"1","project":1,"time":12.5,)") + c.event + "}"), c.verdict)
        << c.event;
  }
}

TEST(WireCheck, AnOperatorNamesAtMostAThousandAccountsOfManagersAtAProject) {
  for (const auto& [users, verdict] : {std::pair{1000, "good"}, std::pair{1001, "OUT_OF_RANGE"}}) {
    std::string list = "\"7\"";
    for (int n = 1; n < users; ++n) list += ",\"7\"";
    EXPECT_EQ(Verdict(R"({"id":"1","project":1,"feed_project":{"name":"x","mode":"FEED_MODE_FILES",)"
                      R"("shared_accounts":{"users":[)" +
                      list + "]}}}"),
              verdict)
        << users;
  }
}

// ---- As text ----------------------------------------------------------------------------------------------

// A list of nobody is not the same as no list: it takes back what was said before.
TEST(WireJson, AnEmptyListOfSharedAccountsIsPresent) {
  for (const auto& [fields, users, present] :
       {std::tuple{"", 0u, FieldMask{0}},
        std::tuple{R"(,"shared_accounts":{})", 0u, FeedProject::kSharedAccounts},
        std::tuple{R"(,"shared_accounts":{"users":["5","6"]})", 2u, FeedProject::kSharedAccounts}}) {
    const auto event =
        ParseEvent(FromJson(R"({"id":"1","project":4,"feed_project":{"name":"x","mode":"FEED_MODE_FILES")" +
                            std::string(fields) + "}}"));
    ASSERT_TRUE(event.ok()) << fields;
    const auto again = ParseEvent(EncodeEvent(*event));
    ASSERT_TRUE(again.ok()) << fields;
    for (const auto& one : {*event, *again}) {
      const auto& project = std::get<FeedProject>(one.body);
      EXPECT_EQ(project.shared_accounts.size(), users) << fields;
      EXPECT_EQ(project.present, FeedProject::kRequired | present) << fields;
    }
  }
}

// An absent field is distinguished from a field that is 0 or empty, in JSON and in bytes.
TEST(WireJson, AMemberEventRecordsTheFieldsThatAreSet) {
  const auto parse = [](std::string_view line) {
    const auto event = ParseEvent(FromJson(line));
    EXPECT_TRUE(event.ok()) << line;
    // The event round-trips.
    const auto again = ParseEvent(EncodeEvent(*event));
    EXPECT_TRUE(again.ok() && EncodeEvent(*again) == EncodeEvent(*event)) << line;
    return *event;
  };
  const auto user = std::get<UserMember>(parse(R"({"user":{"user":1,"team":0}})").body);
  EXPECT_EQ(user.present, UserMember::kTeam);
  EXPECT_EQ(std::get<UserMember>(parse(R"({"user":{"user":1,"name":"","country":"x"}})").body).present,
            UserMember::kName | UserMember::kCountry);
  const auto host =
      std::get<HostMember>(parse(R"({"host":{"host":1,"cpus":4,"profile":{"hidden":false}}})").body);
  EXPECT_EQ(host.present, HostMember::kCpus);
  ASSERT_TRUE(host.profile.has_value());
  EXPECT_EQ(host.profile->present, FieldBit(4));
  const auto deleted_host = std::get<HostMember>(parse(R"({"host":{"host":1,"deleted":true}})").body);
  EXPECT_EQ(deleted_host.present, 0u);
  EXPECT_EQ(deleted_host.Sets(), HostMember::kAllFields);
  EXPECT_EQ(std::get<TeamMember>(parse(R"({"team":{"team":1}})").body).present, 0u);
  // An event that is made in code has all fields.
  const auto all = ParseEvent(EncodeEvent({.head = {}, .body = TeamMember{.team = TeamId(1)}}));
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(std::get<TeamMember>(all->body).present, TeamMember::kAllFields);
}

TEST(WireJson, ALineRoundTripsExactly) {
  v1::Envelope e;
  e.set_id(std::numeric_limits<std::uint64_t>::max());
  e.set_project(1);
  e.set_time(1750005239.671617);
  auto* c = e.mutable_completion();
  c->set_elapsed_time(26812.262655999999);
  c->set_peak_flops(std::numeric_limits<double>::denorm_min());
  c->set_sent_time(0.1 + 0.2);
  c->set_reported_flops(0);
  c->set_app_version(-2);
  const std::string bytes = e.SerializeAsString();
  auto line = EnvelopeToJson(bytes);
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->find('\n'), std::string::npos);
  EXPECT_NE(line->find("\"elapsed_time\":26812.262656"), std::string::npos) << *line;
  EXPECT_EQ(FromJson(*line), bytes) << *line;
}

TEST(WireJson, NonFiniteNumbersAreTexts) {
  auto event =
      ParseEvent(FromJson(R"({"time":"-Infinity","completion":{"cpu_time":"NaN","elapsedTime":1e308}})"));
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->head.time, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(std::get<Completion>(event->body).facts.cpu_time));
  EXPECT_EQ(std::get<Completion>(event->body).facts.elapsed_time, 1e308);
}

TEST(WireJson, TheExamplesInTheSchemasReadMeAreValidEvents) {
  std::ifstream file(std::string(COBBLESTONE_SOURCE_DIR) + "/schemas/README.md");
  int examples = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("{")) continue;
    EXPECT_EQ(Verdict(line), "good") << line;
    ++examples;
  }
  EXPECT_EQ(examples, 2);
}

TEST(WireJson, AnErrorNamesTheProblem) {
  const auto message = [](std::string_view line) {
    auto bytes = EnvelopeFromJson(line);
    EXPECT_FALSE(bytes.ok()) << line;
    if (bytes.ok()) return std::string();
    EXPECT_EQ(bytes.status().code(), StatusCode::kInvalidArgument);
    return bytes.status().message();
  };
  EXPECT_NE(message(R"({"id":"1","completion":{"elapsed_tme":3}})").find("elapsed_tme"), std::string::npos);
  EXPECT_NE(message(R"({"id":"1","completion":{"outcome":"OUTCOME_FINE"}})").find("outcome"),
            std::string::npos);
  EXPECT_NE(message(R"({"id":"1","time":"soon"})").find("time"), std::string::npos);
  EXPECT_NE(message(R"({"id":)"), "");
  EXPECT_NE(message("not json"), "");
  EXPECT_NE(message(""), "");
  EXPECT_FALSE(EnvelopeToJson("\x08").ok());
}

std::string KeptOf(const Refused& refused, bool* left_out) {
  std::string bytes;
  EncodeRefused(refused, &bytes);
  Refused read;
  EXPECT_TRUE(DecodeRefused(bytes, &read));
  *left_out = read.left_out;
  return read.original;
}

// The topic `refused` is kept for ever, but the texts of a deleted member must not be.
TEST(WireRefused, KeepsNoTextOfAMemberAndNoBytesOfANonEvent) {
  struct Case {
    const char* json;
    bool left_out;
  };
  for (
      const Case& c : {
          Case{
              R"({"id":"1","project":1,"user":{"user":"7","name":"MARKER","team":"3","profile":{"url":"TUFSS0VS"}}})",
              true},
          Case{
              R"({"id":"1","project":1,"host":{"host":"7","name":"MARKER","profile":{"osName":"TUFSS0VS"}}})",
              true},
          Case{R"({"id":"1","project":1,"team":{"team":"7","country":"MARKER"}})", true},
          Case{
              R"({"id":"1","project":1,"account_facts":{"account":"7","tombstone":{"publicCrossProjectId":"TUFSS0VS"}}})",
              true},
          Case{R"({"id":"1","project":1,"user":{"user":"7","team":"3"}})", false},
          Case{R"({"id":"1","project":1,"completion":{"result":"7","host":"3"}})", false},
          Case{R"({"id":"1","project":1,"trickle":{"result":"7","others":[{"name":"a","text":"b"}]}})",
               false},
      }) {
    const auto event = EnvelopeFromJson(c.json);
    ASSERT_TRUE(event.ok()) << c.json << event.status().message();
    bool left_out = false;
    const std::string kept = KeptOf({.topic = "users", .original = *event}, &left_out);
    EXPECT_EQ(left_out, c.left_out) << c.json;
    EXPECT_EQ(kept.find("MARKER"), std::string::npos) << c.json;
    EXPECT_EQ(kept == *event, !c.left_out) << c.json;
    const auto again = EnvelopeToJson(kept);
    ASSERT_TRUE(again.ok());
    EXPECT_NE(again->find("\"7\""), std::string::npos) << "ids are kept: " << *again;
  }
  bool left_out = false;
  EXPECT_EQ(KeptOf({.original = "Ada MARKER"}, &left_out), "");
  EXPECT_TRUE(left_out);
  // A kind that only a newer program knows.
  EXPECT_EQ(KeptOf({.topic = "users", .original = std::string("\x08\x01\xa2\x3f\x06MARKER", 11)}, &left_out),
            "");
  EXPECT_TRUE(left_out);
  // The pipeline's own records are no events.
  EXPECT_EQ(KeptOf({.topic = "grants", .original = "any bytes"}, &left_out), "any bytes");
  EXPECT_FALSE(left_out);
}

TEST(WireJsonLines, AMessageNamesTheFaultWithoutTheText) {
  for (const char* line :
       {"MARKER <a@b> MARKER", R"({"user":{"user":"3","name":"MARKER","coutry":"MARKER"}})",
        R"({"user":{"create_time":"MARKER \" MARKER"}})", R"({"MARKER of mine":1})",
        R"({"user":{"profile":{"cpid":"MARKER!!"}}})", R"({"completion":{"outcome":"MARKER"}})",
        R"({"user":"MARKER"})", R"({"id":"MARKER"})", R"({"user":{"name":["MARKER"]}})",
        R"({"user":{"name":"MARKER)"}) {
    const auto event = EnvelopeFromJson(line);
    ASSERT_FALSE(event.ok()) << line;
    EXPECT_EQ(event.status().message().find("MARKER"), std::string::npos) << event.status().message();
  }
  EXPECT_NE(EnvelopeFromJson(R"({"user":{"coutry":"x"}})")
                .status()
                .message()
                .find("(user) coutry: Cannot find field"),
            std::string::npos);
}

TEST(WireRefused, InvalidUtf8InItsTextsIsReplaced) {
  Refused refused;
  refused.refusal = {RefusalReason::kUndecodable, "caf\xc3\xa9 \xff\xfe, \xe2\x82"};
  refused.topic = "completions";
  refused.partition = 3;
  refused.offset = 4;
  refused.append_time = 5.5;
  refused.original = std::string("\xff\0\x80 no protobuf", 15);
  refused.source = "project.jsonl";
  refused.line = 12;
  refused.project = ProjectId(7);
  refused.left_out = true;
  std::string bytes;
  EncodeRefused(refused, &bytes);
  Refused read;
  ASSERT_TRUE(DecodeRefused(bytes, &read));
  refused.refusal.detail = "caf\xc3\xa9 ??, ??";
  refused.original.clear();
  EXPECT_EQ(read, refused);
  EXPECT_FALSE(DecodeRefused(bytes.substr(0, bytes.size() - 1), &read));
}

}  // namespace
}  // namespace cobblestone::wire
