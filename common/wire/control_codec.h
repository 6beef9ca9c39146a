// What the coordinator relays to every partition (schemas/internal.proto, Control), by hand: an event's bytes
// pass through as they came.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/credit/catalogue.h"

namespace cobblestone::wire {

struct ControlHead {
  ProjectId project;
  std::uint64_t sequence = 0;
  std::uint64_t line = 0;

  friend bool operator==(const ControlHead&, const ControlHead&) = default;
};

// Frozen numbers: the fields of Control.control.
enum class ControlKind : std::uint8_t { kNone = 0, kEvent = 1, kEpoch = 2, kTick = 3 };

// A view: lives as long as the record's bytes.
struct ControlView {
  ControlHead head;
  ControlKind kind = ControlKind::kNone;
  std::string_view body;  // kEvent: an Envelope, for ParseEvent. kEpoch: an Epoch, for DecodeEpoch
  double tick_time = 0;   // kTick, UNIX s
};

// Encoders append to `out`.
void EncodeControlEvent(const ControlHead& head, std::string_view envelope, std::string* out);
void EncodeControlEpoch(const ControlHead& head, const credit::ScaleTable& table, std::string* out);
void EncodeControlTick(const ControlHead& head, double time, std::string* out);

// False where the bytes are no Control; the body is not looked into.
[[nodiscard]] bool DecodeControl(std::string_view bytes, ControlView* control);

}  // namespace cobblestone::wire
