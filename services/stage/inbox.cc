#include "services/stage/inbox.h"

#include <utility>

#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "services/stage/refuse.h"

namespace cobblestone::stage {

std::optional<wire::ControlView> ReadControl(const stream::RecordView& record, stream::Watermarks& watermarks,
                                             stream::Emitter& out) {
  wire::ControlView control;
  if (!wire::DecodeControl(record.value, &control)) {
    out.Fail(Status::Corrupted("a control record cannot be decoded"));
    return std::nullopt;
  }
  const bool is_watermark = control.kind == wire::ControlKind::kWatermark;
  if (Status s = watermarks.OnControl(control.head.number, is_watermark ? &control.watermark : nullptr);
      !s.ok()) {
    out.Fail(std::move(s));
    return std::nullopt;
  }
  return control;
}

std::optional<wire::Event> ReadEvent(const stream::RecordView& record, double future_limit,
                                     stream::Emitter& out) {
  Result<wire::Event> event = wire::ParseEvent(record.value);
  if (!event.ok()) {
    Refuse(record, {}, wire::RefusalReason::kUndecodable, event.status().message(), out);
    return std::nullopt;
  }
  if (std::holds_alternative<wire::Watermark>(event->body)) return *std::move(event);
  std::optional<wire::Refusal> refusal = wire::CheckEvent(*event);
  if (!refusal) refusal = FromTheFuture(record, event->head.time, future_limit);
  if (!refusal) return *std::move(event);
  Refuse(record, event->head.project, refusal->reason, std::move(refusal->detail), out);
  return std::nullopt;
}

}  // namespace cobblestone::stage
