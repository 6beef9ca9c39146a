#include "common/wire/control/control_codec.h"

#include "common/wire/control/scale_codec.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

constexpr std::uint32_t kEventField = 1;
constexpr std::uint32_t kEpochField = 2;
constexpr std::uint32_t kWatermarkField = 8;

void EncodeHead(const ControlHead& head, std::string* out) {
  char buffer[4 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(4, head.project.value);
  w.Uint(5, head.sequence);
  w.Uint(6, head.line);
  w.Uint(7, head.number);
  out->append(w.written());
}

void EncodeControl(const ControlHead& head, std::uint32_t field, std::string_view body, std::string* out) {
  AppendMessage(field, body, out);
  EncodeHead(head, out);
}

bool ReadWatermark(std::string_view bytes, Watermark* watermark) {
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): watermark->number = r.Varint(); break;
      case DoubleTag(2): watermark->time = r.Double(); break;
      case VarintTag(3): watermark->barrier = r.Varint(); break;
      case VarintTag(4): watermark->ends_period = r.Varint() != 0; break;
      default: r.Skip(tag); break;
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

void EncodeControlWatermark(const ControlHead& head, const Watermark& watermark, std::string* out) {
  char buffer[4 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, watermark.number);
  w.Double(2, watermark.time);
  w.Uint(3, watermark.barrier);
  w.Uint(4, watermark.ends_period ? 1 : 0);
  EncodeHead(head, out);  // fields are in ascending order
  AppendMessage(kWatermarkField, w.written(), out);
}

bool DecodeControl(std::string_view bytes, ControlView* control) {
  *control = {};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      // A record contains exactly one of the three; if there were more, the last one would win.
      case BytesTag(kEventField):
        control->kind = ControlKind::kEvent;
        control->body = r.Bytes();
        break;
      case BytesTag(kEpochField):
        control->kind = ControlKind::kEpoch;
        control->body = r.Bytes();
        break;
      case BytesTag(kWatermarkField):
        control->kind = ControlKind::kWatermark;
        control->body = r.Bytes();
        if (!ReadWatermark(control->body, &control->watermark)) return false;
        break;
      case VarintTag(4): control->head.project = ProjectId(r.Uint32()); break;
      case VarintTag(5): control->head.sequence = r.Varint(); break;
      case VarintTag(6): control->head.line = r.Varint(); break;
      case VarintTag(7): control->head.number = r.Varint(); break;
      default: r.Skip(tag); break;
    }
  }
  control->watermark.project = control->head.project;
  return r.ok();
}

}  // namespace cobblestone::wire
