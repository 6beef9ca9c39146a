#include "common/wire/ledger/refused_codec.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <limits>
#include <utility>
#include <vector>

#include "common/wire/control/topics.h"
#include "schemas/events.pb.h"
#include "schemas/internal.pb.h"

namespace cobblestone::wire {
namespace {

static_assert(static_cast<int>(kLastRefusalReason) == v1::RefusalReason_MAX,
              "a reason was added to the schema: add it to refusal.h");

// Length in bytes of the UTF-8 character at the start; 0 if there is none (RFC 3629: no overlong forms, no
// surrogates, up to U+10FFFF).
std::size_t Utf8Length(std::string_view s) {
  const auto at = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0; };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xc0) == 0x80; };
  const unsigned b0 = at(0);
  if (b0 < 0x80) return 1;
  if (b0 >= 0xc2 && b0 <= 0xdf) return follows(1) ? 2 : 0;
  if (b0 >= 0xe0 && b0 <= 0xef) {
    if ((b0 == 0xe0 && at(1) < 0xa0) || (b0 == 0xed && at(1) > 0x9f)) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (b0 >= 0xf0 && b0 <= 0xf4) {
    if ((b0 == 0xf0 && at(1) < 0x90) || (b0 == 0xf4 && at(1) > 0x8f)) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

std::string AsUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    if (length == 0) {
      out.push_back('?');
      text.remove_prefix(1);
    } else {
      out.append(text.substr(0, length));
      text.remove_prefix(length);
    }
  }
  return out;
}

// Clears strings and bytes at every depth; true if there were any, or fields unknown to this build.
bool ClearTexts(google::protobuf::Message& message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  bool cleared = !reflection.GetUnknownFields(message).empty();
  if (cleared) reflection.MutableUnknownFields(&message)->Clear();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      reflection.ClearField(&message, field);
      cleared = true;
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i)
        cleared = ClearTexts(*reflection.MutableRepeatedMessage(&message, field, i)) || cleared;
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      cleared = ClearTexts(*reflection.MutableMessage(&message, field)) || cleared;
    }
  }
  return cleared;
}

// The part of an event's bytes that is kept; sets *left_out if anything is omitted.
std::string KeptOf(std::string_view original, bool* left_out) {
  v1::Envelope event;
  const bool parsed = original.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
                      event.ParseFromArray(original.data(), static_cast<int>(original.size()));
  switch (parsed ? event.event_case() : v1::Envelope::EVENT_NOT_SET) {
    case v1::Envelope::EVENT_NOT_SET:
      // No event, or an event of a kind unknown to this build: its texts cannot be classified.
      *left_out = !original.empty();
      return {};
    case v1::Envelope::kHost:
    case v1::Envelope::kUser:
    case v1::Envelope::kTeam:
    case v1::Envelope::kAccountFacts:
    case v1::Envelope::kFeedAccount:
    case v1::Envelope::kOwnershipProof:
    case v1::Envelope::kIdentityDecision:
      if (!ClearTexts(event)) return std::string(original);
      *left_out = true;
      return event.SerializeAsString();
    case v1::Envelope::kHandedEvent: {
      std::string inner = KeptOf(event.handed_event().event(), left_out);
      if (!*left_out) return std::string(original);
      event.mutable_handed_event()->set_event(std::move(inner));
      return event.SerializeAsString();
    }
    default: return std::string(original);
  }
}

}  // namespace

std::string_view RefusalReasonName(RefusalReason reason) {
  const auto number = static_cast<int>(reason);
  return v1::RefusalReason_Name(v1::RefusalReason_IsValid(number) ? static_cast<v1::RefusalReason>(number)
                                                                  : v1::REFUSAL_REASON_UNKNOWN);
}

void EncodeRefused(const Refused& in, std::string* out) {
  v1::Refused m;
  m.set_reason(static_cast<v1::RefusalReason>(in.refusal.reason));
  m.set_detail(AsUtf8(in.refusal.detail));
  m.set_topic(AsUtf8(in.topic));
  m.set_partition(in.partition);
  m.set_offset(in.offset);
  m.set_append_time(in.append_time);
  bool left_out = false;
  const bool event = in.topic != TopicName(kClaims) && in.topic != TopicName(kGrants);
  m.set_original(event ? KeptOf(in.original, &left_out) : in.original);
  m.set_left_out(left_out);
  m.set_source(AsUtf8(in.source));
  m.set_line(in.line);
  m.set_project(in.project.value);
  m.AppendToString(out);
}

bool DecodeRefused(std::string_view bytes, Refused* refused) {
  v1::Refused m;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
  if (!m.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  refused->refusal = {static_cast<RefusalReason>(m.reason()), m.detail()};
  refused->topic = m.topic();
  refused->partition = m.partition();
  refused->offset = m.offset();
  refused->append_time = m.append_time();
  refused->original = m.original();
  refused->source = m.source();
  refused->line = m.line();
  refused->project = ProjectId(m.project());
  refused->left_out = m.left_out();
  return true;
}

}  // namespace cobblestone::wire
