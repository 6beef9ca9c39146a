// What the coordinator relays to every partition (schemas/internal.proto, Control), by hand: an event's bytes
// pass through as they came.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/credit/model/catalogue.h"
#include "common/wire/events/events.h"

namespace cobblestone::wire {

struct ControlHead {
  ProjectId project;           // 0: every project (marks)
  std::uint64_t sequence = 0;  // counts up within the project
  std::uint64_t line = 0;
  std::uint64_t number = 0;  // counts up by one, over all projects

  friend bool operator==(const ControlHead&, const ControlHead&) = default;
};

// Frozen numbers: the fields of Control.control.
enum class ControlKind : std::uint8_t { kNone = 0, kEvent = 1, kEpoch = 2, kMark = 8 };

// A view: lives as long as the record's bytes.
struct ControlView {
  ControlHead head;
  ControlKind kind = ControlKind::kNone;
  std::string_view body;  // kEvent: an Envelope, for ParseEvent. kEpoch: an Epoch, for DecodeEpoch
  Mark mark;              // kMark; its project is head.project
};

// Encoders append to `out`.
void EncodeControlEvent(const ControlHead& head, std::string_view envelope, std::string* out);
void EncodeControlEpoch(const ControlHead& head, const credit::ScaleTable& table, std::string* out);
void EncodeControlMark(const ControlHead& head, const Mark& mark, std::string* out);

// False where the bytes are no Control; the body is not looked into.
[[nodiscard]] bool DecodeControl(std::string_view bytes, ControlView* control);

}  // namespace cobblestone::wire
