#include "common/wire/control/watermark_codec.h"

#include "common/wire/ledger/grant_kind.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

constexpr std::uint32_t kGrantKindField = 9;

bool ReadPassed(std::string_view bytes, Passed* passed) {
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): passed->source = r.Uint32(); break;
      case VarintTag(2): passed->watermark = r.Varint(); break;
      case VarintTag(3): passed->control = r.Varint(); break;
      case VarintTag(4): passed->moved = r.Varint(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

}  // namespace

void EncodePassed(PassedIn place, const Passed& passed, std::string* out) {
  char head[kMaxScalarField];
  ProtoWriter h(head);
  if (place == PassedIn::kGrant) h.Uint(kGrantKindField, static_cast<std::uint64_t>(GrantKind::kWatermark));
  out->append(h.written());
  char body[4 * kMaxScalarField];
  ProtoWriter w(body);
  w.Uint(1, passed.source);
  w.Uint(2, passed.watermark);
  w.Uint(3, passed.control);
  w.Uint(4, passed.moved);
  AppendMessage(static_cast<std::uint32_t>(place), w.written(), out);
}

bool DecodePassed(PassedIn place, std::string_view bytes, Passed* passed) {
  *passed = {};
  bool found = false;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    if (tag == BytesTag(static_cast<std::uint32_t>(place))) {
      if (!ReadPassed(r.Bytes(), passed)) return false;
      found = true;
    } else {
      r.Skip(tag);
    }
  }
  return r.ok() && found;
}

void EncodeWatermarkPassed(const WatermarkPassed& passed, std::string* out) {
  char buffer[4 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, passed.number);
  w.Uint(2, passed.barrier);
  w.Uint(3, passed.partition);
  w.Uint(4, passed.moved);
  out->append(w.written());
}

bool DecodeWatermarkPassed(std::string_view bytes, WatermarkPassed* passed) {
  *passed = {};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): passed->number = r.Varint(); break;
      case VarintTag(2): passed->barrier = r.Varint(); break;
      case VarintTag(3): passed->partition = r.Uint32(); break;
      case VarintTag(4): passed->moved = r.Varint(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

}  // namespace cobblestone::wire
