#include "common/wire/refused_codec.h"

#include <google/protobuf/descriptor.h>

#include <limits>

#include "schemas/internal.pb.h"

namespace cobblestone::wire {
namespace {

static_assert(static_cast<int>(kLastRefusalReason) == v1::RefusalReason_MAX,
              "a reason was added to the schema: add it to refusal.h");

// Bytes of the character that starts here, 0 if none does (RFC 3629: no overlong forms, no surrogates, up to
// U+10FFFF).
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
  m.set_original(in.original);
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
  return true;
}

}  // namespace cobblestone::wire
