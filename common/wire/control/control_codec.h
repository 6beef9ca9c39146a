// Records that the coordinator relays to every partition (schemas/internal.proto, Control), hand-written
// codec: an event's bytes are passed on unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/credit/model/catalogue.h"
#include "common/wire/events/events.h"

namespace cobblestone::wire {

struct ControlHead {
  ProjectId project;           // 0: every project (watermarks)
  std::uint64_t sequence = 0;  // ascending within the project
  std::uint64_t line = 0;
  std::uint64_t number = 0;  // ascending by one, over all projects

  friend bool operator==(const ControlHead&, const ControlHead&) = default;
};

// Frozen numbers: the fields of Control.control.
enum class ControlKind : std::uint8_t { kNone = 0, kEvent = 1, kEpoch = 2, kWatermark = 8 };

// A view: valid as long as the record's bytes.
struct ControlView {
  ControlHead head;
  ControlKind kind = ControlKind::kNone;
  // kEvent: an Envelope, for ParseEvent. kEpoch: an Epoch, for DecodeEpoch.
  std::string_view body;
  Watermark watermark;  // kWatermark; its project is head.project
};

// Encoders append to `out`.
void EncodeControlEvent(const ControlHead& head, std::string_view envelope, std::string* out);
void EncodeControlEpoch(const ControlHead& head, const credit::ScaleTable& table, std::string* out);
void EncodeControlWatermark(const ControlHead& head, const Watermark& watermark, std::string* out);

// False if the bytes are not a Control; the body is not checked.
[[nodiscard]] bool DecodeControl(std::string_view bytes, ControlView* control);

}  // namespace cobblestone::wire
