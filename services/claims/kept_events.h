// Events that rows keep until their partners arrive. They were decoded before they were kept: bytes that do not
// decode as an event of that kind any more are a damaged row (stream::UnreadableRow is thrown).
#pragma once

#include <string_view>
#include <utility>
#include <variant>

#include "common/stream/table.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/events.h"

namespace cobblestone::claims {

// `kind`: completion or validation.
inline void DecodeKept(const stream::TableBase& table, const stream::Key& key, std::string_view bytes,
                       wire::EventKind kind, wire::HotEvent* event) {
  if (wire::DecodeHot(bytes, event) != wire::HotDecode::kHot || event->kind != kind)
    table.Damaged(key, "an event in the row cannot be decoded");
}

// The event's body must hold a Body.
template <class Body>
wire::Event ParseKept(const stream::TableBase& table, const stream::Key& key, std::string_view bytes) {
  auto event = wire::ParseEvent(bytes);
  if (!event.ok() || !std::holds_alternative<Body>(event->body))
    table.Damaged(key, "an event in the row cannot be decoded");
  return std::move(*event);
}

}  // namespace cobblestone::claims
