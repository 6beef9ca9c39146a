#include "common/wire/control_codec.h"

#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"
#include "common/wire/scale_codec.h"

namespace cobblestone::wire {
namespace {

constexpr std::uint32_t kEventField = 1;
constexpr std::uint32_t kEpochField = 2;
constexpr std::uint32_t kTickField = 3;

void EncodeControl(const ControlHead& head, std::uint32_t field, std::string_view body, std::string* out) {
  AppendMessage(field, body, out);
  char buffer[3 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(4, head.project.value);
  w.Uint(5, head.sequence);
  w.Uint(6, head.line);
  out->append(w.written());
}

bool ReadTick(std::string_view bytes, double* time) {
  *time = 0;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    if (tag == DoubleTag(1)) {
      *time = r.Double();
    } else {
      r.Skip(tag);
    }
  }
  return r.ok();
}

}  // namespace

void EncodeControlEvent(const ControlHead& head, std::string_view envelope, std::string* out) {
  EncodeControl(head, kEventField, envelope, out);
}

void EncodeControlEpoch(const ControlHead& head, const credit::ScaleTable& table, std::string* out) {
  std::string epoch;
  EncodeEpoch(head.project, table, &epoch);
  EncodeControl(head, kEpochField, epoch, out);
}

void EncodeControlTick(const ControlHead& head, double time, std::string* out) {
  char buffer[kMaxScalarField];
  ProtoWriter w(buffer);
  w.Double(1, time);
  EncodeControl(head, kTickField, w.written(), out);
}

bool DecodeControl(std::string_view bytes, ControlView* control) {
  *control = {};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      // EncodeControl writes one of the three, once; the last one would win.
      case BytesTag(kEventField):
        control->kind = ControlKind::kEvent;
        control->body = r.Bytes();
        break;
      case BytesTag(kEpochField):
        control->kind = ControlKind::kEpoch;
        control->body = r.Bytes();
        break;
      case BytesTag(kTickField):
        control->kind = ControlKind::kTick;
        control->body = r.Bytes();
        if (!ReadTick(control->body, &control->tick_time)) return false;
        break;
      case VarintTag(4): control->head.project = ProjectId(r.Uint32()); break;
      case VarintTag(5): control->head.sequence = r.Varint(); break;
      case VarintTag(6): control->head.line = r.Varint(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

}  // namespace cobblestone::wire
